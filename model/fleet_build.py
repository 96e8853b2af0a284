"""The rows of a fleet, made from one worker's, each by what it does: write, read, act in memory, crash, or act from outside."""

from collections.abc import Iterator
from dataclasses import replace

from .fleet import OWN, Fleet, FleetRule, known, stands
from .fleet_fencing import claim, conflicts, fence, prologue, refusals, unread
from .fleet_shape import FENCED, FENCES, STARTED, STORES, FleetPolicy, Shape
from .fleet_terms import Terms
from .machine import Actor, Guard, Machine, Rule, Scope, guard


def build_fleet(machine: Machine, shape: Shape, policy: FleetPolicy = FENCED) -> Fleet:
    """The fleet of a machine. Raises ModelError where a row writes two stores, or one of its durable fields has none."""
    terms = Terms(machine, shape, policy)
    made = [each for rule in machine.rules for each in _rows(terms, rule)]
    made += prologue(terms) if shape.begin else []
    made += _looks(terms) if shape.watched else []
    made += [*unread(terms), *refusals(terms), *conflicts(terms)]
    shared = tuple(f for f in machine.fields if f.name not in terms.personal)
    return Fleet(machine, shape, policy, shared, terms.own, tuple(_tidy(terms, each) for each in made), terms.ends)


def _rows(terms: Terms, rule: Rule) -> Iterator[FleetRule]:
    """The rows of the fleet that one row becomes."""
    if rule.actor is Actor.WORKER and rule.boundary == "claim":
        yield from () if terms.shape.begin else [claim(terms, rule)]
    elif rule.actor is Actor.WORKER and rule.boundary in FENCES:
        yield from fence(terms, rule, FENCES[rule.boundary])
    elif rule.actor is Actor.WORKER and terms.store_of(rule) in STORES:
        yield from _write(terms, rule, terms.store_of(rule))
    elif rule.actor is Actor.WORKER and terms.store_of(rule):
        yield from _create(terms, rule)
    elif rule.actor is Actor.WORKER:
        yield from _local(terms, rule)
    elif rule in terms.crashes:
        yield from _crash(terms, rule)
    elif rule.actor is Actor.CLOCK:
        yield _time(terms, rule)
    else:
        yield from _outside(terms, rule)


def _write(terms: Terms, rule: Rule, store: str) -> Iterator[FleetRule]:
    """A write to a store in which its worker stands; an append, where nobody else's event came in between."""
    durable = [n for n in rule.writes if terms.scopes[n] is Scope.DURABLE]
    appends = bool(durable) and store == "events"
    read = terms.shape.watched if appends else ()
    met, nobody = terms.meets(rule)
    guards = {**terms.seen({**rule.sees, **met}, read=read), **terms.fenced(store)}
    if appends:
        guards |= terms.conditional()
    unless = tuple(terms.seen(g, read=read) for g in rule.unless)
    yield terms.row(rule, guards, terms.put(rule), appends=appends, unless=unless, nobody=nobody)
    if (
        rule.boundary == STARTED
        and appends
        and "checked" not in terms.policy.on
        and not rule.name.endswith("(answer lost)")
    ):
        own = {n: v for n, v in terms.put(rule).items() if n.startswith(OWN) and known("") not in n}
        for why, lacks in (("below the fence", terms.fenced(store)), ("not current", terms.conditional())):
            lacking = {**guards, **dict.fromkeys(lacks, frozenset({"no"}))}
            if lacks:
                yield terms.row(rule, lacking, own, f"{rule.name}, refused ({why}), and goes on", emits=())


def _create(terms: Terms, rule: Rule) -> Iterator[FleetRule]:
    """A write to the registry: it creates a record, by whomever; one that is there already stays, and is read (C-BIND)."""
    registry, guards = terms.shape.registry, terms.seen(rule.guards)
    assert registry is not None
    absent, *there = terms.machine.by_name[registry.record].values
    yield terms.row(rule, {**guards, registry.record: frozenset({absent})}, terms.put(rule))
    yield terms.row(rule, {**guards, registry.record: frozenset(there)}, {f"{OWN}at": registry.asked},
                   f"{rule.name}: it is there")  # fmt: skip


def _looks(terms: Terms) -> Iterator[FleetRule]:
    """A worker reads the stream again, which clients alone have added to."""
    places = next(f.values for f in terms.own if f.name == "at")
    yield FleetRule("look at the stream", Actor.WORKER, {f"{OWN}at": frozenset(places) - {"idle", *FENCES}},
                    {f"{OWN}{known(n)}": f"={n}" for n in terms.shape.watched}, source="T-WRITE")  # fmt: skip


