"""Gates (P9), compensations (P10) and recorded values (P12) in the model: what is searched, proved, refuted, and needed."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.prove import Proof, prove, stops_at
from crashwindow.checkers.prove_needed import unneeded
from crashwindow.checkers.search import check, examine, witness
from crashwindow.checkers.semantics_stages import CANARIES, CLAUSES, MODELS, PROVED, SEMANTICS_STAGES, planted
from crashwindow.checkers.traces import replay
from crashwindow.checkers.verify import Context, Found
from crashwindow.model.boundaries import BY_NAME
from crashwindow.model.claim_types import PROPERTY_BY_ID, Claim
from crashwindow.model.claims import CLAIM_BY_ID
from crashwindow.model.compensation import COMPENSATION_RULES
from crashwindow.model.contract import BOUNDARIES as CONTRACT_BOUNDARIES
from crashwindow.model.gate import GATE_RULES
from crashwindow.model.recorded import RECORDED_RULES
from crashwindow.model.semantics_claims import SEMANTICS_CLAIMS
from crashwindow.scenarios.machines import machine_of
from crashwindow.scenarios.semantics_policies import SEMANTICS_POLICIES

from .sampled import sampled

SHORT: Mapping[str, Mapping[str, str]] = {
    "gate": GATE_RULES,
    "compensation": COMPENSATION_RULES,
    "recorded": RECORDED_RULES,
}
RULES = [(short, rule) for short, rules in SHORT.items() for rule in rules]


@cache
def space(policy: str) -> Space:
    """The whole space of a policy's machine."""
    return explore(machine_of(policy))


@cache
def proof(policy: str) -> Proof:
    """The proof of a hardened machine's properties over its written invariant."""
    model = MODELS[policy]
    return prove(model.build(), model.properties, model.invariant)


def failing(found: Space, policy: str) -> list[str]:
    """Which properties of a hardened machine a search finds broken."""
    return [p.id for p in MODELS[policy].properties if check(found, p)]


STATES = {
    "gate-hardened": 2838,
    "gate-as-written": 9020,
    "compensation-hardened": 3972,
    "compensation-as-written": 11122,
    "compensation-as-written-idempotent": 4370,
    "compensation-as-written-finished": 20000,
    "recorded-hardened": 166,
}


def test_the_spaces_are_the_ones_that_were_read() -> None:
    """The number of reachable states is pinned: whoever changes a row sees that the space changed."""
    assert {name: len(space(name)) for name in STATES} == STATES
    assert STATES.keys() | {f"{short}-without-{rule}" for short, rule in RULES} == SEMANTICS_POLICIES.keys()


def test_the_rows_speak_the_language_of_the_boundaries() -> None:
    """Every boundary that a row is labelled with is one that the runtime's writes are named by."""
    known = {*BY_NAME, *(name for _, name, _ in CONTRACT_BOUNDARIES)}
    rows = [rule for policy in SEMANTICS_POLICIES for rule in machine_of(policy).rules]
    assert {rule.boundary for rule in rows if rule.boundary} <= known


UNREACHED = {
    "gate-hardened": set(),
    # What would be a second effect, or one after its compensation, is there to be found, and is out of reach.
    "compensation-hardened": {
        "the call acts again",
        "the call is recognised",
        "a late call acts again",
        "a late call is recognised",
        "step: acts while started, after its compensation",
        "step: acts while unknown, after its compensation",
    },
    "recorded-hardened": set(),
}


@pytest.mark.parametrize("policy", MODELS)
def test_the_hardened_machines_keep_their_properties(policy: str) -> None:
    """P9, P10 and P12 hold in every reachable state; each antecedent is reached; every row fires but those that are the harm."""
    assert failing(space(policy), policy) == []
    assert all(all(witness(space(policy), p)) for p in MODELS[policy].properties)
    assert {rule.name for rule in space(policy).machine.rules} - space(policy).fired == UNREACHED[policy]


