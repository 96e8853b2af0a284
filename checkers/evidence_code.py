"""Which code evidence speaks of: one hash over every source file, told by who makes evidence and by who judges it."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
ROOMS: Final = ("model", "runtime", "checkers", "scenarios", "reports")
SOURCES: Final = frozenset({".py", ".yaml", ".css", ".js", ".html"})


@cache
def code_sha256() -> str:
    """The hash of the names and contents of all source files of this program's rooms, as they were when it was first asked."""
    digest = hashlib.sha256()
    files = [p for room in ROOMS for p in (ROOT / room).rglob("*") if p.suffix in SOURCES]
    for path in sorted(p for p in files if "out" not in p.relative_to(ROOT).parts):
        digest.update(
            f"{path.relative_to(ROOT).as_posix()}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    return digest.hexdigest()
