"""The documentation as a site: it builds without a warning, needs no network, names what there is, and shows what happens."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from crashwindow.__main__ import main
from crashwindow.checkers import traces
from crashwindow.checkers.seed_text import CHECKS
from crashwindow.commands.grammar import Command
from crashwindow.commands.table import COMMANDS, parser
from crashwindow.docs.generate.hooks import INSERTED, file, readme
from crashwindow.docs.generate.track_record import BY_TEST, RECORD, own_command, refuted, shown_by
from crashwindow.model.claims import CLAIM_BY_ID
from crashwindow.reports.audit.replays import breaks
from crashwindow.scenarios.machines import machine_of
from crashwindow.tests.chromium import PROGRAM, Chromium
from crashwindow.tests.shown_commands import Shown, pattern, printed, shown

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
OF_THE_SITE = (
    "index", "guarantees", "theory", "reading-a-report", "track-record", "for-*", "decisions", "architecture", "changelog",
    "reference/*",
)  # fmt: skip
PAGES = sorted(page for name in OF_THE_SITE for page in DOCS.glob(f"{name}.md"))
"""The pages that are there for the site. Others are older than it, and have tests of their own where they show commands."""
TRIED_ELSEWHERE = (ROOT / "README.md", DOCS / "campaigns.md")
"""Whose commands tests/test_readme.py and tests/test_campaign_docs.py run."""
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
"""What makes a browser load something, by element and attribute; a link to be clicked is none."""


def built(folder: Path, config: Path = ROOT / "mkdocs.yml") -> str:
    """Build the site into a folder; what was said if that failed, else nothing. `--quiet` would hide warnings from `--strict`."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    folder = tmp_path_factory.mktemp("site")
    assert built(folder) == ""
    return folder


class Loads(HTMLParser):
    """The addresses that a page has a browser load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One element."""
        values = dict(attrs)
        if tag != "link" or values.get("rel") not in ("canonical", "next", "prev"):
            self.found += filter(None, [values.get(LOADED.get(tag, ""))])
        self.found += outside_of_styles(values.get("style") or "")

    def handle_data(self, data: str) -> None:
        """What a style sheet in the page loads."""
        if self.lasttag == "style":
            self.found += outside_of_styles(data)


def outside_of_styles(text: str) -> list[str]:
    """What a style sheet loads from elsewhere."""
    return re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^)\"'\s]+)", text)


def outside(folder: Path) -> list[str]:
    """Each address outside of the site that one of its pages or style sheets has a browser load."""
    found = []
    for page in folder.rglob("*.html"):
        found += [each for each in Loads(page.read_text(encoding="utf-8")).found if re.match(r"(?:https?:)?//", each)]
    for style in folder.rglob("*.css"):
        found += outside_of_styles(style.read_text(encoding="utf-8"))
    return found


