"""What undoes a step, as the machine of a compensation has it (`model/compensation.py`): the words beside the step machine, read
otherwise.

The step is seen as its contract sees it, by the readers of recorded events (`semantics_trace`); what a word changes of that, or
of the job, is a step of just one row that does so. What undoes it has every write in place. The machine's worker is at work only
where the compensation is, from the command at which the code comes to that; one that is at something else is none to it.
"""

from collections.abc import Mapping
from typing import Final

from ..model.compensation import build_compensation
from ..model.machine import Machine, Scope
from ..runtime.commands import Append, Command, Pause, Query, Renew
from ..runtime.store import StaleEpoch, VersionConflict
from .conform_follow import PLACE, merged
from .enumerate_beside import BesideReader
from .enumerate_certain import CertainSets, Runs
from .enumerate_read import UNSEEN, Letters, Seen
from .enumerate_records import OWN_KEY, UNDO_KEY, whose
from .enumerate_sets import Layer, Reading
from .enumerate_undoing_floor import UndoingFloor
from .explore import Engine
from .interleave_case import STEP
from .interleave_floor import Move, State
from .interleave_store import Effects, Ledger
from .interleave_turn import Turn
from .semantics_monitor import queues
from .semantics_trace import CompensationReader

AT: Final[Mapping[str, str]] = {
    "acquire": "acquire",
    "append_compensation_started": "start",
    "put_effect": "put_record",
    "append_compensated": "append_compensated",
    "append_committed": "append_committed",
    "commit": "commit",
    "append_node_finished": "append_node",
    "ledger_no_effect": "past",  # what was acquired before is settled by whoever comes to rest, too
    "ledger_unknown": "ledger_unknown",
    "query": "park",
    "append_resolved": "park",
    "schedule_retry": "park",
    "park": "park",
}
"""Where a worker is that comes to such a command of what undoes the step."""
FAILED: Final = {"no_effect": "append_no_effect", "unknown": "append_lost"}
"""The same of `append_compensation_failed`, by what it says."""
HEARS: Final[Mapping[str, tuple[str, ...]]] = {
    "undone": ("name:the callback succeeds",),
    "not-undone": ("name:the callback refuses",),
    "unheard": ("name:the callback fails|the callback does not answer",),
}
WORLD: Final = {
    "undo:acts": "the call acts|the call is recognised",
    "undo:refused": "the call is refused",
    "late:acts": "a late call acts|a late call is recognised",
    "late:nothing": "a late call comes to nothing",
}
THERE: Final = ("?do:put_effect", "?do:commit", "?do:ledger_no_effect", "?do:ledger_unknown")
"""Writes of the machine that the code leaves out where they would change nothing."""
OPTIONAL: Final = "?"
"""How an op begins that may have happened."""
BEHIND: Final = {
    "append_node_finished": "idle",
    **dict.fromkeys(("ledger_unknown", "append_resolved", "query"), "park"),
}
"""Where a worker is behind such a command of what undoes the step, about something else."""
QUIET: Final = "name:the original can act no more"
STEPS: Final = "name:step: "
ASKS: Final = "name:the step ends as"
ENDS: Final[Mapping[str, str]] = {
    "job_completed": "name:decide: terminal|decide: nobody asks",
    "job_failed": "name:decide: terminal|decide: nobody asks|the job ends, and|nor did the step|asked for, and there",
    "job_cancelled": "name:decide: terminal|decide: nobody asks|given up: the job ends|asked for, and given up|done, and",
}
"""Rows that end the job, by the event that says so."""
QUEUED: Final = "name:the job is queued again"


class UndoingSets(CertainSets):
    """The sets of the machine of a compensation. Some ops may have happened, or not: where the worker is then tells which."""

    def fitting(self, op: str, who: str) -> frozenset[int]:
        """The rules that an op can be."""
        return super().fitting(op.removeprefix(OPTIONAL), who)

    def _taken(self, op: str, reading: Reading, states: set[int], first: bool) -> Layer:
        layer = super()._taken(op.removeprefix(OPTIONAL), reading, states, first)
        if not op.startswith(OPTIONAL):
            return layer
        return layer._replace(steps=[*layer.steps, *((state, -1, state) for state in states)])

    def _performed(self, op: str, reading: Reading, runs: Runs, first: bool) -> Runs:
        found = super()._performed(op.removeprefix(OPTIONAL), reading, runs, first)
        return merged([*found.items(), *runs.items()]) if op.startswith(OPTIONAL) else found


