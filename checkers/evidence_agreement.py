"""How far the ways to a verdict agree on the mutants of each fleet, in words that reports and the command share."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from .evidence import KillRow

SPLIT: Final = "split"
"""Of a fleet's mutant: some ways fail, and others call safe what they look at."""


def agreements(kills: Sequence[KillRow]) -> list[str]:
    """A line for each fleet: of how many mutants how many ways gave the same answer, and why the others had none."""
    fleets = dict.fromkeys(kill.subject for kill in kills if kill.agreed)
    return [_agreement(name, [kill for kill in kills if kill.subject == name]) for name in fleets]


def _agreement(fleet: str, kills: Sequence[KillRow]) -> str:
    agreed, reasons = _added(kill.agreed for kill in kills), _added(kill.unanswered for kill in kills)
    split = agreed.pop(SPLIT, 0)
    ways = ", ".join(f"{ways} on {count:,}" for ways, count in sorted(agreed.items(), reverse=True))
    why = "; ".join(
        f"{reason} ({count:,})" for reason, count in sorted(reasons.items(), key=lambda each: (-each[1], each))
    )
    return (
        f"{fleet}, {sum(kill.mutants for kill in kills):,} mutants: so many ways gave the same answer: {ways or 'none'};"
        f" on {split:,} some failed, and others called safe what they look at. Without an answer: {why or 'none'}."
    )


def _added(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    added = Counter[str]()
    for each in counts:
        added.update(each)
    return added
