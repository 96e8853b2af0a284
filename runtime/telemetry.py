"""What a worker tells of its turns and boundaries, to whoever was asked for: logs, metrics, spans. Nothing is imported unasked.

An observer is called through: it performs what it is given, and notes what came of it. It decides nothing, and what is raised
goes on as it was.
"""

import json
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from .commands import Acquire, Append, Claim, Command, Execute, Fence, Outcome, Ports, PutEffect, Query, Renew, Settle
from .drive import Perform
from .records import Json
from .store import StaleEpoch, StoreError, VersionConflict
from .turn import End

FIELDS: Final = ("job", "step", "boundary", "epoch", "attempt", "owner", "answer", "seconds")
"""What a structured log line says beside its time, its level and its words, where it is known."""

log = logging.getLogger(__name__)


class Observer(Protocol):
    """Who is told of a worker's doings. Called by several threads at the same time."""

    def turn(self, job_id: str, owner: str, call: Callable[[], End]) -> End:
        """One turn on a job, made by `call`."""
        ...

    def boundary(self, command: Command, call: Callable[[], Any]) -> Any:
        """One performance of a command, made by `call`; what it returns or raises is the answer."""
        ...


class Unobserved:
    """Nobody is told anything."""

    def turn(self, job_id: str, owner: str, call: Callable[[], End]) -> End:
        """The turn."""
        return call()

    def boundary(self, command: Command, call: Callable[[], Any]) -> Any:
        """The performance."""
        return call()


class Observers:
    """Several observers, each within the one before it."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def turn(self, job_id: str, owner: str, call: Callable[[], End]) -> End:
        """The turn, seen by all."""
        for observer in reversed(self._observers):
            call = _bound(observer.turn, job_id, owner, call)
        return call()

    def boundary(self, command: Command, call: Callable[[], Any]) -> Any:
        """The performance, seen by all."""
        for observer in reversed(self._observers):
            call = _bound(observer.boundary, command, call)
        return call()


class BoundaryLog:
    """One line per performance of a boundary, with all its fields, at level INFO."""

    def turn(self, job_id: str, owner: str, call: Callable[[], End]) -> End:
        """The turn; the shift itself says how it ended."""
        return call()

    def boundary(self, command: Command, call: Callable[[], Any]) -> Any:
        """The performance, and a line about it."""
        begun = time.monotonic()
        answer = "unforeseen"
        try:
            reply = call()
            answer = reply.kind if isinstance(reply, Outcome) else "done"
            return reply
        except Exception as error:
            answer = answer_of(error)
            raise
        finally:
            said = {**fields(command), "answer": answer, "seconds": round(time.monotonic() - begun, 6)}
            log.info("%s: %s", command.boundary, answer, extra=said)


class JsonLines(logging.Formatter):
    """A log record as one line of JSON: `at` (seconds since the epoch), `level`, `message`, and the fields that it has."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Json] = {"at": record.created, "level": record.levelname, "message": record.getMessage()}
        line |= {name: value for name in FIELDS if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def observed(perform: Perform, observer: Observer) -> Perform:
    """A way to perform commands of which an observer is told."""

    def performing(command: Command, ports: Ports) -> Any:
        return observer.boundary(command, lambda: perform(command, ports))

    return performing


def answer_of(error: BaseException) -> str:
    """A word for what a store answered instead of a reply."""
    match error:
        case StoreError():
            return "not known"
        case StaleEpoch():
            return "stale"
        case VersionConflict():
            return "conflict"
        case _:
            return "unforeseen"


def fields(command: Command) -> dict[str, Json]:
    """What a command is about: its boundary, and job, step, epoch and attempt where it has them."""
    about: dict[str, Json] = {"boundary": command.boundary}
    match command:
        case Claim(owner=owner, job_id=job):
            about |= {"job": job, "owner": owner}
        case Renew(lease=lease) | Fence(lease=lease):
            about |= {"job": lease.job_id, "epoch": lease.epoch, "owner": lease.owner}
        case Append(job_id=job, events=events, epoch=epoch):
            attempts = [event.data["attempt"] for event in events if "attempt" in event.data]
            about |= {"job": job, "step": events[0].step, "epoch": epoch, "attempt": attempts[0] if attempts else None}
        case Acquire(record=record):
            about |= {"job": record.job_id, "step": record.step_id, "epoch": record.epoch, "owner": record.owner}
        case PutEffect(record=effect, epoch=epoch):
            about |= {"job": effect.job_id, "step": effect.step_id, "epoch": epoch}
        case Settle(job_id=job, epoch=epoch):
            about |= {"job": job, "epoch": epoch}
        case Execute(context=context) | Query(context=context):
            about |= {"job": context.job_id, "step": context.step_id}
            about |= {"epoch": context.fencing_token, "attempt": context.attempt}
        case _:
            pass
    return {name: value for name, value in about.items() if value is not None}


def _bound(tell: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: tell(*arguments)
