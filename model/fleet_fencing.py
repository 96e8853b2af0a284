"""Claims, fences and refusals of a fleet: how a worker comes to a job, how one that was overtaken is stopped (T-FENCE, P5)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from .fleet import LED, OWN, FleetRule, known, stands
from .fleet_shape import AT_REST, FENCES, OPEN, STORES
from .fleet_terms import Terms
from .machine import Actor, Guard, Rule, guard

UNREAD: Final = Rule("crash before all is read", Actor.CRASH, guard(at="|".join(FENCES)), writes={"at": "idle"})
"""The crash of a worker at F1 to F3, for a machine that has no rows of its own for them."""


def claim(terms: Terms, rule: Rule) -> FleetRule:
    """B0: at any time, whoever else is at work."""
    return terms.row(rule, {**guard(**{f"{OWN}at": "idle"}), **OPEN}, {f"{OWN}at": "fence_events", f"{OWN}barred": "no"},
                    claims=True)  # fmt: skip


def fence(terms: Terms, rule: Rule, store: str) -> Iterator[FleetRule]:
    """F1 to F3: raise the fence and read; after F1 a job that is not open is left; after F3 nobody else leads."""
    place = f"fence_{store}"
    read = {
        f"{OWN}{known(n)}": f"={n}"
        for n, s in terms.shape.stores.items()
        if s == store and n not in terms.shape.neutral
    }
    own = {f"{OWN}{n}": v for n, v in rule.writes.items()}
    if store == "events":
        read[f"{OWN}current"] = "yes"
    guards = {**terms.seen(rule.sees), **terms.fenced(store)}
    reading = terms.row(rule, guards, {**read, **own}, raises=store)
    if rule.sees["at"] != {place}:  # a worker at work that reads again: what is not neutral would have it begin anew
        yield replace(reading, guards={**guards, f"{OWN}current": frozenset({"yes"})})
    elif store == "events":
        yield replace(reading, guards={**guards, **OPEN})
        ((name, values),) = OPEN.items()
        others = frozenset(terms.machine.by_name[name].values) - values
        yield replace(reading, name=f"{rule.name}, the job is not open", guards={**guards, name: others},
                      writes={f"{OWN}at": "idle"})  # fmt: skip
    elif store == "effects":
        yield from _last_fence(terms, reading)
    else:
        yield reading


def _last_fence(terms: Terms, reading: FleetRule) -> Iterator[FleetRule]:
    """F3, read or its answer lost: who led until now is overtaken; what its crash would excuse is excused."""
    yield replace(reading, name=f"{reading.name}, nobody leads", alone=True)
    for crash in terms.crashes:
        led = {**terms.struck(crash, LED), **{stands("effects", LED): frozenset({"yes"})}}
        led[f"{LED}at"] = led[f"{LED}at"] - {"idle", *FENCES}
        if led[f"{LED}at"]:
            excused = {n: crash.writes[n] for n in terms.ghosts(crash)}
            yield replace(reading, name=f"{reading.name}, overtakes: {crash.name}", guards={**reading.guards, **led},
                          writes={**reading.writes, **excused})  # fmt: skip


def unread(terms: Terms) -> Iterator[FleetRule]:
    """F1 to F3, the answer lost: the fence is raised, nobody has read, and the worker asks again (T-WRITE)."""
    for place, store in FENCES.items():
        name = f"{place.replace('_', ' ')} (answer lost)"
        asks = Rule(name, Actor.WORKER, guard(at=place), boundary=place, source="T-WRITE")
        row = terms.row(asks, {**terms.seen(asks.sees), **terms.fenced(store)}, {}, raises=store)
        yield from _last_fence(terms, row) if store == "effects" else [row]


def prologue(terms: Terms) -> Iterator[FleetRule]:
    """B0 and F1 to F3 for a machine that begins its work with the claim."""
    begins = [r for r in terms.machine.rules if r.boundary == "claim"]
    yield claim(terms, replace(begins[0], name="claim", unless=()))
    for place, after in (("fence_events", "fence_ledger"), ("fence_ledger", "fence_effects")):
        sees, writes, name = guard(at=place), {"at": after}, place.replace("_", " ")
        reads = Rule(name, Actor.WORKER, sees, writes=writes, boundary=place, source="T-FENCE")
        yield from fence(terms, reads, FENCES[place])
    for begin in begins:
        name = "fence effects" if len(begins) == 1 else f"fence effects, {begin.name}"
        sees = {n: v for n, v in begin.sees.items() if n not in OPEN}
        yield from fence(
            terms,
            replace(begin, name=name, sees={**sees, **guard(at="fence_effects")}, boundary="fence_effects"),
            "effects",
        )
    yield terms.row(UNREAD, terms.struck(UNREAD, OWN), {f"{OWN}at": "idle"})


def refusals(terms: Terms) -> Iterator[FleetRule]:
    """A write below a fence is refused and changes nothing; its worker lets go (P5): a crash, to whoever comes next."""
    crashes = [*terms.crashes, *([UNREAD] if terms.shape.begin else [])]
    for store in STORES:
        places = {
            p
            for r in terms.machine.rules
            if r.actor is Actor.WORKER and terms.store_of(r) == store
            for p in r.sees["at"]
        }
        places |= {place for place, stores in terms.shape.within.items() if store in stores}
        at = frozenset({*places, f"fence_{store}"} - {"idle"})
        below = guard(**{stands(store): "no"})
        if not terms.policy.fences(store):
            continue
        overtaken = guard(**{stands("effects"): "no"})
        yield FleetRule(
            f"refused by {store}",
            Actor.WORKER,
            {f"{OWN}at": at, **below, **overtaken},
            {f"{OWN}at": "idle"},
            source="T-FENCE",
        )
        for crash in crashes if store != "effects" else ():
            struck = terms.struck(crash, OWN)
            struck[f"{OWN}at"] &= at
            writes = {n: crash.writes[n] for n in terms.ghosts(crash)} | {f"{OWN}at": "idle"}
            leads = guard(**{stands("effects"): "yes"})
            if struck[f"{OWN}at"]:
                yield FleetRule(
                    f"refused by {store}, as a {crash.name}",
                    Actor.WORKER,
                    {**struck, **below, **leads},
                    writes,
                    source="T-FENCE",
                )


def conflicts(terms: Terms) -> Iterator[FleetRule]:
    """An append after somebody else's event: recovery is run again, under the same lease."""
    appends = [r for r in terms.machine.rules if r.actor is Actor.WORKER and terms.store_of(r) == "events"]
    places = {p for r in appends if r.boundary not in FENCES for p in r.sees["at"]}
    if "conditional" in terms.policy.on:
        guards = {f"{OWN}at": frozenset(places), f"{OWN}current": frozenset({"no"}), **terms.fenced("events")}
        if terms.shape.watched:  # one that clients alone were faster than may do the same
            del guards[f"{OWN}current"]
        if "landed" in terms.personal:
            guards[f"{OWN}landed"] = frozenset({"no"})
        again = {**terms.forget, f"{OWN}at": "fence_events"}
        yield FleetRule("version conflict", Actor.WORKER, guards, again, source="T-WRITE")
        for name, slower in _behind_clients(terms).items():
            yield FleetRule(name, Actor.WORKER, slower, again, source="T-WRITE")
        faster = {n: v for n, v in guards.items() if n != f"{OWN}current"}
        yield from _behind_a_request(terms, faster, again)


