"""The converse of two workers as evidence: the cases that are gone through for it beside the interleavings'.

One after the other, each of which may be gone before the next one comes (`-turns`); a plan of one attempt; and behind a schedule
by which the first worker is overtaken, where it is a word of its own that a worker is gone (`overtaken-`).

And cases that serve the refinement alone, as their fleets have more in them than the converse asks for: another step waits for a
signal, which a client sends at any time (`-signal`); somebody wants the effect undone (`-undo`, sampled).
"""

from collections.abc import Iterable, Sequence
from typing import Final

from ..model.policy import Policy
from ..scenarios.fleet_policies import STEP_ALONE, TOOL
from .converse import Taken, judged, row_in_words
from .enumerate_case import BEGUN, SENT, WideCase, said
from .enumerate_certain import CertainSets
from .enumerate_cover import reachable
from .enumerate_fleet import RowEdge, row_edges, within
from .evidence import Item
from .explore import Space
from .interleave_case import Bounds, Case

TURNS: Final = Bounds(workers=1, claims=2, expiries=1)
"""Two workers, the second once the first is gone: beside two at a time, who crashes is seen to."""
FAULTS: Final = Bounds(workers=1, claims=2, expiries=1, faults=1)
"""The same, and an answer of a store is lost."""
BOTH: Final = Bounds(workers=2, claims=2, expiries=1)
GONE: Final = Bounds(workers=2, claims=2, expiries=1, crashes=True)
"""Two at a time, and each may be gone with nobody to come after."""
UNHEARD: Final = Bounds(workers=2, claims=2, expiries=1, faults=1, crashes=True)
"""The same, and an answer of a store is lost."""
DEAF: Final = Bounds(workers=2, claims=2, expiries=1, faults=2, crashes=True)
"""And two are."""
AFTER: Final = f"clock:expire;{said(2, 'claim fence_events fence_ledger')}"
"""The second worker comes to F3."""
UNKNOWN: Final = said(1, "timeout append_unknown ledger_unknown")
"""The first one has put on record that nobody knows."""
DONE: Final = said(1, "answer put_effect append_finished append_committed commit")
"""The first one has recorded what it did, but for the end of its node."""
LATE: Final = f"{SENT};clock:expire;{said(2, 'claim fence_events fence_ledger fence_effects')}"
"""The first worker waits for its request, and the second has read all stores."""
COUNTED_ON: Final = ";".join((
    said(1, f"{BEGUN} acquire append_started"), "clock:expire", said(2, f"{BEGUN} ledger_unknown"), "clock:quiet;clock:expire",
    said(3, BEGUN), "clock:quiet", said(3, "query append_resolved ledger_no_effect schedule_retry acquire append_started"),
))  # fmt: skip
"""The second worker is about to ask: the time is over that it counts from the attempt it knows. The third has begun another."""
TWO: Final = {
    case.name: case
    for case in (
        Case("fail-turns", FAULTS, "fail"),
        Case("park-turns", FAULTS, "park"),
        Case("query-fence-turns", FAULTS, "query", "fence"),
        Case("query-quiet-turns", TURNS, "query", "quiet"),
        Case("reexecute-turns", FAULTS, "reexecute", idempotent=True),
        Case("fail-once", BOTH, "fail", retries=0),
        Case("overtaken-begun", DEAF, "fail", lead=f"{said(1, BEGUN)};{said(1, 'acquire append_started:lost')};{AFTER}"),
        Case("overtaken-refused", DEAF, "fail", lead=f"{SENT};{said(1, 'refused append_no_effect:lost')};{AFTER}"),
        Case("overtaken-put", DEAF, "fail", lead=f"{SENT};world:serve:1.1;{said(1, 'answer put_effect:lost')};{AFTER}"),
        Case("overtaken-query", UNHEARD, "query", "fence", lead=f"{SENT};{UNKNOWN};{AFTER}"),
        Case("overtaken-happened", UNHEARD, "query", "fence",
             lead=f"{SENT};world:serve:1.1;{UNKNOWN};{said(1, 'query')};{AFTER}"),
        Case("overtaken-resolved", UNHEARD, "query", "fence",
             lead=f"{SENT};world:serve:1.1;{UNKNOWN};{said(1, 'query append_resolved')};{AFTER}"),
        Case("overtaken-barred", GONE, "query", "fence", lead=f"{LATE};{said(2, 'ledger_unknown')}"),
        Case("overtaken-quiet", UNHEARD, "query", "quiet", lead=f"{SENT};{AFTER};clock:quiet"),
        Case("overtaken-absent", UNHEARD, "query", "fence", lead=f"{SENT};{UNKNOWN};{said(1, 'query')};{AFTER}"),
        Case("overtaken-noted", UNHEARD, "fail", lead=f"{SENT};world:serve:1.1;{DONE};{AFTER}"),
        Case("overtaken-again", GONE, "reexecute", idempotent=True,
             lead=f"{LATE};{said(2, 'ledger_unknown schedule_retry acquire append_started execute timeout')}"),
        Case("overtaken-counted", Bounds(workers=2, claims=3, expiries=2), "query", "quiet", lead=COUNTED_ON),
    )
}  # fmt: skip
"""Cases of two workers beside the interleavings', by name."""
THREE: Final = {
    case.name: case
    for case in (Case("overtaken-stale", Bounds(workers=3, claims=3, expiries=2), "query", "quiet", lead=COUNTED_ON),)
}
"""Cases of three workers beside the interleavings', by name."""
SIGNALS: Final = {
    case.name: case
    for case in (
        WideCase("park-2-signal", BOTH, "park", other="wait", place="after"),
        WideCase("fail-2-signal", BOTH, "fail", other="wait", place="after"),
        WideCase("query-fence-2-signal", BOTH, "query", "fence", other="wait", place="after"),
        WideCase("query-quiet-2-signal", BOTH, "query", "quiet", other="wait", place="after"),
        WideCase("reexecute-2-signal", BOTH, "reexecute", idempotent=True, other="wait", place="after"),
        WideCase("park-2-signal-before", BOTH, "park", other="wait"),
        WideCase("park-signal-cancel", Bounds(workers=1, claims=1, expiries=0, cancels=1), "park", other="wait", place="after"),
    )
}  # fmt: skip
"""Cases beside the fleet of two in which another step waits for a signal, by name. A worker that lets go of the job and is slower
than it meets a conflict and nothing else; in the last one a worker that parks though it knows of a cancel does."""
FAILING: Final = Bounds(workers=2, claims=2, expiries=1, faults=1)
"""The same, and an answer of a store that is lost anywhere."""
CALLED_OFF: Final = Bounds(workers=2, claims=2, expiries=1, cancels=1)
"""The same, and a client who asks for the job's end."""
UNDOINGS: Final = {
    case.name: case
    for case in (
        WideCase("park-2-undo", BOTH, "park", undoes="works"),
        WideCase("fail-2-undo", BOTH, "fail", undoes="works"),
        WideCase("query-fence-2-undo", BOTH, "query", "fence", undoes="works"),
        WideCase("query-quiet-2-undo", BOTH, "query", "quiet", undoes="works"),
        WideCase("reexecute-2-undo", BOTH, "reexecute", idempotent=True, undoes="works"),
        WideCase("partial-2-undo", BOTH, "park", partial=True, undoes="works"),
        WideCase("harmless-2-undo", BOTH, "park", undoes="harmless"),
        WideCase("faults-2-undo", FAILING, "park", undoes="works"),
        WideCase("cancel-2-undo", CALLED_OFF, "park", undoes="works"),
        WideCase("behind-2-undo", BOTH, "park", undoes="works", other="tool", place="after"),
        WideCase("signal-2-undo", BOTH, "park", undoes="works", other="wait", place="after"),
    )
}  # fmt: skip
"""Cases beside the fleet of two in which the effect is undone on request, by name: sampled. The request is no neutral event, so
whatever a worker appends next, at this step or behind it, meets a conflict."""
TOOLS: Final = (
    {"idempotent": "no", "on_unknown": "fail", "look": "none"},
    TOOL,
    {"idempotent": "no", "on_unknown": "query", "look": "fence"},
    {"idempotent": "no", "on_unknown": "query", "look": "quiet"},
    {"idempotent": "yes", "on_unknown": "reexecute", "look": "none"},
)
"""The kinds of tool of the cases, whose fleets' edges are counted together."""
WITHIN: Final = "within two claims and two attempts of one step"
"""The bounds of the cases whose edges two workers take all, in words."""
ATTEMPTS: Final = (1, 2)
"""How many the plans of the cases have."""


def fleets(policy: Policy = STEP_ALONE) -> list[Space]:
    """The fleets of two workers within the cases' bounds, each of one kind of tool and one plan, searched."""
    return [within(config, attempts, policy) for config in TOOLS for attempts in ATTEMPTS]


def fleet_edges(spaces: Iterable[Space]) -> set[RowEdge]:
    """Every edge of some fleets."""
    return {edge for space in spaces for edge in row_edges(space.machine, space.packing, reachable(space))}


def fleet_converse(sets: CertainSets, spaces: Sequence[Space]) -> Item:
    """Whether the code takes every edge of some fleets for certain."""
    edges = fleet_edges(spaces)
    certain, perhaps = (
        row_edges(sets.machine, sets.packing, each) & edges for each in (sets.certain.taken, sets.taken)
    )
    told = Taken(*({row_in_words(edge) for edge in each} for each in (edges, certain, perhaps)))
    return judged(
        "two workers that run the shipped code take", f"their fleet, {WITHIN},",
        told, "crashwindow conform --workers 2",
    )  # fmt: skip
