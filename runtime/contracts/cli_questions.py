"""What a person is asked about a contract, on the terminal: the action in full, its digest, and the commands that answer."""

import json
import math
import shlex
from contextlib import suppress
from typing import Final

from ...model.contract import Status
from ..plain import plain
from ..records import Json
from ..resolve import moment
from . import operations
from .commands import ContractPorts
from .form import form, released
from .records import ExecutionContract
from .store import Conflict
from .views import view
from .waiting import asks_for_data, done_before, final_from, word_given

DIGEST_CHARACTERS: Final = 12
"""How much of a digest an approval has to name at least."""


def say_question(store_url: str, ports: ContractPorts, contract: ExecutionContract) -> None:
    """What a person is asked about a contract, in full, and the commands that answer."""
    if contract.status is Status.UNKNOWN:
        _say_doubt(store_url, ports, contract)
    with suppress(Conflict):  # it waits for no answer
        asked = operations.asking(ports, contract.execution_id)
        given = ports.contracts.given(asked.execution_id)
        if given is not None and given.version == asked.version:
            print(
                f"answered: {given.decision} by {plain(given.by)}, {moment(given.at)}; its session is to be continued"
            )
        else:
            _say_asked(store_url, ports, asked, action_of(ports, asked))


def _say_asked(
    store_url: str, ports: ContractPorts, asked: ExecutionContract, action: ExecutionContract | None
) -> None:
    """A question that nobody has answered."""
    if asked.action_type == "ecs_request":
        # Indented, so that no line of a model's text looks like one of ours.
        print("question: " + plain(str(asked.action_detail.get("message", ""))).replace("\n", "\n          "))
    command, store = "crashwindow contract", f"--store {shlex.quote(store_url)} --by NAME"
    name = plain(shlex.quote(asked.execution_id))
    approve = f"  approve: {command} approve {name} {store}"
    if asks_for_data(form(asked, action)):
        print(f"  answer: {command} answer {name} {store} --data JSON")
    elif action is None:
        print(approve)
    else:
        kind = " (cannot be undone)" if action.irreversible else " (can be undone)"
        print(f"action: {plain(action.tool)}{kind if action.action_type == 'tool_call' else ''}")
        print(plain(cell("action", view(action, "result")["action_detail"])))
        print(f"digest: {action.action_digest}")
        again = ""
        last = ports.contracts.again(action.execution_id)
        if last is not None:
            first = ports.contracts.contract(last)
            print(
                f"the same {done_before(first)}: {plain(first.execution_id)}, {first.status} {moment(first.updated_at)}"
            )
            again = f" --again {plain(shlex.quote(first.execution_id))}"
        print(f"{approve} --digest {action.action_digest[:DIGEST_CHARACTERS]}{again}")
    print(f"  deny: {command} deny {name} {store} --reason TEXT")


def _say_doubt(store_url: str, ports: ContractPorts, contract: ExecutionContract) -> None:
    """A question about the past, unless somebody has answered it."""
    if word := word_given(ports.store, contract.execution_id):
        print(f"answered: {plain(word)}; its session is to be continued")
        return
    final = final_from(ports.store, contract.execution_id)
    name = plain(shlex.quote(contract.execution_id))
    command = f"crashwindow contract resolve {name} --store {shlex.quote(store_url)} --by NAME --evidence TEXT"
    print(f"{plain(contract.tool)} was called, and may have acted or not. Find out, then say so:")
    print(f"  it happened: {command} --happened [--result JSON]")
    if final is not None:
        print(f"  it did not happen: {command} --not-happened   (accepted from {moment(math.ceil(final))} on)")
    else:
        print(f"  it did not happen: {command} --not-happened   (accepted after the tool's quiet time)")


def action_of(ports: ContractPorts, asked: ExecutionContract) -> ExecutionContract | None:
    """The tool contract that an approval lets run."""
    deferred = {} if asked.defers is None else {asked.defers: ports.contracts.contract(asked.defers)}
    return released(asked, deferred)


def cell(name: str, value: Json) -> str:
    """A field for a person: times as moments, text as it is, anything else as JSON."""
    if name in ("created_at", "updated_at"):
        return moment(value)
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
