"""Clauses that were found for one worker, read for any number of them, and mended until they are inductive there.

They are read through the projection (`model/fleet_properties.py`), as the written ones are, beside the coupling. Not all that
is true of one worker is true of the one that leads among many: it finds what an overtaken worker has left. Where a row leads from
what is known to what is not, the solver's state is looked at as one worker would see it. If nothing that is known is like the
state *before*, a clause excludes it (`invariant_candidates.py`). If something is, the state *after* becomes known too, and the
clauses that forbid it are dropped, with whatever one worker reaches from there. So what is known grows by what many workers add
to one, and no more.

It begins with what one worker reaches, and ends: what is known only grows, and there are only so many states. It ends in a proof,
or where a property fails in what is known. That refutes nothing, since what is known need not be reachable. Whether the clauses
prove anything is asked anew at the end, in one call of the prover.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.fleet import Fleet
from ..model.invariant import Clause
from ..model.machine import holds, show
from ..model.properties import Property
from .explore import Space
from .invariant_candidates import Reached
from .invariant_search import ROUNDS
from .proof_cache import BUDGET
from .prove_fleet import FleetProof, prove_asked
from .prove_fleet_obligations import Obligations
from .prove_fleet_view import Failing, View, failing

STEPS: Final = ("rule", "initial")
"""Kinds of questions that ask where a step, or a start, leads; of any other a known state is an answer."""


@dataclass(frozen=True)
class Lifting:
    """What came of some clauses: those that hold of whoever leads any number of workers, and the proof over them.

    kept: of the clauses that were given; dropped: the others, each with the row after which what it forbids is reached ("" where
    one worker reaches it); added: clauses that took their place. learned: how many states of one worker many workers add;
    rounds: of questions. stuck: why there is no proof ("" where there is one).
    """

    kept: tuple[Clause, ...]
    dropped: tuple[tuple[str, str], ...]
    added: tuple[Clause, ...]
    learned: int
    rounds: int
    proof: FleetProof
    stuck: str = ""

    @property
    def holds(self) -> bool:
        """Whether P5 and every property is proved, over these clauses."""
        return self.proof.holds and not self.stuck


def lift_found(
    fleet: Fleet, properties: Sequence[Property], clauses: Sequence[Clause], space: Space, budget: int = BUDGET
) -> Lifting:
    """Clauses that hold for any number of workers, and the proof over them; space: what one worker reaches."""
    learning = Learning(fleet, properties, clauses, space)
    rounds = 0
    while not learning.stuck and rounds < ROUNDS:
        rounds += 1
        asked = Obligations(fleet, properties, learning.clauses)
        if not learning.take(list(failing(asked, space.machine.fields, budget))):
            break
    proof = prove_asked(Obligations(fleet, properties, learning.clauses), budget=budget)
    given = {c.name for c in clauses}
    return Lifting(
        tuple(c for c in learning.clauses if c.name in given),
        tuple((name, row) for name, row in learning.dropped.items() if name in given),
        tuple(c for c in learning.clauses if c.name not in given),
        len(learning.more),
        rounds,
        proof,
        learning.stuck,
    )


class Learning:
    """What is known so far of one worker among many: states that it may see, and clauses that forbid none of them."""

    def __init__(self, fleet: Fleet, properties: Sequence[Property], clauses: Sequence[Clause], space: Space) -> None:
        self.late, self.properties, self.space = fleet.shape.late, properties, space
        self.fields = space.machine.fields
        self.order = [f.name for f in reversed(self.fields)]
        self.known = Reached.of_space(space)
        self.more = set[int]()
        registry = fleet.shape.registry
        self.others = {n for n, r in enumerate(space.machine.rules) if registry and registry.record in r.writes}
        self.dropped = {c.name: "" for c in clauses if self.known.like(c.never)}
        self.stuck = ""
        self._clauses = {c.name: c for c in clauses if c.name not in self.dropped}

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The clauses that are left."""
        return tuple(self._clauses.values())

    def take(self, found: Sequence[Failing]) -> bool:
        """Learn from questions that fail; whether there were any."""
        before = len(self.more), len(self._clauses)
        for each in found:
            if not self.stuck:
                self._learn(each)
        if found and not self.stuck and before == (len(self.more), len(self._clauses)):
            self.stuck = f"{found[0].asked.name}: fails, and leads from what is known to what is known"
        return bool(found)

    def _learn(self, found: Failing) -> None:
        name, after = found.asked.name, found.after or found.before
        never = self.known.excluding(found.before, self.order) if found.answer == "sat" else None
        if found.answer != "sat":
            self.stuck = f"{name}: no answer"
        elif never is not None:
            self._clauses.setdefault(show(never), Clause(show(never), never, "found"))
        elif found.asked.kind not in STEPS:
            self.stuck = f"{name}: fails in a state that is known"
        elif broken := next((p.id for p in self.properties for g in p.never if holds(after, g)), ""):
            self.stuck = f"{name}: {broken} fails after a state that is known"
        else:
            self._admit(after, found.asked.rule)

    def _admit(self, view: View, row: str) -> None:
        """One more state that may be seen, and the same with fewer late requests, since clauses say "at least so many" of them;
        and what one worker reaches from there, but for the registry's record, which many create otherwise than one."""
        fresh: list[int] = []
        waiting = list(map(self._packed, self._fewer(view)))
        while waiting:
            state = waiting.pop()
            if state not in self.space.parents and state not in self.more:
                self.more.add(state)
                fresh.append(state)
                waiting += (state ^ delta for delta, rule in self.space.engine.steps(state) if rule not in self.others)
        if fresh:
            added = Reached.of(self.fields, map(self.space.packing.unpack, fresh))
            self.known |= added
            self.dropped |= {c.name: row for c in self.clauses if added.like(c.never)}
            self._clauses = {name: c for name, c in self._clauses.items() if name not in self.dropped}

    def _packed(self, view: View) -> int:
        return self.space.packing.pack(tuple(view[f.name] for f in self.fields))

    def _fewer(self, view: View) -> Iterator[View]:
        if not self.late:
            yield view
            return
        for number in range(int(view[self.late]) + 1):
            yield {**view, self.late: str(number)}
