"""The compiled search: `kernel.c`, compiled once by the C compiler of the machine and kept by the content of both.

Where there is no compiler, or it fails, there is no kernel, and `explore.py` searches by itself: the same states in the same
order, slower. No code is made per model; a kernel is compiled for each number of words that a state may have.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import weakref
from array import array
from collections.abc import Collection, Sequence
from ctypes import CDLL, Structure, byref, c_int, c_int64, c_uint8, c_uint32, c_uint64, c_void_p, string_at
from functools import cache, cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..model.machine import Guard
from .kernel_tables import Field_, GuardTables, Tables, address, fits
from .proof_cache import default_folder
from .reduction import Reduction

if TYPE_CHECKING:
    from .explore import Delta, Engine

SOURCE: Final = Path(__file__).with_suffix(".c")
FLAGS: Final = ("-O2", "-shared", "-fPIC")
COMPILERS: Final = ("cc", "gcc", "clang")
AT_ONCE: Final = 1 << 20
"""After so many states a search can be interrupted."""
ROOT: Final = (1 << 32) - 1


class _Result(Structure):
    _fields_ = (("states", c_void_p), ("parents", c_void_p), ("rules", c_void_p), ("steps", c_void_p),
                ("transitions", c_uint64), ("n_steps", c_uint32), ("count", c_uint32), ("depth", c_uint32))  # fmt: skip


def compiler() -> str | None:
    """The C compiler of this machine, if there is one."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def missing() -> str:
    """What whoever waits for a search should know, with the remedy; "" where it is compiled."""
    if compiler() and library(1):
        return ""
    return "no C compiler that works: searches take longer; install gcc or clang (Debian: apt install gcc)"


@cache
def library(words: int) -> CDLL | None:
    """The kernel for states of so many words; None where it cannot be made."""
    cc = compiler()
    try:
        return _declared(CDLL(str(_compiled(cc, words)))) if cc else None
    except (OSError, subprocess.SubprocessError, AttributeError, RuntimeError):
        return None  # RuntimeError: there is no home; AttributeError: what was kept is no kernel


