"""Protections taken away, one or several at a time, around the shipped store and driver of a campaign's worker.

Nothing of this can be reached from production code. Where a protection shows, faults are steered: each has its own sorts of steps
and its own moments, and a process is let on only when others have brought the job to where a missing protection is seen.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, get_args

from ..runtime.commands import Append, Command, Ports
from ..runtime.drive import Perform
from ..runtime.records import Event, Invocation, Lease, NewEvent
from ..runtime.store import StaleEpoch, Store, VersionConflict

Protection = Literal[
    "fence_events",
    "fence_ledger",
    "fence_effects",
    "checked_started",
    "conditional_append",
    "heartbeat_check",
    "quiet",
    "atomic_acquire",
]
Until = Literal["taken over", "fenced", "said", "written", "started", "parked", "completed", "failed"]
"""fenced: another process has read the stream under a newer epoch, and has not written. said: the client that was asked has
answered. written: somebody has written to the job. started: its newest event starts an attempt. Else the job's status.
"""
PROTECTIONS: Final[tuple[Protection, ...]] = get_args(Protection)
"""What can be taken away."""

WORDS: Final[dict[Protection, str]] = {
    "fence_events": "F1 reads the event stream and raises no fence",
    "fence_ledger": "F2 reads the ledger and raises no fence",
    "fence_effects": "F3 reads the effect store and raises no fence",
    "checked_started": "B2 that is refused is taken for done",
    "conditional_append": "an append lands at the end, whatever was expected",
    "heartbeat_check": "nobody looks whether the lease has run out or was lost",
    "quiet": "the quiet time D is taken to be 0",
    "atomic_acquire": "B1 looks whether it may, and writes in another step",
}

FOREVER: Final = 1e12
"""An expiry that no clock comes to, in seconds since the epoch."""
_TRIES: Final = 1_000
"""How often an append that must land at the end is tried: the end moves."""


class Strike(NamedTuple):
    """What makes a missing protection show: a fault, its moment, and when the process is let on (see `chaos_faults.Fault`)."""

    kind: Literal["pause", "late write", "hold"]
    moment: tuple[str, Literal["before", "inside", "after"]]
    until: Until
    beside: Literal["attend", "signal", "undo"] | None = None


class Steer(NamedTuple):
    """How a campaign is steered. sorts: of its steps. gated: the part of them behind a gate."""

    sorts: tuple[str, ...]
    strikes: tuple[Strike, ...]
    gated: float = 0.0


def _late(*names: str) -> tuple[Strike, ...]:
    """Writes that come when somebody else has read the stream, and has not written: no look at the lease can see that."""
    return tuple(Strike("late write", (name, "before"), "fenced") for name in names)


STEERING: Final[dict[Protection, Steer]] = {
    "fence_events": Steer(
        ("ask", "park", "flaky", "fail"), _late("append_started", "append_finished", "append_no_effect")
    ),
    "fence_ledger": Steer(("refused-lost",), (Strike("pause", ("ledger_no_effect", "before"), "parked"),)),
    "fence_effects": Steer(("fail",), (Strike("pause", ("put_effect", "before"), "failed"),)),
    "checked_started": Steer(("undone",), (Strike("hold", ("append_started", "before"), "said", "undo"),)),
    "conditional_append": Steer(
        ("unanswered",),
        (
            Strike("hold", ("resolve", "before"), "started", "attend"),
            Strike("hold", ("append_waiting", "before"), "said", "signal"),
        ),
        gated=0.3,
    ),
    "heartbeat_check": Steer(("ask", "park"), (Strike("pause", ("append_started", "after"), "completed"),)),
    "quiet": Steer(
        ("ask",),
        (
            Strike("pause", ("execute", "before"), "completed"),
            Strike("pause", ("execute", "inside"), "completed"),
        ),
    ),
    "atomic_acquire": Steer(("ask",), (Strike("pause", ("acquire", "inside"), "completed"),)),
}
"""The strikes of a campaign without a protection. A moment `inside` an acquire is between its two steps.

