"""The row machine: what a row means, and which rows make no sense."""

import pytest

from crashwindow.model.machine import Actor, Field, Machine, ModelError, Rule, Scope, first_match, guard

FIELDS = (
    Field("store", Scope.DURABLE, ("empty", "full"), "a durable field"),
    Field("at", Scope.VOLATILE, ("idle", "busy"), "the worker's place"),
    Field("world", Scope.WORLD, ("calm", "changed"), "the world"),
    Field("n", Scope.DURABLE, ("0", "1", "2"), "a count", count=True),
    Field("tool", Scope.CONFIG, ("a", "b"), "declared", ("a", "b")),
    Field("ghost", Scope.GHOST, ("no", "yes"), "history"),
)


def machine(*rules: Rule) -> Machine:
    """A machine over FIELDS."""
    return Machine("toy", FIELDS, rules)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("reads world", Actor.WORKER, sees=guard(world="calm")), "sees 'world', a world field"),
        (Rule("reads ghost", Actor.WORKER, sees=guard(ghost="no")), "sees 'ghost', a ghost field"),
        (Rule("meets memory", Actor.WORLD, meets=guard(at="idle")), "meets 'at', a volatile field"),
        (Rule("unless world", Actor.WORKER, unless=(guard(world="calm"),)), "sees 'world', a world field"),
        (Rule("no such field", Actor.WORKER, sees=guard(nothing="x")), "unknown field 'nothing'"),
        (Rule("no such value", Actor.WORKER, sees=guard(store="half")), "outside its domain"),
        (Rule("writes config", Actor.WORKER, writes={"tool": "a"}), "fixed for a run"),
        (Rule("writes nonsense", Actor.WORKER, writes={"store": "half"}), "outside its domain"),
        (Rule("counts a word", Actor.WORKER, writes={"store": "+1"}), "not a count"),
        (Rule("below zero", Actor.WORKER, writes={"n": "-1"}), "may be 0"),
        (Rule("copies unlike", Actor.WORKER, writes={"store": "=at"}), "unlike domains"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused(rule: Rule, words: str) -> None:
    """A process that reads the world, and every other senseless row, is an error when the machine is made."""
    with pytest.raises(ModelError, match=words):
        machine(rule)


def test_two_rules_of_one_name_are_refused() -> None:
    """A rule's name says which row fired, so it is given once."""
    with pytest.raises(ModelError, match="defined twice"):
        machine(Rule("r", Actor.WORKER), Rule("r", Actor.CRASH))


def test_one_less_than_two_or_more_is_one_or_more() -> None:
    """A saturated count does not know how many it holds: taking one leaves one, or two or more."""
    m = machine(Rule("take", Actor.WORKER, sees=guard(n="1|2"), writes={"n": "-1"}))
    for start, ends in (("1", {"0"}), ("2", {"1", "2"})):
        state = ("empty", "idle", "calm", start, "a", "no")
        assert {after[3] for _, after in m.successors(state)} == ends


def test_first_match_wins() -> None:
    """In a decision list a rule fires only where none before it does."""
    rules = first_match([Rule("one", Actor.WORKER, sees=guard(store="full")), Rule("two", Actor.WORKER)])
    m = machine(*rules)
    assert [r.name for r, _ in m.successors(("full", "idle", "calm", "0", "a", "no"))] == ["one"]
    assert [r.name for r, _ in m.successors(("empty", "idle", "calm", "0", "a", "no"))] == ["two"]


def test_every_configuration_is_a_start() -> None:
    """A machine starts in every combination of initial values that validation allows."""
    assert {s[4] for s in machine().initial_states()} == {"a", "b"}
    assert {s[4] for s in Machine("m", FIELDS, (), (guard(tool="a"),)).initial_states()} == {"b"}
