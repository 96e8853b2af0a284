"""The matrix property × mechanism, computed: is a property still kept without a mechanism, all others being there (T-PROP)?

One worker at a time, any number of crashes. Each mechanism is taken out of the model's own rows (`model/mechanisms.py`), the
whole space of what is left is searched, and each property is asked of every state and step of it. Where one fails the nearest
run that breaks it is the counterexample; where none does, the mechanism is not needed for it.

The quick profile searches the step's own execution, by a few kinds of tools; the deep one whatever may befall its job, by all.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Final

from ..model.liveness import RESTS
from ..model.machine import Guard, Machine, State, guard, show
from ..model.mechanisms import CHOICES, missing, spoken_of, step_without
from ..model.properties import PROPERTIES, Property
from ..scenarios.without import named
from .evidence import Need, Verdict
from .explore import Engine, Space, explore, key_of
from .liveness import look, moves_of, resting
from .liveness_stage import LIVE, drawn, lasso_of
from .search import check
from .traces import PREFIX

Kind = tuple[str, str, str]
"""A kind of tool: idempotent, on_unknown, look."""
DECLARED: Final = ("idempotent", "on_unknown", "look")

QUICK: Final[tuple[Kind, ...]] = (
    ("no", "fail", "none"), ("no", "query", "quiet"), ("yes", "reexecute", "none"), ("no", "reexecute", "none"),
)  # fmt: skip
"""What the quick profile searches, the last one where it may be declared; a query that says nothing parks."""
ASKED: Final[tuple[Kind, ...]] = (("no", "query", "quiet"),)
"""And for P15, and for every order of the writes."""
LIVENESS: Final = next(claim for claim in LIVE if claim.id == "P15")
STEP: Final = tuple(p.id for p in PROPERTIES)
P15: Final = "P15"


@dataclass(frozen=True)
class Break:
    """How a property fails: which part of it, and the key and length of a shortest run."""

    words: str
    key: str
    steps: int


@cache
def original() -> Engine:
    """The engine of the step's own execution with every mechanism: most rows of a machine without some are its rows."""
    return Engine(step_without("without-", []))


def searched(machine: Machine) -> Space:
    """Every reachable state of a machine without some mechanisms."""
    return explore(machine, like=original())


def narrowed(machine: Machine, kinds: Iterable[Kind]) -> Machine:
    """The machine with some kinds of tools only."""
    idempotent, on_unknown, look = (machine.by_name[name].values for name in DECLARED)
    others = set(product(idempotent, on_unknown, look)) - set(kinds)
    return replace(machine, impossible=(*machine.impossible, *map(declared, sorted(others))))


def declared(kind: Kind) -> Guard:
    """The tools of a kind."""
    return guard(**dict(zip(DECLARED, kind, strict=True)))


def unlike(space: Space, guards: Iterable[Guard]) -> list[int]:
    """The nearest to the start of the states that look alike to some guards, in the order in which they were reached."""
    mask = space.packing.mask(name for each in guards for name in each)
    return space.firsts([mask])


def forbidden(properties: Iterable[Property]) -> list[Guard]:
    """What some properties forbid in a state, all of it."""
    return [each for prop in properties for each in prop.never]


def broken(space: Space, prop: Property, machine: Machine, among: Collection[int] | None = None) -> Break | None:
    """How a property fails in a space, by a shortest run; its key is one of the machine, of which the space may be a part.

    among: the states that are `unlike` to what it forbids, and to more, where many properties are asked of one space.
    """
    nearest = first(space, prop.never, among)
    if nearest is not None:
        state, never = nearest
        return Break(f"never: {show(never)}", *keyed(machine, space.path(state)))
    found = check(space, replace(prop, never=())) if prop.grows or prop.absorbing else None
    if found is None:
        return None
    names = [f.name for f in machine.fields]
    view: dict[str, str] = {}
    run = []
    for frame in found.trace.frames:
        view |= frame.changed
        run.append(("" if frame.rule == "start" else frame.rule, tuple(view[name] for name in names)))
    breaks = found.part.partition(", by ")[2].strip("'")
    run.append(next((rule.name, after) for rule, after in machine.successors(run[-1][1]) if rule.name == breaks))
    return Break(found.part, *keyed(machine, run))


def first(space: Space, guards: Sequence[Guard], among: Collection[int] | None = None) -> tuple[int, Guard] | None:
    """The state nearest to the start in which one of some guards holds, and which one; states that look alike are asked once.

    among: states that are `unlike` to these guards, and to others.
    """
    states = space.states if among is None else among
    mask = space.packing.mask(name for each in guards for name in each)
    matchers = [(space.packing.matcher(each), each) for each in guards]
    broken_by = {
        part: each for part in {state & mask for state in states} for match, each in reversed(matchers) if match(part)
    }
    if not broken_by:
        return None
    return next((state, broken_by[state & mask]) for state in states if state & mask in broken_by)  # breadth first


def keyed(machine: Machine, run: list[tuple[str, State]]) -> tuple[str, int]:
    """The key of a run, and its steps."""
    return f"{PREFIX}:{machine.name}:{key_of(machine, run)}", len(run) - 1


def whole(profile: str) -> str:
    """What the names of a profile's machines begin with."""
    return "" if profile == "quick" else "whole"


