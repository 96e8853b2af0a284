"""How records become the columns of a contract store's tables, and rows records: the same for every database."""

from collections.abc import Sequence
from typing import Any, Final

from ...model.contract import Status
from ..store_rules import decode, encode
from .chain import Moved, outcome
from .records import ExecutionContract, ExecutionStep, Transition
from .rules import action_key
from .store import GivenAnswer

FIELDS: Final = tuple(
    name for name in ExecutionContract.model_fields if name not in ("transitions", "spilled", "pruned")
)
"""The columns of a contract that are its fields. A row that is read has one more: the digest, where retention took content."""

_JSON: Final = frozenset({"action_detail", "consent", "result", "metadata"})
_FLAGS: Final = frozenset({"irreversible", "needs_consent", "consent_used"})


def new_row(contract: ExecutionContract, link: str) -> tuple[Any, ...]:
    """The values of CREATE."""
    fields = contract.model_dump(mode="json")
    values = (encode(fields[name]) if name in _JSON else fields[name] for name in FIELDS)
    return (*values, contract.action_digest, action_key(contract), link)


def moved_row(contract: ExecutionContract, link: str) -> tuple[Any, ...]:
    """The values of MOVE."""
    consent = encode(contract.consent.model_dump() if contract.consent else None)
    ended = encode(contract.result), contract.error_message
    marks = contract.status, contract.version, consent, contract.consent_used
    return (*marks, *ended, contract.updated_at, link, contract.execution_id)


def contract_of(row: Any, newest: Sequence[Transition] = ()) -> ExecutionContract:
    """A contract from its row, whose first column is its id. newest: its transitions that are at hand; the others are spilled."""
    fields = dict(zip((*FIELDS, "pruned"), row, strict=True))
    for name in _JSON:
        fields[name] = decode(fields[name])
    for name in _FLAGS:
        fields[name] = bool(fields[name])
    fields["status"] = Status(fields["status"])
    fields["transitions"], fields["spilled"] = tuple(newest), fields["version"] - len(newest)
    return ExecutionContract.model_validate(fields)


def transition_row(contract: ExecutionContract, transition: Transition, link: str) -> tuple[Any, ...]:
    """The values of ADD_TRANSITION, for the newest transition of a contract."""
    step = transition
    what = step.from_, step.to, step.trigger, step.timestamp, step.actor, encode(step.metadata)
    return (contract.execution_id, contract.version, *what, outcome(contract), link)


def moved_of(row: Any) -> Moved:
    """A transition from its row."""
    before, after, trigger, at, actor, metadata, result, link = row
    step = {"from": Status(before), "to": Status(after), "trigger": trigger, "timestamp": at, "actor": actor}
    transition = Transition.model_validate({**step, "metadata": decode(metadata)})
    return Moved(transition, result, link)


def answer_row(answer: GivenAnswer) -> tuple[Any, ...]:
    """The values of ADD_ANSWER."""
    who = answer.execution_id, answer.version, answer.decision, answer.by, answer.at
    return (*who, answer.digest, encode(answer.data), answer.again_of, answer.retries)


def answer_of(row: Any) -> GivenAnswer | None:
    """An answer from its row; None when there is none."""
    if row is None:
        return None
    execution_id, version, decision, by, at, digest, data, again_of, retries = row
    return GivenAnswer(execution_id, version, decision, by, at, digest, decode(data), again_of, bool(retries))


def step_row(session_id: str, execution_id: str, step: ExecutionStep) -> tuple[Any, ...]:
    """The values of ADD_STEP."""
    what = step.node_id, step.timestamp, step.action, encode(step.result), encode(step.metadata)
    return (session_id, execution_id, *what)


def step_of(row: Any) -> ExecutionStep:
    """An entry of the trace from its row."""
    node, at, action, result, metadata = row
    return ExecutionStep(node_id=node, timestamp=at, action=action, result=decode(result), metadata=decode(metadata))
