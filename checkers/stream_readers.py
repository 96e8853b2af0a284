"""The gates and recorded values of one job of a stream, followed event by event.

A reader hears the events of its own nodes, and those of the job. Of all others it has to know one thing, that a worker was at
work, and once is enough until it hears again: so that the cost of an event does not grow with the number of readers.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from .abstraction import COMPENSATES, StoredEvent
from .automaton import Divergence
from .semantics_monitor import ReaderFollower, SemanticsMonitor, queues
from .semantics_trace import (
    ASKED_UNDOING,
    INPUTS,
    Beside,
    GateReader,
    Reader,
    RecordedReader,
    Subject,
    of_nodes,
    recorded_input,
)
from .stream_fence import kind_of


class Refused(NamedTuple):
    """What one of them has to say. about: the gate, node or value; nothing where it is the record itself that means nothing."""

    machine: str
    about: str
    divergence: Divergence


class Readers:
    """The readers of a job. Raises one of `NONSENSE` for a plan that means nothing."""

    def __init__(self, subject: Subject, semantics: SemanticsMonitor) -> None:
        self.subject, self.semantics = subject, semantics
        self.every: list[ReaderFollower] = []
        self.hearing: dict[str, list[ReaderFollower]] = defaultdict(list)
        self.idle: dict[ReaderFollower, None] = {}
        self.worked = False
        for reader in of_nodes(subject):
            self._listen(reader)

    def _listen(self, reader: Reader) -> ReaderFollower:
        follower = self.semantics.follower(reader)
        self.every.append(follower)
        for name in dict.fromkeys(reader.hears):
            self.hearing[name].append(follower)
        self.idle[follower] = None
        return follower

    def take(self, event: StoredEvent, after: StoredEvent | None, of_the_job: bool) -> Refused | None:
        """The next event, and the one behind it where they are read together. The first reader that does not follow.

        Raises one of `NONSENSE` for a record of a value that does not say of what.
        """
        told = event.type == "command_committed"
        if told and (data := event.data)["kind"] not in self._kinds(event):
            raise ValueError(f"kind {data['kind']!r} of {event.step!r}")
        nameless = told and "command_id" not in event.data
        if self.every and told:
            self.subject.note(event)
        if told and recorded_input(event):
            self._input(event.data["command_id"])
        hears = self.every if of_the_job or nameless else self._hearing(event, told)
        others: Sequence[ReaderFollower] = ()
        if event.epoch is not None:
            self.worked = True
            if self.idle:
                others = [each for each in self.idle if each not in hears]
                self.idle.clear()
        queued = after is not None and queues(event, after)
        for follower in (*hears, *others) if others else hears:
            if found := follower.take(event.version - 1, event, queued):
                return Refused(follower.reader.policy.partition("-")[0], follower.reader.about, found)
        for each in hears:
            self.idle[each] = None
        return None

    def _kinds(self, event: StoredEvent) -> Sequence[str]:
        """What a record of a node can be of: a compensation's own, or what it asked for. KeyError for one that is of none."""
        kind = kind_of(self.subject.nodes[str(event.step)])
        if kind != "tool":
            return ("human",) if kind == "wait" else (kind,)
        own = COMPENSATES in event.data and not str(event.data.get("command_id")).startswith(
            f"{event.step}{ASKED_UNDOING}"
        )
        return (kind,) if own else (kind, *INPUTS)

    def _hearing(self, event: StoredEvent, told: bool) -> Sequence[ReaderFollower]:
        """Who reads an event of a node: by the node, or by the command that it records."""
        by_node = self.hearing.get(str(event.step), ())
        by_command = self.hearing.get(str(event.data["command_id"]), ()) if told else ()
        return list(dict.fromkeys((*by_node, *by_command))) if by_command else by_node

    def _input(self, command: str) -> None:
        """A value that a tool is told: at its first record, before which nothing was said of it, and workers were at work."""
        if command in self.hearing and any(each.reader.about == command for each in self.hearing[command]):
            return
        follower = self._listen(RecordedReader(self.subject, command.partition("#")[0], command))
        if self.worked:
            follower.take(0, StoredEvent(0, "", "state_checkpointed", None, 1, {}), False)

    def rest(self, beside: Beside | None) -> Refused | None:
        """After the last event: the first reader that does not agree with what is known beside the events."""
        if beside is not None and (stray := self._stray(beside)):
            wrong = f"an answer is on record to {stray[0]!r}, for which no event asks"
            return Refused("gate", "", Divergence(None, "after the last event", (), {}, wrong))
        for follower in self.every:
            if found := follower.rest(beside):
                return Refused(follower.reader.policy.partition("-")[0], follower.reader.about, found)
        return None

    def _stray(self, beside: Beside) -> list[str]:
        """The contracts of answers that are of no gate."""
        asked = {each.reader.contract for each in self.every if isinstance(each.reader, GateReader)}
        return [contract for contract, _, _ in beside.answers if contract not in asked]
