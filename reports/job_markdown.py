"""The page of a job as Markdown: the first screen, the effects, the verdict, and every event with its hash."""

from collections.abc import Iterable, Iterator

from ..checkers.evidence_job import JobEvidence, JobStep
from .job_page import commands
from .job_parts import HASH, MOST, acting, clip, moment
from .job_words import LIMITS, summary
from .markdown_text import code, escape, table


def job_markdown(job: JobEvidence) -> str:
    """The whole text."""
    return "\n".join(_lines(job)).rstrip("\n") + "\n"


def _lines(job: JobEvidence) -> Iterator[str]:
    told = summary(job)
    yield from (f"# Job {code(job.job_id)}", "", f"**{escape(told.headline)}**", "")
    if job.ways:
        yield from (f"## It is {job.status}, at {code(job.rests_at)}: what a person has to say", "")
        for way in job.ways:
            command = f" {code(way.command)}" if way.command else ""
            yield f"- {escape(way.words)}{command}{f' ({escape(way.note)})' if way.note else ''}"
        yield ""
    yield from ("## What happened in the world, by the record", "", *_bullets(told.world))
    yield from ("## Is the record intact?", "", *_bullets(told.intact))
    yield from ("## How to check it again", "", *(f"- {code(command)}" for command in commands(job)))
    yield from ("", f"The last link of its chain: {code(job.verdict.head)}" if job.verdict.head else "", "")
    yield from ("## Effects", "", *table(EFFECT_HEADS, map(_effect, acting(job))))
    yield from ("## Criteria", "", *table(("criterion", "holds", "what it asks, or what violates it"), _criteria(job)))
    if job.decision is not None:
        yield from ("## The decision that led to the plan", "")
        yield from (f"- goal: {_value(job.decision.goal)}", f"- known: {_value(job.decision.memory)}")
        yield from (f"- reasoning: {_value(job.decision.reasoning)}", "")
    edges = ((code(edge.before), code(edge.after), edge.kind) for edge in job.edges)
    yield from ("## Which step needs which", "", *table(("first", "then", "why"), edges))
    yield from ("## All events", "", *table(EVENT_HEADS, _events(job)))
    yield from ("## What no page of a job can show", "", *_bullets(LIMITS))
    yield f"Read at {moment(job.read_at)} from {code(job.store)} by crashwindow {escape(job.program)}."


EFFECT_HEADS = ("step", "tool", "the record says", "because", "external id", "executions", "output hash")
EVENT_HEADS = ("event", "type", "step", "epoch", "at", "data", "SHA-256 of data", "chained")


def _bullets(items: Iterable[str]) -> Iterator[str]:
    yield from (f"- {escape(item)}" for item in items)
    yield ""


def _effect(step: JobStep) -> tuple[str, ...]:
    external = "–" if step.external_id is None else _value(step.external_id)
    output = "–" if step.output_hash is None else code(step.output_hash[:HASH])
    said = (f"**{step.standing}**", escape(clip(step.says)), external, str(len(step.attempts)), output)
    return code(step.name), code(step.what), *said


def _criteria(job: JobEvidence) -> Iterator[tuple[str, ...]]:
    for each in job.verdict.criteria:
        where = "" if each.event is None else f"event {each.event}: "
        yield (
            each.name,
            "yes" if each.holds else "**NO**",
            escape(where + (each.asks if each.holds else clip(each.reason or ""))),
        )


def _events(job: JobEvidence) -> Iterator[tuple[str, ...]]:
    for e in job.events:
        whose = "–" if e.step is None else code(e.step)
        epoch = "–" if e.epoch is None else str(e.epoch)
        chained = "yes" if e.chained else "**NO**"
        yield str(e.version), code(e.type), whose, epoch, moment(e.at), _value(e.data), code(e.sha256[:HASH]), chained


def _value(text: str) -> str:
    """A value as it is stored, cut where it is long."""
    return code(text) if len(text) <= MOST else f"{code(text[:MOST])} … ({len(text)} characters)"
