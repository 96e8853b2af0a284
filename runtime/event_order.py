"""In which order the events of a tool step, and of a compensation, can come about: the protocol as a language (S4 §6.1, P13).

`ORDER` is a table: by phase, what may come next, and the phase that it leads to. What no row has cannot have been written by the
protocol, whatever crashed. Attempts are numbered and followed beside it: an end belongs to one that is open, and a step is only
decided once all of them are closed (T-RECOVER rules 4 and 5).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from .history import undoing
from .outcome import StepResult
from .records import Event, Json

Phase = Literal[
    "new", "announced", "running", "decided", "granted", "requeued", "found", "finished", "committed", "ended", "saved",
    "owed", "undone", "failed",
]  # fmt: skip

UNDO: Final[Mapping[str, Phase]] = {"compensated": "undone"}
"""What a person's request for a compensation may lead to, once there is an effect."""

ORDER: Final[Mapping[Phase, Mapping[str, Phase]]] = {
    "new": {"announced": "announced", "started": "running", "failed": "failed", "requested": "granted"},
    "announced": {"started": "running"},
    "running": {
        "no effect": "running", "unknown": "running", "not happened": "running", "input": "running", "happened": "found",
        "told: not happened": "running", "told: happened": "found",
        "ok": "finished", "retry": "granted", "failed": "failed", "compensated": "undone",
    },
    "decided": {
        "retry": "granted", "requested": "granted", "failed": "failed", "retryable": "requeued", "compensated": "undone",
    },
    "granted": {
        "started": "running", "told: happened": "found", "told: not happened": "granted", "failed": "failed", **UNDO,
    },
    "requeued": {"requeued": "decided"},
    "found": {"ok": "finished"},
    "finished": {"committed": "committed"},
    "committed": {
        "done": "ended", "failed": "failed", "compensatable": "owed", "warned": "committed", "accepted": "committed", **UNDO,
    },
    "ended": {"saved": "saved", "warned": "ended", "accepted": "ended", **UNDO},
    "saved": {"warned": "saved", "accepted": "saved", **UNDO},
    "owed": UNDO,
    "undone": {},
    "failed": {},
}  # fmt: skip
"""By phase: the next event, in short (`label`), and the phase after it. "running" becomes "decided" when nothing is open.

A step that is to be sent again may have an attempt open, about which a person is asked where the job rests at another step:
"told" is a person's word, and without it an answer is the tool's.
"""

TYPES: Final = {
    "node_started": "announced", "tool_invocation_started": "started", "compensation_started": "started",
    "step_compensated": "ok", "retry_scheduled": "retry", "compensation_requested": "requested", "state_checkpointed": "saved",
    "confirmation_warned": "warned", "replay_confirmed": "accepted", "job_requeued": "requeued",
}  # fmt: skip
ENDS: Final = {
    StepResult.SIDE_EFFECT_COMMITTED.value: "done", StepResult.PERMANENT_FAILURE.value: "failed",
    StepResult.RETRYABLE_FAILURE.value: "retryable", StepResult.COMPENSATABLE_FAILURE.value: "compensatable",
    StepResult.COMPENSATED.value: "compensated",
}  # fmt: skip
OUTCOMES: Final = {"success": "ok", "no_effect": "no effect", "unknown": "unknown"}
ANSWERS: Final = {
    ("query", "happened"): "happened", ("query", "not_happened"): "not happened",
    ("person", "happened"): "told: happened", ("person", "not_happened"): "told: not happened",
}  # fmt: skip
AGAIN: Final = frozenset({"started", "retry", "requested"})
"""What calls a compensation, or grants that: never while an earlier call is open, whatever its tool declares (P10)."""
WAYS: Final = {"retry": "again", "happened": "asked", "not happened": "asked"}
"""What a worker does about an open attempt, as the tool declares by `on_unknown`."""
UNORDERED: Final = frozenset({"job_parked", "job_waiting"})
"""Events of the job that name a step, and may come whenever it rests."""


ASKED: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    "human": {
        "new": {"node_started": "begun"},
        "begun": {"job_waiting": "begun", "wait_completed": "answered"},
        "answered": {"command_committed": "told"},
        "told": {"success": "ended", "failed": "failed"},
        "ended": {"state_checkpointed": "saved"},
    },
    "llm": {
        "new": {"node_started": "begun"},
        "begun": {"retry_scheduled": "begun", "command_committed": "told", "retryable": "requeued", "failed": "failed"},
        "requeued": {"job_requeued": "begun"},
        "told": {"success": "ended"},
        "ended": {"state_checkpointed": "saved"},
    },
}  # fmt: skip
"""The same of the nodes that ask somebody, by kind; an event is called by its type, the end of a node by how it ended."""
BESIDE: Final = ("node_started", "wait_completed")
"""Of a node that waits: what stands right before the next event, being of its batch."""


class Disorder(NamedTuple):
    """The first event that the protocol cannot have written there, and why."""

    version: int
    reason: str


