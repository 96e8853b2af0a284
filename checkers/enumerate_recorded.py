"""A recorded value, as its machine has it (`model/recorded.py`): the words beside the step machine, read otherwise.

The value is what a language model answers before the step, or the first input that the step's tool asks for, and is
told; which of the machine's two values that is, is read where it lies: in records, in what a step begins with, in what a tool is
handed. How the step that uses it comes to its effect is its own protocol's: here it acts, and ends, before the job does.
"""

from collections.abc import Mapping
from typing import Final

from ..model.machine import Machine
from ..model.recorded import VALUES, build_recorded
from ..runtime.canonical import digest
from ..runtime.commands import Append, CallModel, Command, Execute, Fence, Pause, Renew
from ..runtime.records import Json
from ..runtime.store import VersionConflict
from .abstraction import NotAJobError
from .conform_follow import PLACE
from .enumerate_beside import BesideReader
from .enumerate_case import OTHER
from .enumerate_certain import CertainSets
from .enumerate_inputs import RECORD
from .enumerate_read import UNSEEN, Letters, Seen
from .enumerate_records import whose
from .enumerate_sets import Reading
from .enumerate_site import THAT
from .explore import Engine
from .interleave_case import BEGINNING, STEP, TTL
from .interleave_floor import Move, State
from .interleave_store import Effects
from .interleave_turn import Turn

WRITES: Final = ("put_effect", "append_committed", "append_node_finished")
"""The writes of a language model's node."""
AT: Final[Mapping[str, str]] = {
    "call_model": "at:ask",
    "put_effect": "at:put_effect",
    "append_committed": "at:append_committed",
    "append_node_finished": "at:append_node",
}
"""Where a worker is that comes to such a command of a language model's node."""
THIS: Final = "this"
"""What a language model answers, if it does not answer otherwise."""
USED: Final = {digest({"step": STEP, "of": value}): name for value, name in zip((THIS, THAT), VALUES, strict=True)}
"""Which value a step uses, by the hash of its arguments."""
UNTOLD: Final = "untold"
FIRST: Final = "#1"
"""How the name of the first input ends."""
REPEATED: Final = ("put_effect", "append_committed", RECORD)
"""Writes that are repeated from memory, in the machine, until they have an answer; of others it has the answer at once."""
SILENT: Final = ("decides", "unverified")
READ: Final = "name:input: the first answer|input: the other answer|hand the"
"""What is no decision, though the machine's worker does it by itself: it is read of what the code is about."""
UNANSWERED: Final = ("none", "later")
"""What a language model says when it does not answer."""


class RecordedSets(CertainSets):
    """The sets of the machine of a recorded value. That it is asked for is no decision: it is read of what the code is about."""

    def fitting(self, op: str, who: str) -> frozenset[int]:
        """The rules that an op can be."""
        found = super().fitting(op, who)
        return found - super().fitting(READ, who) if op in SILENT else found


def recorded_sets(machine: Machine | None = None, engine: Engine | None = None) -> RecordedSets:
    """The sets. engine: the machine's, where there is one already."""
    return RecordedSets(machine or build_recorded(), ["job", "effect", "committed", "node"], engine)


