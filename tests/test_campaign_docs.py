"""The tutorial of crash campaigns does not lie: its commands run and print what stands there, its table is the code's."""

import ast
import re
import shlex
import shutil
from pathlib import Path

import pytest

from crashwindow.checkers.evidence_outcome import AT_MOST_ONCE, MEANING, UNJUDGED, Outcome
from crashwindow.commands.table import parser
from crashwindow.scenarios.campaign import CampaignFile, Tried, shipped_campaigns
from crashwindow.tests.shown_commands import SHIMS, pattern, printed, shown, written

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/campaigns.md").read_text(encoding="utf-8")
PLUGINS = "-m pytest -p crashwindow.checkers.campaign.pytest_plugin -p xdist -p no:cacheprovider"


@pytest.mark.deep
def test_every_command_runs_and_prints_what_is_shown(tmp_path: Path) -> None:
    """From a directory that holds the examples, from top to bottom, with the files that the page has one write."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for name, text in written(PAGE).items():
        (tmp_path / name).write_text(text)
    entries = shown(PAGE)
    assert len(entries) >= 8
    shims = {**SHIMS, "pytest": PLUGINS}
    # The plugin is there once, be the package installed or not.
    outputs = printed([each.command for each in entries], tmp_path, 600, shims, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    for entry, output in zip(entries, outputs, strict=True):
        assert re.fullmatch(pattern(entry.output), output) or not entry.output, f"$ {entry.command}\n{output}"


def test_a_page_that_shows_something_else_is_caught() -> None:
    """What is shown has to be what is printed, line by line, but for what '…' leaves open."""
    (lie,) = shown("```console\n$ crashwindow campaign run x\n…\n effect: a #1   EXACTLY ONCE\n…\n```\n")
    assert re.fullmatch(pattern(lie.output), "x\n effect: a #1   EXACTLY ONCE  \n\n")
    assert not re.fullmatch(pattern(lie.output), "x\n effect: a #1   DUPLICATE\n\n")


@pytest.mark.parametrize("line", re.findall(r"^crashwindow (.*)$", PAGE, flags=re.MULTILINE))
def test_every_other_command_can_be_given(line: str) -> None:
    """What takes too long, or another machine, is understood by the command line; other tests run it."""
    parser().parse_args(shlex.split(line, comments=True))


def test_the_outcomes_are_the_codes() -> None:
    """Each outcome in the order of its badness, with its meaning, and whether it is at most once."""
    words = {True: "kept", False: "broken"}
    rows = re.findall(r"^\| ([A-Z ]+) \| (.*) \| (kept|broken|not judged) \|$", PAGE, flags=re.MULTILINE)
    judged = {o: "not judged" if o in UNJUDGED else words[o in AT_MOST_ONCE] for o in Outcome}
    assert {(name, said) for name, _, said in rows} == {(str(o), judged[o]) for o in Outcome}
    assert all(meaning == MEANING[Outcome(name)].partition(":")[0] for name, meaning, _ in rows)


def test_every_key_of_the_file_is_named() -> None:
    """The table of the file's keys has all of them."""
    for model in (CampaignFile, Tried):
        assert [key for key in model.model_fields if f"`{key}`" not in PAGE and key not in ("name", "title")] == []


def test_every_campaign_that_ships_is_named() -> None:
    """Each, and none besides."""
    assert set(re.findall(r"^crashwindow campaign run (\w+) +#", PAGE, flags=re.MULTILINE)) == set(shipped_campaigns())


def imported(source: str) -> set[tuple[str, str]]:
    """What a file imports by name from the package: modules and names."""
    found = (each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.ImportFrom))
    return {(str(e.module), name.name) for e in found if str(e.module).startswith("crashwindow.") for name in e.names}


def test_the_imports_that_are_told_are_all_that_an_adapter_needs() -> None:
    """The two lines can be imported; no adapter on the page, of `campaign new`, or among the examples needs more."""
    (told,) = re.findall(r"^```python\n(from crashwindow.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    exec(told, {})
    adapters = [
        written(PAGE)["tasks_adapter.py"],
        (ROOT / "checkers/campaign/skeleton/adapter.py.txt").read_text(encoding="utf-8"),
        (ROOT / "examples/adapters/notebook.py").read_text(encoding="utf-8"),
    ]
    assert [imported(source) - imported(told) for source in adapters] == [set()] * len(adapters)
    assert all(imported(source) for source in adapters)


def test_links_lead_somewhere() -> None:
    """Each relative link names a file beside the page, and each link into the page a heading."""
    headings = {
        re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    }
    for file, _, heading in (link.partition("#") for link in re.findall(r"\]\(([^)]+)\)", PAGE)):
        assert (ROOT / "docs" / file).exists()
        assert file or heading in headings
