"""Mutants of the runtime: plausible bugs, each planted by substitution, against the checkers that run the shipped code (E-TRUST).

A check runs in a process of its own, so that a bug that never ends is cut off, and nothing of it is left.
"""

import logging
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Mapping
from functools import cache
from multiprocessing.connection import Connection
from typing import Final

from ..model.invariant import INVARIANT
from ..model.properties import PROPERTIES
from ..model.step import build
from . import conform
from .conform import walk
from .contract_cases import CONTRACT_CASES
from .contract_conform import walk_contracts
from .crash import declared, stored
from .crash_cases import CASES
from .crash_run import Traces
from .crash_snapshot import Breadth, sweep_case
from .crash_subject import Subject
from .ended_cases import ENDED_CASES
from .enumerate_stage import KILLS as PARTED
from .enumerate_stage import product
from .evidence import Cell, MutantCells, Verdict
from .interleave import CASES as INTERLEAVED
from .interleave import Graph, interleave
from .interleave_mutants import MUTANTS, SHIPPED, Mutant
from .interleave_stage import KILLS as BROKEN
from .keys import check as keys_differ
from .monitor import Monitor
from .mutate_bugs import BUGS, Bug
from .mutate_columns import CONTRACT, WORKERS
from .mutate_left import diverged_in_check_trace, refused_by_verify_job
from .mutate_programs import parted
from .mutate_rows import OriginalError
from .mutate_runs import (
    CannotMeetError,
    contracts_covered,
    contracts_enumerated,
    enumerated,
    paths_walked,
    power_failed,
    workers_walked,
)
from .mutate_woken import went_on
from .prove import prove
from .prove_encode import Encoding
from .prove_obligations import strengthen
from .prove_solve import Obligation, solve
from .resident import resident
from .semantics_cases import SEMANTICS_CASES
from .semantics_monitor import SemanticsMonitor
from .stores_held import parted as stores_parted
from .substitute import Patch, Plant, nothing, planted

CHECKERS: Final = (
    "keys", "stores", "woken", "crash", "program", "monitor", "check-trace", "verify-job", "coverage", "interleave", "enumerate",
    "paths", "walk", "workers", "power",
)  # fmt: skip
"""The checkers that run the code: keys of steps that look alike; stores held side by side; a worker that is overtaken in its
sleep; a sweep of crash snapshots; directed programs in lockstep; the traces that the sweep leaves, in the model;
its stores, as event streams, and as jobs to be verified; every move of contracts; every interleaving of two workers; the
enumeration beside the model; the kept test paths; random walks, of one worker and of several; power loss."""
UNPLANTED: Final = ("check-trace", "verify-job")
"""Those who judge what the bug has left without it: they plant it themselves."""
KIND: Final = "hand-written"
TAKEN: Final = "interleavings: "
"""How the names of protections that are taken away begin."""
NOTHING: Final = Bug(nothing, "", "")
"""The code as it ships."""
LONGEST: Final = 3_600.0
"""Seconds after which a check is cut off, and"""
WORK: Final = 300
"""seconds of work, or behind"""
MEMORY: Final = 4_000_000_000
"""bytes of memory more than it began with, on Linux: the bug has shown nothing by then. The first is for a bug that waits for
ever, on however busy a machine; the last for one with which there is no end of states. None is a limit within the process, but
for the seconds of work: what a check made of a failed allocation could pass for a no."""
LOOK: Final = 0.5
"""Seconds between two looks at how much it is."""
SINGLE: Final = Breadth(1)
SMALLEST: Final = "park-2"
"""The interleavings that every bug of the step meets: two workers, and a tool that parks."""
SEEDS: Final = (20, 1)
"""The walks in which a bug is looked for."""


SUBJECTS: Final[Mapping[str, Subject]] = {**CASES, **SEMANTICS_CASES, **ENDED_CASES, **CONTRACT_CASES}
Check = Callable[[], str]


