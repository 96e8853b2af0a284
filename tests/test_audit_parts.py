"""The audit's look at what no claim names: planted defects, coverage, machines, tried sentences, and whether items are due.

Each lie is told to the one check that has to see it. In `test_audit_attacks` some are sealed with the trusted key.
"""

from collections.abc import Callable
from typing import Any

import pytest

from crashwindow.checkers.evidence import Machine, MutantResult, RunEvidence
from crashwindow.checkers.machines import strayed
from crashwindow.reports.audit import run as audit_run
from crashwindow.reports.audit import seal, totals
from crashwindow.reports.audit.items import items
from crashwindow.reports.audit.parts import parts, searched
from crashwindow.reports.audit.sentences import sentences
from crashwindow.reports.audit.tables import tables
from crashwindow.reports.audit.verdicts import verdicts
from crashwindow.scenarios.due_figures import COMBINED
from crashwindow.scenarios.profile import PLANTED
from crashwindow.scenarios.searched import TWO_WORKERS

from .small_bundle import CRASH, DUE, HOLDS, REGISTER, TRIED, WITNESS, audited, run
from .small_bundle import sentences as tried

# ruff: noqa: E501
# Tables: a lie is read as a row.

NAMES = ("an open attempt is executed again", *(f"{name}: planted" for name in PLANTED))


def machine(policy: str = "hardened", **more: Any) -> Machine:
    """A machine as it is described; of its size nothing need be right."""
    made = Machine(
        policy=policy, sha256="0" * 64, fields=1, rules=1, states=1, transitions=1, states_per_second=1, unreached=[]
    )
    return made.model_copy(update=more)


def evidence(**more: Any) -> RunEvidence:
    """The small run with other parts."""
    return run().evidence.model_copy(update=more)


def planted(*names: str) -> RunEvidence:
    """A run of the step's model in which these defects were planted."""
    made = [MutantResult(name=name, killed_by="explore", words="-") for name in names]
    return evidence(machines=[machine()], mutants=made)


def with_figures(number: int, names: str = "", **more: Any) -> RunEvidence:
    """The run with other figures of one item of the claim that holds, and of those that are named nothing."""
    told = run().items(HOLDS.id)[number].figures
    left = {name: value for name, value in told.items() if name not in names.split(", ")}
    return run().with_item(HOLDS.id, number, figures={**left, **more}).evidence


def covered(**more: Any) -> RunEvidence:
    """The run with another coverage of the contracts, beside which a claim tells of one, with the figures that are due."""
    (contracts,) = run().evidence.contracts
    figures = {
        "edges": len(contracts.edges),
        "legal": 36,
        "illegal": 732,
        "refused": 732,
        "retries": 7,
        "unapproved": 4,
    }
    assert figures.keys() == COMBINED.keys()
    told = run().with_item(HOLDS.id, CRASH, figures=figures).evidence
    return told.model_copy(update={"contracts": [contracts.model_copy(update=more)]})


def by(**more: int) -> list[Any]:
    """The edges, taken by somebody more."""
    return [edge.model_copy(update={"by": {**edge.by, **more}}) for edge in run().evidence.contracts[0].edges]


def sized(*sizes: tuple[int, int]) -> RunEvidence:
    """A run with machines of two workers."""
    return evidence(
        machines=[machine("fleet", states=states, transitions=transitions) for states, transitions in sizes]
    )


def told_twice() -> RunEvidence:
    """A run in which one property is told twice, and another not."""
    one, other, *rest = run().items(HOLDS.id)
    assert other.checker == one.checker == "prove"
    return run().with_items(HOLDS.id, [other, other, *rest]).evidence


