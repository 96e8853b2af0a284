"""What a job's events and records say in the words of three machines: gate, compensation, recorded value (E-TRUST).

A reader takes the events one after the other. Of each it says which event of its machine it is, if any, and which fields follow
from the events so far; in the end, what the other records and the world's witness say. What an event means is decided by its
type, its data and its place; who wrote it and why is for the machine to find out.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from .abstraction import compensation_key
from .attempts import Attempts, allowed
from .crash_judge import filled, parsed
from .crash_run import Trace
from .node_order import ASKING, WAITING, NodeOrder
from .semantics_laws import RESULTS, question
from .semantics_records import UNDO, Durable, canonical_digest, nodes_of

Fields = dict[str, str]
ENDS: Final = {"job_completed": "completed", "job_failed": "failed", "job_cancelled": "cancelled"}
INPUTS: Final = ("time", "random", "http")
"""The kinds of an input that a tool, or its compensation, asks for as it is called."""
UNDOING_ENDS: Final[Mapping[str, tuple[str, ...]]] = {
    "step_compensated": ("success",),
    "compensation_failed": ("no_effect", "unknown"),
}
"""How an undoing ends, by the event that says so."""
ASKED_UNDOING: Final = "#compensation#"
"""Where this stands behind the step in the name of an input, its compensation has asked for it."""


class Told(Protocol):
    """An event, as a reader looks at it. said: its data, not to be altered."""

    @property
    def type(self) -> str:
        """What it is."""
        ...

    @property
    def step(self) -> str | None:
        """Of which node."""
        ...

    @property
    def epoch(self) -> int | None:
        """The worker's; None for people and clients."""
        ...

    @property
    def said(self) -> Mapping[str, Any]:
        """Its data."""
        ...


class Order:
    """How the nodes of a plan stand to each other, worked out once for all who read a job.

    at: their places. step: the first tool step behind each; "" is none. waiting: the nodes that wait for the same, in turn.
    """

    def __init__(self, nodes: Mapping[str, Mapping[str, Any]]) -> None:
        self.at = {name: place for place, name in enumerate(nodes)}
        self.step: dict[str, str] = {}
        self.waiting: dict[Any, list[str]] = {}
        self.odd: list[tuple[Any, list[str]]] = []  # the same, where that is no plain value
        behind = ""
        for name in reversed(list(nodes)):
            self.step[name] = behind
            behind = name if "tool" in nodes[name] else behind
        for name, node in nodes.items():
            self._wait_for(node.get("wait")).append(name)

    def place(self, name: str) -> int:
        """Of a node. ValueError for a name that is none's."""
        return self.at[name] if name in self.at else list(self.at).index(name)

    def turns(self, value: Any) -> list[str]:
        """The nodes that wait for something, in turn."""
        if isinstance(value, list | dict):
            return next((turns for each, turns in self.odd if each == value), [])
        return self.waiting.get(value, [])

    def _wait_for(self, value: Any) -> list[str]:
        if not isinstance(value, list | dict):
            return self.waiting.setdefault(value, [])
        if not any(each == value for each, _ in self.odd):
            self.odd.append((value, []))
        return self.turns(value)


@dataclass
class Subject:
    """The job that is read. nodes: of its plan, in its order. results: of its nodes, as far as they are recorded by now.

    due: whose turn the last signal was, if anybody's. heard: how many there were, by the first node that waits for the same.
    """

    job_id: str
    nodes: Mapping[str, Mapping[str, Any]]
    results: dict[str | None, Any] = field(default_factory=dict)
    due: Sequence[str] = ()
    heard: dict[str, int] = field(default_factory=dict)

    @cached_property
    def order(self) -> Order:
        """How the nodes stand to each other; many a job has nobody who asks."""
        return Order(self.nodes)

    def note(self, row: Told) -> None:
        """Keep a result, or whose turn a signal is, before anybody reads the event that tells it."""
        if row.type == "command_committed" and row.said.get("kind") in RESULTS and "compensates" not in row.said:
            self.results[row.step] = row.said.get("result")
        elif row.type == "signal_received" and (turns := self.order.turns(row.said.get("signal"))):
            heard = self.heard.get(turns[0], 0)
            self.due = turns[heard : heard + 1]
            self.heard[turns[0]] = heard + 1


