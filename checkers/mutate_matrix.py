"""The kill matrix of one run: rows as they come, kept in a file so that an interrupted run goes on; and what they add up to."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ..scenarios.profile import MUTATED, MUTATED_FLEETS
from .evidence import KillRow, MutantCells
from .mutate_columns import BY_STATEMENT, MEANT
from .mutate_fleet_agree import agreement, unanswered
from .whole_file import replace_file

FILE: Final = "mutants.jsonl"


class OtherCodeError(Exception):
    """The rows were found by other code than this, with other packages, or in another profile."""


class Kept:
    """The rows of a run in its directory; the first line says what has found them. Raises OtherCodeError, OSError."""

    def __init__(self, directory: Path, found_by: str) -> None:
        self.path = directory / FILE
        self.rows: dict[str, MutantCells] = {}
        directory.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            self.path.write_text(f"{found_by}\n", encoding="utf-8")
            return
        first, *lines = self.path.read_bytes().split(b"\n")
        if first != found_by.encode() and (first or lines):  # an empty file is one that a run had no time to begin
            raise OtherCodeError(
                f"{self.path} holds what was found of other code, with other packages or in another profile: begin a new run"
            )
        for line in lines:
            try:
                row = MutantCells.model_validate_json(line)
            except ValueError:
                break  # cut short when the run was interrupted, it may be within a character: that row is found again
            self.rows[row.name] = row
        whole = "".join(f"{row.model_dump_json()}\n" for row in self.rows.values())
        replace_file(self.path, f"{found_by}\n{whole}")

    def add(self, row: MutantCells) -> None:
        """Keep a row."""
        self.rows[row.name] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{row.model_dump_json()}\n")


def summed(rows: Iterable[MutantCells]) -> list[KillRow]:
    """A row of the report for each class of each subject, in the order in which they first come."""
    classes: dict[tuple[str, str], list[MutantCells]] = {}
    for row in rows:
        classes.setdefault((row.subject, row.kind), []).append(row)
    return [_class(subject, kind, members) for (subject, kind), members in classes.items()]


def _class(subject: str, kind: str, members: list[MutantCells]) -> KillRow:
    def proved(words: str) -> int:
        return sum(row.equivalent.startswith(words) for row in members)

    ways = subject in MUTATED_FLEETS
    by = Counter(cell.checker for row in members for cell in row.killers)
    first = [row.killers[0] for row in members if row.killed]
    took: dict[str, float] = {}
    for cell in first:
        took[cell.checker] = took.get(cell.checker, 0.0) + cell.seconds
    survivors: dict[str, list[str]] = {}
    for row in members:
        if words := row.equivalent or row.unasked:
            survivors.setdefault(words, []).append(row.name)
    return KillRow(
        subject=subject,
        kind=kind,
        mutants=len(members),
        killed=sum(row.killed for row in members),
        by=dict(by),
        cheapest=dict(Counter(cell.checker for cell in first)),
        cheapest_seconds={name: round(seconds, 3) for name, seconds in took.items()},
        met=dict(
            Counter(cell.checker for row in members for cell in row.cells if cell.outcome in ("killed", "survived"))
        ),
        stated=sum(row.killed and {cell.checker for cell in row.killers} <= BY_STATEMENT for row in members),
        same=proved(EXHAUSTED) + proved(THE_SAME) + proved(BISIMILAR),
        safe=proved(PROVED),
        unasked=sum(bool(row.unasked) for row in members),
        gaps=[row.name for row in members if row.gap],
        survivors=survivors,
        seconds=round(sum(cell.seconds for row in members for cell in row.cells), 3),
        agreed=agreement(members) if ways else {},
        unanswered=unanswered(members) if ways else {},
    )


def blind(rows: Iterable[KillRow]) -> list[str]:
    """The checkers that said no to nobody, of more than `FEW` that they were asked about: such a column cannot fail, or is blind;
    and the ways to a verdict on a fleet that had no answer on any of more than `FEW`.

    A column is one way to look at one kind of subject: at machines, at fleets, or at a part of the runtime that it is made for.
    """
    rows = list(rows)
    asked, killed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows:
        of = "machines" if row.subject in MUTATED else "fleets" if row.subject in MUTATED_FLEETS else row.subject
        for checker, count in row.met.items():
            if checker not in MEANT.get(of, row.met):
                continue
            asked[checker, of] += count
            killed[checker, of] += row.by.get(checker, 0)
    return [
        f"mutants of {of}: {checker} was asked about {count}, and said no to none of them: it cannot fail, or is blind"
        for (checker, of), count in asked.items()
        if count > FEW and not killed[checker, of]
    ] + list(_silent(rows))


def _silent(rows: Iterable[KillRow]) -> Iterator[str]:
    answers, without = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in rows:
        answers.update({(row.subject, way): count for way, count in row.met.items()})
        for reason, count in row.unanswered.items():
            without[row.subject, reason.partition(": ")[0]] += count
    for (fleet, way), count in without.items():
        if count > FEW and not answers[fleet, way]:
            yield f"mutants of {fleet}: {way} was asked about {count}, and had no answer on any: it says nothing of this fleet"


FEW: Final = 10
"""Of so many mutants a checker that works may find none."""
EXHAUSTED: Final = "exhausted:"
THE_SAME: Final = "proved the same:"
BISIMILAR: Final = "bisimilar:"
PROVED: Final = "proved:"
"""How the proof of an equivalent mutant begins: the same transitions, in every reachable state, or in every state of the
invariant, for any number of workers; or the same to whoever sees both; or, of the code, safe, whatever else may differ."""


def gaps(rows: Iterable[MutantCells]) -> Iterator[MutantCells]:
    """The mutants that nobody kills, and of which nothing is proved."""
    return (row for row in rows if row.gap)
