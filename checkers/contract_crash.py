"""The crash campaign over sessions of execution contracts: every boundary of contract and step, by snapshots and by SIGKILL.

| profile | by snapshot                                                                            | by SIGKILL         |
| ------- | -------------------------------------------------------------------------------------- | ------------------ |
| quick   | each crash at each boundary; at each contract write an error, and an error but written | one in `STRIDE`    |
| deep    | the same and all pairs: each boundary of each recovery; every answer of every store    | singles; of pairs  |
|         |                                                                                        | one in five        |

Snapshots give the breadth, killed processes keep them honest (docs/decisions/009).

In cases that are not `whole` the quick profile strikes, of the step's own boundaries, the execution alone.
"""

import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from ..model.policy import HARDENED
from ..scenarios.profile import CAMPAIGNS, CONTRACT_STREAMS
from .contract_cases import CONTRACT_CASES
from .contract_streams import shows
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
from .crash_faults import CONTRACT_WRITES, Key
from .crash_run import Record, memory_directory
from .crash_snapshot import PAIRS, Breadth
from .crash_streams import representatives
from .crash_zygote import Request
from .evidence import Schedules

SNAPSHOTS, FAULTS, KILLED = CAMPAIGNS[CONTRACT_STREAMS]
"""The names of its campaigns."""
QUICK: Final = Breadth(depth=1, answers=("error", "lost"), answering=CONTRACT_WRITES)
AROUND: Final = replace(QUICK, striking=(*CONTRACT_WRITES, "announce", "execute"))
STRIDE: Final = 19
"""An odd stride: an even one would meet the same few kinds of fault again and again."""


def sweep_contracts(
    profile: Profile = "quick",
    cases: Sequence[str] | None = None,
    workdir: str | None = None,
    progress: Progress | None = None,
) -> Campaign:
    """Every schedule of a profile; `cases` names the sessions, all if it is None. Files lie in memory unless `workdir` says."""
    names = list(CONTRACT_CASES) if cases is None else list(cases)
    directory = memory_directory(workdir)
    try:
        with closing(Pool(directory)) as pool:
            sweeps = [Request(HARDENED, name, breadth_of(name, profile)) for name in names]
            copied = pool.run("contracts, snapshot", sweeps, progress)
            sampled = sample(copied.records, profile)
            kept = set(sampled)
            among = [record for record in copied.records if record.key in kept]
            requests = kill_requests(sampled, HARDENED, representatives(among, (), shows))
            killed = pool.run("contracts, SIGKILL", requests, progress)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    records = [*copied.records, *killed.records]
    return Campaign(summed_up(copied, killed), records, list(pool.traces.values()), pool.images)


def breadth_of(case: str, profile: Profile) -> Breadth:
    """How far a profile goes with a case."""
    if profile == "deep":
        return PAIRS
    return QUICK if CONTRACT_CASES[case].whole else AROUND


def sample(records: Sequence[Record], profile: Profile) -> list[Key]:
    """The schedules that are run by SIGKILL as well, spread evenly."""
    if profile == "deep":
        chosen = thinned(records)
    else:
        chosen = [record.key for record in records if all(fault.kills for fault in record.key.schedule)][::STRIDE]
    return sorted(chosen, key=lambda key: key.case)


def summed_up(copied: Timed, killed: Timed) -> list[Schedules]:
    """The campaigns as evidence."""
    by_copy = [record for record in copied.records if record.by == "snapshot"]
    by_store = [record for record in copied.records if record.by == "store fault"]
    speed = rate(copied)
    apart = disagreements(copied.records, killed.records)
    return [
        summary(SNAPSHOTS, "snapshot", by_copy, speed),
        summary(FAULTS, "store fault", by_store, speed),
        summary(KILLED, "SIGKILL", killed.records, rate(killed), apart),
    ]
