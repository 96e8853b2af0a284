"""The records of a job on its page: what people said, contracts, leases, the event stream, and the tables of the other stores."""

import json

from ..checkers.evidence_job import JobContract, JobEvent, JobEvidence
from .job_parts import clip, event, moment, short, value
from .tags import Html, code, join, pairs, row, table, tag

NOBODY = {"job_created", "plan_generated", "decision_snapshot"}
"""Events of the submission itself."""


def people(job: JobEvidence) -> Html:
    """Signals, answers, cancels, requests: events that bear no epoch, since no worker wrote them."""
    heads = ["event", "type", "step", "who", "at", "what was said"]
    rows = [
        row(heads, [event(e.version), e.type, e.step or "–", _who(e), moment(e.at), value(e.data)])
        for e in job.events
        if e.epoch is None and e.type not in NOBODY
    ]
    if not rows:
        return tag("p", "Nobody has said anything about this job since it was submitted.", class_="nothing")
    return table("Events of people and clients, in their order; names are what was typed", heads, rows, "stack")


def _who(stored: JobEvent) -> str:
    try:
        said = json.loads(stored.data)
    except (ValueError, RecursionError):
        return "–"
    return clip(str(said.get("who") or said.get("by") or "–")) if isinstance(said, dict) else "–"


def contracts(job: JobEvidence) -> Html:
    """Execution contracts whose step the job is, or that its nodes have made, and jobs that undo or are undone."""
    heads = ["job", "how it belongs to this one", "status"]
    rows = [row(heads, [code(o.job_id), o.relation, o.status or "not in this store"]) for o in job.related]
    others = table("Jobs that undo, or are undone", heads, rows, "stack") if rows else None
    found = join(*(_contract(each) for each in job.contracts), others)
    return found or tag("p", "The store holds no contract and no other job that belongs to this one.", class_="nothing")


def _contract(contract: JobContract) -> Html:
    heads = ["at", "from", "to", "trigger", "actor", "said with it"]
    rows = [
        row(heads, [moment(m.at), m.before, m.after, m.trigger, m.actor, value(m.metadata)]) for m in contract.moves
    ]
    earlier = f" ({contract.earlier} older ones lie in the store)" if contract.earlier else ""
    facts = [
        ("How it belongs here", contract.relation),
        ("Status", contract.status),
        ("Action", value(contract.action)),
        ("Digest of the action", code(contract.digest)),
        ("Consent", contract.consent or "none is recorded"),
        ("Result", value(contract.result) if contract.result is not None else "none is recorded"),
        ("Error", clip(contract.error or "none")),
    ]
    return tag(
        "article",
        tag("h3", "Contract ", code(contract.execution_id)),
        pairs(facts, "facts"),
        table(f"Transitions of {contract.execution_id}{earlier}", heads, rows, "stack") if rows else None,
    )


def leases(job: JobEvidence) -> Html:
    """Which worker wrote what, by the epoch of its lease."""
    heads = ["epoch", "worker", "events", "of them", "first at", "last at"]
    rows = [
        row(
            heads,
            [
                str(turn.epoch),
                ", ".join(turn.owners) or "not named",
                join(event(turn.first), " to ", event(turn.last)),
                str(turn.count),
                moment(turn.first_at),
                moment(turn.last_at),
            ],
        )
        for turn in job.turns
    ]
    words = (
        "Every lease has an epoch, and a worker's events bear it. The ledger names the worker that wrote a step's record last;"
        " who held another epoch is not recorded. Why one lease followed another is not, either: a crash, a stop and a slow"
        " worker look alike."
    )
    none = tag("p", "No worker has written anything about this job.", class_="nothing")
    last = f" The newest lease of the job has epoch {job.epoch}."
    return join(tag("p", words, last), table("Leases", heads, rows, "stack") if rows else none)


def stream(job: JobEvidence) -> Html:
    """Every event as it is stored, with its hashes."""
    heads = ["event", "type", "step", "epoch", "at", "data, as it is stored", "SHA-256 of data", "link", "chained"]
    rows = [
        row(
            heads,
            [
                str(e.version),
                e.type,
                e.step if e.step is not None else "–",
                "–" if e.epoch is None else str(e.epoch),
                moment(e.at),
                value(e.data),
                short(e.sha256),
                short(e.link),
                "yes" if e.chained else "NO",
            ],
            None if e.chained else "differs",
            f"event-{e.version}",
        )
        for e in job.events
    ]
    words = (
        "Chained: the link is the hash of the event, its data and the link before it, from the first event to this one. From the"
        " first break on the chain vouches for nothing."
    )
    return join(tag("p", words), table("The event stream; hashes in full: --format json", heads, rows, "stack events"))


def records(job: JobEvidence) -> Html:
    """What the other stores hold, and the effect log, which is a view of the events."""
    return join(_log(job), _ledger(job), _effects(job), _reading(job))


def _log(job: JobEvidence) -> Html:
    heads = ["step", "command", "kind", "input hash", "output hash", "at", "event"]
    rows = [
        row(
            heads,
            [
                str(e.step_index),
                e.command_id,
                e.kind,
                short(e.input_hash),
                short(e.output_hash),
                moment(e.created_at),
                event(e.version),
            ],
        )
        for e in job.effects
    ]
    return table("Effect log: one line per effect, computed from the events", heads, rows, "stack")


def _ledger(job: JobEvidence) -> Html:
    heads = [
        "step",
        "tool",
        "status",
        "worker",
        "epoch",
        "key",
        "invocation id",
        "external id",
        "result",
        "confirmed at",
    ]
    rows = [
        row(
            heads,
            [
                r.step,
                r.tool,
                r.status,
                r.owner,
                str(r.epoch),
                short(r.key),
                code(r.invocation_id),
                value(r.external_id) if r.external_id else "–",
                value(r.result),
                "–" if r.confirmed_at is None else moment(r.confirmed_at),
            ],
        )
        for r in job.ledger
    ]
    return table("Ledger: one record per key", heads, rows, "stack")


def _effects(job: JobEvidence) -> Html:
    heads = ["step", "kind", "key", "input", "output", "input hash", "output hash", "changes", "metadata"]
    rows = [
        row(
            heads,
            [
                r.step,
                r.kind,
                short(r.key),
                value(r.input),
                value(r.output),
                short(r.input_hash),
                short(r.output_hash),
                str(len(r.changes)),
                value(r.metadata),
            ],
        )
        for r in job.records
    ]
    return table("Effect store: phase one of the two-phase record", heads, rows, "stack")


def _reading(job: JobEvidence) -> Html:
    """What differs between two readings of the same records."""
    facts = [
        ("Store", code(job.store)),
        ("Read at", f"{moment(job.read_at)}, by the store's clock"),
        ("By", f"crashwindow {job.program}, schema {job.schema_version}"),
        ("Created", moment(job.created_at)),
    ]
    return join(tag("h3", "This reading"), pairs(facts, "facts"))