class Beside(NamedTuple):
    """What is known in the end beside the events. ledger: (step, key, status). effects: (step, key, kind, output).

    answers: what people decided (contract, decision, digest). seen: how often the world's witness saw an effect, by step, and of
    a compensation by step and `UNDO`; given: what it saw handed to tools, (step, name, value). None: there was no witness.
    """

    ledger: tuple[tuple[str, str, str], ...]
    effects: tuple[tuple[str, str, str, Any], ...]
    answers: tuple[tuple[str, str, str | None], ...]
    seen: Mapping[str, int] | None = None
    given: tuple[tuple[str, str, Any], ...] = ()


class Reader(Protocol):
    """Reads a trace for one machine, policy. about: which node, step or value. counted: the field that the witness counts.

    hears: the nodes (or the command) whose events it reads, beside those of the job.
    """

    policy: str
    about: str
    counted: str
    hears: tuple[str, ...]

    @property
    def declared(self) -> Fields:
        """The machine's configuration."""
        ...

    def take(self, row: Told, queues: bool) -> str | None:
        """Which event of the machine this is; None for one that it does not speak of. queues: its batch queues the job again."""
        ...

    def fields(self) -> Fields:
        """What follows from the events so far."""
        ...

    def rest(self, beside: Beside) -> Fields:
        """What the other records, and the witness if there was one, say in the end."""
        ...


def subject_of(durable: Durable) -> Subject:
    """The job of a trace, before its first result."""
    (job_id,) = [row.said["job_id"] for row in durable.events if row.type == "job_created"]
    return Subject(job_id, nodes_of(durable))


def beside_of(trace: Trace) -> Beside:
    """What a trace holds beside its events."""
    durable: Durable = trace.durable
    return Beside(
        tuple((step, key, status) for step, key, status, _ in durable.ledger),
        tuple((step, key, kind, parsed(output)) for step, key, kind, output, _ in durable.effects),
        durable.answers,
        trace.effects,
        tuple((given.step, given.name, given.value) for given in trace.given),
    )


def readers(trace: Trace, subject: Subject) -> Iterator[Reader]:
    """Everything in a trace that one of the machines speaks of."""
    durable: Durable = trace.durable
    yield from of_nodes(subject)
    undone = any(row.type == "compensation_requested" for row in durable.events)
    for name in subject.nodes:
        if is_step(subject.nodes[name]) and (undone or name + UNDO in trace.effects):
            yield CompensationReader(name)
    for command in dict.fromkeys(row.said["command_id"] for row in durable.events if recorded_input(row)):
        yield RecordedReader(subject, command.partition("#")[0], command)


def of_nodes(subject: Subject) -> Iterator[Reader]:
    """The readers of the nodes that wait, or that ask a model."""
    for name, node in subject.nodes.items():
        if "wait" in node or "approve" in node:
            yield GateReader(subject, name)
        elif "llm" in node:
            yield RecordedReader(subject, name, None)


def is_step(node: Mapping[str, Any]) -> bool:
    """Whether a node is neither a gate nor the question to a model."""
    return not {"wait", "approve", "llm"} & node.keys()


def recorded_input(row: Told) -> bool:
    """Whether an event is what a tool was told in its step."""
    return row.type == "command_committed" and row.said["kind"] in INPUTS


def yes(holds: bool) -> str:
    """A truth value of the machines."""
    return "yes" if holds else "no"


def asked_as(data: Mapping[str, Any]) -> str:
    """The name of the request for approval of which an event tells. Raises ValueError for what is no name."""
    name = data["contract_id"]
    if not isinstance(name, str):
        raise ValueError(f"contract_id {name!r} is no text")
    return name


def same(one: Any, other: Any) -> bool:
    """Whether two values are one in canonical JSON."""
    return repr(one) == repr(other) or canonical_digest(one) == canonical_digest(other)


REFUSALS: Final[Mapping[str, str | None]] = {
    "approved": None,
    "denied": "denied by a person",
    "ended": "the request for approval ended without an answer",
    "other action": "what was asked on record is not the action that the step would take now",
}
"""Why a node fails that waits for an approval, by what was decided."""


