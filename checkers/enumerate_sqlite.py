"""The same graph of the code over the SQLite store: its own class, on a real file in WAL mode, put back to each state's rows.

Over the memory store a command is performed on the one part that it touches. Here nothing is taken apart: before a command every
table holds the rows of that state, committed over another connection, and after it every table is read, if a row was written.
So the two graphs are found in two ways, and compared step by step: the same words, the same records. The turns are shared: what a
driver does with its answers depends on nothing else.
"""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..runtime.commands import Ports
from ..runtime.records import Lease
from ..runtime.sqlite_store import SqliteStore
from .collector import uncollected
from .crash_run import memory_directory
from .interleave import CASES
from .interleave_acts import Acts, Done, stores_of
from .interleave_case import BEGINNING, JOB, Case, submission
from .interleave_floor import Floor, State
from .interleave_mutants import SHIPPED, Phase
from .interleave_steps import ALL, WORLD, Steps
from .interleave_store import NAMES, Content, Effects, Ledger, Name, Numbers, Shelf, Stream, timeless
from .interleave_turn import Turn
from .interleave_world import World

PARTS: Final[dict[Name, tuple[str, ...]]] = {
    "stream": ("jobs", "events"), "ledger": ("ledger_fences", "ledger"), "effects": ("effect_fences", "effects"),
    "lease": ("leases",),
}  # fmt: skip
"""In which tables the four stores lie. In all others no command may leave a row."""
Rows = tuple[tuple[Any, ...], ...]
"""All rows of a table, with all columns."""
Part = tuple[Rows, ...]
"""The rows of each table of one of the four stores."""


class SqliteShelf(Shelf):
    """A SQLite store in a new file, and the rows of every content that was met.

    Two files that hold the same but for times that nobody reads are one content: who goes on from it goes on from the rows that
    were met first, part by part, so that the graph is the same in whatever order it is gone through.
    """

    def __init__(self, directory: Path) -> None:
        self.time = BEGINNING
        self.store: Any = SqliteStore(directory / "enumerated.db", now=lambda: self.time)
        self.store.submit(JOB, submission())
        self.store.fence_ledger(JOB, 0)
        self.store.fence_effects(JOB, 0)
        self._restoring = sqlite3.connect(directory / "enumerated.db", isolation_level=None)
        self._strays = " UNION ALL ".join(f"SELECT '{name}' FROM {name}" for name in others(self._restoring))
        self._numbers: dict[Any, int] = {}
        self.contents: dict[Name, list[Content]] = {name: [] for name in NAMES}
        self._rows: dict[Name, list[Part]] = {name: [] for name in NAMES}
        self._seen: dict[tuple[Name, Part], int] = {}
        self._held = self._read()
        self.first = self._there()

    def within(
        self, names: tuple[Name, ...], numbers: Numbers, now: float, act: Callable[[], Any]
    ) -> tuple[Any, Numbers]:
        """Do something with the whole store; its answer, and what it holds then. AssertionError when it touches another part."""
        self.time = now
        self._put_back(numbers)
        before = self._changes()
        answer = act()
        after = numbers
        if self._changes() != before:
            self._held = self._read()
            after = self._there()
        if strayed := [name for name, a, b in zip(NAMES, numbers, after, strict=True) if a != b and name not in names]:
            raise AssertionError(f"a command on {', '.join(names)} has written to {', '.join(strayed)}")
        return answer, after

    def close(self) -> None:
        """Close the file."""
        self._restoring.close()
        self.store.close()

    def _changes(self) -> int:
        """How many rows were ever written, by SQLite's own count: where there are no more than before, the file is as it was."""
        with self.store.session as raw:
            changes: int = raw.total_changes
        return changes

    def _put_back(self, numbers: Numbers) -> None:
        """Let the file hold the rows of these contents, and no others."""
        wanted = [self._rows[name][number] for name, number in zip(NAMES, numbers, strict=True)]
        if wanted == self._held:
            return
        run = self._restoring.execute
        run("BEGIN IMMEDIATE")
        for name, part, held in zip(NAMES, wanted, self._held, strict=True):
            for table, rows, there in zip(PARTS[name], part, held, strict=True):
                if rows != there:
                    run(f"DELETE FROM {table}")
                    for row in rows:
                        run(f"INSERT INTO {table} VALUES({','.join('?' * len(row))})", row)
        run("COMMIT")
        self._held = wanted

    def _read(self) -> list[Part]:
        """Every row of the file. AssertionError for one that is none of the four stores'."""
        with self.store.session as raw:
            if stray := raw.execute(self._strays).fetchone():
                raise AssertionError(f"a command has written to {stray[0]}, which is none of the stores'")
            return [
                tuple(tuple(raw.execute(f"SELECT * FROM {table}").fetchall()) for table in PARTS[name])
                for name in NAMES
            ]

    def _there(self) -> Numbers:
        """The numbers of what the file holds. Rows that were read before are not made a content again."""
        numbers = []
        for name, part in zip(NAMES, self._held, strict=True):
            if (name, part) not in self._seen:
                number = self._seen[name, part] = self.number(name)
                if number == len(self._rows[name]):
                    self._rows[name].append(part)
            numbers.append(self._seen[name, part])
        return numbers[0], numbers[1], numbers[2], numbers[3]

    def _content(self, name: Name) -> Content:
        match name:
            case "stream":
                status, fence = self._row("SELECT status, fence FROM jobs WHERE job_id = ?")
                return Stream(status, fence, tuple(self.store.chain(JOB)))
            case "ledger":
                (fence,) = self._row("SELECT epoch FROM ledger_fences WHERE job_id = ?")
                return Ledger(fence, tuple(self.store.ledger(JOB).values()))
            case "effects":
                (fence,) = self._row("SELECT epoch FROM effect_fences WHERE job_id = ?")
                return Effects(fence, tuple(self.store.effects(JOB).values()))
            case _:
                row = self._row("SELECT job_id, owner, epoch, expires_at, previous_expiry FROM leases WHERE job_id = ?")
                return Lease(*row) if row else None

    def _row(self, query: str) -> Any:
        with self.store.session as raw:
            return raw.execute(query, (JOB,)).fetchone()


