"""What a command is, and the parser that is made of many."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

HERE: Final = ""
"""In place of a module: a command that needs both the checkers and the reports is a function of `__main__`, since no other
module may know the two."""


BUILDING: Final = partial(argparse.HelpFormatter, width=1000)
"""What formats while a parser is built (`formatter_class`): argparse tries each argument on, and shows nobody. One that has to
know how wide the terminal is loads half a dozen modules to find out."""


class Argument(NamedTuple):
    """One argument of a command, as argparse takes it."""

    names: tuple[str, ...]
    settings: dict[str, Any]


class OneOf(NamedTuple):
    """Arguments of which at most one may be given; exactly one, if required."""

    required: bool
    arguments: tuple[Argument, ...]


class Command(NamedTuple):
    """One command: its name, the module that holds a function of that name (imported late), a line of help, arguments.

    A command with `commands` of its own has nothing else; the function of `contract show` is `contract_show`,
    that of `verify-job` is `verify_job`. codes: what its exit codes mean, where those of the jobs do not do.
    """

    name: str
    module: str
    help: str
    arguments: tuple[Argument | OneOf, ...] = ()
    commands: tuple["Command", ...] = ()
    codes: str = ""


def argument(*names: str, **settings: Any) -> Argument:
    """An argument, written as for `add_argument`."""
    return Argument(names, settings)


def add_commands(
    parser: argparse.ArgumentParser, commands: tuple[Command, ...], words: Sequence[str], before: str = ""
) -> None:
    """Let a parser have these commands, or the one that `words` begin with. before: what their functions' names begin with."""
    inner = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in [each for each in commands if each.name in words[:1]] or commands:
        added = inner.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[0].upper()}{command.help[1:]}.",
            epilog=f"Exit codes: {command.codes}" if command.codes else None,
            formatter_class=BUILDING,
        )
        function = f"{before}{command.name}".replace("-", "_")
        if command.commands:
            add_commands(added, command.commands, words[1:], f"{function}_")
        else:
            add_arguments(added, command.arguments)
            added.set_defaults(module=command.module, function=function)
    parser.formatter_class = argparse.HelpFormatter


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[Argument | OneOf]) -> None:
    """Let a parser have these arguments."""
    for entry in arguments:
        if isinstance(entry, OneOf):
            group = parser.add_mutually_exclusive_group(required=entry.required)
            for names, settings in entry.arguments:
                group.add_argument(*names, **settings)
        else:
            parser.add_argument(*entry.names, **entry.settings)
    parser.formatter_class = argparse.HelpFormatter
