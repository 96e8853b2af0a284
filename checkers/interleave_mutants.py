"""Protections taken away, one at a time, around the shipped store: what the interleavings then have to find."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ..runtime.commands import Acquire, Append, Command, PutEffect, Settle
from ..runtime.records import Lease
from ..runtime.store import StaleEpoch, VersionConflict
from .interleave_store import Effects, Ledger, Name, Shelf, Stream, timeless

Phase = Literal["", "sent", "checked"]
"""Of a worker's command: not begun; a request that is sent; a write that was allowed and is not made yet."""


@dataclass(frozen=True)
class Mutant:
    """A store without one of its protections. `words` says what it does instead.

    unfenced: stores that take a write of any epoch. unconditional: an append lands at the end, whatever was expected.
    unchecked: a started append that is refused is taken for done. parted: whether a write is allowed is found out in one step,
    and it is made in another: of B1; or of every write, and then nothing but the lease is looked at. unlooked: the worker never
    looks at the clock, so it neither renews its lease nor stops before B3 when that is over. token_alone: a fencing look
    at the tool refuses the requests of older epochs only. unowned: B1 takes a record that is not committed from whoever holds it.
    """

    name: str = ""
    words: str = ""
    unfenced: tuple[Name, ...] = ()
    unconditional: bool = False
    unchecked: bool = False
    parted: Literal["", "acquire", "lease alone"] = ""
    unlooked: bool = False
    token_alone: bool = False
    unowned: bool = False

    def looks_first(self, command: Command) -> bool:
        """Whether this write is made in two steps."""
        if self.parted == "lease alone":
            return isinstance(command, Append | Acquire | Settle | PutEffect)
        return self.parted == "acquire" and isinstance(command, Acquire)

    def perform(self, command: Command, shelf: Shelf, act: Callable[[Command], Any], phase: Phase) -> Any:
        """Perform a write on what the shelf's store holds, without the protection."""
        if self.unconditional and isinstance(command, Append):
            command = replace(command, expected=len(shelf.store._streams[command.job_id].events))
        unfenced = ("ledger",) if phase == "checked" and self.parted == "acquire" else self.unfenced
        fences = _lowered(shelf, unfenced)
        if isinstance(command, Acquire) and (phase == "checked" or self.unowned):
            for ledger in shelf.store._ledgers.values():
                held = ledger.records.get(command.record.idempotency_key)
                if held is not None and (phase == "checked" or not held.committed):
                    del ledger.records[held.idempotency_key]
        try:
            return act(command)
        except (StaleEpoch, VersionConflict):
            if self.unchecked and isinstance(command, Append) and command.boundary == "append_started":
                return command.expected + len(command.events)
            raise
        finally:
            for part, fence in fences:
                part.fence = max(part.fence, fence)


SHIPPED: Final = Mutant()
"""Nothing is taken away."""


def _lowered(shelf: Shelf, names: tuple[Name, ...]) -> list[tuple[Any, int]]:
    """The parts of the store whose fence is down now, with the fence that they had."""
    if not names:
        return []
    store = shelf.store
    parts: dict[Name, list[Any]] = {
        "stream": [*store._streams.values()], "ledger": [*store._ledgers.values()], "effects": [*store._effects.values()]
    }  # fmt: skip
    fences = [(part, part.fence) for name in names for part in parts[name]]
    for part, _ in fences:
        part.fence = 0
    return fences


def allowed(lease: Lease | None, mine: Lease | None, now: float) -> bool:
    """A lease alone: it is the newest, and has not run out."""
    return lease is not None and mine is not None and lease.epoch == mine.epoch and lease.expires_at > now


def refused_writes(command: Command, before: Any, after: Any) -> list[str]:
    """P5 and P7 of one write to one store, told from its content before and after: nothing of the store's own logic is asked.

    T-ORDER: an append lands where its writer expected the stream to end, or nowhere.
    """
    if before == after:
        return []
    found = []
    epoch = epoch_of(command)
    if not isinstance(before, Lease | None) and epoch is not None and epoch < before.fence:
        found.append(f"P5: {command.boundary} of epoch {epoch} has changed a store that is fenced at {before.fence}")
    match before, after:
        case Stream(_, _, old), Stream(_, _, new):
            if list(map(timeless, new[: len(old)])) != list(map(timeless, old)):
                found.append("P7: an event is gone or altered")
            if isinstance(command, Append) and len(new) > len(old) and command.expected != len(old):
                found.append(
                    f"T-ORDER: {command.boundary} expected version {command.expected}, and landed after {len(old)}"
                )
        case Ledger(_, old), Ledger(_, new):
            if any(record.status == "COMMITTED" and record not in new for record in old):
                found.append("P7: a committed record has changed")
        case Effects(_, old), Effects(_, new):
            if any(record not in new for record in old):
                found.append("P7: an effect record has changed")
    return found


def epoch_of(command: Command) -> int | None:
    """The epoch that a command carries; None for what people and clients write."""
    match command:
        case Append(epoch=epoch) | Settle(epoch=epoch) | PutEffect(epoch=epoch):
            return epoch
        case Acquire(record):
            return record.epoch
        case _:
            lease = getattr(command, "lease", None)
            return lease.epoch if isinstance(lease, Lease) else None


_EVERY: Final[tuple[Name, ...]] = ("stream", "ledger", "effects")
MUTANTS: Final = {
    mutant.name: mutant
    for mutant in (
        Mutant("events-unfenced", "the event stream takes a write of any epoch", ("stream",)),
        Mutant("ledger-unfenced", "the ledger takes a write of any epoch", ("ledger",)),
        Mutant("effects-unfenced", "the effect store takes a write of any epoch", ("effects",)),
        Mutant("append-unconditional", "an append lands at the end, whatever was expected", unconditional=True),
        Mutant("acquire-not-atomic", "B1 reads whether it may, and writes in another step", parted="acquire"),
        Mutant("started-unchecked", "a started append that is refused is taken for done", unchecked=True),
        Mutant("unlooked", "nobody looks at the lease before B3", unlooked=True),
        Mutant("look-by-token", "a fencing look lets the asker's own earlier request pass", token_alone=True),
        Mutant("started-unchecked-unlooked", "both", unchecked=True, unlooked=True),
        Mutant("events-unfenced-unlooked", "both", ("stream",), unlooked=True),
        Mutant("effects-unfenced-unlooked", "both", ("effects",), unlooked=True),
        Mutant("ledger-unowned", "B1 takes a record from a newer epoch", unowned=True),
        Mutant("ledger-unfenced-unowned", "both", ("ledger",), unowned=True),
        Mutant("condition-alone", "no store is fenced; appends are conditional", _EVERY),
        Mutant("condition-alone-unlooked", "the same, and nobody looks at the lease before B3", _EVERY, unlooked=True),
        Mutant(
            "lease-alone", "no fence, no condition: a writer looks whether it holds the lease, and writes in another step",
            _EVERY, unconditional=True, parted="lease alone",
        ),
        Mutant(
            "lease-alone-unlooked", "the same, and nobody looks at the lease before B3",
            _EVERY, unconditional=True, parted="lease alone", unlooked=True,
        ),
    )
}  # fmt: skip
