"""The durable tool step as rows: one step of a job, one worker at a time, any number of crashes (T-ORDER, T-RECOVER).

How to read it. `at` is the worker's place in the protocol: the boundary it is about to perform. Every other thing a process
knows it has read from a durable field. The world has requests on the wire and effects that happened; only the world's own
rules and the rules that *meet* it see those. A crash can strike in every state with a live worker, again during recovery,
without limit: the space is finite because nothing in it counts crashes.

Store errors (T-WRITE). An error that wrote nothing leaves the state as it is: the worker repeats the write, so it needs no
row. An error that *did* write is a row of its own (`… (answer lost)`), after which `landed` holds: the store finds the
worker's own write when it is repeated, and that is the acknowledgement (`… (found)`).

Other steps of the job. A job has many steps; this machine follows one. What the others can do to it (park or fail the job
before this step is reached or after it has finished) are the rules whose names begin with `elsewhere`.
"""

from .boundaries import CATCH_UP
from .machine import Actor, Field, Machine, Rule, Scope, first_match, guard
from .policy import HARDENED, Policy

RESULT = ("none", "first", "other")
"""A stored result: absent, the answer of the tool's first effect, or anything else."""

NO_YES = ("no", "yes")
NOTHING = {"open": "0", "closed": "0", "ledger": "none", "effect": "none", "finished": "none", "resolved": "none"}

AT = (
    "idle", "fence_events", "fence_ledger", "fence_effects", "recover", "acquire", "append_started", "execute",
    "await_reply", "put_effect", "append_finished", "append_committed", "commit", "append_node_finished",
    "checkpoint", "append_completed", "append_no_effect", "attempt_closed", "ledger_no_effect", "retry_policy",
    "schedule_retry", "append_node_failed", "append_failed", "append_unknown", "ledger_unknown", "on_unknown",
    "query", "resolve_happened", "resolve_not_happened", "park",
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
    Field("job", Scope.DURABLE, ("open", "parked", "completed", "failed"), "state of the job"),
    _count("open", Scope.DURABLE, "tool_invocation_started events whose attempt is not closed"),
    _count("closed", Scope.DURABLE, "closings: finished(no_effect) of one attempt, resolved(not_happened) of all that are open"),
    Field("doubt", Scope.DURABLE, NO_YES, "an open attempt has finished(unknown)"),
    Field("retry", Scope.DURABLE, NO_YES, "retry_scheduled since the last started event"),
    Field("finished", Scope.DURABLE, RESULT, "tool_invocation_finished(success) with its result"),
    Field("committed", Scope.DURABLE, RESULT, "command_committed with its result"),
    Field("resolved", Scope.DURABLE, RESULT, "invocation_resolved(happened) with its result"),
    Field("node", Scope.DURABLE, ("none", "success", "no_effect", "unknown"), "node_finished: success, or failure and why"),
    Field("checkpoint", Scope.DURABLE, NO_YES, "state_checkpointed covers the step"),
    Field("effect", Scope.DURABLE, RESULT, "the effect record with its output"),
    Field("ledger", Scope.DURABLE, ("none", "inflight", "no_effect", "unknown", "committed"), "status of the ledger record"),
    Field("recorded", Scope.DURABLE, RESULT, "the result in the ledger record"),
    Field("quiet", Scope.CLOCK, NO_YES, "at least D has passed since the last possible sending (T-QUIET)"),
    Field("at", Scope.VOLATILE, AT, "the boundary that the worker is about to perform; idle: no worker"),
    Field("memory", Scope.VOLATILE, RESULT, "the result in the worker's memory"),
    Field("landed", Scope.VOLATILE, NO_YES, "the write at hand is in the store already, its answer was lost"),
    Field("sent", Scope.VOLATILE, NO_YES, "this claim has sent a request, under an attempt-scoped key"),
    Field("request", Scope.WORLD, ("none", "sent", "first", "other", "refused"), "the living worker's request: on the wire, "
          "or answered with a result, or refused without effect"),
    _count("wire", Scope.WORLD, "requests on the wire whose sender has stopped waiting"),
    _count("effects", Scope.WORLD, "how often the effect happened"),
    _count("keys", Scope.WORLD, "distinct external keys that the tool has been sent"),
    Field("excused", Scope.GHOST, NO_YES, "the outcome of an open attempt was lost: a crash between B2 and B4, or no answer"),
    Field("refused", Scope.GHOST, NO_YES, "every attempt so far was refused by the tool or found not to have happened"),
)  # fmt: skip


