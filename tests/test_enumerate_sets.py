"""What the sets of states remember of a reading: by the fields that it touches, and it does the same wherever these are equal."""

from functools import cache

from crashwindow.checkers.enumerate import Enumeration
from crashwindow.checkers.enumerate_certain import CertainSets
from crashwindow.checkers.enumerate_counts import COUNTS
from crashwindow.checkers.enumerate_cover import fleet_sets
from crashwindow.checkers.enumerate_sets import Reading, Sets
from crashwindow.checkers.enumerate_stage import product

CASE = "fail-2"
EACH = 7
"""Of how many moves one is worked out anew."""


def beside(sets: Sets) -> tuple[Enumeration, Sets]:
    """Two workers' code, beside these sets."""
    return product(CASE, sets).run(), sets


def fleet(kind: type[CertainSets]) -> Sets:
    """The fleet's sets, of another kind."""
    sets = fleet_sets(("a", "b"))
    sets.__class__ = kind
    return sets


class Forgetful(CertainSets):
    """The worker's own place is forgotten."""

    def _touched(self, reading: Reading) -> int:
        return super()._touched(reading) & ~self.packing.mask(["a.at", "b.at"])


@cache
def shipped() -> tuple[Enumeration, Sets]:
    """As it is."""
    return beside(fleet_sets(("a", "b")))


def test_a_reading_does_the_same_where_what_it_touches_is_equal() -> None:
    """What is remembered of another state is what the reading does in this one, worked out anew."""
    run, sets = shipped()
    assert run.counts == COUNTS[CASE]
    remembered = 0
    for number, reading, code in list(sets._moves)[::EACH]:
        touched = sets._touched(reading)
        for state in sets.members[number]:
            known = sets._effects.get((reading, state & touched, code & touched))
            if known is not None and not (state ^ code) & sets.mask & ~touched:
                remembered += 1
                assert set(sets._effect(reading, state, code)) == set(known)
    assert remembered > len(sets._effects) / EACH


def test_a_field_too_few_is_seen() -> None:
    """Remembered by less than it touches, a reading does what it cannot: code and model part, or edges or counts are others."""
    run, sets = beside(fleet(Forgetful))
    assert run.parted or sets.taken != shipped()[1].taken or run.counts != COUNTS[CASE]


def test_some_rules_of_an_engine_do_what_they_do_among_all() -> None:
    """An engine of some rules has these rules' steps, and no others; what each does is worked out once for both."""
    sets = shipped()[1]
    rules = sets.fitting("do:claim", "a") | sets.fitting("crash", "b")
    narrow = sets.engine.only(rules)
    states = {state for members in sets.members for state in members}
    some = 0
    for state in states:
        steps = {step for step in sets.engine.steps(state) if step[1] in rules}
        assert set(narrow.steps(state)) == steps
        some += bool(steps)
    assert 0 < some < len(states)
