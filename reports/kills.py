"""The kill matrix by class of mutants, in the words that page and Markdown share."""

from collections.abc import Iterator, Sequence
from typing import Final

from ..checkers.evidence import KillRow, RunEvidence
from .words import number, ranked

HEADS: Final = (
    "Subject", "Class of mutants", "Mutants", "Killed", "By, of those asked", "The same", "Safe, proved",
    "Safe by proof, not asked further", "Gaps",
)  # fmt: skip
"""The columns. *The same*: no reachable state tells the mutant from the original, or none of the invariant does. *Safe,
proved*: it keeps the invariant, so what differs breaks no property. *Not asked further*: it keeps the invariant,
too, and not everybody was asked who might kill it all the same."""
OTHERS: Final = "liveness, the crash-window table, refinement and what the code was recorded to do"
"""Who might kill a mutant that proof and search let through."""


STATED: Final = "another size, graph or occurrence than is stated of the original"
"""What kills a mutant without a word on what is wrong with it."""


def caption(kills: Sequence[KillRow]) -> str:
    """The matrix in a line."""
    killed, mutants = sum(k.killed for k in kills), sum(k.mutants for k in kills)
    same, safe, gaps = sum(k.same for k in kills), sum(k.safe for k in kills), sum(len(k.gaps) for k in kills)
    stated = sum(k.stated for k in kills)
    alone = f", {number(stated)} of them, as far as was asked, by nothing but {STATED}" if stated else ""
    harmless = f"{number(same)} the same as the original, exhausted or proved"
    said = f"{number(killed)} of {number(mutants)} mutants killed{alone}; {harmless}"
    open_ones = f"{number(not_asked_further(kills))} safe by proof and not asked further"
    return f"{said}; {number(safe)} safe, by proof; {open_ones}; {number(gaps)} gaps"


def not_asked_further(kills: Sequence[KillRow]) -> int:
    """Mutants that are safe by proof, and that not everybody was asked about."""
    return sum(kill.unasked for kill in kills)


def in_part(run: RunEvidence) -> Iterator[tuple[str, str]]:
    """The subjects of which a run has judged a part of the mutants, with which part, and who judges the others."""
    for subject, many in {row.subject: row.one_in for row in run.kills if row.one_in > 1}.items():
        command = f"crashwindow mutants --subject {subject}"
        yield subject, f"one in {number(many)} was judged, by the run's seed; {command} judges all"


def survivors_first(kills: Sequence[KillRow]) -> list[KillRow]:
    """The rows, those with a gap before all others."""
    return sorted(kills, key=lambda kill: not kill.gaps)


def cells(kill: KillRow) -> list[str]:
    """A row without its gaps."""
    every = ranked({name: kill.by.get(name, 0) for name in kill.met})
    by = ", ".join(f"{name} {number(count)} of {number(kill.met[name])}" for name, count in every)
    killed = (
        f"{number(kill.killed)}, {number(kill.stated)} by what is stated alone" if kill.stated else number(kill.killed)
    )
    counted = [number(kill.mutants), killed, by or "nobody"]
    return [kill.subject, kill.kind, *counted, number(kill.same), number(kill.safe), number(kill.unasked)]


def survivors(rows: Sequence[KillRow]) -> Iterator[tuple[str, str]]:
    """The mutants that nobody kills and that are no gaps, each with what is proved of it."""
    for row in rows:
        yield from ((name, words) for words, names in row.survivors.items() for name in names)


def timed(kill: KillRow) -> str:
    """Who killed how many of a row first, in how many seconds, and how long all checkers took: what depends on the clock."""
    cheapest = (
        ", ".join(
            f"{name} {number(count)} in {number(kill.cheapest_seconds.get(name, 0.0))} s"
            for name, count in ranked(kill.cheapest)
        )
        or "nobody"
    )
    return f"cheapest killer: {cheapest}; {number(kill.seconds)} s of all checkers"