def build(policy: Policy = HARDENED) -> Machine:
    """The machine of one tool step under a policy."""
    worker = [*_claim(), *_recover(policy), *_execute(policy), *_record(policy), *_close(policy), *_unknown(policy)]
    rules = [*(row for rule in worker for row in _with_lost_answers(rule)), *_elsewhere(), *_world(), *_crash(policy)]
    impossible = [guard(on_unknown="query", look="none"), guard(on_unknown="reexecute", idempotent="no")]
    if policy.tools_idempotent:
        impossible.append(guard(idempotent="no"))
    return Machine(policy.name, FIELDS, tuple(rules), tuple(impossible))


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
        f"{rule.name} (found)",
        Actor.WORKER,
        sees={"at": rule.sees["at"], **guard(landed="yes")},
        writes={**volatile, "landed": "no"},
        boundary=rule.boundary,
        source="T-WRITE",
    )
    return [Rule(rule.name, sees=fresh, writes=rule.writes, emits=rule.emits, **changed), lost, found]


def _claim() -> list[Rule]:
    return [
        _work("claim", "idle", "fence_events", sees="job:open", boundary="claim", source="T-ORDER B0"),
        _work("fence events", "fence_events", "fence_ledger", boundary="fence_events", source="T-ORDER F1"),
        _work("fence ledger", "fence_ledger", "fence_effects", boundary="fence_ledger", source="T-ORDER F2"),
        _work("fence effects", "fence_effects", "recover", boundary="fence_effects", source="T-ORDER F3"),
    ]


def _recover(policy: Policy) -> list[Rule]:
    """T-RECOVER as a decision list over what the stores hold; the policy says what is consulted, and in which order."""
    record = policy.order[0]
    events = [
        _work("0: node failed", "recover", "append_failed", sees="node:no_effect|unknown", source="T-RECOVER 0"),
        _work(
            "1: finished",
            "recover",
            record,
            sees="finished:first|other",
            writes="memory:=finished",
            source="T-RECOVER 1",
        ),
        _work(
            "1: committed",
            "recover",
            record,
            sees="committed:first|other",
            writes="memory:=committed",
            source="T-RECOVER 1",
        ),
        _work(
            "1: resolved",
            "recover",
            record,
            sees="resolved:first|other",
            writes="memory:=resolved",
            source="T-RECOVER 1",
        ),
    ]
    ledger = [
        _work(
            "2: ledger committed",
            "recover",
            record,
            sees="ledger:committed",
            writes="memory:=recorded",
            source="T-RECOVER 2",
        )
    ]
    effect = [
        _work(
            "3: effect record",
            "recover",
            record,
            sees="effect:first|other",
            writes="memory:=effect",
            source="T-RECOVER 3",
        )
    ]
    evidence = [*(ledger if "ledger" in policy.evidence else []), *(effect if "effects" in policy.evidence else [])]
    barrier = [_work("5: open attempt", "recover", "ledger_unknown", sees="open:1|2", source="T-RECOVER 5")]
    closed = [_work("4: all closed", "recover", "ledger_no_effect", sees="open:0 closed:1|2", source="T-RECOVER 4")]
    start = [
        _work("6: take over", "recover", "acquire", sees="ledger:inflight", source="T-RECOVER 6"),
        _work("8: execute", "recover", "acquire", source="T-RECOVER 8"),
    ]
    middle = {
        "after evidence": [*evidence, *closed, *barrier],
        "before evidence": [*closed, *barrier, *evidence],
        "absent": [*evidence, *closed],
    }[policy.barrier]
    return first_match([*events, *middle, *start])


