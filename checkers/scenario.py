"""Running a scenario: its model half by search, its runtime half by killed processes on a real SQLite store.

One of several workers replays a run of the fleet, and a schedule of the shipped driver (`fleet_scenario`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..model.claim_types import PROPERTY_BY_ID
from ..model.claims import CLAIM_BY_ID
from ..model.policy import HARDENED
from ..scenarios.schema import Run, Scenario, shipped
from .contract_scenario import steps_told, told_otherwise
from .crash import Ran, run_schedule, run_schedules
from .crash_run import Traces
from .crash_subject import Durable
from .evidence import Item, ScenarioResult, Trace, Verdict
from .explore import Space
from .fleet_scenario import counterexample, runtime
from .observed import window_of
from .search import check, complete, shortest
from .semantics_records import of
from .traces import trace_to
from .walk_programs import Program
from .windows import Derived, MisfitError, derive

if TYPE_CHECKING:
    from .verify import Context

SEMANTICS: Final = "semantics-"
"""How the names of those cases begin."""


@dataclass
class Known:
    """What scenarios share: complete searches by policy, the derived table, and schedules, as far as they were made before."""

    spaces: dict[str, Space] = field(default_factory=dict)
    table: list[Derived] = field(default_factory=list)
    ran: dict[str, Ran] = field(default_factory=dict)

    @cached_property
    def windows(self) -> dict[str, bool]:
        """Whether each window's row agrees with its derivation."""
        rows = self.table or derive(complete(HARDENED.name, self.spaces))
        return {row.window.id: row.agrees for row in rows}


def known_of(context: "Context") -> Known:
    """What a run of `crashwindow verify` knows. The first stage that asks has the schedules of all shipped scenarios run."""
    if not context.ran:
        context.tell("scenarios: killed processes")
        context.ran.update(run_schedules(key for each in shipped() if each.run and (key := each.key())))
    return Known(context.spaces, context.table, context.ran)


def run(scenario: Scenario, known: Known, tell: Callable[[str], None] = lambda line: None) -> ScenarioResult:
    """Try a scenario in both its halves. `tell` hears the steps of one that is told step by step."""
    if scenario.walk:
        return _walk(scenario, Program(scenario.walk.machine, scenario.policy, scenario.walk.program), tell)
    observed, trace = _model(scenario, known)
    detail = [f"model: {observed}"] if scenario.property or scenario.window else []
    passed = observed == scenario.expect
    if scenario.run or scenario.interleaving:
        try:
            problems, outcome = _runtime(scenario, known, tell) if scenario.run else _workers(scenario, trace)
        except ValueError as error:  # its key names nothing that could be run
            problems, outcome = [str(error)], ""
        passed = passed and not problems
        detail.append(f"runtime: {'; '.join(problems) or outcome}")
    key = scenario.key()
    return ScenarioResult(
        name=scenario.name,
        expected=scenario.expect + (f", {scenario.run.outcome}" if scenario.run else ""),
        observed="as expected" if passed else "not as expected",
        passed=passed,
        detail="; ".join(detail),
        trace=trace,
        command=f"crashwindow replay '{key}'" if key else f"crashwindow scenario run {scenario.name}",
    )


def _walk(scenario: Scenario, program: Program, tell: Callable[[str], None]) -> ScenarioResult:
    """The moves of a walk, on a real store, in lockstep with the model."""
    try:
        parted = program.run(tell)
        observed = "refuted" if parted else "holds"
    except ValueError as error:
        parted, observed = str(error), "no program"
    return ScenarioResult(
        name=scenario.name,
        expected=scenario.expect,
        observed="as expected" if observed == scenario.expect else "not as expected",
        passed=observed == scenario.expect,
        detail=f"{observed}: {parted or f'model and runtime agree on {len(program.lines)} moves'}",
        command=f"crashwindow replay {program.key}",
    )


