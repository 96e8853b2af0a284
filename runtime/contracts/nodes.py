"""The nodes of the graph, and the core that runs them: a generator without I/O, as the protocol of a tool step is (C-NODES).

Each round reads the session, and lets the node where it stands do one thing, which one atomic write records. So the next round,
or another runner after a crash, goes on from what is durable and from nothing else. Every `yield` is a boundary; no `try`,
`finally` or `with` stands around one.

| node      | writes                                                                                               |
| --------- | ---------------------------------------------------------------------------------------------------- |
| memory    | the result level of earlier executions (intent and emotion pass the state through)                   |
| reasoning | contracts with the checkpoint that goes on from them, or the reply                                   |
| tools     | reject, or start and suspend, or start; then what the records of the durable step prove (C-ORPHAN)   |
| ecs       | start and suspend, with the checkpoint; what waits is announced only after that                      |
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ...model.contract import Actor, Status, Trigger
from ..commands import Command
from ..records import Json
from ..turn import Worker
from .commands import Load, LoadHolders, Snapshot, Tell, Think, Write
from .drafts import Name, drafts, wishes
from .form import doubt, form, released
from .graph import route
from .reasoner import Observation, Reasoner, Request, observation
from .records import ExecutionContract, GraphState
from .step import Verdict, execute
from .store import Batch, ContractError, Move

Core = Generator[Command, Any, GraphState]
Writes = Generator[Command, Any, None]
Rest = Generator[Command, Any, bool]
"""What a node answers: whether the session rests, since nothing can be done before somebody else acts."""

MOST_DECISIONS: Final = 100
"""How often the reasoner is asked in one run, before a reply or a person's answer ends it."""

PROVEN: Final[Mapping[tuple[Status, str], Trigger]] = {
    (Status.RUNNING, "happened"): "succeed",
    (Status.RUNNING, "no_effect"): "fail",
    (Status.RUNNING, "unknown"): "lose",
    (Status.UNKNOWN, "happened"): "happened",
    (Status.UNKNOWN, "no_effect"): "did_not_happen",
}
"""How a contract moves by what its step proves; where nothing stands, it stays."""


