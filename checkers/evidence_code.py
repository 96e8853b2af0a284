"""Which code evidence speaks of: one hash over every source file, told by who makes evidence and by who judges it; and whether
that is the code that runs.
"""

import hashlib
import marshal
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
ROOMS: Final = ("model", "runtime", "checkers", "scenarios", "reports")
SOURCES: Final = frozenset({".c", ".py", ".txt", ".yaml", ".css", ".js", ".html"})


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


def stale_bytecode(root: Path = ROOT) -> list[str]:
    """The bytecode files of the modules that are loaded from below a directory that were made of another source than lies there.

    Python takes bytecode for its source's by the source's size and by the second in which it was modified, so a source that was
    replaced by one of both is not what runs. That it was changed at all after its bytecode was made is seen by the inode's time.
    """
    return [str(cached) for source, cached in _loaded(root) if _older(cached, source) and _another(cached, source)]


def _loaded(root: Path) -> Iterator[tuple[Path, Path]]:
    """The modules that Python itself has loaded from below a directory: source and bytecode, where there is any.

    Another loader, as pytest has one for tests, keeps bytecode of its own, and the file that a module names was not read.
    """
    for module in list(sys.modules.values()):
        file, cached = getattr(module, "__file__", None), getattr(module, "__cached__", None)
        own = type(getattr(module, "__loader__", None)) is SourceFileLoader
        if own and file and cached and Path(file).is_relative_to(root):
            yield Path(file), Path(cached)


def _older(cached: Path, source: Path) -> bool:
    try:
        return cached.stat().st_mtime_ns < source.stat().st_ctime_ns
    except OSError:  # there is none: the module was compiled as it was loaded
        return False


def _another(cached: Path, source: Path) -> bool:
    header = 16  # bytes: what Python compares
    code = compile(source.read_bytes(), source, "exec", dont_inherit=True)
    return bool(marshal.loads(cached.read_bytes()[header:]) != code)
