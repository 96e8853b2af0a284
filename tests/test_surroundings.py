"""What the rest of a job does to a step: real jobs need each row, and what is proved of a step holds with them, but for P6."""

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from crashwindow.checkers.abstraction import EffectRow, JobLine, LedgerRow, StoredEvent, StoredJob, of_records
from crashwindow.checkers.conform_follow import Disagreement, Model
from crashwindow.checkers.conform_world import Gate, StepPlan
from crashwindow.checkers.crash_run import Trace
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.enumerate_cases import AROUND
from crashwindow.checkers.enumerate_cover import step_sets
from crashwindow.checkers.enumerate_stage import product
from crashwindow.checkers.explore import explore
from crashwindow.checkers.monitor import Monitor
from crashwindow.checkers.semantics_cases import NONE, REFUSED, SEMANTICS_CASES, SILENT, UNDO, SemanticsCase, undo
from crashwindow.checkers.semantics_life import Word
from crashwindow.checkers.semantics_records import Durable
from crashwindow.checkers.semantics_world import Deed, Undo
from crashwindow.checkers.walk_firsts import AGAIN, FAILS, UNDOABLE, program, work
from crashwindow.checkers.walk_programs import of_key
from crashwindow.checkers.walk_seek import tried
from crashwindow.model.machine import Machine, show
from crashwindow.model.properties import PROPERTIES
from crashwindow.model.step import build
from crashwindow.model.surroundings import ELSEWHERE, build_around, build_by_itself, surroundings
from crashwindow.runtime import drive
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.reasoner import ScriptedReasoner
from crashwindow.runtime.contracts.runner import GraphRunner
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.job_records import read
from crashwindow.runtime.records import Json
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import NoEffectError, Tool, ToolContext
from crashwindow.runtime.verify_job import verify

from .real_jobs import Died
from .rehearsal import JOB
from .spaces import space_of
from .test_compensation import undone_and_not_happened

OWED = SEMANTICS_CASES["semantics-undo-owed"]
BEHIND: tuple[tuple[Deed, Word], ...] = (
    (Deed("b", partial=True, undo=UNDO), "cancel"),
    (Deed("b", partial=True), "cancel"),
    (Deed("b", REFUSED, node=NONE), "cancel"),
    (Deed("b", SILENT, "fail"), "leave"),
    (Deed("b", REFUSED, node={**NONE, "max_requeues": 1}), "cancel"),
)
FAILED = tuple(
    SemanticsCase(
        "", "", (Deed("a", undo=Undo(REFUSED)), failed), acts=undo("done", "b"), words={"compensation failed": word}
    )
    for failed, word in BEHIND
)
"""A step has failed, and an earlier one is to be undone before the job ends, or the step is queued again; that is refused."""
CASES = (
    OWED,
    replace(OWED, mode="human_in_loop"),
    replace(OWED, mode="human_in_loop", words={"confirmation": "cancel"}),
    SEMANTICS_CASES["semantics-undo-waiting"],
    *FAILED,
)
"""An earlier step is not confirmed: the job fails, parks and goes on, is cancelled. And one that waits has a step undone."""
DECLARED: Mapping[str, str] = {"idempotent": "no"}
"""What the tools of all these declare."""


@cache
def needing() -> list[StoredJob]:
    """The real jobs, crashed at every boundary (but for `FAILED`), that are no runs of the step's own machine."""
    left: dict[str, Trace] = {}
    for number, case in enumerate(CASES):
        mine: dict[str, Trace] = {}
        list(sweep_case(case, Breadth(int(case not in FAILED), answers=()), traces=mine))
        left |= {f"{number} {key}": trace for key, trace in mine.items()}
    alone = Monitor(build())
    jobs = [*(stored(trace.durable) for trace in left.values()), not_happened(), *(over(*way) for way in OVER)]
    return [job for job in jobs if not conforms(alone, job)]


def refuses(args: Json, context: ToolContext) -> Json:
    """It has no effect, and says so."""
    raise NoEffectError("not yet")


