"""Every interleaving of two or three workers on one job, within a case's bounds: breadth first, each state once.

What moves is the shipped code: `drive.run`, the protocol core and the store. A schedule is the list of the moves' words, and is
its own replay key: `crashwindow replay 'interleave:CASE[@MUTANT]:word;word;…'`. The first one found to a problem is a shortest.
"""

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from .collector import uncollected
from .interleave_case import Bounds, Case
from .interleave_floor import Floor, Move, State
from .interleave_judge import Judge
from .interleave_mutants import MUTANTS, SHIPPED, Mutant
from .interleave_told import Calls

KEY: Final = re.compile(r"interleave:([^:;@]+)(?:@([^:;@]+))?:(.*)")


@dataclass
class Graph:
    """What was found: counts, and for each property the first schedule that breaks it. words: how often each was a move."""

    case: Case
    mutant: Mutant
    floor: Floor
    states: int = 0
    transitions: int = 0
    seconds: float = 0.0
    depth: int = 0
    broken: dict[str, tuple[str, str]] = field(default_factory=dict)  # property -> problem, replay key
    ends: dict[str, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    parents: list[tuple[int, str]] = field(default_factory=list)

    def schedule(self, number: int) -> list[str]:
        """The words that lead to a state."""
        words = []
        while number:
            number, word = self.parents[number]
            words.append(word)
        return words[::-1]


def key_of(case: Case, mutant: Mutant, schedule: list[str]) -> str:
    """The replay key of a schedule."""
    return f"interleave:{case.name}{f'@{mutant.name}' if mutant.name else ''}:{';'.join(schedule)}"


def parse(key: str) -> tuple[Case, Mutant, list[str]]:
    """The case, the mutant and the schedule of a replay key; raises ValueError with the known names."""
    match = KEY.fullmatch(key)
    if match is None:
        raise ValueError(f"{key!r} is no schedule; write interleave:CASE:WORD;WORD or interleave:CASE@MUTANT:WORD;WORD")
    case, mutant, words = match.groups()
    if case not in CASES:
        raise ValueError(f"there is no case {case!r}; there are {', '.join(CASES)}")
    if mutant is not None and mutant not in MUTANTS:
        raise ValueError(f"there is no mutant {mutant!r}; there are {', '.join(MUTANTS)}")
    return CASES[case], MUTANTS[mutant] if mutant else SHIPPED, words.split(";") if words else []


def follow(floor: Floor, schedule: Sequence[str]) -> Iterator[tuple[State, Move]]:
    """Each move of a schedule, with the state before it; raises ValueError where a word is not possible, with those that are."""
    state = floor.first
    for number, word in enumerate(schedule, 1):
        possible = {move.word: move for move in floor.moves(state)}
        if word not in possible:
            others = f"possible are {', '.join(possible)}" if possible else "the schedule has come to its end"
            raise ValueError(f"word {number}, {word!r} is not possible here; {others}")
        yield state, possible[word]
        state = possible[word].state


def interleave(case: Case, mutant: Mutant = SHIPPED, until: str = "") -> Graph:
    """Every state that a schedule within the case's bounds reaches, judged; only up to the first that breaks property `until`."""
    clock = time.perf_counter()
    floor = Floor(case, mutant)
    graph, judge = Graph(case, mutant, floor, parents=[(0, "")]), Judge(floor)
    numbers: dict[State, int] = {floor.first: 0}
    layer = [floor.first]
    words: Counter[str] = Counter()
    with uncollected():
        _search(graph, judge, numbers, layer, words, until)
    for word, times in words.items():
        graph.words[_kind(word)] = graph.words.get(_kind(word), 0) + times
    graph.transitions = words.total()
    graph.states, graph.seconds = len(graph.parents), time.perf_counter() - clock
    return graph


def _search(
    graph: Graph, judge: Judge, numbers: dict[State, int], layer: list[State], words: Counter[str], until: str
) -> None:
    """Layer by layer, to the end or to the first that breaks property `until`."""
    calls = Calls(graph.floor)
    while layer and until not in graph.broken:
        following = []
        for state in layer:
            number = numbers[state]
            moves = graph.floor.moves(state)
            for move in moves:
                word, after = move.word, move.state
                words[word] += 1
                if problems := (*move.problems, *calls.problems(state, move)):
                    _note(graph, number, word, problems)
                if after not in numbers:
                    numbers[after] = len(graph.parents)
                    graph.parents.append((number, word))
                    following.append(after)
                    if wrong := judge.problems(after):
                        _note(graph, number, word, wrong)
            if not moves:
                end = judge.ended(state)
                graph.ends[end] = graph.ends.get(end, 0) + 1
        graph.depth += bool(following)
        layer = following


def _kind(word: str) -> str:
    """A word without its worker or request."""
    who, _, what = word.partition(":")
    return what if who.startswith("worker") else word.rpartition(":")[0] if what.startswith("serve") else word


def _note(graph: Graph, number: int, word: str, problems: tuple[str, ...]) -> None:
    """Keep the first schedule to each property's violation."""
    for problem in problems:
        name = problem.partition(":")[0]
        if name not in graph.broken:
            schedule = [*graph.schedule(number), word]
            graph.broken[name] = (problem, key_of(graph.case, graph.mutant, schedule))


def _contracts(suffix: str, bounds: Bounds) -> Iterator[Case]:
    """The five contracts of a tool, under the same bounds."""
    yield Case(f"park{suffix}", bounds, "park")
    yield Case(f"fail{suffix}", bounds, "fail")
    yield Case(f"query-fence{suffix}", bounds, "query", "fence")
    yield Case(f"query-quiet{suffix}", bounds, "query", "quiet")
    yield Case(f"reexecute{suffix}", bounds, "reexecute", idempotent=True)


CASES: Final = {
    case.name: case
    for case in (
        *_contracts("-2", Bounds(workers=2, claims=2, expiries=1)),
        *_contracts("-2-renewed", Bounds(workers=2, claims=2, expiries=2)),
        *_contracts("-2-cancel", Bounds(workers=2, claims=2, expiries=1, cancels=1)),
        *_contracts("-2-faults", Bounds(workers=2, claims=2, expiries=1, faults=1)),
        *_contracts("-2-again", Bounds(workers=2, claims=3, expiries=2)),
        *_contracts("-3", Bounds(workers=3, claims=3, expiries=2)),
    )
}
