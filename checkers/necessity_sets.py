"""The minimal sets of mechanisms under which a property of the step holds, every other mechanism of the group being missing.

The group are the mechanisms of one worker but three, which are always there: without a store a property says less, and where
nothing is done about an ambiguous attempt nothing is executed again, so that less is needed. The deep profile asks of the three,
too (`whole`): of all subsets of them and of the minimal set, every other mechanism being missing. That more of the others are
never worse is not assumed: it is asked of every pair of sets, one within the other, that was asked.

What the matrix says is needed is in every sufficient set, if that is so. The search begins there, and adds what is left, the
fewest first. A subset that holds a sufficient one is not minimal, and not asked for. Whether a property fails with a set is
answered by a run that is known to break it, if that is a run of the machine with this set as well, each step of it being taken
by the machine's own interpreter; else the machine is searched, once for all properties. A property that holds is always searched.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Final

from ..model.machine import Machine, State, apply, enabled
from ..model.mechanisms import NEEDED, NEEDED_BY_JOBS, ONE, missing, spoken_of, step_without
from ..model.properties import Property
from ..scenarios.matrix import FEWER
from ..scenarios.without import machine_without
from .evidence import Need, Sufficient
from .explore import follow
from .necessity import QUICK, broken, forbidden, narrowed, searched, unlike
from .traces import PREFIX

APART: Final = ("ledger", "effect-store", "on-unknown")
GROUP: Final = tuple(name for name in ONE if name not in APART)
MOST_ADDED: Final = 2
"""How many mechanisms are added to those that the matrix calls needed."""
Holds = Callable[[frozenset[str]], bool]
Run = list[tuple[str, State]]
"""Rules, each with the state after it; the first is the start, without a rule."""


def takes(machine: Machine, run: Run) -> bool:
    """Whether a run is one of a machine, by rules of the same names."""
    rules = {rule.name: rule for rule in machine.rules}
    if run[0][1] not in machine.initial_states():
        return False
    for (_, before), (name, after) in pairwise(run):
        view = machine.view(before)
        if name not in rules or not enabled(view, rules[name]) or after not in apply(machine, view, rules[name]):
            return False
    return True


class Machines:
    """The machines with some mechanisms of a group alone, the runs that are known to break each property, and what was asked.

    asked: what a search answers; searches: how many machines were searched; taken: how often a known run was enough.
    """

    def __init__(self, asked: Sequence[Property], group: Sequence[str] = GROUP) -> None:
        self.asked, self.group = asked, group
        self.machines: dict[frozenset[str], Machine] = {}
        self.runs: dict[str, list[Run]] = {p.id: [] for p in asked}
        self.answers: dict[frozenset[str], dict[str, bool]] = {}
        self.searches = self.taken = 0

    def learn(self, prop: Property, cells: Sequence[Need]) -> None:
        """Take the runs that the matrix shows to break a property."""
        for cell in cells:
            name, _, key = cell.key.removeprefix(f"{PREFIX}:").partition(":")
            if cell.property == prop.id and name.startswith("without-"):
                self.runs[prop.id].append(follow(machine_without(name), key))

    def holds(self, prop: Property, present: frozenset[str]) -> bool:
        """Whether a property says something, and holds, with some mechanisms of the group, the others being missing."""
        known = self.answers.setdefault(present, {})
        if prop.id not in known:
            if any(takes(self.machine(present), run) for run in self.runs[prop.id]):
                self.taken += 1
                known[prop.id] = False
            else:
                self._search(present)
        return known[prop.id]

    def machine(self, present: frozenset[str]) -> Machine:
        """The machine with these, by the kinds of tools that the quick profile searches."""
        if present not in self.machines:
            self.machines[present] = narrowed(step_without("subset", self.absent(present)), QUICK)
        return self.machines[present]

    def absent(self, present: frozenset[str]) -> list[str]:
        """What is missing."""
        return [name for name in self.group if name not in present]

    def _search(self, present: frozenset[str]) -> None:
        """Ask all that are asked at once."""
        self.searches += 1
        machine = self.machine(present)
        space = searched(machine)
        among = unlike(space, forbidden(self.asked))
        change = missing(self.absent(present))
        for prop in self.asked:
            left = spoken_of(prop, change)
            found = broken(space, left, machine, among) if left else None
            self.answers[present][prop.id] = left is not None and found is None
            if found is not None:
                self.runs[prop.id].append(follow(machine, found.key.rpartition(":")[2]))


@dataclass
class Subsets:
    """What has been asked of subsets of some mechanisms."""

    holds: Holds
    known: dict[frozenset[str], bool] = field(default_factory=dict)

    def __call__(self, present: frozenset[str]) -> bool:
        """Whether the property holds with these alone."""
        if present not in self.known:
            self.known[present] = self.holds(present)
        return self.known[present]

    def worse(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        """Pairs of which the larger set is worse: with these the mechanisms are not monotone."""
        good = [s for s, holds in self.known.items() if holds]
        bad = [s for s, holds in self.known.items() if not holds]
        return [(small, large) for small in good for large in bad if small < large]


def minimal(
    subsets: Subsets, group: Sequence[str], needed: frozenset[str], most: int = MOST_ADDED
) -> list[frozenset[str]]:
    """The minimal sufficient sets among those that hold what is needed and at most so many others."""
    others = sorted(frozenset(group) - needed)
    found: list[frozenset[str]] = []
    for size in range(min(most, len(others)) + 1):
        for more in combinations(others, size):
            candidate = needed | frozenset(more)
            if not any(each <= candidate for each in found) and subsets(candidate):
                found.append(candidate)
    # A set is minimal only if it holds none that suffices: where it does, each of its subsets is asked.
    less = {each: [subsets(each - {name}) for name in each] for each in found}
    smallest = {s for each in found for s in (whole_lattice(subsets, sorted(each)) if any(less[each]) else [each])}
    return sorted(smallest, key=lambda s: (len(s), sorted(s)))


def whole_lattice(subsets: Subsets, group: Sequence[str]) -> list[frozenset[str]]:
    """The minimal sufficient sets among all subsets of a group, nothing being assumed of them."""
    good = [s for s in _all(group) if subsets(s)]
    return [s for s in good if not any(other < s for other in good)]


def _all(group: Sequence[str]) -> Iterator[frozenset[str]]:
    for size in range(len(group) + 1):
        yield from map(frozenset, combinations(group, size))


def sufficient(prop: str, needed: frozenset[str], profile: str, holds: Holds) -> Sufficient:
    """The minimal sufficient sets of a property, by its id, as evidence.

    needed: what the matrix says is needed, of the group; holds: what is asked.
    """
    subsets = Subsets(holds)
    subsets(frozenset(GROUP))
    for name in needed:  # the matrix, again: both ends of each pair are asked
        subsets(frozenset(GROUP) - {name})
    sets = minimal(subsets, GROUP, needed)
    words = f"of the sets that hold the {len(needed)} needed ones and at most {MOST_ADDED} others"
    if subsets.known.get(needed):
        words = f"the {len(needed)} that the matrix calls needed suffice, all {len(GROUP) - len(needed)} others missing"
        words += "" if sets == [needed] else ", and so do smaller sets, since what makes them needed is missing as well"
    if profile == "deep" and sets:
        relevant = sorted(frozenset().union(*sets))
        rest = frozenset(GROUP) - frozenset(relevant)
        beside = whole_lattice(Subsets(lambda present: subsets(present | rest)), relevant)
        words += f"; of all {2 ** len(relevant)} subsets of these, the other mechanisms being there, {len(beside)} are minimal"
    return Sufficient(property=prop, sets=[sorted(each, key=GROUP.index) for each in sets], asked=len(subsets.known),
                      enough=subsets.known.get(needed, False), monotone=not subsets.worse(), words=words)  # fmt: skip


def minimal_sets(
    cells: Sequence[Need], properties: Sequence[Property], profile: str, tell: Callable[[str], None]
) -> list[Sufficient]:
    """For each of some properties the minimal sufficient sets; cells: the matrix."""
    machines = Machines(properties)
    found = []
    for prop in properties:
        machines.learn(prop, cells)
        needed = needed_in(cells, prop.id)
        found.append(sufficient(prop.id, needed, profile, lambda present, prop=prop: machines.holds(prop, present)))  # type: ignore[misc]  # a default binds the property of this round
        tell(f"necessity: minimal sets of {prop.id}: {machines.searches} searches, {machines.taken} by a known run")
    return found


def whole(
    properties: Sequence[Property], machines: Machines, tell: Callable[[str], None] = lambda words: None
) -> list[Sufficient]:
    """For each of some properties the minimal sets among all subsets of its stated one and the three that are apart.

    machines: those with some mechanisms of one worker alone, of all there are. What a property says of a store that is missing is
    not asked; where that is all that it says, the set is none that suffices.
    """
    found = []
    for prop in properties:
        found.append(with_apart(prop.id, lambda present, prop=prop: machines.holds(prop, present)))  # type: ignore[misc]  # as above
        tell(f"necessity: all subsets for {prop.id}: {machines.searches} searches, {machines.taken} by a known run")
    return found


def with_apart(prop: str, holds: Holds) -> Sufficient:
    """The minimal sets of one property among all subsets of its stated one and the three."""
    subsets, alone = Subsets(holds), stated(prop)
    sets = whole_lattice(subsets, [*APART, *sorted(alone)])
    words = f"of all {len(subsets.known)} subsets of {', '.join([*APART, *sorted(alone, key=ONE.index)])}, all others missing"
    return Sufficient(property=prop, sets=[sorted(each, key=ONE.index) for each in sets], asked=len(subsets.known),
                      enough=subsets(alone), monotone=not subsets.worse(), words=words)  # fmt: skip


def needed_in(cells: Sequence[Need], prop: str) -> frozenset[str]:
    """What the matrix says that a property needs of the group, in the execution of a step, which is all that is searched."""
    needed = {c.mechanism for c in cells if c.property == prop and c.answer == "needed" and c.mechanism in GROUP}
    return frozenset(name for name in needed if prop not in NEEDED_BY_JOBS.get(name, ()))


def stated(prop: str) -> frozenset[str]:
    """The minimal sufficient set of a property, as it is stated: what the matrix has for it, or fewer."""
    return FEWER.get(prop) or frozenset(name for name in GROUP if prop in NEEDED[name])
