"""The main job's frame: no stage fails in silence, an interrupted run goes on, verdicts are compared with the register."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from crashwindow.checkers import fleet_stages
from crashwindow.checkers import verify as verify_module
from crashwindow.checkers.evidence import Item, MutantResult, RunEvidence, Verdict
from crashwindow.checkers.evidence_code import code_sha256
from crashwindow.checkers.evidence_verdict import strongest, weakest
from crashwindow.checkers.observed import durable_fields
from crashwindow.checkers.prove_fleet import prove_fleet
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.verify import Context, Found, Stage, new_run, verify
from crashwindow.checkers.verify_elsewhere import Elsewhere
from crashwindow.checkers.windows import class_of
from crashwindow.model.claims import CLAIMS
from crashwindow.model.fingerprint import machine_sha256
from crashwindow.model.recorded import RECORDED_INVARIANT, RECORDED_PROPERTIES
from crashwindow.model.step import build
from crashwindow.scenarios.fleet_policies import recorded_fleet
from crashwindow.scenarios.policies import POLICIES
from crashwindow.scenarios.profile import ASKED_AGAIN, PLANTED
from crashwindow.tests import elsewhere_stages


def context(directory: Path) -> Context:
    """A run in a directory, which tells nobody."""
    return Context("quick", 1, directory, lambda words: None)


def item(verdict: Verdict) -> Item:
    """A piece of evidence."""
    return Item(checker="explore", verdict=verdict, statement="as planted", command="crashwindow verify")


def evidence_of(directory: Path, *stages: Stage) -> RunEvidence:
    """The evidence of a run of these stages."""
    last = list(verify(context(directory), stages, "crashwindow verify"))[-1]
    assert isinstance(last, RunEvidence)
    return last


def passing() -> Stage:
    """A stage that finds for every claim what the register expects."""
    found = {c.id: [item(Verdict(c.expected))] for c in CLAIMS}
    return Stage("all", "all", lambda _: Found(items=found), tuple(found), "explore")


def test_a_run_passes_when_every_verdict_is_the_expected_one(tmp_path: Path) -> None:
    """Found as registered: passed."""
    assert evidence_of(tmp_path, passing()).passed


def test_a_whole_run_that_plants_nothing_before_a_checker_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every planted defect that is there was found, but one kind is not there; without cvc5 there is none for it."""
    monkeypatch.setattr(verify_module, "not_as_due", lambda *asked: ())
    names = ("an open attempt is executed again", *(f"{part}: planted" for part in PLANTED if part != ASKED_AGAIN))

    def errors(*there: str) -> list[str]:
        planted = Found(mutants=[MutantResult(name=name, killed_by="walk", words="") for name in there])
        stages = [replace(stage, run=lambda _: Found(), beside=False, elsewhere=False) for stage in STAGES]
        stages[0] = replace(stages[0], run=lambda _: planted)
        return evidence_of(tmp_path / str(len(there)), *stages).errors

    assert errors(*names) == []
    assert errors(*names[:-1]) == [f"planted defects of {PLANTED[-1]}: there is none"]


@pytest.mark.parametrize("verdict", [Verdict.REFUTED, Verdict.ERROR, Verdict.NOT_CHECKED, Verdict.TESTED])
def test_one_other_verdict_fails_the_run(tmp_path: Path, verdict: Verdict) -> None:
    """A single claim that is refuted, in error, or weaker than registered fails the run."""
    found = {c.id: [item(verdict if c.id == "P1" else Verdict(c.expected))] for c in CLAIMS}
    stage = Stage("all", "all", lambda _: Found(items=found), tuple(found), "explore")
    assert not evidence_of(tmp_path, stage).passed


