"""`crashwindow conform` of the contract engine: its cases beside the contract's machine; or one schedule, word by word."""

import argparse
import json
from typing import Final

from rich.console import Console

from ..model.contract_machine import build_contract
from ..runtime.errors import CommandError
from .enumerate import agreement
from .enumerate_contract import ContractEnumeration, ContractProduct
from .enumerate_contract_cases import CONTRACTS
from .enumerate_contract_sets import ContractSets
from .enumerate_contract_stage import COUNTS, LEFT, QUICK, contract_sets, enumerated, over_sqlite
from .enumerate_cover import by_rule, reachable
from .explore import explore

ALL: Final = "contracts"
"""As a case: every case of the engine. Together they take every edge of the machine."""
NAMES: Final = (ALL, *CONTRACTS)


def conform_contracts(args: argparse.Namespace) -> int:
    """Enumerate the quick cases, one, or all; say what was enumerated and which edges were not taken; 1 where they part."""
    if args.schedule is not None:
        return _follow(args.case, args.schedule)
    names = QUICK if args.case is None else tuple(CONTRACTS) if args.case == ALL else (args.case,)
    sets, console, runs = contract_sets(), Console(), []
    for run in (over_sqlite if vars(args).get("over") == "sqlite" else enumerated)(names, sets):
        runs.append(run)
        if not args.json:
            _show(console, run)
    left = _left(sets)
    if args.json:
        print(json.dumps({"cases": [_told(run) for run in runs], "not taken": left}, indent=2, ensure_ascii=False))
    else:
        partial = [] if args.case == ALL else [f"the edges that these cases do not take; all cases: --case {ALL}"]
        strayed = [run.case.name for run in runs if _strayed(run)]
        said = agreement(runs, "the contract's machine", strayed, partial)
        console.print(said, markup=False, highlight=False, soft_wrap=True)
        several = (
            f": {', '.join(f'{rule} ({count})' for rule, count in left.items())}" if args.case == ALL and left else ""
        )
        said = f"edges of the contract's machine that these cases do not take: {sum(left.values())}{several}"
        console.print(said, markup=False, highlight=False, soft_wrap=True)
    wrong = any(run.parted or run.remembered or _strayed(run) for run in runs)
    return 1 if wrong or (args.case == ALL and left != LEFT) else 0


def _strayed(run: ContractEnumeration) -> bool:
    """Whether what was enumerated is not what is pinned."""
    return COUNTS[run.case.name] != run.counts


def _left(sets: ContractSets) -> dict[str, int]:
    """The edges of the machine that these cases have not taken, by rule."""
    space = explore(build_contract())
    return by_rule(space.machine, reachable(space) - sets.taken)


def _told(run: ContractEnumeration) -> dict[str, object]:
    parted = [{"schedule": list(each.schedule), "words": str(each)} for each in run.parted]
    counts = dict(zip(("states", "transitions", "pairs"), run.counts, strict=True))
    again = {"turns run again": run.repeated, "remembered": run.remembered}
    return {"case": run.case.name, **counts, "as pinned": not _strayed(run), "parted": parted, **again}


def _show(console: Console, run: ContractEnumeration) -> None:
    pinned = ", which is not what is pinned" if _strayed(run) else ""
    said = f"{run.case.name}: {run.states} states, {run.transitions} steps, {run.pairs} pairs with the machine{pinned}"
    console.print(said, highlight=False, soft_wrap=True)
    if run.remembered:
        console.print(run.remembered, markup=False, highlight=False, soft_wrap=True, style="red")
    for each in run.parted:
        text = f"{each}\n  {';'.join(each.schedule)}"
        console.print(text, markup=False, highlight=False, soft_wrap=True, style="red")


def _follow(case: str | None, schedule: str) -> int:
    """Each word with what was done in it."""
    if case not in CONTRACTS:
        raise CommandError("a schedule is one of a case: give --case NAME too")
    try:
        for word, read in ContractProduct(CONTRACTS[case], contract_sets()).follow(schedule.split(";")):
            print(f"{word}: {read}")
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0
