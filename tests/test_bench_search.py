"""What explicit search is measured beside does the same work, and says so where it does not."""

import pytest

from crashwindow.checkers.bench_search import beside, plain_tuples, symmetry, whole_search
from crashwindow.checkers.explore import explore
from crashwindow.scenarios.machines import machine_of


@pytest.mark.parametrize("policy", ["recorded-hardened", "gate-hardened", "contract-hardened"])
def test_the_rival_counts_the_same(policy: str) -> None:
    """Plain tuples come to the same states, by as many transitions, as far from the start."""
    space = explore(machine_of(policy))
    place = "at" if "at" in space.machine.by_name else space.machine.fields[0].name
    assert plain_tuples(space.machine, place) == (len(space), space.transitions, space.depth)


def test_ratios_are_of_one_run() -> None:
    """Each round has both; the ratio is the rival's time by ours, with the least and the most beside the median."""
    for each in whole_search(3, machine_of("recorded-hardened")):
        assert (len(each.seconds), len(each.ratios), each.counts[:2]) == (3, 3, (166, 324))
        assert each.figures["least"] <= each.figures["ratio"] <= each.figures["most"]


def test_a_rival_that_does_other_work_is_refused() -> None:
    """Who does not count the same is not compared."""
    with pytest.raises(ValueError, match="do not count the same"):
        beside("this", "that", lambda: (1, 2, 3), lambda: (1, 2, 4), 1)


def test_workers_without_names() -> None:
    """The same properties hold of two workers with names and without."""
    told = symmetry("ab")
    assert (told.reduced, told.plain, told.whole, told.failing) == (2_500, 18_184, True, ((), ()))
