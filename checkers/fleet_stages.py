"""The stages of `crashwindow verify` that speak of any number of workers: proof, search of two, protections missed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..model.claims import CLAIMS
from ..model.compensation_properties import COMPENSATION_PROPERTIES
from ..model.fleet import OWN, Fleet
from ..model.fleet_claims import FLEET, SEMANTICS, STEP
from ..model.fleet_shape import FENCED, PROTECTIONS
from ..model.gate import GATE_PROPERTIES
from ..model.invariant import INVARIANT
from ..model.properties import BY_ID, PROPERTIES, Property
from ..model.recorded import RECORDED_INVARIANT, RECORDED_PROPERTIES
from ..scenarios.fleet_policies import (
    FLEET_POLICIES,
    TOOL,
    TOOLS,
    compensation_fleet,
    gate_fleet,
    kinds,
    only,
    recorded_fleet,
    searched_fleet,
    step_fleet,
)
from .evidence import Item, MutantResult, Verdict
from .explore import Space
from .fleet_alone import alone
from .fleet_graphs import WHOLE, items
from .fleet_search import search
from .machines import described
from .proof_subjects import fleet_subjects
from .refine import refine_step
from .search import examine
from .spoken_of import judged
from .verify import Context, Found, Stage

if TYPE_CHECKING:
    from .prove_fleet import FleetProof
    from .prove_fleet_solve import Answered

FLEET_CLAIMS: Final = tuple(c for c in CLAIMS if c.policy in FLEET_POLICIES)
PROVED: Final = tuple(c for c in FLEET_CLAIMS if c.kind == "fleet")
REFUTED: Final = tuple(c for c in FLEET_CLAIMS if c.kind == "refuted")
ANY: Final = {prop: c.id for c in PROVED if c.id.endswith("-ANY") for prop in c.properties}
"""By property the claim that it holds for any number of workers."""
QUICK: Final = TOOLS[:1]
DEEP: Final = TOOLS
"""The kinds of tool with which two workers are searched."""


def fleet_proof(context: Context) -> Found:
    """The properties for any number of workers, and again without conditional appends; each question in a file."""
    from .prove_fleet import export_fleet, prove_asked, to_items
    from .prove_fleet_obligations import Obligations

    found = Found()
    written: list[Obligations] = []
    told: dict[str, dict[str, Item]] = {}
    answers: Answered = {}
    for fleet, properties, clauses in fleet_subjects():
        written.append(Obligations(fleet, properties, clauses, like=written))
        proof = prove_asked(written[-1], known_answers=answers)
        file = f"smt2/{fleet.name}.smt2"
        export_fleet(proof, context.directory / file)
        told[fleet.name] = to_items(proof, [file])
        context.tell(f"proof: {fleet.name}")
    items = {FLEET: {**told["fleet-gate"], **told["fleet-compensation"], **told["fleet-recorded"], **told[FLEET]}}
    for claim in PROVED:
        found.add(claim.id, *((items.get(claim.policy) or told[claim.policy])[name] for name in claim.properties))
    return found


def fleet_search(context: Context) -> Found:
    """Two workers: what is proved holds in every state that is searched; what a protection guards from is reached without it."""
    found = Found()
    for config in QUICK if context.profile == "quick" else DEEP:
        clock = time.perf_counter()
        fleet = searched_fleet(FENCED, config)
        space = two_workers(config, context.spaces)
        found.machines.append(described(space, time.perf_counter() - clock))
        for name in STEP:
            if BY_ID[name].never:
                found.add(f"{name}-ANY", exhausted(BY_ID[name], space, fleet, kinds(fleet)))
        context.tell(f"search: two workers, {config['on_unknown']}")
    for what, fleet, properties, reduced in semantics(context.profile):
        space = search(fleet, reduced=reduced)
        found.add(f"{properties[0].id}-ANY", *(exhausted(prop, space, fleet, what) for prop in properties))
        context.tell(f"search: two workers, {what}")
    for name, fleet in (("P9-ANY", gate_fleet()), ("P10-ANY", compensation_fleet()), ("P12-ANY", recorded_fleet())):
        found.add(name, one_worker(fleet))
        context.tell(f"search: {fleet.name}, one worker")
    if context.profile == "deep":
        found.add("P10-ANY", interface(two_workers(TOOL, context.spaces)))
        for name in WHOLE:
            for prop, item in items(name, context.tell):
                found.add(ANY[prop], item)
    for claim in REFUTED:
        found.add(claim.id, *examine(claim, context.spaces))
        context.tell(f"search: {claim.id}")
    return found


def two_workers(config: dict[str, str], spaces: dict[str, Space]) -> Space:
    """The reduced space of two workers with one kind of tool, searched once; `spaces` keeps it."""
    name = f"{FENCED.name}: {', '.join(config.values())}"
    if name not in spaces:
        spaces[name] = search(searched_fleet(FENCED, config), reduced=True)
    return spaces[name]


def semantics(profile: str) -> Iterator[tuple[str, Fleet, Sequence[Property], bool]]:
    """The other fleets of two workers: what is searched, the fleet, its properties, and whether it is reduced."""
    gate, compensation = gate_fleet(), compensation_fleet()
    plain = {"harmless": "no", "idempotent": "no"}
    yield "recorded values, not reduced", recorded_fleet(), RECORDED_PROPERTIES, False
    yield "a gate, for an approval", only(gate, {"kind": "approval"}), GATE_PROPERTIES, True
    yield "a compensation, not idempotent", only(compensation, plain), COMPENSATION_PROPERTIES, True
    if profile == "deep":
        yield "a gate, for a signal, not reduced", only(gate, {"kind": "signal"}), GATE_PROPERTIES, False
        yield "a gate, for an approval, not reduced", only(gate, {"kind": "approval"}), GATE_PROPERTIES, False
        yield "a compensation, of every kind", compensation, COMPENSATION_PROPERTIES, True


def one_worker(fleet: Fleet) -> Item:
    """Whether one worker of a fleet does what its machine does, no more and no less: of that machine the code is shown to be."""
    made = alone(fleet)
    said = made.differs(fleet)
    return Item(
        checker="explore",
        verdict=Verdict.REFUTED if said else Verdict.EXHAUSTED,
        statement=said
        or f"one worker takes each of the {len(made.steps)} steps of the machine, and no other, once it has read the stores"
        " and heard what clients wrote",
        figures={"workers": 1, "steps": len(made.steps)},
        command="crashwindow verify",
    )


def interface(space: Space) -> Item:
    """Whether what two workers do to a step's records and its effect is what one worker may do to them (A-INTERFACE)."""
    compared = refine_step(space)
    verdict = Verdict.REFUTED if compared.misfits else Verdict.EXHAUSTED
    said = f"A-INTERFACE: of what two workers do to a step, {len(compared.misfits)} kinds of changes are none of one worker's"
    figures: dict[str, int | float | str] = {
        "workers": 2,
        "states": len(space),
        "changes": sum(compared.taken.values()),
    }
    return Item(
        checker="explore", verdict=verdict, statement=said, figures=figures, command="crashwindow verify --profile deep"
    )


