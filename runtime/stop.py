"""How a worker is asked to stop: by a signal, or by whoever holds its `Stop`."""

import os
import signal
import time
from collections.abc import Callable


class Stop:
    """Whether the worker has been asked to stop. It looks between two turns, so a turn is always finished."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self.requested = False
        self._sleep = sleep

    def on_signals(self, line: Callable[[str], str] = "crashwindow: {}\n".format) -> None:
        """Let the first SIGTERM or SIGINT ask; a second one ends the process at once, which recovery has to bear anyway.

        line: makes of the words that are said then a line for standard error.
        """

        def ask(number: int, frame: object) -> None:
            self.requested = True
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            # Not print: a signal may arrive while print itself is at work.
            os.write(2, line("finishing the current turn, then stopping; a second signal stops at once").encode())

        signal.signal(signal.SIGTERM, ask)
        signal.signal(signal.SIGINT, ask)

    def wait(self, seconds: float) -> None:
        """Sleep, but not much longer than until somebody asks: a signal handler alone does not end a sleep."""
        give_up = time.monotonic() + seconds
        while not self.requested and (left := give_up - time.monotonic()) > 0:
            self._sleep(min(left, 0.1))
