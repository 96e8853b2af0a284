"""Mutants of a fleet by proof, for any number of workers: of each changed row alone it is asked whether it keeps the invariant.

The invariant and every other row are the original's, which are proved. So a mutant whose changed rows keep the invariant, stay
below no fence, take nothing back, and leave everybody who leads to be overtaken, is safe. It is equivalent where the changed row
may fire exactly where the original's may, and leads to the same state, in every state of the invariant: no run of any number of
workers tells the two apart.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Final

from ..model.fleet import Fleet, FleetRule
from ..model.fleet_shape import STORES
from .mutate_fleet_rows import FleetMutant
from .mutate_prove import WORSE
from .prove_encode import conj, disj, neg
from .prove_fleet_encode import SOME, After, State, enabled, same
from .prove_fleet_obligations import Obligations
from .prove_fleet_solve import answers
from .prove_solve import Answer, Obligation, Result

BATCH: Final = 200
"""Mutants whose questions are read by the solver at once."""
REFUSED: Final = "refused by "
"""How the names of rows begin by which a worker that was overtaken lets go."""
SAME: Final = "does the same"
"""The kind of question whose answer is no verdict of a proof."""


@dataclass(frozen=True)
class Said:
    """What the solver says of a mutant: the question with the worst answer ("": all are met), that answer, if it is the same."""

    fails: str = ""
    answer: Answer = "unsat"
    same: bool = False
    seconds: float = 0.0

    @property
    def safe(self) -> bool:
        """Whether every question is answered as a proof needs it."""
        return self.answer == "unsat"


def ask(base: Obligations, mutants: Sequence[FleetMutant], equal: bool = True) -> Iterator[tuple[FleetMutant, Said]]:
    """Ask about each mutant, over the invariant of `base`; equal: whether it is asked, too, if it does the same."""
    for start in range(0, len(mutants), BATCH):
        batch = mutants[start : start + BATCH]
        asked = [(m, o) for m in batch for o in (*_safe(base, m), *([_same(base, m)] if equal else []))]
        told = {m.name: Said() for m in batch}
        for (mutant, question), result in zip(asked, answers(base, [o for _, o in asked]), strict=True):
            known = told[mutant.name]
            known = replace(known, seconds=known.seconds + result.seconds)
            if question.name == SAME:
                known = replace(known, same=result.met)
            elif not result.met and WORSE.index(_worse(result)) > WORSE.index(known.answer):
                known = replace(known, fails=question.name, answer=_worse(result))
            told[mutant.name] = known
        yield from ((m, told[m.name]) for m in batch)


def _worse(result: Result) -> Answer:
    """The answer to a question that is not met: what should occur, and cannot, is as a state in which something fails."""
    return "sat" if result.answer == "unsat" else result.answer


def _safe(base: Obligations, mutant: FleetMutant) -> Iterator[Obligation]:
    """What has to be shown of the changed rows."""
    rows = tuple(rule for rule in mutant.changed.values() if rule)
    for rule in rows:
        yield base.keeps(rule)
    alone = _over(base, replace(base.fleet, rules=rows))
    yield from (o for o in alone.fenced() if o.expected == "unsat")
    for p in base.properties:
        yield from alone.grows(p)
    whole = _over(base, mutant.of(base.fleet))
    if any(name.startswith(REFUSED) for name in mutant.changed):
        yield from (o for o in whole.fenced() if o.expected == "sat")
    if any(base_rule(base.fleet, name).overtakes for name in mutant.changed):
        yield Obligation("whoever leads can be overtaken", "rule", "unsat", whole.blocked())


def _over(base: Obligations, fleet: Fleet) -> Obligations:
    """The questions about other rows, over the same invariant."""
    changed = copy(base)
    changed.fleet = fleet
    return changed


def base_rule(fleet: Fleet, name: str) -> FleetRule:
    """A row by its name. Raises StopIteration where there is none."""
    return next(rule for rule in fleet.rules if rule.name == name)


def _same(base: Obligations, mutant: FleetMutant) -> Obligation:
    """Somewhere a changed row may fire where the original's may not, or the other way round, or leads elsewhere."""
    state = base.state
    terms = []
    for name, rule in mutant.changed.items():
        before = base_rule(base.fleet, name)
        may, now = enabled(state, before), enabled(state, rule) if rule else "false"
        terms += [conj([may, neg(now)]), conj([now, neg(may)])]
        if rule:
            terms.append(conj([may, now, _apart(state, before, rule)]))
    return Obligation(SAME, "implies", "unsat", disj(terms))


def _apart(state: State, one: FleetRule, other: FleetRule) -> str:
    """The states after two rows differ, in what is shared, in some worker, in epochs, or in who leads."""
    first, second, any_worker = After(state, one.does), After(state, other.does), SOME[0]
    own = [(first.own(f.name, any_worker), second.own(f.name, any_worker)) for f in state.fleet.own]
    return disj([apart_in_all(first, second, any_worker), *(neg(same(a, b)) for a, b in own if a != b)])


def apart_in_all(one: State, other: State, *workers: str) -> str:
    """Two states differ in what is shared, in the epochs of some workers, in fences, or in who leads."""
    pairs = [(one.shared(f.name), other.shared(f.name)) for f in one.fleet.shared]
    pairs += [*((one.epoch(x), other.epoch(x)) for x in workers), (one.top(), other.top())]
    pairs += [(one.fence(store), other.fence(store)) for store in STORES]
    pairs.append((one.leader(), other.leader()))
    return disj(neg(same(a, b)) for a, b in pairs if a != b)
