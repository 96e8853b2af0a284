"""A wait or approval node before a tool step, as rows (T-WORKER; P9).

How to read it. The worker claims the job, loads the action that is to be run, and asks the gate. An approval is a contract in a
store of its own: it says for which action it `asked` (a digest: `first` and `other` stand for two actions that differ) and what
the person's `decision` is. While nobody has answered, the job waits, without a worker, until a signal queues it again, or a
request to undo another step, after which it waits anew. A signal may come before it is waited for. Decision and signal are two
writes in two stores, by a process that may crash between them; signals are lost, repeated, or sent by anybody. `job` is waiting
where it waits at this node; what else holds it up is not seen here. A worker may crash at any place, without limit, and is
followed by another (A-ONE-WORKER).

The gated step is seen as its contract sees it: once its `started` event is there, its own protocol (`model/step.py`) leads it
to an end. A row is a write with its definite answer: that an unacknowledged write is repeated until it has one (T-WRITE) is
what the step's machine checks.

What a rule changes when it is off. G-ASK: a worker that finds the node entered before takes it as passed (the gate is a no-op
on recovery). G-RECORD: the signal is the approval; nobody reads the decision. G-BIND: an approval is for whatever the action
has become. G-DENY: after a denial the person is asked again. G-SIGNAL: a waiting job is claimed like any other without a lease.
G-CANCEL: `job_waiting` is rebased over a `cancel_requested` that came in between.
"""

from collections.abc import Iterator
from typing import Final

from .machine import Actor, Field, Machine, Rule, Scope, first_match, guard
from .properties import Property
from .words import NO_YES, RulePolicy, clauses, row, words

GATE_RULES: Final = {
    "G-ASK": "the gate is asked again on every recovery",
    "G-RECORD": "what opens the gate is the decision on record, never the signal that announces it",
    "G-BIND": "an approval opens the gate only for the action whose digest it carries",
    "G-DENY": "a denial is final",
    "G-SIGNAL": "a waiting job is claimed only after its signal",
    "G-CANCEL": "a job does not begin to wait once its cancel is requested",
}
HARDENED_GATE: Final = RulePolicy("gate-hardened", frozenset(GATE_RULES))

ACTIONS: Final = ("first", "other")
BEGUN: Final = "first|other"
_DIGEST: Final = ("none", *ACTIONS)

FIELDS: Final = (
    Field("kind", Scope.CONFIG, ("approval", "signal"), "what the node waits for: a person's approval of the action, or a signal",
          ("approval", "signal")),
    Field("job", Scope.DURABLE, ("open", "waiting", "completed", "failed", "cancelled"), "status of the job"),
    Field("action", Scope.DURABLE, ACTIONS, "the action that is to be run; it may be changed until the step has started"),
    Field("asked", Scope.DURABLE, _DIGEST, "digest of the action for which the approval contract asks"),
    Field("decision", Scope.DURABLE, ("none", "approved", "denied"), "the answer on that contract"),
    Field("waited", Scope.DURABLE, NO_YES, "whether a job_waiting event is there"),
    Field("signal", Scope.DURABLE, ("none", "received"), "a signal_received event after the newest job_waiting"),
    Field("wait", Scope.DURABLE, ("none", *ACTIONS, "refused", "signalled"), "the newest wait_completed event: the digest that "
          "was approved, a refusal, or the signal"),
    Field("woken", Scope.DURABLE, NO_YES, "a person's request about another step, after the newest job_waiting"),
    Field("cancel", Scope.DURABLE, NO_YES, "a cancel_requested event"),
    Field("started", Scope.DURABLE, _DIGEST, "the gated step's started event, with the digest of its action"),
    Field("at", Scope.VOLATILE, ("idle", "replay", "gate", "ask", "append_waiting", "append_wait_completed", "start", "execute",
                                 "append_failed"), "the worker's place"),
    Field("loaded", Scope.VOLATILE, _DIGEST, "the action that the worker has loaded"),
    Field("decider", Scope.VOLATILE, ("idle", "decided"), "the process that has recorded a decision and is to signal next"),
    Field("refused", Scope.GHOST, NO_YES, "whether a person has ever denied"),
)  # fmt: skip

