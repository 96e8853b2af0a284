"""The audit's own look at what runs show, and at what a signer may leave out: each lie is told to the one check that sees it."""

from collections.abc import Callable
from typing import Any

import pytest

from crashwindow.checkers.evidence import ClaimResult, Item, RunEvidence, Trace, Verdict
from crashwindow.checkers.traces import replay
from crashwindow.reports.audit.items import items
from crashwindow.reports.audit.parts import parts
from crashwindow.reports.audit.replays import models, replays
from crashwindow.reports.audit.tables import tables
from crashwindow.reports.audit.verdicts import verdicts
from crashwindow.reports.view import REGISTER
from crashwindow.scenarios.due import Due
from crashwindow.scenarios.due_stages import items_of_run
from crashwindow.scenarios.profile import CRASH_STREAMS, MATRICES

from . import small_bundle
from .small_bundle import DUE, HOLDS, run
from .test_campaign_ci import matrix as crash_matrix

pytestmark = pytest.mark.deep

# ruff: noqa: E501
# Tables: a lie is read as a row.

TWIN = "144 durable states; the trace reaches one with 1, `crashwindow replay model:hardened:0/0/0/0/0/0/0/0/2` its twin with 0"
ONE = "model:hardened:0/0/0/0/0/0/0/0/0/2/3"
DOUBLED = "model:s0-events-alone:0/0/0/0/0/0/0/0/0/1/0/0/2/0/0/0/0/0/0/0/0/1"


def beside(claim: str, key: str, said: str = "a fair run never comes to rest", **figures: int) -> RunEvidence:
    """Evidence in which one run stands beside one claim."""
    item = Item(
        checker="explore",
        verdict=Verdict.REFUTED,
        statement=said,
        figures=dict(figures),
        trace=replay(key),
        command="-",
    )
    result = ClaimResult(claim=claim, expected=Verdict.REFUTED, items=[item])
    return run().evidence.model_copy(update={"claims": [result], "scenarios": []})


def lasso(claim: str, key: str, steps: int, repeated: int) -> RunEvidence:
    """Evidence in which a run that never ends stands beside a claim."""
    return beside(claim, key, steps=steps, repeated=repeated)


