"""The properties of the gate, of the compensation and of recorded values, and the seeds' sentences about them, by id."""

from typing import Final

from .compensation_properties import COMPENSATION_PROPERTIES, COMPENSATION_SENTENCES
from .gate import GATE_PROPERTIES
from .recorded import RECORDED_PROPERTIES, RECORDED_SENTENCES

SEMANTICS_PROPERTIES: Final = {
    "gate": GATE_PROPERTIES,
    "compensation": (*COMPENSATION_PROPERTIES, *COMPENSATION_SENTENCES),
    "recorded": (*RECORDED_PROPERTIES, *RECORDED_SENTENCES),
}
"""By the machine of which they are stated, as the names of its policies begin."""
SEMANTICS_BY_ID: Final = {p.id: p for stated in SEMANTICS_PROPERTIES.values() for p in stated}
