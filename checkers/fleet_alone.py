"""One worker of a fleet beside the machine of which the fleet was made: it takes the machine's steps, each of them, and no other.

A fleet's rows are made of one worker's (`model.fleet_build`), for the sake of several workers; what one does alone must not have
become more by it, nor less. Nobody overtakes it, so fences and refusals say nothing. Two things are the fleet's own: a worker
reads the stores before it works, where the machine has it idle still; and it may not have heard yet what a client wrote. From
states of the second kind no step is compared: the worker looks, and goes on from one that is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from ..model.fleet import Fleet, known
from ..model.fleet_rows import WORKERS
from ..model.fleet_shape import FENCES
from ..model.machine import State
from .explore import Space, explore
from .fleet_search import search
from .machines import BEYOND

ALONE: Final = WORKERS[:1]
NAMED: Final = f"{ALONE[0]}."
PLACE: Final = "at"
IDLE: Final = "idle"

Steps = dict[tuple[State, State], str]
"""Steps between states of a machine, each with a row that takes it. What changes nothing there is no step."""


@dataclass(frozen=True)
class Alone:
    """A fleet with what its machine does. states: how many one worker of the fleet comes to."""

    fleet: Fleet
    steps: Steps
    states: int

    def differs(self, mutant: Fleet) -> str:
        """The first step that one worker takes and the machine does not, or else the other way round; "" where there is none.

        Raises ModelError where a fleet can have no such row.
        """
        taken = steps_of(mutant, search(mutant, ALONE, limit=self.states + BEYOND))
        more = next((row for step, row in taken.items() if step not in self.steps), "")
        if more:
            return f"one worker takes a step that its machine does not, by {more}"
        less = next((row for step, row in self.steps.items() if step not in taken), "")
        return less and f"one worker does not take every step of its machine's {less}"


def alone(fleet: Fleet) -> Alone:
    """A fleet's machine, searched."""
    machine = explore(fleet.machine)
    steps = _steps(machine, lambda packed: (machine.packing.unpack(packed), True))
    return Alone(fleet, steps, len(search(fleet, ALONE)))


def steps_of(fleet: Fleet, space: Space) -> Steps:
    """The steps of one worker, read as its machine has them."""
    at = {field.name: n for n, field in enumerate(space.machine.fields)}
    machine = fleet.machine.fields
    places = [at.get(field.name, at.get(f"{NAMED}{field.name}", -1)) for field in machine]
    place = next(n for n, field in enumerate(machine) if field.name == PLACE)
    watched = [(at[name], at[f"{NAMED}{known(name)}"]) for name in fleet.shape.watched]

    @cache
    def read(packed: int) -> tuple[State, bool]:
        state = space.packing.unpack(packed)
        own = [state[n] for n in places]
        own[place] = IDLE if own[place] in FENCES else own[place]
        return tuple(own), own[place] == IDLE or all(state[there] == state[copy] for there, copy in watched)

    return _steps(space, read)


def _steps(space: Space, read: Callable[[int], tuple[State, bool]]) -> Steps:
    """Every step to another state. read: a state as it is compared, and whether steps from it are."""
    rows = space.machine.rules
    found: Steps = {}
    for packed in space.parents:
        before, compared = read(packed)
        for delta, row in space.engine.steps(packed) if compared else ():
            after, _ = read(packed ^ delta)
            if before != after:
                found.setdefault((before, after), rows[row].name)
    return found
