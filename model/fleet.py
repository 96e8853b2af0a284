"""Any number of workers on one job: a row machine, made into rows for a fleet, mechanically (T-FENCE, T-WRITE, T-WORKER).

How to read it. A row machine (`step.py`, `recorded.py`) was written for one worker at a time. Here the same rows are taken
apart: what a worker has in memory, its own request and *a copy of each durable field* become fields of each worker (`w.at`,
`w.known_ledger`); a worker decides by its copies, which it fills at F1 to F3 and keeps up with its own writes alone, so one
that was overtaken goes on deciding by what it read long ago. What is durable, the world and the clock are shared.

Epochs are numbers that only grow. `w.stands_events` says that the worker's epoch is not below the event stream's fence;
likewise for the ledger and the effect store. A claim may come at any time while the job is open: nothing bounds expiries (a
lease protects nothing here). F1 to F3 raise a fence each and read. A write to a store where its worker does not stand is
refused, and the worker lets go; an append is refused, and recovery run again, where somebody else's event came in between
(`w.current`), events of clients alone being rebased over. A worker *leads* if it has passed F3 and stands in the effect
store: nobody has passed F3 after it. A registry is a store without a fence: a worker that was overtaken still writes to it, once
for each record; it is read where the worker asks it, and not at F1 to F3. Of the fields that clients write at any time a worker
may know an old value; it looks again whenever it likes, and an append asks for what is there.

People and clients do not see where workers are: of their rows only what is durable is kept. Time that proves a request dead
(T-QUIET) passes while no worker has a request on the wire or is about to send one. A look that raises a fence at the tool
bars every worker with an older token. What only properties read (ghosts) is written by the worker that leads: the crash of
one that was overtaken excuses nothing; what the leader's crash would excuse is excused when it is overtaken.

A row has one acting worker, `w.`, and at F3 the one that led until then, `l.`. Two readers follow the rows: `fleet_rows.py`
makes a machine of some named workers, which is searched; `checkers/prove_fleet*.py` takes workers of an uninterpreted sort.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from .boundaries import BY_NAME
from .fleet_shape import FENCED, FENCES, OPEN, STARTED, STORES, FleetPolicy, Shape
from .machine import Actor, Field, Guard, Machine, ModelError, Rule, Scope, guard

OWN: Final = "w."
LED: Final = "l."
NO_YES: Final = ("no", "yes")


def stands(store: str, who: str = OWN) -> str:
    """The field that says whether a worker's epoch is not below a store's fence."""
    return f"{who}stands_{store}"


def known(name: str) -> str:
    """A worker's copy of a durable field."""
    return f"known_{name}"


@dataclass(frozen=True)
class FleetRule:
    """A row of the fleet. Names begin with `w.` (the acting worker), `l.` (who led until now), or are shared.

    unless: as for `Rule`. nobody: guards in `w.` that no worker satisfies. claims: the acting worker gets a new epoch, above all.
    raises: the store whose fence is raised to the acting worker's epoch. bars: every worker with an older epoch is barred at the
    tool. appends: an event that is not neutral, so that every other worker's knowledge of the stream is old. alone: nobody leads.
    """

    name: str
    actor: Actor
    guards: Guard = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    unless: tuple[Guard, ...] = ()
    nobody: tuple[Guard, ...] = ()
    claims: bool = False
    raises: str = ""
    bars: bool = False
    appends: bool = False
    alone: bool = False
    boundary: str | None = None
    emits: tuple[str, ...] = ()
    source: str = ""

    @property
    def acts(self) -> bool:
        """Whether a worker acts, or is acted on."""
        return any(name.startswith(OWN) for name in (*self.guards, *self.writes))

    @property
    def overtakes(self) -> bool:
        """Whether somebody led until now."""
        return any(name.startswith(LED) for name in self.guards)


@dataclass(frozen=True)
class Fleet:
    """A machine for any number of workers: shared fields, fields of each worker, rows; `ends`: places of a job's last writes."""

    machine: Machine
    shape: Shape
    policy: FleetPolicy
    shared: tuple[Field, ...]
    own: tuple[Field, ...]
    rules: tuple[FleetRule, ...]
    ends: frozenset[str]

    @property
    def name(self) -> str:
        """The policy's name: a policy belongs to one machine."""
        return self.policy.name

    @property
    def working(self) -> frozenset[str]:
        """The places of a worker that has read all stores."""
        places = next(f.values for f in self.own if f.name == "at")
        return frozenset(places) - {"idle", *FENCES}


