"""The inductive proof: what it proves, that it fails where a property is broken, and that it is never vacuous."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import z3

from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.proof_cache import BUDGET
from crashwindow.checkers.prove import Proof, export, implies, judge, prove, prove_rows, stops_at, to_items
from crashwindow.checkers.prove_encode import Encoding, conj, saturated
from crashwindow.checkers.prove_needed import unneeded
from crashwindow.checkers.prove_obligations import obligations
from crashwindow.checkers.prove_solve import Obligation, shown, solve
from crashwindow.checkers.search import check, shortest
from crashwindow.model.invariant import INVARIANT, Clause, invariant
from crashwindow.model.machine import Actor, Field, Machine, ModelError, Rule, Scope, State, enabled, guard, holds, show
from crashwindow.model.properties import BY_ID, PROPERTIES, Property
from crashwindow.model.step import build
from crashwindow.model.windows import WINDOWS
from crashwindow.scenarios.policies import POLICIES

from .sampled import sampled
from .spaces import narrowed, space_of

REORDERED = "s0-order-full-recovery"
WRITTEN = ("hardened", REORDERED)  # the policies that the written invariant carries


@cache
def proof(policy: str) -> Proof:
    """The proof of all properties over the written invariant."""
    return prove(build(POLICIES[policy]), PROPERTIES, invariant(POLICIES[policy]))


@cache
def proof_again() -> tuple[Proof, list[tuple[int, int]]]:
    """The hardened policy's proof, made a second time, with the progress that was told."""
    told: list[tuple[int, int]] = []
    made = prove(build(), PROPERTIES, INVARIANT, progress=lambda done, of: told.append((done, of)))
    return made, told


@pytest.mark.parametrize("policy", WRITTEN)
def test_every_property_is_proved(policy: str) -> None:
    """P1, P2, P3, P4, P6, P7, P8, P11 and P14 hold by induction, under either order of the writes; every answer is there."""
    found = proof(policy)
    assert {p.id: found.verdict(p.id) for p in PROPERTIES} == {p.id: Verdict.PROVED for p in PROPERTIES}
    assert found.holds
    assert not found.counterexamples
    assert "unknown" not in {r.answer for r in found.results}


def test_a_stable_key_alone_carries_at_most_once_for_idempotent_tools() -> None:
    """P1 and P11 prove each other, without any written clause, where each tool recognises a repeat and its key is stable."""
    assert prove(build(POLICIES["s4-reexecute-stable-key"]), [BY_ID["P1"], BY_ID["P11"]], ()).holds


def unbroken(policy: str) -> Property:
    """No clause of a policy's invariant is broken."""
    return Property("I", "no clause is broken", never=tuple(clause.never for clause in invariant(POLICIES[policy])))


@pytest.mark.parametrize("policy", WRITTEN)
def test_the_invariant_holds_on_reachable_states(policy: str) -> None:
    """No clause forbids a state that the explorer reaches with one kind of tool: the two readers of the rows agree."""
    one = narrowed(build(POLICIES[policy]), idempotent="no", on_unknown="query", look="quiet")
    assert check(explore(one), unbroken(policy)) is None


@pytest.mark.deep
@pytest.mark.parametrize("policy", WRITTEN)
def test_the_invariant_holds_on_every_reachable_state(policy: str) -> None:
    """The same with every kind of tool."""
    assert check(space_of(policy), unbroken(policy)) is None


def test_a_clause_that_a_reachable_state_breaks_is_named() -> None:
    """The check above says no to a single false clause among the true ones."""
    false = Clause("no step is done", guard(checkpoint="yes"), "planted")
    clauses = Property("I", "", never=tuple(clause.never for clause in (*INVARIANT, false)))
    found = check(explore(narrowed(build(), idempotent="no", on_unknown="park", look="none")), clauses)
    assert found is not None
    assert "checkpoint = yes" in found.part


