"""Evidence: what a checker hands on, and what a report is made from (E-CLAIM).

Evidence is read back from files, by people and by programs who do not trust this one, so it is data with a published schema:
no verdict has a default, and the weakest item of a claim is kept beside the best. A checker's own exception is an `ERROR`
item, never a pass.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from .evidence_base import Base, Ending, Seed
from .evidence_graph import StateGraph
from .evidence_matrix import Matrix
from .evidence_verdict import BROKEN, strongest, weakest
from .evidence_verdict import Verdict as Verdict  # noqa: PLC0414  # whoever reads evidence has it from here

SCHEMA_VERSION = 4


class Frame(Base):
    """One step of a run of the model: the rule that fired, who acted, and the fields that changed (all, in the first)."""

    rule: str
    actor: str
    boundary: str | None
    changed: dict[str, str]


LOOP = "*"
"""In a replay key: from here on the run is repeated for ever."""


class Trace(Base):
    """A run of the model: a witness or a counterexample. `key` replays it: `crashwindow replay KEY`."""

    key: str
    frames: list[Frame]

    @property
    def repeats(self) -> int | None:
        """Of a run that never ends: the frame after which everything is repeated for ever; None for a run that ends."""
        stem, star, _ = self.key.partition(LOOP)
        return stem.count("/") if star else None


def _shown(trace: Trace) -> Trace:
    if not trace.frames:
        raise ValueError("a run that is shown has a step")
    return trace


Shown = Annotated[Trace, AfterValidator(_shown)]
"""A run as a report shows it, step by step; others are told by their keys alone."""


class Item(Base):
    """What one checker found out about one claim."""

    checker: Literal["prove", "reprove", "explore", "windows", "crash", "monitor", "walk", "replay", "enumerate"]
    verdict: Verdict
    statement: str  # one sentence: what exactly was established
    figures: dict[str, int | float | str] = Field(default_factory=dict)
    trace: Shown | None = None
    files: list[str] = Field(
        default_factory=list
    )  # in the run's directory, on which the verdict rests; "DIR/": all of it
    command: str  # reproduces it


class ClaimResult(Base):
    """A claim of the register with all that was found out about it."""

    claim: str
    expected: Verdict  # the verdict that the register expects of the strongest item
    items: list[Item]

    @property
    def best(self) -> Verdict:
        """The strongest verdict, unless something refutes it."""
        return strongest([item.verdict for item in self.items])

    @property
    def worst(self) -> Verdict:
        """The weakest link."""
        return weakest([item.verdict for item in self.items])

    @property
    def as_expected(self) -> bool:
        """Whether the claim came out as the register says it does."""
        return self.best == self.expected and Verdict.ERROR not in [item.verdict for item in self.items]


class Observed(Base):
    """What real crashes in one window showed."""

    crashes: int = 0  # schedules whose last crash left this window
    killed: int = 0  # of these, by SIGKILL of a process
    at_crash: dict[Ending, int] = Field(default_factory=dict)  # effects when the crash struck -> how often
    recovery: dict[str, int] = Field(default_factory=dict)  # first boundary of the recovery -> how often
    in_end: dict[Ending, int] = Field(default_factory=dict)  # final state and effects -> how often


class WindowResult(Base):
    """One row of the crash-window table: what the model predicts, what was proved, what real crashes showed."""

    row: str
    crash_after: str
    durable: str
    advice: str  # what recovery does, in words
    predicted_recovery: list[str]  # the rules of T-RECOVER, as stated by hand
    predicted_at_crash: list[Ending]
    predicted_in_end: list[Ending]
    derived_recovery: list[str]
    derived_at_crash: list[Ending]
    derived_in_end: list[Ending]
    states: int
    agrees: bool  # the derived row equals the stated one
    proof: Verdict  # the invariant implies the row's effects at the crash
    observed: Observed
    source: str


class Schedules(Base):
    """A campaign of crash schedules on the real runtime."""

    name: str
    by: Literal["snapshot", "SIGKILL", "store fault"]
    schedules: int
    per_second: float
    outcomes: dict[Ending, int]  # final state and effects -> how often
    violations: list[str]  # replay keys of schedules that broke a property
    disagreements: list[str]  # replay keys of schedules whose outcome differs between snapshot and SIGKILL
    boundaries: dict[str, int]  # boundary:when -> how often struck


class ScenarioResult(Base):
    """A scenario file and how it came out."""

    name: str
    expected: str
    observed: str
    passed: bool
    detail: str
    trace: Shown | None = None
    command: str


class MutantResult(Base):
    """A planted bug and the checker that said no."""

    name: str
    killed_by: str | None
    words: str


class Cell(Base):
    """What one checker said of one mutant, in how many seconds."""

    checker: str
    outcome: Literal["killed", "survived", "not applicable", "not run"]
    words: str
    seconds: float


def killers(cells: Iterable[Cell]) -> list[Cell]:
    """The cells that say no, the cheapest first."""
    return sorted((cell for cell in cells if cell.outcome == "killed"), key=lambda cell: cell.seconds)


class MutantCells(Base):
    """A row of the kill matrix. equivalent: the proof that a mutant which nobody kills is harmless, "" where there is none.

    unasked: of a mutant that is safe by proof the proof, and who might kill it all the same and was not asked; "" where all were.
    """

    name: str
    subject: str  # the machine, or the part of the runtime
    kind: str
    equivalent: str
    unasked: str
    cells: list[Cell]
    command: str  # reproduces it

    @property
    def killers(self) -> list[Cell]:
        """The cells that say no, the cheapest first."""
        return killers(self.cells)

    @property
    def killed(self) -> bool:
        """Whether somebody says no. What is proved equivalent need not be killed: where a proof stops, it is too weak."""
        return bool(self.killers) and not self.equivalent

    @property
    def gap(self) -> bool:
        """Whether nobody says no, and nothing is proved of it."""
        return not self.killers and not self.equivalent and not self.unasked


class KillRow(Base):
    """One class of mutants of one subject, as a row of the report: how many there are, and what became of them."""

    subject: str
    kind: str
    mutants: int
    one_in: int = 1  # of the subject's mutants, one in so many was judged, by the run's seed
    killed: int
    by: dict[str, int]  # checker -> how many it says no to
    cheapest: dict[str, int]  # checker -> of how many it is the cheapest killer
    cheapest_seconds: dict[str, float] = Field(default_factory=dict)  # checker -> what it took for these
    met: dict[str, int]  # checker -> how many it was asked about
    stated: int = (
        0  # of the killed, how many by nothing but what is stated of the original: its size, its graph, what occurs
    )
    same: int  # equivalent, by exhaustion or by proof
    safe: int  # equivalent for safety, proved: of the code alone, never of a model
    unasked: int  # safe by proof, and not every checker was asked that might kill it all the same
    gaps: list[str]
    survivors: dict[str, list[str]] = Field(
        default_factory=dict
    )  # what is proved of a mutant that is not killed -> of which ones, by name
    seconds: float  # of all checkers
    agreed: dict[str, int] = Field(default_factory=dict)  # of a fleet: as of `mutate_fleet_agree.agreement`
    unanswered: dict[str, int] = Field(
        default_factory=dict
    )  # of a fleet: way and reason -> of how many it has no answer


class Machine(Base):
    """The model that was checked."""

    policy: str
    sha256: str
    fields: int
    rules: int
    states: int
    transitions: int
    states_per_second: float
    unreached: list[str]  # rules that never fire under this policy: defence in depth, or a gap


class EdgeTaken(Base):
    """An edge of the contract's machine, and by whom it was taken on the real store."""

    before: str
    trigger: str
    after: str
    by: dict[str, int]  # checker -> how often


