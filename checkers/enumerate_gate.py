"""A node that waits, as the machine of a gate has it (`model/gate.py`): the words beside the step machine, read otherwise.

The step behind the gate is seen as its contract sees it: that it has started, and how its job ends. What lies in the contract
store is the gate's `asked` and `decision`. A request that is taken back is, to a gate, a denial: nothing opens it any more.
"""

from collections.abc import Mapping
from typing import Final

from ..model.gate import build_gate
from ..model.machine import Machine, Scope
from ..runtime.commands import Command, Fence
from ..runtime.records import Json
from ..runtime.store import VersionConflict
from .abstraction import StoredEvent
from .enumerate_beside import BesideReader
from .enumerate_certain import CertainSets
from .enumerate_gate_floor import ACTIONS, ANSWERED, DIGESTS, HASHES, GateFloor
from .enumerate_read import Letters, Seen
from .enumerate_records import whose
from .enumerate_sets import Reading
from .explore import Engine
from .interleave_case import STEP
from .interleave_floor import Move, State
from .interleave_turn import Turn

WRITES: Final = ("append_waiting", "append_wait_completed", "append_failed", "append_cancelled", "append_completed")
"""Boundaries that the gate's machine has as the code has them."""
BEGINS: Final = "append_started"
STARTS: Final = ("acquire", BEGINS)
ASKS: Final = "open_approval"
AT: Final[Mapping[str, str]] = {
    "load_request": "at:gate",
    "open_approval": "at:ask",
    "append_waiting": "at:append_waiting",
    "append_wait_completed": "at:append_wait_completed",
    **dict.fromkeys(STARTS, "at:start"),
    "append_failed": "at:append_failed",
}
"""Where a worker is that comes to such a command before the step has started. Of others it has decided, or has not."""
SAID: Final = {
    "approve": "person: approves",
    "deny": "person: denies",
    "withdraw": "person: denies",
    "gone": "crash of the decider",
    "again": "the signal of a decision is sent again",
    "stray": "somebody signals, unasked",
    "undo-earlier": "a person has another step undone",
    "change": "the action becomes",
}
IN_STATUS: Final = {
    ("cancel", "open"): "cancel an open job",
    ("cancel", "waiting"): "cancel a waiting job",
    ("signal", "open"): "the signal comes early",
    ("signal", "waiting"): "the signal comes",
    ("announce", "waiting"): "the decider signals",
    **{
        ("announce", status): "the decider finds nobody waiting"
        for status in ("open", "completed", "failed", "cancelled")
    },
}
"""What people do, by the rules' names; and by what the job is about then."""


class GateSets(CertainSets):
    """The sets of a gate's machine. What crashes without a word of its own is a worker: who has answered has one."""

    def fitting(self, op: str, who: str) -> frozenset[int]:
        """The rules that an op can be."""
        return super().fitting("name:crash of the worker" if op == "crash" else op, who)


def gate_sets(machine: Machine | None = None, engine: Engine | None = None) -> GateSets:
    """The sets of the gate's machine. engine: its engine, where there is one already."""
    machine = machine or build_gate()
    return GateSets(machine, [f.name for f in machine.fields if f.scope is Scope.DURABLE], engine)


class GateReader(BesideReader):
    """What the words of a case with a node that waits mean to the gate."""

    floor: GateFloor

    @property
    def declared(self) -> dict[str, str]:
        """What the node waits for."""
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
            status = self.told(state)["job"]
            ops = (f"name:{SAID.get(what) or IN_STATUS[what, status]}",)
        else:
            owner, what = self._parted(word)
            self.turns.add(max(now[0], -1))
            ops = self._gated(what, self._turn(was), self._turn(now[0]), state, after)
            names = (*names, (owner, "")) if owner not in dict(names) else names
        end = "any" if who == "person" else self._where(after)  # what a worker has read is old then
        return Seen(Reading(ops, end), self._kept(names, after))

    def _gated(self, what: str, before: Turn | None, then: Turn | None, state: State, after: State) -> tuple[str, ...]:
        """A worker's word: a write of the gate, the step's beginning, an end of the job; or nothing that a gate has."""
        idle = self.idle(before)
        if what == "crash":
            return ("stay",) if idle else ("crash",)
        if what == "park":  # of the other step: to the gate its worker is gone
            return ("crash",)
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
        first = what == BEGINS and self._started(state) != self._started(after)
        asked = what == ASKS and self.world(state, ()) != self.world(after, ())
        return f"do:{what}" if what in WRITES or first or asked else "stay"

    def _where(self, state: State) -> str:
        """Where the only worker is: behind its claim it has read nothing; once the step has begun that decides."""
        turn = self.only(state)
        if turn is None or turn.command is None or self.idle(turn):
            return "at:idle"
        if isinstance(turn.command, Fence):
            return "at:replay" if self.unread(turn) else "past"
        if self._started(state) != "none":
            return "at:execute"
        boundary = turn.command.boundary
        if boundary == ASKS and self.world(state, ())["asked"] != "none":
            return "at:gate"  # it is made in two writes, and one of them is there
        elsewhere = boundary in STARTS and whose(turn.command) == "other"
        return "past" if elsewhere else AT.get(boundary, "past")

    # What is there.

    def _started(self, state: State) -> str:
        """With which action the step has started."""
        begun = (e for e in self.records.events(state) if e.type == "tool_invocation_started" and e.step == STEP)
        return next((HASHES[str(event.data["args_hash"])] for event in begun), "none")

    def _action(self, events: tuple[StoredEvent, ...]) -> str:
        """Which action stands in the plan."""
        nodes = next(event.data["plan"]["nodes"] for event in events if event.type == "plan_generated")
        args = next(node["args"] for node in nodes if node["id"] == STEP)
        return next(name for name, each in ACTIONS.items() if each == args)

    def fold(self, state: State) -> dict[str, str]:
        """What the job's events say, as the gate has it."""
        events = self.records.events(state)
        types = [event.type for event in events]
        waited = "job_waiting" in types
        since = types[len(types) - types[::-1].index("job_waiting") :] if waited else []
        undone = since.count("compensation_requested")  # each with the job's release
        signal = "signal_received" in types or since.count("job_requeued") > undone
        answers = [event.data for event in events if event.type == "wait_completed"]
        status = self.floor.acts.stream(state.stores).status
        return {
            "job": "open" if status == "parked" else status,  # what else holds it up is not a gate's
            "action": self._action(events),
            "waited": "yes" if waited else "no",
            "signal": "received" if signal else "none",
            "wait": wait_of(answers[-1]) if answers else "none",
            "woken": "yes" if undone else "no",
            "cancel": "yes" if "cancel_requested" in types else "no",
            "started": self._started(state),
        }

    def world(self, state: State, names: Letters) -> dict[str, str]:
        """What the contract store says."""
        desk, number = self.floor.acts.desk, self.floor.worlds[state.world].desk
        status = desk.stands(number)
        return {
            "asked": DIGESTS[desk.asked(number)] if status else "none",
            "decision": ANSWERED.get(status, "none"),
        }


def wait_of(answer: Mapping[str, Json]) -> str:
    """A `wait_completed` in the gate's words."""
    if "decision" not in answer:
        return "signalled"
    return DIGESTS[str(answer["digest"])] if answer["decision"] == "approved" else "refused"
