"""Every question of a bundle, asked of cvc5: it must give the answer that the file states, and what is assumed can hold."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from .obligations import asked
from .smtlib import ScriptError

LIMIT: Final = 5_000_000
"""The most that one question may cost, in cvc5's resource units: many times what the dearest one needs."""
BATCH: Final = 100
"""How many questions one process is asked."""
MODULE: Final = "crashwindow.reports.audit.second_process"
Progress = Callable[[int, int], None]  # how many questions were answered, and how many there are


class NoSolverError(RuntimeError):
    """cvc5 is not installed."""


def recheck(files: Mapping[str, bytes], progress: Progress | None = None) -> tuple[list[str], int]:
    """Where cvc5 does not give the stated answer, and how many questions it was asked. Raises NoSolverError.

    Beside each proof's questions it is asked whether what they assume can hold, where none of them shows it.
    """
    if importlib.util.find_spec("cvc5") is None:
        raise NoSolverError("cvc5 is not installed: pip install 'crashwindow[second]'")
    try:
        every = list(asked(files))
    except ScriptError as error:
        return [str(error)], 0
    due = [(f"{each.file}, {each.question.name!r}", each.question.status, each.question.commands) for each in every]
    shown = {each.question.assumed for each in every if each.question.status == "sat"}
    first = {each.question.assumed: each.file for each in reversed(every)}
    due += [(f"{file}, what is assumed", "sat", given) for given, file in first.items() if given not in shown]
    scripts = list(dict.fromkeys("\n".join(commands) for _, _, commands in due))
    said = dict(zip(scripts, _answers(scripts, progress), strict=True))
    return [
        f"{where}: {status} is stated, cvc5 says {answer}"
        for where, status, commands in due
        if (answer := said["\n".join(commands)]) != status
    ], len(due)


def _answers(scripts: Sequence[str], progress: Progress | None) -> Iterable[str]:
    found: list[str] = []
    while len(found) < len(scripts):
        batch = list(islice(scripts, len(found), len(found) + BATCH))
        found += _batch(batch)
        if progress is not None:
            progress(len(found), len(scripts))
    return found


def _batch(scripts: Sequence[str]) -> list[str]:
    """The answers of one process: to all, or to the question over which it ended."""
    done = subprocess.run(
        [sys.executable, "-m", MODULE],
        input=json.dumps({"limit": LIMIT, "scripts": scripts}),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    answers = [str(json.loads(line)) for line in lines[: len(scripts)]]
    return answers if len(answers) == len(scripts) else [*answers, f"nothing: its process ended with {done.returncode}"]