@pytest.mark.parametrize("policy", WRITTEN)
def test_the_rules_that_cannot_fire_are_those_that_never_fire(policy: str) -> None:
    """Unreachable under the invariant and never fired by the explorer are the same rules."""
    rules = {r.name for r in build(POLICIES[policy]).rules}
    assert set(proof(policy).unreachable) == rules - space_of(policy).fired


def test_the_antecedents_are_reached() -> None:
    """Each `occurs` guard is possible under the invariant, and the explorer comes to such a state."""
    asked = [r for r in proof("hardened").results if r.obligation.kind == "occurs"]
    assert len(asked) == sum(len(p.occurs) for p in PROPERTIES)
    assert all(r.answer == "sat" for r in asked)
    assert all(space_of("hardened").find(g) is not None for p in PROPERTIES for g in p.occurs)


def test_every_clause_is_needed() -> None:
    """Without any one of the written clauses the proof fails: an auditor reads nothing in vain."""
    assert [c.name for c in unneeded(build(), PROPERTIES, INVARIANT)] == []
    assert len({c.name for c in INVARIANT}) == len(INVARIANT)


def test_an_idle_clause_is_named() -> None:
    """The check itself says no to a clause that is true, inductive and useless."""
    idle = Clause("idle", guard(sent="yes"), "planted")
    assert unneeded(build(), PROPERTIES, (*INVARIANT, idle)) == [idle]
    with pytest.raises(ValueError, match="no proof"):
        unneeded(build(), PROPERTIES, INVARIANT[1:])


REFUTED = [
    ("s4-reexecute-stable-key", ("P2",)),
    ("s0-confirmation", ("P8",)),
    ("s4-reexecute", ("P1", "P2", "P6", "P11")),
    ("s1-row2-retry", ("P1", "P2", "P6")),
    ("s0-events-alone", ("P1", "P2", "P3", "P4", "P6")),
    ("s0-events-alone-barrier", ("P3", "P4", "P6")),
    ("barrier-before-lookup", ("P3", "P4")),
    ("s2-any-failure", ("P1", "P2", "P6")),
    ("s2-first-alone", ("P4",)),
    ("s0-verifier-errors", ("P4",)),
]


@pytest.mark.parametrize(("policy", "refuted"), sampled(REFUTED, 2))
def test_what_the_explorer_refutes_is_not_proved(policy: str, refuted: tuple[str, ...]) -> None:
    """For a policy as written, each refuted property fails to be inductive, whatever clauses stand beside it."""
    machine = build(POLICIES[policy])
    for identifier in refuted:
        assert shortest(policy, BY_ID[identifier].never)[1] is not None
        for clauses in ((), invariant(POLICIES[policy])):
            # One counterexample to the induction, or to the property itself, and it is not proved.
            stop = stops_at(machine, [BY_ID[identifier]], clauses)
            assert stop
            assert stop.obligation.property in ("", identifier)
    found = prove(machine, [BY_ID[refuted[0]]], invariant(POLICIES[policy]))
    assert found.verdict(refuted[0]) is Verdict.NOT_CHECKED
    assert found.counterexamples


def rewritten(machine: Machine, name: str, change: Callable[[Rule], Rule]) -> Machine:
    """The machine with one row changed, and with it the row's twin whose answer is lost."""
    names = (name, f"{name} (answer lost)")
    assert any(r.name in names for r in machine.rules)
    return replace(machine, rules=tuple(change(r) if r.name in names else r for r in machine.rules))


def writing(name: str, **writes: str) -> Callable[[Machine], Machine]:
    """A mutant: a row writes something else."""
    return lambda m: rewritten(m, name, lambda r: replace(r, writes={**r.writes, **writes}))


def leading(name: str, to: str) -> Callable[[Machine], Machine]:
    """A mutant: a row leads elsewhere, acknowledged at once or found later."""

    def change(m: Machine) -> Machine:
        return replace(m, rules=tuple(
            replace(r, writes={**r.writes, "at": to}) if r.name in (name, f"{name} (found)") else r for r in m.rules
        ))  # fmt: skip

    return change


