"""Mutants of the models against the checkers of models: who says no to each, and what is proved of the others (E-TRUST).

A mutant meets the proof and the search; where neither finds anything, and no state tells it apart from the original, it is
equivalent, by exhaustion. Else it is asked whether it is as large as is stated of its machine, and comes to what must occur: a
row of the fault model that is lost breaks no property, and nobody else says no to it. It meets liveness, the crash-window table,
the refinement between the models and what the code was recorded to do. Of whom all these let through it is asked whether
it is *bisimilar*: nobody who sees stores, world, clock and what is done can tell it from the original (`mutate_bisimilar`). If
not, the code is enumerated beside it (`mutate_enumerate`). What is left then is a gap: that its rows keep the invariant makes it
safe, and not equivalent. Where nobody is asked after proof and search, what these let through is *safe by proof, not asked
further*.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from ..model.contract_invariant import CONTRACT_INVARIANT
from ..model.contract_properties import CONTRACT_PROPERTIES
from ..model.invariant import INVARIANT, Clause
from ..model.liveness import RESTS
from ..model.machine import Machine, show
from ..model.properties import PROPERTIES, Property
from ..scenarios.machines import machine_of
from ..scenarios.searched import SEARCHED
from .evidence import Cell, MutantCells, killers
from .explore import Engine, Space, explore, searched
from .liveness_stage import LIVE
from .machines import BEYOND, not_as_stated
from .mutate_bisimilar import Observer
from .mutate_enumerate import Beside, beside
from .mutate_live import Liveness
from .mutate_prove import Asked, ask
from .mutate_refine import compensates, refines
from .mutate_rows import Generated, OriginalError, Rows, generate
from .mutate_search import Base, Difference, Seen, examine
from .mutate_tape import (
    replay_contracts,
    replay_semantics,
    replay_steps,
    tape_of_contracts,
    tape_of_steps,
    traces_of_semantics,
)
from .mutate_windows import Table
from .prove import prove
from .semantics_stages import MODELS

CHECKERS: Final = ("prove", "explore", "stated", "windows", "lockstep", "refine", "liveness", "enumerate")
"""The checkers of models, in the order in which they are asked: the cheapest first."""

NEEDS: Final = {"windows": "table", "lockstep": "replay", "liveness": "liveness"}
"""What of a `Bench` a checker needs."""
KEPT: Final = "its changed rows keep the invariant"
STEP: Final = "hardened"
PAIRED: Final = (STEP, "contract-hardened")
"""The machines that refine each other's models."""
COMPENSATION: Final = "compensation-hardened"
"""The machine that has the step's interface in rows of its own."""
Replay = Callable[[Machine, Engine], str]
"""What the code was recorded to do, replayed in a machine, with its engine; "" where the machine follows."""
Until = Literal["proof", "all"]
"""Whom a mutant meets beside proof and search: nobody; all others."""


@dataclass(frozen=True)
class Model:
    """One machine: what is proved of it, over which clauses, and what the code was recorded to do."""

    properties: Sequence[Property]
    invariant: Sequence[Clause]
    replayed: Callable[[], Replay]


def _semantics(policy: str) -> Callable[[], Replay]:
    def record() -> Replay:
        traces = traces_of_semantics(policy)
        return lambda machine, engine: replay_semantics(machine, policy, traces)

    return record


def _steps() -> Replay:
    runs = tape_of_steps()
    return lambda machine, engine: replay_steps(engine, runs)


def _contracts() -> Replay:
    runs = tape_of_contracts()
    return lambda machine, engine: replay_contracts(engine, runs)


SUBJECTS: Final = {
    "recorded-hardened": None,
    "gate-hardened": None,
    "compensation-hardened": None,
    "contract-hardened": Model(CONTRACT_PROPERTIES, CONTRACT_INVARIANT, _contracts),
    "hardened": Model(PROPERTIES, INVARIANT, _steps),
}
"""The machines that are mutated, the smallest first; of those without an entry `MODELS` says it."""


