"""The command `crashwindow mutants`: every mutant of models and runtime before the checkers; the kill matrix."""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ..runtime.errors import CommandError
from .evidence import KillRow, MutantCells
from .evidence_agreement import agreements
from .mutate_matrix import FILE, Kept, OtherCodeError, blind, gaps, summed
from .mutate_rows import OriginalError
from .mutate_stage import EVERY, GAPS, every, near, one
from .verify import made_by, new_run


def mutants(args: argparse.Namespace) -> int:
    """As `_judged`. Of an original that does not pass nothing is judged: that is told, with the exit code 2."""
    try:
        return _judged(args)
    except OriginalError as error:
        raise CommandError(f"{error}; so nothing is said of mutants of it") from error


def _judged(args: argparse.Namespace) -> int:
    """All mutants, or one; 0 only if none is a gap: each is killed, proved the same or safe, or safe by proof and not asked
    further; and, of all, if no checker that was asked of many said no to none."""
    console = Console(emoji=False, stderr=args.json)
    if args.jobs < 1:
        raise CommandError(f"--jobs {args.jobs}: at least one process has to judge")
    if other := [name for name in args.subject or () if name not in EVERY]:
        raise CommandError(f"--subject {other[0]!r}: nothing of that name is mutated; there are {', '.join(EVERY)}")
    if args.only and (idle := _idle_beside_only(args)):
        raise CommandError(
            f"--only cannot be given with {' and '.join(idle)}: one mutant meets every checker, in this process, and is not"
            f" kept; leave out {' and '.join(idle)}, or leave out --only for a run of all"
        )
    if args.resume and not (Path(args.resume) / FILE).is_file():
        raise CommandError(
            f"--resume {args.resume}: no interrupted run is there; give the directory that the run has printed"
        )
    if args.only:
        return _only(args.only, console, args.json)
    try:
        directory = Path(args.resume) if args.resume else new_run(Path(args.out))
        kept = Kept(directory, f"{made_by()} {args.profile}")
    except OtherCodeError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    console.print(f"rows in {kept.path}", highlight=False, soft_wrap=True)
    try:
        found = _all(args.profile, kept, console, args.jobs, args.subject or EVERY)
    except KeyboardInterrupt:
        console.print(
            f"interrupted; go on with: crashwindow mutants --profile {args.profile} --jobs {args.jobs}"
            f"{''.join(f' --subject {name}' for name in args.subject or ())} --resume {directory}",
            soft_wrap=True,
        )
        raise
    # Of a part of the subjects nobody need find anything.
    kinds = summed(found)
    unseeing = [] if args.subject else blind(kinds)
    for words in unseeing:
        console.print(words, style="bold red", markup=False, highlight=False, soft_wrap=True)
    code = _said(found, console) or int(bool(unseeing))
    if args.json:
        print(json.dumps([row.model_dump() for row in survivors_first(found)], indent=1, ensure_ascii=False))
    else:
        _survivors(kinds, console)
        console.print(matrix(kinds))
        for line in agreements(kinds):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    return code


def _idle_beside_only(args: argparse.Namespace) -> list[str]:
    """The options given that would change nothing of one mutant: how many are judged, by how many, and where they are kept."""
    changed = {"--profile": args.profile != "deep", "--jobs": args.jobs != 1, "--out": args.out != ".",
               "--resume": bool(args.resume), "--subject": bool(args.subject)}  # fmt: skip
    return [name for name, given in changed.items() if given]


def survivors_first(found: Sequence[MutantCells]) -> list[MutantCells]:
    """The rows: gaps, what was not asked further, what is proved, what is killed; each in the order of their coming."""
    return sorted(found, key=lambda row: (not row.gap, not row.unasked, row.killed))


