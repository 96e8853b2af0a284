"""The crash-window table (T-WINDOW), stated by hand for readers; `checkers.windows` derives it from the rows and compares.

A window is a set of durable states in which a crash can leave a step. `durable` tells them apart (any of its guards);
windows 1c, 2 and 2x share their durable states, which is the *ambiguity class*: no rule can tell them apart, so there
`struck` says where the worker was when it died, which only the model can know. Every state without a worker belongs to
exactly one class.

`recovery` names the rules of T-RECOVER that the next worker fires; none means that nothing runs. `at_crash` and `in_end` are
the numbers of effects: when the crash strikes, and when the job has ended, provided that no further fault strikes and
that the tool accepts what it is sent.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .machine import Guard, guard
from .step import SET

NO_RESULT: Final = {"effect": "none", "finished": "none", "committed": "none", "resolved": "none"}
BLANK: Final = {**NO_RESULT, "node": "none", "requeue": "none", "undone": "no"}
UNSETTLED = "inflight|unknown"


@dataclass(frozen=True)
class Window:
    """One row of the table."""

    id: str
    crash_after: str
    durable: tuple[Guard, ...]
    recovery: frozenset[str]
    advice: str  # what hardened recovery does, in words
    at_crash: frozenset[str]
    in_end: frozenset[str]
    source: str = "T-WINDOW"
    struck: tuple[Guard, ...] = ()


def _row(
    name: str, crash_after: str, durable: Iterable[Guard], recovery: str, advice: str, effects: str, *, source: str = "T-WINDOW",
    struck: tuple[Guard, ...] = (),
) -> Window:  # fmt: skip
    """A row; `effects` reads "at the crash → in the end"."""
    at_crash, in_end = (frozenset(part.split("|")) for part in effects.split(" → "))
    rules = frozenset(rule for rule in recovery.split(", ") if rule)
    return Window(name, crash_after, tuple(durable), rules, advice, at_crash, in_end, source, struck)


AMBIGUOUS: Final = (guard(job="open", open="1|2", doubt="no", ledger="inflight", **BLANK),)
"""The durable states of the ambiguity class that say nothing about an outcome: those of windows 1c, 2 and 2x."""
MISJUDGED: Final = guard(ledger="committed", finished="none", committed="none", effects="2")
"""A commit of which no event tells, and the step taken for not yet done: it was executed twice."""
CLOSED: Final = {"job": "open", "open": "0", "closed": "1|2", "cancel": "no", **BLANK}
FRESH: Final = {"job": "open", "open": "0", "closed": "0", "cancel": "no", **BLANK}
RECORDED: Final = {"job": "open", "node": "none", "undone": "no"}
FAILED: Final = "no_effect|unknown|unconfirmed|partial"

WINDOWS: Final = (
    _row("1a", "claim", [guard(ledger="none", **FRESH)],
         "8: execute", "execute", "0 → 1"),
    _row("1b", "acquire", [guard(ledger="inflight", **FRESH)],
         "6: take over", "take over, execute", "0 → 1"),
    _row("1c", "append_started", AMBIGUOUS, "5: open attempt", "ambiguous: on_unknown", "0 → 0|1",
         struck=(guard(at="append_started", landed="yes", open="1"), guard(at="execute", open="1"),
                 guard(at="await_reply", request="sent|refused", open="1"), guard(at="append_no_effect", landed="no", open="1"))),
    _row("2", "execute", AMBIGUOUS, "5: open attempt", "ambiguous: on_unknown", "1 → 1",
         struck=(guard(at="await_reply", request="first|partial|other", open="1"), guard(at="put_effect", landed="no", open="1"))),
    _row("2x", "a recovery, a lost answer, joined writes that were lost, or a further attempt of an idempotent tool, while an attempt is open", AMBIGUOUS,
         "5: open attempt", "ambiguous: on_unknown", "0|1 → 0|1", source="derived: T-WINDOW has no row for it"),
    _row("2u", "finished(unknown), or the recovery's UNKNOWN",
         [guard(job="open", open="1|2", doubt="yes", ledger=UNSETTLED, **BLANK),
          guard(job="open", open="1|2", doubt="no", ledger="unknown", **BLANK)],
         "5: open attempt", "ambiguous: on_unknown", "0|1 → 0|1"),
    _row("2p", "park", [guard(job="parked", open="1|2", ledger="unknown", **BLANK)],
         "", "wait for a person", "0|1 → 0|1"),
    _row("2r", "resolved",
         [guard(open="1|2", resolved=SET, finished="none", committed="none", ledger="unknown", **RECORDED),
          guard(ledger="unknown", **CLOSED)],
         "1: resolved, 4: all closed", "as resolved: catch up and inject, or retry or fail by policy", "0|1 → 0|1"),
    _row("2n", "finished(no_effect)", [guard(retry="no", ledger="inflight|no_effect", **CLOSED), guard(retry="yes", ledger="inflight", **CLOSED)],
         "4: all closed", "retry or fail, by policy", "0 → 0|1"),
    _row("1n", "schedule_retry", [guard(retry="yes", ledger="no_effect", **CLOSED)],
         "4: all closed", "execute again", "0 → 1",
         source="T-WINDOW, told apart from 2n by retry_scheduled (as stated the two overlap)"),
    _row("3", "put_effect", [guard(effect=SET, finished="none", committed="none", resolved="none", ledger=UNSETTLED, **RECORDED)],
         "3: effect record", "catch up: finished, committed, commit; inject", "1 → 1"),
    _row("3b", "append_finished", [guard(effect=SET, finished=SET, committed="none", ledger=UNSETTLED, **RECORDED)],
         "1: finished", "append committed; commit; inject", "1 → 1"),
    _row("4", "append_committed", [guard(effect=SET, finished=SET, committed=SET, ledger=UNSETTLED, **RECORDED)],
         "1: finished", "repair the ledger; inject", "1 → 1"),
    _row("5", "commit", [guard(effect=SET, finished=SET, committed=SET, ledger="committed", **RECORDED)],
         "1: finished", "confirm; inject", "1 → 1"),
    _row("6", "append_node_finished", [guard(job="open", node="success", undone="no", checkpoint="no")],
         "1: finished", "confirm; skip the node", "1 → 1"),
    _row("7", "checkpoint", [guard(job="open", node="success", undone="no", checkpoint="yes")],
         "1: finished", "confirm; resume from it; evidence wins over it", "1 → 1"),
    _row("8", "append_completed", [guard(job="completed")], "", "nothing runs", "1 → 1"),
    _row("8f", "append_failed, append_cancelled", [guard(job="failed|cancelled")], "", "nothing runs", "0|1 → 0|1"),
    _row("2f", "append_node_failed", [guard(job="open", node=FAILED)], "0: node failed", "write the terminal event", "0|1 → 0|1"),
    _row("2q", "append_node_failed (retryable)", [guard(job="open", requeue="due")], "0: to be requeued", "requeue", "0 → 0|1",
         source="T-WINDOW 2f, told apart by its result type"),
    _row("2c", "append_node_failed (compensatable)", [guard(job="open", node="compensatable", undone="no")],
         "0: to be compensated", "compensate; write the terminal event", "1 → 1", source="T-WINDOW 2f, told apart by its result type"),
    _row("2d", "the compensation", [guard(job="open", undone="yes")], "0: compensated after a failure, 0: compensated",
         "write the terminal event; what a person had undone is over and done with", "0|1 → 0|1",
         source="derived: T-WINDOW has no row for it"),
    _row("1x", "a cancel that was requested, nothing open",
         [guard(job="open", open="0", cancel="yes", ledger="none|inflight|no_effect|unknown", **BLANK)],
         "4: all closed, 6: cancelled, 8: cancelled", "cancel: NO_EFFECT, then the terminal event", "0 → 0",
         source="T-WINDOW 1n, a cancel"),
    _row("5p", "park, by a confirmation or a compensation",
         [guard(job="parked", finished=SET, undone="no", node="none|compensatable")],
         "", "wait for a person", "1 → 1", source="derived: T-CONFIRM, T-COMP"),
    _row("0p", "another step's park, or this one's after its node_finished",
         [guard(job="parked", open="0", closed="0", ledger="none", **BLANK), guard(job="parked", node="success"),
          guard(job="parked", node="none", undone="yes")],
         "", "wait for a person", "0|1 → 0|1", source="derived: T-WINDOW speaks of one step"),
    _row("0w", "another step's wait", [guard(job="waiting")],
         "", "wait for the signal", "0|1 → 1", source="derived: T-WORKER"),
)  # fmt: skip
BY_ID: Final = {window.id: window for window in WINDOWS}


@dataclass(frozen=True)
class SeedRow:
    """One row of the seed's own table (S1 §2), in our English, and the windows above that refine it."""

    row: str
    sentence: str
    lines: str
    refined_by: tuple[str, ...]
    finding: str


SEED_ROWS: Final = (
    SeedRow("1", "Before the tool runs (no started event, no ledger record): a new worker executes it once.", "24", ("1a",),
            "Holds. The row misses the crash after acquire (1b: INFLIGHT, nothing started), where its own text would wait for a "
            "dead worker."),
    SeedRow("2", "After the execution, before the effect record: not executed again, but failed for good or retried, by configuration.",
            "25", ("1c", "2", "2x", "2u"),
            "Contradicts itself: 'retry by configuration' executes again. Its state is also left by a crash before the execution, and "
            "no rule can tell the two apart."),
    SeedRow("3", "After the effect record, before the append: caught up from the effect store, not executed.", "26", ("3",),
            "Holds where the effect store is consulted before the barrier; with the barrier first the step is parked or failed."),
    SeedRow("4", "After the append, before the commit: the result is injected from the event stream.", "27", ("3b", "4"),
            "Holds. The two events are two appends, so there is a window between them (3b)."),
    SeedRow("5", "After the commit: the result is injected.", "28", ("5", "6", "7", "8"), "Holds."),
)  # fmt: skip
