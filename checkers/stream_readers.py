"""The gates and recorded values of one job of a stream, followed event by event.

A reader hears the events of its own nodes, and those of the job. Of all others it has to know one thing, that a worker was at
work, and once is enough until it hears again. What all hear of is taken once for all of whom nothing tells one from the other
(`stream_crowd.py`): so that the cost of an event does not grow with the number of readers.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .abstraction import COMPENSATES, StoredEvent
from .automaton import Divergence, Refusal
from .semantics_monitor import ReaderFollower, SemanticsMonitor, queues
from .semantics_trace import (
    ASKED_UNDOING,
    ENDS,
    INPUTS,
    Beside,
    GateReader,
    Reader,
    RecordedReader,
    Subject,
    of_nodes,
    recorded_input,
)
from .stream_crowd import NOBODY, Crowd, Group, leader_of, named
from .stream_fence import kind_of


class Refused(NamedTuple):
    """What one of them has to say. about: the gate, node or value."""

    machine: str
    about: str
    divergence: Divergence


class Follower(ReaderFollower):
    """One of them. group: who moves with it."""

    group: "Group[Follower] | None" = None

    def alike(self) -> Hashable:
        """What decides about it while no event names it, but the job's end, which each takes by itself."""
        return self.automaton, self.number, *self.reader.fields().values()

    def adopt(self, other: "Follower") -> None:
        """Go on from where another one is that was alike."""
        self.number = other.number
        self.reader.fields().update(other.reader.fields())


class Readers:
    """The readers of a job. owner: those of its nodes. Raises one of `NONSENSE` for a plan that means nothing."""

    def __init__(self, subject: Subject, semantics: SemanticsMonitor) -> None:
        self.subject, self.semantics = subject, semantics
        self.every: list[Follower] = []
        self.crowd: Crowd[Follower] = NOBODY
        self.hearing: dict[str, list[Follower]] = defaultdict(list)
        self.idle: dict[Follower, None] = {}
        self.every_idle = self.worked = False
        self.owner = {reader.about: self._listen(reader) for reader in of_nodes(subject)}
        self.crowd = Crowd(self.every)

    def _listen(self, reader: Reader) -> Follower:
        follower = Follower(*self.semantics.start(reader))
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
        all_hear = of_the_job or (told and "command_id" not in event.data)
        if self.every and (told or event.type == "signal_received"):
            self.subject.note(event)
        if told and recorded_input(event):
            self._input(event.data["command_id"])
        hears = () if all_hear else self._hearing(event, told)
        shown = self._all(event) if all_hear else self._shown(event, hears)
        queued = after is not None and queues(event, after)
        wrong = {each: refused for each in shown if (refused := each.step(event, queued))}
        if wrong:
            return self._first(event, wrong, self.every if all_hear else (*hears, *self.idle, *self.every))
        if event.epoch is not None:
            self.worked, self.every_idle = True, False
            self.idle.clear()
        if all_hear:
            self.crowd.gather()
            self.every_idle = True
        for each in hears:
            self.idle[each] = None
        return None

    def _all(self, event: StoredEvent) -> Sequence[Follower]:
        """Who is shown an event that all hear of: those that it names, and one for all others that are alike. The end: each."""
        if event.type in ENDS:
            self.crowd.scatter()
        elif self.crowd.groups:
            due = self.subject.due if event.type == "signal_received" else ()
            for each in named(self.owner, event.step, event.data.get("node"), *due):
                self.crowd.apart(each)
        return self.crowd.leaders()

    def _shown(self, event: StoredEvent, hears: Sequence[Follower]) -> Sequence[Follower]:
        """Who is shown an event of a node: who hears it, and of a worker's also who has to know that one was at work."""
        if self.crowd.groups:
            for each in hears:
                self.crowd.apart(each)
        if event.epoch is None:
            return hears
        if self.every_idle:
            return self.crowd.leaders()
        return [*hears, *(each for each in self.idle if each not in hears)] if self.idle else hears

    def _first(self, event: StoredEvent, wrong: Mapping[Follower, Refusal], order: Iterable[Follower]) -> Refused:
        """What the first one, in an order, has to say that does not follow, or whose leader does not."""
        first = next(each for each in order if leader_of(each) in wrong)
        leader = leader_of(first)
        said = leader.words(event.version - 1, event, wrong[leader])
        return Refused(first.reader.policy.partition("-")[0], first.reader.about, said)

    def _kinds(self, event: StoredEvent) -> Sequence[str]:
        """What a record of a node can be of: a compensation's own, or what it asked for. KeyError for one that is of none."""
        kind = kind_of(self.subject.nodes[str(event.step)])
        if kind != "tool":
            return ("human",) if kind == "wait" else (kind,)
        own = COMPENSATES in event.data and not str(event.data.get("command_id")).startswith(
            f"{event.step}{ASKED_UNDOING}"
        )
        return (kind,) if own else (kind, *INPUTS)

    def _hearing(self, event: StoredEvent, told: bool) -> Sequence[Follower]:
        """Who reads an event of a node: by the node, or by the command that it records."""
        by_node = self.hearing.get(str(event.step), ())
        by_command = self.hearing.get(str(event.data["command_id"]), ()) if told else ()
        return list(dict.fromkeys((*by_node, *by_command))) if by_command else by_node

    def _input(self, command: str) -> None:
        """A value that a tool is told: at its first record, before which nothing was said of it, and workers were at work."""
        if command in self.hearing and any(each.reader.about == command for each in self.hearing[command]):
            return
        follower = self._listen(RecordedReader(self.subject, command.partition("#")[0], command))
        self.crowd.alone[follower] = None
        if self.worked:
            follower.take(0, StoredEvent(0, "", "state_checkpointed", None, 1, {}), False)

    def rest(self, beside: Beside | None) -> Refused | None:
        """After the last event: the first reader that does not agree with what is known beside the events."""
        self.crowd.scatter()
        for follower, own in zip(self.every, self._own(beside), strict=True):
            if found := follower.rest(own):
                return Refused(follower.reader.policy.partition("-")[0], follower.reader.about, found)
        return None

    def _own(self, beside: Beside | None) -> Iterator[Beside | None]:
        """For each reader the answers and effects that are its own: else each would look through those of all."""
        if beside is None:
            yield from (None for _ in self.every)
            return
        answers, effects = defaultdict(list), defaultdict(list)
        for answer in beside.answers:
            answers[answer[0]].append(answer)
        for effect in beside.effects:
            effects[effect[0]].append(effect)
        for each in self.every:
            reader = each.reader
            if isinstance(reader, GateReader):
                yield beside._replace(ledger=(), effects=(), answers=tuple(answers.get(reader.contract, ())))
            else:
                assert isinstance(reader, RecordedReader)
                yield beside._replace(ledger=(), effects=tuple(effects.get(reader.node, ())), answers=())

    def stray(self, beside: Beside) -> str | None:
        """What is to be said of an answer that is of no gate; None where there is none."""
        asked = {each.reader.contract for each in self.every if isinstance(each.reader, GateReader)}
        stray = [contract for contract, _, _ in beside.answers if contract not in asked]
        return f"an answer is on record to {stray[0]!r}, for which no event asks" if stray else None
