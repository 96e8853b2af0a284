"""The crash stages of `verify` judge every case there is, and one bad schedule fails the run."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import contract_crash, crash, semantics_crash
from crashwindow.checkers.contract_cases import CONTRACT_CASES
from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_faults import Fault, Key
from crashwindow.checkers.crash_run import Record
from crashwindow.checkers.crash_snapshot import PAIRS
from crashwindow.checkers.crash_zygote import Request
from crashwindow.checkers.ended_cases import ENDED_CASES
from crashwindow.checkers.evidence import Item, RunEvidence, Verdict
from crashwindow.checkers.semantics_cases import SEMANTICS_CASES
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.verify import Context, Found, Profile, Stage, verify
from crashwindow.model.claims import CLAIMS
from crashwindow.model.policy import HARDENED

BY_STAGE: dict[str, Collection[str]] = {
    "crashes": CASES,
    "semantics_crashes": [*SEMANTICS_CASES, *ENDED_CASES],
    "contract_crashes": CONTRACT_CASES,
}


class AskedError(Exception):
    """The first campaign of a stage has been asked for."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What the first campaign of a stage is asked to sweep; nothing is swept."""
    requests: list[Request] = []

    def empty(self: crash.Pool, directory: str) -> None:
        self.zygotes = []

    def noting(self: crash.Pool, name: str, more: Any, progress: Any) -> None:
        requests.extend(more)
        raise AskedError

    monkeypatch.setattr(crash.Pool, "__init__", empty)
    monkeypatch.setattr(crash.Pool, "run", noting)
    return requests


@pytest.mark.parametrize("profile", ["quick", "deep"])
@pytest.mark.parametrize("name", BY_STAGE)
def test_every_case_is_swept(name: str, profile: Profile, asked: list[Request], tmp_path: Path) -> None:
    """The stage sweeps all cases under the hardened policy, none twice, each with every crash at its execution at least."""
    (stage,) = (stage for stage in STAGES if stage.name == name)
    with pytest.raises(AskedError):
        stage.run(Context(profile, 1, tmp_path, lambda words: None))
    assert sorted(request.case for request in asked) == sorted(BY_STAGE[name])
    assert {request.policy for request in asked} == {HARDENED}
    assert all(request.breadth and request.breadth.depth and request.breadth.struck("execute") for request in asked)
    assert profile == "quick" or {request.breadth for request in asked} == {PAIRS}


def test_the_quick_profile_strikes_every_boundary_of_a_whole_case() -> None:
    """Only in contracts that are not `whole` are some of the step's boundaries left out."""
    breadths = [
        *(crash.breadth_of(case, "quick") for case in CASES.values()),
        *(semantics_crash.breadth_of(name, "quick") for name in semantics_crash.CRASHED),
        *(contract_crash.breadth_of(name, "quick") for name, case in CONTRACT_CASES.items() if case.whole),
    ]
    assert {breadth.striking for breadth in breadths} == {None}


@pytest.mark.parametrize(
    ("violations", "error", "passes"),
    [((), None, True), (("REST: it is left running",), None, False), ((), "it was never reached", False)],
)
def test_one_bad_schedule_fails_the_run(
    violations: tuple[str, ...], error: str | None, passes: bool, tmp_path: Path
) -> None:
    """A schedule that broke anything, or was not run as meant, fails `verify`, whatever the claims' items say."""
    key = Key("ok-park", HARDENED.name, (Fault("claim", 1, "after"),))
    record = Record(key, "snapshot", "completed/1", violations=violations, error=error)
    items = {c.id: [Item(checker="crash", verdict=Verdict(c.expected), statement="-", command="-")] for c in CLAIMS}
    found = Found(items=items, schedules=[crash.summary("snapshots", "snapshot", [record], 1.0)])
    stage = Stage("planted", "crashes", lambda _: found, (), "crash")
    evidence = list(verify(Context("quick", 1, tmp_path, lambda words: None), (stage,), "crashwindow verify"))[-1]
    assert isinstance(evidence, RunEvidence)
    assert evidence.passed is passes