LEAVE: Final = "at:idle loaded:none"
PASSING: Final = "append_wait_completed|start"
AT_WORK: Final = "replay|gate|ask|append_waiting|append_wait_completed|start|execute|append_failed"


def build_gate(policy: RulePolicy = HARDENED_GATE) -> Machine:
    """The machine of a gate under a policy."""
    on = policy.rules
    parts = (_claim(on), first_match(list(_replay(on))), _gate(on), _ask(on), _step(), _people(), _crash())
    return Machine(policy.name, FIELDS, tuple(rule for part in parts for rule in part))


def _claim(on: frozenset[str]) -> Iterator[Rule]:
    """The claim, and the load of the action."""
    job = "open" if "G-SIGNAL" in on else "open|waiting"
    for d in ACTIONS:
        yield row(f"claim, {d} action", Actor.WORKER, f"at:idle job:{job} action:{d}", f"at:replay loaded:{d}",
                  boundary="claim", source="G-SIGNAL")  # fmt: skip


def _replay(on: frozenset[str]) -> Iterator[Rule]:
    """What the events say, first match wins."""
    yield row(
        "replay: the step has begun", Actor.WORKER, f"at:replay started:{BEGUN}", "at:execute", source="T-RECOVER"
    )
    yield row("replay: refused", Actor.WORKER, "at:replay wait:refused", "at:append_failed", source="G-DENY")
    yield row("replay: cancelled", Actor.WORKER, "at:replay cancel:yes", f"job:cancelled {LEAVE}",
              boundary="append_cancelled", emits=("job_cancelled",), source="T-WORKER")  # fmt: skip
    if "G-ASK" not in on:
        yield row("replay: entered before, so passed", Actor.WORKER, "at:replay waited:yes", "at:start")
    yield row("replay: ask the gate", Actor.WORKER, "at:replay", "at:gate", source="G-ASK")


def _gate(on: frozenset[str]) -> Iterator[Rule]:
    """The gate, asked: it reads what is on record, and answers for the action that the worker has loaded."""

    def gate(name: str, sees: str, leads: str, source: str = "T-WORKER") -> Rule:
        return row(f"gate: {name}", Actor.WORKER, f"at:gate {sees}", f"at:{leads}", source=source)

    yield gate("signalled", "kind:signal wait:signalled", "start")
    yield gate("signal received", "kind:signal wait:none signal:received", "append_wait_completed")
    yield gate("no signal", "kind:signal wait:none signal:none", "append_waiting")
    answered = "append_wait_completed" if "G-DENY" in on else "ask"
    yield gate("denied", "kind:approval decision:denied", answered, "G-DENY")
    if "G-RECORD" not in on:
        yield gate("the signal says so", "kind:approval decision:none signal:received", "append_wait_completed")
    for d, other in (ACTIONS, ACTIONS[::-1]):
        action = f"kind:approval loaded:{d}"
        right = d if "G-BIND" in on else BEGUN
        yield gate(f"not asked for, {d}", f"{action} asked:none", "ask")
        yield gate(f"not answered, {d}", f"{action} asked:{BEGUN} decision:none", "append_waiting")
        yield gate(
            f"approved, {d}", f"{action} asked:{right} decision:approved wait:none", "append_wait_completed", "G-BIND"
        )
        yield gate(f"approved before, {d}", f"{action} asked:{right} decision:approved wait:{right}", "start", "G-BIND")
        if "G-BIND" in on:
            wrong = f"{action} asked:{other} decision:approved"
            yield gate(f"another action, {d}", f"{wrong} wait:none", "append_wait_completed", "G-BIND")
            yield gate(f"another action before, {d}", f"{wrong} wait:{other}", "append_failed", "G-BIND")


