"""Tables of the evidence that this program states itself: crash windows, scenarios, the contract's edges, the necessity matrix.

What a row speaks of is data of the program, so it is compared: a signer adds what was counted, and nothing else.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from ...checkers.evidence import Necessity, Need, RunEvidence, Trace, Verdict
from ...model.contract import HARDENED as CONTRACT
from ...model.liveness import RESTS
from ...model.machine import Machine, State, holds, show
from ...model.mechanisms import NEEDED, NEEDED_BY_JOBS
from ...model.policy import HARDENED
from ...model.windows import WINDOWS, Window
from ...scenarios.machines import machine_of
from ...scenarios.schema import Scenario, shipped
from .replays import ReplayError, breaks, follow

NECESSITY: Final = "NECESSITY"
COLUMNS: Final = tuple(f"P{number}" for number in range(1, 16))
ANSWERS: Final = {
    "needed": (Verdict.REFUTED,),
    "not needed": (Verdict.PROVED, Verdict.EXHAUSTED),
    "not applicable": (Verdict.NOT_CHECKED,),
    "not checked": (Verdict.NOT_CHECKED,),
}


def tables(evidence: RunEvidence) -> list[str]:
    """Every row that is not this program's, is missing, or is there twice."""
    return [*_windows(evidence), *_scenarios(evidence), *_edges(evidence), *_necessity(evidence)]


def _names(what: str, there: Iterable[str], due: Iterable[str]) -> Iterator[str]:
    """Names that are missing, there twice, or nobody's."""
    times, known = Counter(there), set(due)
    yield from (f"{what} {name}: it is missing" for name in sorted(known - times.keys()))
    yield from (f"{what} {name}: this program has none of that name" for name in sorted(times.keys() - known))
    yield from (f"{what} {name}: it is there {count} times" for name, count in times.items() if count > 1)


def _windows(evidence: RunEvidence) -> Iterator[str]:
    known = {window.id: window for window in WINDOWS}
    yield from _names("window", (window.row for window in evidence.windows), known)
    for window in evidence.windows:
        if window.row in known:
            for name, stated in _stated(known[window.row]).items():
                if getattr(window, name) != stated:
                    yield f"window {window.row}: its {name} is not the one that this program states"
        if window.proof is not Verdict.PROVED:
            yield f"window {window.row}: its row is {window.proof}, not PROVED"
        if window.states < 1:
            yield f"window {window.row}: no state is in it"


def _stated(window: Window) -> dict[str, str | list[str]]:
    """What the model states of a window, as evidence has it."""
    return {
        "crash_after": window.crash_after,
        "durable": " or ".join(show(guard) for guard in window.durable),
        "advice": window.advice,
        "predicted_recovery": sorted(window.recovery),
        "predicted_at_crash": sorted(window.at_crash),
        "predicted_in_end": sorted(window.in_end),
        "source": window.source,
    }


def _scenarios(evidence: RunEvidence) -> Iterator[str]:
    known = {scenario.name: scenario for scenario in shipped()}
    yield from _names("scenario", (scenario.name for scenario in evidence.scenarios), known)
    for result in evidence.scenarios:
        if result.name in known:
            expected, command = _due(known[result.name])
            if (result.expected, result.command) != (expected, command):
                yield f"scenario {result.name}: it expects {expected!r}, by {command}"
            if result.observed != ("as expected" if result.passed else "not as expected"):
                yield f"scenario {result.name}: {result.observed!r} is not what is said of one that passed, or did not"


def _due(scenario: Scenario) -> tuple[str, str]:
    """What a scenario expects, and the command that repeats it."""
    key = scenario.key()
    command = f"crashwindow replay '{key}'" if key else f"crashwindow scenario run {scenario.name}"
    return scenario.expect + (f", {scenario.run.outcome}" if scenario.run else ""), command


def _edges(evidence: RunEvidence) -> Iterator[str]:
    due = [f"{before} –{trigger}→ {after}" for before, row in CONTRACT.items() for trigger, after in row.items()]
    for coverage in evidence.contracts:
        there = [f"{edge.before} –{edge.trigger}→ {edge.after}" for edge in coverage.edges]
        yield from _names(f"contracts on {coverage.store}: the edge", there, due)


def _necessity(evidence: RunEvidence) -> Iterator[str]:
    items = [item for result in evidence.claims if result.claim == NECESSITY for item in result.items]
    done = [item for item in items if item.verdict is Verdict.EXHAUSTED]
    if done and evidence.necessity is None:
        yield f"claim {NECESSITY}: there is no matrix"
    if evidence.necessity is None:
        return
    for cell in evidence.necessity.cells:
        yield from (f"{cell.property} without {cell.mechanism}: {words}" for words in _cell(cell, evidence.run.profile))
    if done:
        yield from _whole(evidence.necessity)
    for item in done:
        needed = sum(c.answer == "needed" for c in evidence.necessity.cells if c.mechanism in NEEDED)
        if item.figures.get("needed") != needed:
            yield f"claim {NECESSITY}: {item.figures.get('needed')} cells are said to be needed; the matrix has {needed}"


def _whole(necessity: Necessity) -> Iterator[str]:
    """Each property beside each mechanism, once."""
    there = (f"{cell.property} × {cell.mechanism}" for cell in necessity.cells if cell.mechanism in NEEDED)
    yield from _names("the matrix's cell", there, (f"{name} × {each}" for name in COLUMNS for each in NEEDED))


def _cell(cell: Need, profile: str) -> Iterator[str]:
    if cell.verdict not in ANSWERS[cell.answer]:
        yield f"{cell.answer} is no answer that {cell.verdict} gives"
    if bool(cell.key) != (cell.answer == "needed"):
        yield "a run that breaks it belongs to what is needed, and to nothing else"
    if cell.mechanism in NEEDED and cell.answer in ("needed", "not needed"):
        more = NEEDED_BY_JOBS.get(cell.mechanism, ()) if profile == "deep" else ()
        if (cell.property in (*NEEDED[cell.mechanism], *more)) != (cell.answer == "needed"):
            yield f"{cell.answer} is not what this program states"
    if cell.key:
        yield from _run(cell)


def _run(cell: Need) -> Iterator[str]:
    """Whether the key of a cell is a run of as many steps that breaks the property; of two workers, that it is a run."""
    trace = Trace(key=cell.key, frames=[])
    try:
        policy, run = follow(trace)
    except ReplayError as error:
        yield str(error)
        return
    if len(run) - 1 != cell.steps:
        yield f"{cell.steps} steps are stated, and its run has {len(run) - 1}"
    if policy.startswith("two-") or cell.property == "all":
        return
    states = [state for _, state in run]
    looped = states[trace.repeats :] if trace.repeats is not None else states[-1:]
    if not (_restless(machine_of(policy), looped) if cell.property == "P15" else _broken(policy, states, cell)):
        yield "its run does not break the property"


def _restless(machine: Machine, states: list[State]) -> bool:
    return not any(holds(machine.view(state), rest) for state in states for _, rest in RESTS[HARDENED.name])


def _broken(policy: str, states: list[State], cell: Need) -> bool:
    """Whether the property is broken where the run ends, or by its last step."""
    machine = machine_of(policy)
    return any(breaks(machine, state, cell.property) for state in states[-2:])
