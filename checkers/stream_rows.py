"""The records of a job of a stream, by step: what ledger and effect store hold beside its events."""

from collections.abc import Container, Iterable, Mapping
from typing import Final

from .abstraction import LEDGER, EffectRow, Json, LedgerRow, compensation_key
from .semantics_trace import Beside
from .stream_fence import kind_of
from .stream_lines import Records
from .stream_step import STEP


class Rows:
    """The records of a job, by step."""

    def __init__(self, records: Records | None) -> None:
        self.ledger: dict[str, list[LedgerRow]] = {}
        self.effects: dict[str, list[EffectRow]] = {}
        self.undoing: set[str] = set()
        for held in records.ledger if records else ():
            self.ledger.setdefault(held.step, []).append(held)
            self.undoing.add(compensation_key(held.key))
        for effect in records.effects if records else ():
            self.effects.setdefault(effect.step, []).append(effect)
        self.held = records

    def stray(self, nodes: Mapping[str, Mapping[str, Json]]) -> str | None:
        """What is of no node of the plan, or of no status; None if nothing is. nodes: of the plan, none before it is there."""
        if self.held is None:
            return None
        kinds = {name: kind for name, node in nodes.items() if (kind := kind_of(node)) != "wait"}
        for held in self.held.ledger:
            if kinds.get(held.step) != "tool":
                return f"a ledger record is of {held.step!r}, which is no step of the plan"
            if held.status not in LEDGER:
                return f"step {held.step!r}: ledger status {held.status!r} is none of {', '.join(LEDGER)}"
        for effect, kind in zip(self.held.effects, self.held.kinds, strict=True):
            if kinds.get(effect.step) != kind:
                return f"an effect record of kind {kind!r} is of {effect.step!r}, which is no such node of the plan"
        return None

    def first_effects(self) -> list[EffectRow]:
        """The effects of the steps, without those of their compensations."""
        return [row for rows in self.effects.values() for row in rows if row.key not in self.undoing]

    def of(self, step: str, undo_keys: set[Json]) -> tuple[tuple[LedgerRow, ...], tuple[EffectRow, ...]]:
        """The records of a step, without those of its compensation, which is acquired before any event names its key."""
        others = self.undoing, undo_keys
        ledger = tuple(row for row in self.ledger.get(step, ()) if not _held(row.key, others))
        return ledger, tuple(row for row in self.effects.get(step, ()) if not _held(row.key, others))

    def came_to(self, step: str, undo_keys: set[Json]) -> list[Json]:
        """What the records of a step's compensation say that it has come to."""
        mine = self.undoing, undo_keys
        ledger = [row.result for row in self.ledger.get(step, ()) if _held(row.key, mine) and row.status == "COMMITTED"]
        return [*ledger, *(row.output for row in self.effects.get(step, ()) if _held(row.key, mine))]

    def renamed(self, step: str) -> Beside:
        """All records of a step, as those of the stand-in that the remembered reader speaks of."""
        ledger = tuple((STEP, row.key, row.status) for row in self.ledger.get(step, ()))
        return Beside(ledger, tuple((STEP, row.key, "tool", row.output) for row in self.effects.get(step, ())), ())


def _held(key: str, sets: Iterable[Container[Json]]) -> bool:
    """Whether one of some sets has a key. They are as long as the plan: for each step they are not put together."""
    return any(key in each for each in sets)


NO_ROWS: Final = Rows(None)
