"""Plausible bugs of a worker that was paused or overtaken, planted for as long as a check lasts (E-TRUST, teeth)."""

from ..runtime import drive
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
