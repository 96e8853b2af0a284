"""Substitution at run time: a bug is planted for as long as a check lasts, and nothing of it is left behind."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

_MISSING: Final = object()


class Patch(Protocol):
    """What a bug is planted with: `setattr`, undone in the end. pytest's `MonkeyPatch` is one, too."""

    def setattr(self, target: Any, name: str, value: Any) -> None:
        """Put a value in the place of an attribute."""


Plant = Callable[[Patch], None]
"""A bug: a function that puts something else in the place of a few lines of the runtime."""


def nothing(patch: Patch) -> None:
    """Nothing is planted."""


class Substitution:
    """Attributes replaced; `undo` puts each back, in reverse."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def setattr(self, target: Any, name: str, value: Any) -> None:
        """Replace an attribute. Raises AttributeError where there is none: nothing would be planted."""
        getattr(target, name)
        self._before.append((target, name, vars(target).get(name, _MISSING)))
        setattr(target, name, value)

    def undo(self) -> None:
        """Put everything back."""
        while self._before:
            target, name, value = self._before.pop()
            if value is _MISSING:
                delattr(target, name)
            else:
                setattr(target, name, value)


@contextmanager
def planted(plant: Plant) -> Iterator[None]:
    """Plant a bug; it is gone when the block ends, however it ends."""
    substitution = Substitution()
    try:
        plant(substitution)
        yield
    finally:
        substitution.undo()
