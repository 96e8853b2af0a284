"""Trace validation: the events of a real run, read back from the store's file, replayed in the model (E-TRUST).

What the model can be doing is followed as a set of states (the subset construction). Steps that leave no event, such as writes
to the ledger, crashes, time and the world, are taken silently; an event is taken by a rule that emits it *and* leaves the
fields that follow from events as the trace has them; after the last event some state must agree with ledger and effect store
too. The sets and their moves are numbered and remembered, so that a trace costs one look-up for each event (a
deterministic automaton, built as traces ask for it).

Events of other steps are the model's rules `elsewhere …` where they change the job, and unseen otherwise.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from ..model.machine import Machine, Scope
from ..model.step import normal
from .abstraction import (
    Fold,
    NotAJobError,
    Result,
    StoredEvent,
    StoredJob,
    apart,
    check_line,
    judge,
    own,
    records_state,
)
from .evidence import Item, Verdict
from .explore import Engine

BEGINNING: Final = ("job_created", "plan_generated")
JOB_CHANGES: Final = ("job_parked", "job_waiting", "job_requeued", "job_failed", "job_cancelled", "job_completed")
ANSWERS: Final = ("invocation_resolved", "replay_confirmed", "compensation_requested")
"""What a person says of a step in the batch that queues its job again."""
COMPANIONS: Final = {"state_changed": (-1, "tool_invocation_finished"), "node_started": (1, "tool_invocation_started")}
"""Events that ride in the batch of another, right behind (-1) or right before it (1): the model's fields do not speak of them."""
RECORDS: Final = ("effect", "ledger", "recorded")
"""The durable fields that do not follow from events."""
ELSEWHERE: Final = "elsewhere"
SHOWN: Final = 8
"""How many enabled rules a message names."""

Tail = tuple[str, ...]
Config = tuple[int, Tail]
"""A packed state, and the events that the rule which led there has still to emit (the rest of its batch)."""


class Letter(NamedTuple):
    """What the automaton reads: an event's type, whether this step or another caused it, the packed fields after it."""

    type: str
    own: bool
    after: int


@dataclass(frozen=True)
class Divergence:
    """Where a trace leaves the model: the event (None: after the last one), what was possible there, a state there."""

    index: int | None
    event: str
    enabled: tuple[str, ...]
    sample: Mapping[str, str]
    reason: str

    def __str__(self) -> str:
        shown = ", ".join(self.enabled[:SHOWN]) + (", …" if len(self.enabled) > SHOWN else "")
        state = " ".join(f"{name}={value}" for name, value in self.sample.items())
        return f"{self.event}: {self.reason}. Possible were: {shown or 'no event'}. In a state like: {state}"


@dataclass(frozen=True)
class Conformity:
    """Whether one step of one real run is a run of the model."""

    job_id: str
    step_id: str
    events: int
    divergence: Divergence | None = None

    @property
    def ok(self) -> bool:
        """Whether the whole trace, and what the stores hold in the end, is the model's."""
        return self.divergence is None

    def __str__(self) -> str:
        said = str(self.divergence) if self.divergence else f"{self.events} events conform"
        return f"job {self.job_id!r}, step {self.step_id!r}: {said}"


