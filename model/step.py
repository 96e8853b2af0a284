"""The durable tool step as rows: one step of a job, one worker at a time, any number of crashes (T-ORDER, T-RECOVER).

How to read it. `at` is the worker's place in the protocol: the boundary it is about to perform. Every other thing a process
knows it has read from a durable field. The world has requests on the wire and effects that happened; only the world's own
rules and the rules that *meet* it see those. A crash can strike before every command of a worker, again during recovery,
without limit: the space is finite because nothing in it counts crashes. (One that strikes where a worker only decides is
no other to whoever watches: `Policy.crashes`, decision 047.)

Store errors (T-WRITE). An error that wrote nothing leaves the state as it is: the worker repeats the write, so it needs no
row. An error that *did* write is a row of its own (`… (answer lost)`), after which `landed` holds: the store finds the
worker's own write when it is repeated, and that is the acknowledgement (`… (found)`).

Other steps of the job. A job has many steps; this machine follows one. What the others can do to it (park, fail, cancel or
suspend the job before this step is reached or after it has finished) are the rules whose names begin with `elsewhere`.

Choices. How often a step is retried or requeued, which mode confirms a record, and what a verifier answers each time it
is asked are left open: every choice is a row, so what holds here holds for each of them. A job without a verifier is one
whose verifier always says `match` (assumption A-VERIFIER).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from .boundaries import CATCH_UP
from .machine import Actor, Field, Guard, Machine, Rule, Scope, first_match, guard
from .missing import NOTHING as NOTHING_MISSING
from .missing import Missing, changed, is_named
from .policy import HARDENED, Evidence, Policy

RESULT = ("none", "first", "partial", "other")
"""A stored result: absent, the answer of the tool's first effect (`partial`: and it says that the step failed nonetheless), or
anything else."""
SET = "first|partial|other"

NO_YES = ("no", "yes")
FOUND: Final = "(found)"
"""How the name of a row ends that finds its own write."""
NOTHING = {"open": "0", "closed": "0", "ledger": "none", "effect": "none", "finished": "none", "resolved": "none"}
FAILED_UNDONE = "finished:none|partial"
"""A step that failed before it was compensated: after a partial effect, or with an outcome that nobody knows."""
UNSEEN = {"memory": "none", "fresh": "no", "cleared": "no"}
"""What a worker that lets go of the job forgets of its step."""
LETS_GO = {**UNSEEN, "at": "idle", "landed": "no", "sent": "no", "told": "no"}
"""The same with all that a crash makes it forget."""

SLOTS: Final = {
    "put_effect": "effect",
    "append_finished": "finished",
    "append_committed": "committed",
    "commit": "recorded",
}
"""By success write, the field that holds the result after it."""
ASKS: Final = "memory:first|other fresh:no waiver:none|warned"
"""What is asked of the verifier: a result on record that the world has not just given, and that no person has accepted."""
DECIDING: Final = "crash, deciding"
"""How the rows begin by which a worker is gone where it only decides (`Policy.crashes`)."""
UNCONFIRMED: Final = "crash, about to ask a verifier"
"""The row by which a worker is gone that was about to look at the world."""
UNHEARD: Final = "crash, about to hear what clients said"
"""How the rows begin by which a worker is gone that was about to read the stream again."""
KNOWS: Final = {"at": "park", "told": "yes", "fresh": "no", "memory": "first|other", "node": "none"}
"""Where a worker that knows of a cancel reads again before it parks: its verifier is for a person, and a write of it was overtaken."""
DECIDES: Final = ("attempt_closed", "on_unknown", "retry_policy")
"""Places of no command: a worker there only decides where it goes."""

AT = (
    "idle", "fence_events", "fence_ledger", "fence_effects", "recover", "acquire", "append_started", "execute",
    "await_reply", "put_effect", "append_finished", "append_committed", "commit", "append_node_finished",
    "checkpoint", "append_completed", "append_no_effect", "attempt_closed", "ledger_no_effect", "retry_policy",
    "schedule_retry", "append_node_failed", "append_failed", "append_unknown", "ledger_unknown", "on_unknown",
    "query", "resolve_happened", "resolve_not_happened", "park", "confirm", "append_warned", "append_unconfirmed",
    "append_partial", "append_compensatable", "compensate", "append_retryable", "requeue", "append_cancelled",
)  # fmt: skip


def _count(name: str, scope: Scope, meaning: str) -> Field:
    return Field(name, scope, ("0", "1", "2"), meaning, count=True)


FIELDS = (
    Field("idempotent", Scope.CONFIG, NO_YES, "a repeat with the same external key returns the first call's result", NO_YES),
    Field("on_unknown", Scope.CONFIG, ("park", "query", "reexecute", "fail"), "what an ambiguous attempt leads to",
          ("park", "query", "reexecute", "fail")),
    Field("look", Scope.CONFIG, ("none", "quiet", "fence"), "how the tool can be asked whether the effect happened: "
          "not at all, finally only after a quiet time, or with a fence against late requests (T-QUIET)",
          ("none", "quiet", "fence")),
    Field("job", Scope.DURABLE, ("open", "parked", "waiting", "completed", "failed", "cancelled"), "state of the job"),
    _count("open", Scope.DURABLE, "tool_invocation_started events whose attempt is not closed"),
    _count("closed", Scope.DURABLE, "closings: finished(no_effect) of one attempt, resolved(not_happened) of all that are open"),
    Field("doubt", Scope.DURABLE, NO_YES, "an open attempt has finished(unknown)"),
    Field("retry", Scope.DURABLE, NO_YES, "retry_scheduled since the last started event"),
    Field("finished", Scope.DURABLE, RESULT, "tool_invocation_finished(success) with its result"),
    Field("committed", Scope.DURABLE, RESULT, "command_committed with its result"),
    Field("resolved", Scope.DURABLE, RESULT, "invocation_resolved(happened) with its result"),
    Field("node", Scope.DURABLE, ("none", "success", "no_effect", "unknown", "unconfirmed", "partial", "compensatable"),
          "node_finished: success, or failure and why; a retryable failure is `requeue`"),
    Field("requeue", Scope.DURABLE, ("none", "due"), "node_finished(retryable_failure) that no job_requeued follows yet"),
    Field("undone", Scope.DURABLE, NO_YES, "step_compensated: the effect was undone, by a protocol of its own (T-COMP)"),
    Field("waiver", Scope.DURABLE, ("none", "warned", "accepted"), "why the record stands though the world differs from it: "
          "confirmation_warned, or replay_confirmed by a person"),
    Field("cancel", Scope.DURABLE, NO_YES, "cancel_requested, by a client"),
    Field("checkpoint", Scope.DURABLE, NO_YES, "state_checkpointed covers the step"),
    Field("effect", Scope.DURABLE, RESULT, "the effect record with its output"),
    Field("ledger", Scope.DURABLE, ("none", "inflight", "no_effect", "unknown", "committed"), "status of the ledger record"),
    Field("recorded", Scope.DURABLE, RESULT, "the result in the ledger record"),
    Field("quiet", Scope.CLOCK, NO_YES, "at least D has passed since the last possible sending (T-QUIET)"),
    Field("at", Scope.VOLATILE, AT, "the boundary that the worker is about to perform; idle: no worker"),
    Field("memory", Scope.VOLATILE, RESULT, "the result in the worker's memory"),
    Field("fresh", Scope.VOLATILE, NO_YES, "what is in memory needs no confirmation: the world has just answered"),
    Field("told", Scope.VOLATILE, NO_YES, "the worker has read that a cancel was requested"),
    Field("landed", Scope.VOLATILE, NO_YES, "the write at hand is in the store already, its answer was lost"),
    Field("sent", Scope.VOLATILE, NO_YES, "this claim has sent a request, under an attempt-scoped key"),
    Field("request", Scope.WORLD, ("none", "sent", "first", "partial", "other", "refused"), "the living worker's request: on the wire, "
          "or answered with a result, or refused without effect"),
    _count("wire", Scope.WORLD, "requests on the wire whose sender has stopped waiting"),
    _count("effects", Scope.WORLD, "how often the effect happened"),
    _count("keys", Scope.WORLD, "distinct external keys that the tool has been sent"),
    Field("excused", Scope.GHOST, NO_YES, "the outcome of an open attempt was lost: a crash between B2 and B4, or no answer"),
    Field("refused", Scope.GHOST, NO_YES, "every attempt so far was refused by the tool or found not to have happened"),
    Field("cleared", Scope.GHOST, ("no", "yes", "differs"), "whether, since the last claim, the world answered or was seen to match, the "
          "mismatch was durably warned of, or a person had accepted it; or a verifier said that the world differs"),
)  # fmt: skip


BEYOND: Final = (
    "client:", "world: serves in part", "confirm: one look", "confirm: not determined", "confirm: mismatch",
    "retries used up, requeued", "person: accepts", "person: has it compensated", "elsewhere: waits", "elsewhere: cancels",
    "elsewhere: requeues", "elsewhere: fails, owed",
)  # fmt: skip
"""How the rules begin with which everything starts that is not the step's own execution: without them nothing of it is reached."""


