"""What the jobs of a rig are made of: steps and gates, the world that their tools change, and what the tools do (`conform_rig`).

The world lives outside the runtime: it counts effects and answers truthfully when it is asked.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, TypeVar

from ..model.policy import Policy
from ..runtime.commands import Acquire, Append, Command, Execute, PutEffect, Query, Settle, Verify
from ..runtime.keys import compensation_key, execution_key
from ..runtime.records import Json
from ..runtime.tool import (
    Absent,
    Compensation,
    Happened,
    NoEffectError,
    PartialEffectError,
    Tool,
    ToolContext,
    ToolResult,
)
from ..runtime.verifier import Answer, Match, Mismatch, Mode, StateChange, Undetermined, VerifyContext
from .abstraction import COMPENSATES, Result, StoredJob, asked_for
from .conform_calls import ERRORS, NO_WORDS, HandedError, handed, kept, on_record, once, placed
from .conform_follow import Follower
from .crash_judge import filled
from .crash_witness import text_of
from .standing import Stand
from .step_words import Due, Reader

Behaviour = Literal[
    "ok",
    "partial",
    "no effect",
    "lost answer",
    "lost refusal",
    "on the wire",
    "dies after the effect",
    "dies on the wire",
]
Directed = Literal["lost part", "dies after a part", "dies after the refusal"]
"""What a directed walk forces beside what a random one draws (`walk_direct`)."""
Seen = Literal["match", "mismatch", "undetermined"]
"""What a verifier answers."""
Undoing = Literal["", "works", "harmless"]
"""What a tool says of undoing its effect: nothing; how; how, and that it does no harm where there is none."""
Contract = tuple[bool, Literal["park", "query", "reexecute", "fail"], Literal["none", "quiet", "fence"]]

TTL: Final = 30.0
QUIET: Final = 60.0
RESOURCE: Final = "thing"
UNWATCHED: Final[dict[str, Json]] = {"resource_type": "unwatched", "resource_id": "it", "operation": "write"}
SIGNAL: Final = "go"
HALF_DONE: Final = "half done"
CHANGED: Final = "somebody else has changed it"
"""What a verifier says that finds the world changed."""
REFUSED: Final = ("no effect", "lost refusal", "dies after the refusal")
PARTIAL: Final = ("partial", "lost part", "dies after a part")
DIES: Final = "dies"
UNDOING: Final = "#compensation"
"""How the name ends that the runtime gives to the tool of a compensation."""
CONTRACTS: Final[tuple[Contract, ...]] = tuple(
    (idempotent, on_unknown, look)
    for on_unknown in ("park", "query", "reexecute", "fail")
    for look in ("none", "quiet", "fence")
    for idempotent in (False, True)
    if not (on_unknown == "query" and look == "none") and not (on_unknown == "reexecute" and not idempotent)
)
"""idempotent, on_unknown, look: every combination that a tool may declare."""


class Crash(BaseException):
    """The process is gone: nothing in the runtime may catch it, and nothing of it runs any more."""


@dataclass(frozen=True)
class Says:
    """How a call behaves whose error is drawn. error: its class, by name, where nothing is proven; words: what it says."""

    behaviour: Behaviour
    error: str
    words: str


Does = Behaviour | Directed | Says
"""What a call does."""
D = TypeVar("D", bound=str)
"""How the calls of some rig behave."""


@dataclass(frozen=True)
class Looks:
    """How records are confirmed from now on, and what the verifier answers of one, look by look; behind that it finds a match.

    changes: how many a step records: each is looked at.
    """

    mode: Mode
    answers: tuple[Seen, ...]
    changes: int = 1


@dataclass(frozen=True)
class StepPlan:
    """A step to submit. looks: it records changes, which a verifier looks at; beside other steps it finds them as they are.

    What follows where the record of a step differs that a later one has used already is for two models, not for one.
    undoes: what its tool says of undoing its effect. after: the nodes that it comes after, by number; None: the one before it. Of
    these it may use the results: `{"$result": "step-1"}` among its arguments. backoff: seconds before its first retry.
    """

    contract: Contract
    max_retries: int
    args: Json
    result: Json
    looks: Looks | None = None
    max_requeues: int = 0
    undoes: Undoing = ""
    after: tuple[int, ...] | None = None
    backoff: float = 0.0

    @property
    def tool(self) -> str:
        """The name of its tool."""
        return tool_name(self.contract, self.undoes)


@dataclass(frozen=True)
class Gate:
    """A node to submit that waits for a signal."""

    signal: str = SIGNAL


def step_name(number: int) -> str:
    """What a rig calls the node of a plan that has this number, from 1 on."""
    return f"step-{number}"


def named(plan: Sequence[StepPlan | Gate]) -> Iterator[tuple[str, StepPlan | Gate, list[str]]]:
    """Each node of a plan, with its name and the names of those that it comes after."""
    for number, node in enumerate(plan, 1):
        chosen = node.after if isinstance(node, StepPlan) else None
        after = range(max(1, number - 1), number) if chosen is None else chosen
        yield step_name(number), node, [step_name(each) for each in after]


def node_of(each: StepPlan | Gate) -> dict[str, Any]:
    """A node of a plan, as it is submitted."""
    if isinstance(each, Gate):
        return {"wait": each.signal}
    node = {"tool": each.tool, "args": each.args, "max_retries": each.max_retries, "max_requeues": each.max_requeues}
    return {**node, "backoff_seconds": each.backoff} if each.backoff else node


@dataclass
class World:
    """The place that a step's tool changes. undone: whether what undoes it has had its effect.

    told: what that is to be told, as one text, once it has begun. said: how the errors that were raised have to be on record, by
    whether it was the undoing's, and by attempt. called: when each attempt came. calls: as which attempts it was called, and
    whether to undo. by_person: whether it was a person who said that the step happened.
    unwatched: where nothing is drawn for a verifier, the tool tells of a change that none can look at: it is taken for confirmed.
    """

    value: Json
    idempotent: bool
    looks: Iterator[Seen] | None = None
    looked_at: int = 1
    effects: int = 0
    first: Result | None = None
    undone: bool = False
    keys: set[str] = field(default_factory=set)
    wire: list[str] = field(default_factory=list)
    told: str = ""
    said: dict[tuple[bool, int], str] = field(default_factory=dict)
    called: dict[int, float] = field(default_factory=dict)
    calls: set[tuple[bool, int]] = field(default_factory=set)
    by_person: bool = False
    unwatched: bool = False

    @property
    def due(self) -> tuple[Json, ...]:
        """The state changes that a record of the step has to hold: a person who says that it happened knows none."""
        return () if self.by_person else self.changes

    @property
    def changes(self) -> tuple[Json, ...]:
        """What the tool says that it has changed."""
        if self.looks is None:
            return (UNWATCHED,) if self.unwatched else ()
        return tuple(
            {"resource_type": RESOURCE, "resource_id": f"number {number}", "operation": "write"}
            for number in range(1, self.looked_at + 1)
        )

    def serve(self, key: str) -> tuple[Json, str]:
        """Serve a request: the answer, and the prefix of the model's rules for what the world did."""
        if self.idempotent and key in self.keys and self.first is not None:
            return self.first.value, "recognises the key"
        self.keys.add(key)
        self.effects += 1
        if self.first is None:
            self.first = Result(self.value)
            return self.value, "serves"
        return ["again", self.effects, self.value], "serves again"


