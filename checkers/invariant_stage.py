"""The stage of `crashwindow verify` that comes to the proofs' verdicts on two other ways: found invariants, and counted
workers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..model.claim_types import PROPERTY_BY_ID
from ..model.claims import CLAIM_BY_ID, CLAIMS, Claim
from ..model.fleet_claims import STEP
from ..model.fleet_properties import coupling
from ..model.properties import Property
from ..scenarios.fleet_policies import FLEET_POLICIES, recorded_fleet
from .evidence import Item, Verdict
from .spoken_of import held
from .verify import Context, Stage
from .verify import Found as StageFound

if TYPE_CHECKING:
    from .counter import Counted
    from .invariant_fleet import FleetSearch
    from .invariant_lift import Lifting
    from .invariant_ways import Found

COMMAND: Final = "crashwindow invariants"
QUICK: Final = ("recorded-hardened", "compensation-hardened", "gate-hardened", "contract-hardened")
LIFTED_QUICK: Final = ("fleet-recorded", "fleet-gate")
COUNTED_QUICK: Final = ("fleet-recorded",)
REFUTED: Final = tuple(c for c in CLAIMS if c.policy in FLEET_POLICIES and c.kind == "refuted")
ABOUT: Final = {
    "fleet-recorded": ("P12-ANY",),
    "fleet-gate": ("P9-ANY",),
    "fleet-compensation": ("P10-ANY",),
    "fleet": tuple(f"{name}-ANY" for name in STEP),
    "fleet-without-conditional": ("FENCES-SUFFICE",),
}
"""The claims of which a fleet's invariant, or the count of its workers, speaks."""


def ways(context: Context) -> StageFound:
    """Found invariants and counted workers, beside the claims that the written invariants prove."""
    from .invariant_ways import COUNTED, LIFTED, MACHINES, bounds, counted, found, found_in_two, lifted
    from .prove import export
    from .prove_fleet import export_fleet

    told = StageFound()
    deep = context.profile == "deep"
    for name in MACHINES if deep else QUICK:
        context.tell(f"invariant: {name}")
        item = of_machine(found(name))
        export(found(name).search.proof, context.directory / item.files[0])
        for claim in (c for c in CLAIMS if _proved(c, name)):
            told.add(claim.id, item)
    for name in LIFTED if deep else LIFTED_QUICK:
        context.tell(f"invariant: {name}")
        made = lifted(name)
        item = of_lifting(name, made)
        export_fleet(made.proof, context.directory / item.files[0])
        for claim_id in ABOUT[name]:
            told.add(claim_id, item)
    if deep:
        context.tell("invariant: two workers")
        two = found_in_two()
        item = of_fleet(two)
        export_fleet(two.proof, context.directory / item.files[0])
        told.add("P12-ANY", item)
    for name in COUNTED if deep else COUNTED_QUICK:
        context.tell(f"counting: {name}")
        number, what = counted(name), bounds(name)
        for claim_id, prop in asked_of_count(name):
            told.add(claim_id, of_count(name, prop, number, what))
    for claim in REFUTED:
        context.tell(f"counting: {claim.policy}")
        told.add(claim.id, against(claim, counted(claim.policy), bounds(claim.policy)))
    return told


def _proved(claim: Claim, name: str) -> bool:
    return claim.policy == name and claim.inductive


def of_machine(made: "Found") -> Item:
    """The invariant that was found for one worker's machine, and how it compares."""
    search, c = made.search, made.comparison
    figures: dict[str, int | float | str] = {
        "found": c.found, "written": c.written, "states": search.states, "rounds": search.rounds,
        "written not implied": len(c.missing), "found not implied": len(c.more),
        "questions in files": len(search.proof.results),
    }  # fmt: skip
    verdict, command = Verdict.PROVED, f"{COMMAND} {made.name}"
    said = (
        f"{made.name}: {c.found} clauses that nobody wrote, found in {search.states} states, prove every property by induction;"
        f" of {c.written} written ones {c.written - len(c.missing)} follow from them"
    )
    if not made.holds:
        why = search.stuck or next(iter(c.unanswered), "the proof over it fails")
        verdict, said = Verdict.ERROR, f"no invariant of {made.name} was found: {why}"
    files = [f"smt2/{made.name}-found/"]
    return Item(checker="prove", verdict=verdict, statement=said, figures=figures, files=files, command=command)


