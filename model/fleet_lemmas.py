"""What is true of each worker of a fleet beside what its proof needs: further clauses, each a guard that no worker ever satisfies.

A property is proved over few clauses (`fleet_properties.coupling`). That a changed row does what it did is a finer question: it may
depend on what a worker is like that was overtaken long ago, or on what no property speaks of. These clauses were found, as pairs and
triples of literals that hold of one worker, or of a solver's states, and kept where they are inductive together and some question
needs them. Who uses them proves them first (`checkers/mutate_fleet_same.py`); none serves the proof of a property.

A line is a clause: fields of a worker begin with `w.`. One thing takes two workers to say (`PAIRS`).
"""

# ruff: noqa: E501
# Tables: a clause is read as a line.

from collections.abc import Mapping, Sequence
from typing import Final

from .fleet_properties import Never
from .machine import Guard

RECORDED: Final = """
w.at:append_committed w.memory:none|other w.known_committed:first kind:llm w.stands_events:yes
w.at:append_committed|await w.memory:none
w.at:ask w.known_committed:first|other
w.at:ask w.memory:other
w.at:await w.known_committed:none
w.at:await w.memory:none|first kind:input other_done:yes
w.at:await w.memory:none|other kind:llm|input first_done:yes
w.at:idle|replay|ask|put_effect|append_node|use|await|append_terminal|fence_events|fence_ledger|fence_effects w.memory:first w.known_committed:none|other w.current:yes kind:input w.stands_events:yes
w.at:put_effect kind:input
w.at:replay w.memory:first|other
w.known_committed:first committed:other
w.known_committed:first other_done:yes
w.known_committed:first other_used:yes
w.known_committed:first|other committed:none
w.known_committed:other committed:first
w.known_committed:other first_used:yes
w.known_effect:first committed:other
w.known_effect:first effect:none|other
w.known_effect:first w.known_committed:other
w.known_effect:other committed:first
w.known_effect:other effect:none|first
w.known_effect:other w.known_committed:first
w.memory:first w.known_committed:other
w.memory:other w.known_committed:first
"""
GATE: Final = """
asked:first wait:other
asked:none wait:first|other|refused
asked:other wait:first
decision:none|denied wait:first|other
kind:approval wait:signalled
kind:signal asked:first|other
kind:signal asked:first|other decision:none
kind:signal decision:approved|denied
kind:signal wait:first|other
signal:none wait:signalled
w.at:append_wait_completed w.known_decision:denied w.current:yes kind:signal w.stands_events:yes
w.at:append_wait_completed w.known_signal:none kind:signal
w.at:append_wait_completed w.known_wait:first|other|signalled
w.at:append_wait_completed w.loaded:first w.known_asked:other w.known_decision:none|approved w.current:yes kind:signal w.stands_events:yes
w.at:append_wait_completed w.loaded:other w.known_asked:first|other w.known_decision:none|approved w.current:yes kind:signal w.stands_events:yes
w.at:ask kind:signal
w.at:gate w.loaded:first|other w.known_wait:first kind:approval asked:first decision:none|denied
w.at:gate w.loaded:first|other w.known_wait:other kind:approval asked:other decision:none|denied
w.at:gate w.loaded:other kind:signal asked:first|other decision:none
w.at:gate|ask|append_wait_completed|start w.known_wait:refused
w.at:start wait:none|refused
w.known_asked:first kind:signal
w.known_signal:none w.known_wait:signalled
w.known_signal:received kind:signal signal:none
w.known_wait:first asked:other
w.known_wait:first|other decision:none|denied
w.known_wait:first|other kind:signal
w.known_wait:first|other|refused asked:none
w.known_wait:first|other|signalled wait:none
w.known_wait:first|signalled wait:refused
w.known_wait:other asked:first
w.known_wait:other wait:first|refused
w.known_wait:refused w.known_started:first|other
w.known_wait:signalled kind:approval
w.known_wait:signalled signal:none
wait:refused started:first|other
"""
COMPENSATION: Final = """
asked:yes attempt:open|lost
asked:yes node:yes
asked:yes record:yes
asked:yes undone:1
attempt:none ledger:unknown
original:none deed:done
original:none ledger:inflight
original:none|started quiet:yes
original:none|started|unknown|no_effect attempt:open|lost|closed|disproved quiet:no
original:started|unknown asked:no attempt:none ledger:inflight|unknown|committed
record:no node:yes
told:no|compensated ledger:committed
w.at:acquire original:started|unknown asked:no attempt:none w.stands_ledger:yes
w.at:acquire|start w.known_original:no_effect
w.at:append_compensated|append_committed|commit|append_node record:no
w.at:append_compensated|append_committed|commit|append_node w.known_record:no
w.at:append_node done:no
w.at:await|append_lost|ledger_unknown|park w.known_done:yes
w.at:call attempt:none|closed|disproved
w.at:call undone:1
w.at:call|put_record w.known_asked:yes
w.at:call|put_record|append_node asked:yes
w.at:commit told:no|compensated
w.at:commit w.known_told:no|compensated
w.at:original w.known_original:none|no_effect w.known_attempt:open|lost w.current:yes asked:yes w.stands_events:yes
w.at:original w.known_original:unknown w.known_attempt:closed|disproved harmless:no
w.at:original w.known_record:no w.known_node:yes
w.at:idle w.known_ledger:inflight
w.at:idle|fence_events w.known_original:started|unknown
w.at:ledger_unknown w.known_attempt:none
w.at:original w.known_job:open w.known_original:ok w.known_attempt:open|lost w.known_record:no w.known_ledger:none|no_effect w.current:yes asked:yes cancel:yes w.stands_events:yes
w.at:original w.known_job:open|parked w.known_original:none w.known_attempt:none deed:done|late w.stands_effects:yes
w.at:original w.known_original:started|unknown w.known_attempt:none w.known_ledger:inflight|unknown|committed w.current:yes asked:no w.stands_events:yes
w.at:put_record attempt:closed|disproved
w.at:put_record undone:0
w.at:put_record|ledger_unknown attempt:none
w.barred:yes
w.known_asked:yes w.known_done:yes
w.known_asked:yes w.known_node:yes
w.known_asked:yes w.known_record:yes
w.known_attempt:closed|disproved w.known_node:yes
w.known_attempt:none w.known_ledger:unknown
w.known_attempt:none|closed|disproved w.known_done:yes
w.known_attempt:none|closed|disproved w.known_record:yes
w.known_attempt:open|lost attempt:none
w.known_done:no w.known_node:yes
w.known_done:yes asked:yes
w.known_done:yes attempt:none
w.known_done:yes done:no
w.known_done:yes undone:0
w.known_ledger:committed told:no|compensated
w.known_ledger:inflight original:none
w.known_ledger:inflight|unknown|committed original:started|unknown asked:no attempt:none w.stands_ledger:yes
w.known_ledger:unknown|committed attempt:none
w.known_node:yes asked:yes
w.known_node:yes record:no
w.known_original:started w.known_attempt:closed|disproved
w.known_original:unknown w.known_attempt:closed|disproved harmless:no
w.known_original:unknown w.known_attempt:open|lost quiet:no
w.known_record:yes asked:yes
w.known_record:yes attempt:none|closed
w.known_record:yes record:no
w.known_record:yes undone:0
w.known_told:committed told:no|compensated
w.known_told:no|compensated w.known_ledger:committed
w.request:acted undone:0
w.request:sent undone:1
w.request:sent|acted asked:yes
w.request:sent|acted attempt:none|closed|disproved
w.request:sent|acted w.known_asked:yes
"""
STEP: Final = """
closed:0 node:no_effect
closed:1|2 ledger:none
committed:partial waiver:accepted
finished:none|partial waiver:accepted
job:parked node:compensatable undone:yes
job:parked node:unknown
job:parked open:0 closed:1|2
job:parked open:0 ledger:unknown
job:parked open:1|2 finished:none node:success|no_effect|unknown|unconfirmed|partial|compensatable effects:1|2
on_unknown:park|query|fail open:1|2 retry:yes
open:0 node:unknown
open:0 undone:yes
requeue:due ledger:none|inflight
resolved:first ledger:inflight
resolved:first node:unknown
w.at:acquire w.told:yes w.landed:yes w.known_open:0
w.at:acquire|attempt_closed|ledger_no_effect|retry_policy|ledger_unknown|on_unknown w.known_ledger:committed
w.at:acquire|ledger_no_effect w.told:yes w.known_ledger:none finished:first|other|partial
w.at:acquire|ledger_no_effect w.told:yes w.known_ledger:none ledger:inflight|no_effect|unknown|committed
w.at:append_cancelled cancel:no
w.at:append_committed|commit|append_node_finished|checkpoint|confirm finished:none
w.at:append_completed|append_cancelled w.landed:yes w.known_job:open
w.at:append_finished|append_committed|commit|confirm effect:none
w.at:append_no_effect w.landed:no w.known_open:0
w.at:append_node_failed w.known_open:0 w.known_ledger:unknown
w.at:append_node_finished|checkpoint|append_completed|confirm recorded:none
w.at:append_started|append_no_effect w.landed:no w.cleared:yes|differs
w.at:append_started|execute|await_reply|append_no_effect|attempt_closed w.known_ledger:none
w.at:checkpoint|append_completed|confirm open:0
w.at:commit|confirm w.known_committed:none
w.at:confirm w.memory:first|other w.fresh:yes w.known_node:success w.known_waiver:none|warned
w.at:confirm w.memory:partial w.known_node:success|no_effect|unknown|unconfirmed|partial|compensatable
w.at:execute|await_reply w.known_committed:first
w.at:execute|await_reply w.known_finished:first
w.at:execute|await_reply w.known_node:success
w.at:execute|await_reply w.known_waiver:accepted
w.at:execute|await_reply|append_no_effect|retry_policy w.known_ledger:unknown
w.at:execute|await_reply|attempt_closed|ledger_unknown|on_unknown|query w.known_finished:partial
w.at:execute|await_reply|put_effect|append_finished|append_committed|commit w.known_node:unconfirmed
w.at:execute|await_reply|put_effect|append_finished|append_committed|commit|append_node_finished|checkpoint|append_completed|retry_policy|append_failed|ledger_unknown|on_unknown|query|park|confirm|compensate|append_retryable ledger:none
w.at:execute|await_reply|put_effect|append_finished|append_committed|commit|confirm w.known_undone:yes
w.at:execute|await_reply|put_effect|append_finished|append_committed|commit|ledger_unknown|on_unknown|query|park|confirm|compensate w.known_open:0
w.at:fence_effects|recover w.known_closed:1|2 w.known_ledger:none
w.at:fence_effects|recover w.known_requeue:due w.known_ledger:none
w.at:idle|fence_events|fence_ledger|fence_effects|recover|acquire|append_started|execute|await_reply|append_committed|commit|append_node_finished|checkpoint|append_completed|append_no_effect|attempt_closed|ledger_no_effect|retry_policy|schedule_retry|append_node_failed|append_failed|append_unknown|ledger_unknown|on_unknown|query|resolve_not_happened|park|confirm|append_warned|append_unconfirmed|append_partial|append_compensatable|compensate|append_retryable|requeue|append_cancelled w.memory:first|other finished:none|partial|other
w.at:idle|fence_events|fence_ledger|fence_effects|recover|acquire|append_started|execute|await_reply|append_no_effect|attempt_closed|ledger_no_effect|retry_policy|schedule_retry|append_node_failed|append_unknown|ledger_unknown|on_unknown|query|resolve_happened|resolve_not_happened|append_unconfirmed|append_retryable|requeue w.cleared:yes
w.at:idle|fence_events|fence_ledger|fence_effects|recover|execute|await_reply|attempt_closed|retry_policy|on_unknown|query|confirm|compensate w.landed:yes undone:no
w.at:idle|fence_events|retry_policy|append_retryable w.known_ledger:inflight
w.at:ledger_no_effect w.told:no w.landed:no w.known_ledger:none
w.at:on_unknown w.known_retry:yes on_unknown:park|query|fail
w.at:park w.landed:no w.known_job:parked
w.at:park w.told:yes w.landed:yes w.known_finished:first|partial|other
w.at:put_effect w.landed:yes effect:none
w.at:put_effect|append_finished|append_committed|commit w.fresh:yes w.known_node:success
w.at:put_effect|append_finished|append_committed|commit w.known_node:partial|compensatable
w.at:put_effect|append_finished|append_committed|commit|confirm w.memory:none
w.at:query look:none
w.at:recover w.fresh:yes
w.at:recover w.known_committed:first|partial w.known_effect:none
w.at:recover w.known_finished:first|partial w.known_effect:none
w.at:recover w.known_finished:first|partial|other w.known_requeue:due
w.at:recover w.known_node:compensatable w.known_effect:none
w.at:recover w.known_node:no_effect|unknown|unconfirmed|partial w.known_ledger:inflight
w.at:recover w.known_node:no_effect|unknown|unconfirmed|partial w.known_requeue:due
w.at:recover w.known_node:no_effect|unknown|unconfirmed|partial w.known_undone:yes
w.at:recover w.known_open:0 w.known_closed:1|2 w.known_committed:first|partial|other
w.at:recover w.known_open:0 w.known_closed:1|2 w.known_finished:first|partial|other
w.at:recover w.known_open:0 w.known_closed:1|2 w.known_resolved:first|partial|other
w.at:recover w.known_open:1|2 w.known_requeue:due
w.at:recover w.known_requeue:due w.known_effect:first|partial|other
w.at:recover w.known_resolved:first|partial|other w.known_ledger:inflight
w.at:recover w.landed:no w.known_job:open w.known_open:0 w.known_closed:1|2 w.known_finished:none w.known_resolved:none w.known_node:none w.known_effect:none w.known_ledger:none w.current:yes w.stands_events:yes
w.at:recover|acquire|attempt_closed|ledger_no_effect|retry_policy|ledger_unknown|on_unknown w.known_job:completed|failed|cancelled
w.at:recover|acquire|execute|await_reply|put_effect|append_finished|append_committed|commit|append_no_effect|attempt_closed|ledger_no_effect|retry_policy|schedule_retry|append_unknown|ledger_unknown|on_unknown|query|resolve_happened|resolve_not_happened|confirm|append_compensatable|compensate w.cleared:differs
w.at:recover|acquire|execute|await_reply|put_effect|append_finished|append_committed|commit|attempt_closed|ledger_no_effect|retry_policy|ledger_unknown|on_unknown|query|confirm|compensate|append_cancelled w.known_job:parked
w.at:recover|attempt_closed|ledger_no_effect w.known_job:waiting
w.at:recover|execute|await_reply|retry_policy|on_unknown|query|confirm w.landed:yes
w.at:retry_policy|schedule_retry|on_unknown|append_retryable|requeue w.known_ledger:none
w.cleared:differs effect:none
w.cleared:differs finished:none|partial
w.cleared:yes effects:0
w.cleared:yes open:0
w.cleared:yes w.known_undone:yes
w.fresh:no w.cleared:yes|differs finished:none|partial|other
w.fresh:yes w.known_ledger:unknown
w.fresh:yes w.known_waiver:accepted
w.known_closed:0 w.known_node:no_effect
w.known_closed:0 w.known_requeue:due
w.known_closed:1|2 ledger:none
w.known_committed:first|partial ledger:none
w.known_committed:none w.known_ledger:committed
w.known_committed:none w.known_node:unconfirmed|partial|compensatable
w.known_committed:other
w.known_committed:partial effect:none|first
w.known_committed:partial finished:first
w.known_committed:partial w.known_waiver:accepted
w.known_effect:first|partial effect:none
w.known_effect:first|partial ledger:none
w.known_effect:first|partial open:0
w.known_effect:other
w.known_effect:partial effect:first
w.known_effect:partial finished:first
w.known_effect:partial waiver:accepted
w.known_finished:first finished:none|partial
w.known_finished:first w.known_node:partial|compensatable
w.known_finished:first|partial effect:none
w.known_finished:first|partial ledger:none
w.known_finished:none w.known_committed:partial
w.known_finished:none w.known_ledger:committed
w.known_finished:none w.known_node:unconfirmed|partial|compensatable
w.known_finished:none|partial w.known_committed:first
w.known_finished:other
w.known_finished:partial effect:first
w.known_finished:partial finished:none|first
w.known_finished:partial w.known_node:success
w.known_finished:partial w.known_waiver:accepted
w.known_finished:partial waiver:accepted
w.known_job:cancelled cancel:no
w.known_job:completed|failed|cancelled job:open|parked|waiting
w.known_job:waiting w.current:yes job:open|parked|completed|failed|cancelled
w.known_ledger:committed committed:none
w.known_ledger:committed effect:none
w.known_ledger:committed finished:none
w.known_ledger:committed node:no_effect
w.known_ledger:committed open:0
w.known_ledger:committed recorded:none
w.known_ledger:committed w.known_recorded:none
w.known_ledger:no_effect|committed ledger:none
w.known_node:compensatable w.known_requeue:due
w.known_node:no_effect effects:1
w.known_node:no_effect ledger:inflight
w.known_node:no_effect node:none
w.known_node:no_effect open:1|2
w.known_node:no_effect|unknown w.known_ledger:committed
w.known_node:no_effect|unknown|unconfirmed|partial|compensatable ledger:none
w.known_node:success finished:none
w.known_node:success open:0
w.known_node:success w.known_effect:partial
w.known_node:success w.known_recorded:partial
w.known_node:unknown ledger:committed
w.known_node:unknown node:none|success|unconfirmed|partial|compensatable
w.known_open:0 w.known_committed:first|partial
w.known_open:0 w.known_effect:first|partial
w.known_open:0 w.known_finished:first|partial
w.known_open:0 w.known_ledger:committed
w.known_open:0 w.known_node:unknown|unconfirmed|partial|compensatable
w.known_open:0 w.known_resolved:first
w.known_open:1|2 ledger:none
w.known_open:1|2 w.known_retry:yes on_unknown:park|query|fail
w.known_recorded:other
w.known_recorded:partial finished:none|first
w.known_recorded:partial waiver:accepted
w.known_requeue:due ledger:none
w.known_requeue:due w.known_ledger:inflight
w.known_requeue:due w.known_undone:yes
w.known_resolved:first ledger:none|inflight
w.known_resolved:first resolved:none
w.known_resolved:first w.known_ledger:inflight
w.known_resolved:first w.known_node:no_effect|unknown|compensatable
w.known_resolved:first w.known_requeue:due
w.known_resolved:partial|other
w.known_undone:yes ledger:none
w.known_undone:yes open:0
w.known_undone:yes undone:no
w.known_waiver:accepted effect:none|partial
w.known_waiver:accepted finished:none|partial
w.known_waiver:accepted recorded:none|partial
w.known_waiver:accepted w.known_effect:partial
w.known_waiver:accepted w.known_recorded:partial
w.landed:yes w.known_job:open w.known_ledger:none
w.memory:first w.known_finished:partial
w.memory:other
w.memory:partial w.known_committed:first
w.memory:partial w.known_node:success
w.memory:partial w.known_waiver:accepted
w.request:first|partial effects:0
w.request:first|partial open:0
w.request:other
w.request:refused w.cleared:differs
w.request:sent|first w.known_finished:partial
w.request:sent|first|partial w.known_waiver:accepted
w.request:sent|first|partial|refused w.known_ledger:unknown
w.told:yes cancel:no
w.told:yes w.known_job:waiting
waiver:accepted effect:none|partial
waiver:accepted recorded:none|partial
"""

