"""State graphs and assurance case in a real browser: nothing complains, everything fits, is reached with keys, and prints."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashwindow.reports.html_assurance import assurance
from crashwindow.reports.page import asset
from crashwindow.reports.state_graph import state_graphs
from crashwindow.reports.tags import Html, join, tag
from crashwindow.reports.view import judge

from .chromium import Chromium, needs_chromium
from .sampled import sampled
from .test_reports import SMALL, changed
from .test_state_graph import graph

pytestmark = needs_chromium
LINE = "getComputedStyle(document.querySelector('#states-0 {}'))"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser with both sections on one page."""
    view = judge(changed(graphs=[graph(policy) for policy in ("hardened", "recorded-hardened")]), SMALL)
    head = Html(
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Parts</title>'
        f'<meta name="color-scheme" content="light dark"><style>{asset("page.css")}{asset("page_graph.css")}</style>'
    )
    register = [tag("p", entry.claim.id, id=f"claim-{entry.claim.id}") for entry in view.entries]
    main = tag(
        "main",
        tag("h1", "Parts"),
        tag("h2", "States"),
        state_graphs(view),
        tag("h2", "Case"),
        assurance(view),
        *register,
    )
    file = tmp_path_factory.mktemp("page") / "parts.html"
    file.write_text(
        f"<!DOCTYPE html>{tag('html', tag('head', head), tag('body', join(main)), lang='en')}", encoding="utf-8"
    )
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        browser.window(1280)
        browser.open(file.as_uri())
        yield browser


@pytest.mark.parametrize("dark", sampled([False, True]))
def test_axe_finds_nothing(chromium: Chromium, dark: bool) -> None:
    """WCAG 2 A and AA, all folds open, on light paper and dark. Of the two pictures the small one: they are made alike."""
    chromium.window(1280, dark=dark)
    chromium.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert chromium.axe("{include: [['.case'], ['.case-overview'], ['#states-1']]}") == []


def test_a_narrow_page_scrolls_only_within_its_pictures(chromium: Chromium) -> None:
    """At 360 px the page is as wide as the screen; pictures keep their size, and no letter in them is smaller than 12 px."""
    chromium.window(360)
    assert chromium.evaluate("document.documentElement.scrollWidth") == 360
    sizes = chromium.evaluate(
        "[...document.querySelectorAll('svg text')].map((t) => parseFloat(getComputedStyle(t).fontSize))"
    )
    assert min(sizes) >= 12
    wide = chromium.evaluate("[...document.querySelectorAll('svg.states, svg.gsn')].map((s) => s.clientWidth)")
    assert max(wide) > 360
    chromium.window(1280)


def test_words_stay_in_their_boxes(chromium: Chromium) -> None:
    """No text of a box is wider than the box, in the browser's own measure."""
    chromium.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    out = chromium.evaluate(
        "[...document.querySelectorAll('svg.states .node, svg.gsn g')].flatMap((node) => {"
        " const box = node.querySelector('.box').getBBox();"
        " return [...node.querySelectorAll('text')].filter((text) => text.getBBox().x + text.getBBox().width > box.x + box.width)"
        ".map((text) => text.textContent) })"
    )
    assert out == []


def test_a_node_that_has_the_focus_shows_its_edges(chromium: Chromium) -> None:
    """An edge that is a word on its node becomes a line when the node is reached by Tab; lines of other nodes step back."""
    chromium.evaluate("document.querySelector('#states-0').parentElement.focus()")
    assert chromium.evaluate(f"{LINE.format('.s0.later')}.visibility") == "hidden"
    before = chromium.evaluate(f"{LINE.format('.edge:not(.s0,.t0)')}.opacity")
    chromium.press("Tab")
    assert chromium.evaluate("document.activeElement.classList.contains('n0')")
    assert chromium.evaluate(f"{LINE.format('.s0.later')}.visibility") == "visible"
    assert chromium.evaluate(f"{LINE.format('.edge:not(.s0,.t0)')}.opacity") < before == "1"
    chromium.evaluate("document.activeElement.blur()")


def test_a_link_to_an_undeveloped_goal_unfolds_the_case(chromium: Chromium) -> None:
    """Whoever follows a link to a goal sees it, though what it lies in was folded."""
    chromium.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = false })")
    chromium.evaluate("location.hash = '#case-G-LATER'")
    chromium.wait("document.querySelector('#case-G-LATER').checkVisibility({contentVisibilityAuto: true})")


def test_both_print(chromium: Chromium, tmp_path: Path) -> None:
    """Pictures come out on upright paper, no wider than it, and none on two pages."""
    pdf = base64.b64decode(chromium("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert pdf.startswith(b"%PDF")
    assert b"/MediaBox [0 0 594.95996 841.91998]" in pdf or b"/MediaBox [0 0 595" in pdf
    paper = "27.3 / 2.54 * 96"
    chromium("Emulation.setEmulatedMedia", media="print")
    try:
        assert chromium.evaluate(
            f"[...document.querySelectorAll('.graph')].every((each) => each.clientHeight < {paper})"
        )
        assert chromium.evaluate(
            "[...document.querySelectorAll('.graph')].every((each) => getComputedStyle(each).breakInside == 'avoid')"
        )
    finally:
        chromium("Emulation.setEmulatedMedia", media="")
