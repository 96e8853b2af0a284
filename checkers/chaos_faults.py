"""The fault plan of a chaos campaign: which fault is to strike at which moment, in an order that the seed alone decides."""

import random
from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple

from .chaos_errands import Kind
from .chaos_without import STEERING, Protection, Until
from .chaos_worker import Moment

FaultKind = Literal[
    "kill",
    "pause",
    "late write",
    "hold",
    "server immediate",
    "server kill",
    "cut request",
    "cut reply",
    "clock",
    "disk full",
]
"""`hold` is for steering alone: one thread of a process waits, and its heartbeat goes on."""

WORDS: Final[dict[FaultKind, str]] = {
    "kill": "SIGKILL of the process",
    "pause": "SIGSTOP past the lease, then SIGCONT",
    "late write": "SIGSTOP past the lease with a write on the wire, which arrives after the take-over",
    "hold": "one thread waits at its moment",
    "server immediate": "the server stopped in immediate mode, and started again",
    "server kill": "the server's first process killed with SIGKILL, and started again",
    "cut request": "the connection cut before the write reaches the server",
    "cut reply": "the connection cut after the server's COMMIT, before the client hears of it",
    "clock": "the process's wall clock jumps by hours",
    "disk full": "no room on the store's disk, for a while",
}

WRITES: Final = (
    "claim", "fence_events", "fence_ledger", "fence_effects", "acquire", "append_started",
    "put_effect", "append_finished", "append_no_effect", "append_unknown", "append_committed", "commit",
    "ledger_no_effect", "ledger_unknown", "schedule_retry", "append_node_finished", "checkpoint", "append_completed",
    "catch_up_effect", "catch_up_finished", "catch_up_committed", "catch_up_commit",
    "heartbeat", "park", "append_resolved", "append_node_failed", "append_failed",
    "open_approval", "append_waiting", "append_wait_completed", "append_cancelled",
    "append_compensation_started", "append_compensated", "append_compensation_failed",
)  # fmt: skip
"""The boundaries at which workers write to the store, in the campaign's jobs."""
SAID: Final = ("submit", "signal", "cancel", "resolve", "request_compensation", "answer", "release")
"""Those at which clients and people do."""
BOUNDARIES: Final = (*WRITES, *SAID, "execute", "query", "compensate")
"""All of them; the last ones speak to the world."""

_SIDES: Final[tuple[Moment, ...]] = tuple(
    moment for name in BOUNDARIES for moment in ((name, "before"), (name, "after"))
)
_INSIDE: Final[Moment] = ("execute", "inside")
_WRITTEN: Final[tuple[Moment, ...]] = tuple((name, "before") for name in (*WRITES, *SAID))
_LEASED: Final[tuple[Moment, ...]] = tuple(
    (name, "before") for name in WRITES if name not in ("claim", "heartbeat", "open_approval")
)
_BEFORE: Final[tuple[Moment, ...]] = tuple((name, "before") for name in BOUNDARIES)

MOMENTS: Final[dict[FaultKind, tuple[Moment, ...]]] = {
    "kill": (*_SIDES, _INSIDE),
    "pause": (*_SIDES, _INSIDE),
    "late write": _LEASED,
    "server immediate": _SIDES,
    "server kill": _SIDES,
    "cut request": _WRITTEN,
    "cut reply": _WRITTEN,
    "clock": _BEFORE,
    "disk full": _WRITTEN,
}
"""Where each kind strikes. What befalls the write itself has one moment for each write. A write is late under a lease."""


class Fault(NamedTuple):
    """A fault and its moment. until: of a pause, what others have to do before the process goes on.

    beside: what a client is asked to do meanwhile, about the same job; steering alone asks for it.
    """

    kind: FaultKind
    moment: Moment
    until: Until = "taken over"
    beside: Kind | None = None

    def __str__(self) -> str:
        return f"{self.kind} at {self.moment[0]}:{self.moment[1]}, until {self.until}"


class Plan:
    """The faults that are still to strike: round after round of all of them, each in an order of its own.

    What could not strike, because nobody came to its moment, comes again in the next round.
    """

    def __init__(self, chance: random.Random, faults: Sequence[Fault]) -> None:
        self._chance, self._all = chance, list(faults)
        self._left: list[Fault] = []

    def take(self, count: int) -> list[Fault]:
        """The next few, at different moments."""
        if not self._left:
            self._left = self._all.copy()
            self._chance.shuffle(self._left)
        taken: dict[Moment, Fault] = {}
        for fault in self._left:
            if len(taken) < count:
                taken.setdefault(fault.moment, fault)
        self._left = [fault for fault in self._left if taken.get(fault.moment) is not fault]
        return list(taken.values())

    def give_back(self, faults: Sequence[Fault]) -> None:
        """Not struck, since another one of the few came first: they are next again."""
        self._left[:0] = faults


def faults_of(kinds: Collection[str]) -> list[Fault]:
    """Every fault of these kinds. A client that is stopped is not taken over: it waits until somebody else has written."""
    return [
        Fault(kind, moment, "written" if moment[0] in SAID else "taken over")
        for kind, moments in MOMENTS.items()
        if kind in kinds
        for moment in moments
    ]


def steered(without: Sequence[Protection]) -> list[Fault]:
    """The faults that show what is missing without these protections."""
    return sorted({Fault(*strike) for name in without for strike in STEERING[name].strikes}, key=str)