def build(policy: Policy = HARDENED, missing: Missing = NOTHING_MISSING) -> Machine:
    """The machine of one tool step under a policy; missing: mechanisms that are taken away from its rows (T-PROP, the matrix)."""
    worker, others = plain_rows(policy)
    if missing is not NOTHING_MISSING:
        worker, others = changed(worker, missing), changed(others, missing)
    rules = [*_found_once(row for rule in worker for row in _answers(rule, missing)), *others]
    if policy.extent == "step alone":
        rules = [rule for rule in rules if not rule.name.startswith(BEYOND)]
    # How a tool could be asked says nothing about one that recovery does not ask: see `normal`.
    impossible = [
        guard(on_unknown="query", look="none"),
        guard(on_unknown="park|reexecute|fail", look="quiet|fence"),
        guard(on_unknown="reexecute", idempotent="no"),
    ]
    if policy.tools_idempotent:
        impossible.append(guard(idempotent="no"))
    return Machine(policy.name, FIELDS, tuple(rules), tuple(g for g in impossible if g not in missing.allowed))


def plain_rows(policy: Policy) -> tuple[list[Rule], list[Rule]]:
    """The rows of the worker, and of all others, before it is derived what may become of a write."""
    worker = [*_claim(), *_recover(policy), *_execute(policy), *_record(policy), *_confirm(policy), *_close(policy),
              *_unknown(policy), *_compensate(), *_cancel()]  # fmt: skip
    return worker, [*_people(), *_clients(), *_elsewhere(), *_world(), *_crash(policy)]


def normal(declared: Mapping[str, str]) -> dict[str, str]:
    """A tool's declaration as the model has it: how a tool could be asked matters only where recovery asks."""
    asked = declared.get("on_unknown", "query") == "query"
    return dict(declared) if asked else {**declared, "look": "none"}


