"""Python's collector of cycles, stopped where a search keeps all that it makes."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
