"""Which mutants of a fleet can do what it does, and no more, for any number of workers: proved, of who is not killed (E-TRUST,
teeth).

A mutant is the same as its original where, in every state of the invariant, each step that a changed row may take the original
may take, too, and the other way round: by the same row, by another one of whoever acts, or by none, where nothing changes. Two
steps lead to the same where they differ in nothing but what is never read again (`fleet_live`): then states that are alike but
for that are related, and whatever the one can do the other can. Which row it is that takes a step makes no difference here.

The invariant is the one that the properties are proved over, with further clauses (`model/fleet_lemmas.py`), and that whoever
passed F3 last still stands there. All of it is proved first, or nothing is said.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import permutations, product
from typing import Final

from ..model.fleet import FleetRule
from ..model.fleet_lemmas import lemmas, pairs
from ..model.fleet_properties import coupling
from ..model.fleet_shape import STORES
from .fleet_live import Live, Liveness
from .mutate_fleet_prove import SAME, apart_in_all, base_rule
from .mutate_fleet_rows import AT, FleetMutant
from .proof_subjects import FleetSubject
from .prove_encode import conj, disj, in_domain, neg
from .prove_fleet_encode import NAMED, SOME, After, State, enabled, same
from .prove_fleet_obligations import Obligations
from .prove_fleet_solve import answers
from .prove_solve import Obligation

INDUCTION: Final = ("initial", "rule")


class Closer(Obligations):
    """The questions over all clauses that are known to hold."""

    def known(self) -> list[str]:
        """As of `Obligations`, what no two workers are like, and that who passed F3 last stands there."""
        lines = [f"(assert {_stands(self.state)}) ; who passed F3 last stands there"]
        lines += [f"(assert {neg(each)})" for x, y in permutations(NAMED, 2) for each in self._pairs(self.state, x, y)]
        return [*super().known(), *lines]

    def all(self) -> Iterator[Obligation]:
        """That all clauses hold."""
        yield from (each for each in super().all() if each.kind in INDUCTION)
        two = disj(self._pairs(self.state, *SOME))
        yield Obligation(
            "a start: what no two workers are like", "initial", "unsat", conj([self.initial(), two]), free=True
        )
        for rule in self.fleet.rules:
            goal = conj([enabled(self.state, rule), disj(self._pairs(After(self.state, rule.does), *SOME))])
            yield Obligation(f"{rule.name}: what no two workers are like", "rule", "unsat", goal, rule=rule.name)
        yield Obligation(
            "the first stands", "initial", "unsat", conj([self.initial(), neg(_stands(self.state))]), free=True
        )
        for rule in self.fleet.rules:
            falls = conj([enabled(self.state, rule), neg(_stands(After(self.state, rule.does)))])
            yield Obligation(f"{rule.name}: who passed F3 last stands there", "rule", "unsat", falls, rule=rule.name)

    def _pairs(self, state: State, x: str, y: str) -> list[str]:
        """Ways in which two workers may not be, as terms."""
        return [
            conj([state.guard(one, x), state.guard(other, y), neg(same(x, y))]) for one, other in pairs(self.fleet.name)
        ]


def _stands(state: State) -> str:
    return state.stands("effects", state.leader())


class Sameness:
    """A fleet, beside which mutants are proved the same. Raises AssertionError where the clauses do not hold."""

    def __init__(self, subject: FleetSubject) -> None:
        self.fleet, self.properties, clauses = subject
        self._live = Liveness(self.fleet, self.properties)
        self._asked = Closer(self.fleet, self.properties, clauses, (*coupling(self.fleet), *lemmas(self.fleet.name)))

    @cached_property
    def asked(self) -> Closer:
        """The questions, once what they rest on is proved."""
        wrong = [result.obligation.name for result in answers(self._asked, list(self._asked.all())) if not result.met]
        if wrong:
            raise AssertionError(f"{self.fleet.name}: the clauses of model/fleet_lemmas.py do not hold: {wrong[0]}")
        return self._asked

    def proved(self, mutants: Sequence[FleetMutant]) -> list[bool]:
        """Of each mutant whether it is proved the same."""
        return [result.met for result in answers(self.asked, [self._question(mutant) for mutant in mutants])]

    def _question(self, mutant: FleetMutant) -> Obligation:
        rows = tuple(row for row in mutant.changed.values() if row)
        known = self._live.also(rows)
        steps = _Steps(self.asked.state, known, [row for row in self.fleet.rules if row.name not in mutant.changed])
        changed = [(base_rule(self.fleet, name), row) for name, row in mutant.changed.items()]
        return Obligation(SAME, "implies", "unsat", disj(term for pair in changed for term in steps.differ(*pair)))


def _beside(row: FleetRule) -> tuple[object, ...]:
    """What a row does to other workers: two that do the same differ in who acts alone, or in what is shared."""
    return row.acts, row.claims, row.raises, row.bars, row.appends


class _Steps:
    """Steps compared, in a state and after it. rest: the rows that both have."""

    def __init__(self, state: State, known: Live, rest: Sequence[FleetRule]) -> None:
        self.state, self.known, self.rest = state, known, rest

    def differ(self, before: FleetRule, row: FleetRule | None) -> Iterator[str]:
        """How a row and what stands in its place may take steps that the other fleet has not."""
        may, now = enabled(self.state, before), enabled(self.state, row) if row else "false"
        lost = neg(self._otherwise(before))
        yield conj([may, neg(now), lost])
        if row:
            won = neg(self._otherwise(row))
            yield conj([now, neg(may), won])
            yield conj(
                [may, now, self._apart(After(self.state, before.does), After(self.state, row.does)), disj([lost, won])]
            )

    def _otherwise(self, row: FleetRule) -> str:
        """Another row that both have leads there, too; or nothing changes."""
        after = After(self.state, row.does)
        ways = [neg(self._apart(self.state, after))]
        for other in self.rest:
            alike = other.actor is row.actor and other.overtakes == row.overtakes and _beside(other) == _beside(row)
            if alike and (
                not row.acts or AT not in {*row.guards} & {*other.guards} or row.guards[AT] & other.guards[AT]
            ):
                ways.append(conj([enabled(self.state, other), neg(self._apart(After(self.state, other.does), after))]))
        return disj(ways)

    def _apart(self, one: State, other: State) -> str:
        """The states differ in what is shared, in epochs, in who leads, or in what is read of some worker: of any of the named
        ones, since of several ways to lead elsewhere each may show in another worker."""
        terms = [apart_in_all(one, other, *NAMED)]
        for worker, field in product(NAMED, self.state.fleet.own):
            first, second = one.own(field.name, worker), other.own(field.name, worker)
            if first != second:
                terms.append(conj([neg(same(first, second)), self._read(other, field.name, worker)]))
        return disj(terms)

    def _read(self, state: State, name: str, worker: str) -> str:
        """A field of a worker is live."""
        ways = []
        for standing in {spot.standing for spot in self.known}:
            places = [spot.at for spot, names in self.known.items() if spot.standing == standing and name in names]
            so = [state.stands(s, worker) if s in standing else neg(state.stands(s, worker)) for s in STORES]
            at = in_domain(state.own_fields["at"], state.own("at", worker), places)
            ways.append(conj([*so, at]) if places else "false")
        return disj(ways)
