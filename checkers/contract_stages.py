"""The stages of `crashwindow verify` that speak of execution contracts: search, proof, refinement, planted defects."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..model.claim_types import Claim
from ..model.contract_claims import CONTRACT_CLAIMS, REASONS
from ..model.contract_invariant import CONTRACT_INVARIANT
from ..model.contract_machine import build_contract
from ..model.contract_policy import HARDENED_CONTRACT
from ..model.contract_properties import CONTRACT_PROPERTIES
from ..model.machine import Machine
from ..model.policy import HARDENED
from ..scenarios.contract_policies import CONTRACT_POLICIES
from .contract_keys import distinct, salted
from .contract_search import ends
from .evidence import Item, MutantResult, Verdict
from .explore import Space, explore
from .machines import described
from .proof_subjects import subject
from .refine import Misfit, Refinement, blocked, refine_contract, refine_step
from .search import check, complete, examine
from .traces import trace_to
from .verify import Context, Found, Stage

SEARCHED: Final = tuple(c for c in CONTRACT_CLAIMS if c.kind in ("holds", "refuted") and "explore" in c.methods)
PROVED: Final = tuple(c for c in CONTRACT_CLAIMS if c.kind == "holds" and "prove" in c.methods)
UNCHECKED: Final = tuple(c for c in CONTRACT_CLAIMS if c.kind == "unchecked")


def contract_search(context: Context) -> Found:
    """Each claim about contracts that a search decides; the keys; and why the rest is not checked."""
    found = Found()
    for policy in CONTRACT_POLICIES.values():
        clock = time.perf_counter()
        space = complete(policy.name, context.spaces)
        found.machines.append(described(space, time.perf_counter() - clock))
    for claim in SEARCHED:
        found.add(claim.id, *examine(claim, context.spaces))
        context.tell(f"contracts: {claim.id}")
    found.add("C9", _ends(complete(HARDENED_CONTRACT.name, context.spaces)))
    found.add("S3-KEY", salted())
    found.add("C-KEY", distinct())
    for claim in UNCHECKED:
        command = f"crashwindow check {claim.id}"
        statement = REASONS[claim.id]
        found.add(claim.id, Item(checker="explore", verdict=Verdict.NOT_CHECKED, statement=statement, command=command))
    return found


def _ends(space: Space) -> Item:
    """The half of C9 that no guard can say."""
    wrong = ends(space, HARDENED_CONTRACT.table)
    command = "crashwindow check C9"
    problems = [
        *(f"{status} is never reached" for status in wrong.unreached),
        *(f"{edge} is never taken" for edge in wrong.untaken),
    ]
    problems += [f"{len(wrong.stuck)} states are stuck"] if wrong.stuck else []
    figures: dict[str, int | float | str] = {
        "states": len(space),
        "edges": sum(map(len, HARDENED_CONTRACT.table.values())),
    }
    if problems:
        trace = trace_to(space, wrong.stuck[0]) if wrong.stuck else None
        said = "; ".join(problems)
        return Item(
            checker="explore", verdict=Verdict.REFUTED, statement=said, figures=figures, trace=trace, command=command
        )
    said = (
        "from every reachable state a run without a fault, and without anybody giving up, ends; every status is reached"
    )
    said += ", every edge is taken"
    return Item(checker="explore", verdict=Verdict.EXHAUSTED, statement=said, figures=figures, command=command)


def contract_proof(context: Context) -> Found:
    """C1 to C10 of the hardened contract by induction, and what holds as written; each obligation as a file."""
    from .prove import Proof, export, prove, to_items

    found = Found()
    proofs: dict[str, Proof] = {}
    for claim in PROVED:
        if claim.policy not in proofs:
            proofs[claim.policy] = prove(*subject(claim.policy))
        items = dict(to_items(proofs[claim.policy], [f"smt2/{claim.policy}/"]))
        found.add(claim.id, *(items[name] for name in claim.properties))
    context.proofs.update(proofs)
    for policy, proof in proofs.items():
        export(proof, context.directory / "smt2" / policy)
    return found


def contract_refinement(context: Context) -> Found:
    """The pair of contract and step against both models."""
    step = refine_step(complete(HARDENED.name, context.spaces))
    contract = complete(HARDENED_CONTRACT.name, context.spaces)
    return Found(items={"C-PAIR": [refinement_item(step, refine_contract(contract), blocked(contract, step.moves))]})


def refinement_item(step: Refinement, contract: Refinement, stopped: list[Misfit]) -> Item:
    """What the comparison of the two machines says of the pair."""
    figures: dict[str, int | float | str] = {
        "states of the step": step.states,
        "transitions of the step": step.transitions,
        "states of the contract": contract.states,
        "transitions of the contract": contract.transitions,
    }
    misfits = [*step.misfits, *contract.misfits, *stopped]
    if misfits:
        first = misfits[0]
        said = f"{len(misfits)} kinds of transitions do not fit, first: {first.rule or 'the contract'}: {first.does}"
        command = f"crashwindow replay {first.key}" if first.key else "crashwindow verify"
        return Item(checker="explore", verdict=Verdict.REFUTED, statement=said, figures=figures, command=command)
    said = (
        f"every transition of both machines is one of the {len(step.taken)} steps of their interface that a step takes, the "
        "closing of one that never began, or none; no begun step is blocked; each move of a contract is an edge of the table"
    )
    return Item(
        checker="explore",
        verdict=Verdict.EXHAUSTED,
        statement=said,
        figures=figures,
        command="crashwindow check C-PAIR",
    )


CANARIES: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "the key is not reserved": ("create", {"tool": "pending"}),
    "a timeout while running proves failure": (
        "times out while running",
        {"tool": "failed", "tool_was": "running", "holder": "free"},
    ),
    "the step begins before its consent is used up": (
        "start, with consent",
        {"tool": "running", "tool_was": "pending", "oldest": "pending", "executor": "working", "step": "started"},
    ),
    "the resumed tool contract is completed": (
        "another caller: approved, to its executor",
        {"tool": "completed", "tool_was": "running", "resumed": "+1"},
    ),
    "the denied request leaves what it defers": (
        "caller: denied, with what it defers",
        {"request": "rejected", "request_was": "waiting", "caller": "idle"},
    ),
}
"""Plausible defects of the contract's model that search and proof have to find in every run: rule, and what it writes instead."""


