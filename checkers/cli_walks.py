"""Commands about walks: replay a program by its key, save it as a scenario, show what the test paths cover."""

import argparse
from pathlib import Path

import yaml
from rich.console import Console

from ..runtime.errors import CommandError
from ..scenarios.schema import FOLDER, Scenario, Walk, load, shipped
from .walk_programs import PREFIX, Program, of_key

REGRESSIONS = FOLDER / "regressions.yaml"
"""Where a scenario is kept if nothing else is asked for: it ships, and every `verify` runs it."""


def replay_walk(key: str) -> int:
    """The moves of a walk on a real store, one by one; 1 if model and runtime part."""
    console = Console()
    program = _program(key)
    try:
        parted = program.run(lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
    except ValueError as error:
        raise CommandError(str(error)) from error
    if parted:
        console.print(parted, style="bold red", markup=False, highlight=False, soft_wrap=True)
    return 1 if parted else 0


def save(args: argparse.Namespace) -> int:
    """Keep the program of a walk as a scenario, in which model and runtime have to agree."""
    if len(args.names) != 1 or not args.name or not args.title:
        raise CommandError("save keeps one program: crashwindow scenario save KEY --name NAME --title TEXT")
    program, file = _program(args.names[0]), Path(args.file) if args.file else REGRESSIONS
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
    Console().print(told, markup=False, highlight=False, soft_wrap=True)
    return 0


def _program(key: str) -> Program:
    if not key.startswith(f"{PREFIX}:"):
        raise CommandError(f"{key!r} is no key of a walk, which begins with walk: and is printed beside its failure")
    try:
        return of_key(key)
    except ValueError as error:
        raise CommandError(str(error)) from error
