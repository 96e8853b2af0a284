"""The approval page in a real browser: what a person sees, presses and is told."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime.contracts import operations

from .approval_office import ASK_DAY, CONFIRM, Office, mail, serving
from .chromium import Chromium, needs_chromium

pytestmark = needs_chromium
PICTURES = os.environ.get("CRASHWINDOW_PICTURES")
"""A directory for screenshots, when somebody wants to look at them."""

APPROVE, DENY, NAME = "article button.approve", "article button.deny", "article [name=by]"
OUTCOME = "document.querySelector('article .outcome').textContent"


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """An empty office."""
    office = Office(tmp_path / "store.db")
    yield office
    office.store.close()


@pytest.fixture
def page(office: Office, chromium: Chromium) -> Iterator[Chromium]:
    """The browser, with the page of a session that waits, wide."""
    office.open("s", mail(subject="Meeting"), CONFIRM)
    with serving(office) as url:
        chromium.window(1280)
        chromium.open(url)
        yield chromium
        chromium.open("data:,")  # so that its stream does not outlive the server


def answers(office: Office) -> list[tuple[Any, ...]]:
    """Every answer in the file, also one that no contract would name."""
    with office.store.session as connection:
        return connection.execute("SELECT execution_id, decision, by FROM contract_answers").fetchall()


def test_the_action_is_there_in_full(office: Office, page: Chromium) -> None:
    """The arguments, the digest, who asks; and the scripts and styles are loaded under the page's own policy."""
    text = page.evaluate("document.body.innerText")
    assert '"subject": "Meeting"' in text
    assert office.contract("s:exec-001").action_digest in text
    assert "request of s" in text
    assert "cannot be undone" in text
    assert page.evaluate("typeof post") == "function"
    assert page.evaluate("getComputedStyle(document.querySelector('button.approve')).borderRadius") == "4px"


def test_approve_pressed_twice_is_one_approval(office: Office, page: Chromium) -> None:
    """Two clicks as fast as a browser delivers them: one answer in the store, one mail, and no complaint."""
    page.type(NAME, "Ann")
    page.click(APPROVE, times=2)
    page.wait(f"{OUTCOME}.startsWith('Approved.')")
    assert answers(office) == [("s:exec-002", "approve", "Ann")]
    assert len(office.mails) == 1
    assert page.evaluate("document.querySelector('article').className") == "card done"


def test_two_pages_are_one_approval(office: Office, page: Chromium) -> None:
    """The same form, sent twice at once past the script's own care: one answer, and the other one is told so."""
    fields = "...Object.fromEntries(new FormData(document.querySelector('form')))"
    send = f"post('/ecs/respond', {{{fields}, by: 'Ann', decision: 'approve'}})"
    strip = "['reason', 'csrf_token'].forEach((name) => document.querySelector(`form [name=${name}]`).remove());"
    page.evaluate(strip)
    said = page.evaluate(
        f"Promise.allSettled([{send}, {send}]).then((all) => all.map((one) => one.reason?.message ?? 'stored'))"
    )
    assert sorted(said, reverse=True)[0] == "stored"
    assert "answered already: approve by Ann" in min(said)
    assert len(answers(office)) == 1


def test_deny(office: Office, page: Chromium) -> None:
    """With its reason; nothing is sent."""
    page.type(NAME, "Ann")
    page.type("article [name=reason]", "not today")
    page.click(DENY)
    page.wait(f"{OUTCOME}.startsWith('Denied.')")
    assert (office.status("s:exec-001"), office.mails) == ("rejected", [])
    given = office.contracts.given("s:exec-002")
    assert given is not None
    assert given.data == {"reason": "not today"}


def test_a_name_is_asked_for(office: Office, page: Chromium) -> None:
    """Neither button sends anything without one."""
    page.evaluate("localStorage.clear(); document.querySelector('[name=by]').value = ' '")
    for button in (APPROVE, DENY):
        page.click(button)
    assert page.evaluate("document.querySelector('[name=by]').validationMessage") == "Who says so?"
    assert answers(office) == []


def test_a_changed_action_is_a_conflict(office: Office, page: Chromium) -> None:
    """Somebody changes the arguments while the page is open, which has not heard of it: the approval is refused, and says why."""
    page.evaluate("stream.close()")
    operations.supersede(office.ports, "s:exec-001", {"to": "eve@example.com"}, "Eve")
    office.runner("s").advance("s")
    page.type(NAME, "Ann")
    page.click(APPROVE)
    page.wait(f"{OUTCOME} !== ''")
    assert "the action has changed" in page.evaluate(OUTCOME)
    assert page.evaluate("document.querySelector('article').className") == "card conflict"
    assert (answers(office), office.mails) == ([], [])
    page.click("article .outcome a")
    page.wait("document.body.innerText.includes('eve@example.com')")


