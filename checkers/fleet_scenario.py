"""Scenarios of several workers: a counterexample of the fleet model, and the same schedule on the shipped driver.

The model half replays the run that the scenario names, to a state that the property forbids and through none before it. The
runtime half performs the schedule, which has to begin with the model's run in the scheduler's words, with the protection
planted out; the same property has to break. With nothing taken away, or with one of two protections alone, the same words
must not break it: they are stopped, or keep the property to their end.
"""

from contextlib import suppress
from typing import Final

from ..model.fleet_broken import forbidden
from ..model.machine import holds
from ..model.properties import BY_ID
from ..scenarios.fleet_policies import FLEET_POLICIES, searched_fleet
from ..scenarios.schema import Interleaving, Scenario
from .evidence import Trace
from .fleet_words import words
from .interleave import follow, key_of, parse
from .interleave_case import Case
from .interleave_floor import Floor
from .interleave_mutants import SHIPPED, Mutant
from .interleave_replay import replay
from .traces import PREFIX
from .traces import replay as replay_model

KEEPS: Final = "they keep it to their end"


def counterexample(scenario: Scenario, run: Interleaving) -> tuple[str, Trace]:
    """The model's run, and what it says of the property: refuted if its last state alone is forbidden, otherwise holds."""
    trace = replay_model(f"{PREFIX}:{scenario.policy}:{run.model}")
    guards = forbidden(searched_fleet(FLEET_POLICIES[scenario.policy]), BY_ID[str(scenario.property)])
    view: dict[str, str] = {}
    broken = []
    for frame in trace.frames:
        view |= frame.changed
        broken.append(any(holds(view, guard) for guard in guards))
    return ("refuted" if broken[-1] and not any(broken[:-1]) else "holds"), trace


def runtime(scenario: Scenario, run: Interleaving, trace: Trace) -> tuple[list[str], str]:
    """What went otherwise than expected on the runtime, and what was seen. Raises ValueError for a schedule that is none."""
    kept = str(scenario.property)
    case, planted, schedule = parse(str(scenario.key()))
    others = (run.beside.mutant, run.beside.other) if run.beside else ()
    less = [SHIPPED, *(parse(f"interleave:{run.case}@{name}:")[1] for name in others)]
    told = words(trace, Floor(case, planted))
    broken, stops = performed(case, planted, schedule)
    problems = [f"stopped before {stops}"] if stops else []
    if schedule[: len(told)] != told:
        problems.append(f"the schedule does not begin with the model's run, {';'.join(told)}")
    if kept not in broken or broken != sorted(run.violates):
        problems.append(f"broken: {', '.join(broken) or 'nothing'}; expected: {', '.join(sorted(run.violates))}")
    seen = [f"{run.mutant}: {', '.join(broken)} broken after {len(schedule)} words"]
    for mutant in less:
        broken, stops = performed(case, mutant, schedule)
        seen.append(f"{mutant.name or 'as shipped'}: {f'stopped before {stops}' if stops else KEEPS}")
        if kept in broken:
            problems.append(f"{mutant.name or 'as shipped'}: {kept} is broken as well")
        if run.beside and mutant.name == run.beside.mutant and stops != run.beside.stops:
            problems.append(f"{seen[-1]}; expected was {run.beside.stops or KEEPS}")
    return problems, "; ".join(seen)


def performed(case: Case, mutant: Mutant, schedule: list[str]) -> tuple[list[str], str]:
    """The properties that a schedule breaks, as far as it is possible, and the first word that is not."""
    if not mutant.parted:  # its writes are not made in two steps
        schedule = [word for word in schedule if not word.endswith(":checked")]
    done: list[str] = []
    with suppress(ValueError):  # a word is not possible: the driver was stopped
        done += (move.word for _, move in follow(Floor(case, mutant), schedule))
    steps = list(replay(key_of(case, mutant, done)))
    broken = sorted({problem.partition(":")[0] for step in steps for problem in step.problems})
    return broken, schedule[len(done)] if len(done) < len(schedule) else ""
