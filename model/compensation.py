"""A step's compensation, as rows (T-COMP; P10).

How to read it. The original step is seen by what its records say (`original`) and whether its effect happened (`deed`); of
`model.contract_step.INTERFACE` it takes the steps in `SEEN`. The compensation is a step of its own, under the same protocol:
ledger, started event, call, effect record, step_compensated, command_committed, ledger, node. `asked` is a request that no
attempt has used up yet, made by a person or by a step that ended as a compensatable failure, or a worker's grant after proof that
the last attempt did nothing; each is good for one call. `attempt` is the newest one: open (or lost, where compensation_failed
says that its outcome is unknown) until it is proved that it did nothing. `undone` counts what the callback did to the world;
`request` is its call while somebody waits for the answer, `late` counts those that nobody waits for any more. `job` is parked
where its park is about the compensation; whatever else holds the job up is not seen here, and a worker at work on something else
is idle here. A worker may crash at any place, without limit (A-ONE-WORKER). A row is a write with its definite answer (T-WRITE).

What a rule changes when it is off. K-BARRIER: nothing is written before the call, and a worker that finds no step_compensated
calls. K-COMMITTED: whatever was finished is compensated, whatever its outcome, and a person may ask for anything. K-QUIET: an
effect of which nobody knows is compensated, where that is declared harmless, while the original's request may still act. K-TRUTH:
step_compensated is written after the call, whatever came of it, and what was acquired and not begun stays INFLIGHT. K-RECORD:
recovery does not look for an effect record of the compensation. K-TERMINAL: a compensated step is not terminal.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from .contract_step import STEPS, TOLD
from .machine import Actor, Field, Machine, Rule, Scope, first_match, guard
from .words import NO_YES, RulePolicy, row, words

COMPENSATION_RULES: Final = {
    "K-BARRIER": "compensation_started is durable before the call, and while that attempt is open nothing is called",
    "K-COMMITTED": "only an effect on record as committed is compensated, or an unknown one where that is declared harmless",
    "K-QUIET": "an unknown effect is compensated only when it cannot come any more",
    "K-TRUTH": "a call that failed is recorded as compensation_failed, and one that was never made as without effect",
    "K-RECORD": "recovery looks for the compensation's effect record before it judges an open attempt",
    "K-TERMINAL": "once a compensation has begun the step never runs again, nor does a compensation that is done",
}
IDEMPOTENT: Final = "every callback is idempotent"
"""No rule of ours, an assumption that S2 makes: a repeated call changes nothing."""

HARDENED_COMPENSATION: Final = RulePolicy("compensation-hardened", frozenset(COMPENSATION_RULES))

LEDGER: Final = ("none", "inflight", "no_effect", "unknown", "committed")
PLACES: Final = ("idle", "acquire", "start", "call", "await", "put_record", "append_compensated", "append_committed",
                 "commit", "append_node", "append_no_effect", "ledger_no_effect", "append_lost", "ledger_unknown",
                 "park")  # fmt: skip
SEEN: Final = (*STEPS, TOLD)
"""What becomes of the original step. Its records do not say again that it was started because somebody wants it undone; and that
nothing happened ends it only where a compensation has begun, else it is tried again."""
CLOSED: Final = "closed|disproved"
BEGUN: Final = f"open|lost|{CLOSED}"
UNRESOLVED: Final = words("attempt:open|lost done:no")
"""A person is asked about the attempt first."""
SETTLED: Final = "ledger:none|no_effect"
UNSETTLED: Final = words(f"attempt:{CLOSED} ledger:inflight|unknown")
"""The last attempt did nothing, and its ledger does not say so yet."""
AT_WORK: Final = "|".join(place for place in PLACES if place != "idle")

FIELDS: Final = (
    Field("harmless", Scope.CONFIG, NO_YES, "declared: nothing happens when there is nothing to undo", NO_YES),
    Field("idempotent", Scope.CONFIG, NO_YES, "whether a repeated call of the callback changes nothing", NO_YES),
    Field("job", Scope.DURABLE, ("open", "parked", "ended"), "status of the job"),
    Field("original", Scope.DURABLE, ("none", "started", "unknown", "no_effect", "ok"), "what the original step's records say"),
    Field("asked", Scope.DURABLE, NO_YES, "a request, or a grant, that no attempt has used up"),
    Field("attempt", Scope.DURABLE, ("none", "open", "lost", "closed", "disproved"), "the newest compensation_started: open, "
          "with compensation_failed(unknown), or without effect: by compensation_failed, or as somebody proved"),
    Field("record", Scope.DURABLE, NO_YES, "the compensation's effect record"),
    Field("done", Scope.DURABLE, NO_YES, "a step_compensated event, or the word that it happened"),
    Field("told", Scope.DURABLE, ("no", "compensated", "committed"), "the events: step_compensated, then command_committed"),
    Field("ledger", Scope.DURABLE, LEDGER, "the compensation's ledger record"),
    Field("node", Scope.DURABLE, NO_YES, "node_finished(compensated)"),
    Field("cancel", Scope.DURABLE, NO_YES, "a cancel_requested event"),
    Field("quiet", Scope.CLOCK, NO_YES, "the original's last request can act no more (A-QUIET)"),
    Field("at", Scope.VOLATILE, PLACES, "the worker's place"),
    Field("deed", Scope.WORLD, ("none", "done", "late"), "the original's effect: late, when it came after its compensation"),
    Field("request", Scope.WORLD, ("none", "sent", "acted", "refused"), "the callback's call, while the worker waits"),
    Field("late", Scope.WORLD, ("0", "1", "2"), "calls that nobody waits for, and that may still act", count=True),
    Field("undone", Scope.WORLD, ("0", "1", "2"), "how often the callback has done something", count=True),
    Field("rerun", Scope.GHOST, NO_YES, "the original ran again after its compensation had begun"),
)  # fmt: skip


def build_compensation(policy: RulePolicy = HARDENED_COMPENSATION) -> Machine:
    """The machine of a compensation under a policy."""
    on = policy.rules
    parts = (
        _original(on),
        _requests(on),
        _decide(on),
        _call(on),
        _world(),
        _success(),
        _failure(),
        _person(),
        _elsewhere(on),
        _crash(),
    )
    ruled_out = (guard(idempotent="no"),) if IDEMPOTENT in on else ()
    return Machine(policy.name, FIELDS, tuple(rule for part in parts for rule in part), ruled_out)


def _original(on: frozenset[str]) -> Iterator[Rule]:
    """The original step through its interface; once its compensation has begun it is not tried again."""
    for each in SEEN:
        before, deed = "|".join(each.before), "|".join(each.deed)
        acts = each.deed == ("none",) and each.effect == "done"
        runs = each.after == "started" and not acts
        sees = f"original:{before}" + (" quiet:no" if acts else "") + (" at:idle job:open|parked" if runs else "")
        if acts:
            yield row(each.name, Actor.WORLD, sees, "deed:done", meets=f"deed:{deed} undone:0", source="T-RECOVER")
            yield row(
                f"{each.name}, after its compensation", Actor.WORLD, sees, "deed:late", meets=f"deed:{deed} undone:1|2"
            )
            continue
        first = f"{sees} attempt:none" if runs else f"{sees} at:idle attempt:{BEGUN}" if each is TOLD else sees
        becomes = row(each.name, Actor.WORKER, first, f"original:{each.after}" + (" quiet:no" if runs else ""),
                      meets=f"deed:{deed}", source="T-RECOVER")  # fmt: skip
        yield replace(becomes, unless=(UNRESOLVED,)) if each is TOLD else becomes
        if runs and "K-TERMINAL" not in on:
            yield row(f"{each.name}, though a compensation has begun", Actor.WORKER, f"{sees} attempt:{BEGUN}",
                      f"original:{each.after} quiet:no rerun:yes", meets=f"deed:{deed}")  # fmt: skip
    doubt = row("the job ends, and the original is in doubt", Actor.WORKER,
                f"at:idle job:open original:started|unknown attempt:none{_settled(on)}", "at:idle job:ended",
                boundary="append_failed", source="T-RECOVER")  # fmt: skip
    # What was asked to be undone comes before all other steps: it is said first what is known of it.
    yield replace(doubt, unless=(words("original:started ledger:no_effect"),))
    yield row("the original can act no more", Actor.CLOCK, "original:unknown quiet:no", "quiet:yes", source="A-QUIET")


def _requests(on: frozenset[str]) -> Iterator[Rule]:
    """A step asks when it ends as a compensatable failure; a person asks for what may be undone, and again after a refusal."""
    fresh = f"asked:no attempt:none|{CLOSED} done:no"
    event = ("compensation_requested",)
    yield row("the step ends as a compensatable failure", Actor.WORKER, f"{fresh} attempt:none original:ok job:open at:idle",
              "asked:yes", boundary="append_node_failed", emits=("node_finished",), source="T-COMP")  # fmt: skip
    of = {"": "original:ok", ", unresolved": _unresolved(on)} if "K-COMMITTED" in on else {"": ""}
    for name, of_what in of.items():
        sees = f"{fresh} job:open|parked {of_what}"
        yield row(f"person: asks for the compensation{name}", Actor.PERSON, sees, "asked:yes job:open",
                  boundary="request_compensation", emits=event, source="T-COMP")  # fmt: skip


def _unresolved(on: frozenset[str]) -> str:
    """What may be undone though nobody knows of it."""
    return "original:unknown harmless:yes" + (" quiet:yes" if "K-QUIET" in on else "")


def _settled(on: frozenset[str]) -> str:
    """How the ledger stands where a job ends, as a guard's further words."""
    return f" {SETTLED}" if "K-TRUTH" in on else ""


