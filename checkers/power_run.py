"""A job whose disk operations are recorded: submitted by one process, worked by the next, both through the shipped store.

How durable the store is made is the `Mode`. The shipped store refuses every mode but FULL, so a weak one is reached past its
own check, here and nowhere else: what would happen if somebody took that check away.
"""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from ..model.policy import HARDENED
from ..runtime import drive, sqlite_schema
from ..runtime.commands import Command, Ports
from ..runtime.sqlite_store import SqliteStore
from .crash_cases import CASES
from .crash_faults import connection_of
from .crash_image import Files
from .crash_run import EPOCH, STORE, memory_directory
from .crash_subject import Clock, Durable, Setting, Subject
from .crash_witness import FILES, World
from .power_operations import Entry
from .power_record import Contents, Recording, contents


@dataclass(frozen=True)
class Mode:
    """How the recorded run's file was opened. checkpoint: after so many pages in the log; SQLite's default where it is 0."""

    name: str
    synchronous: str
    checkpoint: int = 0


MODES: Final = {
    mode.name: mode
    for mode in (
        Mode("full", "FULL"),
        # What a store comes to that lives long: the log is copied back and begun anew, again and again.
        Mode("full-checkpointed", "FULL", 8),
        Mode("normal", "NORMAL"),
        Mode("off", "OFF"),
    )
}


class Run(NamedTuple):
    """A recorded run. states: what the store held after each acknowledged call. witness: what the world's files held in the end.

    durables: the job's records beside each state; None while there was no job. outcome: how it ended, without a fault.
    """

    case: str
    mode: str
    entries: list[Entry]
    states: list[Contents]
    durables: list[Durable | None]
    witness: Files
    outcome: str

    def moments(self) -> list[str]:
        """A name for the moment after each entry: the call of the store, and how many entries of it have been."""
        found, label, count = [], "", 0
        for entry in self.entries:
            count = count + 1 if entry.label == label else 1
            label = entry.label
            found.append(f"{label}+{count}")
        return found

    def calls(self) -> list[str]:
        """The calls whose acknowledgements made the states, in order: `calls()[n]` led to `states[n]`."""
        labels = [""]
        for entry in self.entries:
            if entry.acknowledged == len(labels):
                labels.append(entry.label)
        return labels


class _WeakStore(SqliteStore):
    """The shipped store without its refusal."""

    def check_durability(self) -> None:
        """Whatever SQLite says."""


class _RecordedWorld(World):
    """The witness, whose lines are moments of the recording."""

    def __init__(self, directory: str, note: Callable[[], None]) -> None:
        super().__init__(directory)
        self._note = note

    def append(self, name: str, line: Any) -> None:
        """One line."""
        super().append(name, line)
        self._note()


class _Recorder:
    """Records one run; performs commands as the driver does."""

    def __init__(self, subject: Subject, mode: Mode, directory: str) -> None:
        self.subject, self.mode = subject, mode
        self.clock = Clock(EPOCH)
        self.path = f"{directory}/{STORE}"
        self.recording = Recording(directory, lambda: tuple(len(self.world.content(name)) for name in FILES))
        self.world = _RecordedWorld(directory, self.recording.note)
        self.durables: list[Durable | None] = [None]

    def __call__(self, command: Command, ports: Ports) -> Any:
        """Perform the command once."""
        self.recording.begin(command.boundary)
        reply = drive.perform(command, ports)
        if ports.joined is None or not ports.joined.is_open:  # what waits for its commit is not acknowledged
            self.returned(ports.store)
        return reply

    def returned(self, store: Any) -> None:
        """A call of the store has returned: what is there is acknowledged."""
        connection = connection_of(store)
        self.recording.acknowledge(contents(connection))
        there = connection.execute("SELECT 1 FROM jobs").fetchone()
        self.durables.append(self.subject.court.read(connection) if there else None)

    def open(self) -> SqliteStore:
        """A process opens the file."""
        self.recording.begin("open")
        store = (SqliteStore if self.mode.synchronous == "FULL" else _WeakStore)(self.path, now=self.clock.now)
        if self.mode.checkpoint:
            connection_of(store).execute(f"PRAGMA wal_autocheckpoint={self.mode.checkpoint}").fetchall()
        self.returned(store)
        return store

    def close(self, store: SqliteStore) -> None:
        """It ends in good order, which changes nothing that the store holds."""
        self.recording.begin("close")
        store.close()
        self.recording.acknowledge(self.recording.states[-1])
        self.durables.append(self.durables[-1])

    def run(self) -> str:
        """The job from its submission to its end; the outcome."""
        store = self.open()
        self.recording.begin("submit")
        self.subject.begin(store)
        self.returned(store)
        self.close(store)
        store = self.open()
        self.subject.serve(Setting(self.world, store, self.clock, 0, self))
        self.close(store)
        return self.subject.court.outcome(self.durables[-1], self.subject.witnessed(self.world))


def record(case: str, mode: str) -> Run:
    """A case of the crash campaign, run once without a fault, in a mode.

    While it lasts no other thread of this process may open a store: every store would be recorded.
    """
    directory = memory_directory()
    recorder = _Recorder(CASES[case], MODES[mode], directory)
    recording = recorder.recording
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        stack.enter_context(recording)
        synchronous = f"PRAGMA synchronous={MODES[mode].synchronous}"
        stack.enter_context(patch.multiple(sqlite_schema, sqlite3=recording.module, SET_SYNCHRONOUS=synchronous))
        outcome = recorder.run()
        witness = {name: recorder.world.content(name) for name in FILES}
    return Run(case, mode, recording.entries, recording.states, recorder.durables, witness, outcome)


POLICY: Final = HARDENED
"""The worker's, in the recorded run and in every recovery."""
