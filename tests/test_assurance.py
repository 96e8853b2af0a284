"""The assurance case says what the register and the evidence say, support is computed from below, and gaps stand first."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from crashwindow.checkers.evidence import ClaimResult, RunEvidence, Verdict
from crashwindow.model.claims import ASSUMPTIONS, CLAIMS
from crashwindow.reports.assurance import TOP, Element, Support, case, undeveloped
from crashwindow.reports.assurance_forms import assurance_gsn, assurance_markdown
from crashwindow.reports.files import forms
from crashwindow.reports.html_assurance import assurance
from crashwindow.reports.view import REGISTER, Register, View, judge

from .test_reports import EVIL, SMALL, changed, claim, evidence, item, replaced


def every(run: RunEvidence | None = None, register: Register = SMALL) -> dict[str, Element]:
    """The elements of a case by id; none is there twice."""
    found = list(case(judge(run or evidence(), register)).all())
    assert [name for name, count in Counter(e.id for e in found).items() if count > 1] == []
    return {element.id: element for element in found}


def above(elements: Mapping[str, Element], name: str) -> Iterator[Element]:
    """Whatever an element supports, up to the top."""
    for element in elements.values():
        if name in [part.id for part in element.parts]:
            yield element
            yield from above(elements, element.id)


def full() -> RunEvidence:
    """A run in which every claim of the shipped register came out as expected, by every method that it names."""
    results = [
        ClaimResult(
            claim=c.id,
            expected=Verdict(c.expected),
            items=[item(method, Verdict(c.expected), f"{c.id} by {method}") for method in c.methods],
        )
        for c in CLAIMS
    ]
    return changed(claims=results)


@pytest.fixture(scope="module")
def shipped() -> View:
    """That run beside the shipped register."""
    return judge(full(), REGISTER)


def test_every_claim_is_one_goal(shipped: View) -> None:
    """Each claim of the shipped register is exactly one goal, with its sentence, and no goal names a claim that it has not."""
    goals = [e for e in case(shipped).all() if e.kind == "goal" and e.claim]
    assert Counter(goal.claim for goal in goals) == Counter(entry.claim.id for entry in shipped.entries)
    sentences = {entry.claim.id: entry.claim.sentence for entry in shipped.entries}
    assert all(sentences[goal.claim] in goal.text for goal in goals if goal.claim)


def test_every_assumption_is_linked(shipped: View) -> None:
    """Each assumption that a claim needs is in the context of its goal and, with who must keep it, of the surroundings."""
    elements = {e.id: e for e in case(shipped).all()}
    kept = {c.id: c.text for c in elements["S-SURROUNDINGS"].context}
    for entry in shipped.entries:
        assert [c.id for c in elements[f"G-{entry.claim.id}"].context] == list(entry.claim.assumptions)
    for assumption, users in shipped.assumptions:
        assert users
        assert ASSUMPTIONS[assumption.id].owner in kept[assumption.id]
    assert {name for entry in shipped.entries for name in entry.claim.assumptions} == kept.keys()


def test_an_element_is_there_once(shipped: View) -> None:
    """In the shipped register's case no two elements have one id, so every link leads to one place."""
    ids = Counter(element.id for element in case(shipped).all())
    assert max(ids.values()) == 1
    page = str(assurance(shipped))
    anchors = Counter(re.findall(r'\bid="([^"]*)"', page))
    assert max(anchors.values()) == 1
    linked = set(re.findall(r'href="#(case-[^"]*)"', page))
    assert linked <= anchors.keys()


def test_a_run_as_expected_supports_the_top_but_for_what_is_open() -> None:
    """Where every verdict is the expected one the top goal is supported in part, for what nobody checked; never fully."""
    elements = every()
    assert elements[TOP].support is Support.PARTLY
    assert Support.NOT not in {e.support for e in elements.values()}
    assert elements["G-P1"].support is Support.PARTLY  # the walk was not applied
    assert elements["G-ORDER"].support is Support.FULL


