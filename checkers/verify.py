"""The main job: every checker on the hardened model and runtime, and on the seeds as written; the evidence of one run.

A run is a list of stages, each of which returns what it found. What a stage found is kept in the run's directory, so that an
interrupted run goes on where it was (`--resume DIR`), as far as it was made by this code and these packages. A stage that ends
with an exception is an ERROR beside every claim that it should have spoken of, never a pass.
"""

import hashlib
import platform
import subprocess
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..model.claims import CLAIMS, NOT_CHECKED
from ..scenarios.due import differences
from ..scenarios.due_stages import ITEMS, items_of_stage
from ..scenarios.profile import ASKED_AGAIN, unplanted
from .evidence import (
    ClaimResult,
    ContractCoverage,
    Item,
    KillRow,
    Machine,
    MutantResult,
    Necessity,
    Observed,
    RunEvidence,
    RunInfo,
    ScenarioResult,
    Schedules,
    Verdict,
    WindowResult,
)
from .evidence_code import ROOT, code_sha256, stale_bytecode
from .evidence_graph import StateGraph
from .evidence_matrix import Matrix
from .explore import Space
from .kernel import missing
from .machines import strayed
from .verify_elsewhere import Elsewhere
from .whole_file import replace_file

if TYPE_CHECKING:
    from .crash import Ran
    from .prove import Proof
    from .windows import Derived

Profile = Literal["quick", "deep"]
PACKAGES = ("apsw", "cvc5", "hypothesis", "httpx", "networkx", "pydantic", "rfc8785", "rich", "z3-solver")


class Found(BaseModel):
    """What one stage found out."""

    model_config = ConfigDict(extra="forbid", strict=True)

    items: dict[str, list[Item]] = Field(default_factory=dict)  # by claim
    machines: list[Machine] = Field(default_factory=list)
    windows: list[WindowResult] = Field(default_factory=list)
    observed: dict[str, Observed] = Field(default_factory=dict)  # by window
    schedules: list[Schedules] = Field(default_factory=list)
    scenarios: list[ScenarioResult] = Field(default_factory=list)
    mutants: list[MutantResult] = Field(default_factory=list)
    kills: list[KillRow] = Field(default_factory=list)
    contracts: list[ContractCoverage] = Field(default_factory=list)
    edges: dict[str, dict[str, int]] = Field(default_factory=dict)  # of contracts, "state trigger state", by checker
    campaigns: list[Matrix] = Field(default_factory=list)
    graphs: list[StateGraph] = Field(default_factory=list)
    necessity: Necessity | None = None
    errors: list[str] = Field(default_factory=list)

    def add(self, claim: str, *items: Item) -> None:
        """Put items beside a claim."""
        self.items.setdefault(claim, []).extend(items)

    def summary(self) -> str:
        """What was found, in a few words."""
        verdicts = Counter(item.verdict.value for items in self.items.values() for item in items)
        words = [f"{count} {verdict}" for verdict, count in sorted(verdicts.items())]
        for name, right, every in (
            ("windows agree", [w for w in self.windows if w.agrees], self.windows),
            ("scenarios as expected", [s for s in self.scenarios if s.passed], self.scenarios),
            ("planted defects found", [m for m in self.mutants if m.killed_by], self.mutants),
            ("coverages of contracts complete", [c for c in self.contracts if c.complete], self.contracts),
        ):
            words += [f"{len(right)} of {len(every)} {name}"] if every else []
        words += [f"{len(self.graphs)} graphs of reachable states"] if self.graphs else []
        if self.kills:
            same, safe = sum(k.same for k in self.kills), sum(k.safe for k in self.kills)
            unasked, gaps = sum(k.unasked for k in self.kills), sum(len(k.gaps) for k in self.kills)
            words.append(
                f"{sum(k.killed for k in self.kills)} of {sum(k.mutants for k in self.kills)} mutants killed,"
                f" {same} proved the same, {safe} proved safe, {unasked} safe by proof and not asked further, {gaps} gaps"
            )
        words += [f"{m.subject}: {len(m.cells)} schedules of faults" for m in self.campaigns]
        words += [f"{s.schedules} schedules ({s.name}), {len(s.violations)} violations" for s in self.schedules]
        return ", ".join([*words, *self.errors])


