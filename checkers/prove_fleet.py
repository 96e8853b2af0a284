"""The proof for any number of workers: the one-worker invariant, read in the fleet, and the coupling are inductive (T-PROP).

What is assumed of the state before: each clause and each property of the one-worker machine, through the projection of
`model/fleet_properties.py`; the coupling; the epochs. What is shown: every start satisfies it, every row of the fleet keeps it,
whoever acts; a worker changes a store only where it stands (P5); and no row takes back what only grows, or writes after the end
(P7). Of a row it is not asked again what is word for word the same after it as before, where it is assumed. Beside it the
proof's health, as for one worker.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import z3

from ..model.fleet import OWN, Fleet, FleetRule, stands
from ..model.fleet_properties import coupling, durable, lift
from ..model.fleet_shape import STORES
from ..model.invariant import Clause
from ..model.machine import Actor
from ..model.properties import Property
from .evidence import Item, Verdict
from .proof_cache import BUDGET
from .prove import COMMAND, judge
from .prove_encode import conj, disj, in_domain, neg
from .prove_fleet_encode import LEADER, LOGIC, NAMED, SOME, After, State, enabled, epoch_facts
from .prove_obligations import strengthen
from .prove_solve import SOLVER, Answer, Obligation, Progress, Result

P5 = "P5"
Answered = dict[tuple[str, bool, str], Result]
"""Answers by what is assumed, whether that is the domains alone, and what is asked."""
FleetSolve = Callable[[State, Sequence[str], Sequence[Obligation], int, Progress | None], Iterator[Result]]
"""What answers the obligations of a fleet, in order: `solve_fleet`, or a cache before it."""


@dataclass(frozen=True)
class FleetProof:
    """Everything that was asked and answered about one fleet; `text`: all of it, as one SMT-LIB 2 file."""

    fleet: Fleet
    properties: tuple[Property, ...]
    results: tuple[Result, ...]
    text: str
    seconds: float

    def rests_on(self, identifier: str) -> list[Result]:
        """The answers that the proof of one property rests on: the whole induction, and its own obligations."""
        return [r for r in self.results if r.obligation.property in ("", identifier)]

    def verdict(self, identifier: str) -> Verdict:
        """PROVED; ERROR without an answer, or where the proof says nothing; NOT CHECKED where the induction fails."""
        return judge(self.rests_on(identifier))

    @property
    def holds(self) -> bool:
        """Whether P5 and every property of the one-worker machine is proved."""
        return all(self.verdict(name) is Verdict.PROVED for name in (P5, *(p.id for p in self.properties)))

    @property
    def unmet(self) -> tuple[str, ...]:
        """The obligations that are not met."""
        return tuple(r.obligation.name for r in self.results if not r.met)

    @property
    def unreachable(self) -> tuple[str, ...]:
        """The rows that cannot fire in any state of the invariant."""
        return tuple(r.obligation.rule for r in self.results if r.obligation.kind == "fires" and r.answer == "unsat")


class Obligations:
    """The questions, over one invariant."""

    def __init__(self, fleet: Fleet, properties: Sequence[Property], clauses: Sequence[Clause]) -> None:
        self.fleet, self.properties = fleet, properties
        self.state = State(fleet)
        self.lifted = [each for c in strengthen(properties, clauses) for each in lift(fleet, c.name, c.never)]
        self.coupling = coupling(fleet)
        self.before = [part(self.state) for part in self.parts]

    def known(self) -> list[str]:
        """The invariant, a line per clause, for the named workers."""
        state = self.state
        fixed = self.fleet.machine.impossible
        lines = [f"(assert {neg(state.guard(g))}) ; configuration ruled out" for g in fixed]
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
            conj([self.initial(), disj(t for part in self.before for t in part)]),
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
        goal = conj([enabled(self.state, rule), self.breaks(After(self.state, rule))])
        return Obligation(f"{rule.name} keeps the invariant", "rule", "unsat", goal, rule=rule.name)

    def initial(self) -> str:
        """A run may begin here: nobody has claimed."""
        state = self.state
        terms = [in_domain(f, state.shared(f.name), f.starts) for f in self.fleet.shared]
        terms += [neg(state.guard(g)) for g in self.fleet.machine.impossible]
        terms += [in_domain(f, state.own(f.name, x), f.values[:1]) for x in NAMED for f in self.fleet.own]
        terms += [f"(= {state.epoch(x)} 0)" for x in NAMED]
        return conj([*terms, "(= top 0)", *(f"(= {state.fence(s)} 0)" for s in ("events", "ledger", "effects"))])

    @property
    def parts(self) -> tuple[Callable[[State], list[str]], ...]:
        """How each clause may not hold: of the leader, of one worker, of two."""
        one, other = SOME
        return (
            lambda state: [state.lifted(c, SOME) for c in self.lifted],
            lambda state: [state.broken(c, one) for c in self.coupling],
            lambda state: [neg(fact) for _, fact in epoch_facts(state, one, other)],
        )

    def breaks(self, after: After) -> str:
        """Some clause does not hold any more; one that says the same as before is among what is assumed (`known`).

        It is written out twice: for where the worker that the clause speaks of is the one that acts, and for another.
        """
        terms = []
        for part, before, worker in zip(self.parts, self.before, (after.leader, *SOME), strict=True):
            for says, each in after.cases(worker):
                changed = (now for now, then in zip(part(each), before, strict=True) if now != then)
                terms.append(conj([says, disj(changed)]))
        return disj(terms)

    def fenced(self) -> Iterator[Obligation]:
        """P5: a worker changes a store only where no newer one has read it."""
        for rule in self.fleet.rules:
            stores = {self.fleet.shape.stores[n] for n in rule.writes if n in self.fleet.shape.stores} & set(STORES)
            if rule.actor is Actor.WORKER and stores:
                below = disj(self.state.guard({stands(s): frozenset({"no"})}) for s in stores)
                yield Obligation(
                    f"{rule.name} is fenced", "grows", "unsat", conj([enabled(self.state, rule), below]), rule.name, P5
                )
        for store in sorted(set(self.fleet.shape.stores.values()) & set(STORES)):
            goal = disj(conj([enabled(self.state, r), self.state.guard({stands(store): frozenset({"no"})})])
                        for r in self.fleet.rules if r.name == f"refused by {store}")  # fmt: skip
            yield Obligation(f"a write can be refused by {store}", "occurs", "sat", goal, property=P5)

    def grows(self, p: Property) -> Iterator[Obligation]:
        """What only grows, and what absorbs."""
        fields = {f.name: f for f in self.fleet.shared}
        for rule in self.fleet.rules:
            after = After(self.state, rule)
            terms = []
            for name in p.grows:
                before, then, f = self.state.shared(name), after.shared(name), fields[name]
                if before != then:
                    terms.append(
                        f"(< {then} {before})"
                        if f.count
                        else conj([in_domain(f, before, f.values[1:]), neg(f"(= {then} {before})")])
                    )
            changed = [
                neg(f"(= {self.state.shared(n)} {after.shared(n)})")
                for n in durable(self.fleet)
                if after.shared(n) != self.state.shared(n)
            ]
            terms += [conj([self.state.guard(g), disj(changed)]) for g in p.absorbing]
            goal = conj([enabled(self.state, rule), disj(terms)])
            if goal != "false":
                yield Obligation(f"{rule.name} keeps {p.id}", "grows", "unsat", goal, rule=rule.name, property=p.id)

    def blocked(self) -> str:
        """Somebody leads, and no row of F3 says what it means to overtake it."""
        rows = [r for r in self.fleet.rules if r.overtakes]
        led = [{n: v for n, v in r.guards.items() if n.startswith("l.") or "." not in n} for r in rows]
        busy = {f"{OWN}at": self.fleet.working, stands("effects"): frozenset({"yes"})}
        return conj([self.state.guard(busy, LEADER), *(neg(self.state.guard(g)) for g in led)])

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


def prove_fleet(
    fleet: Fleet,
    properties: Sequence[Property],
    clauses: Sequence[Clause],
    progress: Progress | None = None,
    budget: int = BUDGET,
    known_answers: Answered | None = None,
    solver: FleetSolve | None = None,
) -> FleetProof:
    """Prove `properties` and P5 for any number of workers, by induction over one worker's clauses and the coupling.

    known_answers: answers to questions that were asked under the same assumptions, which are not asked again; new ones are added.
    solver: what answers the others, `solve_fleet` by default.
    """
    started = time.perf_counter()
    asked = Obligations(fleet, properties, clauses)
    known = asked.known()
    obligations = list(asked.all())
    answers = {} if known_answers is None else known_answers
    results = tuple(_ask(asked.state, known, obligations, budget, progress, answers, solver or solve_fleet))
    text = _document(asked.state, known, results)
    return FleetProof(fleet, tuple(properties), results, text, time.perf_counter() - started)


def _document(state: State, known: Sequence[str], results: Sequence[Result]) -> str:
    """A self-contained file with every question, and the answer that the proof needs before each (a row that can fire: Z3's)."""
    lines = [f"; {state.fleet.name}: any number of workers", "(set-info :smt-lib-version 2.6)", f"(set-logic {LOGIC})"]
    lines += state.declarations()
    for free in (True, False):
        lines += [] if free else known
        for asked, answer in ((r.obligation, r.answer) for r in results if r.obligation.free is free):
            status = answer if asked.kind == "fires" else asked.expected
            lines += [
                "(push 1)",
                f"; {asked.name}",
                f"(set-info :status {status})",
                f"(assert {asked.goal})",
                "(check-sat)",
                "(pop 1)",
            ]
    return "\n".join([*lines, ""])


def export_fleet(proof: FleetProof, file: Path) -> None:
    """Write the proof's questions as one SMT-LIB 2 file, the same bytes in every run. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(proof.text, encoding="utf-8")


def to_items(proof: FleetProof) -> dict[str, Item]:
    """The proof as evidence, by property."""
    return {name: _item(proof, name) for name in (P5, *(p.id for p in proof.properties))}


def _item(proof: FleetProof, name: str) -> Item:
    results, verdict = proof.rests_on(name), proof.verdict(name)
    figures: dict[str, int | float | str] = {
        "obligations": len(results),
        "rows": len(proof.fleet.rules),
        "seconds": round(sum(r.seconds for r in results), 3),
        "solver": SOLVER,
    }
    unmet = "; ".join(f"{r.obligation.name}: {r.answer}" for r in results if not r.met)
    said = f"{name} holds in every reachable state, for any number of workers, claims and crashes, by induction."
    if verdict is not Verdict.PROVED:
        said = f"{name}: no inductive proof for any number of workers: {unmet}."
    return Item(checker="prove", verdict=verdict, statement=said, figures=figures, command=COMMAND)


def answers(asked: Obligations, obligations: Sequence[Obligation], budget: int = BUDGET) -> tuple[Result, ...]:
    """The answers to some of the questions, of which `asked` is the author."""
    return tuple(solve_fleet(asked.state, asked.known(), list(obligations), budget, None))


def _ask(
    state: State,
    known: list[str],
    obligations: list[Obligation],
    budget: int,
    progress: Progress | None,
    known_answers: Answered,
    solver: FleetSolve,
) -> Iterator[Result]:
    """Answer each obligation, in order; the same question, under assumptions that are the same word for word, is asked once."""
    assumed = "\n".join([*state.declarations(), *known])
    new = [o for o in obligations if (assumed, o.free, o.goal) not in known_answers]
    for result in solver(state, known, new, budget, progress):
        known_answers[assumed, result.obligation.free, result.obligation.goal] = result
    for obligation in obligations:
        answer = known_answers[assumed, obligation.free, obligation.goal]
        yield replace(answer, obligation=obligation, seconds=answer.seconds if answer.obligation == obligation else 0.0)


def solve_fleet(
    state: State, known: Sequence[str], obligations: Sequence[Obligation], budget: int, progress: Progress | None
) -> Iterator[Result]:
    """Answer each obligation, in order; everything is read in one go, into a context of its own."""
    context = z3.Context()
    lines = [*state.declarations(), *known]
    goals = [f"(assert {o.goal})" for o in obligations]
    terms = list(z3.parse_smt2_string("\n".join([*lines, *goals]), ctx=context))
    split = len(terms) - len(goals)
    domains = split - len(known)
    free, bound = _solver(context, terms[:domains], budget), _solver(context, terms[:split], budget)
    for done, (obligation, goal) in enumerate(zip(obligations, terms[split:], strict=True), 1):
        clock = time.perf_counter()
        solver = free if obligation.free else bound
        solver.push()
        solver.add(goal)
        outcome = solver.check()
        answer: Answer = "sat" if outcome == z3.sat else "unsat" if outcome == z3.unsat else "unknown"
        if answer == "unknown" and solver.reason_unknown().startswith("interrupted"):
            raise KeyboardInterrupt
        model = _model(solver.model(), state, context) if answer == "sat" != obligation.expected else {}
        solver.pop()
        yield Result(obligation, answer, 0, time.perf_counter() - clock, model)
        if progress is not None:
            progress(done, len(obligations))


def _solver(context: z3.Context, terms: Sequence[z3.BoolRef], budget: int) -> z3.Solver:
    solver = z3.SolverFor(LOGIC, ctx=context)
    solver.set("rlimit", budget)
    solver.add(*terms)
    return solver


def _model(model: z3.ModelRef, state: State, context: z3.Context) -> dict[str, str]:
    """The state in which an obligation fails: shared fields, fences, and the fields of each named worker."""
    values = {d.name(): d for d in model.decls()}
    sort = z3.DeclareSort("Worker", context)
    found = {}

    def value(term: z3.ExprRef) -> int:
        return int(model.eval(term, model_completion=True).as_long())

    for f in state.fleet.shared:
        number = value(z3.Int(f.name, context))
        found[f.name] = str(number) if f.count else f.values[number]
    for store in ("events", "ledger", "effects"):
        found[f"fence {store}"] = str(value(z3.Int(f"fence {store}", context)))
    for x in NAMED:
        worker = z3.Const(x, sort)
        name = str(model.eval(worker, model_completion=True))
        found[x] = name
        found[f"{x}.epoch"] = str(value(z3.Function("epoch", sort, z3.IntSort(context))(worker)))
        for f in state.fleet.own:
            number = value(z3.Function(f"its {f.name}", sort, z3.IntSort(context))(worker))
            found[f"{x}.{f.name}"] = str(number) if f.count else f.values[number]
    return found if values else {}
