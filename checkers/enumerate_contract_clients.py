"""What people, the clock, and programs that write to the store themselves do to the contracts of an enumeration.

The operations are the shipped ones. One act reads and writes at once; of a slow one what it has read and is about to write is
kept, and written later, whatever happened meanwhile.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, cast

from ..model.contract import Actor, InvalidTransitionError, Status, Trigger
from ..model.contract_rows import KINDS
from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.contracts import operations
from ..runtime.contracts.commands import ContractPorts, Load, Write, desk
from ..runtime.contracts.records import ExecutionContract
from ..runtime.contracts.store import Batch, ContractError, Move
from ..runtime.resolve import Answer as Told
from ..runtime.store import VersionConflict
from .contract_services import result_of
from .enumerate_contract_bench import Bench, Done, Place
from .enumerate_contract_case import AFTERWARDS
from .interleave_turn import answered

PERSON: Final = "ann"
OTHER_ARGUMENTS: Final = {"n": 1}
LATE: Final = 1_000_000.0
"""Seconds after everything that has a time limit is over."""
DIRECT: Final = (
    "request:pending:start:ecs_node",
    "request:pending:cancel:graph_runner",
    "request:running:suspend:ecs_node",
    "request:running:fail:ecs_node",
    "request:running:reject:graph_runner",
    "request:running:lose:graph_runner",
    "request:running:cancel:graph_runner",
    "request:running:timeout:graph_runner",
    "request:waiting:timeout:graph_runner",
    "request:unknown:happened:graph_runner",
    "request:unknown:did_not_happen:graph_runner",
    "tool:pending:cancel:graph_runner",
    "tool:waiting:timeout:graph_runner",
    "tool:running:reject:tool_node",
)
"""Moves, each in a batch of its own, that no node and no operation writes, or none alone. The store takes them of any program."""


SUPERSEDE: Final = "tool:pending:cancel:graph_runner:supersede"
"""The same of a tool contract that a new one supersedes, whatever becomes of its request."""
USED_APPROVAL: Final = "used approval"
NO_APPROVAL: Final = "no new approval"
"""A call that runs is suspended, and resumed in the same batch: on the approval that its run has used, given again, or on none.
The store takes no such batch (C-BIND), so there are no such words where it is sound.
"""


class Captured(Exception):
    """An operation has read what it reads, and is about to write."""

    def __init__(self, command: Command) -> None:
        super().__init__(command.boundary)
        self.command = command


class Said(NamedTuple):
    """What an act came to: what it did, write by write; or, of a slow one, what it is about to write."""

    done: tuple[tuple[str, Done], ...] = ()
    pending: Command | None = None


class Clients:
    """Acts on a bench's contracts. Each answers None where it is refused; then it has changed nothing."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def acts(self, place: Place, at: float) -> list[tuple[str, Said]]:
        """Everything that people and clock can do: the words, and what comes of them."""
        case, found = self.bench.case, []
        for word in case.people:
            for session in ("",) if word == "clock" else case.session_ids:
                said = self.said(word, session, place, at)
                if said is not None:
                    found.append((f"{word}:{session}" if session else word, said))
        return found

    def said(self, word: str, session: str, place: Place, at: float) -> Said | None:
        """What comes of one word."""
        act = self._act(word, session)
        return self._remembered((word, session), place, at, lambda ports, perform: act(ports, place, perform))

    def written(self, command: Command, key: Any, place: Place, at: float) -> Said | None:
        """A slow act writes; None where it is refused."""
        return self._remembered(
            ("written", key), place, at, lambda ports, perform: drive.persist(command, ports, perform), slow=False
        )

    def direct(self, place: Place, at: float, alone: bool) -> list[tuple[str, Said]]:
        """What a program can write straight to the store: every move of `DIRECT`, and the like. alone: no runner is at work.

        Who rejects a running call is its executor, which has begun nothing: it is alone, and there are no records of the step.
        """
        found = []
        own = "tool:running:reject:tool_node"
        unbegun = alone and not self.bench.steps(place.steps)
        for move in (each for each in (*DIRECT, SUPERSEDE, USED_APPROVAL, NO_APPROVAL) if each != own or unbegun):
            write = partial(_run_again if move in (USED_APPROVAL, NO_APPROVAL) else _written, move)
            said = self._remembered(("direct", move), place, at, write, slow=False)
            if said is not None and said.done:
                found.append((f"direct:{move}", said))
        return found

    def _remembered(
        self, key: Any, place: Place, at: float, act: Callable[[Ports, drive.Perform], Any], slow: bool | None = None
    ) -> Said | None:
        waits = self.bench.case.slow if slow is None else slow

        def once(ports: Ports) -> Any:
            done: list[tuple[str, Done]] = []

            def perform(command: Command, ports: Ports) -> Any:
                if isinstance(command, Load):
                    return command.perform(ports)
                if waits:
                    raise Captured(command)
                value = drive.perform(command, ports)
                after, moves = self.bench.now_at(place)
                done.append(
                    (command.boundary if isinstance(command, Write) else "step", Done(answered(value), after, moves))
                )
                return value

            try:
                act(ports, perform)
            except Captured as captured:
                return Said((), captured.command)
            except (ContractError, InvalidTransitionError, VersionConflict):
                after, _ = self.bench.now_at(place)
                if after != (done[-1][1].place if done else place):
                    raise AssertionError(f"{key}: it was refused, and has changed something") from None
                return Said(tuple(done)) if done else None
            return Said(tuple(done))

        found: Said | None = self.bench.act(key, place, at, once)
        return found

    def _act(self, word: str, session: str) -> Callable[[Ports, Place, drive.Perform], Any]:
        """What a word does."""
        if word == "clock":
            return lambda ports, place, perform: operations.time_out(desk(ports), AFTERWARDS + LATE, perform)

        def act(ports: Ports, place: Place, perform: drive.Perform) -> Any:
            contracts = desk(ports)
            contract = _newest(contracts, session)
            if contract is None:
                return None
            name = contract.execution_id
            match word:
                case "approve":
                    again = contracts.contracts.again(name)
                    return operations.approve(contracts, name, PERSON, again_of=again, perform=perform)
                case "deny":
                    return operations.deny(contracts, name, PERSON, perform)
                case "cancel":
                    return operations.cancel(contracts, name, PERSON, perform)
                case "supersede":
                    return operations.supersede(contracts, name, OTHER_ARGUMENTS, PERSON, perform)
                case "reopen":
                    return operations.reopen(contracts, name, PERSON, perform)
                case _:
                    return self._resolve(contracts, name, place, perform)

        return act

    def _resolve(self, ports: ContractPorts, name: str, place: Place, perform: drive.Perform) -> None:
        """A truthful person says whether it happened: that it did not only once nothing is on the wire (A-PERSON, A-QUIET)."""
        world = self.bench.worlds[place.world]
        happened = name in world.effects
        if happened or name not in world.wire:
            answer = Told(happened, PERSON, "the service's own log", result_of(name) if happened else None)
            operations.resolve(ports, self.bench.site.tools, name, answer, perform)


