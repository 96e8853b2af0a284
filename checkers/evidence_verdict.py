"""Verdicts, and which of them is the stronger: apart from the records, whose library takes longer to load than a proof."""

from collections.abc import Sequence
from enum import StrEnum


class Verdict(StrEnum):
    """What a piece of evidence says about a claim."""

    PROVED = "PROVED"  # inductive, without bounds
    EXHAUSTED = "EXHAUSTED"  # every state, or every schedule within the stated bounds
    TESTED = "TESTED"  # some runs
    ASSUMED = "ASSUMED"  # somebody else must keep it
    NOT_CHECKED = "NOT CHECKED"
    REFUTED = "REFUTED"  # a counterexample
    ERROR = "ERROR"  # the checker itself failed, or gave no answer


BROKEN = (Verdict.REFUTED, Verdict.ERROR)
"""Verdicts that nothing outshines."""

STRENGTH = list(Verdict)
"""Verdicts from the strongest to the worst."""


def weakest(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst of some verdicts; NOT CHECKED when there is none."""
    return max(verdicts, key=STRENGTH.index, default=Verdict.NOT_CHECKED)


def strongest(verdicts: Sequence[Verdict]) -> Verdict:
    """The best of some verdicts; a refutation or an error is never outshone."""
    broken = [v for v in verdicts if v in BROKEN]
    return weakest(broken) if broken else min(verdicts, key=STRENGTH.index, default=Verdict.NOT_CHECKED)
