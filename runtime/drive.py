"""The driver: performs what the protocol core yields, and repeats what got no definite answer (T-WRITE)."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from .commands import Acquire, Append, CallModel, Command, Execute, Fence, Pause, Ports, Query, Renew, Verify
from .hold import Hold
from .job import Protocol, resume, work
from .joined import Apart, Together, transaction_of
from .records import NEUTRAL, Event, Lease
from .store import StaleEpoch, StoreError, VersionConflict
from .turn import End, Worker

Perform = Callable[[Command, Ports], Any]

REPETITIONS: Final = 8
"""How often a write without a definite answer is repeated before the worker lets go of the job."""
ANSWERS: Final = frozenset(
    {
        "put_effect",
        "append_finished",
        "append_committed",
        "commit",
        "append_no_effect",
        "append_unknown",
        "record_input",
        "append_compensated",
        "append_compensation_failed",
    }
)
"""Writes of what nobody but this worker knows: an answer of the world. Lost, it leaves an open attempt. So they are repeated
until their answer is definite, the lease is another's, or the turn is asked to let go (decision 027)."""
SUSPECT: Final = 3
"""From how many claims on a job is a suspect: none since the last event that a worker wrote has led to another one."""
AT_REST: Final = frozenset({"append_waiting", "park"})
"""Writes that let go of a job until somebody speaks: never rebased, since what was said before them has to be heard first."""
BEGINNINGS: Final = (Acquire, CallModel, Fence, Pause, Query, Verify)
"""Where a turn that is asked to let go does so: nothing of it is open here, or it only looks. Never between B2 and B3, nor while
an answer is in memory that is not recorded yet."""
RENEWED: Final = (Acquire, CallModel)
"""Before which a lease is renewed that has less than half of its time left."""
FIRST_PAUSE: Final = 0.01
"""Seconds before the first repetition; each further one waits twice as long."""
BETWEEN: Final = 2.0
"""Seconds between two rounds of repetitions, where there is more than one: the longest pause that is made."""


class StoppedError(Exception):
    """The worker let go of a job without a terminal event; another turn will take it up. `lease` is None if it had none."""

    def __init__(self, message: str, lease: Lease | None) -> None:
        super().__init__(message)
        self.lease = lease


class PausedError(StoppedError):
    """The worker let go of a job for a pause that is longer than its patience.

    until: when the pause is over (seconds since the epoch, by the store's clock). version: what the turn knew of the job's
    stream: somebody has spoken since if it has grown. looked: see `Pause`.
    """

    def __init__(self, lease: Lease | None, until: float, version: int, looked: int) -> None:
        super().__init__("let go for a pause", lease)
        self.until, self.version, self.looked = until, version, looked


class SuspectError(StoppedError):
    """The worker let go of a job that workers have claimed again and again without a word: something may have ended them.

    version: of the job's stream, when that was found.
    """

    def __init__(self, claims: int, lease: Lease, version: int) -> None:
        super().__init__(f"claimed {claims} times since a worker last wrote an event of it", lease)
        self.version = version


def perform(command: Command, ports: Ports) -> Any:
    """Perform a command once. Checkers wrap this function to strike at a boundary; production has no trigger."""
    return command.perform(ports)


def run(
    worker: Worker, ports: Ports, job_id: str | None = None, perform: Perform = perform, hold: Hold | None = None
) -> End:
    """One turn of a worker: claim a job and bring it to rest. Raises StoppedError when it had to let go.

    hold: where a heartbeat renews the turn's lease, where a stop asks it to let go, and which pause is too long to be made within
    the turn; without one the turn is alone, and makes every pause.
    """
    hold = hold or Hold()
    ports = recording(ports, perform, hold.current, lambda: not hold.let_go and hold.insists("record_input"))

    def by_itself(command: Command) -> Any:
        return settle(command, worker, ports, perform, hold)

    writes: Apart | Together = Apart(by_itself)
    if worker.joined:
        transaction = transaction_of(ports.store)
        joining = replace(ports, joined=transaction)
        writes = Together(transaction, lambda command: perform(command, joining), by_itself)
    try:
        return _turn(worker, ports, job_id, perform, hold, writes)
    except StoppedError:
        # What this turn has heard of the world must not be lost with it.
        with suppress(StaleEpoch, StoreError, VersionConflict):
            writes.make_durable()
        raise
    finally:
        writes.take_back()


def _turn(
    worker: Worker, ports: Ports, job_id: str | None, perform: Perform, hold: Hold, writes: Apart | Together
) -> End:
    """The turn, until there is rest."""
    protocol, reply, version = work(worker, job_id), None, 0

    def renewing(command: Command, ports: Ports) -> Any:
        writes.make_durable()
        return perform(command, ports)

    while True:
        command = _next(protocol, reply)
        try:
            writes.come_to(command)
            if isinstance(command, End):
                return command
            lease = hold.current()
            if hold.let_go and isinstance(command, BEGINNINGS):
                raise StoppedError(f"let go before {command.boundary}: the worker was asked to stop", lease)
            if lease is not None and (tended := tend(lease, worker, command, ports, renewing)) is not lease:
                hold.take(tended)
            if isinstance(command, Pause):
                rest(command, ports, perform, hold, version)
            reply = None if isinstance(command, Pause) else writes.write(command)
        except VersionConflict:
            # Somebody wrote what matters: what this turn knows is old. Read again, under the same lease.
            held = hold.lease
            if held is None:
                raise
            writes.take_back()
            protocol, reply = resume(worker, held), None
            continue
        except (StaleEpoch, StoreError) as error:
            at = "the end" if isinstance(command, End) else command.boundary
            raise StoppedError(f"let go at {at}: {error}", hold.lease) from error
        if isinstance(reply, Lease):
            hold.take(reply)
        if command.boundary == "fence_events" and hold.wary and hold.lease is not None:
            beware(hold.lease, reply or ())
        version = _version(command, reply, version)


