"""One worker among any number, as the counter abstraction has it: what it holds, and who of two has the older epoch.

Epochs are numbers without end. Of a worker's is kept whether it is not below each store's fence (`stands`), and whether it is not
above it, since the worker has raised that fence itself (`raised`). From these two alone follows who of two claimed first, where it
follows at all; both ways at once cannot be, and then the two are not there at the same time.
"""

from collections.abc import Mapping
from functools import cached_property

from ..model.fleet import OWN, Fleet, stands
from ..model.fleet_properties import leading, sending
from ..model.fleet_shape import STORES
from ..model.machine import Guard
from .fleet_search import asking, unstopped

Local = tuple[str, ...]
"""A worker: its own fields in the fleet's order, then `stands` and `raised`, "yes" or "no" for each store."""
Test = tuple[tuple[int, frozenset[str]], ...]


def test(literals: Mapping[int, frozenset[str]]) -> Test:
    """A guard over places of a tuple."""
    return tuple(literals.items())


def holds(values: tuple[str, ...], wanted: Test) -> bool:
    """Whether a tuple is like that."""
    return all(values[n] in allowed for n, allowed in wanted)


class Workers:
    """The workers of one fleet. distinct: whether no two have the same epoch, since every claim gives a new one."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        names = [f"{OWN}{f.name}" for f in fleet.own]
        names += [*map(stands, STORES), *(f"raised {store}" for store in STORES)]
        self.place = {name: n for n, name in enumerate(names)}
        self.distinct = all(r.claims for r in fleet.rules if r.boundary == "claim")
        self.idle: Local = (*(f.values[0] for f in fleet.own), *("yes" for _ in STORES), *("no" for _ in STORES))
        self._older: dict[tuple[Local, Local], tuple[bool, bool]] = {}

    def own(self, literals: Guard) -> Test:
        """What a guard asks of the worker."""
        return test({self.place[n]: v for n, v in literals.items() if n.startswith(OWN)})

    @cached_property
    def leads(self) -> list[Test]:
        """The ways in which a worker leads."""
        return [self.own(g) for g in leading(self.fleet)]

    @cached_property
    def sends(self) -> list[Test]:
        """The ways in which an overtaken worker may still change the world."""
        return [self.own(g) for g in sending(self.fleet)]

    @cached_property
    def busy(self) -> Test:
        """At work, and not overtaken."""
        return self.own({f"{OWN}at": self.fleet.working, stands("effects"): frozenset({"yes"})})

    @cached_property
    def _acts(self) -> list[Test]:
        """The ways in which one that was overtaken still does something that a store, or the world, notices."""
        return [*self.sends, *map(self.own, asking(self.fleet)), *map(self.own, unstopped(self.fleet))]

    def counted(self, worker: Local) -> bool:
        """Whether it matters how many such workers there are: who leads, and who was overtaken and may still send."""
        return holds(worker, self.busy) or any(holds(worker, way) for way in self.sends)

    def gone(self, worker: Local) -> bool:
        """Whether the worker is as good as idle: it is, or it was overtaken and nothing that it may still do is noticed."""
        if worker[self.place[f"{OWN}at"]] == "idle":
            return self.distinct
        overtaken = worker[self.place[stands("effects")]] == "no"
        return self.distinct and overtaken and not any(holds(worker, way) for way in self._acts)

    def order(self, one: Local, other: Local) -> tuple[bool, bool]:
        """Whether it is certain that one has the older epoch, and that it has the newer one; both: they cannot both be there."""
        key = one, other
        if key not in self._older:
            self._older[key] = self._below(one, other), self._below(other, one)
        return self._older[key]

    def _below(self, one: Local, other: Local) -> bool:
        """Some fence is above one epoch and not above the other; or not below the one and not above the other, which differ."""
        for n in range(len(self.fleet.own), len(self.fleet.own) + len(STORES)):
            if other[n] == "yes" and (one[n] == "no" or (self.distinct and one[n + len(STORES)] == "yes")):
                return True
        return False

    def together(self, one: Local, other: Local) -> bool:
        """Whether two such workers can be there at the same time."""
        return not all(self.order(one, other))

    def with_(self, worker: Local, **values: str) -> Local:
        """The worker with other values; `current`, `barred`, `stands_events`."""
        changed = list(worker)
        for name, value in values.items():
            changed[self.place[f"{OWN}{name}"]] = value
        return tuple(changed)