def test_the_site_builds_without_a_warning(site: Path) -> None:
    """Links and anchors lead somewhere, and every page has its place in the navigation: each else is a warning."""
    pages = {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")}
    assert pages <= {page.relative_to(site).as_posix() for page in site.rglob("*.html")}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ({"index.md": "# x\n"}, ""),
        ({"index.md": "# x\n[gone](gone.md)\n"}, "gone.md"),
        ({"index.md": "# x\n[gone](#gone)\n"}, "#gone"),
        ({"index.md": "# x\n", "forgotten.md": "# y\n"}, "forgotten.md"),
    ],
)
def test_a_warning_is_an_error(tmp_path: Path, pages: dict[str, str], said: str) -> None:
    """With this project's settings: a link or an anchor that leads nowhere, a page without a place; and nothing of it passes."""
    (tmp_path / "docs").mkdir()
    for name, text in pages.items():
        (tmp_path / "docs" / name).write_text(text)
    config = {"INHERIT": str(ROOT / "mkdocs.yml"), "docs_dir": "docs", "nav": ["index.md"], "hooks": [], "plugins": []}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config))
    found = built(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert (said in found and "warning" in found.lower()) if said else found == ""


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    """No font, script, picture or style sheet of another place, and no diagram, which would be drawn by a script of one."""
    assert list(site.rglob("*.html"))
    assert outside(site) == []
    assert not [page for page in site.rglob("*.html") if 'class="mermaid"' in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "planted",
    [
        '<script src="https://example.com/x.js"></script>',
        '<link rel="stylesheet" href="//example.com/x.css">',
        '<img src="https://example.com/x.png">',
        "<style>@import 'https://example.com/x.css';</style>",
        '<p style="background: url(https://example.com/x.png)">',
    ],
)
def test_what_is_loaded_from_elsewhere_is_seen(tmp_path: Path, planted: str) -> None:
    """The check above says no to each way, and not to a link that is only clicked."""
    (tmp_path / "x.html").write_text('<a href="https://example.com/">elsewhere</a>')
    assert outside(tmp_path) == []
    (tmp_path / "x.html").write_text(planted)
    assert outside(tmp_path)


def names(among: tuple[Command, ...], before: str = "crashwindow") -> Iterator[str]:
    """Every command, those of commands included."""
    for command in among:
        yield f"{before} {command.name}"
        yield from names(command.commands, f"{before} {command.name}")


def test_the_reference_has_every_command(site: Path) -> None:
    """Each has a heading of its own and its help."""
    text = (site / "reference/commands.html").read_text(encoding="utf-8")
    listed = re.findall(r"<h[2-4] id=\"[^\"]+\">(crashwindow [\w -]+)<", text)
    assert listed == list(names(COMMANDS))
    assert text.count("usage: crashwindow ") == len(listed)


def test_the_reference_has_the_public_names(site: Path) -> None:
    """What examples and tutorials import of the modules that are documented is in the reference."""
    told = " ".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    for module, name in [
        ("runtime.registry", "Registry"),
        ("runtime.tool", "ToolContext"),
        ("runtime.tool", "NoEffectError"),
        ("runtime.clients", "Client"),
        ("runtime.contracts.runner", "GraphRunner"),
        ("checkers.campaign.adapter", "Adapter"),
        ("checkers.campaign.machine", "adapter_machine"),
        ("checkers.evidence", "RunEvidence"),
        ("checkers.evidence_matrix", "Matrix"),
    ]:
        assert f'id="crashwindow.{module}.{name}"' in told, name


def test_a_section_that_the_readme_lacks_is_an_error() -> None:
    """What is inserted is there, or the build fails; links from the root lead to the site's own pages."""
    with pytest.raises(ValueError, match="no section 'Nothing of that name'"):
        readme("Nothing of that name")
    assert "](docs/" not in file("README.md")
    assert "](contract.md)" in readme("What is guaranteed")


def test_what_is_inserted_is_known() -> None:
    """Every marker names something that can be inserted, and each of these is inserted somewhere."""
    asked = {name for page in PAGES for name in re.findall(r"^<!-- insert (\w+)", page.read_text("utf-8"), re.M)}
    assert asked == set(INSERTED)


# What the pages show.


def elsewhere() -> set[str]:
    """The commands that other tests run."""
    return {entry.command for page in TRIED_ELSEWHERE for entry in shown(page.read_text("utf-8"))}


def to_run() -> list[Shown]:
    """The console commands of all pages that no other test runs."""
    known = elsewhere()
    return [entry for page in PAGES for entry in shown(page.read_text("utf-8")) if entry.command not in known]


def check(entries: list[Shown], folder: Path) -> None:
    """Run commands in a directory that holds the examples, from top to bottom; they print what is shown."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    outputs = printed([entry.command for entry in entries], folder, 600)
    for entry, output in zip(entries, outputs, strict=True):
        assert re.fullmatch(pattern(entry.output), output), f"$ {entry.command}\n{output}"


def searches(entry: Shown) -> bool:
    """Whether a command searches a model for seconds; verify does that as well."""
    return entry.command.startswith(("crashwindow scenario run", "crashwindow necessity", "crashwindow witness"))


def test_every_command_of_the_pages_prints_what_is_shown(tmp_path: Path) -> None:
    """But for those that search: the deep test below runs these."""
    quick = [entry for entry in to_run() if not searches(entry)]
    assert len(quick) >= 4
    check(quick, tmp_path)


@pytest.mark.deep
def test_every_search_of_the_pages_prints_what_is_shown(tmp_path: Path) -> None:
    """Scenarios, witnesses and the matrix, as they are shown."""
    check([entry for entry in to_run() if searches(entry)], tmp_path)


def lines() -> list[str]:
    """The other commands of the pages: in blocks of shell, and in tables."""
    texts = [page.read_text("utf-8") for page in PAGES]
    blocks = [block for text in texts for block in re.findall(r"^```sh\n(.*?)^```$", text, flags=re.M | re.S)]
    return sorted({line for block in blocks for line in block.splitlines() if line.startswith("crashwindow ")})


@pytest.mark.parametrize("line", lines())
def test_every_other_command_can_be_given(line: str) -> None:
    """What takes minutes, another machine or a bundle is understood by the command line; other tests run it."""
    parser().parse_args(shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize("words", ["crashwindow prove --nothing", "crashwindow reports"])
def test_a_command_that_cannot_be_given_is_seen(words: str) -> None:
    """The check above says no."""
    with pytest.raises(SystemExit):
        parser().parse_args(shlex.split(words)[1:])


# The track record.


def test_every_refuted_sentence_of_the_documents_is_listed() -> None:
    """Each has a command; of those that are replayed in the model no key is left over."""
    assert all(shown_by(claim) for claim in refuted())
    assert set(RECORD["counterexamples"]) <= {claim.id for claim in refuted()}
    assert not set(RECORD["counterexamples"]) & set(CHECKS)


@pytest.mark.parametrize("name", sorted(RECORD["counterexamples"]))
def test_a_counterexample_breaks_its_property(name: str) -> None:
    """The key fits the model as it is, and where it ends a property of the claim is broken."""
    claim, key = CLAIM_BY_ID[name], RECORD["counterexamples"][name]
    policy, machine = claim.policy, machine_of(claim.policy)
    assert key.startswith(f"model:{policy}:")
    state = dict[str, str]()
    for frame in traces.replay(key).frames:
        state |= frame.changed
    last = tuple(state[field.name] for field in machine.fields)
    assert any(breaks(machine, last, each) for each in claim.properties)


def test_a_run_that_breaks_nothing_is_no_counterexample() -> None:
    """The check above says no to a shorter run."""
    machine = machine_of("s4-reexecute")
    assert not breaks(machine, next(iter(machine.initial_states())), "P1")


def is_test(words: str) -> bool:
    """Whether `FILE -k PART` names a test function, or a function that a test has as a parameter."""
    name, _, part = words.partition(" -k ")
    return bool(re.search(rf"^def \w*{part}", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE))


@pytest.mark.parametrize("words", [each.removeprefix("pytest ") for each in BY_TEST.values()])
def test_a_sentence_without_a_run_has_its_test(words: str) -> None:
    """The test that is named is there; one that is not would be seen."""
    assert is_test(words)
    assert not is_test(f"{words}_no_more")


@pytest.mark.parametrize("defect", RECORD["own"], ids=own_command)
def test_a_defect_of_our_own_has_its_test(defect: dict[str, str]) -> None:
    """The test that is named is there, and is run with all others; the decision that is named is there as well."""
    if "test" in defect:
        assert is_test(defect["test"])
    else:
        parser().parse_args(shlex.split(defect["command"])[1:])
    assert "source" not in defect or (DOCS / f"decisions/{defect['source']}.md").is_file()


@pytest.mark.parametrize("line", [each["command"] for each in RECORD["campaigns"]])
def test_a_campaign_can_be_given(line: str) -> None:
    """The command is understood; the deep test below runs it."""
    parser().parse_args(shlex.split(line)[1:])


@pytest.mark.deep
@pytest.mark.parametrize(
    "line",
    [
        *(shown_by(claim) for claim in refuted() if shown_by(claim).startswith("crashwindow")),
        *(own_command(each) for each in RECORD["own"] if "command" in each),
    ],
)
def test_a_command_of_the_record_shows_it(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each ends with 0: a replay that no longer fits would not."""
    assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out


@pytest.mark.deep
@pytest.mark.parametrize("each", RECORD["campaigns"], ids=lambda each: str(each["runtime"]))
def test_a_campaign_of_the_record_shows_it(
    each: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one cell comes out as the page says."""
    monkeypatch.chdir(tmp_path)
    main(shlex.split(each["command"])[1:])
    assert each["outcome"] in capsys.readouterr().out


def test_the_navigation_is_whole() -> None:
    """Quick, without a build: each page that is named is there, and each page is named; decisions are added by themselves."""

    def named(entry: object) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            yield from (name for inner in entry.values() for name in named(inner))
        elif isinstance(entry, list):
            yield from (name for inner in entry for name in named(inner))

    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert set(named(config["nav"])) == {page for page in pages if not page.startswith("decisions/")}


@pytest.mark.deep
@pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")
def test_the_site_is_read_from_files(site: Path, tmp_path: Path) -> None:
    """No server, no network, nothing to complain of; it fits a narrow screen, follows the system's scheme, and is searched."""
    with Chromium(tmp_path / "profile") as browser:
        browser.listen()
        for width, dark in [(1280, False), (360, True)]:
            browser.window(width, dark=dark)
            for page in ("index", "track-record", "reference/commands"):
                browser.open((site / f"{page}.html").as_uri())
                assert browser.evaluate("document.documentElement.scrollWidth") == width
                browser.wait(f"document.body.dataset.mdColorScheme === '{'slate' if dark else 'default'}'")
        browser.window(1280)
        browser.open((site / "index.html").as_uri())
        browser.type(".md-search__input", "fencing")
        again = "document.activeElement.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}))"
        browser.wait(f"{again} && document.querySelectorAll('.md-search-result__item').length > 0")
        assert not [asked for asked in browser.requests if not asked.startswith(("file:", "data:", "about:"))]
        assert browser.complaints == []
