"""`crashwindow conform`: the shipped core beside the model, every step in every order; or one schedule, word by word."""

import argparse
import json
from collections.abc import Sequence
from typing import Final

from rich.console import Console

from ..runtime.errors import CommandError
from .cli_enumerate_contract import NAMES as CONTRACT_CASES
from .cli_enumerate_contract import conform_contracts
from .converse import converse_told
from .crash_anywhere import of_one, of_two
from .enumerate import Enumeration, agreement
from .enumerate_certain import CertainSets
from .enumerate_counts import COUNTS
from .enumerate_cover import step_sets
from .enumerate_fleet_stage import fleet_converse, fleets
from .enumerate_others import OTHERS
from .enumerate_sqlite import compared
from .enumerate_stage import (
    CONVERSE,
    PARTLY,
    QUICK,
    SEVERAL,
    as_pinned,
    converse,
    converse_beside,
    enumerated,
    every,
    product,
    samples,
)
from .evidence import Item, Verdict
from .explore import explore
from .interleave import CASES
from .stores_held import beside_the_rules

ANYWHERE: Final = {1: of_one, 2: of_two}
"""That a crash elsewhere adds nothing, by number of workers."""


def conform(args: argparse.Namespace) -> int:
    """The step's core, the contract engine, the stores; or one case. CommandError for options that contradict each other."""
    _check(args)
    if args.case in CONTRACT_CASES:
        return conform_contracts(args)
    code = conform_steps(args)
    if args.case is None and args.workers is None and not args.json and vars(args).get("over", "memory") == "memory":
        code = max(code, conform_contracts(args), _stores())
    return code


def _stores() -> int:
    """The memory store and the SQLite store beside their rules; 1 where they part."""
    item = beside_the_rules("quick")
    Console(emoji=False).print(item.statement, markup=False, highlight=False, soft_wrap=True)
    return 0 if item.verdict is Verdict.EXHAUSTED else 1


def _check(args: argparse.Namespace) -> None:
    """Refuse an option that another one would leave without effect."""
    sqlite = vars(args).get("over", "memory") == "sqlite"
    contradictions = (
        ("--workers", args.workers is not None, "--case", args.case is not None, "a case has its number of workers"),
        (
            "--workers",
            args.workers is not None,
            "--over sqlite",
            sqlite,
            "over SQLite it is one case: name it by --case",
        ),
        ("--schedule", args.schedule is not None, "--over sqlite", sqlite, "a schedule is followed over memory"),
        ("--schedule", args.schedule is not None, "--json", args.json, "a schedule is told word by word"),
        (
            "--json",
            args.json,
            "--over sqlite",
            sqlite and args.case not in CONTRACT_CASES,
            "what is said of it is one line",
        ),
    )
    for first, given, second, with_it, why in contradictions:
        if given and with_it:
            raise CommandError(f"{first} and {second} contradict each other: {why}")


def conform_steps(args: argparse.Namespace) -> int:
    """Enumerate cases, tell what was enumerated and which edges are taken for certain; 1 where code and model part."""
    if args.case is not None and args.case not in every():
        raise CommandError(f"there is no case {args.case!r}; there are {', '.join((*every(), *CONTRACT_CASES))}")
    if args.schedule is not None:
        return _follow(args.case, args.schedule)
    if args.over == "sqlite":
        return _over_sqlite(args.case)
    names = [args.case] if args.case else [name for name in QUICK if args.workers in (None, SEVERAL.get(name, 1))]
    if args.workers is not None and not args.case:
        names = [name for name in every() if SEVERAL.get(name, 1) == args.workers]
    kept: dict[int | str, CertainSets] = {}
    console, runs = Console(emoji=False), []
    for run in enumerated(names, kept, certain=args.workers is not None):
        runs.append(run)
        if not args.json:
            _show(console, run)
    # One case takes few of the edges: only all of them together have to take each.
    item = _converse(args.workers, kept[args.workers]) if args.workers in CONVERSE else None
    anywhere = ANYWHERE[args.workers]() if args.workers in CONVERSE else None
    others = [
        converse_beside(it, kept[it.policy], explore(kept[it.policy].machine)) for it in OTHERS if args.workers == 1
    ]
    items = [each for each in (item, anywhere, *others) if each is not None]
    wrong = any(each.verdict is Verdict.REFUTED for each in items) or any(
        run.parted or run.remembered or _strayed(run) for run in runs
    )
    if args.json:
        told = {
            "cases": [_told(run) for run in runs],
            "converse": converse_told(item),
            "crashes anywhere": converse_told(anywhere),
            "converse of other machines": [converse_told(each) for each in others],
        }
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return 1 if wrong else 0
    console.print(_agreement(runs, args.workers), markup=False, highlight=False, soft_wrap=True)
    for each in items:
        console.print(each.statement, markup=False, highlight=False, soft_wrap=True)
    return 1 if wrong else 0