def _work(name: str, at: str, to: str, *, sees: str = "", meets: str = "", writes: str = "", emits: str = "",
          boundary: str | None = None, source: str = "") -> Rule:  # fmt: skip
    """A row of the worker: at one place, on what it sees and meets, it writes and moves on."""
    return Rule(
        name,
        Actor.WORKER,
        sees=guard(at=at, **_pairs(sees)),
        meets=guard(**_pairs(meets)),
        writes={**_pairs(writes), "at": to},
        boundary=boundary,
        emits=tuple(emits.split()),
        source=source,
    )


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


def _words(pairs: Mapping[str, str]) -> str:
    return " ".join(f"{name}:{value}" for name, value in pairs.items())


def _with_lost_answers(rule: Rule) -> list[Rule]:
    """A durable write as three rows: acknowledged; written but the answer lost; its repetition, which finds it (T-WRITE)."""
    scopes = {f.name: f.scope for f in FIELDS}
    durable = {name: value for name, value in rule.writes.items() if scopes[name] in (Scope.DURABLE, Scope.GHOST)}
    if rule.actor is not Actor.WORKER or not any(scopes[name] is Scope.DURABLE for name in durable):
        return [rule]
    fresh = {**rule.sees, **guard(landed="no")}
    volatile = {name: value for name, value in rule.writes.items() if name not in durable}
    changed = {name: value for name, value in rule.__dict__.items() if name not in ("name", "sees", "writes", "emits")}
    lost = Rule(
        f"{rule.name} (answer lost)", sees=fresh, writes={**durable, "landed": "yes"}, emits=rule.emits, **changed
    )
    found = Rule(
        f"{rule.name} {FOUND}",
        Actor.WORKER,
        sees={"at": rule.sees["at"], **guard(landed="yes")},
        writes={**volatile, "landed": "no"},
        boundary=rule.boundary,
        source="T-WRITE",
    )
    return [Rule(rule.name, sees=fresh, writes=rule.writes, emits=rule.emits, **changed), lost, found]


def _found_once(rows: Iterable[Rule]) -> Iterator[Rule]:
    """Rows, without those that find a write as another one does: which of two was made at a place, its repetition does not say."""
    finds: list[Rule] = []
    for row in rows:
        if row.name.endswith(FOUND):
            if (alike := replace(row, name=FOUND)) in finds:
                continue
            finds.append(alike)
        yield row


def _answers(rule: Rule, missing: Missing) -> list[Rule]:
    """A worker's row with what may become of its write: as T-WRITE has it, or as it is without that."""
    rows = _with_lost_answers(rule)
    if len(rows) == 1 or not (missing.forgets or missing.conflicts):
        return rows
    written, lost = rows[:2]
    durable = {name: value for name, value in lost.writes.items() if name != "landed"}
    if missing.forgets:
        rows = [written, replace(lost, writes={**durable, **LETS_GO}),
                replace(written, name=f"{rule.name} (answer lost), nothing written", writes=LETS_GO, emits=())]  # fmt: skip
    if rule.emits and is_named(rule, missing.conflicts):
        again = {**UNSEEN, "at": "fence_events"}
        rows.append(replace(written, name=f"{rule.name}: a conflict, hears what clients said", writes=again, emits=()))
    return rows


def _claim() -> list[Rule]:
    return [
        _work("claim", "idle", "fence_events", sees="job:open", boundary="claim", source="T-ORDER B0"),
        _work(
            "fence events",
            "fence_events",
            "fence_ledger",
            writes="told:=cancel",
            boundary="fence_events",
            source="T-ORDER F1",
        ),
        _work("fence ledger", "fence_ledger", "fence_effects", boundary="fence_ledger", source="T-ORDER F2"),
        _work("fence effects", "fence_effects", "recover", boundary="fence_effects", source="T-ORDER F3"),
    ]


def _recover(policy: Policy) -> list[Rule]:
    """T-RECOVER as a decision list over what the stores hold; the policy says what is consulted, and in which order."""
    events = [
        _decide("0: node failed", "append_failed", "node:no_effect|unknown|unconfirmed|partial"),
        _decide("0: compensated after a failure", "append_failed", f"undone:yes {FAILED_UNDONE}"),
        _decide("0: compensated", "append_completed", "undone:yes"),
        _decide("0: to be compensated", "compensate", "node:compensatable"),
        _decide("0: to be requeued", "requeue", "requeue:due"),
        *(_evidence(f"1: {name}", policy, "events", f"{name}:{SET}", name) for name in ("finished", "committed", "resolved")),
    ]  # fmt: skip
    looked_up = {
        "ledger": _evidence("2: ledger committed", policy, "ledger", "ledger:committed", "recorded"),
        "effects": _evidence("3: effect record", policy, "effects", f"effect:{SET}", "effect"),
    }
    evidence = [rule for name, rule in looked_up.items() if name in policy.evidence]
    barrier = [_decide("5: open attempt", "ledger_unknown", "open:1|2")]
    closed = [_decide("4: all closed", "ledger_no_effect", "open:0 closed:1|2")]
    start = [
        _decide("6: cancelled", "ledger_no_effect", "ledger:inflight told:yes"),
        _decide("6: take over", "acquire", "ledger:inflight"),
        _decide("8: cancelled", "append_cancelled", "told:yes"),
        _decide("8: execute", "acquire", ""),
    ]
    middle = {
        "after evidence": [*evidence, *closed, *barrier],
        "before evidence": [*closed, *barrier, *evidence],
        "absent": [*evidence, *closed],
    }[policy.barrier]
    return first_match([*events, *middle, *start])


def _decide(name: str, to: str, sees: str, writes: str = "") -> Rule:
    """A rule of T-RECOVER; its number is what stands before the colon."""
    return _work(name, "recover", to, sees=sees, writes=writes, source=f"T-RECOVER {name[0]}")


