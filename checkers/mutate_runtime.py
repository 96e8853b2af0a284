"""Mutants of the runtime: plausible bugs, each planted by substitution, against the checkers that run the shipped code (E-TRUST).

Each row of the table names where a bug is planted, what should fall, and where to look first: the cases of a crash sweep in
which it shows. A check runs in a process of its own, so that a bug that never ends is cut off, and nothing of it is left.
"""

import multiprocessing
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from typing import Final

from ..model.invariant import INVARIANT
from ..model.properties import PROPERTIES
from ..model.step import build
from . import bugs_contract, bugs_semantics, bugs_step, conform
from .conform import walk
from .contract_cases import CONTRACT_CASES
from .contract_conform import walk_contracts
from .crash import declared, stored
from .crash_cases import CASES
from .crash_run import Traces
from .crash_snapshot import Breadth, sweep_case
from .crash_subject import Subject
from .evidence import Cell, MutantCells, Verdict
from .interleave import CASES as INTERLEAVED
from .interleave import interleave
from .interleave_mutants import MUTANTS
from .interleave_stage import KILLS
from .interleave_stage import planted as interleaved
from .keys import check as keys_differ
from .monitor import Monitor
from .mutate_programs import parted
from .prove import prove
from .prove_encode import Encoding
from .prove_obligations import strengthen
from .prove_solve import Obligation, solve
from .semantics_cases import SEMANTICS_CASES
from .semantics_monitor import SemanticsMonitor
from .substitute import Patch, Plant, planted

CHECKERS: Final = ("crash", "monitor", "program", "walk", "interleave", "keys")
"""The checkers that run the code: a sweep of crash snapshots; its traces replayed in the model; directed programs, and a random
walk, of model and code in lockstep; every interleaving of several workers; keys of steps that look alike."""
KIND: Final = "hand-written"
LONGEST: Final = 600.0
"""Seconds after which a check is cut off: the bug has shown nothing by then."""
SINGLE: Final = Breadth(1)
SMALLEST: Final = "park-2"
"""The interleavings that every bug of the step meets: two workers, and a tool that parks."""
SEEDS: Final = (20, 1)
"""The walks in which a bug is looked for."""


@dataclass(frozen=True)
class Bug:
    """A bug of the runtime. plant: how it is planted, its docstring saying what is wrong; where: the code that it replaces.

    falls: the property that should be seen to fall. cases: the crash cases in which it shows, the cheapest first. never: the
    rule of the model that is lost with it, where that is one that can never fire: then the bug is harmless, by that proof.
    """

    plant: Plant
    where: str
    falls: str
    cases: tuple[str, ...] = ()
    never: str = ""

    @property
    def name(self) -> str:
        """The bug's name."""
        return f"{self.part}: {getattr(self.plant, '__name__').replace('_', ' ')}"  # noqa: B009

    @property
    def part(self) -> str:
        """The part of the runtime that it is planted in."""
        return PARTS[self.plant.__module__.rpartition(".")[2]]

    @property
    def words(self) -> str:
        """What is wrong."""
        return (self.plant.__doc__ or "").strip()


