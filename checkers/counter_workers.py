"""One worker among any number, as the counter abstraction has it: what it holds, and who of two has the older epoch.

Epochs are numbers without end. Of a worker's is kept whether it is not below each store's fence (`stands`), and whether it is not
above it, since the worker has raised that fence itself (`raised`; of one that never claimed it is not said). From these two alone
follows who of two claimed first, where it follows at all; both ways at once cannot be, and then the two are not there at the same
time.

A worker that was met before is a number: what is asked of it is answered once.

Of a worker that was overtaken and can do nothing more but write to the registry (`model/fleet_semantics.py`) is kept what the row
that writes reads; it stands before that row at once, if not yet. Where it is in truth it can do no more, and later.

Who is at rest, or was overtaken and can do nothing that anybody notices, is taken for a worker that never claimed. That need not
be so of a mutant, and where workers hold little it costs little to do without: `reduced` says whether it is done.
"""

from collections.abc import Iterator
from typing import Any, Final

from ..model.fleet import OWN, Fleet, stands
from ..model.fleet_properties import leading, sending
from ..model.fleet_shape import STORES
from ..model.machine import Guard
from .fleet_search import asking, unstopped

Values = tuple[str, ...]
Test = tuple[tuple[int, frozenset[str]], ...]
"""What is asked of a tuple: at each of these places one of these values."""
ALWAYS: Final = "yes"
NEVER: Final = "never"
"""Of a worker that never claimed, in the place of whether it has raised a fence: whoever claimed has a newer epoch."""


def like(values: Values, wanted: Test) -> bool:
    """Whether a tuple is like that."""
    return all(values[n] in allowed for n, allowed in wanted)


