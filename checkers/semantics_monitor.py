"""Traces of real jobs beyond the step, replayed in the machines of gate, compensation and recorded value (E-TRUST)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.machine import Machine
from ..scenarios.machines import machine_of
from .automaton import Automaton, Divergence, Refusal
from .crash_run import Trace
from .evidence import Item, Verdict
from .monitor import BEGINNING
from .semantics_trace import Beside, Reader, Told, beside_of, readers, subject_of

CLAIM_OF: Final = {"gate-hardened": "P9", "compensation-hardened": "P10", "recorded-hardened": "P12"}
"""The claim that is proved of each machine."""
WHAT: Final = {"P9": "gate", "P10": "compensation", "P12": "recorded value"}
SAID: Final = ("signal_received", "compensation_requested", "invocation_resolved")
"""What may queue a job again."""
NONSENSE: Final = (KeyError, ValueError, TypeError, AttributeError, IndexError)
"""How data that mean nothing show themselves to a reader."""


@dataclass(frozen=True)
class Replayed:
    """One node, step or value of one trace, replayed in its machine."""

    policy: str
    key: str
    about: str
    events: int
    divergence: Divergence | None

    def __str__(self) -> str:
        said = str(self.divergence) if self.divergence else f"{self.events} events conform"
        return f"{self.key}, {self.about!r}: {said}"


class SemanticsMonitor:
    """The three machines as automata, each built by its policy's name. Keep one for many traces."""

    def __init__(self, build: Callable[[str], Machine] = machine_of) -> None:
        self.build = build
        self.automata: dict[tuple[str, tuple[str, ...]], Automaton] = {}

    def check(self, trace: Trace) -> list[Replayed]:
        """Replay everything in a trace that one of the machines speaks of."""
        subject, events = subject_of(trace.durable), trace.durable.events
        followers = [self.follower(reader) for reader in readers(trace, subject)]
        found: dict[int, Divergence] = {}
        for index, row in enumerate(events):
            subject.note(row)
            queued = queues(row, events[index + 1] if index + 1 < len(events) else None)
            for number, follower in enumerate(followers):
                if number not in found and (divergence := follower.take(index, row, queued)):
                    found[number] = divergence
        beside = beside_of(trace)
        return [
            Replayed(
                each.reader.policy, trace.key, each.reader.about, len(events), found.get(number) or each.rest(beside)
            )
            for number, each in enumerate(followers)
        ]

    def follower(self, reader: Reader) -> "ReaderFollower":
        """What a reader speaks of, before the first event."""
        return ReaderFollower(*self.start(reader))

    def start(self, reader: Reader) -> tuple[Automaton, Reader, int]:
        """What follows it: automaton, reader, and the number where they begin."""
        key = reader.policy, tuple(reader.fields())
        if key not in self.automata:
            self.automata[key] = Automaton(self.build(reader.policy), key[1])
        automaton = self.automata[key]
        return automaton, reader, automaton.start(reader.declared)


class ReaderFollower:
    """One node, step or value of one job, followed event by event."""

    def __init__(self, automaton: Automaton, reader: Reader, number: int) -> None:
        self.automaton, self.reader, self.number = automaton, reader, number

    def take(self, index: int, row: Told, queued: bool) -> Divergence | None:
        """The event at a place of the job (from 0); queued: its batch queues the job again. None while the model follows."""
        refused = self.step(row, queued)
        return self.words(index, row, refused) if refused else None

    def step(self, row: Told, queued: bool) -> Refusal | None:
        """The same without the words, which cost much more than the step."""
        try:
            kind = self.reader.take(row, queued)
        except NONSENSE as error:
            return Refusal(f"its data mean nothing here: {type(error).__name__} {error}")
        if row.type in BEGINNING:
            return None
        worker = row.epoch is not None
        after = self.automaton.after(self.number, kind, kind is not None, worker, self.reader.fields())
        if isinstance(after, Refusal):
            return after
        self.number = after
        return None

    def words(self, index: int, row: Told, refused: Refusal) -> Divergence:
        """What is to be said of an event that was refused, before anything else is done."""
        where = f"event {index + 1}, {row.type}" + (f" of {row.step!r}" if row.step else "")
        return self.automaton.refused(index, where, self.number, refused)

    def rest(self, beside: Beside | None) -> Divergence | None:
        """After the last event. beside: what is known beside the events, if anything is."""
        fields = self.reader.fields()
        try:
            fields = {**fields, **(self.reader.rest(beside) if beside is not None else {})}
        except NONSENSE as error:
            reason = f"the records mean nothing here: {type(error).__name__} {error}"
            return self.automaton.diverges(None, "after the last event", self.number, reason)
        if self.automaton.may_rest(self.number, fields):
            return None
        reason = self.automaton.difference(self.number, fields, self.reader.counted)
        return self.automaton.diverges(None, "after the last event", self.number, reason)


def to_items(replayed: Sequence[Replayed]) -> dict[str, Item]:
    """The verdict for each claim that is proved of one of the machines: whether the traces are runs of it."""
    return {
        claim: _item(claim, [each for each in replayed if each.policy == policy]) for policy, claim in CLAIM_OF.items()
    }


def _item(claim: str, replayed: Sequence[Replayed]) -> Item:
    """The same for one machine; a node, step or value of a job is a trace of its own."""
    what, traces = WHAT[claim], len({each.key for each in replayed})
    wrong = [each for each in replayed if each.divergence]
    figures: dict[str, int | float | str] = {
        "traces": traces,
        "replays": len(replayed),
        "events": sum(each.events for each in replayed),
        "diverging": len(wrong),
    }
    verdict, command = Verdict.TESTED, "crashwindow verify"
    said = f"{traces} distinct traces of real jobs, read back from the store's files, are runs of the model: each {what} in them"
    if not replayed:
        verdict, said = Verdict.NOT_CHECKED, f"no trace with a {what} was replayed"
    elif wrong:
        verdict, command = Verdict.REFUTED, f"crashwindow replay '{wrong[0].key}'"
        figures["first divergence"] = str(wrong[0])
        said = (
            f"{len({each.key for each in wrong})} of {traces} traces of real jobs are not runs of the model of a {what}"
        )
    return Item(checker="monitor", verdict=verdict, statement=said, figures=figures, command=command)


def queues(said: Told, following: Told | None) -> bool:
    """Whether what a person or client says queues the job again, in the same batch. following: the event behind it.

    That which follows an approval names the gate, and has a batch of its own.
    """
    if following is None or following.type != "job_requeued" or following.epoch is not None:
        return False
    return said.type in SAID and said.epoch is None and "node" not in following.said