PARTS: Final = {"bugs_step": "step", "bugs_semantics": "beyond the step", "bugs_contract": "contract"}
s, b, c = bugs_step, bugs_semantics, bugs_contract
BUGS: Final = (
    Bug(s.swapped_writes, "Step.record", "T-ORDER", ("ok-park",)),
    Bug(s.skipped_committed, "Step.record", "P3", ("ok-park",)),
    Bug(s.catch_up_skips_committed, "Step.record", "P3", ("ok-park",)),
    Bug(s.ledger_left_open, "Step.record", "P6", ("ok-park",)),
    Bug(s.altered_result, "Step.record", "P11", ("ok-park",)),
    Bug(s.dropped_unknown, "Step.settle", "P2", ("ok-park",)),
    Bug(s.ignored_effect, "Step.__init__", "P4", ("ok-park", "ok-fail")),
    Bug(s.committed_ledger_ignored, "Step.__init__", "P4", ("ok-park", "ok-fail"), "2: ledger committed"),
    Bug(s.mismatch_injected, "confirm.judged", "P8", ("semantics-confirm-mismatch",)),
    Bug(s.partial_taken_for_success, "Step.fail_after_effect", "T-OUTCOME", ("semantics-undo-partial",)),
    Bug(s.cancel_ignored, "Run.heard", "P15", ("semantics-cancel-first",)),
    Bug(s.ledger_forgotten, "Step.record", "P7", ("ok-park",)),
    Bug(s.unchecked_started, "drive.persist", "P14", ("ok-park",)),
    Bug(s.lookup_after_barrier, "Step.recover", "P4", ("ok-park", "ok-fail")),
    Bug(s.attempt_in_the_key, "Step.external_key", "P11", ("ok-reexecute",)),
    Bug(s.barrier_absent, "Step.recover", "P1", ("ok-park",)),
    Bug(s.execute_before_started, "Step.attempt", "P14", ("ok-park",)),
    Bug(s.effect_not_stored, "SqliteStore.put_effect", "P6", ("ok-park",)),
    Bug(s.last_attempt_only, "Step.recover", "P4", ("later-refused-reexecute",)),
    Bug(s.unknown_taken_for_no_effect, "Execute.perform", "P2", ("lost-park",)),
    Bug(s.lost_answer_taken_for_failure, "drive.persist", "T-WRITE", ("ok-park",)),
    Bug(s.retried_after_unknown, "Step.ambiguous", "P1", ("lost-park",)),
    Bug(s.node_finished_twice, "Step.conclude", "P11", ("ok-park",)),
    Bug(s.checkpoint_first, "Step.conclude", "T-ORDER", ("ok-park",)),
    Bug(s.absence_taken_at_once, "Query.perform", "P1", ("silent-query-lock", "lost-query-soon", "ok-query-soon")),
    Bug(s.absent_without_asking, "Query.perform", "P2", ("lost-query-fence",)),
    Bug(s.retries_without_end, "RetryPolicy.allows", "T-RETRY", ("refused-park",)),
    Bug(s.key_without_node, "keys.execution_key", "P11", ("two-ok-park",)),
    Bug(s.no_effect_left_open, "StepHistory.close", "P6", ("retry-park",)),
    Bug(s.parked_without_saying, "Step.park", "P15", ("lost-park",)),
    Bug(s.epoch_not_raised, "sqlite_statements.CLAIM_ONE", "P5", ("ok-park", "ok-query-quiet")),
    Bug(s.effects_not_fenced, "Fence.perform", "P5", ("ok-park",)),
    Bug(s.older_steps_left, "Step.settle_later", "P6", ("semantics-confirm-mismatch",)),
    Bug(b.unconfirmed_from_the_effect_record, "Step.confirm", "P8", ("semantics-confirm-match",)),
    Bug(b.unconfirmed_finished_node, "Step.confirm", "P8", ("semantics-confirm-match",)),
    Bug(b.cancel_with_an_open_attempt, "Run.heard", "P2", ("semantics-cancel-reexecute",)),
    Bug(b.requeued_after_unknown, "Step.ambiguous", "T-RETRY", ("semantics-retry-unknown-requeue",)),
    Bug(b.backoff_forgotten, "Run.wait", "T-RETRY", ("semantics-retry-backoff",)),
    Bug(b.compensation_without_barrier, "Compensation.attempt", "P14", ("semantics-undo-partial",)),
    Bug(b.compensation_repeated, "compensation.undoing_tool", "P10", ("semantics-undo-lost",)),
    Bug(b.gate_walked_through, "Gate.run_or_recover", "P9", ("semantics-approved",)),
    Bug(b.denial_not_final, "Gate.conclude", "P9", ("semantics-denied",)),
    Bug(b.another_action_approved, "gate.shown", "P9", ("semantics-approved",)),
    Bug(b.model_asked_again, "LlmStep.recorded", "P12", ("semantics-model",)),
    Bug(b.answer_used_otherwise, "LlmStep.recorded", "P12", ("semantics-model",)),
    Bug(b.input_not_recorded, "Recorder.record", "P12", ("semantics-inputs",)),
    Bug(b.input_asked_again, "Recorder.__init__", "P12", ("semantics-inputs",)),
    Bug(c.executor_runs_ahead, "Session.start", "C7", ("contract-worked-example",)),
    Bug(c.resume_not_compared, "write_batch", "C5", ("contract-consent-twice",)),
    Bug(c.answer_before_its_release, "write_batch._checkpoint", "C9", ("contract-worked-example",)),
    Bug(c.consent_bound_to_nothing, "operations.supersede", "C6", ("contract-arguments-changed",)),
    Bug(c.any_consent_inherited, "drafts._again", "C6", ("contract-superseded-retried",)),
    Bug(c.key_looked_up_and_not_believed, "SqliteContractStore.holder", "C1", ("contract-one-key-twice",)),
    Bug(c.orphan_again, "Step.recover", "C10", ("contract-worked-example",)),
    Bug(c.second_answer, "_SqliteRows.answered", "C5", ("contract-worked-example",)),
    Bug(c.no_compare_and_set, "write_batch._move_all", "C5", ("contract-consent-twice",)),
    Bug(c.consent_kept, "rules.moved", "C6", ("contract-worked-example",)),
    Bug(c.denial_frees, "_SqliteRows.move", "C1", ("contract-denied-reopened",)),
    Bug(c.release_in_two, "release", "C9", ("contract-worked-example",)),
    Bug(c.supersede_in_two, "operations._write", "C6", ("contract-arguments-changed",)),
    Bug(c.timeout_cancels, "contract.target", "C8", ("contract-worked-example",)),
    Bug(c.request_ends_alone, "write_batch._end_deferred", "C9", ("contract-worked-example",)),
    Bug(c.doubt_is_failure, "nodes.PROVEN", "C8", ("contract-worked-example",)),
    Bug(c.key_not_reserved, "_SqliteRows.holder", "C1", ("contract-one-key-twice",)),
)  # fmt: skip
"""The bugs, by the part of the runtime."""

