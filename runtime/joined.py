"""Writes that are one transaction: what a turn writes between two contacts with anything else (decision 039).

Where one database holds stream, ledger and effects, the writes of a turn need not be durable one by one. What has to be durable
is what stands before a contact with the world, a wait, a lease or the end of the turn. So each of these makes durable, in one
commit, all that was written since the last; a crash in between leaves what a crash before the first of these writes leaves.

Each write is performed in the open transaction, and its answer is the database's own. Where the transaction cannot be had, a
write in it is refused, or its commit has no definite answer, it is taken back, and the same writes are made one by one (T-WRITE).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, runtime_checkable

from .commands import Acquire, Append, Command, Ports, PutEffect, Settle
from .store import Store
from .turn import End

Write = Callable[[Command], Any]
"""Performs a command until its answer is definite."""
JOINED: Final = (Acquire, Append, PutEffect, Settle)
"""The writes that a turn makes in stream, ledger and effect store. Whatever else it does is a contact: a fence as well, since
what it is repeated to read must not hold what was written after it."""


class Transaction(Protocol):
    """Several writes of the thread that begins it, and of no other, in one database."""

    def begin(self) -> None:
        """From here on the thread's writes are part of it. Raises StoreError."""
        ...

    def make_durable(self) -> None:
        """All of them are durable when it returns. Raises StoreError: not known, and it is over."""
        ...

    def take_back(self) -> None:
        """None of them happened, if it is not over already."""
        ...


@runtime_checkable
class Joining(Protocol):
    """A store whose four parts lie in one database."""

    def transaction(self) -> Transaction:
        """One for the turns of a thread, to be begun any number of times."""
        ...


@dataclass(frozen=True)
class MakeDurable:
    """The commit of the writes since the last one."""

    transaction: Transaction
    boundary: str = "make_durable"

    def perform(self, ports: Ports) -> None:
        """Nothing to say: they are durable."""
        self.transaction.make_durable()


class Apart:
    """Each write by itself: it is durable when its call returns."""

    def __init__(self, write: Write) -> None:
        self.write = write

    def come_to(self, command: Command | End) -> None:
        """Nothing is left to do before it."""

    def make_durable(self) -> None:
        """It is."""

    def take_back(self) -> None:
        """There is nothing to take back."""


class Together:
    """The writes of a turn, in transactions. write: performs a command by itself, until its answer is definite."""

    def __init__(self, store: Store, perform: Callable[[Command], Any], write: Write) -> None:
        if not isinstance(store, Joining):
            raise ValueError(
                f"{type(store).__name__} cannot join writes: no transaction spans its parts. Remedy: a worker that does not"
                " join (Worker.joined), or a store in one database"
            )
        self._transaction = store.transaction()
        self._perform, self._write = perform, write
        self._made: list[tuple[Command, Any]] = []
        self._behind = 0  # by how many events, of clients, the stream is longer than the turn knows

    def come_to(self, command: Command | End) -> None:
        """Make durable what stands before a contact, and before the end (T-ORDER, P14)."""
        if not isinstance(command, JOINED):
            self.make_durable()

    def write(self, command: Command) -> Any:
        """Perform a command: a write as part of the transaction, a contact by itself."""
        if not isinstance(command, JOINED):
            return self._write(command)
        command = self._caught_up(command)
        try:
            if not self._made:
                self._transaction.begin()
            reply = self._perform(command)
        except Exception:
            # Whatever was wrong, a write by itself says it, and what is to be done then is known.
            self._one_by_one()
            return self._write(self._caught_up(command))
        self._made.append((command, reply))
        return reply

    def make_durable(self) -> None:
        """Commit what was written since the last commit. Raises as a write by itself does."""
        if self._made:
            try:
                self._perform(MakeDurable(self._transaction))
            except Exception:
                self._one_by_one()
            self._made.clear()

    def take_back(self) -> None:
        """Give up what is not durable yet: the turn is over, or reads again what there is."""
        self._transaction.take_back()
        self._made.clear()
        self._behind = 0

    def _one_by_one(self) -> None:
        """The same writes, each by itself: those that were durable all the same are found, and answer as they did."""
        self._transaction.take_back()
        made, self._made = self._made, []
        for command, reply in made:
            answer = self._write(self._caught_up(command))
            if isinstance(command, Append):
                self._behind += answer - reply

    def _caught_up(self, command: Command) -> Command:
        """A write as it is to be made now: clients may have spoken before what the turn believes to have written by then.

        What it is told of that append is the version as it is, so that it learns that it was overtaken (T-WRITE).
        """
        if not self._behind or not isinstance(command, Append):
            return command
        behind, self._behind = self._behind, 0
        return replace(command, expected=command.expected + behind)
