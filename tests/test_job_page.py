"""The page of a job in a real browser: nothing is complained of or loaded, and whoever reads it, however, can read all of it."""

import re
from pathlib import Path

import pytest

from crashwindow.reports.job_page import render_job
from crashwindow.runtime.memory_store import MemoryStore

from .chromium import Chromium, needs_chromium
from .job_examples import EXAMPLES, clock, page_of
from .logged_jobs import node, work

pytestmark = needs_chromium
SEQUENCE = "document.querySelector('.sequence')"
POSITION = f"{SEQUENCE}.querySelector('.position').textContent"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of three examples, one of them with values and names that are long and cannot be broken."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("decision", "doubt"):
        job = EXAMPLES[name](tmp_path_factory.mktemp(name))
        (folder / f"{name}.html").write_text(render_job(job), encoding="utf-8")
    store = MemoryStore(clock())
    work(store, [node("N" * 190, "pay", to="y" * 9000, amount=1), node("b", "lose", "N" * 190)], "J" * 190)
    (folder / "long.html").write_text(render_job(page_of(store, "J" * 190)), encoding="utf-8")
    return folder


@pytest.fixture
def page(chromium: Chromium, folder: Path) -> Chromium:
    """The page of the job in doubt, on a wide screen."""
    chromium.listen()
    chromium.window(1280)
    chromium.open((folder / "doubt.html").as_uri())
    return chromium


def test_nothing_is_complained_of_and_nothing_is_loaded(page: Chromium, folder: Path) -> None:
    """The console stays empty, and the page asks for itself alone, also when it is used; its own style sheet holds."""
    page.click("[data-move=next]")
    assert page.complaints == []
    assert page.requests == [(folder / "doubt.html").as_uri()]
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.lanes')).gridTemplateColumns.split(' ').length") == 8
    )


def test_a_style_that_the_policy_does_not_know_is_complained_of(page: Chromium, folder: Path) -> None:
    """The test above can fail: a page whose style was altered after its hash was taken."""
    text = (folder / "doubt.html").read_text(encoding="utf-8")
    (folder / "altered.html").write_text(
        text.replace("/* The page of one job", "/* The page of two jobs"), encoding="utf-8"
    )
    page.open((folder / "altered.html").as_uri())
    assert any("Content Security Policy" in words for words in page.complaints)


def test_the_first_screen_says_what_is_to_be_known(page: Chromium) -> None:
    """What is in doubt, what to say, what happened, whether the record is intact and how to check it: without scrolling."""
    heads = "[...document.querySelectorAll('.banner .headline, .banner h2')]"
    bottoms = page.evaluate(f"{heads}.map((head) => head.getBoundingClientRect().bottom)")
    assert len(bottoms) == 5
    assert max(bottoms) < 900


def test_the_events_are_stepped_through_with_the_keyboard(page: Chromium) -> None:
    """Arrow keys, Home and End move through the diagram, and what is known of each step follows."""
    page.evaluate(f"{SEQUENCE}.querySelector('.steps').focus()")
    for key, place in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("Home", 0)):
        page.press(key)
        assert page.evaluate(POSITION).startswith(f"step {place} of")
    rows = f"[...{SEQUENCE}.querySelectorAll('[data-field]')]"
    state = f"Object.fromEntries({rows}.map((row) => [row.dataset.field, row.cells[1].textContent]))"
    assert page.evaluate(state)["job"] == "open"
    page.press("End")
    assert re.fullmatch(r"step (\d+) of \1", page.evaluate(POSITION))
    last = page.evaluate(state)
    assert (last["job"], last["ann"], last["x"]) == ("parked", "side_effect_committed", "not known")


def test_everything_is_reached_by_tab(page: Chromium) -> None:
    """Walking with Tab comes to links, buttons and tables in the order of the page, and is caught nowhere."""
    page.evaluate("document.activeElement.blur()")
    seen = []
    for _ in range(40):
        page.press("Tab")
        seen.append(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    assert seen == sorted(set(seen))


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_sticks_out_to_the_side(page: Chromium, folder: Path, width: int) -> None:
    """On narrow screens and wide ones, whatever the names are; what is wide scrolls in a region of its own."""
    page.window(width)
    for name in ("decision", "doubt", "long"):
        page.open((folder / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize(("name", "width", "dark"), [("doubt", 1280, False), ("decision", 360, True)])
def test_everybody_can_read_it(page: Chromium, folder: Path, name: str, width: int, dark: bool) -> None:
    """Axe finds nothing against WCAG 2.1 A and AA, in either scheme."""
    page.window(width, dark=dark)
    page.open((folder / f"{name}.html").as_uri())
    assert page.axe() == []


def test_it_is_printed(page: Chromium) -> None:
    """It prints, without what only a screen can use."""
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf())) >= 2
    page("Emulation.setEmulatedMedia", media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.moves')).display") == "none"
    assert page.evaluate("document.querySelector('.events').getBoundingClientRect().height") > 0
    page("Emulation.setEmulatedMedia", media="")
