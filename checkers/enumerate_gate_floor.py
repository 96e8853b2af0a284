"""What people do where a job waits at a gate, each answer a word: the moves of a case that is held beside the machine of a gate.

| word                             | what happens                                                                            |
| -------------------------------- | --------------------------------------------------------------------------------------- |
| person:approve, :deny, :withdraw | somebody answers the request, or takes it back, and is to announce that to the job       |
| person:announce, :gone           | whoever has answered announces it, and rests; is gone before                            |
| person:again                     | somebody else sets about announcing an answer                                           |
| person:stray                     | the job is queued again by somebody, once, though nobody has answered                   |
| person:change                    | the plan is another: the step would do something else; or what it was to do before      |
| person:undo-earlier              | a step that was done before the gate is to be undone                                    |

A plan is changed where it lies, by nobody's leave, and while nobody is at work: a worker reads it once, so a change under its
hands is one after its turn, unless that turn starts the step; what has started is what the plan says, to the shipped code. What
undoes the step before the gate does so when it is called.
"""

import json
from collections.abc import Iterator
from typing import Final

from ..runtime import drive
from ..runtime.canonical import digest
from ..runtime.clients import Client, ClientError, Say
from ..runtime.commands import Claim
from ..runtime.gate import shown
from ..runtime.records import Json, NewEvent
from .enumerate_acts import WideActs
from .enumerate_case import EARLIER, OTHER, OTHER_TOOL, WideCase
from .enumerate_floor import WideFloor
from .interleave_case import JOB, STEP, TOOL
from .interleave_floor import Move, State
from .interleave_mutants import SHIPPED, Mutant
from .interleave_store import Numbers

ACTIONS: Final[dict[str, Json]] = {"first": {"step": STEP}, "other": {"step": STEP, "instead": True}}
"""What the step is given, by the name of its action: as it was submitted, and changed."""
DIGESTS: Final = {digest(shown(JOB, OTHER, STEP, TOOL, args)): name for name, args in ACTIONS.items()}
"""Which action an approval is bound to, by the digest that it carries."""
HASHES: Final = {digest(args): name for name, args in ACTIONS.items()}
"""The same of a step that has started."""
ANSWERED: Final = {"completed": "approved", "rejected": "denied", "cancelled": "denied"}
"""A request's status as a decision."""
STRAY: Final = "somebody.stray"
"""The event by which somebody queues the job again."""
DECIDES: Final = ("person:approve", "person:deny", "person:withdraw")
INSTEAD: Final = ("person:announce", "person:undo")
"""What is said here otherwise: by whom, and of which step."""
REFUSED: Final = (":none", ":lost-answer")
"""How words end by which the step before the gate would not be undone: its own machine has these."""


class GateActs(WideActs):
    """What people make of the stores of a case with a gate."""

    def changed(self, stores: Numbers, at: float) -> Numbers | None:
        """The stores with the other action in the plan."""

        def act() -> bool:
            events = self.shelf.store._streams[JOB].events
            place = next(place for place, event in enumerate(events) if event.type == "plan_generated")
            said = json.loads(events[place].data)
            mine = next(node for node in said["plan"]["nodes"] if node["id"] == STEP)
            mine["args"] = ACTIONS["first" if mine["args"] == ACTIONS["other"] else "other"]
            said["plan_hash"] = digest(said["plan"])
            events[place] = events[place]._replace(data=json.dumps(said))
            return True

        return self._said(("change", stores[0], at), stores, at, act)

    def strayed(self, stores: Numbers, at: float) -> Numbers | None:
        """The stores once somebody has queued the job again; None where somebody has before."""

        def act() -> bool:
            events = self.shelf.store.events(JOB)
            if any(event.id == STRAY for event in events):
                return False
            batch = (NewEvent(STRAY, "job_requeued", None, {"by": "person", "who": "somebody"}),)
            drive.perform(Say("signal", JOB, len(events), batch), self.ports)
            return True

        return self._said(("stray", stores[0], at), stores, at, act)

    def undone(self, stores: Numbers, at: float) -> Numbers | None:
        """The stores once it was asked that the step before the gate be undone; None where that is refused."""

        def act() -> bool:
            try:
                tools = {TOOL: self.site.tool, OTHER_TOOL: self.site.other}
                Client(self.shelf.store, "person", lambda _: None).compensate(tools, JOB, EARLIER, "not wanted")
            except ClientError:
                return False
            return True

        return self._said(("undo-earlier", stores[0], at), stores, at, act)


class GateFloor(WideFloor):
    """The worker of a case with a gate, and the people around it."""

    acts: GateActs

    def __init__(self, case: WideCase, mutant: Mutant = SHIPPED) -> None:
        super().__init__(case, mutant, GateActs)

    def moves(self, state: State) -> list[Move]:
        """Everything that can happen next."""
        return [move for move in super().moves(state) if not move.word.endswith(REFUSED)]

    def _people(self, state: State, status: str) -> Iterator[Move]:
        for move in super()._people(state, status):
            if move.word in DECIDES:
                world = self.acts.turned(move.state.world, "announcer", into=lambda it: it._replace(announcer=True))
                yield Move(move.word, move.state._replace(world=world))
            elif move.word not in INSTEAD:
                yield move
        yield from self._around(state, status)

    def _environment(self, state: State) -> Iterator[Move]:
        yield from super()._environment(state)
        yield from self._announcing(state)

    def _around(self, state: State, status: str) -> Iterator[Move]:
        """What else is said of a job that is not over."""
        stores, at, told = state.stores, state.at, dict[str, Numbers | None]()
        if status == "waiting" and self.case.other == "approve":
            told["person:stray"] = self.acts.strayed(stores, at)
        if status == "waiting" and self.case.earlier:
            told["person:undo-earlier"] = self.acts.undone(stores, at)
        if status in ("open", "waiting") and not self._begun(state) and not self._at_work(state):
            told["person:change"] = self.acts.changed(stores, at)
        for word, after in told.items():
            if after is not None:
                yield Move(word, state._replace(stores=after))

    def _announcing(self, state: State) -> Iterator[Move]:
        """Who has answered, or has found an answer, announces it; unless that one is gone before, or the job does not wait."""
        world = self.worlds[state.world]
        waits = self.acts.stream(state.stores).status == "waiting"
        if world.announcer:
            rests = self.acts.turned(state.world, "rests", into=lambda it: it._replace(announcer=False))
            after = self.acts.announce(state.stores, state.world, state.at)
            yield Move("person:announce", state._replace(world=rests, stores=after or state.stores))
            yield Move("person:gone", state._replace(world=rests))
        elif waits and self.acts.desk.stands(world.desk) in ANSWERED:
            found = self.acts.turned(state.world, "announcer", into=lambda it: it._replace(announcer=True))
            yield Move("person:again", state._replace(world=found))

    def _begun(self, state: State) -> bool:
        """Whether the step has started."""
        events = self.acts.stream(state.stores).events
        return any(event.type == "tool_invocation_started" and event.step == STEP for event in events)

    def _at_work(self, state: State) -> bool:
        """Whether a worker has claimed the job."""
        turns = (self.turns[number].command for number, _ in state.actors if number >= 0)
        return any(not isinstance(command, Claim | None) for command in turns)

    def beside(self, state: State) -> tuple[object, ...]:
        """What tells states apart that are otherwise alike: also what was heard of the step, and of the step before the gate."""
        events = self.acts.stream(state.stores).events
        return (
            *super().beside(state),
            self.heard(state),
            tuple(event.type for event in events if event.step == EARLIER)[-1:],
        )
