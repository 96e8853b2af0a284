"""`crashwindow check`: one claim by all that speaks of it, anew."""

import argparse
from dataclasses import replace

import pytest

from crashwindow.checkers import cli_check
from crashwindow.checkers.evidence import Item, Verdict
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.verify import Found, Stage
from crashwindow.model.claims import CLAIMS
from crashwindow.runtime.errors import CommandError
from crashwindow.tests.sampled import sampled


def asked(claim: str) -> argparse.Namespace:
    """What the command line hands over."""
    return argparse.Namespace(claim=claim, profile="quick", seed=1)


def test_every_claim_has_a_stage() -> None:
    """Whatever the register holds, some stage of a run speaks of it, so that each can be checked alone."""
    assert {claim.id for claim in CLAIMS} <= {name for stage in STAGES for name in stage.claims}


def test_a_claim_is_checked_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """The items of one claim, by its own stages, and 0 where it comes out as the register expects."""
    assert cli_check.check(asked("C-KEY")) == 0
    said = capsys.readouterr().out
    assert "TESTED by enumerate" in said
    assert "C-KEY: TESTED, as expected" in said


@pytest.mark.parametrize("claim", sampled(["S3-WAITING", "P1-ANY", "T-AMBIGUOUS-EXACT"]))
def test_nothing_is_due_of_other_claims(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A second opinion is asked of this claim's questions alone: that nobody wrote those of others is no error."""
    assert cli_check.check(asked(claim)) == 0
    said = capsys.readouterr().out
    assert "by reprove" in said
    assert "is missing" not in said


def test_what_is_due_of_the_claim_is_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stage that says nothing of the claim that is asked about, and has to, is an error."""
    silent = tuple(replace(stage, run=lambda _: Found()) for stage in STAGES if stage.name == "keys")
    assert silent
    monkeypatch.setattr(cli_check, "STAGES", silent)
    assert cli_check.check(asked("P11-INJECTIVE")) == 1
    assert "is due, and it is missing" in capsys.readouterr().out


def test_the_deep_profile_asks_whoever_speaks_of_a_claim_there() -> None:
    """Who counts any number of workers speaks of the step's claims in the deep profile alone."""
    (counting,) = (stage for stage in STAGES if stage.name == "invariants")
    assert "P11-ANY" in cli_check.more_claims(counting, "deep")
    assert "P11-ANY" not in cli_check.more_claims(counting, "quick")


def test_another_verdict_is_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """1 where a stage finds something else, or fails."""
    item = Item(checker="enumerate", verdict=Verdict.REFUTED, statement="planted", command="crashwindow check C-KEY")
    refuting = Stage("planted", "planted", lambda _: Found(items={"C-KEY": [item]}), ("C-KEY",), "enumerate")
    failing = Stage("failing", "failing", lambda _: Found(errors=["planted"]), ("C-KEY",), "enumerate")
    for stage in (refuting, failing):
        monkeypatch.setattr(cli_check, "STAGES", (stage,))
        assert cli_check.check(asked("C-KEY")) == 1
        assert "planted" in capsys.readouterr().out


def test_a_claim_that_is_none_is_a_usage_error() -> None:
    """The message says where the claims are listed."""
    with pytest.raises(CommandError, match="there is no claim 'P99', but P9: `crashwindow claims` lists them"):
        cli_check.check(asked("P99"))