class Ended(BaseModel):
    """What is kept of a stage that has ended, for a run that is interrupted. at: when it ended (ISO 8601, UTC)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    at: str
    found: Found


Timed = tuple[Found, float | None]
"""What a stage has found, and how many seconds it took; None where that was in an earlier sitting."""


@dataclass
class Context:
    """What a stage is given: bounds, a place for files, somebody to tell; searches, proofs, table and schedules made so far."""

    profile: Profile
    seed: int
    directory: Path
    tell: Callable[[str], None]
    spaces: dict[str, Space] = field(default_factory=dict)
    proofs: dict[str, "Proof"] = field(default_factory=dict)
    table: list["Derived"] = field(default_factory=list)
    ran: dict[str, "Ran"] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """A part of the run, and the claims about which it has to say something."""

    name: str
    title: str
    run: Callable[[Context], Found]
    claims: tuple[str, ...]
    checker: Literal["prove", "reprove", "explore", "windows", "crash", "monitor", "walk", "replay", "enumerate"]
    beside: bool = False
    """Whether it runs beside the stages before it, from the run's beginning: its work is done by processes of its own."""
    elsewhere: bool = False
    """Whether it runs beside them though its work is this interpreter's: another one does it, without this one's searches."""


class _InterruptedError(Exception):
    """The run ends, and a stage beside it is to end as well."""


class _Beside:
    """Runs some stages, one after the other, in a thread, or from it elsewhere; each result is waited for when its turn comes.

    Leaving ends the thread: a stage is told so where it next tells how far it is, and cleans up after itself.
    """

    def __init__(self, stages: Sequence[Stage], context: Context, run: Callable[[Stage, Context], Timed]) -> None:
        self._stages, self._run = stages, run
        self._context = replace(context, tell=self._tell)
        self._listener = context.tell
        self._over = threading.Event()
        self._results: dict[str, SimpleQueue[Timed | BaseException]] = {stage.name: SimpleQueue() for stage in stages}
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "_Beside":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def result(self, stage: Stage) -> Timed:
        """What the stage has found, once it has ended."""
        result = self._results[stage.name].get()
        if isinstance(result, BaseException):
            raise result
        return result

    def _work(self) -> None:
        with closing(Elsewhere()) as elsewhere:
            for stage in self._stages:
                there = replace(stage, run=partial(elsewhere.run, stage.run)) if stage.elsewhere else stage
                try:
                    self._results[stage.name].put(self._run(there, self._context))
                except BaseException as error:
                    self._results[stage.name].put(error)
                    return

    def _tell(self, words: str) -> None:
        if self._over.is_set():
            raise _InterruptedError
        self._listener(words)


def new_run(parent: Path, prefix: str = "") -> Path:
    """A new directory `reports/out/<run>` under a directory, named by the time, behind a prefix if there is one.

    Raises OSError where it cannot be made.
    """
    directory = parent / "reports" / "out" / f"{prefix}{datetime.now(UTC):%Y%m%d-%H%M%S}"
    name, number = directory.name, 1
    while directory.exists():
        number += 1
        directory = directory.with_name(f"{name}.{number}")
    directory.mkdir(parents=True)
    return directory