LIES: dict[str, tuple[Callable[[RunEvidence], list[str]], Callable[[], RunEvidence], str]] = {
    "the step's planted defects left out": (parts, lambda: planted(*NAMES[1:]), "planted defects of the step: there is none"),
    "a part's planted defects left out": (parts, lambda: planted(*NAMES[:-1]), f"planted defects of {PLANTED[-1]}: there is none"),
    "a planted defect twice": (parts, lambda: planted(*NAMES, NAMES[1]), f"the planted defect {NAMES[1]}: it is there 2 times"),
    "no coverage": (parts, lambda: evidence(machines=[machine("contract-hardened")], contracts=[]), "contracts on SQLite: it is missing"),
    "another store": (parts, lambda: covered(store="Oracle"), "contracts on Oracle: this program has none"),
    "a store twice": (parts, lambda: evidence(contracts=run().evidence.contracts * 2), "contracts on SQLite: it is there 2 times"),
    "edges that nobody takes": (parts, lambda: covered(edges=by(people=7)), "contracts on SQLite: people takes no edges"),
    "a coverage that is told otherwise": (parts, lambda: covered(legal=35), f"claim {HOLDS.id}: its edges and combinations"),
    "an edge of a coverage left out": (tables, lambda: covered(edges=by()[1:]), "contracts on SQLite: the edge"),
    "a machine of another size": (lambda e: [*searched(e)], lambda: evidence(machines=[machine("recorded-hardened")]), "model recorded-hardened: states"),
    "a machine of which nothing is stated": (lambda e: [*searched(e)], lambda: evidence(machines=[machine("perfect")]), "model perfect: states"),
    "the machine of two workers alone": (lambda e: [*searched(e)], lambda: sized(TWO_WORKERS["fleet"][1]), "model fleet: states"),
    "a proof of one property left out": (lambda e: items(e, DUE), lambda: without(0), f"claim {HOLDS.id}, prove, PROVED: the item with clauses"),
    "an item in the place of another": (lambda e: items(e, DUE), told_twice, "its sentence does not begin with 'P12 '"),
    "a figure left out": (lambda e: items(e, DUE), lambda: with_figures(CRASH, "not run as meant"), "its figures are schedules, streams, and due"),
    "another size in an item": (lambda e: items(e, DUE), lambda: with_figures(WITNESS, states=10**6), "1000000 states are told, and 166 are due"),
    "other files": (lambda e: items(e, DUE), lambda: run().with_item(HOLDS.id, CRASH, files=[]).evidence, "it rests on nothing, and due is"),
    "a witness where figures are added": (lambda e: verdicts(e, REGISTER), lambda: run().with_item(
        HOLDS.id, WITNESS, trace=None, figures={"states": 166, "transitions": 324, "workers": 1}).evidence, "no run shows"),
    "a claim of which nobody says anything": (lambda e: items(e, {**DUE, "LATER": ()}), lambda: run().evidence, "claim LATER, explore, NOT CHECKED, 'nobody looked': an"),
    "a tried sentence left out": (lambda e: sentences(e, REGISTER, tried())[0], lambda: run().with_items(TRIED.id, []).evidence, f"claim {TRIED.id}: tried"),
    "a sentence tried twice": (lambda e: sentences(e, REGISTER, tried())[0], lambda: run().with_items(TRIED.id, run().items(TRIED.id) * 2).evidence, "tried"),
}  # fmt: skip


def without(number: int) -> RunEvidence:
    """The run without one item of the claim that holds."""
    left = run().items(HOLDS.id)
    return run().with_items(HOLDS.id, left[:number] + left[number + 1 :]).evidence


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_named(lie: str) -> None:
    """The check that is there for it says so, and says what of."""
    check, make, words = LIES[lie]
    found = check(make())
    assert any(words in each for each in found), found


def test_what_the_lies_begin_with_is_right() -> None:
    """Each of them is found for what it says: planted defects, a coverage that a claim tells of, and items are accepted."""
    assert [words for words in parts(planted(*NAMES)) if "planted" in words] == []
    assert [words for words in parts(covered()) if "contracts" in words or "edges" in words] == []
    assert items(run().evidence, DUE) == []
    assert [*searched(run().evidence)] == []
    assert sentences(run().evidence, REGISTER, tried()) == ([], 1)


@pytest.mark.parametrize(("profile", "number"), [("quick", 2), ("deep", 4), ("deep", 6)])
def test_two_workers_are_searched_with_each_kind_of_tool(profile: str, number: int) -> None:
    """One in the quick profile, five in the deep one: as large as is stated, none left out, none twice."""
    sizes = (*TWO_WORKERS["fleet"], TWO_WORKERS["fleet"][1])
    of_profile = run().evidence.run.model_copy(update={"profile": profile})
    whole = sized(*sizes[:number]).model_copy(update={"run": of_profile})
    right = sized(*sizes[: 1 if profile == "quick" else 5]).model_copy(update={"run": of_profile})
    assert [any("by states and transitions" in words for words in searched(each)) for each in (whole, right)] == [
        True,
        False,
    ]


def test_a_run_compares_two_workers_with_what_is_stated() -> None:
    """A search of two workers that comes to another size than any that is stated is an error of its run."""
    other = "two workers came to"
    right, wrong = sized(*TWO_WORKERS["fleet"]).machines, sized((7, 9)).machines
    assert [words for words in strayed(right, []) if words.startswith(other)] == []
    assert [words for words in strayed(wrong, []) if words.startswith(other)] != []


def test_a_run_with_errors_need_not_have_its_items() -> None:
    """What a run says of itself that failed is no pass, by the check that says so; which items are missing is not asked then."""
    made = run().with_items(HOLDS.id, [])
    failed = type(made)(made.evidence.model_copy(update={"errors": ["crashes: the checker failed"]}), made.files)
    checks = {check.name: check for check in audited(failed.packed()).checks}
    assert checks["items"].verdict == "NOT DONE"
    assert "crashes: the checker failed" in checks["items"].words[0]
    assert checks["outcome"].verdict == "FAIL"


@pytest.mark.parametrize("place", [(totals, "totals"), (audit_run, "derived"), (seal, "says")])
def test_a_check_that_ends_before_its_time_is_a_finding(
    place: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody has thought of is a failure of the check in which it happens, and the others are done; it is never a pass."""
    checks = {"totals": {"totals"}, "derived": {"evidence", "reports", "traces", "files"}, "says": {"statement"}}[
        place[1]
    ]

    def odd(*_: object) -> None:
        raise ZeroDivisionError("x" * 999)

    monkeypatch.setattr(*place, odd)
    made = audited(run().packed())
    failed = {check.name: check.words for check in made.checks if check.verdict == "FAIL"}
    assert made.result == "FAIL"
    assert set(failed) == checks
    assert set(failed.values()) == {(f"the check ended before its time: ZeroDivisionError: {'x' * 200}",)}
