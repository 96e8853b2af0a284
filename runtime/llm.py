"""Language models: what the runtime asks of a provider, and what a provider answers (E-LLM).

A call changes nothing in the world, so a failed one may always be made again, as often as the node's policy allows. Its answer is
an effect all the same: whatever follows depends on it, so it is recorded before anything uses it.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from .records import Json


class LlmRequest(NamedTuple):
    """One question. prompt: a text, or messages as the provider takes them. temperature: None leaves it to the model."""

    prompt: Json
    model: str
    temperature: float | None = None


@dataclass(frozen=True)
class LlmAnswer:
    """An answer. response: the text, or whatever JSON the provider makes of it. model: which model says that it answered."""

    response: Json
    model: str


class LlmError(Exception):
    """A call that gave no answer. retry_after: when the provider said when to ask again, seconds from now; else None."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Provider(Protocol):
    """Asks language models. It bounds its own time: nobody else ends a call."""

    @property
    def name(self) -> str:
        """What a plan calls it, in the field `llm` of a node."""
        ...

    def complete(self, request: LlmRequest) -> LlmAnswer:
        """Ask once. Raises LlmError; any other exception counts as one, too."""
        ...
