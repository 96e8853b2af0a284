"""Plausible bugs of the rules that a store keeps, planted for as long as a check lasts (E-TRUST, teeth).

Most are a condition that a statement has lost: what the protocol asks of a store is seldom met by a job that goes well.
"""

from collections.abc import Sequence
from typing import Any, Final

from ..runtime import sqlite_group, sqlite_statements, sqlite_store
from ..runtime.memory_store import MemoryStore
from ..runtime.records import Lease, NewEvent
from .substitute import Patch


def _altered(patch: Patch, names: Sequence[str], words: str, by: str = "") -> None:
    """Put something else in the place of some words of statements. AssertionError where they are not there."""
    for name in names:
        statement = getattr(sqlite_statements, name)
        assert words in statement, f"{name} has no {words!r}"
        patch.setattr(sqlite_statements, name, statement.replace(words, by))


def own_batch_known_below_the_fence(patch: Patch) -> None:
    """A stale worker's repeat of its own batch is acknowledged: its batch is looked for before the fence is."""
    original = sqlite_store._own_or_refused

    def planted(connection: Any, job_id: str, expected: int, events: Sequence[NewEvent], epoch: int) -> int:
        own = sqlite_store._own_version(connection, job_id, events)
        return original(connection, job_id, expected, events, epoch) if own is None else own

    patch.setattr(sqlite_store, "_own_or_refused", planted)


def committed_record_settled_anew(patch: Patch) -> None:
    """A committed record is settled once more, with another result."""
    _altered(patch, ("SETTLED", "SETTLE"), " AND status <> 'COMMITTED'")


def settled_below_the_fence(patch: Patch) -> None:
    """A stale worker settles a record."""
    fence = " AND NOT EXISTS (SELECT 1 FROM ledger_fences WHERE job_id = ?1 AND epoch > ?3)"
    _altered(patch, ("SETTLED", "SETTLE"), fence)


def appended_behind_the_end(patch: Patch) -> None:
    """A batch follows a terminal event."""
    _altered(patch, ("ADVANCE", "ADVANCE_TO"), f" AND {sqlite_statements._LIVES}")


def clients_fenced(patch: Patch) -> None:
    """What a client says is refused as soon as a worker has fenced the stream."""
    patch.setattr(sqlite_store, "_NO_EPOCH", 0)


def stream_fence_lowered(patch: Patch) -> None:
    """A stale worker lowers the fence of the stream, which lets its later appends through."""
    _altered(patch, ("FENCE_EVENTS",), " AND fence <= ?2")


def other_fences_lowered(patch: Patch) -> None:
    """The same of the ledger and the effect store."""
    _altered(patch, ("FENCE_LEDGER", "FENCE_EFFECTS"), " WHERE excluded.epoch >= epoch")


def another_plan_taken_for_the_same(patch: Patch) -> None:
    """A job that is submitted with another plan under the id of one that is there is taken for that one."""
    patch.setattr(sqlite_store, "check_same_job", lambda job_id, there, events: None)


_LAST: Final = "ELSE max(l.previous_expiry, l.expires_at) END"


def earlier_holders_forgotten(patch: Patch) -> None:
    """A claim keeps the last holder's expiry alone, though one before could send for longer."""
    _altered(patch, ("CLAIM_OLDEST", "CLAIM_ONE"), _LAST, "ELSE l.expires_at END")


def last_holder_forgotten(patch: Patch) -> None:
    """A claim keeps what was known before the last holder, who could send for longer."""
    _altered(patch, ("CLAIM_OLDEST", "CLAIM_ONE"), _LAST, "ELSE l.previous_expiry END")


def ended_job_claimed(patch: Patch) -> None:
    """A job that waits, or has ended, is claimed."""
    _altered(patch, ("CLAIM_OLDEST", "CLAIM_ONE"), "j.status = 'open' AND ")


def lease_made_shorter(patch: Patch) -> None:
    """A renewal by less than what is left takes time away."""
    _altered(patch, ("RENEW",), "max(expires_at, ?3)", "?3")


def stale_lease_renewed(patch: Patch) -> None:
    """An overtaken worker renews, and it is the newer lease that is made longer."""
    _altered(patch, ("RENEW",), "epoch = ?2", "?2 > 0")


def newer_lease_released(patch: Patch) -> None:
    """An overtaken worker releases, and it is the newer lease that ends."""
    _altered(patch, ("RELEASE",), "epoch = ?2", "?2 > 0")


def newer_lease_released_in_memory(patch: Patch) -> None:
    """The same in the memory store, on which the interleavings stand."""
    original = MemoryStore.release

    def planted(self: MemoryStore, lease: Lease) -> None:
        original(self, self._leases.get(lease.job_id, lease))

    patch.setattr(MemoryStore, "release", planted)


def step_of_another_owner_acquired(patch: Patch) -> None:
    """A step that is held is acquired by another owner at the same epoch."""
    _altered(
        patch, ("ACQUIRED", "ACQUIRE"), "epoch = excluded.epoch AND owner = excluded.owner", "epoch = excluded.epoch"
    )


def own_step_not_acquired_again(patch: Patch) -> None:
    """Whoever repeats an acquire whose answer was lost is told that somebody else holds the step (T-WRITE)."""
    _altered(patch, ("ACQUIRED", "ACQUIRE"), " OR epoch = excluded.epoch AND owner = excluded.owner")


def invocation_named_anew(patch: Patch) -> None:
    """A step that is acquired again has another invocation than the one that was sent with its request."""
    _altered(
        patch,
        ("ACQUIRED", "ACQUIRE"),
        "owner = excluded.owner,",
        "owner = excluded.owner, invocation_id = excluded.invocation_id,",
    )


def effect_written_over(patch: Patch) -> None:
    """A second effect record takes the place of the first."""
    _altered(patch, ("PUT_EFFECT",), "DO NOTHING", "DO UPDATE SET output = excluded.output")


def effect_put_below_the_fence(patch: Patch) -> None:
    """A stale worker writes an effect record."""
    fence = " WHERE NOT EXISTS (SELECT 1 FROM effect_fences WHERE job_id = ?2 AND epoch > ?1)"
    _altered(patch, ("PUT_EFFECT",), fence, " WHERE ?1 >= 0")


def other_arguments_joined(patch: Patch) -> None:
    """Joined writes acquire a record for other arguments than it has."""
    _altered(patch, ("ACQUIRED",), " AND args_hash = excluded.args_hash")


def records_of_another_job_read(patch: Patch) -> None:
    """F2 for some keys alone reads what another job has under them."""
    _altered(patch, ("LEDGER_AMONG",), "job_id = ? AND", "(job_id = ? OR 1) AND")


def joined_writes_made_in_part(patch: Patch) -> None:
    """Of joined writes those are made that are not refused."""
    original = sqlite_group._does

    def planted(connection: Any, statement: sqlite_group.Statement) -> bool:
        original(connection, statement)
        return True

    patch.setattr(sqlite_group, "_does", planted)
