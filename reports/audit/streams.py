"""The event streams in a bundle: every event is there, in order, and each link of the hash chain is computed anew (E-CHAIN).

This is a second implementation of the chain: it shares no code with the runtime that writes it.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import rfc8785

from .strict_json import JsonError, strict_json

FOLDER: Final = "streams/"
SUFFIX: Final = ".jsonl"
DOMAIN: Final = b"crashwindow event\0"


@dataclass
class Streams:
    """What was found: problems, each with its file and line; files, jobs and events; how many of these have a link."""

    problems: list[str] = field(default_factory=list)
    files: int = 0
    jobs: int = 0
    events: int = 0
    linked: int = 0

    @property
    def words(self) -> str:
        """What was looked at, for an audit in which nothing was wrong."""
        if not self.files:
            return "the bundle holds no event stream"
        bare = f"; {self.events - self.linked} events have no link, and only the manifest vouches for them" if (
            self.linked < self.events
        ) else ""  # fmt: skip
        return (
            f"{self.events} events of {self.jobs} jobs in {self.files} streams, {self.linked} links computed anew{bare}"
        )


@dataclass
class _Job:
    version: int = 0
    link: str | None = None


def streams(files: Mapping[str, bytes]) -> Streams:
    """Every stream of a bundle, read line by line."""
    found = Streams()
    for name, data in files.items():
        if name.startswith(FOLDER) and name.endswith(SUFFIX):
            found.files += 1
            _stream(name, data, found)
    return found


def _stream(name: str, data: bytes, found: Streams) -> None:
    jobs: dict[str, _Job] = {}
    if not data.endswith(b"\n"):
        found.problems.append(f"{name}: it is empty, or its last line is cut off")
    for number, line in enumerate(data.splitlines(), 1):
        try:
            value = strict_json(line)
        except JsonError as error:
            found.problems.append(f"{name}, line {number}: {error}")
            return
        for words in _line(value, jobs, found):
            found.problems.append(f"{name}, line {number}: {words}")
            return
    found.jobs += len(jobs)


def _line(value: Any, jobs: dict[str, _Job], found: Streams) -> Iterator[str]:
    if not isinstance(value, dict) or not isinstance(value.get("job_id"), str):
        yield "it is no object with a job_id"
        return
    if "type" not in value:
        return
    job = jobs.setdefault(value["job_id"], _Job())
    job.version += 1
    found.events += 1
    if value.get("version") != job.version:
        yield f"job {value['job_id']}: version {value.get('version')} stands where {job.version} should"
        return
    if "link" not in value:
        if job.link is not None:
            yield f"job {value['job_id']}: event {job.version} has no link, and the one before it has"
        return
    found.linked += 1
    try:
        link = next_link(job.link, value)
    except (KeyError, TypeError, ValueError) as error:
        yield f"job {value['job_id']}: event {job.version} cannot be hashed: {error!r}"
        return
    if link != value["link"] or (job.version > 1 and job.link is None):
        yield f"job {value['job_id']}: the chain breaks at event {job.version}, {value['type']!r}"
    job.link = link


def next_link(previous: str | None, event: Mapping[str, Any]) -> str:
    """The link of an event: over the link before it, the event's head, and its data as they are stored, in canonical JSON."""
    head = rfc8785.dumps(
        [previous, *(event[name] for name in ("job_id", "version", "id", "type", "step", "epoch", "at"))]
    )
    return hashlib.sha256(DOMAIN + head + b"\0" + rfc8785.dumps(event["data"])).hexdigest()
