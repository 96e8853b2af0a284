"""Rows: every inductive proof by the command, made anew and out of the cache, the start of its process included."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from .row import Contestant, Goal, Measure, Row, WrongWorkError, seconds

PROVE: Final = (sys.executable, "-m", __package__.rpartition(".")[0], "prove")


def prove(*words: str) -> str:
    """What the command says in the end. Raises WrongWorkError unless each property is proved."""
    done = subprocess.run([*PROVE, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise WrongWorkError(f"prove: {(done.stdout + done.stderr).strip()[-200:]}")
    return done.stdout.strip().splitlines()[-1]


@contextmanager
def cold(_: Path) -> Iterator[Measure]:
    """Nothing is remembered."""
    yield partial(seconds, lambda: prove("--no-cache"))


@contextmanager
def warm(directory: Path) -> Iterator[Measure]:
    """All of it is in the cache."""
    cache = ("--cache", str(directory))
    prove(*cache)

    def run() -> None:
        if "0 made now" not in (said := prove(*cache)):
            raise WrongWorkError(f"prove: not out of the cache: {said}")

    yield partial(seconds, run)


WORK: Final = (
    "every proof of every property, any number of workers: `crashwindow prove`, the start of its process included"
)
PROOF_ROWS: Final = (
    Row(
        "prove-cold",
        "unbounded proofs, nothing remembered",
        WORK,
        "s",
        "less",
        Contestant("prove", cold),
        goals=(Goal(1.0),),
        rounds=1,
        warm=False,
        asked=True,
    ),
    Row(
        "prove-warm",
        "unbounded proofs, out of the cache",
        WORK,
        "s",
        "less",
        Contestant("prove", warm),
        asked=True,
        goals=(Goal(0.1),),
    ),
)
