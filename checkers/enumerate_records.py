"""What the stores of an enumerated state hold, as the model has it: the durable fields, by the oracle's own folding.

What undoes a step runs under the step's name and a key of its own. Its records are left out by that key: before its first event
nothing else tells that they are another protocol's.
"""

import json
from typing import Final

from ..runtime.commands import Acquire, Append, CallModel, Command, Execute, PutEffect, Query, Settle, Verify
from ..runtime.contracts.requests import LoadRequest, OpenRequest
from ..runtime.keys import compensation_key, execution_key
from .abstraction import EffectRow, JobLine, LedgerRow, Result, StoredEvent, StoredJob, durable_state, says_failed
from .enumerate_case import OTHER, WideCase
from .interleave_case import JOB, STEP, TOOL
from .interleave_floor import Floor, State
from .interleave_store import Effects, Ledger, Stream
from .interleave_world import result

OWN_KEY: Final = execution_key(JOB, STEP, TOOL, {"step": STEP})
UNDO_KEY: Final = compensation_key(OWN_KEY)


class Records:
    """The contents of a floor's stores, each folded once."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._durable: dict[tuple[int, int, int, bool], dict[str, str]] = {}
        self._unverified: dict[tuple[int, int], bool] = {}
        self._streams: dict[int, tuple[StoredEvent, ...]] = {}

    def durable(self, state: State) -> dict[str, str]:
        """The durable fields. Raises NotAJobError for records that no state of the model stands for."""
        happened = bool(self._floor.worlds[state.world].effects)
        key = (*state.stores[:3], happened)
        if key not in self._durable:
            first = Result(result(1)) if happened else None
            self._durable[key] = durable_state(self._stored(state), STEP, first)
        return self._durable[key]

    def unverified(self, state: State) -> bool:
        """Whether nobody looks at what the step has recorded: there is no verifier, or no change is on record."""
        case = self._floor.case
        if not isinstance(case, WideCase) or not case.confirmed:
            return True
        key = (state.stores[0], state.stores[2])
        if key not in self._unverified:
            mine = [r for r in self._effects(state).records if r.idempotency_key == OWN_KEY]
            told = (e for e in self.events(state) if e.step == STEP)
            changed = any(e.type == "state_changed" or e.data.get("state_changes") for e in told)
            self._unverified[key] = not changed and not any(r.state_changes for r in mine)
        return self._unverified[key]

    def events(self, state: State) -> tuple[StoredEvent, ...]:
        """The event stream."""
        number = state.stores[0]
        if number not in self._streams:
            stream = self._floor.shelf.contents["stream"][number]
            assert isinstance(stream, Stream)
            self._streams[number] = tuple(
                StoredEvent(e.version, e.id, e.type, e.step, e.epoch, json.loads(e.data)) for e in stream.events
            )
        return self._streams[number]

    def _effects(self, state: State) -> Effects:
        effects = self._floor.shelf.contents["effects"][state.stores[2]]
        assert isinstance(effects, Effects)
        return effects

    def _stored(self, state: State) -> StoredJob:
        contents = self._floor.shelf.contents
        stream, ledger = contents["stream"][state.stores[0]], contents["ledger"][state.stores[1]]
        assert isinstance(stream, Stream)
        assert isinstance(ledger, Ledger)
        return StoredJob(
            JOB,
            self.events(state),
            tuple(
                LedgerRow(r.step_id, r.status, r.result, r.idempotency_key)
                for r in ledger.records
                if r.idempotency_key != UNDO_KEY
            ),
            tuple(
                EffectRow(r.step_id, r.output, says_failed(r.metadata), r.idempotency_key)
                for r in self._effects(state).records
                if r.idempotency_key != UNDO_KEY
            ),
            JobLine(stream.status, len(stream.events)),
        )


def whose(command: Command) -> str:
    """Whether a command is this step's or the job's ("own"), another step's ("other"), or of what undoes this one ("undo")."""
    step, key = STEP, OWN_KEY
    match command:
        case Append(boundary=boundary, events=(event, *_)):
            step = event.step or event.data.get("step") or STEP
            if boundary != "park" and event.data.get("compensates") == OWN_KEY:
                return "undo"
        case Acquire(record=record) | PutEffect(record=record):
            step, key = record.step_id, record.idempotency_key
        case Settle(key=settled):
            step, key = STEP if settled in (OWN_KEY, UNDO_KEY) else OTHER, settled
        case CallModel() | LoadRequest() | OpenRequest():
            step = OTHER
        case Execute(context=context) | Query(context=context) | Verify(context=context):
            step = context.step_id
            if command.boundary == "compensate" and step == STEP:
                return "undo"
        case _:
            pass
    if step != STEP:
        return "other"
    return "own" if key == OWN_KEY else "undo"
