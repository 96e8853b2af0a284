"""What items a run owes: derived from the register, held against each stage of a run, and against whatever a signer alters.

An honest item is here made of what is due itself; that real stages have such items is what each run says of itself.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers.evidence import Item, RunEvidence, Trace, Verdict
from crashwindow.checkers.evidence_verdict import strongest
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.verify import Context, Found, Stage, verify
from crashwindow.model.claims import CLAIM_BY_ID, CLAIMS
from crashwindow.scenarios import due_stages
from crashwindow.scenarios.due import Due, differences
from crashwindow.scenarios.due_stages import ITEMS, items_of_run, items_of_stage

from .test_audit_matrix import FIRST

PROFILES = ("quick", "deep")
TRACE = Trace(key="model:hardened:0", frames=[FIRST])


def item(due: Due) -> Item:
    """An item as it is due."""
    return Item.model_validate(
        {
            "checker": due.checker,
            "verdict": Verdict(due.verdict),
            "statement": f"{due.begins}is told",
            "figures": {
                name: due.least.get(name, 1) if value is None else value for name, value in due.figures.items()
            },
            "trace": TRACE if due.shown else None,
            "files": list(due.files),
            "command": due.command.replace("{key}", TRACE.key)
            .replace("{seed}", "7")
            .replace("{loss}", "execute+2:lost=1"),
        }
    )


def unserved(told: Item, stage: str) -> None:
    """What a deep stage says where there is no PostgreSQL server: NOT CHECKED, with the remedy; it is due, and missed."""
    assert told.verdict is Verdict.NOT_CHECKED
    assert "apt-get install postgresql" in told.statement
    (due,) = [
        due for due in items_of_stage(stage, "deep")["P1"] if any(not each.unlike(told) for each in due.otherwise)
    ]
    assert list(differences([due], [told])) == []
    assert list(differences([due], [])) != []


def every() -> Iterator[tuple[str, tuple[Due, ...]]]:
    """What is due of each claim, in each profile; of claims that are owed the same, of one."""
    yield from {
        repr(due): (claim, due) for profile in PROFILES for claim, due in items_of_run(profile).items()
    }.values()


def test_each_stage_of_the_main_job_says_what_it_owes() -> None:
    """No stage is left out, and there is none of another name."""
    assert {stage.name for stage in STAGES} == ITEMS.keys()


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_due_bears_what_the_register_expects(profile: str) -> None:
    """Of each claim an item by every method that the register names; the strongest verdict is the expected one."""
    for claim in CLAIMS:
        due = items_of_run(profile)[claim.id]
        assert {each.checker for each in due} >= set(claim.methods), claim.id
        assert strongest([Verdict(each.verdict) for each in due]) == claim.expected, claim.id


def test_items_that_are_due_are_accepted() -> None:
    """In whatever order they stand."""
    for claim, due in every():
        assert list(differences(due, [item(each) for each in reversed(due)])) == [], claim


def test_a_seed_may_be_any_number() -> None:
    """`--seed -5` is taken by every command that draws, so that an item repeated with it is one that is due."""
    due = Due("walk", "TESTED", {}, command="crashwindow verify --seed {seed}")
    for seed in ("0", "-5", "20261121"):
        told = item(due).model_copy(update={"command": f"crashwindow verify --seed {seed}"})
        assert due.unlike(told) == [], seed
    assert due.unlike(item(due).model_copy(update={"command": "crashwindow verify --seed five"}))


def test_which_of_several_items_differs_is_said() -> None:
    """Items that are alike but for what they speak of are told apart by how their sentences begin."""
    due = Due("explore", "EXHAUSTED", {"states": 2})
    names = ("P10 holds", "P10-COMMITTED holds in every reachable state of two workers, with any number of claims")
    told = [item(due).model_copy(update={"statement": name, "figures": {"states": 3}}) for name in names]
    assert list(differences([due, due], told)) == [
        "explore, EXHAUSTED, 'P10 holds': 3 states are told, and 2 are due",
        f"explore, EXHAUSTED, {names[1][:60]!r}…: 3 states are told, and 2 are due",
    ]


ALTERED: dict[str, Callable[[Item], dict[str, Any]]] = {
    "another command": lambda told: {"command": "crashwindow bundle --output x"},
    "another verdict": lambda told: {"verdict": Verdict.PROVED if told.verdict != "PROVED" else Verdict.EXHAUSTED},
    "a figure more": lambda told: {"figures": {**told.figures, "more": 1}},
    "a figure less": lambda told: {"figures": dict(list(told.figures.items())[:-1])} if told.figures else {"files": ["x/"]},
    "other files": lambda told: {"files": [*told.files, "smt2/hardened-windows/2/"]},
    "a run more or less": lambda told: {"trace": None if told.trace else TRACE},
    "another checker": lambda told: {"checker": "replay" if told.checker != "replay" else "crash"},
}  # fmt: skip


@pytest.mark.parametrize("change", ALTERED)
def test_an_item_that_is_altered_is_named(change: str) -> None:
    """Each of them, of every claim: its checker is named."""
    for claim, due in every():
        honest = [item(other) for other in due]
        for number, each in enumerate(due):
            told = [*honest]
            told[number] = told[number].model_copy(update=ALTERED[change](told[number]))
            found = list(differences(due, told))
            assert any(words.startswith((each.checker, told[number].checker)) for words in found), (claim, each)


def test_an_item_that_is_dropped_or_doubled_is_named() -> None:
    """Each of them, of every claim; what needs a server, too: without one an item has to say so."""
    for claim, due in every():
        told = [item(other) for other in due]
        for number, each in enumerate(due):
            assert list(differences(due, told[:number] + told[number + 1 :])), (claim, each)
            assert list(differences(due, [*told, told[number]])), (claim, each)


def test_a_stated_figure_is_compared() -> None:
    """States, transitions, workers and what counts failures: each value that is stated, of every claim."""
    for claim, due in every():
        honest = [item(other) for other in due]
        for number, each in enumerate(due):
            for name in (name for name, value in each.figures.items() if value is not None):
                told = [*honest]
                told[number] = told[number].model_copy(update={"figures": {**told[number].figures, name: 77}})
                assert any(f"77 {name}" in words for words in differences(due, told)), (claim, name)


def test_one_property_is_not_told_in_the_place_of_another() -> None:
    """A claim of several properties has an item about each: the same one twice is named."""
    for claim, due in every():
        for number, each in enumerate(due):
            twin = next((n for n, other in enumerate(due) if n != number and other.begins and same(each, other)), None)
            if twin is not None:
                told = [item(other) for other in due]
                told[number] = told[twin]
                assert list(differences(due, told)), (claim, each)


def same(one: Due, other: Due) -> bool:
    """Whether nothing but the beginning of its sentence tells two items apart."""
    return (one.checker, one.verdict, one.figures, one.files) == (
        other.checker,
        other.verdict,
        other.figures,
        other.files,
    )


def test_a_computer_that_lacks_something_may_say_so() -> None:
    """Without cvc5 nobody gives a second opinion, without a server nobody asks PostgreSQL: an item says so beside each claim. In
    its place there may not be nothing, nor anybody else's word.
    """
    served = {name: [due for due in of["P1"] if due.otherwise] for name in PROFILES if (of := items_of_run(name))}
    assert [due.checker for due in served["quick"]] == ["reprove"]
    assert [due.checker for due in served["deep"]] == ["walk", "reprove", "reprove", "enumerate", "enumerate"]
    for due in served["deep"]:
        (nobody,) = [item(each) for each in due.otherwise]
        assert nobody.verdict is Verdict.NOT_CHECKED
        assert list(differences([due], [nobody])) == []
        for other in ({"checker": "crash"}, {"verdict": Verdict.ASSUMED}, {"command": "crashwindow bench"}):
            assert list(differences([due], [nobody.model_copy(update=other)])) != [], other
        assert list(differences([due], [])) != []


def test_the_place_of_one_server_is_not_that_of_another() -> None:
    """That no path was walked there is not that no store was asked: each needs its own sentence."""
    due = [each for each in items_of_run("deep")["P1"] if each.otherwise and each.checker == "enumerate"]
    interleaved, held = ([item(nobody) for nobody in each.otherwise] for each in due)
    assert list(differences(due, [*held, *interleaved])) == []
    assert list(differences(due, [*held, *held])) != []


def test_a_claim_that_is_not_as_expected_is_left_to_who_judges_the_run() -> None:
    """A checker that failed, or found a counterexample, is named there; a claim that ought to be refuted is looked at."""
    due = items_of_run("quick")["P1"]
    for verdict in (Verdict.ERROR, Verdict.REFUTED):
        broken = item(due[0]).model_copy(update={"verdict": verdict})
        assert list(differences(due, [broken])) == []
        assert strongest([broken.verdict]) != CLAIM_BY_ID["P1"].expected
    assert list(differences(items_of_run("quick")["S0-1-BARRIER"], [item(items_of_run("quick")["S0-1-BARRIER"][0])]))


def run_of(name: str, found: Found, folder: Path) -> RunEvidence:
    """A run of one stage, which finds this."""
    stage = Stage(name, "a stage", lambda _: found, (), "enumerate")
    evidence = list(verify(Context("quick", 1, folder, lambda _: None), (stage,), "crashwindow verify"))[-1]
    assert isinstance(evidence, RunEvidence)
    return evidence


def test_each_run_compares_its_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a stage has found other than stated is an error of the run; a stage that failed says only that."""
    monkeypatch.setattr("crashwindow.checkers.verify.made_by", lambda: "here")
    (due,) = items_of_stage("keys", "quick")["P11-INJECTIVE"]
    honest = item(due)
    assert run_of("keys", Found(items={"P11-INJECTIVE": [honest]}), tmp_path / "1").errors == []
    for number, items in enumerate(
        ([], [honest, honest], [honest.model_copy(update={"verdict": Verdict.EXHAUSTED})]), 2
    ):
        (error,) = run_of("keys", Found(items={"P11-INJECTIVE": list(items)}), tmp_path / str(number)).errors
        assert error.startswith("a stage: claim P11-INJECTIVE, enumerate")
    assert run_of("keys", Found(errors=["out of order"]), tmp_path / "6").errors == ["out of order"]
    (error,) = run_of("graphs", Found(items={"P1": [honest]}), tmp_path / "7").errors
    assert error.startswith("a stage: claim P1, enumerate, TESTED, 'is told': an item with steps is not due")


def test_a_stage_that_is_not_of_the_main_job_owes_nothing() -> None:
    """It is not stated what it owes: asked for it, the name is said."""
    with pytest.raises(KeyError, match="planted"):
        due_stages.items_of_stage("planted", "quick")