def verify(
    context: Context, stages: tuple[Stage, ...], command: str, only: str = ""
) -> Iterator[tuple[Stage, Found, float | None] | RunEvidence]:
    """Run the stages, yielding each with what it found and its seconds (see `Timed`), and in the end the evidence of it all.

    only: the claim whose stages these are: of others nothing is due, since other stages write what theirs rests on.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    kept = context.directory / "stages"
    kept.mkdir(parents=True, exist_ok=True)
    versions, by = _versions(), made_by()
    found: list[Found] = []
    owed: list[str] = []
    earlier: dict[str, str] = {}

    def timed(stage: Stage, context: Context) -> Timed:
        begin = time.monotonic()
        file = kept / f"{stage.name}.{by}.{context.profile}.{context.seed}.json"
        before = _kept(file)
        if before is not None:
            earlier[stage.title] = before.at
            return before.found, None
        result = _run(stage, context)
        if not result.errors:
            _keep(file, Ended(at=datetime.now(UTC).isoformat(timespec="seconds"), found=result))
        return result, time.monotonic() - begin

    others = {stage.name for stage in stages if stage.beside or stage.elsewhere}
    with _Beside([stage for stage in stages if stage.name in others], context, timed) as beside:
        for stage in stages:
            context.tell(stage.title)
            result, seconds = beside.result(stage) if stage.name in others else timed(stage, context)
            found.append(result)
            owed += not_as_due(stage, result, context.profile, only)
            yield stage, result, seconds
    if ITEMS.keys() <= {stage.name for stage in stages}:
        owed += _unplanted(found)
    info = RunInfo(
        run=context.directory.name,
        started=started.isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - clock, 3),
        kept=earlier,
        profile=context.profile,
        seed=context.seed,
        command=command,
        versions=versions,
        platform="; ".join(filter(None, (platform.platform(), missing()))),
        commit=_commit(),
        code_sha256=code_sha256(),
    )
    yield assemble(info, [*found, Found(errors=owed)])


def not_as_due(stage: Stage, found: Found, profile: Profile, only: str = "") -> Iterator[str]:
    """Where a stage's items are not those that this program states, which an audit looks for: then something else was checked.

    only: the one claim that is asked about, if it is one.

    What a stage does that has failed, or that is not one of the main job's, is not stated.
    """
    if stage.name not in ITEMS or found.errors:
        return
    due = items_of_stage(stage.name, profile)
    for claim in [only] if only else dict.fromkeys([*due, *found.items]):
        for words in differences(due.get(claim, ()), found.items.get(claim, [])):
            yield f"{stage.title}: claim {claim}, {words} (scenarios/due_stages.py)"


def _unplanted(found: Sequence[Found]) -> Iterator[str]:
    """The parts of a whole run of which nobody has planted a defect: who is shown none need find none."""
    again = [item for part in found for items in part.items.values() for item in items if item.checker == ASKED_AGAIN]
    silent = all(item.verdict is Verdict.NOT_CHECKED for item in again)
    there = [mutant.name for part in found for mutant in part.mutants]
    yield from unplanted(there, [ASKED_AGAIN] if silent else ())


def _keep(file: Path, ended: Ended) -> None:
    """Write what a stage has found, whole or not at all."""
    replace_file(file, ended.model_dump_json())


def _kept(file: Path) -> Ended | None:
    """What a stage has found before; None where it has not ended, or what was kept of it is torn: then it is run again."""
    try:
        return Ended.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _run(stage: Stage, context: Context) -> Found:
    """A stage's findings; its own failure is an error beside all its claims."""
    try:
        return stage.run(context)
    except _InterruptedError:
        raise
    except Exception as error:
        context.tell(traceback.format_exc())
        words = f"the checker failed: {type(error).__name__}: {error}"
        item = Item(checker=stage.checker, verdict=Verdict.ERROR, statement=words, command="crashwindow verify")
        return Found(items={claim: [item] for claim in stage.claims}, errors=[f"{stage.title}: {words}"])


def assemble(info: RunInfo, found: list[Found]) -> RunEvidence:
    """One run's evidence from what its stages found."""
    items: dict[str, list[Item]] = {claim.id: [] for claim in CLAIMS}
    observed: dict[str, Observed] = {}
    for part in found:
        for claim, more in part.items.items():
            items[claim] += more
        observed.update(part.observed)
    machines = [m for part in found for m in part.machines]
    graphs = [g for part in found for g in part.graphs]
    return RunEvidence(
        run=info,
        machines=machines,
        claims=[ClaimResult(claim=c.id, expected=Verdict(c.expected), items=items[c.id]) for c in CLAIMS],
        windows=[
            row.model_copy(update={"observed": observed.get(row.row, row.observed)})
            for part in found
            for row in part.windows
        ],
        schedules=[s for part in found for s in part.schedules],
        scenarios=[s for part in found for s in part.scenarios],
        mutants=[m for part in found for m in part.mutants],
        kills=[k for part in found for k in part.kills],
        contracts=[_taken(coverage, found) for part in found for coverage in part.contracts],
        campaigns=[c for part in found for c in part.campaigns],
        graphs=graphs,
        necessity=next((part.necessity for part in found if part.necessity), None),
        not_checked=list(NOT_CHECKED),
        errors=[
            *(f"{file}: bytecode of another source than lies there; remove it" for file in stale_bytecode()),
            *(e for part in found for e in part.errors),
            *strayed(machines, graphs, [row for part in found for row in part.windows]),
        ],
    )


def _taken(coverage: ContractCoverage, found: list[Found]) -> ContractCoverage:
    """A coverage with what every checker of the run took of its edges."""
    taken = {checker: edges for part in found for checker, edges in part.edges.items()}
    edges = []
    for edge in coverage.edges:
        name = f"{edge.before} {edge.trigger} {edge.after}"
        more = {checker: edges[name] for checker, edges in taken.items() if name in edges}
        edges.append(edge.model_copy(update={"by": {**edge.by, **more}}))
    return coverage.model_copy(update={"edges": edges})


def made_by() -> str:
    """What tells findings of this code and these packages from those of others: a hash of both, cut."""
    return hashlib.sha256(f"{code_sha256()} {_versions()}".encode()).hexdigest()[:16]


def _versions() -> dict[str, str]:
    """Python's, and those of the packages on which verdicts rest. Raises AnotherSolverError where Z3 is not as told."""
    from .prove_loaded import solver_as_installed

    solver_as_installed()
    return {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """The checkout's commit, marked when files differ from it; "unknown" outside a checkout."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        dirty = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head} (with uncommitted changes)" if dirty else head
