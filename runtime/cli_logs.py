"""The commands that look at a job's logs as an auditor does. Each takes the parsed arguments and returns the exit code."""

import argparse
from typing import TYPE_CHECKING

from .cli_common import events_of, no_such_job, opened, print_json, print_table
from .effect_log import effect_log
from .errors import CommandError
from .plain import plain
from .resolve import moment

if TYPE_CHECKING:
    from .verify_job import Verdict

COMPLETED, VIOLATED, NOT_FINISHED = 0, 1, 3
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


def verify_job(args: argparse.Namespace) -> int:
    """Whether a job is verifiable: 0 if so, 1 if a criterion is violated, 3 if none is and the job is not completed."""
    from .job_records import read
    from .verify_job import verify

    with opened(args.store, existing=True) as store:
        try:
            records = read(store, args.job)
        except KeyError:
            raise no_such_job(args.job, args.store) from None
    verdict = verify(records)
    if args.json:
        print_json(verdict.as_json())
    else:
        _print_verdict(verdict)
    if verdict.violated:
        return VIOLATED
    return COMPLETED if verdict.verifiable else NOT_FINISHED


def _print_verdict(verdict: "Verdict") -> None:
    """The criteria as a table, and the verdict in a sentence."""
    rows = [
        (name, "yes" if fault is None else "NO", words if fault is None else _where(fault.event, fault.reason))
        for name, words, fault in verdict.findings
    ]
    title = f"job {verdict.job_id}: {verdict.status}, {verdict.events} events"
    print_table(title, ("criterion", "holds", "what it asks, or what violates it"), rows)
    job = f"job {plain(verdict.job_id)}"
    violated = verdict.violated
    if violated and violated.fault:
        print(f"{job} is NOT verifiable: not {violated.criterion}: {plain(_where(*violated.fault))}")
    elif verdict.verifiable:
        print(f"{job} is verifiable" + (f", and tainted: {verdict.warned} warned of" if verdict.warned else ""))
    else:
        print(f"{job} is {plain(verdict.status)}, not completed: so far nothing is violated")
    print(f"  last link of its chain: {verdict.head}")
    for words in verdict.rests_on:
        print(f"  it rests on a word: {plain(words)}")


def _where(event: int | None, reason: str) -> str:
    """A fault in words."""
    return reason if event is None else f"event {event}: {reason}"
