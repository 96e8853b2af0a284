"""The commands that look at a job's logs as an auditor does. Each takes the parsed arguments and returns the exit code."""

import argparse

from .cli_common import events_of, opened, print_json, print_table
from .effect_log import effect_log
from .errors import CommandError
from .resolve import moment

COMPLETED = 0
HASH_CHARACTERS = 12
"""How much of a hash a table shows."""


def effects(args: argparse.Namespace) -> int:
    """The effect log of a job: one line per effect, in order."""
    with opened(args.store, existing=True) as store:
        events = events_of(store, args.job, args.store)
    try:
        log = effect_log(args.job, events)
    except (KeyError, TypeError) as error:
        raise CommandError(
            f"job {args.job!r}: an event is not as this program writes it ({type(error).__name__}: {error}); `crashwindow"
            " verify-job` says which"
        ) from error
    if args.json:
        print_json([entry._asdict() for entry in log])
        return COMPLETED
    columns = ("step", "command", "kind", "input hash", "output hash", "at", "event")
    rows = [
        (
            entry.step_index,
            entry.command_id,
            entry.kind,
            entry.input_hash[:HASH_CHARACTERS],
            entry.output_hash[:HASH_CHARACTERS],
            moment(entry.created_at),
            entry.version,
        )
        for entry in log
    ]
    print_table(f"effects of job {args.job} (hashes in full: --json)", columns, rows)
    return COMPLETED
