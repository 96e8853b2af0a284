"""What `write_batch` needs of a store: rows, to be read and written inside one transaction."""

from typing import Protocol

from .records import Approval, ExecutionContract, ExecutionStep, GraphState, Transition
from .store import Batch, GivenAnswer


class Rows(Protocol):
    """The rows of a store, inside one transaction that no other writer overlaps. Contracts come without transitions."""

    def written(self, batch_id: str) -> str | None:
        """The digest of the content of a batch that was written."""
        ...

    def add_written(self, batch: Batch, content: str, at: float) -> None:
        """A batch, with the digest of its content."""
        ...

    def contract(self, execution_id: str) -> ExecutionContract | None:
        """One contract."""
        ...

    def link(self, execution_id: str) -> str:
        """The newest link of a contract's chain."""
        ...

    def create(self, contract: ExecutionContract, link: str) -> None:
        """A new contract, with the first link of its chain."""
        ...

    def move(self, contract: ExecutionContract, transition: Transition, link: str) -> None:
        """A contract as it is after a transition, and the transition at position `contract.version`."""
        ...

    def consent(self, execution_id: str, approval: Approval) -> None:
        """The approval of a contract that is released."""
        ...

    def holder(self, key: str) -> ExecutionContract | None:
        """The contract that holds a key (C-ONCE)."""
        ...

    def attempts(self, key: str) -> list[ExecutionContract]:
        """Every contract with a key, newest first."""
        ...

    def same_action(self, action: str) -> list[ExecutionContract]:
        """Every contract with an `action_key`, oldest first."""
        ...

    def request_for(self, execution_id: str) -> ExecutionContract | None:
        """The request to a person that defers a contract."""
        ...

    def reopen(self, execution_id: str, person: str, at: float) -> None:
        """The key of a rejected contract, released."""
        ...

    def answered(self, execution_id: str, version: int) -> GivenAnswer | None:
        """The answer to a contract at a version."""
        ...

    def given(self, execution_id: str) -> GivenAnswer | None:
        """The newest answer to a contract."""
        ...

    def add_answer(self, answer: GivenAnswer) -> None:
        """An answer."""
        ...

    def state_version(self, session_id: str) -> int:
        """The version of a session's newest checkpoint, 0 when it has none."""
        ...

    def add_state(self, state: GraphState, at: float) -> None:
        """A checkpoint."""
        ...

    def step(self, session_id: str, execution_id: str, step: ExecutionStep) -> None:
        """The next entry of a session's trace."""
        ...