def undoing_sets(machine: Machine | None = None, engine: Engine | None = None) -> UndoingSets:
    """The sets of the machine of a compensation. engine: its engine, where there is one already."""
    machine = machine or build_compensation()
    compared = [f.name for f in machine.fields if f.scope is Scope.DURABLE]
    return UndoingSets(machine, [*compared, "deed", "request", "late", "undone"], engine)


class UndoingReader(BesideReader):
    """What the words of a case mean to what undoes its step."""

    floor: UndoingFloor

    @property
    def declared(self) -> dict[str, str]:
        """Whether an unknown effect may be undone."""
        return {"harmless": "yes" if self.floor.case.undoes == "harmless" else "no"}

    def read(self, state: State, names: Letters, move: Move) -> Seen:
        """What a move can have been."""
        word, after, _, was, now = move
        who, _, what = word.partition(":")
        before, there = self.told(state), self.told(after)
        changed = {name for name in there if there[name] != before[name]}
        if who == "clock":
            quiet = self._quiet(state) if self.floor.quiet(after) and not self.floor.quiet(state) else ()
            ops: tuple[str, ...] = (
                *(op for turn in self.gone(state, after) for op in self._crash(turn, state)),
                *quiet,
            )
        elif who == "world":
            ops = self._world(what, state, after)
        elif who == "person":
            ops = self._said_of(what, changed, there)
        else:
            owner, what = self._parted(word)
            self.turns.add(max(now[0], -1))
            ops = self._did(what, self._turn(was), self._turn(now[0]), changed, state, after)
            names = (*names, (owner, "")) if owner not in dict(names) else names
        return Seen(Reading(ops or ("stay",), self._where(after)), self._kept(names, after))

    def _quiet(self, state: State) -> tuple[str, ...]:
        """A park's quiet time is over: the step can act no more, unless that is so since another park."""
        if self.told(state)["original"] != "unknown":
            return ()
        types = [(event.type, event.step) for event in self.records.events(state)]
        began = max((at for at, each in enumerate(types) if each == ("tool_invocation_started", STEP)), default=0)
        parks = sum(kind == "job_parked" for kind, _ in types[began:])
        return (QUIET,) if parks == 1 else ("time",)

    def _world(self, what: str, state: State, after: State) -> tuple[str, ...]:
        if what in WORLD:
            return (f"name:{WORLD[what]}",)
        return ("name:step: acts",) if self.acted(state, after) else ()

    def _said_of(self, what: str, changed: set[str], there: Mapping[str, str]) -> tuple[str, ...]:
        """What people say of the job."""
        step = (STEPS,) if "original" in changed else ()
        if "asked" in changed:  # of a step that is in doubt once it is known that it can act no more
            return (*step, f"{OPTIONAL}{QUIET}", "name:person: asks for")
        if changed & {"done", "attempt"}:
            return (*step, "name:resolved: it")
        ended = (ENDS["job_cancelled"],) if there["job"] == "ended" and "job" in changed else ()
        given = ("name:person: gives",) if "cancel" in changed else ()
        queued = (QUEUED,) if there["job"] == "open" and "job" in changed else ()
        return (*given, *step, *ended, *queued)

    def _did(
        self, what: str, before: Turn | None, then: Turn | None, changed: set[str], state: State, after: State
    ) -> tuple[str, ...]:
        """A worker's word."""
        if before is None or self.idle(before):
            return ()
        if what == "crash":
            return self._crash(before, state)
        command = before.command
        assert command is not None
        there, comes = self.told(after), self._left_out(before, then)
        if _reads_again(what, then):
            return self._crash(before, state)
        if what in UNSEEN or _refused(then):
            ops: tuple[str, ...] = ()
        elif self._undoes(command):
            ops = self._undid(what, command, changed, there)
        else:
            ops = self._beside(before, changed, after)
        gone = (then is None or then.command is None) and there["job"] == "open"
        return (*ops, *comes, *((f"{OPTIONAL}crash",) if gone else ()))

    def _undid(self, what: str, command: Command, changed: set[str], there: Mapping[str, str]) -> tuple[str, ...]:
        """A command of what undoes the step."""
        if what in HEARS:
            return HEARS[what]
        if what == "compensate":
            return ("name:call the compensation",)
        if what in ("query", "append_resolved"):
            return ("name:query: it",) if changed else ()
        if what == "append_node_finished":
            return ("do:append_node_finished",)
        return (f"do:{_write(what)}",)

    def _beside(self, before: Turn, changed: set[str], after: State) -> tuple[str, ...]:
        """A write of the step, or of the job, as far as it changes what the machine has."""
        there = self.told(after)
        step = (STEPS,) if "original" in changed else ()
        asks = (ASKS,) if "asked" in changed else ()
        if "job" not in changed:
            return (*step, *asks)
        if there["job"] == "open":
            return (*step, *asks, QUEUED)
        comes = THERE if self._place_of(before) in ("idle", "past") else ()
        return (*step, *asks, *comes, ENDS[self._last(after)] if there["job"] == "ended" else "do:park")

    def _last(self, state: State) -> str:
        """The newest event's type."""
        return self.records.events(state)[-1].type

    def _left_out(self, before: Turn, then: Turn | None) -> tuple[str, ...]:
        """What a worker leaves out that comes to what undoes the step, or to the job's park for it."""
        if then is None or then.command is None or not self._undoes(then.command):
            return ()
        before_it = self._place_of(before)
        return THERE if before_it in ("idle", "past") or self._place_of(then) == "park" != before_it else ()

    def _crash(self, turn: Turn | None, state: State) -> tuple[str, ...]:
        """A worker is gone."""
        if turn is None or self.idle(turn):
            return ()
        return {"idle": (), "past": (f"{OPTIONAL}crash",)}.get(self._stands(turn, state), ("crash",))

    def _undoes(self, command: Command) -> bool:
        """Whether a command is of what undoes the step, or says what becomes of the job by it."""
        if isinstance(command, Append):
            event, said = command.events[0], command.events[0].data
            done = command.boundary == "append_node_finished" and said.get("result_type") == "compensated"
            return (done and event.step == STEP) or said.get("compensates") == OWN_KEY
        if isinstance(command, Query):
            return command.tool.name.endswith("#compensation") and command.context.step_id == STEP
        return whose(command) == "undo"

    def _place_of(self, turn: Turn) -> str:
        """Where a worker is: at a command of what undoes the step; behind it, where that is over; or it is none to the
        machine.
        """
        command = turn.command
        if command is not None and self._undoes(command):
            if command.boundary == "append_compensation_failed":
                assert isinstance(command, Append)
                return FAILED[str(command.events[0].data["outcome"])]
            if command.boundary == "compensate":
                return "call"
            return AT[_write(command.boundary)]
        if isinstance(command, Renew | Pause):
            return "past"
        while turn.answer is not None:
            told, turn = turn, self.floor.turns[turn.before]
            if turn.command is None or _reads_again(turn.command.boundary, told):
                break
            if self._undoes(turn.command):
                return BEHIND.get(turn.command.boundary, "past")
        return "idle"

    def _stands(self, turn: Turn, state: State) -> str:
        """Where a worker is. Behind an attempt that did nothing, one that has read the events may have decided by now: what is
        asked for meanwhile it has not read.
        """
        place = self._place_of(turn)
        may = place == "idle" and not self.unread(turn) and self.told(state)["attempt"] in ("closed", "disproved")
        return "past" if may else place

    def _where(self, state: State) -> str:
        """Where the only worker is."""
        actor = max(state.actors, default=(-1, ""))
        turn = self._turn(actor[0])
        if turn is None or self.idle(turn) or self.told(state)["job"] != "open":
            return "at:idle"
        place = self._stands(turn, state)
        if place == "past":
            return place
        return "at:await" if place == "call" and actor[1] == "sent" else f"at:{place}"

    # What is there.

    def fold(self, state: State) -> dict[str, str]:
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
        """What the world has done, and what may act still."""
        world = self.floor.worlds[state.world]
        return {
            "deed": "done" if world.effects else "none",
            "request": world.call or "none",
            "late": str(world.late),
            "undone": str(world.undone),
        }


def _write(boundary: str) -> str:
    """The write of the machine that a boundary is, or repeats behind a crash."""
    return "append_compensated" if boundary == "catch_up_finished" else PLACE.get(boundary, boundary)


def _refused(then: Turn | None) -> bool:
    """Whether a store has refused a command of a worker that was overtaken, by another or by what somebody said."""
    error = then.answer.error if then is not None and then.answer is not None else None
    return isinstance(error, StaleEpoch | VersionConflict)


def _reads_again(boundary: str, then: Turn | None) -> bool:
    """Whether a write met another's, and is not simply repeated behind it: its worker begins anew."""
    if then is None or then.answer is None or not isinstance(then.answer.error, VersionConflict):
        return False
    return not (isinstance(then.command, Append) and then.command.boundary == boundary)