def _model(scenario: Scenario, known: Known) -> tuple[str, Trace | None]:
    """What the model says: holds or refuted, with a counterexample."""
    if scenario.window:
        return ("holds" if known.windows[scenario.window] else "refuted"), None
    if scenario.property is None:
        return scenario.expect, None
    if scenario.interleaving:
        try:
            return counterexample(scenario, scenario.interleaving)
        except ValueError as error:
            return f"no run of the model: {error}", None
    if scenario.expect == "holds":
        violation = check(complete(scenario.policy, known.spaces), PROPERTY_BY_ID[scenario.property])
        return ("refuted", violation.trace) if violation else ("holds", None)
    space, state = shortest(scenario.policy, PROPERTY_BY_ID[scenario.property].never)
    return ("refuted", trace_to(space, state)) if state is not None else ("holds", None)


def recorded_otherwise(run: Run, durable: Durable) -> list[str]:
    """What the file expects to be on record of a node, and is not."""
    found = {node: [row.said["result"] for row in of(durable, "command_committed", step=node)] for node in run.recorded}
    return [
        f"{node} has {found[node]} on record, expected {due}"
        for node, due in run.recorded.items()
        if found[node] != [due]
    ]


def shown(scenario: Scenario, result: ScenarioResult) -> dict[str, Item]:
    """What a scenario says of its claim, where the runtime has shown what refutes it in the model."""
    claim = CLAIM_BY_ID.get(scenario.claim or "")
    if claim is None or claim.kind != "refuted" or "replay" not in claim.methods:
        return {}
    if not (scenario.run or scenario.interleaving) or not result.passed:
        return {}
    ended = scenario.run.outcome if scenario.run else f"{scenario.property} is broken"
    said = scenario.shows() + ended
    return {claim.id: Item(checker="replay", verdict=Verdict.REFUTED, statement=said, command=result.command)}


def _workers(scenario: Scenario, trace: Trace | None) -> tuple[list[str], str]:
    """The same of a schedule of several workers, with what the scenario says of a protection beside."""
    run = scenario.interleaving
    assert run is not None
    if trace is None:
        return ["there is no run to perform"], ""
    problems, seen = runtime(scenario, run, trace)
    return (
        problems,
        f"{seen}{f'; {run.beside.says}' if run.beside else ''}; the model's run: crashwindow replay {trace.key}",
    )


def _runtime(scenario: Scenario, known: Known, tell: Callable[[str], None]) -> tuple[list[str], str]:
    """What went otherwise than expected on the runtime, and the outcome."""
    assert scenario.run is not None
    key = str(scenario.key())
    traces: Traces = {}
    record, left = known.ran.get(key) or (run_schedule(key, traces=traces), None)
    if record.error:
        return [record.error], record.outcome
    left = left or traces[record.trace]
    for line in steps_told(scenario.run, left) if scenario.run.steps else ():
        tell(line)
    problems = [*told_otherwise(scenario.run, left.durable), *recorded_otherwise(scenario.run, left.durable)]
    if record.outcome != scenario.run.outcome:
        problems.append(f"the outcome is {record.outcome}, expected {scenario.run.outcome}")
    broken = sorted({violation.split(":")[0] for violation in record.violations})
    if broken != sorted(scenario.run.violates):
        problems.append(
            f"broken: {', '.join(broken) or 'nothing'}; expected: {', '.join(scenario.run.violates) or 'nothing'}"
        )
    # The court of jobs beyond the step does not say all that a window asks about: of these, the outcome alone is compared.
    if scenario.window and record.at_crash is not None and not scenario.run.case.startswith(SEMANTICS):
        try:
            steps = record.at_crash["steps"].values()
            windows = {window_of(record.key, record.at_crash["job"], step) for step in steps}
        except MisfitError as error:
            return [*problems, str(error)], record.outcome
        if scenario.window not in windows:
            problems.append(f"the crash left window {', '.join(sorted(windows))}")
    return problems, record.outcome
