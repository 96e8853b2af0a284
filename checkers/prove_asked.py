"""The questions of any proof as text, of one worker's machine or of a fleet: to be asked otherwise than they were.

Nothing here is a new question. What is known of a state is split from what is asked, each assumption under the name of the clause
that it is made of; the same text is given other names and another order (`shuffled`), and an answer is had with the assumptions
that were used for it (`Answer.used`).
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import z3

from .proof_cache import BUDGET
from .proof_subjects import FleetSubject, Subject, fleet_subjects, subject
from .proofs import FLEETS
from .prove_encode import LOGIC, Encoding, assumed
from .prove_fleet_encode import LOGIC as FLEET_LOGIC
from .prove_fleet_encode import NAMED
from .prove_fleet_obligations import Obligations
from .prove_obligations import obligations, strengthen
from .prove_solve import Asked, Obligation, one_by_one, together

_TOKEN: Final = re.compile(r"\|[^|]*\||[A-Za-z_]\w*")
_DECLARED: Final = re.compile(r"\(declare-(?:fun|const|sort) (\|[^|]*\||\S+)")
_WHO: Final = re.compile(rf": (?:{'|'.join(NAMED)})(?:, (?:{'|'.join(NAMED)}))?$")


@dataclass(frozen=True)
class Questions:
    """Everything that a proof asks.

    declared: sort, constants and functions; domains: assertions about these, which always hold; known: the invariant, a name
    and an assertion each; own: names in it that are the properties' guards, and not assumptions of ours.
    """

    name: str
    logic: str
    declared: tuple[str, ...]
    domains: tuple[str, ...]
    known: tuple[tuple[str, str], ...]
    obligations: tuple[Obligation, ...]
    own: frozenset[str]


@dataclass(frozen=True)
class Answer:
    """An answer, what it cost in resource units, and for `unsat` the names of what was used of the invariant, where that was
    asked."""

    obligation: Obligation
    answer: str
    rlimit: int
    used: frozenset[str]


def questions(name: str) -> Questions:
    """The questions of the proof with this name. Raises KeyError where there is none."""
    if name in FLEETS:
        return of_fleet(next(each for each in fleet_subjects() if each.fleet.name == name))
    return of_machine(name, subject(name))


def of_machine(name: str, about: Subject) -> Questions:
    """The questions about one worker's machine."""
    code = Encoding(about.machine)
    invariant = strengthen(about.properties, about.clauses)
    lines = [line.partition(" ; ")[0] for line in code.declarations()]
    return Questions(
        name,
        LOGIC,
        tuple(line for line in lines if line.startswith("(declare")),
        tuple(line for line in lines if line.startswith("(assert")),
        tuple(map(_named, assumed(code, invariant))),
        tuple(obligations(about.machine, about.properties, invariant)),
        frozenset(c.name for c in strengthen(about.properties, ())),
    )


def of_fleet(about: FleetSubject) -> Questions:
    """The questions about a fleet."""
    asked = Obligations(*about)
    lines = [line.partition(" ; ")[0] for line in asked.state.declarations()]
    return Questions(
        about.fleet.name,
        FLEET_LOGIC,
        tuple(line for line in lines if line.startswith("(declare")),
        tuple(line for line in lines if line.startswith("(assert")),
        tuple(map(_named, asked.known())),
        tuple(asked.all()),
        frozenset(c.name for c in strengthen(about.properties, ())),
    )


def _named(line: str) -> tuple[str, str]:
    """A line of assumptions as the name of its clause, and the assertion."""
    assertion, _, name = line.partition(" ; ")
    return _WHO.sub("", name), assertion


def shuffled(asked: Questions, seed: int) -> Questions:
    """The same questions with other names for everything, declared, assumed and asked in another order; seed: which."""
    draw = random.Random(seed)
    symbols = [found[1] for line in asked.declared if (found := _DECLARED.match(line))]
    numbers = draw.sample(range(len(symbols)), len(symbols))
    names = {symbol: f"|{number} of {seed}|" for symbol, number in zip(symbols, numbers, strict=True)}

    def renamed(text: str) -> str:
        return _TOKEN.sub(lambda found: names.get(found[0], found[0]), text)

    # A sort is declared before what is of it.
    declared = sorted(draw.sample(asked.declared, len(asked.declared)), key=lambda line: "declare-sort" not in line)
    known = draw.sample(asked.known, len(asked.known))
    questions = draw.sample(asked.obligations, len(asked.obligations))
    return replace(
        asked,
        declared=tuple(map(renamed, declared)),
        domains=tuple(map(renamed, draw.sample(asked.domains, len(asked.domains)))),
        known=tuple((name, renamed(assertion)) for name, assertion in known),
        obligations=tuple(replace(o, goal=renamed(o.goal)) for o in questions),
    )


def answers(asked: Questions, seed: int = 0, budget: int = BUDGET, cores: bool = False) -> Iterator[Answer]:
    """Z3's answers, with this seed for what it decides at random; cores: whether it has to say what it used."""
    declared, known = (*asked.declared, *asked.domains), [assertion for _, assertion in asked.known]
    text = Asked(asked.logic, declared, known, asked.obligations, budget, seed)
    # What an answer rests on is asked of it alone: with what others have taught, fewer clauses would do.
    for obligation, answer, rlimit, _, solver in one_by_one(text, cores) if cores else together(text):
        used = _used(asked.known, solver) if cores and answer == "unsat" else frozenset[str]()
        yield Answer(obligation, answer, rlimit, used)


def _used(known: Sequence[tuple[str, str]], solver: z3.Solver) -> frozenset[str]:
    return frozenset(known[int(str(term).removeprefix("known "))][0] for term in solver.unsat_core())
