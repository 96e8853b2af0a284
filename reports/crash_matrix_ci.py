"""Crash matrices for machines: JUnit XML, a test case per cell, and SARIF, a result per cell that breaks something."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

from ..checkers.evidence_matrix import Cell, Matrix
from ..checkers.evidence_outcome import MEANING, UNJUDGED, Outcome
from .crash_matrix import outcome
from .words import plain

SARIF_VERSION: Final = "2.1.0"


def render_junit(matrices: Sequence[Matrix]) -> str:
    """A suite per subject. A cell that breaks the runtime's own promise is a failure, one that was not judged an error."""
    root = ElementTree.Element("testsuites", name="crashwindow")
    for matrix in matrices:
        broken = {cell.schedule for cell in matrix.broken}
        unjudged = {cell.schedule for cell in matrix.unjudged}
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=matrix.subject,
            tests=str(len(matrix.cells)),
            failures=str(len(broken)),
            errors=str(len(unjudged - broken)),
        )
        for cell in matrix.cells:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"crash_matrix.{matrix.subject}", name=plain("; ".join(cell.schedule))
            )
            if cell.schedule in broken or cell.schedule in unjudged:
                kind = "failure" if cell.schedule in broken else "error"
                made = ElementTree.SubElement(
                    case, kind, message=plain(f"{outcome(cell)}: {cell.words}"), type=str(cell.worst)
                )
                made.text = plain(f"repeat it with: {cell.command}")
            elif cell.inferred:
                ElementTree.SubElement(case, "skipped", message=plain(f"inferred, not run: {outcome(cell)}"))
            else:
                ElementTree.SubElement(case, "system-out").text = plain(f"{outcome(cell)}: {cell.words}")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


ROOT: Final = "%SRCROOT%"
"""What paths are relative to, by the name that GitHub knows."""


def render_sarif(matrices: Sequence[Matrix], root: Path) -> str:
    """A rule per outcome; a result per cell that breaks a promise, is not at most once, or was not judged.

    It lies at the adapter's class, by its path below `root`, an absolute directory: a checkout, as a rule.
    """
    results = [_result(matrix, cell, root) for matrix in matrices for cell in matrix.cells if _told(matrix, cell)]
    rules = [
        {
            "id": _rule(value),
            "name": _rule(value),
            "shortDescription": {"text": str(value)},
            "fullDescription": {"text": words},
            "help": {"text": f"{value}: {words}"},
        }
        for value, words in MEANING.items()
    ]
    run = {
        "tool": {"driver": {"name": "crashwindow", "rules": rules}},
        "originalUriBaseIds": {ROOT: {"uri": f"{root.as_uri()}/"}},
        "results": results,
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": SARIF_VERSION, "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _told(matrix: Matrix, cell: Cell) -> bool:
    return cell in matrix.broken or cell in matrix.repeated or bool(set(cell.outcomes) & UNJUDGED)


def _rule(value: Outcome) -> str:
    return value.lower().replace(" ", "-")


def _result(matrix: Matrix, cell: Cell, root: Path) -> dict[str, Any]:
    """An error where the runtime breaks its own promise, or nothing is known; a warning where it does more than once what it
    may."""
    level = "error" if cell in matrix.broken or set(cell.outcomes) & UNJUDGED else "warning"
    schedule = f"{matrix.subject}/{'; '.join(cell.schedule)}"
    words = (
        f"{matrix.subject}, {'; '.join(cell.schedule)}: {outcome(cell)}: {cell.words}. Repeat it with: {cell.command}"
    )
    return {
        "ruleId": _rule(cell.worst),
        "level": level,
        "message": {"text": plain(words)},
        "locations": [_location(matrix, root)],
        # All results of a runtime lie in one line: what tells them apart is the schedule, by the key that GitHub reads.
        "partialFingerprints": {
            "primaryLocationLineHash": f"{hashlib.sha256(schedule.encode()).hexdigest()[:16]}:1",
            "schedule": plain(schedule),
        },
    }


def _location(matrix: Matrix, root: Path) -> dict[str, Any]:
    """Where the adapter is: in its file, below the root where it is there; by its name where it has no file."""
    if not matrix.file:
        return {"logicalLocations": [{"name": matrix.adapter}]}
    file = Path(matrix.file)
    if file.is_relative_to(root):
        found = {"uri": quote(file.relative_to(root).as_posix()), "uriBaseId": ROOT}
    else:
        found = {"uri": file.as_uri()}
    return {"physicalLocation": {"artifactLocation": found, "region": {"startLine": matrix.line}}}
