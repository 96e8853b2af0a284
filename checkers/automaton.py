"""A row machine as an automaton over the events of real runs: what the machine can be doing, as a set of states.

Rules that emit nothing (decisions, writes to other stores, crashes, time, the world) are taken silently. An event is taken by a
rule that emits it and leaves the fields that follow from events as the trace has them. Sets and moves are numbered and
remembered, so that a trace costs one look-up for each event (a deterministic automaton, built as traces ask for it).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from ..model.machine import Actor, Machine
from .explore import Engine

ELSEWHERE: Final = "elsewhere"
IDLE: Final = "idle"
"""Where a worker's place is while there is none."""
OPEN: Final = "open"
"""Where a job is that a worker may have claimed."""
SHOWN: Final = 8
"""How many enabled rules a message names."""

Tail = tuple[tuple[str, bool], ...]
Config = tuple[int, Tail]
"""A packed state, and what the rule which led there has still to emit (the rest of its batch): each event's type, and whether a
worker writes it."""


class Letter(NamedTuple):
    """What the automaton reads: an event's type, whether it is this one's or caused elsewhere, the packed fields after it.

    worker: whether a worker wrote it, not a person or client. A type of None is an event that the machine does not speak of: if a
    worker wrote it, one must be at work, or the job be open to be claimed.
    """

    type: str | None
    own: bool
    worker: bool
    after: int


@dataclass(frozen=True)
class Divergence:
    """Where a trace leaves the model: the event (None: after the last one), what was possible there, a state there."""

    index: int | None
    event: str
    enabled: tuple[str, ...]
    sample: Mapping[str, str]
    reason: str

    def shortened(self, shown: int) -> "Divergence":
        """The same with the nearest of what was possible, no more."""
        return replace(self, enabled=self.enabled[:shown])

    def __str__(self) -> str:
        shown = ", ".join(self.enabled[:SHOWN]) + (", …" if len(self.enabled) > SHOWN else "")
        state = " ".join(f"{name}={value}" for name, value in self.sample.items())
        return f"{self.event}: {self.reason}. Possible were: {shown or 'no event'}. In a state like: {state}"


class Refusal(NamedTuple):
    """Why an event was refused: the reason, or, where there is none yet, the letter that no state allows."""

    reason: str | None
    letter: Letter | None = None


def refusal(reason: str | None) -> Refusal | None:
    """The refusal with a reason, if there is one."""
    return Refusal(reason) if reason else None


