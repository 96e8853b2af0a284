"""The first screen's answers follow from the claims, none is kinder than its weakest one; and every gap is named."""

import pytest

from crashwindow.checkers.evidence import ClaimResult, Item, Necessity, Need, RunEvidence, Verdict
from crashwindow.model.claims import CLAIMS
from crashwindow.reports.answers import LIMIT, QUESTIONS, answers, limit
from crashwindow.reports.gaps import FEW, gaps
from crashwindow.reports.view import judge

from .test_reports import SMALL, changed, evidence

ASKED = sorted({name for _, names in QUESTIONS for name in names})


def item(verdict: Verdict) -> Item:
    """A piece of evidence."""
    return Item(checker="prove", verdict=verdict, statement="as planted", command="crashwindow verify")


def run(**other: Verdict | None) -> RunEvidence:
    """A run in which every claim came out as registered, but for these; None: without any item."""
    found = {c.id: Verdict(c.expected) for c in CLAIMS} | other
    items = {name: [item(verdict)] if verdict else [] for name, verdict in found.items()}
    claims = [ClaimResult(claim=c.id, expected=Verdict(c.expected), items=items[c.id]) for c in CLAIMS]
    return evidence().model_copy(update={"claims": claims})


def said(**other: Verdict | None) -> dict[str, str]:
    """The answers, by question."""
    return {answer.question: answer.said for answer in answers(judge(run(**other)))}


def test_every_question_is_answered_where_its_claims_came_out() -> None:
    """All claims that the questions rest on are registered, of what ships; as registered, each answer is No."""
    assert said() == {question: "No" for question, _ in QUESTIONS}
    assert limit(judge(run())) is not None


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize(
    ("verdict", "answer"),
    [(Verdict.REFUTED, "Yes"), (Verdict.ERROR, "Not shown"), (Verdict.TESTED, "Not shown"), (None, "Not shown")],
)
def test_an_answer_is_as_weak_as_its_weakest_claim(name: str, verdict: Verdict | None, answer: str) -> None:
    """One claim that is refuted makes it Yes; one that is in error, tested alone or not checked leaves nothing shown."""
    for question, names in QUESTIONS:
        assert said(**{name: verdict})[question] == (answer if name in names else "No")


def test_what_nobody_can_have_is_said_where_it_was_shown() -> None:
    """The limit stands on the first screen only if this run has shown it; a register without the claims is asked nothing."""
    assert limit(judge(run(**{LIMIT: Verdict.TESTED}))) is None
    assert answers(judge(evidence(), SMALL)) == []


def named(of: RunEvidence) -> dict[str, str]:
    """The gaps, by where they are."""
    return dict(gaps(judge(of)))


def test_every_kind_of_gap_is_named() -> None:
    """A claim without evidence or with tests alone, a window without a crash, a rule that was not reached, a question of the
    matrix that was not asked."""
    window = evidence().windows[0]
    unseen = window.model_copy(update={"observed": window.observed.model_copy(update={"crashes": 0})})
    alive = window.model_copy(
        update={"row": "9", "observed": window.observed.model_copy(update={"crashes": 3, "killed": 0})}
    )
    rules = [f"rule {n}" for n in range(FEW + 2)]
    machine = evidence().machines[0].model_copy(update={"policy": "hardened", "unreached": rules, "rules": 50})
    need = Need(property="P1", mechanism="barrier", answer="not checked", verdict=Verdict.NOT_CHECKED, words="")
    matrix = Necessity(bounds=[], cells=[need], sets=[], idle=[], ambiguity=[])
    parts = {"windows": [unseen, alive], "machines": [machine], "necessity": matrix}
    found = named(run(**{"P1": None, "P2": Verdict.TESTED}).model_copy(update=parts))
    assert "P1" in found["Claims that nothing checked"].split(", ")
    assert "P2" in found["Claims that rest on tests alone"].split(", ")
    assert found[f"Window {window.row}"] == "no crash of the runtime was tried in it"
    assert "no process was killed" in found["Window 9"]
    assert found["Model hardened"].startswith(f"{FEW + 2} of 50 rules never reached: rule 0; ")
    assert found["Model hardened"].endswith("and 2 more")
    assert found["Necessity of barrier"] == "not checked in this run for P1"
    assert not {"Necessity of barrier", "Window 9"} & named(changed()).keys()
