"""`crashwindow contract …`: what waits for a person, and the answers. Each takes the parsed arguments, returns the exit code.

None of them executes anything: they write what a person says, and the runner of the application goes on from that.
"""

import argparse
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from ...model.contract import Status
from ..address import without_password
from ..canonical import NotCanonicalError
from ..cli_common import compact, opened, parsed, print_table, registry_of
from ..errors import CommandError
from ..plain import plain
from ..resolve import Answer, moment
from ..shift import contracts_of
from . import operations
from .approvals import relay
from .cli_questions import DIGEST_CHARACTERS, action_of, cell, say_question
from .commands import ContractPorts
from .form import form
from .records import ExecutionContract
from .requests import job_of
from .store import Conflict, GivenAnswer
from .unattended import take_answer
from .views import view
from .waiting import asks_for_data, waits_for, word_given

OVER: Final = (Status.COMPLETED, Status.FAILED, Status.REJECTED, Status.CANCELLED)
ORDER: Final = (Status.WAITING, Status.UNKNOWN, Status.RUNNING, Status.PENDING, *OVER)
"""What waits for a person first."""
PATHS: Final = ("store", "tools")
"""Options that name files, whose names may be any bytes."""


# Looking.


def contract_list(args: argparse.Namespace) -> int:
    """List every contract: what waits for a person first, then what goes on by itself, then what has ended."""
    with _desk(args) as ports:
        found = ports.contracts.contracts()
        words = {each.execution_id: word_given(ports.store, each.execution_id) for each in found if not each.terminal}
        answers = {each.execution_id: ports.contracts.given(each.execution_id) for each in found if not each.terminal}
    deferred_by = {each.defers: each.execution_id for each in found if each.defers is not None and not each.terminal}
    rows = [
        (
            each.execution_id,
            each.session_id,
            _in_short(each),
            each.status,
            moment(each.updated_at),
            waits_for(each, answers.get(each.execution_id), deferred_by, words.get(each.execution_id, "")),
        )
        for each in sorted(found, key=lambda each: ORDER.index(each.status))
    ]
    print_table(
        f"contracts in {without_password(args.store)}",
        ("id", "session", "action", "status", "since", "waits for"),
        rows,
    )
    return 0


def contract_show(args: argparse.Namespace) -> int:
    """Show a contract, at one of the levels of `views`, its history, and what a person can say about it."""
    with _desk(args) as ports:
        contract = ports.contracts.contract(args.id)
        shown = view(contract, args.level)
        history = ports.contracts.history(args.id)  # which verifies the chain, whatever is shown
        fields = [(name, cell(name, value)) for name, value in shown.items() if name != "transitions"]
        print_table(f"contract {args.id}", ("field", "value"), fields)
        if args.level != "result":
            columns = ("at", "from", "trigger", "to", "actor", "by")
            moves = [
                (moment(m.timestamp), m.from_, m.trigger, m.to, m.actor, m.metadata.get("by", "")) for m in history
            ]
            print_table(f"history: {len(history)} transitions, chain verified", columns, moves)
        say_question(without_password(args.store), ports, contract)
    return 0


# Answering.


def contract_approve(args: argparse.Namespace) -> int:
    """Say yes to exactly the action that was shown."""
    with _desk(args) as ports:
        asked = operations.asking(ports, args.id)
        action = action_of(ports, asked)
        if asks_for_data(form(asked, action)):
            raise CommandError(f"{asked.execution_id!r} asks for data: give it with `crashwindow contract answer`")
        digest = args.digest if action is None else _checked_digest(args.digest, action)
        last = None if action is None else ports.contracts.again(action.execution_id)
        if action is not None and last != args.again:
            raise CommandError(_wrong_again(action, args.again, last))
        contract = operations.approve(ports, args.id, args.by, digest=digest, again_of=args.again, retries=args.retries)
        _continue(args, ports, contract, "approved")
    return 0


def contract_deny(args: argparse.Namespace) -> int:
    """Say no."""
    _named(args.by)
    with _desk(args) as ports:
        asked = operations.asking(ports, args.id)
        reason = {"reason": args.reason} if args.reason else None
        answer = GivenAnswer(asked.execution_id, asked.version, "deny", args.by, ports.contracts.now(), data=reason)
        _continue(args, ports, operations.respond(ports, answer), "denied")
    return 0


def contract_answer(args: argparse.Namespace) -> int:
    """Give the data that a request asks for."""
    data = parsed("--data", args.data)
    with _desk(args) as ports:
        _continue(args, ports, operations.provide(ports, args.id, args.by, data), "answered")
    return 0


def contract_cancel(args: argparse.Namespace) -> int:
    """Take back what has not ended."""
    _named(args.by)
    with _desk(args) as ports:
        contract = operations.cancel(ports, args.id, args.by)
        now = ports.contracts.contract(contract.execution_id)
        relay(ports)
    print(f"contract {plain(now.execution_id)} is {now.status}")
    if now.status is Status.UNKNOWN:
        print("  it was running, so it may have happened: find out, then say so with `crashwindow contract resolve`")
    _say_next(args, now.session_id)
    return 0


def contract_reopen(args: argparse.Namespace) -> int:
    """Release the key of a rejected contract, named by the contract or by the key."""
    _named(args.by)
    with _desk(args) as ports:
        holder = ports.contracts.holder(args.id)
        contract = operations.reopen(ports, holder.execution_id if holder else args.id, args.by)
    print(f"contract {plain(contract.execution_id)} stays rejected; its key is free for a new contract")
    return 0


