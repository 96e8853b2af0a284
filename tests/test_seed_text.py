"""The seeds' sentences are tried on the shipped code: each comes out as registered, and each trial can come out otherwise."""

from dataclasses import replace
from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import seed_text
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.seed_text import CHECKS, SEED_TEXT, examine, replay
from crashwindow.checkers.stages import row_of_the_seed
from crashwindow.checkers.verify import Context
from crashwindow.checkers.windows import Derived
from crashwindow.model.claims import CLAIM_BY_ID, REASONS
from crashwindow.model.seed_claims import SEED_CLAIMS, SEED_REASONS
from crashwindow.model.windows import BY_ID
from crashwindow.tests.seed_mutants import MUTANTS

from .sampled import sampled


@pytest.mark.parametrize("claim", sampled(CHECKS, 6))
def test_a_sentence_comes_out_as_registered(claim: str) -> None:
    """TESTED where it holds; REFUTED, with a run that can be made again, where the text says what the runtime does not do."""
    item = examine(claim)
    registered = CLAIM_BY_ID[claim]
    expected = Verdict.TESTED if registered.kind == "rows" else Verdict(registered.expected)
    assert item.verdict is expected, item.statement
    assert (item.trace is not None) is (expected is Verdict.REFUTED)


def test_every_sentence_is_tried() -> None:
    """Every claim of the four documents that is to be shown, or belied, on the runtime has a trial; nothing else has one."""
    assert {claim.id for claim in SEED_CLAIMS if "enumerate" in claim.methods} == CHECKS.keys()
    assert set(SEED_TEXT.claims) <= {*CHECKS, *REASONS}


def test_a_refutation_replays() -> None:
    """`crashwindow replay text:CLAIM` makes the same run again; an unknown claim is refused with the ones that there are."""
    item = replay("text:S4-2.1-FILTER")
    assert item.verdict is Verdict.REFUTED
    assert item == examine("S4-2.1-FILTER")
    with pytest.raises(ValueError, match=r"S4-2\.1-FILTER"):
        replay("text:S9")


@pytest.mark.parametrize(("claim", "words"), [("S2-FIRST-ONLY", "2 real executions"), ("S1-3-ORDER", "TESTED")])
def test_the_command_makes_the_run_again(claim: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`crashwindow replay text:CLAIM` says what it came to, and exits 0 where that is what is registered."""
    assert main(["replay", f"text:{claim}"]) == 0
    assert words in capsys.readouterr().out


def test_a_result_that_is_not_registered_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command exits 1 where a sentence comes out otherwise; 2 where there is no such sentence."""
    MUTANTS["a key for each look"].plant(monkeypatch)
    assert main(["replay", "text:S1-4.1-FORMULA"]) == 1
    assert main(["replay", "text:S9"]) == 2


def test_the_stage_says_why_a_sentence_is_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be tried is NOT CHECKED, with its reason; what can is found out."""
    monkeypatch.setattr(seed_text, "CHECKS", {"S1-3-ORDER": CHECKS["S1-3-ORDER"]})
    found = seed_text.seed_text(Context("quick", 1, tmp_path, lambda words: None))
    assert [item.verdict for item in found.items.pop("S1-3-ORDER")] == [Verdict.TESTED]
    assert {claim: item.statement for claim, (item,) in found.items.items()} == SEED_REASONS
    assert {item.verdict for (item,) in found.items.values()} == {Verdict.NOT_CHECKED}


@pytest.mark.parametrize(
    ("in_end", "stated", "verdict"),
    [("1", "1", Verdict.EXHAUSTED), ("2", "2", Verdict.REFUTED), ("1", "0", Verdict.REFUTED)],
)
def test_a_row_of_the_seed_is_compared(in_end: str, stated: str, verdict: Verdict) -> None:
    """A row is refuted where a window ends with other effects than it says, and where the derived window is not as stated."""
    window = replace(BY_ID["3"], in_end=frozenset(stated))
    row = Derived(window, 1, window.recovery, window.at_crash, frozenset(in_end))
    item = row_of_the_seed("S1-2-WINDOW3", [row], frozenset("1"))
    assert item.verdict is verdict


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_defect_is_noticed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the defect each of its sentences comes out otherwise than registered."""
    plant, noticed_by = MUTANTS[mutant]
    plant(monkeypatch)
    for claim in noticed_by:
        holds = CLAIM_BY_ID[claim].expected != "REFUTED"
        assert examine(claim).verdict is (Verdict.REFUTED if holds else Verdict.TESTED), claim


def test_every_trial_is_seen_to_fail() -> None:
    """No sentence is without a defect that its trial notices."""
    assert {claim for mutant in MUTANTS.values() for claim in mutant.noticed_by} == CHECKS.keys()
