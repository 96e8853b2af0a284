"""Where methods of an adapter are called: a warm process apart, so that a campaign itself loads no runtime and dies with
none."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from ..evidence_matrix import Told
from .adapter import AdapterError, Capabilities, Subject
from .boundary import Source
from .child import Request
from .zygote import Ended

ZYGOTE: Final = "crashwindow.checkers.campaign.zygote"


class LabError(Exception):
    """The process that calls the methods has gone: says what it wrote."""


class Lab:
    """A warm process for one subject; a context manager ends it. source: who will find boundaries. places: a directory that it
    removes when it ends, as it does even if this process is killed.

    Raises AdapterError where the adapter cannot be used.
    """

    def __init__(self, subject: Subject, source: Source, places: Path | None = None) -> None:
        self.subject = subject
        self._process = subprocess.Popen(
            [sys.executable, "-m", ZYGOTE, json.dumps(asdict(subject)), source, *([str(places)] if places else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            # What can be imported here can be imported there.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        told = self._read()
        if "refused" in told:
            self.close()
            raise AdapterError(told["refused"])
        self.versions: dict[str, str] = told["versions"]
        self.promise = Told.model_validate_json(json.dumps(told["promise"]))
        self.capabilities = Capabilities(**told["capabilities"])

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, request: Request) -> Ended:
        """Call a method in a process of its own."""
        return self._ask(asdict(request))

    def wake(self, pid: int) -> Ended:
        """Let a paused process go on, to its end."""
        return self._ask({"wake": pid})

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, line: dict[str, Any]) -> Ended:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise LabError(f"the process of {self.subject.name} is gone") from error
        return Ended(**self._read())

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise LabError(f"the process of {self.subject.name} is gone, exit status {self._process.wait()}")
        read: dict[str, Any] = json.loads(line)
        return read
