"""Which items each stage of a run puts beside which claims, by profile.

A run is compared with it stage by stage, its audit as a whole. What a deep run has more is said here as well; where there is no
PostgreSQL server, an item says so in the place of each that needs one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from ..model.claims import CLAIMS, REASONS, Claim
from ..model.contract_claims import CONTRACT_CLAIMS
from ..model.liveness_claims import LIVENESS_REASONS
from ..model.seed_claims import SEED_CLAIMS, SEED_REASONS
from . import due_figures as of
from . import due_models as models
from .contract_policies import CONTRACT_POLICIES
from .due import CHECK, Due
from .due_figures import figures
from .due_models import Rule, proved, searched, unchecked
from .fleet_policies import FLEET_POLICIES
from .policies import POLICIES
from .profile import CONTRACT_STREAMS, CRASH_STREAMS, KEPT, SEMANTICS_STREAMS, command
from .schema import Scenario, shipped
from .searched import STORES
from .semantics_policies import SEMANTICS_POLICIES

SILENT: Final = (
    "canaries",
    "mutants",
    "contract_canaries",
    "semantics_canaries",
    "graphs",
    "fleet_canaries",
    "campaigns",
    "checker_canaries",
)
"""Stages that put nothing beside a claim."""
SEVERAL: Final = ("P1", "P2", "P3", "P6", "P7", "P11", "P14")
"""The claims of the step of which interleavings and walks of several workers speak."""
REFINED: Final = ("P1", "P2", "P3", "P6", "P7")
"""Those that are the code's because its steps are the model's."""
COVERED: Final = ("C4", "C6", "C8", "C9", "S3-VALIDATES")
ALIKE: Final = Due("enumerate", "TESTED", of.ALIKE)
CONFORM: Final = "crashwindow conform"


def beside(claims: Iterable[str], *items: Due) -> Rule:
    """The same items beside each of some claims, whatever the profile."""
    return lambda claim, deep: items if claim.id in claims else []


def checked(claims: Iterable[str], item: Due) -> Rule:
    """An item beside each of some claims, which `crashwindow check` repeats."""
    return lambda claim, deep: [replace(item, command=f"{CHECK} {claim.id}")] if claim.id in claims else []


def seeded(claims: Iterable[str], item: Due) -> Rule:
    """An item beside each of some claims, which the run's own profile and seed repeat."""
    return lambda claim, deep: (
        [replace(item, command=command("deep" if deep else "quick", "{seed}"))] if claim.id in claims else []
    )


def on_a_server(due: Due, nobody: str) -> Due:
    """An item that needs a PostgreSQL server; where there is none, how the item begins that says so."""
    return replace(due, otherwise=(Due(due.checker, "NOT CHECKED", {}, begins=nobody, command=due.command),))


def every(*rules: Rule) -> Rule:
    """What several rules say."""
    return lambda claim, deep: [due for rule in rules for due in rule(claim, deep)]


def _ids(method: str, *policies: str) -> tuple[str, ...]:
    """The claims about these machines that hold, and for which the register names a method."""
    return tuple(c.id for c in CLAIMS if c.kind == "holds" and c.policy in policies and method in c.methods)


STEP: Final = _ids("walk", "hardened")
CONTRACTS: Final = _ids("walk", "contract-hardened")
JOBS: Final = _ids("monitor", "gate-hardened", "compensation-hardened", "recorded-hardened")


def _crash(place: str, unfit: str) -> Due:
    least = {"streams": KEPT[place]}
    return Due("crash", "TESTED", figures("schedules, streams", **{unfit: 0}), (place,), least=least)


def _replayed(place: str, names: str) -> Due:
    least = {"streams": KEPT[place]}
    return Due("monitor", "TESTED", figures(f"events, streams, traces, {names}", diverging=0), (place,), least=least)


def _seed_text(claim: Claim, deep: bool) -> Iterable[Due]:
    if claim in SEED_CLAIMS and "enumerate" in claim.methods:
        again = f"crashwindow replay text:{claim.id}"
        holds = claim.kind in ("shown", "rows")
        yield Due("enumerate", "TESTED" if holds else "REFUTED", {}, shown=not holds, command=again)


def _contract_text(claim: Claim, deep: bool) -> Iterable[Due]:
    if (
        claim in CONTRACT_CLAIMS
        and claim.methods == ("enumerate",)
        and claim.kind == "shown"
        and claim.id not in ("C-KEY", *COVERED)
    ):
        yield Due("enumerate", "TESTED", {}, command=f"{CHECK} {claim.id}")


ENUMERATED: Final = "cases, pairs, seconds, states, transitions, turns with answers repeated"
"""What is counted of an enumeration."""


