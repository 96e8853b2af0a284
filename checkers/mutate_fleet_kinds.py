"""Kinds of tool or node with which a fleet's mutants are searched and counted, and what of a mutant is seen with each of them.

A row that asks for a look that fences never fires with a tool that parks: whatever stands in its place is as safe there as the
original, which says nothing of it. So a mutant is asked about with each kind with which it does anything otherwise, or else
with one with which its row fires at all; where there is none, nobody who searches or counts has an answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..model.fleet import Fleet
from ..model.fleet_rows import fleet_machine
from ..model.properties import Property
from ..scenarios.fleet_policies import TOOL, only, searched_fleet
from ..scenarios.searched import TWO_WORKERS
from .explore import Space
from .fleet_search import search, unfenced
from .invariant_ways import STEP_PROPERTIES
from .machines import BEYOND, another_size
from .mutate_count import CountBase
from .mutate_fleet_rows import FleetMutant
from .mutate_fleet_search import FleetBase, Seen, fires, unreduced
from .proof_subjects import fleet_subjects

SEEN: Final[Sequence[Seen]] = ("no row", "never", "overtaken", "as ever", "otherwise")
"""What may be seen of a mutant, the least first."""


@dataclass(frozen=True)
class Place:
    """Where a fleet's mutants are searched and counted: with which kinds; what is forbidden there; whether states of two workers
    are reduced; whether that is all there is of the fleet.

    dear: kinds that are asked only where no other tells anything. Counting the original comes to no end with them, and of two
    workers there are too many states to be searched as they are.
    """

    kinds: Sequence[Mapping[str, str]]
    of: Callable[[Fleet, Mapping[str, str]], Fleet]
    properties: Sequence[Property]
    reduced: bool
    whole: bool = True
    dear: Sequence[Mapping[str, str]] = ()


REEXECUTED: Final = {"idempotent": "yes", "on_unknown": "reexecute", "look": "none"}
TOOLS: Final = (
    TOOL,
    {**TOOL, "on_unknown": "query", "look": "quiet"},
    {**TOOL, "on_unknown": "query", "look": "fence"},
    {**TOOL, "on_unknown": "fail"},
    REEXECUTED,
)
"""Kinds of tool, of which each lets rows of the step fire that those before it do not."""


def _with(fleet: Fleet, config: Mapping[str, str]) -> Fleet:
    return only(fleet, dict(config))


def _alone(_: Fleet, config: Mapping[str, str]) -> Fleet:
    return searched_fleet(config=dict(config))


def places() -> Mapping[str, Place]:
    """The place of each fleet that is mutated."""
    stated = {each.fleet.name: each.properties for each in fleet_subjects()}
    undone = [
        {"harmless": harmless, "idempotent": idempotent} for harmless in ("no", "yes") for idempotent in ("no", "yes")
    ]
    return {
        "fleet-recorded": Place([{}], _with, stated["fleet-recorded"], reduced=False),
        "fleet-gate": Place([{"kind": "approval"}, {"kind": "signal"}], _with, stated["fleet-gate"], reduced=True),
        "fleet-compensation": Place(undone, _with, stated["fleet-compensation"], reduced=True),
        "fleet": Place(TOOLS, _alone, STEP_PROPERTIES, reduced=True, whole=False, dear=[REEXECUTED]),
    }  # fmt: skip


class Kind:
    """A fleet with one kind of tool or node. What is asked of it is made when it is first asked for."""

    def __init__(self, place: Place, whole: Fleet, config: Mapping[str, str]) -> None:
        self.place, self.config, self.fleet = place, config, place.of(whole, config)
        self.dear = config in place.dear
        self._bases: dict[bool, FleetBase] = {}
        self._counted: dict[bool, CountBase] = {}

    def of(self, mutant: FleetMutant, suspected: bool) -> Fleet:
        """The mutant of this fleet. suspected: as of `base`."""
        fleet = mutant.of(self.fleet)
        return unfenced(fleet) if suspected else fleet

    def base(self, suspected: bool) -> FleetBase:
        """The original, searched; suspected: without taking it for granted that every write is fenced."""
        if suspected not in self._bases:
            self._bases[suspected] = FleetBase(self._original(suspected), self.place.properties, self.place.reduced)
        return self._bases[suspected]

    def count_base(self, suspected: bool) -> CountBase:
        """The original, counted."""
        if suspected not in self._counted:
            self._counted[suspected] = CountBase(self._original(suspected), self.place.properties, self.place.reduced)
        return self._counted[suspected]

    def _original(self, suspected: bool) -> Fleet:
        return unfenced(self.fleet) if suspected else self.fleet

    @cached_property
    def unreduced(self) -> Space:
        """Every state of two workers of the original, as it is."""
        return search(self.fleet)

    @cached_property
    def stated(self) -> bool:
        """Whether it is stated how large two workers are with it, as every search of the original is compared with."""
        space = self.base(suspected=False).space
        return (len(space), space.transitions) in TWO_WORKERS[self.fleet.name]

    def not_as_stated(self, mutant: FleetMutant) -> str:
        """How the search of two workers of a mutant, from their starts, comes to something else than is stated; "" where it does
        not. Raises ModelError where they can have no such row."""
        stated = self.base(suspected=False).space
        made = search(mutant.of(self.fleet), reduced=self.place.reduced, limit=len(stated) + BEYOND)
        said = another_size(made, len(stated), stated.transitions)
        return said and f"two workers have {said}"

    def sees(self, mutant: FleetMutant, suspected: bool) -> Seen:
        """What is seen of a mutant in the states of two workers of the original. Raises ModelError where they can have no such
        row."""
        fleet = self.of(mutant, suspected)
        if fleet.rules == self.fleet.rules:
            return "no row"
        seen = self.base(suspected).sees(fleet)
        if seen == "never" and self.place.reduced and not self.dear and fires(self.unreduced, fleet_machine(fleet)):
            return "overtaken"
        return seen

    def breaks_as_it_is(self, mutant: FleetMutant) -> tuple[tuple[str, int] | None, bool]:
        """What two workers of a mutant break, every state being searched as it is; and whether it has other numbers of states and
        of steps than its original. Raises ManyStatesError where there is no answer."""
        made = unreduced(self.of(mutant, False), self.place.properties, endless=self.dear)
        if made.broken or self.dear:
            return made.broken, True
        return None, (made.states, made.steps) != (len(self.unreduced), self.unreduced.transitions)


Shown = tuple[Seen, Sequence[Kind]]
"""What is seen of a mutant, and with which kinds."""


class Kinds:
    """The kinds of one fleet."""

    def __init__(self, place: Place, fleet: Fleet) -> None:
        self.every = [Kind(place, fleet, config) for config in place.kinds]
        self._told: tuple[str, Shown] | None = None

    def showing(self, mutant: FleetMutant, suspected: bool) -> Shown:
        """The most that is seen of a mutant with any kind, and the kinds: each with which it does anything otherwise, or else the
        first; the last answer is kept. Raises ModelError where two workers can have no such row."""
        if self._told is None or self._told[0] != mutant.name:
            self._told = mutant.name, self._showing(mutant, suspected)
        return self._told[1]

    def _showing(self, mutant: FleetMutant, suspected: bool) -> Shown:
        found: list[tuple[Seen, Kind]] = []
        for kind in sorted(self.every, key=lambda kind: kind.dear):
            if not kind.dear or all(seen != SEEN[-1] for seen, _ in found):
                found.append((kind.sees(mutant, suspected), kind))
        most = max((seen for seen, _ in found), key=SEEN.index)
        kinds = [kind for seen, kind in found if seen == most]
        return most, kinds if most == SEEN[-1] else kinds[:1]
