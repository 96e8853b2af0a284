"""The reference of the commands, from their parser."""

import argparse
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

from crashwindow.commands.grammar import Command
from crashwindow.commands.table import COMMANDS, parser

COLUMNS = "88"


def commands(_: str) -> str:
    """Every command with its help, word for word; commands of commands below theirs."""
    with _width():
        return "\n\n".join(_entries(parser(), COMMANDS, ()))


def _entries(top: argparse.ArgumentParser, among: tuple[Command, ...], before: tuple[str, ...]) -> Iterator[str]:
    for command in among:
        names = (*before, command.name)
        yield f"{'#' * (len(names) + 1)} crashwindow {' '.join(names)}\n\n```text\n{_help(top, names)}```"
        yield from _entries(top, command.commands, names)


def _help(top: argparse.ArgumentParser, names: tuple[str, ...]) -> str:
    """What `--help` prints."""
    said = io.StringIO()
    with redirect_stdout(said), suppress(SystemExit):
        top.parse_args([*names, "--help"])
    return said.getvalue()


@contextmanager
def _width() -> Iterator[None]:
    """The terminal is as wide as the page, wherever it is built."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before
