"""`crashwindow conform` of the contract engine: its cases beside the contract's machine; or one schedule, word by word."""

import argparse
import json
from typing import Final

from rich.console import Console

from ..model.contract_machine import build_contract
from ..runtime.errors import CommandError
from .converse import converse_told
from .enumerate import agreement
from .enumerate_contract import ContractEnumeration, ContractProduct
from .enumerate_contract_cases import CONTRACTS
from .enumerate_contract_stage import COUNTS, QUICK, contract_sets, converse, enumerated, over_sqlite
from .evidence import Verdict
from .explore import explore

ALL: Final = "contracts"
"""As a case: every case of the engine. Together they take every edge of the machine."""
NAMES: Final = (ALL, *CONTRACTS)


def conform_contracts(args: argparse.Namespace) -> int:
    """Enumerate the quick cases, one, or all; say what was enumerated, which edges are taken for certain; 1 where they part."""
    if args.schedule is not None:
        return _follow(args.case, args.schedule)
    all_of_them = args.case == ALL
    names = QUICK if args.case is None else tuple(CONTRACTS) if all_of_them else (args.case,)
    sets, console, runs = contract_sets(), Console(emoji=False), []
    sqlite = vars(args).get("over") == "sqlite"
    for run in (over_sqlite if sqlite else enumerated)(names, sets, certain=all_of_them):
        runs.append(run)
        if not args.json:
            _show(console, run, sqlite)
    # Few cases take few of the edges: only all of them together have to take each.
    item = converse(sets, explore(build_contract())) if all_of_them else None
    if args.json:
        told = {
            "over": "sqlite" if sqlite else "memory",
            "cases": [_told(run) for run in runs],
            "converse": converse_told(item),
        }
        print(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        partial = [] if all_of_them else [f"whether the code takes every edge of the machine, which --case {ALL} says"]
        strayed = [run.case.name for run in runs if _strayed(run)]
        for said in (agreement(runs, "the contract's machine", strayed, partial), *([item.statement] if item else [])):
            console.print(said, markup=False, highlight=False, soft_wrap=True)
    wrong = any(run.parted or run.remembered or _strayed(run) for run in runs)
    return 1 if wrong or (item is not None and item.verdict is Verdict.REFUTED) else 0


def _strayed(run: ContractEnumeration) -> bool:
    """Whether what was enumerated is not what is pinned."""
    return COUNTS[run.case.name] != run.counts


def _told(run: ContractEnumeration) -> dict[str, object]:
    parted = [{"schedule": list(each.schedule), "words": str(each)} for each in run.parted]
    counts = dict(zip(("states", "transitions", "pairs"), run.counts, strict=True))
    again = {"turns run again": run.repeated, "remembered": run.remembered}
    return {"case": run.case.name, **counts, "as pinned": not _strayed(run), "parted": parted, **again}


def _show(console: Console, run: ContractEnumeration, sqlite: bool) -> None:
    pinned, over = ", which is not what is pinned" if _strayed(run) else "", " over SQLite" if sqlite else ""
    said = f"{run.case.name}{over}: {run.states} states, {run.transitions} steps, {run.pairs} pairs with the machine{pinned}"
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
