"""What a tool is told of a call in a schedule, and what is recorded of what it told, compared with stores and tool (P14, P8).

Neither the states nor the machines know either, so each command that calls a tool (`standing`), or that records a success, is
looked at where a worker is about to perform it. It adds no state.
"""

import json
from collections.abc import Iterator

from ..runtime.commands import Append, Execute, PutEffect, Query
from .command_changes import RESOLVED, Success, successes
from .conform_calls import called
from .conform_world import UNDOING
from .crash_witness import text_of
from .interleave_case import JOB
from .interleave_floor import Floor, Move, State
from .interleave_store import Ledger
from .standing import Stand, misled, stood


class Calls:
    """The calls of a floor, and what it records of them; each compared once with each content of the stores."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._stands: dict[tuple[int, int], Stand] = {}
        self._wrong: dict[tuple[int, int, int], str] = {}
        self._unlike: dict[int, tuple[Success, ...]] = {}

    def problems(self, state: State, move: Move) -> tuple[str, ...]:
        """What is wrong with the call that a worker makes by a move, or with the success that it records."""
        if move.was < 0:
            return ()
        command = self._floor.turns[move.was].command
        if isinstance(command, Append | PutEffect) and f":{command.boundary}" in move.word:
            return tuple(self._altered(state, move.was, command))
        if not isinstance(command, Execute | Query):
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
            stream, ledger = self._floor.acts.stream(state.stores), self._floor.shelf.contents["ledger"][key[1]]
            assert isinstance(ledger, Ledger)
            events = ((each.step, each.epoch, each.type, json.loads(each.data)) for each in stream.events)
            held = ((each.step_id, each.idempotency_key, each.invocation_id) for each in ledger.records)
            self._stands[key] = stood(JOB, events, held, 0)
        return self._stands[key]

    def _altered(self, state: State, number: int, command: Append | PutEffect) -> Iterator[str]:
        """P8: a success recorded with other state changes than its tool told; only what is recorded is looked at later."""
        tells = self._floor.acts.site.tells
        if number not in self._unlike:
            every = successes(command)
            self._unlike[number] = tuple(each for each in every if each.changes != tells(each.step, each.failed))
        for each in self._unlike[number]:
            if each.changes or not self._by_person(state, each.step):
                found, due = text_of(list(each.changes)), text_of(list(tells(each.step, each.failed)))
                yield f"P8: {command.boundary} records {each.record} with the state changes {found}, and the tool told {due}"

    def _by_person(self, state: State, step: str) -> bool:
        """Whether a person has said that a step happened, who knows no changes."""
        stream = self._floor.acts.stream(state.stores)
        told = (json.loads(event.data) for event in stream.events if (event.type, event.step) == (RESOLVED, step))
        return any(said["by"] == "person" and said["answer"] == "happened" for said in told)
