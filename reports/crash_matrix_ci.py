"""Crash matrices for machines: JUnit XML, a test case per cell, and SARIF, a result per cell that breaks something."""

from collections.abc import Sequence
from pathlib import Path

from ..checkers.evidence_matrix import Cell, Matrix
from ..checkers.evidence_outcome import MEANING, UNJUDGED, Outcome
from .crash_matrix import outcome
from .junit_xml import Case, Suite, junit_xml
from .sarif_log import Json, Level, place, result, rule, sarif_log


def render_junit(matrices: Sequence[Matrix]) -> str:
    """A suite per subject. A cell that breaks the runtime's own promise is a failure, one that was not judged an error; one that
    was inferred, or that the runtime does not always come to, is skipped."""
    return junit_xml([_suite(matrix) for matrix in matrices])


def _suite(matrix: Matrix) -> Suite:
    broken = {cell.schedule for cell in matrix.broken}
    unjudged = {cell.schedule for cell in matrix.unanswered}
    missed = {cell.schedule for cell in matrix.missed}
    cases = [_case(c, c.schedule in broken, c.schedule in unjudged, c.schedule in missed) for c in matrix.cells]
    return Suite(matrix.subject, f"crash_matrix.{matrix.subject}", cases)


def _case(cell: Cell, broken: bool, unjudged: bool, missed: bool) -> Case:
    name, said = "; ".join(cell.schedule), f"{outcome(cell)}: {cell.words}"
    if broken or unjudged:
        return Case(name, "failure" if broken else "error", said, str(cell.worst), f"repeat it with: {cell.command}")
    if missed and set(cell.outcomes) <= UNJUDGED:
        return Case(name, "skipped", f"an unstable boundary, to which no run came: {said}")
    if cell.inferred:
        return Case(name, "skipped", f"inferred, not run: {outcome(cell)}")
    return Case(name, told=said)


def render_sarif(matrices: Sequence[Matrix], root: Path) -> str:
    """A rule per outcome; a result per cell that breaks a promise, is not at most once, or was not judged.

    It lies at the adapter's class, by its path below `root`, an absolute directory: a checkout, as a rule.
    """
    results = [_result(matrix, cell, root) for matrix in matrices for cell in matrix.cells if _told(matrix, cell)]
    rules = [rule(_rule(value), str(value), words) for value, words in MEANING.items()]
    return sarif_log(rules, results, {"uri": f"{root.as_uri()}/"})


def _told(matrix: Matrix, cell: Cell) -> bool:
    return cell in matrix.broken or cell in matrix.repeated or cell in matrix.unanswered


def _rule(value: Outcome) -> str:
    return value.lower().replace(" ", "-")


def _result(matrix: Matrix, cell: Cell, root: Path) -> Json:
    """An error where the runtime breaks its own promise, or nothing is known; a warning where it does more than once what it
    may."""
    level: Level = "error" if cell in matrix.broken or cell in matrix.unanswered else "warning"
    schedule = "; ".join(cell.schedule)
    words = f"{matrix.subject}, {schedule}: {outcome(cell)}: {cell.words}. Repeat it with: {cell.command}"
    return result(_rule(cell.worst), level, words, _location(matrix, root), f"{matrix.subject}/{schedule}")


def _location(matrix: Matrix, root: Path) -> Json:
    """Where the adapter is: in its file, below the root where it is there; by its name where it has no file."""
    if not matrix.file:
        return {"logicalLocations": [{"name": matrix.adapter}]}
    file = Path(matrix.file)
    if file.is_relative_to(root):
        return place(file.relative_to(root).as_posix(), matrix.line)
    return {"physicalLocation": {"artifactLocation": {"uri": file.as_uri()}, "region": {"startLine": matrix.line}}}
