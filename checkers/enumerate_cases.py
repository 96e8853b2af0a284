"""The cases of the core beside other machines than the step's, and every case that is sampled."""

from dataclasses import replace
from typing import Final

from .enumerate_case import (
    BEGUN,
    BRIEF,
    COMES_TO_NOTHING,
    CRASH,
    EARLIER_DONE,
    FAULT,
    FOLLOWED,
    GATED,
    LOST_TWICE,
    PARKED,
    PERSON,
    SENT_AGAIN,
    SENT_BEHIND,
    THIRD,
    WIDE,
    WOKEN,
    WideCase,
    said,
)
from .interleave_case import Bounds

PASSED: Final = ";".join((
    "person:signal",
    said(1, f"{BEGUN} append_wait_completed append_node_finished checkpoint acquire append_started execute"),
    "person:cancel",
))  # fmt: skip
"""The gate is passed, the step's request is on the wire, and somebody asks for the job's end."""
GATES: Final = {
    case.name: case
    for case in (
        WideCase("gate-approval", GATED, "fail", other="approve", sure=True),
        WideCase("gate-signal", GATED, "fail", other="wait", sure=True),
        WideCase(
            "gate-approval-woken",
            WOKEN,
            "fail",
            other="approve",
            undoes="works",
            earlier=True,
            sure=True,
            lead=EARLIER_DONE,
        ),
        WideCase("gate-ended", FOLLOWED, "fail", other="wait", lead=PASSED),
        WideCase("gate-ended-other", FOLLOWED, "fail", other="wait", lead=f"person:change;{PASSED}"),
        WideCase(
            "gate-signal-woken", WOKEN, "fail", other="wait", undoes="works", earlier=True, sure=True, lead=EARLIER_DONE
        ),
    )
}
"""A node that waits before the step, beside the machine of a gate. Sampled, too; the step never parks: no gate would see that."""
ASKED_TWICE: Final = ";".join((
    said(1, f"{BEGUN} acquire append_started"), "worker-1:crash;clock:expire",
    said(2, f"{BEGUN} ledger_unknown schedule_retry acquire append_started"), "worker-2:crash;clock:expire",
))  # fmt: skip
"""Two workers have asked for an input, and were gone before they recorded it."""
TOLD: Final = (
    WideCase("value-input", CRASH, "reexecute", idempotent=True, inputs="same", sure=True),
    WideCase("value-input-lost", FAULT, "reexecute", idempotent=True, inputs="same", sure=True),
    WideCase(
        "value-input-again", THIRD, "reexecute", idempotent=True, retries=2, inputs="same", sure=True, lead=ASKED_TWICE
    ),
    WideCase("value-llm", THIRD, "park", other="llm", uses=True, sure=True),
    WideCase("value-llm-lost", LOST_TWICE, "park", other="llm", uses=True, sure=True),
)
VALUES: Final = {
    case.name: case
    for told in TOLD
    for case in ([told, replace(told, name=f"{told.name}-other", swapped=True)] if told.inputs else [told])
}
"""A value that is recorded before a step uses it, beside the machine of that. A language model has two answers. An input is the
time, which is another in each life; the first is called the one value of the machine, or the other. Sampled, too."""
SENT_ALONE: Final = said(1, f"{BEGUN} acquire append_started execute")
"""The step's request is on the wire, where it is all of its job's plan."""
NEVER: Final = f"{PARKED};world:refuse:1.1;clock:quiet;person:undo"
"""It never happened, nobody knows that, and a person has it undone."""
HAPPENED: Final = ";".join((
    said(1, "timeout"), "world:serve:1.1", said(1, "append_unknown ledger_unknown park release"),
    "clock:quiet;person:resolve;person:undo",
))  # fmt: skip
"""It happened, a person says so once no request can act any more, and has it undone."""
COMMITTED: Final = ";".join((
    "world:serve:1.1", said(1, "answer put_effect append_finished append_committed commit crash"), "clock:expire;person:undo",
))  # fmt: skip
"""It happened, its worker was gone before the node ended, and a person has it undone."""
CALLED: Final = said(2, f"{BEGUN} acquire append_compensation_started compensate")
"""What undoes it is called."""
MISSED: Final = f"{CALLED};{said(2, 'unheard append_compensation_failed')}"
"""Nobody has heard what came of that."""
NOT_UNDONE: Final = f"{MISSED};{said(2, 'ledger_unknown park release')};world:late:nothing;clock:quiet;person:undone:no"
"""Nothing came of it, and a person says so."""
GONE: Final = f"{MISSED};worker-2:crash;world:late:nothing;clock:expire"
"""Nothing came of it, and its worker was gone before it could ask."""
BOTH: Final = "person:undo;person:undo-other"
"""A person has the step undone (again), and the one before it."""
ALL_ON_RECORD: Final = ";".join((
    CALLED, "world:undo:acts", said(2, "undone put_effect append_compensated append_committed commit crash"),
    "clock:expire;person:undo-other",
))  # fmt: skip
"""It is undone, but for its node's end; and the one before it is to be undone, too."""
FENCED_OFF: Final = ";".join((
    SENT_BEHIND, said(1, "timeout append_unknown ledger_unknown query:fails park release"), "person:undo-other",
))  # fmt: skip
"""Nobody knows of it, a query has failed, and the step before it is to be undone."""
DISAGREES: Final = f"worker-1:crash;clock:expire;{said(2, f'{BEGUN} confirm:mismatch')}"
"""Its worker is gone, and the world does not agree with what is on record of the step before it."""
IN_DOUBT: Final = ";".join((
    "worker-1:crash;clock:expire", said(2, f"{BEGUN} confirm:mismatch ledger_unknown park release"), "clock:quiet;person:undo",
    said(3, f"{BEGUN} acquire crash"), "clock:expire;person:undo-other",
    said(4, f"{COMES_TO_NOTHING} ledger_no_effect park release"),
    "clock:quiet;person:resolve;person:undo-other", said(5, SENT_AGAIN),
))  # fmt: skip
"""Its worker is gone, the job rests at the step before it, and a person has it undone; that is owned and not begun when the
other's undoing comes to nothing. It did not happen, and is sent again."""
UNRESOLVED: Final = WideCase("undo-both-unresolved", Bounds(1, 5, 3, cancels=1), "park", undoes="harmless", other="tool",
                             retries=0, lead=f"{SENT_BEHIND};{NEVER}")  # fmt: skip
