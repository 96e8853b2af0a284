"""The bundle as a file: a tar archive, compressed, in which nothing but names and contents can be said.

Reading is as strict as can be: each header must be, byte for byte, the one that this module writes for that name and size. So
there are no links, devices, directories, owners, times or extensions, and no second tar of the same files; how it is deflated
says nothing. Nothing is ever extracted to a path.
"""

import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

BLOCK: Final = 512
END: Final = bytes(2 * BLOCK)
MIB: Final = 1 << 20
MOST_FILES: Final = 50_000
MOST_OF_ONE: Final = 256 * MIB
MOST_OF_ALL: Final = 1024 * MIB
MOST_RATIO: Final = 200
"""How much larger than the archive its contents may be. Evidence, which repeats itself, comes to about 30."""

GZIP: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""How a gzip member begins that has neither a name nor a time, a comment or an extra field."""
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@=,-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+@=,-]*)*")
"""Plain relative names: no part begins with a dot, none is empty, and every character looks like itself alone."""

KINDS: Final = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a character device",
    tarfile.BLKTYPE: "a block device",
    tarfile.DIRTYPE: "a directory",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_LONGNAME: "an extension of the format",
    tarfile.GNUTYPE_LONGLINK: "an extension of the format",
    tarfile.XHDTYPE: "an extension of the format",
    tarfile.XGLTYPE: "an extension of the format",
}


class ArchiveError(ValueError):
    """A file that is no bundle, or one that cannot be written: it names the entry and the reason."""


def pack(files: Mapping[str, bytes]) -> bytes:
    """The archive of some files: the same bytes for the same files. Raises ArchiveError for a name that has no place in one."""
    parts = []
    for name, content in sorted(files.items()):
        if problem := _name_problem(name):
            raise ArchiveError(f"{name!r}: {problem}")
        parts += [_header(name, len(content)), content, bytes(-len(content) % BLOCK)]
    # Like gzip.compress(…, mtime=0), but for a byte that there depends on Python's version.
    return zlib.compress(b"".join([*parts, END]), level=9, wbits=31)


def unpack(data: bytes) -> dict[str, bytes]:
    """The files of an archive that may have been made to do harm, by name, in order. Raises ArchiveError."""
    files: dict[str, bytes] = {}
    folded: dict[str, str] = {}
    for name, content in _entries(_inflated(data)):
        before = next(reversed(files), "")
        if name in files:
            raise ArchiveError(f"{name}: it is there twice")
        if name < before:
            raise ArchiveError(f"{name}: it stands behind {before}: entries are in the order of their names")
        if (other := folded.setdefault(name.casefold(), name)) != name:
            raise ArchiveError(f"{name}: it differs from {other} in upper and lower case alone")
        files[name] = content
        if len(files) > MOST_FILES:
            raise ArchiveError(f"{name}: there are more than {MOST_FILES} entries")
    for name in files:
        for end, letter in enumerate(name):
            if letter == "/" and name[:end] in files:
                raise ArchiveError(f"{name}: {name[:end]} is a file, and cannot have others below it")
    return files


def _inflated(data: bytes) -> bytes:
    if not data.startswith(GZIP):
        raise ArchiveError(
            "the file does not begin as a bundle does: a gzip stream without name, time and extra fields"
        )
    most = min(MOST_OF_ALL, MOST_RATIO * len(data)) + len(END)
    stream = zlib.decompressobj(wbits=31)
    try:
        content = stream.decompress(data, most)
    except zlib.error as error:
        raise ArchiveError(f"the compressed stream is damaged: {error}") from error
    if not stream.eof and (stream.unconsumed_tail or len(content) >= most):
        raise ArchiveError(f"it grows beyond {most} bytes, which is more than a bundle of {len(data)} bytes may hold")
    if not stream.eof:
        raise ArchiveError("the compressed stream is truncated")
    if stream.unused_data:
        raise ArchiveError(f"{len(stream.unused_data)} bytes follow the compressed stream")
    return content


def _entries(content: bytes) -> Iterator[tuple[str, bytes]]:
    at, last = 0, "the beginning"
    while content[at : at + BLOCK] != bytes(BLOCK):
        block = content[at : at + BLOCK]
        if len(block) < BLOCK:
            raise ArchiveError(f"the archive is truncated after {last}")
        name, size = _read_header(block, last)
        at += BLOCK
        end = at + size
        padded = end + -size % BLOCK
        if padded > len(content):
            raise ArchiveError(
                f"{name}: the archive is truncated: {size} bytes are declared, {len(content) - at} are left"
            )
        if content[end:padded].strip(b"\0"):
            raise ArchiveError(f"{name}: there are bytes behind its end")
        yield name, content[at:end]
        at, last = padded, name
    if content[at:] != END:
        raise ArchiveError(f"the archive does not end after {last}: something follows, or the end is cut off")


def _read_header(block: bytes, last: str) -> tuple[str, int]:
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError, ValueError) as error:
        raise ArchiveError(f"the entry after {last}: its header is damaged: {error}") from error
    if info.type != tarfile.REGTYPE:
        raise ArchiveError(f"{info.name!r}: it is {KINDS.get(info.type, 'of an unknown kind')}, and no plain file")
    if problem := _name_problem(info.name):
        raise ArchiveError(f"{info.name!r}: {problem}")
    if not 0 <= info.size <= MOST_OF_ONE:
        raise ArchiveError(f"{info.name}: it declares {info.size} bytes; a file may have {MOST_OF_ONE}")
    if _header(info.name, info.size) != block:
        raise ArchiveError(f"{info.name}: its header says more than a name and a size, or says it otherwise")
    return info.name, info.size


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    try:
        return info.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
    except ValueError as error:
        raise ArchiveError(f"{name}: {error}") from error


def _name_problem(name: str) -> str:
    if name.startswith("/"):
        return "it is an absolute path"
    if ".." in name.split("/"):
        return "it leads out of the archive"
    if not NAME.fullmatch(name):
        return "it is not a plain name: letters of the alphabet, digits, _ . + @ = , - and /"
    return ""