@dataclass
class Job:
    """A submitted job: what its steps are, what follows them, and their part of the world, by step."""

    job_id: str
    steps: dict[str, StepPlan]
    followers: dict[str, Follower]
    worlds: dict[str, World]
    _keys: dict[str, str] = field(default_factory=dict)
    _reader: Reader = field(default_factory=Reader)

    @property
    def results(self) -> dict[str, Json]:
        """What the steps whose effects have happened have truly given."""
        return {name: world.first.value for name, world in self.worlds.items() if world.first is not None}

    def given(self, name: str) -> Json:
        """The arguments that the plan has for a step, with these results filled in."""
        return filled(self.steps[name].args, self.results)

    def told(self, name: str, known: bool) -> Json:
        """What undoes a step's effect is to be told: the arguments, and what the effect has given where that is known."""
        first, given = self.worlds[name].first, self.given(name)
        if first is None or not known:
            return {"args": given, "result": None}
        return {"args": given, "result": first.value, "external_id": None}

    @property
    def keys(self) -> dict[str, str]:
        """Each step's execution key, with its name, as soon as there is every result that its arguments ask for."""
        if len(self._keys) < len(self.steps):
            for name in self.steps.keys() - self._keys.values():
                if {*asked_for(self.steps[name].args)} <= self.results.keys():
                    self._keys[execution_key(self.job_id, name, self.steps[name].tool, self.given(name))] = name
        return self._keys

    @property
    def undoing_keys(self) -> dict[str, str]:
        """The same of what undoes the steps."""
        return {compensation_key(key): name for key, name in self.keys.items()}

    def step_of(self, command: Command) -> str | None:
        """The step that a command is about, None for one about the job."""
        match command:
            case Append(events=(event, *_)):
                step: str | None = event.step or event.data.get("step")
                return step
            case Acquire(record=record) | PutEffect(record=record):
                return record.step_id
            case Execute(context=context) | Query(context=context) | Verify(context=context):
                return context.step_id
            case Settle(key=key):
                return {**self.keys, **self.undoing_keys}[key]
            case _:
                return None

    def undoing(self, command: Command) -> bool:
        """Whether a command belongs to the protocol of a compensation: for the step, which only waits for its end, it is none."""
        match command:
            case Append(events=(event, *_)):
                return COMPENSATES in event.data and command.boundary != "park"
            case Acquire(record=record) | PutEffect(record=record):
                return record.idempotency_key in self.undoing_keys
            case Settle(key=key):
                return key in self.undoing_keys
            case Execute(tool=tool) | Query(tool=tool):
                return tool.name.endswith(UNDOING)
            case _:
                return False

    def without_undoing(self, stored: StoredJob) -> StoredJob:
        """The job without the records under the keys of compensations: one is in the ledger before any event tells of it."""
        ledger = tuple(row for row in stored.ledger if row.key not in self.undoing_keys)
        effects = tuple(row for row in stored.effects if row.key not in self.undoing_keys)
        return replace(stored, ledger=ledger, effects=effects)

    def misquoted(self, stored: StoredJob) -> str:
        """The first event that says what no model has otherwise than is due (`step_words`); "" where there is none."""
        return self._reader.misquoted(stored.events, {name: self._due(name) for name in self.steps})

    def _due(self, name: str) -> Due:
        world = self.worlds[name]
        return Due(
            world.said,
            self.steps[name].backoff,
            tuple(f"{each['resource_type']} {each['resource_id']}: {CHANGED}" for each in world.changes),
            lambda: self.given(name),
            lambda: (self.told(name, known=True), self.told(name, known=False)),
        )


