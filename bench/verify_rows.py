"""Rows: everything that is checked, by the command: with nothing remembered, and a run that has ended taken up again."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from .row import Contestant, Goal, Measure, Row, WrongWorkError, seconds

VERIFY: Final = (sys.executable, "-m", __package__.rpartition(".")[0], "verify", "--profile", "quick")


def verify(cache: Path, *where: str) -> None:
    """A run somewhere, with what is remembered in a directory. Raises WrongWorkError unless each verdict is the expected one."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([*VERIFY, *where], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WrongWorkError(f"verify ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-200:]}")


@contextmanager
def cold(directory: Path) -> Iterator[Measure]:
    """Nothing is remembered: no proof, no compiled search."""

    def run() -> None:
        with tempfile.TemporaryDirectory(dir=directory) as cache:
            verify(Path(cache), "--out", str(directory))

    yield partial(seconds, run)


@contextmanager
def warm(directory: Path) -> Iterator[Measure]:
    """What every stage has found is kept, as the run says; the report is made anew."""
    verify(directory, "--out", str(directory))
    (run,) = (directory / "reports" / "out").iterdir()
    yield partial(seconds, lambda: verify(directory, "--resume", str(run)))


def _row(name: str, what: str, ours: Contestant, goal: float) -> Row:
    work = "every checker and the report: `crashwindow verify --profile quick`, the start of its process included"
    return Row(name, what, work, "s", "less", ours, goals=(Goal(goal),), rounds=1, warm=False, asked=True)


VERIFY_ROWS: Final = (
    _row("verify-cold", "a run, nothing remembered", Contestant("verify", cold), 30),
    _row("verify-warm", "a run that has ended, taken up again", Contestant("verify --resume", warm), 5),
)
