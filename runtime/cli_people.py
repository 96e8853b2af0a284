"""The commands by which people and clients speak to a job, and what they are told that they can say."""

import argparse
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .address import without_password
from .cli_common import compact, events_of, no_such_job, opened, parsed, registry_of
from .plain import plain
from .records import Event

if TYPE_CHECKING:
    from .clients import Client
    from .history import History


def signal(args: argparse.Namespace) -> int:
    """Send a signal to a job."""
    data = None if args.data is None else parsed("--data", args.data)
    with _client(args) as client:
        new = client.signal(args.job, args.name, data, args.id)
        print(f"job {plain(args.job)}: signal {plain(args.name)} {'received' if new else 'was received before'}")
        _say_status(args, client)
    return 0


def cancel(args: argparse.Namespace) -> int:
    """Ask for the end of a job."""
    with _client(args) as client:
        client.cancel(args.job, args.reason)
        print(f"job {plain(args.job)}: cancel requested by {plain(args.by)}")
        _withdraw(client, args.job)
        _say_status(args, client)
    return 0


def compensate(args: argparse.Namespace) -> int:
    """Ask that the effect of a step be undone."""
    tools = registry_of(args.tools).tools
    with _client(args) as client:
        job_id = client.compensate(tools, args.job, args.step, args.reason)
        print(f"job {plain(args.job)}: step {plain(args.step)} is to be undone, by job {plain(job_id)}")
    _say_worker(args)
    return 0


def confirm(args: argparse.Namespace) -> int:
    """Accept a record with which a verifier does not agree."""
    with _client(args) as client:
        step = client.confirm(args.job, args.evidence)
        print(f"job {plain(args.job)}: the record of step {plain(step)} is accepted by {plain(args.by)}")
    _say_worker(args)
    return 0


@contextmanager
def _client(args: argparse.Namespace) -> Iterator["Client"]:
    """Somebody who speaks to the jobs of a store that is there."""
    from .clients import Client

    with opened(args.store, existing=True) as store:
        events_of(store, args.job, args.store)
        try:
            yield Client(store, args.by)
        except KeyError:
            raise no_such_job(args.job, args.store) from None


def _withdraw(client: "Client", job_id: str) -> None:
    """Nobody is to be asked any more about a job that has ended."""
    from .shift import contracts_of

    contracts = contracts_of(client.store)
    if contracts is not None and client.history(job_id).status == "cancelled":
        from .contracts.approvals import withdraw
        from .contracts.commands import ContractPorts

        withdraw(ContractPorts(client.store, client.sleep, contracts), job_id)


def _say_status(args: argparse.Namespace, client: "Client") -> None:
    """How the job stands now, and who goes on."""
    events = client.store.events(args.job)
    status = client.history(args.job).status
    print(f"  it is {status}")
    if status == "open":
        _say_worker(args)
    say_next(args.store, args.job, events)


def _say_worker(args: argparse.Namespace) -> None:
    print(f"  next: crashwindow worker --store {shlex.quote(without_password(args.store))} --until-idle")


# What can be said to a job at rest.


def waits_for(history: "History") -> str:
    """What a job at rest waits for, in a few words; nothing for any other."""
    from .clients import why_parked

    waiting = history.waiting or {}
    match history.status:
        case "waiting" if "signal" in waiting:
            return f"signal {waiting['signal']}"
        case "waiting":
            return f"approval {waiting['contract_id']}"
        case "parked":
            words = {
                "outcome": "a word whether it happened",
                "compensation outcome": "a word whether it was undone",
                "compensation failed": "a person: its compensation failed",
                "confirmation": "a person's confirmation",
            }
            return f"step {history.parked}: {words[why_parked(history)]}"
        case _:
            return ""


def say_next(url: str, job_id: str, events: list[Event]) -> None:
    """What a person can do about a job that waits or is parked, each with its command; nothing is said of any other."""
    from .next_words import ways

    for words, command, note in ways(url, job_id, events):
        print(f"  {words}{command and f': {command}'}{note and f'   ({note})'}")


def say_end(events: list[Event]) -> None:
    """Why a job failed or was cancelled, and what it was warned of before it was completed."""
    last = events[-1]
    if last.type == "job_failed":
        print(f"  step {plain(last.data['step'])}: {plain(last.data['reason'])}")
    for event in events:
        if event.type == "confirmation_warned":
            print(
                f"  tainted: step {plain(event.step or '')}: the world does not agree: {compact(event.data['mismatches'])}"
            )
        if last.type == "job_cancelled" and event.type == "cancel_requested":
            print(f"  by {plain(event.data['who'])}: {compact(event.data['reason'])}")
