"""What a chaos campaign is asked for, and what it has found."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .chaos_without import Protection

WARM: Final = 0.25
"""The part of a process's life that is not measured: it loads what it needs, and its pools fill."""


@dataclass(frozen=True)
class Options:
    """What a campaign is asked for. Times are in seconds.

    once: stop as soon as each kind of fault has struck. soak: the first worker is never killed, so that its memory may grow, and
    is sampled. quiet: D, which bounds how long a process is ever stopped (A-QUIET), except where a protection is missing.
    """

    seconds: float
    workers: int = 2
    seed: int = 0
    concurrency: int = 2
    ttl: float = 1.5
    quiet: float = 5.0
    without: tuple[Protection, ...] = ()
    once: bool = False
    soak: bool = False


class Memory(NamedTuple):
    """How the memory of one process went, after it was warm. slope: of the line through all samples, in bytes per second."""

    process: str
    seconds: float
    first: int
    last: int
    slope: float


@dataclass
class Result:
    """What was found.

    parked, waited: how often a job was seen to come to rest so. errands: of clients and people, by kind and how they ended.
    requests, effects: lines of the world. overtaken: effects after a request of the same job under a newer epoch.
    taken_over: pauses that ended with the job where it was waited for. longest_pause: in seconds. struck: faults by kind and
    moment; gaps: the moments where a kind never struck; missing: what cannot be done on this store, and why. ended: processes
    that nobody killed. memory: (seconds of life, bytes) by process.
    """

    seed: int
    seconds: float = 0.0
    jobs: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    parked: int = 0
    waited: int = 0
    errands: dict[str, dict[str, int]] = field(default_factory=dict)
    requests: int = 0
    effects: int = 0
    overtaken: int = 0
    verified: int = 0
    violations: list[str] = field(default_factory=list)
    struck: dict[str, dict[str, int]] = field(default_factory=dict)
    gaps: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    taken_over: int = 0
    longest_pause: float = 0.0
    disk_refusals: int = 0
    ended: list[str] = field(default_factory=list)
    memory: dict[str, list[tuple[float, int]]] = field(default_factory=dict)

    def quiet_kept(self, options: Options) -> bool:
        """Whether no process was stopped for longer than the quiet time (A-QUIET): else a doubled effect proves nothing."""
        return bool(options.without) or self.longest_pause <= options.quiet

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return not self.violations and not self.ended

    @property
    def doubled(self) -> int:
        """Steps with more than one effect."""
        return self._count(": P1:")

    @property
    def lost(self) -> int:
        """Steps of completed jobs without an effect."""
        return self._count("with 0 effects")

    @property
    def unexcused(self) -> int:
        """Jobs that failed outside of the ambiguity class."""
        return self._count(": P4:")

    @property
    def stuck(self) -> int:
        """Jobs that did not come to rest."""
        return self._count(": P15:")

    def memories(self) -> list[Memory]:
        """The memory of each process that lived long enough for a line through its samples."""
        found = []
        for process, samples in self.memory.items():
            warm = samples[int(WARM * len(samples)) :]
            if len(warm) > 2:
                (begin, first), (end, last) = warm[0], warm[-1]
                found.append(Memory(process, end - begin, first, last, _slope(warm)))
        return found

    def _count(self, words: str) -> int:
        return sum(words in problem for problem in self.violations)


def _slope(samples: list[tuple[float, int]]) -> float:
    """Of the line of least squares."""
    across = sum(at for at, _ in samples) / len(samples)
    up = sum(size for _, size in samples) / len(samples)
    return sum((at - across) * (size - up) for at, size in samples) / sum((at - across) ** 2 for at, _ in samples)
