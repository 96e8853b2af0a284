"""What undoes a step, as the machine of a compensation has it (`model/compensation.py`): the words beside the step machine, read
otherwise.

The step is seen as its contract sees it, by the readers of recorded events (`semantics_trace`); what a word changes of that, or
of the job, is a step of just one row that does so. What undoes it has every write in place. The machine's worker is at work only
where the compensation is: one that goes on with the step is none to it, and comes back by a claim that is no word of its own.
"""

from collections.abc import Mapping
from typing import Final

from ..model.compensation import build_compensation
from ..model.machine import Machine, Scope
from ..runtime.commands import Append, Claim
from ..runtime.store import VersionConflict
from .conform_follow import PLACE
from .enumerate import Graph, Product
from .enumerate_case import WideCase
from .enumerate_floor import WideFloor
from .enumerate_read import Letters, Reader, Seen
from .enumerate_records import UNDO_KEY, whose
from .enumerate_sets import Reading, Sets
from .explore import Engine
from .interleave_case import STEP
from .interleave_floor import Move, State
from .interleave_steps import Actor
from .interleave_store import Effects, Ledger
from .interleave_turn import Turn
from .semantics_monitor import queues
from .semantics_trace import CompensationReader

UNDOING: Final = ("half-undone-unsure", "retold", "half-undone", "harmless")
"""The cases of the step that are held beside the machine, the smallest first."""
OPTIONAL: Final = "?"
"""How an op begins that may have happened."""
CALL, ACTS = "name:call the compensation", "name:the call acts|the call is recognised"
CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "done": (CALL, ACTS, "name:the callback succeeds"),
    "none": (CALL, "name:the call is refused", "name:the callback refuses"),
    "lost-answer": (CALL, f"{OPTIONAL}{ACTS}", "name:the callback fails|the callback does not answer"),
}
"""What comes of a call, by how it is answered."""
STEPS: Final = "name:step: "
ENDS: Final = (
    "name:decide: terminal|decide: nobody asks|the job ends, and|given up: the job ends|nor did the step|asked for, and"
    "|done, and"
)
"""Rows that end the job."""
LATE: Final = f"{OPTIONAL}name:a late call"
THERE: Final = (f"{OPTIONAL}do:ledger_no_effect", f"{OPTIONAL}do:ledger_unknown")
"""Writes of the machine that the code leaves out where they would change nothing."""
QUEUED: Final = "name:the job is queued again"


class UndoingSets(Sets):
    """The sets of the machine of a compensation. That somebody comes back to it, and then decides, is not seen."""

    def fitting(self, op: str, who: str) -> frozenset[int]:
        """The rules that an op can be."""
        found = super().fitting(op.removeprefix(OPTIONAL), who)
        return found | super().fitting("do:claim", who) if op in ("unverified", "decides") else found

    def _taken(self, op: str, reading: Reading, states: set[int], first: bool) -> list[tuple[int, int, int]]:
        """The steps that an op can be; of one that may not have happened, none as well."""
        steps = super()._taken(op.removeprefix(OPTIONAL), reading, states, first)
        return [*steps, *((state, -1, state) for state in states)] if op.startswith(OPTIONAL) else steps


def undoing_sets(machine: Machine | None = None, engine: Engine | None = None) -> UndoingSets:
    """The sets. engine: the machine's, where there is one already."""
    machine = machine or build_compensation()
    return UndoingSets(machine, [f.name for f in machine.fields if f.scope is Scope.DURABLE], engine)


