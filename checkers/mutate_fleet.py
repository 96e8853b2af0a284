"""Mutants of a fleet against every way to a verdict on any number of workers, which must agree on each of them (E-TRUST, teeth).

The ways: the proof over the written invariant; the proof over clauses that were found, for recorded values in two workers, for
the others in one and lifted; workers counted as none, one or any number; and the search of two workers, the only one that shows
a run. When they contradict each other, and what then counts as a kill, is said in `mutate_fleet_agree.py`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal

from ..model.fleet import Fleet
from ..model.machine import ModelError
from .evidence import Cell, MutantCells, killers
from .fleet_alone import Alone, alone
from .fleet_graphs import differs
from .invariant_ways import found_in_two, lifted
from .mutate_fleet_agree import DEAD, SAME, WAYS, Told, Way, agree, settled
from .mutate_fleet_enumerate import beside_the_fleet
from .mutate_fleet_kinds import Kind, Kinds, places
from .mutate_fleet_prove import Said, ask, base_rule
from .mutate_fleet_rest import rest
from .mutate_fleet_rows import FleetMutant, generate
from .mutate_fleet_same import Sameness
from .mutate_fleet_search import ManyStatesError, Seen
from .mutate_rows import OriginalError
from .proof_subjects import FleetSubject, fleet_subjects
from .prove_fleet import prove_fleet
from .prove_fleet_obligations import FENCED, REFUSALS, Obligations

STATED: Final = "stated"
"""Beside the ways, which speak of safety: whether the search of a mutant comes to what is stated of its original. A row that is
lost, a fault's or a worker's, breaks no property, and nobody but this says no to it."""
ALONE: Final = "alone"
"""And whether one worker does what its machine does (`fleet_alone`): asked of whom nobody kills, or a pinned size alone."""
WHOLE: Final = "whole"
"""And whether one worker, and two, each state as it is, take the steps that are stated (`fleet_graphs`): asked of whom nobody
else kills, if it is not proved the same."""
ENUMERATE: Final = "enumerate"
"""And whether several workers can do what the shipped code does (`mutate_fleet_enumerate`): asked of those of the step's fleet
whom no column but what is stated kills, and of none that is proved the same."""
FLEETS: Final = ("fleet-recorded", "fleet-gate", "fleet-compensation", "fleet")
"""The fleets that are mutated, the smallest first."""


class FleetBench:
    """One fleet's ways, ready: what each needs is made when it is first asked. Raises KeyError for a fleet that is none."""

    def __init__(self, name: str) -> None:
        self.place = places()[name]
        self.subject: FleetSubject = next(each for each in fleet_subjects() if each.fleet.name == name)
        self.fleet = self.subject.fleet
        self.kinds = Kinds(self.place, self.fleet)
        self.sameness = Sameness(self.subject)

    @cached_property
    def mutants(self) -> tuple[FleetMutant, ...]:
        """Its mutants."""
        return generate(self.fleet)

    @cached_property
    def written(self) -> Obligations:
        """The questions over the written invariant. Raises OriginalError where the original is not proved."""
        if not prove_fleet(*self.subject).holds:
            raise OriginalError(f"{self.fleet.name}: the original is not proved")
        return Obligations(*self.subject)

    @cached_property
    def found(self) -> Obligations:
        """The questions over what was found. Raises AssertionError where that proves nothing of the original."""
        fleet, properties = self.fleet, self.subject.properties
        if fleet.name == FLEETS[0]:
            in_two = found_in_two()
            holds, stuck, asked = in_two.holds, in_two.stuck, Obligations(fleet, properties, (), in_two.clauses)
        else:
            made = lifted(fleet.name)
            holds, stuck, asked = made.holds, made.stuck, Obligations(fleet, properties, (*made.kept, *made.added))
        if not holds:
            raise AssertionError(f"{fleet.name}: nothing was found that proves the original: {stuck}")
        return asked

    @cached_property
    def machine(self) -> Alone:
        """What one worker does. Raises AssertionError where one of the original does otherwise."""
        made = alone(self.fleet)
        if said := made.differs(self.fleet):
            raise AssertionError(f"{self.fleet.name}: {said}")
        return made

    def judge(self, mutants: Sequence[FleetMutant], left_out: str = "") -> Iterator[MutantCells]:
        """Every mutant's row of the matrix. left_out: a way that is not asked.

        Raises AssertionError where the ways contradict each other.
        """
        asked = [way for way in WAYS if way != left_out]
        found = dict(self._found(mutants)) if "found" in asked else {}
        for mutant, said in ask(self.written, mutants):
            yield self._row(mutant, said, found.get(mutant.name), asked)

    def _found(self, mutants: Sequence[FleetMutant]) -> Iterator[tuple[str, Said]]:
        return ((mutant.name, said) for mutant, said in ask(self.found, mutants, equal=False))

    def _row(self, mutant: FleetMutant, said: Said, found: Said | None, ways: Sequence[str]) -> MutantCells:
        told = self._told(mutant, said, found, ways)
        otherwise = said.same and self._tells(mutant)
        agree(mutant.name, {way: verdict for way, (verdict, _, _) in told.items()}, said.same, otherwise)
        counts = self._counts(mutant, said)
        told = settled(told, counts)
        cells = [_cell(way, *told[way]) if way in told else _missing(way) for way in WAYS]
        cells.append(self._stated(mutant) if told["explore"][0] == "safe" else _missing(STATED))
        cells.append(self._alone(mutant) if _spared(cells) else _missing(ALONE))
        left = _spared(cells) and not said.same
        dead = left and not killers(cells) and self.sameness.proved([mutant])[0]
        cells.append(self._whole(mutant) if left and not dead and not killers(cells) else _missing(WHOLE))
        cells.append(self._enumerated(mutant) if left and not dead and _spared(cells) else _missing(ENUMERATE))
        unlike = next((cell.words for cell in cells[len(WAYS) :] if cell.outcome == "killed"), "")
        if said.same and unlike:
            raise AssertionError(f"{mutant.name}: proved the same, and {unlike}")
        equivalent = SAME if said.same else DEAD if dead else ""
        return MutantCells(
            name=mutant.name, subject=self.fleet.name, kind=mutant.kind, equivalent=equivalent, unasked="", cells=cells,
            command=f"crashwindow mutants --only '{mutant.name}'",
        )  # fmt: skip

    def _told(self, mutant: FleetMutant, said: Said, found: Said | None, ways: Sequence[str]) -> dict[str, Told]:
        """What each of some ways says of a mutant."""
        told = {"prove": _proof(said)}
        if found is not None:
            told["found"] = _proof(found)
        checks = {"explore": self.searched, "count": self.counted}
        for way, check in checks.items():
            if way in ways:
                started = time.perf_counter()
                verdict, words = check(mutant)
                told[way] = verdict, words, time.perf_counter() - started
        return told

    def _counts(self, mutant: FleetMutant, said: Said) -> bool:
        """Whether all that a proof is asked of a mutant is asked of counting, too, with all that there is of the fleet: but for
        whether whoever leads can be overtaken, and what P5 asks where the proof stops at that."""
        overtaking = any(base_rule(self.fleet, name).overtakes for name in mutant.changed)
        return (
            not self.place.reduced
            and not overtaking
            and not said.fails.startswith(REFUSALS)
            and FENCED not in said.fails
        )

    def _tells(self, mutant: FleetMutant) -> bool:
        """Whether a state of two workers of the original tells a mutant from it, by a step that is other."""
        suspected = unguarded(mutant, self.fleet)
        try:
            seen, kinds = self.kinds.showing(mutant, suspected)
            return seen == "otherwise" and any(kind.base(suspected).tells(kind.of(mutant, suspected)) for kind in kinds)
        except ModelError:
            return False

    def _stated(self, mutant: FleetMutant) -> Cell:
        """Whether two workers have as many states and transitions as is stated, with the kinds that show the mutant."""
        started = time.perf_counter()
        kinds = [kind for kind in self.kinds.showing(mutant, unguarded(mutant, self.fleet))[1] if kind.stated]
        if not kinds:
            return _missing(STATED)
        words = next(filter(None, (kind.not_as_stated(mutant) for kind in kinds)), "")
        return _cell(STATED, "not safe" if words else "safe", words, time.perf_counter() - started)

    def _alone(self, mutant: FleetMutant) -> Cell:
        """Whether one worker does what the fleet's machine does. The step's fleet leaves out some of its machine."""
        return _beside(ALONE, self.place.whole, lambda: self.machine.differs(mutant.of(self.fleet)))

    def _whole(self, mutant: FleetMutant) -> Cell:
        """Whether one worker and two, each state as it is, take the steps that are stated."""
        return _beside(WHOLE, True, lambda: differs(self.fleet.name, mutant.of(self.fleet)))

    def _enumerated(self, mutant: FleetMutant) -> Cell:
        """Whether several workers can take each step that the code takes. No other fleet's workers are enumerated."""
        return _beside(ENUMERATE, not self.place.whole, lambda: beside_the_fleet(mutant, self.fleet))

    def searched(self, mutant: FleetMutant) -> tuple[Way, str]:
        """A forbidden state that two workers come to, with one of the kinds with which most is seen of the mutant."""
        suspected = unguarded(mutant, self.fleet)
        try:
            seen, kinds = self.kinds.showing(mutant, suspected)
            if seen in UNSEEN:
                return UNSEEN[seen]
            if self.as_it_is(mutant, seen):
                broken, unlike = kinds[0].breaks_as_it_is(mutant)
            else:
                broken, unlike = self._breaks(mutant, kinds, suspected), seen == "otherwise"
        except ModelError as error:
            return "no answer", f"two workers can have no such row: {error}"
        except ManyStatesError as error:
            return "no answer", str(error)
        if broken is None:
            return self._safe(unlike)
        name, steps = broken
        return "refuted", f"{name}, after {steps} steps of two workers"

    def as_it_is(self, mutant: FleetMutant, seen: Seen) -> bool:
        """Whether the states of a mutant are searched as they are, by what is seen of it."""
        return seen == "overtaken" or (self.place.reduced and self._restless(mutant, lambda: seen == "otherwise"))

    def _breaks(self, mutant: FleetMutant, kinds: Sequence[Kind], suspected: bool) -> tuple[str, int] | None:
        """What two workers break with any of some kinds, and after how many steps. Raises ManyStatesError where they break
        nothing and of one kind there is no answer."""
        gaps: list[ManyStatesError] = []
        for kind in kinds:
            try:
                if broken := kind.base(suspected).breaks(kind.of(mutant, suspected)):
                    return broken
            except ManyStatesError as error:
                gaps.append(error)
        if gaps:
            raise gaps[0]
        return None

    def _safe(self, unlike: bool) -> tuple[Way, str]:
        """The verdict where nothing is forbidden. unlike: whether anything told the mutant from its original: where nothing did,
        that is an answer only if all of the fleet was looked at."""
        return ("safe", "") if unlike or self.place.whole else ALIKE

    def _restless(self, mutant: FleetMutant, alters: Callable[[], bool]) -> bool:
        """Whether a worker at rest, or overtaken, may not be as good as another in the mutant. alters: whether anything tells the
        mutant from its original."""
        how = rest(mutant, self.fleet)
        return how == "goes otherwise" or (how == "comes otherwise" and alters())

    def counted(self, mutant: FleetMutant) -> tuple[Way, str]:
        """What counting any number of workers comes to: where nobody is set back to idle with each kind that there is, else with
        each of the kinds with which most is seen of the mutant."""
        suspected = unguarded(mutant, self.fleet)
        try:
            seen, kinds = self.kinds.showing(mutant, suspected)
        except ModelError as error:
            return "no answer", f"workers can have no such row: {error}"
        if not self.place.reduced:
            return _worst(self._counted(mutant, kind, suspected) for kind in self.kinds.every)
        if seen in UNSEEN:
            return UNSEEN[seen]
        if self.as_it_is(mutant, seen):
            return RESTLESS
        worst = _worst(self._counted(mutant, kind, suspected) for kind in kinds)
        return self._safe(seen == "otherwise") if worst[0] == "safe" else worst

    def _counted(self, mutant: FleetMutant, kind: Kind, suspected: bool) -> tuple[Way, str]:
        if kind.dear:
            return UNCOUNTED
        base, fleet = kind.count_base(suspected), kind.of(mutant, suspected)
        if self.place.reduced and self._restless(mutant, lambda: base.alters(fleet)):
            return RESTLESS
        # Who was set back to idle may let it fire; where nobody is, a row that never fires is one that no worker ever takes.
        if self.place.reduced and not base.fires(fleet):
            return UNFIRED
        made = base.judge(fleet, mutant.kind)
        if made.broken:
            return "not safe", f"{made.broken}, after {made.states} abstract states that were counted for it"
        return ("safe", "") if made.safe else ("no answer", f"no answer after {made.states} abstract states")


