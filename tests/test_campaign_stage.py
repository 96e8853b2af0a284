"""Crash matrices in a run's report: struck by the deep profile, or handed over from a campaign."""

from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import campaign_stage
from crashwindow.checkers.verify import Context
from crashwindow.reports.crash_matrix_files import write_matrices
from crashwindow.reports.files import load


def context(profile: str, directory: Path) -> Context:
    """A run that tells nobody."""
    return Context(profile, 1, directory, lambda words: None)  # type: ignore[arg-type]  # as the command line hands it over


def test_the_quick_profile_strikes_nobody(tmp_path: Path) -> None:
    """Matrices are the deep profile's."""
    assert campaign_stage.campaigns(context("quick", tmp_path)).campaigns == []


def test_a_matrix_is_struck_and_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A loop that records before it acts loses an effect in the deep profile, as its campaign expects; what is handed to
    `report render` stands in every form, and what a machine made of it in the run's section alone."""
    monkeypatch.setattr(campaign_stage, "CAMPAIGNS", {"naive": ("record-then-act",)})
    found = campaign_stage.campaigns(context("deep", tmp_path))
    assert not found.errors
    (matrix,) = found.campaigns
    assert "LOST EFFECT" in {outcome.value for outcome in matrix.count()}

    write_matrices("naive", found.campaigns, tmp_path / "campaign")
    golden = Path(__file__).parent / "golden" / "evidence.json"
    given = ["--campaign", str(tmp_path / "campaign"), "--output", str(tmp_path / "out")]
    main(["report", "render", str(golden), *given])
    assert [each.subject for each in load(tmp_path / "out").campaigns] == ["record-then-act"]
    for name, mark in (("report.html", '<section id="run"'), ("report.md", "Environment, and this run")):
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        body, own = text.rsplit(mark, 1)
        assert "LOST EFFECT" in body
        assert matrix.platform not in body
        assert matrix.platform in own
