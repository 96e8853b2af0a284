"""Power loss: what the disk may hold when the power fails at a call, built from what the calls asked of it until then.

The power fails when the call has returned. What was synced is there; of the rest, what `checkers/power_images.py` says may be
left: any part, in any order, torn, or long with zeros. Each of these images is a strike of its own: its key says which of the
unsynced operations are lost, counted from the oldest, so that a run repeats it exactly as long as the runtime asks the disk for
the same. The world and a database server are other machines: nothing of them is lost. Nor is what a client was told.
"""

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..power_images import Bounds, Disk, Survival, image_at, parse_survival
from ..power_operations import Entry
from .boundary import Strike

IMAGES: Final = 16
"""How many images are tried at a boundary; of more, a sample, in which everything unsynced is lost in one."""
BOUNDS: Final = Bounds(exhaustive=4, shapes=6, tears=1)
"""Which images there are, where a disk has many unsynced operations."""


class Losses(NamedTuple):
    """The strikes of a power loss. sampled: how many images there are at a boundary, where only a sample is tried."""

    strikes: tuple[Strike, ...]
    sampled: dict[str, int]


def losses(entries: Sequence[Entry], seed: int) -> Losses:
    """Every image that a run may leave, none twice unless the world or the client knows more by then.

    The disk that has kept everything is left out: a process that is killed after the call leaves it.
    """
    strikes: list[Strike] = []
    sampled: dict[str, int] = {}
    seen: set[tuple[bytes, int, tuple[int, ...]]] = set()
    disk = Disk()
    for number, entry in enumerate(entries):
        disk.take(number, entry)
        if not entry.label or entry.operation is not None:
            continue
        found = []
        for survival in (Survival(), *disk.survivals(BOUNDS)):
            key = _digest(disk.image(number, survival).files), entry.acknowledged, entry.sizes
            if key not in seen:
                seen.add(key)
                found.append(survival)
        found = [survival for survival in found if survival != Survival()]
        if len(found) > IMAGES:
            sampled[entry.label] = len(found)
            found = _sample(found, random.Random(f"{seed} {entry.label}"))
        strikes += [Strike(entry.label, "power", str(survival)) for survival in found]
    return Losses(tuple(strikes), sampled)


def lay_out(directory: Path, entries: Sequence[Entry], strike: Strike) -> None:
    """Make a directory hold what a power loss has left. Directories stay, as if they had been there for long.

    Raises ValueError where the disk was not asked for what the strike says is lost.
    """
    at = max((number for number, entry in enumerate(entries) if entry.label == strike.boundary), default=-1)
    if at < 0:
        raise ValueError(f"{strike}: nothing was recorded")
    try:
        image = image_at(entries, at, parse_survival(strike.image))
    except ValueError as error:
        raise ValueError(f"the disk was asked for other things than the image is of: {error}") from error
    for path in directory.rglob("*"):
        if not path.is_dir() or path.is_symlink():
            path.unlink()
    for name, content in image.files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)


def _digest(files: dict[str, bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, content in sorted(files.items()):
        digest.update(f"{len(content)} {name}\0".encode(errors="surrogateescape"))
        digest.update(content)
    return digest.digest()


def _sample(found: list[Survival], chance: random.Random) -> list[Survival]:
    """The one that has lost most, and others by lot, in their order."""
    most = max(found, key=lambda survival: len(survival.lost))
    rest = [survival for survival in found if survival is not most]
    chosen = {most, *chance.sample(rest, IMAGES - 1)}
    return [survival for survival in found if survival in chosen]