class Services:
    """The tools of a rig's jobs, and the verifier. beyond: whether effects may be partial (`beyond`).

    now: the time, with all that workers have slept. stand: what the store has of a job's calls. behaviours: what the tools do,
    call by call; behind that they succeed. did: what the world has done since it was last cleared.
    """

    def __init__(
        self, jobs: dict[str, Job], beyond: bool, now: Callable[[], float], stand: Callable[[str], Stand]
    ) -> None:
        self.jobs, self.beyond, self.now, self.stand = jobs, beyond, now, stand
        self.behaviours: Iterator[Does] = iter(())
        self.did: list[str] = []

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """A verifier's look, as drawn; when nothing is left it finds the world as recorded."""
        match next(self._world(context).looks or iter(()), "match"):
            case "mismatch":
                return Mismatch(CHANGED)
            case "undetermined":
                return Undetermined("no answer")
            case _:
                return Match()

    def _world(self, context: ToolContext | VerifyContext) -> World:
        return self.jobs[context.job_id].worlds[context.step_id]

    def _call(self, args: Json, context: ToolContext) -> Json | ToolResult:
        """The tool."""
        placed(context, self.stand(context.job_id))
        world = self._world(context)
        once(context, world.calls)
        self._in_time(world, context)
        handed(context, args, self.jobs[context.job_id].given(context.step_id))
        drawn: Does = next(self.behaviours, "ok")
        behaviour, fault = behaving(drawn)
        if behaviour in ("on the wire", "dies on the wire"):
            world.wire.append(context.external_key)
        elif behaviour in REFUSED:
            self.did.append("world: refuses")
        else:
            value, did = world.serve(context.external_key)
            in_part = behaviour in PARTIAL and did != "serves again" and self.beyond
            self.did.append("world: serves in part" if in_part and did == "serves" else f"world: {did}")
            if in_part and behaviour == "partial":
                words = drawn.words if isinstance(drawn, Says) else HALF_DONE
                world.said[False, context.attempt] = kept(words) or NO_WORDS
                raise PartialEffectError(words, value, state_changes=world.changes)
            if behaviour in ("ok", "partial"):
                return ToolResult(value, state_changes=world.changes)
        if behaviour.startswith(DIES):
            raise Crash
        world.said[False, context.attempt] = on_record(fault)
        raise fault

    def _in_time(self, world: World, context: ToolContext) -> None:
        """T-RETRY: a further attempt comes after the pause that the plan has for it, which is twice as long each time."""
        number, now = context.attempt, self.now()
        pause = self.jobs[context.job_id].steps[context.step_id].backoff * 2.0 ** (number - 2)
        before = world.called.get(number - 1)
        if before is not None and now < before + pause:
            said = f"attempt {number} came {now - before:g} s after the one before it, not {pause:g} s"
            raise HandedError(f"{context.job_id} {context.step_id}: {said}")
        world.called[number] = now

    def _query(self, contract: Contract, args: Json, context: ToolContext) -> Happened | Absent:
        """What the world says when it is asked; a fencing look first shuts out what is on the wire."""
        stand = self.stand(context.job_id)
        placed(context, stand, asker=stand.lease)
        world = self._world(context)
        handed(context, args, self.jobs[context.job_id].given(context.step_id))
        if world.first is not None:
            return Happened(world.first.value, state_changes=world.changes)
        if contract[2] == "fence":
            world.wire.clear()
        return Absent()

    def _undo(self, harmless: bool, args: Json, context: ToolContext) -> Json:
        """What undoes the tool's effect: it works, it is refused, nobody knows, or its worker dies."""
        placed(context, self.stand(context.job_id), undoing=True)
        world = self._world(context)
        once(context, world.calls, undoing=True)
        job = self.jobs[context.job_id]
        due = [job.told(context.step_id, known=True), *([job.told(context.step_id, known=False)] if harmless else [])]
        handed(context, args, *(each for each in due if world.told in ("", text_of(each))))
        behaviour, fault = behaving(next(self.behaviours, "ok"))
        if behaviour in REFUSED:
            fault = fault if isinstance(fault, NoEffectError) else NoEffectError("refused")
        else:
            world.undone = True
            if behaviour.startswith(DIES):
                raise Crash
            if behaviour in ("ok", "partial"):
                return "undone"
        world.said[True, context.attempt] = on_record(fault)
        raise fault

    def tool(self, contract: Contract, undoes: Undoing) -> Tool:
        """The tool with a contract."""
        idempotent, on_unknown, look = contract
        harmless = undoes == "harmless"
        undo = Compensation(partial(self._undo, harmless), quiet_seconds=QUIET, harmless=harmless)
        return Tool(
            tool_name(contract, undoes),
            self._call,
            "a witnessed tool",
            idempotent=idempotent,
            on_unknown=on_unknown,
            query=None if look == "none" else partial(self._query, contract),
            look=look,
            quiet_seconds=QUIET,
            compensation=undo if undoes else None,
        )


def behaving(drawn: D | Says) -> tuple[D | Behaviour, Exception]:
    """How a call behaves, and what it raises where it raises something that is not to say what was done."""
    if isinstance(drawn, Says):
        proven = drawn.behaviour == "no effect"
        return drawn.behaviour, NoEffectError(drawn.words) if proven else ERRORS[drawn.error](drawn.words)
    return drawn, NoEffectError("refused") if drawn == "no effect" else TimeoutError()


def tool_name(contract: Contract, undoes: Undoing = "") -> str:
    """The name of the tool with a contract."""
    idempotent, on_unknown, look = contract
    return f"{'idempotent' if idempotent else 'once'}-{on_unknown}-{look}{f'-{undoes}' if undoes else ''}"


def declared(contract: Contract) -> dict[str, str]:
    """A contract as the model's configuration fields."""
    idempotent, on_unknown, look = contract
    return {"idempotent": "yes" if idempotent else "no", "on_unknown": on_unknown, "look": look}


def beyond(policy: Policy) -> bool:
    """Whether a walk draws what may befall a step beside its own execution: cancels, looks, partial effects.

    Not where the machine does not hold it; nor where the ledger, which has no place for a failure, is written first.
    """
    return policy.extent != "step alone" and policy.order[0] != "commit"
