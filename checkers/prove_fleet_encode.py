"""The fleet as SMT-LIB 2 text: workers are an uninterpreted sort, their fields functions of it, epochs numbers.

Why a few named workers are enough. Every assumption is universal (it says something of each worker, or of each pair), what an
obligation asks for is existential (the worker that acts, the one that leads, and one or two for whom something fails), and no
function yields a worker. So if the assumptions and the goal hold in some fleet, of whatever size, they hold in the part of it
that consists of the named workers; the assumptions are therefore written out for these alone, which changes no answer.
Nothing says that the named workers differ.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from ..model.fleet import LED, OWN, Does, Fleet, FleetRule, stands
from ..model.fleet_properties import Agree, Lifted, Never, leading, sending
from ..model.fleet_shape import STORES
from ..model.machine import Field, Guard
from .prove_encode import conj, disj, in_domain, neg, symbol

LOGIC = "QF_UFLIA"
ACTOR, LEADER = "w", "leader"
SOME = ("u", "v")
NAMED = (ACTOR, LEADER, *SOME)
"""Who acts, who passed F3 last, and two more, for whom something may fail."""


Mention = tuple[str, ...]
"""What a term asks of a state: the name of the method, and what about."""


def fence(store: str) -> str:
    """A store's fence: the highest epoch that it was told."""
    return symbol(f"fence {store}")


def ite(condition: str, yes: str, no: str) -> str:
    """If, then, else."""
    return yes if condition == "true" or yes == no else no if condition == "false" else f"(ite {condition} {yes} {no})"


def same(one: str, other: str) -> str:
    """Whether two terms name the same worker."""
    return "true" if one == other else f"(= {one} {other})"


