"""What is asked of stores that are held side by side: a few jobs to begin with, and in each of five parts all operations.

A part is one of the four stores, since no operation touches two (T-ORDER), or what one commit joins of three. The others are
fenced above its epochs, so that who looks at another one's fence is seen; and beside the job there is another one, with the same
keys and event ids.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final, NamedTuple

from ..runtime.joined import Joint
from ..runtime.records import EffectRecord, Invocation, Lease, LedgerStatus, NewEvent
from .stores_rules import Content

JOB: Final = "job"
OTHER: Final = "another job"
KEY: Final = "key"
BESIDE: Final = "key of another step"
BEGINNING: Final = 1000.0
EPOCHS: Final = (1, 2)
ABOVE: Final = 3
"""The fence of what is not asked: above each epoch that is."""
TTL: Final = 10.0
LEASES: Final = "leases"
CREATED: Final = (
    NewEvent("created", "job_created", None, {}),
    NewEvent("planned", "plan_generated", None, {"nodes": []}),
)
ANOTHER: Final = (CREATED[0], NewEvent("planned otherwise", "plan_generated", None, {"nodes": []}))
Act = Callable[[Any, Content], Any]
"""Asks a store; the content says what is there, for who appends at its version."""


class Operation(NamedTuple):
    """One question to a store. seconds: how much time passes before it."""

    words: str
    ask: Act
    seconds: float = 0.0


class Bounds(NamedTuple):
    """How far is gone on. events: that are appended to the stream; spoken: the same where leases are asked; epoch: of the newest
    lease; seconds: that its end, and that of the one before it, can be past.
    """

    events: int
    spoken: int
    epoch: int
    seconds: float


class Part(NamedTuple):
    """What is asked, and how its surroundings begin. joins: whether only such stores are asked as can join writes."""

    name: str
    fenced: tuple[str, ...]
    operations: tuple[Operation, ...]
    joins: bool = False


def begun(store: Any, part: Part) -> None:
    """The jobs as they are when the part's operations begin."""
    store.submit(JOB, CREATED)
    store.submit(OTHER, CREATED)
    store.acquire(_invocation(0, "beside", key=BESIDE))
    store.put_effect(_effect("beside", BESIDE), 0)
    store.acquire(replace(_invocation(0, "elsewhere"), job_id=OTHER))
    store.put_effect(replace(_effect("elsewhere"), job_id=OTHER), 0)
    store.append(OTHER, 2, [NewEvent("signal", "signal_received", None, {})], None)
    store.claim("elsewhere", 1e9, OTHER)
    for name in ("fence_events", "fence_ledger", "fence_effects"):
        getattr(store, name)(OTHER, ABOVE)
        getattr(store, name)(JOB, ABOVE if name in part.fenced else 0)


def within(part: Part, content: Content, bounds: Bounds, now: float) -> bool:
    """Whether it is gone on from what a store holds."""
    job, (_, _, epoch, expires_at, previous_expiry) = content[0], content[0].lease or Lease(JOB, "", 0, now, 0.0)
    past = now - min(expires_at, previous_expiry or expires_at)
    events = bounds.spoken if part.name == LEASES else bounds.events
    return job.version - len(CREATED) <= events and epoch <= bounds.epoch and past <= bounds.seconds


def _append(words: str, events: tuple[NewEvent, ...], epoch: int | None, behind: int = 0) -> Operation:
    """An append at the version that is there, or so many events behind it."""

    def ask(store: Any, content: Content) -> Any:
        return store.append(JOB, content[0].version - behind, events, epoch)

    who = "a client" if epoch is None else f"epoch {epoch}"
    return Operation(f"{who} appends {words}{f' {behind} too early' if behind else ''}", ask)


def _asked(words: str, method: str, *arguments: Any, seconds: float = 0.0) -> Operation:
    return Operation(words, lambda store, content: getattr(store, method)(*arguments), seconds)


def _event(name: str, kind: str, **data: Any) -> NewEvent:
    return NewEvent(name, kind, "step", data)


BY_CLIENTS: Final = {
    "a signal": (_event("signal", "signal_received", word="go"),),
    "a cancel": (_event("cancel", "job_cancelled"),),
}
BY_WORKERS: Final = {
    "started": (_event("started", "command_started"),),
    "finished and committed": (
        _event("finished", "command_finished", result=1),
        _event("committed", "command_committed"),
    ),
    "parked, and started again": (_event("parked", "job_parked"), _event("started", "command_started")),
    "completed": (_event("completed", "job_completed"),),
}
"""Batches: of two events, one whose second event's id may be there, and one that ends the job."""


def _stream() -> Iterator[Operation]:
    for words, events in BY_CLIENTS.items():
        yield from (_append(words, events, None, behind) for behind in (0, 1))
    for (words, events), epoch, behind in product(BY_WORKERS.items(), EPOCHS, (0, 1)):
        yield _append(words, events, epoch, behind)
    yield from (_asked(f"F1 at {epoch}", "fence_events", JOB, epoch) for epoch in EPOCHS)
    yield _asked("submitted again", "submit", JOB, CREATED)
    yield _asked("submitted with another plan", "submit", JOB, ANOTHER)
    yield from (_asked(name, name, JOB) for name in ("events", "jobs"))
    yield from (_asked(name, name, 0, 9) for name in ("open_jobs", "waiting_jobs"))


