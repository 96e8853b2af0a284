"""Mutants of step and contract against the other model: what one does to the step that both see, the other can do (C-PAIR).

Of either only the transitions that a mutant adds are looked at: what it takes away no longer needs an answer, and all others are
the original's, which refines (`refine.py`).

The compensation's machine has the step's interface in rows of its own, and is small: of its mutants the whole is looked at, in
both directions. The step that it sees makes each move of the interface that is its own, and no other. So does the world with the
calls of what undoes the step: one that is on its way stays there, whoever crashes, until the world has it act, or come to
nothing; and wherever one is, either may be. No record in the ledger goes away, and who has the answer to a write goes on
(T-WRITE): this machine has no row for an answer that is lost.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..model.machine import Actor, Rule
from .explore import Space
from .mutate_rows import Rows
from .mutate_search import Base, Difference, Seen, run_to
from .refine import READ, UNDO, View, illegal, interface, unasked, viewer
from .refine import seen as view_of

STEP: Final = "hardened"
ALLOWED: Final = interface()
CLOSES: Final = ("none", "none"), ("no_effect", "none")
"""What a contract alone does (`CLOSED`)."""
WANTED: Final = ALLOWED.keys() - {CLOSES, UNDO}
"""What the machine of a compensation has of it: its step is not started again by who wants it undone (`compensation.SEEN`)."""
EVERYTHING: Final = -1
"""The mask of all fields: what the contract's machine may do is told by its rows, too, and not by what they change alone."""
CONTRACT: Final = ("step", "deed")
"""The fields of the contract's machine that say what it sees of the step."""


def refines(base: Base, mutant: Rows, difference: Difference, seen: Seen) -> str:
    """The first kind of transition that the other model does not have; "" where each is one of its own, or none."""
    rules = base.engine(mutant).machine.rules
    says, mask = (_step(base), base.packing.mask(READ)) if base.machine.name == STEP else (_contract(base), EVERYTHING)
    known: dict[tuple[int, int, int], str] = {}
    for state, delta, number in _added(base, mutant, difference, seen, mask):
        asked = state & mask, delta & mask, number
        said = known.get(asked)
        if said is None:
            said = known[asked] = says(rules[number], state, state ^ delta)
        if said and run_to(base, mutant, difference, seen.grown, state) is not None:
            return f"{rules[number].name}: {said}"
    return ""


def compensates(space: Space) -> str:
    """How the machine of a compensation has its step, or the world its calls, do what they do not; "" where it does not.

    Of a space that was given up as too large nothing is said to be missing.
    """
    views = {state: space.machine.view(space.packing.unpack(state)) for state in space.states}
    whole = True
    moves = set[tuple[View, View]]()
    for state, before in views.items():
        ends = set[bool]()
        for delta, index in space.engine.steps(state):
            if state ^ delta not in views:
                whole = False
                continue
            rule, after = space.machine.rules[index], views[state ^ delta]
            if said := _breaks(rule, before, after):
                return f"{rule.name}: {said}"
            moves.add((_original(before), _original(after)))
            if _calls(before) > _calls(after):
                ends.add(before["undone"] != after["undone"])
        if whole and _calls(before) == 1 and before["undone"] == "0" and len(ends) < len((True, False)):
            return (
                f"of a call on its way nothing can become but that it {'acts' if True in ends else 'comes to nothing'}"
            )
    missing = sorted({ALLOWED[move] for move in WANTED - moves})
    return f"nothing does what the step can do: {', '.join(missing)}" if whole and missing else ""


def _breaks(rule: Rule, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What a row does that it may not, to the step, to the ledger, to its worker, or to a call; "" where nothing."""
    was, now = _original(before), _original(after)
    if was != now and (was, now) not in WANTED:
        return f"{was} becomes {now}"
    if before["ledger"] != "none" == after["ledger"]:
        return "a record in the ledger is gone"
    if _at_work(rule) and before["at"] == after["at"]:
        return "its worker has its answer, and stays where it is"
    gone = _calls(before) > _calls(after) and rule.actor is not Actor.WORLD
    return "a call that is on its way is gone" if gone else ""


def _at_work(rule: Rule) -> bool:
    """Whether a row is the worker's, who is at work on the compensation."""
    return rule.actor is Actor.WORKER and "idle" not in rule.sees.get("at", ("idle",))


def _calls(view: Mapping[str, str]) -> int:
    """How many calls are on their way: none, one, or more."""
    return min(int(view["late"]) + (view["request"] == "sent"), 2)


def _original(view: Mapping[str, str]) -> View:
    return view["original"], "done" if view["deed"] == "late" else view["deed"]


def _step(base: Base) -> Callable[[Rule, int, int], str]:
    look = viewer(base.machine, base.packing, view_of)
    return lambda rule, before, after: (
        _moved(look(before), look(after)) or unasked(rule, look(before), look(after)) or ""
    )


def _contract(base: Base) -> Callable[[Rule, int, int], str]:
    def says(rule: Rule, before: int, after: int) -> str:
        one, other = (base.machine.view(base.packing.unpack(state)) for state in (before, after))
        return illegal(rule, one, other) or _moved(_seen(one), _seen(other))

    return says


def _seen(view: Mapping[str, str]) -> View:
    step, deed = (view[name] for name in CONTRACT)
    return step, deed


def _moved(before: View, after: View) -> str:
    return "" if before == after or (before, after) in ALLOWED else f"{before} becomes {after}"


def _added(base: Base, mutant: Rows, difference: Difference, seen: Seen, mask: int) -> Iterator[tuple[int, int, int]]:
    """Every transition that a mutant adds, from a state of the original, or from one that is new.

    mask: the fields of which one has to change for a transition to matter.
    """
    numbers = {rule.name: n for n, rule in enumerate(base.machine.rules)}
    every = mask == EVERYTHING
    added = {
        seen: [(numbers[rule], delta) for rule, delta in steps if every or delta & mask]
        for seen, steps in difference.added.items()
    }
    for state in base.sources(difference.mask, {seen: steps for seen, steps in added.items() if steps}):
        yield from ((state, delta, number) for number, delta in added[state & difference.mask])
    for state, deltas in base.engine(mutant).every(seen.grown):
        yield from ((state, delta, number) for delta, number in deltas if every or delta & mask)