def _agreement(runs: Sequence[Enumeration], workers: int | None) -> str:
    """What the runs show; and, where not all cases of so many workers were asked, what they do not show."""
    behind = [run.case.name for run in runs if run.case.lead and run.case.name not in PARTLY]
    partial = samples(runs, "samples alone of")
    partial += [f"of {', '.join(behind)} what follows their schedules"] * bool(behind)
    if workers not in CONVERSE:
        partial.append("whether the code takes every edge of the model, which --workers 1 and --workers 2 say")
    return agreement(runs, "the model", [run.case.name for run in runs if _strayed(run)], partial)


def _strayed(run: Enumeration) -> bool:
    """Whether what was enumerated is not what is pinned: something else was gone through, and its agreement says nothing."""
    return COUNTS.get(run.case.name) not in (None, run.counts)


def _converse(workers: int, sets: CertainSets) -> Item:
    """Whether the cases of so many workers take every edge for certain."""
    return fleet_converse(sets, fleets()) if workers == 2 else converse(sets, explore(step_sets().machine))


def _over_sqlite(case: str | None) -> int:
    """A case of several workers over the SQLite store, beside the memory store; 1 where they differ."""
    name = case or "fail-2"
    if name not in SEVERAL or name not in CASES:
        several = ", ".join(name for name in SEVERAL if name in CASES)
        raise CommandError(f"over SQLite there are cases of several workers: {several}")
    found = compared(name)
    wrong = found.different or ("" if as_pinned(name, found) else "which is not what is pinned")
    print(f"{name} over SQLite: {found.states} states, {found.transitions} steps" + (f": {wrong}" if wrong else ""))
    return 1 if wrong else 0


def _told(run: Enumeration) -> dict[str, object]:
    parted = [{"schedule": list(each.schedule), "words": str(each)} for each in run.parted]
    return {
        "case": run.case.name,
        "states": run.states,
        "transitions": run.transitions,
        "pairs": run.pairs,
        "turns run again": run.repeated,
        "remembered": run.remembered,
        "as pinned": not _strayed(run),
        "parted": parted,
    }


def _show(console: Console, run: Enumeration) -> None:
    pinned = ", which is not what is pinned" if _strayed(run) else ""
    counted = f"{run.states} states, {run.transitions} steps, {run.pairs} pairs with the model"
    said = f"{run.case.name}: {counted}, {run.seconds:.1f} s{pinned}"
    console.print(said, highlight=False, soft_wrap=True)
    if run.remembered:
        console.print(run.remembered, markup=False, highlight=False, soft_wrap=True, style="red")
    for each in run.parted:
        console.print(
            f"{each}\n  {';'.join(each.schedule)}", markup=False, highlight=False, soft_wrap=True, style="red"
        )


def _follow(case: str | None, schedule: str) -> int:
    """Each word with what it can have been in the model."""
    if case is None:
        raise CommandError("a schedule is one of a case: give --case NAME too")
    try:
        for word, read in product(case).follow(schedule.split(";")):
            print(f"{word}: {read}")
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0