def _evidence(name: str, policy: Policy, kind: Evidence, sees: str, result: str) -> Rule:
    """A rule that takes a result from a record; what the policy does not confirm counts as an answer of the world."""
    unconfirmed = "" if kind in policy.confirmed else " fresh:yes"
    return _decide(name, policy.order[0], sees, f"memory:={result}{unconfirmed}")


def _execute(policy: Policy) -> list[Rule]:
    record = policy.order[0]
    recorded = (record, "memory:=recorded") if "ledger" in policy.evidence else ("append_started", "")
    return [
        *first_match([
            _work("acquire: cancelled", "acquire", "ledger_no_effect", sees="told:yes open:0 landed:no", source="T-WORKER"),
            _work("acquire", "acquire", "append_started", sees="ledger:none|inflight|no_effect|unknown", writes="ledger:inflight",
                  boundary="acquire", source="T-ORDER B1"),
            _work("acquire: committed", "acquire", recorded[0], sees="ledger:committed landed:no", writes=recorded[1],
                  boundary="acquire", source="T-RECOVER Acquire"),
        ]),
        _work("append started", "append_started", "execute", writes="open:+1 retry:no", emits="tool_invocation_started",
              boundary="append_started", source="T-ORDER B2"),
        *_send(policy),
        _work("reply: result", "await_reply", record, meets="request:first", writes="memory:first request:none fresh:yes cleared:yes",
              source="T-OUTCOME"),
        _work("reply: partial effect", "await_reply", record, meets="request:partial",
              writes="memory:partial request:none fresh:yes cleared:yes", source="T-OUTCOME"),
        _work("reply: another result", "await_reply", record, meets="request:other",
              writes="memory:other request:none fresh:yes cleared:yes", source="T-OUTCOME"),
        _work("reply: no effect", "await_reply", "append_no_effect", meets="request:refused",
              writes="request:none", source="T-OUTCOME"),
        _work("no reply, still on the wire", "await_reply", "append_unknown", meets="request:sent",
              writes="request:none wire:+1 excused:yes", source="T-OUTCOME"),
        _work("no reply, lost", "await_reply", "append_unknown", meets="request:first|partial|other|refused",
              writes="request:none excused:yes", source="T-OUTCOME"),
    ]  # fmt: skip


def _send(policy: Policy) -> list[Rule]:
    if policy.external_key == "stable":
        return [_work("send request", "execute", "await_reply", writes="request:sent quiet:no keys:1", boundary="execute",
                      source="T-ORDER B3")]  # fmt: skip
    return [
        _work("send request, new key", "execute", "await_reply", sees="sent:no", writes="request:sent quiet:no keys:+1 sent:yes",
              boundary="execute", source="S1 §4.2"),
        _work("send request, same key", "execute", "await_reply", sees="sent:yes", writes="request:sent quiet:no", boundary="execute",
              source="S1 §4.2"),
    ]  # fmt: skip


def _record(policy: Policy) -> list[Rule]:
    """B4 to B10, which recovery shares: a write that is there already is skipped."""
    events = {"append_finished": "tool_invocation_finished", "append_committed": "command_committed"}
    rules = []
    for place, after in zip(policy.order, (*policy.order[1:], "confirm"), strict=True):
        status = " ledger:committed" if place == "commit" else ""
        name = place.replace("_", " ")
        missing = "ledger:none|inflight|no_effect|unknown" if place == "commit" else f"{SLOTS[place]}:none"
        there = "ledger:committed" if place == "commit" else f"{SLOTS[place]}:{SET}"
        rules += [
            _work(name, place, after, sees=missing, writes=f"{SLOTS[place]}:=memory{status}", emits=events.get(place, ""),
                  boundary=place, source=f"T-ORDER; repeated by recovery as {CATCH_UP[place]}"),
            _work(f"{name}: there", place, after, sees=f"{there} landed:no", source="T-RECOVER 1"),
        ]  # fmt: skip
    return [
        *rules,
        _work("append node finished", "append_node_finished", "checkpoint", sees="node:none", writes="node:success",
              emits="node_finished", boundary="append_node_finished", source="T-ORDER B8"),
        _work("append node finished: there", "append_node_finished", "checkpoint", sees="node:success landed:no", source="T-RECOVER 0"),
        _work("checkpoint", "checkpoint", "append_completed", sees="checkpoint:no", writes="checkpoint:yes",
              emits="state_checkpointed", boundary="checkpoint", source="T-ORDER B9"),
        _work("checkpoint: there", "checkpoint", "append_completed", sees="checkpoint:yes landed:no", source="T-RECOVER"),
        _work("append completed", "append_completed", "idle", writes="job:completed", emits="job_completed",
              boundary="append_completed", source="T-ORDER B10"),
    ]  # fmt: skip


