"""Statistics of a few rounds: the median, and the quartiles as the spread."""

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Literal

from pydantic import BaseModel, ConfigDict

from .row import Better, Goal

Verdict = Literal["met", "missed", "not measured"]
Word = Literal["better", "worse", "within the spread"]


class Figures(BaseModel):
    """The figures of all rounds in their order, their median, and the spread: lower and upper quartile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    values: tuple[float, ...]
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Figures":
        """Of at least one round. Of a single one the spread is nothing."""
        low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
        return cls(values=tuple(values), median=median(values), low=low, high=high)


def ratios(ours: Sequence[float], rival: Sequence[float], better: Better) -> Figures:
    """How many times better ours was, round by round."""
    pairs = zip(ours, rival, strict=True)
    return Figures.of([mine / other if better == "more" else other / mine for mine, other in pairs])


def verdict(goal: Goal, found: Figures | None, better: Better) -> Verdict:
    """Whether the median meets the goal. found: ratios to the goal's rival, or, of a bound, our figures."""
    if found is None:
        return "not measured"
    least = better == "more" or bool(goal.beside)
    return "met" if (found.median >= goal.figure if least else found.median <= goal.figure) else "missed"


def compared(before: Figures, now: Figures, more: bool) -> Word:
    """Better or worse is what lies outside: every round above, or below, every round before. more: is better.

    Of five rounds and five that are alike this happens by chance once in 126 times.
    """
    if min(before.values) <= max(now.values) and min(now.values) <= max(before.values):
        return "within the spread"
    return "better" if (min(now.values) > max(before.values)) == more else "worse"
