"""What the fleet needs to know of a row machine beside its rows, and the protections that may be switched off.

The rows of a machine were written for one worker. For many it has to be said in which store a durable field lies, where a request
can leave from, and which look at the tool refuses older requests; nothing else. The rest is read off the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .machine import Guard, guard

STORES: Final = ("events", "ledger", "effects")
"""The stores of T-FENCE, in the order in which a claimer raises its epoch and reads (F1 to F3)."""
FENCES: Final = {f"fence_{store}": store for store in STORES}
"""The places of a worker that has claimed and not yet read all stores."""
OPEN: Final[Guard] = guard(job="open")
"""The job's status in which it may be claimed."""
STARTED: Final = "append_started"
AT_REST: Final = frozenset({"job_parked", "job_waiting"})
"""The events that let go of a job until somebody speaks. What was said before them has to be heard first: their appends are never
rebased, and refused where clients alone were faster (T-WRITE)."""

PROTECTIONS: Final = {
    "fence-events": "an append below the event stream's fence is refused, and F1 raises that fence",
    "fence-ledger": "a write below the ledger's fence is refused, and F2 raises that fence",
    "fence-effects": "a write below the effect store's fence is refused, and F3 raises that fence",
    "conditional": "an append is refused where another worker's event came since the worker last read the stream",
    "checked": "where the started event is refused, nothing executes",
}


@dataclass(frozen=True)
class FleetPolicy:
    """Which protections are switched on. With none of them a lease is all there is, and its expiry stops nobody."""

    name: str
    on: frozenset[str] = frozenset(PROTECTIONS)

    def __post_init__(self) -> None:
        unknown = self.on - PROTECTIONS.keys()
        if unknown:
            raise ValueError(f"policy {self.name!r}: there are no protections {', '.join(sorted(unknown))}")

    def fences(self, store: str) -> bool:
        """Whether a store has a fence."""
        return f"fence-{store}" in self.on


FENCED: Final = FleetPolicy("fleet")


@dataclass(frozen=True)
class Registry:
    """A store without a fence, which is atomic for each record: a record is created once, and answered once (C-BIND).

    store: its name. record: the durable field whose first value says that there is no record. asked: the place at which a worker
    reads the record, and to which it goes back where it finds the one there that it was about to create.
    """

    store: str
    record: str
    asked: str


@dataclass(frozen=True)
class Shape:
    """What is said of a machine so that it can be worked by many.

    stores: the store of each durable field. neutral: durable fields that only clients write, and whose events are rebased
    over (T-WRITE); a worker has no copy of them. request: the world's field that belongs to one worker, its own request;
    sent: the value of it while the world may still act. sending: places from which a request leaves. late: the count of
    requests that nobody waits for. possible: rules after which a request may leave at any time, so that no quiet time can
    have passed. bars: rules that look at the tool and have it refuse every request with an older token. begin: for a
    machine without rows of its own for F1 to F3, the rules of the boundary `claim` begin the work once all stores are read.
    watched: fields of the event stream that clients write at any time, and workers take back: a worker's copy may be old, a row
    in memory goes by it, an append by what is there. registry: the store that no fence guards. others: what other processes than
    workers have in memory. means: values that the machine for one does not have, by field, with those that they are to it. holds:
    what is true of each worker beside what is true of every shape; name, guard that never holds. within: the stores that are
    asked at a place by a protocol of its own, of which the row there says the end alone.
    """

    stores: Mapping[str, str]
    neutral: tuple[str, ...] = ()
    request: str = ""
    sent: frozenset[str] = frozenset()
    sending: frozenset[str] = frozenset()
    late: str = ""
    possible: tuple[str, ...] = ()
    bars: tuple[str, ...] = ()
    begin: bool = False
    watched: tuple[str, ...] = ()
    registry: Registry | None = None
    others: tuple[str, ...] = ()
    means: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    holds: tuple[tuple[str, Guard], ...] = ()
    within: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _in(store: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), store)


STEP_SHAPE: Final = Shape(
    stores={
        **_in("events", "job open closed doubt retry finished committed resolved node requeue undone waiver cancel checkpoint"),
        **_in("ledger", "ledger recorded"),
        **_in("effects", "effect"),
    },
    neutral=("cancel",),
    request="request",
    sent=frozenset({"sent"}),
    sending=frozenset({"execute"}),
    late="wire",
    possible=("append started",),
    bars=("query: absent, fenced",),
    within={"compensate": ("ledger", "effects")},
)  # fmt: skip
"""The tool step (`step.py`)."""

RECORDED_SHAPE: Final = Shape(
    stores={**_in("events", "job committed node first_used other_used"), **_in("effects", "effect")}, begin=True
)
"""A recorded value (`recorded.py`)."""
