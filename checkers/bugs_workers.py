"""Plausible bugs of a worker that was paused or overtaken, planted for as long as a check lasts (E-TRUST, teeth)."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..runtime import drive, job
from ..runtime.hold import Hold
from ..runtime.records import Lease
from .substitute import Patch


def lease_not_looked_at(patch: Patch) -> None:
    """A worker that wakes does not ask for its lease before it goes on."""

    def careless(lease: Lease, *_: object) -> Lease:
        return lease

    patch.setattr(drive, "tend", careless)


def lost_lease_not_heard(patch: Patch) -> None:
    """A turn does not ask what the heartbeat has learned of its lease."""
    patch.setattr(Hold, "current", lambda hold: hold.lease)


def told_under_a_lease_that_ran_out(patch: Patch) -> None:
    """A tool is told a recorded input whenever that is durable: it sends its request though the lease has run out meanwhile."""
    honest = drive.recording

    def endless(lease: Lease | None) -> Lease | None:
        return lease and lease._replace(expires_at=math.inf)

    def recording(ports: Any, perform: Any, lease: Callable[[], Lease | None], *more: Any) -> Any:
        return honest(ports, perform, lambda: endless(lease()), *more)

    patch.setattr(drive, "recording", recording)


def rest_told_as_completed(patch: Patch) -> None:
    """A turn says that its job is completed, whatever became of it."""
    honest = job.resume

    def resume(*given: Any) -> Any:
        end = yield from honest(*given)
        return replace(end, status="completed")

    patch.setattr(job, "resume", resume)