@pytest.mark.parametrize("harmless", [False, True])
def test_a_canary_that_survives_fails_the_run(harmless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every claim comes out as expected, and a planted defect that nobody finds fails the run all the same."""
    (stage,) = (each for each in fleet_stages.FLEET_STAGES if each.name == "fleet_canaries")
    if harmless:
        monkeypatch.setattr(fleet_stages, "CANARIES", {"nothing is changed": ("claim", {})})
    evidence = evidence_of(tmp_path, passing(), stage)
    assert bool(evidence.mutants)
    assert [mutant.killed_by for mutant in evidence.mutants if not mutant.killed_by] == [None] * harmless
    assert evidence.passed is not harmless


def test_a_proof_without_answers_kills_no_canary() -> None:
    """A solver that gives no answer has found nothing: even the fleet as it is would else count as a planted defect found."""
    proof = prove_fleet(recorded_fleet(), RECORDED_PROPERTIES, RECORDED_INVARIANT, budget=1)
    assert not proof.holds
    said = fleet_stages.mutant("nothing is changed", proof)
    assert said.killed_by is None
    assert said.words.startswith("proof: no answer to ")


def test_a_claim_without_evidence_fails_the_run(tmp_path: Path) -> None:
    """No verdict by default: a claim about which no stage spoke is NOT CHECKED, and not as expected."""
    assert not evidence_of(tmp_path).passed
    assert {c.best for c in evidence_of(tmp_path).claims} == {Verdict.NOT_CHECKED}


def test_a_checkers_own_exception_is_an_error(tmp_path: Path) -> None:
    """A stage that raises is an ERROR beside each of its claims, even where another checker proved them."""

    def fails(_: Context) -> Found:
        raise RuntimeError("out of order")

    evidence = evidence_of(tmp_path, passing(), Stage("broken", "broken", fails, ("P1", "P2"), "prove"))
    by_id = {c.claim: c for c in evidence.claims}
    assert by_id["P1"].best is by_id["P2"].best is Verdict.ERROR
    assert "out of order" in by_id["P1"].items[-1].statement
    assert not evidence.passed


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    """Stages that have ended are not run again when the run is taken up in its directory; it says which, and since when."""
    ran = []

    def counted(_: Context) -> Found:
        ran.append(1)
        return passing().run(context(tmp_path))

    def interrupted(_: Context) -> Found:
        if len(ran) < 2:
            ran.append(2)
            raise KeyboardInterrupt
        return Found()

    stages = (Stage("one", "one", counted, (), "explore"), Stage("two", "two", interrupted, (), "explore"))
    with pytest.raises(KeyboardInterrupt):
        evidence_of(tmp_path, *stages)
    (kept,) = (tmp_path / "stages").glob("one.*.json")
    ended = json.loads(kept.read_text())
    kept.write_text(json.dumps({**ended, "at": "1970-01-01T00:00:00+00:00"}))
    again = evidence_of(tmp_path, *stages)
    assert again.passed
    assert ran == [1, 2]
    assert again.run.kept == {"one": "1970-01-01T00:00:00+00:00"}


@pytest.mark.parametrize("why", ["whole", "torn", "empty", "another solver"])
def test_what_is_kept_of_a_stage_is_whole_and_of_these_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """A torn file is a stage that has not ended; what another version of a package found is not told as this one's."""
    ran = []

    def counted(_: Context) -> Found:
        ran.append(1)
        return passing().run(context(tmp_path))

    stage = Stage("one", "one", counted, (), "explore")
    evidence_of(tmp_path, stage)
    (file,) = (tmp_path / "stages").iterdir()
    if why in ("torn", "empty"):
        file.write_bytes(file.read_bytes()[: 100 * (why == "torn")])
    elif why == "another solver":
        monkeypatch.setattr(verify_module, "_version", lambda package: f"{package} 0")
    assert evidence_of(tmp_path, stage).passed
    assert len(ran) == (1 if why == "whole" else 2)


def test_a_refutation_is_never_outshone() -> None:
    """Among the verdicts on a claim a refutation or an error wins over any proof; the weakest link is kept as well."""
    assert strongest([Verdict.PROVED, Verdict.TESTED]) is Verdict.PROVED
    assert strongest([Verdict.PROVED, Verdict.REFUTED]) is Verdict.REFUTED
    assert strongest([Verdict.REFUTED, Verdict.ERROR]) is Verdict.ERROR
    assert weakest([Verdict.PROVED, Verdict.TESTED]) is Verdict.TESTED
    assert strongest([]) is weakest([]) is Verdict.NOT_CHECKED


def test_every_claim_has_a_stage() -> None:
    """The stages of `verify` speak of every claim of the register."""
    assert {claim for stage in STAGES for claim in stage.claims} == {claim.id for claim in CLAIMS}


def test_the_hashes_say_which_model_and_code() -> None:
    """Another policy is another machine hash; the code's hash is the same when nothing changed."""
    hashes = {machine_sha256(build(policy)) for policy in POLICIES.values()}
    assert len(hashes) == len(POLICIES)
    assert code_sha256() == code_sha256()


def test_two_runs_have_two_directories(tmp_path: Path) -> None:
    """A run never writes into another run's directory."""
    assert len({new_run(tmp_path) for _ in range(3)}) == 3


@pytest.mark.parametrize(
    ("events", "ledger", "record", "opened", "window"),
    [
        ([], None, False, 0, "1a"),
        ([], "INFLIGHT", False, 0, "1b"),
        (["tool_invocation_started"], "INFLIGHT", False, 1, "1c"),
        (["tool_invocation_started"], "INFLIGHT", True, 1, "3"),
        (["tool_invocation_started", "tool_invocation_finished(unknown)"], "INFLIGHT", False, 1, "2u"),
        (["tool_invocation_started", "tool_invocation_finished(no_effect)"], "INFLIGHT", False, 0, "2n"),
        (
            ["tool_invocation_started", "tool_invocation_finished(no_effect)", "retry_scheduled"],
            "NO_EFFECT",
            False,
            0,
            "1n",
        ),
        (["tool_invocation_started", "tool_invocation_finished(success)"], "INFLIGHT", True, 1, "3b"),
        (
            ["tool_invocation_started", "tool_invocation_finished(success)", "command_committed"],
            "COMMITTED",
            True,
            1,
            "5",
        ),
    ],
)
def test_a_described_state_is_found_in_the_table(
    events: list[str], ledger: str | None, record: bool, opened: int, window: str
) -> None:
    """The window of a real crash is told from what the judge read in the file, by the model's own table."""
    step = {"events": events, "ledger": ledger, "effect_record": record, "open": opened, "effects": 0}
    assert class_of(durable_fields("open", step)) == window


def test_a_stage_beside_the_others_runs_with_them(tmp_path: Path) -> None:
    """It begins before the first of the others has ended, its evidence is the same, and it is kept for a run that goes on."""
    begun, may_end = threading.Event(), threading.Event()

    def first(_: Context) -> Found:
        assert begun.wait(10)
        may_end.set()
        return passing().run(context(tmp_path))

    def long(_: Context) -> Found:
        begun.set()
        assert may_end.wait(10)
        return Found(items={"P1": [item(Verdict.TESTED)]})

    stages = (replace(passing(), run=first), Stage("long", "long", long, ("P1",), "crash", beside=True))
    assert [i.verdict for i in evidence_of(tmp_path, *stages).claims[0].items] == [Verdict.PROVED, Verdict.TESTED]
    assert list((tmp_path / "stages").glob("long.*"))


def test_a_stage_beside_the_others_fails_loudly(tmp_path: Path) -> None:
    """Its exception is an ERROR beside its claims, as any other stage's."""

    def fails(_: Context) -> Found:
        raise RuntimeError("out of order")

    stages = (passing(), Stage("broken", "broken", fails, ("P1",), "crash", beside=True))
    evidence = evidence_of(tmp_path, *stages)
    assert evidence.claims[0].best is Verdict.ERROR
    assert not evidence.passed


def test_a_stage_elsewhere_says_what_it_would_have_said_here(tmp_path: Path) -> None:
    """One other process does all such stages; it tells how far it is, its failure is an ERROR, and what it found is kept."""
    told: list[str] = []
    stages = (
        passing(),
        Stage("first", "first", elsewhere_stages.found, ("P1",), "crash", elsewhere=True),
        Stage("broken", "broken", elsewhere_stages.broken, ("P2",), "crash", elsewhere=True),
        Stage("again", "again", elsewhere_stages.found, ("P1",), "crash", elsewhere=True),
    )
    listening = Context("quick", 7, tmp_path, told.append)
    *_, evidence = verify(listening, stages, "crashwindow verify")
    assert isinstance(evidence, RunEvidence)
    items = {claim.claim: claim.items[1:] for claim in evidence.claims}
    first, again = (item.statement.split() for item in items["P1"])
    assert first == again != ["7", str(os.getpid())]
    assert first[0] == "7"
    assert [item.verdict for item in items["P2"]] == [Verdict.ERROR]
    assert "out of order" in items["P2"][0].statement
    assert "half of it" in told
    assert {file.name.partition(".")[0] for file in (tmp_path / "stages").iterdir()} == {"all", "first", "again"}


def test_a_process_that_dies_is_an_error(tmp_path: Path) -> None:
    """A stage whose process ends without a word is an ERROR beside its claims; the next one has a process of its own."""
    stages = [
        Stage(run.__name__, "dies", run, ("P1",), "crash", elsewhere=True)
        for run in (elsewhere_stages.dies, elsewhere_stages.found)
    ]
    evidence = evidence_of(tmp_path, passing(), *stages)
    assert [item.verdict for item in evidence.claims[0].items[1:]] == [Verdict.ERROR, Verdict.PROVED]


def test_what_a_stage_says_late_is_not_the_next_ones(tmp_path: Path) -> None:
    """Where telling fails here, the stage goes on over there: its result is nobody's, and the next stage's is its own."""
    refused = iter([OSError("the screen is gone")])

    def telling(words: str) -> None:
        if words == "half of it":
            for error in refused:
                raise error

    elsewhere = Elsewhere()
    try:
        with pytest.raises(OSError, match="the screen is gone"):
            elsewhere.run(elsewhere_stages.found, Context("quick", 1, tmp_path, telling))
        found = elsewhere.run(elsewhere_stages.found, Context("quick", 2, tmp_path, telling))
    finally:
        elsewhere.close()
    assert found.items["P1"][0].statement.split()[0] == "2"


def test_an_interrupt_ends_the_process_elsewhere(tmp_path: Path) -> None:
    """A run that is broken off waits for no stage: the process is ended, though it says nothing."""

    def interrupted(_: Context) -> Found:
        wait_until((tmp_path / "process").exists)
        raise KeyboardInterrupt

    stages = (
        Stage("all", "all", interrupted, (), "explore"),
        Stage("endless", "endless", elsewhere_stages.endless, ("P1",), "crash", elsewhere=True),
    )
    with pytest.raises(KeyboardInterrupt):
        evidence_of(tmp_path, *stages)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "process").read_text(encoding="utf-8")), 0)


