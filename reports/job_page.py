"""The page of one job: one self-contained file for somebody who judges a dispute about it, and trusts nobody.

The first screen says what happened in the world by the record, exactly once or in doubt, whether the record is intact, what a
person has to say if the job waits for one, and how all that is checked again. Below it stands everything that the stores hold.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import Final

from ..checkers.evidence_job import JobEvidence
from .html_parts import section
from .html_sequence import draw_picture
from .job_page_records import contracts, leases, people, records, stream
from .job_page_steps import decision, dependencies, steps
from .job_parts import acting, clip, event, short, standing, step_link, value
from .job_sequence import MOST, PERSON, WORKER, job_diagram
from .job_words import LIMITS, Summary, summary
from .page import page
from .tags import Html, code, join, listing, row, table, tag
from .words import plain


def render_job(job: JobEvidence) -> str:
    """The whole page."""
    told = summary(job)
    sections = [section(name, str(n), title, body(job)) for n, (name, title, body) in enumerate(SECTIONS, 1)]
    body = join(
        tag(
            "header",
            tag("p", "crashwindow", class_="brand"),
            tag("h1", "Job ", code(job.job_id)),
            _banner(job, told),
            _contents(),
        ),
        tag("main", *sections),
    )
    return page(f"{plain(told.headline)} · job {plain(job.job_id)}", body, f"job {told.mood}", styles=("job_page.css",))


def commands(job: JobEvidence) -> list[str]:
    """How what the page says is checked again, by whoever has the store."""
    given = f"{shlex.join([job.job_id, '--store', job.store])}"
    return [f"crashwindow {name} {given}" for name in ("verify-job", "effects", "report-job")]


def _banner(job: JobEvidence, told: Summary) -> Html:
    """The five answers of the first screen."""
    head = job.verdict.head
    link = (
        join("The last link of its chain is ", code(head), ": compare it with one that was noted elsewhere.")
        if head
        else None
    )
    return tag(
        "div",
        tag("p", told.headline, class_="headline"),
        _ways(job),
        tag("h2", "What happened in the world, by the record", class_="answer"),
        listing(list(told.world)),
        tag("h2", "Is the record intact?", class_="answer"),
        listing(list(told.intact)),
        tag("h2", "How to check it again", class_="answer"),
        listing([code(command) for command in commands(job)], class_="commands"),
        tag("p", link, class_="small") if link else None,
        class_=f"banner {told.mood}",
    )


def _ways(job: JobEvidence) -> Html | None:
    """What the job waits for, and what can be said."""
    if not job.ways:
        return None
    items: list[str | None] = [
        join(
            tag("strong", way.words),
            " ",
            code(way.command) if way.command else None,
            f" ({way.note})" if way.note else None,
        )
        for way in job.ways
    ]
    title = f"It is {job.status}, at {plain(job.rests_at)}: what a person has to say"
    return join(tag("h2", title, class_="answer"), listing(items, class_="commands"))


def _contents() -> Html:
    links = [tag("li", tag("a", f"{n} {title}", href=f"#{name}")) for n, (name, title, _) in enumerate(SECTIONS, 1)]
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _effects(job: JobEvidence) -> Html:
    """Each step that changes the world, the doubts first."""
    heads = ["step", "tool", "the record says", "because", "external id", "executions", "output hash", "event"]
    chosen = sorted(acting(job), key=lambda step: step.standing != "in doubt")
    rows = [
        row(
            heads,
            [
                step_link(step.name),
                code(step.what),
                standing(step),
                clip(step.says),
                value(step.external_id) if step.external_id else "–",
                str(len(step.attempts)) + (", again while unknown" if step.repeated else ""),
                short(step.output_hash),
                event(step.told),
            ],
            "doubtful" if step.standing == "in doubt" else None,
        )
        for step in chosen
    ]
    if not rows:
        return tag("p", "No step of this job calls a tool, as far as its record can be read.", class_="nothing")
    return table("Steps that change the world, and what undoes them", heads, rows, "stack")


def _sequence(job: JobEvidence) -> Html:
    """The events, as who acts upon whom."""
    picture = job_diagram(job)
    words = (
        "Each arrow to the event stream is an event that is stored. Calls are no events: where an answer is recorded, the call"
        " follows from it; where none is, the diagram says that it may have been made. Writes to ledger and effect store bear no"
        " time, and stand in the tables below."
    )
    cut = f" The last {MOST} steps are drawn; the table of events has all." if len(picture.steps) == MOST else ""
    lane = f" The lane “{WORKER}” is whoever holds the lease; “{PERSON}” is every person and program that speaks to the job."
    return join(tag("p", words, lane, cut), draw_picture(picture, f"job {plain(job.job_id)}", [], False))


def _verdict(job: JobEvidence) -> Html:
    """`verify-job`, criterion by criterion, and what no record can show."""
    heads = ["criterion", "holds", "what it asks, or what violates it", "event"]
    rows = [
        row(
            heads,
            [
                each.name,
                "yes" if each.holds else "NO",
                each.asks if each.holds else clip(each.reason or ""),
                event(each.event),
            ],
            None if each.holds else "differs",
        )
        for each in job.verdict.criteria
    ]
    rests = (
        join(tag("h3", "It rests on a word"), listing([clip(words) for words in job.verdict.rests_on]))
        if job.verdict.rests_on
        else None
    )
    return join(
        table("Criteria of a verifiable job (E-VERIFIABLE)", heads, rows, "stack"),
        rests,
        tag("h3", "What no page of a job can show"),
        listing(list(LIMITS)),
    )


SECTIONS: Final[Sequence[tuple[str, str, Callable[[JobEvidence], Html]]]] = (
    ("effects", "Effects", _effects),
    ("verdict", "Is the record intact?", _verdict),
    ("decision", "The decision, and what it led to", decision),
    ("dependencies", "Which step needs which", dependencies),
    ("sequence", "What happened, event by event", _sequence),
    ("steps", "Each step in full", steps),
    ("people", "What people and clients said", people),
    ("contracts", "Contracts and other jobs around it", contracts),
    ("leases", "Who worked on it", leases),
    ("events", "All events", stream),
    ("records", "Ledger, effect store, effect log", records),
)
"""The parts of the page in their order, each with its title."""