class State:
    """The state before a rule: each of the questions that the invariant asks of a state, as terms."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._literals: dict[tuple[str, frozenset[str], str], str] = {}
        self._decided: dict[tuple[str, str, frozenset[str]], str] = {}
        self._roles: dict[tuple[str, str], str] = {}

    def leader(self) -> str:
        """Who passed F3 last, of those who stood there."""
        return LEADER

    def shared(self, name: str) -> str:
        """A shared field."""
        return symbol(name)

    def own(self, name: str, worker: str) -> str:
        """A field of a worker."""
        return f"({symbol('its ' + name)} {worker})"

    def epoch(self, worker: str) -> str:
        """A worker's epoch; 0 for one that never claimed."""
        return f"(epoch {worker})"

    def top(self) -> str:
        """The highest epoch that was ever given."""
        return "top"

    def fence(self, store: str) -> str:
        """A store's fence."""
        return fence(store)

    def stands(self, store: str, worker: str) -> str:
        """The worker's epoch is not below the store's fence."""
        return f"(>= {self.epoch(worker)} {self.fence(store)})"

    def literal(self, name: str, values: frozenset[str], workers: dict[str, str]) -> str:
        """One literal of a guard; `workers` says who is meant by `w.` and `l.`."""
        who, dot, rest = name.partition(".")
        worker = workers[f"{who}."] if dot else ""
        key = rest if dot else name, values, worker
        if key not in self._literals:
            self._literals[key] = self._literal(*key)
        return self._literals[key]

    def _literal(self, rest: str, values: frozenset[str], worker: str) -> str:
        if not worker:
            return self._of(self.fields[rest], self.shared(rest), values)
        if rest.startswith("stands_"):
            term = self.stands(rest.removeprefix("stands_"), worker)
            return "true" if len(values) > 1 else term if "yes" in values else neg(term)
        return self._of(self.own_fields[rest], self.own(rest, worker), values)

    def _of(self, field: Field, term: str, values: frozenset[str]) -> str:
        """A literal of what a field is; what was said once is remembered, of the state before and after each row."""
        key = field.name, term, values
        if key not in self._decided:
            self._decided[key] = _decided(field, term, values)
        return self._decided[key]

    def guard(self, literals: Guard, worker: str = ACTOR) -> str:
        """A guard, of a worker where it speaks of one."""
        workers = {OWN: worker, LED: self.leader()}
        return conj(self.literal(n, v, workers) for n, v in literals.items())

    def matches(self, literals: Guard, unless: Iterable[Guard], worker: str = ACTOR) -> str:
        """The same, and none of those that are tried before it."""
        return conj([self.guard(literals, worker), *(neg(self.guard(g, worker)) for g in unless)])

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The shared fields, by name."""
        return {f.name: f for f in self.fleet.shared}

    @cached_property
    def own_fields(self) -> dict[str, Field]:
        """The fields of a worker, by name."""
        return {f.name: f for f in self.fleet.own}

    def leads(self, worker: str) -> str:
        """The worker leads."""
        return self._role("leads", worker, leading)

    def sends(self, worker: str) -> str:
        """The worker was overtaken, and may still act on the world."""
        return self._role("sends", worker, sending)

    def _role(self, role: str, worker: str, ways: Callable[[Fleet], list[Guard]]) -> str:
        if (role, worker) not in self._roles:
            self._roles[role, worker] = disj(self.guard(g, worker) for g in ways(self.fleet))
        return self._roles[role, worker]

    def lifted(self, clause: Lifted, workers: tuple[str, ...]) -> str:
        """The clause is broken, and the senders that it speaks of are among these workers."""
        parts = [self.guard(clause.shared)]
        if clause.led:
            parts.append(conj([self.leads(self.leader()), self.guard(clause.leader, self.leader())]) if clause.leader is not None
                         else neg(self.leads(self.leader())))  # fmt: skip
        if clause.senders == 1:
            parts.append(disj(self.sends(x) for x in workers))
        if clause.senders == 2:
            pairs = combinations(workers, 2)
            parts.append(disj(conj([neg(same(x, y)), self.sends(x), self.sends(y)]) for x, y in pairs))
        return conj(parts)

    def broken(self, clause: Never | Agree, worker: str) -> str:
        """The clause is broken by a worker."""
        if isinstance(clause, Never):
            return self.guard(clause.never, worker)
        differs = (neg(f"(= {self.own('known_' + n, worker)} {self.shared(n)})") for n in clause.fields)
        return conj([self.guard(clause.where, worker), disj(differs)])

    def declarations(self) -> list[str]:
        """The sort, the functions and constants, with the values behind the codes; and their domains, for the named workers."""
        lines = ["(declare-sort Worker 0)", *(f"(declare-const {x} Worker)" for x in NAMED)]
        lines += ["(declare-fun epoch (Worker) Int)", "(declare-const top Int)"]
        lines += [f"(declare-const {fence(store)} Int)" for store in STORES]
        lines += [f"(declare-const {symbol(f.name)} Int) ; {_codes(f)}" for f in self.fleet.shared]
        lines += [f"(declare-fun {symbol('its ' + f.name)} (Worker) Int) ; {_codes(f)}" for f in self.fleet.own]
        lines += [f"(assert {_bound(f, symbol(f.name))})" for f in self.fleet.shared]
        lines += [f"(assert {_bound(f, self.own(f.name, x))})" for x, f in product(NAMED, self.fleet.own)]
        return lines


class Noting(State):
    """A state that notes what it is asked, with the answers: every term that is made of a state is made of these alone."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(fleet)
        self.asked: dict[Mention, str] = {}

    def leader(self) -> str:
        return self._noted("leader")

    def shared(self, name: str) -> str:
        return self._noted("shared", name)

    def own(self, name: str, worker: str) -> str:
        return self._noted("own", name, worker)

    def epoch(self, worker: str) -> str:
        return self._noted("epoch", worker)

    def top(self) -> str:
        return self._noted("top")

    def fence(self, store: str) -> str:
        return self._noted("fence", store)

    def _noted(self, what: str, *of: str) -> str:
        self.asked[what, *of] = answer = getattr(State, what)(self, *of)
        return str(answer)


def _codes(f: Field) -> str:
    return "a natural number" if f.count else " ".join(f"{code}={value}" for code, value in enumerate(f.values))


def _bound(f: Field, term: str) -> str:
    return f"(>= {term} 0)" if f.count else f"(and (>= {term} 0) (< {term} {len(f.values)}))"


def _decided(f: Field, term: str, values: frozenset[str]) -> str:
    """A literal; what is written as a constant decides it at once."""
    if not term.isdecimal():
        return in_domain(f, term, values)
    value = str(min(int(term), int(f.values[-1]))) if f.count else f.values[int(term)]
    return "true" if value in values else "false"


@dataclass(frozen=True)
class _Written:
    """A value that a rule writes, as a term over the state before."""

    before: State
    field: Field
    old: str
    write: str

    @property
    def term(self) -> str:
        if self.write in ("+1", "-1"):
            return f"({self.write[0]} {self.old} 1)"
        if self.write.startswith("="):
            who, dot, rest = self.write[1:].partition(".")
            return self.before.own(rest, ACTOR) if dot else self.before.shared(who)
        return self.write if self.field.count else str(self.field.values.index(self.write))


