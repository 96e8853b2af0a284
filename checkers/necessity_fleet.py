"""The matrix for the mechanisms between workers: two workers, on the step, a gate, a compensation and a recorded value.

In the quick profile there are at most two claims in all, enough for one worker to be overtaken once; in the deep one three.
Crashes are not bounded. P15 is asked of whatever number of claims, in the deep profile: a bound would be an end that is none.
The space is reduced as in `fleet_search`. No run that leads to a state is shorter than the way to it in
the reduced space; the run that is shown makes that way with what the reductions leave out, and is replayed without them.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from ..model.compensation_properties import COMPENSATION_PROPERTIES
from ..model.fleet import Fleet, stands
from ..model.fleet_broken import forbidden
from ..model.fleet_rows import WORKERS, fleet_machine
from ..model.fleet_shape import STORES
from ..model.gate import GATE_PROPERTIES
from ..model.liveness import RESTS
from ..model.machine import Actor, Machine, Rule, Scope, State, show
from ..model.mechanisms import TWO, missing
from ..model.properties import PROPERTIES, Property
from ..model.recorded import RECORDED_PROPERTIES
from ..scenarios.matrix import CLAIMS
from ..scenarios.without import fleet_without, named
from .evidence import Need
from .explore import Packing, Space
from .fleet_search import CLAIMS as CLAIMS_FIELD
from .fleet_search import FleetEngine, bounded, reduction, search, unfenced
from .liveness import look, resting
from .liveness_fleet import fleet_moves
from .liveness_stage import LIVE, drawn, lasso_of
from .necessity import P15, Break, cell, first, keyed, unlike

Breaks = Callable[[int, int, int], str]
"""How a step (a state, its change, the rule's number) breaks a property; "" if it does not."""
P5: Final = "P5"
LAST: Final = -1
STEP: Final = "two"
LIVENESS: Final = next(claim for claim in LIVE if claim.id == "P15-TWO")


@dataclass(frozen=True)
class Worked:
    """What two workers work on, and the properties asked of it, by the id under which the matrix has them."""

    kind: str
    properties: Mapping[str, Sequence[Property]]


SEMANTICS: Final = (
    Worked("two-gate", {"P9": GATE_PROPERTIES}),
    Worked("two-compensation", {"P10": COMPENSATION_PROPERTIES}),
    Worked("two-recorded", {"P12": RECORDED_PROPERTIES}),
)


def columns(profile: str) -> Iterator[list[Need]]:
    """The columns of every mechanism between workers."""
    claims = CLAIMS[profile]
    for mechanism in TWO:
        yield [*step(mechanism, claims), *(each for worked in SEMANTICS for each in others(worked, mechanism, claims))]


@cache
def original(kind: str, claims: int) -> FleetEngine:
    """The engine of the two workers with every mechanism: most rows of a fleet without one are its rows."""
    return FleetEngine(bounded(fleet_machine(fleet_without(named(kind, []), kind, missing([]))), claims), WORKERS)


def step(mechanism: str, claims: int) -> list[Need]:
    """What the properties of the step, and P5, say of a mechanism."""
    fleet = unfenced(fleet_without(named(STEP, [mechanism]), STEP, missing([mechanism])))
    space = search(fleet, reduced=True, claims=claims, like=original(STEP, claims))
    whole = fleet_machine(fleet)
    where = f"{len(space):,} states, two workers, {claims} claims, one kind of tool"
    judges = {P5: below(fleet, space.machine), "P7": taken_back(space.machine)}
    made = {name: judge(space.packing) for name, judge in judges.items()}
    taken = stepwise(space, made)
    failing = {name: _step(fleet, whole, space, state, made[name]) for name, state in taken.items()}
    cells = [cell(P5, mechanism, failing.get(P5), where)]
    among = unlike(space, [each for prop in PROPERTIES for each in forbidden(fleet, prop)])
    for prop in PROPERTIES:
        found = failing.get(prop.id) if prop.id in judges else _state(fleet, whole, space, prop, among)
        cells.append(cell(prop.id, mechanism, found, where))
    return cells


def others(worked: Worked, mechanism: str, claims: int) -> Iterator[Need]:
    """What the properties of gates, compensations and recorded values say of a mechanism."""
    fleet = unfenced(fleet_without(named(worked.kind, [mechanism]), worked.kind, missing([mechanism])))
    space = search(fleet, reduced=True, claims=claims, like=original(worked.kind, claims))
    whole = fleet_machine(fleet)
    where = f"{len(space):,} states, two workers, {claims} claims"
    for name, properties in worked.properties.items():
        among = unlike(space, [each for prop in properties for each in forbidden(fleet, prop)])
        failing = [each for p in properties if (each := _state(fleet, whole, space, p, among))]
        yield cell(name, mechanism, min(failing, key=lambda each: each.steps, default=None), where)


def rests(mechanism: str) -> Need:
    """P15: whether every weakly fair run of two workers on a step comes to rest without a mechanism."""
    return at_rest(fleet_without(named(STEP, [mechanism]), STEP, missing([mechanism])), mechanism)


def at_rest(as_it_is: Fleet, mechanism: str) -> Need:
    """The same of a fleet. Raises ValueError where one of the ends is not reached: of such a job little would be said."""
    fleet, ends = unfenced(as_it_is), [rest for _, rest in RESTS["fleet"]]
    space = search(fleet, reduced=True)
    if missed := [words for words, rest in RESTS["fleet"] if space.find(rest) is None]:
        raise ValueError(f"{as_it_is.name}: no run comes to rest as {', '.join(missed)}")
    moves = fleet_moves(fleet, space.engine, LIVENESS.assumptions, reduced=True)
    looked, found = look(space.states, moves, resting(space.packing, ends)), None
    if looked.stuck:
        machine = fleet_machine(as_it_is)
        lasso = lasso_of(machine, LIVENESS.assumptions, ends, fleet=as_it_is, reach=())
        assert lasso is not None
        trace, steps = drawn(machine, lasso), len(lasso.stem) + len(lasso.round) - 1
        found = Break("a fair run never comes to rest", trace.key, steps)
    where = (
        f"{looked.states:,} states outside rest of {len(space):,}, two workers, any number of claims, one kind of tool"
    )
    return cell(P15, mechanism, found, where)


def untaken(mechanism: str) -> Need:
    """The same where nobody takes up an open attempt, either: P15 has to fail then."""
    fleet = fleet_without(named(STEP, [mechanism]), STEP, missing([mechanism]))
    return at_rest(replace(fleet, rules=tuple(r for r in fleet.rules if r.name != "5: open attempt")), mechanism)


def _state(fleet: Fleet, whole: Machine, space: Space, prop: Property, among: Sequence[int]) -> Break | None:
    """The nearest state that a property forbids, among those that are `unlike` to what all of them forbid."""
    found = first(space, forbidden(fleet, prop), among)
    if found is None:
        return None
    return Break(f"never: {show(found[1])}", *keyed(whole, unreduced(fleet, space, found[0])))


def _step(fleet: Fleet, whole: Machine, space: Space, state: int, breaks: Breaks) -> Break:
    """The step, from the nearest state, that breaks a property."""
    run = unreduced(fleet, space, state, breaks)
    packed = [space.packing.pack((*each, space.machine.by_name[CLAIMS_FIELD].values[0])) for _, each in run[-2:]]
    number = next(n for n, r in enumerate(space.machine.rules) if _unbounded(space.machine, n) == run[-1][0])
    words = breaks(packed[0], packed[0] ^ packed[1], number)
    return Break(f"{words}, by {run[-1][0]!r}", *keyed(whole, run))


def unreduced(fleet: Fleet, space: Space, packed: int, breaks: Breaks | None = None) -> list[tuple[str, State]]:
    """A run of the fleet, without reductions and without the bound, that makes a way of the reduced space; breaks: one step more.

    At each step it goes on to a state that is reduced to the next one of the way, if need be over states that are reduced to
    the same one.
    """
    way = [packed]
    while (before := space.parents[way[-1]])[1] >= 0:
        way.append(before[0])
    reduce_to = reduction(fleet, WORKERS).function(space.packing)
    steps = space.engine.steps
    here = next(s for s in map(space.packing.pack, space.machine.initial_states()) if reduce_to(s) == way[-1])
    run: list[tuple[int, int]] = [(-1, here)]
    for target in [*way[-2::-1], *([LAST] if breaks else [])]:
        ways: dict[int, list[tuple[int, int]]] = {run[-1][1]: []}
        waiting = deque(ways)
        while True:
            state = waiting.popleft()
            moves = [(number, state ^ delta) for delta, number in steps(state)]
            if target == LAST and breaks:
                there = [m for m in moves if breaks(state, state ^ m[1], m[0])]
            else:
                there = [m for m in moves if reduce_to(m[1]) == target]
            if there:
                run += [*ways[state], there[0]]
                break
            for number, after in moves:
                if after not in ways and reduce_to(after) == reduce_to(state):
                    ways[after] = [*ways[state], (number, after)]
                    waiting.append(after)
    return [(_unbounded(space.machine, number), space.packing.unpack(state)[:-1]) for number, state in run]


def _unbounded(machine: Machine, number: int) -> str:
    """The name of a rule in the machine without the count of claims."""
    if number < 0:
        return ""
    rule = machine.rules[number]
    return rule.name.rpartition(", ")[0] if CLAIMS_FIELD in rule.writes else rule.name


def stepwise(space: Space, judges: Mapping[str, Breaks]) -> dict[str, int]:
    """The state nearest to the start from which a step breaks each property, where one does."""
    kept = {f.name for f in space.machine.fields if f.scope is Scope.DURABLE}
    writes = [bool(kept & rule.writes.keys()) for rule in space.machine.rules]
    found: dict[str, int] = {}
    for state in space.states:
        for delta, index in space.engine.steps(state):
            if writes[index]:
                for name, breaks in judges.items():
                    if name not in found and breaks(state, delta, index):
                        found[name] = state
        if len(found) == len(judges):
            break
    return found


def below(fleet: Fleet, machine: Machine) -> Callable[[Packing], Breaks]:
    """P5: a worker changes a store in which it does not stand."""

    def judge(packing: Packing) -> Breaks:
        stores = {s: packing.mask(n for n, at in fleet.shape.stores.items() if at == s) for s in STORES}
        actors = [_actor(rule) for rule in machine.rules]
        stood = {
            (x, s): packing.matcher({stands(s, f"{x}."): frozenset({"yes"})}) for x in WORKERS for s in STORES
        }  # fmt: skip

        def breaks(state: int, delta: int, index: int) -> str:
            x = actors[index]
            for store, mask in stores.items():
                if x and delta & mask and not stood[x, store](state):
                    return f"a write to the {store} store below its fence"
            return ""

        return breaks

    return judge


def _actor(rule: Rule) -> str:
    """The worker whose row it is, if it is one that writes."""
    name = rule.name.partition(":")[0]
    return name if name in WORKERS and rule.actor is Actor.WORKER else ""


def taken_back(machine: Machine) -> Callable[[Packing], Breaks]:
    """P7: what only grows is changed, or something durable is written after the end."""
    prop = next(p for p in PROPERTIES if p.id == "P7")
    fields = machine.by_name

    def judge(packing: Packing) -> Breaks:
        growing = [(name, packing.mask([name]), fields[name].count) for name in prop.grows]
        durable = packing.mask(f.name for f in machine.fields if f.scope is Scope.DURABLE)
        ended = [packing.matcher(g) for g in prop.absorbing]

        def breaks(state: int, delta: int, index: int) -> str:
            if not delta & durable:
                return ""
            if any(match(state) for match in ended):
                return "written after the end"
            for name, mask, count in growing:
                if delta & mask and state & mask and (not count or (state ^ delta) & mask < state & mask):
                    return f"{name} changed"
            return ""

        return breaks

    return judge
