"""The properties of one tool step (T-PROP), as data.

A property is a list of guards that must never hold in a reachable state (`never`), and of fields that only grow (`grows`):
once such a field has left its first value it keeps the one it has, and a count never falls. `absorbing` guards end all
change: where one holds, no durable field is written any more. `occurs` is the antecedent: a state that must be reachable,
or the property says nothing (a witness of it is printed beside every proof).
"""

from dataclasses import dataclass
from typing import Final

from .machine import Guard, guard

SET = "first|other"
OPEN_LEDGER = "none|inflight|no_effect|unknown"


@dataclass(frozen=True)
class Property:
    """One property of the machine; `id` is the specification's."""

    id: str
    title: str
    never: tuple[Guard, ...] = ()
    grows: tuple[str, ...] = ()
    absorbing: tuple[Guard, ...] = ()
    occurs: tuple[Guard, ...] = ()


PROPERTIES: Final = (
    Property(
        "P1",
        "The effect of a step happens at most once.",
        never=(guard(effects="2"),),
        occurs=(guard(effects="1"), guard(effects="1", open="2")),
    ),
    Property(
        "P2",
        "The record is honest: what is committed happened exactly once, what is recorded as without effect did not happen.",
        never=(
            guard(finished=SET, effects="0|2"),
            guard(committed=SET, effects="0|2"),
            guard(effect=SET, effects="0|2"),
            guard(resolved=SET, effects="0|2"),
            guard(ledger="committed", effects="0|2"),
            guard(node="success", effects="0|2"),
            guard(ledger="no_effect", effects="1|2"),
            guard(node="no_effect", effects="1|2"),
        ),
        occurs=(guard(ledger="committed"), guard(node="no_effect"), guard(ledger="no_effect")),
    ),
    Property(
        "P3",
        "A recorded effect is always caught up: no rest, and no decision about an ambiguity, passes it over.",
        never=(
            guard(job="completed|failed|parked", effect=SET, finished="none"),
            guard(job="completed|failed|parked", effect=SET, committed="none"),
            guard(job="completed|failed|parked", effect=SET, ledger=OPEN_LEDGER),
            guard(at="ledger_unknown|on_unknown|query|park|retry_policy", effect=SET),
        ),
        occurs=(guard(at="append_finished", effect="first", memory="first"), guard(job="completed", effect="first")),
    ),
    Property(
        "P4",
        "A fault changes no verdict: a step is parked or failed as unknown only when the outcome of an attempt was lost, "
        "and failed without effect only when the tool refused it.",
        never=(
            guard(at="park", excused="no"),
            guard(job="parked", open="1|2", node="none", excused="no"),
            guard(node="unknown", excused="no"),
            guard(node="no_effect", refused="no"),
        ),
        occurs=(guard(job="parked", open="1"), guard(node="unknown"), guard(node="no_effect")),
    ),
    Property(
        "P6",
        "At rest, events, ledger and effect store agree, results included.",
        never=(
            guard(job="completed", finished="none|other"),
            guard(job="completed", committed="none|other"),
            guard(job="completed", effect="none|other"),
            guard(job="completed", recorded="none|other"),
            guard(job="completed", ledger=OPEN_LEDGER),
            guard(job="completed", node="none|no_effect|unknown"),
            guard(job="completed", checkpoint="no"),
            guard(job="failed", ledger="inflight"),
            guard(job="failed", node="no_effect", ledger="none|unknown|committed"),
            guard(job="failed", node="unknown", ledger="none|no_effect|committed"),
            guard(job="parked", ledger="inflight|no_effect"),
            guard(job="failed", open="1|2", node="none"),
        ),
        occurs=(guard(job="completed"), guard(job="failed", node="unknown"), guard(job="parked", ledger="unknown")),
    ),
    Property(
        "P7",
        "Logs only grow, and a terminal state absorbs.",
        grows=("closed", "finished", "committed", "resolved", "node", "checkpoint", "effect", "recorded"),
        absorbing=(guard(job="completed|failed"),),
        occurs=(guard(job="completed"), guard(job="failed"), guard(effect="first")),
    ),
    Property(
        "P11",
        "A tool sees one external key per logical effect, in whatever attempt.",
        never=(guard(keys="2"),),
        occurs=(guard(keys="1", open="2"),),
    ),
    Property(
        "P14",
        "The started event is durable before the tool is called.",
        never=(
            guard(at="execute|await_reply", open="0"),
            guard(request="sent|first|other|refused", open="0"),
            guard(wire="1|2", open="0", closed="0"),
            guard(effects="1|2", open="0", closed="0"),
        ),
        occurs=(guard(at="await_reply"), guard(wire="1"), guard(effects="1")),
    ),
)
BY_ID: Final = {p.id: p for p in PROPERTIES}