def _decide(on: frozenset[str]) -> Iterator[Rule]:
    """What a worker that has claimed the job finds there is to do, first match wins: terminal, evidence, the barrier, and only
    then the request. Where the original is to be resolved first it does not come to the compensation.

    What a crash left is settled by whoever comes to rest at another step, or acquires anew; but for an attempt that did nothing.
    """
    known = list(_known(on))
    for each in first_match([*known, *_asked(on)]):
        again = "K-TRUTH" in on and each.writes.get("at") == "acquire"
        yield replace(each, unless=(*each.unless, UNSETTLED)) if again else each
    if "K-TRUTH" in on:
        settled = row("what was acquired and not begun is settled", Actor.WORKER, "at:idle job:open ledger:inflight|unknown",
                      "ledger:no_effect", boundary="ledger_no_effect", source="T-ORDER B7'")  # fmt: skip
        yield replace(settled, unless=tuple(each.sees for each in known))


def _finds(name: str, sees: str, leads: str, source: str = "T-COMP") -> Rule:
    return row(f"decide: {name}", Actor.WORKER, f"at:idle job:open {sees}", leads, source=source)


def _known(on: frozenset[str]) -> Iterator[Rule]:
    """What the records say."""
    if "K-TERMINAL" in on:
        yield _finds("terminal", "node:yes", "job:ended", "K-TERMINAL")
    else:
        yield _finds("a compensated step is run again", "node:yes", "rerun:yes")
    yield _finds("it is recorded", "done:yes", "at:put_record")
    if "K-RECORD" in on:
        yield _finds("it has an effect record", "record:yes", "at:put_record", "K-RECORD")
    yield _finds("an attempt is open", "attempt:open|lost", "at:ledger_unknown", "K-BARRIER")


