"""Plausible bugs of writes that are joined in one transaction, planted for as long as a check lasts (E-TRUST, teeth)."""

from contextlib import suppress

from ..runtime.commands import Command, Execute
from ..runtime.joined import MakeDurable, Together
from ..runtime.store import StoreError
from ..runtime.turn import End
from .substitute import Patch


def _passes(patch: Patch, contact: type[Command | End]) -> None:
    """What stands before such a contact is made durable behind it, if ever."""
    original = Together.come_to

    def planted(self: Together, command: Command | End) -> None:
        if not isinstance(command, contact):
            original(self, command)

    patch.setattr(Together, "come_to", planted)


def joined_past_the_world(patch: Patch) -> None:
    """What stands before an execution is made durable behind it."""
    _passes(patch, Execute)


def ended_before_it_is_durable(patch: Patch) -> None:
    """A turn says how its job ended, and its last writes are still to be made durable."""
    _passes(patch, End)


def commit_taken_for_done(patch: Patch) -> None:
    """A commit without a definite answer is taken for done."""

    def planted(self: Together) -> None:
        if self._made:
            with suppress(StoreError):
                self._perform(MakeDurable(self._transaction))
            self._transaction.take_back()
            self._made.clear()

    patch.setattr(Together, "make_durable", planted)


def taken_back_and_forgotten(patch: Patch) -> None:
    """The writes of a transaction that was taken back are not made again."""

    def planted(self: Together) -> None:
        self.take_back()

    patch.setattr(Together, "_one_by_one", planted)
