"""What a process asks of the disk, and the moments of a run at which it did: the data from which power losses are built.

A name is a file's, below the directory that is looked at, as `jobs.db` or `log/1`. A content is what a name leads to, numbered
as it came to be: a name that is created again leads to another one.
"""

from typing import NamedTuple


class Created(NamedTuple):
    """A file came to be: a directory entry that leads to a new content."""

    name: str
    content: int


class Removed(NamedTuple):
    """A directory entry was removed."""

    name: str


class Renamed(NamedTuple):
    """A directory entry got another name, in one: whatever that name led to before, it leads to this content now."""

    name: str
    new: str


class Written(NamedTuple):
    """Bytes were written into a content."""

    content: int
    offset: int
    data: bytes


class Cut(NamedTuple):
    """A content was cut to, or filled with zeros up to, a size."""

    content: int
    size: int


class Synced(NamedTuple):
    """All that was written into a content is on the disk."""

    content: int


class DirectorySynced(NamedTuple):
    """All creations, removals and renamings in a directory are on the disk; "": the one that is looked at."""

    directory: str = ""


Operation = Created | Removed | Renamed | Written | Cut | Synced | DirectorySynced


class Entry(NamedTuple):
    """One moment of a run: an operation on the disk, or None where something else happened.

    label: during which call. acknowledged: how many calls had returned. sizes: how long the files of the world's witness were.
    shared: the shared-memory file, None where there was none.
    """

    operation: Operation | None
    label: str
    acknowledged: int
    sizes: tuple[int, ...]
    shared: bytes | None


def names(operation: Operation) -> tuple[str, ...]:
    """The directory entries that an operation changes."""
    match operation:
        case Created(name, _) | Removed(name):
            return (name,)
        case Renamed(name, new):
            return name, new
        case _:
            return ()