def blind(name: str, *fields: str) -> Callable[[Machine], Machine]:
    """A mutant: a row no longer looks at some fields."""

    def look(rule: Rule) -> Rule:
        return replace(rule, sees={n: v for n, v in rule.sees.items() if n not in fields})

    return lambda m: rewritten(m, name, look)


def seeing(name: str, **literals: str) -> Callable[[Machine], Machine]:
    """A mutant: a row asks for something else."""
    return lambda m: rewritten(m, name, lambda r: replace(r, sees={**r.sees, **guard(**literals)}))


def forgetting(name: str, *fields: str) -> Callable[[Machine], Machine]:
    """A mutant: a row no longer writes some fields."""

    def skip(rule: Rule) -> Rule:
        return replace(rule, writes={n: v for n, v in rule.writes.items() if n not in fields})

    return lambda m: rewritten(m, name, skip)


MUTANTS = {
    "B2 is left out": ("P14.1", leading("acquire", "execute")),
    "an open attempt is executed again": ("P1.1", leading("5: open attempt", "acquire")),
    "rule 4 looks at any attempt": ("P1.1", blind("4: all closed", "open")),
    "closing looks at the last attempt": ("P2.10", blind("every attempt is closed", "open")),
    "a lost answer is taken for a refusal": ("P2.10", leading("no reply, lost", "append_no_effect")),
    "a late request is taken for a refusal": ("P1.1", leading("no reply, still on the wire", "append_no_effect")),
    "a person may say no at once": ("P1.1", blind("person: did not happen", "quiet")),
    "a query may say no at once": ("P1.1", blind("query: absent, quiet", "quiet")),
    "a fencing look does not fence": ("P1.1", forgetting("query: absent, fenced", "wire")),
    "the request is sent twice": ("P1.1", writing("send request", wire="+1")),
    "each sending has a new key": ("P11.1", writing("send request", keys="+1")),
    "commit leaves the result out": ("P6.4", forgetting("commit", "recorded")),
    "finished says another result": ("P6.1", writing("append finished", finished="other")),
    "finished is left out": ("P3.1", leading("put effect", "append_committed")),
    "the terminal event comes before the checkpoint": ("P6.8", leading("append node finished", "append_completed")),
    "a refusal is taken for doubt": ("P4.1", leading("reply: no effect", "append_unknown")),
    "no effect without asking": ("P2.10", leading("5: open attempt", "ledger_no_effect")),
    "UNKNOWN is not written": ("P6.17", leading("5: open attempt", "on_unknown")),
    "an effect record is replaced": ("P7", writing("put effect: there", effect="other")),
    "a completed job is opened again": ("P7", seeing("elsewhere: resolved, after", job="completed")),
    "a cancel looks at no attempt": ("P2.10", blind("acquire: cancelled", "open")),
    "a cancel does not settle the ledger": ("P6", leading("6: cancelled", "append_cancelled")),
    "nobody asked for a cancel": ("P4.9", blind("8: cancelled", "told")),
    "a step with an unknown outcome is requeued": ("P2.12", leading("on unknown: fail", "append_retryable")),
    "the catch-up from the effect store is not confirmed": ("P8.1", writing("3: effect record", fresh="yes")),
    "a finished node is skipped, whatever the verifier says": (
        "P8.1",
        leading("confirm: mismatch, again", "checkpoint"),
    ),
    "a mismatch is injected without a warning": (
        "P8.1",
        leading("confirm: mismatch, warned of", "append_node_finished"),
    ),
    "a partial effect is called a success": ("P2.7", leading("a partial effect, for good", "append_node_finished")),
    "a checkpoint is taken back": ("P7", writing("elsewhere: resolved, after", checkpoint="no")),
}
"""Plausible bugs, each with a property that the explorer finds broken."""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.deep) if n % 3 else each for n, each in enumerate(MUTANTS)]
)
def test_a_planted_bug_makes_the_proof_fail(name: str) -> None:
    """The explorer refutes the mutant, and the prover, which finds counterexamples to induction, does not prove it."""
    broken, change = MUTANTS[name]
    machine = change(build())
    identifier, _, guard_number = broken.partition(".")
    never = BY_ID[identifier].never[int(guard_number) - 1] if guard_number else None
    # What has been written stays: a step that breaks this breaks it for each kind of tool.
    one = narrowed(machine, idempotent="no", on_unknown="park", look="none")
    found = explore(one) if never is None else explore(machine, never)
    assert (check(found, BY_ID[identifier]) if never is None else found.find(never)) is not None
    stop = stops_at(machine, PROPERTIES, INVARIANT)
    assert stop
    assert stop.obligation.property in ("", identifier)