RUNS: dict[str, tuple[Callable[[], RunEvidence], str]] = {
    "crashes for ever": (lambda: lasso("NO-FINITE-FAULTS", "model:hardened:0*0/2", 0, 2), ""),
    "nobody who works": (lambda: lasso("NO-FAIR-WORKER", "model:hardened:0", 0, 0), ""),
    "two workers for ever": (lambda: lasso("NO-RECLAIMS-FINITE", "model:fleet:0/0/1*1/0/0/0/1/6/0/0/5", 2, 9), ""),
    "cut to its start": (lambda: lasso("NO-FINITE-FAULTS", "model:hardened:0", 0, 0), "the run is not fair"),
    "a fleet's, cut to its start": (lambda: lasso("NO-RECLAIMS-FINITE", "model:fleet:0", 0, 0), "the run is not fair"),
    "what happens finitely often": (lambda: lasso("NO-RETRIES-BOUNDED", "model:hardened:0*0/2", 0, 2), "of which is assumed that it ends"),
    "claims that end, in a fleet": (lambda: lasso("P15-TWO", "model:fleet:0/0/1*1/0/0/0/1/6/0/0/5", 2, 9), "of which is assumed that it ends"),
    "another length": (lambda: lasso("NO-FINITE-FAULTS", "model:hardened:0*0/2", 0, 1), "0 steps and 1 repeated are told"),
    "what occurs": (lambda: beside("S1-1-MISJUDGED", DOUBLED), ""),
    "what does not occur": (lambda: beside("S1-1-MISJUDGED", "model:s0-events-alone:0"), "it is no witness"),
    "twins": (lambda: beside("T-AMBIGUOUS", ONE, TWIN), ""),
    "no twins": (lambda: beside("T-AMBIGUOUS", "model:hardened:0", TWIN), "it and its twin do not end"),
    "a twin that is not named": (lambda: beside("T-AMBIGUOUS", ONE), "of its twin: its key names no model"),
    "a run of a claim that shows none": (lambda: beside("T-REST", "model:hardened:0"), "a run shows nothing of a claim of the kind 'rest'"),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_shows_what_its_claim_says(name: str) -> None:
    """A lasso is fair and repeats nothing that ends, a witness ends where it has to; what does not is named, what does is taken."""
    make, words = RUNS[name]
    found = replays(make(), REGISTER)
    assert any(words in each for each in found) if words else found == [], found


def scenario(number: int, **more: Any) -> RunEvidence:
    """The run with something else said of one scenario."""
    told = list(run().evidence.scenarios)
    told[number] = told[number].model_copy(update=more)
    return run().evidence.model_copy(update={"scenarios": told})


def cut() -> Trace:
    """The first scenario's run, without its last step."""
    trace = run().evidence.scenarios[0].trace
    assert trace
    return replay(trace.key.rpartition("/")[0])


def first(part: str, **more: Any) -> RunEvidence:
    """The run with the first entry of a part changed."""
    entries = list(getattr(run().evidence, part))
    entries[0] = entries[0].model_copy(update=more)
    return run().evidence.model_copy(update={part: entries})


def told() -> Trace:
    """A run that is only told of."""
    return cut().model_copy(update={"key": "text:whatever"})


def holding() -> int:
    """Which scenario shows no run."""
    return next(n for n, each in enumerate(run().evidence.scenarios) if each.trace is None)


LIES: dict[str, tuple[Callable[[], list[str]], str]] = {
    "a scenario's run that is told": (lambda: replays(scenario(0, trace=told()), small_bundle.REGISTER), "its run is 'text:whatever', and due is"),
    "a scenario's run dropped": (lambda: replays(scenario(0, trace=None), small_bundle.REGISTER), "no run shows that P1 is broken"),
    "a scenario's run cut": (lambda: replays(scenario(0, trace=cut()), small_bundle.REGISTER), "P1 is not broken where its run ends"),
    "a run where none is owed": (lambda: replays(scenario(holding(), trace=cut()), small_bundle.REGISTER), "it shows a run, and owes none"),
    "a model that is searched left out": (lambda: models(run().evidence.model_copy(update={"machines": run().evidence.machines[:1]}),
                                                         small_bundle.REGISTER), "model recorded-without-L-RECORD: claims rest on it"),
    "another number of states in a window": (lambda: tables(first("windows", states=1)), "window 2: 1 states are said"),
    "fewer combinations": (lambda: parts(first("contracts", legal=1, illegal=1, refused=1)), "contracts on SQLite: its combinations"),
    "a crash matrix of one's own": (lambda: parts(run().evidence.model_copy(update={"campaigns": [crash_matrix()]})),
                                    f"the crash matrix of {crash_matrix().subject}: this program has none"),
    "another command for the run": (lambda: verdicts(first_run(command="curl https://example.org/x"), small_bundle.REGISTER), "the run: it is repeated by"),
    "another command for an item": (lambda: items(run().with_item(HOLDS.id, 0, command="crashwindow bundle --output x").evidence, DUE),
                                    "it is repeated by 'crashwindow bundle --output x', and due is 'crashwindow verify'"),
    "another seed": (lambda: items(run().with_item(HOLDS.id, 0, command="crashwindow verify --profile quick --seed 9").evidence, DUE),
                     "it is repeated with the seed 9"),
    "fewer streams": (lambda: few().unlike(run().items(HOLDS.id)[-2]), "1 streams are told, and at least 86 are due"),
}  # fmt: skip


def first_run(**more: Any) -> RunEvidence:
    """The run's own section with something else in it."""
    return run().evidence.model_copy(update={"run": run().evidence.run.model_copy(update=more)})


def few() -> Due:
    """The item of the campaigns that crash the step, as a run owes it."""
    return next(due for due in items_of_run("quick")["P1"] if due.checker == "crash" and due.files == (CRASH_STREAMS,))


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_named(lie: str) -> None:
    """The check that is there for it says so, and says what of."""
    check, words = LIES[lie]
    found = check()
    assert any(words in each for each in found), found


def test_the_crash_matrices_of_a_profile() -> None:
    """The quick profile owes none; the deep one those of the stage, by the names of its subjects."""
    from crashwindow.checkers.campaign_stage import CAMPAIGNS

    assert {"quick": (), "deep": tuple(name for names in CAMPAIGNS.values() for name in names)} == MATRICES
