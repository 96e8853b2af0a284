"""Test paths over the step's state graph: planned, run on the shipped code, and what none of them takes (E-TRUST).

The paths are kept as programs (`scenarios/walks`), so that a run needs no plan: `verify` runs a sample of them, drawn by its
seed, and the deep profile all. What they take is counted by classes of edges (`walk_plan`), and only what was taken for certain.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..model.policy import HARDENED
from ..model.step import build
from ..scenarios.paths import paths
from .conform_follow import EdgeClass, Model
from .explore import explore
from .walk_gaps import reasons
from .walk_plan import Walked, classes, lead, settings
from .walk_programs import Program

SAMPLE: Final = 40
"""How many paths a quick run takes."""


@dataclass
class Coverage:
    """What some paths have taken. gaps: (rule, reason) and how many classes of it nobody took; the first to be read.

    beyond: what of the gaps a random walk came to. parted: where model and code part, each with the key that shows it.
    """

    states: int
    classes: int
    rules: int
    dead: tuple[str, ...]
    paths: int = 0
    moves: int = 0
    taken: int = 0
    beyond: int = 0
    gaps: dict[tuple[str, str], int] = field(default_factory=dict)
    parted: list[str] = field(default_factory=list)

    @property
    def open(self) -> int:
        """How many classes were not taken."""
        return sum(self.gaps.values())


def kept() -> list[Program]:
    """The paths that ship."""
    return [Program("step", HARDENED.name, lines) for lines in paths()]


def sample(programs: Sequence[Program], seed: int) -> list[Program]:
    """Some of them: another seed, others."""
    return random.Random(seed).sample(list(programs), min(SAMPLE, len(programs)))


def perform(programs: Sequence[Program], model: Model, tell: Callable[[str], None] = lambda words: None) -> list[str]:
    """Run paths on the SQLite store, in lockstep with a model that keeps what was taken; where they part, each with its key."""
    parted = []
    for number, program in enumerate(programs, 1):
        tell(f"path {number} of {len(programs)}")
        if said := program.run(model=model):
            parted.append(f"{said.partition('. It could')[0]}: crashwindow replay {program.key}")
    return parted


def cover(
    programs: Sequence[Program], beside: set[EdgeClass] | None = None, tell: Callable[[str], None] = lambda words: None
) -> Coverage:
    """Run paths, and say what no path takes, and why. beside: what a random walk took of the same machine."""
    space = explore(build(HARDENED))
    every, model = classes(space), Model(space.machine)
    parted = perform(programs, model, tell)
    taken = model.classes_taken & every
    open_ = every - taken
    why = reasons(space, open_)
    rules = space.machine.rules
    return Coverage(
        states=len(space),
        classes=len(every),
        rules=len(rules),
        dead=tuple(rule.name for rule in rules if rule.name not in space.fired),
        paths=len(programs),
        moves=sum(len(program.lines) for program in programs),
        taken=len(taken),
        beyond=len(open_ & (beside or set())),
        gaps=dict(sorted(Counter((rules[edge.rule].name, why[edge]) for edge in open_).items())),
        parted=parted,
    )


def plan(tell: Callable[[str], None] = lambda words: None) -> list[Walked]:
    """Plan all paths anew: jobs led through what nobody took yet, then as few of them as take the same.

    Raises Disagreement where model and code part on the way.
    """
    space = explore(build(HARDENED))
    model, left, walked = Model(space.machine), classes(space), list[Walked]()
    for setting in settings():
        blocked: set[EdgeClass] = set()
        while (found := lead(model, setting, left, blocked)) is not None:
            if found.taken & left:
                walked.append(found)
                left -= found.taken
        tell(f"{len(walked)} paths, {len(left)} classes left: {setting}")
    return fewest(walked)


def fewest(walked: Sequence[Walked]) -> list[Walked]:
    """Few paths that take what all do: each time the one that adds most."""
    left = set[EdgeClass]().union(*(each.taken for each in walked))
    chosen: list[Walked] = []
    while left:
        best = max(walked, key=lambda each: (len(each.taken & left), -len(each.program.lines)))
        chosen.append(best)
        left -= best.taken
    return chosen