class ContractCoverage(Base):
    """The contract's machine on a real store: every edge, and every combination that is none."""

    store: str
    edges: list[EdgeTaken]
    legal: int  # combinations of state, trigger, actor, action type that the tables allow; each was tried
    illegal: int  # all others; each was tried
    refused: int  # of these, refused without any change
    wrong: list[str]  # sentences: legal ones that failed, illegal ones that were accepted or changed something

    @property
    def untaken(self) -> list[str]:
        """Edges that nobody took."""
        return [f"{e.before} –{e.trigger}→ {e.after}" for e in self.edges if not sum(e.by.values())]

    @property
    def complete(self) -> bool:
        """Whether every edge was taken and everything illegal refused."""
        return not (self.untaken or self.wrong) and self.refused == self.illegal


class Need(Base):
    """A cell of the matrix: whether a property needs a mechanism, all others being there."""

    property: str
    mechanism: str
    answer: Literal["needed", "not needed", "not applicable", "not checked"]
    verdict: (
        Verdict  # REFUTED: it fails without; PROVED, EXHAUSTED: it holds without; NOT CHECKED: there is nothing to ask
    )
    words: str
    key: str = ""  # replays a shortest counterexample: `crashwindow replay KEY`
    steps: int = 0  # of it


class Wider(Base):
    """What comes of a minimal set in whatever may befall a step's job, with every kind of tool."""

    more: list[str]  # the mechanisms that it takes there, too
    key: str  # a run that breaks the property with the set alone; "" where none does
    holds: bool  # whether the property holds with the set and these


