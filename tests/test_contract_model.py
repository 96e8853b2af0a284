"""The contract's model: what is searched, proved and refuted, which rules are needed, and what stands for other contracts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from crashwindow.checkers.contract_keys import S3_FORMULA, computed, distinct, salted
from crashwindow.checkers.contract_search import ends
from crashwindow.checkers.contract_stages import CANARIES, CONTRACT_STAGES, PROVED, SEARCHED, UNCHECKED, planted
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.prove import Proof, prove, stops_at
from crashwindow.checkers.prove_needed import unneeded
from crashwindow.checkers.search import check, examine, witness
from crashwindow.checkers.traces import replay
from crashwindow.checkers.verify import Context, Found
from crashwindow.model.claim_types import Claim
from crashwindow.model.contract import AS_WRITTEN, HARDENED, RULES, Rule, Status
from crashwindow.model.contract_claims import CONTRACT_CLAIMS
from crashwindow.model.contract_invariant import AS_WRITTEN_INVARIANT, CONTRACT_INVARIANT
from crashwindow.model.contract_machine import build_contract
from crashwindow.model.contract_policy import HARDENED_CONTRACT, ContractPolicy
from crashwindow.model.contract_properties import CONTRACT_BY_ID, CONTRACT_PROPERTIES, HOLDING, SENTENCES
from crashwindow.model.contract_rows import Rows
from crashwindow.model.machine import Actor, Guard, Machine, holds
from crashwindow.model.machine import Rule as Row
from crashwindow.scenarios.contract_policies import AS_WRITTEN_CONTRACT, CONTRACT_POLICIES, without

from .sampled import sampled

HARD = HARDENED_CONTRACT.name


@cache
def space(policy: str) -> Space:
    """The whole space of a contract policy's machine."""
    return explore(build_contract(CONTRACT_POLICIES[policy]))


@cache
def proof() -> Proof:
    """The proof of C1 to C10 over the written invariant."""
    return prove(build_contract(), CONTRACT_PROPERTIES, CONTRACT_INVARIANT)


def failing(found: Space) -> list[str]:
    """Which of C1 to C10 a search finds broken."""
    return [p.id for p in CONTRACT_PROPERTIES if check(found, p)]


STATES = {
    HARD: 352,
    "contract-without-C-ACTOR": 513,
    "contract-without-C-UNKNOWN": 350,
    "contract-without-C-ORPHAN": 708,
    "contract-without-C-DENY": 399,
    "contract-without-C-DEFER": 358,
    "contract-without-C-ONCE": 3435,
    "contract-without-C-RETRY": 3240,
    "contract-without-C-BIND": 1047,
    "contract-without-C-RESUME": 1519,
    "contract-without-C-AHEAD": 512,
    "contract-without-C-HISTORY": 533,
}


def test_the_spaces_are_the_ones_that_were_read() -> None:
    """The number of reachable states is pinned: whoever changes a row sees that the space changed."""
    assert {name: len(space(name)) for name in STATES} == STATES
    assert STATES.keys() | {AS_WRITTEN_CONTRACT.name} == CONTRACT_POLICIES.keys()


def test_the_hardened_contract_keeps_every_property() -> None:
    """C1 to C10 hold in every reachable state; each antecedent is reached; every row fires."""
    assert failing(space(HARD)) == []
    assert all(all(witness(space(HARD), p)) for p in CONTRACT_PROPERTIES)
    assert {rule.name for rule in space(HARD).machine.rules} == space(HARD).fired


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_needed(rule: Rule) -> None:
    """Without one rule exactly the properties fail that the register names, the matrix of rules and properties."""
    claim = next(c for c in CONTRACT_CLAIMS if c.id == f"WITHOUT-{rule}")
    assert failing(space(without(rule).name)) == list(claim.properties)


@pytest.mark.parametrize("claim", sampled(SEARCHED, 3), ids=lambda claim: claim.id)
def test_a_claim_comes_out_as_registered(claim: Claim) -> None:
    """Search refutes what is registered as refuted, with a trace that can be replayed, and exhausts what holds."""
    large = claim.policy == AS_WRITTEN_CONTRACT.name
    items = examine(claim, {} if large else {claim.policy: space(claim.policy)})
    wanted = Verdict.REFUTED if claim.expected == "REFUTED" else Verdict.EXHAUSTED
    assert [item.verdict for item in items] == [wanted] * len(claim.properties)
    for item in items:
        assert item.trace
        assert replay(item.trace.key) == item.trace


