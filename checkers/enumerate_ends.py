"""The cases that are sampled, under bounds in which they are gone through to their end: every order, and no pair left out.

All else of a case is as in its sample, which most often has more lives, faults and cancels, but leaves out what looks like what
was met. Here nothing is believed to look alike.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from .enumerate_case import BRIEF, CRASH, FAULT, FOLLOWED
from .enumerate_cases import SAMPLED, VALUES
from .interleave_case import Bounds

END: Final = "-all"
"""How the name of such a case ends."""
BOUNDS: Final[Mapping[str, Bounds]] = {
    "warned": FAULT,
    "modes": BRIEF,
    "quiet": BRIEF,
    "fenced": BRIEF,
    "spent-3": CRASH,
    "spent-4": CRASH,
    "refused": FAULT,
    "told-for-good": FOLLOWED,
    "retold": BRIEF,
    "failed": BRIEF,
    "repeatable": BRIEF,
    "before-tool": BRIEF,
    "before-fails": BRIEF,
    "before-wait": BRIEF,
    "behind": BRIEF,
    "after-told": BRIEF,
    "gate-approval": BRIEF,
    **{name: SAMPLED[name].bounds for name in (
        "queried", "doubted", "pauses", "rests", "for-good", "inputs", "inputs-lost", "strays", "before-llm", "after-llm",
        "approved", "gate-signal", "gate-ended", "gate-ended-other", "gate-approval-woken", "gate-signal-woken", *VALUES,
        "abandoned", "abandoned-query", "abandoned-again", "abandoned-half",
    )},
}  # fmt: skip
"""Of which sampled case, by name, and within what bounds."""
ENDED: Final = {
    f"{name}{END}": replace(SAMPLED[name], name=f"{name}{END}", bounds=bounds) for name, bounds in BOUNDS.items()
}
"""These cases, by name."""
LEFT: Final = tuple(name for name in SAMPLED if name not in BOUNDS)
"""What is sampled alone: within one crash it is larger than what was gone through (decision 030), or nobody has looked."""


def origin(name: str) -> str:
    """The case that another one has under other bounds."""
    return name.removesuffix(END)
