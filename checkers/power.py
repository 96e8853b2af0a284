"""The power-loss campaign: a recorded run, its images, a verdict on each; and one image again, by its replay key.

A key is `power:CASE@MODE:CALL+N:SURVIVAL`: the power fails after N entries of a call of the store, and of what was not synced
there so much is left (`power_images.Survival`), for example `power:ok-park@normal:execute+2:lost=3-12`.
"""

import re
import shutil
import time
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from .crash_cases import CASES
from .crash_run import memory_directory
from .power_images import Bounds, Image, Survival, image_at, images, parse_survival
from .power_judge import Court, Ends, Judged
from .power_run import MODES, Run, record

_KEY: Final = re.compile(r"power:([a-z0-9-]+)@([a-z-]+):([a-z_#0-9]+\+[0-9]+):(.+)")


class Finding(NamedTuple):
    """An image with which something is wrong.

    lost: how many unsynced operations it lacks, the torn one included. entries: how many came before.
    """

    key: str
    lost: int
    entries: int
    verdict: Judged

    def has(self, word: str) -> bool:
        """Whether one of its problems begins with a word, or a property's name."""
        return any(problem.startswith(f"{word}:") for problem in self.verdict.problems)


class Sweep(NamedTuple):
    """Every image of a run within bounds.

    worked: how many were worked to rest; of contents that are equal, at one moment of the world, one is enough.
    """

    run: Run
    images: int
    worked: int
    outcomes: dict[str, int]
    findings: list[Finding]
    seconds: float

    def shortest(self, word: str) -> Finding | None:
        """Of the images that show a problem, the one that lost the fewest operations, the earliest of these."""
        return min((f for f in self.findings if f.has(word)), key=lambda f: (f.lost, f.entries), default=None)

    def count(self, word: str) -> int:
        """How many images show a problem."""
        return sum(finding.has(word) for finding in self.findings)


def sweep(
    case: str, mode: str, bounds: Bounds, each: bool = False, tell: Callable[[int], None] = lambda count: None
) -> Sweep:
    """Every image of a case in a mode. each: work every image to rest, those with equal contents too.

    tell: hears now and then how many images have been judged.
    """
    begin, run = time.perf_counter(), record(case, mode)
    moments, findings, outcomes, count = run.moments(), [], Counter[str](), 0
    ends: Ends = {}
    directory = memory_directory()
    try:
        court = Court(run, directory, None if each else ends)
        for count, image in enumerate(images(run.entries, bounds), 1):
            verdict = court.judge(image)
            outcomes[verdict.outcome] += 1
            if verdict.problems:
                key = f"power:{case}@{mode}:{moments[image.at]}:{image.survival}"
                findings.append(Finding(key, len(image.survival.lost) + bool(image.survival.tear), image.at, verdict))
            if count % 500 == 0:
                tell(count)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return Sweep(run, count, court.worked, dict(outcomes.most_common()), findings, time.perf_counter() - begin)


def parse_key(key: str) -> tuple[str, str, str, Survival]:
    """Case, mode, moment and survival of a key. Raises ValueError, saying what is accepted."""
    match = _KEY.fullmatch(key)
    if not match:
        raise ValueError(f"{key!r} is not the key of a power loss; write power:CASE@MODE:CALL+N:SURVIVAL")
    case, mode, moment, survival = match.groups()
    for what, name, names in (("case", case, CASES), ("mode", mode, MODES)):
        if name not in names:
            raise ValueError(f"there is no {what} {name!r}; there are {', '.join(names)}")
    return case, mode, moment, parse_survival(survival)


def replay(key: str, tell: Callable[[str], None] = lambda line: None) -> Judged:
    """One image again: recorded anew, built, recovered, judged. `tell` hears what happens, line by line. Raises ValueError."""
    case, mode, moment, survival = parse_key(key)
    run = record(case, mode)
    moments = run.moments()
    if moment not in moments:
        raise ValueError(f"there is no moment {moment!r} in this run; its last is {moments[-1]}")
    image = image_at(run.entries, moments.index(moment), survival)
    directory = memory_directory()
    try:
        verdict = Court(run, directory, None).judge(image)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for line in told(run, image):
        tell(line)
    tell(f"in the end: {verdict.outcome}")
    return verdict


def told(run: Run, image: Image) -> list[str]:
    """A power loss, for people: the calls that had returned, and the files that are left."""
    entry = run.entries[image.at]
    calls = run.calls()[1 : entry.acknowledged + 1]
    under_way = "" if calls and calls[-1] == entry.label else f", during {entry.label}"
    files = ", ".join(f"{name} ({len(content)} bytes)" for name, content in sorted(image.files.items()))
    return [
        f"acknowledged: {', '.join(calls) or 'nothing'}",
        f"the power fails{under_way}; of what was not synced: {image.survival}",
        f"left on the disk: {files or 'nothing'}",
    ]