def _asked(on: frozenset[str]) -> Iterator[Rule]:
    """What is wanted; and what has come of it."""
    yield _finds("for a committed effect", "asked:yes original:ok", "at:acquire", "K-COMMITTED")
    if "K-COMMITTED" in on:
        yield _finds("for an unknown one, harmless", f"asked:yes {_unresolved(on)}", "at:acquire", "K-QUIET")
    else:
        yield _finds("for whatever was finished", "asked:yes original:unknown|no_effect", "at:acquire")
        yield _finds("there is nothing to compensate", "asked:yes original:none", "asked:no")
    nothing = f"attempt:{CLOSED}"
    unknown = f"{nothing} original:unknown harmless:yes"
    yield _finds("the last attempt did nothing, for an unknown one", unknown, "at:ledger_no_effect")
    yield _finds("the last attempt did nothing", f"{nothing} original:no_effect|ok", "at:ledger_no_effect")
    yield _finds("nobody asks", f"asked:no original:none|no_effect|ok{_settled(on)}", "job:ended")


def _call(on: frozenset[str]) -> Iterator[Rule]:
    """Ledger, barrier, call; and what the worker learns of it."""
    barrier = "start" if "K-BARRIER" in on else "call"
    yield row(
        "acquire", Actor.WORKER, "at:acquire", f"ledger:inflight at:{barrier}", boundary="acquire", source="T-ORDER B1"
    )
    yield row("append compensation_started", Actor.WORKER, "at:start", "attempt:open asked:no at:call",
              boundary="append_compensation_started", emits=("compensation_started",), source="K-BARRIER")  # fmt: skip
    yield row(
        "call the compensation",
        Actor.WORKER,
        "at:call",
        "request:sent at:await",
        boundary="compensate",
        source="T-ORDER K2",
    )

    def answer(name: str, request: str, writes: str) -> Rule:
        return row(f"the callback {name}", Actor.WORKER, "at:await", f"request:none {writes}", meets=f"request:{request}",
                   boundary="compensate", source="T-OUTCOME")  # fmt: skip

    failed = "at:append_no_effect" if "K-TRUTH" in on else "at:put_record"
    lost = "at:append_lost" if "K-TRUTH" in on else "at:put_record"
    yield answer("succeeds", "acted", "at:put_record")
    yield answer("refuses", "refused", failed)
    yield answer("fails, though it has acted", "acted", lost)
    yield answer("does not answer", "sent", f"late:+1 {lost}")


