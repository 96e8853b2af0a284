"""Checkpoints that settle nodes, held against the whole stream before them (T-RECOVER): who recovers reads nothing of those."""

from collections.abc import Iterator
from typing import Any, Final

from .stream_events import Event, Stream

DONE: Final = ("success", "side_effect_committed")
STAYS: Final = (
    "state_changed", "confirmation_warned", "cancel_requested", "compensation_requested", "compensation_started",
)  # fmt: skip
"""What is to be heard, or gone through, again and again: nothing is settled after it."""
SUBMISSION: Final = ("job_created", "plan_generated", "decision_snapshot")
RESULTS: Final = ("tool", "llm", "human")


def settled(stream: Stream) -> Iterator[str]:
    """What is wrong with what checkpoints cover, settle and keep; each sentence begins with the line."""
    for number, event in enumerate(stream.events):
        if event.type == "state_checkpointed":
            if wrong := covered(event, stream.events[:number]):
                yield f"line {event.line}: {wrong}"
            elif {"settled", "keeps"} & set(event.data) and (wrong := believed(stream, event)):
                yield f"line {event.line}: it settles {event.data.get('settled')!r} nodes, and {wrong}"


def covered(event: Event, before: Any) -> str | None:
    """A checkpoint covers the end of its node, and nothing that is not there yet."""
    covers, ends = (
        event.data.get("covers"),
        [e.version for e in before if (e.type, e.step) == ("node_finished", event.step)],
    )
    if type(covers) is int and ends and ends[-1] <= covers < event.version:
        return None
    return f"it covers {covers!r}, and its node ended with {ends[-1:]}"


def believed(stream: Stream, checkpoint: Event) -> str | None:
    """What is wrong with what it settles, for whoever reads no more than what it keeps and what follows what it covers."""
    number, keeps, covers = (checkpoint.data.get("settled"), checkpoint.data.get("keeps"), checkpoint.data["covers"])
    if type(number) is not int or list(stream.nodes).index(str(checkpoint.step)) != number - 1:
        return "its node is not the last of so many"
    first, later = list(stream.nodes.values())[:number], list(stream.nodes.values())[number:]
    before = [event for event in stream.events if event.version <= covers]
    ends = {event.step: event.data["result_type"] for event in before if event.type == "node_finished"}
    if not all(ends.get(node["id"]) in DONE for node in first):
        return "not all of them are done"
    names = [node["id"] for node in later]
    if any(event.step in names for event in stream.events if event.version < checkpoint.version):
        return "a later one has begun"
    if any(event.type in STAYS or event.data.get("state_changes") for event in before):
        return "something before it is still to be heard or gone through"
    waits = [node["wait"] for node in later if "wait" in node]
    if any(event.type == "signal_received" and event.data["signal"] in waits for event in before):
        return "a later one waits for a signal that came before"
    if any(node.get("approve") in names for node in first):
        return "a later one has not used its approval"
    used = set(asked([[node.get("args"), node.get("prompt")] for node in later]))
    due = [event.version for event in before if event.type in SUBMISSION or (event.step in used and result(event))]
    return None if keeps == due else f"it keeps {keeps!r}, where events {due} are to be read"


def result(event: Event) -> bool:
    """Whether an event holds the result of a node."""
    return event.type == "command_committed" and event.data["kind"] in RESULTS and "compensates" not in event.data


def asked(value: Any) -> Iterator[str]:
    """The nodes whose results a value asks for."""
    if isinstance(value, dict) and set(value) == {"$result"}:
        yield value["$result"]
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from asked(each)