def test_without_gaps_and_assumptions_the_top_is_supported() -> None:
    """Where nothing is left open and nothing is assumed the top goal is supported; one assumption, and it is so in part."""
    windows = [window for window in evidence().windows if window.observed.crashes]
    asked = [row.model_copy(update={"unasked": 0}) for row in evidence().kills]
    claims = [r for r in evidence().claims if r.claim != "P2"]
    run = changed(not_checked=[], windows=windows, claims=claims, kills=asked)
    checked = [c for c in SMALL.claims if c.expected not in ("ASSUMED", "NOT CHECKED")]
    sure = tuple(replace(c, methods=("explore",), assumptions=()) for c in checked)
    assert every(run, Register(sure, {}))[TOP].support is Support.FULL
    assuming = (replace(sure[0], assumptions=("A-QUIET",)), *sure[1:])
    assert every(run, Register(assuming, SMALL.assumptions))[TOP].support is Support.PARTLY


def test_mutants_that_not_everybody_was_asked_about_are_a_goal_that_nothing_supports() -> None:
    """They are not counted as harmless, and the goal above them is supported in part; where everybody was asked it is whole."""
    elements = every()
    assert elements["G-MUTANTS"].support is Support.PARTLY
    assert elements["G-MUTANTS"].parts[0].undeveloped
    assert elements["G-MUTANTS"].parts[0].text.startswith("40 mutants are safe by proof, and who kills them is open")
    assert elements["Sn-MUTANTS-1"].text == "340 of 565 killed, 130 proved the same, 55 proved safe"
    asked = every(changed(kills=[row.model_copy(update={"unasked": 0}) for row in evidence().kills]))
    assert asked["G-MUTANTS"].support is Support.FULL
    assert "G-MUTANTS-REST" not in asked


WORSE: Mapping[str, tuple[Callable[[], RunEvidence], str]] = {
    "a hardened claim is refuted": (
        lambda: changed(claims=replaced(0, items=[item("explore", Verdict.REFUTED, "P1 fails.")])),
        "G-P1",
    ),
    "beside its proof it is refuted": (
        lambda: changed(claims=replaced(0, items=[*evidence().claims[0].items, item("crash", Verdict.REFUTED, "P1 fails.")])),
        "G-P1",
    ),
    "its checker failed": (
        lambda: changed(claims=replaced(0, items=[*evidence().claims[0].items, item("crash", Verdict.ERROR, "No disk.")])),
        "G-P1",
    ),
    "it is weaker than expected": (
        lambda: changed(claims=replaced(0, items=[item("crash", Verdict.TESTED, "Some runs.")])),
        "G-P1",
    ),
    "nothing checked it": (lambda: changed(claims=evidence().claims[1:]), "G-P1"),
    "another policy does not hold": (
        lambda: changed(claims=replaced(2, items=[item("explore", Verdict.REFUTED, "It fails.")])),
        "G-ORDER",
    ),
    "what is refuted as written is not": (
        lambda: changed(claims=replaced(3, items=[item("explore", Verdict.EXHAUSTED, "It holds.")])),
        "G-AGAIN",
    ),
    "a mutant lives": (
        lambda: changed(mutants=[evidence().mutants[0].model_copy(update={"killed_by": None})]),
        "G-DEFECTS",
    ),
    "a mutant is a gap": (
        lambda: changed(kills=[evidence().kills[0].model_copy(update={"gaps": ["one"]})]),
        "G-MUTANTS",
    ),
    "a schedule breaks a property": (
        lambda: changed(schedules=[evidence().schedules[0].model_copy(update={"violations": ["a key"]})]),
        "G-SCHEDULES",
    ),
    "a scenario comes out otherwise": (
        lambda: changed(scenarios=[evidence().scenarios[0].model_copy(update={"passed": False})]),
        "G-SCENARIOS",
    ),
    "an edge was not taken": (
        lambda: changed(contracts=[evidence().contracts[0].model_copy(update={"refused": 0})]),
        "G-CONTRACTS",
    ),
    "a window differs": (
        lambda: changed(windows=[evidence().windows[0].model_copy(update={"agrees": False})]),
        "G-TABLE",
    ),
}  # fmt: skip