def rows() -> list[str]:
    """The names of every mutant of the runtime: the bugs, and the protections taken away from several workers."""
    return [*(bug.name for bug in BUGS), *(f"{TAKEN}{name}" for name in MUTANTS if name in BROKEN or name in PARTED)]


def judge(name: str) -> MutantCells:
    """One mutant's row of the matrix: every checker is asked that can meet it. Raises KeyError."""
    if name.startswith(TAKEN) and name in rows():
        return _protection(name.removeprefix(TAKEN))
    bug = {bug.name: bug for bug in BUGS}[name]
    asked = _checks(bug.part, bug.plant, bug.cases)
    cells = _row({checker: apart(checker, bug, check) for checker, check in asked.items()}, bug.part)
    found = any(cell.outcome == "killed" for cell in cells)
    harmless = f"proved: {idle(bug.never)}" if bug.never and not found and idle(bug.never) else ""
    return MutantCells(
        name=name, subject=bug.part, kind=KIND, equivalent=harmless, unasked="", cells=cells, command=_command(name)
    )


def _row(asked: Mapping[str, Cell], part: str) -> list[Cell]:
    """A cell of each checker, in the order of `CHECKERS`: of those that were not asked with why they cannot meet the mutant."""
    return [
        asked.get(name) or Cell(checker=name, outcome="not applicable", words=_why_not(name, part), seconds=0.0)
        for name in CHECKERS
    ]


def _why_not(checker: str, part: str) -> str:
    """A test wrecks what is said not to be run, and asks again."""
    if part == WORKERS:
        return "the protection is taken away around a store in memory, and it runs another store"
    if part == CONTRACT:
        return "it runs jobs, and no code of contracts"
    return "it reads one job, and another one undoes this one" if checker == "monitor" else "it runs no code of jobs"


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
    """A protection taken away: who interleaves searches until its property falls, who enumerates to the first step too much."""
    asked = {checker: apart(checker, NOTHING, check) for checker, check in _several(name, MUTANTS[name]).items()}
    title = f"{TAKEN}{name}"
    cells = _row(asked, WORKERS)
    return MutantCells(
        name=title, subject=WORKERS, kind=KIND, equivalent="", unasked="", cells=cells, command=_command(title)
    )  # fmt: skip


def _several(name: str, mutant: Mutant) -> dict[str, Check]:
    """The checkers of several workers, in the cases of a protection; mutant: the store without it, or as it ships."""
    return {"interleave": lambda: broken_without(name, mutant), "enumerate": lambda: parted_without(name, mutant)}


def broken_without(name: str, mutant: Mutant) -> str:
    """The property that falls in some interleaving of two workers where a protection is taken away."""
    case, kept = BROKEN.get(name, (SMALLEST, ""))
    return _first_broken(interleave(INTERLEAVED[case], mutant, until=kept))


def parted_without(name: str, mutant: Mutant) -> str:
    """The step that is not the model's where a protection is taken away."""
    case = PARTED[name] if name in PARTED else BROKEN[name][0]
    found = product(case, mutant=mutant).run().parted
    return f"{case}: {min(found, key=lambda each: len(each.schedule))}" if found else ""


def _checks(part: str, plant: Plant, cases: tuple[str, ...]) -> dict[str, Check]:
    """The checkers that can meet a bug of a part, which shows in some crash cases.

    Whoever runs jobs is asked about each bug in what jobs run, a store's too, though jobs that run, crash and are judged meet
    next to none of its refusals (decision 030).
    """
    subjects = [SUBJECTS[name] for name in cases]
    if part == CONTRACT:
        return {
            "coverage": contracts_covered,
            "crash": lambda: swept(cases),
            "enumerate": contracts_enumerated,
            "walk": contracts_walked,
        }
    of_one_job = tuple(name for name in cases if name not in ENDED_CASES)  # more the monitor does not read
    every: dict[str, Check] = {
        "keys": lambda: _refuted(keys_differ()),
        "stores": stores_parted,
        "woken": went_on,
        "crash": lambda: swept(cases),
        "program": parted,
        "monitor": lambda: monitored(of_one_job),
        "check-trace": lambda: diverged_in_check_trace(plant, subjects),
        "verify-job": lambda: refused_by_verify_job(plant, subjects),
        "interleave": interleavings,
        "enumerate": enumerated,
        "paths": paths_walked,
        "walk": walked,
        "workers": workers_walked,
        "power": power_failed,
    }
    if not of_one_job:
        del every["monitor"]
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
    return _first_broken(interleave(INTERLEAVED[SMALLEST]))


