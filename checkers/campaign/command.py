"""A runtime in any language: a command that reads one request, as a line of JSON, and answers in lines of JSON.

docs/adapter-protocol.md is the protocol. Each request is a process of its own, which is in the session of the child that the
campaign strikes: what kills or traces the one kills and traces the other.
"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from typing import Any, Final, cast, get_args

from ...runtime.records import Json
from ..evidence_outcome import Outcome
from .adapter import AdapterError, Belief, Capabilities, Job, Known, Place, Promise, Status

PROTOCOL: Final = "see docs/adapter-protocol.md"
DESCRIBE_SECONDS: Final = 20.0
"""How long a command may take to describe itself."""


class Command:
    """The adapter of a command. options: handed to it with each request.

    It runs where the campaign was started, so that a path in it is found. Raises AdapterError.
    """

    def __init__(self, words: tuple[str, ...], options: Mapping[str, Json]) -> None:
        self._words, self._options, self._cwd = words, dict(options), os.getcwd()
        told = self._ask({"do": "describe"}, _nobody, DESCRIBE_SECONDS)
        try:
            promise = dict(told["promise"])
            allows = frozenset(map(Outcome, promise.pop("allows", ())))
            self.promise = Promise(**promise, allows=allows)
            self.capabilities = Capabilities(**told.get("capabilities", {}))
            self.versions: Mapping[str, str] = {str(name): str(each) for name, each in told.get("versions", {}).items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise AdapterError(
                f"{self._name}: the answer to describe: {type(error).__name__}: {error}; {PROTOCOL}"
            ) from error

    @property
    def _name(self) -> str:
        return " ".join(self._words)

    def prepare(self, place: Place) -> None:
        """Ask for a fresh durable state."""
        self._ask({"do": "prepare", **_where(place)})

    def start(self, place: Place, job: Job) -> None:
        """Ask it to run the job."""
        self._ask({"do": "start", **_where(place), **_what(job)}, job.accepted)

    def recover(self, place: Place, job: Job) -> None:
        """Ask it to recover."""
        self._ask({"do": "recover", **_where(place), **_what(job)}, job.accepted)

    def belief(self, place: Place, job: Job) -> Belief:
        """Ask it what its record says."""
        told = self._ask({"do": "belief", **_where(place), **_what(job)})
        status, steps, results = told.get("status"), told.get("steps", {}), told.get("results", {})
        if status not in get_args(Status):
            raise AdapterError(f"{self._name}: belief: status is {status!r}, not one of {', '.join(get_args(Status))}")
        if not isinstance(steps, dict) or not set(steps.values()) <= set(get_args(Known)):
            raise AdapterError(
                f"{self._name}: belief: a step is one of {', '.join(get_args(Known))}, not as in {steps}"
            )
        if not isinstance(results, dict):
            raise AdapterError(f"{self._name}: belief: results are by step, not {results!r}")
        return Belief(cast(Status, status), steps, results)

    def _ask(
        self, request: dict[str, Json], accepted: Callable[[], None] | None = None, seconds: float | None = None
    ) -> dict[str, Any]:
        """Run the command for one request; its last line. seconds: a bound, where nobody else has one."""
        line = json.dumps({**request, "options": self._options})
        try:
            process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self._cwd, text=True
            )
        except OSError as error:
            raise AdapterError(f"{self._name}: cannot be started: {error.strerror}") from error
        with process:
            try:
                return self._answer(process, line, accepted or _nobody, seconds)
            finally:
                process.kill()

    def _answer(
        self, process: "subprocess.Popen[str]", line: str, accepted: Callable[[], None], seconds: float | None
    ) -> dict[str, Any]:
        last: dict[str, Any] = {}
        for told in _lines(process, line, seconds):
            try:
                last = dict(json.loads(told))
            except (ValueError, TypeError) as error:
                raise AdapterError(
                    f"{self._name}: answered {told[:80]!r}, which is no object of JSON; {PROTOCOL}"
                ) from error
            if last.get("accepted"):
                accepted()
        if "error" in last:
            raise AdapterError(f"{self._name}: {last['error']}")
        if last.get("ok") is not True:
            raise AdapterError(f"{self._name}: ended without an answer, exit status {process.wait()}; {PROTOCOL}")
        return last


def _lines(process: "subprocess.Popen[str]", line: str, seconds: float | None) -> Any:
    """What a command answers to a line, as it comes."""
    if seconds is not None:
        try:
            return process.communicate(line + "\n", timeout=seconds)[0].splitlines()
        except subprocess.TimeoutExpired:
            return []
    assert process.stdin is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.close()
    except BrokenPipeError:
        pass  # It ended without reading: its answer, or that there is none, says why.
    return process.stdout


def _nobody() -> None:
    """Nobody waits to be told."""


def _where(place: Place) -> dict[str, Json]:
    return {"directory": str(place.directory), "world": str(place.world), "server": place.server}


def _what(job: Job) -> dict[str, Json]:
    return {"job": job.id, "steps": list(job.steps)}