def test_the_page_keeps_up(office: Office, page: Chromium) -> None:
    """What comes is added, what is answered elsewhere is marked, and what somebody types is left alone."""
    page.type(NAME, "Ann, in the middle of")
    office.open("day", ASK_DAY)
    page.wait("document.querySelectorAll('article').length === 2")
    assert page.evaluate(f"document.querySelector({json.dumps(NAME)}).value") == "Ann, in the middle of"
    operations.deny(office.ports, "s:exec-002", "Bob")
    page.wait(f"{OUTCOME}.includes('answered elsewhere')")
    office.open("lost", mail(lose=True))
    operations.approve(office.ports, "lost:exec-001", "Bob")
    office.resume("lost")
    page.wait("document.querySelector('#unknown').innerText.includes('Did email.send happen?')")


def test_markup_does_nothing(office: Office, page: Chromium) -> None:
    """Neither on the page as it was loaded nor in what the script adds later."""
    evil = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
    office.open("evil", mail(subject=evil), {**CONFIRM, "message": evil})
    page.wait("document.querySelectorAll('article').length === 2")
    page.reload()
    page.wait("document.querySelectorAll('article').length === 2")
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert "pwned" not in page.evaluate("document.title")
    assert evil in page.evaluate("document.body.innerText")


def test_a_repetition_needs_its_tick(office: Office, page: Chromium) -> None:
    """Approve is not sent before "do it once more" is ticked; then it names the earlier execution (C-ONCE)."""
    operations.approve(office.ports, "s:exec-002", "Ann")
    office.resume("s")
    office.open("again", mail(subject="Meeting"))
    page.reload()
    page.wait("document.querySelector('[name=again_of]') !== null")
    page.evaluate("document.querySelector('[name=by]').value = ''")
    page.type(NAME, "Ann")
    page.click(APPROVE)
    assert "happen again" in page.evaluate("document.querySelector('[name=again_of]').validationMessage")
    assert office.contracts.given("again:exec-001") is None
    page.click("[name=again_of]")
    page.click(APPROVE)
    page.wait(f"{OUTCOME}.startsWith('Approved.')")
    consent = office.contract("again:exec-001").consent
    assert consent is not None
    assert consent.again_of == "s:exec-001"


def test_by_keyboard_alone(office: Office, page: Chromium) -> None:
    """Tab reaches arguments, name, reason, retries and both buttons, in this order, each with a visible focus; Enter presses."""
    page.evaluate("document.querySelector('[name=by]').value = 'Ann'; document.querySelector('h1').focus()")
    reached = []
    for _ in range(5):
        page.press("Tab")
        reached.append(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert reached == ["PRE", "by", "reason", "retries", "decision"]
    page.press("Enter")
    page.wait(f"{OUTCOME}.startsWith('Approved.')")
    assert len(office.mails) == 1


CONTRAST = """(() => {
  const channels = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = (color) => channels(color).slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if ((channels(color)[3] ?? 1) > 0) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  return Math.min(...[...document.querySelectorAll('body *')].filter((node) => node.innerText?.trim()).map((node) => {
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  }));
})()"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_is_legible(office: Office, page: Chromium, width: int, dark: bool) -> None:
    """In wide and narrow windows nothing runs out of them sideways, and every text has a contrast of 4.5 to 1 (WCAG AA)."""
    office.open("again", mail(subject="M" * 300, url="https://example.com/" + "x" * 300))
    office.open("day", ASK_DAY)
    office.open("lost", mail(lose=True))
    operations.approve(office.ports, "lost:exec-001", "Bob")
    office.resume("lost")
    office.open("half", mail(subject="half"), CONFIRM)
    operations.approve(office.ports, "half:exec-002", "Bob")
    page.window(width, dark=dark)
    page.reload()
    page.wait("document.querySelectorAll('article').length === 5")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) >= 4.5
    assert page.evaluate("Math.min(...[...document.querySelectorAll('button')].map((each) => each.offsetHeight))") >= 44
    if PICTURES:
        page.window(width, page.evaluate("document.documentElement.scrollHeight"), dark)
        page.screenshot(Path(PICTURES) / f"approvals-{width}-{'dark' if dark else 'light'}.png")
