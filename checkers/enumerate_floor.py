"""The moves of one worker's schedules beside those of the interleavings: what a wide case adds, each answer a word of its own.

| word                                        | what happens                                                            |
| ------------------------------------------- | ----------------------------------------------------------------------- |
| worker-N:confirm:match, :mismatch, :unseen  | a verifier answers                                                      |
| worker-N:BOUNDARY:done, :none, :lost-answer | another tool, or the one that undoes, is called, and answers            |
| worker-N:execute:part                       | another tool fails after its effect                                     |
| world:refuse:E.A                            | a request is refused without effect, or lost on the wire                |
| world:part:E.A                              | it has its effect, and says that the step failed nonetheless            |
| person:accept, person:undo                  | a record is accepted as it stands; the step is to be undone             |
| person:other, person:signal                 | another step's outcome is told; what another step waits for has come    |
| person:undone                               | whether what was to undo the step has done so is told                   |

What other tools do is not on the wire: it is done when it is asked.
"""

from collections.abc import Callable, Iterator
from typing import Final, Literal

from ..runtime import drive
from ..runtime.clients import Client, ClientError
from ..runtime.commands import Command, Execute, Ports, Verify
from ..runtime.records import Json
from ..runtime.resolve import Answer as Word
from ..runtime.resolve import Resolve, ResolveError, question
from ..runtime.tool import (
    Absent,
    Compensation,
    Happened,
    NoEffectError,
    OnUnknown,
    PartialEffectError,
    Tool,
    ToolContext,
    ToolResult,
)
from ..runtime.turn import Worker
from ..runtime.verifier import Answer as Seen
from ..runtime.verifier import Confirmation, Match, Mismatch, StateChange, Undetermined, VerifyContext
from .enumerate_case import CHANGE, OTHER_TOOL, SIGNAL, WideCase, begun
from .enumerate_records import whose
from .interleave_acts import Acts
from .interleave_case import JOB, STEP, TOOL, TTL
from .interleave_floor import Floor, Move, State
from .interleave_mutants import SHIPPED, Mutant
from .interleave_steps import Actor, Step, Steps
from .interleave_store import Ledger, Numbers, Shelf
from .interleave_turn import Answer, Turn, Turns, answered
from .interleave_world import Request, Site, World

LOOKS: Final[dict[str, Seen]] = {
    "match": Match(),
    "mismatch": Mismatch("it differs"),
    "unseen": Undetermined("no answer"),
}
CALLS: Final = ("done", "none", "lost-answer")
PART: Final = "part"
UNDOING: Final = "undoing"
"""What a person is asked about: what was to undo the step, rather than a step."""


class WideSite(Site):
    """The case's tool, another one, the one that undoes, and the verifier: each answers as it is set."""

    def __init__(self, case: WideCase) -> None:
        super().__init__(case)
        self.called = "done"
        self.seen: Seen = Match()
        self._changes: tuple[Json, ...] = (CHANGE,) if case.confirmed else ()
        self._others: tuple[Json, ...] = (CHANGE,) if case.looked else ()
        undoes = Compensation(
            lambda args, context: self._at_once(), harmless=case.undoes == "harmless", quiet_seconds=0.0
        )
        self.tool = Tool(**{**vars(self.tool), "compensation": undoes if case.undoes else None})
        unknown: OnUnknown = "reexecute" if case.repeats else "park" if case.requeued else "fail"
        self.other = Tool(OTHER_TOOL, self._call_other, "another tool", on_unknown=unknown, quiet_seconds=0.0,
                          idempotent=case.repeats > 0)  # fmt: skip
        verifiers = {str(CHANGE["resource_type"]): self} if case.confirmed else {}
        modes = case.confirmed or ("strict",)
        self.confirmations = [Confirmation(verifiers, mode, retries=1) for mode in modes]

    def verify(self, change: StateChange, context: VerifyContext) -> Seen:
        """The answer that is set."""
        return self.seen

    def _query(self, args: Json, context: ToolContext) -> Happened | Absent:
        told = super()._query(args, context)
        return Happened(told.output, told.external_id, self._changes) if isinstance(told, Happened) else told

    def _call_other(self, args: Json, context: ToolContext) -> ToolResult:
        return ToolResult(self._at_once(), None, self._others)

    def _at_once(self) -> Json:
        if self.called == "none":
            raise NoEffectError("refused")
        if self.called == "lost-answer":
            raise ConnectionError("no answer")
        if self.called == PART:
            raise PartialEffectError("half done", {"done": True})
        return {"done": True}

    def _call(self, args: Json, context: ToolContext) -> ToolResult:
        told = super()._call(args, context)
        number = self.world.find(context.fencing_token, context.attempt).effect
        if number == self.world.partial:
            raise PartialEffectError("half done", told.output, told.external_id, self._changes)
        return ToolResult(told.output, told.external_id, self._changes)


