"""Stages that another process can import."""

import os
import signal
import time
from pathlib import Path

from crashwindow.checkers.evidence import Item, Verdict
from crashwindow.checkers.verify import Context, Found


def found(context: Context) -> Found:
    """The run's seed, and the process."""
    context.tell("half of it")
    said = f"{context.seed} {os.getpid()}"
    item = Item(checker="explore", verdict=Verdict.PROVED, statement=said, command="crashwindow verify")
    return Found(items={"P1": [item]})


def broken(context: Context) -> Found:
    """Nothing."""
    raise RuntimeError("out of order")


def dies(context: Context) -> Found:
    """Nothing, and nobody is left to say so."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def endless(context: Context) -> Found:
    """Nothing, ever; a file says who does not find it. It is there at once, and whole."""
    part = context.directory / "part"
    part.write_text(str(os.getpid()), encoding="utf-8")
    part.rename(Path(context.directory, "process"))
    while True:
        time.sleep(60)
