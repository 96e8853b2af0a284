"""What the stages that search and prove models put beside claims, derived from the register."""

from collections.abc import Callable, Iterable
from typing import Final

from ..model.claims import Claim
from ..model.fleet_claims import FLEET
from . import due_figures as of
from .due import CHECK, Due
from .due_figures import figures, sized
from .fleet_policies import FLEET_POLICIES
from .searched import FLEET_GRAPHS, ONE_WORKER, SEARCHED, TWO_WORKERS

Rule = Callable[[Claim, bool], Iterable[Due]]
"""The items that a stage has for a claim, in the deep profile or not."""
FLEETS: Final = {"P9-ANY": "fleet-gate", "P10-ANY": "fleet-compensation", "P12-ANY": "fleet-recorded"}
"""The proof of a claim about any number of workers, where it is not the step's."""
FOUND: Final = ("recorded-hardened", "compensation-hardened", "gate-hardened", "contract-hardened")
LIFTED: Final = ("fleet-recorded", "fleet-gate")
"""The machines whose invariants the quick profile finds, and the fleets to which it lifts them; the deep one takes all."""
SHOWS: Final = "crashwindow replay {key}"
FINDS: Final = "crashwindow invariants"
COUPLED: Final = {"FENCES-SUFFICE": "fleet-without-conditional"}
"""The fleet that is counted for a claim, where it is not the claim's own."""
UNMET: Final = ("P11",)
"""The properties of which nothing that they speak of occurs where no step is executed twice: with a tool that parks, say."""
TWICE: Final = (TWO_WORKERS[FLEET][-1], "one worker")
"""Where one is: two workers searched with the tool that is executed again, and one worker with all of them."""
ROWS: Final = ("smt2/hardened-windows/",)
"""Where the obligations of the crash-window table's rows are."""
CLASS: Final = tuple(f"smt2/hardened-ambiguity{part}.smt2" for part in ("", "-twins", "-runs"))
"""Where those of the ambiguity class are: of one state, of two that look the same, and of the runs."""
PROOFS: Final = tuple(f"smt2/{name}.smt2" for name in (FLEET, *FLEETS.values()))


def searched(policies: Iterable[str]) -> Rule:
    """What explicit search of these machines says: of each property that holds, or is broken, or of a claim as a whole."""

    def rule(claim: Claim, deep: bool) -> Iterable[Due]:
        if claim.policy not in policies or "explore" not in claim.methods:
            return
        if claim.kind == "refuted":
            yield from (
                Due("explore", "REFUTED", of.COUNTED, shown=True, begins=f"{name} ", command=SHOWS)
                for name in claim.properties
            )
        elif claim.kind == "holds":
            yield from (
                Due("explore", "EXHAUSTED", sized(claim.policy), shown=True, begins=f"{name} ", command=SHOWS)
                for name in claim.properties
            )
        elif claim.kind == "ambiguity":
            yield Due("explore", "EXHAUSTED", sized(claim.policy), shown=True, command=SHOWS)
        elif claim.kind == "rest":
            yield Due("explore", "EXHAUSTED", sized(claim.policy), command=f"{CHECK} {claim.id}")
        elif claim.kind == "joined":
            yield Due("explore", "EXHAUSTED", sized(claim.policy, of.JOINED), command=f"{CHECK} {claim.id}")
        elif claim.kind == "occurs":
            yield Due("explore", "EXHAUSTED", of.COUNTED, shown=True, command=SHOWS)

    return rule


def proved(policies: Iterable[str]) -> Rule:
    """What the inductive proofs of these machines say, of each property."""

    def rule(claim: Claim, deep: bool) -> Iterable[Due]:
        if claim.policy in policies and claim.inductive:
            yield from (
                Due("prove", "PROVED", of.PROOF, (f"smt2/{claim.policy}/",), begins=f"{name} ")
                for name in claim.properties
            )

    return rule


def unchecked(reasons: Iterable[str], checker: str) -> Rule:
    """That nobody looked, with the reason."""
    return lambda claim, deep: (
        [Due(checker, "NOT CHECKED", {}, command=f"{CHECK} {claim.id}")] if claim.id in reasons else []
    )


def contract_search(claim: Claim, deep: bool) -> Iterable[Due]:
    """What the search of contracts says beside: of the half of C9 that no guard can say, and of keys."""
    if claim.id == "C9":
        states = SEARCHED[claim.policy].states
        yield Due("explore", "EXHAUSTED", figures("edges", states=states), command=f"{CHECK} {claim.id}")
    elif claim.kind == "salted":
        yield Due("enumerate", "REFUTED", {}, command=f"{CHECK} {claim.id}")
    elif claim.id == "C-KEY":
        yield Due("enumerate", "TESTED", figures("actions"), command=f"{CHECK} {claim.id}")


def pair(claim: Claim, deep: bool) -> Iterable[Due]:
    """What the comparison of step and contract says, which goes through both machines."""
    if claim.kind == "refines":
        size = {
            f"{what} of the {name}": count
            for name, policy in (("step", "hardened"), ("contract", claim.policy))
            for what, count in sized(policy).items()
        }
        yield Due("explore", "EXHAUSTED", size, command=f"{CHECK} {claim.id}")


def fleet_proof(claim: Claim, deep: bool) -> Iterable[Due]:
    """What the proofs for any number of workers say, of each property."""
    if claim.kind == "fleet":
        file = f"smt2/{FLEETS.get(claim.id, claim.policy)}.smt2"
        yield from (Due("prove", "PROVED", of.OF_FLEET, (file,), begins=f"{name} ") for name in claim.properties)