def _world() -> Iterator[Rule]:
    """The callback acts once per call; a repeat of an idempotent one changes nothing."""
    for name, meets, writes in (("the call", "request:sent", "request:acted"), ("a late call", "late:1|2", "late:-1")):
        yield row(f"{name} acts", Actor.WORLD, "", f"{writes} undone:+1", meets=f"{meets} undone:0")
        yield row(
            f"{name} acts again", Actor.WORLD, "", f"{writes} undone:+1", meets=f"{meets} undone:1|2 idempotent:no"
        )
        yield row(f"{name} is recognised", Actor.WORLD, "", writes, meets=f"{meets} undone:1|2 idempotent:yes")
    yield row("the call is refused", Actor.WORLD, "", "request:refused", meets="request:sent", source="A-NO-EFFECT")
    yield row("a late call comes to nothing", Actor.WORLD, "", "late:-1", meets="late:1|2")


def _success() -> Iterator[Rule]:
    """The success writes, in T-ORDER; recovery passes through the same ones and repairs what is missing."""
    for name, sees, writes, boundary, emits in (
        ("put_record", "", "record:yes at:append_compensated", "put_effect", ()),
        ("append_compensated", "told:no", "told:compensated done:yes at:append_committed", "append_compensated",
         ("step_compensated",)),
        ("append_committed", "told:compensated", "told:committed at:commit", "append_committed", ("command_committed",)),
        ("commit", "", "ledger:committed at:append_node", "commit", ()),
        ("append_node", "", "node:yes at:idle", "append_node_finished", ("node_finished",)),
    ):  # fmt: skip
        yield row(name.replace("_", " "), Actor.WORKER, f"at:{name} {sees}", writes, boundary=boundary, emits=emits,
                  source="T-ORDER K3")  # fmt: skip
    there = "it is there"
    yield row(f"append compensated: {there}", Actor.WORKER, "at:append_compensated told:compensated|committed",
              "at:append_committed", source="T-ORDER U1")  # fmt: skip
    yield row(f"append committed: {there}", Actor.WORKER, "at:append_committed told:committed", "at:commit",
              source="T-ORDER U2")  # fmt: skip


