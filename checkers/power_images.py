"""What a disk may hold after a power loss: images, built from the recorded operations of a run.

**The fault model.** The power fails between two recorded operations, or while one is performed. What has happened outside, in the
world, has happened; a call that has returned was acknowledged. Then:

- What was written into a file before that file's last sync is there. A sync that has returned is honoured by the disk.
- Of what was written, or cut, since then, any subset is there. Two operations on the same bytes keep their order.
- A sector of 512 bytes holds the old or the new content, and a write leaves its neighbours alone (SQLite assumes as much:
  SQLITE_IOCAP_POWERSAFE_OVERWRITE). A write of several sectors may be torn between any two.
- Where a write that lengthened a file is lost, the file may be long all the same, with zeros.
- A creation or removal is there for certain once the directory was synced. Before that, the directory holds any prefix of what
  happened to one name, independently of other names: a new file may be missing although its content was synced, and one
  that was removed may be back. A renaming happens to both names in one, or to neither.
- The shared-memory file is never synced. It is missing, or there as it last was.

**Its bounds.** Of up to `Bounds.exhaustive` unsynced operations every legal subset is tried. Of more: what survives is a
prefix, all but one, or one alone, thinned evenly to `Bounds.shapes` of each kind. Torn is the operation under way, all before
it kept, between `Bounds.tears` pairs of its sectors, with the part before kept or the part behind; with `Bounds.any_torn` each
unsynced one, all others kept. Zeros in place of lost writes are tried where everything unsynced is lost, the old
shared-memory file where nothing is. One power loss in a run. Not tried: a sync that lies, a sector that rots, two torn
writes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from posixpath import dirname
from typing import Final, NamedTuple

from .crash_image import Files
from .crash_run import STORE
from .power_operations import Created, Cut, DirectorySynced, Entry, Operation, Removed, Renamed, Synced, Written, names

SECTOR: Final = 512


@dataclass(frozen=True)
class Bounds:
    """How many of the legal images are tried.

    between: only such losses as happen between two calls of the store. since: none before this call.
    """

    exhaustive: int
    shapes: int
    tears: int
    any_torn: bool = False
    between: bool = False
    since: str = ""


class Tear(NamedTuple):
    """Of an unsynced operation only some sectors are there: the first so many, or all but these."""

    position: int
    sectors: int
    front: bool


class Survival(NamedTuple):
    """What is left of the unsynced operations. lost: their positions, counted from the oldest, which is 1."""

    lost: tuple[int, ...] = ()
    tear: Tear | None = None
    zeros: bool = False
    shared: bool = False

    def __str__(self) -> str:
        parts = [f"lost={_ranges(self.lost)}"] if self.lost else []
        if self.tear:
            parts.append(f"torn={self.tear.position}/{'' if self.tear.front else '-'}{self.tear.sectors}")
        return ";".join([*parts, *["zeros"] * self.zeros, *["shm"] * self.shared]) or "kept"


class Image(NamedTuple):
    """The files after a power loss. at: the number of the entry after which it came."""

    at: int
    survival: Survival
    files: Files


class Disk:
    """What is on the disk for certain, and what may be, while the entries of a recording go by."""

    def __init__(self) -> None:
        self.contents: dict[int, bytes] = {}
        self.names: dict[str, int] = {}
        self.pending: list[tuple[int, Operation]] = []
        self.certain = 0  # as a set of entry numbers
        self.shared: bytes | None = None

    def take(self, number: int, entry: Entry) -> None:
        """One more entry."""
        self.shared = entry.shared
        match entry.operation:
            case Synced(content):
                self._settle(
                    {n for n, each in self.pending if isinstance(each, Written | Cut) and each.content == content}
                )
            case DirectorySynced(directory):
                self._settle(self._in(directory))
            case Created() | Removed() | Renamed() | Written() | Cut() as operation:
                self.pending.append((number, operation))
            case None:
                pass

    def _in(self, directory: str) -> set[int]:
        """What a directory's sync settles; with a renaming, what had come before it to its other name."""
        found: set[int] = set()
        touched: set[str] = set()
        for number, operation in reversed(self.pending):
            entries = names(operation)
            if directory in map(dirname, entries) or not touched.isdisjoint(entries):
                found.add(number)
                touched.update(entries)
        return found

    def _settle(self, numbers: set[int]) -> None:
        """These operations are on the disk now. What nothing leads to any more is of no interest."""
        settled = [each for n, each in self.pending if n in numbers]
        self.names, self.contents = self._applied(settled)
        self.certain |= sum(1 << n for n in numbers)
        left = [(n, each) for n, each in self.pending if n not in numbers]
        reachable = {*self.names.values(), *(each.content for _, each in left if isinstance(each, Created))}
        self.pending = [
            (n, each) for n, each in left if not isinstance(each, Written | Cut) or each.content in reachable
        ]

    def _applied(self, operations: Iterable[Operation]) -> tuple[dict[str, int], dict[int, bytes]]:
        found = dict(self.names)
        changed: dict[int, bytearray] = {}
        for operation in operations:
            match operation:
                case Created(name, content):
                    found[name] = content
                case Removed(name):
                    found.pop(name, None)
                case Renamed(name, new):
                    found[new] = found.pop(name)
                case Written(content, offset, data):
                    file = changed.setdefault(content, bytearray(self.contents.get(content, b"")))
                    if len(file) < offset:
                        file.extend(bytes(offset - len(file)))
                    file[offset : offset + len(data)] = data
                case Cut(content, size):
                    file = changed.setdefault(content, bytearray(self.contents.get(content, b"")))
                    del file[size:]
                    file.extend(bytes(size - len(file)))
        return found, {**self.contents, **{content: bytes(file) for content, file in changed.items()}}

    def identity(self, survival: Survival) -> tuple[int, Tear | None, bytes | None]:
        """Equal for two survivals at any two moments only if they leave the same files."""
        lost, tear = set(survival.lost), survival.tear
        kept = sum(1 << n for at, (n, _) in enumerate(self.pending, 1) if at not in lost)
        zeros = len(self.pending) if survival.zeros else 0
        told = tear and tear._replace(position=self.pending[tear.position - 1][0])
        return (self.certain | kept) << 16 | zeros, told, self.shared if survival.shared else None

    def legal(self, lost: Sequence[int]) -> bool:
        """Whether no name keeps an operation that came after one that it lost."""
        gone: set[str] = set()
        without = set(lost)
        for at, (_, operation) in enumerate(self.pending, 1):
            if at in without:
                gone.update(names(operation))
            elif not gone.isdisjoint(names(operation)):
                return False
        return True

    def image(self, at: int, survival: Survival) -> Image:
        """The files that a survival leaves."""
        lost = set(survival.lost)
        operations: list[Operation] = []
        longest: dict[int, int] = {}
        for position, (_, operation) in enumerate(self.pending, 1):
            if survival.tear and position == survival.tear.position:
                operations.append(torn(operation, survival.tear))
            elif position not in lost:
                operations.append(operation)
            elif survival.zeros and isinstance(operation, Written):
                longest[operation.content] = max(
                    longest.get(operation.content, len(self.contents.get(operation.content, b""))),
                    operation.offset + len(operation.data),
                )
            elif survival.zeros and isinstance(operation, Created):
                operations.append(operation)
        there, contents = self._applied([*operations, *(Cut(content, size) for content, size in longest.items())])
        files = {name: contents.get(content, b"") for name, content in there.items()}
        if survival.shared and self.shared is not None:
            files[f"{STORE}-shm"] = self.shared
        return Image(at, survival, files)

    def survivals(self, bounds: Bounds) -> Iterator[Survival]:
        """What may be left, within bounds; several may leave the same."""
        count = len(self.pending)
        yield from (Survival(lost) for lost in losses(count, bounds) if self.legal(lost))
        tearable = range(1, count + 1) if bounds.any_torn else range(max(count, 1), count + 1)
        for position in tearable:
            _, operation = self.pending[position - 1]
            for cut in thinned(range(1, sectors(operation)), bounds.tears):
                yield Survival(tear=Tear(position, cut, True))
                yield Survival(tear=Tear(position, cut, False))
        if any(isinstance(operation, Written) for _, operation in self.pending):
            yield Survival(tuple(range(1, count + 1)), zeros=True)
        if self.shared is not None:
            yield Survival(shared=True)