@pytest.mark.parametrize(
    "starting",
    [
        "Elsewhere().run(endless, Context('quick', 1, place, lambda words: None))",
        "next(side_by_side(endless, [SimpleNamespace(directory=place)], 1))",
    ],
)
def test_a_run_that_is_killed_leaves_no_process_behind(starting: str, tmp_path: Path) -> None:
    """Of a run that is killed, and so cannot end anything, the processes that work for it end too, though they say nothing."""
    program = (
        "import pathlib, sys\n"
        "from types import SimpleNamespace\n"
        "from crashwindow.checkers.side_by_side import side_by_side\n"
        "from crashwindow.checkers.verify import Context\n"
        "from crashwindow.checkers.verify_elsewhere import Elsewhere\n"
        "from crashwindow.tests.elsewhere_stages import endless\n"
        "place = pathlib.Path(sys.argv[1])\n"
        "if __name__ == '__main__':\n"
        f"    {starting}\n"
    )
    file = tmp_path / "run.py"
    file.write_text(program, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(file), str(tmp_path)]) as run:
        wait_until((tmp_path / "process").exists)
        run.kill()
    process = Path("/proc", (tmp_path / "process").read_text(encoding="utf-8"))
    wait_until(lambda: not process.exists() or ") Z " in (process / "stat").read_text(encoding="utf-8"))


def wait_until(there: Callable[[], bool]) -> None:
    """Look again and again."""
    while not there():
        time.sleep(0.01)


def test_an_interrupt_ends_the_stage_beside(tmp_path: Path) -> None:
    """A run that is broken off waits until the stage beside has cleaned up, and nothing of it is kept."""
    cleaned = []

    def endless(run: Context) -> Found:
        try:
            while True:
                run.tell("on and on")
                time.sleep(0.001)
        finally:
            cleaned.append(True)

    def interrupted(_: Context) -> Found:
        raise KeyboardInterrupt

    stages = (
        Stage("all", "all", interrupted, (), "explore"),
        Stage("endless", "endless", endless, ("P1",), "crash", beside=True),
    )
    with pytest.raises(KeyboardInterrupt):
        evidence_of(tmp_path, *stages)
    assert cleaned
    assert not list((tmp_path / "stages").glob("endless.*"))
