"""The converse of two workers as evidence: the cases that are gone through for it, what they take, what is left and why."""

from collections.abc import Callable
from typing import Final

from ..scenarios.fleet_policies import TOOL
from .enumerate import Enumeration, Product
from .enumerate_cover import reachable
from .enumerate_fleet import RowEdge, counted, row_edges, within
from .enumerate_sets import Sets
from .evidence import Item, Verdict
from .interleave_case import Bounds, Case
from .interleave_floor import Floor

LETTERS: Final = ("a", "b")
TURNS: Final = Bounds(workers=1, claims=2, expiries=1)
"""Two workers, the second once the first is gone: beside two at a time, who crashes is seen to."""
FAULTS: Final = Bounds(workers=1, claims=2, expiries=1, faults=1)
"""The same, and an answer of a store is lost."""
ONE_BY_ONE: Final = (
    Case("fail-turns", FAULTS, "fail"),
    Case("park-turns", FAULTS, "park"),
    Case("query-fence-turns", FAULTS, "query", "fence"),
    Case("query-quiet-turns", TURNS, "query", "quiet"),
    Case("reexecute-turns", FAULTS, "reexecute", idempotent=True),
)
"""Beside the `-2` cases."""
COUNTS: Final = {
    "fail-turns": (10768, 19623, 13166),
    "park-turns": (28058, 49467, 32905),
    "query-fence-turns": (46736, 87900, 54103),
    "query-quiet-turns": (21472, 31059, 24030),
    "reexecute-turns": (48524, 88621, 57907),
}
"""States, transitions, pairs of each."""
TOOLS: Final = (
    {"idempotent": "no", "on_unknown": "fail", "look": "none"},
    TOOL,
    {"idempotent": "no", "on_unknown": "query", "look": "fence"},
    {"idempotent": "no", "on_unknown": "query", "look": "quiet"},
    {"idempotent": "yes", "on_unknown": "reexecute", "look": "none"},
)
"""The kinds of tool of the cases, whose fleets' edges are counted together."""
LEFT: Final[dict[str, dict[str, int]]] = {
    "a third attempt is open or granted, or of two or more that are open still two are left: the plans have two attempts": {
        "5: open attempt": 2,
        "acquire": 1,
        "acquire (answer lost)": 1,
        "an older attempt is open": 1,
        "append no effect (answer lost) 2222": 1,
        "append no effect 2222": 1,
        "fence events": 6,
        "person: did not happen": 1,
    },
    "a first attempt is the last: the plans have two": {"fence events": 1},
    "an overtaken worker crashes: it is never moved again, which is no word of a schedule, as no record differs by it": {
        "crash after the effect (overtaken)": 2,
        "crash, request on the wire (overtaken)": 2,
        "crash, request on the wire (barred)": 1,
    },
    "an answer is lost while another worker is at work: not enumerated, since a lost answer of F1 to F3 is no row of a fleet": {
        "crash, B2 written (overtaken)": 1,
        "fence effects, overtakes: crash at put_effect, effect is there": 1,
        "fence effects, overtakes: crash at put_effect, resolved is there": 1,
        "fence effects, overtakes: crash, B2 written": 1,
        "fence effects, overtakes: crash, no_effect written": 1,
        "refused by events, as a crash, B2 written": 1,
        "refused by events, as a crash, no_effect written": 1,
    },
    "who reads the stream again, as a client has spoken, is refused: in these cases none speaks": {
        "refused by events": 1,
        "refused by events, as a crash": 1,
    },
}
"""Why some edges are taken by no case, and how many of each row."""


def fleet_edges() -> set[RowEdge]:
    """Every edge of the fleets of two workers within the cases' bounds."""
    found: set[RowEdge] = set()
    for config in TOOLS:
        space = within(config)
        found |= row_edges(space.machine, space.packing, reachable(space))
    return found


def one_by_one(sets: Sets, tell: Callable[[str], None] = lambda _: None) -> list[Enumeration]:
    """The cases of two workers one after the other; what they take is added to the sets'."""
    runs = []
    for case in ONE_BY_ONE:
        runs.append(Product(Floor(case), sets, LETTERS).run())
        tell(f"enumeration: {case.name}, {runs[-1].states} states")
    return runs


def fleet_converse(sets: Sets, runs: list[Enumeration], edges: set[RowEdge]) -> Item:
    """Whether the code takes every edge of a fleet of two but those that are listed with a reason."""
    left = counted(edges - row_edges(sets.machine, sets.packing, sets.taken))
    stated: dict[str, int] = {}
    for rows in LEFT.values():
        for row, times in rows.items():
            stated[row] = stated.get(row, 0) + times
    total = sum(left.values())
    figures: dict[str, int | float | str] = {"edges": len(edges), "taken": len(edges) - total}
    figures |= {f"not taken: {why}": sum(rows.values()) for why, rows in LEFT.items()}
    verdict = Verdict.EXHAUSTED
    said = (
        f"two workers that run the shipped code take {figures['taken']} of {len(edges)} edges of their fleet, within two claims"
        f" and two attempts of one step; of each of the other {total} it is listed why no case takes it"
    )
    wrong = [run.case.name for run in runs if run.parted or run.counts != COUNTS[run.case.name]]
    if wrong:
        verdict, said = (
            Verdict.ERROR,
            f"what was enumerated is not what is pinned, or parts from the model: {', '.join(wrong)}",
        )
    elif left != dict(sorted(stated.items())):
        odd = {
            row: left.get(row, 0) - stated.get(row, 0) for row in {*left, *stated} if left.get(row) != stated.get(row)
        }
        verdict, said = (
            Verdict.REFUTED,
            f"the edges that no case of two workers takes are not those that are stated: {odd}",
        )
    return Item(
        checker="enumerate", verdict=verdict, statement=said, figures=figures, command="crashwindow verify --deep"
    )