def _ask(on: frozenset[str]) -> Iterator[Rule]:
    """The contract is created, the job begins to wait; or its answer becomes an event of the job.

    Who has asked looks again: the answer may be there by then. One contract is asked for a node; an approval that does not fit
    the action, since that was changed meanwhile, ends the job.
    """
    for d in ACTIONS:
        yield row(f"ask for approval, {d}", Actor.WORKER, f"at:ask loaded:{d}", f"asked:{d} decision:none at:gate",
                  boundary="open_approval", source="G-BIND")  # fmt: skip
    ready = "cancel:no" if "G-CANCEL" in on else ""
    waits = f"job:waiting waited:yes signal:none woken:no {LEAVE}"
    for kind, sees in (("approval", ""), ("signal", "signal:none")):
        yield row(f"append job_waiting, {kind}", Actor.WORKER, f"at:append_waiting kind:{kind} {sees} {ready}", waits,
                  boundary="append_waiting", emits=("job_waiting",), source="T-WORKER")  # fmt: skip
    yield row("a signal came in between", Actor.WORKER, "at:append_waiting kind:signal signal:received", "at:replay",
              source="T-WORKER")  # fmt: skip
    if ready:
        yield row(
            "a cancel came in between", Actor.WORKER, "at:append_waiting cancel:yes", "at:replay", source="G-CANCEL"
        )
    put = "at:append_wait_completed"
    answers = [
        ("signalled", f"{put} kind:signal", "wait:signalled at:start"),
        ("denied", f"{put} kind:approval decision:denied", "wait:refused at:append_failed"),
    ]
    for d, other in (ACTIONS, ACTIONS[::-1]):
        right, fits = d if "G-BIND" in on else BEGUN, f"{put} kind:approval loaded:{d}"
        answers.append((f"approved, {d}", f"{fits} asked:{right} decision:none|approved", f"wait:{d} at:start"))
        if "G-BIND" in on:
            refused = "wait:refused at:append_failed"
            answers.append((f"another action, {d}", f"{fits} asked:{other} decision:none|approved", refused))
    for name, sees, writes in answers:
        yield row(f"append wait_completed, {name}", Actor.WORKER, sees, writes, boundary="append_wait_completed",
                  emits=("wait_completed",), source="T-WORKER A2")  # fmt: skip
    yield row("append job_failed", Actor.WORKER, "at:append_failed", f"job:failed {LEAVE}",
              boundary="append_failed", emits=("job_failed",), source="G-DENY")  # fmt: skip


def _step() -> Iterator[Rule]:
    """The gated step: its started event, and its end, whatever that is; a cancel is honoured before it begins."""
    for d in ACTIONS:
        yield row(f"start the step, {d}", Actor.WORKER, f"at:start loaded:{d}", f"started:{d} at:execute",
                  boundary="append_started", emits=("tool_invocation_started",), source="T-ORDER B2")  # fmt: skip
    yield row("cancelled before the step", Actor.WORKER, "at:start cancel:yes", f"job:cancelled {LEAVE}",
              boundary="append_cancelled", emits=("job_cancelled",), source="T-WORKER")  # fmt: skip
    for end, sees in (("completed", ""), ("failed", ""), ("cancelled", "cancel:yes")):
        yield row(f"the step ends, job {end}", Actor.WORKER, f"at:execute {sees}", f"job:{end} {LEAVE}",
                  boundary=f"append_{end}", emits=(f"job_{end}",), source="T-RECOVER")  # fmt: skip


def _people() -> Iterator[Rule]:
    """Decisions, signals, cancels, and changes of the action: at any time, by anybody."""
    open_contract = f"kind:approval asked:{BEGUN} decision:none"
    yield row("person: approves", Actor.PERSON, open_contract, "decision:approved decider:decided", boundary="answer",
              source="T-WORKER A1")  # fmt: skip
    yield row("person: denies", Actor.PERSON, open_contract, "decision:denied refused:yes decider:decided", boundary="answer",
              source="T-WORKER A1")  # fmt: skip
    wake, queued, event = "job:open signal:received", ("job_requeued",), ("signal_received",)
    yield row("the decider signals", Actor.PERSON, "decider:decided job:waiting", f"{wake} decider:idle", boundary="signal",
              emits=queued, source="T-WORKER")  # fmt: skip
    yield row("the decider finds nobody waiting", Actor.PERSON, "decider:decided job:open|completed|failed|cancelled",
              "decider:idle", source="T-WORKER")  # fmt: skip
    yield row("the signal of a decision is sent again", Actor.PERSON, "decider:idle job:waiting decision:approved|denied",
              "decider:decided", source="T-WORKER")  # fmt: skip
    for name, kind, emits in (("the signal comes", "signal", event), ("somebody signals, unasked", "approval", queued)):
        yield row(
            name, Actor.PERSON, f"kind:{kind} job:waiting", wake, boundary="signal", emits=emits, source="T-WORKER"
        )
    yield row("the signal comes early", Actor.PERSON, "kind:signal job:open signal:none", "signal:received", boundary="signal",
              emits=event, source="T-WORKER")  # fmt: skip
    yield row("a person has another step undone", Actor.PERSON, "job:waiting", "job:open woken:yes",
              boundary="request_compensation", emits=("compensation_requested",), source="T-COMP")  # fmt: skip
    yield row("cancel a waiting job", Actor.PERSON, "job:waiting", "cancel:yes job:cancelled", boundary="cancel",
              emits=("cancel_requested", "job_cancelled"), source="T-WORKER")  # fmt: skip
    yield row("cancel an open job", Actor.PERSON, "job:open cancel:no", "cancel:yes", boundary="cancel",
              emits=("cancel_requested",), source="T-WORKER")  # fmt: skip
    for d, other in (ACTIONS, ACTIONS[::-1]):
        yield row(f"the action becomes the {other}", Actor.PERSON, f"job:open|waiting started:none action:{d}", f"action:{other}",
                  source="G-BIND")  # fmt: skip


