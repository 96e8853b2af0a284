"""The matrix for gate, compensation and recorded value: which mechanism of the step is one of theirs, and their own rules."""

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from crashwindow.checkers.evidence import Need, Verdict
from crashwindow.checkers.explore import explore
from crashwindow.checkers.liveness_stage import CANARIES, Canary, mutated
from crashwindow.checkers.necessity import column
from crashwindow.checkers.necessity_beside import asked, at_rest, counterpart, judged, rests, whole, worse
from crashwindow.checkers.necessity_stage import COLUMNS, differences, matrix
from crashwindow.model.counterparts import (
    BY_COLUMN,
    BY_KIND,
    COUNTERPARTS,
    MACHINES,
    NO_COUNTERPART,
    OF_RULE,
    Beside,
    absent,
    beside_without,
)
from crashwindow.model.mechanisms import NEEDED, ONE, RULES
from crashwindow.reports.audit.necessity import _cell
from crashwindow.scenarios.machines import machine_of
from crashwindow.scenarios.matrix import answer


@pytest.fixture(scope="module")
def cells() -> list[Need]:
    """What P9, P10 and P12 say of the step's mechanisms, where they are asked, and of each rule of their machines."""
    beside = [counterpart(each.column, name) for each in MACHINES for name in COUNTERPARTS[each.kind]]
    return [*beside, *(asked(kind, name) for name, kind in OF_RULE.items())]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.kind)
def test_each_mechanism_is_one_of_the_machine_or_it_is_said_why_not(machine: Beside) -> None:
    """No mechanism of one worker is left out of a machine beside the step, and each change names rows and changes some."""
    there, none = COUNTERPARTS[machine.kind], NO_COUNTERPART[machine.kind]
    assert sorted([*there, *none]) == sorted(ONE)
    rows = beside_without("x", machine.kind, [])
    assert rows.rules == machine.build(replace(machine.hardened, name="x")).rules
    for name in (*there, *machine.rules):
        change = absent(machine.kind, [name])
        for pattern in (*change.drop, *change.sees, *change.meets, *change.writes, *change.conflicts):
            assert any(fnmatchcase(rule.name, pattern) for rule in rows.rules), (name, pattern)
        assert beside_without("x", machine.kind, [name]).rules != rows.rules, name
    with pytest.raises(KeyError, match="hope"):
        beside_without("x", machine.kind, ["hope"])


def test_a_rule_that_is_missing_is_missing_in_the_machine_of_its_policy() -> None:
    """The key of a run without a rule is one of the machine that the register refutes without it: there is one of that name."""
    for rule, kind in OF_RULE.items():
        name = f"{kind}-without-{rule}"
        assert machine_of(name) == beside_without(name, kind, [rule])


def test_the_machines_beside_the_step_are_as_stated_and_each_run_shows_it(cells: list[Need]) -> None:
    """Each cell is the one that is stated; the run of each that is needed breaks its property, as the audit follows it."""
    assert differences(cells, "quick") == []
    assert [c.mechanism for c in cells if c.answer == "needed" and c.mechanism in RULES] == list(RULES)
    for c in cells:
        assert list(_cell(c, "quick")) == []
        assert (c.answer, bool(c.key)) in {("needed", True), ("not needed", False)}
    for machine in MACHINES:
        mine = {c.mechanism: c.answer for c in cells if c.property == machine.column}
        names = (*COUNTERPARTS[machine.kind], *machine.rules)
        assert mine == {name: answer(machine.column, name, "quick") for name in names}


def test_a_gate_a_compensation_and_a_recorded_value_come_to_rest_but_without_three_rules() -> None:
    """P15 needs G-DENY, K-BARRIER and K-TERMINAL: each by a run that the audit finds fair, and without end."""
    found = [rests(rule) for rule in RULES]
    assert {c.mechanism for c in found if c.answer == "needed"} == {"G-DENY", "K-BARRIER", "K-TERMINAL"}
    assert {name for name in RULES if "P15" in NEEDED[name]} == {"G-DENY", "K-BARRIER", "K-TERMINAL"}
    assert [words for c in found for words in _cell(c, "deep")] == []
    assert answer("P15", "G-DENY", "quick") == "not checked"


@pytest.mark.parametrize("canary", [c for c in CANARIES if c.policy.partition("-")[0] in BY_KIND], ids=lambda c: c.name)
def test_a_job_that_never_comes_to_rest_is_found_beside_the_step(canary: Canary) -> None:
    """A defect that stops the job of a gate, a compensation or a recorded value is no mechanism, and is found all the same."""
    assert at_rest(mutated(canary), "G-ASK", canary.policy).answer == "needed"


def test_an_end_that_is_not_reached_is_told() -> None:
    """Where a job can end in fewer ways than it has, nothing is said of P15."""
    machine = beside_without("x", "recorded", [])
    less = replace(machine, rules=tuple(r for r in machine.rules if r.writes.get("job") != "completed"))
    with pytest.raises(ValueError, match="no run comes to rest as completed"):
        at_rest(less, "L-RECORD", "recorded-hardened")


def test_a_defect_beside_a_mechanism_that_is_not_needed_is_found() -> None:
    """Without repeated writes a compensation keeps P10; with an outcome that nobody knows taken for none it does not."""
    properties = BY_KIND["compensation"].properties
    machine = beside_without("compensation-without-same-write", "compensation", ["same-write"])
    assert judged(machine, "same-write", properties, whole("compensation")).answer == "not needed"
    assert worse().answer == "needed"


def test_a_cell_that_holds_says_what_does_not_occur_there(cells: list[Need]) -> None:
    """Where nothing is done about an attempt in doubt none is parked: the cell says so. None of them holds of nothing at all."""
    (doubt,) = [c for c in cells if (c.property, c.mechanism) == ("P10", "on-unknown")]
    assert "there it does not occur that attempt = lost ∧ undone = 1 ∧ job = parked" in doubt.words
    for c in cells:
        if c.answer == "not needed":
            kind = BY_COLUMN[c.property].kind
            space = explore(beside_without("x", kind, [c.mechanism]))
            for prop in BY_KIND[kind].properties:
                assert any(space.find(occurs) is not None for occurs in prop.occurs), (c.property, c.mechanism)


def test_a_cell_of_the_step_says_what_does_not_occur_without_its_mechanism() -> None:
    """Without the barrier P11 holds, and what shows that it speaks of something, a second open attempt, does not occur."""
    (cell,) = [c for c in column("barrier", "quick") if c.property == "P11"]
    assert cell.words.endswith("there it does not occur that keys = 1 ∧ open = 2")
    (other,) = [c for c in column("confirm", "quick") if c.property == "P11"]
    assert "occur" not in other.words


def test_the_column_of_a_rule_says_why_there_is_nothing_to_ask() -> None:
    """A rule of a gate is asked of P9; P15 is left for later; the other properties are not applicable, each with a reason."""
    found = {c.property: c for c in matrix("quick", lambda words: None, ["G-ASK"])}
    assert tuple(found) == COLUMNS
    assert {name for name, c in found.items() if c.answer != "not applicable"} == {"P9", "P15"}
    assert (found["P15"].answer, found["P9"].verdict) == ("not checked", Verdict.REFUTED)
    assert "one worker" in found["P5"].words
    assert (
        found["P10"].words
        == found["P1"].words
        == "it is a rule of the gate machine alone: no row of another one is left out"
    )
