"""The crash points of a runtime that a test is marked with: what the mark says, and what runs without a fault find.

Under pytest-xdist each worker collects the same tests, so that one finds the crash points, and the others read them.
"""

import fcntl
import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from ..evidence_matrix import Control
from .adapter import Subject
from .bench import REFUSED, Bench, Setup
from .boundary import WHENS, Source, When
from .campaign import control, single_faults
from .sources import name_of

TAKES: Final = ("adapter", "steps", "boundaries", "strikes", "options", "hold_seconds")
"""The arguments of the mark; all but the first may be left out."""
DEFAULT_STEPS: Final = ("a", "b", "c")
DEFAULT_WHENS: Final[tuple[When, ...]] = ("before", "after", "held", "paused")
SEED: Final = 0
"""Of the sample of what a loss of power may leave: the same tests in each session."""


class CrashPointsError(Exception):
    """There are no crash points: a mark that is used wrongly, or a runtime that does not do its job without a fault."""


@dataclass(frozen=True)
class Marked:
    """What a mark asks for. whens: the kinds of fault."""

    setup: Setup
    whens: tuple[When, ...]

    @property
    def key(self) -> str:
        """The same for the same mark, in every process."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Found:
    """What runs without a fault came to, and the schedules of one fault at what each of them came to.

    sampled: as in a matrix.
    """

    control: Control
    points: tuple[str, ...]
    sampled: Mapping[str, int]

    def dumps(self) -> str:
        """As JSON."""
        told = {"control": self.control.model_dump(mode="json"), "points": self.points, "sampled": dict(self.sampled)}
        return json.dumps(told)

    @classmethod
    def loads(cls, text: str) -> "Found":
        """What `dumps` gave."""
        told = json.loads(text)
        return cls(Control.model_validate(told["control"]), tuple(told["points"]), told["sampled"])


def marked(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Marked:
    """What a mark says. Raises CrashPointsError where it cannot be meant."""
    if arguments or "adapter" not in named or not set(named) <= set(TAKES):
        raise CrashPointsError(f"the mark takes adapter=…, and may take {', '.join(TAKES[1:])}, each by its name")
    adapter, options = named["adapter"], named.get("options", {})
    if not isinstance(adapter, str) and not inspect.isclass(adapter):
        raise CrashPointsError(f"adapter={adapter!r}: give a class, or its name as module:Class or file.py:Class")
    steps = _names("steps", named.get("steps", DEFAULT_STEPS))
    whens = _names("strikes", named.get("strikes", DEFAULT_WHENS), WHENS)
    (source,) = _names("boundaries", (named.get("boundaries", "commits"),), get_args(Source))
    name = name_of(adapter)
    label = "-".join([name.rpartition(":")[2].lower(), *map(str, options.values())])
    setup = Setup(Subject(label, name, options=dict(options)), steps, source, named.get("hold_seconds", 0.15))
    return Marked(setup, whens)


def _names(what: str, given: Any, known: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Several names. A single string is refused: its letters would be taken for them."""
    names = () if isinstance(given, str) else tuple(given)
    if not names or len(set(names)) < len(names) or (known and not set(names) <= set(known)):
        of = f" of {', '.join(known)}" if known else ""
        raise CrashPointsError(f"{what}={given!r}: give one or more{of}, none twice, as ('x', 'y')")
    return names


def find(asked: Marked, shared: Path | None) -> Found:
    """The crash points; shared: a directory of this session's, where the first process to ask leaves them to the others.

    Raises CrashPointsError.
    """
    if shared is None:
        return _explore(asked)
    file = shared / f"{asked.key}.json"
    with (shared / f"{asked.key}.lock").open("w") as lock:
        # Freed by the system when a process ends, however it ends: nobody waits for one that has died.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            part = file.with_suffix(".part")
            part.write_text(_told(asked), encoding="utf-8")
            part.rename(file)
    text = file.read_text(encoding="utf-8")
    if text.startswith(_ERROR):
        raise CrashPointsError(text.removeprefix(_ERROR))
    return Found.loads(text)


_ERROR: Final = "error: "


def _told(asked: Marked) -> str:
    try:
        return _explore(asked).dumps()
    except CrashPointsError as error:
        return f"{_ERROR}{error}"


def _explore(asked: Marked) -> Found:
    try:
        with Bench(asked.setup) as bench:
            found, _ = control(bench)
            schedules, lost = single_faults(bench, found, asked.whens, SEED)
    except REFUSED as error:
        raise CrashPointsError(str(error)) from error
    points = tuple(str(strike) for (strike,) in schedules if strike.boundary not in found.unstable)
    if not points:
        raise CrashPointsError(
            f"{asked.setup.subject.name}: there is no crash point for strikes={asked.whens!r}"
            " (a process is paused only where the adapter's capabilities say takeover_seconds)"
        )
    return Found(found, points, lost.sampled)
