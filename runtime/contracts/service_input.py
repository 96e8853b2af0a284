"""What comes in at the approval service, and why it may be refused."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ...model.contract import Status
from ..records import Json
from .records import ExecutionContract
from .service_guard import Refused
from .store import ContractError, ContractStore, GivenAnswer, NoContract


class _Body(BaseModel):
    """The fields of a request: text as it comes from a form, or JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    csrf_token: str


class Responded(_Body):
    """POST /ecs/respond: an answer to what was shown. reason: why it is denied. data: what a request has asked for."""

    execution_id: str
    version: int
    decision: Literal["approve", "deny", "data"]
    by: str = Field(max_length=200)
    digest: str | None = None
    again_of: str | None = None
    retries: bool = False
    reason: str = ""
    data: Json = None

    @field_validator("by")
    @classmethod
    def _is_a_name(cls, by: str) -> str:
        if not by.strip():
            raise ValueError("an answer names who gives it")
        return by.strip()

    def answer(self, at: float) -> GivenAnswer:
        """What is stored. at: seconds since the epoch."""
        data: Json = self.data if self.decision == "data" else {"reason": self.reason} if self.reason else None
        approves = self.decision == "approve"
        return GivenAnswer(
            self.execution_id,
            self.version,
            self.decision,
            self.by,
            at,
            digest=self.digest,
            data=data,
            again_of=self.again_of if approves else None,
            retries=self.retries and approves,
        )


class Continued(_Body):
    """POST /ecs/continue: a session whose question was answered."""

    session_id: str


def refused(store: ContractStore, given: Responded, error: ContractError) -> Refused:
    """What an answer that was not stored is told: whether it came second, or the action is not the one that was shown."""
    if isinstance(error, NoContract):
        return Refused(404, f"{error}; nothing was changed")
    contract = store.contract(given.execution_id)
    first = store.given(given.execution_id)
    if first is not None and first.version == given.version:
        return Refused(409, f"it was answered already: {first.decision} by {first.by}; nothing was changed")
    new = next(
        (move.metadata["superseded_by"] for move in contract.transitions if "superseded_by" in move.metadata), None
    )
    if new is not None:
        return Refused(
            409, f"the action has changed: {new} has taken its place; load the page again, nothing was changed"
        )
    if contract.status is Status.WAITING and (
        contract.version != given.version or _other_action(store, contract, given)
    ):
        return Refused(409, "the action has changed: load the page again and read it as it is now; nothing was changed")
    return Refused(409, f"{error}; nothing was changed")


def _other_action(store: ContractStore, contract: ExecutionContract, given: Responded) -> bool:
    """Whether the answer bears another digest than that of what it would release, if it would release anything."""
    if not contract.lets_run and contract.defers is None:
        return False
    return store.contract(contract.defers or given.execution_id).action_digest != given.digest
