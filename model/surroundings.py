"""What the rest of a job may do to one of its steps, beside what the step's own machine lets it do.

The machine of a step (`step.build`) lets other steps stop the job before this one begins and after it has ended. A job does more.
A step whose result is on record stops it again, while a later step is open: the world does not agree with that record, or its
compensation came to nothing. And a person has an effect undone in a job that waits. Before a job is stopped so, what is known of
each later step is put on record (B7', U1 to U4): the rows below let go of this step only then.

And a step that executes a contract is brought to rest by a worker that executes nothing, once the contract is over.

They are for the trace monitor, and for the enumeration's cases in which an earlier step rests. What is proved of a step is proved
without them. With them all of it holds but eight sentences. Four of P6 are about a job at rest, and mean the step that it rests
at: here a job may fail with an attempt open that was settled as UNKNOWN, park beside a step that was settled as NO_EFFECT, and
be cancelled behind a step that has failed, or is to be queued again, while an earlier one is to be undone before that is done.
One is of P4, that no job parks without a doubt: here it may for an undoing that came to nothing, of a step whose doubt a person
has ended. The others mean a step that somebody has begun, and of which nobody begins another attempt that is granted: one of a
contract that is over has no effect though nothing was refused, with a retry still due (P4), and no record in the ledger (P6).
"""

from dataclasses import replace
from typing import Final

from .machine import Actor, Guard, Machine, Rule, guard
from .policy import HARDENED, Policy
from .step import LETS_GO, SET, UNHEARD, build

NO_RECORD: Final = {"effect": "none", "finished": "none", "committed": "none", "resolved": "none", "node": "none",
                    "requeue": "none"}  # fmt: skip
"""Nothing says that the step has had its effect, and its node has not ended."""
SETTLED: Final = ("recover", "on_unknown", "retry_policy", "confirm", "append_failed", "compensate", "requeue")
"""Where a step is when what is known of it is on record, and the turn has an earlier one at hand."""
ELSEWHERE: Final = "elsewhere"
"""How the rows begin that are another step's deeds."""


def build_around(policy: Policy = HARDENED) -> Machine:
    """The machine of one tool step, in a job of which other steps stop, or are undone, while it is open."""
    alone = build(policy)
    return replace(alone, name=f"{alone.name}, others around it", rules=(*alone.rules, *surroundings()))


def build_by_itself(policy: Policy = HARDENED) -> Machine:
    """The machine of one tool step that is all of its job's plan: what is done elsewhere its own compensation does.

    So there is a result to be undone. (Undone unresolved, it needs none of these rows.)
    """
    around = build_around(policy)
    rules = [rule for rule in around.rules if not rule.name.startswith(ELSEWHERE)]
    for rule in (rule for rule in around.rules if rule.name.startswith(ELSEWHERE)):
        known = guard(finished=SET)["finished"] & rule.guards.get("finished", guard(finished=SET)["finished"])
        if known:
            rules.append(replace(rule, sees={**rule.sees, "finished": known}))
    return replace(around, name=f"{around.name}, by itself", rules=tuple(rules))


def surroundings() -> list[Rule]:
    """The rows that the step's own machine does not have."""
    return [*_hears(), *_settles(), *_ends(), *_abandons(), *_stops(), *_people()]


def _hears() -> list[Rule]:
    """An earlier step is at work in this turn, and what overtook it is read before this one, which has begun, is gone on with."""
    begun = guard(at="|".join(SETTLED), landed="no", job="open")
    return [
        Rule("hears what clients said, begun before", Actor.WORKER, begun, writes={"told": "=cancel"}, boundary="fence_events",
             source="T-WORKER"),
        Rule(f"{UNHEARD}, begun before", Actor.CRASH, begun, writes=LETS_GO),
    ]  # fmt: skip


def _settles() -> list[Rule]:
    """B7' of a step that comes later in the plan, by one that is about to stop the job; of an open one its own machine has it."""
    sees = guard(at="recover", landed="no", **NO_RECORD, open="0", ledger="inflight|unknown")
    return [
        Rule("elsewhere: settles what is closed", Actor.WORKER, sees, writes={"ledger": "no_effect"},
             boundary="ledger_no_effect", source="T-ORDER B7'"),
    ]  # fmt: skip


