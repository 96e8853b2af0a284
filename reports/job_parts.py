"""Small pieces of the page of a job: values that strangers handed in, times, hashes, standings."""

import hashlib
from datetime import UTC, datetime
from typing import Final

from ..checkers.evidence_job import JobEvidence, JobStep, Standing
from .tags import Html, code, join, tag
from .words import number

MOST: Final = 600
"""Characters of a value that are shown; the JSON form holds all of it."""
SENTENCE: Final = 400
"""Characters of a sentence that are shown."""
HASH: Final = 12
"""Characters of a hash where a table shows it; its title has all of them."""
ALARM: Final[frozenset[Standing]] = frozenset({"in doubt"})
SOLID: Final[frozenset[Standing]] = frozenset({"happened", "answered", "undone"})


def moment(at: float) -> str:
    """A time, in UTC: the same wherever the page is made."""
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"
    except (ValueError, OverflowError, OSError):  # no time that a clock has shown
        return f"{at} s"


def value(text: str) -> Html:
    """A value as it is stored, cut where it is long; then its length and its hash are said."""
    if len(text) <= MOST:
        return code(text)
    sha256 = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    rest = f" … {number(len(text))} characters, the first {MOST} shown; SHA-256 of all "
    return join(code(text[:MOST]), tag("span", rest, code(sha256), class_="cut"))


def clip(text: str) -> str:
    """Words that may hold a stranger's, cut where they are long; then their length is said."""
    return text if len(text) <= SENTENCE else f"{text[:SENTENCE]} … ({number(len(text))} characters)"


def short(sha256: str | None) -> Html:
    """The beginning of a hash."""
    return tag("code", sha256[:HASH], title=sha256) if sha256 else tag("span", "–")


def event(version: int | None) -> Html:
    """A link to an event."""
    return tag("a", str(version), href=f"#event-{version}") if version is not None else tag("span", "–")


def standing(step: JobStep) -> Html:
    """What the record says of a step: in words first, the colour repeats it."""
    kind = "alarm" if step.standing in ALARM else "solid" if step.standing in SOLID else "plain"
    return tag("span", step.standing.upper(), class_=f"verdict standing {kind}")


def step_id(name: str) -> str:
    """The anchor of a step: of a digest, since its name may be any text."""
    return f"step-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:16]}"


def step_link(name: str) -> Html:
    """A link to a step by its name."""
    return tag("a", name, href=f"#{step_id(name)}")


def acting(job: JobEvidence) -> list[JobStep]:
    """The steps that change the world: those that call a tool, here or elsewhere, and what undoes them."""
    return [step for step in job.steps if step.kind in ("tool", "elsewhere", "compensation")]
