"""The commands of long campaigns: `crashwindow campaign chaos`, `campaign soak`, and `campaign protections`."""

import argparse
import json
import math
import random
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ..runtime.cli_common import opened
from ..runtime.errors import CommandError

if TYPE_CHECKING:
    from .chaos_protections import Row
    from .chaos_records import Site
    from .chaos_result import Options, Result

_STEERED = 1, 1.0, 2.0
"""Of a campaign without a protection: threads, so that a process is stopped in one turn alone; lease, quiet time (seconds)."""
_MB = 1_000_000


def campaign_chaos(args: argparse.Namespace) -> int:
    """Faults on real processes for some minutes; exit 0 if nothing was doubled, lost, or said wrongly, else 1."""
    return _campaign(args, soak=False)


def campaign_soak(args: argparse.Namespace) -> int:
    """The same for longer, with the memory of a worker that is never killed."""
    return _campaign(args, soak=True)


def campaign_protections(args: argparse.Namespace) -> int:
    """Each protection taken away in turn; exit 0 only if for each a violation appears, else 1."""
    from .chaos_protections import shown
    from .chaos_result import Options
    from .embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError

    if not args.embedded_postgres:
        raise CommandError(
            "--store: a protection is taken away on a server of the campaign's own: use --embedded-postgres"
        )
    _check(args)
    if args.workers < 2:
        raise CommandError("--workers: what is missing shows where one worker overtakes another: give 2 or more")
    options = Options(60 * args.minutes, args.workers, _seed(args), *_STEERED)
    console = Console(emoji=False, stderr=args.json)
    try:
        with EmbeddedPostgres() as server:
            console.print(f"seed {options.seed}", highlight=False)
            with console.status("") as status:
                rows = list(shown(server, options, lambda line: status.update(escape(line))))
    except EmbeddedPostgresError as error:
        raise CommandError(str(error)) from error
    passed = all(row.shown for row in rows)
    if args.json:
        told = [{**row._asdict(), "shown": row.shown} for row in rows]
        print(json.dumps({"seed": options.seed, "protections": told, "passed": passed}, indent=1))
    else:
        _show_protections(console, rows)
    return 0 if passed else 1


def _show_protections(console: Console, rows: "list[Row]") -> None:
    """A row for each, and below the table how to see it again."""
    table = Table("without", "what is done instead", "violation", "breaks", Column("s", justify="right"), box=None)
    for row in rows:
        said = (row.violation or f"none, after {row.strikes} strikes", ", ".join(row.properties), f"{row.seconds:.0f}")
        table.add_row(row.protection, row.instead, *map(escape, said), style="" if row.shown else "bold red")
    console.print(table)
    _say(console, "", *(row.command for row in rows))


def _seed(args: argparse.Namespace) -> int:
    """The seed that is asked for, or a drawn one."""
    return args.seed if args.seed is not None else random.SystemRandom().randrange(1_000_000)


def _campaign(args: argparse.Namespace, soak: bool) -> int:
    from .chaos import run

    seed = _seed(args)
    options = _options(args, seed, soak)
    site = _site(args)
    console = Console(emoji=False, stderr=args.json)
    console.print(f"seed {seed}", highlight=False)
    with console.status("") as status:
        result = run(site, options, lambda line: status.update(escape(line)))
    if args.json:
        print(json.dumps({**asdict(result), "passed": result.passed}, indent=1))
    else:
        _show(console, options, result)
    return 0 if result.passed else 1


def _options(args: argparse.Namespace, seed: int, soak: bool) -> "Options":
    """What is asked for; CommandError for what cannot be."""
    from .chaos_result import Options
    from .chaos_without import PROTECTIONS

    _check(args)
    if args.workers < 1 or args.concurrency < 1:
        raise CommandError("--workers and --concurrency: give a number, 1 or more")
    without = tuple(getattr(args, "without", None) or ())
    unknown = [name for name in without if name not in PROTECTIONS]
    if unknown:
        raise CommandError(f"--without {unknown[0]}: there is no such protection; there are {', '.join(PROTECTIONS)}")
    if without and args.workers < 2:
        raise CommandError("--without: what is missing shows where one worker overtakes another: give --workers 2")
    if without and args.store is not None and args.store.startswith("sqlite:"):
        raise CommandError("--without: a SQLite file has one worker, which nobody overtakes: use --embedded-postgres")
    if without:
        return Options(60 * args.minutes, args.workers, seed, *_STEERED, without)
    return Options(60 * args.minutes, args.workers, seed, args.concurrency, soak=soak)


