"""The commands that run jobs and look at them. Each takes the parsed arguments and returns the exit code.

Imports that cost time stand inside the functions, so that a command loads only what it needs.
"""

import argparse
import secrets
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from .address import without_password
from .cli_common import compact, events_of, opened, parsed, print_json, print_table, registry_of
from .cli_people import say_end, say_next, waits_for
from .errors import CommandError
from .plain import plain
from .records import EffectRecord, Event, Json
from .store import Store, StoreError

if TYPE_CHECKING:
    from .plan import StoredPlan
    from .registry import Registry

COMPLETED, FAILED, BAD_INPUT, PARKED = 0, 1, 2, 3

HIDDEN: Final = {"plan", "plan_hash", "invocation_id", "idempotency_key", "args_hash", "input_hash", "output_hash"}
"""Fields of events that `show` leaves to --json."""


# Working.


def run(args: argparse.Namespace) -> int:
    """Submit a plan, and work until that job is at rest."""
    from .shift import Shift, become_worker, owner_id, worker_with
    from .stop import Stop
    from .worker import work_on

    registry = registry_of(args.tools)
    plan = _plan(args.plan, registry)
    with opened(args.store) as store:
        _log_to_stderr()
        stop = Stop()
        stop.on_signals()
        become_worker(store)
        job_id = _submit(store, args.job, plan)
        shift = Shift(store, worker_with(registry, owner_id()), stop=stop)
        with shift.heart:
            why = work_on(shift, job_id, stop)
        if why is not None:
            remedy = (
                "" if stop.requested else " Make sure that the disk has space and that no process locks the file, then"
            )
            raise CommandError(
                f"job {job_id!r} is kept as it is: {why}.{remedy or ' To go on,'} run the same command with"
                f" --job {shlex.quote(job_id)}"
            )
        return _say_result(args, job_id, store.events(job_id))


def submit(args: argparse.Namespace) -> int:
    """Submit a plan; a worker will run it."""
    plan = _plan(args.plan, registry_of(args.tools))
    with opened(args.store) as store:
        _submit(store, args.job, plan)
    return COMPLETED


def resolve(args: argparse.Namespace) -> int:
    """Say of a parked job whether the effect happened, and requeue it."""
    from .resolve import Answer, question
    from .resolve import resolve as write

    happened = args.answer == "happened"
    if happened and args.result is None:
        raise CommandError("--happened needs --result JSON: what the step's result was ('null' if there is none)")
    if not happened and (args.result is not None or args.external_id is not None):
        raise CommandError("--result and --external-id go with --happened only: what did not happen has no result")
    result = parsed("--result", args.result) if happened else None
    with opened(args.store, existing=True) as store:
        asked = question(args.job, events_of(store, args.job, args.store), args.step)
        write(store, asked, Answer(happened, args.by, args.evidence, result, args.external_id))
    print(f"job {plain(args.job)}: step {plain(asked.step)} resolved as {args.answer}; the job is open again")
    print(f"  next: crashwindow worker --store {shlex.quote(without_password(args.store))} --until-idle")
    return COMPLETED


# Looking.


def jobs(args: argparse.Namespace) -> int:
    """List every job, oldest first."""
    from .history import History
    from .resolve import moment

    with opened(args.store, existing=True) as store:
        rows = store.jobs()
        at_rest = [row.job_id for row in rows if row.status in ("waiting", "parked")]
        waits = {job_id: waits_for(History(store.events(job_id))) for job_id in at_rest}
    if args.json:
        print_json([row._asdict() for row in rows])
        return COMPLETED
    cells = [
        (row.job_id, row.status, row.version, row.epoch, moment(row.created_at), waits.get(row.job_id, ""))
        for row in rows
    ]
    print_table(
        f"jobs in {without_password(args.store)}", ("job", "status", "version", "epoch", "created", "waits for"), cells
    )
    return COMPLETED


