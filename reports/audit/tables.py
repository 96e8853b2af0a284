"""Tables of the evidence that this program states itself: crash windows, scenarios, the contract's edges, the necessity matrix.

What a row speaks of is data of the program, so it is compared: a signer adds what was counted, and nothing else.
"""

from collections.abc import Iterator

from ...checkers.evidence import RunEvidence, Verdict
from ...model.contract import HARDENED as CONTRACT
from ...model.machine import show
from ...model.windows import WINDOWS, Window
from ...scenarios.schema import Scenario, shipped
from ...scenarios.searched import IN_WINDOWS
from .listed import names
from .necessity import necessity


def tables(evidence: RunEvidence) -> list[str]:
    """Every row that is not this program's, is missing, or is there twice."""
    return [*_windows(evidence), *_scenarios(evidence), *_edges(evidence), *necessity(evidence)]


def _windows(evidence: RunEvidence) -> Iterator[str]:
    known = {window.id: window for window in WINDOWS}
    yield from names("window", (window.row for window in evidence.windows), known)
    for window in evidence.windows:
        if window.row in known:
            for name, stated in _stated(known[window.row]).items():
                if getattr(window, name) != stated:
                    yield f"window {window.row}: its {name} is not the one that this program states"
        if window.proof is not Verdict.PROVED:
            yield f"window {window.row}: its row is {window.proof}, not PROVED"
        if window.states != IN_WINDOWS.get(window.row, window.states):
            yield f"window {window.row}: {window.states} states are said to be in it, and {IN_WINDOWS[window.row]} are"


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
    yield from names("scenario", (scenario.name for scenario in evidence.scenarios), known)
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
        yield from names(f"contracts on {coverage.store}: the edge", there, due)
