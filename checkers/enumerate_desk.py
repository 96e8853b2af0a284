"""The contract store of an enumerated job: requests for approval, and the people who answer them (P9).

What it holds is a value with a number, and the number is a part of the world: it is outside of the job's four stores. An answer
is two steps. The first is the person's word and what the approval service makes of it; it lies in the contract store alone. The
second announces it to the job. Between them the service may be gone, or another may have announced it before.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, cast

from ..runtime import drive
from ..runtime.clients import Say
from ..runtime.commands import Command, Ports
from ..runtime.contracts import approvals, operations
from ..runtime.contracts.commands import ContractPorts
from ..runtime.contracts.records import ExecutionContract
from ..runtime.contracts.requests import OpenRequest
from ..runtime.contracts.store import Batch, ContractError, ContractStore
from ..runtime.gate import request_id
from ..runtime.store import Store
from .enumerate_case import OTHER
from .enumerate_contract_store import Content, MemoryContracts
from .interleave_case import JOB

Word = Literal["approve", "deny", "withdraw", "foreign"]
WORDS: Final[tuple[Word, ...]] = ("approve", "deny", "withdraw", "foreign")
"""A person says yes, says no, takes the request back; a request of this id is there already, for another action."""
PERSON: Final = "person"


class _GoneError(Exception):
    """The service is gone before it has announced an answer."""


def _silent(command: Command, ports: Ports) -> Any:
    if isinstance(command, Say):
        raise _GoneError
    return drive.perform(command, ports)


class Desk:
    """A contract store whose content is kept under a number. number: where the one at hand is read and written."""

    def __init__(self, now: Callable[[], float], get: Callable[[], int], put: Callable[[int], None]) -> None:
        self._store, self._get, self._put = MemoryContracts(now), get, put
        self._contents = [Content()]
        self._numbers: dict[Any, int] = {_key(Content()): 0}

    def __getattr__(self, name: str) -> Any:
        """A read of the store, as it is now."""
        self._store.content = self._contents[self._get()]
        return getattr(self._store, name)

    def write(self, batch: Batch) -> None:
        """See ContractStore.write."""
        self._store.content = self._contents[self._get()]
        self._store.write(batch)
        content = self._store.content
        number = self._numbers.setdefault(_key(content), len(self._contents))
        if number == len(self._contents):
            self._contents.append(content)
        self._put(number)

    def stands(self, number: int) -> str:
        """The status of the job's request in a content; "" where there is none."""
        request = self._contents[number].contracts.get(request_id(JOB, OTHER))
        return "" if request is None else request.status.value

    def asked(self, number: int) -> str:
        """The digest of the action that the job's request shows, in a content that has one."""
        return self._contents[number].contracts[request_id(JOB, OTHER)].action_digest

    def said(self, word: Word, store: Store) -> bool:
        """A person says something; whether anything came of it. What is to be announced is not announced yet."""
        name, ports = request_id(JOB, OTHER), ContractPorts(store, lambda _: None, cast("ContractStore", self))
        before = self._get()
        try:
            match word:
                case "approve":
                    operations.approve(ports, name, PERSON)
                case "deny":
                    operations.deny(ports, name, PERSON)
                case "withdraw":
                    operations.cancel(ports, name, PERSON)
                case "foreign":
                    OpenRequest(
                        JOB, name, {"type": "confirmation", "action": {"tool": "another", "args": {}}}, 0
                    ).perform(ports)
            approvals.take(ports, JOB, _silent)
        except (ContractError, KeyError, _GoneError):
            pass
        return self._get() != before

    def announced(self, store: Store) -> bool:
        """Somebody tells the job that its request has ended; whether that was news."""
        return approvals.wake(ContractPorts(store, lambda _: None, cast("ContractStore", self)), JOB)


def _key(content: Content) -> Any:
    """What somebody reads of a content: how each request stands, for which action, and who has said so."""
    last = {each.execution_id: each.transition.metadata for each in content.moves}
    answers = tuple((it.execution_id, it.version, it.decision) for it in content.answers)
    return tuple((name, *_stand(each, last.get(name, {}))) for name, each in content.contracts.items()), answers


def _stand(contract: ExecutionContract, said: dict[str, Any]) -> tuple[Any, ...]:
    return contract.status, contract.version, contract.action_digest, said.get("by"), repr(said.get("reason"))