class Monitor:
    """The model as an automaton over events. Keep one for many traces: what it has worked out it remembers."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.engine = Engine(machine)
        self.packing = self.engine.packing
        durable = [f.name for f in machine.fields if f.scope is Scope.DURABLE]
        self.from_events = [name for name in durable if name not in RECORDS]
        self.events_mask, self.durable_mask = self.packing.mask(self.from_events), self.packing.mask(durable)
        self.moves_of: dict[
            int, tuple[list[int], list[tuple[int, int]]]
        ] = {}  # state -> silent, (state, rule) emitting
        self.sets: list[frozenset[Config]] = []
        self.numbers: dict[frozenset[Config], int] = {}
        self.starts: dict[tuple[tuple[str, str], ...], int] = {}
        self.moves: dict[tuple[int, Letter], int | None] = {}
        self.ends: dict[tuple[int, int, int], bool] = {}

    def check(
        self,
        stored: StoredJob,
        step_id: str,
        *,
        declared: Mapping[str, str] | None = None,
        first_result: Result | None = None,
        effects: int | None = None,
    ) -> Conformity:
        """Replay one step of a stored job.

        declared: the tool's contract, as values of the model's configuration fields; without it, every contract is tried.
        first_result, effects: what a witness of the world saw, the first answer and how often the effect happened.
        """
        stored = own(stored)
        told = judge(stored, step_id, first_result)
        fold = Fold(step_id, told)
        number = self.start(declared or {})
        for index, event in enumerate(stored.events):
            where = f"event {index + 1}, {describe(event)}"
            try:
                fold.take(event)
            except NotAJobError as error:
                return self._diverges(stored, step_id, index, where, number, str(error))
            if index < len(BEGINNING):
                if event.type != BEGINNING[index]:
                    return self._diverges(stored, step_id, index, where, number, f"{BEGINNING[index]} belongs here")
                continue
            if event.step == step_id and event.type in COMPANIONS and not apart(event):
                reason = misplaced(stored.events, index)
                if reason:
                    return self._diverges(stored, step_id, index, where, number, reason)
                continue
            mine = belongs(event, stored.events[index - 1], step_id)
            if mine is None:
                continue
            letter = Letter(event.type, mine, self._code(fold.state()))
            after = self.move(number, letter)
            if after is None:
                return self._diverges(stored, step_id, index, where, number, self._why(number, letter))
            number = after
        try:
            check_line(stored, fold.job)
            state = {**fold.state(), **records_state(stored, step_id, told)}
        except NotAJobError as error:
            return self._diverges(stored, step_id, None, "after the last event", number, str(error))
        if not self.may_rest(number, state, effects):
            reason = self._difference(number, state, effects)
            return self._diverges(stored, step_id, None, "after the last event", number, reason)
        return Conformity(stored.job_id, step_id, len(stored.events))

    # The automaton.

    def start(self, declared: Mapping[str, str]) -> int:
        """The set of states before the first event, under the contracts that agree with what is declared."""
        declared = normal(declared)
        key = tuple(sorted(declared.items()))
        if key not in self.starts:
            views = [(self.machine.view(state), state) for state in self.machine.initial_states()]
            fitting = [s for view, s in views if all(view[name] == value for name, value in declared.items())]
            if not fitting:
                raise ValueError(f"no initial state of the machine {self.machine.name!r} has {dict(declared)}")
            self.starts[key] = self._number((self.packing.pack(s), ()) for s in fitting)
        return self.starts[key]

    def move(self, number: int, letter: Letter) -> int | None:
        """The set after an event, None when no state allows it."""
        key = (number, letter)
        if key not in self.moves:
            after = {
                config
                for config, _ in self._taken(number, letter)
                if config[1] or config[0] & self.events_mask == letter.after
            }
            self.moves[key] = self._number(after) if after else None
        return self.moves[key]

    def may_rest(self, number: int, state: Mapping[str, str], effects: int | None) -> bool:
        """Whether some state of a set has these durable fields, and as many effects as a witness saw."""
        code = self._code(state)
        seen = -1 if effects is None else min(effects, 2)
        key = (number, code, seen)
        if key not in self.ends:
            self.ends[key] = any(
                not tail
                and packed & self.durable_mask == code
                and (effects is None or self.packing.code(packed, "effects") == seen)
                for packed, tail in self.sets[number]
            )
        return self.ends[key]

    def _taken(self, number: int, letter: Letter) -> Iterable[tuple[Config, int]]:
        """What an event leads to, whatever it wrote, each with the rule that emits it (-1: the rest of its batch)."""
        for packed, tail in self.sets[number]:
            if tail:
                if tail[0] == letter.type and letter.own:
                    yield (packed, tail[1:]), -1
                continue
            for after, index in self._moves(packed)[1]:
                rule = self.machine.rules[index]
                if rule.emits[0] == letter.type and rule.name.startswith(ELSEWHERE) != letter.own:
                    yield (after, rule.emits[1:]), index

    def _number(self, configs: Iterable[Config]) -> int:
        """The number of a set, closed under silent steps."""
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
        key = frozenset(closed)
        if key not in self.numbers:
            self.numbers[key] = len(self.sets)
            self.sets.append(key)
        return self.numbers[key]

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

    def _code(self, state: Mapping[str, str]) -> int:
        codes, shift = self.packing.codes, self.packing.shift
        return sum(codes[name][value] << shift[name] for name, value in state.items())

    # The words.

    def _why(self, number: int, letter: Letter) -> str:
        """Why an event was refused: no rule emits it here, or those that do leave something else behind."""
        names = {
            index: self.machine.rules[index].name if index >= 0 else "its batch"
            for _, index in self._taken(number, letter)
        }
        if not names:
            return "the model has no such step here"
        wrong = {
            f"{names[index]} leaves {differing}"
            for (packed, _), index in self._taken(number, letter)
            for differing in [self._differing(packed, letter.after, self.from_events)]
        }
        return f"{min(wrong, key=len)} (the trace, the model)"

    def _difference(self, number: int, state: Mapping[str, str], effects: int | None) -> str:
        """How what the stores hold differs from the nearest state of a set."""
        code = self._code(state)
        names = [*self.from_events, *RECORDS]
        nearest = [(self._differing(packed, code, names), packed) for packed, tail in self.sets[number] if not tail]
        if not nearest:
            return "a batch of events is not complete"
        said = min((words for words, _ in nearest), key=lambda words: (words.count("≠"), words))
        if said:
            return f"what the stores hold is not the model's: {said} (the stores, the model)"
        possible = {
            self.packing.unpack(p)[list(self.packing.shift).index("effects")] for words, p in nearest if not words
        }
        return f"the effect happened {effects} times, and in the model {' or '.join(sorted(possible))}"

    def _differing(self, packed: int, code: int, names: Sequence[str]) -> str:
        fields = self.machine.by_name
        pairs = [(name, self.packing.code(code, name), self.packing.code(packed, name)) for name in names]
        return " ".join(
            f"{name}: {fields[name].values[real]}≠{fields[name].values[model]}"
            for name, real, model in pairs
            if real != model
        )

    def _diverges(
        self, stored: StoredJob, step_id: str, index: int | None, event: str, number: int, reason: str
    ) -> Conformity:
        configs = sorted(self.sets[number])
        enabled = {
            f"{rule.name} [{', '.join(rule.emits)}]"
            for packed, tail in configs
            if not tail
            for _, i in self._moves(packed)[1]
            for rule in [self.machine.rules[i]]
        } | {f"the rest of a batch [{', '.join(tail)}]" for _, tail in configs if tail}
        sample = self.machine.view(self.packing.unpack(next(islice(configs, 1))[0]))
        names = sorted(name for name in enabled if "(answer lost)" not in name)
        return Conformity(
            stored.job_id, step_id, len(stored.events), Divergence(index, event, tuple(names), sample, reason)
        )


def belongs(event: StoredEvent, before: StoredEvent, step_id: str) -> bool | None:
    """Whether an event is this step's (True), another's that changes the job (False), or another's and unseen (None)."""
    if event.type in ("job_completed", "cancel_requested"):
        return True
    if event.type in ("job_requeued", "job_cancelled") and event.epoch is None and before.type == "cancel_requested":
        return True  # a client's batch
    if event.type == "job_requeued":
        return event.step == step_id or (before.type in ANSWERS and before.step == step_id)
    if event.type == "signal_received" or apart(event):
        return None
    if event.type in JOB_CHANGES:
        return (event.step or event.data.get("step")) == step_id
    if event.type in BEGINNING or event.step == step_id:
        return True
    return None


