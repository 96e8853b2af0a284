"""What undoes a step, on the wire: the moves of a case that is held beside the machine of a compensation.

| word                              | what happens                                                                             |
| --------------------------------- | ---------------------------------------------------------------------------------------- |
| worker-N:compensate               | the call that undoes the step is sent                                                    |
| worker-N:undone, :not-undone      | it answers that it has acted, that it has not                                            |
| worker-N:unheard                  | its worker waits no longer, whether it has acted or not; it may act still                |
| world:undo:acts, :refused         | a call for which somebody waits acts, once; it is refused, and never will                |
| world:late:acts, :nothing         | the same of a call for which nobody waits any more                                       |
| worker-N:query                    | whoever is asked whether it was undone knows; nobody knows while a call may still act     |
| worker-N:query:fails              | whoever is asked about the step, and would bar its requests, does not answer              |
| person:undo-other                 | (also) a parked job is queued again, since the step before this one is to be undone       |

A person who is asked whether the step was undone says the truth, once it is final (A-PERSON, A-QUIET). Who is gone while a call
is on its way leaves it there.
"""

from collections.abc import Iterator
from typing import Final

from ..runtime.commands import Command, Execute, Query
from ..runtime.tool import Absent, Compensation, Happened, NotKnown, Tool
from .enumerate_acts import WideActs
from .enumerate_case import WideCase
from .enumerate_floor import WideFloor, WideSteps, ways
from .enumerate_read import READ_ON
from .interleave_case import STEP
from .interleave_floor import Move, State
from .interleave_mutants import SHIPPED, Mutant
from .interleave_steps import Actor, Step
from .interleave_store import Numbers
from .interleave_turn import answered
from .interleave_world import World

ANSWERED: Final = {"acted": ("undone", "done"), "refused": ("not-undone", "none")}
"""By what has become of a call: the word of its answer, and how the callback answers."""
LIES: Final = ("person:undone:yes", "person:undone:no")


class UndoingSteps(WideSteps):
    """The worker of such a case."""

    def hows(self, command: Command, stores: Numbers) -> tuple[str, ...]:
        """Every way: what is settled of this step while another rests is what is looked at."""
        return ways(command, self.acts.case)

    def _next(self, actor: Actor, stores: Numbers, world: int, at: float) -> Iterator[Step]:
        number, phase = actor
        turn = self.turns[number]
        if turn.command is None or not undoes(turn.command):
            yield from super()._next(actor, stores, world, at)
            if isinstance(turn.command, Query) and turn.command.tool.look == "fence":
                told = self._told(number, answered(NotKnown("the query failed")), stores, world, at)
                yield Step(f"worker-{turn.owner}:query:fails", (told, ""), stores, world)
            return
        who = f"worker-{turn.owner}"
        if phase == "":
            sent = self.acts.turned(world, "call", "sent", into=lambda it: it._replace(call="sent"))
            yield Step(f"{who}:compensate", (number, "sent"), stores, sent)
            return
        call = self.acts.worlds[world].call
        over = self.acts.turned(world, "call", "over", into=unheard)
        ends = [("unheard", "lost-answer"), *([ANSWERED[call]] if call in ANSWERED else [])]
        for word, how in ends if call != "refused" else ends[1:]:
            told = self._told(number, self.acts.asked(turn, how), stores, over, at)
            yield Step(f"{who}:{word}", (told, ""), stores, over)


class UndoingFloor(WideFloor):
    """The worker of a case whose step is undone, the callback, and the people around it."""

    def __init__(self, case: WideCase, mutant: Mutant = SHIPPED) -> None:
        super().__init__(case, mutant, WideActs, UndoingSteps)
        site = self.acts.site
        if case.asked:
            callback = site.tool.compensation
            assert callback is not None
            known = Compensation(
                callback.call, lambda args, context: told(site.world), "quiet", 0.0, harmless=callback.harmless
            )
            site.tool = Tool(**{**vars(site.tool), "compensation": known})

    def moves(self, state: State) -> list[Move]:
        """Everything that can happen next. A call whose worker is gone is one for which nobody waits."""
        return [self._left_alone(move) for move in super().moves(state) if self._may(state, move)]

    def _may(self, state: State, move: Move) -> bool:
        """Whether a move is one of these cases: people say the truth, and are heard before a worker reads the other stores, which
        is the same as behind that.
        """
        if move.word.startswith("person:") and any(self._reads(actor) for actor in state.actors):
            return False
        return move.word not in LIES or self._true(state, move)

    def _reads(self, actor: Actor) -> bool:
        command = self.turns[actor[0]].command if actor[0] >= 0 else None
        return command is not None and command.boundary in READ_ON

    def _left_alone(self, move: Move) -> Move:
        world, waits = move.state.world, any(self._calls(actor) for actor in move.state.actors)
        if waits or not self.worlds[world].call:
            return move
        after = self.acts.turned(world, "call", "over", into=unheard)
        return move._replace(state=move.state._replace(world=after))

    def _calls(self, actor: Actor) -> bool:
        if actor[0] < 0 or actor[1] != "sent":
            return False
        command = self.turns[actor[0]].command
        return command is not None and undoes(command)

    def _true(self, state: State, move: Move) -> bool:
        """Whether a person may say so of the undoing."""
        world = self.worlds[state.world]
        return world.undone > 0 if move.word.endswith("yes") else not (world.undone or world.late or world.call)

    def _environment(self, state: State) -> Iterator[Move]:
        yield from super()._environment(state)
        world = self.worlds[state.world]
        if world.call == "sent":
            yield self._world(state, "undo:acts", world._replace(call="acted", undone=min(world.undone + 1, 2)))
            yield self._world(state, "undo:refused", world._replace(call="refused"))
        if world.late:
            rest = world._replace(late=world.late - 1)
            yield self._world(state, "late:acts", rest._replace(undone=min(world.undone + 1, 2)))
            yield self._world(state, "late:nothing", rest)

    def _world(self, state: State, word: str, after: World) -> Move:
        return Move(f"world:{word}", state._replace(world=self.acts.world(after)))

    def _people(self, state: State, status: str) -> Iterator[Move]:
        """A parked job is queued again, too, by who wants another step undone."""
        yield from super()._people(state, status)
        if self.case.other and status == "parked":
            after = self.acts.client("undo-other", state.stores, state.at)
            if after is not None and after != state.stores:
                yield Move("person:undo-other", state._replace(stores=after))

    def beside(self, state: State) -> tuple[object, ...]:
        """What tells states apart that are otherwise alike: also what was heard of the step."""
        return *super().beside(state), self.heard(state)


def undoes(command: Command) -> bool:
    """Whether a command is the call that undoes the step; another step's is answered at once."""
    return isinstance(command, Execute) and (command.boundary, command.context.step_id) == ("compensate", STEP)


def unheard(world: World) -> World:
    """Nobody waits for the call any more; it may act, if it was sent and nothing has become of it."""
    return world._replace(call="", late=min(world.late + (world.call == "sent"), 2))


def told(world: World) -> Happened | Absent | NotKnown:
    """What is known of the undoing."""
    if world.undone:
        return Happened({"done": True})
    return NotKnown("it may still act") if world.late or world.call else Absent()
