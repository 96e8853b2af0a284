"""The audit's look at proofs beside the written ones: invariants that were found, the table's rows, opinions on each."""

import pytest

from crashwindow.checkers.evidence import Item, RunEvidence, Verdict
from crashwindow.model.claims import CLAIM_BY_ID
from crashwindow.reports.audit.obligations import ALONE, PARTS, SMT2, SUFFIX, obligations
from crashwindow.reports.audit.verdicts import verdicts
from crashwindow.scenarios.due_stages import items_of_run

from .small_bundle import HOLDS, POLICY, REGISTER, run

OPINION = next(item for item in run().items(HOLDS.id) if item.checker == "reprove")
FOUND = f"{SMT2}{POLICY}-found/"
ROWS = f"{SMT2}{POLICY}-windows/"


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
    opinion = OPINION.model_copy(update={"files": [place]})
    assert obligations(*beside(place, opinion), REGISTER) == []
    assert obligations(*beside(place), REGISTER) == [f"claim {HOLDS.id}: cvc5 was not asked about {place}"]


@pytest.mark.parametrize(("verdict", "refused"), [(Verdict.TESTED, False), (Verdict.PROVED, True)])
def test_an_opinion_on_the_rows_of_the_table_proves_nothing(verdict: Verdict, refused: bool) -> None:
    """That the table is complete is searched: in the deep profile, too, where all is asked, an opinion on its rows is TESTED."""
    files = [name for name in run().files if name.startswith(f"{SMT2}{POLICY}/")]
    figures = {**OPINION.figures, "obligations": len(files), "proofs checked": len(files)}
    opinion = OPINION.model_copy(update={"files": [ROWS], "verdict": verdict, "figures": figures})
    words = f"claim {HOLDS.id}: a second opinion in the profile deep is not {verdict}"
    found = obligations(*beside(ROWS, opinion, profile="deep"), REGISTER)
    assert found.count(words) == refused + (verdict == OPINION.verdict)  # the quick one beside it is none of a deep run


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


def test_a_proof_without_a_written_clause_can_be_healthy() -> None:
    """What is proved by the properties alone has no clause: its health is told with none, and is no lie."""
    health = Item(
        checker="prove", verdict=Verdict.TESTED, statement="the proof is healthy", command="crashwindow prove --health",
        figures={"clauses": 0, "least rlimit": 1, "most rlimit": 2, "obligations": 3, "rlimit": 1, "seeds": 10}, files=[],
    )  # fmt: skip
    evidence = run().evidence
    claims = [c.model_copy(update={"items": [*c.items, health]}) if c.claim == HOLDS.id else c for c in evidence.claims]
    assert verdicts(evidence.model_copy(update={"claims": claims}), REGISTER) == verdicts(evidence, REGISTER)
