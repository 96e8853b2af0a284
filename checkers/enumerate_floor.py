"""The moves of a wide case beside those of the interleavings: what it adds for one worker or several, each answer a word.

| word                                        | what happens                                                            |
| ------------------------------------------- | ----------------------------------------------------------------------- |
| worker-N:confirm:match, :mismatch, :unseen  | a verifier answers                                                      |
| worker-N:BOUNDARY:done, :none, :lost-answer | another tool, or the one that undoes, is called, and answers            |
| worker-N:execute:part                       | another tool fails after its effect                                     |
| world:refuse:E.A                            | a request is refused without effect, or lost on the wire                |
| world:part:E.A                              | it has its effect, and says that the step failed nonetheless            |
| person:accept, person:undo                  | a record is accepted as it stands; the step is to be undone             |
| person:other, person:signal                 | another step's outcome or undoing is told; what one waits for has come  |
| person:undone                               | whether what was to undo the step has done so is told                   |
| person:undo-other                           | a step before this one is to be undone                                  |
| worker-N:call_model:later, :that            | a language model says when it can be asked again; answers otherwise     |
| person:approve, :deny, :withdraw, :foreign  | a request for approval is answered, taken back, made by somebody else   |
| person:announce                             | the job is told that its request has ended                              |
| clock:quiet                                 | (also) a pause before a retry is over                                   |

What other tools do is not on the wire: it is done when it is asked.
"""

import json
from collections.abc import Iterator

from ..runtime.commands import CallModel, Command, Execute, Verify
from .enumerate_acts import UNDOING, WideActs
from .enumerate_case import WideCase
from .enumerate_desk import WORDS
from .enumerate_records import whose
from .enumerate_site import CALLS, LATER, LOOKS, PART, THAT, WideTurns
from .interleave_case import STEP
from .interleave_floor import Floor, Move, State
from .interleave_mutants import SHIPPED, Mutant
from .interleave_steps import ALL, WORLD, Actor, Step, Steps
from .interleave_store import Numbers
from .interleave_world import Request, World


