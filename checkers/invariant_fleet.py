"""An invariant of any number of workers that nobody wrote, found in the reachable states of two.

A candidate says of each worker, and of what is shared, what is true of either of two: `invariant_search.py`, with a worker's
fields and whether it stands in each store. It takes the place of one worker's clauses and of the coupling. What stays written
is how epochs and fences compare (`epoch_facts`): they are numbers, of which there are infinitely many, and two workers are
compared there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.fleet import OWN, Fleet, stands
from ..model.fleet_properties import Never
from ..model.fleet_shape import STORES
from ..model.machine import Field, Scope, show
from ..model.properties import Property
from .explore import Space
from .invariant_candidates import Reached
from .invariant_search import ROUNDS
from .proof_cache import BUDGET
from .prove_fleet import FleetProof, prove_asked
from .prove_fleet_encode import NAMED
from .prove_fleet_obligations import Obligations
from .prove_fleet_solve import shown_fleet

STANDS: Final = tuple(stands(store) for store in STORES)


@dataclass(frozen=True)
class FleetSearch:
    """What a search came to: clauses about each worker, the distinct states of one among two, rounds, states shown, the proof."""

    clauses: tuple[Never, ...]
    states: int
    rounds: int
    shown: int
    proof: FleetProof
    stuck: str = ""

    @property
    def holds(self) -> bool:
        """Whether everything is proved, over what was found alone."""
        return self.proof.holds and not self.stuck


def find_fleet_invariant(
    fleet: Fleet, properties: Sequence[Property], space: Space, workers: Sequence[str], budget: int = BUDGET
) -> FleetSearch:
    """Clauses over which P5 and `properties` are proved of a fleet, found in the space of some workers."""
    fields = _fields(fleet)
    reached = Reached.of(fields, _seen(fleet, space, workers))
    order = [f.name for f in reversed(fields)]
    clauses: dict[str, Never] = {}
    shown = rounds = 0
    stuck = ""
    while not stuck and rounds < ROUNDS:
        rounds += 1
        asked = Obligations(fleet, properties, (), tuple(clauses.values()))
        questions = [o for o in asked.all() if o.expected == "unsat"]
        results = list(shown_fleet(asked.state, asked.known(), questions, budget))
        failing = [r for r in results if not r.met]
        for r in failing:
            shown += 1
            views = _views(fleet, r.state) if r.answer == "sat" else []
            found = [never for view in views if (never := reached.excluding(view, order)) is not None]
            clauses |= {show(never): Never(show(never), never, "found") for never in found}
            if not found:
                stuck = stuck or f"{r.obligation.name}: {r.answer}, of workers that are like one of two"
        if not failing:
            break
    found_all = tuple(clauses.values())
    proof = prove_asked(Obligations(fleet, properties, (), found_all), budget=budget)
    return FleetSearch(found_all, reached.states, rounds, shown, proof, stuck)


def _fields(fleet: Fleet) -> list[Field]:
    """What is shared, and what is one worker's."""
    own = [Field(f"{OWN}{f.name}", f.scope, f.values, f.meaning, count=f.count) for f in fleet.own]
    standing = [Field(name, Scope.VOLATILE, ("no", "yes"), "its epoch is not below the fence") for name in STANDS]
    return [*fleet.shared, *own, *standing]


def _seen(fleet: Fleet, space: Space, workers: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each state of the space, as it is to each worker."""
    domains = [f.values for f in space.machine.fields]
    places = {f.name: n for n, f in enumerate(space.machine.fields)}
    ways = [
        [places[f.name.replace(OWN, f"{x}.", 1) if f.name.startswith(OWN) else f.name] for f in _fields(fleet)]
        for x in workers
    ]
    assert domains
    for packed in space.states:
        state = space.packing.unpack(packed)
        for way in ways:
            yield tuple(state[n] for n in way)


def _views(fleet: Fleet, state: Mapping[str, str]) -> list[dict[str, str]]:
    """A solver's state, as it is to each of the named workers."""
    shared = {f.name: _saturated(f, state[f.name]) for f in fleet.shared}
    found = []
    for x in NAMED:
        own = {f"{OWN}{f.name}": _saturated(f, state[f"{x}.{f.name}"]) for f in fleet.own}
        above = {stands(s): "yes" if int(state[f"{x}.epoch"]) >= int(state[f"fence {s}"]) else "no" for s in STORES}
        found.append({**shared, **own, **above})
    return found


def _saturated(f: Field, value: str) -> str:
    return f.values[min(int(value), len(f.values) - 1)] if f.count else value
