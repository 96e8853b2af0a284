"""How much a random walk tries, by profile: what `verify` takes, what a server may spend, what a night is for."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

ProfileName = Literal["quick", "ci", "nightly"]


@dataclass(frozen=True)
class Bounds:
    """How much one machine tries."""

    examples: int
    steps: int


@dataclass(frozen=True)
class WalkProfile:
    """A profile of all machines.

    steered: the walk aims at what it has rarely come to. kept: examples that failed are kept between runs, and tried first.
    """

    step: Bounds
    contract: Bounds
    workers: Bounds
    steered: bool = False
    kept: bool = False


PROFILES: Final[dict[ProfileName, WalkProfile]] = {
    "quick": WalkProfile(Bounds(40, 22), Bounds(60, 24), Bounds(70, 25)),
    "ci": WalkProfile(Bounds(1500, 30), Bounds(2500, 30), Bounds(600, 30), steered=True),
    "nightly": WalkProfile(Bounds(20_000, 40), Bounds(20_000, 40), Bounds(8_000, 40), steered=True, kept=True),
}
BY_NAME: Final[dict[str, ProfileName]] = {"quick": "quick", "deep": "ci", "ci": "ci", "nightly": "nightly"}
"""By every name that is in use: `verify` calls the second one deep."""


def examples_folder() -> Path:
    """Where examples that failed are kept: beside the proofs' cache, never in a checkout."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache, "crashwindow", "examples")
