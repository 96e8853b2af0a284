"""The audit's look at proofs beside the written ones: invariants that were found, the table's rows, opinions on each."""

from collections.abc import Callable
from functools import cache

import pytest

from crashwindow.checkers.evidence import ClaimResult, Item, RunEvidence, Verdict
from crashwindow.checkers.obligation_files import obligation_files
from crashwindow.model.claims import CLAIM_BY_ID
from crashwindow.reports.audit.obligations import ALONE, PARTS, SMT2, SUFFIX, obligations, regenerated
from crashwindow.reports.audit.verdicts import verdicts
from crashwindow.reports.view import REGISTER as REAL
from crashwindow.scenarios.due_models import CLASS
from crashwindow.scenarios.due_stages import items_of_run

from .small_bundle import HOLDS, POLICY, REGISTER, run

FOUND = f"{SMT2}{POLICY}-found/"
ROWS = f"{SMT2}{POLICY}-windows/"


@cache
def own() -> Item:
    """The second opinion of the small run."""
    return next(item for item in run().items(HOLDS.id) if item.checker == "reprove")


def beside(place: str, *more: Item, profile: str = "quick") -> tuple[dict[str, bytes], RunEvidence]:
    """The small run with the same obligations once more, at a place on which an item of the claim rests; and with more items."""
    written = f"{SMT2}{POLICY}/"
    files = {name: data for name, data in run().files.items() if name.startswith(written)}
    again = {name.replace(written, place): data for name, data in files.items()}
    said = Item(
        checker="windows", verdict=Verdict.EXHAUSTED, statement="so it is", figures={}, files=[place],
        command="crashwindow verify",
    )  # fmt: skip
    evidence = run().evidence
    claims = [
        each.model_copy(update={"items": [*each.items, said, *more]}) if each.claim == HOLDS.id else each
        for each in evidence.claims
    ]
    ran = evidence.run.model_copy(update={"profile": profile})
    return {**files, **again}, evidence.model_copy(update={"claims": claims, "run": ran})


@pytest.mark.parametrize("place", [FOUND, ROWS])
def test_a_second_opinion_is_on_each_proof_of_a_claim(place: str) -> None:
    """Each proof may have an opinion of its own; where one has none, the others are no opinion on it."""
    opinion = own().model_copy(update={"files": [place]})
    assert obligations(*beside(place, opinion), REGISTER) == []
    assert obligations(*beside(place), REGISTER) == [f"claim {HOLDS.id}: cvc5 was not asked about {place}"]


@pytest.mark.parametrize(("verdict", "refused"), [(Verdict.TESTED, False), (Verdict.PROVED, True)])
def test_an_opinion_on_the_rows_of_the_table_proves_nothing(verdict: Verdict, refused: bool) -> None:
    """That the table is complete is searched: in the deep profile, too, where all is asked, an opinion on its rows is TESTED."""
    files = [name for name in run().files if name.startswith(f"{SMT2}{POLICY}/")]
    figures = {**own().figures, "obligations": len(files), "proofs checked": len(files)}
    opinion = own().model_copy(update={"files": [ROWS], "verdict": verdict, "figures": figures})
    words = f"claim {HOLDS.id}: a second opinion in the profile deep is not {verdict}"
    found = obligations(*beside(ROWS, opinion, profile="deep"), REGISTER)
    assert found.count(words) == refused + (verdict == own().verdict)  # the quick one beside it is none of a deep run


@pytest.mark.parametrize("profile", ["quick", "deep"])
def test_each_proof_that_is_due_is_one_of_its_claim(profile: str) -> None:
    """Every place at which a run has to write obligations is known as that of a proof about the claim that rests on it."""
    due = {
        (claim, place)
        for claim, items in items_of_run(profile).items()
        for item in items
        for place in item.files
        if place.startswith(SMT2)
    }
    assert len(due) > 50
    for claim, place in due:
        name, policy = place.removeprefix(SMT2).removesuffix("/").removesuffix(SUFFIX), CLAIM_BY_ID[claim].policy
        assert name.startswith(policy), (claim, place)
        assert name.removeprefix(policy) in PARTS, (claim, place)
    assert {"fleet-lifted", "fleet-recorded-found"} <= {f"fleet{part}" for part in PARTS}
    assert set(ALONE) <= PARTS


@cache
def questions() -> dict[str, bytes]:
    """The questions about the ambiguity class, as this program asks them."""
    return {name: data for name, data in obligation_files().items() if name in CLASS}


def of_class(files: dict[str, bytes], number: int) -> list[str]:
    """What the audit says of these files under an item that rests on them and tells so many questions."""
    figures: dict[str, int | float | str] = {
        "questions in files": number,
        "obligations": number,
        "clauses": 194,
        "solver": "z3",
    }
    proof = Item(checker="prove", verdict=Verdict.PROVED, statement="it is proved", command="crashwindow check T-AMBIGUOUS-EXACT",
                 figures=figures, files=list(CLASS))  # fmt: skip
    result = ClaimResult(claim="T-AMBIGUOUS-EXACT", expected=Verdict.PROVED, items=[proof])
    return obligations(files, run().evidence.model_copy(update={"claims": [result]}), REAL)


def test_the_proof_of_the_ambiguity_class_is_looked_at_whole() -> None:
    """Its item rests on three files together: each is there, and of each the questions count."""
    assert questions().keys() == set(CLASS)
    assert of_class(questions(), 772) == []


ONE, TWINS, RUNS = CLASS
LIES: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "a question less": (RUNS, lambda d: d.partition(b"(push 1)")[0] + b"(push 1)" + d.partition(b"(pop 1)\n(push 1)")[2],
                        "rests on 772 questions, and there are 771"),
    "a rule of which nothing is asked": (ONE, lambda d: d.replace(b"; crash keeps the", b"; crash kept the"),
                                         "nothing is asked about the rule 'crash'"),
    "an assumption more": (TWINS, lambda d: d.replace(b":status unsat)", b":status unsat)\n(assert (= |open| 7))", 1),
                           "does not assume what its neighbours do"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_proof_of_the_ambiguity_class_that_was_altered_is_found(lie: str) -> None:
    """Without any solver: what is missing, and what is assumed of one question alone."""
    name, change, words = LIES[lie]
    altered = change(questions()[name])
    assert altered != questions()[name]
    assert any(words in each for each in of_class({**questions(), name: altered}, 772))


@pytest.mark.parametrize("name", CLASS)
def test_another_goal_about_the_ambiguity_class_is_none_of_this_program(name: str) -> None:
    """An audit that makes the questions anew names the file in which one is another."""
    altered = {**questions(), name: questions()[name].replace(b"(push 1)", b"(push 1)\n(assert true)", 1)}
    assert regenerated(questions(), questions())[0] == []
    assert regenerated(altered, questions())[0] == [f"{name}: it is not what this program asks of its model"]


def test_a_proof_without_a_written_clause_can_be_healthy() -> None:
    """What is proved by the properties alone has no clause: its health is told with none, and is no lie."""
    health = Item(
        checker="prove", verdict=Verdict.TESTED, statement="the proof is healthy", command="crashwindow prove --health",
        figures={"clauses": 0, "least rlimit": 1, "most rlimit": 2, "obligations": 3, "rlimit": 1, "seeds": 10}, files=[],
    )  # fmt: skip
    evidence = run().evidence
    claims = [c.model_copy(update={"items": [*c.items, health]}) if c.claim == HOLDS.id else c for c in evidence.claims]
    assert verdicts(evidence.model_copy(update={"claims": claims}), REGISTER) == verdicts(evidence, REGISTER)