def _confirm(policy: Policy) -> list[Rule]:
    """T-CONFIRM: what a record says is injected only when the world was seen to agree, or somebody answers for it."""

    def look(name: str, to: str, sees: str = "", writes: str = "") -> Rule:
        return _work(f"confirm: {name}", "confirm", to, sees=f"{ASKS} {sees}", writes=writes,
                     boundary="confirm", source="T-CONFIRM")  # fmt: skip

    differs = [("", "cleared:differs")] + [("an error, taken for a ", "")] * (policy.verifier_error == "mismatch")
    strict = [look(f"{why}mismatch, {name}", to, sees, writes) for why, writes in differs
              for name, to, sees in (("first", "append_unconfirmed", "node:none"), ("again", "append_failed", "node:success"))]  # fmt: skip
    injects = "memory:first|other"
    return [
        _work("confirm: the world has just answered", "confirm", "append_node_finished", sees=f"{injects} fresh:yes", source="T-CONFIRM"),
        _work("confirm: a person has accepted it", "confirm", "append_node_finished", sees=f"{injects} fresh:no waiver:accepted",
              writes="cleared:yes", source="T-CONFIRM"),
        look("one look of several", "confirm"),
        look("match", "append_node_finished", writes="cleared:yes"),
        *([look("not determined", "park")] if policy.verifier_error == "undetermined" else []),
        *strict,
        look("mismatch, warned of", "append_warned", writes="cleared:differs"),
        look("mismatch, for a person", "park", writes="cleared:differs"),
        _work("append warned", "append_warned", "append_node_finished", writes="waiver:warned cleared:yes",
              emits="confirmation_warned", boundary="append_warned", source="T-CONFIRM"),
        _work("append node failed, unconfirmed", "append_unconfirmed", "append_failed", writes="node:unconfirmed",
              emits="node_finished", boundary="append_node_failed", source="T-CONFIRM"),
    ]  # fmt: skip


def _close(policy: Policy) -> list[Rule]:
    """The end without effect: close the attempt, then retry or fail by policy (rule 4)."""
    # Without a barrier nobody asks whether an older attempt is open: the defect of "looking at the last one".
    retried = "append_node_failed" if policy.retries == "the first alone executes" else "acquire"
    others_open = "ledger_no_effect" if policy.barrier == "absent" else "ledger_unknown"
    return [
        _work("append no effect", "append_no_effect", "attempt_closed", sees="open:1|2", writes="open:-1 closed:+1 refused:yes",
              emits="tool_invocation_finished", boundary="append_no_effect", source="T-ORDER B5"),
        _work("every attempt is closed", "attempt_closed", "ledger_no_effect", sees="open:0", source="T-RECOVER 4"),
        _work("an older attempt is open", "attempt_closed", others_open, sees="open:1|2", source="T-RECOVER 5"),
        _work("ledger no effect", "ledger_no_effect", "retry_policy", sees="ledger:inflight|unknown",
              writes="ledger:no_effect", boundary="ledger_no_effect", source="T-ORDER B7'"),
        _work("ledger no effect: there", "ledger_no_effect", "retry_policy", sees="ledger:no_effect|committed landed:no", source="T-ORDER B7'"),
        _work("retry: cancelled", "retry_policy", "append_cancelled", sees="told:yes", source="T-WORKER"),
        _work("retry again", "retry_policy", "schedule_retry", sees="told:no retry:no", source="T-RETRY"),
        _work("retry was scheduled", "retry_policy", retried, sees="told:no retry:yes", source="T-RETRY"),
        _work("retries used up", "retry_policy", "append_node_failed", sees="told:no retry:no", source="T-RETRY"),
        _work("retries used up, requeued", "retry_policy", "append_retryable", sees="told:no retry:no", source="T-RETRY"),
        _work("schedule retry", "schedule_retry", retried, writes="retry:yes", emits="retry_scheduled",
              boundary="schedule_retry", source="T-ORDER R1"),
        _work("append node failed, retryable", "append_retryable", "requeue", writes="requeue:due",
              emits="node_finished", boundary="append_node_failed", source="T-RETRY"),
        _work("requeue", "requeue", "idle", writes="requeue:none told:no", emits="job_requeued", boundary="requeue", source="T-RETRY"),
        _work("append node failed", "append_node_failed", "append_failed", sees="ledger:no_effect", writes="node:no_effect",
              emits="node_finished", boundary="append_node_failed", source="T-ORDER B8"),
        _work("append node failed, unknown", "append_node_failed", "append_failed", sees="ledger:unknown|committed", writes="node:unknown",
              emits="node_finished", boundary="append_node_failed", source="T-ORDER B8"),
        _work("append failed", "append_failed", "idle", writes="job:failed", emits="job_failed",
              boundary="append_failed", source="T-ORDER B10"),
    ]  # fmt: skip


def _unknown(policy: Policy) -> list[Rule]:
    """The ambiguity class: say UNKNOWN, then what the tool declares (`on_unknown`)."""
    retried = "append_node_failed" if policy.retries == "the first alone executes" else "acquire"
    in_place = []
    if policy.retries == "after any failure":
        in_place = [_work("append unknown, retried", "append_unknown", "schedule_retry", writes="doubt:yes",
                          emits="tool_invocation_finished", boundary="append_unknown", source="S2")]  # fmt: skip
    return [
        _work("append unknown", "append_unknown", "ledger_unknown", writes="doubt:yes", emits="tool_invocation_finished",
              boundary="append_unknown", source="T-ORDER B5"),
        _work("ledger unknown", "ledger_unknown", "on_unknown", sees="ledger:none|inflight|no_effect", writes="ledger:unknown",
              boundary="ledger_unknown", source="T-RECOVER 5"),
        _work("ledger unknown: there", "ledger_unknown", "on_unknown", sees="ledger:unknown|committed landed:no", source="T-RECOVER 5"),
        _work("on unknown: park", "on_unknown", "park", sees="on_unknown:park", source="T-RECOVER on_unknown"),
        _work("on unknown: query", "on_unknown", "query", sees="on_unknown:query", source="T-RECOVER on_unknown"),
        _work("on unknown: fail", "on_unknown", "append_node_failed", sees="on_unknown:fail", source="T-RECOVER on_unknown"),
        _work("on unknown: reexecute", "on_unknown", "schedule_retry", sees="on_unknown:reexecute retry:no", source="T-RECOVER on_unknown"),
        _work("on unknown: reexecute was scheduled", "on_unknown", retried, sees="on_unknown:reexecute retry:yes", source="T-RETRY"),
        _work("on unknown: reexecutions used up", "on_unknown", "park", sees="on_unknown:reexecute retry:no", source="T-RECOVER on_unknown"),
        _work("query: happened", "query", "resolve_happened", meets="effects:1|2", writes="memory:first", boundary="query", source="T-QUIET"),
        _work("query: absent, fenced", "query", "resolve_not_happened", sees="look:fence", meets="effects:0", writes="wire:0",
              boundary="query", source="T-QUIET"),
        _work("query: absent, quiet", "query", "resolve_not_happened", sees="look:quiet quiet:yes", meets="effects:0",
              boundary="query", source="T-QUIET"),
        _work("query: not yet known", "query", "park", boundary="query", source="T-QUIET"),
        _work("resolve: happened", "resolve_happened", policy.order[0], writes="resolved:=memory", emits="invocation_resolved",
              boundary="append_resolved", source="T-ORDER Q2"),
        _work("resolve: not happened", "resolve_not_happened", "ledger_no_effect", writes="open:0 closed:+1 doubt:no excused:no refused:yes",
              emits="invocation_resolved", boundary="append_resolved", source="T-ORDER Q2"),
        *(_work(f"park{why}", "park", "idle", sees=sees, writes="job:parked memory:none fresh:no cleared:no told:no", emits="job_parked",
                boundary="park", source="T-ORDER Q1") for why, sees in (("", "told:no"), (", an attempt is open", "told:yes finished:none"))),
        *in_place,
    ]  # fmt: skip