class WideTurns(Turns):
    """Turns of workers that know every tool, and who confirms."""

    def __init__(self, site: WideSite) -> None:
        super().__init__(site.tool)
        self._site = site

    def worker(self, owner: int) -> Worker:
        """Who works."""
        tools = {TOOL: self._site.tool, OTHER_TOOL: self._site.other}
        confirmations = self._site.confirmations
        return Worker(f"worker-{owner}", tools, TTL, confirmation=confirmations[owner % len(confirmations)])


class WideActs(Acts):
    """The acts of a wide case."""

    case: WideCase
    site: WideSite

    def __init__(self, case: WideCase, mutant: Mutant) -> None:
        super().__init__(case, mutant)
        self.sure = case.sure
        self.site, self.shelf = WideSite(case), Shelf(begun(case))
        self.ports = Ports(self.shelf.store, lambda seconds: None)

    def begun(self, stores: Numbers) -> bool:
        """Whether there is a record of the step in the ledger."""
        ledger = self.shelf.contents["ledger"][stores[1]]
        assert isinstance(ledger, Ledger)
        return any(record.step_id == STEP for record in ledger.records)

    def asked(self, turn: Turn, how: str) -> Answer:
        """What a tool that answers at once, or a verifier, says in one of its ways."""
        key = ("at once", turn.asks, how)
        if key not in self._written:
            self.site.called, self.site.seen = how, LOOKS.get(how, Match())
            assert turn.command is not None
            self._written[key] = answered(drive.perform(turn.command, self.ports))
        told: Answer = self._written[key]
        return told

    def returned(self, turn: Turn, word: str, world: int) -> Answer:
        """The same; an answer that tells of a failure is another one."""
        assert isinstance(turn.command, Execute)
        context = turn.command.context
        effect = self.worlds[world].find(context.fencing_token, context.attempt).effect
        key = (turn.asks, word, effect, effect == self.worlds[world].partial)
        if key not in self._written:
            self.site.world, self.site.answer = self.worlds[world], word
            self._written[key] = answered(drive.perform(turn.command, self.ports))
        told: Answer = self._written[key]
        return told

    def onward(self, stores: Numbers, world: int, at: float) -> Callable[[Turn], Answer | None]:
        """Nothing is guessed where somebody has to be asked."""
        guess = super().onward(stores, world, at)
        return lambda turn: None if isinstance(turn.command, Verify | Execute) else guess(turn)

    def resolve(self, stores: Numbers, world: int, at: float) -> Numbers | None:
        """About this step alone."""
        return super().resolve(stores, world, at) if self.in_doubt(stores) == STEP else None

    def in_doubt(self, stores: Numbers) -> str | None:
        """What a person may be asked about: a step, or UNDOING; None where nothing is in doubt of a parked job."""
        key = ("in doubt", stores[0])
        if key not in self._written:

            def act() -> str | None:
                try:
                    asked = question(JOB, self.shelf.store.events(JOB))
                except ResolveError:
                    return None
                return UNDOING if "compensates" in asked.identity else asked.step

            self._written[key], _ = self.shelf.within(("stream",), stores, 0.0, act)
        name: str | None = self._written[key]
        return name

    def tell(self, stores: Numbers, at: float, happened: bool) -> Numbers | None:
        """A person says what became of another step, or of what should have undone this one."""
        if self.in_doubt(stores) in (None, STEP):
            return None

        def act() -> bool:
            asked = question(JOB, self.shelf.store.events(JOB))
            said = Word(True, "person", "the world", {"done": True}) if happened else Word(False, "person", "the world")
            drive.persist(Resolve(asked, said), self.ports, drive.perform)
            return True

        return self._said(("tell", happened, stores[0], at), stores, at, act)

    def client(self, what: Literal["accept", "undo", "signal"], stores: Numbers, at: float) -> Numbers | None:
        """What a client asks for; None where it is refused."""

        def act() -> bool:
            client = Client(self.shelf.store, "person", lambda _: None)
            try:
                if what == "accept":
                    return client.confirm(JOB, "looked myself") == STEP
                if what == "undo":
                    client.compensate({TOOL: self.site.tool, OTHER_TOOL: self.site.other}, JOB, STEP, "not wanted")
                else:
                    client.signal(JOB, SIGNAL, None, "one")
            except ClientError:
                return False
            return True

        return self._said((what, stores[0], at), stores, at, act)


