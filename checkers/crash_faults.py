"""The vocabulary of faults, and how they strike: by wrapping the driver's `perform`, never from inside the runtime.

A fault is written `boundary[#occurrence]:when`, for instance `append_started:after` or `claim#2:before`; the occurrence
counts the performances of a boundary within one incarnation, that is, one life of a worker process. A schedule is a list
of faults, `f1;f2`: the first incarnation is struck by f1, the one that recovers by f2, and one that nothing strikes brings
the job to rest.

| when                 | what happens                                                                     |
| -------------------- | -------------------------------------------------------------------------------- |
| before, after        | the process dies before, or after, the boundary is performed                     |
| effect               | (`execute`) it dies inside the tool's call, after the effect, before the answer  |
| torn                 | it dies inside the transaction of a batch, before COMMIT                         |
| error, lost          | the store answers an error: nothing is written, or everything is                 |
| down                 | from here on the store answers nothing but errors to this boundary; whoever      |
|                      | repeats it beyond the budget is asked to let go                                  |
| stale                | the store answers that a newer epoch exists; nothing is written                  |
| conflict             | the store answers a version conflict that nothing explains; nothing is written   |

A crash *before* a boundary leaves the same durable state as one *after* the boundary that precedes it; both are struck.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from ..model import contract
from ..model.boundaries import BY_NAME
from ..runtime import drive
from ..runtime.commands import Command, Execute, Ports
from ..runtime.drive import StoppedError
from ..runtime.joined import MakeDurable
from ..runtime.store import StaleEpoch, Store, StoreError, VersionConflict

KILLS: Final = ("before", "torn", "effect", "after")
"""The faults that end the process."""
ANSWERS: Final = ("error", "lost", "down", "stale", "conflict")
"""The faults that are an answer of the store: the process lives on."""

SPECIAL: Final = {
    "execute": ("before", "effect", "after"),
    "compensate": ("before", "effect", "after"),
    "query": ("before", "after"),
    "confirm": ("before", "after"),
    "call_model": ("before", "after"),
    "claim": ("before", "after", "error", "lost", "down"),
    # A write of the contract store, under a worker's lease.
    "open_approval": ("before", "torn", "after", "error", "lost", "down"),
    # A person's or a client's write: it carries no epoch, so it cannot be stale.
    **dict.fromkeys(
        ("resolve", "cancel", "signal", "confirm_replay", "request_compensation"),
        ("before", "torn", "after", "error", "lost"),
    ),
    "announce": ("before", "after"),
    # The commit of the writes that are joined: nothing else is refused by it.
    MakeDurable.boundary: ("before", "torn", "after", "error", "lost", "down"),
}

CONTRACT_WRITES: Final = tuple(name for _, name, _ in contract.BOUNDARIES)
"""One transaction each. Only the step's writes carry an epoch, so only they can be stale."""
BOUNDARIES: Final = (*BY_NAME, *CONTRACT_WRITES, "announce", MakeDurable.boundary)
"""Where a fault can strike. A read is none of them: a crash there leaves what one at the write before it leaves."""

_FAULT: Final = re.compile(r"([a-z_0-9]+)(?:#([1-9][0-9]*))?:([a-z]+)")
_KEY: Final = re.compile(r"crash:([^:;@]+)(?:@([^:;@]+))?:(.*)")


class Fault(NamedTuple):
    """One fault, at one performance of one boundary."""

    boundary: str
    occurrence: int
    when: str

    def __str__(self) -> str:
        number = f"#{self.occurrence}" if self.occurrence > 1 else ""
        return f"{self.boundary}{number}:{self.when}"

    @property
    def kills(self) -> bool:
        """Whether the process dies."""
        return self.when in KILLS


Schedule = tuple[Fault, ...]


class Key(NamedTuple):
    """What a replay key names: `crash:<case>[@<policy>]:<schedule>`; the policy is left out where it is the hardened one."""

    case: str
    policy: str
    schedule: Schedule

    def __str__(self) -> str:
        policy = "" if self.policy == "hardened" else f"@{self.policy}"
        return f"crash:{self.case}{policy}:{';'.join(map(str, self.schedule))}"


def parse_fault(text: str) -> Fault:
    """The fault that a text names; raises ValueError, saying what is accepted."""
    match = _FAULT.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a fault; write BOUNDARY:WHEN or BOUNDARY#OCCURRENCE:WHEN")
    boundary, occurrence, when = match.groups()
    if boundary not in BOUNDARIES:
        raise ValueError(f"{text!r}: there is no boundary {boundary!r}; there are {', '.join(BOUNDARIES)}")
    if when not in (*KILLS, *ANSWERS):
        raise ValueError(f"{text!r}: {when!r} is none of {', '.join((*KILLS, *ANSWERS))}")
    return Fault(boundary, int(occurrence or 1), when)


def parse_key(text: str) -> Key:
    """The case, policy and schedule that a key names; raises ValueError."""
    match = _KEY.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not the key of a crash schedule; write crash:CASE:FAULT;FAULT…")
    case, policy, schedule = match.groups()
    return Key(case, policy or "hardened", tuple(map(parse_fault, filter(None, schedule.split(";")))))


