"""The judge of a state: the contents of the stores as rows, and the world's counts, for the judge of crash schedules.

Nothing of the runtime's logic is asked: rows are read as they are stored, effects are counted in the world.
"""

from typing import Final

from ..runtime.store_rules import encode
from .crash_judge import AT_REST, ENDS, Durable, Named, beyond_the_end, broken_at_rest, broken_now
from .interleave_floor import Floor, State
from .interleave_store import NAMES, Effects, Ledger, Stream

UNSETTLED: Final = {
    "parked": ("INFLIGHT", "NO_EFFECT"),
    "failed": ("INFLIGHT",),
    "cancelled": ("INFLIGHT", "UNKNOWN"),
}
"""What the ledger cannot say of the step of a job at rest (P6)."""


def unsettled(durable: Durable, ledger: str) -> bool:
    """Whether a job of one step is at rest, and the ledger speaks of one that is under way."""
    return ledger in UNSETTLED.get(durable.status, ())


class Judge:
    """What is wrong with the states of a floor; each content of stores and world is judged once."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._judged: dict[tuple[int, ...], tuple[str, ...]] = {}

    def problems(self, state: State) -> tuple[str, ...]:
        """What is wrong in this state, whatever the workers know."""
        key = (*state.stores[:3], self._floor.acts.judged[state.world])
        if key not in self._judged:
            world = self._floor.worlds[state.world]
            durable = self.durable(state)
            rests = durable.status in AT_REST
            found = (broken_at_rest if rests else broken_now)(durable, world.witnessed)
            found += beyond_the_end([row[2] for row in durable.events])
            found += [
                f"P6: the job is {durable.status}, and the ledger says {s}"
                for _, s, _ in durable.ledger
                if unsettled(durable, s)
            ]
            self._judged[key] = tuple(dict.fromkeys(found))
        return self._judged[key]

    def durable(self, state: State) -> Durable:
        """The contents as rows."""
        contents = self._floor.shelf.contents
        stream, ledger, effects = (
            contents[name][number] for name, number in zip(NAMES[:3], state.stores[:3], strict=True)
        )
        assert isinstance(stream, Stream)
        assert isinstance(ledger, Ledger)
        assert isinstance(effects, Effects)
        return Durable(
            stream.status,
            len(stream.events),
            tuple((e.version, e.id, e.type, e.step, e.epoch, e.data) for e in stream.events),
            tuple((r.step_id, r.status, encode(r.result)) for r in ledger.records),
            tuple((r.step_id, encode(r.output)) for r in effects.records),
            state.at,
            tuple((r.job_id, r.idempotency_key, r.invocation_id) for r in ledger.records),
            (
                *(Named(r.step_id, r.idempotency_key, "ledger", r.external_id) for r in ledger.records),
                *(
                    Named(r.step_id, r.idempotency_key, "effect record", r.metadata["external_id"])
                    for r in effects.records
                ),
            ),
        )

    def ended(self, state: State) -> str:
        """How the job stands, with its effects."""
        status = self.durable(state).status
        word = status if status in ENDS else f"{status} still"
        return f"{word}/{len(self._floor.worlds[state.world].effects)}"
