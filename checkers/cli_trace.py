"""The commands of recorded event streams: `crashwindow check-trace`, and `crashwindow trace`, which writes one from a store."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from ..runtime.errors import CommandError
from ..runtime.plain import plain
from .collector import collect_seldom

if TYPE_CHECKING:
    from .stream_check import Checked
    from .stream_job import Contract
    from .stream_lines import Line

SHOWN = 5
"""How many of the enabled actions are shown; --json has all."""


def check_trace(args: argparse.Namespace) -> int:
    """Replay a stream in the models; 0 if every job conforms, 1 if one does not. Bad input is a CommandError."""
    from .stream_check import StreamChecker

    # A checker lets go of each job without garbage, and its memory of positions is large.
    collect_seldom()
    checker = StreamChecker(_contract(args.tools))
    with _lines(args.source, args.job) as lines:
        for found in checker.check(lines):
            if not args.json:
                said, divergence = str(found._replace(divergence=found.divergence.shortened(SHOWN))), found.divergence
                more = len(divergence.enabled) - SHOWN
                print(plain(said) + (f" ({more} more: --json)" if more > 0 else ""), flush=True)
    checked = checker.checked
    if args.job is not None and not checked.jobs:
        raise CommandError(f"there is no job {args.job!r} in {args.source}: check --job")
    if not checked.events:
        raise CommandError(f"{args.source}: there are no events: nothing was compared; check how it was recorded")
    if args.json:
        print(json.dumps(checked.as_json(), indent=2, ensure_ascii=False))
    else:
        _say(checked)
    return 1 if checked.diverged else 0


def _say(checked: "Checked") -> None:
    """What became of the stream as a whole."""
    conforming = checked.jobs - len(checked.diverged)
    print(f"{checked.events} events of {checked.jobs} jobs: {conforming} conform, {len(checked.diverged)} diverge")
    print(
        f"  ended: {checked.ended} · compared with ledger and effect store: {checked.compared} · steps followed: {checked.steps}"
    )
    if checked.undeclared:
        tools = ", ".join(map(repr, sorted(checked.undeclared)))
        print(plain(f"  not among the tools that --tools gives, so that every contract was tried: {tools}"))


def trace(args: argparse.Namespace) -> int:
    """Write the events and records of a store as JSON lines."""
    from .stream_lines import written
    from .stream_store import is_store, stored

    if not is_store(args.store):
        raise CommandError(
            f"--store {args.store}: no store is there; give sqlite:///FILE or postgresql://USER@HOST/DATABASE"
        )
    for line, at in stored(args.store, args.job):
        print(json.dumps(written(line.job_id, line.said, at), ensure_ascii=False, separators=(",", ":")))
    return 0


def _contract(source: str | None) -> "Contract | None":
    """What the tools declare; None where none are given: then every contract is tried."""
    from ..runtime.registry import load_tools
    from ..runtime.tools import registry
    from .stream_check import contract_of

    return contract_of(registry.merged(load_tools(source)).tools) if source else None


@contextmanager
def _lines(source: str, job_id: str | None) -> "Iterator[Iterator[Line]]":
    """The lines of a file, of standard input, or of a store; of one job, if one is named."""
    from .stream_lines import lines
    from .stream_store import is_store, stored

    if source != "-" and is_store(source):
        yield (each.line for each in stored(source, job_id))
        return
    with _opened(source) as file:
        every = lines(file)
        yield every if job_id is None else (line for line in every if line.job_id == job_id)


@contextmanager
def _opened(source: str) -> Iterator[BinaryIO]:
    """A file, or standard input."""
    if source == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(source, "rb") as file:
            yield file
    except OSError as error:
        raise CommandError(
            f"{source}: {error.strerror}: give a file of JSON lines, the file of a store, or -"
        ) from error