def test_a_counterexample_is_what_it_says() -> None:
    """Before, the invariant holds and the rule is enabled; after, the named clauses are broken, by the interpreter's reading."""
    machine = leading("5: open attempt", "acquire")(build())
    found = prove(machine, PROPERTIES, INVARIANT)
    assert {c.obligation.rule for c in found.counterexamples} == {"5: open attempt"}
    for c in found.counterexamples:
        before, after = saturated(machine, c.before), saturated(machine, c.after)
        assert not any(holds(before, clause.never) for clause in found.invariant)
        assert enabled(before, machine.rule(c.obligation.rule))
        assert c.broken == tuple(clause.name for clause in found.invariant if holds(after, clause.never))
        assert "none open on the way to B2" in c.broken


def test_a_proof_stops_where_it_fails_first() -> None:
    """What is asked only whether it fails stops at the first counterexample of the whole proof, and at none of a proof."""
    machine = leading("5: open attempt", "acquire")(build())
    stop = stops_at(machine, PROPERTIES, INVARIANT)
    assert stop
    assert stop.obligation.name == prove(machine, PROPERTIES, INVARIANT).counterexamples[0].obligation.name
    assert "none open on the way to B2" in stop.broken
    assert stops_at(build(), PROPERTIES, INVARIANT) is None
    assert stops_at(machine, PROPERTIES, INVARIANT, budget=1) is None


def test_a_vacuous_proof_is_an_error() -> None:
    """Contradictory clauses, no configuration left, or an antecedent that cannot occur: ERROR, never PROVED."""
    contradiction = (Clause("yes", guard(look="none|quiet"), ""), Clause("no", guard(look="fence"), ""))
    assert prove(build(), [BY_ID["P1"]], contradiction).verdict("P1") is Verdict.ERROR
    nowhere = replace(build(), impossible=(guard(idempotent="no|yes"),))
    assert prove(nowhere, PROPERTIES, INVARIANT).verdict("P1") is Verdict.ERROR
    silent = replace(BY_ID["P1"], occurs=(guard(effects="2"),))
    mixed = prove(build(), [silent, *PROPERTIES[1:]], INVARIANT)
    assert mixed.verdict("P1") is Verdict.ERROR
    assert mixed.verdict("P2") is Verdict.PROVED


def test_no_answer_is_an_error() -> None:
    """A solver that is out of its budget proves nothing, and says so in the evidence; nothing asked is nothing proved."""
    assert judge([]) is Verdict.NOT_CHECKED
    found = prove(build(), PROPERTIES, INVARIANT, budget=1)
    assert {found.verdict(p.id) for p in PROPERTIES} == {Verdict.ERROR}
    assert found.verdict("P99") is Verdict.NOT_CHECKED
    assert all("unknown" in item.statement for _, item in to_items(found))


def test_evidence_of_a_proof_and_of_a_failure() -> None:
    """An item per property: PROVED with its figures, or the rule and the clause at which the induction fails."""
    items = dict(to_items(proof("hardened")))
    assert list(items) == [p.id for p in PROPERTIES]
    assert all(item.verdict is Verdict.PROVED and item.checker == "prove" for item in items.values())
    assert items["P1"].figures.keys() == {"obligations", "questions in files", "clauses", "seconds", "rlimit", "solver"}
    failed = dict(to_items(prove(leading("5: open attempt", "acquire")(build()), PROPERTIES, INVARIANT)))
    assert failed["P1"].verdict is Verdict.NOT_CHECKED
    assert "5: open attempt" in failed["P1"].statement
    assert "none open on the way to B2" in failed["P1"].statement