BESIDE: Final = replace(
    UNRESOLVED, name="undo-both", bounds=Bounds(1, 4, 3, cancels=1), lead=f"{SENT_BEHIND};{COMMITTED}"
)
ASKED: Final = WideCase("undo-asked-lost", Bounds(1, 4, 2), "park", undoes="harmless", asked=True, retries=0,
                         lead=f"{SENT_ALONE};{NEVER};{GONE}")  # fmt: skip
UNDOES: Final = {
    case.name: case
    for case in (
        WideCase("undo-works", GATED, "park", partial=True, undoes="works", sure=True),
        WideCase("undo-harmless", GATED, "park", partial=True, undoes="harmless", sure=True),
        WideCase("undo-asked", GATED, "park", partial=True, undoes="works", asked=True, sure=True),
        WideCase("undo-asked-harmless", GATED, "park", partial=True, undoes="harmless", asked=True),
        WideCase("undo-fails", GATED, "fail", partial=True, undoes="harmless"),
        WideCase("undo-again", GATED, "reexecute", idempotent=True, partial=True, undoes="harmless"),
        WideCase("undo-query", GATED, "query", "quiet", partial=True, undoes="works"),
        WideCase("undo-resolved", Bounds(1, 3, 1), "park", undoes="works", lead=f"{SENT_ALONE};{HAPPENED}"),
        WideCase("undo-resolved-harmless", Bounds(1, 3, 1), "park", undoes="harmless", lead=f"{SENT_ALONE};{HAPPENED}"),
        ASKED,
        replace(
            ASKED,
            name="undo-asked-cancelled",
            lead=f"{SENT_ALONE};{NEVER};person:cancel;{GONE}",
            bounds=Bounds(1, 4, 2, cancels=1),
        ),
        BESIDE,
        replace(
            BESIDE, name="undo-both-again", bounds=Bounds(1, 3, 1, cancels=1), lead=f"{BESIDE.lead};{NOT_UNDONE};{BOTH}"
        ),
        replace(
            BESIDE,
            name="undo-both-done",
            bounds=Bounds(1, 3, 2, cancels=1),
            lead=f"{BESIDE.lead};{ALL_ON_RECORD};person:cancel",
        ),
        UNRESOLVED,
        WideCase("undo-both-fenced", Bounds(1, 2, 0), "query", "fence", undoes="works", other="tool", lead=FENCED_OFF),
        WideCase(
            "undo-in-doubt",
            Bounds(1, 5, 2),
            "fail",
            confirmed=PERSON,
            looked=True,
            undoes="harmless",
            other="tool",
            retries=0,
            lead=f"{SENT_BEHIND};{IN_DOUBT}",
        ),
        WideCase(
            "undo-unconfirmed",
            CRASH,
            "park",
            confirmed=("strict",),
            looked=True,
            undoes="works",
            other="tool",
            lead=f"{SENT_BEHIND};{DISAGREES}",
        ),
    )
}
"""What undoes the step, beside the machine of a compensation: the call is on the wire, and can be asked about; alone, and with a
step before it at which the job comes to rest. Sampled, too."""
BOTH_UNDONE: Final = ";".join((
    SENT_BEHIND, PARKED, "clock:quiet;person:undo", said(2, f"{BEGUN} acquire append_compensation_started"),
))  # fmt: skip
"""The step before it is done, nobody knows of this one, and a person has it undone: that has begun."""
AROUND: Final = {
    case.name: case
    for case in (
        WideCase("both-undone", Bounds(1, 4, 3, cancels=1), "park", undoes="harmless", other="tool", lead=BOTH_UNDONE),
        WideCase("abandoned", GATED, "park", abandoned=True),
        WideCase("abandoned-query", BRIEF, "query", "quiet", abandoned=True),
        WideCase("abandoned-again", BRIEF, "reexecute", idempotent=True, abandoned=True),
        WideCase("abandoned-half", BRIEF, "fail", partial=True, requeues=1, abandoned=True),
    )
}
"""A step that is being undone, while its job comes to rest at an earlier one; and one that executes a contract which is over:
beside the machine with the rows for what else may be done to a step (`model.surroundings`). Sampled; without a store's faults,
which those rows do not follow."""
SAMPLED: Final = {**WIDE, **GATES, **VALUES, **UNDOES, **AROUND}
"""Every case that is sampled."""
