"""Commands that a campaign prints: a shell that is given one does what the campaign did."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.campaign.shell import command_line
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.reports.crash_matrix_files import load_matrices

ROOT = Path(__file__).resolve().parent.parent
WORST = """it's "$HOME" `id` $(id) \\n %s * a  b"""


def arguments(command: str) -> list[str]:
    """What a POSIX shell makes of a line."""
    script = f"set -f; show() {{ for each; do printf '%s\\0' \"$each\"; done; }}; show {command}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True)
    return done.stdout.decode(errors="surrogateescape").split("\0")[:-1]


@pytest.mark.parametrize(
    "text", [WORST, "two\nlines", "bell\a \\ 100% 'q'", "right\u202eleft", "écrit → là", "-x", "", "bytes \udcff"]
)
def test_a_shell_reads_what_was_meant(text: str) -> None:
    """Quotes, blanks, `$`, and what cannot be printed come through `sh`; the line itself is printable and is one line."""
    line = command_line(["--at", text])
    assert line.isprintable()
    assert arguments(line) == ["--at", text]


CAMPAIGN = """
name: odd
title: A step with an odd name
steps: ['STEP']
strikes: [after]
subjects:
  - {name: act, adapter: crashwindow.checkers.campaign.adapters.naive:ActThenRecord}
"""


def test_a_printed_command_repeats_its_cell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The line below a cell, given to `sh` as it is printed on a narrow terminal, tries that schedule and no other.

    The boundary's name has quotes, blanks and `$`, and the file's has a blank.
    """
    step = """it's "$HOME" a  b"""
    file = tmp_path / "my campaign.yaml"
    file.write_text(CAMPAIGN.replace("STEP", step.replace("'", "''")))
    run = ["campaign", "run", str(file), "--jobs", "1", "--out", str(tmp_path / "first")]
    assert main([*run, "--at", f"after effect: {step} #1"]) == 0
    (command,) = re.findall(r"^    (crashwindow .*)$", capfd.readouterr().out, re.MULTILINE)
    shim = tmp_path / "crashwindow"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m crashwindow "$@"\n')
    shim.chmod(0o755)
    again = subprocess.run(
        ["sh", "-c", f"PATH={tmp_path}:$PATH; {command} --out second"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    (first,), (second,) = (
        load_matrices(next((tmp_path / each / "reports/out").iterdir())) for each in ("first", "second")
    )
    assert [(cell.schedule, cell.outcomes) for cell in second.cells] == [
        ((f"after effect: {step} #1",), {Outcome.DUPLICATE: 1})
    ]
    assert [(cell.schedule, cell.outcomes) for cell in second.cells] == [(c.schedule, c.outcomes) for c in first.cells]