def test_the_rows_of_the_table_are_proved() -> None:
    """The invariant implies each window's number of effects at the crash; a wrong number is not proved."""
    rows = prove_rows(proof("hardened"), WINDOWS)
    assert rows == {w.id: Verdict.PROVED for w in WINDOWS}
    wrong = [replace(w, at_crash=frozenset({"0"})) for w in WINDOWS if w.id == "5"]
    assert prove_rows(proof("hardened"), wrong) == {"5": Verdict.NOT_CHECKED}


def test_what_is_implied() -> None:
    """An implication is proved, or open, or vacuous; over an invariant that is not proved it is never proved."""
    committed = guard(ledger="committed")
    assert implies(proof("hardened"), committed, [guard(effects="0"), guard(effects="2")]) is Verdict.PROVED
    assert implies(proof("hardened"), committed, [guard(checkpoint="yes")]) is Verdict.NOT_CHECKED
    assert implies(proof("hardened"), guard(effects="2"), [guard(open="0")]) is Verdict.ERROR
    broken = prove(leading("5: open attempt", "acquire")(build()), PROPERTIES, INVARIANT)
    assert implies(broken, committed, [guard(effects="0")]) is Verdict.NOT_CHECKED


def sample(found: Space, count: int) -> Iterator[dict[str, str]]:
    """For each rule that fires a reachable state in which it does, and some more at random."""
    machine, packing = found.machine, found.packing
    shown: set[str] = set()
    for rule in machine.rules:
        if rule.name in found.fired - shown:
            match = packing.matcher(rule.guards)
            views = (machine.view(packing.unpack(s)) for s in found.parents if match(s))
            view = next(view for view in views if enabled(view, rule))
            # What else fires there has its state as well.
            shown |= {other.name for other in machine.rules if enabled(view, other)}
            yield view
    for packed in random.Random(1).sample(list(found.parents), count):
        yield machine.view(packing.unpack(packed))


class Reading:
    """What the encoder says of rules, evaluated by Z3 in single states."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.code, self.context = machine, Encoding(machine), z3.Context()
        self.guards = self.read([self.code.enabled(rule) for rule in machine.rules])
        self.after = [self.read([f"(= {self.code.value_after(r, n)} 0)" for n in r.writes]) for r in machine.rules]

    def read(self, terms: list[str]) -> list[z3.BoolRef]:
        """The terms as Z3 reads them."""
        lines = [*self.code.declarations(), *(f"(assert {t})" for t in terms)]
        return list(z3.parse_smt2_string("\n".join(lines), ctx=self.context))[len(self.machine.fields) :]

    def model(self, view: dict[str, str]) -> z3.ModelRef:
        """The state as a model: a "2" is the number two."""
        solver = z3.Solver(ctx=self.context)
        solver.add([z3.Int(f.name, self.context) == code_of(f, view[f.name]) for f in self.machine.fields])
        assert solver.check() == z3.sat
        return solver.model()

    def enabled(self, model: z3.ModelRef) -> list[Rule]:
        """The rules that may fire."""
        pairs = zip(self.machine.rules, self.guards, strict=True)
        return [rule for rule, term in pairs if z3.is_true(model.eval(term, model_completion=True))]

    def successor(self, view: dict[str, str], model: z3.ModelRef, rule: Rule) -> State:
        """The state after a rule, counts of two or more as the interpreter writes them."""
        terms = self.after[self.machine.rules.index(rule)]
        ends = [model.eval(term.arg(0), model_completion=True).as_long() for term in terms]
        told = {name: self.code.value(name, end) for name, end in zip(rule.writes, ends, strict=True)}
        return tuple(saturated(self.machine, {**view, **told}).values())


def code_of(field: Field, value: str) -> int:
    """A model value as the encoder's number."""
    return int(value) if field.count else field.values.index(value)


