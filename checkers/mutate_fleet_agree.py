"""When the ways to a verdict on a fleet's mutant contradict each other, what a failed induction is worth, and how far they agree.

The criterion, all of it:

- What a run of two workers refutes nobody calls safe, and nobody proves the same as its original.
- What is proved the same as its original no state of two workers tells from it: by no step, and by no number of states or steps;
  nor does a proof stop at it.

What breaks this ends the run. Beside it: that an induction fails, or that counting comes to a forbidden state, refutes nothing.
It is a kill, since nobody who reads the verdict takes the mutant for safe; but where another way proves it safe it says
something of that way alone, a false alarm, and the way has no answer. Proof, over what is written or was found, proves it; so
does counting where it leaves nothing out (`counts`), which elsewhere is a way's answer, and no more; and so is the search of two.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from .evidence import MutantCells
from .evidence_agreement import SPLIT

WAYS: Final = ("prove", "explore", "count", "found")
"""The ways, in the order in which they are asked."""
Way = Literal["safe", "refuted", "not safe", "no answer"]
"""What a way says. Not safe: the proof fails, or a state that may be none of a run is forbidden."""
Told = tuple[Way, str, float]
"""What a way says of a mutant, why, and after how many seconds."""
ALARMS: Final[Mapping[str, str]] = {
    "prove": "not inductive over what is written",
    "found": "not inductive over what was found",
    "count": "a forbidden state is counted, which may be none of a run",
}
"""What it is that a way says of a mutant which another proves safe."""

SAME: Final = (
    "proved the same: in every state of the invariant its rows may fire where the original's may, and lead there, too"
)
DEAD: Final = (
    "proved the same: whatever step its rows may take the original may take, and the other way round, but for what nobody reads"
    " before it is written again"
)
"""Over more clauses than the properties need, and by whichever row (`mutate_fleet_same`)."""


def proofs(counts: bool) -> tuple[str, ...]:
    """The ways of which a mutant is proved safe for any number of workers."""
    return ("prove", "found", "count") if counts else ("prove", "found")


def agree(name: str, verdicts: Mapping[str, Way], same: bool, otherwise: bool) -> None:
    """Raises AssertionError where two ways contradict each other, with which they are.

    same: whether the mutant is proved the same as its original; otherwise: whether a state of two workers tells them apart.
    """
    refuted = verdicts.get("explore") == "refuted"
    if wrong := [way for way, verdict in verdicts.items() if verdict == "safe" and refuted]:
        raise AssertionError(f"{name}: safe, says {', '.join(wrong)}, and a run of two workers breaks a property")
    against = {
        "a run of two workers breaks a property": refuted,
        "a state of two workers tells it from the original": otherwise,
        "the proof stops": verdicts.get("prove") == "not safe",
    }
    if wrong := [what for what, is_so in against.items() if same and is_so]:
        raise AssertionError(f"{name}: proved the same, and {', '.join(wrong)}")


def settled(told: Mapping[str, Told], counts: bool) -> dict[str, Told]:
    """What is said of a mutant, where a way that fails on what another proves safe has no answer.

    counts: whether all that a proof is asked of the mutant is asked of counting, with every kind of tool or node.
    """
    proved = [way for way in proofs(counts) if way in told and told[way][0] == "safe"]
    return {way: _alarm(way, each, proved) if proved and each[0] == "not safe" else each for way, each in told.items()}


def _alarm(way: str, told: Told, proved: list[str]) -> Told:
    _, words, seconds = told
    return "no answer", f"{ALARMS[way]}, and proved safe by {' and '.join(proved)}: {words}", seconds


def agreement(rows: Iterable[MutantCells]) -> dict[str, int]:
    """How many ways give the same answer, "0" to "4": of how many mutants; and of how many some say safe, of what they look at,
    and some that they fail (`SPLIT`)."""
    return dict(sorted(Counter(_together(row) for row in rows).items(), reverse=True))


def _together(row: MutantCells) -> str:
    answers = Counter(cell.outcome for cell in row.cells if cell.checker in WAYS)
    safe, failed = answers["survived"], answers["killed"]
    return SPLIT if safe and failed else str(safe + failed)


def unanswered(rows: Iterable[MutantCells]) -> dict[str, int]:
    """Why a way has no answer, as "way: reason", and of how many mutants; the most frequent first."""
    return dict(Counter(reason for row in rows for reason in _reasons(row)).most_common())


def _reasons(row: MutantCells) -> Iterator[str]:
    """A reason is what stands before the first colon, whatever its numbers."""
    for cell in row.cells:
        if cell.checker in WAYS and cell.outcome == "not run" and cell.words:
            yield f"{cell.checker}: {re.sub('[0-9][0-9,]*', 'so many', cell.words.partition(': ')[0])}"
