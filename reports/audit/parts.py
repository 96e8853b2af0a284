"""Parts of the evidence that no claim names: that a run of its profile has them all, and that figures elsewhere agree with them.

What is due follows from the models that the run describes, which `replays.models` misses where a claim rests on one: searched
machines, graphs, campaigns of crashes, mutants, planted defects, the store on which every edge of a contract is tried.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ...checkers.evidence import Item, Machine, RunEvidence, Schedules
from ...scenarios.fleet_policies import FLEET_POLICIES
from ...scenarios.profile import (
    ASKED_AGAIN,
    CAMPAIGNS,
    COVERED,
    COVERED_BY,
    CRASHED,
    MATRICES,
    MUTATED,
    MUTATED_FLEETS,
    ONE_IN,
    unplanted,
)
from ...scenarios.searched import COMBINATIONS, GRAPHS, SEARCHED, TWO_WORKERS, Searched, digest
from .listed import names

COVERAGE: Final = frozenset({"edges", "legal", "illegal", "refused"})
STEP: Final = "hardened"


def parts(evidence: RunEvidence) -> list[str]:
    """Every part that is missing, there twice, or contradicted by a figure elsewhere."""
    described = {machine.policy for machine in evidence.machines}
    return [
        *_graphs(evidence, described),
        *_campaigns(evidence, described),
        *_mutants(evidence, described),
        *_planted(evidence, described),
        *_coverage(evidence, described),
        *names("the crash matrix of", (each.subject for each in evidence.campaigns), MATRICES[evidence.run.profile]),
    ]


def searched(evidence: RunEvidence) -> Iterator[str]:
    """Machines whose size or never reached rules are not as this program states; of two workers, one with each kind of tool."""
    for policy in dict.fromkeys(machine.policy for machine in evidence.machines):
        mine = [machine for machine in evidence.machines if machine.policy == policy]
        if SEARCHED.get(policy) not in [_size(machine) for machine in mine]:
            yield f"model {policy}: states, transitions and the rules that are never reached are not as this program states"
        if policy in TWO_WORKERS:
            due = TWO_WORKERS[policy][: None if evidence.run.profile == "deep" else 1]
            if sorted((machine.states, machine.transitions) for machine in mine) != sorted(due):
                yield f"model {policy}: by states and transitions they are not the {len(due)} of this profile"


def _size(machine: Machine) -> Searched:
    return Searched(machine.states, machine.transitions, digest(machine.unreached) if machine.unreached else "")


def _items(evidence: RunEvidence) -> Iterator[tuple[str, Item]]:
    return ((result.claim, item) for result in evidence.claims for item in result.items)


def _graphs(evidence: RunEvidence, described: set[str]) -> Iterator[str]:
    yield from names("the graph of", (graph.policy for graph in evidence.graphs), described & GRAPHS.keys())
    for graph in evidence.graphs:
        if GRAPHS.get(graph.policy) != digest(graph.model_dump(mode="json")):
            yield f"the graph of {graph.policy}: its nodes, edges, counts and words are not those that this program states"


def _campaigns(evidence: RunEvidence, described: set[str]) -> Iterator[str]:
    """The campaigns on which items rest, or that crash what a model is of; schedule for schedule those that items tell of."""
    resting: dict[str, list[tuple[str, Item]]] = {place: [] for policy, place in CRASHED.items() if policy in described}
    for claim, item in _items(evidence):
        for place in item.files:
            if item.checker == "crash" and place in CAMPAIGNS:
                resting.setdefault(place, []).append((claim, item))
    due = {name: by for place in resting for name, by in CAMPAIGNS[place].items()}
    yield from names("the campaign", (campaign.name for campaign in evidence.schedules), due)
    for campaign in evidence.schedules:
        yield from (f"the campaign {campaign.name}: {words}" for words in _campaign(campaign, due))
    for place, items in resting.items():
        there = sum(each.schedules for each in evidence.schedules if each.name in CAMPAIGNS[place])
        if not items:
            yield f"{place}: no claim rests on its campaigns"
        for claim, item in items:
            if item.figures.get("schedules") != there:
                yield f"claim {claim}: {item.figures.get('schedules')} schedules; the campaigns of {place} have {there}"


def _campaign(campaign: Schedules, due: Mapping[str, str]) -> Iterator[str]:
    if campaign.name in due and campaign.by != due[campaign.name]:
        yield f"its schedules strike by {campaign.by}, not by {due[campaign.name]}"
    if campaign.schedules < 1 or not campaign.boundaries:
        yield "nothing was struck"


def _mutants(evidence: RunEvidence, described: set[str]) -> Iterator[str]:
    """The subjects that are mutated, with as many mutants as a profile takes of each; a class of mutants once."""
    deep = evidence.run.profile == "deep"
    stated = {policy: number for policy, number in MUTATED.items() if policy in described}
    if described & FLEET_POLICIES.keys():
        stated |= {name: number for name, number in MUTATED_FLEETS.items() if number or deep}
    there = {row.subject for row in evidence.kills}
    code = there - MUTATED.keys() - MUTATED_FLEETS.keys()
    yield from names("mutants of", there - code, stated)
    if deep == (not code) and (stated or code):
        yield f"mutants of the runtime: {'there is none' if deep else 'the quick profile makes none'}"
    yield from names("the class of mutants", (f"{row.subject}, {row.kind}" for row in evidence.kills),
                     {f"{row.subject}, {row.kind}" for row in evidence.kills})  # fmt: skip
    for row in evidence.kills:
        if row.one_in != (ONE_IN.get(row.subject, 1) if deep else 1):
            yield f"mutants of {row.subject}, {row.kind}: one in {row.one_in} judged, which the profile does not say"
        if row.unasked and (deep or row.subject not in MUTATED):
            yield f"mutants of {row.subject}, {row.kind}: {row.unasked} not asked further, of which the profile has none"
        if row.safe and deep and row.subject in MUTATED:
            yield f"mutants of {row.subject}, {row.kind}: {row.safe} safe, proved, which is no equivalence to their machine"
        if bool(row.agreed) != (row.subject in MUTATED_FLEETS):
            yield f"mutants of {row.subject}, {row.kind}: {'' if row.agreed else 'not '}said how far the ways to a verdict agree"
        if row.safe and not deep and row.subject in MUTATED:
            yield f"mutants of {row.subject}, {row.kind}: {row.safe} safe, proved, and the quick profile asks too few to say so"
    for subject, number in stated.items():
        made = sum(row.mutants for row in evidence.kills if row.subject == subject)
        if subject in there and (made < number or (made > number and not deep)):
            least = " at least" if deep else ""
            yield f"mutants of {subject}: {made}, and the profile {evidence.run.profile} makes {number}{least}"


def _planted(evidence: RunEvidence, described: set[str]) -> Iterator[str]:
    """Planted defects: some for each part of the run that plants any, none twice."""
    there = [mutant.name for mutant in evidence.mutants]
    yield from names("the planted defect", there, set(there))
    if STEP in described:
        silent = all(item.verdict == "NOT CHECKED" for _, item in _items(evidence) if item.checker == ASKED_AGAIN)
        yield from unplanted(there, [ASKED_AGAIN] if silent else ())


def _coverage(evidence: RunEvidence, described: set[str]) -> Iterator[str]:
    """The store on which a contract's edges are taken, with the figures that items tell of it."""
    stores = [coverage.store for coverage in evidence.contracts]
    due = {store for policy, store in COVERED.items() if policy in described or store in stores}
    yield from names("contracts on", stores, due)
    for coverage in evidence.contracts:
        if any(getattr(coverage, name) != number for name, number in COMBINATIONS.items()):
            yield f"contracts on {coverage.store}: its combinations are not as many as this program states"
        by = dict.fromkeys(checker for edge in coverage.edges for checker in edge.by)
        yield from (
            f"contracts on {coverage.store}: {checker} takes no edges" for checker in by if checker not in COVERED_BY
        )
    told = [{"edges": len(each.edges), "legal": each.legal, "illegal": each.illegal, "refused": each.refused}
            for each in evidence.contracts]  # fmt: skip
    for claim, item in _items(evidence):
        said = {name: figure for name, figure in item.figures.items() if name in COVERAGE}
        if said.keys() == COVERAGE and said not in told:
            yield f"claim {claim}: its edges and combinations are those of no store in the table"