def planted(rule: str, writes: Mapping[str, str]) -> Machine:
    """The hardened contract with one row that writes something else. Raises KeyError where there is no such rule."""
    machine = build_contract()
    machine.rule(rule)
    return replace(machine, rules=tuple(replace(r, writes=writes) if r.name == rule else r for r in machine.rules))


def contract_canaries(context: Context) -> Found:
    """Plant a few defects; a checker that lets one live is broken."""
    from .prove import stops_at

    found = Found()
    for name, (rule, writes) in CANARIES.items():
        mutant = planted(rule, writes)
        space = explore(mutant)
        violation = next((v for p in CONTRACT_PROPERTIES if (v := check(space, p))), None)
        stop = stops_at(mutant, CONTRACT_PROPERTIES, CONTRACT_INVARIANT)
        words = f"search: {violation.property}, {violation.part}" if violation else "search: no violation"
        words += f"; proof: stops at {stop.obligation.name}" if stop else "; proof: found nothing"
        killed = "explore, prove" if violation and stop else None
        found.mutants.append(MutantResult(name=f"contract: {name}", killed_by=killed, words=words))
    return found


def _ids(claims: tuple[Claim, ...]) -> tuple[str, ...]:
    return tuple(claim.id for claim in claims)


CONTRACT_STAGES: Final = (
    Stage("contract_search", "contracts: explicit search", contract_search,
          (*_ids(SEARCHED), "S3-KEY", "C-KEY", *_ids(UNCHECKED)), "explore"),
    Stage("contract_proof", "contracts: inductive proof", contract_proof, _ids(PROVED), "prove"),
    Stage("contract_refinement", "contract and step refine both models", contract_refinement, ("C-PAIR",), "explore"),
    Stage("contract_canaries", "contracts: defects planted in the model", contract_canaries,
          tuple(p.id for p in CONTRACT_PROPERTIES), "explore"),
)  # fmt: skip