class WideSteps(Steps):
    """What one worker can do in a wide case."""

    acts: WideActs

    def __init__(self, acts: WideActs) -> None:
        super().__init__(acts)
        self.turns = WideTurns(acts.case, acts.site)

    def _parts_of(self, number: int) -> tuple[int, ...]:
        """What is not a store's to answer may depend on what is in all of them: how it may be answered, and what is recorded."""
        parts = super()._parts_of(number)
        return ALL if parts in ((), (WORLD,)) else parts

    def _next(self, actor: Actor, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        """A verifier, or a tool that answers at once, is asked in every way."""
        turn = self.turns[actor[0]]
        if turn.command is not None and (hows := self.hows(turn.command, stores)):
            for how in hows:
                told = self._told(actor[0], self.acts.asked(turn, how), stores, world, at)
                yield Step(f"worker-{turn.owner}:{turn.command.boundary}:{how}", (told, ""), stores, world)
        else:
            for step in super()._next(actor, stores, world, at):
                if not (self.acts.sure and step.word.endswith(":timeout")):
                    yield step

    def hows(self, command: Command, stores: Numbers) -> tuple[str, ...]:
        """How a command may be answered by who answers at once.

        Once this step has begun, one before it rests only where this one is in doubt and that one is not undone: the model does
        not follow what is then settled of this one.
        """
        hows = ways(command, self.acts.case)
        if self.acts.case.place == "before" and whose(command) == "other" and self.acts.begun(stores):
            return hows[: 1 + (command.boundary == "compensate" and self.acts.lost(stores))]
        return hows


def ways(command: Command, case: WideCase) -> tuple[str, ...]:
    """How a command is answered that neither stores nor the case's world answer; () for every other."""
    if isinstance(command, Verify):
        return tuple(LOOKS)
    if isinstance(command, CallModel):
        unheard = LATER if case.backoff else "none"  # it looks like an answer until that is recorded
        return ("done", THAT, unheard) if case.uses else ("done", unheard)
    if isinstance(command, Execute) and (command.boundary != "execute" or command.context.step_id != STEP):
        # Until they are recorded the two results look alike, and a sample goes on with the first.
        return (PART, *CALLS) if case.repeats and command.boundary == "execute" else CALLS
    return ()


class WideFloor(Floor):
    """The workers of a wide case, one at a time or several."""

    case: WideCase
    acts: WideActs

    def __init__(
        self,
        case: WideCase,
        mutant: Mutant = SHIPPED,
        acts: type[WideActs] = WideActs,
        steps: type[WideSteps] = WideSteps,
    ) -> None:
        super().__init__(case, mutant)
        self.acts = acts(case, mutant)
        self.shelf, self.worlds = self.acts.shelf, self.acts.worlds
        self.steps = steps(self.acts)
        self.turns = self.steps.turns
        self.first = self.first._replace(stores=self.shelf.first, world=self.acts.world(World()))
        self._alone = case.bounds.workers == 1

    def _environment(self, state: State) -> Iterator[Move]:
        """What nobody's turn has to do with. Of a job at rest people are heard where no worker is, if one works at a time: then
        the model of one hears them. A fleet's people do not see where workers are.
        """
        at_work = self._alone and any(n >= 0 and self.turns[n].command is not None for n, _ in state.actors)
        status = self.acts.stream(state.stores).status
        for move in super()._environment(state):
            if not (move.word.startswith("person:") and at_work and status == "parked"):
                yield move
        for request in self.worlds[state.world].pending:
            if not request.effect and request.until:
                yield from self._otherwise(state, request)
        if status == "open" or not at_work:
            yield from self._people(state, status)

    def beside(self, state: State) -> tuple[object, ...]:
        """What tells states apart that are otherwise alike: what lies on the desk, which pauses are not over, how many inputs
        and effects are recorded.
        """
        events = self.acts.stream(state.stores).events if self.case.inputs else ()
        given = sum(event.type == "command_committed" for event in events)
        recorded = state.stores[2] if self.case.other == "llm" else 0
        return self.worlds[state.world].desk, len(self._pauses(state)), given, recorded

    def heard(self, state: State) -> tuple[object, ...]:
        """What can be heard of each request: that it has acted, that it has not, or nothing yet."""
        return tuple((bool(request.effect), request.until > 0) for request in self.worlds[state.world].pending)

    def _pauses(self, state: State) -> list[float]:
        """When the pauses are over that are not."""
        events = self.acts.stream(state.stores).events if self.case.backoff else ()
        told = ((event.at, json.loads(event.data)) for event in events if event.type == "retry_scheduled")
        return [over for at, data in told if (over := at + data.get("backoff_seconds", 0.0)) > state.at]

    def _moment(self, state: State) -> float | None:
        """When something is decided otherwise than now; also when a pause is over."""
        due, first = self._pauses(state), super()._moment(state)
        return min([*due, *([] if first is None else [first])], default=None)

    def _otherwise(self, state: State, request: Request) -> Iterator[Move]:
        """What else can become of a request: it is refused, or has its effect and says that the step failed."""
        name = f"{request.epoch}.{request.attempt}"
        if not (self.case.sure and request.awaited):
            after = self.acts.turned(state.world, "refuse", name, into=lambda world: turned_away(world, request))
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
        before = self.case.other == "tool" and self.case.place == "before"
        if before and self.case.undoes and status == "open" and self.acts.begun(stores):
            told["person:undo-other"] = self.acts.client("undo-other", stores, at)
        if self.case.other == "wait" and (status in ("open", "waiting") or (status == "parked" and not self._alone)):
            told["person:signal"] = self.acts.client("signal", stores, at)
        if self.case.other == "approve" and status == "waiting":
            told["person:announce"] = self.acts.announce(stores, state.world, at)
        for word, after in told.items():
            if after is not None and after != stores:
                yield Move(word, state._replace(stores=after))
        if self.case.other == "approve" and status in ("open", "waiting"):
            for said in WORDS if self.case.foreign else WORDS[:-1]:
                if (world := self.acts.answer(said, stores, state.world, at)) is not None:
                    yield Move(f"person:{said}", state._replace(world=world))
        if status == "waiting" and state.cancels and (after := self.acts.cancel(stores, at)):
            yield Move("person:cancel", state._replace(stores=after, cancels=state.cancels - 1))


def turned_away(world: World, request: Request) -> World:
    """The request has no effect, and never will: its sender can hear so, if it still waits."""
    return world._with(request, request._replace(until=0.0) if request.awaited else None)