def _check(args: argparse.Namespace) -> None:
    """CommandError for a time that is none."""
    if not 0 < args.minutes < math.inf:
        raise CommandError(f"--minutes {args.minutes}: give a number above 0")


def _site(args: argparse.Namespace) -> "Site":
    """Where it takes place; CommandError for another kind of store, and what `open_store` raises for one that cannot be used."""
    from .chaos_site import EmbeddedSite, PostgresSite, SqliteSite
    from .embedded_postgres import EmbeddedPostgresError

    if args.embedded_postgres:
        try:
            return EmbeddedSite()
        except EmbeddedPostgresError as error:
            raise CommandError(str(error)) from error
    path = args.store.removeprefix("sqlite:///")
    on_a_server = args.store.startswith(("postgresql://", "postgres://"))
    if not on_a_server and path in ("", args.store):
        raise CommandError(
            "--store: give postgresql://… or sqlite:///FILE, whose processes can be killed; or --embedded-postgres"
        )
    with opened(args.store):  # whether it can be used is known before anything begins
        return PostgresSite(args.store) if on_a_server else SqliteSite(path)


def _show(console: Console, options: "Options", result: "Result") -> None:
    """The figures, faults by boundary, gaps, and what was wrong."""
    from .chaos_without import WORDS

    for name in options.without:
        console.print(f"without {name}: {WORDS[name]}", highlight=False)
    _table(console, result)
    ends = ", ".join(f"{count} {status}" for status, count in result.ends.items())
    faults = sum(sum(row.values()) for row in result.struck.values())
    _say(
        console,
        f"{result.seconds} s, {result.jobs} jobs: {ends}; {result.parked} times parked and answered, {result.waited} times"
        f" waiting; verify-job accepts {result.verified}",
        "errands of clients and people: " + "; ".join(f"{kind} {_counts(row)}" for kind, row in result.errands.items()),
        f"{faults} faults; {result.taken_over} pauses ended with the job in other hands; {result.overtaken} effects after a"
        f" request under a newer epoch; longest pause {result.longest_pause} s of D = {options.quiet} s;"
        f" {result.disk_refusals} times the disk was full",
        f"{result.requests} requests, {result.effects} effects: doubled {result.doubled}, lost {result.lost}, failures outside"
        f" the ambiguity class {result.unexcused}, jobs not at rest {result.stuck}, violations {len(result.violations)}",
    )
    if not result.quiet_kept(options):
        _say(
            console, "A-QUIET was not kept: this machine let a process on too late; a doubled effect may be due to that"
        )
    for memory in result.memories():
        _say(
            console,
            f"{memory.process}: {memory.first / _MB:.1f} MB, after {memory.seconds:.0f} s {memory.last / _MB:.1f} MB:"
            f" {60 * memory.slope / 1000:+.1f} kB a minute",
        )
    if result.gaps:
        never = ", ".join(f"{kind} {len(moments)}" for kind, moments in result.gaps.items())
        _say(console, f"moments that were never struck, zeros above: {never}")
    _say(console, *(f"not done on this store: {words}" for words in result.missing))
    for problem in (*result.violations, *result.ended):
        console.print(problem, style="bold red", markup=False, highlight=False, soft_wrap=True)
    if options.without and not result.violations:
        _say(console, f"no violation appeared within {result.seconds} s")


def _counts(row: dict[str, int]) -> str:
    """How errands ended: `12 said, 3 refused`."""
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(row.items(), key=lambda item: -item[1]))


def _table(console: Console, result: "Result") -> None:
    """Fault by boundary, how often before/inside/after it; gaps come first. A blank is no moment of this kind."""
    from .chaos_faults import BOUNDARIES, MOMENTS

    kinds = {kind: moments for kind, moments in MOMENTS.items() if kind in result.struck}
    rows: list[tuple[int, list[str]]] = []
    for name in BOUNDARIES:
        gaps, cells = 0, []
        for kind, moments in kinds.items():
            sides = [side for side in ("before", "inside", "after") if (name, side) in moments]
            counts = [result.struck[kind].get(f"{name}:{side}", 0) for side in sides]
            gaps += counts.count(0)
            cells.append("/".join(map(str, counts)))
        rows.append((gaps, [name, *cells]))
    table = Table(Column("boundary", no_wrap=True), *kinds, box=None)
    for _, row in sorted(rows, reverse=True):
        table.add_row(*row)
    table.add_row("all", *(str(sum(result.struck[kind].values())) for kind in kinds), style="bold")
    console.print(table)


def _say(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