RESTLESS: Final[tuple[Way, str]] = (
    "no answer", "it is counted as if who is at rest, or was overtaken, held nothing, which may not be so"
)  # fmt: skip
UNCOUNTED: Final[tuple[Way, str]] = "no answer", "what lets its row fire is not counted: it comes to no end"
UNFIRED: Final[tuple[Way, str]] = "no answer", "its row fires in no state that is counted"
ALIKE: Final[tuple[Way, str]] = "no answer", "in what is searched and counted nothing tells it from the original"
UNSEEN: Final[Mapping[Seen, tuple[Way, str]]] = {
    "no row": ("no answer", "its row is none of the fleet that is searched and counted"),
    "never": ("no answer", "its row fires in no state of two workers, with no kind of tool or node that is searched"),
}
"""What is said where nothing was seen of a mutant that an answer could rest on."""


def _worst(verdicts: Iterable[tuple[Way, str]]) -> tuple[Way, str]:
    """The first that is not safe; safe, where each is."""
    return next((each for each in verdicts if each[0] != "safe"), ("safe", ""))


def _proof(said: Said) -> Told:
    if said.safe:
        return "safe", "", said.seconds
    if said.answer == "sat":
        return "not safe", f"stops at {said.fails}: sat", said.seconds
    return "no answer", f"the solver gives no answer: {said.fails}: {said.answer}", said.seconds


