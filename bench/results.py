"""What a run of the benchmarks found, as a file of JSON: written with `--out`, read with `--against`."""

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ..runtime.errors import CommandError
from .figures import Figures, Verdict
from .row import Better

VERSION: Final = 1
FORMAT: Final = "crashwindow bench"
Status = Literal["measured", "not measured", "failed", "interrupted"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Machine(_Part):
    """Where it was measured. load: the mean number of runnable processes over the last minute, before and after; disk: of the
    stores."""

    cpu: str
    cores: int
    system: str
    python: str
    disk: str
    load: tuple[float, float]


class Beside(_Part):
    """A rival in a row. ratios: how many times better ours was, round by round; reason: why there is nothing."""

    name: str
    version: str = ""
    status: Status
    reason: str = ""
    figures: Figures | None = None
    ratios: Figures | None = None


class Judged(_Part):
    """A goal, and whether it is met. beside: as of `row.Goal`; found: the median."""

    beside: str
    goal: float
    found: float | None
    verdict: Verdict


class Measured(_Part):
    """A row that was gone through. load: when it began."""

    name: str
    what: str
    unit: str
    better: Better
    status: Status
    reason: str = ""
    load: float
    ours: Figures | None = None
    rivals: tuple[Beside, ...] = ()
    goals: tuple[Judged, ...] = ()


class Run(_Part):
    """A whole run. commit: of the checkout, with `+` where it was changed since; "" where there is none."""

    format: Literal["crashwindow bench"] = "crashwindow bench"
    version: Literal[1] = 1
    date: str
    commit: str
    command: str
    machine: Machine
    rows: tuple[Measured, ...]


def write(run: Run, file: Path) -> None:
    """Write a run. Raises CommandError when the file cannot be written."""
    try:
        file.write_text(run.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--out {file}: {error.strerror}: name a file that can be written") from error


def read(file: Path) -> Run:
    """A run that was written. Raises CommandError, with the remedy, when it is none, or of another version."""
    remedy = "give a file that `crashwindow bench --out FILE` has written"
    try:
        return Run.model_validate_json(file.read_bytes())
    except OSError as error:
        raise CommandError(f"--against {file}: {error.strerror}: {remedy}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise CommandError(
            f"--against {file}: no results of version {VERSION}: {where}: {first['msg']}: {remedy}"
        ) from error