class Sufficient(Base):
    """The minimal sets of mechanisms under which a property holds, every other one of the group being missing."""

    property: str
    sets: list[list[str]]
    asked: int  # subsets of which it is known whether they are minimal
    enough: bool  # whether those that the matrix calls needed suffice, all others missing
    monotone: bool  # whether, among those, no larger set was worse than a smaller one
    words: str  # how complete this is
    wider: list[Wider] = Field(default_factory=list)  # of each set, in their order: of the step's, in the deep profile


class Necessity(Base):
    """Which mechanisms the properties need (T-PROP, the matrix)."""

    bounds: list[str]  # sentences: what was searched
    cells: list[Need]
    sets: list[Sufficient]
    idle: list[str]  # sentences: mechanisms without which nothing breaks, and what they would protect against
    ambiguity: list[str]  # sentences: the class of observations at which every recovery is wrong
    whole: list[Sufficient] = Field(
        default_factory=list
    )  # as `sets`, with the three that are there otherwise: the deep profile
    between: list[Sufficient] = Field(
        default_factory=list
    )  # as `sets`, of the mechanisms between two workers: the deep profile
    beside: list[Sufficient] = Field(default_factory=list)  # as `sets`, of a gate, a compensation and a recorded value


class RunInfo(Base):
    """The run's own section: the only part of the evidence that differs between two runs on the same code.

    A run that was interrupted and taken up again has sittings: `started`, `seconds`, `platform` and `commit` are the last one's.
    kept: stages of which an earlier one had found out everything -> when they ended. Times are ISO 8601, UTC.
    """

    run: str
    started: str
    seconds: float
    kept: dict[str, str] = Field(default_factory=dict)
    profile: Literal["quick", "deep"]
    seed: Seed
    command: str
    versions: dict[str, str]
    platform: str
    commit: str
    code_sha256: str


class RunEvidence(Base):
    """Everything one `crashwindow verify` found out: the content of `evidence.json`."""

    schema_version: Literal[4] = 4
    run: RunInfo
    machines: list[Machine]
    claims: list[ClaimResult]
    windows: list[WindowResult]
    schedules: list[Schedules]
    scenarios: list[ScenarioResult]
    mutants: list[MutantResult]
    kills: list[KillRow] = Field(default_factory=list)
    contracts: list[ContractCoverage]
    campaigns: list[Matrix] = Field(default_factory=list)  # crash matrices of runtimes
    graphs: list[StateGraph] = Field(default_factory=list)  # reachable states, put together until they can be drawn
    necessity: Necessity | None
    not_checked: list[str]  # sentences: what this run says nothing about
    errors: list[str]  # stages that ended with an exception, and why

    @property
    def passed(self) -> bool:
        """Whether every verdict is the expected one."""
        return (
            not self.errors
            and all(claim.as_expected for claim in self.claims)
            and all(window.agrees and window.proof not in BROKEN for window in self.windows)
            and all(scenario.passed for scenario in self.scenarios)
            and all(mutant.killed_by for mutant in self.mutants)
            and not any(row.gaps for row in self.kills)
            and all(coverage.complete for coverage in self.contracts)
            and not any(s.violations or s.disagreements for s in self.schedules)
        )