class UndoingReader(Reader):
    """What the words of a case mean to what undoes its step."""

    floor: WideFloor

    @property
    def declared(self) -> dict[str, str]:
        """Whether an unknown effect may be undone."""
        assert isinstance(self.floor.case, WideCase)
        return {"harmless": "yes" if self.floor.case.undoes == "harmless" else "no"}

    def read(self, state: State, names: Letters, move: Move) -> Seen:
        """What a move can have been."""
        word, after, _, was, now = move
        who, _, what = word.partition(":")
        before, there = self.durable(state), self.durable(after)
        changed = {name for name in there if there[name] != before[name]}
        if who == "clock":
            gone = tuple(f"{OPTIONAL}crash" for _ in self._left(state, names, after))
            ops: tuple[str, ...] = (*gone, f"{OPTIONAL}time")
        elif who == "world":
            acts = bool(self.floor.worlds[after.world].effects) > bool(self.floor.worlds[state.world].effects)
            ops = (f"{OPTIONAL}name:step: acts",) if acts else ("stay",)
        elif who == "person":
            ops = (f"{OPTIONAL}time", *self._said_of(what, changed, there))
        else:
            owner, what = self._parted(word)
            ops = self._did(what, self._turn(was), self._turn(now[0]), changed, there)
            names = (*names, (owner, "")) if owner not in dict(names) else names
        end = "past" if what.endswith(":lost") else self._end(after)  # the machine is behind a write that has landed
        return Seen(Reading(ops, end), self._kept(names, after))

    def _said_of(self, what: str, changed: set[str], there: Mapping[str, str]) -> tuple[str, ...]:
        """What people say of the job."""
        step = (STEPS,) if "original" in changed else ()
        if "asked" in changed:
            return (*step, "name:person: asks for")
        if changed & {"done", "attempt"}:
            return (LATE, *step, "name:resolved: it")
        ended = (ENDS,) if there["job"] == "ended" and "job" in changed else ()
        given = ("name:person: gives",) if "cancel" in changed else ()
        queued = (QUEUED,) if there["job"] == "open" and "job" in changed else ()
        return (*given, *step, *ended, *queued)

    def _did(
        self, what: str, before: Turn | None, then: Turn | None, changed: set[str], there: Mapping[str, str]
    ) -> tuple[str, ...]:
        """A worker's word."""
        boundary, _, fault = what.partition(":")
        command = before.command if before is not None else None
        idle = before is None or isinstance(command, Claim | None) or self._void(before)
        if idle:
            return (f"{OPTIONAL}time",)
        if boundary == "crash" or fault == "down" or _reads_again(boundary, then):
            return (f"{OPTIONAL}crash",)
        mine = fault != "error" and command is not None and whose(command) == "undo"
        if mine and boundary == "compensate":
            ops = CALLS[fault]
        elif mine and changed:
            ops = (f"do:{PLACE.get(boundary, boundary)}",)
        else:
            ops = self._beside(boundary, changed, there)
        gone = then is None or then.command is None
        return (*ops, f"{OPTIONAL}crash") if gone else ops or ("stay",)

    def _beside(self, boundary: str, changed: set[str], there: Mapping[str, str]) -> tuple[str, ...]:
        """A write of the step, or of the job, as far as it changes what the machine has."""
        step = (STEPS,) if "original" in changed else ()
        asks = ("name:the step ends as",) if "asked" in changed else ()
        ledger = (f"do:{boundary}",) if "ledger" in changed else ()
        node = ("do:append_node_finished",) if "node" in changed else ()
        if "job" not in changed:
            return (*step, *asks, *ledger, *node)
        rests = {"ended": (*THERE, ENDS), "parked": (*THERE, "do:park")}
        return (*step, *asks, *ledger, *rests.get(there["job"], (QUEUED,)))

    def _place(self, actor: Actor) -> str:
        """Where a worker is: at a write of what undoes the step, or wherever its decisions may have brought it."""
        turn = self._turn(actor[0])
        if turn is None or isinstance(turn.command, Claim | None) or self._void(turn):
            return "at:idle"
        boundary = turn.command.boundary
        return f"next:{PLACE.get(boundary, boundary)}" if whose(turn.command) == "undo" else "past"

    # What is there.

    def durable(self, state: State) -> dict[str, str]:
        """What the events say, by the reader of recorded ones; the record and the effect record of what undoes the step."""
        reader, events = CompensationReader(STEP), self.records.events(state)
        for index, event in enumerate(events):
            reader.take(event, queues(event, events[index + 1] if index + 1 < len(events) else None))
        contents = self.floor.shelf.contents
        ledger, effects = contents["ledger"][state.stores[1]], contents["effects"][state.stores[2]]
        assert isinstance(ledger, Ledger)
        assert isinstance(effects, Effects)
        status = [record.status for record in ledger.records if record.idempotency_key == UNDO_KEY]
        recorded = any(record.idempotency_key == UNDO_KEY for record in effects.records)
        return {
            **reader.fields(),
            "ledger": status[0].lower() if status else "none",
            "record": "yes" if recorded else "no",
        }

    def world(self, state: State, names: Letters) -> dict[str, str]:
        """Nothing is compared: what the one that undoes has done is what its answers say."""
        return {}


def _reads_again(boundary: str, then: Turn | None) -> bool:
    """Whether a write met another's, and is not simply repeated behind it: its worker begins anew."""
    if then is None or then.answer is None or not isinstance(then.answer.error, VersionConflict):
        return False
    return not (isinstance(then.command, Append) and then.command.boundary == boundary)


def undoing_graph(product: Product) -> Graph:
    """What the code does in a case, beside the step's machine gone through, as what undoes it has it."""
    assert isinstance(product.floor, WideFloor)
    return product.graph(UndoingReader(product.floor), undoing_sets())
