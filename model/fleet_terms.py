"""One worker's row in the terms of a fleet: what is each worker's own, what it reads of its copies, which store a row asks.

A row of `step.py` says `ledger:none`. Of one worker among many that is `w.known_ledger:none` where the worker decides, and
`ledger:none` where nobody reads: at a crash, or for the world. `Terms` says which, for one machine under one policy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .boundaries import BY_NAME
from .fleet import NO_YES, OWN, FleetRule, known, stands
from .fleet_shape import FENCES, STORES, FleetPolicy, Shape
from .machine import Actor, Field, Guard, Machine, ModelError, Rule, Scope, guard


class Terms:
    """The words of one machine's fleet. Raises ModelError where a durable field of the machine lies in no store.

    crashes: the machine's crashes of a worker. personal: its fields that are each worker's own. copied: its durable fields of
    which a worker has a copy. own: all the fields of a worker. forget: what one that lets go writes. ends: places of last writes.
    """

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

    def _name_of(self, name: str, copies: set[str], who: str) -> str:
        if name in self.personal:
            return f"{who}{name}"
        return f"{who}{known(name)}" if name in copies else name

    def seen(self, literals: Guard, who: str = OWN, read: Iterable[str] = ()) -> dict[str, frozenset[str]]:
        """A guard of a worker's row: durable fields are read from its copies, but for those that it reads now."""
        copies = {f.name for f in self.copied} - set(read)
        return {self._name_of(n, copies, who): v for n, v in literals.items()}

    def struck(self, rule: Rule, who: str) -> dict[str, frozenset[str]]:
        """A guard of a crash, or of the world: nobody reads there, so durable fields are what they are."""
        return {f"{who}{n}" if n in self.personal else n: v for n, v in rule.guards.items()}

    def put(self, rule: Rule) -> dict[str, str]:
        """What a worker's row writes: a durable field together with the worker's copy of it."""
        copies = {f.name for f in self.copied}
        writes = {}
        for name, value in rule.writes.items():
            put = f"={self._name_of(value[1:], copies, OWN)}" if value.startswith("=") else value
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
        """What only properties read of a row's writes, but for what is each worker's own."""
        return [n for n in rule.writes if self.scopes[n] is Scope.GHOST and n not in self.personal]

    def meets(self, rule: Rule) -> tuple[Guard, tuple[Guard, ...]]:
        """What a row meets; where that is a request that can act no more, whoever sent it, as guards that no worker satisfies."""
        if rule.meets.get(self.shape.late, frozenset()) != {"0"}:
            return rule.meets, ()
        return {n: v for n, v in rule.meets.items() if n != self.shape.request}, self.senders()

    def senders(self) -> tuple[Guard, ...]:
        """The workers whose request may still act, or that may still send one."""
        free, request = guard(**{f"{OWN}barred": "no"}), f"{OWN}{self.shape.request}"
        return {f"{OWN}at": self.shape.sending, **free}, {request: self.shape.sent, **free}

    def fenced(self, store: str) -> dict[str, frozenset[str]]:
        """What a store asks of whoever writes: nothing, where its fence is switched off."""
        return {stands(store): frozenset({"yes"})} if self.policy.fences(store) else {}

    def conditional(self) -> dict[str, frozenset[str]]:
        """What an append asks beside that."""
        return {f"{OWN}current": frozenset({"yes"})} if "conditional" in self.policy.on else {}

    def row(self, rule: Rule, guards: Guard, writes: Mapping[str, str], name: str = "", **more: object) -> FleetRule:
        """A row of the fleet that stands for one of the machine; `more`: fields of `FleetRule` that are otherwise there."""
        fixed = {"unless": tuple(self.seen(g) for g in rule.unless), "boundary": rule.boundary, "emits": rule.emits}
        return FleetRule(name or rule.name, rule.actor, guards, writes, source=rule.source, **{**fixed, **more})  # type: ignore[arg-type]
