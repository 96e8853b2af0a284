"""What can be crashed: a subject, the lives that it leads, and the court that judges what they leave.

The machinery of sweeps and killed processes knows no more than this of what it strikes. A plan of tool steps is one kind of
subject (`crash_turns`), a session of execution contracts another (`contract_cases`).
"""

import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

from ..model.policy import HARDENED, Policy
from ..runtime.drive import Perform
from ..runtime.sqlite_store import SqliteStore
from .crash_witness import Witnessed, World

Durable = Any
"""The tables as a court has read them: a named tuple of rows, with the `moment` after which whoever comes later comes."""


class Clock:
    """The time of one incarnation: it passes only while somebody sleeps."""

    def __init__(self, begin: float) -> None:
        self.time = begin

    def now(self) -> float:
        """The time."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds


@dataclass(frozen=True)
class Setting:
    """What one life is given. number: which incarnation of its schedule it is, from 0. on_park: called whenever it waits for
    a person.
    """

    world: World
    store: SqliteStore
    clock: Clock
    number: int
    perform: Perform
    policy: Policy = HARDENED
    on_park: Callable[[], None] = lambda: None


class Court(Protocol):
    """Reads the store's file raw and says what is wrong. A module is one: `crash_judge`, `contract_judge`."""

    def read(self, connection: sqlite3.Connection, /) -> Durable:
        """What is committed in the file."""
        ...

    def steps_of(self, durable: Durable, /) -> Collection[str]:
        """The names under which the witness counts effects."""
        ...

    def ambiguous(self, durable: Durable, /) -> bool:
        """Whether nobody can tell from the records if there was an effect."""
        ...

    def excused(self, durable: Durable, witnessed: Witnessed, /) -> bool:
        """Whether the world answered otherwise than in a run without a fault, so that this one may end otherwise (P4)."""
        ...

    def described(self, durable: Durable, witnessed: Witnessed, /) -> dict[str, Any]:
        """A state that a crash left, for people and for the table of windows."""
        ...

    def outcome(self, durable: Durable, witnessed: Witnessed, /) -> str:
        """How it ended, in one word or few, with the effects in the world."""
        ...

    def broken_now(self, durable: Durable, witnessed: Witnessed, /) -> list[str]:
        """What is wrong at this moment, be it at a crash or at rest."""
        ...

    def broken_at_rest(self, durable: Durable, witnessed: Witnessed, /) -> list[str]:
        """What is wrong once nothing more will be written, or not before a person has answered."""
        ...

    def changed(self, before: Durable, after: Durable, /) -> list[str]:
        """What was durable at a crash and is gone or altered later."""
        ...


class Subject(Protocol):
    """What is crashed, in a world that can be read."""

    @property
    def undone(self) -> tuple[str, ...]:
        """Faults that keep somebody outside, a person or the clock, from what they did in the run without a fault.

        They are told that it was not written. The job then ends without their act, and so may end otherwise (P4 compares runs
        with the same acts).
        """
        ...

    @property
    def name(self) -> str:
        """What replay keys call it."""
        ...

    @property
    def later(self) -> float:
        """How many seconds after the latest time that the file speaks of the next incarnation begins."""
        ...

    @property
    def court(self) -> Court:
        """Who judges it."""
        ...

    def begin(self, store: SqliteStore) -> None:
        """Make what the store holds before the first life."""
        ...

    def prepare(self, world: World) -> None:
        """Make what the tools expect to find in their world."""
        ...

    def serve(self, setting: Setting) -> None:
        """Live until there is rest. Raises StoppedError when it lets go, NoRestError when there is no rest to be had."""
        ...

    def witnessed(self, world: World) -> Witnessed:
        """What happened in this world."""
        ...
