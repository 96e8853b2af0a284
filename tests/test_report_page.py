"""The report in a real browser: nothing is complained of or loaded, all of it can be reached, by whoever reads it and however."""

import re
from pathlib import Path

import pytest

from .chromium import Chromium, needs_chromium

pytestmark = needs_chromium
REPORT = Path(__file__).parent / "golden" / "report.html"
SEQUENCE = "document.querySelector('article .sequence')"
POSITION = f"{SEQUENCE}.querySelector('.position').textContent"


@pytest.fixture
def page(chromium: Chromium) -> Chromium:
    """The golden report, opened from its file, on a wide screen."""
    chromium.listen()
    chromium.window(1280)
    chromium.open(REPORT.as_uri())
    return chromium


def test_nothing_is_complained_of_and_nothing_is_loaded(page: Chromium) -> None:
    """The console stays empty, and the page asks for itself alone, also when it is used."""
    page.click(".unfold")
    assert page.complaints == []
    assert page.requests == [REPORT.as_uri()]


def test_a_complaint_would_be_seen(page: Chromium) -> None:
    """What the page's policy forbids, and an error, are heard: the test above can fail."""
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))")
    page.evaluate("setTimeout(() => { throw new Error('planted') })")
    page.wait("true")
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert any("Content Security Policy" in words for words in page.complaints)
    assert any("planted" in words for words in page.complaints)


def test_the_first_screen_answers_five_questions(page: Chromium) -> None:
    """On a common screen the five questions and the beginning of their answers are seen without scrolling."""
    bottoms = page.evaluate(
        "[...document.querySelectorAll('.card h2')].map((head) => head.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == 5
    assert max(bottoms) < 900


def test_a_run_is_stepped_through_with_the_keyboard(page: Chromium) -> None:
    """Arrow keys, Home and End move through a run once its steps have the focus, and the state follows."""
    page.evaluate(f"{SEQUENCE}.querySelector('.steps').focus()")
    assert page.evaluate(POSITION).startswith("step 0 of")
    for key, place in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("Home", 0)):
        page.press(key)
        assert page.evaluate(POSITION).startswith(f"step {place} of")
    page.press("End")
    last = page.evaluate(POSITION)
    assert re.fullmatch(r"step (\d+) of \1", last)
    assert page.evaluate(f"{SEQUENCE}.querySelector('.after').textContent") == last.split()[1]


def test_a_run_is_stepped_through_with_the_mouse(page: Chromium) -> None:
    """The buttons do what the keys do."""
    page.click("article .sequence [data-move=next]", times=3)
    assert page.evaluate(POSITION).startswith("step 3 of")


def test_everything_is_reached_by_tab(page: Chromium) -> None:
    """Walking with Tab comes to links, folds and tables in the order of the page, and is caught nowhere."""
    page.evaluate("document.activeElement.blur()")
    seen = []
    for _ in range(60):
        page.press("Tab")
        seen.append(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    assert seen == sorted(set(seen))


def test_a_link_opens_what_it_leads_to(page: Chromium) -> None:
    """A link to something that is folded away unfolds it."""
    inside = "[...document.querySelectorAll('details:not([open]) [id]')][0]"
    name = page.evaluate(f"{inside}?.id ?? ''")
    assert name
    page.evaluate(f"location.hash = '#{name}'")
    page.wait(f"document.getElementById('{name}').closest('details').open")


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["light", "dark"])
def test_everybody_can_read_it(page: Chromium, dark: bool) -> None:
    """With everything unfolded axe finds nothing against WCAG 2.1 A and AA, in either scheme."""
    page.window(1280, dark=dark)
    page.click(".unfold")
    assert page.axe() == []


def test_what_nobody_can_read_would_be_seen(page: Chromium) -> None:
    """A page without a language, with pale text, does not pass: the test above can fail."""
    page.evaluate("document.documentElement.removeAttribute('lang')")
    page.evaluate("document.querySelector('h1').style.color = '#ddd'")
    assert {"html-has-lang", "color-contrast"} <= {rule for rule, _ in page.axe()}


def test_it_is_read_on_a_narrow_screen(page: Chromium) -> None:
    """At 360 px nothing sticks out to the side, with everything unfolded: what is wide scrolls in a region of its own."""
    page.window(360)
    page.click(".unfold")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_it_is_printed(page: Chromium) -> None:
    """It prints, with what is open and without what only a screen can use."""
    folded = page.pdf()
    page.click(".unfold")
    unfolded = page.pdf()
    pages = [len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) for pdf in (folded, unfolded)]
    assert 1 <= pages[0] < pages[1]
