"""`crashwindow prove`: every inductive proof, through a cache of answers.

What a warm run loads is most of its time: rich comes when there is progress to show, or something to warn of.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..runtime.errors import CommandError
from .proof_cache import default_folder
from .proofs import NAMES, StaleCodeError, Tell, Told, prove_all


def prove(args: argparse.Namespace) -> int:
    """Every inductive proof, or some, with what of it comes from the cache; 1 unless each property is proved."""
    if unknown := [name for name in args.names if name not in NAMES]:
        raise CommandError(f"there is no proof {unknown[0]!r}; there are {', '.join(NAMES)}")
    if args.health and (args.cache or args.no_cache):
        raise CommandError("--health asks everything anew: leave --cache and --no-cache out")
    if args.health:
        return _health(args.names or NAMES)
    folder = None if args.no_cache else Path(args.cache) if args.cache else default_folder(os.environ)
    try:
        with _progress() as tell:
            told, damaged = prove_all(args.names or NAMES, folder, tell)
    except OSError as error:
        raise CommandError(
            f"{error.filename}: {error.strerror}: name a directory with --cache, or use --no-cache"
        ) from error
    except StaleCodeError as error:
        raise CommandError(f"{error}: not made of the source that lies there: remove it, and prove again") from error
    for each in told:
        print(_line(each))
    for each in told:
        for line in each.outcome.unmet:
            _warn(f"{each.outcome.name}: {line}")
    if damaged:
        _warn(f"{damaged} entries of the cache were damaged and not used")
    holds = [each for each in told if each.outcome.holds]
    cached = sum(bool(each.cached) for each in told)
    print(f"{len(holds)} of {len(told)} proofs hold; {cached} cached, {len(told) - cached} made now")
    return 0 if len(holds) == len(told) else 1


def _health(names: Sequence[str]) -> int:
    """The health of these proofs, a line each, and what is wrong or idle below; 1 where anything is wrong."""
    from .prove_asked import questions
    from .prove_health import examine
    from .prove_loaded import solver_as_installed
    from .prove_reached import reached

    solver_as_installed()
    wrong = 0
    for name in names:
        with _progress() as tell:
            told = examine(questions(name), reached(name, {}), tell=tell)
        units, least, most = told.units
        line = (
            f"{name:36}{told.obligations:4} obligations, {told.clauses:3} clauses, {len(told.unused)} unused,"
            f" {len(told.silent):2} rows that cannot fire, {told.seeds} seeds: {least:,} to {most:,} units ({units:,} as it is)"
        )
        print(line)
        if told.unreached:
            print(f"  in no state that is reached: {', '.join(told.unreached)}")
        for each in told.reported:
            print(f"  unused: {each}")
        for each in told.problems:
            _warn(f"  {each}")
        wrong += bool(told.problems)
    print(f"{len(names) - wrong} of {len(names)} proofs are healthy")
    return 1 if wrong else 0


def _line(told: Told) -> str:
    """A proof in one line: how much was asked, what is proved, and when and by whom."""
    made = told.outcome
    proved = sum(verdict == "PROVED" for verdict in made.verdicts.values())
    reused = f", {made.reused} cached since {made.oldest}" if made.reused else ""
    how = (
        f"cached: {told.cached}, {told.solver}" if told.cached else f"now: {made.asked} asked of {told.solver}{reused}"
    )
    said = f"{made.obligations:4} obligations, {proved:2} of {len(made.verdicts):2} properties proved, {made.seconds:6.1f} s"
    return f"{made.name:36}{said}, {how}"


@contextmanager
def _progress() -> Iterator[Tell]:
    """What is being done, in a line that changes, from the first word on; nowhere but on a terminal."""
    if not sys.stdout.isatty():
        yield lambda words: None
        return
    with ExitStack() as stack:
        update: Tell | None = None

        def tell(words: str) -> None:
            nonlocal update
            if update is None:
                from rich.console import Console

                update = stack.enter_context(Console(emoji=False).status("")).update
            update(words)

        yield tell


def _warn(words: str) -> None:
    """A line that is not to be overlooked."""
    from rich.console import Console

    Console(emoji=False).print(words, style="bold red", markup=False, highlight=False, soft_wrap=True)