def _compiled(cc: str, words: int) -> Path:
    """The file of a kernel, made if it is not there as it was made: by the content of the source, the flags, the compiler and the
    machine, and by its own. Raises PermissionError where others may decide what is in the folder: code is run from there.
    """
    made_by = Path(cc).resolve().stat()
    parts = (SOURCE.read_bytes(), cc, made_by.st_size, made_by.st_mtime_ns, FLAGS, words, platform.machine())
    key = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    folder = default_folder(os.environ) / "kernels"
    if not folder.is_absolute():
        raise PermissionError(f"{folder}: it depends on where one stands")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(f"{folder}: somebody else may write to it")
    for file in folder.glob(f"{key}-*.so"):
        if file.stem == f"{key}-{_digest(file)}":
            return file
    with tempfile.TemporaryDirectory(dir=folder) as making:  # nobody sees half of it
        made = Path(making) / "kernel.so"
        command = [cc, *FLAGS, f"-DWORDS={words}", "-o", str(made), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        return made.replace(folder / f"{key}-{_digest(made)}.so")


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _declared(lib: CDLL) -> CDLL:
    """The kernel's functions with their types."""
    u32, u64s, handle = c_uint32, c_void_p, c_void_p
    for name, back, takes in (
        ("begin", handle, (c_void_p, u64s, u32)),
        ("advance", c_int, (handle, u32)),
        ("end", None, (handle,)),
        ("result", _Result, (handle,)),
        ("remembered", u32, (handle, u32, c_void_p)),
        ("position", u32, (handle, u64s)),
        ("matching", u32, (handle, c_void_p, u32, u32, c_void_p)),
        ("firsts", c_int64, (handle, u64s, Field_, c_void_p)),
        ("reaching", c_int, (handle, c_void_p, c_void_p)),
        ("graph", c_uint64, (handle, c_void_p, c_void_p)),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = back, takes
    return lib


def compiled(
    engine: "Engine", stop: Sequence[Guard] = (), reduction: Reduction | None = None, limit: int = 0
) -> "Compiled | None":
    """What a search by the kernel finds; None where there is no kernel. limit: of states, after which it ends; 0: none.

    Raises MemoryError where the states do not fit into memory.
    """
    if not fits(engine, reduction):
        return None
    tables = Tables(engine, stop, reduction)
    lib = library(tables.layout.words)
    return Compiled(lib, tables, limit) if lib else None


class Compiled:
    """What the kernel found, where it lies in the kernel's memory. complete: whether the search came to its end."""

    def __init__(self, lib: CDLL, tables: Tables, limit: int) -> None:
        self._lib, self._tables, self._layout, self.engine = lib, tables, tables.layout, tables.engine
        starts = self._layout.split(map(tables.engine.packing.pack, tables.engine.machine.initial_states()))
        self._handle = lib.begin(byref(tables.model), address(starts), len(starts) // self._layout.words)
        if not self._handle:
            raise MemoryError("no room to begin a search")
        weakref.finalize(self, _end, lib, self._handle, tables)
        more = 1
        while more and not 0 < limit <= len(self):
            more = lib.advance(self._handle, min(AT_ONCE, limit or AT_ONCE))
            if more < 0:
                raise MemoryError(f"no room for more than {len(self):,} states")
        found = self._result()
        self.complete, self.transitions, self.depth = not more, int(found.transitions), int(found.depth)
        self.fired = frozenset(self._beside(found.steps, found.n_steps, 0))

    def __len__(self) -> int:
        """How many states were found."""
        return int(self._result().count)

    def _result(self) -> _Result:
        found: _Result = self._lib.result(self._handle)
        return found

    @cached_property
    def states(self) -> list[int]:
        """Every state, nearest to the start first."""
        return self._layout.join(_words(self._result().states, len(self) * self._layout.words))

    @cached_property
    def parents(self) -> "dict[int, Delta]":
        """Every state, nearest first: from which it was first met, and by which rule; roots have rule -1."""
        found, states = self._result(), self.states
        befores, rules = _numbers(found.parents, len(states)), _numbers(found.rules, len(states))
        return {
            state: (states[before], rule) if rule != ROOT else (0, -1)
            for state, before, rule in zip(states, befores, rules, strict=True)
        }

    def before(self, state: int) -> "Delta":
        """From which state a state was first met, and by which rule: (0, -1) at a start. Raises KeyError: it was not met."""
        found = self._result()
        split = self._layout.split([state])  # lives as long as its address is used
        at = self._lib.position(self._handle, address(split))
        if not at:
            raise KeyError(state)
        (rule,) = _numbers(found.rules + 4 * (at - 1), 1)
        return (self._chosen(_numbers(found.parents + 4 * (at - 1), 1))[0], rule) if rule != ROOT else (0, -1)

    def where(self, guards: Sequence[Guard], most: int | None = None) -> list[int]:
        """The nearest states, at most so many, in which one of some guards holds."""
        return self._chosen(self._matching(guards, len(self) if most is None else most))

    def _matching(self, guards: Sequence[Guard], most: int) -> "array[int]":
        tables = GuardTables(self._layout)
        count = tables.either(guards)[1]
        out = array("I", bytes(4 * most))
        return out[: self._lib.matching(self._handle, byref(tables.made()), count, most, address(out))]

    def firsts(self, masks: Sequence[int], place: str | None = None) -> list[int]:
        """The nearest of the states that agree under a mask; place: the field whose code says which of the masks it is."""
        field = Field_(*self._layout.at[place]) if place else Field_(0, 0, 0)
        split, out = self._layout.split(masks), array("I", bytes(4 * len(self)))
        found = self._lib.firsts(self._handle, address(split), field, address(out))
        if found < 0:
            raise MemoryError("no room to tell states apart")
        return self._chosen(out[:found])

    def reaching(self, rules: Collection[int], targets: Sequence[Guard]) -> set[int]:
        """Every state from which some rules lead to one in which a guard holds, these included."""
        marks = bytearray(len(self))
        for n in self._matching(targets, len(self)):
            marks[n] = 1
        allowed = bytes(n in rules for n in range(len(self.engine.machine.rules)))
        if self._lib.reaching(self._handle, allowed, (c_uint8 * len(marks)).from_buffer(marks)) < 0:
            raise MemoryError("no room for the steps backwards")
        return set(compress(self.states, marks))

    def graph(self, names: Sequence[int]) -> int:
        """As of `Found`. Raises MemoryError."""
        failed, numbers = c_int(), array("Q", names)
        found = int(self._lib.graph(self._handle, address(numbers), byref(failed)))
        if failed.value:
            raise MemoryError("no room for the steps of a state")
        return found

    def teach(self) -> None:
        """Tell the engine what was worked out here of its groups of rules, as if it had been asked itself."""
        found, at = self._result(), c_void_p()
        deltas, rules, _ = self._entries(found.steps, found.n_steps)
        steps = list(zip(deltas, rules, strict=True))
        for n, (_, _, memo) in enumerate(self._tables.groups):
            count = self._lib.remembered(self._handle, n, byref(at))
            for seen, first, length in zip(*self._entries(at.value, count), strict=True):
                memo[seen] = tuple(steps[first : first + length])

    def _entries(self, at: int | None, count: int) -> "tuple[list[int], array[int], array[int]]":
        """Some records of the kernel: a state each, and the two numbers after it."""
        words = self._layout.words + 1
        states = self._layout.join(_words(at, count * words), words)
        return states, self._beside(at, count, 0), self._beside(at, count, 1)

    def _beside(self, at: int | None, count: int, which: int) -> "array[int]":
        """One of the two numbers after the state in some records."""
        words = self._layout.words + 1
        return _numbers(at, count * 2 * words)[2 * words - 2 + which :: 2 * words]

    def _chosen(self, numbers: "array[int]") -> list[int]:
        """The states of some numbers."""
        if "states" in self.__dict__ or len(numbers) * 10 > len(self):
            return [self.states[n] for n in numbers]
        at, words = self._result().states, self._layout.words
        return [self._layout.join(_words(at + 8 * words * n, words))[0] for n in numbers]


def _end(lib: CDLL, handle: int, tables: Tables) -> None:  # the kernel reads the tables as long as it lives
    lib.end(handle)


def _words(at: int | None, count: int) -> "array[int]":
    return array("Q", string_at(at, 8 * count) if at else b"")


def _numbers(at: int | None, count: int) -> "array[int]":
    return array("I", string_at(at, 4 * count) if at else b"")
