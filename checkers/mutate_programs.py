"""Directed programs of model and code in lockstep: short stories that a random walk comes to rarely (E-TRUST, teeth)."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..model.step import build
from .abstraction import RAM
from .conform_follow import Disagreement, Model
from .conform_rig import Rig
from .conform_world import Contract, Looks, Says, StepPlan

PARKS: Final[Contract] = (False, "park", "none")
ASKS: Final[Contract] = (False, "query", "fence")
LAST: Final = 9
"""The boundary of a first turn at which everything is recorded, and nothing confirmed."""


def mismatched(rig: Rig) -> None:
    """A record that the world does not agree with, in strict mode."""
    rig.submit([StepPlan(PARKS, 0, None, "sent", Looks("strict", ("mismatch",)))])
    rig.work([], {LAST: "crash after"})
    rig.work()


def half_done(rig: Rig) -> None:
    """A step that fails after its effect."""
    rig.submit([StepPlan(PARKS, 0, None, "sent")])
    rig.work(["partial"])


def cancelled(rig: Rig) -> None:
    """A cancel before anything has begun."""
    rig.submit([StepPlan(PARKS, 0, None, "sent")])
    rig.cancel()
    rig.work()


def cancelled_unconfirmed(rig: Rig) -> None:
    """A cancel of a job whose record nobody confirms: it ends, its record as it is, in whatever mode."""
    for looks in (Looks("strict", ("undetermined",)), Looks("human_in_loop", ("mismatch",))):
        rig.submit([StepPlan(PARKS, 0, None, "sent", looks)])
        rig.work([], {LAST: "crash after"})
        rig.cancel()
        rig.work()


def refused_in_words(rig: Rig) -> None:
    """A refusal and an error that proves nothing, each with something to say."""
    rig.submit([StepPlan(PARKS, 1, None, "sent")])
    rig.work([Says("no effect", "", "the world refused"), Says("lost answer", "ValueError", "nobody answered")])


def asked_with_arguments(rig: Rig) -> None:
    """The answer is lost, and the tool is asked whether what it was called with has happened."""
    rig.submit([StepPlan(ASKS, 0, {"to": "ann"}, "sent")])
    rig.work(["lost answer"])


PROGRAMS: Final[tuple[Callable[[Rig], None], ...]] = (
    mismatched,
    half_done,
    cancelled,
    cancelled_unconfirmed,
    refused_in_words,
    asked_with_arguments,
)


def parted() -> str:
    """Where model and code part in the first program in which they do."""
    model = Model(build())
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as folder:
            rig = Rig(Path(folder), model)
            try:
                program(rig)
            except Disagreement as error:
                return f"{program.__name__}: {str(error).partition('. It could')[0]}"
            finally:
                rig.close()
    return ""
