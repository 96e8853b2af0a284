"""`crashwindow bench`: the rows, their figures and goals on the screen, results as a file."""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..runtime.errors import CommandError
from . import shown
from .compare import changes
from .machine import commit, load, machine
from .plans import planned
from .results import Run, read, write
from .row import Row
from .runner import run
from .table import ROWS, chosen

INTERRUPTED = 130


def bench(args: argparse.Namespace) -> int:
    """Measure rows. 0: measured, whatever the figures are; 1: somebody failed; 2: bad input; 130: interrupted, and what was
    measured is told."""
    rows, console = chosen(args.only or ()), Console(emoji=False)
    if args.list:
        console.print(shown.listed(ROWS))
        return 0
    if args.plans:
        for line, style in shown.plans(planned()):
            console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
        return 0
    if args.rounds is not None and args.rounds < 1:
        raise CommandError(f"--rounds {args.rounds}: give 1 or more")
    out = _writable(args.out) if args.out else None
    before = read(Path(args.against)) if args.against else None
    found = _measured(console, rows, args.rounds)
    lines = [*shown.results(found), (shown.place(found), "dim")]
    if before:
        lines += [*shown.compared(changes(before, found)), (f"before: {shown.place(before)}", "dim")]
    if out:
        write(found, out)
        lines.append((f"results: {out}", ""))
    for line, style in lines:
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
    if found.rows and found.rows[-1].status == "interrupted":
        console.print(
            f"interrupted: {len(found.rows) - 1} of {len(rows)} rows are whole; what was measured stands above"
        )
        return INTERRUPTED
    return 1 if any("failed" in (row.status, *(r.status for r in row.rivals)) for row in found.rows) else 0


def _writable(name: str) -> Path:
    """The file of `--out`: that it can be written is seen before anything is measured."""
    file = Path(name)
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise CommandError(f"--out {name}: name a file in a directory that is there")
    return file


def _measured(console: Console, rows: Sequence[Row], rounds: int | None) -> Run:
    before, found = load(), []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        every, one = progress.add_task("rows", total=len(rows)), progress.add_task("", total=None)
        for row in run(
            rows, rounds, lambda name, done, of: progress.update(one, description=name, completed=done, total=of)
        ):
            found.append(row)
            progress.advance(every)
    return Run(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=commit(),
        command=shlex.join(["crashwindow", *sys.argv[1:]]),
        machine=machine(Path(tempfile.gettempdir()), before),
        rows=tuple(found),
    )