class Automaton:
    """Keep one for many traces: what it has worked out it remembers. from_events: the fields that are compared at each event."""

    def __init__(self, machine: Machine, from_events: Sequence[str]) -> None:
        self.machine = machine
        self.engine = Engine(machine)
        self.packing = self.engine.packing
        self.from_events = tuple(from_events)
        self.mask = self.packing.mask(from_events)
        # state -> the silent successors, and those by an event with the rule that emits it
        self.moves_of: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}
        self.sets: list[frozenset[Config]] = []
        self.numbers: dict[frozenset[Config], int] = {}
        self.starts: dict[tuple[tuple[str, str], ...], int] = {}
        self.moves: dict[tuple[int | str | bool | None, ...], int | Refusal] = {}
        self.ends: dict[tuple[int, int, int], bool] = {}

    def start(self, declared: Mapping[str, str]) -> int:
        """The set of states before the first event, under the configurations that agree with what is declared."""
        key = tuple(sorted(declared.items()))
        if key not in self.starts:
            views = [(self.machine.view(state), state) for state in self.machine.initial_states()]
            fitting = [s for view, s in views if all(view[name] == value for name, value in declared.items())]
            if not fitting:
                raise ValueError(f"no initial state of the machine {self.machine.name!r} has {dict(declared)}")
            self.starts[key] = self._number((self.packing.pack(s), ()) for s in fitting)
        return self.starts[key]

    def after(
        self, number: int, event: str | None, own: bool, worker: bool, fields: Mapping[str, str]
    ) -> int | Refusal:
        """The set after an event, or its refusal when no state allows it.

        fields: those that follow from the events up to it, all of them and always in the same order.
        """
        key = number, event, own, worker, *fields.values()
        known = self.moves.get(key)
        if known is None:
            known = self.moves[key] = self._after(number, Letter(event, own, worker, self.code(fields)))
        return known

    def may_rest(self, number: int, fields: Mapping[str, str]) -> bool:
        """Whether some state of a set has these fields, and no batch is half written."""
        code, mask = self.code(fields), self.packing.mask(fields)
        key = (number, code, mask)
        if key not in self.ends:
            self.ends[key] = any(not tail and packed & mask == code for packed, tail in self.sets[number])
        return self.ends[key]

    def following(self, number: int, elsewhere: bool) -> set[str]:
        """The types of the events that can come next. elsewhere: whether those are among them that others cause."""
        kinds = {tail[0][0] for _, tail in self.sets[number] if tail}
        for packed, tail in self.sets[number]:
            for _, index in () if tail else self._moves(packed)[1]:
                rule = self.machine.rules[index]
                if elsewhere or not rule.name.startswith(ELSEWHERE):
                    kinds.add(rule.emits[0])
        return kinds

    def code(self, fields: Mapping[str, str]) -> int:
        """Some fields, packed."""
        codes, shift = self.packing.codes, self.packing.shift
        return sum(codes[name][value] << shift[name] for name, value in fields.items())

    def _after(self, number: int, letter: Letter) -> int | Refusal:
        """The set after a letter, worked out."""
        after = {
            config for config, _ in self._taken(number, letter) if config[1] or config[0] & self.mask == letter.after
        }
        return self._number(after) if after else Refusal(None, letter)

    def _taken(self, number: int, letter: Letter) -> Iterable[tuple[Config, int]]:
        """What an event leads to, whatever it wrote, each with the rule that emits it (-1: none, or the rest of its batch)."""
        if letter.type is None:
            at_work = (c for c in self.sets[number] if not letter.worker or self._works(c[0]))
            yield from ((config, -1) for config in self._closed(at_work))
            return
        for packed, tail in self.sets[number]:
            if tail:
                if letter.own and tail[0] == (letter.type, letter.worker):
                    yield (packed, tail[1:]), -1
                continue
            for after, index in self._moves(packed)[1]:
                rule = self.machine.rules[index]
                elsewhere, by_worker = rule.name.startswith(ELSEWHERE), rule.actor is Actor.WORKER
                if (rule.emits[0], not elsewhere, by_worker) == letter[:3]:
                    yield (after, tuple((each, by_worker) for each in rule.emits[1:])), index

    def _number(self, configs: Iterable[Config]) -> int:
        """The number of a set, closed under silent steps."""
        key = self._closed(configs)
        if key not in self.numbers:
            self.numbers[key] = len(self.sets)
            self.sets.append(key)
        return self.numbers[key]

    def _closed(self, configs: Iterable[Config]) -> frozenset[Config]:
        """A set with everything that silent steps lead to."""
        closed = set(configs)
        todo = list(closed)
        while todo:
            packed, tail = todo.pop()
            if tail:
                continue
            for after in self._moves(packed)[0]:
                config: Config = (after, ())
                if config not in closed:
                    closed.add(config)
                    todo.append(config)
        return frozenset(closed)

    def _moves(self, packed: int) -> tuple[list[int], list[tuple[int, int]]]:
        """The successors of a state: silent ones, and those by an event with the rule that emits it."""
        found = self.moves_of.get(packed)
        if found is None:
            found = self.moves_of[packed] = ([], [])
            for delta, index in self.engine.steps(packed):
                if self.machine.rules[index].emits:
                    found[1].append((packed ^ delta, index))
                else:
                    found[0].append(packed ^ delta)
        return found

    def _works(self, packed: int) -> bool:
        """Whether a worker may be at work: it has a place, or the job is open, and what it does there is not this machine's."""
        return self._value(packed, "at") != IDLE or self._value(packed, "job") == OPEN

    def _value(self, packed: int, name: str) -> str:
        return self.machine.by_name[name].values[self.packing.code(packed, name)]

    # The words.

    def why(self, number: int, letter: Letter) -> str:
        """Why an event was refused: no rule emits it here, or those that do leave something else behind."""
        taken = list(self._taken(number, letter))
        if not taken:
            return "the model has no such step here" if letter.type else "the model has no worker at work here"
        wrong = {
            f"{self.machine.rules[index].name if index >= 0 else 'its batch'} leaves {differing}"
            for (packed, _), index in taken
            for differing in [self._differing(packed, letter.after, self.from_events)]
        }
        return f"{min(wrong, key=len)} (the trace, the model)"

    def difference(self, number: int, fields: Mapping[str, str], counted: str) -> str:
        """How what the stores hold differs from the nearest state of a set, or else how often the effect happened."""
        code = self.code(fields)
        names = [name for name in fields if name != counted]
        nearest = [(self._differing(packed, code, names), packed) for packed, tail in self.sets[number] if not tail]
        if not nearest:
            return "a batch of events is not complete"
        said = min((words for words, _ in nearest), key=lambda words: (words.count("≠"), words))
        if said:
            return f"what the stores hold is not the model's: {said} (the stores, the model)"
        possible = {self._value(packed, counted) for words, packed in nearest if not words}
        return f"the effect happened {fields[counted]} times, and in the model {' or '.join(sorted(possible))}"

    def refused(self, index: int, event: str, number: int, refused: Refusal) -> Divergence:
        """What is to be said of an event that was refused, in a set of states."""
        reason, letter = refused
        if reason is None:
            assert letter is not None
            reason = self.why(number, letter)
        return self.diverges(index, event, number, reason, letter)

    def diverges(
        self, index: int | None, event: str, number: int, reason: str, letter: Letter | None = None
    ) -> Divergence:
        """What is to be said of a trace that leaves the model, from a set of states: what was possible, nearest first."""
        sample = min(self.sets[number])[0]
        return Divergence(
            index, event, self._possible(number, letter), self.machine.view(self.packing.unpack(sample)), reason
        )

    def _possible(self, number: int, letter: Letter | None) -> tuple[str, ...]:
        """What was possible. Near is what leaves the fields as the refused letter has them, up to few; then what has its type."""
        fields = [self.packing.mask([name]) for name in self.from_events]
        seen: set[tuple[int, str, str]] = set()
        for packed, tail in self.sets[number]:
            if tail:
                rest = ", ".join(each for each, _ in tail)
                seen.add((packed & self.mask, f"the rest of a batch [{rest}]", tail[0][0]))
                continue
            for after, index in self._moves(packed)[1]:
                rule = self.machine.rules[index]
                seen.add((after & self.mask, f"{rule.name} [{', '.join(rule.emits)}]", rule.emits[0]))
        near: dict[str, tuple[int, bool, str]] = {}
        for after, name, kind in seen:
            wrong = sum(bool((after ^ letter.after) & mask) for mask in fields) if letter else 0
            told = wrong, letter is not None and kind != letter.type, name
            near[name] = min(near.get(name, told), told)
        return tuple(sorted((name for name in near if "(answer lost)" not in name), key=near.__getitem__))

    def _differing(self, packed: int, code: int, names: Iterable[str]) -> str:
        fields = self.machine.by_name
        pairs = [(name, self.packing.code(code, name), self.packing.code(packed, name)) for name in names]
        return " ".join(
            f"{name}: {fields[name].values[real]}≠{fields[name].values[model]}"
            for name, real, model in pairs
            if real != model
        )
