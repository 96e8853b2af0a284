"""When a step may be executed again after it provably had no effect (T-RETRY; S2).

A retry is a transition like any other: the same key, an event of its own (`retry_scheduled`), an attempt number. What is not
proven to be without effect is no case for this policy: rule 5 decides it.
"""

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from .records import Json

LONGEST: Final = 3600.0
"""Seconds: no pause between two executions is longer."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and when, a step is executed again.

    max_retries: executions beyond the first. backoff_seconds: the pause before the first retry; each further one is twice as
    long, up to an hour. retryable_errors: regular expressions, one of which has to be found in the tool's error; None accepts
    every error that is proven to be without effect. max_requeues: how often the job goes back to the queue, with the retries
    afresh, once they are used up; afterwards the failure is permanent.
    """

    max_retries: int = 2
    backoff_seconds: float = 0.0
    retryable_errors: tuple[str, ...] | None = None
    max_requeues: int = 0

    def __post_init__(self) -> None:
        if self.max_retries < 0 or self.max_requeues < 0:
            raise ValueError("max_retries and max_requeues must be ≥ 0")
        if not 0 <= self.backoff_seconds <= LONGEST:
            raise ValueError(f"backoff_seconds must be between 0 and {LONGEST:g}")
        for pattern in self.retryable_errors or ():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"retryable_errors: {pattern!r} is not a regular expression: {error}") from error

    def chosen_by(self, entry: dict[str, Json]) -> "RetryPolicy":
        """The policy with a stored node's own choices made."""
        chosen: dict[str, Any] = {
            name: entry[name] for name in ("max_retries", "backoff_seconds", "max_requeues") if name in entry
        }
        if "retryable_errors" in entry:
            chosen["retryable_errors"] = tuple(entry["retryable_errors"])
        return replace(self, **chosen) if chosen else self

    def accepts(self, error: str | None) -> bool:
        """Whether this error is one after which the step may be tried again."""
        if self.retryable_errors is None or error is None:
            return True
        return any(re.search(pattern, error) for pattern in self.retryable_errors)

    def allows(self, attempts: int, forgiven: int, requeues: int) -> bool:
        """Whether there may be another execution after so many; `forgiven` ones failed by no fault of the tool's."""
        return attempts < (1 + self.max_retries) * (1 + requeues) + forgiven

    def pause(self, attempts: int) -> float:
        """Seconds before the execution that follows so many."""
        return min(LONGEST, self.backoff_seconds * 2.0 ** min(attempts - 1, 32))


DEFAULT_RETRY: Final = RetryPolicy()
