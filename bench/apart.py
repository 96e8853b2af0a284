"""A contestant in a process of its own: its threads, what it polls and what it imports do not slow the others down."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final

from .row import Measure

CLOSING_SECONDS: Final = 10.0
"""How long it may take to end."""

Begin = Callable[[Any], AbstractContextManager[Measure]]


@contextmanager
def apart(begin: Begin, stage: Any) -> Iterator[Measure]:
    """What `begin` begins there, measured from here. begin: a function of a module, as it goes to a new interpreter."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, begin, stage), daemon=True)
    process.start()
    there.close()
    try:
        _answer(here)

        def measure() -> float:
            here.send(None)
            figure: float = _answer(here)
            return figure

        yield measure
    finally:
        here.close()
        process.join(CLOSING_SECONDS)
        process.kill()
        process.join()


def _answer(connection: Connection) -> Any:
    """What it says. Raises what was raised over there."""
    try:
        said = connection.recv()
    except EOFError:
        raise RuntimeError("its process has ended without a word") from None
    if isinstance(said, Exception):
        raise said
    return said


def _serve(connection: Connection, begin: Begin, stage: Any) -> None:
    """The other end: a figure for each question, until nobody asks any more."""
    # An interrupt from the keyboard is for who asks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, BrokenPipeError):
        try:
            with begin(stage) as measure:
                connection.send(None)
                while True:
                    connection.recv()
                    connection.send(measure())
        except (EOFError, BrokenPipeError):
            raise
        except Exception as error:
            # Not every exception bears to be pickled.
            told = (
                error
                if type(error).__module__.startswith(__package__ or "")
                else RuntimeError(f"{type(error).__name__}: {error}")
            )
            connection.send(told)