def _ends() -> list[Rule]:
    """It was undone unresolved; before that ended its node the job rested elsewhere, and a person says that it did not happen.

    It never runs again (P10): what is left of its undoing comes instead of a retry. Or that it be undone was asked for while the
    job rested elsewhere, another attempt of it being due.
    """
    sees = guard(at="retry_policy", told="no", undone="no", node="none", finished="none")
    due = guard(at="on_unknown", quiet="yes", retry="yes")
    return [
        Rule("its undoing has begun, and nothing is open", Actor.WORKER, sees, writes={"at": "compensate"}, source="T-COMP"),
        Rule("compensation was requested, harmless, and a retry is due", Actor.WORKER, due, writes={"at": "compensate"},
             source="T-COMP; T-QUIET"),
    ]  # fmt: skip


def _abandons() -> list[Rule]:
    """Nobody executes it any more, its contract being over (C-UNKNOWN): what nothing has begun, or is closed, had no effect."""
    nothing = {"open": "0", "landed": "no"}
    return [
        Rule("nobody begins it any more", Actor.WORKER, guard(at="acquire", ledger="none|no_effect", **nothing),
             writes={"at": "append_node_failed"}, source="C-UNKNOWN"),
        Rule("append node failed, nothing begun", Actor.WORKER, guard(at="append_node_failed", ledger="none", **nothing),
             writes={"node": "no_effect", "at": "append_failed"}, boundary="append_node_failed", emits=("node_finished",),
             source="C-UNKNOWN"),
        Rule("nobody executes it again", Actor.WORKER, guard(at="on_unknown", on_unknown="reexecute", retry="yes"),
             writes={"at": "park"}, source="C-UNKNOWN"),
    ]  # fmt: skip


def _stops() -> list[Rule]:
    """An earlier step stops the job: its record is not confirmed, or its compensation came to nothing. This one is settled."""
    here = {"at": "recover", "landed": "no", "job": "open", **NO_RECORD}
    settled: dict[str, Guard] = {
        "an attempt is open": guard(**{**here, "at": "recover|on_unknown"}, open="1|2", ledger="unknown"),
        "nothing is open": guard(**here, open="0", ledger="no_effect"),
        "the result is recorded": guard(at="confirm", landed="no", job="open", fresh="no"),
        "it is undone": guard(at="append_failed", landed="no", job="open", undone="yes"),
    }
    # An earlier step is undone before what this one's failure on record leads to, be it the end of the job or another try.
    due = {"landed": "no", "job": "open", "undone": "no"}
    halted = {
        **settled,
        "its compensation is owed": guard(at="compensate", node="compensatable", **due),
        "it failed without effect": guard(at="append_failed", node="no_effect", **due),
        "it failed after its effect": guard(at="append_failed", node="partial|unconfirmed", **due),
        "it failed in doubt": guard(at="append_failed", node="unknown", **due),
        "it is to be queued again": guard(at="requeue", requeue="due", **due),
    }
    # A cancel is honoured by a worker that has read of it, and waits for the outcome of every step.
    told: dict[str, Guard] = {
        "nothing is open": guard(told="yes"),
        "the result is recorded": guard(told="yes"),
        "it is undone": guard(told="yes", finished=SET),
        "its compensation is owed": guard(told="yes"),
        "it failed without effect": guard(told="yes"),
        "it failed after its effect": guard(told="yes"),
        "it is to be queued again": guard(told="yes"),
    }
    return [
        *(_stop(f"parks, {how}", sees, "parked", "job_parked") for how, sees in halted.items()),
        *(_stop(f"fails, {how}", sees, "failed", "job_failed") for how, sees in settled.items()),
        *(_stop(f"cancels, {how}", {**halted[how], **sees}, "cancelled", "job_cancelled") for how, sees in told.items()),
    ]  # fmt: skip


def _stop(name: str, sees: Guard, status: str, event: str) -> Rule:
    writes = {**LETS_GO, "job": status}
    return Rule(f"elsewhere: {name}", Actor.WORKER, sees, writes=writes, emits=(event,), source="T-CONFIRM, T-COMP")


def _people() -> list[Rule]:
    """What a person says of another step, or of the compensation of this one."""

    def queued(name: str, **sees: str) -> Rule:
        emits = ("job_requeued",)
        return Rule(name, Actor.PERSON, guard(at="idle", **sees), writes={"job": "open"}, emits=emits, source="T-COMP")

    return [
        queued("elsewhere: resolved, whatever is left here", job="parked"),
        queued("person: has it compensated while the job waits", job="waiting", finished=SET, undone="no"),
    ]
