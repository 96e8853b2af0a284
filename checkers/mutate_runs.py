"""The checkers that enumerate, walk, or let the power fail, before a bug: each up to the first thing that is wrong."""

from typing import Final

from ..model.step import build
from .conform_follow import Model
from .conform_workers import walk_workers
from .contract_coverage import each_attempt
from .enumerate_contract_stage import contract_sets, over_sqlite
from .enumerate_contract_stage import refined as contracts_refined
from .enumerate_stage import enumerated as steps_enumerated
from .enumerate_stage import refined
from .evidence import Verdict
from .power import sweep
from .power_stage import QUICK as POWER_QUICK
from .walk_profiles import PROFILES
from .walks import kept

ENUMERATED: Final = ("cancel-1", "fail-2", "warned", "queried", "query-soon-1")
"""The cases of the enumeration that a bug meets: a client who speaks, two workers, one whose record is confirmed, one where it
is a query's, and one who looks an instant too early."""
CONTRACTS: Final = (
    "contract-small", "contract-small-denied", "contract-2-denied-itself", "contract-changed", "contract-2-begin",
    "contract-2-direct", "contract-named-again",
)  # fmt: skip
"""The same of contracts, the smallest first; over SQLite, whose rows some of the bugs are in."""
SEEDS: Final = (1, 2)


class CannotMeetError(Exception):
    """The enumeration ended with an exception: its stores may lack what the bug asks for, so that is neither yes nor no."""


def enumerated() -> str:
    """The first case whose item would not say EXHAUSTED: what it says. Raises CannotMeetError."""
    for name in ENUMERATED:
        try:
            found = refined(list(steps_enumerated([name], {})))
        except Exception as error:
            raise CannotMeetError(f"{name}: {type(error).__name__}: {error}") from error
        if found.verdict is not Verdict.EXHAUSTED:
            return f"{name}: {found.statement}"
    return ""


def contracts_enumerated() -> str:
    """The same of the contract engine. Raises CannotMeetError."""
    try:
        for run in over_sqlite(CONTRACTS, contract_sets()):
            found = contracts_refined([run], "SQLite")
            if found.verdict is not Verdict.EXHAUSTED:
                return f"{run.case.name}: {found.statement}"
    except Exception as error:
        raise CannotMeetError(f"{type(error).__name__}: {error}") from error
    return ""


def paths_walked() -> str:
    """Where model and runtime part on the first kept test path on which they do."""
    model = Model(build())
    for number, program in enumerate(kept(), 1):
        try:
            said = program.run(model=model)
        except Exception as error:
            said = f"the runtime ends with {type(error).__name__}: {error}"
        if said:
            return f"path {number}: {said.partition('. It could')[0]}"
    return ""


def workers_walked() -> str:
    """What is wrong first in a random walk of several worker threads."""
    for number in SEEDS:
        failure = walk_workers(PROFILES["quick"], number).failure
        if failure is not None:
            return f"seed {number}: {str(failure.error).partition('. It could')[0]}"
    return ""


def power_failed() -> str:
    """The first power loss, at the durability that ships, after which something is wrong."""
    case, mode, bounds, each = POWER_QUICK[0]
    try:
        findings = sweep(case, mode, bounds, each).findings
    except Exception as error:
        return f"{case}: the runtime ends with {type(error).__name__}: {error}"
    return f"{findings[0].key}: {findings[0].verdict.problems[0]}" if findings else ""


def contracts_covered() -> str:
    """The first move of a contract that the store takes and should refuse, or the other way round."""
    try:
        for tried in each_attempt():
            if tried.wrong:
                return tried.wrong[0]
    except Exception as error:
        return f"the runtime ends with {type(error).__name__}: {error}"
    return ""