@dataclass(frozen=True)
class Session:
    """A session and who works it. names: ids of contracts. batch_ids: never the same twice, in no two runners."""

    session_id: str
    worker: Worker
    reasoner: Reasoner
    names: Name
    batch_ids: Iterator[str]

    def advance(self) -> Core:
        """Run the graph until the session ends or rests; the last checkpoint."""
        yield from self.settle_strays()
        decisions = 0
        while True:
            seen: Snapshot = yield Load(self.session_id)
            state = checkpointed(seen, self.session_id)
            if state.status in ("idle", "error"):
                return state
            match state.node:
                case "reasoning" if decisions == MOST_DECISIONS:
                    rests = yield from self.give_up(state)
                case "reasoning":
                    decisions += 1
                    rests = yield from self.reasoning(seen, state)
                case "tools":
                    rests = yield from self.tools(seen, state)
                case "ecs":
                    rests = yield from self.ecs(seen, state)
                case _:
                    rests = yield from self.memory(seen, state)
            if rests:
                return state

    def settle_strays(self) -> Writes:
        """Contracts that the session went on without, since their outcome was not known, may be settled by now."""
        seen: Snapshot = yield Load(self.session_id)
        waited_for = checkpointed(seen, self.session_id).pending_executions
        for contract in seen.contracts.values():
            if contract.status is Status.UNKNOWN and contract.execution_id not in waited_for:
                yield from self.settle(contract)

    # The nodes.

    def memory(self, seen: Snapshot, state: GraphState) -> Rest:
        """Keep the result level of what earlier requests led to."""
        lines = [f"{each}: {observation(seen.contracts[each])}" for each in state.completed_executions]
        yield from self.write("graph_checkpoint", state=after(state, node="reasoning", memory=tuple(lines)))
        return False

    def reasoning(self, seen: Snapshot, state: GraphState) -> Rest:
        """Ask the reasoner; record its reply, or create the contracts of what it wants and may have."""
        decision = yield Think(self.reasoner, question(seen, state))
        turn = state.turn + 1
        if decision.reply is not None:
            ended = after(state, node="end", status="idle", turn=turn, refusals=(), reply=decision.reply)
            yield from self.write("graph_checkpoint", state=ended)
            return False
        wanted = wishes(decision, state, seen.contracts, self.worker.tools)
        wanted.drop((yield LoadHolders(wanted.reserved)))
        drafted = drafts(wanted, state, len(seen.contracts) + 1, seen.now, self.names)
        creates = (*drafted.tools, *drafted.asks)
        pending = [each for each in creates if each.execution_id in drafted.pending]
        going = after(
            state,
            node=route(pending),
            turn=turn,
            refusals=tuple(wanted.refusals),
            pending_executions=drafted.pending,
            deferred_executions=drafted.deferred,
        )
        yield from self.write("create_contracts" if creates else "graph_checkpoint", creates=creates, state=going)
        return False

    def give_up(self, state: GraphState) -> Rest:
        """End a run whose reasoner never comes to a reply; the user may speak again."""
        words = f"no reply after {MOST_DECISIONS} decisions"
        yield from self.write("graph_checkpoint", state=after(state, node="end", status="error", reply=words))
        return False

    def tools(self, seen: Snapshot, state: GraphState) -> Rest:
        """Bring each pending tool contract as far as it goes, in order."""
        for contract in waited_for(seen, state, "tool_call"):
            if contract.status is Status.PENDING:
                yield from self.start(contract)
                return False
            if contract.status in (Status.RUNNING, Status.UNKNOWN) and (yield from self.settle(contract)):
                return False
        return (yield from self.rest(seen, state))

    def start(self, contract: ExecutionContract) -> Writes:
        """Start, durably, before anything of the step begins (C-AHEAD); or suspend for consent; or reject."""
        tool = self.worker.tools.get(contract.tool)
        if tool is None:
            raise missing(contract)
        begin = move(contract, "start", "tool_node")
        if tool.irreversible and not contract.irreversible:
            why = f"{contract.tool} is declared irreversible by now, and nobody has consented"
            moves = [begin, move(contract, "reject", "tool_node", 1, error_message=why)]
        elif contract.needs_consent and (contract.consent is None or contract.consent_used):
            moves = [begin, move(contract, "suspend", "tool_node", 1)]
        else:
            moves = [begin]
        yield from self.write("move", moves)

    def settle(self, contract: ExecutionContract) -> Generator[Command, Any, bool]:
        """Bring the step to rest and move the contract by what its records prove; False when they prove nothing yet.

        Only a running contract's step executes. The contract is read again afterwards: it may have timed out meanwhile, and
        then this is its own executor's late proof (C-UNKNOWN).
        """
        if contract.tool not in self.worker.tools:
            raise missing(contract)
        running = contract.status is Status.RUNNING
        found: Verdict = yield from execute(contract, replace(self.worker, executes=running))
        seen: Snapshot = yield Load(self.session_id)
        contract = seen.contracts[contract.execution_id]
        trigger = PROVEN.get((contract.status, found.kind))
        if trigger is None:
            return False
        # A person's word acts through the runner, and is kept with the move (C-ACTOR).
        actor: Actor = "graph_runner" if found.answer and contract.status is Status.UNKNOWN else "tool_node"
        result = move(
            contract, trigger, actor, result=found.result, error_message=found.error, metadata=dict(found.answer)
        )
        yield from self.write("move", [result])
        return True

    def ecs(self, seen: Snapshot, state: GraphState) -> Rest:
        """Suspend the pending requests, with the checkpoint. One that a crash left running is suspended again (C-ORPHAN)."""
        moves = []
        for contract in waited_for(seen, state, "ecs_request"):
            if contract.status is Status.PENDING:
                moves += [move(contract, "start", "ecs_node"), move(contract, "suspend", "ecs_node", 1)]
            elif contract.status is Status.RUNNING:
                moves.append(move(contract, "suspend", "ecs_node"))
        if not moves:
            return (yield from self.rest(seen, state))
        yield from self.write("move", moves, state=after(state, status="suspended"))
        return False

    def rest(self, seen: Snapshot, state: GraphState) -> Rest:
        """Go on when something ended; else suspend, and say what waits for a person, once that is durable."""
        going = gone_on(state, seen.contracts)
        if (going.pending_executions, going.deferred_executions) != (
            state.pending_executions,
            state.deferred_executions,
        ):
            yield from self.write("graph_checkpoint", state=going)
            return False
        pending = [seen.contracts[each] for each in state.pending_executions]
        if any(each.status is Status.RUNNING for each in pending):
            return True  # another worker holds its step
        if state.status != "suspended":
            yield from self.write("graph_checkpoint", state=after(state, status="suspended"))
            return False
        for contract in pending:
            if contract.status is Status.WAITING:
                action = released(contract, seen.contracts)
                yield Tell(
                    "ecs", form(contract, action, None if action is None else seen.again.get(action.execution_id))
                )
            elif contract.status is Status.UNKNOWN:
                yield Tell("unknown", doubt(contract))
        return True

    # The writes.

    def write(
        self,
        boundary: str,
        moves: Iterable[Move] = (),
        creates: tuple[ExecutionContract, ...] = (),
        state: GraphState | None = None,
    ) -> Writes:
        """One batch. Its id is this runner's own: a loser of a race must not be acknowledged as the winner."""
        yield Write(Batch(next(self.batch_ids), boundary, self.session_id, creates, tuple(moves), state=state))