def _newest(ports: ContractPorts, session: str) -> ExecutionContract | None:
    """A session's newest tool contract."""
    calls = [each for each in ports.contracts.contracts(session) if each.action_type == "tool_call"]
    return calls[-1] if calls else None


def _written(written: str, ports: Ports, perform: drive.Perform) -> None:
    """A batch with one move of the newest contract of a kind, where it stands where that begins."""
    role, before, trigger, actor, *new = written.split(":")
    kind = KINDS[role]
    found = [each for each in desk(ports).contracts.contracts() if each.action_type == kind]
    if not found or found[-1].status is not Status(before):
        return
    contract = found[-1]
    requests = [each for each in desk(ports).contracts.contracts() if each.defers == contract.execution_id]
    if new and not any(each.status is Status.RUNNING for each in requests):
        return  # the operation does that
    move = Move(contract.execution_id, contract.version, cast("Trigger", trigger), cast("Actor", actor))
    session, count = contract.session_id, len(desk(ports).contracts.contracts(contract.session_id))
    creates = (
        (operations._changed(contract, OTHER_ARGUMENTS, PERSON, desk(ports).name(session, count + 1), AFTERWARDS),)
        if new
        else ()
    )
    name = f"direct:{contract.execution_id}:{contract.version}:{trigger}"
    drive.persist(Write(Batch(name, new[0] if new else "move", session, creates, (move,))), ports, perform)


def _run_again(word: str, ports: Ports, perform: drive.Perform) -> None:
    """See `USED_APPROVAL` and `NO_APPROVAL`."""
    contracts = desk(ports).contracts.contracts(None, Status.RUNNING)
    contract = next((each for each in contracts if each.consent_used), None)
    if contract is None:
        return
    name, version = contract.execution_id, contract.version
    suspend = Move(name, version, "suspend", "tool_node")
    given = contract.consent if word == USED_APPROVAL else None
    resume = Move(name, version + 1, "resume", "graph_runner", consent=given)
    batch = Batch(f"direct:{name}:{version}:{word}", "move", contract.session_id, moves=(suspend, resume))
    drive.persist(Write(batch), ports, perform)