def _crash() -> Iterator[Rule]:
    """A crash takes a process and what it knows."""
    yield row("crash of the worker", Actor.CRASH, f"at:{AT_WORK}", LEAVE)
    yield row("crash of the decider", Actor.CRASH, "decider:decided", "decider:idle")


GATE_PROPERTIES: Final = (
    Property(
        "P9",
        "The gated step starts only after an approval that carries its action's digest is durable (a signal, where it waits for "
        "one), and after a denial it never starts.",
        never=(
            words(f"kind:approval started:{BEGUN} decision:none|denied"),
            words("kind:approval started:first asked:none|other"),
            words("kind:approval started:other asked:none|first"),
            words(f"kind:signal started:{BEGUN} signal:none"),
            words(f"refused:yes started:{BEGUN}"),
            words("refused:yes job:completed"),
        ),
        grows=("started", "waited", "cancel", "refused"),
        occurs=(
            guard(kind="approval", started="first"),
            guard(kind="approval", started="other", asked="other"),
            guard(kind="signal", started="first"),
            guard(refused="yes", job="failed"),
        ),
    ),
    Property(
        "P9-WAITING",
        "A waiting job is worked on only after its signal, or a person's request about another step, and no cancel waits with "
        "it; an ended one is not worked on at all.",
        never=(
            words(f"job:waiting|completed|failed|cancelled at:{AT_WORK}"),
            words("job:open|completed|failed waited:yes signal:none woken:no"),
            words("job:waiting cancel:yes"),
        ),
        occurs=(
            guard(job="waiting", decision="approved", decider="idle"),
            guard(job="open", waited="yes", at="gate"),
            guard(job="cancelled", waited="yes"),
        ),
    ),
)  # fmt: skip

GATE_INVARIANT: Final = (
    *clauses(
        "one contract is asked, and its answer stays",
        {
            "a denial is on record": "refused:yes decision:none|approved",
            "what is completed was answered": "kind:approval at:append_wait_completed decision:none",
            "what is approved may start": "kind:approval at:start decision:none|denied",
            "the first action is the approved one": "kind:approval at:start loaded:first decision:approved asked:none|other",
            "the other action is the approved one": "kind:approval at:start loaded:other decision:approved asked:none|first",
            "one contract is asked": f"at:ask asked:{BEGUN}",
            "what is answered was asked": "asked:none decision:approved|denied",
        },
    ),
    *clauses(
        "a signal for the node stays",
        {
            "what is completed was signalled": f"kind:signal at:{PASSING} signal:none",
            "a passed node was signalled": "kind:signal wait:signalled signal:none",
            "nobody denies a signal": "kind:signal refused:yes",
        },
    ),
    *clauses(
        "the events decide: once the step has begun nothing else is done",
        {
            "a begun step is not gated": f"started:{BEGUN} at:gate|ask|append_waiting|append_wait_completed|start|append_failed",
            "what ends has begun": "at:execute started:none",
            "what is completed has begun": "job:completed started:none",
        },
    ),
)
"""With the properties' own guards inductive: what is true in every state, whatever crashes, however often, whoever signals."""
