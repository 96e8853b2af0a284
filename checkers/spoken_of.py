"""Whether what a property speaks of occurs where it was asked: if it does not, that nothing forbidden is there says nothing."""

from collections.abc import Sequence
from dataclasses import replace

from ..model.fleet import Fleet
from ..model.fleet_broken import forbidden
from ..model.fleet_rows import WORKERS
from ..model.machine import show
from ..model.properties import Property
from .evidence_verdict import Verdict
from .explore import Space


def unmet(space: Space, fleet: Fleet, prop: Property, workers: tuple[str, ...] = WORKERS) -> list[str]:
    """Which of what a property speaks of (`occurs`) is in no state of some named workers, in words: read there as what it
    forbids is."""

    def occurs(spoken: Property) -> bool:
        return any(space.find(g) is not None for g in forbidden(fleet, spoken, workers))

    return [show(g) for g in prop.occurs if not occurs(replace(prop, never=(g,)))]


def judged(
    prop: Property, space: Space, fleet: Fleet, where: str, how: str, workers: tuple[str, ...] = WORKERS
) -> tuple[Verdict, str]:
    """What the search of some named workers says of a property, in words. where, how: what was searched, and how far."""
    within = f"reachable state of {where}, {how}"
    if any(space.find(g) is not None for g in forbidden(fleet, prop, workers)):
        return Verdict.REFUTED, f"{prop.id} fails in a {within}"
    return held(prop, unmet(space, fleet, prop, workers), f"in every {within}", f"by searching {where}")


def held(prop: Property, never_there: Sequence[str], holds: str, asked: str) -> tuple[Verdict, str]:
    """The verdict on a property that nothing breaks, and its words: not checked where nothing that it speaks of occurs.

    never_there: what of it does not (`unmet`). holds, asked: how it holds, and how it was asked, in words.
    """
    spoken = len(prop.occurs)
    if len(never_there) == spoken:
        never = " or that ".join(never_there)
        return Verdict.NOT_CHECKED, f"{prop.id} is not asked {asked}: it never occurs there that {never}"
    said = f"{prop.id} holds {holds}"
    if never_there:
        met, never = f"{spoken - len(never_there)} of {spoken}", " or that ".join(never_there)
        said += f"; of what it speaks of {met} occur there, and it never does that {never}"
    return Verdict.EXHAUSTED, said