def _all(profile: str, kept: Kept, console: Console, jobs: int, subjects: Sequence[str]) -> list[MutantCells]:
    """The rows, with a bar for each subject."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        tasks = {}

        def tell(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=of)
            progress.update(tasks[what], completed=done)

        return list(every("quick" if profile == "quick" else "deep", kept, tell, jobs=jobs, subjects=subjects))


def matrix(rows: Sequence[KillRow]) -> Table:
    """The matrix as a table: who kills how many of those that it met, and of how many nobody is cheaper."""
    table = Table(
        "subject",
        "class",
        "mutants",
        "killed",
        "by (of those asked; cheapest of, in seconds)",
        "same",
        "safe, proved",
        "not asked further",
        "gaps",
        "s",
        box=None,
    )
    for row in rows:
        by = ", ".join(
            f"{name} {row.by.get(name, 0)} ({met}; {_first(row, name)})" for name, met in sorted(row.met.items())
        )
        killed = f"{row.killed} ({row.stated} by what is stated)" if row.stated else row.killed
        told = (row.mutants, killed, by, row.same, row.safe, row.unasked, len(row.gaps), round(row.seconds))
        table.add_row(escape(row.subject), escape(row.kind), *map(str, told))
    return table


def _first(row: KillRow, checker: str) -> str:
    """Of how many a checker is the cheapest killer, and in how many seconds."""
    count = row.cheapest.get(checker, 0)
    return f"{count} in {row.cheapest_seconds.get(checker, 0.0):.2g}" if count else "0"


def _survivors(rows: Sequence[KillRow], console: Console) -> None:
    """Who is not killed and is no gap, by name, with what is proved of each; who has the same proof stands together."""
    for row in rows:
        for words, names in row.survivors.items():
            console.print(f"not killed, {row.subject}: {words}", markup=False, highlight=False, soft_wrap=True)
            for name in names:
                console.print(f"  {name}", markup=False, highlight=False, soft_wrap=True)


def _said(found: Sequence[MutantCells], console: Console) -> int:
    """Each gap, with the command that shows it again, and then the sum."""
    left = list(gaps(found))
    for row in left:
        why = GAPS.get(row.name, "not looked into")
        console.print(
            f"GAP {row.name}: {why}\n  {row.command}", style="bold red", markup=False, highlight=False, soft_wrap=True
        )
    cheapest = Counter(row.killers[0].checker for row in found if row.killed)
    first = ", ".join(f"{name} {count}" for name, count in cheapest.most_common())
    kinds, unasked = summed(found), sum(bool(row.unasked) for row in found)
    same, safe, stated = (sum(getattr(kind, name) for kind in kinds) for name in ("same", "safe", "stated"))
    unanswered = sum(cell.outcome == "not run" and bool(cell.words) for row in found for cell in row.cells)
    console.print(
        f"{len(found)} mutants: {sum(cheapest.values())} killed (cheapest: {first}; {stated} by nothing but what is stated"
        f" of the original), {same} proved the same, {safe} proved safe, {unasked} safe by proof and not asked further,"
        f" {len(left)} gaps; {unanswered} times a checker gave no answer",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    if unasked:
        console.print(
            "Safe by proof, not asked further: no safety property falls by it. Liveness, the crash-window table, refinement and"
            " what the code was recorded to do were not asked, and kill some: crashwindow mutants --profile deep",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
    return 1 if left else 0


def _only(name: str, console: Console, as_json: bool) -> int:
    """One mutant before every checker, with what each said."""
    try:
        with console.status(escape(name)):
            row = one(name)
    except KeyError as error:
        raise CommandError(
            f"--only {name!r}: there is no mutant of that name; near are {', '.join(map(repr, near(name)))}"
        ) from error
    if as_json:
        print(json.dumps(row.model_dump(), indent=1, ensure_ascii=False))
    else:
        table = Table("checker", "outcome", "seconds", "words", box=None)
        for cell in row.cells:
            table.add_row(cell.checker, cell.outcome, f"{cell.seconds:.3f}", escape(cell.words))
        console.print(table)
    return _said([row], console)
