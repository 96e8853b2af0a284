"""The ambiguity class, proved of the machine by a solver; what a search has classified does not go into it (T-AMBIGUOUS-EXACT).

Given are the rows, what a recovery sees, the class as guards, and runs, which are certificates: the solver is asked whether they
are runs. It is asked of any number of attempts and requests, by an invariant that it finds inductive first. The questions:

- outside the class no two states that look the same need opposite answers: so at each look there one is right in all of them;
- no state of the class looks like none of the ends of the runs: so what the runs show is shown of the whole class;
- each step of a run is one that the rows allow, the first from a start; and the two runs to a look end in states that look the
  same, have to be decided, and lie in the class: in one to execute doubles the effect, in the other not to execute loses it;
- and that all this speaks of something: there are such states, inside and outside, and the invariant can hold.

Three files have them all, those about one state, about two, and about the runs: another solver is asked what stands there. No
question says that the steps of a run follow one another: a run's next state is what its rule writes into the one before.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from ..model.invariant import Clause
from ..model.machine import Guard, Machine, Rule, guard
from ..model.policy import HARDENED
from ..model.windows import BY_ID
from .ambiguity import READABLE, STATED, UNDECIDED
from .explore import Space
from .proof_subjects import AMBIGUOUS, RUNS, TWINS, step_subject
from .prove import listed, prove, written
from .prove_encode import LOGIC, Encoding, assumed, conj, disj, neg, saturated, symbol
from .prove_obligations import strengthen
from .prove_solve import Obligation, Result, Solve, solve

BUDGET: Final = 20_000_000
"""The most that one question may cost, in the solver's resource units."""
ANSWERED: Final[Solve] = partial(solve, states=False)
"""Z3, which shows no state where a question fails: its name says what is wrong, and a wrong class fails in hundreds."""
CLASS: Final = tuple({**g, **guard(idempotent="no")} for name in sorted(STATED) for g in BY_ID[name].durable)
"""The class: the durable states of its windows, of a tool that is not idempotent."""
MORE: Final = (
    Clause(
        "a waiver has a record",
        guard(waiver="warned|accepted", finished="none"),
        "T-CONFIRM: a record is what is waived",
    ),
    Clause(
        "a retry is used up",
        guard(retry="yes", open="1|2", on_unknown="park|query|fail"),
        "B2 begins what was scheduled",
    ),
)
"""What the machine's proof can do without, and what is asked here cannot: it is proved here."""
TWIN: Final = "'"
"""How the fields of the second of two states are told from the first's."""


@dataclass(frozen=True)
class Run:
    """A start and the rules that are taken from there: `states` are what they make, with numbers for counts."""

    states: tuple[dict[str, str], ...]
    rules: tuple[Rule, ...]

    @property
    def end(self) -> dict[str, str]:
        """Where it leads."""
        return self.states[-1]


Pair = tuple[Run, Run]
"""A run to where to execute is wrong, and one that looks the same, to where not to execute is."""


@dataclass(frozen=True)
class Seen:
    """What a recovery sees, and the class that is stated of it.

    fences: a tool that fences is looked at: whether the effect is there is seen then, and none comes after it.
    """

    fields: tuple[str, ...]
    members: tuple[Guard, ...] = CLASS
    fences: bool = False


