"""Answers of the solver, kept by the content of what they depend on: `crashwindow prove`, never `verify`.

Two books, of one form. `proofs`: what a whole proof came to, by the bytes of every source file from which its questions are made.
`answers`: the answer to one question, by the question's whole text, so that after a change only what reads differently is asked;
and by the code that asks, whose mistakes would else outlive it. Both keys hold the solver's version and the budget as well. An
entry carries a hash of itself: what does not fit it is not used and said to be damaged. No answer, for whatever reason, is no
entry. Nothing here loads a solver, nor what takes as long to load as a warm run takes to read its books.
"""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from .whole_file import partial_of, replace_file

ROOT: Final = Path(__file__).parent.parent
SOURCES: Final = (
    "model/*.py",
    "scenarios/*policies.py",
    "checkers/proof*.py",
    "checkers/prove*.py",
    "checkers/evidence*.py",
    "checkers/second*.py",
    "checkers/whole_file.py",
)
"""The files that say which questions a proof has, what is made of the answers, and how these are kept."""
ASKING: Final = (
    "checkers/prove_cached.py",
    "checkers/prove*_encode.py",
    "checkers/prove*_solve.py",
)
"""Those of them that put a question to the solver, and read and keep what it answers."""

BUDGET: Final = 2_000_000
"""The most that one obligation may cost, in Z3's resource units: a dozen times what the dearest one needs."""
Entry = dict[str, Any]


@cache
def installed_solver() -> tuple[str, Path]:
    """Z3's version and where it lies, without loading it: as in its metadata's name, since what reads these takes half of a warm
    run's time. Who loads it asks whether it is that one (`prove_loaded`).
    """
    for folder in map(Path, sys.path):
        for metadata in folder.glob("z3_solver-*.dist-info"):
            return metadata.name.removesuffix(".dist-info").partition("-")[2], folder
    from importlib.metadata import distribution  # which knows every other way to install a package

    found = distribution("z3-solver")
    return found.version, Path(str(found.locate_file("")))


def solver_version() -> str:
    """The solver by whose version answers are kept."""
    return f"z3-solver {installed_solver()[0]}"


def sources_key(budget: int, root: Path = ROOT) -> str:
    """The key of whole proofs: every source file that they depend on, the solver and the budget."""
    parts = (solver_version(), str(budget), _contents(SOURCES, root))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _contents(patterns: Sequence[str], root: Path) -> str:
    """A hash of some files: their names and their bytes."""
    digest = hashlib.sha256()
    for file in sorted(file for pattern in patterns for file in root.glob(pattern)):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(root).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


@cache
def asking_code(root: Path = ROOT) -> str:
    """A hash of the code that asks, as it is when the first question is asked."""
    return _contents(ASKING, root)


def question_key(assumed: str, goal: str, expected: str, budget: int) -> str:
    """The key of one answer: all that the solver is told, what is expected (it decides what is kept), by whom, solver, budget."""
    digest = _before_the_goal(solver_version(), asking_code(), budget, assumed).copy()
    digest.update(f"{expected}\0{goal}".encode())
    return digest.hexdigest()


@lru_cache(maxsize=2)
def _before_the_goal(solver: str, code: str, budget: int, assumed: str) -> "hashlib._Hash":
    """The part of a key that all questions of a proof have in common: what is assumed is long."""
    return hashlib.sha256("\0".join((solver, code, str(budget), assumed, "")).encode())


def default_folder(environment: Mapping[str, str]) -> Path:
    """Where answers are kept: `$XDG_CACHE_HOME/crashwindow`, or `~/.cache/crashwindow`."""
    home = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".cache")
    return Path(home) / "crashwindow"


def _seal(entry: Entry) -> str:
    text = json.dumps({k: v for k, v in entry.items() if k != "sha256"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Book:
    """One file of entries, a line each, by key. damaged: how many lines did not fit their own hash, or were no entry."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.entries: dict[str, Entry] = {}
        self.used: set[str] = set()
        self.damaged = 0

    @classmethod
    def open(cls, file: Path) -> "Book":
        """The entries of a file; none where there is no file, or none that can be read."""
        book = cls(file)
        try:
            lines = file.read_bytes().splitlines()
        except OSError:
            return book
        for line in lines:
            try:
                entry = json.loads(line)
                fits = entry["sha256"] == _seal(entry)
                key = entry["key"]
            except (ValueError, KeyError, TypeError):
                fits, key, entry = False, "", {}
            book.damaged += not fits
            if fits:
                book.entries[key] = entry
        return book

    def find(self, key: str) -> Entry | None:
        """The entry with exactly this key."""
        entry = self.entries.get(key)
        if entry is not None:
            self.used.add(key)
        return entry

    def add(self, key: str, content: Entry) -> None:
        """Keep something under a key, with the time."""
        from datetime import UTC, datetime

        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {**content, "key": key, "solver": solver_version(), "date": now}
        self.entries[key] = {**entry, "sha256": _seal(entry)}
        self.used.add(key)

    def try_to_write(self) -> None:
        """Raises OSError where `write` would: who makes proofs for minutes hears that before, not behind them."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.open("a").close()
        partial = partial_of(self.file)
        partial.open("x").close()
        partial.unlink()

    def write(self) -> None:
        """Replace the file by what was used or added: a cache of the newest run, which cannot grow. Raises OSError."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.file, "".join(f"{json.dumps(self.entries[key])}\n" for key in sorted(self.used)))