Between workers B2 is refused only after a take-over, when the lease is over as well: what has it refused under a lease that
stands is a client, who asks for an earlier step to be undone. An append needs its condition because of clients and people, too:
two who answer the same question, a signal that comes while a worker is about to let the job wait.
"""


_WRITE_INFLIGHT: Final = (
    "INSERT INTO ledger (job_id, idempotency_key, invocation_id, step_id, tool_name, args_hash, status, owner, epoch, result)"
    " VALUES (%(job_id)s, %(idempotency_key)s, %(invocation_id)s, %(step_id)s, %(tool_name)s, %(args_hash)s, 'INFLIGHT',"
    " %(owner)s, %(epoch)s, 'null') ON CONFLICT (job_id, idempotency_key) DO UPDATE"
    " SET status = 'INFLIGHT', owner = excluded.owner, epoch = excluded.epoch, result = 'null', external_id = NULL"
)


def weaken(names: Sequence[Protection], store: Store, perform: Perform, between: Callable[[str, int], None]) -> Perform:
    """Take protections away from a store, in place, and from a driver's `perform`; the weakened `perform`.

    between: called with job and epoch between the two steps of an acquire that is not atomic. The quiet time is not here: the
    tools declare it.
    """
    for name in names:
        match name:
            case "fence_events":
                _replace(store, name, lambda job_id, epoch: store.since_checkpoint(job_id))
            case "fence_ledger":
                _replace(store, name, lambda job_id, epoch, keys=None: store.ledger(job_id))
            case "fence_effects":
                _replace(store, name, lambda job_id, epoch, keys=None: store.effects(job_id))
            case "conditional_append":
                _replace(store, "append", _appending_at_the_end(store, store.append))
            case "heartbeat_check":
                _replace(store, "claim", _for_ever(store.claim))
                _replace(store, "renew", _never_lost(store.renew))
            case "atomic_acquire":
                _replace(store, "acquire", _in_two_steps(store, between))
            case "checked_started":
                perform = _unchecked(perform)
    return perform


def _replace(store: Store, method: str, instead: Callable[..., Any]) -> None:
    """Give this one object another method."""
    setattr(store, method, instead)


def _appending_at_the_end(store: Store, append: Callable[..., int]) -> Callable[..., int]:
    def at_the_end(job_id: str, expected: int, events: Sequence[NewEvent], epoch: int | None) -> int:
        for _ in range(_TRIES):
            try:
                return append(job_id, expected, events, epoch)
            except VersionConflict as conflict:
                if conflict.ended:
                    raise
                there: list[Event] = store.events(job_id)
                expected = len(there)
        raise RuntimeError(f"job {job_id!r}: the end of the stream cannot be reached")

    return at_the_end


def _for_ever(claim: Callable[..., Lease | None]) -> Callable[..., Lease | None]:
    def claimed(owner: str, ttl: float, job_id: str | None = None) -> Lease | None:
        lease = claim(owner, ttl, job_id)
        return lease and lease._replace(expires_at=FOREVER)

    return claimed


def _never_lost(renew: Callable[..., Lease]) -> Callable[..., Lease]:
    def renewed(lease: Lease, ttl: float) -> Lease:
        with suppress(StaleEpoch):
            renew(lease, ttl)
        return lease

    return renewed


def _in_two_steps(store: Store, between: Callable[[str, int], None]) -> Callable[[Invocation], Invocation]:
    """B1 of somebody who read "may I?" and then writes, unconditionally, into the database of the PostgreSQL store."""
    from ..runtime.postgres_store import PostgresStore

    assert isinstance(store, PostgresStore), "one process alone, as on SQLite, has nobody to be overtaken by"
    session, atomic = store.session, store.acquire

    def acquire(record: Invocation) -> Invocation:
        held = store.ledger(record.job_id).get(record.idempotency_key)
        with session.connection() as connection:
            row = connection.execute("SELECT epoch FROM ledger_fences WHERE job_id = %s", (record.job_id,)).fetchone()
        if (row is not None and record.epoch < row[0]) or (held is not None and held.committed):
            return atomic(record)
        between(record.job_id, record.epoch)
        with session.connection() as connection:
            connection.execute(_WRITE_INFLIGHT, vars(record))
        return store.ledger(record.job_id)[record.idempotency_key]

    return acquire


def _unchecked(perform: Perform) -> Perform:
    def unchecked(command: Command, ports: Ports) -> Any:
        try:
            return perform(command, ports)
        except (StaleEpoch, VersionConflict):
            if isinstance(command, Append) and command.boundary == "append_started":
                return command.expected + len(command.events)
            raise

    return unchecked
