"""The stages of `crashwindow verify` that speak of gates, compensations and recorded values: search, proof, planted defects."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..model.claim_types import Claim
from ..model.compensation import HARDENED_COMPENSATION, build_compensation
from ..model.compensation_properties import COMPENSATION_INVARIANT, COMPENSATION_PROPERTIES
from ..model.gate import GATE_INVARIANT, GATE_PROPERTIES, HARDENED_GATE, build_gate
from ..model.invariant import Clause
from ..model.machine import Machine
from ..model.properties import Property
from ..model.recorded import HARDENED_RECORDED, RECORDED_INVARIANT, RECORDED_PROPERTIES, build_recorded
from ..model.semantics_claims import SEMANTICS_CLAIMS
from ..scenarios.semantics_policies import SEMANTICS_POLICIES
from .evidence import MutantResult
from .explore import explore
from .machines import described
from .proof_subjects import SEMANTICS_CLAUSES, subject
from .search import check, complete, examine
from .verify import Context, Found, Stage

PROVED: Final = tuple(c for c in SEMANTICS_CLAIMS if "prove" in c.methods)


@dataclass(frozen=True)
class Model:
    """One of the three machines: what is proved of it, and over which clauses."""

    build: Callable[[], Machine]
    properties: Sequence[Property]
    invariant: Sequence[Clause]


MODELS: Final[Mapping[str, Model]] = {
    HARDENED_GATE.name: Model(build_gate, GATE_PROPERTIES, GATE_INVARIANT),
    HARDENED_COMPENSATION.name: Model(build_compensation, COMPENSATION_PROPERTIES, COMPENSATION_INVARIANT),
    HARDENED_RECORDED.name: Model(build_recorded, RECORDED_PROPERTIES, RECORDED_INVARIANT),
}
"""The hardened machines, by policy."""

CLAUSES: Final = SEMANTICS_CLAUSES
"""The written clauses under which each policy's claims are proved."""


def semantics_search(context: Context) -> Found:
    """Each claim that a search decides, and every machine."""
    found = Found()
    for policy in SEMANTICS_POLICIES:
        clock = time.perf_counter()
        space = complete(policy, context.spaces)
        found.machines.append(described(space, time.perf_counter() - clock))
    for claim in SEMANTICS_CLAIMS:
        found.add(claim.id, *examine(claim, context.spaces))
    context.tell("gates, compensations, recorded values: searched")
    return found


def semantics_proof(context: Context) -> Found:
    """P9, P10 and P12 by induction, and what holds as written; each obligation as a file."""
    from .prove import export, prove, to_items

    found = Found()
    for policy in CLAUSES:
        claims = [claim for claim in PROVED if claim.policy == policy]
        made = context.proofs[policy] = prove(*subject(policy))
        items = dict(to_items(made, [f"smt2/{policy}/"]))
        for claim in claims:
            found.add(claim.id, *(items[name] for name in claim.properties))
        export(made, context.directory / "smt2" / policy)
        context.tell(f"proof: {policy}")
    return found


CANARIES: Final[Mapping[str, tuple[str, str, Mapping[str, str]]]] = {
    "the gate is a no-op on recovery": ("gate-hardened", "replay: ask the gate", {"at": "start"}),
    "a decision of another action passes": ("gate-hardened", "gate: another action before, other", {"at": "start"}),
    "a denied step runs all the same": (
        "gate-hardened",
        "append wait_completed, denied",
        {"wait": "refused", "at": "start"},
    ),
    "the compensation is called before its started event": (
        "compensation-hardened",
        "acquire",
        {"ledger": "inflight", "at": "call"},
    ),
    "an open compensation is called again": ("compensation-hardened", "decide: an attempt is open", {"at": "acquire"}),
    "a lost answer is taken for no effect": (
        "compensation-hardened",
        "append compensation_failed, unknown",
        {"attempt": "closed", "at": "ledger_no_effect"},
    ),
    "an answer is used before it is recorded": (
        "recorded-hardened",
        "llm: the first answer",
        {"memory": "first", "asked": "+1", "at": "use"},
    ),
    "the effect record is not caught up": (
        "recorded-hardened",
        "replay: inject the effect, first, then append_committed",
        {"at": "ask"},
    ),
}
"""Plausible defects that search and proof have to find in every run: policy, rule, and what it writes instead."""


def planted(policy: str, rule: str, writes: Mapping[str, str]) -> Machine:
    """A hardened machine with one row that writes something else. Raises KeyError where there is no such rule."""
    machine = MODELS[policy].build()
    machine.rule(rule)
    return replace(machine, rules=tuple(replace(r, writes=writes) if r.name == rule else r for r in machine.rules))


def semantics_canaries(context: Context) -> Found:
    """Plant a few defects; a checker that lets one live is broken."""
    from .prove import stops_at

    found = Found()
    for name, (policy, rule, writes) in CANARIES.items():
        model, mutant = MODELS[policy], planted(policy, rule, writes)
        space = explore(mutant)
        violation = next((v for p in model.properties if (v := check(space, p))), None)
        stop = stops_at(mutant, model.properties, model.invariant)
        words = f"search: {violation.property}, {violation.part}" if violation else "search: no violation"
        words += f"; proof: stops at {stop.obligation.name}" if stop else "; proof: found nothing"
        killed = "explore, prove" if violation and stop else None
        found.mutants.append(
            MutantResult(name=f"{policy.removesuffix('-hardened')}: {name}", killed_by=killed, words=words)
        )
    return found


def _ids(claims: tuple[Claim, ...]) -> tuple[str, ...]:
    return tuple(claim.id for claim in claims)


SEMANTICS_STAGES: Final = (
    Stage("semantics_search", "gates, compensations, recorded values: explicit search", semantics_search,
          _ids(SEMANTICS_CLAIMS), "explore"),
    Stage("semantics_proof", "gates, compensations, recorded values: inductive proof", semantics_proof, _ids(PROVED), "prove"),
    Stage("semantics_canaries", "gates, compensations, recorded values: defects planted in the models", semantics_canaries,
          ("P9", "P10", "P12"), "explore"),
)  # fmt: skip