def _execute(policy: Policy) -> list[Rule]:
    record = policy.order[0]
    recorded = (record, "memory:=recorded") if "ledger" in policy.evidence else ("append_started", "")
    return [
        _work("acquire", "acquire", "append_started", sees="ledger:none|inflight|no_effect|unknown", writes="ledger:inflight",
              boundary="acquire", source="T-ORDER B1"),
        _work("acquire: committed", "acquire", recorded[0], sees="ledger:committed landed:no", writes=recorded[1],
              boundary="acquire", source="T-RECOVER Acquire"),
        _work("append started", "append_started", "execute", writes="open:+1 retry:no", emits="tool_invocation_started",
              boundary="append_started", source="T-ORDER B2"),
        *_send(policy),
        _work("reply: result", "await_reply", record, meets="request:first", writes="memory:first request:none", source="T-OUTCOME"),
        _work("reply: another result", "await_reply", record, meets="request:other", writes="memory:other request:none", source="T-OUTCOME"),
        _work("reply: no effect", "await_reply", "append_no_effect", meets="request:refused",
              writes="request:none", source="T-OUTCOME"),
        _work("no reply, still on the wire", "await_reply", "append_unknown", meets="request:sent",
              writes="request:none wire:+1 excused:yes", source="T-OUTCOME"),
        _work("no reply, lost", "await_reply", "append_unknown", meets="request:first|other|refused",
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
    slots = {
        "put_effect": "effect",
        "append_finished": "finished",
        "append_committed": "committed",
        "commit": "recorded",
    }
    events = {"append_finished": "tool_invocation_finished", "append_committed": "command_committed"}
    rules = []
    for place, after in zip(policy.order, (*policy.order[1:], "append_node_finished"), strict=True):
        status = " ledger:committed" if place == "commit" else ""
        name = place.replace("_", " ")
        missing = "ledger:none|inflight|no_effect|unknown" if place == "commit" else f"{slots[place]}:none"
        there = "ledger:committed" if place == "commit" else f"{slots[place]}:first|other"
        rules += [
            _work(name, place, after, sees=missing, writes=f"{slots[place]}:=memory{status}", emits=events.get(place, ""),
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


def _close(policy: Policy) -> list[Rule]:
    """The end without effect: close the attempt, then retry or fail by policy (rule 4)."""
    # Without a barrier nobody asks whether an older attempt is open: the defect of "looking at the last one".
    others_open = "ledger_no_effect" if policy.barrier == "absent" else "ledger_unknown"
    return [
        _work("append no effect", "append_no_effect", "attempt_closed", sees="open:1|2", writes="open:-1 closed:+1 refused:yes",
              emits="tool_invocation_finished", boundary="append_no_effect", source="T-ORDER B5"),
        _work("every attempt is closed", "attempt_closed", "ledger_no_effect", sees="open:0", source="T-RECOVER 4"),
        _work("an older attempt is open", "attempt_closed", others_open, sees="open:1|2", source="T-RECOVER 5"),
        _work("ledger no effect", "ledger_no_effect", "retry_policy", sees="ledger:none|inflight|unknown",
              writes="ledger:no_effect", boundary="ledger_no_effect", source="T-ORDER B7'"),
        _work("ledger no effect: there", "ledger_no_effect", "retry_policy", sees="ledger:no_effect|committed landed:no", source="T-ORDER B7'"),
        _work("retry again", "retry_policy", "schedule_retry", sees="retry:no", source="T-RETRY"),
        _work("retry was scheduled", "retry_policy", "acquire", sees="retry:yes", source="T-RETRY"),
        _work("retries used up", "retry_policy", "append_node_failed", sees="retry:no", source="T-RETRY"),
        _work("schedule retry", "schedule_retry", "acquire", writes="retry:yes", emits="retry_scheduled",
              boundary="schedule_retry", source="T-ORDER R1"),
        _work("append node failed", "append_node_failed", "append_failed", sees="ledger:no_effect", writes="node:no_effect",
              emits="node_finished", boundary="append_node_failed", source="T-ORDER B8"),
        _work("append node failed, unknown", "append_node_failed", "append_failed", sees="ledger:unknown|committed", writes="node:unknown",
              emits="node_finished", boundary="append_node_failed", source="T-ORDER B8"),
        _work("append failed", "append_failed", "idle", writes="job:failed", emits="job_failed",
              boundary="append_failed", source="T-ORDER B10"),
    ]  # fmt: skip


def _unknown(policy: Policy) -> list[Rule]:
    """The ambiguity class: say UNKNOWN, then what the tool declares (`on_unknown`)."""
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
        _work("on unknown: reexecute was scheduled", "on_unknown", "acquire", sees="on_unknown:reexecute retry:yes", source="T-RETRY"),
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
        _work("park", "park", "idle", writes="job:parked", emits="job_parked", boundary="park", source="T-ORDER Q1"),
        Rule("person: happened", Actor.PERSON, sees=guard(job="parked", open="1|2", at="idle", node="none", finished="none"),
             meets=guard(effects="1|2"), writes={"resolved": "first", "job": "open"}, boundary="resolve",
             emits=("invocation_resolved", "job_requeued"), source="T-RECOVER on_unknown; assumption A-PERSON"),
        Rule("person: did not happen", Actor.PERSON, sees=guard(job="parked", open="1|2", quiet="yes", at="idle", node="none", finished="none"),
             meets=guard(effects="0"), writes={"open": "0", "closed": "+1", "doubt": "no", "job": "open", "excused": "no", "refused": "yes"},
             boundary="resolve", emits=("invocation_resolved", "job_requeued"), source="T-QUIET; assumption A-PERSON"),
    ]  # fmt: skip


def _elsewhere() -> list[Rule]:
    """What the job's other steps may do, before this one begins and after it has ended."""
    rules = []
    for when, place, untouched in (
        ("before", "recover", {**NOTHING, "node": "none"}),
        ("after", "append_completed", {}),
    ):
        sees = guard(at=place, landed="no", job="open", **untouched)
        rules += [
            Rule(f"elsewhere: parks, {when}", Actor.WORKER, sees, writes={"job": "parked", "at": "idle", "memory": "none"}, emits=("job_parked",)),
            Rule(f"elsewhere: fails, {when}", Actor.WORKER, sees, writes={"job": "failed", "at": "idle", "memory": "none"}, emits=("job_failed",)),
        ]  # fmt: skip
    for when, literals in (("before", guard(**NOTHING)), ("after", guard(node="success"))):
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
        Rule("world: recognises the key", Actor.WORLD, meets=guard(request="sent", effects="1|2", idempotent="yes"),
             writes={"request": "first"}, source="assumption A-IDEMPOTENT"),
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
    """A crash resets what is volatile; a request on the wire stays there. It also remembers, for P4, what it destroyed."""
    reset = {"at": "idle", "memory": "none", "landed": "no", "sent": "no"}
    evidence_free = guard(
        effect="none", finished="none", committed="none", resolved="none", ledger="none|inflight|no_effect|unknown"
    )
    harmless_at = "|".join(
        p
        for p in AT
        if p not in ("idle", "append_started", "execute", "await_reply", "append_no_effect", policy.order[0])
    )
    first = policy.order[0]
    reply = guard(request="none|first|other|refused")
    return [
        Rule("crash", Actor.CRASH, guard(at=harmless_at), writes=reset),
        Rule("crash before B2 is written", Actor.CRASH, guard(at="append_started", landed="no"), writes=reset),
        Rule("crash, B2 written", Actor.CRASH, guard(at="append_started", landed="yes"), writes={**reset, "excused": "yes"}),
        Rule("crash before the request", Actor.CRASH, guard(at="execute"), writes={**reset, "excused": "yes"}),
        Rule("crash, request on the wire", Actor.CRASH, guard(at="await_reply"), guard(request="sent"),
             {**reset, "request": "none", "wire": "+1", "excused": "yes"}),
        Rule("crash after the effect", Actor.CRASH, guard(at="await_reply"), reply, {**reset, "request": "none", "excused": "yes"}),
        Rule("crash before no_effect is written", Actor.CRASH, guard(at="append_no_effect", landed="no"), writes={**reset, "excused": "yes"}),
        Rule("crash, no_effect written", Actor.CRASH, guard(at="append_no_effect", landed="yes"), writes=reset),
        Rule("crash before the result is recorded", Actor.CRASH, {**guard(at=first, landed="no"), **evidence_free}, writes={**reset, "excused": "yes"}),
        *(Rule(f"crash at {first}, {name} is there", Actor.CRASH, {**guard(at=first), **literals}, writes=reset)
          for name, literals in (("effect", guard(effect="first|other")), ("finished", guard(finished="first|other")),
                                 ("committed", guard(committed="first|other")), ("resolved", guard(resolved="first|other")),
                                 ("ledger", guard(ledger="committed")))),
    ]  # fmt: skip
