"""Traces of real jobs beyond the step, replayed in the machines of gate, compensation and recorded value (E-TRUST)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .automaton import Automaton, Divergence
from .crash_run import Trace
from .evidence import Item, Verdict
from .machines import machine_of
from .monitor import BEGINNING
from .semantics_records import Row
from .semantics_trace import Reader, readers

CLAIM_OF: Final = {"gate-hardened": "P9", "compensation-hardened": "P10", "recorded-hardened": "P12"}
"""The claim that is proved of each machine."""
WHAT: Final = {"P9": "gate", "P10": "compensation", "P12": "recorded value"}
SAID: Final = ("signal_received", "compensation_requested", "invocation_resolved")
"""What may queue a job again."""


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
    """The three machines as automata. Keep one for many traces."""

    def __init__(self) -> None:
        self.automata: dict[tuple[str, tuple[str, ...]], Automaton] = {}

    def check(self, trace: Trace) -> list[Replayed]:
        """Replay everything in a trace that one of the machines speaks of."""
        return [self.follow(trace, reader) for reader in readers(trace)]

    def follow(self, trace: Trace, reader: Reader) -> Replayed:
        """Replay a trace for one reader."""
        events: Sequence[Row] = trace.durable.events
        return Replayed(reader.policy, trace.key, reader.about, len(events), self._divergence(events, reader))

    def _divergence(self, events: Sequence[Row], reader: Reader) -> Divergence | None:
        automaton = self._automaton(reader)
        number = automaton.start(reader.declared)
        for index, row in enumerate(events):
            kind = reader.take(row, queues(events, index))
            if row.type in BEGINNING:
                continue
            letter = automaton.letter(kind, kind is not None or row.epoch is not None, reader.fields())
            after = automaton.move(number, letter)
            if after is None:
                where = f"event {index + 1}, {row.type}" + (f" of {row.step!r}" if row.step else "")
                return automaton.diverges(index, where, number, automaton.why(number, letter))
            number = after
        fields = {**reader.fields(), **reader.rest()}
        if automaton.may_rest(number, fields):
            return None
        return automaton.diverges(
            None, "after the last event", number, automaton.difference(number, fields, reader.counted)
        )

    def _automaton(self, reader: Reader) -> Automaton:
        key = reader.policy, tuple(reader.fields())
        if key not in self.automata:
            self.automata[key] = Automaton(machine_of(reader.policy), key[1])
        return self.automata[key]


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


def queues(events: Sequence[Row], index: int) -> bool:
    """Whether what a person or client says at this place queues the job again, in the same batch."""
    said, following = events[index], events[index + 1 : index + 2]
    return (
        said.type in SAID
        and said.epoch is None
        and any(row.type == "job_requeued" and row.epoch is None for row in following)
    )