def show(args: argparse.Namespace) -> int:
    """Show what the stores hold about a job: its events, ledger records and effect records."""
    with opened(args.store, existing=True) as store:
        events = events_of(store, args.job, args.store)
        ledger, effects = list(store.ledger(args.job).values()), list(store.effects(args.job).values())
    if args.json:
        records: dict[str, Json] = {"job_id": args.job, "status": _status(events)}
        records["events"] = [event._asdict() for event in events]
        records["ledger"] = [asdict(record) for record in ledger]
        records["effects"] = [asdict(record) for record in effects]
        print_json(records)
        return COMPLETED
    _print_events(args.job, events)
    print_table(
        "ledger",
        ("step", "tool", "status", "epoch", "external id", "result"),
        [(r.step_id, r.tool_name, r.status, r.epoch, r.external_id or "", compact(r.result)) for r in ledger],
    )
    print_table(
        "effects",
        ("step", "kind", "tool or model", "input", "output", "state changes"),
        [(r.step_id, r.kind, _who(r), compact(r.input), compact(r.output), len(r.state_changes)) for r in effects],
    )
    say_next(args.store, args.job, events)
    return COMPLETED


def _who(record: EffectRecord) -> str:
    """Which tool acted, or which model answered."""
    said: str = record.metadata["model" if record.kind == "llm" else "tool_name"]
    return said


def tools(args: argparse.Namespace) -> int:
    """List the registered tools with their declared contracts."""
    cells = []
    for tool in registry_of(args.tools):
        irreversible = {None: "undeclared", True: "yes", False: "no"}[tool.irreversible]
        look = f"quiet {tool.quiet_seconds:g} s" if tool.look == "quiet" else tool.look
        row = (
            tool.name,
            "yes" if tool.idempotent else "no",
            irreversible,
            look,
            tool.on_unknown,
            tool.retry.max_retries,
        )
        cells.append((*row, tool.description))
    columns = ("tool", "idempotent", "irreversible", "query", "on_unknown", "max_retries", "description")
    print_table("tools", columns, cells)
    return COMPLETED


# What comes in.


def _plan(path: str, registry: "Registry") -> "StoredPlan":
    """A validated plan, as it is stored."""
    from .plan import load_plan, validate_plan

    return validate_plan(load_plan(path), registry, path)


def _submit(store: Store, job_id: str | None, plan: "StoredPlan") -> str:
    """J1, and a word about it; the job's id, which is chosen here when none is given."""
    from .contracts.step import contract_of
    from .plan import submission

    job_id = secrets.token_hex(8) if job_id is None else job_id
    if (contract := contract_of(job_id)) is not None:
        raise CommandError(
            f"--job {job_id}: that is what the step of contract {plain(contract)} is called; choose another id"
        )
    try:
        new = store.submit(job_id, submission(job_id, plan))
    except StoreError as error:
        raise CommandError(
            f"job {job_id!r}: it is not known whether it was submitted ({error}). Make sure that the disk has space and"
            f" that no process locks the file, then run the same command with --job {shlex.quote(job_id)}: a job is created once"
        ) from error
    print(f"job {plain(job_id)} {'submitted' if new else 'is there already, with the same plan'}", flush=True)
    return job_id


# What goes out.


def _status(events: list[Event]) -> str:
    from .history import History

    return History(events).status


def _say_result(args: argparse.Namespace, job_id: str, events: list[Event]) -> int:
    """How the job ended, and what is to be done next; the exit code."""
    status = _status(events)
    print(f"job {plain(job_id)} {status}")
    for event in events:
        if event.type == "command_committed" and event.data["command_id"] == event.step:
            print(f"  {plain(event.step or '')}: {compact(event.data['result'])}")
    say_end(events)
    say_next(args.store, job_id, events)
    return {"completed": COMPLETED, "parked": PARKED, "waiting": PARKED}.get(status, FAILED)


def _print_events(job_id: str, events: list[Event]) -> None:
    """The event stream as a table."""
    from .resolve import moment

    cells = []
    for event in events:
        said = {name: value for name, value in event.data.items() if name not in HIDDEN and value not in (None, [])}
        epoch = "" if event.epoch is None else event.epoch
        cells.append((event.version, moment(event.at), epoch, event.type, event.step or "", compact(said)))
    title = f"job {job_id}: {_status(events)}"
    print_table(title, ("version", "at", "epoch", "event", "step", "data (all: --json)"), cells)


def _log_to_stderr() -> None:
    """What the worker has to say while it works."""
    from .cli_worker import log_to_stderr

    log_to_stderr("text")
