"""How a worker hears of new work before it looks for it: a store may be able to tell (PostgreSQL is, by LISTEN/NOTIFY)."""

from typing import Protocol, runtime_checkable

from .store import Store


class Wakes(Protocol):
    """Announcements of claimable jobs, for one thread at a time. They may be lost: polling is what is relied on."""

    def wait(self, seconds: float) -> None:
        """Return after `seconds`, or earlier when a job was submitted, opened again, or is to be cancelled, since the last call.

        Raises StoreError when nothing can be heard now, StoreUnusableError when the store cannot be used any more.
        """
        ...

    def close(self) -> None:
        """Release every resource, after a wait that is under way."""
        ...


@runtime_checkable
class Waking(Protocol):
    """A store that can tell."""

    def wakes(self) -> Wakes:
        """Announcements from now on."""
        ...


def wakes_of(store: Store) -> Wakes | None:
    """The announcements of a store; None when it makes none."""
    return store.wakes() if isinstance(store, Waking) else None
