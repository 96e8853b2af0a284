"""The world of a campaign: one file, to which each effect appends a line. The judge counts lines, and knows nothing more.

It is not the runtime's, nor in its directory. A program in another language appends to it as well: the file's path is in the
request that it reads, a line is JSON: `{"step": "a"}`.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ...runtime.records import Json


class Effect(NamedTuple):
    """One effect. number: which line it is, from 1. key: what the tool was given to tell a repeat, if anything."""

    number: int
    step: str
    key: str | None = None

    @property
    def result(self) -> Json:
        """What the effect answered: a second one would answer something else."""
        return {"effect": self.number}


class World:
    """The witness of one run."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def act(self, step: str, key: str | None = None) -> Json:
        """Change the world: one more line, on the disk when this returns."""
        line = {"step": step} if key is None else {"step": step, "key": key}
        descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
            # Whoever appends stands behind its own line, whatever others have appended since: its number is that of the lines so
            # far.
            end = os.lseek(descriptor, 0, os.SEEK_CUR)
            os.fsync(descriptor)
            return Effect(self.file.read_bytes().count(b"\n", 0, end), step, key).result
        finally:
            os.close(descriptor)

    def find(self, step: str) -> Json:
        """The result of a step's first effect; None where there is none."""
        return next((effect.result for effect in self.effects() if effect.step == step), None)

    def effects(self) -> list[Effect]:
        """What happened so far, in order. ValueError for a line that is none."""
        try:
            lines = self.file.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        return [_effect(number, line) for number, line in enumerate(lines, 1)]


def _effect(number: int, line: bytes) -> Effect:
    try:
        read = json.loads(line)
        return Effect(number, str(read["step"]), read.get("key"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f'line {number} of the world is not {{"step": NAME}}: {line[:80]!r}') from error


def counts(effects: list[Effect]) -> Mapping[str, int]:
    """How often each step acted."""
    return Counter(effect.step for effect in effects)