class RecordedReader(BesideReader):
    """What the words of a case mean to the value that is recorded in it."""

    @property
    def kind(self) -> str:
        """Whose value it is."""
        return "input" if self.floor.case.inputs else "llm"

    @property
    def declared(self) -> dict[str, str]:
        """The same, as the machine has it."""
        return {"kind": self.kind}

    def read(self, state: State, names: Letters, move: Move) -> Seen:
        """What a move can have been."""
        word, after, _, was, now = move
        who, _, what = word.partition(":")
        if who == "clock":
            ops = tuple(op for turn in self.gone(state, after) for op in self._crash(turn, state))
        elif who == "world":
            ops = ("name:the step with the",) if self.acted(state, after) else ()
        elif who == "person":
            ops = ()
        else:
            owner, what = self._parted(word)
            self.turns.add(max(now[0], -1))
            ops = self._did(what, self._turn(was), self._turn(now[0]), state, after)
            names = (*names, (owner, "")) if owner not in dict(names) else names
        return Seen(Reading(ops or ("stay",), self._where(after)), self._kept(names, after))

    def _did(self, what: str, before: Turn | None, then: Turn | None, state: State, after: State) -> tuple[str, ...]:
        """A worker's word."""
        boundary, _, fault = what.partition(":")
        if boundary == "claim":
            return () if fault or then is None or then.command is None else ("do:claim",)
        if self.idle(before) or self.told(state)["job"] == "completed":  # an answer was lost of its end
            return ()
        assert before is not None
        if boundary == "crash" or fault == "down":
            return self._crash(before, state)
        ops = self._done(boundary, fault, before, then, state, after)
        gone = boundary != "append_completed" and (then is None or then.command is None)
        return (*ops, *(self._crash(before, state) if gone and not ops else ("crash",) if gone else ()))

    def _crash(self, turn: Turn | None, state: State) -> tuple[str, ...]:
        """A worker is gone, which has heard or asked something before."""
        return () if turn is None or self.idle(turn) else (*self._known(turn, state), "crash")

    def _done(
        self, boundary: str, fault: str, before: Turn, then: Turn | None, state: State, after: State
    ) -> tuple[str, ...]:
        """What a command did that was performed. A store that answers an error of what is there already has done it again."""
        command = before.command
        conflict = then is not None and then.answer is not None and isinstance(then.answer.error, VersionConflict)
        if command is None or boundary in UNSEEN or fault in UNANSWERED or conflict or not self._speaks(command):
            return ()
        if boundary == "call_model":
            return (f"name:llm: the {self._named(THAT if fault == THAT else THIS)} answer",)
        if boundary == "execute":
            return (f"name:hand the {self._handed(command)} value over",) if not self._used(before, state) else ()
        changed, place = self.told(state) != self.told(after), _place(boundary)
        if boundary == "append_started":
            begins = self._used(before, after) and not self._used(before, state)
            return (f"name:use the {USED.get(self._args_hash(command), UNTOLD)} value",) if begins else ()
        if place not in REPEATED:
            return (*self._known(before, state), f"do:{boundary}") if changed else ()
        there = self.told(state)["effect" if place == "put_effect" else "committed"] != "none"
        lost = fault == "lost" or (fault == "error" and there)
        wrote = (f"{'lost' if lost else 'do'}:{boundary}",) if lost or not fault else ()
        return (*self._known(before, state), *wrote)

    def _known(self, turn: Turn, state: State) -> tuple[str, ...]:
        """What a worker has come to know at its command: an input; or that its step is over. Who finds that behind a crash has
        used the value, too: that the step has begun before is its own protocol's to see.
        """
        assert turn.command is not None
        if self._asks(turn.command) and not self._repeats(turn):
            return (f"name:input: the {self._named(self._recorded(turn.command))} answer",)
        if turn.command.boundary != "append_completed":
            return ()
        used = () if self._used(turn, state) else ("name:use the|hand the",)
        return (*used, f"name:{self.kind}: the step with the")

    def _repeats(self, turn: Turn) -> bool:
        """Whether a turn makes a write again, whose answer it did not get."""
        before = self.floor.turns[turn.before].command if turn.answer is not None else None
        return before is not None and turn.command is not None and before.boundary == turn.command.boundary

    def _used(self, turn: Turn, state: State) -> bool:
        """Whether the value was used in this turn: the step was begun, or its tool has asked and was answered."""
        if self.kind == "llm":
            epoch = turn.lease.epoch if turn.lease is not None else 0
            begun = (event for event in self.records.events(state) if event.type == "tool_invocation_started")
            return any(event.step == STEP and event.epoch == epoch for event in begun)
        while turn.answer is not None:
            turn = self.floor.turns[turn.before]
            if isinstance(turn.command, Execute):
                return True
        return False

    def _asks(self, command: Command) -> bool:
        """Whether a command records the first input of the step. The others are not followed."""
        if self.kind == "llm" or command.boundary != RECORD:
            return False
        assert isinstance(command, Append)
        return str(command.events[0].data["command_id"]).endswith(FIRST)

    def _speaks(self, command: Command) -> bool:
        """Whether a command is of the value, or of the step that uses it, as the machine has it."""
        if command.boundary == "append_completed":
            return True
        if self.kind == "input":
            return self._asks(command) or isinstance(command, Execute)
        if command.boundary == "append_started":
            return whose(command) == "own"
        return isinstance(command, CallModel) or (_place(command.boundary) in WRITES and whose(command) == "other")

    def _where(self, state: State) -> str:
        """Where the only worker is: behind its claim it has read nothing; it uses the value, or has, once it is recorded."""
        turn = self.only(state)
        there = self.told(state)
        if turn is None or self.idle(turn) or there["job"] == "completed":
            return "at:idle"
        command = turn.command
        assert command is not None
        if self.unread(turn):
            return "at:replay"
        if isinstance(command, Fence | Pause | Renew) or (
            self.kind == "llm" and command.boundary == "append_completed"
        ):
            return "past"
        if self._asks(command):
            return "at:append_committed" if self._repeats(turn) else "at:ask"
        if self.kind == "llm" and whose(command) == "other":
            at = AT.get(_place(command.boundary), "past")
            return "at:use" if at == "at:append_node" and there["node"] == "yes" else at
        if self.kind == "llm":
            return "at:await" if self._used(turn, state) else "at:use"
        if command.boundary == "append_completed":
            return "past"
        sent = any(phase == "sent" for _, phase in state.actors)
        if sent or self._used(turn, state):
            return "at:await"
        return "at:use" if there["committed"] != "none" else "at:ask"

    # What is there.

    def durable(self, state: State) -> dict[str, str]:
        """What the events and the effect store say of the value. NotAJobError for one that nobody was told."""
        told = self.told(state)
        if UNTOLD in told.values():
            raise NotAJobError(f"a value is recorded that nobody was told: {told}")
        return told

    def fold(self, state: State) -> dict[str, str]:
        """The same, whatever the value is."""
        events = self.records.events(state)
        step = OTHER if self.kind == "llm" else STEP
        mine = [event for event in events if event.step == step]
        inputs = [event for event in mine if event.type == "command_committed" and "#" in str(event.data["command_id"])]
        answers = [event for event in mine if event.type == "command_committed" and event not in inputs]
        effects = self.floor.shelf.contents["effects"][state.stores[2]]
        assert isinstance(effects, Effects)
        outputs = [record.output for record in effects.records if record.step_id == OTHER]
        finished = (event.data["result_type"] for event in mine if event.type == "node_finished")
        node = self.kind == "llm" and "success" in finished
        told = [event.data["result"] for event in (answers if self.kind == "llm" else inputs[:1])]
        return {
            "job": "completed" if self.floor.acts.stream(state.stores).status == "completed" else "open",
            "effect": self._named(outputs[0]) if self.kind == "llm" and outputs else "none",
            "committed": self._named(told[0]) if told else "none",
            "node": "yes" if node else "no",
        }

    def _named(self, value: Json) -> str:
        """Which of the machine's two values one is: an answer, or the time, by how many leases were over then; or UNTOLD."""
        if value in (THIS, THAT):
            return VALUES[value == THAT]
        if not isinstance(value, int | float):
            return UNTOLD
        lives = round((value - BEGINNING) / TTL)
        return VALUES[(lives + self.floor.case.swapped) % 2]

    def _recorded(self, command: Command) -> Json:
        """The input that a command records."""
        assert isinstance(command, Append)
        return command.events[0].data["result"]

    def _handed(self, command: Command) -> str:
        """Which value a tool was told, that sends its request."""
        assert isinstance(command, Execute)
        return self._named(command.args["told"])

    def _args_hash(self, command: Command) -> str:
        """What a step begins with."""
        assert isinstance(command, Append)
        begun = next(event for event in command.events if event.type == "tool_invocation_started")
        return str(begun.data["args_hash"])


def _place(boundary: str) -> str:
    """The write that a catch-up repeats."""
    return PLACE.get(boundary, boundary)
