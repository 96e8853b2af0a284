"""What commands, people and clients make of stores, desk and world in an enumerated case: each once, and remembered."""

from collections.abc import Callable
from typing import Final, Literal, cast

from ..runtime import drive
from ..runtime.clients import Client, ClientError
from ..runtime.commands import CallModel, Execute, Ports, Verify
from ..runtime.contracts.store import ContractStore
from ..runtime.history import History
from ..runtime.resolve import Answer as Word
from ..runtime.resolve import Resolve, ResolveError, question
from ..runtime.verifier import Match
from .enumerate_case import OTHER, OTHER_TOOL, SIGNAL, WideCase, begun
from .enumerate_desk import Desk
from .enumerate_desk import Word as Desked
from .enumerate_site import LOOKS, WideSite
from .interleave_acts import Acts
from .interleave_case import JOB, STEP, TOOL
from .interleave_mutants import Mutant
from .interleave_store import Ledger, Numbers, Shelf
from .interleave_turn import Answer, Turn, answered, refused

UNDOING: Final = "undoing"
"""What a person is asked about: what was to undo the step, rather than a step."""


class WideActs(Acts):
    """The acts of a wide case."""

    case: WideCase
    site: WideSite

    def __init__(self, case: WideCase, mutant: Mutant) -> None:
        super().__init__(case, mutant)
        self.sure = case.sure
        self.site, self.shelf = WideSite(case), Shelf(begun(case))
        self.desk = Desk(lambda: self.shelf.time, lambda: self.site.world.desk, self.site.keep)
        self.ports = Ports(self.shelf.store, lambda seconds: None, cast("ContractStore", self.desk))

    def begun(self, stores: Numbers) -> bool:
        """Whether there is a record of the step in the ledger."""
        ledger = self.shelf.contents["ledger"][stores[1]]
        assert isinstance(ledger, Ledger)
        return any(record.step_id == STEP for record in ledger.records)

    def lost(self, stores: Numbers) -> bool:
        """Whether nobody knows what became of the step."""
        key = ("lost", stores[0])
        if key not in self._written:

            def act() -> bool:
                return History(self.shelf.store.events(JOB)).step(STEP).lost

            self._written[key], _ = self.shelf.within(("stream",), stores, 0.0, act)
        lost: bool = self._written[key]
        return lost

    def asked(self, turn: Turn, how: str) -> Answer:
        """What a tool that answers at once, or a verifier, says in one of its ways."""
        key = ("at once", turn.asks, how)
        if key not in self._written:
            self.site.called, self.site.seen = how, LOOKS.get(how, Match())
            assert turn.command is not None
            told = answered(drive.perform(turn.command, self.ports))
            # When a model can be asked again is not in the words of its error.
            self._written[key] = told._replace(name=how) if isinstance(turn.command, CallModel) else told
        return cast("Answer", self._written[key])

    def returned(self, turn: Turn, word: str, world: int) -> Answer:
        """The same; an answer that tells of a failure is another one."""
        assert isinstance(turn.command, Execute)
        context = turn.command.context
        effect = self.worlds[world].find(context.fencing_token, context.attempt).effect
        key = (turn.asks, word, effect, effect == self.worlds[world].partial)
        if key not in self._written:
            self.site.world, self.site.answer = self.worlds[world], word
            self._written[key] = self._response(turn.command)
        told: Answer = self._written[key]
        return told

    def _response(self, command: Execute) -> Answer:
        """How an execution ended; of a tool that is called within the driver's run, what it hears of the world."""
        if not self.case.inputs:
            return answered(drive.perform(command, self.ports))
        try:
            return answered(self.site.tool.call(command.args, command.context))
        except Exception as error:
            return refused(error)

    def onward(self, stores: Numbers, world: int, at: float) -> Callable[[Turn], Answer | None]:
        """Nothing is guessed where somebody has to be asked."""
        guess = super().onward(stores, world, at)
        return lambda turn: None if isinstance(turn.command, Verify | Execute | CallModel) else guess(turn)

    def resolve(self, stores: Numbers, world: int, at: float) -> Numbers | None:
        """About this step alone."""
        return super().resolve(stores, world, at) if self.in_doubt(stores) == STEP else None

    def in_doubt(self, stores: Numbers) -> str | None:
        """What a person may be asked about: a step (of another one its undoing, too), or UNDOING; None: nothing is in doubt."""
        key = ("in doubt", stores[0])
        if key not in self._written:

            def act() -> str | None:
                try:
                    asked = question(JOB, self.shelf.store.events(JOB))
                except ResolveError:
                    return None
                return UNDOING if "compensates" in asked.identity and asked.step == STEP else asked.step

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

    def client(
        self, what: Literal["accept", "undo", "undo-other", "signal"], stores: Numbers, at: float
    ) -> Numbers | None:
        """What a client asks for; None where it is refused."""

        def act() -> bool:
            client = Client(self.shelf.store, "person", lambda _: None)
            try:
                if what == "accept":
                    return client.confirm(JOB, "looked myself") == STEP
                if what in ("undo", "undo-other"):
                    tools = {TOOL: self.site.tool, OTHER_TOOL: self.site.other}
                    client.compensate(tools, JOB, STEP if what == "undo" else OTHER, "not wanted")
                else:
                    client.signal(JOB, SIGNAL, None, "one")
            except ClientError:
                return False
            return True

        return self._said((what, stores[0], at), stores, at, act)

    def answer(self, word: Desked, stores: Numbers, world: int, at: float) -> int | None:
        """The world once a person has answered a request for approval; None where nothing came of it."""
        return self._desk(word, stores, world, at, lambda: self.desk.said(word, self.shelf.store))[0]

    def announce(self, stores: Numbers, world: int, at: float) -> Numbers | None:
        """The stores once the job is told of an answer."""
        return self._desk("announce", stores, world, at, lambda: self.desk.announced(self.shelf.store))[1]

    def _desk(
        self, word: str, stores: Numbers, world: int, at: float, act: Callable[[], bool]
    ) -> tuple[int | None, Numbers | None]:
        key = ("desk", word, stores[0], world, at)
        if key not in self._written:
            self.site.world = self.worlds[world]
            said, after = self.shelf.within(("stream",), stores, at, act)
            self._written[key] = (self.world(self.site.world), after[0]) if said else None
        if self._written[key] is None:
            return None, None
        number, stream = self._written[key]
        return number, (stream, *stores[1:])