def _compensate() -> list[Rule]:
    """T-COMP, seen from the step: an effect is undone, once. How that is done is a protocol of its own, with a key of its own.

    A step that failed after its effect is compensated if its tool says how, and its job fails; one that somebody asked to be
    undone is over and done with. An unknown effect is compensated only if that is declared harmless when nothing happened.
    """
    return [
        _work("a partial effect, compensatable", "confirm", "append_compensatable", sees="memory:partial node:none", source="T-OUTCOME"),
        _work("a partial effect, for good", "confirm", "append_partial", sees="memory:partial node:none", source="T-OUTCOME"),
        _work("append node failed, compensatable", "append_compensatable", "compensate", writes="node:compensatable",
              emits="node_finished", boundary="append_node_failed", source="T-OUTCOME"),
        _work("append node failed, partial", "append_partial", "append_failed", writes="node:partial",
              emits="node_finished", boundary="append_node_failed", source="T-OUTCOME"),
        # Executed with its undoing on record, it had nothing open: a cancel that was known would have ended the job first.
        replace(_work("compensation was requested", "confirm", "compensate", sees="undone:no", source="T-COMP"),
                unless=(guard(fresh="yes", told="yes"),)),
        # Asked for while the job was parked, when no request could act any more; and nothing was sent since.
        _work("compensation was requested, harmless", "on_unknown", "compensate", sees="quiet:yes retry:no", source="T-COMP; T-QUIET"),
        _work("compensate", "compensate", "recover", writes="undone:yes memory:none fresh:no cleared:no", emits="node_finished",
              boundary="append_node_finished", source="T-COMP K3"),
        _work("compensation failed", "compensate", "park", sees="landed:no", source="T-COMP"),
    ]  # fmt: skip


def _cancel() -> list[Rule]:
    """T-WORKER: how the worker hears of a cancel after it has begun, and the end that it leads to.

    Where its record is not confirmed, or its compensation failed, a step has nothing open: instead of parking, the job ends.
    """
    # Where a write of this turn was overtaken: of another step, before this one begins, or of this one.
    hears = {
        "recover": _words(NOTHING),
        "ledger_no_effect": "retry:no",
        "acquire": "retry:yes",
        "append_completed": "",
        "park": "told:no",
    }
    again = _words({name: value for name, value in KNOWS.items() if name != "at"})
    return [
        *(_work(f"hears what clients said, {place.replace('_', ' ')}", place, place, sees=f"landed:no {sees}", writes="told:=cancel",
                boundary="fence_events", source="T-WORKER") for place, sees in hears.items()),
        _work("hears what clients said, park, once more", "park", "park", sees=f"landed:no {again}", writes="told:=cancel",
              boundary="fence_events", source="T-WORKER"),
        _work("park: cancelled", "park", "append_cancelled", sees=f"told:yes landed:no finished:{SET}", source="T-WORKER"),
        _work("append cancelled", "append_cancelled", "idle", writes="job:cancelled", emits="job_cancelled",
              boundary="append_cancelled", source="T-ORDER B10"),
    ]  # fmt: skip


def _people() -> list[Rule]:
    """What a person may say of a parked job."""
    return [
        Rule("person: happened", Actor.PERSON, sees=guard(job="parked", open="1|2", at="idle", node="none", finished="none"),
             meets=guard(effects="1|2"), writes={"resolved": "first", "job": "open"}, boundary="resolve",
             emits=("invocation_resolved", "job_requeued"), source="T-RECOVER on_unknown; assumption A-PERSON"),
        Rule("person: did not happen", Actor.PERSON, sees=guard(job="parked", open="1|2", quiet="yes", at="idle", node="none", finished="none"),
             meets=guard(effects="0"), writes={"open": "0", "closed": "+1", "doubt": "no", "job": "open", "excused": "no", "refused": "yes"},
             boundary="resolve", emits=("invocation_resolved", "job_requeued"), source="T-QUIET; assumption A-PERSON"),
        Rule("person: accepts the record", Actor.PERSON, guard(job="parked", at="idle", finished="first|other", undone="no", waiver="none|warned"),
             writes={"waiver": "accepted", "job": "open"}, boundary="confirm_replay", emits=("replay_confirmed", "job_requeued"),
             source="T-CONFIRM; assumption A-PERSON"),
        Rule("person: has it compensated", Actor.PERSON, guard(job="parked", at="idle", finished=SET, undone="no"),
             writes={"job": "open"}, emits=("job_requeued",), source="T-COMP"),
        # Unresolved, where that is declared harmless: not before a late request can act no more.
        Rule("person: has it compensated, unresolved", Actor.PERSON,
             guard(job="parked", open="1|2", quiet="yes", at="idle", node="none", finished="none", undone="no"),
             writes={"job": "open"}, emits=("job_requeued",), source="T-COMP; T-QUIET"),
    ]  # fmt: skip


