"""`file.append`: one line appended to a file.

The line is JSON: {"key": external key, "attempt": 1, 2, …, "text": …}. It is written by one `write` on an `O_APPEND`
descriptor, so that lines of several writers on one machine do not mix; file and folder are synced before the call
returns.

| what happens                                       | outcome   |
| -------------------------------------------------- | --------- |
| bad arguments, or the file cannot be opened         | no effect |
| `write` or `fsync` fails, or `write` stops half-way | unknown   |

The query reads the file, so it rests on this: nobody edits, rotates or removes the file while the job runs. A line is
the effect when it is complete. A torn one, which a failed or interrupted write leaves, is neither there nor absent:
NotKnown. An absence is final only after the quiet time: a paused writer may still be before its `write` (T-QUIET).
"""

import hashlib
import json
import os
import stat
from typing import Final

from ..records import Json
from ..tool import Absent, Happened, NoEffectError, NotKnown, Tool, ToolContext, ToolResult
from ..verifier import StateChange

START: Final = b'{"key":'
"""How each line begins. It stands in no other place of a line: inside the text the quotes are escaped."""


def append(args: Json, context: ToolContext) -> ToolResult:
    """Append the line; {"path", "offset", "bytes"}, in bytes from the beginning of the file."""
    path, text = _arguments(args)
    line = _line(context.external_key, context.attempt, text)
    try:
        folder = _open_folder(path)
    except OSError as error:
        raise NoEffectError(f"cannot open the folder of {path!r}: {error}") from error
    try:
        file = _open_file(path)
        try:
            written = os.write(file, line)
            if written != len(line):
                raise OSError(
                    f"{path!r}: only {written} of {len(line)} bytes were written; the file ends in a torn line"
                )
            os.fsync(file)
            # Always, not only for the writer that made the file: that one may have been killed before it got here.
            os.fsync(folder)
            # With O_APPEND the position after a write is the end of what this descriptor wrote.
            output = _output(path, os.lseek(file, 0, os.SEEK_CUR) - written, line)
            return ToolResult(output, state_changes=_appended(output, line))
        finally:
            os.close(file)
    finally:
        os.close(folder)


def find(args: Json, context: ToolContext) -> Happened | Absent | NotKnown:
    """Look for the line of any attempt so far; answers with the call's output. Raises OSError if it cannot be read."""
    path, text = _arguments(args)
    lines = [_line(context.external_key, attempt, text) for attempt in range(1, context.attempt + 1)]
    key = json.dumps(context.external_key).encode()
    torn = False
    offset = 0
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return Absent()
    with os.fdopen(file, "rb") as content:
        for found in content:
            offset += len(found)
            for line in lines:
                if found.endswith(line):  # not "equals": a torn line may stand before it
                    _make_durable(file, path)
                    return Happened(_output(path, offset - len(line), line))
            torn = torn or key in found or any(_torn(found, line) for line in lines)
    if torn:
        return NotKnown(
            f"{path!r} holds a torn or edited line that may be this step's; see what it says, then resolve by hand"
        )
    return Absent()


def _torn(found: bytes, line: bytes) -> bool:
    """Whether a part of what was read may be the beginning of the line: what an interrupted write leaves."""
    first, *others = found.removesuffix(b"\n").split(START)
    pieces = [first, *(START + other for other in others)]
    return any(piece and line.startswith(piece) for piece in pieces)


def _make_durable(file: int, path: str) -> None:
    """Sync what was read: its writer may have been killed before it did, and the answer outlives a power failure."""
    os.fsync(file)
    folder = _open_folder(path)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _open_folder(path: str) -> int:
    """The folder that holds the file itself, not a link to it."""
    return os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY | os.O_DIRECTORY)


def _open_file(path: str) -> int:
    """Open for appending; whatever goes wrong here is before the write. An empty file made here is not the effect."""
    try:
        # Without O_NONBLOCK the opening of a named pipe that nobody reads would never return.
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o666)
    except OSError as error:
        raise NoEffectError(f"cannot open {path!r} for appending: {error}") from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise NoEffectError(f"{path!r} is not a regular file, so no line in it can be found again")
    return file


def _arguments(args: Json) -> tuple[str, str]:
    match args:
        case {"path": str(path), "text": str(text), **rest} if path and "\0" not in path and not rest:
            return path, text
    raise NoEffectError('file.append takes {"path": a file name, "text": a string} and nothing else')


def _line(key: str, attempt: int, text: str) -> bytes:
    """The whole line. The key comes first, so that even a short piece of a torn line tells whose it was."""
    line = json.dumps({"key": key, "attempt": attempt, "text": text}, ensure_ascii=False, separators=(",", ":"))
    try:
        return line.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise NoEffectError(f"the text cannot be written as UTF-8: {error}") from error


def _output(path: str, offset: int, line: bytes) -> Json:
    return {"path": path, "offset": offset, "bytes": len(line)}


def _appended(output: Json, line: bytes) -> tuple[Json, ...]:
    """The line's own bytes, for T-CONFIRM: a digest of the file would be wrong as soon as somebody else appends."""
    span = f"bytes={output['offset']}-{output['offset'] + len(line) - 1}"
    change = StateChange("file", output["path"], "append", etag=hashlib.sha256(line).hexdigest(), external_ref=span)
    return (change.record,)


TOOL: Final = Tool(
    name="file.append",
    call=append,
    description=(
        'Appends one JSON line (key, attempt, text) to a file and syncs it. Arguments: {"path", "text"}; the folder '
        "must exist. Not idempotent: a repeat appends another line. Asked afterwards, it looks for the line in the "
        "file, which nobody may edit, rotate or remove meanwhile. Reversible: the line can be cut out by hand."
    ),
    idempotent=False,
    irreversible=False,
    on_unknown="query",
    query=find,
    look="quiet",
)