def losses(count: int, bounds: Bounds) -> Iterator[tuple[int, ...]]:
    """Which of so many operations are lost, the fewest first."""
    every = range(1, count + 1)
    if count <= bounds.exhaustive:
        for size in range(count + 1):
            yield from combinations(every, size)
        return
    yield ()
    for at in thinned(every, bounds.shapes):
        yield (at,)
        yield tuple(range(at, count + 1))
        yield tuple(other for other in every if other != at)


def thinned(every: Sequence[int], most: int) -> list[int]:
    """Some of these, spread evenly from the first to the last."""
    if len(every) <= most:
        return list(every)
    return [every[at * (len(every) - 1) // max(most - 1, 1)] for at in range(most)]


def sectors(operation: Operation) -> int:
    """Over how many sectors a write goes; 1 for what cannot be torn."""
    if not isinstance(operation, Written):
        return 1
    return (operation.offset + len(operation.data) - 1) // SECTOR - operation.offset // SECTOR + 1


def torn(operation: Operation, tear: Tear) -> Operation:
    """What is left of a torn write."""
    assert isinstance(operation, Written)
    cut = (operation.offset // SECTOR + tear.sectors) * SECTOR - operation.offset
    if tear.front:
        return operation._replace(data=operation.data[:cut])
    return operation._replace(offset=operation.offset + cut, data=operation.data[cut:])


def images(entries: Sequence[Entry], bounds: Bounds) -> Iterator[Image]:
    """Every image of a recording within bounds: files, with what was acknowledged and what the world saw, none twice."""
    disk, seen = Disk(), set()
    first = next(number for number, entry in enumerate(entries) if bounds.since in ("", entry.label))
    for number, entry in enumerate(entries):
        disk.take(number, entry)
        if number < first or (bounds.between and entry.operation is not None):
            continue
        for survival in disk.survivals(bounds):
            key = (disk.identity(survival), entry.acknowledged, entry.sizes)
            if key not in seen:
                seen.add(key)
                yield disk.image(number, survival)


def image_at(entries: Sequence[Entry], at: int, survival: Survival) -> Image:
    """One image. Raises ValueError for a survival that is not to be had at that moment."""
    disk = Disk()
    for number, entry in enumerate(entries[: at + 1]):
        disk.take(number, entry)
    count, tear = len(disk.pending), survival.tear
    if not set(survival.lost) <= set(range(1, count + 1)) or not disk.legal(survival.lost):
        raise ValueError(f"{survival}: of the {count} operations that were not synced there, these cannot be lost")
    if tear and not (tear.position <= count and tear.sectors < sectors(disk.pending[tear.position - 1][1])):
        raise ValueError(f"{survival}: nothing can be torn there")
    return disk.image(at, survival)


_TORN: Final = re.compile(r"torn=([1-9][0-9]*)/(-?)([1-9][0-9]*)")
_LOST: Final = re.compile(r"lost=([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)")


def parse_survival(text: str) -> Survival:
    """The survival that a text names; raises ValueError."""
    survival = Survival()
    for part in text.split(";"):
        if match := _LOST.fullmatch(part):
            ranges = [each.partition("-") for each in match[1].split(",")]
            lost = [n for first, _, last in ranges for n in range(int(first), int(last or first) + 1)]
            survival = survival._replace(lost=tuple(lost))
        elif match := _TORN.fullmatch(part):
            survival = survival._replace(tear=Tear(int(match[1]), int(match[3]), not match[2]))
        elif part in ("zeros", "shm"):
            survival = survival._replace(
                zeros=survival.zeros or part == "zeros", shared=survival.shared or part == "shm"
            )
        elif part != "kept":
            raise ValueError(f"{part!r} is none of kept, lost=1-3,5, torn=5/2, torn=5/-2, zeros, shm")
    return survival


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in short: 1-3,5."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)