def fleet_search(claim: Claim, deep: bool) -> Iterable[Due]:
    """What the search of two workers says, of each property; in the deep profile with every kind of tool."""
    if claim.kind == "fleet" and "explore" in claim.methods:
        sizes = TWO_WORKERS[FLEETS.get(claim.id, claim.policy)]
        for states, transitions in sizes if deep else sizes[:1]:
            size = figures("", states=states, transitions=transitions, workers=2)
            met = (states, transitions) in TWICE
            yield from (Due("explore", occurs(name, met), size, begins=f"{name} ") for name in claim.properties)
        for what, (states, transitions, graph) in FLEET_GRAPHS[FLEETS.get(claim.id, FLEET)].items() if deep else ():
            workers = 1 if what.startswith("one ") else 2
            size = figures("", states=states, transitions=transitions, graph=f"{graph:016x}", workers=workers)
            again = "crashwindow verify --profile deep"
            met = what in TWICE
            yield from (
                Due("explore", occurs(name, met), size, begins=f"{name} ", command=again) for name in claim.properties
            )
        if claim.id in FLEETS:
            steps = figures("", steps=ONE_WORKER[FLEETS[claim.id]], workers=1)
            yield Due("explore", "EXHAUSTED", steps, begins="one worker takes ")
        if claim.id == "P10-ANY" and deep:
            changes = figures("changes", states=TWO_WORKERS[FLEET][0][0], workers=2)
            yield Due("explore", "EXHAUSTED", changes, command="crashwindow verify --profile deep")


def occurs(name: str, twice: bool) -> str:
    """The verdict on a property where nothing breaks it. twice: whether a step is executed twice there."""
    return "NOT CHECKED" if name in UNMET and not twice else "EXHAUSTED"


def found(claim: Claim, deep: bool) -> Iterable[Due]:
    """The proofs over invariants that were found, for one worker and lifted to any number."""
    if claim.inductive and (claim.policy in FOUND or (deep and claim.policy == "hardened")):
        files = (f"smt2/{claim.policy}-found/",)
        yield Due("prove", "PROVED", of.FOUND, files, command=f"{FINDS} {claim.policy}")
    fleet = any_number(claim)
    if fleet and (deep or fleet in LIFTED):
        yield Due("prove", "PROVED", of.LIFTED, (f"smt2/{fleet}-lifted.smt2",), command=f"{FINDS} {fleet}")
    if claim.id == "P12-ANY" and deep:
        file = "smt2/fleet-recorded-found.smt2"
        yield Due("prove", "PROVED", of.IN_TWO, (file,), command=f"{FINDS} fleet-recorded")


def any_number(claim: Claim) -> str:
    """The fleet to which what a claim says of one worker is lifted; "" for other claims."""
    return FLEETS.get(claim.id, FLEET) if claim.kind == "fleet" and claim.id.endswith("-ANY") else ""


def invariants(claim: Claim, deep: bool) -> Iterable[Due]:
    """Invariants that were found; workers counted."""
    yield from found(claim, deep)
    if claim.policy in FLEET_POLICIES and claim.kind == "refuted":
        yield Due("explore", "NOT CHECKED", of.COUNT, command=f"{FINDS} {claim.policy}")
    fleet = any_number(claim)
    counted = fleet or claim.id in COUPLED
    for name in claim.properties if (counted if deep else claim.id == "P12-ANY") else ():
        if name != "P7":  # what only grows is no state
            again = f"{FINDS} {COUPLED.get(claim.id, fleet)}"
            yield Due("explore", occurs(name, twice=False), of.COUNT, begins=f"{name} ", command=again)


def health(claim: Claim, deep: bool) -> Iterable[Due]:
    """What is said of the proofs on which a claim rests: all in the deep profile."""
    if claim.inductive and (deep or claim.policy == "recorded-hardened"):
        for name in (FLEET, *FLEETS.values()) if claim.policy == FLEET else (claim.policy,):
            yield Due("prove", "TESTED", of.HEALTH, begins=f"the proof {name} ", command="crashwindow prove --health")


def second(claim: Claim, deep: bool) -> Iterable[Due]:
    """cvc5's answers, a proof at a time; where it is not installed, that nobody gave a second opinion."""
    alone = f"smt2/{claim.policy}" + (".smt2" if claim.kind == "fleet" else "/")
    proofs = [(PROOFS if claim.policy == FLEET else (alone,), "PROVED")] if claim.inductive else []
    proofs += [(due.files, "PROVED") for due in found(claim, deep)]
    proofs += [(ROWS, "TESTED")] if claim.id == "T-WINDOW" else []
    proofs += [((file,), "PROVED") for file in CLASS] if claim.id == "T-AMBIGUOUS-EXACT" else []
    again = "crashwindow recheck"
    nobody = (Due("reprove", "NOT CHECKED", {}, command=again),)
    for files, verdict in proofs:
        yield Due("reprove", verdict if deep else "TESTED", of.AGAIN, files, otherwise=nobody, command=again)


def liveness(claim: Claim, deep: bool) -> Iterable[Due]:
    """That every fair run comes to rest; and what does not where an assumption is missing."""
    if claim.kind == "live" and claim.variant == "as_written":
        yield Due("explore", "REFUTED", figures("repeated, steps"), shown=True, command="crashwindow replay '{key}'")
    elif claim.kind == "live" and claim.policy == FLEET:
        sizes = TWO_WORKERS[FLEET]
        for states, transitions in sizes if deep else sizes[:1]:
            size = figures(of.REST, states=states, transitions=transitions)
            yield Due("explore", "EXHAUSTED", size, command=f"{CHECK} {claim.id}")
    elif claim.kind == "live":
        yield Due("explore", "EXHAUSTED", sized(claim.policy, of.REST), command=f"{CHECK} {claim.id}")
