"""A word of a schedule, read as the model has it: what was performed, what became of it, and what stores and world hold then.

The durable fields follow from the records by the oracle's own folding (`abstraction`); the requests on the wire, and how
often the effect happened, from the world. What a command was answered is read from the turn that was told it.
"""

import json
from typing import Final

from ..runtime.commands import Acquire, Append, Command, Execute, Pause, PutEffect, Query, Renew, Settle, Verify
from ..runtime.drive import AT_REST
from ..runtime.store import StaleEpoch, VersionConflict
from ..runtime.store_rules import encode
from .abstraction import EffectRow, JobLine, LedgerRow, Result, StoredEvent, StoredJob, durable_state, says_failed
from .enumerate_sets import GONE, Reading
from .interleave_case import JOB, STEP, Case
from .interleave_floor import Floor, State
from .interleave_steps import Actor
from .interleave_store import Effects, Ledger, Stream
from .interleave_turn import LOST, Turn
from .interleave_world import World, result

HEARD: Final = {
    "answer": ("name:reply: result|reply: partial effect|reply: another",),
    "refused": ("name:world: refuses", "name:reply: no effect"),
    "timeout": ("name:no reply",),
}
"""What a worker hears of its request, by how the rules begin."""
SAID: Final = {
    "resolve": "person: happened|person: did not happen|elsewhere: resolved",
    "cancel": "client: cancels",
    "accept": "person: accepts the record",
    "undo": "person: has it compensated",
    "signal": "elsewhere: signalled",
}
"""What people and clients do, likewise."""
ELSEWHERE: Final = {"park": "job_parked", "append_failed": "job_failed", "append_waiting": "job_waiting",
                    "append_cancelled": "job_cancelled", "requeue": "job_requeued"}  # fmt: skip
"""The events by which another step changes the job."""
COMPARED: Final = ("request", "wire", "effects")


def declared(case: Case) -> dict[str, str]:
    """A case's tool as the model's configuration fields."""
    return {"idempotent": "yes" if case.idempotent else "no", "on_unknown": case.on_unknown, "look": case.look}


class Reader:
    """What a floor's words mean, for one worker at a time."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        self._durable: dict[tuple[int, int, int, bool], dict[str, str]] = {}
        self._streams: dict[int, tuple[StoredEvent, ...]] = {}

    # What is there.

    def durable(self, state: State) -> dict[str, str]:
        """The durable fields. Raises NotAJobError."""
        happened = bool(self.floor.worlds[state.world].effects)
        key = (*state.stores[:3], happened)
        if key not in self._durable:
            first = Result(result(1)) if happened else None
            self._durable[key] = durable_state(self._stored(state), STEP, first)
        return self._durable[key]

    def _stored(self, state: State) -> StoredJob:
        contents = self.floor.shelf.contents
        stream, ledger, effects = (contents[name][n] for name, n in zip(("stream", "ledger", "effects"), state.stores[:3], strict=True))  # type: ignore[index]
        assert isinstance(stream, Stream)
        assert isinstance(ledger, Ledger)
        assert isinstance(effects, Effects)
        number = state.stores[0]
        if number not in self._streams:
            self._streams[number] = tuple(StoredEvent(e.version, e.id, e.type, e.step, e.epoch, json.loads(e.data)) for e in stream.events)
        return StoredJob(
            JOB,
            self._streams[number],
            tuple(LedgerRow(r.step_id, r.status, r.result, r.idempotency_key) for r in ledger.records),
            tuple(EffectRow(r.step_id, r.output, says_failed(r.metadata), r.idempotency_key) for r in effects.records),
            JobLine(stream.status, len(stream.events)),
        )

    def world(self, state: State) -> dict[str, str]:
        """The world's fields that can be counted: the living worker's request, those of others, the effects."""
        world = self.floor.worlds[state.world]
        mine = self._own(state, world)
        wire = sum(not r.effect and r.until > 0 and (r.epoch, r.attempt) > world.fence for r in world.pending if r is not mine)
        return {"request": told(mine, world), "wire": str(min(wire, 2)), "effects": str(min(len(world.effects), 2))}

    def _own(self, state: State, world: World):  # type: ignore[no-untyped-def]
        for number, phase in state.actors:
            if phase == "sent":
                command = self.floor.turns[number].command
                assert isinstance(command, Execute)
                return world.find(command.context.fencing_token, command.context.attempt)
        return None

    # What was done.

    def reading(self, state: State, word: str, after: State) -> Reading:
        """What a word can have been in the model of one worker."""
        who, what = word.partition(":")[::2]
        if who == "world":
            return Reading(("name:world: ",), self._end(after))
        if who == "clock":
            return Reading((*("gone",) * len(self.floor.worlds[state.world].pending), "time"), self._end(after))
        if who == "person":
            return Reading((f"name:{SAID[what]}",), self._end(after))
        before, then = self._turn(state), self._turn(after)
        ops = self._ops(what, before, then)
        if before is not None and before.command is not None and "crash" not in ops and self._stopped(state, word, then):
            ops = (*ops, "crash")
        return Reading(ops, self._end(after))

    def _turn(self, state: State) -> Turn | None:
        number = state.actors[0][0] if state.actors else -1
        return self.floor.turns[number] if number >= 0 else None

    def _stopped(self, state: State, word: str, then: Turn | None) -> bool:
        """Whether the driver let go. One that has nothing to release is nobody's turn any more: its step is looked up."""
        if then is None:
            steps = self.floor.steps._next(state.actors[0], state.stores, state.world, state.at)
            then = next((self.floor.turns[step.actor[0]] for step in steps if step.word == word and step.actor[0] >= 0), None)
        return then is not None and then.stopped

    def _ops(self, what: str, before: Turn | None, then: Turn | None) -> tuple[str, ...]:
        boundary, _, fault = what.partition(":")
        if boundary in HEARD:
            return HEARD[boundary]
        command = before.command if before is not None else None
        if boundary == "crash":
            return ("stay",) if command is None else ("crash",)
        if boundary in ("release", "look", "heartbeat", "pause") or fault == "error":
            return ("stay",)
        if fault == "down":
            return ("stay",) if boundary == "claim" else ("crash",)
        if fault == "lost":
            return (f"lost:{boundary}",)
        error = then.answer.error if then is not None and then.answer is not None else None
        if isinstance(error, StaleEpoch):
            return ("crash",)
        if isinstance(error, VersionConflict):
            return ("crash", "do:claim") if then is not None and then.command is not None and then.command.boundary == "fence_events" else ("stay",)
        return (f"do:{boundary}",)

    def _end(self, state: State) -> str:
        """Where the worker is."""
        if not state.actors or state.actors[0][0] < 0:
            return "at:idle"
        number, phase = state.actors[0]
        command = self.floor.turns[number].command
        if command is None:
            return "at:idle"
        if phase == "sent":
            return "at:await_reply"
        return "any" if isinstance(command, Pause | Renew) else f"next:{command.boundary}"


def told(request, world: World) -> str:  # type: ignore[no-untyped-def]
    """The living worker's request in the model's words."""
    if request is None:
        return "none"
    if request.effect:
        return "first" if request.effect == 1 else "other"
    return "sent" if request.until > 0 and (request.epoch, request.attempt) > world.fence else "refused"
