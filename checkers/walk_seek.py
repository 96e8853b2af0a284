"""The search for test paths to what no plan came to: variations of programs, steered by the quotient of the state graph.

A gap follows some class at once that was taken (`walk_graph`); the shortest program that took it is varied (`walk_vary`). What
takes for certain what no program took is kept. Programs run over the store in memory here; what is kept runs on SQLite.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .conform_follow import Disagreement, EdgeClass, Model
from .walk_graph import START, Quotient
from .walk_memory import MemoryRig
from .walk_programs import Program, parsed
from .walk_vary import swept, variable, varied


@dataclass(frozen=True)
class Walked:
    """A program, and the classes that it took for certain. lengths: how many boundaries each of its turns came to."""

    program: Program
    taken: frozenset[EdgeClass]
    lengths: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Characters: how much is done."""
        return sum(map(len, self.program.lines))


def tried(program: Program, model: Model) -> Walked:
    """Run a program in memory. Raises Disagreement with its key."""
    model.taken, rig = 0, MemoryRig(model)
    try:
        for line in program.lines:
            name, arguments = parsed(line, "step")
            getattr(rig, name)(*arguments)
    except Disagreement as error:
        raise Disagreement(f"{error}\n{program.key}") from error
    finally:
        rig.close()
    return Walked(program, frozenset(model.classes_taken), tuple(rig.lengths))


class Seeker:
    """What was found so far: the shortest program for each class that may be varied.

    left: what nobody took yet, and is wanted.
    """

    def __init__(self, model: Model, quotient: Quotient, wanted: set[EdgeClass], walked: Sequence[Walked]) -> None:
        self.model, self.quotient, self.left = model, quotient, set(wanted)
        self.shortest: dict[EdgeClass, Walked] = {}
        self.found: list[Walked] = []
        for each in walked:
            self.note(each)

    def note(self, walked: Walked) -> None:
        """A program was run: it is kept if it took what is wanted."""
        if walked.taken & self.left:
            self.found.append(walked)
            self.left -= walked.taken
        for edge in walked.taken if variable(walked.program) else ():
            known = self.shortest.get(edge)
            if known is None or walked.length < known.length:
                self.shortest[edge] = walked

    def sweep(self, walked: Walked) -> None:
        """A program with a strike at every boundary of its last turns, if it may be varied. Raises Disagreement."""
        for each in swept(walked.program, walked.lengths) if variable(walked.program) else ():
            if not self.left:
                return
            self.note(tried(each, self.model))

    def seek(self, tries: int, seed: int, tell: Callable[[str], None]) -> None:
        """So many variations. Raises Disagreement where model and code part."""
        choice = random.Random(seed)
        for number in range(tries):
            if not self.left:
                return
            self.note(tried(varied(self._parent(choice).program, choice), self.model))
            if number % 50 == 0:
                tell(f"{number} variations of {tries}, {len(self.left)} classes left")

    def _parent(self, choice: random.Random) -> Walked:
        """A program that took what some gap follows; any, where every gap lies behind another."""
        gap = choice.choice(sorted(self.left))
        before = sorted(self.quotient.next_to(self.shortest, gap) - {START})
        return self.shortest[choice.choice(before or sorted(self.shortest))]


def shortened(walked: Walked, needed: frozenset[EdgeClass], model: Model) -> Walked:
    """The same program without the moves that what is needed of it does not need, if it may be varied."""
    if not variable(walked.program):
        return walked
    for place in range(len(walked.program.lines) - 1, 0, -1):
        lines = walked.program.lines[:place] + walked.program.lines[place + 1 :]
        shorter = tried(replace(walked.program, lines=lines), model)
        if needed <= shorter.taken:
            walked = shorter
    return walked