def _leases() -> Iterator[Operation]:
    yield from (_asked(f"{owner} claims", "claim", owner, TTL, JOB) for owner in "ab")
    yield _asked("b claims any job", "claim", "b", TTL)
    for epoch in EPOCHS:
        lease = Lease(JOB, "a", epoch, 0.0, 0.0)
        yield from (_asked(f"epoch {epoch} renews by {ttl:g} s", "renew", lease, ttl) for ttl in (0.0, 2 * TTL))
        yield _asked(f"epoch {epoch} releases", "release", lease)
    yield from (_asked(f"{seconds:g} s pass", "now", seconds=seconds) for seconds in (TTL / 2, TTL))
    for kind in ("job_waiting", "job_requeued", "job_completed"):
        yield _append(kind, (_event(kind, kind),), None)
    yield _asked("jobs", "jobs")
    yield from (_asked(name, name, 0, 9) for name in ("open_jobs", "waiting_jobs"))


def _ledger() -> Iterator[Operation]:
    for epoch, owner in product(EPOCHS, "ab"):
        yield _asked(f"{owner} acquires at {epoch}", "acquire", _invocation(epoch, owner))
    yield _asked("other arguments", "acquire", replace(_invocation(2, "a"), args_hash="others"))
    yield _asked("another tool", "acquire", replace(_invocation(2, "a"), tool_name="another"))
    statuses: tuple[LedgerStatus, ...] = ("NO_EFFECT", "UNKNOWN", "COMMITTED")
    for epoch, status in product(EPOCHS, statuses):
        yield _asked(f"epoch {epoch} settles {status}", "settle", JOB, KEY, epoch, status, f"of {epoch}", f"id {epoch}")
    for epoch in EPOCHS:
        yield _asked(f"F2 at {epoch}", "fence_ledger", JOB, epoch)
        yield _asked(f"F2 at {epoch}, one key", "fence_ledger", JOB, epoch, [KEY])
    yield _asked("ledger", "ledger", JOB)


def _effects() -> Iterator[Operation]:
    for epoch, output in product(EPOCHS, ("sent", "sent otherwise")):
        yield _asked(f"epoch {epoch} puts {output!r}", "put_effect", _effect(output), epoch)
    for epoch in EPOCHS:
        yield _asked(f"F3 at {epoch}", "fence_effects", JOB, epoch)
        yield _asked(f"F3 at {epoch}, one key", "fence_effects", JOB, epoch, [KEY])
    yield _asked("effects", "effects", JOB)


def _joined() -> Iterator[Operation]:
    for epoch in EPOCHS:
        begun, done = _invocation(epoch, "a"), replace(_invocation(epoch, "a"), status="COMMITTED", result="sent")
        yield _joint("begins", epoch, BY_WORKERS["started"], ledger=[begun])
        yield _joint("acquires with other arguments", epoch, (), ledger=[replace(begun, args_hash="others")])
        yield _joint("records", epoch, BY_WORKERS["finished and committed"], effects=[_effect("sent")], ledger=[done])
        yield _joint("settles", epoch, (), ledger=[done])
    yield _joint("records too early", 1, BY_WORKERS["finished and committed"], 1, effects=[_effect("sent")])
    yield _asked("b acquires at 2", "acquire", _invocation(2, "b"))
    for name in ("fence_events", "fence_ledger", "fence_effects"):
        yield _asked(f"{name} at 2", name, JOB, 2)
    yield _append("a cancel", BY_CLIENTS["a cancel"], None)


def _joint(words: str, epoch: int, events: tuple[NewEvent, ...], behind: int = 0, **records: Any) -> Operation:
    def ask(store: Any, content: Content) -> Any:
        return store.write_joined(Joint(JOB, epoch, content[0].version - behind, [*events], **records))

    return Operation(f"epoch {epoch} {words} in one commit", ask)


def _invocation(epoch: int, owner: str, key: str = KEY) -> Invocation:
    """The record that B1 writes; each holder names its invocation and its step in its own way."""
    return Invocation(
        JOB, key, f"invocation of {owner}", f"step of {owner}", "tool", "arguments", "INFLIGHT", owner, epoch
    )


def _effect(output: str, key: str = KEY) -> EffectRecord:
    """The record that B4 writes."""
    return EffectRecord(
        JOB, key, "step", "tool", {"to": "x"}, output, "i", "o", ({"output": output},), {"external_id": None}
    )


PARTS: Final = (
    Part("effect store", ("fence_events", "fence_ledger"), tuple(_effects())),
    Part("ledger", ("fence_events", "fence_effects"), tuple(_ledger())),
    Part("event stream", ("fence_ledger", "fence_effects"), tuple(_stream())),
    Part(LEASES, ("fence_events", "fence_ledger", "fence_effects"), tuple(_leases())),
    Part("joined writes", (), tuple(_joined()), joins=True),
)
"""The four stores, the cheapest first, and what is joined of them."""
