"""What commands make of the stores and of the world: each command on each content once, and remembered."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ..runtime import drive
from ..runtime.clients import Client, ClientError
from ..runtime.commands import (
    Acquire,
    Append,
    CallModel,
    Claim,
    Command,
    Execute,
    Fence,
    Pause,
    Ports,
    PutEffect,
    Query,
    Renew,
    Settle,
    Verify,
)
from ..runtime.contracts.requests import LoadRequest, OpenRequest
from ..runtime.records import Lease
from ..runtime.resolve import Answer as Word
from ..runtime.resolve import ResolveError, question, resolve
from ..runtime.store import StaleEpoch, VersionConflict
from .interleave_case import JOB, QUIET, Case
from .interleave_mutants import Mutant, Phase, refused_writes
from .interleave_store import NAMES, Name, Numbers, Shelf, Stream, replaced
from .interleave_turn import Answer, Turn, answered, refused
from .interleave_world import Site, World, result

STORES: Final[dict[type, tuple[Name, ...]]] = {
    Claim: ("stream", "lease"), Renew: ("lease",), Append: ("stream",), Acquire: ("ledger",), Settle: ("ledger",),
    PutEffect: ("effects",), Query: (), Pause: (), Verify: (), CallModel: (), LoadRequest: (), OpenRequest: (),
}  # fmt: skip
FENCED: Final[dict[str, tuple[Name, ...]]] = {
    "fence_events": ("stream",), "fence_ledger": ("ledger",), "fence_effects": ("effects",)
}  # fmt: skip

PLACES: Final = {names: tuple(map(NAMES.index, names)) for names in (*STORES.values(), *FENCED.values())}
"""The places of such stores among all."""


def stores_of(command: Command) -> tuple[Name, ...]:
    """The stores that a command is performed on."""
    return FENCED[command.boundary] if isinstance(command, Fence) else STORES[type(command)]


class Done(NamedTuple):
    """A command's answer, the contents after it, the world's number, and what is wrong."""

    answer: Answer
    stores: Numbers
    world: int
    problems: tuple[str, ...] = ()


class Acts:
    """The stores, the world and the clock of a case, under a mutant or as shipped."""

    def __init__(self, case: Case, mutant: Mutant) -> None:
        self.case, self.mutant = case, mutant
        self.site, self.shelf = Site(case), Shelf()
        self.ports = Ports(self.shelf.store, lambda seconds: None)
        self.worlds: list[World] = []
        self.judged: list[int] = []
        """Of each world: the number of what a judge sees of it, its requests and its effects."""
        self._worlds: dict[World, int] = {}
        self._seen: dict[Any, int] = {}
        self._done: dict[Any, Done] = {}
        self._turned: dict[Any, int] = {}
        self._written: dict[Any, Any] = {}

    def world(self, world: World) -> int:
        """The number of a world."""
        if world not in self._worlds:
            self._worlds[world] = len(self.worlds)
            self.worlds.append(world)
            self.judged.append(self._seen.setdefault((world.requests, world.effects), len(self._seen)))
        return self._worlds[world]

    def turned(self, world: int, *how: Any, into: Callable[[World], World]) -> int:
        """What a world becomes; `how` names what `into` does to it."""
        key = (world, *how)
        if key not in self._turned:
            self._turned[key] = self.world(into(self.worlds[world]))
        return self._turned[key]

    def perform(self, turn: Turn, phase: Phase, stores: Numbers, world: int, at: float) -> Done:
        """A turn's command, performed on what its stores hold at this time."""
        command = turn.command
        assert command is not None
        names = stores_of(command)
        places = PLACES[names]
        key = (turn.asks, phase, at, *[stores[place] for place in places], None if names else world)
        done = self._done.get(key)
        if done is None:
            done = self._done[key] = self._perform_once(command, names, phase, stores, world, at)
        if not names:
            return done._replace(stores=stores)
        return Done(done.answer, replaced(stores, places, done.stores), world, done.problems)

    def _perform_once(
        self, command: Command, names: tuple[Name, ...], phase: Phase, stores: Numbers, world: int, at: float
    ) -> Done:
        def act() -> Answer:
            try:
                return answered(
                    self.mutant.perform(command, self.shelf, lambda it: drive.perform(it, self.ports), phase)
                )
            except (StaleEpoch, VersionConflict) as error:
                return refused(error)

        self.site.world = self.worlds[world]
        answer, after = self.shelf.within(names, stores, at, act)
        problems: list[str] = []
        for name, old, new in zip(NAMES, stores, after, strict=True):
            if old != new:
                contents = self.shelf.contents[name]
                problems += refused_writes(command, contents[old], contents[new])
        return Done(answer, after, self.world(self.site.world), tuple(problems))

    def send(self, turn: Turn, world: int) -> int:
        """The world with this turn's request on the wire."""
        assert isinstance(turn.command, Execute)
        context, until = turn.command.context, until_of(turn)
        return self.turned(world, "sent", turn.asks, until, into=lambda it: it.sent(context, until))

    def serve(self, world: int, epoch: int, attempt: int) -> int:
        """The world once a request has arrived."""
        repeat, token_alone = self.case.idempotent, self.mutant.token_alone
        return self.turned(
            world, epoch, attempt, into=lambda it: it.served(it.find(epoch, attempt), repeat, token_alone)
        )

    def returned(self, turn: Turn, word: str, world: int) -> Answer:
        """What the driver is told when the tool returns, in one of its ways."""
        assert isinstance(turn.command, Execute)
        context = turn.command.context
        key = (turn.asks, word, self.worlds[world].find(context.fencing_token, context.attempt).effect)
        if key not in self._written:
            self.site.world, self.site.answer = self.worlds[world], word
            self._written[key] = answered(drive.perform(turn.command, self.ports))
        told: Answer = self._written[key]
        return told

    def release(self, lease: Lease, stores: Numbers, at: float) -> Numbers:
        """The stores once this lease is released."""
        key = (lease, stores[3], at)
        if key not in self._written:
            _, after = self.shelf.within(("lease",), stores, at, lambda: self.shelf.store.release(lease))
            self._written[key] = after[3]
        return (*stores[:3], self._written[key])

    def resolve(self, stores: Numbers, world: int, at: float) -> Numbers | None:
        """The stores once a person has told the truth about a parked step, as soon as it is final; None before."""
        effects = bool(self.worlds[world].effects)

        def act() -> bool:
            try:
                asked = question(JOB, self.shelf.store.events(JOB))
                resolve(self.shelf.store, asked, truth(effects), self.ports.sleep)
            except ResolveError:  # it is too early; under a mutant a job can be parked with nothing to be answered
                return False
            return True

        return self._said(("resolve", effects, stores[0], at), stores, at, act)

    def cancel(self, stores: Numbers, at: float) -> Numbers | None:
        """The stores once a person has asked for the job's end; None where that is refused."""

        def act() -> bool:
            try:
                Client(self.shelf.store, "person").cancel(JOB, "no longer wanted")
            except ClientError:
                return False
            return True

        return self._said(("cancel", stores[0], at), stores, at, act)

    def _said(self, key: Any, stores: Numbers, at: float, act: Callable[[], bool]) -> Numbers | None:
        """A person reads and writes the stream, if there is something to say."""
        if key not in self._written:
            said, after = self.shelf.within(("stream",), stores, at, act)
            self._written[key] = after[0] if said else None
        stream = self._written[key]
        return None if stream is None else (stream, *stores[1:])

    def onward(self, stores: Numbers, world: int, at: float) -> Callable[[Turn], Answer | None]:
        """What a worker would be answered that goes on alone from here, with a tool that serves at once: command by command."""

        def answer(turn: Turn) -> Answer | None:
            nonlocal stores, world
            command = turn.command
            if command is None or self.mutant.looks_first(command):
                return None
            if isinstance(command, Execute):
                context = command.context
                world = self.serve(self.send(turn, world), context.fencing_token, context.attempt)
                return self.returned(turn, "answer", world)
            told, stores, world, _ = self.perform(turn, "", stores, world, at)
            return told

        return answer

    def stream(self, stores: Numbers) -> Stream:
        """The event stream."""
        stream = self.shelf.contents["stream"][stores[0]]
        assert isinstance(stream, Stream)
        return stream

    def lease(self, stores: Numbers) -> Lease | None:
        """The newest lease; None before the first claim."""
        lease = self.shelf.contents["lease"][stores[3]]
        assert isinstance(lease, Lease | None)
        return lease


def truth(happened: bool) -> Word:
    """What an honest person says of a step."""
    if happened:
        return Word(True, "person", "the world", result(1), "effect-1")
    return Word(False, "person", "the world")


def until_of(turn: Turn) -> float:
    """Until when a request of this turn may be sent and served (A-QUIET)."""
    assert turn.lease is not None
    return turn.lease.expires_at + QUIET
