"""A node that waits, as the machine of a gate has it (`model/gate.py`): the words beside the step machine, read otherwise.

The step behind the gate is seen as its contract sees it: that it has started, and how its job ends. What lies in the contract
store is the gate's `asked` and `decision`. A request that is taken back is, to a gate, a denial: nothing opens it any more.
"""

from collections.abc import Mapping
from typing import Final

from ..model.gate import build_gate
from ..model.machine import Machine, Scope
from ..runtime.commands import Claim, Command
from ..runtime.records import Json
from ..runtime.store import VersionConflict
from .enumerate_case import WideCase
from .enumerate_floor import WideFloor
from .enumerate_read import Letters, Reader, Seen
from .enumerate_sets import Reading, Sets
from .explore import Engine
from .interleave_case import STEP
from .interleave_floor import Move, State
from .interleave_steps import Actor
from .interleave_turn import Turn

WRITES: Final = ("append_waiting", "append_wait_completed", "append_failed", "append_cancelled", "append_completed")
"""Boundaries that the gate's machine has as the code has them."""
BEGINS: Final = "append_started"
ASKS: Final = "open_approval"
PLACES: Final = ("append_waiting", "append_wait_completed")
"""What a worker is said to be about to do. Of the others the machine has no place, or what is decided shows in what is done."""
SAID: Final = {
    "approve": "person: approves",
    "deny": "person: denies",
    "withdraw": "person: denies",
    "announce": "the decider signals",
}
IN_STATUS: Final = {
    ("cancel", "open"): "cancel an open job",
    ("cancel", "waiting"): "cancel a waiting job",
    ("signal", "open"): "the signal comes early",
    ("signal", "waiting"): "the signal comes",
}
"""What people do, by the rules' names; and by what the job is about then."""
ANSWERED: Final = {"completed": "approved", "rejected": "denied", "cancelled": "denied"}
"""A request's status as a decision."""


def gate_sets(machine: Machine | None = None, engine: Engine | None = None) -> Sets:
    """The sets of the gate's machine. engine: its engine, where there is one already."""
    machine = machine or build_gate()
    return Sets(machine, [f.name for f in machine.fields if f.scope is Scope.DURABLE], engine)


class GateReader(Reader):
    """What the words of a case with a node that waits mean to the gate."""

    floor: WideFloor

    @property
    def declared(self) -> dict[str, str]:
        """What the node waits for."""
        assert isinstance(self.floor.case, WideCase)
        return {"kind": "approval" if self.floor.case.other == "approve" else "signal"}

    def read(self, state: State, names: Letters, move: Move) -> Seen:
        """What a move can have been."""
        word, after, _, was, now = move
        who, _, what = word.partition(":")
        if who == "world":
            ops: tuple[str, ...] = ("stay",)
        elif who == "clock":
            ops = tuple("crash" for _ in self._left(state, names, after)) or ("stay",)
        elif who == "person":
            ops = (f"name:{SAID.get(what) or IN_STATUS[what, self.floor.acts.stream(state.stores).status]}",)
        else:
            owner, what = self._parted(word)
            self.turns.add(max(now[0], -1))
            ops = self._gated(what, self._turn(was), self._turn(now[0]), state, after)
            names = (*names, (owner, "")) if owner not in dict(names) else names
        end = "any" if who == "person" else self._end(after)  # what a worker has read is old then
        return Seen(Reading(ops, end), self._kept(names, after))

    def _gated(self, what: str, before: Turn | None, then: Turn | None, state: State, after: State) -> tuple[str, ...]:
        """A worker's word: a write of the gate, the step's beginning, an end of the job; or nothing that a gate has."""
        idle = before is None or isinstance(before.command, Claim | None) or self._void(before)
        if what == "crash":
            return ("stay",) if idle else ("crash",)
        done = self._done(what, before.command if before is not None else None, then, state, after)
        gone = not idle and then is not None and then.stopped
        return (done, "crash") if gone else (done,)

    def _done(self, what: str, command: Command | None, then: Turn | None, state: State, after: State) -> str:
        if what == "claim":
            return "stay" if then is None or then.command is None else "do:claim"
        if command is None or command.boundary != what:
            return "stay"
        if then is not None and then.answer is not None and isinstance(then.answer.error, VersionConflict):
            return "stay"
        first = what == BEGINS and not self._started(state)
        asked = what == ASKS and self.world(state, ()) != self.world(after, ())
        return f"do:{what}" if what in WRITES or first or asked else "stay"

    def _place(self, actor: Actor) -> str:
        """Where a worker is: what it has read is decided by then, though another may be heard of before its next write."""
        turn = self._turn(actor[0])
        if turn is None or isinstance(turn.command, Claim | None) or self._void(turn):
            return "at:idle"
        return f"at:{turn.command.boundary}" if turn.command.boundary in PLACES else "past"

    # What is there.

    def _started(self, state: State) -> bool:
        return any(e.type == "tool_invocation_started" and e.step == STEP for e in self.records.events(state))

    def durable(self, state: State) -> dict[str, str]:
        """What the job's events say, as the gate has it: the action of a plan never changes."""
        events = self.records.events(state)
        types = [event.type for event in events]
        waited = "job_waiting" in types
        since = types[len(types) - types[::-1].index("job_waiting") :] if waited else types
        signal = "signal_received" in types or (waited and "job_requeued" in since)
        answers = [event.data for event in events if event.type == "wait_completed"]
        return {
            "job": self.floor.acts.stream(state.stores).status,
            "action": "first",
            "waited": "yes" if waited else "no",
            "signal": "received" if signal else "none",
            "wait": wait_of(answers[-1]) if answers else "none",
            "woken": "no",
            "cancel": "yes" if "cancel_requested" in types else "no",
            "started": "first" if self._started(state) else "none",
        }

    def world(self, state: State, names: Letters) -> dict[str, str]:
        """What the contract store says."""
        status = self.floor.acts.desk.stands(self.floor.worlds[state.world].desk)
        return {"asked": "first" if status else "none", "decision": ANSWERED.get(status, "none")}


def wait_of(answer: Mapping[str, Json]) -> str:
    """A `wait_completed` in the gate's words."""
    if "decision" not in answer:
        return "signalled"
    return "first" if answer["decision"] == "approved" else "refused"
