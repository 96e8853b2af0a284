"""A canary for each kind of checker: it dies before one that works; before a blind one it survives, and fails the run."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import (
    canary_stage,
    enumerate_certain,
    keys,
    power_stage,
    prove,
    scenario,
    second_stage,
    stages,
    stores_held,
    windows,
)
from crashwindow.checkers.canary import noticed
from crashwindow.checkers.canary_stage import CANARIES, CHECKER_CANARIES
from crashwindow.checkers.conform_follow import Follower
from crashwindow.checkers.contract_follow import ContractFollower
from crashwindow.checkers.crash_run import Judgement
from crashwindow.checkers.evidence import Item, MutantResult, Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.monitor import Follower as MonitorFollower
from crashwindow.checkers.power_judge import Court, Judged
from crashwindow.checkers.second import Opinion, Solver
from crashwindow.checkers.semantics_monitor import ReaderFollower
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.stream_check import StreamChecker
from crashwindow.checkers.verify import Context, Found, Stage
from crashwindow.checkers.verify_job_stage import Auditor
from crashwindow.checkers.workers_follow import Fleets
from crashwindow.checkers.workers_rig import WorkersRig
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.model.windows import WINDOWS
from crashwindow.scenarios.profile import PLANTED
from crashwindow.scenarios.schema import Scenario
from crashwindow.tests.sampled import sampled

from .test_verify import evidence_of, passing

Blind = Callable[[pytest.MonkeyPatch], None]


def to(target: Any, name: str, answer: object) -> Blind:
    """A checker whose judge always answers the same."""
    return lambda patch: patch.setattr(target, name, lambda *asked, **named: answer)


def model_of_the_step(patch: pytest.MonkeyPatch) -> None:
    """A model that can do whatever the code does, and has whatever the code has."""

    def agree(self: Follower, what: str, before: dict[int, int]) -> None:
        self.states = self.states or dict(before)

    patch.setattr(Follower, "_expect", agree)
    patch.setattr(Follower, "observe", lambda *seen: None)


def workers(patch: pytest.MonkeyPatch) -> None:
    """Nobody judges what several workers leave, nor follows them."""
    patch.setattr(WorkersRig, "_judge", lambda *asked: None)
    patch.setattr(WorkersRig, "_doubled", lambda *asked: None)
    patch.setattr(WorkersRig, "_said", lambda *asked: None)
    patch.setattr(Fleets, "_go", lambda *asked: None)


def monitor(patch: pytest.MonkeyPatch) -> None:
    """A monitor that notes each event, and for which each is the model's, and each end."""
    patch.setattr(MonitorFollower, "step", lambda self, index, before, event, after: self.fold.take(event))
    patch.setattr(MonitorFollower, "rest", lambda *asked: None)


def monitor_beyond(patch: pytest.MonkeyPatch) -> None:
    """A monitor for which each event is the model's, and each end."""
    patch.setattr(ReaderFollower, "step", lambda *asked: None)
    patch.setattr(ReaderFollower, "rest", lambda *asked: None)


def stream(patch: pytest.MonkeyPatch) -> None:
    """A `check-trace` that reads, and says nothing."""
    patch.setattr(StreamChecker, "take", lambda *asked: None)


def near_collisions(patch: pytest.MonkeyPatch) -> None:
    """A set of steps in which no two look alike."""
    patch.setattr(keys, "NAMES", ("a",))


BLIND: dict[str, Blind] = {
    "walk": model_of_the_step,
    "contract walk": to(ContractFollower, "observe", None),
    "workers walk": workers,
    "test path": model_of_the_step,
    "converse": to(enumerate_certain, "shared", -1),
    "contract converse": to(enumerate_certain, "shared", -1),
    "crash": to(Judgement, "violations", ()),
    "semantics crash": to(Judgement, "violations", ()),
    "contract crash": to(Judgement, "violations", ()),
    "monitor": monitor,
    "semantics monitor": monitor_beyond,
    "check-trace": stream,
    "verify-job": to(Auditor, "refuses", None),
    "keys": near_collisions,
    "stores": to(stores_held, "_unlike", ""),
}
"""What makes each checker blind, as deep in it as its answer is made."""


