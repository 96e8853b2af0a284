"""The seeds' sentences are tried on the shipped code: each comes out as registered, and each trial can come out otherwise."""

import pytest

from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.seed_text import CHECKS, SEED_TEXT, examine, replay
from crashwindow.model.claims import CLAIM_BY_ID, REASONS


@pytest.mark.parametrize("claim", CHECKS)
def test_a_sentence_comes_out_as_registered(claim: str) -> None:
    """TESTED where it holds; REFUTED, with a run that can be made again, where the text says what the runtime does not do."""
    item = examine(claim)
    registered = CLAIM_BY_ID[claim]
    expected = Verdict.TESTED if registered.kind == "rows" else Verdict(registered.expected)
    assert item.verdict is expected, item.statement
    assert (item.trace is not None) is (expected is Verdict.REFUTED)


def test_every_sentence_is_tried() -> None:
    """Whoever is registered as shown, or as belied, has a trial; nobody else but the rows of the table has."""
    tried = {c.id for c in CLAIM_BY_ID.values() if "enumerate" in c.methods and c.kind in ("shown", "belied", "rows")}
    own = {claim for claim in tried if not claim.startswith(("S3-", "C-", "C9"))}
    assert own == CHECKS.keys()
    assert set(SEED_TEXT.claims) <= {*CHECKS, *REASONS}


def test_a_refutation_replays() -> None:
    """`crashwindow replay text:CLAIM` makes the same run again; an unknown claim is refused with the ones that there are."""
    item, trace = replay("text:S4-2.1-FILTER")
    assert item.verdict is Verdict.REFUTED
    assert trace == examine("S4-2.1-FILTER").trace
    with pytest.raises(ValueError, match=r"S4-2\.1-FILTER"):
        replay("text:S9")
