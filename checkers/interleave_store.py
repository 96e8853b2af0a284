"""The four stores of one job, each content kept once under a number, and what a command makes of one of them.

A command touches one store alone (T-ORDER): it is performed on the shipped memory store with nothing else in it, and an answer is
remembered for whoever meets the same content again. That it touched no other is checked, not believed.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from ..runtime.memory_store import MemoryStore
from ..runtime.records import ChainedEvent, EffectRecord, Invocation, JobStatus, Lease, NewEvent
from .interleave_case import BEGINNING, JOB, submission

Name = Literal["stream", "ledger", "effects", "lease"]
NAMES: Final[tuple[Name, ...]] = ("stream", "ledger", "effects", "lease")


class Stream(NamedTuple):
    """The event stream: the job's state, its fence, its events."""

    status: JobStatus
    fence: int
    events: tuple[ChainedEvent, ...]


class Ledger(NamedTuple):
    """The ledger: its fence, its records."""

    fence: int
    records: tuple[Invocation, ...]


class Effects(NamedTuple):
    """The effect store: its fence, its records."""

    fence: int
    records: tuple[EffectRecord, ...]


Content = Stream | Ledger | Effects | Lease | None
Numbers = tuple[int, int, int, int]
"""The contents of stream, ledger, effects and lease."""


def replaced(stores: Numbers, places: tuple[int, ...], by: Numbers) -> Numbers:
    """The contents at these places are those of another state."""
    after = list(stores)
    for place in places:
        after[place] = by[place]
    return after[0], after[1], after[2], after[3]


def timeless(event: ChainedEvent) -> tuple[object, ...]:
    """An event without its time, and so without its link, unless the time is read: when a step was parked, or a pause began."""
    read = event.type == "job_parked" or (event.type == "retry_scheduled" and "backoff_seconds" in event.data)
    return (event.id, event.step, event.epoch, event.data, event.at if read else None)


class Shelf:
    """Every content that was met, by store and number; and a memory store into which contents are put."""

    def __init__(self, begun: list[NewEvent] | None = None) -> None:
        self.time = BEGINNING
        self.store = MemoryStore(now=lambda: self.time)
        self.store.submit(JOB, begun or submission())
        self.store.fence_ledger(JOB, 0)
        self.store.fence_effects(JOB, 0)
        self._empty = (self.store._streams[JOB], self.store._ledgers[JOB], self.store._effects[JOB])
        self._numbers: dict[Any, int] = {}
        self.contents: dict[Name, list[Content]] = {name: [] for name in NAMES}
        self.first: Numbers = (
            self.number("stream"), self.number("ledger"), self.number("effects"), self.number("lease")
        )  # fmt: skip

    def number(self, name: Name) -> int:
        """The number of what the memory store holds now."""
        content = self._content(name)
        key: Any
        match content:
            case Stream(status, fence, events):
                key = (status, fence, *map(timeless, events))
            case _:
                key = repr(content)
        if (name, key) not in self._numbers:
            self._numbers[name, key] = len(self.contents[name])
            self.contents[name].append(content)
        return self._numbers[name, key]

    def _content(self, name: Name) -> Content:
        match name:
            case "stream":
                stream = self.store._streams[JOB]
                return Stream(stream.status, stream.fence, tuple(stream.events))
            case "ledger":
                ledger = self.store._ledgers[JOB]
                return Ledger(ledger.fence, tuple(ledger.records.values()))
            case "effects":
                effects = self.store._effects[JOB]
                return Effects(effects.fence, tuple(effects.records.values()))
            case _:
                return self.store._leases.get(JOB)

    def put(self, *contents: Content) -> None:
        """Let the memory store hold these contents, and nothing else."""
        stream, ledger, effects = self._empty
        store = self.store
        store._streams, store._ledgers, store._effects, store._leases = {}, {}, {}, {}
        for content in contents:
            match content:
                case Stream(status, fence, events):
                    versions = {event.id: event.version for event in events}
                    store._streams[JOB] = type(stream)(stream.created_at, status, fence, list(events), versions)
                case Ledger(fence, invocations):
                    records = {record.idempotency_key: record for record in invocations}
                    store._ledgers[JOB] = type(ledger)(fence, records)
                case Effects(fence, written):
                    kept = {record.idempotency_key: record for record in written}
                    store._effects[JOB] = type(effects)(fence, kept)
                case Lease():
                    store._leases[JOB] = content
                case None:
                    pass

    def held(self) -> set[str]:
        """Which of the four the memory store holds anything of."""
        store = self.store
        every = zip(NAMES, (store._streams, store._ledgers, store._effects, store._leases), strict=True)
        return {name for name, content in every if content}

    def within(
        self, names: tuple[Name, ...], numbers: Numbers, now: float, act: Callable[[], Any]
    ) -> tuple[Any, Numbers]:
        """Do something with these stores alone; its answer, and what they hold then. AssertionError when it touches another."""
        self.time = now
        self.put(*(self.contents[name][numbers[NAMES.index(name)]] for name in names))
        answer = act()
        if strayed := self.held() - set(names):
            raise AssertionError(f"a command on {', '.join(names)} has written to {', '.join(sorted(strayed))}")
        after = list(numbers)
        for name in names:
            place = NAMES.index(name)
            # What was refused has left a stream as it was: it need not be looked for among all of them.
            if name != "stream" or self._content(name) != self.contents[name][numbers[place]]:
                after[place] = self.number(name)
        return answer, (after[0], after[1], after[2], after[3])
