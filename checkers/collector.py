"""Python's collector of cycles, stopped where a search keeps all that it makes."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = 500_000
"""After how many new objects a process looks for garbage that keeps much and makes few cycles: more often is in vain."""


def collect_seldom() -> None:
    """Look through what this process has made once in `SELDOM` new objects; what it has loaded by now is looked at no more."""
    gc.freeze()
    gc.set_threshold(SELDOM)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the collector: what is remembered is kept to the end, and it would go over all of that again and again.

    Nor does it in the end, when it is allowed again: all that there is then is old, and waits until it looks at what is old.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.freeze()
            gc.unfreeze()  # moves what is frozen to the oldest generation
            gc.enable()
