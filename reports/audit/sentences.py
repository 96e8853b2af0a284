"""Sentences of the seeds that were tried on the runtime: tried anew, each item has to be the same, its run frame by frame.

Like obligations, they are made anew by whoever calls an audit: an audit itself runs no runtime.
"""

from collections.abc import Mapping
from typing import Final

from ...checkers.evidence import Item, RunEvidence
from ..view import Register

COMMAND: Final = "crashwindow replay text:"
"""How the command begins that tries a sentence; behind it stands the claim."""


def sentences(evidence: RunEvidence, register: Register, due: Mapping[str, Item]) -> tuple[list[str], int]:
    """Where an item is not what trying its sentence comes to; and how many were tried. due: by claim."""
    found, mine = [], {claim.id for claim in register.claims} & due.keys()
    for result in evidence.claims:
        told = [item for item in result.items if item.command.startswith(COMMAND)]
        if told != [due[name] for name in {result.claim} & mine]:
            found.append(f"claim {result.claim}: tried on this program's runtime, its sentence comes to something else")
    return found, len(mine)