def test_what_fails_as_written_holds_when_hardened() -> None:
    """Each sentence of S3 that is refuted holds in the hardened machine; only S3's three exits of waiting are one fewer there."""
    assert [p.id for p in SENTENCES if check(space(HARD), p)] == ["S3-WAITING"]


def test_every_property_is_proved() -> None:
    """C1 to C10 hold by induction, for any number of crashes, callers and other contracts; the solver left nothing open."""
    assert proof().holds
    assert not proof().counterexamples
    assert proof().unreachable == ()


def test_every_clause_is_true_and_needed() -> None:
    """No clause forbids a reachable state, and without any one of them the proof fails."""
    assert [c.name for c in CONTRACT_INVARIANT if space(HARD).find(c.never) is not None] == []
    assert unneeded(build_contract(), CONTRACT_PROPERTIES, CONTRACT_INVARIANT) == []


def test_what_holds_as_written_is_proved() -> None:
    """S3's third constraint needs no hardening."""
    (claim,) = (c for c in PROVED if c.policy == AS_WRITTEN_CONTRACT.name)
    stated = [CONTRACT_BY_ID[name] for name in claim.properties]
    assert prove(build_contract(AS_WRITTEN_CONTRACT), stated, AS_WRITTEN_INVARIANT).holds
    assert stops_at(build_contract(), stated, AS_WRITTEN_INVARIANT)


@pytest.mark.parametrize("rule", RULES)
def test_no_proof_without_a_rule(rule: Rule) -> None:
    """The proof fails for each property that the search refutes: it proves nothing that is false."""
    found = prove(build_contract(without(rule)), CONTRACT_PROPERTIES, CONTRACT_INVARIANT)
    assert all(found.verdict(name) is not Verdict.PROVED for name in failing(space(without(rule).name)))


MUTANTS: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    **{name: (rule, writes, "") for name, (rule, writes) in CANARIES.items()},
    "a cancel while running frees the key": (
        "cancelled while running", {"tool": "unknown", "tool_was": "running", "holder": "free"}, "C1"),
    "an unknown effect is called none": (
        "late proof: happened", {"tool": "failed", "tool_was": "unknown", "executor": "idle", "holder": "free"}, "C10"),
    "waiting is completed at once": ("times out while waiting", {"tool": "completed", "tool_was": "waiting"}, "C8"),
    "a deferred contract outlives its request": (
        "request: times out, with what it defers", {"request": "cancelled", "request_was": "waiting"}, "C9"),
    "history begins late": ("start", {"tool": "running", "tool_was": "pending", "executor": "working"}, "C3"),
    "two resumes": ("caller: conflict, before", {"caller": "idle", "resumed": "+1"}, "C5"),
    "executed from pending": ("start", {"executor": "working"}, "C7"),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(MUTANTS))
def test_a_planted_defect_is_found_twice(name: str) -> None:
    """A row that writes something else is found by the search, and stops the proof."""
    rule, writes, wanted = MUTANTS[name]
    mutant = planted(rule, writes)
    broken = failing(explore(mutant))
    assert broken
    assert not wanted or wanted in broken
    assert stops_at(mutant, CONTRACT_PROPERTIES, CONTRACT_INVARIANT)


def test_every_contract_can_end() -> None:
    """C9: from every state an end is reached without a fault or a cancel, every status occurs, every edge is taken."""
    found = ends(space(HARD), HARDENED)
    assert (found.stuck, found.unreached, found.untaken) == ((), (), ())


