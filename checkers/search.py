"""Claims by explicit search: properties on every reachable state and step, witnesses, ambiguity, rest.

Complete for the machine as it is: the state space is finite, so what holds in it is EXHAUSTED, with any number of crashes;
the counts that it saturates at "two or more" are the prover's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..model.claim_types import PROPERTY_BY_ID, Claim
from ..model.compensation import HARDENED_COMPENSATION
from ..model.gate import HARDENED_GATE
from ..model.machine import Actor, Guard, Scope, guard, show
from ..model.properties import Property
from ..model.recorded import HARDENED_RECORDED
from ..model.step import FIELDS
from ..model.windows import AMBIGUOUS, MISJUDGED
from ..scenarios.fleet_policies import FLEET_POLICIES
from ..scenarios.machines import machine_of
from .evidence import Item, Trace, Verdict
from .explore import Space, explore
from .fleet_search import nearest
from .joined_search import search as search_joined
from .traces import trace_to

REST = guard(job="completed|failed|cancelled|parked|waiting", at="idle")
RESTS: Final[Mapping[str, tuple[Guard, tuple[str, ...]]]] = {
    HARDENED_GATE.name: (guard(job="completed|failed|cancelled", at="idle"),
                         ("somebody signals, unasked", "cancel a waiting job", "cancel an open job",
                          "a person has another step undone")),
    HARDENED_COMPENSATION.name: (guard(job="ended|parked", at="idle"), ("person: gives the job up",)),
    HARDENED_RECORDED.name: (guard(job="completed", at="idle"), ()),
}  # fmt: skip
"""For machines of other models than the step's: where they are at rest, and the rules that a run to rest may not need beside
faults, being luck or giving up."""


@dataclass(frozen=True)
class Violation:
    """A property that fails: which part of it, and where."""

    property: str
    part: str
    trace: Trace


def check(space: Space, prop: Property) -> Violation | None:
    """The first violation of a property, nearest to the start; None when it holds on the whole space."""
    for never in _reached(space, prop.never):
        state = space.find(never)
        if state is not None:
            return Violation(prop.id, f"never: {show(never)}", trace_to(space, state))
    return _check_steps(space, prop) if prop.grows or prop.absorbing else None


def _reached(space: Space, guards: Sequence[Guard]) -> list[Guard]:
    """Those of some guards that hold anywhere: asked of the values that their fields take together, which are far fewer."""
    mask = space.packing.mask(name for each in guards for name in each)
    seen = space.firsts([mask])
    return [each for each in guards if any(map(space.packing.matcher(each), seen))]


def _check_steps(space: Space, prop: Property) -> Violation | None:
    """The step half of a property: what has been written stays, and nothing is written after the end.

    Only rules that write what is to stay can break it, and what they do depends on the fields that they touch, being at the place
    where they may fire: of the states that agree in those, and in whether the end is reached, the nearest one speaks for all.
    """
    packing, fields, rules = space.packing, space.machine.by_name, space.machine.rules
    durable = [f.name for f in space.machine.fields if f.scope is Scope.DURABLE]
    kept = {*prop.grows, *(durable if prop.absorbing else ())}
    writes = [bool(kept & rule.writes.keys()) for rule in rules]
    writing = space.engine.only({index for index, it in enumerate(writes) if it})
    end, durable_mask = packing.mask(name for g in prop.absorbing for name in g), packing.mask(durable)
    looked_at = [mask | end for mask in writing.masks()]
    growing = [(name, packing.mask([name]), fields[name].count) for name in prop.grows]
    ended = [packing.matcher(g) for g in prop.absorbing]
    for state in space.firsts(looked_at, writing.place):
        over = any(match(state) for match in ended)
        for delta, index in writing.steps(state):
            part = f"written after the end, by {rules[index].name!r}" if over and delta & durable_mask else None
            for name, mask, count in growing:
                if delta & mask and (state & mask) and (not count or (state ^ delta) & mask < state & mask):
                    part = f"{name} changed, by {rules[index].name!r}"
            if part:
                return Violation(prop.id, part, trace_to(space, state))
    return None


def witness(space: Space, prop: Property) -> list[Trace | None]:
    """For each antecedent of a property a shortest run that reaches it; None where there is none."""
    states = [space.find(occurs) for occurs in prop.occurs]
    return [trace_to(space, state) if state is not None else None for state in states]


def _item(claim: Claim, verdict: Verdict, statement: str, space: Space, trace: Trace | None = None) -> Item:
    figures: dict[str, int | float | str] = {"states": len(space), "transitions": space.transitions}
    command = f"crashwindow replay {trace.key}" if trace else f"crashwindow check {claim.id}"
    return Item(checker="explore", verdict=verdict, statement=statement, figures=figures, trace=trace, command=command)


def examine(claim: Claim, spaces: dict[str, Space]) -> list[Item]:
    """What explicit search says of a claim; `spaces` keeps complete searches by policy, and is added to."""
    match claim.kind:
        case "refuted":
            return [_refute(claim, name, spaces.get(claim.policy)) for name in claim.properties]
        case "occurs":
            return [_occurs(claim)]
        case "holds":
            space = complete(claim.policy, spaces)
            return [
                item for property_id in claim.properties for item in _holds(claim, space, PROPERTY_BY_ID[property_id])
            ]
        case "ambiguity":
            return [_ambiguity(claim, complete(claim.policy, spaces))]
        case "rest":
            return [_rest(claim, complete(claim.policy, spaces))]
        case "joined":
            return [_joined(claim, complete(claim.policy, spaces))]
        case (
            "table"
            | "rows"
            | "keys"
            | "refines"
            | "salted"
            | "shown"
            | "belied"
            | "fleet"
            | "live"
            | "matrix"
            | "exactly"
            | "unchecked"
        ):
            return []


def complete(policy: str, spaces: dict[str, Space]) -> Space:
    """The whole space of a policy, searched once."""
    if policy not in spaces:
        spaces[policy] = explore(machine_of(policy))
    return spaces[policy]


def _holds(claim: Claim, space: Space, prop: Property) -> list[Item]:
    violation = check(space, prop)
    if violation:
        return [_item(claim, Verdict.REFUTED, f"{prop.id} fails, {violation.part}", space, violation.trace)]
    reached = witness(space, prop)
    missing = [show(g) for g, t in zip(prop.occurs, reached, strict=True) if t is None]
    if missing:
        return [_item(claim, Verdict.ERROR, f"{prop.id} is vacuous: never reached: {'; '.join(missing)}", space)]
    statement = (
        f"{prop.id} holds in every reachable state and step; the trace is a witness that {show(prop.occurs[0])} occurs"
    )
    return [_item(claim, Verdict.EXHAUSTED, statement, space, reached[0])]


def shortest(policy: str, guards: tuple[Guard, ...], searched: Space | None = None) -> tuple[Space, int | None]:
    """The nearest state in which one of some guards holds, in a complete search if there is one, else by one that ends there."""
    space = searched or explore(machine_of(policy), *guards)
    # States are kept in the order in which they were reached, breadth first.
    found = [state for never in guards if (state := space.find(never)) is not None]
    return space, min(found, key=lambda state: len(space.path(state)), default=None)


def _refute(claim: Claim, property_id: str, searched: Space | None) -> Item:
    prop = PROPERTY_BY_ID[property_id]
    if claim.policy in FLEET_POLICIES:
        space, state = nearest(claim.policy, prop)
    else:
        space, state = shortest(claim.policy, prop.never, searched)
    if state is None:
        return _item(claim, Verdict.EXHAUSTED, f"{property_id} holds: no counterexample in the whole space", space)
    trace = trace_to(space, state)
    steps = len(trace.frames) - 1
    statement = f"{property_id} fails: {prop.title} A shortest counterexample has {steps} steps"
    return _item(claim, Verdict.REFUTED, statement, space, trace)


def _occurs(claim: Claim) -> Item:
    space, state = shortest(claim.policy, (MISJUDGED,))
    if state is None:
        return _item(claim, Verdict.REFUTED, f"no run reaches {show(MISJUDGED)}", space)
    return _item(claim, Verdict.EXHAUSTED, f"a run reaches {show(MISJUDGED)}", space, trace_to(space, state))


def _ambiguity(claim: Claim, space: Space) -> Item:
    """Two reachable states that differ in the world alone: one where nothing happened, one where the effect did."""
    seen = space.packing.mask(
        f.name for f in FIELDS if f.scope in (Scope.CONFIG, Scope.DURABLE, Scope.CLOCK, Scope.VOLATILE)
    )
    idle = [{**g, **guard(at="idle")} for g in AMBIGUOUS]
    found: dict[int, dict[str, int]] = {}
    for value in ("0", "1"):
        for g in idle:
            for state in space.all({**g, **guard(effects=value)}):
                found.setdefault(state & seen, {}).setdefault(value, state)
    twins = [pair for pair in found.values() if len(pair) == len(("0", "1"))]
    if not twins:
        return _item(claim, Verdict.REFUTED, "no two such states", space)
    statement = (f"{len(twins)} durable states are left both with 0 and with 1 effects; the trace reaches one with 1, "
                 f"`crashwindow replay {trace_to(space, twins[0]['0']).key}` its twin with 0")  # fmt: skip
    return _item(claim, Verdict.EXHAUSTED, statement, space, trace_to(space, twins[0]["1"]))


def _rest(claim: Claim, space: Space) -> Item:
    rules = space.machine.rules
    rest, unasked = RESTS.get(claim.policy, (REST, ()))
    faults = {
        i
        for i, r in enumerate(rules)
        if r.actor is Actor.CRASH or r.name.endswith("(answer lost)") or r.name in unasked
    }
    resting = space.reaching(set(range(len(rules))) - faults, [rest])
    stuck = [s for s in space.states if s not in resting] if len(resting) < len(space) else []
    if stuck:
        return _item(claim, Verdict.REFUTED, f"{len(stuck)} states are stuck", space, trace_to(space, stuck[0]))
    return _item(
        claim, Verdict.EXHAUSTED, "from every reachable state a run without further faults comes to rest", space
    )


def _joined(claim: Claim, space: Space) -> Item:
    found = search_joined(space)
    item = _item(
        claim,
        Verdict.EXHAUSTED,
        f"each of {found.crashes} crashes within a transaction, of {found.states} states of a step whose worker joins its writes,"
        f" leaves one of the {len(space)} states of one that does not",
        space,
    )
    if found.astray:
        rule, state = found.astray[0]
        view = space.machine.view(space.packing.unpack(state))
        left = show({name: frozenset({value}) for name, value in view.items()})
        item = _item(
            claim, Verdict.REFUTED, f"within a transaction {rule!r} leaves what no run without one does: {left}", space
        )
    figures = {"joined states": found.states, "within a transaction": found.open, "crashes there": found.crashes}
    return item.model_copy(update={"figures": {**item.figures, **figures}})


def witnesses(claim: Claim) -> list[tuple[str, Trace | None]]:
    """For each thing that a claim speaks of, in words, a shortest run that reaches it."""
    if claim.kind == "refuted":
        return [(item.statement, item.trace) for item in examine(claim, {})]
    if claim.kind != "holds":
        return [(item.statement, item.trace) for item in examine(claim, {}) if item.trace]
    space = complete(claim.policy, {})
    props = [PROPERTY_BY_ID[name] for name in claim.properties]
    return [
        (f"{prop.id}: {show(occurs)}", trace)
        for prop in props
        for occurs, trace in zip(prop.occurs, witness(space, prop), strict=True)
    ]