TOLD: Final = "w.at:acquire|ledger_no_effect w.told:yes w.known_ledger:none"
"""A worker that has heard of a cancel before anything was acquired."""
BEGUN: Final = """
acquire append_committed append_compensatable append_completed append_failed append_finished append_no_effect append_node_failed
append_node_finished append_partial append_retryable append_started append_unconfirmed append_unknown append_warned attempt_closed
await_reply checkpoint commit compensate confirm execute ledger_no_effect ledger_unknown on_unknown park put_effect query requeue
resolve_happened resolve_not_happened retry_policy schedule_retry
"""
"""Where a worker of the step is that has begun it, or has anything to put on record."""
PAIRS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "fleet": (
        (TOLD, f"w.at:{'|'.join(BEGUN.split())} w.stands_ledger:yes"),
        (TOLD, "w.at:fence_ledger|fence_effects|recover w.told:no w.stands_ledger:yes"),
    )
}
"""By fleet what no two workers are like, one of them this and another that: whoever reads the stores after somebody was told is told."""

LEMMAS: Final = {"fleet-recorded": RECORDED, "fleet-gate": GATE, "fleet-compensation": COMPENSATION, "fleet": STEP}
"""By fleet."""


def lemmas(fleet: str) -> tuple[Never, ...]:
    """The clauses of a fleet. Raises KeyError for one that has none."""
    return tuple(Never(line, _guard(line), "found, and inductive") for line in LEMMAS[fleet].split("\n") if line)


def pairs(fleet: str) -> tuple[tuple[Guard, Guard], ...]:
    """What no two workers of a fleet are like, one this and another that."""
    return tuple((_guard(one), _guard(other)) for one, other in PAIRS.get(fleet, ()))


def _guard(line: str) -> dict[str, frozenset[str]]:
    literals = (literal.partition(":") for literal in line.split())
    return {name: frozenset(values.split("|")) for name, _, values in literals}
