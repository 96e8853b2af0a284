"""What a crash campaign found, as data: which outcome each boundary of a runtime had, and how each cell is reproduced."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from .evidence_base import Base, Seed
from .evidence_outcome import AT_MOST_ONCE, SEVERITY, UNJUDGED, Outcome


class Trial(Base):
    """One run that was struck: its schedule, what became of it, and in words why. status: what the record said in the end.

    effects: how often each step acted. kept: whether that is what the runtime's documentation allows. seconds: wall time.
    came: whether the process came to the boundary at which it was to be struck.
    """

    schedule: tuple[str, ...]
    run: int
    outcome: Outcome
    words: str
    status: str
    effects: dict[str, int]
    kept: bool
    seconds: float
    came: bool = True


def boundary_of(strike: str) -> str:
    """The boundary of a strike's text: without its kind, and without what a loss of power has left."""
    when, _, boundary = strike.partition(" ")
    return boundary.rpartition(" left ")[0] if when == "power" else boundary


class Cell(Base):
    """A schedule and all its runs: how many ended how, and how many as its documentation allows. command: repeats it.

    inferred: it was not run, but stands between two that ended alike, and well: nothing is accused on such grounds.
    """

    schedule: tuple[str, ...]
    outcomes: dict[Outcome, int] = Field(min_length=1)
    kept: int
    words: str
    inferred: bool = False
    command: str

    @classmethod
    def of(cls, trials: Sequence[Trial], command: str, stands_for: tuple[str, ...] | None = None) -> "Cell":
        """The cell of all runs of one schedule. stands_for: another one, which was not run and is taken to be like it."""
        worst = min(trials, key=lambda trial: SEVERITY[trial.outcome])
        return cls(
            schedule=stands_for or worst.schedule,
            outcomes=dict(Counter(trial.outcome for trial in trials)),
            kept=sum(trial.kept for trial in trials),
            words=worst.words,
            inferred=stands_for is not None,
            command=command,
        )

    @property
    def worst(self) -> Outcome:
        """The worst outcome of its runs: what was not judged is worse than what was found to be well."""
        return min(self.outcomes, key=SEVERITY.__getitem__)


class Told(Base):
    """What a runtime's documentation promises, and the outcomes that keep it.

    last_only: of the steps that have acted when a process dies, none but the last may act again, and it only where the record
    does not have it as done; and the one that a paused process was in. pauses: whether it speaks of a process that is overtaken
    while it is paused, and then goes on; power: of a loss of power; else such a run cannot break it.
    """

    words: str
    source: str
    allows: list[Outcome]
    last_only: bool
    pauses: bool
    power: bool = False


class Control(Base):
    """The runs without a fault. boundaries: in order. unstable: those that not every run came to, nor every one that was to be
    struck there. several: whether more than one thread came to them; always false where system calls are intercepted."""

    runs: int
    boundaries: list[str]
    unstable: list[str]
    several: bool = False
    effects: dict[str, int]
    seconds: float


class Matrix(Base):
    """The crash matrix of one subject. file, line: of its adapter's class, as an absolute path where it was run; "" for none.

    sampled: how many images a loss of power at a boundary may leave, where only some of them were tried, drawn by the seed.
    """

    subject: str
    adapter: str
    file: str = ""
    line: int = 1
    versions: dict[str, str]
    source: Literal["commits", "calls"]
    steps: list[str]
    promise: Told
    control: Control
    cells: list[Cell]
    seed: Seed
    sampled: dict[str, int] = Field(default_factory=dict)
    python: str
    platform: str

    def count(self) -> dict[Outcome, int]:
        """How many cells have which worst outcome."""
        found = [cell.worst for cell in self.cells]
        return {outcome: found.count(outcome) for outcome in Outcome if outcome in found}

    @property
    def unjudged(self) -> list[Cell]:
        """The cells of which a run was not judged: no pass."""
        return [cell for cell in self.cells if set(cell.outcomes) & UNJUDGED]

    @property
    def missed(self) -> list[Cell]:
        """Of those, the ones at a boundary that the runtime does not come to in each run, where the struck run did not either."""
        return [
            cell
            for cell in self.unjudged
            if set(cell.outcomes) & UNJUDGED == {Outcome.NOT_STRUCK}
            and any(boundary_of(strike) in self.control.unstable for strike in cell.schedule)
        ]

    @property
    def unanswered(self) -> list[Cell]:
        """The others of those, for which the campaign, or the adapter, has to answer: a failure."""
        missed = self.missed
        return [cell for cell in self.unjudged if cell not in missed]

    @property
    def broken(self) -> list[Cell]:
        """The cells that break what the runtime's own documentation promises."""
        return [
            cell
            for cell in self.cells
            if not cell.inferred and cell.kept < sum(n for o, n in cell.outcomes.items() if o not in UNJUDGED)
        ]

    @property
    def repeated(self) -> list[Cell]:
        """The cells that are not at most once, or whose record lies."""
        return [cell for cell in self.cells if not cell.inferred and not set(cell.outcomes) <= AT_MOST_ONCE | UNJUDGED]
