"""The stage of `crashwindow verify` that asks the checkers of the runtime for a no: each is shown a defect that it has to find.

What is broken is the shipped code, or a record of it, for as long as one short question lasts; what is asked is what the
checker's own stage asks, down to the item. The stage runs in a process in which nothing else does meanwhile
(`verify_elsewhere`), so that nobody else meets what is planted. Who can be shown a defect without planting has one in his own
stage: the table, cvc5, power loss.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

from ..model.contract_machine import build_contract
from ..model.policy import HARDENED
from ..model.step import build
from ..runtime.verify_job import verify
from . import bugs_contract, bugs_decide, bugs_semantics, bugs_step, bugs_store, verify_job_stage
from .abstraction import RAM, StoredEvent
from .canary import noticed
from .conform_follow import Disagreement, Model
from .contract_cases import CONTRACT_CASES
from .contract_crash_stage import judged as contract_crash
from .crash import Campaign
from .crash_cases import CASES
from .crash_run import Record, Trace, Traces
from .crash_snapshot import Breadth, sweep_case
from .crash_stage import held, traces
from .crash_subject import Subject
from .enumerate_contract_stage import converse_of as converse_of_sessions
from .enumerate_stage import converse_of as converse_of_steps
from .evidence import Item, Verdict
from .forgery import rechained
from .keys import check as keys_differ
from .semantics_cases import SEMANTICS_CASES
from .semantics_crash_stage import judged as semantics_crash
from .semantics_monitor import SemanticsMonitor, to_items
from .stores_held import beside_the_rules
from .stream_check import StreamChecker
from .stream_lines import Line
from .stream_store import stored
from .substitute import Patch, Plant, planted
from .verify import Context, Found, Stage
from .verify_job_stage import JOBS, Auditor, Honest, honest, judge
from .verify_job_stage import item as forgeries_told
from .walk_programs import Kind, Program, parsed
from .walks import perform

STEP: Final = "rig.submit([StepPlan((False, 'park', 'none'), 0, None, 'sent')])"
"""A job of one step, whose tool cannot be asked and must not be called twice."""
BRIEFLY: Final = Breadth(1, answers=(), striking=("execute",))
"""The run without a fault, and a crash before and after the tool has acted."""
UNSTRUCK: Final = Breadth(0)
"""The first of these alone."""
LEFT_OUT: Final = "command_committed"
"""The event that is taken out of a record."""
ALTERED: Final = "ok-park"
HONEST: Final = "two-ok-park"


def walk() -> Item:
    """The lockstep of step and machine, as the random walk leads it."""
    from .conform import Record as Walked
    from .conform import Walk, item_of, substantial

    record = Walked(HARDENED)
    with planted(bugs_step.skipped_committed):
        led(Walk, record, "step", STEP, "rig.work()")
    return substantial(item_of(record, "quick", 0))


def contract_walk() -> Item:
    """The same of contracts."""
    from .contract_conform import ContractRecord, ContractWalk
    from .contract_walk_stage import item_of

    record = ContractRecord()
    with planted(bugs_contract.consent_kept):
        led(ContractWalk, record, "contract", "rig.open(Wish('before', (False, 'park', 'none')))", "rig.respond(0, True)",
            "rig.resume(0)")  # fmt: skip
    return item_of(record, "crashwindow verify", 0)


def workers_walk() -> Item:
    """Two workers, of whom the first is overtaken behind its tool's answer."""
    from .conform_workers import WorkersRecord, WorkersWalk, item_of

    record = WorkersRecord(steered=False, made=None)
    with planted(bugs_step.epoch_not_raised):
        led(WorkersWalk, record, "workers", STEP, "rig.begin(0)", "rig.go(0, 6)", "rig.lapse()", "rig.begin(1)",
            "rig.go(1, 40)", "rig.go(0, 40)")  # fmt: skip
    return item_of(record, "crashwindow verify", 0)


def led(machine: type[Any], record: Any, kind: Kind, *lines: str) -> None:
    """Lead a random walk through a program, as if it had been drawn; that the two part is then in its record."""
    drawn = type(machine.__name__, (machine,), {"record": record})()
    try:
        for line in lines:
            name, arguments = parsed(line, kind)
            drawn.do(getattr(drawn.rig, name), *arguments)
    except Disagreement:
        pass
    finally:
        drawn.teardown()


def path_walked() -> Item:
    """A test path: a worker dies behind its tool's answer, and the next one does what no barrier keeps it from."""
    program = Program("step", HARDENED.name, (STEP, "rig.work([], {6: 'crash after'})", "rig.work()"))
    with planted(bugs_decide.barrier_absent):
        return said("walk", perform([program], Model(build(HARDENED))))


def converse() -> Item:
    """A row that no code follows: `finished` is appended, and another result than that one is held from there on."""
    machine = build(HARDENED)
    row = machine.rule("append finished")
    false = replace(row, name=f"{row.name}, and holds another", writes={**row.writes, "memory": "other"})
    return converse_of_steps(replace(machine, rules=(*machine.rules, false)), row.name)


def converse_of_contracts() -> Item:
    """Another: a call begins, and nobody is at work on it."""
    machine = build_contract()
    row = machine.rule("start, with consent")
    false = replace(row, name=f"{row.name}, and lets go", writes={**row.writes, "executor": "idle"})
    return converse_of_sessions(replace(machine, rules=(*machine.rules, false)), row.name)


def crash() -> Item:
    """The court of the step's crashes."""
    return held("P1", struck(bugs_decide.barrier_absent, CASES["ok-park"])[0], 0)


def crash_beyond() -> Item:
    """The court of gates, compensations and recorded values."""
    found, _ = struck(bugs_semantics.gate_walked_through, SEMANTICS_CASES["semantics-approved"])
    return semantics_crash("P9", found, 0)