def of_lifting(name: str, made: "Lifting") -> Item:
    """One worker's found clauses, read for any number of workers."""
    figures: dict[str, int | float | str] = {
        "kept": len(made.kept), "dropped": len(made.dropped), "added": len(made.added),
        "states that many workers add": made.learned, "rounds": made.rounds,
        "questions in files": len(made.proof.results),
    }  # fmt: skip
    said = (
        f"{name}: the clauses found for one worker, {len(made.kept)} of {len(made.kept) + len(made.dropped)}, and"
        f" {len(made.added)} found in what many workers add, hold of whoever leads any number of them, and prove every property"
        " in one call, beside the written coupling"
    )
    verdict = Verdict.PROVED
    if not made.holds:
        why = made.stuck or next(iter(made.proof.unmet), "")
        verdict, said = Verdict.ERROR, f"{name}: what was found for one worker proves nothing of any number: {why}"
    files, command = [f"smt2/{name}-lifted.smt2"], f"{COMMAND} {name}"
    return Item(checker="prove", verdict=verdict, statement=said, figures=figures, files=files, command=command)


def of_fleet(made: "FleetSearch") -> Item:
    """The invariant of any number of workers that was found in two."""
    figures: dict[str, int | float | str] = {
        "found": len(made.clauses), "states of one of two": made.states, "rounds": made.rounds,
        "written coupling": len(coupling(recorded_fleet())),
        "questions in files": len(made.proof.results),
    }  # fmt: skip
    said = (
        f"recorded values: {len(made.clauses)} clauses about each worker, found in the states of two, prove P5 and every property"
        " for any number; nothing written is used but how epochs and fences compare"
    )
    verdict = Verdict.PROVED
    if not made.holds:
        verdict, said = Verdict.ERROR, f"no invariant of any number of workers was found in two: {made.stuck}"
    files, command = ["smt2/fleet-recorded-found.smt2"], f"{COMMAND} fleet-recorded"
    return Item(checker="prove", verdict=verdict, statement=said, figures=figures, files=files, command=command)


def asked_of_count(name: str) -> Iterator[tuple[str, Property]]:
    """The properties that a fleet's count is asked about, each with its claim: those that forbid a state. What only grows is
    none."""
    for claim_id in ABOUT[name]:
        stated = (PROPERTY_BY_ID[each] for each in CLAIM_BY_ID[claim_id].properties)
        yield from ((claim_id, prop) for prop in stated if prop.never)


def of_count(name: str, prop: Property, made: "Counted", what: str) -> Item:
    """What counting says of a property of a fleet that is proved. what: what was counted.

    That nothing forbidden is counted says nothing where what the property speaks of never occurs there. A forbidden state that
    may not be real is an error, for it stands against a proof.
    """
    how = f"in every state of any number of workers, counted as none, one, or any number ({what})"
    verdict, said = held(prop, made.unmet(prop), how, f"by counting workers ({what})")
    if not made.safe:
        why = f"comes to a state that {made.broken} forbids" if made.broken else "did not end"
        verdict, said = Verdict.ERROR, f"{name}: counting ({what}) {why}, against the proof"
    return Item(checker="explore", verdict=verdict, statement=said, figures=_figures(made), command=f"{COMMAND} {name}")


def against(claim: Claim, made: "Counted", what: str) -> Item:
    """What counting says of a fleet that is refuted: that it finds nothing forbidden would be an error, for it leaves nothing
    out of `what` was counted."""
    verdict = Verdict.NOT_CHECKED
    said = f"counting ({what}) comes to a state that {made.broken} forbids as well, which by itself refutes nothing"
    if not made.broken:
        verdict = Verdict.ERROR
        said = f"counting ({what}) comes to no forbidden state, though a run of two workers does"
    command = f"{COMMAND} {claim.policy}"
    return Item(checker="explore", verdict=verdict, statement=said, figures=_figures(made), command=command)


def _figures(made: "Counted") -> dict[str, int | float | str]:
    return {
        "abstract states": made.states, "states of others": made.workers, "steps": made.steps, "seconds": round(made.seconds, 3)
    }  # fmt: skip


SPOKEN_OF: Final = (
    *(claim.id for name in QUICK for claim in CLAIMS if _proved(claim, name)),
    *(claim_id for name in LIFTED_QUICK for claim_id in ABOUT[name]),
    *(claim.id for claim in REFUTED),
)
"""The claims that the quick profile speaks of."""
INVARIANTS: Final = Stage(
    "invariants", "found invariants, and any number of workers counted", ways, tuple(dict.fromkeys(SPOKEN_OF)), "prove"
)
