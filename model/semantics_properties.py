"""The properties of the gate, of the compensation and of recorded values, and the seeds' sentences about them, by id."""

from typing import Final

from .compensation_properties import COMPENSATION_PROPERTIES, COMPENSATION_SENTENCES
from .gate import GATE_PROPERTIES
from .recorded import RECORDED_PROPERTIES, RECORDED_SENTENCES

SEMANTICS_BY_ID: Final = {
    p.id: p
    for p in (
        *GATE_PROPERTIES,
        *COMPENSATION_PROPERTIES,
        *COMPENSATION_SENTENCES,
        *RECORDED_PROPERTIES,
        *RECORDED_SENTENCES,
    )
}
