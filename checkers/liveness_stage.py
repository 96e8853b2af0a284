"""The stage of `crashwindow verify` that speaks of liveness (P15): each claim about it, and defects planted in recovery."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ..model.claim_types import Claim
from ..model.fleet import Fleet
from ..model.fleet_rows import WORKERS
from ..model.fleet_shape import FENCED
from ..model.liveness import FAIR, FINITE, RECLAIMS, RESTS
from ..model.liveness_claims import LIVENESS_CLAIMS, LIVENESS_REASONS
from ..model.machine import Guard, Machine
from ..scenarios.fleet_policies import FLEET_POLICIES, searched_fleet
from ..scenarios.machines import machine_of
from .evidence import Item, MutantResult, Trace, Verdict
from .explore import Engine, Packing, Space
from .fleet_search import FleetEngine
from .fleet_stages import DEEP, QUICK, two_workers
from .liveness import Lasso, Looked, Moves, look, moves_of, nearest, resting
from .liveness_fleet import fleet_moves
from .search import complete
from .traces import to_lasso, trace_to
from .verify import Context, Found, Stage

LIVE: Final = tuple(claim for claim in LIVENESS_CLAIMS if claim.kind == "live")
SUPPOSED: Final = frozenset({RECLAIMS, *(s.assumption for s in (*FINITE, *FAIR))})
"""The assumptions that this stage takes at their word; others are about what a machine's rows stand for."""
MOST: Final = 2_000_000
"""States near the start among which a lasso is looked for where one is expected."""


def liveness(context: Context) -> Found:
    """Every claim about liveness, and the planted defects."""
    found = Found()
    for claim in LIVE:
        for subject in subjects(claim, context):
            found.add(claim.id, shown(claim) if claim.variant == "as_written" else examined(claim, subject()))
        context.tell(f"liveness: {claim.id}")
    for name, why in LIVENESS_REASONS.items():
        found.add(
            name,
            Item(checker="explore", verdict=Verdict.NOT_CHECKED, statement=why, command=f"crashwindow check {name}"),
        )
    found.mutants += [planted(canary) for canary in CANARIES]
    return found


@dataclass(frozen=True)
class Subject:
    """A whole space, the moves that the claim's assumptions leave in it, and where it is at rest, in words and as a guard."""

    space: Space
    moves: Moves
    rests: Sequence[tuple[str, Guard]]
    what: str = ""


def subjects(claim: Claim, context: Context) -> list[Callable[[], Subject]]:
    """What a claim speaks of: one machine, or two workers with each kind of tool that the profile has."""
    if claim.policy not in FLEET_POLICIES or claim.variant == "as_written":
        return [lambda: _one(claim, context)]
    tools = QUICK if context.profile == "quick" else DEEP
    return [partial(_two, claim, context, tool) for tool in tools]


def _one(claim: Claim, context: Context) -> Subject:
    space = complete(claim.policy, context.spaces)
    return Subject(space, moves_of(space.engine, claim.assumptions), RESTS[claim.policy])


def _two(claim: Claim, context: Context, tool: dict[str, str]) -> Subject:
    fleet = searched_fleet(FENCED, tool)
    what = f"two workers ({', '.join(f'{field} {value}' for field, value in tool.items())}): "
    space = two_workers(tool, context.spaces)
    return Subject(space, fleet_moves(fleet, space.engine, claim.assumptions, reduced=True), RESTS["fleet"], what)


def examined(claim: Claim, subject: Subject) -> Item:
    """What the whole space says of a claim: nothing is stuck, or where a run is."""
    space, moves = subject.space, subject.moves
    missing = [words for words, rest in subject.rests if space.find(rest) is None]
    looked = look(space.states, moves, resting(space.packing, [rest for _, rest in subject.rests]))
    figures = _figures(space, looked)
    if looked.stuck:
        at = next(iter(looked.stuck[0].states))
        said = (
            f"{subject.what}a fair run never comes to rest; {len(looked.stuck)} such components; the trace leads to one"
        )
        return _item(claim, Verdict.REFUTED, said, figures, trace_to(space, at) if not subject.what else None)
    if missing:
        return _item(claim, Verdict.ERROR, f"{subject.what}no run comes to rest as: {', '.join(missing)}", figures)
    reached = ", ".join(words for words, _ in subject.rests)
    said = (f"{subject.what}every weakly fair run comes to rest, again and again: no fair cycle, and no dead end, among "
            f"{looked.states} states outside rest; reached are: {reached}")  # fmt: skip
    return _item(claim, Verdict.EXHAUSTED, said, figures)


def _figures(space: Space, looked: Looked) -> dict[str, int | float | str]:
    return {"states": len(space), "transitions": space.transitions, "states outside rest": looked.states,
            "moves there without what is finite": looked.moves, "components of several states": looked.components}  # fmt: skip


