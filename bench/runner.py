"""Measures any row: ours and the rivals in turn, round by round, so that whatever else the machine does meets all of them."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from .figures import Figures, ratios, verdict
from .machine import load
from .results import Beside, Judged, Measured, Status
from .row import Contestant, Goal, Measure, Row, UnavailableError

T = TypeVar("T")
Tell = Callable[[str, int, int], None]
"""Hears the row's name, how many rounds are done, and of how many."""


def run(rows: Iterable[Row], rounds: int | None, tell: Tell) -> Iterator[Measured]:
    """Row by row; rounds: of each, else as many as the row says. After an interrupt comes what was measured until then, and no
    more."""
    for row in rows:
        with tempfile.TemporaryDirectory(prefix="crashwindow-bench-") as directory:
            found = Course(row, rounds or row.rounds, tell).measured(Path(directory))
        yield found
        if found.status == "interrupted":
            return


class Course:
    """One row under way."""

    def __init__(self, row: Row, rounds: int, tell: Tell) -> None:
        self.row, self.rounds, self.tell = row, rounds, tell
        self.load = load()
        self.figures: list[dict[str, float]] = []
        """Of each round that is over, by contestant. Ours has no name here."""
        self.missing: dict[str, tuple[Status, str]] = {}
        self.versions: dict[str, str] = {}

    def measured(self, directory: Path) -> Measured:
        """What the row's rounds come to; whatever goes wrong is in it."""
        try:
            with ExitStack() as stack:
                self._measure(self._begun(stack, directory))
        except KeyboardInterrupt:
            return self._told("interrupted", f"interrupted after {len(self.figures)} of {self.rounds} rounds")
        except UnavailableError as error:
            return self._told("not measured", str(error))
        except Exception as error:
            return self._told("failed", f"{type(error).__name__}: {error}")
        return self._told("measured", "")

    def _begun(self, stack: ExitStack, directory: Path) -> dict[str, Measure]:
        """Everybody who can be measured, ours first."""
        stage = stack.enter_context(self.row.stage(directory))
        begun = {"": _entered(stack, self.row.ours, stage)}
        for rival in self.row.rivals:
            measure = self._attempt(rival, partial(_entered, stack, rival, stage))
            if measure is not None:
                begun[rival.name] = measure
        return begun

    def _attempt(self, rival: Contestant, what: Callable[[], T]) -> T | None:
        """A rival that cannot be measured does not keep the others from it: why is noted."""
        try:
            self.versions[rival.name] = rival.version()
            return what()
        except UnavailableError as error:
            self.missing[rival.name] = ("not measured", str(error))
        except Exception as error:
            self.missing[rival.name] = ("failed", f"{type(error).__name__}: {error}")
        return None

    def _measure(self, begun: dict[str, Measure]) -> None:
        """A round to warm up, which does not count, if the row wants one; then the others. Who was last begins the next."""
        names = list(begun)
        rivals = {rival.name: rival for rival in self.row.rivals}
        for number in range(0 if self.row.warm else 1, self.rounds + 1):
            self.tell(self.row.name, number, self.rounds + 1)
            found: dict[str, float] = {}
            for name in names:
                figure = self._attempt(rivals[name], begun[name]) if name else begun[name]()
                if figure is not None:
                    found[name] = figure
            names = [name for name in reversed(names) if name in found]
            if number:
                self.figures.append(found)

    def _told(self, status: Status, reason: str) -> Measured:
        row = self.row
        ours = [found[""] for found in self.figures]
        rivals = tuple(self._beside(rival, status, reason) for rival in row.rivals)
        found = {rival.name: rival.ratios for rival in rivals} | {"": Figures.of(ours) if ours else None}
        return Measured(
            name=row.name, what=row.what, unit=row.unit, better=row.better, status=status, reason=reason, load=self.load,
            ours=found[""], rivals=rivals, goals=tuple(self._judged(goal, found[goal.beside]) for goal in row.goals),
        )  # fmt: skip

    def _beside(self, rival: Contestant, status: Status, reason: str) -> Beside:
        """A rival, if it was there in every round that is over."""
        version = self.versions.get(rival.name, "")
        if rival.name in self.missing:
            status, reason = self.missing[rival.name]
        if rival.name in self.missing or not self.figures:
            return Beside(name=rival.name, version=version, status=status, reason=reason)
        theirs = [found[rival.name] for found in self.figures]
        compared = ratios([found[""] for found in self.figures], theirs, self.row.better)
        return Beside(
            name=rival.name, version=version, status=status, figures=Figures.of(theirs), ratios=compared, reason=reason
        )

    def _judged(self, goal: Goal, found: Figures | None) -> Judged:
        said = verdict(goal, found, self.row.better)
        return Judged(beside=goal.beside, goal=goal.figure, found=found.median if found else None, verdict=said)


def _entered(stack: ExitStack, contestant: Contestant, stage: Any) -> Measure:
    return stack.enter_context(contestant.begin(stage))