class WideSteps(Steps):
    """What one worker can do in a wide case."""

    acts: WideActs

    def __init__(self, acts: WideActs) -> None:
        super().__init__(acts)
        self.turns = WideTurns(acts.site)

    def _next(self, actor: Actor, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        """A verifier, or a tool that answers at once, is asked in every way."""
        turn = self.turns[actor[0]]
        if turn.command is not None and (hows := ways(turn.command, self.acts.case)):
            # Once this step has begun, one before it rests no more: the model does not follow what is then settled of this one.
            settled = self.acts.case.place == "before" and whose(turn.command) == "other" and self.acts.begun(stores)
            for how in hows[:1] if settled else hows:
                told = self._told(actor[0], self.acts.asked(turn, how), stores, world, at)
                yield Step(f"worker-{turn.owner}:{turn.command.boundary}:{how}", (told, ""), stores, world)
        else:
            for step in super()._next(actor, stores, world, at):
                if not (self.acts.sure and step.word.endswith(":timeout")):
                    yield step


def ways(command: Command, case: WideCase) -> tuple[str, ...]:
    """How a command is answered that neither stores nor the case's world answer; () for every other."""
    if isinstance(command, Verify):
        return tuple(LOOKS)
    if isinstance(command, Execute) and (command.boundary != "execute" or command.context.step_id != STEP):
        # Until they are recorded the two results look alike, and a sample goes on with the first.
        return (PART, *CALLS) if case.repeats and command.boundary == "execute" else CALLS
    return ()


class WideFloor(Floor):
    """One worker at a time, in a wide case."""

    case: WideCase
    acts: WideActs

    def __init__(self, case: WideCase, mutant: Mutant = SHIPPED) -> None:
        super().__init__(case, mutant)
        self.acts = WideActs(case, mutant)
        self.shelf, self.worlds = self.acts.shelf, self.acts.worlds
        self.steps = WideSteps(self.acts)
        self.turns = self.steps.turns
        self.first = self.first._replace(stores=self.shelf.first, world=self.acts.world(World()))

    def _environment(self, state: State) -> Iterator[Move]:
        """What nobody's turn has to do with. Of a job at rest people are heard where no worker is: then the model hears them."""
        at_work = any(number >= 0 and self.turns[number].command is not None for number, _ in state.actors)
        status = self.acts.stream(state.stores).status
        for move in super()._environment(state):
            if not (move.word.startswith("person:") and at_work and status == "parked"):
                yield move
        for request in self.worlds[state.world].pending:
            if not request.effect and request.until:
                yield from self._otherwise(state, request)
        if status == "open" or not at_work:
            yield from self._people(state, status)

    def _otherwise(self, state: State, request: Request) -> Iterator[Move]:
        """What else can become of a request: it is refused, or has its effect and says that the step failed."""
        name = f"{request.epoch}.{request.attempt}"
        if not (self.case.sure and request.awaited):
            after = self.acts.turned(state.world, "refuse", name, into=lambda world: refused(world, request))
            yield Move(f"world:refuse:{name}", state._replace(world=after))
        if self.case.partial and not self.worlds[state.world].effects and request.awaited:
            served = self.acts.serve(state.world, request.epoch, request.attempt)
            after = self.acts.turned(served, "part", into=lambda world: world._replace(partial=len(world.effects)))
            yield Move(f"world:part:{name}", state._replace(world=after))

    def _people(self, state: State, status: str) -> Iterator[Move]:
        """What people and clients say of a job in this state."""
        stores, at, told = state.stores, state.at, dict[str, Numbers | None]()
        if status == "parked":
            told["person:accept"] = self.acts.client("accept", stores, at)
            asked = "undone" if self.acts.in_doubt(stores) == UNDOING else "other"
            told |= {f"person:{asked}:{word}": self.acts.tell(stores, at, word == "yes") for word in ("yes", "no")}
        if self.case.undoes and status in ("open", "parked", "waiting"):
            told["person:undo"] = self.acts.client("undo", stores, at)
        if self.case.other == "wait" and status in ("open", "waiting"):
            told["person:signal"] = self.acts.client("signal", stores, at)
        for word, after in told.items():
            if after is not None and after != stores:
                yield Move(word, state._replace(stores=after))
        if status == "waiting" and state.cancels and (after := self.acts.cancel(stores, at)):
            yield Move("person:cancel", state._replace(stores=after, cancels=state.cancels - 1))


def refused(world: World, request: Request) -> World:
    """The request has no effect, and never will: its sender can hear so, if it still waits."""
    return world._with(request, request._replace(until=0.0) if request.awaited else None)
