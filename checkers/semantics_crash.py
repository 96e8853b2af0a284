"""The crash campaign over jobs that retry, confirm, wait, compensate, ask a model or are cancelled, or have a step undone later.

| profile | by snapshot                                                                              | by SIGKILL        |
| ------- | ---------------------------------------------------------------------------------------- | ----------------- |
| quick   | each crash at each boundary; an error, and an error but written, at each boundary in NEW | one in `STRIDE`   |
| deep    | the same and all pairs: each boundary of each recovery; every answer of every store      | singles; of pairs |
|         |                                                                                          | one in five       |

Snapshots give the breadth, killed processes keep them honest (docs/decisions/009).

The quick profile also strikes the recoveries in which a verifier looks. What a store answers at the boundaries of a plain step
is struck in every profile of `crash`, where the step is the same.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from ..model.policy import HARDENED
from ..scenarios.profile import CAMPAIGNS, SEMANTICS_STREAMS
from .crash import (
    Campaign,
    Pool,
    Profile,
    Progress,
    Timed,
    disagreements,
    kill_requests,
    rate,
    summary,
    thinned,
)
from .crash_faults import Key, parse_key
from .crash_run import Record, memory_directory
from .crash_snapshot import PAIRS, Breadth
from .crash_streams import representatives
from .crash_zygote import Request
from .ended_cases import ENDED_CASES, EndedCase
from .evidence import Schedules
from .semantics_cases import BESIDE, SEMANTICS_CASES, SemanticsCase

SNAPSHOTS, FAULTS, KILLED = CAMPAIGNS[SEMANTICS_STREAMS]
"""The names of its campaigns."""
CRASHED: Final[Mapping[str, SemanticsCase | EndedCase]] = {**SEMANTICS_CASES, **ENDED_CASES}
"""What is crashed. The file of an ended one holds two jobs: the models follow one, and no stream of it is kept."""
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
STRIDE: Final = 41
"""An odd stride: an even one would meet the same few kinds of fault again and again."""
IN_RECOVERY: Final = tuple(
    parse_key(f"crash:semantics-confirm-{case}:put_effect:after;{name}:{when}")
    for case, name in (("warn", "append_warned"), ("person", "confirm_replay"))
    for when in ("error", "lost")
)
"""Answers of a store to what a recovery alone writes: with answers a sweep by copies strikes first lives, and no later ones."""


def sweep_semantics(
    profile: Profile = "quick",
    cases: Sequence[str] | None = None,
    workdir: str | None = None,
    progress: Progress | None = None,
) -> Campaign:
    """Every schedule of a profile; `cases` names the jobs, all if it is None. Files lie in memory unless `workdir` says."""
    names = list(CRASHED) if cases is None else list(cases)
    directory = memory_directory(workdir)
    try:
        with closing(Pool(directory)) as pool:
            copied = pool.run(
                "semantics, snapshot", [Request(HARDENED, name, breadth_of(name, profile)) for name in names], progress
            )
            sampled = sample(copied.records, profile)
            alone = [record for record in copied.records if record.key.case in SEMANTICS_CASES]
            requests = kill_requests(sampled, HARDENED, representatives(alone, sampled, shows))
            killed = pool.run("semantics, SIGKILL", requests, progress)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    records = [*copied.records, *killed.records]
    traces = [trace for trace in pool.traces.values() if trace.case in SEMANTICS_CASES]
    return Campaign(summed_up(copied, killed), records, traces, pool.images)


def shows(record: Record) -> list[str]:
    """What a schedule shows: its own case, where more than a step is at work in it; of the others one stands for all."""
    return [record.key.case if record.key.case in BESIDE else ""]


def breadth_of(case: str, profile: Profile) -> Breadth:
    """How far a profile goes with a case."""
    return PAIRS if profile == "deep" else replace(QUICK, beyond=CRASHED[case].beyond)


def sample(records: Sequence[Record], profile: Profile) -> list[Key]:
    """The schedules that are run by SIGKILL as well, spread evenly."""
    if profile == "deep":
        return [*sorted(thinned(records), key=lambda key: key.case), *IN_RECOVERY]
    chosen = [record.key for record in records if all(fault.kills for fault in record.key.schedule)][::STRIDE]
    swept = {key.case for key in chosen}
    return [*chosen, *(key for key in IN_RECOVERY if key.case in swept)]


def summed_up(copied: Timed, killed: Timed) -> list[Schedules]:
    """The campaigns as evidence."""
    speed = rate(copied)
    apart = disagreements(copied.records, killed.records)
    return [
        summary(SNAPSHOTS, "snapshot", [r for r in copied.records if r.by == "snapshot"], speed),
        summary(FAULTS, "store fault", [r for r in copied.records if r.by == "store fault"], speed),
        summary(KILLED, "SIGKILL", killed.records, rate(killed), apart),
    ]
