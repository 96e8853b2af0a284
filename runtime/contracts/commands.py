"""The commands of the graph runner: its writes to the contract store, its reads, and the two it asks, reasoner and announcer.

They are performed on `ContractPorts` by the same `drive.perform` as the commands of a tool step, so what strikes the one
strikes the other. Only `Write` and `Submit` write; a read, a question to the reasoner and an announcement may be repeated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..commands import Ports
from ..plan import StoredPlan, submission
from ..records import Event, Json
from .reasoner import Decision, Reasoner, Request
from .records import ExecutionContract, GraphState
from .store import Batch, ContractStore, GivenAnswer

Announce = Callable[[str, Json], None]
"""Tells whoever listens of an event: its name (`ecs`, `unknown`) and its data."""


def silence(event: str, data: Json) -> None:
    """An announcer that tells nobody."""


def name_execution(session_id: str, number: int) -> str:
    """The default name of a session's n-th contract: unique in the store, and the same when a lost creation is repeated."""
    return f"{session_id}:exec-{number:03d}"


@dataclass(frozen=True)
class ContractPorts(Ports):
    """What the graph runner's commands are performed on. contracts: the contract store; its clock is the contracts' time.

    announce: how people learn that something waits for them. name: from session and number to the id of a new contract.
    """

    contracts: ContractStore
    announce: Announce = silence
    name: Callable[[str, int], str] = name_execution


def desk(ports: Ports) -> ContractPorts:
    """The ports of the contract side; TypeError for a driver that was given only those of a tool step."""
    if not isinstance(ports, ContractPorts):
        raise TypeError("contract commands are performed on ContractPorts")
    return ports


@dataclass(frozen=True)
class Snapshot:
    """What is durable of a session, and the time at which it was read. answers: those given to contracts that wait.

    again: of each living contract whose action stands executed elsewhere, the execution that an approval has to name (C-ONCE).
    """

    now: float
    state: GraphState | None
    contracts: Mapping[str, ExecutionContract] = field(default_factory=dict)
    answers: Mapping[str, GivenAnswer] = field(default_factory=dict)
    again: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Write:
    """One batch: all of it or nothing. Its boundary is the batch's."""

    batch: Batch

    @property
    def boundary(self) -> str:
        """See `model.contract.BOUNDARIES`."""
        return self.batch.boundary

    def perform(self, ports: Ports) -> None:
        """Nothing to say: it is durable."""
        desk(ports).contracts.write(self.batch)


@dataclass(frozen=True)
class Load:
    """Read a session. What it answers may be old at once: every write that follows is compare-and-set."""

    session_id: str
    boundary: str = "load"

    def perform(self, ports: Ports) -> Snapshot:
        """The session as it is."""
        store = desk(ports).contracts
        state = store.state(self.session_id)
        contracts = {each.execution_id: each for each in store.contracts(self.session_id)}
        given = {name: store.given(name) for name, each in contracts.items() if not each.terminal}
        answers = {name: answer for name, answer in given.items() if answer is not None}
        asked = {
            name: store.again(name) for name, each in contracts.items() if each.needs_consent and not each.terminal
        }
        again = {name: last for name, last in asked.items() if last is not None}
        return Snapshot(store.now(), state, contracts, answers, again)


@dataclass(frozen=True)
class LoadHolders:
    """Read who holds these keys (C-ONCE)."""

    keys: tuple[str, ...]
    boundary: str = "load_holders"

    def perform(self, ports: Ports) -> dict[str, ExecutionContract]:
        """The holder of each key that is held."""
        held = {key: desk(ports).contracts.holder(key) for key in self.keys}
        return {key: holder for key, holder in held.items() if holder is not None}


@dataclass(frozen=True)
class Submit:
    """J1 for a contract's step; the same again changes nothing."""

    job_id: str
    plan: StoredPlan
    boundary: str = "submit"

    def perform(self, ports: Ports) -> bool:
        """Whether the job is new."""
        return ports.store.submit(self.job_id, submission(self.job_id, self.plan))


@dataclass(frozen=True)
class LoadStep:
    """Read the events of a contract's step, without fencing."""

    job_id: str
    boundary: str = "load_step"

    def perform(self, ports: Ports) -> list[Event]:
        """The job's stream."""
        return ports.store.events(self.job_id)


@dataclass(frozen=True)
class Think:
    """Ask the reasoner."""

    reasoner: Reasoner
    request: Request
    boundary: str = "think"

    def perform(self, ports: Ports) -> Decision:
        """What it decided."""
        return self.reasoner.decide(self.request)


@dataclass(frozen=True)
class Tell:
    """Announce that something waits for a person. What it speaks of is durable before (C-NODES)."""

    event: str
    data: Json
    boundary: str = "announce"

    def perform(self, ports: Ports) -> None:
        """Nothing to say."""
        desk(ports).announce(self.event, self.data)
