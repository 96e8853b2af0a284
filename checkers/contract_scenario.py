"""Scenarios of execution contracts: what a run left, held against the file; and a scenario crashed at every boundary."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..model.policy import HARDENED
from ..scenarios.schema import Run, Scenario
from .contract_judge import parsed
from .crash import BATCH
from .crash_faults import crashes_of
from .crash_kill import Killer
from .crash_run import Record, Trace, Traces, memory_directory
from .crash_server import stop_servers
from .crash_subject import Durable
from .crash_zygote import subject_of


def told_otherwise(run: Run, durable: Durable) -> list[str]:
    """What the file expects, and the run did not say: in its last reply, or in its trace."""
    problems = []
    if run.reply and not any(run.reply in reply for reply in replies(durable)):
        problems.append(f"the replies are {replies(durable)}, expected was {run.reply!r}")
    golden = [entry for step in run.steps for entry in step.trace]
    if golden and entries(durable) != golden:
        problems.append(f"the trace is {entries(durable)}, expected was {golden}")
    return problems


def replies(durable: Durable) -> list[str]:
    """What the user was told last in each session."""
    latest = {session: parsed(state)["reply"] for session, _, state in durable.states}
    return [reply for reply in latest.values() if reply is not None]


def entries(durable: Durable) -> list[str]:
    """The execution trace, `NODE ACTION`."""
    return [f"{node} {action}" for _, _, action, node in durable.trace]


def steps_told(run: Run, trace: Trace) -> Iterator[str]:
    """The steps of a scenario, each with the entries of the run's own trace, in its order, and what the world received."""
    left = entries(trace.durable)
    for number, step in enumerate(run.steps, 1):
        yield f"{number}. {step.says}"
        for entry in left[: len(step.trace)]:
            yield f"     {entry}"
        left = left[len(step.trace) :]
    yield from (f"The user is told: {reply}" for reply in replies(trace.durable))
    for name, count in trace.effects.items():
        yield f"The world received for {name}: {count}, first {json.dumps(trace.results.get(name))}"


@dataclass(frozen=True)
class Struck:
    """A scenario struck at one boundary, or at none. effects: how many the world saw."""

    at: str
    record: Record
    effects: int

    @property
    def asked(self) -> bool:
        """Whether the record said that nobody knows, and a person was asked."""
        return "unknown→" in self.record.outcome

    @property
    def problem(self) -> str | None:
        """What is wrong: a broken property, or not one effect though nothing was in doubt."""
        wrong = self.record.error or "; ".join(self.record.violations)
        if not wrong and self.effects != 1 and not self.asked:
            wrong = f"{self.effects} effects, and no doubt was recorded"
        return wrong or None


def crash_everywhere(scenario: Scenario) -> Iterator[Struck]:
    """Kill the scenario's process once at each boundary, by SIGKILL, and let the next one bring it to rest."""
    assert scenario.run is not None
    directory = memory_directory()
    traces: Traces = {}
    try:
        killer = Killer(subject_of(scenario.run.case), HARDENED, f"{directory}/killer", traces)
        whole = killer.run(())
        yield struck(whole, traces)
        schedules = [(fault,) for fault in crashes_of(whole.recovery)]
        for at in range(0, len(schedules), BATCH):
            for record in killer.run_all(schedules[at : at + BATCH]):
                yield struck(record, traces)
    finally:
        stop_servers()
        shutil.rmtree(directory, ignore_errors=True)


def struck(record: Record, traces: Traces) -> Struck:
    """A record with the effects that the world saw."""
    effects = sum(traces[record.trace].effects.values()) if record.trace else 0
    return Struck(";".join(map(str, record.key.schedule)) or "nothing", record, effects)


def at_the_crash(record: Record) -> str:
    """How the contracts stood when the process died."""
    if record.at_crash is None:
        return ""
    found: dict[str, Any] = record.at_crash["contracts"]
    return " ".join(str(each["status"]) for each in found.values()) or "no contract"