TAKEN_OF_OTHERS: Final = {
    "P9": ("EXHAUSTED", of.TAKEN_OF_GATES),
    "P10": ("TESTED", of.TAKEN_OF_COMPENSATIONS),
    "P12": ("EXHAUSTED", of.TAKEN_OF_VALUES),
}
"""By claim about a machine beside the step's: what its cases come to, and how many edges are taken in them."""


def _enumeration(claim: Claim, deep: bool) -> Iterable[Due]:
    if claim.id in REFINED:
        yield Due("enumerate", "EXHAUSTED", figures(ENUMERATED), command=CONFORM)
        for case in ("fail-2", "park-2") if deep else ("fail-2",):
            yield Due(
                "enumerate",
                "EXHAUSTED",
                figures("seconds, states, transitions"),
                begins=f"{case}: over the SQLite store",
                command=CONFORM,
            )
        for who, taken, workers in (
            (
                ("the shipped code takes", of.TAKEN, 1),
                ("two workers that run the shipped code take", of.TAKEN_BY_TWO, 2),
                ("a crash where a worker only decides is one", of.DECIDING, 1),
                ("a crash where a worker only decides is one", of.DECIDING_OF_TWO, 2),
            )
            if deep
            else ()
        ):
            yield Due("enumerate", "EXHAUSTED", taken, begins=f"{who} ", command=f"{CONFORM} --workers {workers}")
    if deep and claim.id in TAKEN_OF_OTHERS:
        verdict, taken = TAKEN_OF_OTHERS[claim.id]
        yield Due("enumerate", verdict, figures(ENUMERATED), command=CONFORM)
        yield Due("enumerate", "EXHAUSTED", taken, command=f"{CONFORM} --workers 1")
    if claim.id in (*REFINED, "P5"):
        yield _stores("the memory store and the SQLite store", 2, "deep" if deep else "quick")
        served = _stores("the PostgreSQL store", 1, "quick")
        yield from [on_a_server(served, "stores side by side: nobody asked the PostgreSQL store: ")] if deep else []


def _stores(who: str, stores: int, profile: str) -> Due:
    """Stores beside their rules, in a profile's bounds."""
    states, operations = STORES[profile]
    size = figures("seconds", states=states, transitions=operations, stores=stores)
    return Due("enumerate", "EXHAUSTED", size, begins=f"stores side by side: {who} ", command=CONFORM)


def _contract_enumeration(claim: Claim, deep: bool) -> Iterable[Due]:
    if claim.id in CONTRACTS:
        for store in ("memory", "SQLite"):
            counted = figures(ENUMERATED, store=store)
            yield Due("enumerate", "EXHAUSTED", counted, command=CONFORM)
        yield from (
            [Due("enumerate", "EXHAUSTED", of.TAKEN_OF_CONTRACTS, command=f"{CONFORM} --case contracts")]
            if deep
            else []
        )


def _interleavings(claim: Claim, deep: bool) -> Iterable[Due]:
    if claim.id in SEVERAL:
        yield Due("enumerate", "EXHAUSTED", figures("cases, seconds, states, transitions"))
        yield ALIKE
        served = Due("enumerate", "TESTED", of.ALIKE_ON_A_SERVER)
        yield from ([on_a_server(served, "schedules on whole stores: none was run on PostgreSQL: ")] if deep else [])


def _test_paths(claim: Claim, deep: bool) -> Iterable[Due]:
    if claim.id in STEP:
        walked = of.PATHS | (of.LEFT_OUT if deep else {})
        yield Due("walk", "TESTED", walked, command="crashwindow walks")
        served = Due("walk", "TESTED", of.SERVED)
        yield from [on_a_server(served, "on PostgreSQL nobody walked: ")] if deep else []


def _shown(claim: Claim, contracts: bool) -> Iterable[Due]:
    """Counterexamples of the model, shown by the runtime: in each scenario that names the claim, of contracts or other jobs."""
    if claim.kind == "refuted" and "replay" in claim.methods:
        for scenario in _played():
            if scenario.claim == claim.id and scenario.of_contracts() == contracts:
                again = f"crashwindow replay '{scenario.key()}'"
                yield Due("replay", "REFUTED", {}, begins=scenario.shows(), command=again)


def _scenarios(claim: Claim, deep: bool) -> Iterable[Due]:
    """What jobs show."""
    return _shown(claim, contracts=False)


def _contract_scenarios(claim: Claim, deep: bool) -> Iterable[Due]:
    """What sessions of contracts show; of a sentence of S3 the scenario that names it, or the one that is told step by step."""
    yield from _shown(claim, contracts=True)
    if claim.methods == ("replay",):
        played = [each for each in _played() if each.of_contracts()]
        named = [each for each in played if each.claim == claim.id] or [
            each for each in played if each.run and each.run.steps
        ]
        for scenario in named:
            yield Due("replay", "TESTED", {}, command=f"crashwindow scenario run {scenario.name}")


