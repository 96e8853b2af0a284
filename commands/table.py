"""Every command, in the order in which the help shows them, and their parser."""

import argparse
from collections.abc import Sequence
from typing import Final

from .auditing import AUDIT_COMMANDS
from .checks import CHECK_COMMANDS
from .grammar import BUILDING, Command, add_commands
from .jobs import JOB_COMMANDS
from .runs import RUN_COMMANDS

COMMANDS: Final[tuple[Command, ...]] = (*RUN_COMMANDS, *CHECK_COMMANDS, *AUDIT_COMMANDS, *JOB_COMMANDS)


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of all commands; of one alone where `words` begin with it: to build all takes longer than many a command."""
    top = argparse.ArgumentParser(
        prog="crashwindow",
        description="Runs durable tool steps that change the world at most once, whatever crashes.",
        epilog="Exit codes: 0 completed, 1 failed or cancelled, 2 bad input or an unusable store, 3 parked, or waiting for"
        " somebody.",
        formatter_class=BUILDING,
    )
    add_commands(top, COMMANDS, words)
    return top
