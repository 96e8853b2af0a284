"""The matrix's choices: every order of the success writes, one transaction over three of them; and what is idle, cross-checked.

A mechanism without which nothing breaks is said to be idle only beside a change against which it protects: planted into the
model, the change breaks nothing where the mechanism is there, and something where it is not.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ..model.machine import Machine
from ..model.mechanisms import AT_ONCE, ORDERS, PLANTS, missing, spoken_of, step_ordered, step_planted
from ..model.properties import PROPERTIES
from ..scenarios.matrix import FIRST, LOOKUPS
from ..scenarios.matrix import idle as idle_words
from ..scenarios.without import named
from .evidence import Need, Verdict
from .explore import Space
from .necessity import ASKED, QUICK, Break, broken, forbidden, narrowed, searched, unlike

ALL: Final = "all"
"""Every property of the step that a state or a step may break."""


def failing(space: Space, machine: Machine, without: Sequence[str] = ()) -> dict[str, Break]:
    """The properties of the step that fail in a space, each with a shortest run."""
    left = ((p.id, spoken_of(p, missing(without))) for p in PROPERTIES)
    among = unlike(space, forbidden(PROPERTIES))
    return {name: found for name, prop in left if prop and (found := broken(space, prop, machine, among))}


def ordered(order: str, profile: str, without: Sequence[str] = ()) -> tuple[int, dict[str, Break]]:
    """How many states there are with the success writes in an order, and what fails there."""
    name = named(f"ordered-{order}", without) if without else f"ordered-{order}"
    machine = step_ordered(name, order, without)
    space = searched(narrowed(machine, ASKED if profile == "quick" else QUICK))
    return len(space), failing(space, machine, without)


def orders(profile: str) -> Iterator[Need]:
    """Every order of the success writes, and B5 to B7 at once: one cell where nothing fails, else one for each failure."""
    for order in (*ORDERS, AT_ONCE):
        states, fails = ordered(order, profile)
        yield from _choice(f"order-{order}", states, fails)


def lookups(profile: str) -> Iterator[Need]:
    """Of each order, what fails where recovery does not look into the effect store, or into the ledger."""
    for order in FIRST if profile == "quick" else ORDERS:
        for missed in LOOKUPS:
            states, fails = ordered(order, profile, [missed])
            yield from _choice(f"order-{order} without {missed}", states, fails)


def _choice(name: str, states: int, fails: dict[str, Break]) -> Iterator[Need]:
    if not fails:
        words = f"every property of the step holds in every reachable state and step: {states:,} states, one worker"
        yield Need(property=ALL, mechanism=name, answer="not needed", verdict=Verdict.EXHAUSTED, words=words)
    for prop, found in fails.items():
        yield Need(property=prop, mechanism=name, answer="needed", verdict=Verdict.REFUTED, words=found.words, key=found.key,
                   steps=found.steps)  # fmt: skip


def planted(mechanism: str) -> tuple[set[str], dict[str, Break]]:
    """With the change against which a mechanism protects: what fails where the mechanism is there, and where it is not."""
    found = []
    for without in ([], [mechanism]):
        name = named(f"planted-{mechanism}", without) if without else f"planted-{mechanism}"
        machine = step_planted(name, mechanism, without)
        found.append(failing(searched(narrowed(machine, ASKED)), machine, without))
    return set(found[0]), found[1]


def idle(cells: Sequence[Need]) -> list[str]:
    """A sentence for each mechanism without which nothing breaks, with what it would protect against."""
    broken_by = {c.mechanism for c in cells if c.answer == "needed"}
    said = []
    for mechanism in dict.fromkeys(c.mechanism for c in cells if c.answer == "not needed"):
        if mechanism in broken_by or mechanism.startswith(("order-", "on-unknown=")):
            continue
        kept, fails = planted(mechanism) if mechanism in PLANTS else (set(), {})
        keys = {name: found.key for name, found in fails.items()}
        said.append(idle_words(mechanism, keys, sorted(kept)))
    return said
