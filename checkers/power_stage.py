"""The stage of `crashwindow verify` that lets the power fail: at synchronous=FULL, and at the settings that the store refuses."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from .canary import noticed
from .evidence import Item, Verdict
from .power import Sweep, sweep
from .power_images import Bounds
from .power_judge import LOST, UNUSABLE
from .verify import Context, Found, Stage


class Part(NamedTuple):
    """A run whose images are judged. each: every one is worked to rest, not only one of each content."""

    case: str
    mode: str
    bounds: Bounds
    each: bool = False


_WEAK: Final = Bounds(exhaustive=0, shapes=4, tears=0, between=True)
_PAGES: Final = Bounds(exhaustive=2, shapes=1, tears=1)
_SUBSETS: Final = Bounds(exhaustive=8, shapes=16, tears=8, any_torn=True)
_LIVES: Final = Bounds(exhaustive=4, shapes=4, tears=2)

QUICK: Final = (
    Part("ok-park", "full", _PAGES),
    # The file is made as in the run before.
    Part("ok-park", "full-checkpointed", replace(_PAGES, since="claim")),
    Part("joined-two-ok-park", "full-checkpointed", replace(_PAGES, since="claim")),
    Part("ok-park", "normal", _WEAK),
    Part("ok-park", "off", _WEAK),
)
DEEP: Final = (
    Part("ok-park", "full", _SUBSETS),
    Part("ok-park", "full-checkpointed", _SUBSETS),
    *(
        Part(case, "full-checkpointed", _LIVES, each=True)
        for case in ("two-ok-park", "retry-park", "lost-park", "joined-two-ok-park")
    ),
    Part("ok-park", "normal", _LIVES),
    Part("ok-park", "off", _LIVES),
)
CLAIMED: Final = {"POWER-FULL": "full", "POWER-NORMAL": "normal", "POWER-OFF": "off"}
"""Each claim, and how the modes begin that it speaks of."""


def power_loss(context: Context) -> Found:
    """The images of every part of the profile, judged."""
    swept: dict[str, list[Sweep]] = {claim: [] for claim in CLAIMED}
    for case, mode, bounds, each in QUICK if context.profile == "quick" else DEEP:
        claim = next(claim for claim, begins in CLAIMED.items() if mode.startswith(begins))
        tell = partial(_tell, context, f"power loss: {case}, {mode}")
        swept[claim].append(sweep(case, mode, bounds, each, tell))
    found = Found()
    found.add("POWER-FULL", survived(swept["POWER-FULL"]))
    for claim in ("POWER-NORMAL", "POWER-OFF"):
        found.add(claim, belied(swept[claim]))
    # The setting that the store refuses, before who has to say that nothing is lost.
    found.mutants.append(noticed("power: synchronous=OFF is taken for FULL", survived(swept["POWER-OFF"])))
    return found


def _tell(context: Context, words: str, images: int) -> None:
    context.tell(f"{words}: {images} images")


def survived(sweeps: Sequence[Sweep]) -> Item:
    """Whether every image of these runs is without a problem."""
    count = sum(each.images for each in sweeps)
    wrong = [finding for each in sweeps for finding in each.findings]
    figures = figures_of(sweeps)
    if wrong:
        first = min(wrong, key=lambda finding: (finding.lost, finding.entries))
        said = f"{len(wrong)} of {count} power losses leave something wrong, first {first.verdict.problems[0]}"
        command = f"crashwindow replay '{first.key}'"
        return Item(checker="crash", verdict=Verdict.REFUTED, statement=said, figures=figures, command=command)
    said = (
        f"in each of {count} images of {len(sweeps)} recorded runs, within the bounds of checkers/power_images.py, every"
        " acknowledged write is there, the file is whole, and the shipped worker brings the job to its rest without a broken"
        " property"
    )
    verdict = Verdict.EXHAUSTED if count else Verdict.NOT_CHECKED
    return Item(checker="crash", verdict=verdict, statement=said, figures=figures, command="crashwindow verify")


def belied(sweeps: Sequence[Sweep]) -> Item:
    """The smallest loss that doubles an effect; without one there is no refutation."""
    doubled = [finding for each in sweeps if (finding := each.shortest("P1"))]
    figures, count = figures_of(sweeps), sum(each.images for each in sweeps)
    if not doubled:
        said = f"no effect was doubled in {count} power losses"
        return Item(
            checker="crash", verdict=Verdict.TESTED, statement=said, figures=figures, command="crashwindow verify"
        )
    first = doubled[0]
    lost = next(problem for problem in first.verdict.problems if problem.startswith(LOST))
    said = (
        f"{figures['lose an acknowledged write']} of {count} images lack an acknowledged write; in {first.key} the worker repeats"
        f" the effect: {lost}; {next(p for p in first.verdict.problems if p.startswith('P1:'))}"
    )
    command = f"crashwindow replay '{first.key}'"
    return Item(checker="crash", verdict=Verdict.REFUTED, statement=said, figures=figures, command=command)


def figures_of(sweeps: Sequence[Sweep]) -> dict[str, int | float | str]:
    """What was counted."""
    return {
        "runs": ", ".join(f"{each.run.case}@{each.run.mode}" for each in sweeps),
        "images": sum(each.images for each in sweeps),
        "worked to rest": sum(each.worked for each in sweeps),
        "recorded operations": sum(len(each.run.entries) for each in sweeps),
        "lose an acknowledged write": sum(each.count(LOST) for each in sweeps),
        "not to be used": sum(each.count(UNUSABLE) for each in sweeps),
        "double the effect": sum(each.count("P1") for each in sweeps),
    }


POWER: Final = Stage("power", "power loss", power_loss, tuple(CLAIMED), "crash")