def exhausted(prop: Property, space: Space, fleet: Fleet, what: str) -> Item:
    """What the search of two workers says of a property. what: of the fleet, in words."""
    figures: dict[str, int | float | str] = {"workers": 2, "states": len(space), "transitions": space.transitions}
    how = "with any number of claims and crashes"
    verdict, said = judged(prop, space, fleet, f"two workers ({what})", how)
    return Item(checker="explore", verdict=verdict, statement=said, figures=figures, command="crashwindow verify")


CANARIES: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "the events' fence is read and not raised": ("fence events", {"raises": ""}),
    "the effect store's fence is not raised": ("fence effects, nobody leads", {"raises": ""}),
    "a claim gives no new epoch": ("claim", {"claims": False}),
    "a claimer begins before it has read": ("claim", {"writes": {f"{OWN}at": "replay"}}),
}
"""Plausible defects of the fences, planted in the smallest fleet: row, and what is changed of it."""


def fleet_canaries(context: Context) -> Found:
    """Plant a few defects; a proof that lets one live is broken. Beside them, in the deep profile, each protection missed."""
    from .prove_fleet import prove_fleet

    found, fleet = Found(), recorded_fleet()
    for name, (rule, change) in CANARIES.items():
        rules = tuple(replace(r, **change) if r.name == rule else r for r in fleet.rules)  # type: ignore[arg-type]  # a change names fields of a rule
        proof = prove_fleet(replace(fleet, rules=rules), RECORDED_PROPERTIES, RECORDED_INVARIANT)
        found.mutants.append(mutant(name, proof))
    for missed in PROTECTIONS if context.profile == "deep" else ():
        if missed != "conditional":  # FENCES-SUFFICE
            proof = prove_fleet(step_fleet(FLEET_POLICIES[f"fleet-without-{missed}"]), PROPERTIES, INVARIANT)
            found.mutants.append(mutant(f"{PROTECTIONS[missed]}: not so", proof))
    return found


def mutant(name: str, proof: "FleetProof") -> MutantResult:
    """What the proof says of a planted defect: found where the solver shows a state in which something fails; no answer, or a
    proof that says nothing, has found none.
    """
    stops = [r.obligation.name for r in proof.results if r.obligation.expected == "unsat" and r.answer == "sat"]
    words = f"proof: stops at {stops[0]}" if stops else f"proof: no answer to {proof.unmet[0]}" if proof.unmet else ""
    return MutantResult(
        name=f"fleet: {name}", killed_by="prove" if stops else None, words=words or "proof: found nothing"
    )


FLEET_STAGES: Final = (
    Stage("fleet_proof", "any number of workers: inductive proof", fleet_proof, tuple(c.id for c in PROVED), "prove"),
    Stage("fleet_search", "two workers: explicit search, and each protection missed", fleet_search,
          (*(f"{n}-ANY" for n in STEP if BY_ID[n].never), *(f"{n}-ANY" for n in SEMANTICS), *(c.id for c in REFUTED)), "explore"),
    Stage("fleet_canaries", "any number of workers: defects planted in the fences", fleet_canaries, ("P5", "P12-ANY"), "prove"),
)  # fmt: skip