def _losses(claim: Claim, deep: bool) -> Iterable[Due]:
    """The loss of power that doubles an effect, where SQLite is told to be less careful."""
    if claim.id in ("POWER-NORMAL", "POWER-OFF"):
        key = f"power:ok-park@{claim.id.removeprefix('POWER-').lower()}:{{loss}}"
        yield Due("crash", "REFUTED", of.POWER, command=f"crashwindow replay '{key}'")


@cache
def _played() -> list[Scenario]:
    return [scenario for scenario in shipped() if scenario.run or scenario.interleaving]


ITEMS: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(SILENT, beside([])),
    "search": searched(POLICIES),
    "proof": proved(POLICIES),
    "table": every(checked(["T-WINDOW"], Due("windows", "EXHAUSTED", figures("states, windows"), models.ROWS)),
                   checked([c.id for c in CLAIMS if c.kind == "rows"], Due("windows", "EXHAUSTED", figures("states, windows")))),
    "keys": checked(["P11-INJECTIVE"], Due("enumerate", "TESTED", figures("steps"))),
    "walk": seeded(STEP, Due("walk", "TESTED", of.WALKED)),
    "test_paths": _test_paths,
    "workers_walk": seeded(
        SEVERAL, Due("walk", "TESTED", figures("examples, followed, judged, seed, steps, turns killed, windows"))
    ),
    "contract_search": every(searched(CONTRACT_POLICIES), models.contract_search,
                             unchecked(REASONS.keys() - SEED_REASONS.keys() - LIVENESS_REASONS.keys(), "explore")),
    "contract_proof": proved(CONTRACT_POLICIES),
    "contract_refinement": models.pair,
    "contract_walk": seeded(CONTRACTS, Due("walk", "TESTED", of.WALKED | figures("crashes, refusals"))),
    "contract_coverage": beside(COVERED, Due("enumerate", "TESTED", of.COMBINED, command=command("quick"))),
    "contract_text": _contract_text,
    "seed_text": every(_seed_text, unchecked(SEED_REASONS, "enumerate")),
    "verify_job": checked(["P13"], Due("enumerate", "TESTED", of.FORGED)),
    "semantics_search": searched(SEMANTICS_POLICIES),
    "semantics_proof": proved(SEMANTICS_POLICIES),
    "fleet_proof": models.fleet_proof,
    "fleet_search": every(models.fleet_search, searched(FLEET_POLICIES)),
    "invariants": models.invariants,
    "health": models.health,
    "second": models.second,
    "liveness": every(models.liveness, unchecked(LIVENESS_REASONS, "explore")),
    "necessity": every(checked(["NECESSITY"], Due("explore", "EXHAUSTED", figures("free, left, needed"))),
                       checked(["NECESSITY-ORDERS"], Due("explore", "EXHAUSTED", figures("orders"))),
                       checked(["NECESSITY-SETS"], Due("explore", "EXHAUSTED", figures("properties, subsets"))),
                       checked(["T-AMBIGUOUS-EXACT"], Due("explore", "EXHAUSTED", of.CLASS, shown=True)),
                       checked(["T-AMBIGUOUS-EXACT"], Due("prove", "PROVED", of.SOLVED, models.CLASS))),
    "interleavings": _interleavings,
    "enumeration": _enumeration,
    "contract_enumeration": _contract_enumeration,
    "power": every(beside(["POWER-FULL"], Due("crash", "EXHAUSTED", of.POWER)), _losses),
    "crashes": every(beside(["T-WINDOW"], Due("crash", "TESTED", figures("crashes, windows", misfits=0))),
                     beside(STEP, _crash(CRASH_STREAMS, "not run as meant"), _replayed(CRASH_STREAMS, "runs"))),
    "semantics_crashes": every(beside((*STEP, *JOBS), _crash(SEMANTICS_STREAMS, "not run as meant")),
                               beside(JOBS, _replayed(SEMANTICS_STREAMS, "replays"))),
    "contract_crashes": beside((*CONTRACTS, "S3-TRACE"), _crash(CONTRACT_STREAMS, "not at rest or not run")),
    "scenarios": _scenarios,
    "contract_scenarios": _contract_scenarios,
}  # fmt: skip
"""By stage of `crashwindow verify`."""


@cache
def items_of_stage(stage: str, profile: str) -> Mapping[str, tuple[Due, ...]]:
    """What a stage owes in a profile, by claim. Raises KeyError where there is no such stage."""
    found = {claim.id: tuple(ITEMS[stage](claim, profile == "deep")) for claim in CLAIMS}
    return {claim: items for claim, items in found.items() if items}


@cache
def items_of_run(profile: str) -> Mapping[str, tuple[Due, ...]]:
    """What a whole run owes in a profile, by claim."""
    return {
        claim.id: tuple(due for stage in ITEMS for due in items_of_stage(stage, profile).get(claim.id, ()))
        for claim in CLAIMS
    }
