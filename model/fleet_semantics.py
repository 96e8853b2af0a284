"""Gates and compensations for any number of workers: what is said of their machines beside their rows (P9, P10).

The gate. Its request for approval is a contract in a registry of its own, which no fence guards: a worker that was overtaken may
still ask. The contract is created once and answered once, by compare-and-set of its version, so what anybody has read of it
stays true, and what an overtaken worker asks for is a request that the next one finds there. The clause of one worker's machine
that a contract is not there when the worker is about to ask is false here, and left out.

The compensation. Its rows take the original step through the interface, without saying who runs it. Here a worker that holds the
job is at `original` unless it is busy with the compensation, and the rows of the original are its own; a job that is `held`
waits for a person's word on the original, which ends that. To the machine for one worker the first is idle, the second open.
The original's records lie in all three stores; they are put in the effect store, which a claimer fences last, so that whoever
was overtaken may write them for as long as it can write any of them. What has to be true of the original's own requests is said
by the interface and by A-QUIET: they act until the quiet time is over, whoever sent them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from .compensation import AT_WORK, HARDENED_COMPENSATION, SEEN, build_compensation
from .fleet_shape import Registry, Shape
from .gate import GATE_INVARIANT
from .machine import Actor, Machine, Rule, guard
from .words import RulePolicy, row, words

ORIGINAL: Final = "original"
"""The place of a worker that holds the job and is not busy with the compensation."""
AT_ORIGINAL: Final = frozenset({ORIGINAL})
OF_ORIGINAL: Final = frozenset(each.name for each in SEEN)
"""The rows of the original step."""
HELD: Final = "held"
"""The status of a job that waits for a person's word on the original step."""

GATE_SHAPE: Final = Shape(
    stores={
        **dict.fromkeys(("job", "action", "waited", "signal", "wait", "woken", "cancel", "started"), "events"),
        **dict.fromkeys(("asked", "decision"), "contracts"),
    },
    neutral=("action",),
    begin=True,
    watched=("signal", "woken", "cancel"),
    registry=Registry("contracts", "asked", "gate"),
    others=("decider",),
    holds=(("who completes a wait for approval has read the answer",
            words("kind:approval w.at:append_wait_completed w.known_decision:none")),),
)  # fmt: skip
FLEET_GATE_INVARIANT: Final = tuple(c for c in GATE_INVARIANT if c.name != "one contract is asked")

COMPENSATION_SHAPE: Final = Shape(
    stores={
        **dict.fromkeys(("job", "asked", "attempt", "done", "told", "node", "cancel"), "events"),
        "ledger": "ledger",
        **dict.fromkeys(("original", "record"), "effects"),
    },
    request="request",
    sent=frozenset({"sent"}),
    sending=frozenset({"call"}),
    late="late",
    begin=True,
    watched=("asked", "cancel"),
    means={"at": {ORIGINAL: "idle"}, "job": {HELD: "open"}},
    holds=(
        ("who works has an open job", words(f"w.at:{ORIGINAL}|{AT_WORK} w.stands_effects:yes job:{HELD}")),
        ("who works on the original has an open job", words(f"w.at:{ORIGINAL} w.stands_effects:yes job:parked|ended")),
    ),
)


def staffed(policy: RulePolicy = HARDENED_COMPENSATION) -> Machine:
    """The compensation's machine, with the worker who runs the original step, and the person who says what came of it."""
    machine = build_compensation(policy)
    more = {"at": ORIGINAL, "job": HELD}
    fields = [replace(f, values=(*f.values, more[f.name])) if f.name in more else f for f in machine.fields]
    rules = (*map(_staffed, machine.rules), *_turns(), *_answers(machine))
    return Machine(machine.name, tuple(fields), rules, machine.impossible)


def _staffed(rule: Rule) -> Rule:
    """A row of the compensation or of the original, with who takes it."""
    at, job = rule.sees.get("at", frozenset()), rule.sees.get("job", frozenset())
    if rule.actor is Actor.CRASH:
        return replace(rule, sees={**rule.sees, "at": at | {ORIGINAL}})
    if (
        rule.actor is Actor.PERSON
        and (job == {"open", "parked"} or rule.writes.get("job") == "open")
        and not rule.meets
    ):
        return replace(rule, sees={**rule.sees, "job": job | {HELD}})
    if rule.actor is not Actor.WORKER:
        return rule
    goes_on = rule.writes.get("at") == "idle" and "job" not in rule.writes
    writes = {**rule.writes, "at": ORIGINAL} if goes_on else rule.writes
    if "idle" not in at and rule.name not in OF_ORIGINAL:
        return replace(rule, writes=writes)
    rests = {"at": "idle"} if "job" in writes else {}
    unless = tuple({**each, "at": AT_ORIGINAL} if "at" in each else each for each in rule.unless)
    return replace(
        rule, sees={**rule.sees, "at": at - {"idle"} | AT_ORIGINAL}, writes={**rests, **writes}, unless=unless
    )


def _turns() -> Iterator[Rule]:
    """A worker takes the job up, at the original step; and lets go of it for that."""
    yield row("claim", Actor.WORKER, "at:idle job:open", f"at:{ORIGINAL}", boundary="claim", source="T-WORKER")
    yield row("park, for the original", Actor.WORKER, f"at:{ORIGINAL} job:open", f"job:{HELD} at:idle", boundary="park",
              emits=("job_parked",), source="T-RECOVER")  # fmt: skip


def _answers(machine: Machine) -> Iterator[Rule]:
    """A person says what came of the original, of which no worker is at work on the job then: the rows that end it."""
    for rule in machine.rules:
        if rule.name in OF_ORIGINAL and rule.writes.get("original") in ("ok", "no_effect"):
            sees = {name: values for name, values in rule.sees.items() if name != "at"}
            yield replace(rule, name=f"person: {rule.name}", actor=Actor.PERSON, sees={**guard(job=f"parked|{HELD}"), **sees},
                          writes={**rule.writes, "job": "open"}, boundary="resolve", emits=("invocation_resolved",),
                          source="A-PERSON")  # fmt: skip