def contract_resolve(args: argparse.Namespace) -> int:
    """Say of an unknown execution whether it happened."""
    happened = args.answer == "happened"
    if not happened and args.result is not None:
        raise CommandError("--result goes with --happened only: what did not happen has no result")
    result = parsed("--result", args.result) if args.result is not None else None
    tools = registry_of(args.tools).tools
    with _desk(args) as ports:
        operations.resolve(ports, tools, args.id, Answer(happened, args.by, args.evidence, result))
        contract = ports.contracts.contract(args.id)
    print(f"contract {plain(args.id)}: recorded that it {'happened' if happened else 'did not happen'}")
    _say_next(args, contract.session_id)
    return 0


def contract_prune(args: argparse.Namespace) -> int:
    """Remove the bulky content of what ended before a time (C-DATA). Nothing else ever removes any."""
    with _desk(args) as ports:
        before = _before(args.before, ports.contracts.now())
        count = ports.contracts.prune(before)
    print(f"contracts that ended before {moment(before)} and were pruned now: {count}")
    print("  removed: their arguments and results, and the earlier checkpoints of sessions in which no contract lives")
    print("  kept: keys, digests, how each ended, every transition with its hash, and each session's last checkpoint")
    return 0


def contract_serve(args: argparse.Namespace) -> int:
    """Serve the approval page until Ctrl-C."""
    from .serve import ApprovalServer

    with _desk(args) as ports:
        server = ApprovalServer(ports, args.host, args.port)
        print(f"approvals: {server.url}  (Ctrl-C stops)", flush=True)
        server.run()
    return 0


# What comes in.


@contextmanager
def _desk(args: argparse.Namespace) -> Iterator[ContractPorts]:
    """The contracts and steps at an address, which has to exist. Raises CommandError for words that cannot be stored."""
    for name, value in vars(args).items():
        if name not in PATHS and isinstance(value, str) and not _is_text(value):
            raise CommandError(f"{name} {value!a} is not UTF-8 text; nothing was changed")
    with opened(args.store, existing=True) as store:
        contracts = contracts_of(store)
        if contracts is None:
            raise CommandError(
                f"--store {without_password(args.store)}: contracts lie in sqlite:///FILE or postgresql://…"
            )
        try:
            yield ContractPorts(store, time.sleep, contracts)
        except NotCanonicalError as error:
            raise CommandError(f"this cannot be stored: {error}; nothing was changed") from error


def _before(text: str, now: float) -> float:
    """The time that --before names: days before now, or a date, in local time unless it says otherwise."""
    try:
        days = float(text)
        before = now - days * 86400
    except ValueError:
        try:
            before = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            raise CommandError(f"--before {text!r}: give days, as in 90, or a date, as in 2026-01-31") from None
    if not 0 <= before <= now:
        raise CommandError(f"--before {text}: this is in the future, or before 1970; dates are written as 2026-01-31")
    return before


def _is_text(value: str) -> bool:
    """Whether a string has a UTF-8 form: bytes that are not UTF-8 arrive here as lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _named(by: str) -> None:
    """Refuse a word that nobody gives."""
    if not by.strip():
        raise CommandError("--by: name the person who says so")


def _checked_digest(given: str | None, action: ExecutionContract) -> str:
    """The digest of the action as it is, if the person has named it, or its beginning."""
    now = action.action_digest
    look = f"crashwindow contract show {shlex.quote(action.execution_id)}"
    if given is None:
        raise CommandError(f"--digest is missing: `{look}` shows the action and its digest; approve what you have read")
    if len(given) < DIGEST_CHARACTERS:
        raise CommandError(f"--digest {given}: give at least its first {DIGEST_CHARACTERS} characters")
    if not now.startswith(given.lower()):
        raise Conflict(
            f"the action has changed, look again: {given} is not the digest of {action.execution_id!r}; `{look}`"
        )
    return now


def _wrong_again(action: ExecutionContract, named: str | None, last: str | None) -> str:
    """What is wrong about --again."""
    if last is None:
        return f"--again {named}: {action.execution_id!r} repeats no earlier execution; leave it out"
    return (
        f"{action.execution_id!r} does again what {last!r} has done, may have done, or is approved to do; if it is meant to"
        f" happen once more, say so with --again {shlex.quote(last)}"
    )


# What goes out.


def _in_short(contract: ExecutionContract) -> str:
    """The action on one line, not too long for a table."""
    detail = view(contract, "result")["action_detail"]
    if contract.action_type == "tool_call":
        text = f"{contract.tool} {compact(detail.get('args', '(removed by retention)'))}"
    else:
        text = f"{detail.get('type', 'request')}: {detail.get('message', '')}"
    return text if len(text) <= 60 else f"{text[:59]}…"


def _continue(args: argparse.Namespace, ports: ContractPorts, contract: ExecutionContract, word: str) -> None:
    """Take the answer as far as it goes without an executor, and say who goes on."""
    print(f"contract {plain(contract.execution_id)}: {word} by {plain(args.by)}, recorded")
    try:
        taken = take_answer(ports, contract.session_id)
    except Conflict:
        taken = True  # another one continued the session first
    if taken:
        print(f"  it is {ports.contracts.contract(contract.execution_id).status} now")
        _say_next(args, contract.session_id)
    else:
        print(
            f"  nothing executes here: GraphRunner.resume({contract.session_id!r}) of the application takes the answer"
        )


def _say_next(args: argparse.Namespace, session_id: str) -> None:
    if job_of(session_id) is None:
        print(f"  nothing executes here: GraphRunner.advance({session_id!r}) of the application goes on")
    else:
        print(f"  next: crashwindow worker --store {shlex.quote(without_password(args.store))} --until-idle")
