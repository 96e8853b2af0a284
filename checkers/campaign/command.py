"""A runtime in any language: a command that reads one request, as a line of JSON, and answers in lines of JSON.

docs/adapter-protocol.md is the protocol. Each request is a process of its own, which is in the session of the child that the
campaign strikes: what kills or traces the one kills and traces the other. Its answers go into a file beside the world, and not
into a pipe to this process: what it has said before both are killed outlives them.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, cast, get_args

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
        told = self._ask({"do": "describe"}, seconds=DESCRIBE_SECONDS)
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
        self._ask({"do": "prepare", **_where(place)}, place)

    def start(self, place: Place, job: Job) -> None:
        """Ask it to run the job."""
        self._ask({"do": "start", **_where(place), **_what(job)}, place, job.accepted)

    def recover(self, place: Place, job: Job) -> None:
        """Ask it to recover."""
        self._ask({"do": "recover", **_where(place), **_what(job)}, place, job.accepted)

    def belief(self, place: Place, job: Job) -> Belief:
        """Ask it what its record says."""
        told = self._ask({"do": "belief", **_where(place), **_what(job)}, place)
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
        self,
        request: dict[str, Json],
        place: Place | None = None,
        accepted: Callable[[], None] | None = None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Run the command for one request; its last line. seconds: a bound, where nobody else has one."""
        line = json.dumps({**request, "options": self._options})
        with _answers(place) as answers:
            try:
                process = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=answers, cwd=self._cwd, text=True)
            except OSError as error:
                raise AdapterError(f"{self._name}: cannot be started: {error.strerror}") from error
            with process:
                try:
                    process.communicate(line + "\n", timeout=seconds)
                except subprocess.TimeoutExpired:
                    raise AdapterError(f"{self._name}: did not answer within {seconds:.0f} s; {PROTOCOL}") from None
                finally:
                    process.kill()
            answers.seek(0)
            return self._answer(answers.read().splitlines(), process.returncode, accepted or _nobody)

    def _answer(self, lines: list[bytes], status: int, accepted: Callable[[], None]) -> dict[str, Any]:
        """The last of the lines that a command has answered. Raises AdapterError."""
        last: dict[str, Any] = {}
        for told in lines:
            try:
                last = dict(json.loads(told))
            except (ValueError, TypeError) as error:
                shown = told.decode(errors="replace")[:80]
                raise AdapterError(
                    f"{self._name}: answered {shown!r}, which is no object of JSON; {PROTOCOL}"
                ) from error
            if last.get("accepted"):
                accepted()
        if "error" in last:
            raise AdapterError(f"{self._name}: {last['error']}")
        if last.get("ok") is not True:
            raise AdapterError(f"{self._name}: ended without an answer, exit status {status}; {PROTOCOL}")
        return last


@contextmanager
def _answers(place: Place | None) -> Iterator[IO[bytes]]:
    """Where a command's answers go: beside the world, where there is one."""
    if place is None or place.world is None:
        with tempfile.TemporaryFile() as file:
            yield file
        return
    path = _file(place.world)
    path.unlink(missing_ok=True)
    with path.open("a+b") as file:
        yield file


def _file(world: Path) -> Path:
    """The file of the answers to the last request."""
    return world.with_name(f"{world.name}.answers")


def said_accepted(world: Path) -> bool:
    """Whether a command has said to the last request that the job is accepted, whatever has become of it since."""
    with suppress(FileNotFoundError):
        return any(map(_accepts, _file(world).read_bytes().splitlines()))
    return False


def _accepts(line: bytes) -> bool:
    try:
        told = json.loads(line)
    except ValueError:
        return False  # the process was killed while it wrote it
    return isinstance(told, dict) and bool(told.get("accepted"))


def _nobody() -> None:
    """Nobody waits to be told."""


def _where(place: Place) -> dict[str, Json]:
    return {"directory": str(place.directory), "world": str(place.world), "server": place.server}


def _what(job: Job) -> dict[str, Json]:
    return {"job": job.id, "steps": list(job.steps)}
