"""What a person can do about a job at rest, in sentences, each with its command (T-WORKER, T-CONFIRM, T-COMP)."""

import math
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .address import without_password
from .clients import why_parked
from .history import History
from .plain import plain
from .records import Event
from .resolve import moment, question


class Way(NamedTuple):
    """What can be done, and the command that does it; none, "", where the words alone are said. note: what the command needs."""

    words: str
    command: str = ""
    note: str = ""


def ways(url: str, job_id: str, events: Sequence[Event]) -> Iterator[Way]:
    """What can be done about a job that waits or is parked; nothing for any other."""
    history = History(events)
    waiting = history.waiting or {}
    if history.status == "waiting":
        node = plain(waiting["node"])
        if "signal" in waiting:
            command = _command("signal", url, job_id, waiting["signal"])
            yield Way(f"node {node} waits for a signal", f"{command} --by NAME [--data JSON]")
        else:
            yield Way(f"node {node} waits for a person", _command("contract show", url, waiting["contract_id"]))
    elif history.status == "parked":
        yield from _parked(url, job_id, events, history)
    else:
        return
    yield Way("give it up", f"{_command('cancel', url, job_id)} --by NAME --reason TEXT")


def _parked(url: str, job_id: str, events: Sequence[Event], history: History) -> Iterator[Way]:
    step = history.parked or ""
    undo = f"{_command('compensate', url, job_id, step)} --by NAME --reason TEXT"
    match why_parked(history):
        case "confirmation":
            yield Way(f"step {plain(step)}: {_reason(events)}. Look, then say so:")
            yield Way("the record stands", f"{_command('confirm', url, job_id)} --by NAME --evidence TEXT")
            yield Way("undo the step", undo)
        case "compensation failed":
            yield Way(f"step {plain(step)}: {_reason(events)}")
            yield Way("undo it, again", undo)
        case _:
            yield from _resolve(url, job_id, events)


def _resolve(url: str, job_id: str, events: Sequence[Event]) -> Iterator[Way]:
    """A question about the past."""
    asked = question(job_id, events)
    command = f"{_command('resolve', url, job_id)} --by NAME --evidence TEXT"
    final = moment(math.ceil(asked.quiet_until))
    called = f"{plain(asked.tool)} was called, and may have acted or not"
    yield Way(f"step {plain(asked.step)}: {called}. Find out, then say so:")
    yield Way("it happened", f"{command} --happened --result JSON")
    yield Way("it did not happen", f"{command} --not-happened", f"accepted from {final} on")


def _reason(events: Sequence[Event]) -> str:
    """Why the job was parked last."""
    return plain(str(next(event.data["reason"] for event in reversed(events) if event.type == "job_parked")))


def _command(name: str, url: str, *given: str) -> str:
    """A command to be copied. The ids come first: one that begins with a dash has to be quoted by hand all the same."""
    return plain(f"crashwindow {name} {shlex.join([*given, '--store', without_password(url)])}")
