"""What is kept of one schedule: how it ended, what it left, and what was wrong with the states that it went through."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from ..runtime.records import Json
from .crash_faults import Key
from .crash_subject import Court, Durable
from .crash_witness import Given, Witnessed

STORE: Final = "store.db"
EPOCH: Final = 1_800_000_000.0
"""When the first incarnation begins. Time is set, so that two runs of a schedule write the same bytes."""

By = Literal["snapshot", "SIGKILL", "store fault"]
"""How a schedule was struck: by a copy of the files, by the end of a process, or by an answer of the store."""


class Trace(NamedTuple):
    """What a run left in the end: the rows of the store, and what the world's witness says of each step.

    key: the replay key of the first schedule that left it. durable: without its moment. effects: how many a step had. results:
    what a step's first effect truly answered; without an effect there is none. given: what tools were handed.
    """

    case: str
    key: str
    durable: Durable
    effects: dict[str, int]
    results: dict[str, Json]
    given: tuple[Given, ...] = ()


Traces = dict[str, Trace]
"""Distinct traces, by their short hash."""


@dataclass(frozen=True)
class Record:
    """A schedule that was run.

    at_crash: the durable state that its last fault left (`crash_judge.described`); None when nothing was struck, or the
    worker went on after a store's answer. recovery: the boundaries performed after it. parked: the effects of each step when
    the recovery parked the job, if it did. trace: the short hash of what it left in the end; empty after an error.
    """

    key: Key
    by: By
    outcome: str
    at_crash: dict[str, Any] | None = None
    recovery: tuple[str, ...] = ()
    parked: tuple[int, ...] | None = None
    violations: tuple[str, ...] = ()
    error: str | None = None
    trace: str = ""

    @property
    def first(self) -> str:
        """The first boundary that the recovery performs once it has claimed, fenced and read; empty when there is none."""
        return next((name for name in self.recovery if name != "claim" and not name.startswith("fence_")), "")


def keep(traces: Traces, key: Key, court: Court, durable: Durable, witnessed: Witnessed) -> str:
    """Keep what a run left, unless the same was left before; its short hash."""
    durable = durable._replace(moment=0.0)
    effects = {name: witnessed.count(name) for name in court.steps_of(durable)}
    results: dict[str, Json] = {}
    for line in witnessed.effects:
        results.setdefault(line.step, line.result)
    given = tuple(witnessed.given)
    text = repr((key.case, key.policy, durable, effects, results, given))
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    if name not in traces:
        traces[name] = Trace(key.case, str(key), durable, effects, results, given)
    return name


def memory_directory(parent: str | None = None) -> str:
    """A new directory: under `parent`, else in memory, where syncing costs nothing, else wherever temporary files lie."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.mkdtemp(prefix="crashwindow-", dir=parent or memory)


class Judgement:
    """Takes the states of one schedule as they come, and says in the end what was wrong with it.

    It begins where the judgement of the schedule's earlier faults stood.
    """

    def __init__(self, court: Court, fault_free: str | None, earlier: "Judgement | None" = None) -> None:
        self.court, self.fault_free = court, fault_free
        self.ambiguous = False
        self.last: Durable | None = None
        self.at_crash: dict[str, Any] | None = None
        self.found: list[str] = []
        if earlier:
            self.ambiguous, self.last, self.at_crash = earlier.ambiguous, earlier.last, earlier.at_crash
            self.found = list(earlier.found)

    def crashed(self, durable: Durable, witnessed: Witnessed) -> None:
        """The state that a fault left."""
        self.found += self.court.broken_now(durable, witnessed)
        self._follows(durable)
        self.ambiguous = self.ambiguous or self.court.ambiguous(durable)
        self.at_crash = self.court.described(durable, witnessed)

    def parked(self, durable: Durable, witnessed: Witnessed) -> None:
        """The state in which the job waits for a person."""
        self.found += self.court.broken_at_rest(durable, witnessed)
        self._follows(durable)

    def ended(self, durable: Durable, witnessed: Witnessed) -> str:
        """The state in the end; the outcome."""
        self.found += self.court.broken_at_rest(durable, witnessed)
        self._follows(durable)
        ended = self.court.outcome(durable, witnessed)
        excused = self.ambiguous or self.court.excused(durable, witnessed)
        if self.fault_free not in (None, ended) and not excused:
            self.found.append(f"P4: without a fault it ends {self.fault_free}, here {ended}, and nothing was ambiguous")
        return ended

    def violations(self) -> tuple[str, ...]:
        """What was found, each once."""
        return tuple(dict.fromkeys(self.found))

    def so_far(self, durable: Durable) -> tuple[list[str], bool]:
        """All on which the judgement of a crash that leaves this state, and of what follows, depends but for the state itself."""
        return self.found + self._changed(durable), self.ambiguous

    def _follows(self, durable: Durable) -> None:
        self.found += self._changed(durable)
        self.last = durable

    def _changed(self, durable: Durable) -> list[str]:
        return [] if self.last is None else self.court.changed(self.last, durable)
