"""What a tool is told of a call in a schedule, compared with the stores as they are then (P14; `standing`).

Neither the states nor the machines know it, so each command that calls a tool is looked at where a worker is about to perform it.
"""

import json

from ..runtime.commands import Execute, Query
from .conform_calls import called
from .conform_world import UNDOING
from .interleave_case import JOB
from .interleave_floor import Floor, Move, State
from .interleave_store import Ledger, Stream
from .standing import Stand, misled, stood


class Calls:
    """The calls of a floor, each compared once with each content of the stores."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._stands: dict[tuple[int, int], Stand] = {}
        self._wrong: dict[tuple[int, int, int], str] = {}

    def problems(self, state: State, move: Move) -> tuple[str, ...]:
        """What is wrong with the call that a worker makes by a move, if it makes one."""
        if move.was < 0 or not isinstance(self._floor.turns[move.was].command, Execute | Query):
            return ()
        key = (move.was, *state.stores[:2])
        if key not in self._wrong:
            self._wrong[key] = self._misled(state, move.was)
        return (self._wrong[key],) if self._wrong[key] else ()

    def _misled(self, state: State, number: int) -> str:
        turn = self._floor.turns[number]
        command = turn.command
        assert isinstance(command, Execute | Query)
        assert turn.lease is not None
        asker = turn.lease.epoch if isinstance(command, Query) else None
        undoing = command.tool.name.endswith(UNDOING)
        wrong = misled(called(command.context), self._stand(state), undoing, asker)
        return wrong and f"P14: {command.boundary} {wrong}"

    def _stand(self, state: State) -> Stand:
        key = state.stores[:2]
        if key not in self._stands:
            contents = self._floor.shelf.contents
            stream, ledger = contents["stream"][key[0]], contents["ledger"][key[1]]
            assert isinstance(stream, Stream)
            assert isinstance(ledger, Ledger)
            events = ((each.step, each.epoch, each.type, json.loads(each.data)) for each in stream.events)
            held = ((each.step_id, each.idempotency_key, each.invocation_id) for each in ledger.records)
            self._stands[key] = stood(JOB, events, held, 0)
        return self._stands[key]