def _clients_speak(terms: Terms) -> bool:
    """Whether anybody can ask for anything; where clients' words are watched the version conflict is one with clients, too."""
    spoken = {n for r in terms.machine.rules for n in r.writes} & {*terms.shape.neutral}
    return bool(spoken) and not terms.shape.watched


def _behind_clients(terms: Terms) -> dict[str, Guard]:
    """Where a worker that lets go of a job may find a client's event that came before: by name, each guard once.

    Any such event will do: a signal leaves no field as it was not, so none is asked for, not even the cancel.
    """
    found: dict[str, Guard] = {}
    for rule in terms.machine.rules if _clients_speak(terms) else ():
        if rule.actor is Actor.WORKER and AT_REST & {*rule.emits}:
            sees = {n: v for n, v in rule.sees.items() if n not in terms.shape.neutral}
            guards = {**terms.seen(sees), **terms.fenced("events")}
            if guards not in found.values():
                found[f"version conflict with a client, {rule.name}"] = guards
    return found


def _behind_a_request(terms: Terms, appends: Guard, again: Mapping[str, str]) -> Iterator[FleetRule]:
    """An append that a request to undo a step, this one or another, was faster than: it is no neutral event.

    What the worker knew of the world and has not written is forgotten: what the crash of one that leads excuses is excused.
    """
    if not _clients_speak(terms):
        return
    for crash in terms.crashes:
        struck = {**terms.struck(crash, OWN), **guard(**{stands("effects"): "yes"})}
        both = {name: values & struck.get(name, values) for name, values in appends.items()}
        if all(both.values()):
            writes = {**again, **{n: crash.writes[n] for n in terms.ghosts(crash)}}
            name = f"version conflict with a request, as a {crash.name}"
            yield FleetRule(name, Actor.WORKER, {**struck, **both}, writes, source="T-WRITE")
    overtaken = {**appends, **guard(**{stands("effects"): "no"})}
    yield FleetRule("version conflict with a request, overtaken", Actor.WORKER, overtaken, again, source="T-WRITE")