def _first_broken(graph: Graph) -> str:
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
    """Run a check with a bug planted, in a process of its own, and no further than the limits allow."""
    started, most = time.perf_counter(), resident(os.getpid()) + MEMORY
    ours, theirs = multiprocessing.Pipe(duplex=False)
    plant = nothing if checker in UNPLANTED else bug.plant
    process = multiprocessing.get_context("fork").Process(target=_run, args=(theirs, plant, check), daemon=False)
    process.start()
    theirs.close()
    try:
        said, why = ours.recv() if _heard(ours, process.pid, most) else (None, "cut off")
    except EOFError:
        process.join()
        said, why = None, "cut off" if process.exitcode == -signal.SIGXCPU else "its process died"
    finally:
        process.kill()
        process.join()
        ours.close()
    seconds = round(time.perf_counter() - started, 3)
    if said is None:
        words = f"no answer: {why}, after {seconds:.0f} s"
        return Cell(checker=checker, outcome="not run", words=words, seconds=seconds)
    return met(checker, said[:MOST_WORDS], bool(said), seconds)


def _heard(answer: Connection, pid: int | None, most: int) -> bool:
    """Wait for an answer, or the end of the process that gives it; False where neither comes in time, or within `most` bytes."""
    give_up = time.monotonic() + LONGEST
    while not answer.poll(LOOK):
        if time.monotonic() > give_up or resident(pid) > most:
            return False
    return True


def sound(part: str) -> None:
    """Ask every checker of a part about the code as it ships. Raises OriginalError where one says no."""
    cases = tuple(dict.fromkeys(case for bug in BUGS if bug.part == part for case in bug.cases))
    _pass(part, _checks(part, nothing, cases))


def sound_about(row: MutantCells) -> None:
    """Ask those who say no to one mutant about the code as it ships, in the same cases. Raises as `sound`."""
    if row.name.startswith(TAKEN):
        every = _several(row.name.removeprefix(TAKEN), SHIPPED)
    else:
        every = _checks(row.subject, nothing, {bug.name: bug for bug in BUGS}[row.name].cases)
    _pass(row.name, {cell.checker: every[cell.checker] for cell in row.killers})


def _pass(of: str, checks: Mapping[str, Check]) -> None:
    for checker, check in checks.items():
        cell = apart(checker, NOTHING, check)
        if cell.outcome != "survived":
            raise OriginalError(f"{of}, {checker}: the code as it ships does not pass: {cell.words}")


def met(checker: str, words: str, killed: bool, seconds: float) -> Cell:
    """The cell of a checker that was asked."""
    return Cell(checker=checker, outcome="killed" if killed else "survived", words=words, seconds=seconds)


MOST_WORDS: Final = 300
"""Characters of what a checker said that are kept."""


def _run(answer: Connection, plant: Plant, check: Check) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (WORK, WORK + 1))

    def quick(patch: Patch) -> None:
        plant(patch)
        patch.setattr(conform, "SHRINKS", 0)  # the first program that shows it is as good as the shortest

    logging.disable()  # what a runtime with a bug says of itself is nobody's business
    with planted(quick):
        try:
            answer.send((check(), ""))
        except CannotMeetError as error:
            answer.send((None, str(error)[:MOST_WORDS]))
        except Exception as error:
            answer.send((None, f"{type(error).__name__}: {error}"[:MOST_WORDS]))
    answer.close()