@pytest.mark.parametrize("worse", WORSE)
def test_what_is_wrong_is_not_supported_nor_is_anything_above(worse: str) -> None:
    """A refuted or unexpected claim, or any other thing that is not as it should be, leaves no goal above it supported."""
    make, name = WORSE[worse]
    elements = every(make())
    assert elements[name].support is Support.NOT
    over = list(above(elements, name))
    assert over[-1].id == TOP
    assert {element.support for element in over} == {Support.NOT}
    assert elements[TOP].parts[0].id == "S-PROBLEMS"
    assert elements["G-SCENARIOS" if name != "G-SCENARIOS" else "G-SCHEDULES"].support is Support.FULL


def test_a_problem_that_is_no_claims_refuses_the_top() -> None:
    """A stage that ended with an exception, and evidence that says of itself that it did not pass, refuse the top goal."""
    elements = every(changed(errors=["the walk: RuntimeError"]))
    assert elements[TOP].support is Support.NOT
    assert "RuntimeError" in elements["Sn-PROBLEM-1"].text


def test_undeveloped_goals_are_shown_first() -> None:
    """What nobody checked, what is assumed, a method that was not applied: goals without support, listed before all else."""
    view = judge(evidence(), SMALL)
    found = {goal.id for goal in undeveloped(case(view))}
    assert {"G-P2", "G-LATER", "G-P1-walk", "G-OPEN-1"} <= found
    assert "Nobody looked at the disk." in every()["G-P2"].text
    page = assurance(view).partition("<h3>The whole case")[0]
    text = assurance_markdown(view).partition("\nThe whole case")[0].replace("\\", "")
    assert all(f'href="#case-{name}"' in page and f"- {name}:" in text for name in found)
    order = [part.support for element in case(view).all() for part in element.parts if part.kind != "solution"]
    assert Support.OPEN in order
    for element in case(view).all():
        ranks = [list(Support).index(part.support) for part in element.parts if part.kind != "solution"]
        assert ranks == sorted(ranks)


def test_nothing_that_is_not_checked_is_a_solution() -> None:
    """A solution is evidence: NOT CHECKED and ASSUMED support nothing, each other item of a claim is there with its command."""
    solutions = [e for e in every().values() if e.kind == "solution" and e.claim]
    assert not {e.verdict for e in solutions} & {Verdict.NOT_CHECKED, Verdict.ASSUMED}
    items = [i for r in evidence().claims for i in r.items if i.verdict is not Verdict.ASSUMED]
    assert Counter((e.text, e.verdict, e.command) for e in solutions) == Counter(
        (i.statement, i.verdict, i.command) for i in items
    )


def test_a_goal_says_how_weak_its_weakest_link_is() -> None:
    """The goal of a claim has its best verdict and its worst, as the register's table has."""
    goal = every()["G-P1"]
    assert (goal.verdict, goal.worst) == (Verdict.PROVED, Verdict.TESTED)
    assert "weakest link" in str(assurance(judge(evidence(), SMALL)))


def test_what_holds_under_another_policy_says_so() -> None:
    """A claim about a policy that the runtime does not ship stands apart from those that it ships."""
    elements = every()
    assert [e.id for e in above(elements, "G-ORDER")] == ["G-OTHERS-T-PROP", "S-OTHERS", TOP]
    assert elements["G-ORDER"].text.startswith("Under policy s0-order-full-recovery: ")


def test_the_case_speaks_of_this_code_and_this_model() -> None:
    """Commit, hash of the code and hash of each shipped model are contexts of the top goal."""
    words = " ".join(context.text for context in every()[TOP].context)
    run = evidence()
    assert all(word in words for word in (run.run.commit, run.run.code_sha256, run.machines[0].sha256))


def test_data_for_other_tools_is_closed() -> None:
    """In the data each element is there once, each link leads to one, and undeveloped goals have no support."""
    data = json.loads(assurance_gsn(judge(evidence(), SMALL)))
    linked = {name for e in data.values() for key in ("supportedBy", "inContextOf") for name in e.get(key, [])}
    assert linked | {TOP} == data.keys()
    assert {e["nodeType"] for e in data.values()} <= {"Goal", "Strategy", "Solution", "Context", "Assumption"}
    assert all(e["text"] for e in data.values())
    assert {name for name, e in data.items() if e.get("undeveloped")} == {
        g.id for g in undeveloped(case(judge(evidence(), SMALL)))
    }
    assert not any(e.get("undeveloped") and e.get("supportedBy") for e in data.values())