def _failure() -> Iterator[Rule]:
    """compensation_failed, the ledger, and the job is parked: what it says is what is known."""
    failed = ("compensation_failed",)
    yield row("append compensation_failed, no effect", Actor.WORKER, "at:append_no_effect", "attempt:closed at:ledger_no_effect",
              boundary="append_compensation_failed", emits=failed, source="K-TRUTH")  # fmt: skip
    yield row("append compensation_failed, unknown", Actor.WORKER, "at:append_lost", "attempt:lost at:ledger_unknown",
              boundary="append_compensation_failed", emits=failed, source="K-TRUTH")  # fmt: skip
    for status in ("no_effect", "unknown"):
        yield row(f"ledger {status}", Actor.WORKER, f"at:ledger_{status}", f"ledger:{status} at:park",
                  boundary=f"ledger_{status}", source="T-ORDER B7'")  # fmt: skip
    nothing_at_all = words(f"attempt:{CLOSED} original:none|no_effect")
    for name, sees, unless in (
        ("park", "cancel:no", (nothing_at_all,)),
        ("park, though it is given up: an attempt is open", "cancel:yes attempt:open|lost", ()),
        ("park, though it is given up: a step is in doubt", f"cancel:yes attempt:none|{CLOSED}", ()),
    ):
        park = row(name, Actor.WORKER, f"at:park {sees}", "job:parked at:idle", boundary="park", emits=("job_parked",),
                   source="T-COMP")  # fmt: skip
        yield replace(park, unless=unless)
    yield row("given up: the job ends", Actor.WORKER, f"at:park cancel:yes attempt:none|{CLOSED} original:none|no_effect|ok",
              "job:ended at:idle", boundary="append_cancelled", source="T-WORKER")  # fmt: skip
    yield row("nor did the step do anything: the job ends", Actor.WORKER, f"at:park attempt:{CLOSED} original:none|no_effect",
              "job:ended at:idle", boundary="append_failed", source="T-COMP")  # fmt: skip
    yield row("grant another attempt", Actor.WORKER, "at:park attempt:disproved asked:no original:unknown|ok",
              "asked:yes at:acquire", boundary="schedule_retry", emits=("retry_scheduled",), source="T-COMP")  # fmt: skip


def _person() -> Iterator[Rule]:
    """A person, or the callback's query, says what an open attempt has done; a job that is given up ends once there is none."""
    told, open_one = ("invocation_resolved",), "attempt:open|lost done:no"
    for who, actor, sees, happened, not_happened, source in (
        ("resolved", Actor.PERSON, "job:parked", "job:open", "job:open", "A-PERSON"),
        ("query", Actor.WORKER, "at:park", "at:put_record", "at:ledger_no_effect", "T-COMP"),
    ):
        yield row(f"{who}: it happened", actor, f"{sees} {open_one}", f"done:yes {happened}", meets="undone:1|2",
                  boundary="resolve", emits=told, source=source)  # fmt: skip
        yield row(f"{who}: it did not happen", actor, f"{sees} {open_one}", f"attempt:disproved {not_happened}",
                  meets="undone:0 late:0 request:none", boundary="resolve", emits=told, source=f"{source}, A-QUIET")  # fmt: skip
    yield row("person: gives the job up", Actor.PERSON, "job:open|parked cancel:no", "cancel:yes", boundary="cancel",
              emits=("cancel_requested",), source="T-WORKER")  # fmt: skip
    yield row("the job is queued again, for whatever else", Actor.PERSON, "job:parked", "job:open", source="T-WORKER")


def _elsewhere(on: frozenset[str]) -> Iterator[Rule]:
    """The job comes to rest at another step, or at the original."""
    ended = "at:idle job:ended"
    owed = f"at:idle job:open asked:yes record:no{_settled(on)}"
    given_up = row("asked for, and given up elsewhere: the job ends", Actor.WORKER,
                   f"{owed} attempt:none|{CLOSED} cancel:yes original:no_effect|ok", ended, boundary="append_cancelled",
                   source="T-WORKER")  # fmt: skip
    yield replace(given_up, unless=(words(f"attempt:{CLOSED} original:no_effect"),))
    yield row("asked for, and there is nothing to undo: the job ends", Actor.WORKER, f"{owed} attempt:none original:no_effect",
              ended, boundary="append_failed", source="T-COMP")  # fmt: skip
    yield row("done, and given up elsewhere: the job ends", Actor.WORKER, "at:append_node cancel:yes", ended,
              boundary="append_cancelled", source="T-WORKER")  # fmt: skip


def _crash() -> Iterator[Rule]:
    """A crash takes the worker; a call that is on its way stays on it."""
    yield row("crash", Actor.CRASH, f"at:{AT_WORK}", "at:idle request:none", meets="request:none|acted|refused")
    yield row(
        "crash during the call", Actor.CRASH, f"at:{AT_WORK}", "at:idle request:none late:+1", meets="request:sent"
    )