def checkpointed(seen: Snapshot, session_id: str) -> GraphState:
    """The session's state; ContractError when there is none."""
    if seen.state is None:
        raise ContractError(f"there is no session {session_id!r}; open it first")
    return seen.state


def after(state: GraphState, **changes: Any) -> GraphState:
    """The next checkpoint."""
    return GraphState.model_validate({**state.model_dump(), "version": state.version + 1, **changes})


def gone_on(state: GraphState, contracts: Mapping[str, ExecutionContract], ended: Iterable[str] = ()) -> GraphState:
    """The next checkpoint: what ended, here or in the same batch, is completed; the graph goes on with what is left."""
    listed = (*state.pending_executions, *state.deferred_executions)
    over = {each for each in listed if contracts[each].terminal} | set(ended)
    pending = tuple(each for each in state.pending_executions if each not in over)
    return after(
        state,
        node=route([contracts[each] for each in pending]),
        status="processing",
        pending_executions=pending,
        deferred_executions=tuple(each for each in state.deferred_executions if each not in over),
        completed_executions=(*state.completed_executions, *(each for each in listed if each in over)),
    )


def waited_for(seen: Snapshot, state: GraphState, kind: str) -> list[ExecutionContract]:
    """The pending contracts of one kind."""
    pending = [seen.contracts[each] for each in state.pending_executions]
    return [each for each in pending if each.action_type == kind]


def question(seen: Snapshot, state: GraphState) -> Request:
    """What the reasoner is asked with."""
    done = [seen.contracts[each] for each in state.completed_executions]
    observed = [Observation(each.execution_id, each.action_type, each.status, observation(each)) for each in done]
    return Request(state.request, state.turn, tuple(observed), state.refusals, state.memory)


def move(contract: ExecutionContract, trigger: Trigger, actor: Actor, later: int = 0, **what: Json) -> Move:
    """A move of a contract as it was read, or as it is `later` moves after that, in one batch."""
    return Move(contract.execution_id, contract.version + later, trigger, actor, **what)


def missing(contract: ExecutionContract) -> ContractError:
    """The runner lacks a tool that a contract needs."""
    return ContractError(
        f"contract {contract.execution_id!r} needs the tool {contract.tool!r}, which is not registered here;"
        " start with --tools FILE"
    )