REFUSES: Final = Tool("x.refuses", refuses, "refuses", retry=RetryPolicy(max_retries=1))
OVER: Final = (("acquire", 1), ("append_started", 1), ("acquire", 2))
"""A boundary whose so-manieth performance an executor does not come to: nothing is on record, it was acquired, a retry is due."""


def over(boundary: str, number: int) -> StoredJob:
    """A contract's executor is gone; its time is over, and the next one brings its step to rest without executing it. verify-job
    takes the record.
    """
    now, left = [1_800_000_000.0], [number]

    def perform(command: Command, ports: Ports) -> object:
        left[0] -= command.boundary == boundary
        if not left[0]:
            raise Died
        return drive.perform(command, ports)

    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "store.db", lambda: now[0])) as store:
        ports = ContractPorts(store, lambda seconds: None, SqliteContractStore(store))
        service, method = REFUSES.name.split(".")
        call = {"kind": "call", "service": service, "method": method, "args": {}}
        reasoner = ScriptedReasoner.read([{"actions": [call]}, {"reply": "{seen}"}])
        with pytest.raises(Died):
            GraphRunner(ports, {REFUSES.name: REFUSES}, reasoner, perform=perform).open("s", "hello")
        now[0] += 10_000
        GraphRunner(ports, {REFUSES.name: REFUSES}, reasoner).tick()
        [job] = [each.job_id for each in store.jobs()]
        assert verify(read(store, job)).violated is None
        return of_records(job, store.events(job), store.ledger(job), store.effects(job))


def not_happened() -> StoredJob:
    """The same of a job with a step that is undone, and of which a person says then that it did not happen."""
    with TemporaryDirectory() as folder:
        bank, _ = undone_and_not_happened(Path(folder) / "job")
        store, events = bank.stage.store, bank.stage.events()
        ledger, effects = store.ledger(JOB).values(), store.effects(JOB).values()
        bank.stage.store.close()
    return StoredJob(
        JOB,
        tuple(StoredEvent(e.version, e.id, e.type, e.step, e.epoch, e.data) for e in events),
        tuple(LedgerRow(r.step_id, r.status, r.result, r.idempotency_key) for r in ledger),
        tuple(EffectRow(r.step_id, r.output, key=r.idempotency_key) for r in effects),
        JobLine("failed", len(events)),
    )


def stored(durable: Durable) -> StoredJob:
    """What a run left."""
    return StoredJob(
        "job",
        tuple(StoredEvent(row.version, row.id, row.type, row.step, row.epoch, row.said) for row in durable.events),
        tuple(LedgerRow(step, status, json.loads(result), key) for step, key, status, result in durable.ledger),
        tuple(EffectRow(step, json.loads(output), key=key) for step, key, _, output, _ in durable.effects),
        JobLine(durable.status, durable.version),
    )


def conforms(monitor: Monitor, job: StoredJob) -> bool:
    """Whether every step of a job is a run of a machine."""
    steps = [node["id"] for node in job.events[1].data["plan"]["nodes"] if "tool" in node]
    return all(monitor.check(job, step, declared=DECLARED).ok for step in steps)


def test_with_all_rows_real_jobs_conform() -> None:
    """What other steps do to a step that is open, or undone, in the jobs that real crashes leave, is in the rows."""
    around = Monitor(build_around())
    assert len(needing()) > 20
    assert [job.events[-1] for job in needing() if not conforms(around, job)] == []


FIRST: Final[list[StepPlan | Gate]] = [UNDOABLE, StepPlan(FAILS, 9, None, "r"), Gate()]
LATER: Final = [UNDOABLE, StepPlan(AGAIN, 9, None, "r", undoes="harmless")]
UNDOING: Final = (work("ok", "dies on the wire"), ("undo", 1))
WALKED: Final = {
    "hears what clients said, begun before": program(FIRST, *UNDOING, work("no effect", "ok", at2="signal", at10="crash after")),
    "crash, about to hear what clients said, begun before":
        program(FIRST, *UNDOING, work("no effect", "ok", at2="signal", at10="crash before")),
    "compensation was requested, harmless, and a retry is due":
        program(LATER, UNDOING[0], work(at7="crash before"), UNDOING[1], work("no effect"), ("wait", False), ("undo", 2),
                UNDOING[1], work("ok", "ok")),
}  # fmt: skip
"""Rows that leave no trace in a record at rest, each with a walk that needs it: an earlier step is undone in the same turn, or
the job rests at it."""