FIELDS = {"text": str, "nodeType": str, "supportedBy": list, "inContextOf": list, "undeveloped": bool}
LINKS = {"supportedBy": {"Goal", "Strategy", "Solution"}, "inContextOf": {"Context", "Assumption", "Justification"}}


def ill_formed(data: dict[str, dict[str, Any]]) -> list[str]:
    """What gsn2x refuses by its documentation: fields of another type, links of another kind, twice, or in a circle."""
    found = []
    for name, element in data.items():
        found += [
            f"{name}: {f} is no {t.__name__}" for f, t in FIELDS.items() if f in element and type(element[f]) is not t
        ]
        found += [
            f"{name}: layer {f} is no text" for f in element.keys() - FIELDS.keys() if type(element[f]) is not str
        ]
        kind, parts = element.get("nodeType"), element.get("supportedBy", [])
        if not element.get("text") or kind not in {*LINKS["supportedBy"], *LINKS["inContextOf"]}:
            found.append(f"{name}: it has no text, or is no node of GSN")
        for field, kinds in LINKS.items():
            links = element.get(field, [])
            if field in element and (not links or len(set(links)) < len(links) or kind not in ("Goal", "Strategy")):
                found.append(f"{name}: {field} is empty, has a link twice, or belongs to no {kind}")
            found += [f"{name}: {field} {to}" for to in links if data.get(to, {}).get("nodeType") not in kinds]
        if kind in ("Goal", "Strategy") and bool(parts) == element.get("undeveloped", False):
            found.append(f"{name}: it is supported and undeveloped, or neither")
    linked = {to for element in data.values() for field in LINKS for to in element.get(field, [])}
    roots, below = data.keys() - linked, {name: set(e.get("supportedBy", [])) for name, e in data.items()}
    while leaves := {name for name, parts in below.items() if not parts & below.keys()}:
        below = {name: parts for name, parts in below.items() if name not in leaves}
    if [data[name].get("nodeType") for name in roots] != ["Goal"]:
        found.append(f"it has not one goal on top, but {', '.join(sorted(roots))}")
    return [*found, *(f"{name}: in a circle" for name in below)]


def test_the_file_for_gsn2x_is_well_formed() -> None:
    """Read as YAML the file is what it is as JSON, and by the rules that gsn2x documents nothing is wrong with it."""
    text = forms(evidence(), SMALL)["report.gsn.yaml"]
    data = yaml.safe_load(text)
    assert data == json.loads(text)
    assert ill_formed(data) == []


@pytest.mark.parametrize(
    ("element", "words"),
    [({"nodeType": "Claim"}, "no node of GSN"), ({"supportedBy": ["G-NONE"]}, "supportedBy G-NONE"), ({"text": 1}, "is no str"),
     ({"supportedBy": [TOP]}, "in a circle"), ({"undeveloped": True, "supportedBy": ["G-P1"]}, "supported and undeveloped"),
     ({"inContextOf": [TOP]}, f"inContextOf {TOP}"), ({"verdict": 1}, "layer verdict is no text"),
     ({"inContextOf": []}, "is empty")],
)  # fmt: skip
def test_what_gsn2x_would_refuse_is_seen(element: dict[str, Any], words: str) -> None:
    """The rules are none that let everything pass."""
    data = json.loads(assurance_gsn(judge(evidence(), SMALL)))
    data[next(name for name in data if name.startswith("S-"))].update(element)
    assert any(words in each for each in ill_formed(data)), ill_formed(data)


def test_text_of_the_evidence_is_only_text() -> None:
    """A statement or a sentence is never markup, in either form."""
    register = Register((claim("P1", "hardened", "holds", ("P1",), "PROVED", sentence=EVIL),), {})
    run = changed(
        claims=[ClaimResult(claim="P1", expected=Verdict.PROVED, items=[item("explore", Verdict.PROVED, EVIL)])]
    )
    view = judge(run, register)
    assert "<script" not in assurance(view)
    assert "<script" not in assurance_markdown(view)
    assert "\u202e" not in assurance(view) + assurance_markdown(view)
