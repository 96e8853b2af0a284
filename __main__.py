"""The command line, and the composition root: the only module that knows every room."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

BAD_INPUT, INTERRUPTED = 2, 130


class Argument(NamedTuple):
    """One argument of a command, as argparse takes it."""

    names: tuple[str, ...]
    settings: dict[str, Any]


class OneOf(NamedTuple):
    """Arguments of which at most one may be given; exactly one, if required."""

    required: bool
    arguments: tuple[Argument, ...]


class Command(NamedTuple):
    """One command: its name, the module that holds a function of that name (imported late), a line of help, arguments."""

    name: str
    module: str
    help: str
    arguments: tuple[Argument | OneOf, ...]


def argument(*names: str, **settings: Any) -> Argument:
    """An argument, written as for `add_argument`."""
    return Argument(names, settings)


PLAN = argument("plan", metavar="PLAN", help="a plan: a .yaml or .json file")
JOB = argument("job", metavar="JOB", help="a job's id")
STORE = argument("--store", metavar="URL", required=True, help="sqlite:///FILE")
JOB_ID = argument("--job", metavar="ID", help="the job's id, which makes it safe to repeat the command; else a new one")
TOOLS = argument("--tools", metavar="FILE", help="a .py file or a module with tools of your own")
JSON = argument("--json", action="store_true", help="everything, as JSON")
ONCE = argument("--once", action="store_true", help="stop after one turn on one job")
UNTIL_IDLE = argument("--until-idle", action="store_true", help="stop when no job is left that can be brought further")
POLL = argument("--poll", metavar="SECONDS", type=float, default=1.0, help="how often to look for new jobs (1)")
HAPPENED = argument("--happened", dest="answer", action="store_const", const="happened", help="the effect is there")
NOT_HAPPENED = argument(
    "--not-happened", dest="answer", action="store_const", const="not_happened", help="it is not, and will not be"
)
STEP = argument("--step", metavar="ID", help="the step that is spoken of; else the one that the job waits for")
RESULT = argument("--result", metavar="JSON", help="with --happened: the step's result")
EXTERNAL_ID = argument("--external-id", metavar="X", help="with --happened: the effect's id in the other system")
BY = argument("--by", metavar="NAME", required=True, help="who says so")
EVIDENCE = argument("--evidence", metavar="TEXT", required=True, help="how that is known")

COMMANDS = (
    Command("run", ".runtime.cli", "submit a plan and work until its job is at rest", (PLAN, STORE, JOB_ID, TOOLS)),
    Command("submit", ".runtime.cli", "submit a plan, for a worker to run", (PLAN, STORE, JOB_ID, TOOLS)),
    Command(
        "worker",
        ".runtime.cli",
        "run the open jobs of a store, those of crashed workers included",
        (STORE, TOOLS, OneOf(False, (ONCE, UNTIL_IDLE)), POLL),
    ),
    Command("jobs", ".runtime.cli", "list the jobs of a store", (STORE, JSON)),
    Command("show", ".runtime.cli", "show a job's events, ledger and effects", (JOB, STORE, JSON)),
    Command(
        "resolve",
        ".runtime.cli",
        "say of a parked job whether the effect happened, and requeue it",
        (JOB, STORE, OneOf(True, (HAPPENED, NOT_HAPPENED)), STEP, RESULT, EXTERNAL_ID, BY, EVIDENCE, TOOLS),
    ),
    Command("tools", ".runtime.cli", "list the tools and what each declares", (TOOLS,)),
)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="crashwindow",
        description="Runs durable tool steps that change the world at most once, whatever crashes.",
        epilog="Exit codes: 0 completed, 1 failed, 2 bad input or an unusable store, 3 parked: a person has to decide.",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        added = commands.add_parser(
            command.name, help=command.help, description=f"{command.help[0].upper()}{command.help[1:]}."
        )
        for entry in command.arguments:
            if isinstance(entry, OneOf):
                group = added.add_mutually_exclusive_group(required=entry.required)
                for names, settings in entry.arguments:
                    group.add_argument(*names, **settings)
            else:
                added.add_argument(*entry.names, **entry.settings)
        added.set_defaults(module=command.module)
    return top


def known_errors() -> tuple[type[Exception], ...]:
    """The errors that tell the user what to do; any other one is a defect of ours, and shows its traceback."""
    from .runtime import cli, plan, registry, resolve, store

    return (
        cli.CommandError,
        plan.PlanError,
        registry.DuplicateToolError,
        registry.ToolSourceError,
        resolve.ResolveError,
        store.JobExistsError,
        store.StoreError,
        store.StoreUnusableError,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    args = parser().parse_args(argv)
    try:
        code: int = getattr(import_module(args.module, __package__), args.command)(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except Exception as error:
        if not isinstance(error, known_errors()):
            raise
        print(f"crashwindow: {error}", file=sys.stderr)
        return BAD_INPUT
    return code


if __name__ == "__main__":
    sys.exit(main())
