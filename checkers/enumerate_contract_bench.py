"""Every content that the stores of an enumeration can hold, by number, and what a command makes of it.

A command touches the contracts, or the records of their steps, or the world, and is performed once for each content. Contents
that differ only in what nothing reads are one: the order of the trace, links, ids of batches that nobody will repeat. The store
does read those ids, with each batch; that no later batch has one of them is seen to in `enumerate_contract_turn`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol, cast

from ..runtime import drive
from ..runtime.commands import Command, Execute, Ports, Query
from ..runtime.contracts.commands import ContractPorts, Load, LoadHolders, LoadStep, Tell, Think, Write
from ..runtime.contracts.store import ContractError, ContractStore
from ..runtime.memory_store import MemoryStore, _Effects, _Ledger, _Stream
from ..runtime.records import Lease
from ..runtime.store import StaleEpoch, VersionConflict
from .contract_abstraction import StoredContracts
from .contract_terms import Terms
from .contract_words import Standing
from .enumerate_contract_case import AFTERWARDS, ContractCase, Site, World
from .enumerate_contract_store import Content, MemoryContracts
from .enumerate_contract_view import Moved, standing_in, stored_contracts, terms_in
from .interleave_store import Effects, Ledger, Stream, timeless
from .interleave_turn import Answer, answered, refused

OF_CONTRACTS: Final = (Load, LoadHolders, Write)
OF_NOBODY: Final = (Think, Tell)
Seen = dict[str, tuple[Stream | None, Ledger | None, Effects | None, Lease | None]]


class Place(NamedTuple):
    """What there is, by number: contracts, the records of their steps, the world."""

    contracts: int
    steps: int
    world: int


class Done(NamedTuple):
    """What came of a command: the answer, what there is then, the transitions that it made."""

    answer: Answer
    place: Place
    moves: tuple[Moved, ...] = ()


class Shelf(Protocol):
    """The contents of a contract store, by number. store: holds the content that was put into it last."""

    store: ContractStore

    def put(self, number: int) -> None:
        """Let the store hold this content."""
        ...

    def number(self, forget: str) -> tuple[int, tuple[Moved, ...]]:
        """What the store holds now, and the transitions since it was put. forget: the batches of whose owner nobody repeats."""
        ...

    def stored(self, number: int) -> StoredContracts:
        """What the oracle sees of it; without the steps."""
        ...

    def standing(self, number: int, name: str) -> Standing:
        """How one of its contracts stands; without the step."""
        ...

    def terms(self, number: int) -> dict[str, Terms]:
        """What its contracts are made of."""
        ...


class MemoryShelf:
    """The contents of the store in memory."""

    def __init__(self) -> None:
        self._memory = MemoryContracts(lambda: AFTERWARDS)
        self.store = cast("ContractStore", self._memory)
        self.contents: list[Content] = []
        self._numbers: dict[Any, int] = {}
        self._put, self._at = self._memory.content, -1

    def put(self, number: int) -> None:
        """See Shelf.put."""
        self._at, self._put = number, self.contents[number]
        self._memory.content = self._put

    def number(self, forget: str) -> tuple[int, tuple[Moved, ...]]:
        """See Shelf.number."""
        content = self._memory.content
        if content is self._put and self._at >= 0 and not forget:
            return self._at, ()
        if forget:
            content = replace(content, written={n: it for n, it in content.written.items() if not n.startswith(forget)})
        before = len(self._put.moves)
        moves = tuple(Moved(it.execution_id, it.transition.from_, it.transition.trigger, it.transition.actor)
                      for it in content.moves[before:])  # fmt: skip
        key = _key(content)
        if key not in self._numbers:
            self._numbers[key] = len(self.contents)
            self.contents.append(content)
        return self._numbers[key], moves

    def stored(self, number: int) -> StoredContracts:
        """See Shelf.stored."""
        return stored_contracts(self.contents[number])

    def standing(self, number: int, name: str) -> Standing:
        """See Shelf.standing."""
        return standing_in(self.contents[number], name)

    def terms(self, number: int) -> dict[str, Terms]:
        """See Shelf.terms."""
        return terms_in(self.contents[number])


def _named(command: Command) -> Any:
    """What tells a command from others: a read is the same, whoever asks."""
    match command:
        case Load(session_id=session):
            return "load", session
        case LoadHolders(keys=keys):
            return "holders", keys
        case LoadStep(job_id=job):
            return "step", job
    return id(command)


def _key(content: Content) -> Any:
    """All that something reads: of the past, the last move and whether the first was kept."""
    last = {each.execution_id: each.transition for each in content.moves}
    contracts = [
        (
            name,
            it.status,
            it.version,
            it.consent.model_dump_json() if it.consent else None,
            it.consent_used,
            repr(it.result),
            it.error_message,
            it.again_of,
            it.needs_consent,
            it.action_digest,
            (last[name].trigger, last[name].actor) if name in last else None,
        )
        for name, it in content.contracts.items()
    ]
    states = [state.model_dump_json() for state in content.states.values()]
    pending = sorted(name for name in content.written if name[0] == "r" and name[1].isdigit())
    answers = sorted(content.answers, key=lambda it: (it.execution_id, it.version))
    return tuple(contracts), tuple(answers), tuple(states), content.reopened, tuple(pending)


class Bench:
    """The stores of a case, its tool, and what was performed. exact: no two contents of the steps' records are one."""

    def __init__(self, case: ContractCase, shelf: Shelf | None = None, exact: bool = False) -> None:
        self._exact = exact
        self.case, self.site, self.shelf = case, Site(case), shelf or MemoryShelf()
        self.time = 0.0
        self._steps = MemoryStore(now=lambda: self.time)
        self._seen: list[Seen] = []
        self.worlds: list[World] = []
        self._numbers: dict[Any, int] = {}
        self._done: dict[Any, Any] = {}
        self.ports = ContractPorts(self._steps, lambda seconds: None, self.shelf.store)
        self.first = Place(self.shelf.number("")[0], self._step_number(), self.world(World()))

    def world(self, world: World) -> int:
        """The number of a world."""
        if world not in self._numbers:
            self._numbers[world] = len(self.worlds)
            self.worlds.append(world)
        return self._numbers[world]

    def steps(self, number: int) -> Seen:
        """What is recorded of the contracts' steps, by job."""
        return self._seen[number]

    def perform(self, command: Command, place: Place, at: float, word: str = "", forget: str = "") -> Done:
        """A command, performed on what there is at a time. word: how an execution ends. forget: see Shelf.number."""
        if isinstance(command, OF_NOBODY):
            return Done(answered(drive.perform(command, self.ports)), place)
        contracts = isinstance(command, OF_CONTRACTS)
        key: Any = (_named(command), place.contracts, forget) if contracts else (_named(command), place.steps, at, word)
        if isinstance(command, Execute | Query):
            key = (*key, place.world)
        if key not in self._done:
            done = (self._on_contracts if contracts else self._on_steps)(command, place, at, word, forget)
            self._done[key] = command, done  # a command that is remembered keeps its identity
        _, done = self._done[key]
        if contracts:
            return Done(done.answer, Place(done.place.contracts, place.steps, place.world), done.moves)
        world = done.place.world if isinstance(command, Execute | Query) else place.world
        return Done(done.answer, Place(place.contracts, done.place.steps, world))

    def _on_contracts(self, command: Command, place: Place, at: float, word: str, forget: str) -> Done:
        self.shelf.put(place.contracts)
        answer = self._answer(
            command, f"{command.boundary}@{place.contracts}" if not isinstance(command, Write) else ""
        )
        number, moves = self.shelf.number(forget)
        return Done(answer, place._replace(contracts=number), moves)

    def _on_steps(self, command: Command, place: Place, at: float, word: str, forget: str) -> Done:
        self.put_steps(place.steps, at)
        self.site.world, self.site.word = self.worlds[place.world], word
        reads = isinstance(command, LoadStep) or command.boundary.startswith("fence")
        answer = self._answer(command, f"{command.boundary}@{place.steps}" if reads else "")
        return Done(answer, Place(place.contracts, self._step_number(), self.world(self.site.world)))

    def _answer(self, command: Command, name: str) -> Answer:
        """What a command is answered; an answer that is a function of the content it reads is named after that."""
        try:
            value = drive.perform(command, self.ports)
        except (ContractError, StaleEpoch, VersionConflict) as error:
            return refused(error)
        return Answer(name, value) if name else answered(value)

    def forget(self, place: Place, owner: str) -> Place:
        """What there is once nobody repeats a runner's batches."""
        key = ("forget", owner, place.contracts)
        if key not in self._done:
            self.shelf.put(place.contracts)
            number, _ = self.shelf.number(owner)
            self._done[key] = number
        return place._replace(contracts=self._done[key])

    def act(self, key: Any, place: Place, at: float, act: Callable[[Ports], Any]) -> Any:
        """Something that reads and writes by itself, with everything in place; it is remembered under key and contents."""
        whole = ("act", key, place, at)
        if whole not in self._done:
            self.shelf.put(place.contracts)
            self.put_steps(place.steps, at)
            self.site.world = self.worlds[place.world]
            self._done[whole] = act(self.ports)
        return self._done[whole]

    def now_at(self, place: Place) -> tuple[Place, tuple[Moved, ...]]:
        """What the stores hold at this moment, within an act, and the transitions since the last look."""
        number, moves = self.shelf.number("")
        self.shelf.put(number)
        return Place(number, self._step_number(), place.world), moves

    # The records of steps.

    def put_steps(self, number: int, at: float) -> None:
        """Let the store of the steps hold this content, at a time."""
        self.time = at
        store = self._steps
        store._streams, store._ledgers, store._effects, store._leases = {}, {}, {}, {}
        for job, (stream, ledger, effects, lease) in self._seen[number].items():
            if stream is not None:
                versions = {event.id: event.version for event in stream.events}
                store._streams[job] = _Stream(0.0, stream.status, stream.fence, list(stream.events), versions)
            if ledger is not None:
                store._ledgers[job] = _Ledger(ledger.fence, {it.idempotency_key: it for it in ledger.records})
            if effects is not None:
                store._effects[job] = _Effects(effects.fence, {it.idempotency_key: it for it in effects.records})
            if lease is not None:
                store._leases[job] = lease

    def _step_number(self) -> int:
        store = self._steps
        seen: Seen = {}
        for job, it in store._streams.items():
            ledger, effects = store._ledgers.get(job), store._effects.get(job)
            seen[job] = (
                Stream(it.status, it.fence, tuple(it.events)),
                None if ledger is None else Ledger(ledger.fence, tuple(ledger.records.values())),
                None if effects is None else Effects(effects.fence, tuple(effects.records.values())),
                store._leases.get(job),
            )
        key: Any = tuple(
            (job, s.status, s.fence, tuple(map(timeless, s.events)), repr(rest))
            for job, (s, *rest) in seen.items()
            if s is not None
        )
        if self._exact:
            key = (repr(seen),)
        if key not in self._numbers:
            self._numbers[key] = len(self._seen)
            self._seen.append(seen)
        return self._numbers[key]
