"""Each protection taken away in turn, on real processes: the violation that appears, and the command that shows it again.

For each there is a campaign of its own, on a database of its own, which ends with its first violation. Only one protection is
missing at a time: everything that could stand in for it is there.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from . import chaos
from .chaos_result import Options
from .chaos_site import EmbeddedSite
from .chaos_without import PROTECTIONS, WORDS, Protection
from .embedded_postgres import EmbeddedPostgres

_PROPERTY: Final = re.compile(r"\b(P\d+|T-[A-Z]+):")


class Row(NamedTuple):
    """A protection, and what its absence has led to.

    instead: what is done without it. violation: one of the run, less the job's name, and of P13 only where there is no other;
    None where nothing was seen. properties: all that the run's violations name. seconds: until the jobs were at rest.
    """

    protection: Protection
    instead: str
    violation: str | None
    properties: tuple[str, ...]
    strikes: int
    seconds: float
    command: str

    @property
    def shown(self) -> bool:
        """Whether it is seen that the protection is needed."""
        return self.violation is not None


def command_of(protection: Protection, options: Options) -> str:
    """What shows one row again; processes are not scheduled, so the job and the second are others."""
    return (
        f"crashwindow campaign chaos --embedded-postgres --without {protection} --minutes {options.seconds / 60:g}"
        f" --workers {options.workers} --seed {options.seed}"
    )


def shown(server: EmbeddedPostgres, options: Options, tell: Callable[[str], None] = lambda line: None) -> Iterator[Row]:
    """A row for each protection, one after the other; options.seconds bounds each."""
    for protection in PROTECTIONS:

        def telling(line: str, name: str = protection) -> None:
            tell(f"without {name}: {line}")

        begun = time.monotonic()
        result = chaos.run(EmbeddedSite(server), replace(options, without=(protection,)), telling)
        told = sorted(result.violations, key=lambda problem: ": P13:" in problem)
        first = next((problem.partition(": ")[2] for problem in told), None)
        properties = sorted({name for problem in result.violations for name in _PROPERTY.findall(problem)})
        strikes = sum(sum(row.values()) for row in result.struck.values())
        seconds = round(time.monotonic() - begun, 1)
        command = command_of(protection, options)
        yield Row(protection, WORDS[protection], first, tuple(properties), strikes, seconds, command)