def lacking(name: str) -> Machine:
    """The machine without one row."""
    whole = build_around()
    return replace(whole, rules=tuple(rule for rule in whole.rules if rule.name != name))


ENUMERATED: Final = {"nobody executes it again": "abandoned-again"}
"""A row that a record cannot tell from another, with the case of the core that parts without it."""


@pytest.mark.parametrize("name", [rule.name for rule in surroundings() if rule.name not in {*WALKED, *ENUMERATED}])
def test_real_jobs_need_each_row(name: str) -> None:
    """The mutant without one of them refuses a job that really was."""
    without = Monitor(lacking(name))
    assert not all(conforms(without, job) for job in needing())


@pytest.mark.parametrize("name", ENUMERATED)
def test_the_core_needs_the_rows_that_no_record_tells(name: str) -> None:
    """The shipped code, enumerated, parts from the machine without it."""
    assert not product(ENUMERATED[name]).run().parted
    assert product(ENUMERATED[name], step_sets(lacking(name))).run().parted


UNTAKEN: Final = {
    "compensation was requested, harmless, and a retry is due": 1, "crash, about to hear what clients said, begun before": 33,
    "elsewhere: cancels, it failed after its effect": 5, "elsewhere: cancels, it failed without effect": 1,
    "elsewhere: cancels, it is to be queued again": 1, "elsewhere: cancels, it is undone": 1,
    "elsewhere: cancels, its compensation is owed": 3, "elsewhere: cancels, nothing is open": 1,
    "elsewhere: cancels, the result is recorded": 2, "elsewhere: fails, an attempt is open": 8,
    "elsewhere: fails, it is undone": 2, "elsewhere: fails, nothing is open": 2, "elsewhere: fails, the result is recorded": 4,
    "elsewhere: parks, an attempt is open": 8, "elsewhere: parks, it failed after its effect": 10,
    "elsewhere: parks, it failed in doubt": 2, "elsewhere: parks, it is to be queued again": 2,
    "elsewhere: parks, it is undone": 2, "elsewhere: parks, its compensation is owed": 6, "elsewhere: parks, nothing is open": 1,
    "elsewhere: parks, the result is recorded": 4, "elsewhere: settles what is closed": 1,
    "hears what clients said, begun before": 19, "its undoing has begun, and nothing is open": 1,
    "person: has it compensated while the job waits": 1,
}  # fmt: skip
"""Of these rows, how many of the edges of each no case is seen to take for certain. They are no rows of the hardened machine."""


def test_which_edges_of_these_rows_are_left_is_pinned() -> None:
    """In the cases beside this machine the shipped code takes 12 of the 133 edges of its rows for certain, and no others."""
    machine = build_around()
    sets, mine = step_sets(machine), {rule.name for rule in surroundings()}
    for name in AROUND:
        assert not product(name, sets, certain=True).run().parted
    edges = {edge for edge in explore(machine).engine.classes() if machine.rules[edge[0]].name in mine}
    left = Counter(machine.rules[number].name for number, _ in edges - sets.certain.taken)
    assert (len(edges), left) == (133, UNTAKEN)


@pytest.mark.parametrize("name", WALKED)
def test_walks_need_the_rows_that_leave_no_trace(name: str) -> None:
    """The step's own machine cannot follow such a job, the one with its neighbours can, and not without this row."""
    tried(WALKED[name], Model(build_around()))
    for less in (build(), lacking(name)):
        with pytest.raises(Disagreement):
            tried(WALKED[name], Model(less))


