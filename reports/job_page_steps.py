"""The steps of a job on its page: the decision that led to them, what needs what, and each in full."""

from collections.abc import Mapping

from ..checkers.evidence_job import JobEvent, JobEvidence, JobStep
from .job_graph import drawing
from .job_parts import clip, event, moment, standing, step_id, step_link, value
from .tags import Html, Part, code, join, listing, pairs, row, table, tag

Stream = Mapping[int | None, JobEvent]
"""The events by their numbers."""
OUTCOMES = {
    "success": "success",
    "no_effect": "nothing was done",
    "unknown": "unknown: the tool did not say",
    "resolved": "no answer; a query or a person said later what became of it",
    None: "no answer is recorded",
}


def decision(job: JobEvidence) -> Html:
    """From the decision to the plan, its steps, what models were asked, and what their answers led to."""
    found = job.decision
    said: Part = tag("p", "The plan came without a decision: no decision_snapshot is recorded.", class_="nothing")
    if found is not None:
        said = pairs(
            (
                ("Goal", value(found.goal)),
                ("Known", value(found.memory)),
                ("Reasoning", value(found.reasoning)),
                ("Task graph", value(found.graph)),
                ("Recorded", join("event ", event(found.event), ", id ", code(found.id))),
            ),
            "facts",
        )
    roots = [step for step in job.steps if step.kind != "compensation"]
    tree = tag(
        "ul", tag("li", tag("strong", "the plan"), tag("ul", *(_branch(job, step) for step in roots))), class_="tree"
    )
    return join(said, tree)


def _branch(job: JobEvidence, step: JobStep) -> Html:
    """A node of the plan; below a model's answer, who was given it."""
    parts: list[Part] = [step_link(step.name), " ", code(step.what), " ", standing(step)]
    below: list[Part] = []
    if step.answer is not None:
        decided = f", asked because of the decision {step.answer.decision}" if step.answer.decision else ""
        below.append(join(tag("span", "answer: "), value(step.answer.response), tag("span", decided, class_="small")))
    if step.kind == "llm":
        used = [
            join("led to ", step_link(each.name), ": ", standing(each)) for each in job.steps if step.name in each.took
        ]
        below += used or [tag("span", "no step is given its answer", class_="small")]
    below += [
        join("undone by ", step_link(each.name), ": ", standing(each))
        for each in job.steps
        if each.kind == "compensation" and each.node == step.name
    ]
    return tag("li", *parts, listing(below) if below else None)


def dependencies(job: JobEvidence) -> Html:
    """What needs what: a picture while it can be read, and a table."""
    if not job.steps:
        return tag("p", "The record holds no plan that can be read.", class_="nothing")
    heads = ["step", "is given the result of", "is let run by", "comes after", "gives its result to"]
    rows = []
    for step in (each for each in job.steps if each.kind != "compensation"):
        into = [
            [edge.before for edge in job.edges if edge.after == step.name and edge.kind == kind]
            for kind in ("result", "approval", "order")
        ]
        gives = [edge.after for edge in job.edges if edge.before == step.name and edge.kind == "result"]
        rows.append(row(heads, [step_link(step.name), *(_links(names) for names in (*into, gives))]))
    return join(drawing(job), table("Dependencies, from the plan", heads, rows, "stack"))


def _links(names: list[str]) -> Html:
    links: list[Part] = []
    for name in names:
        links += [", ", step_link(name)] if links else [step_link(name)]
    return join(*links) if links else Html("–")


def steps(job: JobEvidence) -> Html:
    """Every step with all that is recorded of it."""
    if not job.steps:
        return tag("p", "The record holds no plan that can be read.", class_="nothing")
    events: Stream = {each.version: each for each in job.events}
    return join(*(_step(step, events) for step in job.steps))


def _step(step: JobStep, events: Stream) -> Html:
    facts: list[tuple[str, Part]] = [
        ("The record says", join(standing(step), " ", clip(step.says))),
        ("Idempotency key", code(step.key) if step.key else "none: it calls nothing"),
        ("Invocation id", code(step.invocation_id) if step.invocation_id else None),
        ("External id", value(step.external_id) if step.external_id else None),
        ("Given", value(step.given)),
        ("Input hash", code(step.input_hash)),
        ("Result", value(step.result) if step.result is not None else "none is recorded"),
        ("Output hash", code(step.output_hash) if step.output_hash else None),
        ("Changes", listing([value(change) for change in step.changes]) if step.changes else None),
        ("Events", _events(step)),
    ]
    return tag(
        "article",
        tag("h3", step.name, tag("span", f" {step.kind} · {step.what}", class_="variant")),
        pairs([(name, what) for name, what in facts if what is not None], "facts"),
        _answer(step),
        _attempts(step, events) if step.attempts else None,
        _notes(step) if step.notes else None,
        id=step_id(step.name),
    )


def _events(step: JobStep) -> Html:
    links: list[Part] = []
    for version in step.events:
        links += [" ", event(version)]
    return join(*links) if links else Html("none")


def _answer(step: JobStep) -> Html | None:
    """A model's answer with its provenance (E-LLM)."""
    said = step.answer
    if said is None:
        return None
    return pairs(
        (
            (
                "Model",
                join(code(said.model), " of provider ", code(said.provider), ", temperature ", code(said.temperature)),
            ),
            ("Prompt", value(said.prompt)),
            ("Prompt hash", code(said.prompt_hash)),
            ("Response hash", code(said.response_hash)),
            ("Decision", code(said.decision) if said.decision else "none"),
        ),
        "facts",
    )


def _attempts(step: JobStep, events: Stream) -> Html:
    heads = ["execution", "lease epoch", "begun", "ended", "outcome", "what it said"]
    rows = [
        row(
            heads,
            [
                str(each.number),
                "–" if each.epoch is None else str(each.epoch),
                join(event(each.began), tag("span", f" {_at(events, each.began)}", class_="small")),
                join(event(each.ended), tag("span", f" {_at(events, each.ended)}", class_="small")),
                _outcome(each.outcome, each.ended in events and events[each.ended].epoch != each.epoch),
                clip(each.error or "–"),
            ],
            None if each.ended else "doubtful",
        )
        for each in step.attempts
    ]
    return table(f"Executions of {step.name}", heads, rows, "stack")


def _at(events: Stream, version: int | None) -> str:
    return moment(events[version].at) if version in events else ""


def _outcome(outcome: str | None, by_another: bool) -> str:
    return OUTCOMES[outcome] + (
        ", recorded by another worker from other evidence" if outcome == "success" and by_another else ""
    )


def _notes(step: JobStep) -> Html:
    heads = ["event", "what it adds", "data"]
    rows = [row(heads, [event(note.event), clip(note.words), value(note.data)]) for note in step.notes]
    return table(f"Retries, answers, inputs and warnings of {step.name}", heads, rows, "stack")
