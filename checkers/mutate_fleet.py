"""Mutants of a fleet against every way to a verdict on any number of workers, which must agree on each of them (E-TRUST, teeth).

The ways: the proof over the written invariant; the proof over clauses that were found, for recorded values in two workers, for
the others in one and lifted; workers counted as none, one or any number; and the search of two workers, the only one that shows
a run. Where any of the others calls a mutant safe and the search shows that it is not, one of them is wrong, and the run
fails. That a proof fails, or that counting comes to a forbidden state, refutes nothing by itself: the mutant is killed, as nobody
who reads the verdict takes it for safe.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal

from ..model.fleet import Fleet
from ..model.machine import ModelError
from .evidence import Cell, MutantCells
from .invariant_ways import found_in_two, lifted
from .mutate_fleet_kinds import Kind, Kinds, places
from .mutate_fleet_prove import Said, ask
from .mutate_fleet_rest import rest
from .mutate_fleet_rows import FleetMutant, generate
from .mutate_fleet_search import ManyStatesError, Seen
from .proof_subjects import FleetSubject, fleet_subjects
from .prove_fleet import prove_fleet
from .prove_fleet_obligations import Obligations

CHECKERS: Final = ("prove", "explore", "count", "found")
"""The ways, in the order in which they are asked."""
STATED: Final = "stated"
"""Beside the ways, which speak of safety: whether the search of a mutant comes to what is stated of its original. A row that is
lost, a fault's or a worker's, breaks no property, and nobody but this says no to it."""
Way = Literal["safe", "refuted", "not safe", "no answer"]
"""What a way says. Not safe: the proof fails, or a state that may be none of a run is forbidden."""


FLEETS: Final = ("fleet-recorded", "fleet-gate", "fleet-compensation", "fleet")
"""The fleets that are mutated, the smallest first."""


class FleetBench:
    """One fleet's ways, ready: what each needs is made when it is first asked. Raises KeyError for a fleet that is none."""

    def __init__(self, name: str) -> None:
        self.place = places()[name]
        self.subject: FleetSubject = next(each for each in fleet_subjects() if each.fleet.name == name)
        self.fleet = self.subject.fleet
        self.kinds = Kinds(self.place, self.fleet)

    @cached_property
    def mutants(self) -> tuple[FleetMutant, ...]:
        """Its mutants."""
        return generate(self.fleet)

    @cached_property
    def written(self) -> Obligations:
        """The questions over the written invariant. Raises AssertionError where the original is not proved."""
        if not prove_fleet(*self.subject).holds:
            raise AssertionError(f"{self.fleet.name}: the original is not proved")
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

    def judge(self, mutants: Sequence[FleetMutant], left_out: str = "") -> Iterator[MutantCells]:
        """Every mutant's row of the matrix. left_out: a way that is not asked.

        Raises AssertionError where the ways contradict each other.
        """
        asked = [way for way in CHECKERS if way != left_out]
        found = dict(self._found(mutants)) if "found" in asked else {}
        for mutant, said in ask(self.written, mutants):
            yield self._row(mutant, said, found.get(mutant.name), asked)

    def _found(self, mutants: Sequence[FleetMutant]) -> Iterator[tuple[str, Said]]:
        return ((mutant.name, said) for mutant, said in ask(self.found, mutants, equal=False))

    def _row(self, mutant: FleetMutant, said: Said, found: Said | None, ways: Sequence[str]) -> MutantCells:
        told = {"prove": _proof(said)}
        if found is not None:
            told["found"] = _proof(found)
        checks = {"explore": self.searched, "count": self.counted}
        for way, check in checks.items():
            if way in ways:
                started = time.perf_counter()
                verdict, words = check(mutant)
                told[way] = verdict, words, time.perf_counter() - started
        agree(mutant.name, {way: verdict for way, (verdict, _, _) in told.items()})
        cells = [_cell(way, *told[way]) if way in told else _missing(way) for way in CHECKERS]
        stated = self._stated(mutant) if told["explore"][0] == "safe" else _missing(STATED)
        unlike = stated.outcome == "killed"
        if said.same and unlike:
            raise AssertionError(f"{mutant.name}: proved the same, and {stated.words}")
        cells.append(stated)
        equivalent = SAME if said.same else SAFE if said.safe and not unlike else ""
        return MutantCells(
            name=mutant.name, subject=self.fleet.name, kind=mutant.kind, equivalent=equivalent, unasked="", cells=cells,
            command=f"crashwindow mutants --only '{mutant.name}'",
        )  # fmt: skip

    def _stated(self, mutant: FleetMutant) -> Cell:
        """Whether two workers have as many states and transitions as is stated, with the kinds that show the mutant."""
        started = time.perf_counter()
        kinds = [kind for kind in self.kinds.showing(mutant, unguarded(mutant, self.fleet))[1] if kind.stated]
        if not kinds:
            return _missing(STATED)
        words = next(filter(None, (kind.not_as_stated(mutant) for kind in kinds)), "")
        return _cell(STATED, "not safe" if words else "safe", words, time.perf_counter() - started)

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
        """What counting any number of workers comes to, with each of the kinds with which most is seen of the mutant."""
        suspected = unguarded(mutant, self.fleet)
        try:
            seen, kinds = self.kinds.showing(mutant, suspected)
        except ModelError as error:
            return "no answer", f"workers can have no such row: {error}"
        if seen in UNSEEN:
            return UNSEEN[seen]
        if self.as_it_is(mutant, seen):
            return RESTLESS
        verdicts = (self._counted(mutant, kind, suspected) for kind in kinds)
        return next((each for each in verdicts if each[0] != "safe"), self._safe(seen == "otherwise"))

    def _counted(self, mutant: FleetMutant, kind: Kind, suspected: bool) -> tuple[Way, str]:
        if kind.dear:
            return UNCOUNTED
        base, fleet = kind.count_base(suspected), kind.of(mutant, suspected)
        if self._restless(mutant, lambda: base.alters(fleet)):
            return RESTLESS
        if not base.fires(fleet):
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
SAFE: Final = "proved: its changed rows keep the invariant, and so each safety property, all that is asked of a fleet"
"""Liveness is asked of one worker and of two, never of any number: a mutant that is called safe may be stuck."""
SAME: Final = (
    "proved the same: in every state of the invariant its rows may fire where the original's may, and lead there, too"
)


def agree(name: str, verdicts: Mapping[str, Way]) -> None:
    """Nobody may call safe what the search refutes. Raises AssertionError with who does.

    The search looks at two workers alone: what it does not refute, others need not prove.
    """
    if verdicts.get("explore") == "refuted":
        wrong = [way for way, verdict in verdicts.items() if verdict == "safe"]
        if wrong:
            raise AssertionError(f"{name}: safe, says {', '.join(wrong)}, and a run of two workers breaks a property")


def _proof(said: Said) -> tuple[Way, str, float]:
    if said.safe:
        return "safe", "", said.seconds
    verdict: Way = "not safe" if said.answer == "sat" else "no answer"
    return verdict, f"stops at {said.fails}: {said.answer}", said.seconds


def _missing(way: str) -> Cell:
    return Cell(checker=way, outcome="not run", words="", seconds=0.0)


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