FOLLOWED: Final = {
    "read again behind what was settled of a later step": (
        "walk:step@hardened:eNqtk8FKAzEQhu8-RW7ZwlK24EGFXPUiIuitFJmms7ths0k7k6WK-O5OVBSLrW3pJfyZ5M_MfEzINWMe5r1Lxf"
        "Qh4fLeQyhsDInAJlNcg2cslV4NSC9aRI3Boh6VqofnJ8JEDtlUpQJq2NzFIJcJefDJaJL7PsaOzW1eiz4u0GgWi01yBIHXSGwKPYQFJqT"
        "eBVzkHJv73nEPybb_nW3VH0Jqti2ERuqdfNcvfQ0SuCyVPBxF6Rao98icK6wl01dTc7BdrGtTjSsx70NqNThMJya10dIvsSeknbB3Map-"
        "GB3K5pGGY4coHjtE22HsQ2wrwVMQuoGEBbsmgDe6iXo0G52R_MN1pK6Y6tjljEug5MDrWaleJxdXSlsCbtUc60io3_5w-MhJZVveSCg7s"
        "xGJYp6wc9GfWcX-DlA0U3E"
    ),
    "a reason from before a requeue": (
        "walk:step@hardened:eNqlkk1LAzEQhu_-itySwlK24sVCrnoREfRWiqTZ2Q82m-hMQivS_-7ErUqlLRYvYZiPN0_eCXbNlNJq6KJaPE"
        "Z4eXDGKxt8RGOjVjfGERRCvibAN8lBDd6CnBRiMJtnhIgdkC4LYbAhfR88NyNQclHLwP0uhJ70XT7VECrQknjERi4ZT2tA0koOHQ0m2jb"
        "r_yk43s9gtjW-YajZNyTDJ05cFyL5KnAk8_V1BNwRr4ztQ13rclry0AEbnjBlFxBgAzZFyBd6Hj3XiDF_jGodsKeTaLcmgqKu8cZp2QR5"
        "kvZ_OzuAWv6gtgYHB3SKdjm5QP5c-VFqwW4JqGv43Lx0geJu_6OTX7VlId5ns7mQ4xvldk8j9Lm7YnoRvIgtiHWH8Fswa1xezcfkvkIub"
        "Scf89L6ow"
    ),
}
"""Drawn jobs of several steps of which the walk said wrongly that code and model part."""


@pytest.mark.parametrize("what", FOLLOWED)
def test_what_once_parted_by_mistake_is_followed(what: str) -> None:
    """An earlier step is about to park while a later one's record is settled; a node succeeds after one retryable failure."""
    tried(of_key(FOLLOWED[what]), Model(build_around()))


def test_a_step_by_itself_needs_the_rows_for_its_compensation_alone() -> None:
    """The shipped code, in a job of one step whose undoing nobody knows of, is a run of that machine; not of one without them."""
    alone = build_by_itself()
    none = replace(alone, rules=tuple(rule for rule in alone.rules if not rule.name.startswith(ELSEWHERE)))
    assert product("half-undone-unsure", step_sets(alone)).run().parted == []
    assert product("half-undone-unsure", step_sets(none)).run().parted != []


@pytest.mark.deep
def test_what_is_proved_of_a_step_holds_around_it_but_for_eight_sentences() -> None:
    """In every state that the rows add no property is broken, but P6 where it speaks of the step that a job rests at, and P4
    where a job parks for an undoing that came to nothing, of a step which is known by then not to have happened. And both where
    nothing has begun a step, or does so again, whose contract is over.
    """
    around, alone = explore(build_around()), space_of()
    added = around.parents.keys() - alone.parents.keys()
    assert {rule.name for rule in surroundings()} <= around.fired
    broken = {
        (each.id, show(literals))
        for each in PROPERTIES
        for literals in each.never
        if any(map(around.packing.matcher(literals), added))
    }
    assert broken == {
        ("P4", "at = park ∧ finished = none ∧ excused = no"),
        ("P4", "node = no_effect ∧ refused = no"),
        ("P4", "node = no_effect ∧ retry = yes"),
        ("P6", "job = failed ∧ node = no_effect ∧ ledger ∈ committed|none|unknown"),
        ("P6", "job ∈ cancelled|failed ∧ requeue = due"),
        ("P6", "job = cancelled ∧ node ∈ no_effect|partial|unconfirmed|unknown"),
        ("P6", "job = parked ∧ ledger ∈ inflight|no_effect"),
        ("P6", "job ∈ failed|waiting ∧ open ∈ 1|2 ∧ node = none ∧ undone = no"),
    }