@pytest.mark.parametrize(
    ("dead", "stuck", "unreached", "untaken"),
    [
        ("recover", True, (), ()),
        ("step: closed before it began", True, (), ()),
        ("suspend for consent", False, ("waiting",), ("running –suspend→",)),
        ("fail", False, (), ("running –fail→",)),
        ("cancelled while waiting", False, (), ()),
    ],
)
def test_a_contract_that_cannot_end_is_found(
    dead: str, stuck: bool, unreached: tuple[str, ...], untaken: tuple[str, ...]
) -> None:
    """Take a row away, and C9 names what is stuck, never reached, never taken; superseding still takes waiting's cancel."""
    machine = build_contract()
    found = ends(explore(replace(machine, rules=tuple(r for r in machine.rules if r.name != dead))), HARDENED)
    assert bool(found.stuck) is stuck
    assert found.unreached == unreached
    assert set(found.untaken) >= set(untaken)
    assert bool(found.untaken) is bool(untaken)


def test_a_status_that_is_never_reached_is_found() -> None:
    """As written there is no unknown, so of the hardened table that state and its edges are missing."""
    assert "unknown" in ends(space("contract-without-C-UNKNOWN"), HARDENED).unreached
    assert "unknown –happened→" in ends(space("contract-without-C-UNKNOWN"), HARDENED).untaken


def test_edges_come_from_the_table() -> None:
    """A move that table or actor table do not have becomes no row; any other leads where the table says."""
    written, hardened = Rows(ContractPolicy("x")), Rows(HARDENED_CONTRACT)
    assert not written.move("deny", Actor.WORKER, "tool:waiting:deny:graph_runner")
    assert hardened.move("deny", Actor.WORKER, "tool:waiting:deny:graph_runner")
    assert hardened.rules[0].writes["tool"] == HARDENED[Status.WAITING]["deny"]
    assert not hardened.move("start", Actor.WORKER, "tool:pending:start:reasoning")
    assert written.move("start", Actor.WORKER, "tool:pending:start:reasoning")
    assert written.rules[0].writes == {"tool": AS_WRITTEN[Status.PENDING]["start"], "tool_was": "pending", "oldest": "pending",
                                       "rights": "broken"}  # fmt: skip


# The environment: two explicit contracts of one key, against one contract and the rules named `other:`.

SHARED = ("holder", "effects")
ENVIRONMENT = ("idle_others", "acted_others")


def side(machine: Machine, this: str, other: str) -> Iterator[Row]:
    """The rows of one of two contracts: its own fields renamed, the shared ones kept."""

    def value(name: str, text: str) -> str:
        if name == "holder":
            return {"this": this, "other": other}.get(text, text)
        return f"={this}_{text[1:]}" if text.startswith("=") else text

    def renamed(name: str) -> str:
        return name if name in SHARED else f"{this}_{name}"

    def literals(g: Guard) -> Guard:
        return {renamed(name): frozenset(value(name, v) for v in values) for name, values in g.items()}

    for rule in machine.rules:
        if not rule.name.startswith("other:"):
            writes = {renamed(name): value(name, text) for name, text in rule.writes.items()}
            sees, meets = literals(rule.sees), literals(rule.meets)
            yield replace(rule, name=f"{this}: {rule.name}", sees=sees, meets=meets, writes=writes)


def pair(machine: Machine, consents: tuple[str, ...]) -> Machine:
    """Two contracts with one key, each with any of some kinds of consent, and nobody else."""
    fields = []
    for f in machine.fields:
        if f.name == "holder":
            fields.append(replace(f, values=("free", "a", "b")))
        elif f.name in SHARED:
            fields.append(f)
        elif f.name not in ENVIRONMENT:
            start = consents if f.name == "consent" else f.initial
            fields += [replace(f, name=f"{who}_{f.name}", initial=start) for who in ("a", "b")]
    return Machine(f"pair of {machine.name}", tuple(fields), (*side(machine, "a", "b"), *side(machine, "b", "a")))


def projected(machine: Machine, both: Mapping[str, str]) -> dict[str, str]:
    """A state of the pair as the first contract sees it: the second is one of the others, if it holds the key."""
    view = {f.name: both[f"a_{f.name}"] for f in machine.fields if f.name not in (*SHARED, *ENVIRONMENT)}
    holder = {"a": "this", "b": "other"}.get(both["holder"], "free")
    rejected = both["b_tool"] == "rejected" and both["b_reopened"] == "no"
    held = both["b_tool"] in HOLDING.split("|") or rejected
    acted = both["b_deed"] == "done"
    return {**view, "holder": holder, "effects": both["effects"], "idle_others": str(int(held and not acted)),
            "acted_others": str(int(held and acted))}  # fmt: skip