def label(event: Event, inputs: frozenset[str]) -> str:
    """An event in short. `inputs`: the kinds of `command_committed` that record an input. KeyError for one that means nothing."""
    data = event.data
    match event.type:
        case "tool_invocation_finished" | "compensation_failed":
            return OUTCOMES[data["outcome"]]
        case "invocation_resolved":
            return ANSWERS[data["by"], data["answer"]]
        case "node_finished":
            return ENDS[data["result_type"]]
        case "command_committed":
            return "input" if data["kind"] in inputs else "committed"
        case kind:
            return TYPES[kind]


def disorder(events: Sequence[Event], inputs: frozenset[str]) -> Disorder | None:
    """Where the events of one step, or of one compensation, leave the protocol; None where they do not."""
    walk = _Walk()
    previous: Event | None = None
    for event in events:
        if event.type in UNORDERED:
            continue
        try:
            reason = _adjacent(previous, event) or walk.take(
                event, label(event, inputs) if event.type != CHANGED else CHANGED
            )
        except KeyError as error:
            reason = f"{error} means nothing in {event.type}"
        if reason:
            return Disorder(event.version, reason)
        previous = event
    return None


def out_of_turn(kind: str, events: Sequence[Event]) -> Disorder | None:
    """The same of a node that waits for somebody, or that asks a model: where its events leave `ASKED`."""
    phase, previous = "new", None
    for event in events:
        word = ENDS.get(event.data["result_type"], "success") if event.type == "node_finished" else event.type
        after = ASKED[kind].get(phase, {}).get(word)
        if after is None:
            return Disorder(event.version, f"{event.type} ({word}) cannot follow, the node being {phase}")
        if kind == "human" and previous and previous.type in BESIDE and event.version != previous.version + 1:
            return Disorder(event.version, f"it belongs right behind {previous.type}")
        phase, previous = after, event
    return None


CHANGED: Final = "state_changed"


def _adjacent(previous: Event | None, event: Event) -> str | None:
    """What is written in one batch stands side by side."""
    before = previous.type if previous else None
    behind = previous is not None and event.version == previous.version + 1
    if event.type == CHANGED and not (behind and before in ("tool_invocation_finished", "step_compensated")):
        return "state_changed belongs right behind the end of an execution"
    if before == "node_started" and not behind:
        return "node_started belongs right before the first execution"
    if event.type == "tool_invocation_started" and previous is None:
        return "no node_started stands before the first execution"
    return None


class _Walk:
    """The phase that a step has come to, and its attempts."""

    def __init__(self) -> None:
        self.phase: Phase = "new"
        self.open: set[Json] = set()
        self.doubted: set[Json] = set()
        self.attempts = 0
        self.known = False  # somebody has said that it happened
        self.undoing = False  # it is a compensation
        self.ways: set[str] = set()  # what was done about an open attempt: each tool declares one way

    def take(self, event: Event, word: str) -> str | None:
        """Go on with an event; why that is impossible, or None."""
        if word == CHANGED:
            return None if self.phase == "finished" else "nothing was changed: the execution had no effect"
        after = ORDER[self.phase].get(word)
        if after is None:
            return f"{event.type} ({word}) cannot follow, the step being {self.phase}"
        self.undoing |= undoing(event)
        if self.undoing and word in AGAIN and self.open:
            return f"{event.type}: an earlier call of the compensation is open, and nobody has said what became of it"
        if self.undoing and word == "compensated" and self.phase != "committed":
            return "the step is said to be compensated, and its compensation has not come to an end"
        if word in WAYS and self.open:
            self.ways.add(WAYS[word])
            if len(self.ways) > 1:
                return f"{event.type}: its tool is called again while a call is open, and asked about one: no tool declares both"
        self.phase = after
        for reason in self._attempt(event.data, word):
            return reason
        if self.phase == "running" and word in ("no effect", "not happened", "told: not happened") and not self.open:
            self.phase = "decided"
        return None

    def _attempt(self, data: dict[str, Json], word: str) -> Iterator[str]:
        """What the event says of attempts, if it contradicts what was said before."""
        number = data.get("attempt")
        match word:
            case "started":
                self.attempts += 1
                if number != self.attempts:
                    yield f"it starts attempt {number}, after {self.attempts - 1}"
                self.open.add(number)
            case "retry" if number != self.attempts + 1:
                yield f"it grants attempt {number}, after {self.attempts}"
            case "no effect" | "unknown":
                if number not in self.open or number in self.doubted:
                    yield f"attempt {number} is not open, or has ended already"
                (self.doubted.add if word == "unknown" else self.open.discard)(number)
            case "ok" if number != self.attempts:
                yield f"the result is attempt {number}'s, and the last one is {self.attempts}"
            case "ok" if not self.known and number not in self.open - self.doubted:
                yield f"attempt {number} gave no result, and nobody has said that it happened"
            case "happened" | "not happened" | "told: happened" | "told: not happened" if not self.open:
                yield "no attempt is open of which it could speak"
            case "happened" | "told: happened":
                self.known = True
            case "not happened" | "told: not happened":
                self.open.clear()