def faults_of(boundary: str) -> tuple[str, ...]:
    """What can strike at a boundary: stores answer errors, only batches tear, only appends conflict; nothing at a read."""
    if boundary in SPECIAL:
        return SPECIAL[boundary]
    if boundary in CONTRACT_WRITES:
        return ("before", "torn", "after", "error", "lost", "down")
    if boundary not in BY_NAME:
        return ()
    if BY_NAME[boundary].store == "events" and not boundary.startswith("fence_"):
        return ("before", "torn", "after", *ANSWERS)
    return ("before", "after", "error", "lost", "down", "stale")


def crashes_of(performed: Sequence[str]) -> Iterator[Fault]:
    """Every crash at every performance of a boundary, in the order of a run."""
    for at, name in enumerate(performed):
        for when in faults_of(name):
            if when in KILLS:
                yield Fault(name, performed[: at + 1].count(name), when)


LIMIT: Final = 200
"""More boundaries than any incarnation performs: one that comes to so many goes round in a circle."""


class NoRestError(Exception):
    """The job cannot be brought to rest, though nothing strikes any more."""


class ToolCall:
    """Where a tool that the checker made can be struck: inside its call, when the world has done what it does."""

    def __init__(self) -> None:
        self.strike: Callable[[], None] | None = None

    def reached(self) -> None:
        """Called by the tool, after the effect and before its answer."""
        if self.strike is not None:
            self.strike()


@contextmanager
def inside(command: Command, ports: Ports, call: ToolCall, strike: Callable[[], None]) -> Iterator[None]:
    """Within this block the command is struck half-way: a tool's call after its effect, a batch before its COMMIT."""
    if isinstance(command, Execute):
        call.strike = strike
        try:
            yield
        finally:
            call.strike = None
        return
    connection = connection_of(ports.store)
    connection.set_trace_callback(lambda statement: strike() if statement == "COMMIT" else None)
    try:
        yield
    finally:
        connection.set_trace_callback(None)


def connection_of(store: Store) -> Any:
    """The connection of an SQLite store. It is private there: no production code has a use for it."""
    return store._session._connection  # type: ignore[attr-defined]  # of an SQLite store: see above


class Striker:
    """Performs commands as the driver does, counts them, and lets one fault strike.

    `strike` ends the process. `tell` hears of each boundary, "> name" before it is performed and "< name" afterwards,
    and of the fault, "! fault", when it strikes.
    """

    def __init__(
        self,
        fault: Fault | None,
        call: ToolCall,
        strike: Callable[[], None],
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.fault, self.call, self.strike, self.tell = fault, call, strike, tell
        self.performed: list[str] = []
        self.hit = False

    def __call__(self, command: Command, ports: Ports) -> Any:
        """Perform the command once, or what the fault makes of it."""
        name = command.boundary
        if not faults_of(name):
            return drive.perform(command, ports)
        self.performed.append(name)
        if len(self.performed) > LIMIT:
            raise NoRestError(f"no rest after {LIMIT} boundaries, the last of them {', '.join(self.performed[-3:])}")
        self.tell(f"> {name}")
        fault = self.fault
        if fault is None or fault.boundary != name or not self.due(fault):
            reply = drive.perform(command, ports)
        else:
            reply = self.struck(fault.when, command, ports)
        self.tell(f"< {name}")
        return reply

    def due(self, fault: Fault) -> bool:
        """Whether this performance is the one; a store that is down stays down."""
        number = self.performed.count(fault.boundary)
        return number == fault.occurrence or (fault.when == "down" and number > fault.occurrence)

    def beyond_the_budget(self, name: str) -> bool:
        """Whether a boundary at which the store is down has been repeated as often as any may be."""
        return self.fault is not None and self.performed.count(name) > self.fault.occurrence + drive.REPETITIONS

    def struck(self, when: str, command: Command, ports: Ports) -> Any:
        """The performance that the fault strikes; what kills does not return."""
        name = command.boundary
        self.hit = True
        self.tell(f"! {self.fault}")
        match when:
            case "before":
                self.strike()
            case "after":
                drive.perform(command, ports)
                self.strike()
            case "effect" | "torn":
                with inside(command, ports, self.call, self.strike):
                    drive.perform(command, ports)
            case "error" | "down":
                if name in drive.ANSWERS and self.beyond_the_budget(name):
                    raise StoppedError(f"let go at {name}: asked to, since the store stays down", None)
                raise StoreError(f"{name}: injected, nothing written")
            case "lost":
                drive.perform(command, ports)
                raise StoreError(f"{name}: injected, but written")
            case "stale":
                raise StaleEpoch(f"{name}: injected")
            case "conflict":
                raise VersionConflict(f"{name}: injected", [])
        raise NotStruckError(f"{name}:{when} did not end the process")


class NotStruckError(BaseException):
    """A fault that was to end the process did not: an error of the checker, which no handler of the runtime may absorb."""
