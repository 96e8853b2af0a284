"""What a runtime with a bug leaves in its store, before those who judge records: `verify-job` and `check-trace` (E-TRUST).

The bug is planted while the jobs run, and gone when their records are judged: `verify-job` is the shipped one, whose replay is
the protocol core itself.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Final

from ..model.policy import HARDENED
from ..runtime import drive
from ..runtime.job_records import read
from ..runtime.sqlite_store import SqliteStore
from ..runtime.verify_job import verify
from .crash_faults import Schedule
from .crash_image import Files, Incarnation, lay_out
from .crash_run import EPOCH, STORE, Judgement, memory_directory
from .crash_snapshot import SINGLE, Rest, Sweep
from .crash_subject import Subject
from .stream_check import StreamChecker
from .stream_step import Positions
from .stream_store import stored
from .substitute import Plant, planted

MOST: Final = 40
"""Distinct ends of a case that are judged."""


class _Leaving(Sweep):
    """A sweep that keeps the files of each distinct end."""

    ends: dict[str, Files]

    def serve(self, incarnation: Incarnation, perform: drive.Perform, judgement: Judgement, schedule: Schedule) -> Rest:
        rest = super().serve(incarnation, perform, judgement, schedule)
        self.ends.setdefault(rest.trace, incarnation.image().files)
        return rest


def left(plant: Plant, subject: Subject) -> list[Files]:
    """The distinct ends of a case with a bug planted, struck once at most; as far as the first exception of the runtime."""
    root = memory_directory()
    sweep = _Leaving(subject, SINGLE, HARDENED, root, {})
    sweep.ends = {}
    try:
        with planted(plant), suppress(Exception):
            for _ in sweep.records():
                if len(sweep.ends) == MOST:
                    break
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return list(sweep.ends.values())


def _first(plant: Plant, subjects: list[Subject], wrong: Callable[[str], Iterator[str]]) -> str:
    for subject in subjects:
        for files in left(plant, subject):
            root = memory_directory()
            try:
                lay_out(f"{root}/end", files)
                said = next(wrong(f"{root}/end/{STORE}"), "")
            finally:
                shutil.rmtree(root, ignore_errors=True)
            if said:
                return f"{subject.name}: {said}"
    return ""


def refused_by_verify_job(plant: Plant, subjects: list[Subject]) -> str:
    """The first job whose records violate a criterion, and why."""
    return _first(plant, subjects, _refused)


def _refused(path: str) -> Iterator[str]:
    with closing(SqliteStore(path, now=lambda: EPOCH)) as store:
        for job_id in dict.fromkeys(line.line.job_id for line in stored(path)):
            verdict = verify(read(store, job_id))
            if verdict.violated:
                yield f"job {job_id!r} is {verdict.status} and not {verdict.violated.criterion}: {verdict.violated.fault}"


def diverged_in_check_trace(plant: Plant, subjects: list[Subject]) -> str:
    """The first job whose recorded events are no run of a model."""
    return _first(plant, subjects, _diverged)


POSITIONS: Final = Positions()
"""Where jobs come to in a model is worked out once."""


def _diverged(path: str) -> Iterator[str]:
    for found in StreamChecker(positions=POSITIONS).check(each.line for each in stored(path)):
        yield str(found)