def subject(policy: str) -> Model:
    """What there is to know of a machine."""
    made = SUBJECTS[policy]
    return made or Model(MODELS[policy].properties, MODELS[policy].invariant, _semantics(policy))


class Bench:
    """One machine's checkers, ready: what each needs is made when it is first asked."""

    def __init__(self, policy: str, space: Space | None = None) -> None:
        self.policy, self.model = policy, subject(policy)
        self.machine = machine_of(policy)
        self._space, self._passes = space, False

    @cached_property
    def generated(self) -> Generated:
        """Its mutants."""
        return generate(self.machine)

    @cached_property
    def base(self) -> Base:
        """The original, searched."""
        return Base(self._space or explore(self.machine), self.model.properties)

    @cached_property
    def liveness(self) -> Liveness:
        """The original's order outside rest."""
        (claim,) = (c for c in LIVE if c.policy == self.policy and c.variant == "hardened")
        return Liveness(self.base, claim.assumptions, [rest for _, rest in RESTS[self.policy]])

    @cached_property
    def table(self) -> Table:
        """The crash-window table of the original."""
        return Table(self.base)

    @cached_property
    def replay(self) -> Replay:
        """What the code was recorded to do. Raises OriginalError where the original does not follow it."""
        replay = self.model.replayed()
        said = replay(self.machine, self.base.space.engine)
        if said:
            raise OriginalError(f"{self.policy}: the original does not follow its own code: {said}")
        return replay

    @cached_property
    def observer(self) -> Observer:
        """Who tells a mutant from the original, if anybody can."""
        return Observer(self.base, self.model.invariant)

    @cached_property
    def shipped(self) -> Beside | None:
        """What the code can do; None where none of it is enumerated beside this machine."""
        return beside(self.policy, self.base.space.engine)

    def check_original(self) -> None:
        """Ask of the original what is asked of its mutants, and is made of it for nobody else. Raises OriginalError."""
        if self._passes:
            return
        said = "it is not proved" if not prove(self.machine, self.model.properties, self.model.invariant).holds else ""
        said = said or not_as_stated(self.policy, self.base.space) or self._vacuous(self.base.space)
        if self.policy == COMPENSATION:
            said = said or compensates(self.base.space)
        if said:
            raise OriginalError(f"{self.policy}: the original does not pass: {said}")
        self._passes = True

    def judge(self, mutants: Sequence[Rows], until: Until) -> Iterator[MutantCells]:
        """Every mutant's row of the matrix. Raises OriginalError where the original does not pass, and AssertionError where proof
        and search contradict each other.
        """
        self.check_original()
        for mutant, asked in ask(self.machine, self.model.properties, self.model.invariant, mutants):
            yield self._row(mutant, asked, until)

    def _row(self, mutant: Rows, asked: Asked, until: Until) -> MutantCells:
        cells = [_proof(asked)]
        started = time.perf_counter()
        difference = self.base.difference(mutant)
        if difference.none:
            cells.append(_cell("explore", "", time.perf_counter() - started))
            same = "exhausted: the same reachable states and the same labelled transitions as the original"
            return self._result(mutant, cells, same)
        seen = examine(self.base, mutant, difference)
        if seen.violation and asked.answer == "unsat":
            raise AssertionError(
                f"{mutant.name}: proved safe, and a run breaks {seen.violation}: {', '.join(seen.run)}"
            )
        words = seen.violation and f"{seen.violation}, after {len(seen.run)} steps"
        cells.append(_cell("explore", words, time.perf_counter() - started))
        if not seen.violation:
            started = time.perf_counter()
            cells.append(_cell("stated", self.stated(mutant), time.perf_counter() - started))
        others = self._others(mutant, difference, seen) if until == "all" else {}
        for name, check in others.items():
            getattr(self, NEEDS.get(name, "base"))  # what it needs is made once, and is no mutant's time
            started = time.perf_counter()
            said = check()
            cells.append(_cell(name, said, time.perf_counter() - started))
        killed_by = {cell.checker for cell in killers(cells)}
        if until == "all" and killed_by <= {"stated"}:
            return self._last(mutant, cells, difference)
        if killed_by:
            return self._result(mutant, cells)
        return self._result(mutant, cells) if asked.answer != "unsat" else self._unasked(mutant, cells)

    def _last(self, mutant: Rows, cells: list[Cell], difference: Difference) -> MutantCells:
        """The row of a mutant that nobody has killed, or a pinned size alone: bisimilar, or else what the code says of it."""
        if not killers(cells) and (same := self.observer.bisimilar(mutant, difference)):
            return self._result(mutant, cells, same)
        if self.shipped:
            started = time.perf_counter()
            cells.append(_cell("enumerate", self.shipped.examine(mutant), time.perf_counter() - started))
        return self._result(mutant, cells)

    def stated(self, mutant: Rows) -> str:
        """How a mutant's search, from its starts, comes to something else than is stated of its machine, or never to what has to
        occur: its properties say nothing then."""
        space = self._searched(mutant)
        return not_as_stated(self.policy, space) or self._vacuous(space)

    def _searched(self, mutant: Rows) -> Space:
        engine = Engine(mutant.of(self.machine), self.base.space.engine)
        return searched(engine, limit=SEARCHED[self.policy].states + BEYOND)

    def _vacuous(self, space: Space) -> str:
        missing = ((p.id, g) for p in self.model.properties for g in p.occurs if space.find(g) is None)
        return next((f"{name} is vacuous: never reached: {show(g)}" for name, g in missing), "")

    def _others(self, mutant: Rows, difference: Difference, seen: Seen) -> dict[str, Callable[[], str]]:
        """The checkers that need no violation of a property to say no."""
        every: dict[str, Callable[[], str]] = {
            "lockstep": lambda: self.replay(mutant.of(self.machine), self.base.engine(mutant))
        }
        if seen.violation:  # a search that has ended early has not seen all that the others look at
            return every
        if self.policy == STEP:
            every = {"windows": lambda: self.table.examine(mutant, difference, seen), **every}
        if self.policy in PAIRED:
            every["refine"] = lambda: refines(self.base, mutant, difference, seen)
        elif self.policy == COMPENSATION:
            every["refine"] = lambda: compensates(self._searched(mutant))
        every["liveness"] = lambda: self.liveness.examine(mutant, difference, seen).words
        return every

    def _unasked(self, mutant: Rows, cells: list[Cell]) -> MutantCells:
        """The row of a mutant that proof and search let through, before all who might kill it all the same."""
        row = self._result(mutant, cells)
        rest = ", ".join(cell.checker for cell in row.cells if cell.outcome == "not run")
        return row.model_copy(update={"unasked": f"safe by proof: {KEPT}; not asked: {rest}"})

    def _result(self, mutant: Rows, cells: list[Cell], equivalent: str = "") -> MutantCells:
        met = {cell.checker for cell in cells}
        for name in CHECKERS:
            if name not in met:
                cells.append(Cell(checker=name, outcome=self._missing(name), words="", seconds=0.0))
        return MutantCells(
            name=mutant.name, subject=self.policy, kind=mutant.kind, equivalent=equivalent, unasked="", cells=cells,
            command=f"crashwindow mutants --only '{mutant.name}'",
        )  # fmt: skip

    def _missing(self, checker: str) -> Literal["not applicable", "not run"]:
        beyond = (checker == "windows" and self.policy != STEP) or (
            checker == "refine" and self.policy not in (*PAIRED, COMPENSATION)
        )
        return "not applicable" if beyond or (checker == "enumerate" and not self.shipped) else "not run"


def _proof(asked: Asked) -> Cell:
    """Where the proof stops. A solver that gives no answer says no to nothing."""
    words = asked.fails and f"stops at {asked.fails}: {asked.answer}"
    if asked.answer == "unknown":
        return Cell(checker="prove", outcome="not run", words=words, seconds=round(asked.seconds, 4))
    return _cell("prove", words, asked.seconds)


def _cell(checker: str, words: str, seconds: float) -> Cell:
    return Cell(checker=checker, outcome="killed" if words else "survived", words=words, seconds=round(seconds, 4))