@pytest.mark.parametrize(("short", "rule"), RULES)
def test_every_rule_is_needed(short: str, rule: str) -> None:
    """Without one rule exactly the properties fail that the register names, and for each of them the proof fails as well."""
    policy, hardened = f"{short}-without-{rule}", f"{short}-hardened"
    model = MODELS[hardened]
    broken = failing(space(policy), hardened)
    assert broken == list(CLAIM_BY_ID[f"WITHOUT-{rule}"].properties)
    found = prove(machine_of(policy), model.properties, model.invariant)
    assert all(found.verdict(name) is not Verdict.PROVED for name in broken)


@pytest.mark.parametrize("claim", sampled(SEMANTICS_CLAIMS, 3), ids=lambda claim: claim.id)
def test_a_claim_comes_out_as_registered(claim: Claim) -> None:
    """Search refutes what is registered as refuted, with a trace that can be replayed, and exhausts what holds."""
    items = examine(claim, {claim.policy: space(claim.policy)})
    wanted = Verdict.REFUTED if claim.expected == "REFUTED" else Verdict.EXHAUSTED
    assert [item.verdict for item in items] == [wanted] * max(1, len(claim.properties))
    for item in items:
        if claim.kind != "rest":
            assert item.trace
            assert replay(item.trace.key) == item.trace


@pytest.mark.parametrize("policy", MODELS)
def test_every_property_is_proved(policy: str) -> None:
    """By induction, for any number of crashes, signals, requests and answers; the solver left nothing open."""
    assert proof(policy).holds
    assert not proof(policy).counterexamples
    assert set(proof(policy).unreachable) == UNREACHED[policy]


@pytest.mark.parametrize("policy", MODELS)
def test_every_clause_is_true_and_needed(policy: str) -> None:
    """No clause forbids a reachable state, and without any one of them the proof fails."""
    model = MODELS[policy]
    assert [c.name for c in model.invariant if space(policy).find(c.never) is not None] == []
    assert unneeded(model.build(), model.properties, model.invariant) == []


@pytest.mark.parametrize("policy", [policy for policy in CLAUSES if policy not in MODELS])
def test_what_holds_as_written_is_proved(policy: str) -> None:
    """A sentence of S2 that needs no hardening has a proof of its own, without an idle clause."""
    stated = [PROPERTY_BY_ID[name] for claim in PROVED if claim.policy == policy for name in claim.properties]
    assert stated
    assert prove(machine_of(policy), stated, CLAUSES[policy]).holds
    assert unneeded(machine_of(policy), stated, CLAUSES[policy]) == []


def test_an_idempotent_callback_needs_its_assumption() -> None:
    """The proof that the event stream suffices for an idempotent callback fails for one that is not."""
    assert stops_at(machine_of("compensation-as-written"), [PROPERTY_BY_ID["COMP-ONCE"]], ())


def rules_of(claim: str) -> list[str]:
    """The rules that fire in a claim's first counterexample."""
    [item, *_] = examine(CLAIM_BY_ID[claim], {})
    assert item.trace
    return [frame.rule for frame in item.trace.frames]


def test_the_doubled_compensation_needs_one_crash() -> None:
    """As written: a crash between the callback and step_compensated, and the callback is called again."""
    run = rules_of("S2-COMP-BY-EVENTS")
    assert run.count("crash") == 1
    assert run.count("call the compensation") == 2
    assert run[-1] == "the call acts again"


def test_the_gate_that_is_no_gate_on_recovery() -> None:
    """The classic bug: the job is woken by a stray signal, and the next worker takes the node for passed."""
    run = rules_of("WITHOUT-G-ASK")
    assert "replay: entered before, so passed" in run
    assert not {"person: approves", "person: denies"} & set(run)


def test_another_answer_doubles_the_effect() -> None:
    """Used before it was recorded: after a crash the model answers otherwise, and the step under the other key acts as well."""
    [item] = [i for i in examine(CLAIM_BY_ID["WITHOUT-L-RECORD"], {}) if "P12-ONE-EFFECT" in i.statement]
    assert item.trace
    run = [frame.rule for frame in item.trace.frames]
    assert run.count("crash") == 1
    assert {"use the first value", "use the other value"} <= set(run)