def test_the_encoding_agrees_with_the_interpreter() -> None:
    """On reachable states, for every rule: the solver's reading of enabled and of the state after is the interpreter's."""
    machine = build()
    reading = Reading(machine)
    fired = set()
    for view in sample(space_of("hardened"), 50):
        model = reading.model(view)
        successors = list(machine.successors(tuple(view.values())))
        rules = reading.enabled(model)
        assert rules == [rule for rule in machine.rules if enabled(view, rule)]
        for rule in rules:
            assert reading.successor(view, model, rule) in [after for by, after in successors if by is rule]
        fired |= {rule.name for rule in rules}
    assert fired == space_of("hardened").fired


def test_a_guard_after_a_rule_is_the_guard_in_its_successors() -> None:
    """For enabled rules on reachable states with small counts: each clause after is what it is in the state that follows."""
    machine = build()
    code = Encoding(machine)
    views = [v for v in sample(space_of("hardened"), 10) if "2" not in (v["open"], v["closed"], v["wire"])][::9]
    assert views
    for view in views:
        state = conj(f"(= |{f.name}| {code_of(f, view[f.name])})" for f in machine.fields)
        asked, expected = [], []
        for rule, after in machine.successors(tuple(view.values())):
            for clause in INVARIANT[::7]:
                asked.append(
                    Obligation(rule.name, "rule", "sat", conj([state, code.guard_after(rule, clause.never)]), free=True)
                )
                expected.append("sat" if holds(machine.view(after), clause.never) else "unsat")
        assert [r.answer for r in solve(machine, (), asked)] == expected


@pytest.mark.parametrize("apart", [12, pytest.param(5, marks=pytest.mark.deep)])
def test_files_for_another_solver(apart: int, tmp_path: Path) -> None:
    """Every obligation is a self-contained file, the same bytes in every run, whose stated answer a fresh solver gives."""
    written, again = proof("hardened"), proof_again()[0]
    export(written, tmp_path / "one" / "smt2")
    export(again, tmp_path / "two" / "smt2")
    files = sorted((tmp_path / "one" / "smt2").iterdir())
    assert len(files) == len(written.results)
    for file in files:
        assert file.read_bytes() == (tmp_path / "two" / "smt2" / file.name).read_bytes()
    for file in files[::apart]:
        solver = z3.Solver(ctx=z3.Context())
        solver.from_file(str(file))
        assert f"(set-info :status {solver.check()})" in file.read_text(encoding="utf-8")


def test_costs_are_counted_in_resource_units_and_told() -> None:
    """Costs do not depend on the clock: a second proof costs the same; progress reaches the number of obligations."""
    again, told = proof_again()
    assert [r.rlimit for r in again.results] == [r.rlimit for r in proof("hardened").results]
    assert told == [(n, len(again.results)) for n in range(1, len(again.results) + 1)]


def toy(*rules: Rule, start: str = "0") -> Machine:
    """A machine that is no tool step: two counts, a copy, a place."""
    return Machine(
        "toy",
        (
            Field("place", Scope.VOLATILE, ("here", "there"), "where the worker is"),
            Field("level", Scope.DURABLE, ("0", "1", "2"), "a count", (start,), count=True),
            Field("copy", Scope.DURABLE, ("0", "1", "2"), "another count", count=True),
        ),
        rules,
    )


UP = Rule("up", Actor.WORKER, guard(place="here"), writes={"level": "+1", "place": "there"})
DOWN = Rule("down", Actor.WORKER, guard(place="there", level="2"), writes={"level": "-1", "place": "here"})


