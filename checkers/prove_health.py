"""The health of a proof: that it says something, what it rests on, and that it does not hang by a thread (E-TRUST).

Of each proof: its assumptions can hold, a run can begin, what the properties speak of can occur; each row can fire, or is one of
those of which it is said why not (`prove_idle.py`), and fires in a state that a search reaches (`prove_reached.py`), or is one of
those that are named there; each clause, and each assumption of which plans there are, is used by some answer (by Z3's
unsatisfiable cores), or it is said why not; and asked ten times more, with other seeds, other names and in another order, Z3
gives the same answers. Budgets are resource units. No answer is none: it is never counted as healthy.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from .proof_cache import BUDGET
from .prove_asked import Answer, Questions, answers, shuffled
from .prove_idle import CANNOT_FIRE, UNREACHED, UNUSED

SEEDS: Final = tuple(range(1, 11))
VACUOUS: Final = ("consistent", "starts", "occurs")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Health:
    """What was found out about one proof.

    unmet: obligations without the answer that is needed; vacuous: those of them that say that the proof speaks of nothing.
    silent: rows that cannot fire; odd: those of them that nobody has said so of, and those that can though it is said that they
    cannot. unreached: rows that can fire in a state of the invariant, and fire in none that a search reaches. clauses: how many
    clauses and assumptions of plans there are; unused: those that no answer used; idle: those of them of which nobody says why
    they stand there. unstable: obligations that another seed answers otherwise. units: what all answers cost together, of the
    proof as it is, and the least and the most of the seeds.
    """

    name: str
    obligations: int
    clauses: int
    unmet: tuple[str, ...]
    vacuous: tuple[str, ...]
    silent: tuple[str, ...]
    odd: tuple[str, ...]
    unused: tuple[str, ...]
    idle: tuple[str, ...]
    seeds: int
    unstable: tuple[str, ...]
    units: tuple[int, int, int]
    unreached: tuple[str, ...]

    @property
    def reported(self) -> list[str]:
        """The clauses and assumptions that no answer used, a line each, with the reason that somebody has given, if any."""
        reasons = UNUSED.get(self.name, {})
        return [f"{each} ({reasons.get(each, 'nobody says why')})" for each in self.unused]

    @property
    def problems(self) -> list[str]:
        """What is wrong, a sentence each; none of a healthy proof."""
        return [
            *(f"the proof speaks of nothing: {each}" for each in self.vacuous),
            *(f"not as needed: {each}" for each in self.unmet if each not in self.vacuous),
            *(f"whether this row can fire is not as stated: {each}" for each in self.odd),
            *self._not_reached(),
            *(
                f"no answer uses this clause or assumption, and nobody says why it stands there: {each}"
                for each in self.idle
            ),
            *(f"another seed answers otherwise: {each}" for each in self.unstable),
        ]

    def _not_reached(self) -> list[str]:
        """The rows of which it is not as stated whether they fire in a state that is reached."""
        odd = sorted(set(self.unreached) ^ set(UNREACHED.get(self.name, ())))
        return [f"whether this row fires in a state that is reached is not as stated: {each}" for each in odd]


def examine(
    asked: Questions,
    fired: Collection[str],
    seeds: Sequence[int] = SEEDS,
    budget: int = BUDGET,
    tell: Tell = lambda words: None,
) -> Health:
    """The health of the proof that asks these questions. fired: the rows that fire in a state that is reached, by a search."""
    tell(f"{asked.name}: what is used")
    first = list(answers(asked, budget=budget))
    used = frozenset[str]().union(*(a.used for a in answers(asked, budget=budget, cores=True)))
    told = {a.obligation.name: a.answer for a in first}
    unstable: dict[str, None] = {}
    costs = []
    for seed in seeds:
        tell(f"{asked.name}: seed {seed}")
        again = list(answers(shuffled(asked, seed), seed, budget))
        unstable |= {f"{a.obligation.name}: {a.answer} (seed {seed})": None for a in again
                     if a.answer != told[a.obligation.name]}  # fmt: skip
        costs.append(sum(a.rlimit for a in again))
    unmet = [a for a in first if not _met(a)]
    silent = {a.obligation.rule for a in first if a.obligation.kind == "fires" and a.answer == "unsat"}
    can = {a.obligation.rule for a in first if a.obligation.kind == "fires" and a.answer == "sat"}
    written = {name for name, _ in asked.known} - asked.own
    unused = written - used
    total = sum(a.rlimit for a in first)
    return Health(
        asked.name,
        len(first),
        len(written),
        tuple(map(_said, unmet)),
        tuple(_said(a) for a in unmet if a.obligation.kind in VACUOUS),
        tuple(sorted(silent)),
        tuple(sorted(silent ^ CANNOT_FIRE.get(asked.name, {}).keys())),
        tuple(sorted(unused)),
        tuple(sorted(unused - UNUSED.get(asked.name, {}).keys())),
        len(costs),
        tuple(unstable),
        (total, min(costs, default=total), max(costs, default=total)),
        tuple(sorted(can.difference(fired))),
    )


def _met(answer: Answer) -> bool:
    """Whether the answer is the one that is needed; whether a row can fire needs some answer."""
    if answer.obligation.kind == "fires":
        return answer.answer != "unknown"
    return answer.answer == answer.obligation.expected


def _said(answer: Answer) -> str:
    return f"{answer.obligation.name}: {answer.answer}"
