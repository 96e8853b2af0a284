"""`crashwindow report`: the forms again from old evidence, what changed between two runs, a job's summary, the schema."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.evidence import ClaimResult, RunEvidence, Verdict
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.reports import diff as module
from crashwindow.reports.diff import Change, changes_data, changes_text, diff, got_worse
from crashwindow.reports.files import EVIDENCE, forms, load, schema_text, write
from crashwindow.reports.job_summary import render_summary
from crashwindow.reports.view import REGISTER

from .test_forms import WRONG, matrix
from .test_reports import COVERAGE, EDGE, NECESSITY, SEEN, SMALL, WINDOW, changed, claims, evidence, item, replaced

FIRST = claims()[0].items


def told(changes: Sequence[Change]) -> list[str]:
    """The differences, a line each."""
    return [f"{change.way}: {change.about}: {change.words}" for change in changes]


def test_nothing_changed_between_equal_runs() -> None:
    """The same evidence has no difference, and neither has one that took another time."""
    assert diff(evidence(), evidence(), SMALL) == []
    assert str(changes_text([])) == "Nothing changed but timings."
    update = {"run": "other", "started": "2027", "seconds": 1.0}
    slow = FIRST[0].model_copy(update={"figures": {**FIRST[0].figures, "seconds": 99.5}})
    rows = evidence().kills[0].model_copy(update={"seconds": 1.0, "cheapest": {"explore": 340}})
    other = changed(
        run=evidence().run.model_copy(update=update),
        claims=replaced(0, items=[slow, *FIRST[1:]]),
        machines=[evidence().machines[0].model_copy(update={"states_per_second": 5.0})],
        schedules=[evidence().schedules[0].model_copy(update={"per_second": 2.0})],
        kills=[rows],
    )
    assert diff(evidence(), other, SMALL) == []


@pytest.mark.parametrize("name", WRONG)
def test_a_problem_is_worse_and_its_end_is_better(name: str) -> None:
    """Whatever a view calls a problem comes first, and makes the exit code; the other way round nothing is worse."""
    wrong = changed(**WRONG[name])
    changes = diff(evidence(), wrong, SMALL)
    assert changes[0].way == "worse"
    assert any("now a problem: " in change.words for change in changes if change.way == "worse")
    assert got_worse(changes)
    back = diff(wrong, evidence(), SMALL)
    assert any("no problem any more: " in change.words for change in back if change.way == "better")
    assert not [c for c in back if c.way == "worse" and "claim" not in c.about]


LESS = FIRST[0].model_copy(update={"figures": {**FIRST[0].figures, "obligations": 130}})
NEW = ClaimResult(claim="LATER", expected=Verdict.NOT_CHECKED, items=[item("explore", Verdict.NOT_CHECKED, "later")])
RUN = evidence().run


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (changed(claims=claims()[1:]), "worse: claim P1: nothing is said of it any more"),
        (changed(claims=[*claims(), NEW]), "changed: claim LATER: new in the evidence"),
        (changed(claims=replaced(0, items=FIRST[1:])), "worse: claim P1: best verdict PROVED, now EXHAUSTED"),
        (changed(claims=replaced(0, items=FIRST[1:])), "worse: claim P1: guaranteed, now it is not"),
        (changed(claims=replaced(0, items=FIRST[1:])), "worse: claim P1: 1 items by prove, now 0"),
        (changed(claims=replaced(0, items=FIRST[:2])), "better: claim P1: weakest link TESTED, now EXHAUSTED"),
        (changed(claims=replaced(0, items=[LESS, *FIRST[1:]])), "changed: claim P1: prove, obligations 131, now 130"),
        (changed(claims=replaced(0, expected=Verdict.TESTED)), "changed: claim P1: expected PROVED, now TESTED"),
        (changed(windows=[WINDOW]), "worse: window 8f: is gone"),
        (
            changed(windows=[WINDOW.model_copy(update={"observed": SEEN.model_copy(update={"crashes": 311})})]),
            "changed: window 2: observed crashes 312, now 311",
        ),
        (changed(schedules=[]), "worse: campaign every single crash: is gone"),
        (
            changed(schedules=[evidence().schedules[0].model_copy(update={"schedules": 4000})]),
            "changed: campaign every single crash: schedules 4,312, now 4,000",
        ),
        (changed(scenarios=[]), "worse: scenario seed-row-2: is gone"),
        (changed(mutants=[]), "worse: mutant acquire not atomic: is gone"),
        (
            changed(mutants=[evidence().mutants[0].model_copy(update={"killed_by": "explore"})]),
            "changed: mutant acquire not atomic: killed_by crash, now explore",
        ),
        (
            changed(kills=[evidence().kills[0].model_copy(update={"killed": 339})]),
            "changed: mutants hardened: guard literal dropped: killed 340, now 339",
        ),
        (changed(kills=[]), "worse: mutants hardened: guard literal dropped: is gone"),
        (changed(contracts=[]), "worse: contracts on SQLite: is gone"),
        (
            changed(contracts=[COVERAGE.model_copy(update={"edges": [EDGE.model_copy(update={"by": {"walk": 1}})]})]),
            "changed: edge on SQLite: pending –start→ running: by walk 41, now 1",
        ),
        (
            changed(machines=[evidence().machines[0].model_copy(update={"sha256": "ee" * 32})]),
            f"changed: model hardened: sha256 {'cd' * 32}, now {'ee' * 32}",
        ),
        (changed(machines=[]), "worse: model hardened: is gone"),
        (changed(not_checked=[]), "changed: not checked: no more: Many workers on one job."),
        (changed(not_checked=["Many workers on one job.", "The disk."]), "changed: not checked: new: The disk."),
        (changed(claims=replaced(0, items=FIRST[1:])), "changed: assumption: no more: A-QUIET"),
        (changed(necessity=None), "worse: necessity quiet for P1: is gone"),
        (
            changed(necessity=NECESSITY.model_copy(update={"idle": []})),
            "changed: necessity: no more: nothing breaks without ledger",
        ),
        (changed(run=RUN.model_copy(update={"commit": "9"})), "changed: run: commit 0123abc, now 9"),
        (changed(run=RUN.model_copy(update={"versions": {"python": "3.12"}})), "changed: run: versions z3 4.15.3, now none"),
        (changed(campaigns=[matrix()]), "changed: crash matrix of theirs, after effect: a #1: is new: DUPLICATE"),
    ],
)  # fmt: skip
def test_each_difference_is_told(after: RunEvidence, said: str) -> None:
    """Verdicts, items, figures, windows, schedules, scenarios, mutants, machines, edges, sentences, assumptions, versions."""
    changes = diff(evidence(), after, SMALL)
    assert said in told(changes)
    ways = [change.way for change in changes]
    assert ways == sorted(ways, key=["worse", "better", "changed"].index)


def test_a_cell_that_ends_worse_is_worse() -> None:
    """Of a crash matrix the outcomes are compared by what they mean."""
    cell = matrix().cells[0].model_copy(update={"outcomes": {Outcome.HONEST_UNKNOWN: 1}, "kept": 1})
    well = changed(campaigns=[matrix().model_copy(update={"cells": [cell]})])
    ill = changed(campaigns=[matrix()])
    about = "crash matrix of theirs, after effect: a #1"
    assert f"worse: {about}: HONEST UNKNOWN, now DUPLICATE" in told(diff(well, ill, SMALL))
    assert f"better: {about}: DUPLICATE, now HONEST UNKNOWN" in told(diff(ill, well, SMALL))


@pytest.mark.parametrize("part", ["_problems", "_claims", "_lists", "_cells", "_sentences", "_code"])
def test_every_part_of_the_comparison_counts(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks above can fail: without one of its parts the comparison tells less."""
    sentence = {"not_checked": [], "run": RUN.model_copy(update={"commit": "9"}), "campaigns": [matrix()]}
    after = changed(claims=claims()[1:], windows=[WINDOW], errors=["stage x failed"], **sentence)
    whole = diff(evidence(), after, SMALL)
    monkeypatch.setattr(module, part, lambda *_: ())
    assert len(diff(evidence(), after, SMALL)) < len(whole)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Exit code, output and errors of `crashwindow report …`."""
    code = main(["report", *argv])
    said = capsys.readouterr()
    return code, said.out, said.err


def of_register(**parts: Any) -> RunEvidence:
    """Evidence about the real register that did not pass: of most claims it says nothing."""
    return changed(claims=claims()[:1], **parts)


@pytest.fixture
def _no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of the whole register takes seconds, and its bytes are the matter of other tests."""
    monkeypatch.setattr("crashwindow.reports.files.render_html", lambda *_: "a page")


