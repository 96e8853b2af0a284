"""What two workers of a fleet can do, as far as anybody reads it: the steps of their search, but for what is dead."""

from functools import cache

from crashwindow.checkers.explore import Space
from crashwindow.checkers.fleet_live import Live, Spot
from crashwindow.model.fleet_rows import WORKERS
from crashwindow.model.fleet_shape import STORES

Seen = tuple[str, ...]


def steps(space: Space, live: Live) -> set[tuple[Seen, Seen]]:
    """From which states to which others, whatever row leads there; and of each state that it is there."""
    names = [field.name for field in space.machine.fields]

    @cache
    def read(packed: int) -> Seen:
        state = dict(zip(names, space.packing.unpack(packed), strict=True))
        for x in WORKERS:
            spot = Spot(state[f"{x}.at"], frozenset(s for s in STORES if state[f"{x}.stands_{s}"] == "yes"))
            mine = [name for name in names if name.startswith(f"{x}.") and not name.startswith(f"{x}.stands_")]
            state |= {name: "dead" for name in mine if name.partition(".")[2] not in live[spot]}
        return tuple(state.values())

    found = {(read(state), read(state)) for state in space.states}
    return found | {
        (read(state), read(state ^ delta)) for state in space.states for delta, _ in space.engine.steps(state)
    }