def shown(claim: Claim) -> Item:
    """A lasso near the start: the run that a claim overlooks which does without one of the assumptions."""
    machine = machine_of(claim.policy)
    fleet = searched_fleet(FLEET_POLICIES[claim.policy]) if claim.policy in FLEET_POLICIES else None
    rests = [rest for _, rest in RESTS[claim.policy]]
    found = lasso_of(machine, claim.assumptions, rests, fleet=fleet)
    # What is finite may come before the loop; most often none of it needs to.
    found = found or lasso_of(machine, claim.assumptions, rests, fleet=fleet, reach=())
    if found is None:
        return _item(claim, Verdict.NOT_CHECKED, f"no lasso among the {MOST} states nearest to the start", {})
    trace = drawn(machine, found)
    way = f"after {len(found.stem) - 1} steps {len(found.round)} steps are repeated for ever" if found.round else (
        f"after {len(found.stem) - 1} steps all stand still for ever")  # fmt: skip
    return _item(
        claim,
        Verdict.REFUTED,
        f"a fair run never comes to rest: {way}",
        {"steps": len(found.stem) - 1, "repeated": len(found.round)},
        trace,
    )


def lasso_of(machine: Machine, assumptions: Sequence[str], rests: Sequence[Guard], *, fleet: Fleet | None = None,
             reach: Sequence[str] | None = None, most: int = MOST) -> Lasso | None:  # fmt: skip
    """The lasso nearest to the start, under some assumptions; reach: those under which its stem runs, if not the same."""
    engine = FleetEngine(machine, WORKERS) if fleet else Engine(machine)
    starts = [engine.packing.pack(state) for state in machine.initial_states()]
    both = (assumptions, assumptions if reach is None else reach)
    moves, stem = ((fleet_moves(fleet, engine, held) if fleet else moves_of(engine, held)) for held in both)
    return nearest(starts, stem, moves, resting(engine.packing, rests), most)


def drawn(machine: Machine, found: Lasso) -> Trace:
    """A lasso as evidence, with its replay key."""
    packing = Packing(machine)
    stem, repeated = ([(name, packing.unpack(state)) for name, state in part] for part in (found.stem, found.round))
    return to_lasso(machine, stem, repeated)


def _item(
    claim: Claim, verdict: Verdict, statement: str, figures: dict[str, int | float | str], trace: Trace | None = None
) -> Item:
    command = f"crashwindow replay '{trace.key}'" if trace else f"crashwindow check {claim.id}"
    return Item(checker="explore", verdict=verdict, statement=statement, figures=figures, trace=trace, command=command)


@dataclass(frozen=True)
class Canary:
    """A defect of one rule: what it writes instead; with nothing, the rule is gone."""

    name: str
    policy: str
    rule: str
    writes: dict[str, str] | None = None


CANARIES: Final = (
    Canary("a claim never sees the job", "hardened", "claim"),
    Canary("a parked step leaves its job open", "hardened", "park",
           {"at": "idle", "memory": "none", "fresh": "no", "cleared": "no", "told": "no"}),
    Canary("nobody takes up an open attempt", "hardened", "5: open attempt"),
    Canary("a cancel that came in between is overlooked", "gate-hardened",
           "a cancel came in between", {"at": "gate"}),
    Canary("an attempt that did nothing is left as it is", "compensation-hardened",
           "decide: the last attempt did nothing", {"at": "idle"}),
    Canary("a recorded value is found and not used", "recorded-hardened",
           "replay: inject the committed, first, then use", {"at": "idle"}),
    Canary("nobody takes up an orphan", "contract-hardened", "recover"),
)  # fmt: skip
"""Plausible defects that stop a job: each must be found as a lasso in every run."""


def mutated(canary: Canary) -> Machine:
    """The machine with the defect; raises KeyError where it has no such rule."""
    machine = machine_of(canary.policy)
    machine.rule(canary.rule)
    rules = [replace(r, writes=canary.writes or {}) if r.name == canary.rule else r for r in machine.rules]
    return replace(machine, rules=tuple(r for r in rules if r.name != canary.rule or canary.writes))


def planted(canary: Canary) -> MutantResult:
    """Whether a defect is found: under all the assumptions of the machine's claim, with a stem in which anything may happen."""
    (claim,) = (c for c in LIVE if c.policy == canary.policy and c.variant == "hardened")
    found = lasso_of(mutated(canary), claim.assumptions, [rest for _, rest in RESTS[canary.policy]], reach=())
    words = (
        f"{claim.id}: {len(found.stem) - 1} steps, then {len(found.round) or 'no'} for ever" if found else "no lasso"
    )
    return MutantResult(name=canary.name, killed_by="explore" if found else None, words=words)


LIVENESS: Final = Stage(
    "liveness", "liveness under weak fairness", liveness, tuple(c.id for c in LIVENESS_CLAIMS), "explore"
)
