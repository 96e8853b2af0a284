"""The edges of the machines that the shipped code is not seen to take for certain, each with its reason: pinned, and no others.

Of the quotient that is drawn they are those that no test path takes; of some no reason is known. A reason is a word: what it
says is with who asks (`checkers/converse.py`).
"""

from functools import cache
from typing import Final

import yaml
from pydantic import TypeAdapter, ValidationError

from .schema import FOLDER, ScenarioError

FILE: Final = FOLDER / "walks" / "untaken.yaml"
_FILE: Final = TypeAdapter(dict[str, dict[str, list[str]]])


@cache
def untaken(machine: str) -> dict[str, str]:
    """Of a machine's edges, in words, the pinned ones, each with its reason's word. Raises ScenarioError."""
    try:
        read = _FILE.validate_python(yaml.safe_load(FILE.read_text(encoding="utf-8")))
        return {edge: reason for reason, edges in read[machine].items() for edge in edges}
    except (OSError, KeyError, yaml.YAMLError, UnicodeDecodeError, ValidationError) as error:
        raise ScenarioError(f"{FILE}: no list of edges of the machine {machine!r}: {error}") from error