def put(directory: Path, content: RunEvidence, name: str = EVIDENCE) -> Path:
    """Evidence in a file of a directory."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(content.model_dump_json())
    return directory


@pytest.mark.usefixtures("_no_page")
def test_old_evidence_is_rendered_again_byte_by_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`report render` writes what the run wrote; the exit code says that the run did not pass."""
    write(of_register(), tmp_path / "run")
    first = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    assert set(first) == set(forms(of_register(), REGISTER))
    code, out, _ = run(capsys, "render", str(tmp_path / "run" / EVIDENCE), "--output", str(tmp_path / "again"))
    assert code == 1
    assert "NOT PASSED" in out
    assert {file.name: file.read_bytes() for file in (tmp_path / "again").iterdir()} == first
    assert run(capsys, "render", str(tmp_path / "run"))[0] == 1
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == first


def test_diff_speaks_by_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 where nothing got worse, 1 where something did; as JSON, too."""
    one = str(put(tmp_path / "a", of_register()))
    two = str(put(tmp_path / "b", of_register(windows=[WINDOW])))
    assert run(capsys, "diff", one, one)[:2] == (0, "Nothing changed but timings.\n")
    code, out, _ = run(capsys, "diff", one, two)
    assert (code, out.splitlines()[:2]) == (1, ["Worse (1)", "  window 8f: is gone"])
    code, out, _ = run(capsys, "diff", one, two, "--json")
    assert (code, json.loads(out)) == (1, changes_data(diff(load(Path(one)), load(Path(two)))))
    assert run(capsys, "diff", two, one)[0] == 0


def test_a_summary_goes_where_github_wants_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a job it is printed; in one it is appended to what other steps have written."""
    source = str(put(tmp_path / "a", of_register()))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    code, text, _ = run(capsys, "summary", source)
    assert code == 0
    assert text == render_summary(of_register())
    file = tmp_path / "summary"
    file.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    assert run(capsys, "summary", source)[:2] == (0, "")
    assert file.read_text() == f"before\n{text}"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert run(capsys, "summary", source)[0] == 2


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is published."""
    assert run(capsys, "schema") == (0, schema_text(), "")


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and the file: no evidence, evidence by another name without an output, an output that is a file."""
    assert "cannot be read" in run(capsys, "render", str(tmp_path))[2]
    source = put(tmp_path / "a", of_register(), "other.json") / "other.json"
    assert "give --output DIR" in run(capsys, "render", str(source))[2]
    assert "name a directory" in run(capsys, "render", str(source), "--output", str(source))[2]
    assert run(capsys, "diff", str(source), str(tmp_path / "none"))[0] == 2