def _missing(way: str) -> Cell:
    return Cell(checker=way, outcome="not run", words="", seconds=0.0)


def _spared(cells: Sequence[Cell]) -> bool:
    """Whether nobody kills a mutant, or what is stated alone does."""
    return {cell.checker for cell in killers(cells)} <= {STATED, WHOLE}


def _beside(column: str, applies: bool, differs: Callable[[], str | None]) -> Cell:
    """What is asked of some fleets alone: how a mutant differs, "" where it does not, None where there is no answer."""
    if not applies:
        return Cell(checker=column, outcome="not applicable", words="", seconds=0.0)
    started = time.perf_counter()
    try:
        words = differs()
    except ModelError as error:
        words = f"no workers can have such a row: {error}" if column == WHOLE else None
    if words is None:
        return _missing(column)
    return _cell(column, "not safe" if words else "safe", words, time.perf_counter() - started)


def _cell(way: str, verdict: Way, words: str, seconds: float) -> Cell:
    outcomes: Mapping[Way, Literal["killed", "survived", "not run"]] = {
        "safe": "survived", "refuted": "killed", "not safe": "killed", "no answer": "not run",
    }  # fmt: skip
    return Cell(checker=way, outcome=outcomes[verdict], words=words, seconds=round(seconds, 4))


def unguarded(mutant: FleetMutant, fleet: Fleet) -> bool:
    """Whether a protection against who was overtaken is missing."""
    before = {rule.name: rule for rule in fleet.rules}
    lost = {n for name, rule in mutant.changed.items() if rule for n in before[name].guards.keys() - rule.guards.keys()}
    return mutant.kind == "protection dropped" or any("stands_" in n for n in lost)