@dataclass(frozen=True)
class Solved:
    """What was asked and answered: of one state, of two, and of the runs; over which clauses, and how many starts and steps."""

    one: tuple[Result, ...]
    two: tuple[Result, ...]
    runs: tuple[Result, ...]
    invariant: tuple[Clause, ...]
    steps: int

    @property
    def results(self) -> tuple[Result, ...]:
        """All of it."""
        return (*self.one, *self.two, *self.runs)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not as it should be."""
        return tuple(f"{r.obligation.name}: {r.answer}" for r in self.results if not r.met)

    @property
    def shown(self) -> bool:
        """Whether a state is shown that should not be."""
        return any(r.obligation.expected == "unsat" and r.answer == "sat" for r in self.results)


def stores(machine: Machine) -> Seen:
    """What the stores say, and the clock."""
    return Seen(tuple(f.name for f in machine.fields if f.scope in READABLE))


def fenced(machine: Machine) -> Seen:
    """The same with a look at a tool that fences, which leaves fewer in the class."""
    return Seen(stores(machine).fields, tuple({**g, **guard(look="none|quiet")} for g in CLASS), fences=True)


def proved(pairs: Sequence[Pair], solver: Solve = ANSWERED) -> Solved:
    """Whether the class is as stated: by these runs, and by an invariant that is proved here."""
    machine, properties, clauses = step_subject(HARDENED)
    made = prove(machine, properties, (*clauses, *MORE), solver=solver)
    found = asked(pairs, stores(machine), MORE, solver)
    return replace(found, one=(*made.results, *found.one))


def export(found: Solved, folder: Path) -> None:
    """Write every question as SMT-LIB 2, in a file for each part, the same bytes in every run. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = step_subject(HARDENED).machine
    double, both = twins(machine), of_both(found.invariant)
    for name, subject, known, results in (
        (AMBIGUOUS, machine, found.invariant, found.one),
        (TWINS, double, both, found.two),
        (RUNS, double, (), found.runs),
    ):
        code = Encoding(subject)
        text = listed(f"{name}: the ambiguity class", LOGIC, code.declarations(), assumed(code, known), results)
        (folder / f"{name}.smt2").write_text(text, encoding="utf-8")


def asked(pairs: Sequence[Pair], seen: Seen, more: Sequence[Clause] = MORE, solver: Solve = ANSWERED) -> Solved:
    """What the solver says of the class that is stated of what is seen; more: the clauses beside those of the machine's proof."""
    machine, properties, clauses = step_subject(HARDENED)
    invariant, double = strengthen(properties, (*clauses, *more)), twins(machine)
    looked = outside(double, fenced(machine), ", a tool that fences being looked at")
    steps = steps_of(machine, (run for pair in pairs for run in pair))
    none = _never("a step of a run is none of the machine's", disj(steps), free=True)
    one = solver(machine, invariant, [missed(machine, seen, pairs)], BUDGET, None)
    two = solver(double, of_both(invariant), [*outside(double, seen), *looked], BUDGET, None)
    runs = solver(double, (), [none, *ends(double, seen, pairs)], BUDGET, None)
    return Solved(tuple(one), tuple(two), tuple(runs), invariant, len(steps))


def of_both(invariant: Sequence[Clause]) -> list[Clause]:
    """The clauses, said of each of two states."""
    return [*invariant, *(replace(c, name=c.name + TWIN, never=_other(c.never)) for c in invariant)]


def pairs_of(space: Space, found: Iterable[tuple[int, int]]) -> list[Pair]:
    """The runs to some pairs of states: where to execute is wrong, and where not to."""
    return [(run_of(space, doubles), run_of(space, loses)) for doubles, loses in found]


def run_of(space: Space, state: int) -> Run:
    """The shortest run to a state: its start and its rules; what they lead to is worked out anew, with numbers."""
    rules: list[Rule] = []
    while (came := space.found.before(state))[1] >= 0:
        state, number = came
        rules.insert(0, space.machine.rules[number])
    states = [space.machine.view(space.packing.unpack(state))]
    for rule in rules:
        before = states[-1]
        states.append({**before, **{name: written(before, name, write) for name, write in rule.writes.items()}})
    return Run(tuple(states), tuple(rules))


def twins(machine: Machine) -> Machine:
    """Two states of the machine as one: each field is there twice."""
    return replace(
        machine, fields=(*machine.fields, *(replace(f, name=f.name + TWIN) for f in machine.fields)), rules=()
    )


def _other(literals: Guard) -> dict[str, frozenset[str]]:
    return {name + TWIN: values for name, values in literals.items()}


def _alike(code: Encoding, names: Iterable[str]) -> str:
    """Some fields are the same in both states; of a count, two or more are."""
    terms = []
    for name in names:
        one, other = symbol(name), symbol(name + TWIN)
        both = conj([f"(>= {one} 2)", f"(>= {other} 2)"]) if code.fields[name].count else "false"
        terms.append(disj([f"(= {one} {other})", both]))
    return conj(terms)


def _decides(code: Encoding, seen: Seen) -> str:
    """In both states a recovery has to decide, and sees the same."""
    undecided = [code.guard(UNDECIDED), code.guard(_other(UNDECIDED)), _alike(code, seen.fields)]
    looked = disj([neg(code.guard(guard(look="fence"))), _alike(code, ["effects"])]) if seen.fences else "true"
    return conj([*undecided, looked])