SUBJECTS: Final[Mapping[str, Subject]] = {**CASES, **SEMANTICS_CASES, **CONTRACT_CASES}
Check = Callable[[], str]


def rows() -> list[str]:
    """The names of every mutant of the runtime: the bugs, and the protections taken away from several workers."""
    return [*(bug.name for bug in BUGS), *(f"interleavings: {name}" for name in MUTANTS if name in KILLS)]


def judge(name: str, whole: bool) -> MutantCells:
    """One mutant's row of the matrix; whole: every checker is asked, else only until one says no. Raises KeyError."""
    if name.startswith("interleavings: "):
        return _protection(name.removeprefix("interleavings: "))
    bug = {bug.name: bug for bug in BUGS}[name]
    cells: list[Cell] = []
    for checker, check in _checks(bug).items():
        if cells and cells[-1].outcome == "killed" and not whole:
            break
        cells.append(apart(checker, bug, check))
    every, asked = _checks(bug), {cell.checker for cell in cells}
    for checker in CHECKERS:
        if checker not in asked:
            cells.append(_unmet(checker, checker in every))
    found = any(cell.outcome == "killed" for cell in cells)
    harmless = f"proved: {idle(bug.never)}" if bug.never and not found and idle(bug.never) else ""
    return MutantCells(name=name, subject=bug.part, kind=KIND, equivalent=harmless, cells=cells, command=_command(name))


@cache
def idle(rule: str) -> str:
    """The sentence that a rule of the step can fire in no state of its proved invariant; "" where there is no such proof."""
    machine = build()
    known = strengthen(PROPERTIES, INVARIANT)
    fires = Obligation(f"{rule} can fire", "fires", "unsat", Encoding(machine).enabled(machine.rule(rule)), rule=rule)
    (answer,) = solve(machine, known, [fires])
    proved = answer.answer == "unsat" and prove(machine, PROPERTIES, INVARIANT).holds
    return (
        f"the rule {rule!r} of the model, which is lost with it, can fire in no state of the proved invariant"
        if proved
        else ""
    )


def _command(name: str) -> str:
    return f"crashwindow mutants --only '{name}'"


def _protection(name: str) -> MutantCells:
    """A protection taken away, searched until its property falls."""
    started = time.perf_counter()
    found = interleaved(name)
    seconds = round(time.perf_counter() - started, 3)
    cells = [met("interleave", found.words, bool(found.killed_by), seconds)]
    cells += [_unmet(checker, False) for checker in CHECKERS if checker != "interleave"]
    title = f"interleavings: {name}"
    return MutantCells(
        name=title, subject="several workers", kind=KIND, equivalent="", cells=cells, command=_command(title)
    )


