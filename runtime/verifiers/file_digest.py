"""`FileDigest`: whether a file, or a range of its bytes, still has the SHA-256 that was recorded.

| what is found                                               | means                                                       |
| ----------------------------------------------------------- | ----------------------------------------------------------- |
| no such file, or its folder is no folder                    | provably absent                                             |
| another digest; a file that ends before the range does      | mismatch                                                    |
| another digest, but the file was written to meanwhile       | undetermined                                                |
| a folder, a device, a pipe                                  | mismatch; after `delete` undetermined: it may be what was   |
| no permission, an input/output error, a digest that is none | undetermined                                                |

A file on a volume that is not mounted looks absent: this verifier cannot tell.
"""

import hashlib
import os
import re
import stat
from typing import BinaryIO, Final

from ..verifier import Answer, Match, Mismatch, StateChange, Undetermined, VerifyContext, if_absent, if_present

DIGEST: Final = re.compile(r'(?P<quote>"?)(?:sha256:)?(?P<digest>[0-9a-f]{64})(?P=quote)', re.IGNORECASE)
RANGE: Final = re.compile(r"bytes=([0-9]{1,18})-([0-9]{1,18})")
PIECE: Final = 1024 * 1024


class FileDigest:
    """Verifies the file that `resource_id` names; a relative name is taken from the working directory.

    The digest is the change's `etag`, or else its `version`: 64 hexadecimal digits, with `sha256:` before them or not. Without
    one only presence is confirmed. An `external_ref` of the form `bytes=FIRST-LAST` (RFC 9110, 14.1.2) means that the digest
    is of these bytes alone, which a later append by others leaves as they are; after `delete` it is not looked at.
    """

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """Look at the file, and judge it by the table above. Never raises."""
        path = change.resource_id
        try:
            return self._verify(path, change)
        except (FileNotFoundError, NotADirectoryError):
            return if_absent(change, f"there is no file {path!r}")
        except (OSError, ValueError) as error:
            return Undetermined(f"{path!r}: {type(error).__name__}: {error}")

    def _verify(self, path: str, change: StateChange) -> Answer:
        """Raises OSError or ValueError as the file system does."""
        if not stat.S_ISREG(os.stat(path).st_mode):
            said = f"{path!r} is not a regular file"
            return Undetermined(f"{said}, and may be what was deleted") if change.deletes else Mismatch(said)
        recorded = change.version if change.etag is None else change.etag
        if change.deletes or recorded is None:
            return if_present(change, repr(path))
        digest = DIGEST.fullmatch(recorded)
        if digest is None:
            return Undetermined(f"the recorded {recorded!r} is not a SHA-256")
        first, last = _range(change.external_ref or "")
        # Without O_NONBLOCK a named pipe that took the file's place meanwhile would keep us waiting.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            before = os.fstat(file.fileno())
            found = _digest(file, first, last)
            after = os.fstat(file.fileno())
        if found == digest["digest"].lower():
            return Match()
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            return Undetermined(f"{path!r} was written to while it was read")
        return Mismatch(
            f"the SHA-256 of {path!r} is {found or 'none, it ends before the range'}, recorded is {digest['digest']}"
        )


def _range(reference: str) -> tuple[int, int | None]:
    """First and last byte of a range; all of the file for a reference of another kind. Raises ValueError."""
    if not reference.startswith("bytes="):
        return 0, None
    span = RANGE.fullmatch(reference)
    if span is None or int(span[1]) > int(span[2]):
        raise ValueError(f"the recorded range {reference!r} is not bytes=FIRST-LAST")
    return int(span[1]), int(span[2])


def _digest(file: BinaryIO, first: int, last: int | None) -> str | None:
    """The SHA-256 of the bytes from `first` to `last`, both included, or to the end; None if the file does not hold them all."""
    file.seek(first)
    left = None if last is None else last + 1 - first
    made = hashlib.sha256()
    while left is None or left > 0:
        piece = file.read(PIECE if left is None else min(PIECE, left))
        if not piece:
            break
        made.update(piece)
        left = None if left is None else left - len(piece)
    return None if left else made.hexdigest()
