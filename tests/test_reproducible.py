"""Two runs on the same code give the same report, but for the run's own section (E-REPORT)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crashwindow.checkers.stages import STAGES
from crashwindow.reports.sections import NUMBERS, TITLES

QUICK = ("contract_proof", "contract_text", "contract_canaries")
"""Stages of each kind that take a second or two: searches with traces, proofs, planted defects, tests."""
RUN = """
import sys
from pathlib import Path
from crashwindow.checkers.evidence import RunEvidence
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.verify import Context, verify
from crashwindow.reports.files import write
directory, names = Path(sys.argv[1]), sys.argv[2:]
stages = tuple(stage for stage in STAGES if stage.name in names)
last = list(verify(Context("quick", 7, directory, lambda words: None), stages, "crashwindow verify"))[-1]
assert isinstance(last, RunEvidence)
write(last, directory)
"""


def run(directory: Path, names: tuple[str, ...], salt: str) -> dict[str, str]:
    """The report of a run of these stages by an interpreter of its own, whose sets have another order; by form, without the
    run's own section."""
    directory.mkdir()
    environment = {**os.environ, "PYTHONHASHSEED": salt}
    subprocess.run(
        [sys.executable, "-c", RUN, str(directory), *names], env=environment, check=True, capture_output=True
    )
    marks = {"report.html": '<section id="run"', "report.md": f"## {NUMBERS['run']} {TITLES['run']}"}
    forms = {}
    for name, mark in marks.items():
        text = (directory / name).read_text(encoding="utf-8")
        assert text.count(mark) == 1
        forms[name] = text.split(mark)[0]
    return forms


def same(one: dict[str, str], other: dict[str, str]) -> None:
    """Say the first line that differs."""
    for name, text in one.items():
        pairs = zip(text.splitlines(), other[name].splitlines(), strict=False)
        assert next((pair for pair in pairs if pair[0] != pair[1]), None) is None, name
        assert text == other[name]


def test_two_runs_give_the_same_report(tmp_path: Path) -> None:
    """Some stages of each kind, run twice with differently ordered sets: every byte above the last section is the same."""
    assert {stage.name for stage in STAGES} >= set(QUICK)
    same(run(tmp_path / "one", QUICK, "1"), run(tmp_path / "two", QUICK, "2"))


@pytest.mark.deep
def test_two_whole_runs_give_the_same_report(tmp_path: Path) -> None:
    """The whole quick profile, run twice: every byte above the last section is the same."""
    names = tuple(stage.name for stage in STAGES)
    same(run(tmp_path / "one", names, "1"), run(tmp_path / "two", names, "2"))
