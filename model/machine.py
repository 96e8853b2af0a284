"""The row machine: a transition system written as data.

A rule is a row. It says what it *sees* (fields the acting process can read), what it *meets* (the world, which answers but
cannot be read), and what it *writes*. Being data, the same rows are interpreted (`successors`), packed for search, encoded
for Z3, followed by the trace monitor and printed for auditors. There is no expression language: a guard is a set of
allowed values per field, and a property is a list of guards that must never hold.

Counts. A field with `count=True` holds a natural number. Its values are "0", "1" and "2", and "2" stands for *two or more*:
the interpreter saturates (one less than "2" is "1" or "2"), the prover uses an unbounded integer.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import product

Guard = Mapping[str, frozenset[str]]
State = tuple[str, ...]


class Scope(Enum):
    """Who can read a field, and what a crash does to it."""

    CONFIG = "config"  # fixed for a run; declared by the tool
    DURABLE = "durable"  # in a store: survives every crash
    CLOCK = "clock"  # time, which processes can read: survives every crash
    VOLATILE = "volatile"  # in the worker's memory: a crash resets it
    WORLD = "world"  # outside: no process can read it, it can only be met
    GHOST = "ghost"  # history for properties alone: no rule can read it


class Actor(Enum):
    """Who takes a step."""

    WORKER = "worker"
    CRASH = "crash"
    WORLD = "world"
    PERSON = "person"
    CLOCK = "clock"


SEEN = {Scope.CONFIG, Scope.DURABLE, Scope.CLOCK, Scope.VOLATILE}
MET = {Scope.WORLD, Scope.CONFIG}


class ModelError(ValueError):
    """A row that does not make sense: it names the rule, the field and the reason."""


@dataclass(frozen=True)
class Field:
    """One variable of the model; `initial` lists every value it may start with."""

    name: str
    scope: Scope
    values: tuple[str, ...]
    meaning: str
    initial: tuple[str, ...] = ()
    count: bool = False

    @property
    def starts(self) -> tuple[str, ...]:
        """The values the field may start with: those given, else the first of its domain."""
        return self.initial or self.values[:1]


def guard(**literals: str) -> Guard:
    """A guard from words: `guard(job="open|parked", open="0")`."""
    return {name: frozenset(text.split("|")) for name, text in literals.items()}


def show(literals: Guard) -> str:
    """A guard as an auditor reads it: `job ∈ open|parked ∧ open = 0`."""
    parts = [f"{n} {'=' if len(v) == 1 else '∈'} {'|'.join(sorted(v))}" for n, v in literals.items()]
    return " ∧ ".join(parts) or "true"


@dataclass(frozen=True)
class Rule:
    """One row.

    writes: field to new value; a value is a member of the field's domain, `=other` (a copy of another field), `+1` or `-1`.
    unless: guards of rules that are tried before this one (first match wins).
    boundary: the write boundary that the rule performs, if any; emits: the event types it appends, in order.
    """

    name: str
    actor: Actor
    sees: Guard = field(default_factory=dict)
    meets: Guard = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    unless: tuple[Guard, ...] = ()
    boundary: str | None = None
    emits: tuple[str, ...] = ()
    source: str = ""

    @property
    def guards(self) -> Guard:
        """What must hold for the rule to be enabled, seen or met (`unless` apart)."""
        return {**self.sees, **self.meets}

    @property
    def decides(self) -> bool:
        """Whether a worker only decides where it goes: it performs no boundary, appends nothing, and meets nothing."""
        return self.actor is Actor.WORKER and self.boundary is None and not self.emits and not self.meets


def first_match(rules: list[Rule]) -> list[Rule]:
    """A decision list: each rule is enabled only where none before it is (T-RECOVER: first match wins)."""
    out: list[Rule] = []
    for rule in rules:
        before = tuple(earlier.sees for earlier in out)
        out.append(Rule(**{**rule.__dict__, "unless": rule.unless + before}))
    return out


@dataclass(frozen=True)
class Machine:
    """Fields, rules and the configurations that a plan's validation rules out (`impossible`)."""

    name: str
    fields: tuple[Field, ...]
    rules: tuple[Rule, ...]
    impossible: tuple[Guard, ...] = ()

    def __post_init__(self) -> None:
        for name, times in Counter(rule.name for rule in self.rules).items():
            if times > 1:
                raise ModelError(f"rule {name!r} is defined twice")
        for rule in self.rules:
            self._check_rule(rule)

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields, by name."""
        return {f.name: f for f in self.fields}

    def rule(self, name: str) -> Rule:
        """The rule called `name`; raises `KeyError` with the name when there is none."""
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)

    def _check_guard(self, rule: Rule, literals: Guard, allowed: set[Scope], verb: str) -> None:
        fields = self.by_name
        for name, values in literals.items():
            if name not in fields:
                raise ModelError(f"rule {rule.name!r} {verb} unknown field {name!r}")
            if fields[name].scope not in allowed:
                raise ModelError(f"rule {rule.name!r} {verb} {name!r}, a {fields[name].scope.value} field: it cannot")
            if not values or not values <= set(fields[name].values):
                raise ModelError(f"rule {rule.name!r} {verb} {name!r} as {sorted(values)}, outside its domain")

    def _check_rule(self, rule: Rule) -> None:
        self._check_guard(rule, rule.sees, SEEN, "sees")
        for earlier in rule.unless:
            self._check_guard(rule, earlier, SEEN, "sees")
        # A crash meets the worker's memory: the scheduler, not a process, decides where it strikes.
        self._check_guard(rule, rule.meets, MET, "meets")
        fields = self.by_name
        for name, value in rule.writes.items():
            if name not in fields:
                raise ModelError(f"rule {rule.name!r} writes unknown field {name!r}")
            target = fields[name]
            if target.scope is Scope.CONFIG:
                raise ModelError(f"rule {rule.name!r} writes {name!r}, which is fixed for a run")
            if value in ("+1", "-1"):
                if not target.count:
                    raise ModelError(f"rule {rule.name!r} counts {name!r}, which is not a count")
                if value == "-1" and "0" in rule.guards.get(name, {"0"}):
                    raise ModelError(f"rule {rule.name!r} takes one from {name!r}, which may be 0")
            elif value.startswith("="):
                if value[1:] not in fields or fields[value[1:]].values != target.values:
                    raise ModelError(f"rule {rule.name!r} copies {value[1:]!r} into {name!r}: unlike domains")
            elif value not in target.values:
                raise ModelError(f"rule {rule.name!r} writes {value!r} to {name!r}, outside its domain")

    def initial_states(self) -> Iterator[State]:
        """Every state in which a run may begin."""
        for values in product(*(f.starts for f in self.fields)):
            state = dict(zip((f.name for f in self.fields), values, strict=True))
            if not any(holds(state, g) for g in self.impossible):
                yield values

    def view(self, state: State) -> dict[str, str]:
        """A state as a mapping, field name to value."""
        return dict(zip((f.name for f in self.fields), state, strict=True))

    def successors(self, state: State) -> Iterator[tuple[Rule, State]]:
        """Every enabled rule with every state it may lead to: the definition of the model's meaning."""
        view = self.view(state)
        for rule in self.rules:
            if enabled(view, rule):
                for after in apply(self, view, rule):
                    yield rule, after


def holds(view: Mapping[str, str], literals: Guard) -> bool:
    """Whether a guard holds in a state."""
    for name, values in literals.items():  # noqa: SIM110  # nothing is called more often, and `all` takes twice as long
        if view[name] not in values:
            return False
    return True


def enabled(view: Mapping[str, str], rule: Rule) -> bool:
    """Whether a rule may fire in a state."""
    return holds(view, rule.sees) and holds(view, rule.meets) and not any(holds(view, g) for g in rule.unless)


def outcomes(old: str, write: str, view: Mapping[str, str]) -> tuple[str, ...]:
    """The values that one write may leave in a field that held `old`; more than one only below a saturated count."""
    if write == "+1":
        return (str(min(int(old) + 1, 2)),)
    if write == "-1":
        return ("1", "2") if old == "2" else ("0",)
    return (view[write[1:]],) if write.startswith("=") else (write,)


def apply(machine: Machine, view: Mapping[str, str], rule: Rule) -> Iterator[State]:
    """The states that an enabled rule leads to."""
    columns = [
        outcomes(view[f.name], rule.writes[f.name], view) if f.name in rule.writes else (view[f.name],)
        for f in machine.fields
    ]
    yield from product(*columns)
