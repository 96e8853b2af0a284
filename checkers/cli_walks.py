"""Commands about walks: replay a program by its key, save it as a scenario, show what the test paths cover."""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ..runtime.errors import CommandError
from ..scenarios.paths import keep
from ..scenarios.schema import FOLDER, Scenario, Walk, load, shipped
from .conform_follow import EdgeClass
from .evidence import Item, Verdict
from .walk_programs import PREFIX, Program, of_key

if TYPE_CHECKING:
    from .enumerate_certain import CertainSets
    from .walk_profiles import ProfileName

REPLAY = "crashwindow replay "
REGRESSIONS = FOLDER / "regressions.yaml"
"""Where a scenario is kept if nothing else is asked for: it ships, and every `verify` runs it."""


def replay_walk(key: str) -> int:
    """The moves of a walk on a real store, one by one; 1 if model and runtime part."""
    console = Console(emoji=False)
    program = _program(key)
    try:
        parted = program.run(lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
    except ValueError as error:
        raise CommandError(str(error)) from error
    if parted:
        console.print(parted, style="bold red", markup=False, highlight=False, soft_wrap=True)
    return 1 if parted else 0


def walks(args: argparse.Namespace) -> int:
    """The test paths, with what nobody takes first; 1 where model and code part."""
    from .conform import walked
    from .walks import cover, kept, plan

    console = Console(emoji=False, stderr=args.json)
    with console.status("") as status:
        if args.plan:
            keep([program.lines for program in plan(status.update)])
        status.update("a random walk, for what it adds")
        beside = {f"a random walk (seed {args.seed})": walked("quick", args.seed).model.classes_taken}
        beside["the enumeration"] = enumerated_classes(status.update)
        found = cover(kept(), beside, status.update)
    if args.json:
        counts = {"gaps": "classes", "elsewhere": "classes", "drawn_gaps": "edges"}
        tables = {name: _rows(getattr(found, name), what) for name, what in counts.items()}
        told = {name: value for name, value in asdict(found).items() if name != "edges"}
        print(json.dumps({**told, **tables}, indent=2))
        return 1 if found.parted else 0
    for title, what, table in (
        ("of the quotient, taken by no path", "edges", found.drawn_gaps),
        ("taken by nobody", "classes", found.gaps),
        ("not taken by a path", "classes", found.elsewhere),
    ):
        _show(console, title, what, table)
    nodes, edges = found.drawn
    others = ", ".join(f"{name} takes {number} of these" for name, number in found.beside.items())
    for line in (
        f"{edges - found.drawn_taken} of {edges} edges of the quotient, of {nodes} nodes, are not taken by any path",
        f"{found.open} of {found.classes} classes of edges are taken by nobody",
        f"{found.classes - found.taken} are not taken by any path; {found.behind} of them lie behind others; {others}",
        f"{found.drawn_taken} edges of the quotient and {found.taken} classes were taken, for certain, by {found.paths} paths of"
        f" {found.moves} moves; {found.states} states",
        f"{len(found.dead)} of {found.rules} rules fire in no reachable state: {', '.join(found.dead)}",
        *found.parted,
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 1 if found.parted else 0


def enumerated_classes(tell: Callable[[str], None]) -> set[EdgeClass]:
    """What the enumeration takes for certain of the machine of one worker: every case of it (decision 030)."""
    from .enumerate_case import ALONE, WIDE
    from .enumerate_stage import enumerated

    kept: dict[int | str, CertainSets] = {}
    for run in enumerated([*ALONE, *WIDE], kept, certain=True):
        tell(f"the enumeration, for what it adds: {run.case.name}")
    return {EdgeClass(*edge) for edge in kept[1].certain.taken}


def _rows(gaps: Mapping[str, int], what: str) -> list[dict[str, str | int]]:
    return [{"rule": rule, what: count} for rule, count in gaps.items()]


def _show(console: Console, title: str, what: str, gaps: Mapping[str, int]) -> None:
    table = Table(title, Column(what, justify="right"), box=None)
    for rule, count in gaps.items():
        table.add_row(escape(rule), str(count))
    if gaps:
        console.print(table)


def walk(args: argparse.Namespace) -> int:
    """A random walk of one machine, with its seed and what it came to; of one that parts, what repeats it and what keeps it."""
    console = Console(emoji=False)
    console.print(f"seed {args.seed}, profile {args.profile}", highlight=False)
    item = _walked(args.machine, args.profile, args.seed)
    program = str(item.figures.pop("program", ""))
    told = ", ".join(f"{name} {value}" for name, value in item.figures.items())
    kept = save_command(item.command.removeprefix(REPLAY)) if program else ""
    for line in filter(None, (f"{item.verdict}: {item.statement}", told, program, item.command, kept)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0 if item.verdict is Verdict.TESTED else 1


def _walked(machine: str, profile: "ProfileName", seed: int) -> Item:
    command = f"crashwindow walk {machine} --profile {profile} --seed {seed}"
    if machine == "step":
        from .conform import substantial
        from .conform import walk as steps

        item = substantial(steps(profile, seed))
        return item if item.verdict is Verdict.REFUTED else item.model_copy(update={"command": command})
    if machine == "contract":
        from .contract_conform import walk_contracts
        from .contract_walk_stage import item_of

        return item_of(walk_contracts(profile, seed), command, seed)
    from .conform_workers import item_of as of_workers
    from .conform_workers import walk_workers
    from .walk_profiles import PROFILES

    return of_workers(walk_workers(PROFILES[profile], seed), command, seed)


def save(args: argparse.Namespace) -> int:
    """Keep the program of a walk as a scenario, in which model and runtime have to agree."""
    if len(args.names) != 1:
        raise CommandError(f"save keeps one program, not {len(args.names) or 'none'}: {save_command('KEY')}")
    # The key first: who gives something else would be asked for a name that does not help.
    program, file = _program(args.names[0]), Path(args.file) if args.file else REGRESSIONS
    if not args.name or not args.title:
        raise CommandError(f"a scenario has a name and says what it shows: {save_command('KEY')}")
    try:
        known = {each.name for each in [*shipped(), *(load(file) if file.exists() else ())]}
        scenario = Scenario(
            name=args.name,
            title=args.title,
            list=args.kept,
            source=f"a walk of the {program.kind}",
            policy=program.policy,
            expect="holds",
            walk=Walk(machine=program.kind, program=program.lines),
        )
    except ValueError as error:  # a file that is none, or a name that is known to no list
        raise CommandError(str(error)) from error
    if scenario.name in known:
        raise CommandError(f"there is a scenario {scenario.name!r} already: give another --name")
    entry = scenario.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=10_000)
    before = file.read_text(encoding="utf-8").rstrip("\n") + "\n\n" if file.exists() else ""
    try:
        file.write_text(before + text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
    told = f"saved in {file}; run it: crashwindow scenario run {file if args.file else scenario.name}"
    Console(emoji=False).print(told, markup=False, highlight=False, soft_wrap=True)
    return 0


def save_command(key: str) -> str:
    """The command that keeps the program of a walk as a scenario."""
    return f"crashwindow scenario save {key} --name NAME --title TEXT"


def _program(key: str) -> Program:
    if not key.startswith(f"{PREFIX}:"):
        raise CommandError(
            f"{key!r} is no key of a walk: give one that begins with {PREFIX}:, as `crashwindow walk` prints it beside a failure"
        )
    try:
        return of_key(key)
    except ValueError as error:
        raise CommandError(str(error)) from error
