"""Test paths over the step's state graph: planned, run on the shipped code, and what none of them takes (E-TRUST).

The paths are kept as programs (`scenarios/walks`), so that a run needs no plan: `verify` runs a sample of them, drawn by its
seed, and the deep profile all. What they take is counted by classes of edges (`walk_plan`), and by the edges of the quotient that
reports draw (`walk_graph`): only what was taken for certain.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..model.machine import Rule
from ..model.policy import HARDENED
from ..model.step import build
from ..scenarios.paths import paths
from .conform_follow import Arc, Edge, EdgeClass, Model
from .converse import in_words
from .explore import explore
from .walk_firsts import FIRSTS
from .walk_graph import Quotients, arc_in_words, counting
from .walk_plan import lead, settings
from .walk_programs import Program
from .walk_seek import Seeker, Walked, shortened, tried

SAMPLE: Final = 40
"""How many paths a quick run takes."""
VARIATIONS: Final = 12_000
"""How many variations of programs a plan tries."""
SEED: Final = 7
"""What they are drawn with: a plan of the same machine is the same plan."""


@dataclass
class Coverage:
    """What some paths have taken. gaps: by rule, how many classes of it nobody took; the first to be read.

    elsewhere: the same of what others took; beside: by whom, how many. behind: the gaps that only other gaps lead to.
    untaken: every class that no path takes, in words. parted: where model and code part, each with its key.
    drawn: nodes and edges of the quotient; drawn_taken: how many of these the paths take; drawn_gaps, drawn_untaken: the others.
    edges: all that was taken; beyond: how many of these are no edges of the graph.
    """

    states: int
    classes: int
    rules: int
    dead: tuple[str, ...]
    paths: int = 0
    moves: int = 0
    taken: int = 0
    behind: int = 0
    drawn: tuple[int, int] = (0, 0)
    drawn_taken: int = 0
    gaps: dict[str, int] = field(default_factory=dict)
    elsewhere: dict[str, int] = field(default_factory=dict)
    beside: dict[str, int] = field(default_factory=dict)
    parted: list[str] = field(default_factory=list)
    untaken: tuple[str, ...] = ()
    drawn_gaps: dict[str, int] = field(default_factory=dict)
    drawn_untaken: tuple[str, ...] = ()
    edges: frozenset[Edge] = frozenset()
    beyond: int = 0

    @property
    def open(self) -> int:
        """How many classes nobody has taken."""
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
    programs: Sequence[Program],
    beside: Mapping[str, Collection[EdgeClass]] | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> Coverage:
    """Run paths, and say what no path takes. beside: what others took of the same machine, by their names."""
    space = explore(build(HARDENED))
    quotients, model = Quotients(space), counting(space.machine)
    parted = perform(programs, model, tell)
    every, taken = quotients.edges, model.edges_taken & quotients.edges
    drawn, gaps = apart(every - taken)
    by_nobody = gaps.difference(*(beside or {}).values())
    rules = space.machine.rules
    return Coverage(
        states=len(space),
        classes=len(apart(every)[1]),
        rules=len(rules),
        dead=tuple(rule.name for rule in rules if rule.name not in space.fired),
        paths=len(programs),
        moves=sum(len(program.lines) for program in programs),
        taken=len(apart(taken)[1]),
        behind=sum(not quotients.next_to(taken, edge) for edge in gaps),
        drawn=(quotients.drawn.number_of_nodes(), quotients.drawn.number_of_edges()),
        drawn_taken=len(apart(taken)[0]),
        gaps=counted(rules, by_nobody),
        elsewhere=counted(rules, gaps - by_nobody),
        beside={name: len(gaps.intersection(found)) for name, found in (beside or {}).items()},
        parted=parted,
        untaken=tuple(sorted(in_words(space.machine, space.packing, (edge.rule, edge.seen)) for edge in gaps)),
        drawn_gaps=counted(rules, drawn),
        drawn_untaken=tuple(sorted(arc_in_words(space.machine, arc) for arc in drawn)),
        edges=frozenset(model.edges_taken),
        beyond=len(model.edges_taken - every),
    )


def apart(edges: Iterable[Edge]) -> tuple[set[Arc], set[EdgeClass]]:
    """Edges of the quotient, and classes of edges."""
    arcs, classes = set[Arc](), set[EdgeClass]()
    for edge in edges:
        if isinstance(edge, Arc):
            arcs.add(edge)
        else:
            classes.add(edge)
    return arcs, classes


def counted(rules: Sequence[Rule], gaps: Iterable[Edge]) -> dict[str, int]:
    """Gaps by rule."""
    return dict(sorted(Counter(rules[edge.rule].name for edge in gaps).items()))


def plan(tell: Callable[[str], None] = lambda words: None) -> list[Program]:
    """All paths anew: jobs led through what nobody took yet; variations, for what no plan comes to; then few that take the same.

    What is kept serves as a beginning. Raises Disagreement where model and code part on the way.
    """
    space = explore(build(HARDENED))
    quotients, model = Quotients(space), counting(space.machine)
    seeker = Seeker(model, quotients, quotients.edges, [tried(program, model) for program in kept()])
    for setting in settings():
        blocked: set[Edge] = set()
        while (found := lead(model, setting, seeker.left, blocked)) is not None:
            seeker.note(found)
        tell(f"{len(seeker.found)} paths, {len(seeker.left)} edges left: {setting}")
    for number, first in enumerate(FIRSTS, 1):
        tell(f"sweep {number} of {len(FIRSTS)}, {len(seeker.left)} edges left")
        seeker.note(begun := tried(first, model))
        seeker.sweep(begun)
    seeker.seek(VARIATIONS, SEED, tell)
    return few(seeker.found, model)


def few(walked: Sequence[Walked], model: Model) -> list[Program]:
    """Few paths that take what all do: each time the one that adds most; each without the moves that nothing needs."""
    left = frozenset[Edge]().union(*(each.taken for each in walked))
    chosen: list[Program] = []
    while left:
        best = max(walked, key=lambda each: (len(each.taken & left), -each.length))
        short = shortened(best, best.taken & left, model)
        chosen.append(short.program)
        left -= short.taken
    return chosen
