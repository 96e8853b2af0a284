"""What could have come in a job where an event belongs to none of its models: the types of events that these have there.

A model that refuses an event says by itself what it has in place of it. What is held against the plan, or against what was said
before, is no model's: there all of them are asked, once, since a job is left alone after its first divergence.
"""

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Final

from .abstraction import JOB, StoredEvent
from .monitor import BEGINNING, ENDED, Follower
from .node_order import NodeOrder
from .semantics_trace import GateReader, Reader, RecordedReader
from .stream_crowd import led_by
from .stream_fence import FORGED, OF_NO_NODE, RUNNING
from .stream_readers import Readers
from .stream_step import HYPOTHESES, UNDO, Position
from .stream_told import at_rest

if TYPE_CHECKING:
    from .stream_job import Job

Next = tuple[str, str | None]
"""An event that can come: its type, and of which node; None where it is the job's."""
AGREEING: Final = "records that agree with the events"
"""What could stand in place of records that do not."""
STARTED: Final = "tool_invocation_started"
SHARED: Final = frozenset({*JOB, "cancel_requested"})
"""Events of the whole job of which each step's model speaks: there can be one if all of them have it."""
THE_STEPS: Final = frozenset({"node_finished", *SHARED})
"""Events in a compensation's machine that are its step's, too, whose own machine tells more of them."""
NEVER_ELSEWHERE: Final = frozenset({"node_started", "confirmation_warned", "job_failed", *RUNNING})
"""Events of a step that runs, and of its job's end: a job that undoes another one's step has none of them."""
WOKEN: Final = frozenset({"signal_received", "job_requeued", "cancel_requested", "job_cancelled"})
"""What may come of a node that waits, and is the job's."""
COUNTED: Final = "retry_scheduled"
"""What the plan may not allow, whatever the event says."""


def possible(job: "Job", event: StoredEvent | None) -> tuple[str, ...]:
    """What could come next in a job, nearest to an event first. Before any model has moved."""
    return _nearest(event, set(_following(job)))


def otherwise(event: StoredEvent, was: Position | None) -> tuple[str, ...]:
    """What could have come in place of an event that the models have taken, and that says what is not so: one that says
    otherwise; or what else its step could have come to. was: where the step was before.
    """
    another = () if event.type == COUNTED else (f"another {_shown((event.type, event.step))}",)
    kinds = of_step(was) - OF_NO_NODE - {event.type} if was is not None else ()
    return *another, *_nearest(event, {(kind, event.step) for kind in kinds})


def _nearest(event: StoredEvent | None, found: set[Next]) -> tuple[str, ...]:
    """What is of the event's type comes first, then what the same people write, or a worker, then what is of its node."""

    def far(each: Next) -> tuple[bool, ...]:
        kind, step = each
        if event is None:
            return ()
        return kind != event.type, FORGED[kind] is (event.epoch is not None), step != event.step

    return tuple(_shown(each) for each in sorted(found, key=lambda each: (far(each), str(each))))


def of_step(position: Position) -> set[str]:
    """The types of events that can come next of a step, or of its compensation."""
    own, undo = _own(position), position.living.get(UNDO)
    kinds = own.automaton.following(own.number, False) if own else set()
    if own and not own.begun:  # there is nothing to undo, and its node starts before it does
        return {"node_started" if kind == STARTED else kind for kind in kinds}
    return kinds | (undo.automaton.following(undo.number, False) - THE_STEPS if undo else set())


def state_of(position: Position) -> dict[str, str]:
    """The fields of the step's model that follow from the events so far."""
    own = _own(position)
    return own.fold.state() if own else {}


def _following(job: "Job") -> Iterator[Next]:
    """Each event that can come next."""
    if job.readers is None:
        yield BEGINNING[0 if job.before is None else 1], None
    elif job.status not in ENDED:
        steps = [_own(leader.position) for leader in job.crowd.leaders()]
        every = [own.automaton.following(own.number, True) for own in steps if own]
        done, held = _done(job.readers), _held(job.readers)
        for kind, step in (*_of_steps(job, held), *_of_nodes(job.readers, job.failed)):
            shared = kind not in SHARED or all(kind in kinds for kinds in every)
            if shared and (done or kind != "job_completed") and not _refused(job, kind, step):
                yield kind, step


def _of_steps(job: "Job", held: Container[str]) -> Iterator[Next]:
    """Those of the steps. held: which cannot begin."""
    for leader in job.crowd.leaders():
        for kind in of_step(leader.position):
            for track in led_by(leader):
                if track.step not in held or kind not in ("node_started", STARTED):
                    yield kind, None if kind in OF_NO_NODE else track.step


def _of_nodes(readers: Readers, failed: Container[str | None]) -> Iterator[Next]:
    """Those of the nodes that wait, or ask a model. failed: the nodes that are not done."""
    for leader in readers.crowd.leaders():
        here = leader.automaton.following(leader.number, False)
        spoken = {kind for rule in leader.automaton.machine.rules for kind in rule.emits}
        for reader in (each.reader for each in led_by(leader)):
            for kind in _of_node(reader, here, spoken, reader.about in failed):
                yield kind, None if kind in OF_NO_NODE else reader.about
    if readers.every and _done(readers):
        yield "job_completed", None


def _of_node(reader: Reader, here: set[str], spoken: set[str], failed: bool) -> set[str]:
    """Those of one: by their order, and where its machine speaks of them by what that has here."""
    order = order_of(reader)
    if order is None:
        return set()
    kinds = {kind for kind in order.following() if kind in here or kind not in spoken}
    return kinds | {"job_failed"} if failed else kinds - {"job_requeued"} | here & WOKEN


def order_of(reader: Reader) -> NodeOrder | None:
    """How far a node is; None for a value that a tool is told, of which there is a record alone, and nobody misses that."""
    assert isinstance(reader, GateReader | RecordedReader)
    return None if isinstance(reader, RecordedReader) and reader.command is not None else reader.order


def _done(readers: Readers) -> bool:
    """Whether the job may be done, as far as these nodes go."""
    return all(order.done for each in readers.every if (order := order_of(each.reader)))


def _held(readers: Readers) -> set[str]:
    """The steps that cannot begin, since a node before them is not as far."""
    held = set()
    for leader in readers.crowd.leaders():
        said, here = leader.reader.fields(), leader.automaton.following(leader.number, False)
        begun = said.get("started", "none") != "none" or "yes" in (said.get("first_used"), said.get("other_used"))
        for each in () if begun or STARTED in here else led_by(leader):
            if order_of(each.reader):
                held.add(each.reader.hears[-1])
    return held


def _refused(job: "Job", kind: str, step: str | None) -> bool:
    """Whether it is refused beside the models: of a job at rest, and of one that undoes another's step; or says nothing new."""
    known = job.elsewhere
    if known is not None and (kind in NEVER_ELSEWHERE or (kind == "job_completed" and not known.undone)):
        return True
    if known is not None and not known.asked and kind != "compensation_requested":
        return True
    if kind == "cancel_requested" and job.cancelled:
        return True
    assert job.before is not None
    event = StoredEvent(0, "", kind, step, 1 if FORGED[kind] is False else None, {})
    return job.status != "open" and at_rest(job.status, job.cancelled, job.before, event) is not None


def _own(position: Position) -> Follower | None:
    """Who follows the step itself, under either name of its result."""
    own = next((position.living[name] for name in HYPOTHESES if name in position.living), None)
    assert own is None or isinstance(own, Follower)
    return own


def _shown(each: Next) -> str:
    kind, step = each
    return kind if step is None else f"{kind} of {step!r}"