def projections(machine: Machine, consents: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Every reachable state of the pair, as the first contract sees it."""
    found = explore(pair(machine, consents))
    views = (projected(machine, found.machine.view(found.packing.unpack(s))) for s in found.parents)
    return {tuple(view[f.name] for f in machine.fields) for view in views}


def escaping(machine: Machine, consents: tuple[str, ...]) -> int:
    """How many states of the pair the machine with one contract and its environment does not reach."""
    alone = explore(machine)
    reached = {alone.packing.unpack(state) for state in alone.parents}
    return len(projections(machine, consents) - reached)


def test_the_environment_stands_for_another_contract() -> None:
    """Whatever two contracts of one key reach, one contract reaches beside the environment, with every kind of consent."""
    assert escaping(build_contract(), ("none", "before", "during")) == 0


@pytest.mark.parametrize("dead", ["other: created", "other: acts"])
def test_a_thinner_environment_is_found(dead: str) -> None:
    """Without what the others may do, two contracts reach more than one and the environment. (That an other ends leads back.)"""
    machine = build_contract()
    thin = replace(machine, rules=tuple(r for r in machine.rules if r.name != dead))
    assert escaping(thin, ("none",)) > 0


@pytest.mark.parametrize(
    "policy", [HARD, "contract-without-C-ONCE", "contract-without-C-RETRY", "contract-without-C-UNKNOWN"]
)
def test_two_contracts_and_the_environment_agree_on_the_verdict(policy: str) -> None:
    """What two explicit contracts break of C1, C2 and C10, and keep, the machine with an environment breaks and keeps."""
    machine = build_contract(CONTRACT_POLICIES[policy])
    names = [f.name for f in machine.fields]
    views = [dict(zip(names, state, strict=True)) for state in projections(machine, ("none",))]
    shared = ("C1", "C2", "C10")
    broken = [p for p in shared if any(holds(view, g) for view in views for g in CONTRACT_BY_ID[p].never)]
    assert broken == [p for p in failing(space(policy)) if p in shared]


def test_s3s_key_changes_from_process_to_process() -> None:
    """Two interpreters give one action two keys, and arguments as S3 passes them, a dictionary, have no hash at all."""
    first, second = computed(S3_FORMULA)
    assert first != second
    assert salted().verdict is Verdict.REFUTED
    with pytest.raises(TypeError):
        hash({"to": "bob"})


def test_the_contract_key_does_not() -> None:
    """The contract key is the same in both, and tells every action of the near-collisions apart."""
    assert distinct().verdict is Verdict.TESTED


HERE = tuple(stage for stage in CONTRACT_STAGES if stage.name != "contract_refinement")
"""The refinement, the longest of them, is asked in `test_refine`, and by every `crashwindow verify`."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Found, ...]]:
    """A run's directory, and what the contract's stages find."""
    directory = tmp_path_factory.mktemp("run")
    context = Context("quick", 1, directory, lambda words: None)
    return directory, tuple(stage.run(context) for stage in HERE)


def test_the_stages_say_what_the_register_expects(run: tuple[Path, tuple[Found, ...]]) -> None:
    """Each claim that a stage of the contract's speaks of comes out as registered; all planted defects die; proofs are files."""
    expected = {claim.id: Verdict(claim.expected) for claim in CONTRACT_CLAIMS}
    directory, found = run
    for stage, part in zip(HERE, found, strict=True):
        assert set(part.items) <= set(stage.claims)
        for name, items in part.items.items():
            weaker = (Verdict.EXHAUSTED,) if expected[name] is Verdict.PROVED else ()
            assert {item.verdict for item in items} <= {expected[name], *weaker}, name
    assert all(mutant.killed_by for part in found for mutant in part.mutants)
    assert list((directory / "smt2" / HARD).glob("*.smt2"))


def test_what_is_not_checked_says_why(run: tuple[Path, tuple[Found, ...]]) -> None:
    """A sentence about another code base is NOT CHECKED, with its reason beside it."""
    items = run[1][0].items
    for claim in UNCHECKED:
        [item] = items[claim.id]
        assert item.verdict is Verdict.NOT_CHECKED
        assert item.statement.startswith("It ")
