"""What is asked of Z3 about a fleet: the one-worker invariant, read in the fleet, and the coupling are inductive (T-PROP).

What is assumed of the state before: each clause and each property of the one-worker machine, through the projection of
`model/fleet_properties.py`; the coupling; the epochs. What is shown: every start satisfies it, every row of the fleet keeps it,
whoever acts; a worker changes a store only where it stands (P5); and no row takes back what only grows, or writes after the end
(P7). Of a row it is not asked again what is word for word the same after it as before, where it is assumed. Beside it the
proof's health, as for one worker.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from ..model.fleet import OWN, Does, Fleet, FleetRule, stands
from ..model.fleet_properties import Agree, Lifted, Never, coupling, durable, lift
from ..model.fleet_shape import STORES
from ..model.invariant import Clause
from ..model.machine import Actor
from ..model.properties import Property
from .prove_encode import conj, disj, in_domain, neg, ruled_out
from .prove_fleet_encode import LEADER, NAMED, SOME, After, Mention, Noting, State, enabled, epoch_facts
from .prove_obligations import strengthen
from .prove_solve import Obligation

P5: Final = "P5"
FENCED: Final = "is fenced"
REFUSALS: Final = "a write can be refused by"
"""What the names of the questions have in them that P5 is shown by."""


Says = Callable[[State], list[str]]
"""How a clause, or a few, may not hold in a state, as terms."""


Told = tuple[Mention, str]
"""What is asked of a state, and what it answers after a row."""


class Part:
    """What some clauses say; `before`: of the state before a row; `asked`: all that they asked of it."""

    def __init__(self, says: Says, fleet: Fleet) -> None:
        noting = Noting(fleet)
        self.says, self.before, self.asked = says, says(noting), noting.asked
        self._after: dict[tuple[Told, ...], list[str]] = {}

    def changed(self, after: After, others: Sequence[Told]) -> list[str]:
        """What they say after a row, where it is not what they say before; of `others`, which is all that they ask and is told
        otherwise, it depends alone: many rows do the same to a clause, which is written out once.
        """
        key = tuple(others)
        if key not in self._after:
            self._after[key] = [now for now, then in zip(self.says(after), self.before, strict=True) if now != then]
        return self._after[key]


class Parts:
    """What all clauses say of the same named workers, and what is asked for it."""

    def __init__(self, every: Iterable[Says], fleet: Fleet) -> None:
        self.every = [Part(says, fleet) for says in every]
        self.asked = {mention: told for part in self.every for mention, told in part.asked.items()}
        self._asking = {m: [n for n, part in enumerate(self.every) if m in part.asked] for m in self.asked}

    def changed(self, after: After) -> Iterator[str]:
        """What they say after a row, where it is not what they say before: of those that ask what is told otherwise."""
        others: dict[int, list[Told]] = {}
        for told in after.others(self.asked).items():
            for number in self._asking[told[0]]:
                others.setdefault(number, []).append(told)
        for number in sorted(others):
            yield from self.every[number].changed(after, others[number])


def _lifted(clause: Lifted, state: State) -> list[str]:
    return [state.lifted(clause, SOME)]


def _broken(clause: Never | Agree, worker: str, state: State) -> list[str]:
    return [state.broken(clause, worker)]


def _epochs(one: str, other: str, state: State) -> list[str]:
    return [neg(fact) for _, fact in epoch_facts(state, one, other)]


class Obligations:
    """The questions about one fleet, over one invariant: one worker's clauses, and the coupling (that of the fleet, or
    another). like: questions about other fleets: what is written out of the same invariant is taken over."""

    def __init__(
        self,
        fleet: Fleet,
        properties: Sequence[Property],
        clauses: Sequence[Clause],
        coupled: Sequence[Never | Agree] | None = None,
        like: "Iterable[Obligations]" = (),
    ) -> None:
        self.fleet, self.properties = fleet, properties
        self.state = State(fleet)
        self.lifted = [each for c in strengthen(properties, clauses) for each in lift(fleet, c.name, c.never)]
        self.coupling = tuple(coupling(fleet) if coupled is None else coupled)
        self.parts: tuple[Parts, ...]
        self._breaks: dict[Does, str] = {}
        for other in like:
            if self._says() == other._says():
                self.parts, self._breaks = other.parts, other._breaks
                return
        self.parts = (
            Parts((partial(_lifted, c) for c in self.lifted), fleet),
            Parts((partial(_broken, c, SOME[0]) for c in self.coupling), fleet),
            Parts([partial(_epochs, *SOME)], fleet),
        )
        """How each clause may not hold: of the leader, of one worker, of two."""

    def _says(self) -> tuple[object, ...]:
        """All that the clauses, written out, depend on, beside what a row does."""
        fleet = self.fleet
        return self.lifted, self.coupling, fleet.shared, fleet.own, fleet.shape, fleet.ends

    def known(self) -> list[str]:
        """The invariant, a line per clause, for the named workers."""
        state = self.state
        fixed = self.fleet.machine.impossible
        lines = [f"(assert {neg(state.guard(g))}) ; {ruled_out(g)}" for g in fixed]
        lines += [f"(assert {neg(state.lifted(c, NAMED))}) ; {c.name}" for c in self.lifted]
        lines += [f"(assert {neg(state.broken(c, x))}) ; {c.name}: {x}" for c in self.coupling for x in NAMED]
        for x in NAMED:
            for y in NAMED:
                lines += [f"(assert {fact}) ; {name}: {x}, {y}" for name, fact in epoch_facts(state, x, y)]
        return list(dict.fromkeys(lines))

    def all(self) -> Iterator[Obligation]:
        """Every question, in a fixed order."""
        yield Obligation(
            "a start satisfies the invariant",
            "initial",
            "unsat",
            conj([self.initial(), disj(t for parts in self.parts for part in parts.every for t in part.before)]),
            free=True,
        )
        yield from map(self.keeps, self.fleet.rules)
        yield from self.fenced()
        for p in self.properties:
            yield from self.grows(p)
        yield Obligation("whoever leads can be overtaken", "rule", "unsat", self.blocked())
        yield from self.health()

    def keeps(self, rule: FleetRule) -> Obligation:
        """A row keeps the invariant."""
        goal = conj([enabled(self.state, rule), self.breaks(rule.does)])
        return Obligation(f"{rule.name} keeps the invariant", "rule", "unsat", goal, rule=rule.name)

    def initial(self) -> str:
        """A run may begin here: nobody has claimed."""
        state = self.state
        terms = [in_domain(f, state.shared(f.name), f.starts) for f in self.fleet.shared]
        terms += [neg(state.guard(g)) for g in self.fleet.machine.impossible]
        terms += [in_domain(f, state.own(f.name, x), f.values[:1]) for x in NAMED for f in self.fleet.own]
        terms += [f"(= {state.epoch(x)} 0)" for x in NAMED]
        return conj([*terms, "(= top 0)", *(f"(= {state.fence(s)} 0)" for s in ("events", "ledger", "effects"))])

    def breaks(self, does: Does) -> str:
        """Some clause does not hold any more where this has been done."""
        if does not in self._breaks:
            self._breaks[does] = self.broken_after(After(self.state, does))
        return self._breaks[does]

    def broken_after(self, after: After) -> str:
        """Some clause does not hold any more; one that says the same as before is among what is assumed (`known`).

        It is written out twice: for where the worker that the clause speaks of is the one that acts, and for another. A clause
        says the same where all that it asks of the state is answered as before (`Part`).
        """
        terms = []
        for parts, worker in zip(self.parts, (after.leader(), *SOME), strict=True):
            for says, each in after.cases(worker):
                terms.append(conj([says, disj(parts.changed(each))]))
        return disj(terms)

    def fenced(self) -> Iterator[Obligation]:
        """P5: a worker changes a store, or raises its fence, only where no newer one has read it."""
        for rule in self.fleet.rules:
            written = {self.fleet.shape.stores[n] for n in rule.writes if n in self.fleet.shape.stores}
            stores = {*written, rule.raises} & set(STORES)
            if rule.actor is Actor.WORKER and stores:
                below = disj(self.state.guard({stands(s): frozenset({"no"})}) for s in stores)
                yield Obligation(
                    f"{rule.name} {FENCED}", "grows", "unsat", conj([enabled(self.state, rule), below]), rule.name, P5
                )
        for store in sorted(set(self.fleet.shape.stores.values()) & set(STORES)):
            goal = disj(conj([enabled(self.state, r), self.state.guard({stands(store): frozenset({"no"})})])
                        for r in self.fleet.rules if r.name == f"refused by {store}")  # fmt: skip
            yield Obligation(f"{REFUSALS} {store}", "occurs", "sat", goal, property=P5)

    def grows(self, p: Property) -> Iterator[Obligation]:
        """What only grows, and what absorbs."""
        for rule in self.fleet.rules:
            taken_back = disj(self._taken_back(p, After(self.state, rule.does)))
            if taken_back != "false" and (goal := conj([enabled(self.state, rule), taken_back])) != "false":
                yield Obligation(f"{rule.name} keeps {p.id}", "grows", "unsat", goal, rule=rule.name, property=p.id)

    def _taken_back(self, p: Property, after: After) -> Iterator[str]:
        """The ways in which what only grows is taken back, or something durable changes where a guard absorbs."""
        for name in p.grows:
            before, then, f = self.state.shared(name), after.shared(name), self.state.fields[name]
            if before == then:
                continue
            yield (
                f"(< {then} {before})"
                if f.count
                else conj([in_domain(f, before, f.values[1:]), neg(f"(= {then} {before})")])
            )
        for g in p.absorbing:
            both = ((self.state.shared(n), after.shared(n)) for n in durable(self.fleet))
            yield conj(
                [self.state.guard(g), disj(neg(f"(= {before} {then})") for before, then in both if then != before)]
            )

    def blocked(self) -> str:
        """Somebody leads, no row of F3 says what it means to overtake it, and it does not only decide where it goes: it is taken
        to do that first, which no other worker and no store can keep it from."""
        decided = (r for r in self.fleet.rules if r.name in self.fleet.decisions)
        rows = [r for r in self.fleet.rules if r.overtakes]
        led = [{n: v for n, v in r.guards.items() if n.startswith("l.") or "." not in n} for r in rows]
        busy = {f"{OWN}at": self.fleet.working, stands("effects"): frozenset({"yes"})}
        decides = (self.state.matches(r.guards, r.unless, LEADER) for r in decided)
        return conj([self.state.guard(busy, LEADER), *(neg(self.state.guard(g)) for g in led), *map(neg, decides)])

    def health(self) -> Iterator[Obligation]:
        """The invariant can hold, with several workers; a run can begin; what is spoken of can occur; rows can fire."""
        state = self.state
        yield Obligation(
            "the invariant can hold, of workers that differ", "consistent", "sat", f"(distinct {' '.join(NAMED)})"
        )
        yield Obligation("a run can begin", "starts", "sat", self.initial())
        late = self.fleet.shape.late
        alone = any(c.shared == {late: frozenset({"2"})} and c.leader is None for c in self.lifted)
        senders = SOME[:1] if alone else SOME
        crowd = conj([state.leads(LEADER), f"(distinct {' '.join(NAMED)})", *(state.sends(x) for x in senders)])
        if self.fleet.shape.request:
            yield Obligation("one leads while as many as may be, overtaken, still send", "occurs", "sat", crowd)
        for p in self.properties:
            for n, g in enumerate(p.occurs, 1):
                seen = disj(state.lifted(c, NAMED) for c in lift(self.fleet, p.id, g))
                yield Obligation(f"{p.id} can occur, {n}", "occurs", "sat", seen, property=p.id)
        for rule in self.fleet.rules:
            yield Obligation(f"{rule.name} can fire", "fires", "sat", enabled(state, rule), rule=rule.name)