def misplaced(events: Sequence[StoredEvent], index: int) -> str | None:
    """What is wrong with the place of a companion; None when it stands beside the event whose batch it shares."""
    event = events[index]
    offset, of = COMPANIONS[event.type]
    beside = events[index + offset] if 0 <= index + offset < len(events) else None
    if beside is None or (beside.type, beside.step) != (of, event.step):
        return f"it belongs right {'behind' if offset < 0 else 'before'} {of}"
    if event.type in {e.type for e in events[:index] if e.step == event.step} and event.type == "node_started":
        return "a node is started once"
    return None


def describe(event: StoredEvent) -> str:
    """An event in a message: its type and what matters of its data."""
    telling = [str(event.data[name]) for name in ("outcome", "answer", "result_type") if name in event.data]
    return " ".join([event.type, *(f"({word})" for word in telling), *([f"of {event.step!r}"] if event.step else [])])


def check(
    machine: Machine,
    stored: StoredJob,
    step_id: str,
    *,
    declared: Mapping[str, str] | None = None,
    first_result: Result | None = None,
    effects: int | None = None,
) -> Conformity:
    """Replay one step of a stored job in a machine: `Monitor.check`, for a single trace."""
    return Monitor(machine).check(stored, step_id, declared=declared, first_result=first_result, effects=effects)


def to_item(conformities: Sequence[Conformity], command: str) -> Item:
    """The verdict on some traces; the first divergence is told in full."""
    wrong = [c for c in conformities if not c.ok]
    figures: dict[str, int | float | str] = {
        "traces": len(conformities),
        "events": sum(c.events for c in conformities),
        "diverging": len(wrong),
    }
    if not conformities:
        return Item(checker="monitor", verdict=Verdict.NOT_CHECKED, statement="no trace was replayed", command=command)
    if wrong:
        figures["first divergence"] = str(wrong[0])
    said = (
        f"{len(wrong)} of {len(conformities)} traces of real runs are not runs of the model"
        if wrong
        else f"{len(conformities)} traces of real runs, read back from the store's files, are runs of the model"
    )
    verdict = Verdict.REFUTED if wrong else Verdict.TESTED
    return Item(checker="monitor", verdict=verdict, statement=said, figures=figures, command=command)