class After(State):
    """The state that a rule leads to, written out over the state before; `case`: of some workers, whether it is they who act."""

    def __init__(self, before: State, does: Does, case: Mapping[str, bool] | None = None) -> None:
        super().__init__(before.fleet)
        self.before, self.does, self.case = before, does, case or {}
        self.writes = dict(does.writes)
        self._decided = before._decided
        self._owned: dict[tuple[str, str], str] = {}

    def others(self, asked: Mapping[Mention, str]) -> dict[Mention, str]:
        """What is answered otherwise than before, with the answers."""
        answers = ((mention, told, getattr(self, mention[0])(*mention[1:])) for mention, told in asked.items())
        return {mention: now for mention, told, now in answers if now != told}

    def acts(self, worker: str) -> str:
        """The worker is the one that acts."""
        return str(self.case[worker]).lower() if worker in self.case else same(worker, ACTOR)

    def cases(self, worker: str) -> list[tuple[str, "After"]]:
        """The state after, where the worker is the one that acts, and where it is another; with what says so."""
        if not self.does.acts or worker == ACTOR:
            return [("true", self)]
        acts = self.acts(worker)
        return [(says, After(self.before, self.does, {worker: it})) for says, it in ((acts, True), (neg(acts), False))]

    def leader(self) -> str:
        return ACTOR if self.does.raises == "effects" else LEADER

    def shared(self, name: str) -> str:
        write = self.writes.get(name)
        old = self.before.shared(name)
        return old if write is None else _Written(self.before, self.fields[name], old, write).term

    def own(self, name: str, worker: str) -> str:
        if (name, worker) not in self._owned:
            self._owned[name, worker] = self._own(name, worker)
        return self._owned[name, worker]

    def _own(self, name: str, worker: str) -> str:
        old = self.before.own(name, worker)
        others = old
        if name == "current" and self.does.appends:
            others = str(self.own_fields[name].values.index("no"))
        if name == "barred" and self.does.bars:
            older = f"(< {self.before.epoch(worker)} {self.before.epoch(ACTOR)})"
            others = ite(older, str(self.own_fields[name].values.index("yes")), old)
        if not self.does.acts:
            return others
        write = self.writes.get(f"{OWN}{name}")
        mine = (
            old
            if write is None
            else _Written(self.before, self.own_fields[name], self.before.own(name, ACTOR), write).term
        )
        return ite(self.acts(worker), mine, others)

    def epoch(self, worker: str) -> str:
        old = self.before.epoch(worker)
        return ite(self.acts(worker), "(+ top 1)", old) if self.does.claims else old

    def top(self) -> str:
        return "(+ top 1)" if self.does.claims else "top"

    def fence(self, store: str) -> str:
        old = self.before.fence(store)
        raised = self.before.epoch(ACTOR)
        return ite(f"(>= {raised} {old})", raised, old) if self.does.raises == store else old


def enabled(state: State, rule: FleetRule) -> str:
    """The rule may fire: its guards hold, none of those before it, and what no worker may satisfy none of the named ones does."""
    terms = [state.matches(rule.guards, rule.unless)]
    terms += [neg(state.guard(g, x)) for x, g in product(NAMED, rule.nobody)]
    if rule.alone:
        busy = {f"{OWN}at": state.fleet.working, stands("effects"): frozenset({"yes"})}
        terms += [disj([same(x, ACTOR), neg(state.guard(busy, x))]) for x in NAMED]
    if rule.overtakes:
        terms += [neg(same(LEADER, ACTOR)), state.guard({f"{LED}at": state.fleet.working})]
    return conj(terms)


def epoch_facts(state: State, one: str, other: str) -> Iterator[tuple[str, str]]:
    """What is true of the epochs of a worker, and of two: name, and the term that must hold."""
    e, places = state.epoch(one), state.own_fields["at"]

    def at(*names: str) -> str:
        return in_domain(places, state.own("at", one), names)

    f = {store: state.fence(store) for store in STORES}
    yield (
        "fences follow one another",
        conj([f"(>= {f['effects']} 0)", f"(>= {f['ledger']} {f['effects']})", f"(>= {f['events']} {f['ledger']})"]),
    )
    yield "no fence above the epochs given", f"(>= {state.top()} {f['events']})"
    yield "no epoch above the epochs given", f"(and (>= {e} 0) (>= {state.top()} {e}))"
    yield "an epoch is given once", disj([same(one, other), neg(f"(= {e} {state.epoch(other)})"), f"(= {e} 0)"])
    yield "who has begun has an epoch", disj([at("idle"), f"(> {e} 0)"])
    yield "who reads the ledger has fenced the events", disj([neg(at("fence_ledger")), f"(<= {e} {f['events']})"])
    yield "who reads the effects has fenced the ledger", disj([neg(at("fence_effects")), f"(<= {e} {f['ledger']})"])
    working = at(*sorted(state.fleet.working))
    yield "who works has fenced the effects", disj([neg(working), f"(<= {e} {f['effects']})"])
    yield "one leads", disj([neg(working), neg(state.stands("effects", one)), same(one, state.leader())])
