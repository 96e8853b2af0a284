"""The reference model as one sees it from outside: what a record may say of a job at rest, beside how often its step has acted.

It is the hardened step machine of `model.step`, projected: of each reachable state without a worker, the job's status, the number
of effects, and what the events say of the step. `tests/test_campaign_machine.py` compares it with the whole state space.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from .adapter import Belief, Known, Status


class View(NamedTuple):
    """A step of a job at rest. status: of the job. effects: of the step. known: what the record says of it."""

    status: Status
    effects: int
    known: Known


VISIBLE: Final = frozenset(
    View(*row)
    for row in (
        ("running", 0, "not done"),
        ("running", 0, "unknown"),
        ("running", 1, "unknown"),
        ("running", 1, "done"),
        ("unknown", 0, "not done"),
        ("unknown", 0, "unknown"),
        ("unknown", 1, "unknown"),
        ("unknown", 1, "done"),
        ("completed", 1, "done"),
        ("failed", 0, "not done"),
        ("failed", 0, "unknown"),
        ("failed", 1, "unknown"),
        ("failed", 1, "done"),
    )
)
"""What the model reaches: never two effects, no `completed` without one, no `done` without one, no `not done` with one."""
OVER: Final = ("completed", "failed")
"""Statuses that nothing ends: a job that is over stays as it is."""


def allowed(belief: Belief, step: str, effects: int) -> bool:
    """Whether the model reaches what is seen of a step. A record that is silent about it may mean anything; but see `denied`."""
    known = belief.steps.get(step)
    if belief.status == "absent":
        return effects == 0 and known != "done"
    return any(view[:2] == (belief.status, effects) and known in (None, view.known) for view in VISIBLE)


def denied(belief: Belief, steps: Iterable[str], effects: Mapping[str, int]) -> bool:
    """Whether a record says of a job whose every step has acted no more than that it failed: of some step it denies that.

    One that says of each that it is done, or that it does not know, says nothing that is false.
    """
    every = list(steps)
    return belief.status == "failed" and all(map(effects.get, every)) and not belief.steps.keys() >= set(every)