def _inside(code: Encoding, seen: Seen) -> str:
    members = (disj(map(code.guard, each)) for each in (seen.members, [_other(g) for g in seen.members]))
    return conj(members)


def _opposite(code: Encoding, seen: Seen) -> str:
    """To execute doubles the effect in the first state, and not to execute loses it in the second."""
    may_come = guard(wire="1|2", **({"look": "none|quiet"} if seen.fences else {}))
    there = disj([code.guard(guard(effects="1|2")), code.guard(may_come)])
    return conj([code.guard(guard(idempotent="no")), there, _loses(code)])


def _loses(code: Encoding) -> str:
    return code.guard(_other(guard(effects="0")))


def outside(double: Machine, seen: Seen, how: str = "") -> Iterator[Obligation]:
    """That no two states outside the class, which look the same, need opposite answers; and that there are any."""
    code = Encoding(double)
    decides, inside, opposite = _decides(code, seen), _inside(code, seen), _opposite(code, seen)
    out = conj([decides, neg(inside)])
    yield Obligation(f"outside, not to execute may be wrong{how}", "occurs", "sat", conj([out, _loses(code)]))
    yield Obligation(f"inside, both answers may be wrong{how}", "occurs", "sat", conj([decides, inside, opposite]))
    yield _never(f"outside, two states that look the same need opposite answers{how}", conj([out, opposite]))


def ends(double: Machine, seen: Seen, pairs: Sequence[Pair]) -> Iterator[Obligation]:
    """That the two runs of a pair end where a recovery sees the same, in the class, and either answer is wrong in one of them."""
    code = Encoding(double)
    shown = conj([_decides(code, seen), _inside(code, seen), _opposite(code, seen)])
    yield Obligation("two states can show that either answer is wrong", "occurs", "sat", shown, free=True)
    for number, (one, other) in enumerate(pairs, 1):
        there = conj([_is(code, one.end), _is(code, other.end, TWIN), neg(shown)])
        yield _never(f"the ends of the runs to look {number} do not show that either answer is wrong", there, free=True)


def missed(machine: Machine, seen: Seen, pairs: Sequence[Pair]) -> Obligation:
    """That each state of the class, by the invariant, looks like the end of one of the runs that double the effect."""
    code = Encoding(machine)
    looks = ({n: v for n, v in saturated(machine, run.end).items() if n in seen.fields} for run, _ in pairs)
    shown = disj(code.guard({name: frozenset({value}) for name, value in look.items()}) for look in looks)
    return _never("a state of the class looks like no end of a run",
                  conj([code.guard(UNDECIDED), disj(map(code.guard, seen.members)), neg(shown)]))  # fmt: skip


def _never(name: str, goal: str, *, free: bool = False) -> Obligation:
    return Obligation(name, "implies", "unsat", goal, free=free)


def _is(code: Encoding, values: Mapping[str, str], mark: str = "") -> str:
    """The fields have these values, a count the number itself."""
    return conj(f"(= {symbol(name + mark)} {_number(code, name, value)})" for name, value in values.items())


def _number(code: Encoding, name: str, value: str) -> str:
    field = code.fields[name]
    return value if field.count else str(field.values.index(value))


def steps_of(machine: Machine, runs: Iterable[Run]) -> list[str]:
    """For each start, and for each step, of some runs, that it is none: of a step, by the fields that its rule touches.

    What a rule does not write it leaves as it is: that is what a rule means, and no question.
    """
    code, found = Encoding(machine), dict[tuple[str, tuple[str, ...]], str]()
    for run in runs:
        start = run.states[0]
        found["", tuple(start.values())] = conj([_is(code, start), neg(code.initial())])
        for rule, (before, after) in zip(run.rules, pairwise(run.states), strict=True):
            touched = {name: before[name] for name in _touched(rule)}
            key = rule.name, tuple(touched.values())
            if key not in found:
                leads = (f"(= {code.value_after(rule, n)} {_number(code, n, after[n])})" for n in rule.writes)
                found[key] = conj([_is(code, touched), neg(conj([code.enabled(rule), *leads]))])
    return list(found.values())


def _touched(rule: Rule) -> list[str]:
    asked = [name for literals in (rule.sees, rule.meets, *rule.unless) for name in literals]
    return list(dict.fromkeys([*asked, *rule.writes, *(w[1:] for w in rule.writes.values() if w.startswith("="))]))