def _checks(bug: Bug) -> dict[str, Check]:
    """The checkers that can meet a bug, the cheapest first."""
    every: dict[str, Check] = {}
    if bug.plant is bugs_step.key_without_node:
        every["keys"] = lambda: _refuted(keys_differ())
    every["crash"] = lambda: swept(bug.cases)
    if bug.part == "step":
        every["program"] = parted
    if bug.part != "contract":
        every["monitor"] = lambda: monitored(bug.cases)
    if bug.part == "step":
        every["interleave"] = interleavings
        every["walk"] = walked
    elif bug.part == "contract":
        every["walk"] = contracts_walked
    return every


def swept(cases: tuple[str, ...]) -> str:
    """What the first schedule of some cases breaks; a run that cannot go on is broken as well."""
    for name in cases:
        try:
            for record in sweep_case(SUBJECTS[name], SINGLE):
                if record.violations or record.error:
                    return f"{record.key}: {(record.violations or (record.error,))[0]}"
        except Exception as error:
            return f"{name}: the runtime ends with {type(error).__name__}: {error}"
    return ""


def monitored(cases: tuple[str, ...]) -> str:
    """The first trace of some cases that is not a run of the model."""
    left: Traces = {}
    for name in cases:
        try:
            for _ in sweep_case(SUBJECTS[name], SINGLE, traces=left):
                pass
        except Exception as error:
            return f"{name}: the runtime ends with {type(error).__name__}: {error}"
    steps, beyond = Monitor(build()), SemanticsMonitor()
    for trace in left.values():
        if trace.case in CASES:
            for step, effects in trace.effects.items():
                found = steps.check(stored(trace), step, declared=declared(trace.case), effects=effects)
                if not found.ok:
                    return f"{trace.key}: {found}"
        else:
            for replayed in beyond.check(trace):
                if replayed.divergence:
                    return str(replayed)
    return ""


def interleavings() -> str:
    """The first property that breaks in some interleaving of two workers, in the smallest case."""
    graph = interleave(INTERLEAVED[SMALLEST])
    return next((f"{name}: {problem}: {key}" for name, (problem, key) in graph.broken.items()), "")


def walked() -> str:
    """Where model and runtime part in a few quick walks."""
    for number in SEEDS:
        item = walk("quick", number)
        if item.verdict is Verdict.REFUTED:
            return f"seed {number}: {item.statement.partition('. It could')[0]}"
    return ""


def contracts_walked() -> str:
    """The same of contracts."""
    for number in SEEDS:
        failure = walk_contracts("quick", number).failure
        if failure is not None:
            return f"seed {number}: {str(failure.error).partition('. It could')[0]}"
    return ""


def _refuted(item: object) -> str:
    return getattr(item, "statement", "") if getattr(item, "verdict", None) is Verdict.REFUTED else ""


def apart(checker: str, bug: Bug, check: Check) -> Cell:
    """Run a check with a bug planted, in a process of its own, and no longer than `LONGEST`."""
    started = time.perf_counter()
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_run, args=(theirs, bug.plant, check), daemon=False)
    process.start()
    theirs.close()
    try:
        said = ours.recv() if ours.poll(LONGEST) else None
    except EOFError:
        said = None
    finally:
        process.kill()
        process.join()
        ours.close()
    seconds = round(time.perf_counter() - started, 3)
    if said is None:
        words = f"no answer: cut off after {seconds:.0f} s"
        return Cell(checker=checker, outcome="not run", words=words, seconds=seconds)
    return met(checker, said[:MOST_WORDS], bool(said), seconds)


def met(checker: str, words: str, killed: bool, seconds: float) -> Cell:
    """The cell of a checker that was asked."""
    return Cell(checker=checker, outcome="killed" if killed else "survived", words=words, seconds=seconds)


def _unmet(checker: str, could: bool) -> Cell:
    return Cell(checker=checker, outcome="not run" if could else "not applicable", words="", seconds=0.0)


MOST_WORDS: Final = 300
"""Characters of what a checker said that are kept."""


def _run(answer: Connection, plant: Plant, check: Check) -> None:
    def quick(patch: Patch) -> None:
        plant(patch)
        patch.setattr(conform, "SHRINKS", 0)  # the first program that shows it is as good as the shortest

    with planted(quick):
        answer.send(check())
    answer.close()