def machine_without(names: Sequence[str], profile: str) -> tuple[Machine, Machine]:
    """The machine without some mechanisms, and the part of it that a profile searches."""
    machine = step_without(named(whole(profile), names), names, "step alone" if profile == "quick" else "whole job")
    return machine, narrowed(machine, QUICK) if profile == "quick" else machine


@cache
def whole_space(profile: str) -> Space:
    """The space that a profile searches, of the step with every mechanism."""
    return searched(machine_without([], profile)[1])


def unwitnessed(space: Space, prop: Property, every: Space) -> str:
    """What shows that a property speaks of something, and occurs with every mechanism, but not in a space: as words, or none."""
    lost = [show(g) for g in prop.occurs if space.find(g) is None and every.find(g) is not None]
    return f"; there it does not occur that {' or that '.join(lost)}" if lost else ""


def column(mechanism: str, profile: str) -> list[Need]:
    """What each property of the step says of one mechanism, P15 among them."""
    machine, part = machine_without([mechanism], profile)
    space, change, every = searched(part), missing([mechanism]), whole_space(profile)
    among = unlike(space, forbidden(PROPERTIES))
    cells = []
    for prop in PROPERTIES:
        left = spoken_of(prop, change)
        if left is None:
            cells.append(inapplicable(prop.id, mechanism, "all that it says is of records that do not exist then"))
        else:
            what = "" if left == prop else "; what it says of those records is not asked"
            what += unwitnessed(space, prop, every)
            cells.append(
                cell(
                    prop.id, mechanism, broken(space, left, machine, among), f"{len(space):,} states, one worker{what}"
                )
            )
    return [*cells, _rests(mechanism, machine, space, profile)]


def cell(prop: str, mechanism: str, found: Break | None, where: str) -> Need:
    """A cell of the matrix; where: what was searched."""
    if found is None:
        words = f"holds without it in every reachable state and step: {where}"
        return Need(property=prop, mechanism=mechanism, answer="not needed", verdict=Verdict.EXHAUSTED, words=words)
    return Need(property=prop, mechanism=mechanism, answer="needed", verdict=Verdict.REFUTED, words=found.words, key=found.key,
                steps=found.steps)  # fmt: skip


def inapplicable(prop: str, mechanism: str, why: str) -> Need:
    """A cell in which there is nothing to ask."""
    return Need(property=prop, mechanism=mechanism, answer="not applicable", verdict=Verdict.NOT_CHECKED, words=why)


def _rests(mechanism: str, machine: Machine, space: Space, profile: str) -> Need:
    """P15: whether every weakly fair run still comes to rest."""
    states: Collection[int] = space.states
    if profile == "quick":  # what a tool declares is fixed for a run: no step leads out of this part
        machine, states = narrowed(machine, ASKED), space.all(declared(ASKED[0]))
    rests = [rest for _, rest in RESTS["hardened"]]
    looked = look(states, moves_of(space.engine, LIVENESS.assumptions), resting(space.packing, rests))
    found = None
    if looked.stuck:
        lasso = lasso_of(machine, LIVENESS.assumptions, rests, reach=())
        assert lasso is not None
        key = drawn(machine, lasso).key
        stem, star, again = key.rpartition(":")[2].partition("*")
        # The start's number is that of the whole machine.
        start = list(space.machine.initial_states()).index(next(iter(machine.initial_states())))
        key = f"{PREFIX}:{machine.name}:{start}/{stem.partition('/')[2]}{star}{again}".replace("/*", "*").rstrip("/")
        found = Break("a fair run never comes to rest", key, len(lasso.stem) + len(lasso.round) - 1)
    return cell(P15, mechanism, found, f"{looked.states:,} states outside rest, one worker, one kind of tool"
                if profile == "quick" else f"{looked.states:,} states outside rest, one worker")  # fmt: skip


def choices(space: Space) -> list[Need]:
    """What may be declared of an ambiguous attempt: whether a property holds because one of the four may not be.

    In the space with all mechanisms each property holds whatever a tool declares, so it holds without each of the four; said is
    what occurs no more then.
    """
    cells = []
    among = unlike(space, forbidden(PROPERTIES))
    declared_so = guard(on_unknown="|".join(CHOICES))
    occurring = unlike(space, [declared_so, *(each for prop in PROPERTIES for each in prop.occurs)])
    for prop in PROPERTIES:
        found = broken(space, prop, space.machine, among)
        reached = together(space, occurring, [*prop.occurs, declared_so])
        for choice in CHOICES:
            others = guard(on_unknown="|".join(each for each in CHOICES if each != choice))
            lost = [show(g) for g in prop.occurs if not any(map(space.packing.matcher({**g, **others}), reached))]
            words = f"every state of tools that declare something else, of {len(space):,} states"
            words += f"; there it does not occur that {' or that '.join(lost)}" if lost else ""
            cells.append(cell(prop.id, f"on-unknown={choice}", found, words))
    return cells


def together(space: Space, states: Iterable[int], guards: Sequence[Guard]) -> set[int]:
    """The values that the fields of some guards take together in some states."""
    mask = space.packing.mask(name for each in guards for name in each)
    return {state & mask for state in states}