class GateReader:
    """A node that waits. Its step is the one it approves, or the first tool step behind it.

    Where there is none, what it lets go on is the rest of the job, which begins once the node is checkpointed. before: how many
    nodes come before what it lets go on: what they make of the job is none of its own.
    """

    policy, counted = "gate-hardened", ""

    def __init__(self, subject: Subject, about: str) -> None:
        self.subject, self.about, nodes = subject, about, subject.nodes
        self.node = nodes[about]
        self.step = str(self.node.get("approve") or subject.order.step[about])
        self.before = subject.order.place(self.step or about)
        self.hears: tuple[str, ...] = (about, self.step)
        self.order = NodeOrder(about, WAITING)
        self.given: Mapping[str, Any] = {}
        self.answered: Mapping[str, Any] = {}
        self.contract = ""
        self.first: str | None = None
        self.shown: str | None = None
        self.said: Fields = {"job": "open", "wait": "none", "started": "none"}
        self.said |= dict.fromkeys(("waited", "woken", "cancel"), "no") | {"signal": "none"}

    @property
    def declared(self) -> Fields:
        """What the node waits for."""
        return {"kind": "approval" if "approve" in self.node else "signal"}

    def take(self, row: Told, queues: bool) -> str | None:
        """Its waits, its signal, its answer; the start of its step; cancels, and the job's end."""
        said, data, waiting = self.said, row.said, self.said["job"] == "waiting"
        self.order.hear(row.type, row.step, data.get("step"))
        self.behind(row)
        if waiting and (queues or row.type == "job_requeued"):
            said["job"] = "open"
        match row.type:
            case "job_waiting" if row.step == self.about:
                said |= {"job": "waiting", "waited": "yes", "woken": "no"}
                if "approve" in self.node:
                    said["signal"] = "none"
                    self.contract, self.shown = asked_as(data), data["digest"]
                    self.digest(self.shown)
                return row.type
            case "signal_received" if data["signal"] == self.node.get("wait"):
                if self.about in self.subject.due:
                    self.given = {"data": data.get("data"), "who": data.get("who")}
                    said["signal"] = "received"
                    return row.type
            case "job_requeued" if data.get("node") == self.about:
                self.given = {"by": data.get("who")}
                said["signal"] = "received"
                return row.type
            case "compensation_requested" if queues and waiting:
                said["woken"] = "yes"
                return row.type
            case "wait_completed" if row.step == self.about:
                said["wait"] = self.answer(data)
                return row.type
            case "tool_invocation_started" if row.step == self.step and said["started"] == "none":
                said["started"] = self.action(data)
                return row.type
            case "state_checkpointed" if not self.step and row.step == self.about:
                said["started"] = "first"
                return "tool_invocation_started"
            case "cancel_requested":
                said["cancel"] = "yes"
                return row.type
            case "job_completed" | "job_failed" | "job_cancelled" if not self.elsewhere(row):
                said["job"] = ENDS[row.type]
                return row.type
        return None

    def elsewhere(self, row: Told) -> bool:
        """Whether the job ends at another node: at one before its step, or, cancelled by a client, where it waits."""
        at: Any = None if row.type == "job_completed" else row.said["step"]
        before = at != self.about and self.subject.order.at.get(at, self.before) < self.before
        return before or (row.type == "job_cancelled" and row.epoch is None and at != self.about)

    def digest(self, value: str) -> str:
        """Which of two actions a digest is of: the first one that anybody speaks of, or another."""
        self.first = self.first or value
        return "first" if value == self.first else "other"

    def behind(self, row: Told) -> None:
        """The node's result is the answer, and its end follows from it. ValueError for another one."""
        told, data = self.answered, row.said
        if row.step != self.about or row.type not in ("command_committed", "node_finished"):
            return
        if row.type == "command_committed":
            if not same(data["result"], told.get("data", told)):
                raise ValueError("its result is not what was answered")
            return
        reason = None if "wait" in self.node else REFUSALS[told["decision"]]
        ends = "success" if reason is None else "permanent_failure"
        if told.get("reason") and reason:
            reason = f"{reason}: {told['reason']}"
        if (data["result_type"], data.get("reason")) != (ends, reason):
            raise ValueError(f"what was answered makes it {ends}{f' ({reason})' if reason else ''}")

    def answer(self, data: Mapping[str, Any]) -> str:
        """What is recorded of the answer: it is the one that came, where an event before it says which that was."""
        self.answered = {name: value for name, value in data.items() if name != "node"}
        if data["node"] != self.about:
            raise ValueError(f"it is the answer of {data['node']!r}")
        for name, value in self.given.items():
            if not same(data[name], value):
                raise ValueError(f"{name} is not what came as the answer")
        if "wait" in self.node:
            return "signalled"
        if data["decision"] not in REFUSALS:
            raise ValueError(f"decision {data['decision']!r}")
        if self.contract not in ("", asked_as(data)):
            raise ValueError(f"it answers {data['contract_id']!r}, and {self.contract!r} was waited for")
        if self.shown not in (None, data["digest"]) and data["decision"] != "other action":
            raise ValueError("it answers for another action than was waited for")
        self.contract = data["contract_id"]
        return self.digest(data["digest"]) if data["decision"] == "approved" else "refused"

    def action(self, data: Mapping[str, Any]) -> str:
        """Which action the step begins: computed from the plan and the results so far, and told by what its event says of it."""
        if "wait" in self.node:
            return "first"
        job, node = self.subject, self.subject.nodes[self.step]
        as_planned = (node["tool"], canonical_digest(filled(node["args"], job.results)))
        if (data["tool_name"], data["args_hash"]) != as_planned:
            return "other"
        return self.digest(canonical_digest(question(job.job_id, self.about, node, job.results)))

    def fields(self) -> Fields:
        """What follows from the events so far."""
        return self.said

    def rest(self, beside: Beside) -> Fields:
        """The decision on record, of a person; the digest is of the action that the person was shown."""
        if "wait" in self.node:
            return {"asked": "none", "decision": "none"}
        given = {(decision, digest) for contract, decision, digest in beside.answers if contract == self.contract}
        if not given:  # withdrawn, a request is refused for good, as if a person had denied it: nobody has answered it
            return {"decision": "denied" if self.answered.get("decision") == "ended" else "none"}
        ((decision, digest),) = given
        shown = {"asked": self.digest(digest)} if digest is not None else {}
        return {"decision": {"approve": "approved", "deny": "denied"}[decision], **shown}


