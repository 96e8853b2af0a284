"""Stages in a process of their own: what they compute would keep this interpreter from everything else.

One process does all of them, one after the other, so that what they import is loaded once. It is told which function to call
and for which run, says how far it is, and ends with what was found, or why nothing was. It is given no searches and no proofs
of this process: what it says is what the stage would have said here.
"""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .collector import collect_seldom
from .orphan import end_with

if TYPE_CHECKING:
    from .verify import Context, Found, Profile

    Run = Callable[[Context], Found]

LISTENING_SECONDS = 0.2
"""How long it may take until somebody who is told nothing new hears that the run is over."""


ENDED = "the process of the stage ended without a result"


class Failure(NamedTuple):
    """What a stage raised over there, as its traceback."""

    words: str


class Elsewhere:
    """The process, started with the first stage, and again behind one that did not end well. Raises whatever telling raises."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def run(self, run: "Run", context: "Context") -> "Found":
        """What a stage finds. The function has to be one that can be imported. Raises RuntimeError where the stage raises."""
        connection = self._connected()
        try:
            connection.send((run, context.profile, context.seed, context.directory))
            said = self._heard(connection, context.tell)
        except BaseException:
            # Whatever that process still says is of this stage, and must not be taken for the next one's.
            self.close()
            raise
        if isinstance(said, Failure):
            raise RuntimeError(said.words)
        return said

    def _heard(self, connection: Connection, tell: "Callable[[str], None]") -> "Found | Failure":
        """The last word of a stage; how far it is is told meanwhile."""
        told = ""
        while True:
            if not connection.poll(LISTENING_SECONDS):
                if self._process is None or not self._process.is_alive():
                    raise RuntimeError(ENDED)
                tell(told)
                continue
            try:
                said: str | Failure | Found = connection.recv()
            except EOFError:
                raise RuntimeError(ENDED) from None
            if not isinstance(said, str):
                return said
            told = said
            tell(told)

    def _connected(self) -> Connection:
        if self._connection is None:
            fresh = multiprocessing.get_context("spawn")
            self._connection, theirs = fresh.Pipe()
            self._process = fresh.Process(target=serve, args=(theirs, os.getpid()), daemon=True)
            self._process.start()
            theirs.close()
        return self._connection

    def close(self) -> None:
        """End the process at once, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None


def serve(connection: Connection, parent: int) -> None:
    """Answer until nobody asks any more. An interrupt from the keyboard is for the parent, which ends this process."""
    from .verify import Context

    end_with(parent)
    collect_seldom()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            request: tuple[Run, Profile, int, Path] = connection.recv()
        except EOFError:
            return
        run, profile, seed, directory = request
        try:
            connection.send(run(Context(profile, seed, directory, connection.send)))
        except Exception:
            connection.send(Failure(traceback.format_exc()))
