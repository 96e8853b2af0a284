"""An invariant that nobody wrote: clauses that hold in every reachable state of a small instance, until they are inductive.

Nothing is taken from the written clauses. It begins with the properties alone. Where the induction fails, the solver shows a
state; no state of the kind is reachable, or the property would be false, so there is a candidate clause
(`invariant_candidates.py`) that excludes it, and others like it. So on until nothing fails. Whether the result proves anything
is then asked anew, of the prover alone: `prove`, one call, over any number of crashes, attempts and requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..model.invariant import Clause
from ..model.machine import Machine, show
from ..model.properties import Property
from .explore import Space, explore
from .invariant_candidates import Reached
from .proof_cache import BUDGET
from .prove import Proof, prove
from .prove_encode import saturated
from .prove_obligations import obligations, strengthen
from .prove_solve import shown

ROUNDS: Final = 400
"""After so many rounds the search gives up: no machine needs a tenth of them."""


@dataclass(frozen=True)
class Search:
    """What a search came to: the clauses, the states they were found in, how often the solver showed a state, and the proof.

    stuck: why there is no proof ("" where there is one): a reachable state, or no answer.
    """

    clauses: tuple[Clause, ...]
    space: Space
    rounds: int
    shown: int
    proof: Proof
    stuck: str = ""

    @property
    def states(self) -> int:
        """How many states the clauses were found in."""
        return len(self.space)


def find_invariant(
    machine: Machine, properties: Sequence[Property], space: Space | None = None, budget: int = BUDGET
) -> Search:
    """Clauses over which `properties` are proved of a machine, found in its reachable states."""
    space = space or explore(machine)
    reached = Reached.of_space(space)
    # Ghosts and the world are rather done without than what the tool declares and what is stored.
    order = [f.name for f in reversed(machine.fields)]
    clauses: dict[str, Clause] = {}
    seen = rounds = 0
    stuck = ""
    while not stuck and rounds < ROUNDS:
        rounds += 1
        states, stuck = _failing(machine, properties, tuple(clauses.values()), budget)
        seen += len(states)
        for name, state in states:
            never = reached.excluding(saturated(machine, state), order)
            if never is None:
                stuck = stuck or f"{name}: fails after a reachable state"
            else:
                clauses.setdefault(show(never), Clause(show(never), never, "found"))
        if not states:
            break
    found = tuple(clauses.values())
    return Search(found, space, rounds, seen, prove(machine, properties, found, budget=budget), stuck)


def _failing(
    machine: Machine, properties: Sequence[Property], clauses: Sequence[Clause], budget: int
) -> tuple[list[tuple[str, dict[str, str]]], str]:
    """The states in which the induction fails, by obligation; and an obligation without an answer."""
    invariant = strengthen(properties, clauses)
    asked = [
        o
        for o in obligations(machine, properties, invariant)
        if o.expected == "unsat" and not o.free and o.kind != "property"
    ]
    results = list(shown(machine, invariant, asked, budget))
    unanswered = [f"{r.obligation.name}: no answer" for r in results if r.answer == "unknown"]
    return [(r.obligation.name, r.state) for r in results if r.answer == "sat"], "".join(unanswered[:1])