def _clients() -> list[Rule]:
    """What a client may ask for, at any time before the job has ended; a job at rest with nothing open is run again for it.

    A second cancel of it changes nothing: who parks has heard of the first, and parks because something is in doubt elsewhere.
    """
    rest = {
        "open": guard(job="parked", at="idle", open="0", cancel="no"),
        "in doubt": guard(job="parked", at="idle", finished=SET, cancel="no"),
    }
    return [
        Rule("client: cancels", Actor.PERSON, guard(job="open|parked"), writes={"cancel": "yes"}, boundary="cancel",
             emits=("cancel_requested",), source="T-WORKER"),
        *(Rule(f"client: cancels a parked job, nothing {why}", Actor.PERSON, sees, writes={"cancel": "yes", "job": "open"},
               boundary="cancel", emits=("cancel_requested", "job_requeued"), source="T-WORKER") for why, sees in rest.items()),
        Rule("client: cancels a waiting job", Actor.PERSON, guard(job="waiting", at="idle"), writes={"cancel": "yes", "job": "cancelled"},
             boundary="cancel", emits=("cancel_requested", "job_cancelled"), source="T-WORKER"),
        Rule("elsewhere: signalled", Actor.PERSON, guard(job="waiting", at="idle"), writes={"job": "open"}, emits=("job_requeued",),
             source="T-WORKER"),
    ]  # fmt: skip


def _elsewhere() -> list[Rule]:
    """What the job's other steps may do, before this one begins and after it has ended."""
    rules = []
    for when, place, untouched in (
        ("before", "recover", {**NOTHING, "node": "none"}),
        ("after", "append_completed", {}),
    ):
        sees = guard(at=place, landed="no", job="open", **untouched)
        for does, status, event in (
            ("parks", "parked", "job_parked"), ("fails", "failed", "job_failed"), ("waits", "waiting", "job_waiting"),
            ("cancels", "cancelled", "job_cancelled"), ("requeues", "open", "job_requeued"),
        ):  # fmt: skip
            # A cancel is honoured by a worker that has read of it: it does not try a step behind this one again. Nobody waits
            # with a cancel on record: that write is never rebased.
            told = {"cancels": guard(told="yes"), "waits": guard(cancel="no")}.get(does, {})
            told = guard(told="no") if (does, when) == ("requeues", "after") else told
            rules.append(
                Rule(f"elsewhere: {does}, {when}", Actor.WORKER, {**sees, **told}, writes={**UNSEEN, "job": status, "at": "idle", "told": "no"},
                     emits=(event,))
            )  # fmt: skip
    # What another step's end on record leads to is owed before anything else (T-RECOVER 0): this one was over by then.
    # What is undone lets the job go on: what others do then is done after it.
    undone = guard(undone="yes", finished="first|other", checkpoint="no", told="yes")
    for owed, status, event, literals in (
        ("fails, owed", "failed", "job_failed", guard(checkpoint="yes", undone="no")),
        ("requeues, owed", "open", "job_requeued", guard(checkpoint="yes")),
        ("requeues, owed, undone", "open", "job_requeued", undone),
    ):
        rules.append(
            Rule(f"elsewhere: {owed}", Actor.WORKER, {**guard(at="recover", job="open"), **literals},
                 writes={**UNSEEN, "job": status, "at": "idle", "told": "no"}, emits=(event,), source="another step's T-RECOVER 0")
        )  # fmt: skip
    # A cancel waits for the outcome of every step.
    rules.append(
        Rule("elsewhere: in doubt", Actor.WORLD, guard(at="park", told="yes", landed="no", finished=SET), writes={"told": "no"},
             source="T-WORKER")
    )  # fmt: skip
    for when, literals in (
        ("before", guard(**NOTHING)),
        ("after", guard(node="success")),
        ("undone", guard(undone="yes", node="none")),
    ):
        rules.append(
            Rule(f"elsewhere: resolved, {when}", Actor.PERSON, {**guard(job="parked", at="idle"), **literals},
                 writes={"job": "open"}, emits=("job_requeued",))
        )  # fmt: skip
    return rules


