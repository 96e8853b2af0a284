"""The properties of one tool step (T-PROP), as data.

A property is a list of guards that must never hold in a reachable state (`never`), and of fields that only grow (`grows`):
once such a field has left its first value it keeps the one it has, and a count never falls. `absorbing` guards end all
change: where one holds, no durable field is written any more. `occurs` is the antecedent: a state that must be reachable,
or the property says nothing (a witness of it is printed beside every proof).
"""

from dataclasses import dataclass
from typing import Final

from .machine import Guard, guard
from .step import SET

OPEN_LEDGER = "none|inflight|no_effect|unknown"
REST = "completed|failed|cancelled|parked|waiting"
INJECTING = "append_node_finished|checkpoint|append_completed"
"""Where the worker treats what is in its memory as the step's result."""


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
            guard(node="success|unconfirmed|partial|compensatable", effects="0|2"),
            guard(node="success", finished="partial"),
            guard(node="partial|compensatable", finished="first|other"),
            guard(undone="yes", finished=SET, effects="0|2"),
            guard(ledger="no_effect", effects="1|2"),
            guard(node="no_effect", effects="1|2"),
            guard(requeue="due", effects="1|2"),
        ),
        occurs=(
            guard(ledger="committed"),
            guard(node="no_effect"),
            guard(ledger="no_effect"),
            guard(node="partial"),
            guard(undone="yes"),
            guard(requeue="due"),
        ),
    ),
    Property(
        "P3",
        "A recorded effect is always caught up: no rest, and no decision about an ambiguity, passes it over.",
        never=(
            guard(job=REST, effect=SET, finished="none"),
            guard(job=REST, effect=SET, committed="none"),
            guard(job=REST, effect=SET, ledger=OPEN_LEDGER),
            guard(at="ledger_unknown|on_unknown|query|retry_policy", effect=SET),
            guard(at="park", effect=SET, finished="none"),
        ),
        occurs=(guard(at="append_finished", effect="first", memory="first"), guard(job="completed", effect="first")),
    ),
    Property(
        "P4",
        "A fault changes no verdict: a step without a recorded result is parked or failed as unknown only when the outcome of "
        "an attempt was lost, failed without effect only when the tool refused it and no retry is granted, and failed as "
        "unconfirmed, or cancelled, only when a verifier, or a client, said so.",
        never=(
            guard(at="park", finished="none", excused="no"),
            guard(job="parked", open="1|2", finished="none", excused="no"),
            guard(node="unknown", excused="no"),
            guard(node="no_effect", refused="no"),
            guard(node="no_effect", retry="yes"),
            guard(requeue="due", refused="no"),
            guard(at="append_unconfirmed", cleared="no|yes"),
            guard(at="append_failed", node="success", undone="no", cleared="no|yes"),
            guard(job="cancelled", cancel="no"),
        ),
        occurs=(
            guard(job="parked", open="1", finished="none"),
            guard(node="unknown"),
            guard(node="no_effect"),
            guard(at="append_unconfirmed"),
            guard(at="append_failed", node="success", undone="no"),
            guard(job="cancelled", closed="1"),
        ),
    ),
    Property(
        "P6",
        "At rest, events, ledger and effect store agree, results included.",
        never=(
            guard(job="completed", finished="none|partial|other"),
            guard(job="completed", committed="none|partial|other"),
            guard(job="completed", effect="none|partial|other"),
            guard(job="completed", recorded="none|partial|other"),
            guard(job="completed", ledger=OPEN_LEDGER),
            guard(job="completed", node="none", undone="no"),
            guard(job="completed", node="no_effect|unknown|unconfirmed|partial|compensatable"),
            guard(job="completed", checkpoint="no", undone="no"),
            guard(job="failed", ledger="inflight"),
            guard(job="failed", node="no_effect", ledger="none|unknown|committed"),
            guard(job="failed", node="unknown", ledger="none|no_effect|committed"),
            guard(job="failed", node="unconfirmed|partial|compensatable", ledger=OPEN_LEDGER),
            guard(job="failed", node="compensatable", undone="no"),
            guard(job="failed", finished="partial", recorded="first|other"),
            guard(job=REST, ledger="committed", finished="none"),
            guard(job="failed|cancelled", requeue="due"),
            guard(job="parked", ledger="inflight|no_effect"),
            guard(job="waiting", ledger="inflight|no_effect|unknown"),
            guard(job="failed|waiting", open="1|2", node="none", undone="no"),
            guard(job="cancelled", open="1|2", finished="none", undone="no"),
            guard(job="cancelled", ledger="inflight|unknown"),
            guard(job="cancelled", finished="first", effect="none|partial|other"),
            guard(job="cancelled", finished="first", committed="none|partial|other"),
            guard(job="cancelled", finished="first", recorded="none|partial|other"),
            guard(job="cancelled", node="no_effect|unknown|unconfirmed|partial"),
            guard(job="waiting", ledger="committed", node="none", undone="no"),
            guard(job="waiting", node="no_effect|unknown|unconfirmed|partial|compensatable"),
        ),
        occurs=(
            guard(job="completed"),
            guard(job="failed", node="unknown"),
            guard(job="failed", node="unconfirmed"),
            guard(job="parked", ledger="unknown"),
            guard(job="parked", ledger="committed", node="none"),
            guard(job="cancelled", ledger="none"),
            guard(job="cancelled", ledger="no_effect"),
            guard(job="cancelled", ledger="committed"),
            guard(job="cancelled", ledger="committed", node="none"),
        ),
    ),
    Property(
        "P7",
        "Logs only grow, and a terminal state absorbs.",
        grows=(
            "closed",
            "finished",
            "committed",
            "resolved",
            "node",
            "checkpoint",
            "effect",
            "recorded",
            "undone",
            "cancel",
        ),
        absorbing=(guard(job="completed|failed|cancelled"),),
        occurs=(guard(job="completed"), guard(job="failed"), guard(job="cancelled"), guard(effect="first")),
    ),
    Property(
        "P8",
        "No result is injected from a record unless, since the last claim, the world was seen to agree with it, or the "
        "disagreement was durably warned of, or a person has accepted it; and nobody is warned of what was not seen.",
        never=(
            guard(at=INJECTING, undone="no", cleared="no|differs"),
            guard(at="append_warned", landed="no", cleared="no|yes"),
        ),
        occurs=(
            guard(at="confirm", fresh="no", cleared="no"),
            guard(at="append_node_finished", fresh="no", waiver="none"),
            guard(at="checkpoint", fresh="no", node="success"),
            guard(at="append_node_finished", waiver="warned"),
            guard(at="append_node_finished", waiver="accepted"),
        ),
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