def test_counts_have_no_upper_end() -> None:
    """From two or more, down to one and up again: never 0 is proved, never more than two is not, with a number above two."""
    never_empty = Property("P", "never empty", never=(guard(level="0"),), occurs=(guard(level="2"),))
    assert prove(toy(UP, DOWN, start="2"), [never_empty], ()).holds
    few = Property("P", "never one, there", never=(guard(level="1", place="there"),), occurs=(guard(level="1"),))
    found = prove(toy(UP, DOWN, start="1"), [few], ())
    assert [c.obligation.rule for c in found.counterexamples] == ["up"]
    assert found.counterexamples[0].before["level"] == "0"
    assert prove(toy(UP, DOWN, start="1"), [few], (Clause("not empty", guard(level="0"), ""),)).holds


def test_copies_and_written_counts() -> None:
    """A copy is equality and a written constant is that number: neither is rounded to two or more."""
    copy = Rule("copy", Actor.WORKER, guard(place="here"), writes={"copy": "=level"})
    same = Property("P", "a copy is no more", never=(guard(copy="1|2", level="0"),), occurs=(guard(copy="1"),))
    assert prove(toy(UP, copy), [same], ()).holds
    reset = replace(UP, name="reset", writes={"level": "0"})
    found = prove(toy(UP, copy, reset), [same], ())
    assert [c.obligation.rule for c in found.counterexamples] == ["reset"]
    exact = Rule(
        "two, then one less", Actor.WORKER, guard(place="there", level="2"), writes={"copy": "2", "level": "2"}
    )
    grows = Property("P", "counts grow", grows=("level",), occurs=(guard(level="1"),))
    assert [c.obligation.rule for c in prove(toy(UP, exact), [grows], ()).counterexamples] == [exact.name]


def test_what_cannot_be_encoded_is_refused() -> None:
    """A copy between a count and a field that is none has no meaning without an upper end."""
    plain = Field("plain", Scope.DURABLE, ("0", "1", "2"), "no count")
    machine = toy(UP)
    mixed = Rule("mixed", Actor.WORKER, writes={"plain": "=level"})
    with pytest.raises(ModelError, match="'mixed' copies 'level' into 'plain'"):
        prove(
            replace(machine, fields=(*machine.fields, plain), rules=(mixed,)),
            [Property("P", "", never=(guard(plain="2"),))],
            (),
        )


def test_each_clause_says_why() -> None:
    """Each clause has a reason, and prints as a few lines at most."""
    assert all(clause.why for clause in INVARIANT)
    assert max(len(show(clause.never)) for clause in INVARIANT) < 700


def test_a_question_is_answered_as_if_it_were_the_only_one() -> None:
    """Together with questions that contradict it, or that cannot be met, each is answered as alone; a failing one shows the
    state that it shows alone, and one without an answer leaves the others theirs.
    """
    machine = leading("5: open attempt", "acquire")(build())
    invariant_of = prove(machine, PROPERTIES, INVARIANT).invariant
    code = Encoding(machine)
    here, not_here = code.guard(guard(at="idle")), code.guard(guard(at="execute"))
    planted = [
        Obligation("idle", "occurs", "sat", here),
        Obligation("at B3", "occurs", "sat", not_here),
        Obligation("both", "occurs", "sat", conj([here, not_here])),
        Obligation("idle is not", "implies", "unsat", here),
        Obligation("nothing", "implies", "unsat", "false"),
        Obligation("anything", "implies", "unsat", "true", free=True),
    ]
    asked = [*planted, *list(obligations(machine, PROPERTIES, invariant_of))[:60]]
    alone = [next(solve(machine, invariant_of, [each])) for each in asked]
    together = list(solve(machine, invariant_of, asked))
    assert [r.answer for r in together[: len(planted)]] == ["sat", "sat", "unsat", "sat", "unsat", "sat"]
    assert [(r.answer, r.state) for r in together] == [(r.answer, r.state) for r in alone]
    assert any(r.state for r in together[len(planted) :])
    assert [r.answer for r in shown(machine, invariant_of, asked, BUDGET)] == [r.answer for r in alone]
