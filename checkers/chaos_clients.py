"""The errands of a chaos campaign, seen from the supervisor: who does which, and again where its process was killed."""

import random
import time
from collections import deque
from typing import Final

from ..runtime.records import Json
from .chaos_errands import Done, Errand, Kind
from .chaos_fleet import Fleet, Slot
from .chaos_judge import Job

BOTH: Final = 0.4
"""How often two people see to the same job, and two clients send the same signal."""
DENIED: Final = 0.15
"""How often a person denies what is to be approved; two may say different things."""
AGAIN: Final = 0.5
"""Seconds until a person looks again at a job that could not be answered."""


class Clients:
    """Hands errands to client processes. An errand whose process dies is done again, under another token."""

    def __init__(self, fleet: Fleet, chance: random.Random, prefix: str) -> None:
        self._slots, self._chance, self._prefix = fleet.clients, chance, prefix
        self._queues: dict[int, deque[tuple[Job, Errand]]] = {slot.number: deque() for slot in self._slots}
        self._at_work: dict[int, tuple[Job, Errand, int]] = {}
        self._count = 0
        self.done: set[str] = set()
        """The errands that have ended, by their first token."""

    def ask(self, job: Job, kind: Kind, detail: Json = None, but: Slot | None = None) -> str:
        """Have an errand done by somebody, not by `but`; its first token."""
        free = [slot for slot in self._slots if slot is not but]
        slot = min(free, key=lambda each: (each.stopped, len(self._queues[each.number]), self._chance.random()))
        errand = Errand(kind, job.job_id, detail, self._token())
        self._queues[slot.number].append((job, errand))
        return errand.token

    def attend(self, job: Job) -> None:
        """Have somebody see to a job at rest, unless that is under way; sometimes two at the same time."""
        if self.busy(job) or time.monotonic() < job.patience:
            return
        for slot in self._slots if self._chance.random() < BOTH else [self._chance.choice(self._slots)]:
            word = "deny" if self._chance.random() < DENIED else "approve"
            self.ask(job, "attend", word, but=slot)

    def busy(self, job: Job) -> bool:
        """Whether somebody has an errand about a job."""
        waiting = (each for queue in self._queues.values() for each, _ in queue)
        return any(each is job for each in waiting) or any(each is job for each, *_ in self._at_work.values())

    @property
    def idle(self) -> bool:
        """Whether nobody has an errand."""
        return not self._at_work and not any(self._queues.values())

    def turn(self) -> None:
        """Give errands to whoever has none, and again to whoever comes in the place of a process that died with one."""
        for slot in self._slots:
            if not slot.ready:
                continue
            job, errand, pid = self._at_work.get(slot.number, (None, None, 0))
            if job is None and self._queues[slot.number]:
                job, errand = self._queues[slot.number].popleft()
            elif pid == slot.pid or errand is None:
                continue
            else:
                errand = errand._replace(token=f"{errand.token}+")
            assert job is not None
            job.tokens.append(errand.token)
            self._at_work[slot.number] = job, errand, slot.pid
            slot.say("do", errand)

    def hear(self, slot: Slot, done: Done) -> Job:
        """An errand has ended; the job that it was about."""
        job, errand, _ = self._at_work.pop(slot.number)
        self.done.add(errand.token.rstrip("+"))
        if done.outcome in ("early", "nothing"):
            job.patience = time.monotonic() + AGAIN
        if done.outcome == "unknown" and errand.kind != "attend":  # who attends looks again anyway
            self.ask(job, errand.kind, errand.detail)
        return job

    def _token(self) -> str:
        self._count += 1
        return f"{self._prefix}.{self._count}"