def _world() -> list[Rule]:
    """What the tool does with requests, the living worker's and those whose sender is gone; and time."""
    repeated = {"not idempotent": guard(effects="1|2", idempotent="no"), "another key": guard(effects="1|2", keys="2")}
    again = {"request": "other", "effects": "+1"}
    late = {"wire": "-1", "effects": "+1"}
    return [
        Rule("world: serves", Actor.WORLD, meets=guard(request="sent", effects="0"), writes={"request": "first", "effects": "+1"}),
        Rule("world: serves in part", Actor.WORLD, meets=guard(request="sent", effects="0"), writes={"request": "partial", "effects": "+1"},
             source="T-OUTCOME"),
        *(Rule(f"world: recognises the key{how}", Actor.WORLD, meets=guard(request="sent", effects="1|2", idempotent="yes"),
               writes={"request": answer}, source="assumption A-IDEMPOTENT") for how, answer in (("", "first"), (", of a partial effect", "partial"))),
        *(Rule(f"world: serves again, {why}", Actor.WORLD, meets={**guard(request="sent"), **literals}, writes=again)
          for why, literals in repeated.items()),
        Rule("world: refuses", Actor.WORLD, meets=guard(request="sent"), writes={"request": "refused"}),
        Rule("world: late request", Actor.WORLD, meets=guard(wire="1|2", effects="0"), writes=late),
        *(Rule(f"world: late request again, {why}", Actor.WORLD, meets={**guard(wire="1|2"), **literals}, writes=late)
          for why, literals in repeated.items()),
        Rule("world: late request lost", Actor.WORLD, meets=guard(wire="1|2"), writes={"wire": "-1"}),
        Rule("time passes", Actor.CLOCK, sees=guard(at="idle|query"), meets=guard(request="none", wire="0"), writes={"quiet": "yes"},
             source="assumption A-QUIET"),
    ]  # fmt: skip


def _crash(policy: Policy) -> list[Rule]:
    """A crash resets what is volatile; a request on the wire stays there. It also remembers, for P4, what it destroyed.

    It strikes before a command: while a worker only decides nobody sees where it was, and what it decides is lost with it.
    """
    reset, first = LETS_GO, policy.order[0]
    nothing = guard(
        effect="none", finished="none", committed="none", resolved="none", ledger="none|inflight|no_effect|unknown"
    )
    told_apart = ("idle", "recover", "append_started", "execute", "await_reply", "append_no_effect", "confirm", "park",
                  first, *DECIDES)  # fmt: skip
    before = {
        "crash": {"at": "|".join(place for place in AT if place not in told_apart)},
        UNCONFIRMED: {"at": "confirm", **_pairs(ASKS)},
        "crash, about to park": {"at": "park", "told": "no"},
        "crash, about to park in doubt": {"at": "park", "landed": "no", "told": "yes", "finished": "none"},
        "crash, parked in doubt": {"at": "park", "landed": "yes", "told": "yes"},
        f"{UNHEARD}, park": {**KNOWS, "landed": "no"},
        f"{UNHEARD}, recover": {"at": "recover", **NOTHING},
    }
    return [
        *(Rule(name, Actor.CRASH, guard(**sees), writes=reset) for name, sees in before.items()),
        Rule("crash before B2 is written", Actor.CRASH, guard(at="append_started", landed="no"), writes=reset),
        Rule("crash, B2 written", Actor.CRASH, guard(at="append_started", landed="yes"), writes={**reset, "excused": "yes"}),
        Rule("crash before the request", Actor.CRASH, guard(at="execute"), writes={**reset, "excused": "yes"}),
        Rule("crash, request on the wire", Actor.CRASH, guard(at="await_reply"), guard(request="sent"),
             {**reset, "request": "none", "wire": "+1", "excused": "yes"}),
        Rule("crash after the effect", Actor.CRASH, guard(at="await_reply"), guard(request="none|first|partial|other|refused"),
             {**reset, "request": "none", "excused": "yes"}),
        Rule("crash before no_effect is written", Actor.CRASH, guard(at="append_no_effect", landed="no"), writes={**reset, "excused": "yes"}),
        Rule("crash, no_effect written", Actor.CRASH, guard(at="append_no_effect", landed="yes"), writes=reset),
        Rule("crash before the result is recorded", Actor.CRASH, {**guard(at=first, landed="no"), **nothing}, writes={**reset, "excused": "yes"}),
        *_crash_recorded(first, nothing),
        *(_crash_deciding(first) if policy.crashes == "anywhere" else ()),
    ]  # fmt: skip


def _crash_recorded(first: str, nothing: Guard) -> list[Rule]:
    """Before the first of the success writes, where a record has the result: this write itself, or else the first of the others."""
    slot = SLOTS[first]
    absent = {slot: nothing.get(slot, guard(recorded="none")["recorded"])}
    rows = [Rule(f"crash at {first}, {slot} is there", Actor.CRASH, guard(at=first, landed="yes"), writes=LETS_GO)]
    for record in ("resolved", "effect", "finished", "committed", "ledger"):
        if record != slot:
            there = guard(ledger="committed") if record == "ledger" else {record: guard(any=SET)["any"]}
            sees = {**guard(at=first, landed="no"), **absent, **there}
            rows.append(Rule(f"crash at {first}, {record} is there", Actor.CRASH, sees, writes=LETS_GO))
            absent[record] = nothing[record]
    return rows


def _crash_deciding(first: str) -> list[Rule]:
    """A crash where no command is at hand: without these rows the machine looks the same in every run (`checkers.crash_anywhere`)."""
    there = {"ledger": "committed"} if SLOTS[first] == "recorded" else {SLOTS[first]: SET}
    deciding: dict[str, tuple[Guard, tuple[Guard, ...]]] = {
        "": (guard(at="|".join(DECIDES)), ()),
        " by what is recorded": (guard(at="recover"), (guard(**NOTHING),)),
        " that nothing is to be recorded": (guard(at=first, landed="no", **there), ()),
        " that no verifier is to be asked": (guard(at="confirm"), (guard(**_pairs(ASKS)),)),
        " that a cancel ends the job": (guard(at="park", told="yes", finished=SET, landed="no"), (guard(**KNOWS),)),
    }
    return [
        Rule(f"{DECIDING}{what}", Actor.CRASH, sees, writes=LETS_GO, unless=unless)
        for what, (sees, unless) in deciding.items()
    ]
