"""The machines other than the step's that cases of the core are held beside: a gate, a recorded value, a compensation.

Each has cases of its own, whose words are read as that machine has them. Nothing that is proved of the step alone is said of it.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ..model.compensation import HARDENED_COMPENSATION
from ..model.gate import HARDENED_GATE
from ..model.recorded import HARDENED_RECORDED
from .enumerate_case import WideCase
from .enumerate_cases import GATES, UNDOES, VALUES
from .enumerate_certain import CertainSets
from .enumerate_ends import origin
from .enumerate_floor import WideFloor
from .enumerate_gate import GateReader, gate_sets
from .enumerate_gate_floor import GateFloor
from .enumerate_read import Reader
from .enumerate_recorded import RecordedReader, recorded_sets
from .enumerate_undoing import UndoingReader, undoing_sets
from .enumerate_undoing_floor import UndoingFloor


class Other(NamedTuple):
    """A machine, its policy, the claim about it, its cases, and how these are gone through."""

    words: str
    policy: str
    claim: str
    cases: Mapping[str, WideCase]
    sets: Callable[..., CertainSets]
    floor: Callable[..., WideFloor]
    reader: type[Reader]


OTHERS: Final = (
    Other("the machine of a gate", HARDENED_GATE.name, "P9", GATES, gate_sets, GateFloor, GateReader),
    Other(
        "the machine of a recorded value",
        HARDENED_RECORDED.name,
        "P12",
        VALUES,
        recorded_sets,
        WideFloor,
        RecordedReader,
    ),
    Other(
        "the machine of a compensation",
        HARDENED_COMPENSATION.name,
        "P10",
        UNDOES,
        undoing_sets,
        UndoingFloor,
        UndoingReader,
    ),
)


def beside_other(name: str) -> Other | None:
    """The machine that a case is held beside; None for the step's."""
    return next((other for other in OTHERS if origin(name) in other.cases), None)