@pytest.mark.parametrize(
    ("name", "blind"),
    [
        *sampled([(name, False) for name in CANARIES]),
        *(pytest.param(n, True, marks=pytest.mark.deep if n in ("stores", "converse") else ()) for n in CANARIES),
    ],
)
def test_a_blind_checker_fails_the_run(name: str, blind: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each canary of the runtime's checkers dies; before the same checker with its judge made content it does not, and the run,
    in which every claim comes out as expected, fails for it alone."""
    monkeypatch.setattr(canary_stage, "CANARIES", {name: CANARIES[name]})
    if blind:
        BLIND[name](monkeypatch)
    evidence = evidence_of(tmp_path, passing(), replace(CHECKER_CANARIES, elsewhere=False))
    (mutant,) = evidence.mutants
    assert mutant.name.startswith(f"{name}: ")
    assert (mutant.killed_by is None, evidence.passed) == (blind, not blind), mutant.words


def of_cvc5(context: Context) -> Iterator[MutantResult]:
    """Those of the second opinion."""
    with Solver() as solver:
        yield from (second_stage.planted(name, solver) for name in second_stage.PLANTED)


def agreeing(patch: pytest.MonkeyPatch) -> None:
    """A solver that says what the file says."""
    patch.setattr(Solver, "ask", lambda self, question, proof=False: Opinion(question, question.status, 1, 0.0))


@pytest.mark.parametrize("blind", [False, True])
def test_a_table_that_agrees_with_everything_fails_the_run(
    blind: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a rule of recovery the table is another; a comparison that sees none of it is found by that. The run's own table is
    here that of one tool, and nothing is proved of it."""
    monkeypatch.setattr(stages, "complete", lambda policy, spaces: small())
    monkeypatch.setattr(stages, "proved", lambda policy, context: None)
    monkeypatch.setattr(prove, "prove_rows", lambda *asked: {window.id: Verdict.PROVED for window in WINDOWS})
    if blind:
        monkeypatch.setattr(windows.Derived, "agrees", True)
    stage = Stage("one canary", "table", lambda context: Found(mutants=stages.table(context).mutants), (), "windows")
    evidence = evidence_of(tmp_path, passing(), stage)
    (mutant,) = evidence.mutants
    assert (mutant.killed_by is None, evidence.passed) == (blind, not blind), mutant.words


def small() -> Space:
    """The machine that ships, of one tool."""
    machine = build(HARDENED)
    return explore(replace(machine, fields=tuple(stages.of_one_tool(field) for field in machine.fields)))


def test_the_small_table_is_as_stated_without_the_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the lost rule that the table tells, not the one tool of which it is derived."""
    monkeypatch.setattr(stages, "LOST_RULE", "no rule")
    assert stages.table_with_a_rule_lost().killed_by is None


@pytest.mark.parametrize("blind", [False, True])
def test_a_solver_that_agrees_with_every_file_fails_the_run(
    blind: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What can be and is stated not to be, and what follows from nothing: cvc5 says so; one that repeats the file does not."""
    if blind:
        agreeing(monkeypatch)
    stage = Stage("one canary", "cvc5", lambda context: Found(mutants=list(of_cvc5(context))), (), "reprove")
    evidence = evidence_of(tmp_path, passing(), stage)
    assert len(evidence.mutants) == len(second_stage.PLANTED)
    assert [bool(mutant.killed_by) for mutant in evidence.mutants] == [not blind] * len(evidence.mutants)
    assert evidence.passed is not blind


@pytest.mark.parametrize("blind", [False, True])
def test_a_court_that_misses_no_write_fails_the_run(
    blind: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images of synchronous=OFF before who judges those of FULL: acknowledged writes are missing, and a blind court sees none."""
    if blind:
        monkeypatch.setattr(Court, "judge", lambda self, image: Judged((), "completed"))
    monkeypatch.setattr(power_stage, "QUICK", [part for part in power_stage.QUICK if part.mode == "off"])
    stage = Stage(
        "one canary", "power", lambda context: Found(mutants=power_stage.power_loss(context).mutants), (), "crash"
    )
    evidence = evidence_of(tmp_path, passing(), stage)
    (mutant,) = evidence.mutants
    assert (mutant.killed_by is None, evidence.passed) == (blind, not blind), mutant.words


@pytest.mark.parametrize("blind", [False, True])
def test_a_replay_that_agrees_with_every_scenario_fails_the_run(
    blind: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scenario that says what its run does not is not as expected; who compares nothing takes it. No other is run here."""
    if blind:
        monkeypatch.setattr(scenario, "_runtime", lambda told, known, tell: ([], "as it says"))
    monkeypatch.setattr(Scenario, "of_contracts", lambda told: True)
    monkeypatch.setattr(scenario, "run_schedules", lambda keys: {})
    stage = Stage("one canary", "scenarios", stages.scenarios, (), "replay")
    evidence = evidence_of(tmp_path, passing(), stage)
    (mutant,) = evidence.mutants
    assert (mutant.killed_by is None, evidence.passed) == (blind, not blind), mutant.words


@pytest.mark.parametrize("verdict", [Verdict.ERROR, Verdict.NOT_CHECKED, Verdict.TESTED])
def test_who_fails_or_is_silent_has_killed_nothing(verdict: Verdict) -> None:
    """Only a refutation is a no: a checker that stumbles over what was planted has not seen it."""
    item = Item(checker="walk", verdict=verdict, statement="nothing", command="crashwindow verify")
    assert noticed("a defect", item).killed_by is None
    assert noticed("a defect", item.model_copy(update={"verdict": Verdict.REFUTED})).killed_by == "walk"


def test_every_canary_is_one_that_an_audit_looks_for() -> None:
    """A run that leaves one out is not a whole one: the names are stated, and the kinds of checkers are all there."""
    assert set(CANARIES) <= set(PLANTED)
    assert {"windows", "power", "reprove", "replay"} <= set(PLANTED)


def test_it_is_planted_where_nothing_else_runs() -> None:
    """The stage is one of the main job's, and in the process that does one stage after the other."""
    assert CHECKER_CANARIES in STAGES
    assert CHECKER_CANARIES.elsewhere
