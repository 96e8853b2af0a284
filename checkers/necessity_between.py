"""The minimal sets of mechanisms between two workers under which a property holds, with every mechanism of one worker.

All sixty-four sets are searched, with two claims, so nothing is assumed of them. What suffices then may not with one claim more:
a set that comes out is searched with three as well, as far as so many states; one that fails there is none, and the next ones
are tried. Two workers on a step, and a tool that parks; what it says of gates, compensations and recorded values is not asked.
"""

from collections.abc import Callable
from typing import Final

from ..model.fleet_broken import forbidden
from ..model.mechanisms import NEEDED, TWO, missing
from ..model.properties import PROPERTIES
from ..scenarios.matrix import CLAIMS
from ..scenarios.without import fleet_without, named
from .evidence import Sufficient
from .fleet_search import search, unfenced
from .necessity import first, unlike
from .necessity_bits import Names, subsets
from .necessity_fleet import P5, STEP, below, original, stepwise, taken_back

ASKED: Final = (P5, *(prop.id for prop in PROPERTIES))
MOST: Final = 2_000_000
"""How many states are searched with a claim more."""


def failing(present: Names, claims: int, most: int = 0) -> tuple[frozenset[str], bool]:
    """The properties that fail with some mechanisms between workers, and whether all states were searched; most: 0 for all."""
    absent = [name for name in TWO if name not in present]
    fleet = unfenced(fleet_without(named(STEP, absent), STEP, missing(absent)))
    space = search(fleet, reduced=True, claims=claims, like=original(STEP, claims), limit=most)
    among = unlike(space, [each for prop in PROPERTIES for each in forbidden(fleet, prop)])
    fails = {prop.id for prop in PROPERTIES if first(space, forbidden(fleet, prop), among)}
    judges = {P5: below(fleet, space.machine), "P7": taken_back(space.machine)}
    fails |= stepwise(space, {name: judge(space.packing) for name, judge in judges.items()}).keys()
    return frozenset(fails), not most or len(space) < most


def between(tell: Callable[[str], None]) -> list[Sufficient]:
    """For each property of the step the minimal sets between two workers."""
    answers: dict[Names, frozenset[str]] = {}
    for present in subsets(TWO):
        answers[present] = failing(present, CLAIMS["quick"])[0]
        tell(f"necessity: two workers with {', '.join(sorted(present)) or 'nothing between them'}")
    more: dict[Names, tuple[frozenset[str], bool]] = {}

    def stays(prop: str, present: Names) -> bool | None:
        if present not in more:
            more[present] = failing(present, CLAIMS["deep"], MOST)
            tell(f"necessity: one claim more with {', '.join(sorted(present)) or 'nothing'}")
        fails, whole = more[present]
        return False if prop in fails else True if whole else None

    return [sufficient(prop, answers, lambda present, prop=prop: stays(prop, present)) for prop in ASKED]  # type: ignore[misc]  # a default binds the property of this round


def sufficient(prop: str, answers: dict[Names, frozenset[str]], stays: Callable[[Names], bool | None]) -> Sufficient:
    """The minimal sets of a property. answers: what fails, by set; stays: whether it holds with a claim more, or not known."""
    good = [present for present, fails in answers.items() if prop not in fails]
    bad = [present for present, fails in answers.items() if prop in fails]
    found, unsettled = list[Names](), list[Names]()
    for present in sorted(good, key=lambda each: (len(each), sorted(map(TWO.index, each)))):
        if any(each <= present for each in found):
            continue
        kept = stays(present)
        if kept is not False:
            found.append(present)
        if kept is None:
            unsettled.append(present)
    needed = frozenset(name for name in TWO if prop in NEEDED[name])
    few, many = CLAIMS["quick"], CLAIMS["deep"]
    words = f"of all {len(answers)} sets between two workers, with {few} claims; with {many} they suffice, too"
    if unsettled:
        what = " and ".join(", ".join(ordered(each)) or "none" for each in unsettled)
        words += f", which is not known of the set {what}: there are more than {MOST:,} states"
    return Sufficient(property=prop, sets=[ordered(each) for each in found], asked=len(answers), enough=needed in found,
                      monotone=not any(g < b for g in good for b in bad), words=words)  # fmt: skip


def ordered(present: Names) -> list[str]:
    """A set in the order of the table."""
    return sorted(present, key=TWO.index)