def crash_of_contracts() -> Item:
    """The judge of sessions."""
    found, _ = struck(bugs_contract.consent_bound_to_nothing, CONTRACT_CASES["contract-arguments-changed"])
    return contract_crash("C6", found, 0)


def struck(plant: Plant, subject: Subject, breadth: Breadth = BRIEFLY) -> tuple[list[Record], list[Trace]]:
    """Few schedules of a case with a bug planted, and the traces that they left."""
    left: Traces = {}
    with planted(plant):
        return list(sweep_case(subject, breadth, traces=left)), list(left.values())


def monitored() -> Item:
    """A trace of the step that lacks an event."""
    _, (trace,) = struck(nothing, CASES[ALTERED], UNSTRUCK)
    return traces(Campaign([], [], [altered(trace, LEFT_OUT)], {}))


def monitored_beyond() -> Item:
    """A trace of a gate that lacks the end of its waiting."""
    _, (trace,) = struck(nothing, SEMANTICS_CASES["semantics-approved"], UNSTRUCK)
    return to_items(SemanticsMonitor().check(altered(trace, "wait_completed")))["P9"]


def altered(trace: Trace, kind: str) -> Trace:
    """A trace without its events of a kind; what follows is numbered anew, and the job's own line counts what is left."""
    kept = [row for row in trace.durable.events if row[2] != kind]
    # A row is a plain tuple, or one whose fields have names.
    events = tuple(getattr(row, "_make", tuple)((number, *row[1:])) for number, row in enumerate(kept, 1))
    return trace._replace(durable=trace.durable._replace(events=events, version=len(events)))


def trace_checked() -> Item:
    """The same event left out of a stored job that `check-trace` reads; what follows is numbered anew."""
    with run_honestly() as (_, path):
        records, *events = [each.line for each in stored(path)]
    kept = [line.said for line in events if isinstance(line.said, StoredEvent) and line.said.type != LEFT_OUT]
    anew = [StoredEvent(n, e.id, e.type, e.step, e.epoch, e.data) for n, e in enumerate(kept, 1)]
    lines = [Line(event.version, records.job_id, event) for event in anew]
    return said("monitor", map(str, StreamChecker().check([records, *lines])))


def forged() -> Item:
    """An event left out of a job whose chain is computed anew, and a `verify-job` that says what it says of the honest job."""
    with run_honestly() as (job, _):
        verdict = verify(job.records)

    def credulous(patch: Patch) -> None:
        patch.setattr(verify_job_stage, "verify", lambda records: verdict)

    forgery = next(each for each in rechained(job.records, job.records) if f"{LEFT_OUT}: dropped" in each.what)
    counted = Counter[str]()
    with planted(credulous):
        return forgeries_told(list(judge(job, [("rechained", forgery)], Auditor(), counted)), counted)


@contextmanager
def run_honestly() -> Iterator[tuple[Honest, str]]:
    """A job that was run as it should be, and the file of its store."""
    with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as folder:
        yield honest(HONEST, JOBS[HONEST], folder), f"{folder}/store"


def keys() -> Item:
    """Keys that do not tell the nodes of a job apart."""
    with planted(bugs_decide.key_without_node):
        return keys_differ()


def stores() -> Item:
    """A store that settles a committed record once more."""
    with planted(bugs_store.committed_record_settled_anew):
        return beside_the_rules("quick")


def nothing(patch: Patch) -> None:
    """Nothing is planted."""


def said(checker: Literal["walk", "monitor"], problems: Iterable[str]) -> Item:
    """The first problem that a checker without an item of its own has found; none: it is content."""
    words = next(iter(problems), "")
    verdict = Verdict.REFUTED if words else Verdict.TESTED
    return Item(checker=checker, verdict=verdict, statement=words or "nothing was found", command="crashwindow verify")


class Canary(NamedTuple):
    """A defect that a checker has to find. wrong: what it is, in words; by: whose no it is, if the item does not say."""

    wrong: str
    ask: Callable[[], Item]
    by: str = ""


CANARIES: Final[Mapping[str, Canary]] = {
    "walk": Canary("command_committed is never appended", walk),
    "contract walk": Canary("an approval is not used up", contract_walk),
    "workers walk": Canary("a claim hands out the epoch that the last one had", workers_walk),
    "test path": Canary("an open attempt is executed again", path_walked),
    "converse": Canary("the machine has a row that no code follows", converse),
    "contract converse": Canary("the contract's machine has such a row", converse_of_contracts),
    "crash": Canary("an open attempt is executed again", crash),
    "semantics crash": Canary("a gate is walked through", crash_beyond),
    "contract crash": Canary("an approval is bound to no action", crash_of_contracts),
    "monitor": Canary("a trace of a step lacks its command_committed", monitored),
    "semantics monitor": Canary("a trace of a gate lacks its wait_completed", monitored_beyond),
    "check-trace": Canary("a stream lacks its command_committed", trace_checked, "check-trace"),
    "verify-job": Canary("a job without its command_committed is accepted", forged, "verify-job"),
    "keys": Canary("the key of a step does not name its node", keys),
    "stores": Canary("a committed record is settled anew", stores, "stores"),
}
"""By checker, as `scenarios/profile.py` names what has to be there."""


def checker_canaries(context: Context) -> Found:
    """Ask each of them; one that finds nothing is broken."""
    found = Found()
    for checker, (wrong, ask, by) in CANARIES.items():
        context.tell(f"planted before a checker: {checker}")
        found.mutants.append(noticed(f"{checker}: {wrong}", ask(), by))
    return found


CHECKER_CANARIES: Final = Stage(
    "checker_canaries",
    "a defect planted before each checker of the runtime",
    checker_canaries,
    (),
    "walk",
    elsewhere=True,
)
