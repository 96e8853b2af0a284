"""A recorded value, as its machine has it (`model/recorded.py`): the words beside the step machine, read otherwise.

The value is what a language model answers before the step, or the first input that the step's tool asks for. All that is asked is
told the same, so one of the two values is never there; which of the machine's two it is called is free, and each is tried. How
the step that uses it comes to its effect is its own protocol's: here it acts, and ends, before the job does.
"""

from typing import Final, Literal

from ..model.machine import Machine
from ..model.recorded import build_recorded
from ..runtime.commands import CallModel, Claim, Command
from ..runtime.store import VersionConflict
from .conform_follow import PLACE
from .enumerate import Graph, Product
from .enumerate_case import OTHER, WideCase
from .enumerate_floor import WideFloor
from .enumerate_inputs import RECORD
from .enumerate_read import UNSEEN, Letters, Reader, Seen
from .enumerate_records import whose
from .enumerate_sets import Reading, Sets
from .explore import Engine
from .interleave_case import STEP
from .interleave_floor import Move, State
from .interleave_steps import Actor
from .interleave_store import Effects
from .interleave_turn import Turn

WRITES: Final = ("put_effect", "append_committed", "append_node_finished")
"""The writes of a language model's node."""
ENDS: Final = ("name:the step with the", "name:llm: the step with|input: the step with", "do:append_completed")
USES: Final = "name:use the"
"""Who takes over behind a crash uses the value, too: that the step has begun before is its own protocol's to see."""
UNANSWERED: Final = ("none", "later")
"""What a language model says when it does not answer."""
Value = Literal["first", "other"]


def recorded_sets(machine: Machine | None = None, engine: Engine | None = None) -> Sets:
    """The sets of the machine of a recorded value. engine: its engine, where there is one already."""
    return Sets(machine or build_recorded(), ["job", "effect", "committed", "node"], engine)


class RecordedReader(Reader):
    """What the words of a case mean to the value that is recorded in it."""

    floor: WideFloor
    value: Value = "first"

    @property
    def kind(self) -> str:
        """Whose value it is."""
        assert isinstance(self.floor.case, WideCase)
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
            ops: tuple[str, ...] = tuple("crash" for _ in self._left(state, names, after)) or ("stay",)
        elif who in ("person", "world"):
            ops = ("stay",)
        else:
            owner, what = self._parted(word)
            self.turns.add(max(now[0], -1))
            before = self.durable(state)
            ops = self._did(what, self._turn(was), self._turn(now[0]), before != self.durable(after))
            if before["job"] == "completed":  # an answer was lost of its end
                ops = ("stay",)
            names = (*names, (owner, "")) if owner not in dict(names) else names
        return Seen(Reading(ops, self._end(after)), self._kept(names, after))

    def _did(self, what: str, before: Turn | None, then: Turn | None, changed: bool) -> tuple[str, ...]:
        """A worker's word."""
        boundary, _, fault = what.partition(":")
        command = before.command if before is not None else None
        idle = before is None or isinstance(command, Claim | None) or self._void(before)
        if boundary == "crash" or (fault == "down" and boundary != "claim"):
            return ("stay",) if idle else ("crash",)
        if boundary == "claim":
            return ("stay",) if fault or then is None or then.command is None else ("do:claim",)
        conflict = then is not None and then.answer is not None and isinstance(then.answer.error, VersionConflict)
        begun = before is not None and self._begun(before)
        performed = boundary not in UNSEEN and fault not in ("error", *UNANSWERED) and not conflict
        speaks = command is not None and performed and self._speaks(command)
        ops = self._done(boundary, fault, changed, begun) if speaks else ()
        gone = not idle and boundary != "append_completed" and (then is None or then.command is None)
        return (*ops, "crash") if gone else ops or ("stay",)

    def _done(self, boundary: str, fault: str, changed: bool, begun: bool) -> tuple[str, ...]:
        """A command that was performed. Of inputs the first alone is followed, of attempts the first of a turn; a lost answer of
        what is there already changes nothing."""
        if boundary == "append_completed":
            return ENDS if begun or self.kind == "input" else (USES, *ENDS)
        if ((boundary == RECORD or fault == "lost") and not changed) or (boundary == "append_started" and begun):
            return ()
        return (f"{'lost' if fault == 'lost' else 'do'}:{boundary}",)

    def _begun(self, turn: Turn) -> bool:
        """Whether the step was begun in this turn before."""
        while turn.answer is not None:
            turn = self.floor.turns[turn.before]
            if turn.command is not None and turn.command.boundary == "append_started" and whose(turn.command) == "own":
                return True
        return False

    def _speaks(self, command: Command) -> bool:
        """Whether a command is of the value, or of the step that uses it, as the machine has it."""
        if command.boundary == "append_completed":
            return True
        if self.kind == "input":
            return command.boundary == RECORD
        if command.boundary == "append_started":
            return whose(command) == "own"
        return isinstance(command, CallModel) or (_place(command.boundary) in WRITES and whose(command) == "other")

    def _place(self, actor: Actor) -> str:
        """Where a worker is: at a command of the value, or wherever its decisions may have brought it."""
        turn = self._turn(actor[0])
        if turn is None or isinstance(turn.command, Claim | None) or self._void(turn):
            return "at:idle"
        ahead = (
            self.kind == "llm"
            and self._speaks(turn.command)
            and _place(turn.command.boundary) in (*WRITES, "call_model")
        )
        return f"next:{turn.command.boundary}" if ahead else "past"

    # What is there.

    def durable(self, state: State) -> dict[str, str]:
        """What the events and the effect store say of the value."""
        events = self.records.events(state)
        step = OTHER if self.kind == "llm" else STEP
        mine = [event for event in events if event.step == step]
        inputs = [event for event in mine if event.type == "command_committed" and "#" in str(event.data["command_id"])]
        answers = [event for event in mine if event.type == "command_committed" and event not in inputs]
        effects = self.floor.shelf.contents["effects"][state.stores[2]]
        assert isinstance(effects, Effects)
        recorded = self.kind == "llm" and any(record.step_id == OTHER for record in effects.records)
        finished = (event.data["result_type"] for event in mine if event.type == "node_finished")
        node = self.kind == "llm" and "success" in finished
        return {
            "job": "completed" if self.floor.acts.stream(state.stores).status == "completed" else "open",
            "effect": self.value if recorded else "none",
            "committed": self.value if (answers if self.kind == "llm" else inputs) else "none",
            "node": "yes" if node else "no",
        }

    def world(self, state: State, names: Letters) -> dict[str, str]:
        """Nothing is compared."""
        return {}


def _place(boundary: str) -> str:
    """The write that a catch-up repeats."""
    return PLACE.get(boundary, boundary)


class OtherReader(RecordedReader):
    """The same, the value being the other one."""

    value = "other"


RECORDED: Final = {
    f"{case}, the {reader.value} value": (case, reader)
    for case in ("inputs", "inputs-lost", "before-llm")
    for reader in (RecordedReader, OtherReader)
}
"""The cases of the step in which a value is recorded, each with the value called the one and the other."""


def recorded_graph(product: Product, reader: type[RecordedReader]) -> Graph:
    """What the code does in a case, beside the step's machine gone through, as a recorded value has it."""
    assert isinstance(product.floor, WideFloor)
    return product.graph(reader(product.floor), recorded_sets())
