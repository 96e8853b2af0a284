"""What the modules of the command line share: a store for one command, tools, JSON that comes in, tables that go out."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from .address import without_password
from .errors import CommandError
from .plain import plain
from .records import Event, Json
from .store import Store

if TYPE_CHECKING:
    from .registry import Registry


@contextmanager
def opened(url: str, existing: bool = False) -> Iterator[Store]:
    """The store at an address, for one command. An `existing` one is not made when it is missing."""
    from .open_store import open_store

    path = url.removeprefix("sqlite:///")
    if existing and path != url and not os.path.exists(path):
        raise CommandError(f"{path}: there is no such file; check --store, or submit a job first")
    if existing and url == "memory:":
        raise CommandError("the store 'memory:' ends with its process, so there is nothing to see; use sqlite:///FILE")
    try:
        store = open_store(url, make=not existing)
    except ValueError as error:
        raise CommandError(f"--store: {error}") from error
    try:
        yield store
    finally:
        store.close()


def events_of(store: Store, job_id: str, url: str) -> list[Event]:
    """A job's events; an error in the user's words when there is no such job."""
    try:
        return store.events(job_id)
    except KeyError:
        raise no_such_job(job_id, url) from None


def no_such_job(job_id: str, url: str) -> CommandError:
    """What is said about a job that was never submitted."""
    return CommandError(f"there is no job {job_id!r} in {without_password(url)}; `crashwindow jobs` lists them")


def parsed(option: str, text: str) -> Json:
    """The JSON value that an option gives."""

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{option}: {text!r} is not JSON: {error}; quote strings, as in '\"done\"'") from error


def registry_of(source: str | None) -> "Registry":
    """The shipped tools, and the user's own."""
    from .registry import load_tools
    from .tools import registry

    return registry if source is None else registry.merged(load_tools(source))


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """A table, as wide as the terminal; on a pipe as wide as it needs to be to keep the names whole."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(plain(title)), title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(str(cell))) for cell in row))
    Console(emoji=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160).print(table)


def print_json(value: Json) -> None:
    """A value, for people and programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def compact(value: Json) -> str:
    """A value on one line."""
    return plain(json.dumps(value, ensure_ascii=False))