class CompensationReader:
    """A tool step of a job in which something is compensated, and its compensation."""

    policy, counted = "compensation-hardened", "undone"

    def __init__(self, about: str) -> None:
        self.about = about
        self.hears: tuple[str, ...] = (about,)
        self.attempts, self.undoings = Attempts(), Attempts()
        self.said: Fields = {"job": "open", "original": "none", "attempt": "none", "told": "no"}
        self.said |= dict.fromkeys(("asked", "done", "node", "cancel"), "no")

    def copy(self) -> "CompensationReader":
        """The same reader, to go on with by itself."""
        twin = CompensationReader(self.about)
        twin.attempts, twin.undoings, twin.said = self.attempts.copy(), self.undoings.copy(), {**self.said}
        return twin

    def signature(self) -> tuple[Hashable, ...]:
        """Two readers of one step with equal signatures tell the same of whatever follows."""
        return *self.attempts.signature(), *self.undoings.signature(), *self.said.values()

    @property
    def declared(self) -> Fields:
        """Any compensation."""
        return {}

    def take(self, row: Told, queues: bool) -> str | None:
        """What is asked, tried and told of the compensation; what is known of the step; the job's park for it, and its end."""
        said, data = self.said, row.said
        if queues or row.type == "job_requeued":
            said["job"] = "open"
        if row.type == "cancel_requested":
            first, said["cancel"] = said["cancel"] == "no", "yes"
            return row.type if first else None
        if row.type in ENDS:
            self.ended(row.type)
            return None
        if row.step != self.about:
            return self.parked_elsewhere(row)
        if row.type == "compensation_requested":
            said["asked"] = "yes"
            if queues and self.attempts.open and said["original"] == "started":
                said["original"] = "unknown"  # undone unresolved: its job is parked, be it at another step
            return row.type
        if "compensates" in data:
            return self.undoing(row, data)
        if row.type == "node_finished" and data["result_type"] == "compensated":
            said["node"] = "yes"
            return row.type
        self.original(row, data)
        if row.type == "node_finished" and data["result_type"] == "compensatable_failure" and said["attempt"] == "none":
            said["asked"] = "yes"
            return row.type
        return None

    def ended(self, kind: str) -> None:
        """The job is over: a step that was not done and has nothing open had no effect."""
        said = self.said
        said["job"] = "ended"
        if kind != "job_completed" and not self.attempts.open and said["original"] == "started":
            said["original"] = "no_effect"

    def parked_elsewhere(self, row: Told) -> str | None:
        """A park at another step, while this compensation is in doubt: a person may then be asked about either."""
        if row.type != "job_parked" or self.said["attempt"] not in ("open", "lost") or self.said["done"] == "yes":
            return None
        self.said["job"] = "parked"
        return row.type

    def undoing(self, row: Told, data: Mapping[str, Any]) -> str | None:
        """An event of the compensation."""
        said = self.said
        match row.type:
            case "compensation_started":
                self.undoings.start(data["attempt"])
                said |= {"attempt": "open", "asked": "no"}
            case "compensation_failed" | "step_compensated" if data["outcome"] not in UNDOING_ENDS[row.type]:
                raise ValueError(f"outcome {data['outcome']!r} of {row.type}")
            case "compensation_failed":
                self.undoings.end(data["attempt"], data["outcome"])
                said["attempt"] = "closed" if data["outcome"] == "no_effect" else "lost"
            case "step_compensated":
                self.undoings.end(data["attempt"], "success", said["done"] == "yes")
                said |= {"told": "compensated", "done": "yes"}
            case "command_committed" if data["kind"] not in INPUTS:
                said["told"] = "committed"
            case "invocation_resolved" if data["answer"] == "happened":
                said["done"] = "yes"
            case "invocation_resolved" if data["answer"] != "not_happened":
                raise ValueError(f"answer {data['answer']!r}")
            case "invocation_resolved":
                self.undoings.close()
                said["attempt"] = "disproved"
            case "retry_scheduled":
                self.undoings.grant(data["attempt"])
                said["asked"] = "yes"
            case "job_parked":
                said["job"] = "parked"
            case _:
                return None
        return row.type

    def original(self, row: Told, data: Mapping[str, Any]) -> None:
        """What the records say of the step itself, through the interface that its contract sees."""
        now, said = self.said["original"], self.said
        match row.type:
            case "tool_invocation_started":
                self.attempts.start(data["attempt"])
                said["original"] = "started"
            case "tool_invocation_finished" if data["outcome"] == "no_effect":
                self.attempts.end(data["attempt"], "no_effect")
            case "tool_invocation_finished" if data["outcome"] == "success":
                said["original"] = "ok"
            case "invocation_resolved" if data["answer"] == "not_happened":
                self.attempts.close()  # once its compensation has begun it is not tried again, and that is its end
                said["original"] = "started" if said["attempt"] == "none" else "no_effect"
            case "invocation_resolved":
                said["original"] = "ok"
            case "job_parked" if self.attempts.open and now == "started":
                said["original"] = "unknown"
            case "node_finished" if data["result_type"] == "permanent_failure" and now == "started":
                said["original"] = "unknown" if self.attempts.open else "no_effect"

    def fields(self) -> Fields:
        """What follows from the events so far."""
        return self.said

    def rest(self, beside: Beside) -> Fields:
        """The compensation's effect record and ledger, and both effects as the witness has counted them."""
        undoing = {compensation_key(key) for _, key, _ in beside.ledger}
        ledger = [status for step, key, status in beside.ledger if step == self.about and key in undoing]
        record = any(step == self.about and key in undoing for step, key, _, _ in beside.effects)
        told = {"ledger": ledger[0].lower() if ledger else "none", "record": yes(record)}
        if beside.seen is None:
            return told
        deed = "done" if beside.seen.get(self.about) else "none"
        return {**told, "deed": deed, "undone": str(min(beside.seen.get(self.about + UNDO, 0), 2))}


