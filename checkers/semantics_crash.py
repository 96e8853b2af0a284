"""The crash campaign over jobs that retry, confirm, wait, compensate, ask a model or are cancelled.

| profile | by snapshot                                                                              | by SIGKILL        |
| ------- | ---------------------------------------------------------------------------------------- | ----------------- |
| quick   | each crash at each boundary; an error, and an error but written, at each boundary in NEW | one in `STRIDE`   |
| deep    | the same and all pairs: each boundary of each recovery; every answer of every store      | all of these      |

What a store answers at the boundaries of a plain step is struck in every profile of `crash`, where the step is the same.
"""

import shutil
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from ..model.policy import HARDENED
from .crash import Campaign, Pool, Profile, Progress, Timed, disagreements, kill_requests, rate, summary
from .crash_faults import Key
from .crash_run import Record, memory_directory
from .crash_snapshot import PAIRS, Breadth
from .crash_zygote import Request
from .evidence import Schedules
from .semantics_cases import SEMANTICS_CASES

NEW: Final = (
    "requeue",
    "append_cancelled",
    "append_warned",
    "record_input",
    "open_approval",
    "append_waiting",
    "append_wait_completed",
    "signal",
    "cancel",
    "confirm_replay",
    "request_compensation",
    "append_compensation_started",
    "append_compensated",
    "append_compensation_failed",
)
"""The writes that no plain step makes."""
QUICK: Final = Breadth(depth=1, answers=("error", "lost"), answering=NEW)
STRIDE: Final = 23
"""An odd stride: an even one would meet the same few kinds of fault again and again."""


def sweep_semantics(
    profile: Profile = "quick",
    cases: Sequence[str] | None = None,
    workdir: str | None = None,
    progress: Progress | None = None,
) -> Campaign:
    """Every schedule of a profile; `cases` names the jobs, all if it is None. Files lie in memory unless `workdir` says."""
    names = list(SEMANTICS_CASES) if cases is None else list(cases)
    breadth = PAIRS if profile == "deep" else QUICK
    directory = memory_directory(workdir)
    try:
        with closing(Pool(f"{directory}/snapshots")) as pool:
            copied = pool.run("semantics, snapshot", [Request(HARDENED, name, breadth) for name in names], progress)
        traces = pool.traces
        # New parents: a small process forks fast.
        with closing(Pool(f"{directory}/kills")) as pool:
            requests = kill_requests(sample(copied.records, profile), HARDENED)
            killed = pool.run("semantics, SIGKILL", requests, progress)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    records = [*copied.records, *killed.records]
    return Campaign(summed_up(copied, killed), records, list({**pool.traces, **traces}.values()))


def sample(records: Sequence[Record], profile: Profile) -> list[Key]:
    """The schedules that are run by SIGKILL as well: all, or a part of those that kill, spread evenly."""
    if profile == "deep":
        return [record.key for record in records]
    return [record.key for record in records if all(fault.kills for fault in record.key.schedule)][::STRIDE]


def summed_up(copied: Timed, killed: Timed) -> list[Schedules]:
    """The campaigns as evidence."""
    speed = rate(copied)
    apart = disagreements(copied.records, killed.records)
    return [
        summary("semantics: snapshots", "snapshot", [r for r in copied.records if r.by == "snapshot"], speed),
        summary("semantics: store faults", "store fault", [r for r in copied.records if r.by == "store fault"], speed),
        summary("semantics: killed processes", "SIGKILL", killed.records, rate(killed), apart),
    ]
