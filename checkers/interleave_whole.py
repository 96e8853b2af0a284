"""Schedules on whole stores: drawn at random, and performed word by word on memory, SQLite and PostgreSQL, each under a clock set
by hand. What is searched is a store taken apart, so this is what it stands on.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ..runtime.memory_store import MemoryStore
from ..runtime.postgres_store import PostgresStore
from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import Store
from .evidence import Item, Verdict
from .interleave_floor import Floor
from .interleave_replay import differences, sample
from .served import served
from .verify import Context

Made = Callable[[Callable[[], float]], Store]
"""A new and empty store, given its clock."""
SAMPLED: Final = {"quick": 4, "deep": 20}
"""How many schedules of each case are run on memory and on SQLite, by profile."""
ON_A_SERVER: Final = 2
"""How many of them are run on PostgreSQL, in the deep profile: each word costs several round trips and a disk's sync."""


def on_sqlite(directory: Path) -> Made:
    """SQLite, a new file for each schedule."""
    files = iter(range(1_000_000))
    return lambda now: SqliteStore(directory / f"{next(files)}.db", now=now)


def on_postgres(url: str) -> Made:
    """PostgreSQL, in a database whose jobs are all thrown away first, for each schedule."""

    def made(now: Callable[[], float]) -> Store:
        store = PostgresStore(url, now=now, connections=1)
        with store.session.connection() as connection:
            tables = connection.execute(
                "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
                " WHERE schemaname = 'crashwindow' AND tablename <> 'schema_version'"
            ).fetchall()
            connection.execute("; ".join(f"DELETE FROM {table}" for (table,) in tables).encode())
        return store

    return made


def compared(context: Context, floors: Sequence[Floor]) -> list[Item]:
    """What whole stores answer: memory and SQLite, in the deep profile PostgreSQL as well."""
    with TemporaryDirectory(dir=context.directory) as directory:
        every = {"memory": MemoryStore, "SQLite": on_sqlite(Path(directory))}
        items = [alike(context, floors, every, SAMPLED[context.profile])]
    return [*items, on_a_server(context, floors)] if context.profile == "deep" else items


def on_a_server(context: Context, floors: Sequence[Floor]) -> Item:
    """What PostgreSQL answers; without a server, that nobody asked it."""
    words = "schedules on whole stores: none was run on PostgreSQL"
    return served(
        lambda url: alike(context, floors, {"PostgreSQL": on_postgres(url)}, ON_A_SERVER),
        Item(checker="enumerate", verdict=Verdict.NOT_CHECKED, statement=words, command="crashwindow verify"),
    )


def alike(context: Context, floors: Sequence[Floor], stores: Mapping[str, Made], number: int) -> Item:
    """Whether each store answers as the one that was searched, and then holds the same, word by word, in so many schedules of
    each case.
    """
    counts: dict[str, int | float | str] = dict.fromkeys(stores, 0)
    words = 0
    wrong: list[str] = []
    for floor in floors:
        for schedule in sample(floor, number, context.seed):
            for name, made in stores.items():
                counts[name] = int(counts[name]) + 1
                words += len(schedule)
                wrong += [f"{name}, {floor.case.name}: {each}" for each in differences(floor, schedule, made)]
    told = ", ".join(f"{count} on {name}" for name, count in counts.items())
    context.tell(f"interleavings: schedules on whole stores: {told}")
    figures = {**counts, "words": words, "differences": len(wrong)}
    if wrong:
        said = f"a whole store answers otherwise than the one that was searched: {wrong[0]}"
    else:
        said = (
            f"schedules of several workers, drawn with seed {context.seed}, were answered by whole stores, in each of {words}"
            f" words, as by the store that was searched: {told}"
        )
    verdict = Verdict.ERROR if wrong else Verdict.TESTED
    return Item(checker="enumerate", verdict=verdict, statement=said, figures=figures, command="crashwindow verify")