RETRIES: Final = 2
"""How often a model is asked again where its node does not say; it is not queued again then."""
LLM_FAILURES: Final = ("retryable_failure", "permanent_failure")


class RecordedReader:
    """A value: what a language model answered (command: None), or what a tool was told in its step (the command of its event).

    It is used by the first tool step behind the model's node, or by the tool that asked, or its compensation. Where no step is
    behind the node, the rest of the job uses it, once the node is checkpointed.
    """

    policy, counted = "recorded-hardened", "effects"

    def __init__(self, subject: Subject, node: str, command: str | None) -> None:
        self.subject, self.node, self.command = subject, node, command
        self.about, nodes = command or node, subject.nodes
        itself = node if "tool" in nodes[node] else ""
        self.step = subject.order.step[node] if command is None else itself
        if command is not None and command.startswith(node + ASKED_UNDOING):
            self.step += UNDO
        self.hears: tuple[str, ...] = (node, self.step) if command is None else (command,)
        self.order = NodeOrder(node, ASKING)
        self.retries = self.requeues = 0
        self.first: str | None = None
        self.said: Fields = {"job": "open", "committed": "none", "node": "no"}
        if command is None:
            self.said |= {"first_used": "no", "other_used": "no"}

    @property
    def declared(self) -> Fields:
        """Whose value it is."""
        return {"kind": "llm" if self.command is None else "input"}

    def take(self, row: Told, queues: bool) -> str | None:
        """The record, the end of the model's node, the start of the step that uses the answer, and the job's end."""
        said, data = self.said, row.said
        if self.command is None:
            self.order.hear(row.type, row.step, data.get("step"))
            if row.step == self.node:
                self.asked(row.type, data)
        match row.type:
            case "command_committed" if data["command_id"] == self.about:
                said["committed"] = self.value(data["result"])
                return row.type
            case "node_finished" if (row.step, self.command) == (self.node, None) and data["result_type"] == "success":
                said["node"] = "yes"
                return row.type
            case "tool_invocation_started" if (row.step, self.command) == (self.step, None):
                return self.begun(row, data)
            case "state_checkpointed" if not self.step and row.step == self.node:
                said["first_used"] = "yes"
                return "tool_invocation_started"
            case "job_completed":
                said["job"] = "completed"
                return row.type
        return None

    def asked(self, kind: str, data: Mapping[str, Any]) -> None:
        """How often the model is asked, and how that ends: as the plan allows (T-RETRY). ValueError for anything else."""
        calls, node = 1 + self.retries + self.requeues, self.subject.nodes[self.node]
        match kind:
            case "retry_scheduled":
                self.retries += 1
                if data["attempt"] != calls + 1 or not allowed(calls, node.get("max_retries", RETRIES), self.requeues):
                    raise ValueError(f"the plan allows no attempt {data['attempt']!r} after {calls}")
            case "job_requeued":
                self.requeues += 1
            case "node_finished":
                failed = self.said["committed"] == "none"
                if data["result_type"] not in (LLM_FAILURES if failed else ("success",)):
                    raise ValueError(
                        f"result type {data['result_type']!r}, {'without' if failed else 'with'} an answer"
                    )
                if data["result_type"] == LLM_FAILURES[0] and self.requeues >= node.get("max_requeues", 0):
                    raise ValueError(f"the plan does not allow a requeue after {self.requeues}")

    def begun(self, row: Told, data: Mapping[str, Any]) -> str | None:
        """The step that uses the answer begins, with arguments that are made of it or of something else."""
        planned = canonical_digest(filled(self.subject.nodes[self.step]["args"], self.subject.results))
        used = "first" if data["args_hash"] == planned else "other"
        new = self.said[f"{used}_used"] == "no"
        self.said[f"{used}_used"] = "yes"
        return row.type if new else None

    def value(self, result: Any) -> str:
        """Which of two values it is: the first one on record, or another."""
        told = canonical_digest(result)
        self.first = self.first or told
        return "first" if told == self.first else "other"

    def fields(self) -> Fields:
        """What follows from the events so far."""
        return self.said

    def rest(self, beside: Beside) -> Fields:
        """The effect record, what the tool was handed, and how often the effect happened."""
        records = [output for step, _, kind, output in beside.effects if (step, kind) == (self.node, "llm")]
        effect = {"effect": self.value(records[0]) if records and self.command is None else "none"}
        if beside.seen is None:
            return effect
        handed = {self.value(value) for step, name, value in beside.given if (step, name) == (self.step, self.about)}
        used = {f"{value}_used": yes(value in handed) for value in ("first", "other")}
        told = {**effect, "effects": str(min(beside.seen.get(self.step, 0), 2))} if self.step else effect
        if self.command is not None:
            return {**told, **used}
        return {**told, "other_used": "yes"} if "other" in handed else told