def _local(terms: Terms, rule: Rule) -> Iterator[FleetRule]:
    """A step in a worker's memory, or one that it takes with the tool; or a look at the registry."""
    registry = terms.shape.registry
    asked = registry.store if registry and registry.asked in rule.sees["at"] else ""
    read = [n for n, s in terms.shape.stores.items() if s == asked]
    guards = terms.seen(rule.guards, read=read)
    writes = {**terms.put(rule), **{f"{OWN}{known(n)}": f"={n}" for n in read}}
    if writes.get(terms.shape.late) == "+1":  # a request that the tool refuses leaves nothing behind
        guards[f"{OWN}barred"] = frozenset({"no"})
    bars = rule.name in terms.shape.bars
    if not (terms.ghosts(rule) or bars):
        yield terms.row(rule, guards, writes)
        if "quiet" in guards:  # who was overtaken counts from what it has read, and knows of no request since
            stale = {**guards, "quiet": frozenset({"no"}), **guard(**{stands("effects"): "no"})}
            yield terms.row(rule, stale, writes, f"{rule.name} (overtaken, by what it read)")
        return
    leads, overtaken = ({**guards, stands("effects"): frozenset({v})} for v in ("yes", "no"))
    yield terms.row(rule, leads, writes, bars=bars)
    less = {n: v for n, v in writes.items() if n not in terms.ghosts(rule) and not (bars and n == terms.shape.late)}
    yield terms.row(rule, overtaken, less, f"{rule.name} (overtaken)")


def _crash(terms: Terms, rule: Rule) -> Iterator[FleetRule]:
    """A crash of any worker, where its row has one; what a request of it was stays on the wire."""
    guards = terms.struck(rule, OWN)
    writes = {f"{OWN}{n}" if n in terms.personal else n: v for n, v in rule.writes.items()}
    late = writes.get(terms.shape.late) == "+1"
    kept = {**guards, **({f"{OWN}barred": frozenset({"no"})} if late else {})}
    if not terms.ghosts(rule):
        yield terms.row(rule, kept, writes)
    else:
        yield terms.row(rule, {**kept, stands("effects"): frozenset({"yes"})}, writes)
        less = {n: v for n, v in writes.items() if n not in terms.ghosts(rule)}
        # Nor is anything excused by what others have recorded since.
        own = {n: v for n, v in kept.items() if n.startswith(OWN)}
        yield terms.row(rule, {**own, stands("effects"): frozenset({"no"})}, less, f"{rule.name} (overtaken)")
    if late:
        less = {n: v for n, v in writes.items() if n != terms.shape.late and n not in terms.ghosts(rule)}
        yield terms.row(rule, {**guards, f"{OWN}barred": frozenset({"yes"})}, less, f"{rule.name} (barred)")


def _outside(terms: Terms, rule: Rule) -> Iterator[FleetRule]:
    """People, clients and the world; the world meets each worker's request by itself."""
    met, nobody = terms.meets(rule)
    meets = terms.shape.request in met
    struck = terms.struck(replace(rule, meets=met), OWN)
    kept = {n: v for n, v in struck.items() if meets or n.removeprefix(OWN) not in terms.personal}
    writes = {f"{OWN}{n}" if n in terms.personal else n: v for n, v in rule.writes.items()}
    if meets and rule.writes.get(terms.shape.request) != "refused":
        kept[f"{OWN}barred"] = frozenset({"no"})
    # They see what is there, not what a worker has read.
    unless = tuple({f"{OWN}{n}" if n in terms.personal else n: v for n, v in g.items()} for g in rule.unless)
    heard = {n for n, s in terms.shape.stores.items() if s == "events"} - {*terms.shape.neutral, *terms.shape.watched}
    events = heard & set(rule.writes)
    same = [n for n in events if {writes[n]} < kept.get(n, frozenset())]
    if terms.shape.watched and same:  # what is so already makes no event that anybody has to hear
        fixed = {n: frozenset({writes[n]}) for n in same}
        less = {n: v for n, v in writes.items() if n not in same}
        yield terms.row(rule, {**kept, **fixed}, less, f"{rule.name} (as it is)", unless=unless, nobody=nobody)
        (name,) = same
        kept[name] -= fixed[name]
    yield terms.row(rule, kept, writes, appends=bool(events), unless=unless, nobody=nobody)


def _time(terms: Terms, rule: Rule) -> FleetRule:
    """The quiet time is over: nobody has a request on the wire, or may yet send one (A-QUIET).

    A worker that leads is where the row has it; where one is that was overtaken does not matter, if it cannot send.
    """
    shared = {n: v for n, v in rule.guards.items() if n not in terms.personal}
    leads = guard(**{stands("effects"): "yes"})
    nobody: list[Guard] = []
    if terms.shape.possible:  # who finds that its started event is there may send at once
        nobody += terms.senders()
        nobody.append({**guard(**{f"{OWN}at": STARTED, f"{OWN}landed": "yes"}), **terms.fenced("events")})
    for name, values in rule.guards.items():
        if name not in terms.personal:
            continue
        others = frozenset(next(f for f in terms.own if f.name == name).values) - values - set(FENCES)
        split = others & terms.ends if name == "at" else frozenset()
        nobody += [{f"{OWN}{name}": others - split, **leads}] if others - split else []
        nobody += [{f"{OWN}{name}": split, f"{OWN}landed": frozenset({"no"}), **leads}] if split else []
    return terms.row(rule, shared, rule.writes, nobody=tuple(nobody))


def _tidy(terms: Terms, rule: FleetRule) -> FleetRule:
    """Who lets go forgets."""
    forgets = rule.writes.get(f"{OWN}at") == "idle"
    return replace(rule, writes={**terms.forget, **rule.writes}) if forgets else rule
