"""The machines other than the step's that cases of the core are held beside: a gate, a recorded value, a compensation.

Each has cases of its own, whose words are read as that machine has them. Nothing that is proved of the step alone is said of it.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ..model.compensation import HARDENED_COMPENSATION
from ..model.gate import HARDENED_GATE
from ..model.recorded import HARDENED_RECORDED
from .enumerate_case import GATES, UNDOES, VALUES, WideCase
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
    """A machine, its policy, the claim about it, its cases, and how these are gone through.

    untaken: of each row of it, how many edges the code does not take for certain in them.
    """

    words: str
    policy: str
    claim: str
    cases: Mapping[str, WideCase]
    sets: Callable[..., CertainSets]
    floor: Callable[..., WideFloor]
    reader: type[Reader]
    untaken: Mapping[str, int] = {}


UNTAKEN: Final = {
    "acquire": 1, "asked for, and given up elsewhere: the job ends": 4,
    "asked for, and there is nothing to undo: the job ends": 4, "decide: nobody asks": 4,
    "decide: the last attempt did nothing": 6, "decide: the original is to be resolved first": 11,
    "decide: there is nothing to compensate": 8, "decide: what was acquired was not begun": 2,
    "done, and given up elsewhere: the job ends": 1, "given up: the job ends": 2, "nor did the step do anything: the job ends": 2,
    "park": 3, "park, though it is given up: a step is in doubt": 1, "query: it did not happen": 1, "step: to be undone": 2,
    "step: tried again": 1, "the job ends, and the original is in doubt": 1, "what was acquired and not begun is settled": 1,
}  # fmt: skip
"""Of a compensation: some rows are for a job of several steps, some for longer lives, and some no code follows (decision 047)."""
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
        UNTAKEN,
    ),
)


def beside_other(name: str) -> Other | None:
    """The machine that a case is held beside; None for the step's."""
    return next((other for other in OTHERS if origin(name) in other.cases), None)