def _next(protocol: Protocol, reply: Any) -> Command | End:
    """What the protocol does next; how the turn ends, where it does."""
    try:
        return protocol.send(reply)
    except StopIteration as stop:
        end: End = stop.value
        return end


def beware(lease: Lease, events: Iterable[Event]) -> None:
    """Raise SuspectError for a job that was claimed time and again since a worker last wrote an event of it."""
    version = written = 0
    for event in events:
        version, written = event.version, max(written, event.epoch or 0)
    if lease.epoch - written >= SUSPECT:
        raise SuspectError(lease.epoch - written, lease, version)


def _version(command: Command, reply: Any, before: int) -> int:
    """What the turn knows of its job's stream after a command: the version up to which it wrote or read."""
    if isinstance(command, Append):
        return int(reply)
    return int(reply[-1].version) if command.boundary == "fence_events" else before


def rest(pause: Pause, ports: Ports, perform: Perform, hold: Hold, version: int) -> None:
    """Make a pause. Raises PausedError where it is too long for the turn, or was cut short by a stop."""
    now = ports.store.now()
    until = now + pause.left(now)
    if until - now <= hold.patience():
        persist(pause, ports, perform)
    if until - ports.store.now() > hold.patience():
        raise PausedError(hold.lease, until, version, pause.looked)


def recording(
    ports: Ports,
    perform: Perform,
    lease: Callable[[], Lease | None],
    may_go_on: Callable[[], bool] = lambda: True,
) -> Ports:
    """The ports, with a way to make an input durable while a tool runs: by the same rules as every other append (T-WRITE).

    may_go_on: whether a write without an answer is repeated beyond its budget. It is not once the lease has run out.

    A StoreError must not reach whoever repeats commands, since an execution is never repeated: it is a StoppedError here. So is a
    lease that ran out meanwhile: what the tool is not told it sends no request with, so the expiry bounds the last one (T-QUIET).
    """

    def ran_out(held: Lease | None) -> bool:
        return held is not None and held.expires_at <= ports.store.now()

    def record(command: Append) -> int:
        held: Lease | None = None
        try:
            held = lease()
            if held is not None and ran_out(held):
                # No write under a lease that is another's: the store refuses this once a newer one was given. It extends nothing.
                persist(Renew(held, 0.0), ports, perform)
            version: int = insist(command, ports, perform, lambda: may_go_on() and not ran_out(lease()))
            held = lease()
        except (StaleEpoch, StoreError) as error:
            raise StoppedError(f"let go at {command.boundary}: {error}", held) from error
        if ran_out(held):
            raise StoppedError(f"let go at {command.boundary}: the lease ran out while the tool ran", held)
        return version

    return replace(ports, record=record)


def tend(lease: Lease, worker: Worker, command: Command, ports: Ports, perform: Perform) -> Lease:
    """Keep the lease ahead of every sending, so that its expiry bounds the last one (T-QUIET, T-WORKER).

    It is renewed before B1, since nothing may stand between B2 and B3; there it is only looked at. It is renewed before a
    model is asked, too, which may take long. Whoever was paused past its lease finds so here, by the store's clock, before
    anything else: before B3 it stops; a write waits for the renewal, which the store refuses once a newer lease was given.
    Raises StaleEpoch then, or StoppedError when the lease has run out before the request was sent.
    """
    left = lease.expires_at - ports.store.now()
    if isinstance(command, Execute):
        if left <= 0:
            raise StoppedError("let go before the request was sent: the lease ran out", lease)
        return lease
    if left <= 0 or (isinstance(command, RENEWED) and left < worker.ttl / 2):
        renewed: Lease = persist(Renew(lease, worker.ttl), ports, perform)
        return renewed
    return lease


def settle(command: Command, worker: Worker, ports: Ports, perform: Perform, hold: Hold) -> Any:
    """Perform a command until its answer is definite: within the budget, or for as long as this worker alone has an answer."""

    def go_on() -> bool:
        if hold.let_go or not hold.insists(command.boundary):
            return False
        lease = hold.current()
        if lease is not None:
            with suppress(StoreError):  # the store is down still
                hold.take(tend(lease, worker, command, ports, perform))
        return True

    return insist(command, ports, perform, go_on)


def insist(command: Command, ports: Ports, perform: Perform, go_on: Callable[[], bool]) -> Any:
    """Perform a command until its answer is definite: one that holds an answer in further rounds, too, while `go_on` says so."""
    while True:
        try:
            return persist(command, ports, perform)
        except StoreError:
            if command.boundary not in ANSWERS or not go_on():
                raise
        ports.sleep(BETWEEN)


def persist(command: Command, ports: Ports, perform: Perform) -> Any:
    """Perform a command until its answer is definite; an append that only neutral events overtook is rebased (T-WRITE).

    Raises StoreError when the budget of repetitions is used up.
    """
    pause = FIRST_PAUSE
    for attempt in range(REPETITIONS + 1):
        try:
            return perform(command, ports)
        except VersionConflict as conflict:
            neutral = all(event.type in NEUTRAL for event in conflict.tail)
            overtaken = not neutral or command.boundary in AT_REST
            if conflict.ended or overtaken or not isinstance(command, Append):
                raise
            command = replace(command, expected=command.expected + len(conflict.tail))
        except StoreError:
            if attempt == REPETITIONS:
                raise
            ports.sleep(pause)
            pause *= 2
    raise StoreError(f"{command.boundary}: overtaken {REPETITIONS} times")
