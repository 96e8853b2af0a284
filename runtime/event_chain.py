"""The chain of hashes over a job's events (E-CHAIN).

A link is the SHA-256 of a domain, the head of an event (the link before it, job id, version, id, type, step, epoch and time,
as RFC 8785 writes that list), a NUL, and the event's data byte for byte as they are stored, which is RFC 8785, too. Canonical
JSON holds no NUL, so no two events have the same bytes. A changed, dropped, added, exchanged or transplanted event is found by
whoever computes the chain again, and so is an edit that leaves the value of the data as it was.

It is no signature, and it has no anchor: who can write the file can compute a new chain over other events, or end it earlier.
Against that helps only a link that was noted elsewhere.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from .canonical import canonical, shortest
from .records import ChainedEvent, Event, Json, NewEvent
from .store_rules import decode

DOMAIN: Final = b"crashwindow event\0"


class LastLink(threading.local):
    """The link that each thread has appended last: a guess at the link that its next batch follows, which saves reading it.

    Whoever appends asks, in the statement that writes, whether the guess is the last event's link: what is remembered of a
    file that was put back is refused there (decision 040).
    """

    event: tuple[str, int, str] | None = None

    def note(self, job_id: str, version: int, link: str) -> None:
        """Remember the link of an event of this thread."""
        self.event = job_id, version, link

    def guesses(self, job_id: str, version: int, read: Callable[[], str | None]) -> Iterator[str | None]:
        """The link of an event as far as this thread remembers it, and as it is read (None: the event is not there)."""
        if self.event is not None and self.event[:2] == (job_id, version):
            yield self.event[2]
        yield read()


class Break(NamedTuple):
    """Where a chain breaks: the version that is missing or wrong, and why."""

    version: int
    reason: str


def next_link(previous: str | None, job_id: str, event: ChainedEvent) -> str:
    """The link of an event, whose own `link` is not looked at; `previous` is None for a job's first event."""
    return sha256(linked_bytes(previous, job_id, event)).hexdigest()


def linked_bytes(previous: str | None, job_id: str, event: ChainedEvent) -> bytes:
    """What the link of an event is the hash of."""
    version, event_id, kind, step, epoch, at, data, _ = event
    return _linked([previous, job_id, version, event_id, kind, step, epoch, shortest(at)], data.encode())


def _linked(head: list[Json], data: bytes) -> bytes:
    return DOMAIN + canonical(head) + b"\0" + data


def chained(
    job_id: str, expected: int, previous: str | None, events: Sequence[NewEvent], epoch: int | None, at: float
) -> list[ChainedEvent]:
    """A batch as it is stored after version `expected`, whose link is `previous`. ValueError for data that are not JSON."""
    batch, moment = [], shortest(at)
    for version, (name, kind, step, told) in enumerate(events, expected + 1):
        data = canonical(told)
        previous = sha256(_linked([previous, job_id, version, name, kind, step, epoch, moment], data)).hexdigest()
        batch.append(ChainedEvent(version, name, kind, step, epoch, at, data.decode(), previous))
    return batch


def event_of(stored: ChainedEvent) -> Event:
    """What a stored event says. ValueError for data that are no JSON."""
    return Event(*stored[:6], decode(stored.data))


def first_break(job_id: str, events: Sequence[ChainedEvent]) -> Break | None:
    """Where the chain of a job's events breaks first; None when it is whole, from event 1 to the last of those given."""
    previous = None
    for number, event in enumerate(events, 1):
        if event.version != number:
            return Break(number, f"it is missing; event {event.version} follows event {number - 1}")
        try:
            link = next_link(previous, job_id, event)
        except ValueError as error:  # a number or a text that no store has written
            return Break(number, f"it cannot be hashed: {error}")
        if link != event.link:
            return Break(number, f"{event.type!r} is not what was written here, or not after what stands before it")
        previous = event.link
    return None
