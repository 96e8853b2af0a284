"""The search for test paths to what no plan came to: variations of programs, steered by the quotients of the state graph.

A gap follows some edge at once that was taken (`walk_graph`); the shortest program that took it is varied (`walk_vary`). What
takes for certain what no program took is kept. Programs run over the store in memory here; what is kept runs on SQLite.
"""

import random
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache

from ..model.surroundings import build_around
from .conform_follow import Disagreement, Edge, Model
from .walk_graph import START, Quotients
from .walk_memory import MemoryRig
from .walk_programs import Program, parsed
from .walk_vary import swept, variable, varied


@dataclass(frozen=True)
class Walked:
    """A program, and the edges that it took for certain. lengths: how many boundaries each of its turns came to."""

    program: Program
    taken: frozenset[Edge]
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
    return Walked(program, frozenset(model.edges_taken), tuple(rig.lengths))


def followed(program: Program, model: Model) -> Walked:
    """A variation, run in memory. What the step's own machine cannot follow for what the rest of the job does takes nothing.

    Raises Disagreement where there is no rest of the job, and where the machine that has it (`model/surroundings.py`) cannot
    follow it either.
    """
    try:
        return tried(program, model)
    except Disagreement:
        nodes = parsed(program.lines[0], "step")[1][0]
        if len(nodes) == 1 and not nodes[0].undoes:
            raise
        tried(program, around())
        return Walked(program, frozenset())


@cache
def around() -> Model:
    """The machine of a step in a job of which other steps stop, or are undone, while it is open."""
    return Model(build_around())


class Seeker:
    """What was found so far: the shortest program for each edge that may be varied.

    left: what nobody took yet, and is wanted.
    """

    def __init__(self, model: Model, quotients: Quotients, wanted: Set[Edge], walked: Sequence[Walked]) -> None:
        self.model, self.quotients, self.left = model, quotients, set(wanted)
        self.shortest: dict[Edge, Walked] = {}
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
            self.note(followed(each, self.model))

    def seek(self, tries: int, seed: int, tell: Callable[[str], None]) -> None:
        """So many variations. Raises Disagreement where model and code part."""
        choice = random.Random(seed)
        for number in range(tries):
            if not self.left:
                return
            self.note(followed(varied(self._parent(choice).program, choice), self.model))
            if number % 50 == 0:
                tell(f"{number} variations of {tries}, {len(self.left)} edges left")

    def _parent(self, choice: random.Random) -> Walked:
        """A program that took what some gap follows; any, where every gap lies behind another."""
        gap = choice.choice(sorted(self.left, key=str))
        before = self.quotients.next_to(self.shortest, gap) - {START}
        return self.shortest[choice.choice(sorted(before or self.shortest, key=str))]


def shortened(walked: Walked, needed: frozenset[Edge], model: Model) -> Walked:
    """The same program without the moves that what is needed of it does not need, if it may be varied."""
    if not variable(walked.program):
        return walked
    for place in range(len(walked.program.lines) - 1, 0, -1):
        lines = walked.program.lines[:place] + walked.program.lines[place + 1 :]
        shorter = followed(replace(walked.program, lines=lines), model)
        if needed <= shorter.taken:
            walked = shorter
    return walked
