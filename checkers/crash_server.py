"""Witness servers: processes of their own that play a tool's world, so that no crash of a worker's process is theirs."""

import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Final


@dataclass
class Server:
    """A module that is run as a process when it is first needed. It ends when its standard input does.

    Its first line of output says where it is reached; a line that it is sent is answered by a line.
    """

    module: str
    process: "subprocess.Popen[bytes] | None" = None
    first: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        SERVERS.append(self)

    def address(self) -> str:
        """Where it listens, as its first line says."""
        with self.lock:
            if self.process is None:
                command = [sys.executable, "-m", self.module]
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self.first = self._line()
            return self.first

    def ask(self, line: str) -> str:
        """Its answer to a line."""
        self.address()
        with self.lock:
            assert self.process
            assert self.process.stdin
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
            return self._line()

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate()
            self.process = None

    def _line(self) -> str:
        assert self.process
        assert self.process.stdout
        line = self.process.stdout.readline().decode().strip()
        if not line:
            raise RuntimeError(f"the witness server {self.module} gave no answer")
        return line


SERVERS: Final[list[Server]] = []
"""Every server that some module of this process declares."""


def stop_servers() -> None:
    """End those that run."""
    for server in SERVERS:
        server.stop()
