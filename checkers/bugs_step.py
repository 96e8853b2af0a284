"""Plausible bugs of what the durable tool step writes, planted for as long as a check lasts (E-TRUST, teeth).

They are those that a reviewer would try first. Each is a few lines put in the place of others; production code has no switch
for any of them.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, TypeVar

from ..runtime import drive, sqlite_statements
from ..runtime.commands import Append, Command, Execute, Fence, Ports, Settle
from ..runtime.protocol import Step
from ..runtime.records import NEUTRAL, EffectRecord
from ..runtime.sqlite_store import SqliteStore
from ..runtime.store import StoreError, VersionConflict
from ..runtime.turn import End
from .substitute import Patch

Commands = Generator[Any, Any, Any]
E = TypeVar("E", bound=Exception)


def swapped_writes(patch: Patch) -> None:
    """append_finished stands before put_effect."""
    original = Step.__init__

    def planted(self: Step, *arguments: Any) -> None:
        original(self, *arguments)
        first, second, *rest = self.policy.order
        self.policy = replace(self.policy, order=(second, first, *rest))

    patch.setattr(Step, "__init__", planted)


def skipped_committed(patch: Patch) -> None:
    """command_committed is never appended."""
    original = Step.record

    def planted(self: Step) -> Commands:
        commands: Commands = original(self)
        reply = None
        while True:
            try:
                command = commands.send(reply)
            except StopIteration:
                return
            skip = command.boundary.endswith("_committed")
            reply = command.expected if skip else (yield command)

    patch.setattr(Step, "record", planted)


def altered_result(patch: Patch) -> None:
    """Catch-up writes another result than the one it found."""
    original = Step.record

    def planted(self: Step) -> Commands:
        if self.catching_up:
            self.memory = replace(self.memory, result=["altered", self.memory.result])
        return original(self)

    patch.setattr(Step, "record", planted)


def ledger_forgotten(patch: Patch) -> None:
    """What the ledger has just been told is forgotten before a cancel: NO_EFFECT is written over COMMITTED."""
    original = Step.record

    def planted(self: Step) -> Commands:
        before = self.ledger
        yield from original(self)
        self.ledger = before

    patch.setattr(Step, "record", planted)


def unchecked_started(patch: Patch) -> None:
    """The answer of B2 is not looked at: an append that failed counts as done."""
    original = drive.persist

    def persist(command: Command, ports: Any, perform: drive.Perform) -> Any:
        if not (isinstance(command, Append) and command.boundary == "append_started"):
            return original(command, ports, perform)
        try:
            return perform(command, ports)
        except StoreError:
            return command.expected + len(command.events)

    patch.setattr(drive, "persist", persist)


def execute_before_started(patch: Patch) -> None:
    """B3 before B2: the request is sent, and then it is said that one will be."""
    original = Step.attempt

    def planted(self: Step) -> Commands:
        steps = original(self)
        held = yield next(steps)
        started = steps.send(held)
        outcome = yield Execute(self.tool, self.node.args, self.context(self.past.attempts + 1))
        execute = steps.send((yield started))
        assert isinstance(execute, Execute)
        reply: Any = outcome
        while True:
            try:
                command = steps.send(reply)
            except StopIteration as stop:
                return stop.value
            reply = yield command

    patch.setattr(Step, "attempt", planted)


def effect_not_stored(patch: Patch) -> None:
    """An effect record is acknowledged and not written."""
    patch.setattr(SqliteStore, "put_effect", lambda self, record, epoch: None)


def lost_answer_taken_for_failure(patch: Patch) -> None:
    """A write whose answer was lost is taken for one that failed: it is appended once more, behind itself."""
    original = drive.persist

    def planted(command: Command, ports: Ports, perform: drive.Perform) -> Any:
        if not isinstance(command, Append):
            return original(command, ports, perform)
        try:
            return perform(command, ports)
        except StoreError:
            newest = len(ports.store.events(command.job_id))
            return original(replace(command, expected=newest), ports, perform)

    patch.setattr(drive, "persist", planted)


def overtaken_taken_for_done(patch: Patch) -> None:
    """A write that was not answered, and then finds neutral events before it, is taken for one that was made (T-WRITE)."""

    def done(asked: Command, conflict: VersionConflict) -> int:
        neutral = not conflict.ended and all(event.type in NEUTRAL for event in conflict.tail)
        if not (neutral and isinstance(asked, Append)):
            raise conflict
        return asked.expected + len(asked.events)

    taken_behind_a_lost_answer(patch, VersionConflict, done)


def taken_behind_a_lost_answer(patch: Patch, refusal: type[E], done: Callable[[Command, E], Any]) -> None:
    """Where a command got no answer, and is then refused, the driver goes on with what `done` says, unless that raises."""
    original = drive.persist

    def planted(command: Command, ports: Any, perform: drive.Perform) -> Any:
        unanswered = False

        def believing(asked: Command, at: Any) -> Any:
            nonlocal unanswered
            try:
                return perform(asked, at)
            except refusal as error:
                if not unanswered:
                    raise
                return done(asked, error)
            except StoreError:
                unanswered = True
                raise

        return original(command, ports, believing)

    patch.setattr(drive, "persist", planted)


def catch_up_skips_committed(patch: Patch) -> None:
    """Recovery repeats every success write but command_committed."""
    original = Step.record

    def planted(self: Step) -> Commands:
        writes: Commands = original(self)
        reply = None
        while True:
            try:
                command = writes.send(reply)
            except StopIteration:
                return
            skip = self.catching_up and isinstance(command, Append) and command.boundary.endswith("_committed")
            reply = command.expected if skip else (yield command)

    patch.setattr(Step, "record", planted)


def ledger_left_open(patch: Patch) -> None:
    """B7 is forgotten: the ledger is never told that the step is committed."""
    original = Step.record

    def planted(self: Step) -> Commands:
        writes: Commands = original(self)
        reply = None
        while True:
            try:
                command = writes.send(reply)
            except StopIteration:
                return
            reply = None if isinstance(command, Settle) else (yield command)

    patch.setattr(Step, "record", planted)


def node_finished_twice(patch: Patch) -> None:
    """node_finished is appended whether it is there or not."""
    original = Step.conclude

    def planted(self: Step) -> Commands:
        if self.past.node is not None and not self.past.undo:
            yield from self.append("append_node_finished", "node_finished", result_type="side_effect_committed")
        return (yield from original(self))

    patch.setattr(Step, "conclude", planted)


def checkpoint_first(patch: Patch) -> None:
    """The checkpoint covers the step before its node is finished, so it hides what is not there yet."""
    original = Step.conclude

    def planted(self: Step) -> Commands:
        if self.past.node is None and not self.past.checkpointed and self.past.undo is None and self.failure is None:
            yield from self.append("checkpoint", "state_checkpointed", covers=self.run.version)
            self.past.checkpointed = True
        return (yield from original(self))

    patch.setattr(Step, "conclude", planted)


def epoch_not_raised(patch: Patch) -> None:
    """A claim hands out the epoch that the last one had: the fences let an overtaken worker through."""
    for name in ("CLAIM_ONE", "CLAIM_OLDEST"):
        text = getattr(sqlite_statements, name)
        assert "ifnull(l.epoch, 0) + 1" in text
        patch.setattr(sqlite_statements, name, text.replace("ifnull(l.epoch, 0) + 1", "ifnull(l.epoch, 1)"))


def effects_not_fenced(patch: Patch) -> None:
    """The fence is raised in two stores only: the effect store is read and not fenced."""
    original = Fence.perform

    def planted(self: Fence, ports: Ports) -> Any:
        if self.boundary == "fence_effects":
            return ports.store.effects(self.lease.job_id)
        return original(self, ports)

    patch.setattr(Fence, "perform", planted)


def parked_without_saying(patch: Patch) -> None:
    """A parked job says nothing: the turn ends, and no event does."""

    def planted(self: Step, reason: str | None = None) -> Commands:
        yield from ()
        return End(self.job_id, "parked", reason or "")

    patch.setattr(Step, "park", planted)


def older_steps_left(patch: Patch) -> None:
    """A job comes to rest at one step, and what a crash left of later ones is not settled."""
    patch.setattr(Step, "settle_later", lambda self: iter(()))


def output_hashed_as_input(patch: Patch) -> None:
    """The effect record bears the digest of what came out as that of what went in."""
    original = Step.effect_record

    def planted(self: Step, output_hash: str) -> EffectRecord:
        return replace(original(self, output_hash), input_hash=output_hash)

    patch.setattr(Step, "effect_record", planted)