def others(connection: sqlite3.Connection) -> list[str]:
    """The tables that are no store's of a job."""
    stored = {table for tables in PARTS.values() for table in tables}
    return [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        if name not in stored
    ]


class SqliteActs(Acts):
    """What is remembered is remembered of the whole store."""

    def __init__(self, case: Case, shelf: SqliteShelf) -> None:
        super().__init__(case, SHIPPED)
        self.shelf = shelf
        self.ports = Ports(shelf.store, lambda seconds: None)

    def perform(self, turn: Turn, phase: Phase, stores: Numbers, world: int, at: float) -> Done:
        """A turn's command, performed on all that the stores hold at this time."""
        assert turn.command is not None
        names = stores_of(turn.command)
        if not names:
            return super().perform(turn, phase, stores, world, at)
        key = (turn.asks, phase, at, stores)
        if key not in self._done:
            self._done[key] = self._perform_once(turn.command, names, phase, stores, world, at)
        return self._done[key]._replace(world=world)

    def release(self, lease: Lease, stores: Numbers, at: float) -> Numbers:
        """The stores once this lease is released."""
        key = ("release", lease, stores, at)
        if key not in self._written:
            _, self._written[key] = self.shelf.within(("lease",), stores, at, lambda: self.shelf.store.release(lease))
        after: Numbers = self._written[key]
        return after

    def _said(self, key: Any, stores: Numbers, at: float, act: Callable[[], bool]) -> Numbers | None:
        whole = (key, stores)
        if whole not in self._written:
            said, after = self.shelf.within(("stream",), stores, at, act)
            self._written[whole] = after if said else None
        told: Numbers | None = self._written[whole]
        return told


class WholeSteps(Steps):
    """What a worker can do next, found out for the whole store each time."""

    def _parts_of(self, number: int) -> tuple[int, ...]:
        parts = super()._parts_of(number)
        return parts if parts in ((), (WORLD,)) else ALL


class SqliteFloor(Floor):
    """A case's workers over a SQLite store. beside: another floor, whose turns it shares, so that no driver runs twice."""

    def __init__(self, case: Case, directory: Path, beside: Floor | None = None) -> None:
        super().__init__(case)
        self._file = SqliteShelf(directory)
        self.acts = SqliteActs(case, self._file)
        self.shelf, self.worlds = self.acts.shelf, self.acts.worlds
        self.steps = WholeSteps(self.acts)
        if beside is not None:
            self.acts.site, self.steps.turns = beside.acts.site, beside.turns
        self.turns = self.steps.turns
        self.first = self.first._replace(stores=self.shelf.first, world=self.acts.world(World()))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Alike(NamedTuple):
    """Two floors of one case, gone through side by side. different: the first of which they say different things."""

    states: int
    transitions: int
    different: str = ""


def compared(name: str) -> Alike:
    """A case of the interleavings over SQLite, in a file in memory, beside the memory store."""
    directory = memory_directory()
    try:
        one = Floor(CASES[name])
        floor = SqliteFloor(CASES[name], Path(directory), one)
        with uncollected():
            found = alike(one, floor)
        floor.close()
    finally:
        shutil.rmtree(directory)
    return found


def alike(one: Floor, other: Floor) -> Alike:
    """Go through two floors of one case to their end, word by word, and compare what is there after each."""
    pairs, transitions = {(one.first, other.first)}, 0
    layer = [(one.first, other.first)]
    while layer:
        following = []
        for mine, yours in layer:
            told, said = dict(_moves(one, mine)), dict(_moves(other, yours))
            if told.keys() != said.keys():
                return Alike(len(pairs), transitions, f"one can {sorted(told)}, the other {sorted(said)}")
            for word, after in told.items():
                transitions += 1
                pair = (after, said[word])
                if pair not in pairs:
                    pairs.add(pair)
                    following.append(pair)
                    if (held := records(one, after)) != (there := records(other, said[word])):
                        return Alike(len(pairs), transitions, f"after {word} one holds {held}, the other {there}")
        layer = following
    return Alike(len(pairs), transitions)


def _moves(floor: Floor, state: State) -> list[tuple[str, State]]:
    return [(move.word, move.state) for move in floor.moves(state)]


def records(floor: Floor, state: State) -> tuple[object, ...]:
    """What the stores hold in a state, in full; of an event's times only those that are read."""
    held: list[object] = []
    for name, number in zip(NAMES, state.stores, strict=True):
        content = floor.shelf.contents[name][number]
        match content:
            case Stream(status, fence, events):
                held.append((status, fence, tuple(map(timeless, events))))
            case _:
                held.append(content)
    return tuple(held)
