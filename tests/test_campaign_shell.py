"""Commands that a campaign prints: a shell that is given one does what the campaign did."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import cast

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.campaign import campaign
from crashwindow.checkers.campaign.adapter import Subject
from crashwindow.checkers.campaign.bench import Bench, Schedule, Setup
from crashwindow.checkers.campaign.campaign import Local
from crashwindow.checkers.campaign.shell import command_line
from crashwindow.checkers.evidence_matrix import Trial
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


def shimmed(command: str, directory: Path) -> str:
    """A command, with this interpreter's `crashwindow` in the path."""
    shim = directory / "crashwindow"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m crashwindow "$@"\n')
    shim.chmod(0o755)
    return f"PATH={directory}:$PATH; {command}"


SLOW = """
import time
from crashwindow.checkers.campaign.adapters.naive import ActThenRecord


class Slow(ActThenRecord):
    def recover(self, place, job):
        time.sleep(0.3)
        super().recover(place, job)
"""


def test_an_interrupted_campaign_prints_how_it_goes_on(tmp_path: Path) -> None:
    """Ctrl-C ends it with 130 and no traceback; the printed command runs what was not run, and nothing twice."""
    (tmp_path / "slow.py").write_text(SLOW)
    file = tmp_path / "my campaign.yaml"
    file.write_text(
        "name: slow\ntitle: t\nsteps: [a]\nstrikes: [before, after]\nsubjects: [{name: s, adapter: slow.py:Slow}]\n"
    )
    command = ["campaign", "run", str(file), "--jobs", "1", "--seed", "7", "--out", str(tmp_path)]
    running = subprocess.Popen(
        [sys.executable, "-m", "crashwindow", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    lines: list[str] = []
    while not lines and running.poll() is None:
        time.sleep(0.01)
        lines = [line for kept in tmp_path.glob("reports/out/*/s.jsonl") for line in kept.read_text().splitlines()]
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to whoever is in the foreground
    out, err = running.communicate()
    assert (running.returncode, err) == (130, "")
    (again,) = re.findall(r"^(crashwindow .* --resume .*)$", out, re.MULTILINE)
    (kept,) = tmp_path.glob("reports/out/*/s.jsonl")
    begun = kept.read_text()
    assert begun.startswith("\n".join(lines))
    assert begun.count("\n") < 6
    assert main(arguments(again)[1:]) == 0
    ended = kept.read_text()
    assert ended.startswith(begun)
    runs = [(tuple(trial["schedule"]), trial["run"]) for trial in map(json.loads, ended.splitlines())]
    assert len(runs) == len(set(runs)) == 6
    (matrix,) = load_matrices(kept.parent)
    assert (matrix.seed, len(matrix.cells)) == (7, 6)


def test_what_has_ended_is_kept_when_a_campaign_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials that end while the executor is interrupted are given to the journal before it ends."""

    class Rig:
        setup = Setup(Subject("x"))

        def trial(self, schedule: Schedule, number: int, control: object) -> Trial:
            return Trial.model_construct(run=number)

    def interrupted(running: list[Future[Trial]]) -> Iterator[Future[Trial]]:
        yield running[0]
        wait(running)
        raise KeyboardInterrupt

    executor = Local(1)
    monkeypatch.setattr(campaign, "as_completed", interrupted)
    trials = executor.run(cast(Bench, Rig()), {}, [((), number) for number in range(3)])
    assert [next(trials).run for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyboardInterrupt):
        next(trials)


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
    again = subprocess.run(
        ["sh", "-c", shimmed(f"{command} --out second", tmp_path)],
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