def bits(mask: int) -> Iterator[int]:
    """The numbers of a mask, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Workers:
    """The states of one worker of a fleet, by number: 0 is idle. A state holds the worker's own fields, in the fleet's order,
    then `stands` and `raised` for each store. distinct: whether no two have the same epoch, since every claim gives a new one.
    reduced: whether who is `gone` is taken for idle; else each is kept as it is.
    """

    def __init__(self, fleet: Fleet, reduced: bool = True) -> None:
        self.fleet = fleet
        names = [f"{OWN}{f.name}" for f in fleet.own]
        names += [*map(stands, STORES), *(f"raised {store}" for store in STORES)]
        self.place = {name: n for n, name in enumerate(names)}
        self.places = next(f.values for f in fleet.own if f.name == "at")
        self.distinct = all(r.claims for r in fleet.rules if r.boundary == "claim")
        self.reduced = reduced and self.distinct
        self.working = self.asks({f"{OWN}at": fleet.working, stands("effects"): frozenset({ALWAYS})})
        self._sends = [self.asks(g) for g in sending(fleet)]
        self._leads = [self.asks(g) for g in leading(fleet)]
        self._noticed = [*self._sends, *(self.asks(g) for g in (*asking(fleet), *unstopped(fleet)))]
        self._before, self._kept = before_writing(fleet) if reduced else ({}, frozenset[str]())
        self.states: list[Values] = []
        self.busy: list[bool] = []
        self.sends: list[bool] = []
        self.leads: list[bool] = []
        self.gone: list[bool] = []
        self.era: list[int] = []
        self.away = 0
        """Those that are gone, a bit each."""
        self.told: dict[tuple[object, ...], Any] = {}
        """What rows do to who does not act, by what they tell them (`counter_rows.Others`)."""
        self._numbers: dict[Values, int] = {}
        self._eras: dict[Values, int] = {}
        self._like: dict[Test, tuple[int, int]] = {}
        self._of_era: list[int] = []
        self._beside: list[int] = []
        self._matches: list[list[int]] = []
        idle = (*(f.values[0] for f in fleet.own), *(ALWAYS for _ in STORES), *(NEVER for _ in STORES))
        self.number(idle)

    def asks(self, literals: Guard) -> Test:
        """What a guard asks of the worker that it calls `w.`."""
        return tuple((self.place[n], v) for n, v in literals.items() if n.startswith(OWN))

    def at(self, worker: int) -> str:
        """Where a worker is."""
        return self.states[worker][self.place[f"{OWN}at"]]

    def number(self, worker: Values) -> int:
        """The number of a state, of which is forgotten what nobody will notice.

        busy: at work and not overtaken. sends: overtaken, and may still change the world. gone: as good as idle, being idle or
        overtaken with nothing left to do that a store or the world would notice (not said where nobody is set back to idle, nor
        where two workers may have the same epoch).
        """
        known = self._numbers.get(worker)
        return self._numbered(worker) if known is None else known

    def _numbered(self, worker: Values) -> int:
        whole, worker = worker, self._forgotten(worker)
        found = self._numbers.get(worker)
        if found is None:
            found = self._numbers[worker] = len(self.states)
            self.states.append(worker)
            self.busy.append(like(worker, self.working))
            self.sends.append(any(like(worker, way) for way in self._sends))
            self.leads.append(any(like(worker, way) for way in self._leads))
            away = worker[self.place[f"{OWN}at"]] == "idle"
            overtaken = worker[self.place[stands("effects")]] == "no"
            inert = overtaken and not any(like(worker, way) for way in self._noticed)
            gone = found > 0 and self.reduced and (away or inert)
            self.gone.append(gone)
            self.away |= gone << found
            self._dated(found, worker[len(self.fleet.own) :])
        self._numbers[whole] = found
        return found

    def _forgotten(self, worker: Values) -> Values:
        """The worker, or the one that stands before its write to the registry, with what is read there."""
        if worker[self.place[stands("effects")]] == ALWAYS or worker[self.place[f"{OWN}at"]] not in self._before:
            return worker
        values = [f.values[0] for f in self.fleet.own] + [
            *worker[len(self.fleet.own) : -len(STORES)],
            *("no" for _ in STORES),
        ]
        for name in self._kept:
            values[self.place[name]] = worker[self.place[name]]
        values[self.place[f"{OWN}at"]] = self._before[worker[self.place[f"{OWN}at"]]]
        return tuple(values)

    def counted(self, worker: int) -> bool:
        """Whether it matters how many such workers there are: of those who work and were not overtaken, and of those who may
        still send."""
        return self.busy[worker] or self.sends[worker]

    def _dated(self, worker: int, era: Values) -> None:
        """What is known of a worker's epoch, which is all by which it is decided who can be there beside it."""
        number = self._eras.get(era)
        if number is None:
            number = self._eras[era] = len(self._of_era)
            self._of_era.append(0)
            eras = list(self._eras)
            matching = [n for n, each in enumerate(eras) if not (self._older(era, each) and self._older(each, era))]
            for n in matching:
                if n != number:
                    self._matches[n].append(number)
            self._matches.append(matching)
            self._beside.append(0)
            for n in matching:
                self._beside[number] |= self._of_era[n]
        self.era.append(number)
        self._of_era[number] |= 1 << worker
        for n in self._matches[number]:
            self._beside[n] |= 1 << worker

    def _older(self, mine: Values, others: Values) -> bool:
        stores = len(STORES)
        if mine[stores] == NEVER != others[stores]:
            return True
        return any(
            others[n] == ALWAYS and (mine[n] == "no" or (self.distinct and mine[n + stores] == ALWAYS))
            for n in range(stores)
        )

    def older(self, one: int, other: int) -> bool:
        """Whether it is certain that the first has the older epoch.

        A fence is above its epoch and not above the other's; or it is not below the one and not above the other, and the two
        differ; or it never claimed, and the other did.
        """
        first = len(self.fleet.own)
        return self._older(self.states[one][first:], self.states[other][first:])

    def beside(self, worker: int) -> int:
        """Who can be there at the same time as such a worker, a bit each."""
        # Idle workers have epochs of every age, of which nothing is kept.
        if not self.reduced:
            return self._beside[self.era[worker]]
        return self._beside[self.era[worker]] | 1 if worker else -1

    def together(self, one: int, other: int) -> bool:
        """Whether two such workers can be there at the same time."""
        return bool(self.beside(one) >> other & 1)

    def those(self, wanted: Test) -> int:
        """The workers that are like that, a bit each, of all that were met so far."""
        known, mask = self._like.get(wanted, (0, 0))
        if known < len(self.states):
            for n in range(known, len(self.states)):
                mask |= like(self.states[n], wanted) << n
            self._like[wanted] = len(self.states), mask
        return mask

    def changed(self, worker: int, **values: str) -> int:
        """The worker with other values: `current`, `barred`, `stands_events`."""
        state = list(self.states[worker])
        for name, value in values.items():
            state[self.place[f"{OWN}{name}"]] = value
        return self.number(tuple(state))


def before_writing(fleet: Fleet) -> tuple[dict[str, str], frozenset[str]]:
    """For each place from which an overtaken worker may still come to write to the registry, and do nothing else, the place of
    that row; and the worker's own fields that the row reads, which stay as they are until then. Empty where it is less simple."""
    registry, at = fleet.shape.registry, f"{OWN}at"
    if registry is None or fleet.shape.request or unstopped(fleet) or any(rule.nobody for rule in fleet.rules):
        return {}, frozenset()
    places = asking(fleet)[0][at]
    rows = [rule for rule in fleet.rules if places & rule.guards.get(at, frozenset())]
    writing = [rule for rule in rows if registry.record in rule.writes]
    targets = frozenset().union(*(rule.guards[at] for rule in writing))
    kept = frozenset(name for rule in writing for name in rule.guards if name.startswith(OWN)) - {at}
    # Who leaves these places does not come back: it stands in no store.
    steady = all(rule.writes.get(at, at) not in {at, *places} for rule in rows if kept & rule.writes.keys())
    return (dict.fromkeys(places, *targets), kept) if len(targets) == 1 and steady else ({}, frozenset())