def build_fleet(machine: Machine, shape: Shape, policy: FleetPolicy = FENCED) -> Fleet:
    """The fleet of a machine. Raises ModelError where a row writes two stores, or one of its durable fields has none."""
    return _Builder(machine, shape, policy).fleet()


class _Builder:
    def __init__(self, machine: Machine, shape: Shape, policy: FleetPolicy) -> None:
        self.machine, self.shape, self.policy = machine, shape, policy
        self.scopes = {f.name: f.scope for f in machine.fields}
        self.crashes = [r for r in machine.rules if r.actor is Actor.CRASH and "at" in r.guards]
        self.personal = {f.name for f in machine.fields if self._is_own(f)}
        self.copied = [f for f in machine.fields if f.scope is Scope.DURABLE and f.name not in shape.neutral]
        for f in machine.fields:
            if f.scope is Scope.DURABLE and f.name not in shape.stores:
                raise ModelError(f"durable field {f.name!r} lies in no store")
        self.own = self._own_fields()
        self.forget = {f"{OWN}{f.name}": f.values[0] for f in self.own if f.name != "barred"}
        self.ends = frozenset(
            next(iter(r.sees["at"])) for r in machine.rules if r.boundary and r.writes.get("at") == "idle"
            and r.writes.get("job", "open") != "open" and len(r.sees["at"]) == 1
        )  # fmt: skip

    def _is_own(self, f: Field) -> bool:
        if f.scope is Scope.GHOST:  # what every crash forgets is about one claim
            return all(r.writes.get(f.name) == f.values[0] for r in self.crashes)
        return (f.scope is Scope.VOLATILE and f.name not in self.shape.others) or f.name == self.shape.request

    def _own_fields(self) -> tuple[Field, ...]:
        places = next(f for f in self.machine.fields if f.name == "at")
        fields = [replace(places, values=(*places.values, *(p for p in FENCES if p not in places.values)))]
        fields += [f for f in self.machine.fields if f.name in self.personal and f.name != "at"]
        fields += [
            replace(f, name=known(f.name), scope=Scope.VOLATILE, meaning=f"its copy: {f.meaning}") for f in self.copied
        ]
        fields += [
            Field("current", Scope.VOLATILE, ("yes", "no"), "no event but neutral ones came since the worker read the stream"),
            Field("barred", Scope.VOLATILE, NO_YES, "the tool refuses its requests: a look with a newer token fenced it"),
        ]  # fmt: skip
        return tuple(fields)

    def fleet(self) -> Fleet:
        rules = [row for rule in self.machine.rules for row in self.rows(rule)]
        rules += self.prologue() if self.shape.begin else []
        rules += self.looks() if self.shape.watched else []
        rules += [*self.refusals(), *self.conflicts()]
        shared = tuple(f for f in self.machine.fields if f.name not in self.personal)
        rules = [self.tidy(rule) for rule in rules]
        return Fleet(self.machine, self.shape, self.policy, shared, self.own, tuple(rules), self.ends)

    def tidy(self, rule: FleetRule) -> FleetRule:
        """Who lets go forgets."""
        forgets = rule.writes.get(f"{OWN}at") == "idle"
        return replace(rule, writes={**self.forget, **rule.writes}) if forgets else rule

    def fenced(self, store: str) -> dict[str, frozenset[str]]:
        """What a store asks of whoever writes: nothing, where its fence is switched off."""
        return {stands(store): frozenset({"yes"})} if f"fence-{store}" in self.policy.on else {}

    def conditional(self) -> dict[str, frozenset[str]]:
        """What an append asks beside that."""
        return {f"{OWN}current": frozenset({"yes"})} if "conditional" in self.policy.on else {}

    # Names: what a worker knows is its copy, what it has is its own.

    def seen(self, literals: Guard, who: str = OWN, read: Iterable[str] = ()) -> dict[str, frozenset[str]]:
        """A guard of a worker's row: durable fields are read from its copies, but for those that it reads now."""
        copies = {f.name for f in self.copied} - set(read)
        return {self.name_of(n, copies, who): v for n, v in literals.items()}

    def name_of(self, name: str, copies: set[str], who: str) -> str:
        if name in self.personal:
            return f"{who}{name}"
        return f"{who}{known(name)}" if name in copies else name

    def struck(self, rule: Rule, who: str) -> dict[str, frozenset[str]]:
        """A guard of a crash, or of the world: nobody reads there, so durable fields are what they are."""
        return {f"{who}{n}" if n in self.personal else n: v for n, v in rule.guards.items()}

    def put(self, rule: Rule) -> dict[str, str]:
        """What a worker's row writes: a durable field together with the worker's copy of it."""
        copies = {f.name for f in self.copied}
        writes = {}
        for name, value in rule.writes.items():
            put = f"={self.name_of(value[1:], copies, OWN)}" if value.startswith("=") else value
            writes[f"{OWN}{name}" if name in self.personal else name] = put
            if name in copies:
                writes[f"{OWN}{known(name)}"] = put
        if rule.name.removesuffix(" (answer lost)") in self.shape.possible:
            writes["quiet"] = "no"
        return writes

    def store_of(self, rule: Rule) -> str:
        """The store that a row of a worker writes or asks, or ""."""
        stores = {self.shape.stores[n] for n in rule.writes if self.scopes[n] is Scope.DURABLE}
        asked = BY_NAME[rule.boundary].store if rule.boundary in BY_NAME else ""
        stores |= {asked} & {*STORES, *((self.shape.registry.store,) if self.shape.registry else ())}
        if len(stores) > 1:
            raise ModelError(
                f"rule {rule.name!r} writes {' and '.join(sorted(stores))}: no transaction spans two stores"
            )
        return next(iter(stores), "")

    def ghosts(self, rule: Rule) -> list[str]:
        return [n for n in rule.writes if self.scopes[n] is Scope.GHOST and n not in self.personal]

    # Rows.

    def rows(self, rule: Rule) -> Iterator[FleetRule]:
        """The rows of the fleet that one row becomes."""
        if rule.actor is Actor.WORKER and rule.boundary == "claim":
            yield from () if self.shape.begin else [self.claim(rule)]
        elif rule.actor is Actor.WORKER and rule.boundary in FENCES:
            yield from self.fence(rule, FENCES[rule.boundary])
        elif rule.actor is Actor.WORKER and self.store_of(rule) in STORES:
            yield from self.write(rule, self.store_of(rule))
        elif rule.actor is Actor.WORKER and self.store_of(rule):
            yield from self.create(rule)
        elif rule.actor is Actor.WORKER:
            yield from self.local(rule)
        elif rule in self.crashes:
            yield from self.crash(rule)
        elif rule.actor is Actor.CLOCK:
            yield self.time(rule)
        else:
            yield from self.outside(rule)

    def row(self, rule: Rule, guards: Guard, writes: Mapping[str, str], name: str = "", **more: object) -> FleetRule:
        fixed = {"unless": tuple(self.seen(g) for g in rule.unless), "boundary": rule.boundary, "emits": rule.emits}
        return FleetRule(name or rule.name, rule.actor, guards, writes, source=rule.source, **{**fixed, **more})  # type: ignore[arg-type]

    def claim(self, rule: Rule) -> FleetRule:
        """B0: at any time, whoever else is at work."""
        return self.row(rule, {**guard(**{f"{OWN}at": "idle"}), **OPEN}, {f"{OWN}at": "fence_events", f"{OWN}barred": "no"},
                        claims=True)  # fmt: skip

    def fence(self, rule: Rule, store: str) -> Iterator[FleetRule]:
        """F1 to F3: raise the fence and read; after F1 a job that is not open is left; after F3 nobody else leads."""
        place = f"fence_{store}"
        read = {
            f"{OWN}{known(n)}": f"={n}"
            for n, s in self.shape.stores.items()
            if s == store and n not in self.shape.neutral
        }
        own = {f"{OWN}{n}": v for n, v in rule.writes.items()}
        if store == "events":
            read[f"{OWN}current"] = "yes"
        guards = {**self.seen(rule.sees), **self.fenced(store)}
        reading = self.row(rule, guards, {**read, **own}, raises=store)
        if rule.sees["at"] != {
            place
        }:  # a worker at work that reads again: what is not neutral would have it begin anew
            yield replace(reading, guards={**guards, f"{OWN}current": frozenset({"yes"})})
        elif store == "events":
            yield replace(reading, guards={**guards, **OPEN})
            ((name, values),) = OPEN.items()
            others = frozenset(self.machine.by_name[name].values) - values
            yield replace(reading, name=f"{rule.name}, the job is not open", guards={**guards, name: others},
                          writes={f"{OWN}at": "idle"})  # fmt: skip
        elif store == "effects":
            yield from self.last_fence(reading)
        else:
            yield reading

    def last_fence(self, reading: FleetRule) -> Iterator[FleetRule]:
        """F3: who led until now is overtaken; what its crash would excuse is excused."""
        yield replace(reading, name=f"{reading.name}, nobody leads", alone=True)
        for crash in self.crashes:
            led = {**self.struck(crash, LED), **{stands("effects", LED): frozenset({"yes"})}}
            led[f"{LED}at"] = led[f"{LED}at"] - {"idle", *FENCES}
            if led[f"{LED}at"]:
                excused = {n: crash.writes[n] for n in self.ghosts(crash)}
                yield replace(reading, name=f"{reading.name}, overtakes: {crash.name}", guards={**reading.guards, **led},
                              writes={**reading.writes, **excused})  # fmt: skip

    def prologue(self) -> Iterator[FleetRule]:
        """B0 and F1 to F3 for a machine that begins its work with the claim."""
        begins = [r for r in self.machine.rules if r.boundary == "claim"]
        yield self.claim(replace(begins[0], name="claim", unless=()))
        for place, after in (("fence_events", "fence_ledger"), ("fence_ledger", "fence_effects")):
            sees, writes, name = guard(at=place), {"at": after}, place.replace("_", " ")
            reads = Rule(name, Actor.WORKER, sees, writes=writes, boundary=place, source="T-FENCE")
            yield from self.fence(reads, FENCES[place])
        for begin in begins:
            name = "fence effects" if len(begins) == 1 else f"fence effects, {begin.name}"
            sees = {n: v for n, v in begin.sees.items() if n not in OPEN}
            yield from self.fence(
                replace(begin, name=name, sees={**sees, **guard(at="fence_effects")}, boundary="fence_effects"),
                "effects",
            )
        yield FleetRule(
            "crash before all is read", Actor.CRASH, guard(**{f"{OWN}at": "|".join(FENCES)}), {f"{OWN}at": "idle"}
        )

    def write(self, rule: Rule, store: str) -> Iterator[FleetRule]:
        """A write to a store in which its worker stands; an append, where nobody else's event came in between."""
        durable = [n for n in rule.writes if self.scopes[n] is Scope.DURABLE]
        appends = bool(durable) and store == "events"
        read = self.shape.watched if appends else ()
        met, nobody = self.meets(rule)
        guards = {**self.seen({**rule.sees, **met}, read=read), **self.fenced(store)}
        if appends:
            guards |= self.conditional()
        unless = tuple(self.seen(g, read=read) for g in rule.unless)
        yield self.row(rule, guards, self.put(rule), appends=appends, unless=unless, nobody=nobody)
        if (
            rule.boundary == STARTED
            and appends
            and "checked" not in self.policy.on
            and not rule.name.endswith("(answer lost)")
        ):
            own = {n: v for n, v in self.put(rule).items() if n.startswith(OWN) and known("") not in n}
            for why, lacks in (("below the fence", self.fenced(store)), ("not current", self.conditional())):
                lacking = {**guards, **dict.fromkeys(lacks, frozenset({"no"}))}
                if lacks:
                    yield self.row(rule, lacking, own, f"{rule.name}, refused ({why}), and goes on", emits=())

    def meets(self, rule: Rule) -> tuple[Guard, tuple[Guard, ...]]:
        """What a row meets; where that is a request that can act no more, whoever sent it, as guards that no worker satisfies."""
        if rule.meets.get(self.shape.late, frozenset()) != {"0"}:
            return rule.meets, ()
        return {n: v for n, v in rule.meets.items() if n != self.shape.request}, self.senders()

    def senders(self) -> tuple[Guard, ...]:
        """The workers whose request may still act, or that may still send one."""
        free, request = guard(**{f"{OWN}barred": "no"}), f"{OWN}{self.shape.request}"
        return {f"{OWN}at": self.shape.sending, **free}, {request: self.shape.sent, **free}

    def create(self, rule: Rule) -> Iterator[FleetRule]:
        """A write to the registry: it creates a record, by whomever; one that is there already stays, and is read (C-BIND)."""
        registry, guards = self.shape.registry, self.seen(rule.guards)
        assert registry is not None
        absent, *there = self.machine.by_name[registry.record].values
        yield self.row(rule, {**guards, registry.record: frozenset({absent})}, self.put(rule))
        yield self.row(rule, {**guards, registry.record: frozenset(there)}, {f"{OWN}at": registry.asked},
                       f"{rule.name}: it is there")  # fmt: skip

    def looks(self) -> Iterator[FleetRule]:
        """A worker reads the stream again, which clients alone have added to."""
        places = next(f.values for f in self.own if f.name == "at")
        yield FleetRule("look at the stream", Actor.WORKER, {f"{OWN}at": frozenset(places) - {"idle", *FENCES}},
                        {f"{OWN}{known(n)}": f"={n}" for n in self.shape.watched}, source="T-WRITE")  # fmt: skip

    def local(self, rule: Rule) -> Iterator[FleetRule]:
        """A step in a worker's memory, or one that it takes with the tool; or a look at the registry."""
        registry = self.shape.registry
        asked = registry.store if registry and registry.asked in rule.sees["at"] else ""
        read = [n for n, s in self.shape.stores.items() if s == asked]
        guards = self.seen(rule.guards, read=read)
        writes = {**self.put(rule), **{f"{OWN}{known(n)}": f"={n}" for n in read}}
        if writes.get(self.shape.late) == "+1":  # a request that the tool refuses leaves nothing behind
            guards[f"{OWN}barred"] = frozenset({"no"})
        bars = rule.name in self.shape.bars
        if not (self.ghosts(rule) or bars):
            yield self.row(rule, guards, writes)
            return
        leads, overtaken = ({**guards, stands("effects"): frozenset({v})} for v in ("yes", "no"))
        yield self.row(rule, leads, writes, bars=bars)
        less = {n: v for n, v in writes.items() if n not in self.ghosts(rule) and not (bars and n == self.shape.late)}
        yield self.row(rule, overtaken, less, f"{rule.name} (overtaken)")

    def crash(self, rule: Rule) -> Iterator[FleetRule]:
        """A crash of any worker, anywhere; what a request of it was stays on the wire."""
        guards = self.struck(rule, OWN)
        writes = {f"{OWN}{n}" if n in self.personal else n: v for n, v in rule.writes.items()}
        late = writes.get(self.shape.late) == "+1"
        kept = {**guards, **({f"{OWN}barred": frozenset({"no"})} if late else {})}
        if not self.ghosts(rule):
            yield self.row(rule, kept, writes)
        else:
            yield self.row(rule, {**kept, stands("effects"): frozenset({"yes"})}, writes)
            less = {n: v for n, v in writes.items() if n not in self.ghosts(rule)}
            yield self.row(rule, {**kept, stands("effects"): frozenset({"no"})}, less, f"{rule.name} (overtaken)")
        if late:
            less = {n: v for n, v in writes.items() if n != self.shape.late and n not in self.ghosts(rule)}
            yield self.row(rule, {**guards, f"{OWN}barred": frozenset({"yes"})}, less, f"{rule.name} (barred)")

    def outside(self, rule: Rule) -> Iterator[FleetRule]:
        """People, clients and the world; the world meets each worker's request by itself."""
        met, nobody = self.meets(rule)
        meets = self.shape.request in met
        struck = self.struck(replace(rule, meets=met), OWN)
        kept = {n: v for n, v in struck.items() if meets or n.removeprefix(OWN) not in self.personal}
        writes = {f"{OWN}{n}" if n in self.personal else n: v for n, v in rule.writes.items()}
        if meets and rule.writes.get(self.shape.request) != "refused":
            kept[f"{OWN}barred"] = frozenset({"no"})
        heard = {n for n, s in self.shape.stores.items() if s == "events"} - {*self.shape.neutral, *self.shape.watched}
        events = heard & set(rule.writes)
        same = [n for n in events if {writes[n]} < kept.get(n, frozenset())]
        if self.shape.watched and same:  # what is so already makes no event that anybody has to hear
            fixed = {n: frozenset({writes[n]}) for n in same}
            less = {n: v for n, v in writes.items() if n not in same}
            yield self.row(rule, {**kept, **fixed}, less, f"{rule.name} (as it is)", nobody=nobody)
            (name,) = same
            kept[name] -= fixed[name]
        yield self.row(rule, kept, writes, appends=bool(events), nobody=nobody)

    def time(self, rule: Rule) -> FleetRule:
        """The quiet time is over: nobody has a request on the wire, or may yet send one (A-QUIET).

        A worker that leads is where the row has it; where one is that was overtaken does not matter, if it cannot send.
        """
        shared = {n: v for n, v in rule.guards.items() if n not in self.personal}
        leads = guard(**{stands("effects"): "yes"})
        nobody: list[Guard] = []
        if self.shape.possible:  # who finds that its started event is there may send at once
            nobody += self.senders()
            nobody.append({**guard(**{f"{OWN}at": STARTED, f"{OWN}landed": "yes"}), **self.fenced("events")})
        for name, values in rule.guards.items():
            if name not in self.personal:
                continue
            others = frozenset(next(f for f in self.own if f.name == name).values) - values - set(FENCES)
            split = others & self.ends if name == "at" else frozenset()
            nobody += [{f"{OWN}{name}": others - split, **leads}] if others - split else []
            nobody += [{f"{OWN}{name}": split, f"{OWN}landed": frozenset({"no"}), **leads}] if split else []
        return self.row(rule, shared, rule.writes, nobody=tuple(nobody))

    # Refusals.

    def refusals(self) -> Iterator[FleetRule]:
        """A write below a fence is refused and changes nothing; its worker lets go (P5): a crash, to whoever comes next."""
        for store in STORES:
            places = {
                p
                for r in self.machine.rules
                if r.actor is Actor.WORKER and self.store_of(r) == store
                for p in r.sees["at"]
            }
            at = frozenset({*places, f"fence_{store}"} - {"idle"})
            below = guard(**{stands(store): "no"})
            if f"fence-{store}" not in self.policy.on:
                continue
            overtaken = guard(**{stands("effects"): "no"})
            yield FleetRule(
                f"refused by {store}",
                Actor.WORKER,
                {f"{OWN}at": at, **below, **overtaken},
                {f"{OWN}at": "idle"},
                source="T-FENCE",
            )
            for crash in self.crashes if store != "effects" else ():
                struck = self.struck(crash, OWN)
                struck[f"{OWN}at"] &= at
                writes = {n: crash.writes[n] for n in self.ghosts(crash)} | {f"{OWN}at": "idle"}
                leads = guard(**{stands("effects"): "yes"})
                if struck[f"{OWN}at"]:
                    yield FleetRule(
                        f"refused by {store}, as a {crash.name}",
                        Actor.WORKER,
                        {**struck, **below, **leads},
                        writes,
                        source="T-FENCE",
                    )

    def conflicts(self) -> Iterator[FleetRule]:
        """An append after somebody else's event: recovery is run again, under the same lease."""
        appends = [r for r in self.machine.rules if r.actor is Actor.WORKER and self.store_of(r) == "events"]
        places = {p for r in appends if r.boundary not in FENCES for p in r.sees["at"]}
        if "conditional" in self.policy.on:
            guards = {f"{OWN}at": frozenset(places), f"{OWN}current": frozenset({"no"}), **self.fenced("events")}
            if self.shape.watched:  # one that clients alone were faster than may do the same
                del guards[f"{OWN}current"]
            if "landed" in self.personal:
                guards[f"{OWN}landed"] = frozenset({"no"})
            yield FleetRule(
                "version conflict", Actor.WORKER, guards, {**self.forget, f"{OWN}at": "fence_events"}, source="T-WRITE"
            )