MUTANTS: Mapping[str, tuple[str, str, Mapping[str, str], str]] = {
    **{name: (*mutant, "") for name, mutant in CANARIES.items()},
    "a person is asked again about another action, after a denial": (
        "gate-hardened", "gate: denied", {"at": "ask"}, "P9"),
    "an approval of another action is recorded as one of this": (
        "gate-hardened", "append wait_completed, another action, first", {"wait": "first", "at": "start"}, "P9"),
    "a cancelled job waits on": (
        "gate-hardened", "cancel a waiting job", {"cancel": "yes"}, "P9-WAITING"),
    "a refusal is recorded as a compensation": (
        "compensation-hardened", "the callback refuses", {"request": "none", "at": "put_record"}, "P10"),
    "no answer is taken for no effect": (
        "compensation-hardened", "the callback does not answer",
        {"request": "none", "late": "+1", "at": "append_no_effect"}, "P10"),
    "an unresolved effect is compensated": (
        "compensation-hardened", "decide: nobody asks", {"at": "acquire"}, "P10-COMMITTED"),
    "a compensated step is begun again": (
        "compensation-hardened", "decide: terminal", {"at": "acquire"}, "P10-TERMINAL"),
    "another answer is committed than was put": (
        "recorded-hardened", "append committed, llm, other", {"committed": "first", "at": "append_node"}, "P12"),
    "a lost answer of the effect store asks again": (
        "recorded-hardened", "put effect, first (answer lost)", {"effect": "first", "at": "ask"}, "P12"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_found_twice(name: str) -> None:
    """A row that writes something else is found by the search, and stops the proof."""
    policy, rule, writes, wanted = MUTANTS[name]
    mutant = planted(policy, rule, writes)
    broken = failing(explore(mutant), policy)
    assert broken
    assert not wanted or wanted in broken
    assert stops_at(mutant, MODELS[policy].properties, MODELS[policy].invariant)


@pytest.mark.parametrize(
    ("claim", "dead"),
    [
        ("P9-REST", "the signal of a decision is sent again"),
        ("P10-REST", "park"),
        ("P12-REST", "append job_completed"),
    ],
)
def test_a_job_that_cannot_rest_is_found(claim: str, dead: str) -> None:
    """Take a row away and states are stuck: without the repeated signal, the job whose decider has crashed waits for ever."""
    registered = CLAIM_BY_ID[claim]
    machine = MODELS[registered.policy].build()
    thin = explore(replace(machine, rules=tuple(r for r in machine.rules if r.name != dead)))
    [item] = examine(registered, {registered.policy: thin})
    assert item.verdict is Verdict.REFUTED
    assert item.trace


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Found, ...]]:
    """A run's directory, and what the stages find."""
    directory = tmp_path_factory.mktemp("run")
    context = Context("quick", 1, directory, lambda words: None)
    return directory, tuple(stage.run(context) for stage in SEMANTICS_STAGES)


def test_the_stages_say_what_the_register_expects(run: tuple[Path, tuple[Found, ...]]) -> None:
    """Each claim comes out as registered; all planted defects die; every machine is described; proofs are files."""
    directory, found = run
    for stage, part in zip(SEMANTICS_STAGES, found, strict=True):
        assert set(part.items) <= set(stage.claims)
        for name, items in part.items.items():
            expected = Verdict(CLAIM_BY_ID[name].expected)
            weaker = (Verdict.EXHAUSTED,) if expected is Verdict.PROVED else ()
            assert {item.verdict for item in items} <= {expected, *weaker}, name
    assert {machine.policy for part in found for machine in part.machines} == SEMANTICS_POLICIES.keys()
    assert len([mutant for part in found for mutant in part.mutants]) == len(CANARIES)
    assert all(mutant.killed_by for part in found for mutant in part.mutants)
    assert all(list((directory / "smt2" / policy).glob("*.smt2")) for policy in CLAUSES)
