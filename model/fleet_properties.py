"""What is true of one worker's machine, read in a fleet; and the coupling: why the fleet does nothing that one worker could not
do.

Projection. The fleet is seen as the one-worker machine is: its worker is the one that *leads* (it has passed F3, nobody has
after it, and the last write of its turn has not landed); where nobody leads there is no worker. Who was overtaken counts as
crashed, and one that may still send, or waits for the answer to what it has sent, counts as a request that nobody waits for
(`late`). A clause or property of the one-worker machine is a list of guards that never hold; `lift` reads each through the
projection.

Coupling. What has to be true beside that so that the projection never leaves the one-worker machine: written by hand, for
every worker. What compares epochs, which are numbers, is `epoch_facts` in `checkers/prove_fleet_encode.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .fleet import OWN, Fleet, known, stands
from .fleet_shape import FENCES, OPEN, STARTED, STORES
from .machine import Guard, Scope, guard


@dataclass(frozen=True)
class Lifted:
    """A guard that never holds in the fleet: of what is shared, of the worker that leads (`w.`; nobody leads, where it is None),
    and of how many overtaken workers may still send, beside what is said of the late requests."""

    name: str
    shared: Guard
    leader: Guard | None = None
    led: bool = False
    senders: int = 0


@dataclass(frozen=True)
class Never:
    """No worker is ever like this: a guard in `w.` and of what is shared."""

    name: str
    never: Guard
    why: str


@dataclass(frozen=True)
class Agree:
    """A worker like this knows what is true: its copies of these durable fields are what the stores hold."""

    name: str
    where: Guard
    fields: tuple[str, ...]
    why: str


def leading(fleet: Fleet) -> list[Guard]:
    """The ways in which a worker leads: at work and not overtaken; after the last write of its turn, until that has landed."""
    stays = guard(**{stands("effects"): "yes"})
    if not any(f.name == "landed" for f in fleet.own):
        return [{f"{OWN}at": fleet.working, **stays}]
    ending = {f"{OWN}at": fleet.ends, **guard(**{f"{OWN}landed": "no"}), **stays}
    return [{f"{OWN}at": fleet.working - fleet.ends, **stays}, *([ending] if fleet.ends else [])]


def sending(fleet: Fleet) -> list[Guard]:
    """The ways in which an overtaken worker can still change the world: its request is on the wire, or about to be."""
    shape = fleet.shape
    if not shape.request:
        return []
    overtaken = guard(**{stands("effects"): "no", f"{OWN}barred": "no"})
    return [{f"{OWN}at": shape.sending, **overtaken}, {f"{OWN}{shape.request}": shape.sent, **overtaken}]


def lift(fleet: Fleet, name: str, never: Guard) -> Iterator[Lifted]:
    """What the fleet must never be so that its projection is never like this."""
    own = {f.name: f.values[0] for f in fleet.own}
    meant = {n: _meant(fleet, n, v) for n, v in never.items()}
    leader = {f"{OWN}{n}": v for n, v in meant.items() if n in own}
    shared = {n: v for n, v in meant.items() if n not in own}
    late = shared.get(fleet.shape.late, frozenset())
    cases = [(shared, 0)]
    # One late request is one on the wire or one sender; two or more likewise. "None" never stands in such a guard.
    if late and "0" not in late and sending(fleet):
        wire = fleet.shape.late
        rest = {n: v for n, v in shared.items() if n != wire}
        least = min(int(v) for v in late)
        if least == 1:
            cases += [(rest, 1)]
        else:
            cases += [({**rest, wire: frozenset({"1", "2"})}, 1), (rest, 2)]
    for literals, senders in cases:
        if not leader:
            yield Lifted(name, literals, senders=senders)
            continue
        yield Lifted(name, literals, leader, True, senders)
        if all(own[n.removeprefix(OWN)] in values for n, values in leader.items()):
            yield Lifted(name, literals, None, True, senders)


def _meant(fleet: Fleet, name: str, values: frozenset[str]) -> frozenset[str]:
    """Some values, with those that are one of them to the machine for one worker."""
    return values | {each for each, meant in fleet.shape.means.get(name, {}).items() if meant in values}


def coupling(fleet: Fleet) -> tuple[Never | Agree, ...]:
    """What is true of every worker of the fleet."""
    stated = (Never(name, never, "said of this machine") for name, never in fleet.shape.holds)
    return (
        *_clean(fleet),
        *_knows(fleet),
        *_watches(fleet),
        *_registered(fleet),
        *_told(fleet),
        *_quiet(fleet),
        *stated,
    )


def _clean(fleet: Fleet) -> Iterator[Never]:
    """A worker that is not at work has nothing in memory, and no request; only one that was overtaken is barred."""
    away = frozenset({"idle", *FENCES})
    kept = ("at", "told", "barred", "current")
    for f in fleet.own:
        copied = f.name.startswith("known_")
        if f.name not in kept and not copied:
            rest = frozenset(f.values) - {f.values[0]}
            yield Never(f"nothing in {f.name}", {f"{OWN}at": away, f"{OWN}{f.name}": rest}, "who lets go forgets")
    if fleet.shape.request:
        name = fleet.shape.request
        claimed = {f"{OWN}at": fleet.working | set(FENCES), **guard(**{stands("effects"): "yes"})}
        yield Never(
            "who stands is not barred", {**claimed, f"{OWN}barred": frozenset({"yes"})}, "a look bars who was overtaken"
        )
        elsewhere = {f"{OWN}at": fleet.working - _waiting(fleet)}
        some = frozenset(_own_values(fleet, name)) - {"none"}
        yield Never("who waits has sent", {**elsewhere, f"{OWN}{name}": some}, "a request has one who waits for it")


def _own_values(fleet: Fleet, name: str) -> tuple[str, ...]:
    return next(f.values for f in fleet.own if f.name == name)


def _waiting(fleet: Fleet) -> frozenset[str]:
    """Where a worker waits for its request."""
    sends = [r for r in fleet.rules if r.writes.get(f"{OWN}{fleet.shape.request}") in fleet.shape.sent]
    return frozenset(r.writes[f"{OWN}at"] for r in sends)


def _knows(fleet: Fleet) -> Iterator[Never | Agree]:
    """What a worker has read is still so: nobody else can have changed it in the meantime."""
    shape = fleet.shape
    unsure = {*shape.neutral, *shape.watched}
    fields = {s: tuple(n for n, at in shape.stores.items() if at == s and n not in unsure) for s in STORES}
    every = tuple(n for names in fields.values() for n in names)
    for where in leading(fleet):
        yield Agree(
            "who leads knows", where, every, "whoever else could write has been fenced, or would have overtaken it"
        )
        yield Never("who leads is current", {**where, f"{OWN}current": frozenset({"no"})}, "the same, of events")
    reading = guard(**{stands("effects"): "yes"})
    why = "whoever writes has passed F3, and so has fenced the effect store"
    after = {"events": "fence_ledger|fence_effects", "ledger": "fence_effects"}
    for store, places in after.items():
        if fields[store]:
            yield Agree(
                f"what was read of the {store} store stands",
                {**guard(**{f"{OWN}at": places}), **reading},
                fields[store],
                why,
            )
    rest = {f"{OWN}{known(n)}": frozenset(_values(fleet, n)) - v for n, v in OPEN.items()}
    yield Never(
        "what was read of the events is an open job",
        {**guard(**{f"{OWN}at": after["events"]}), **rest, **reading},
        "F1 leaves any other",
    )
    yield Never(
        "what was read of the events is current",
        {**guard(**{f"{OWN}at": after["events"], f"{OWN}current": "no"}), **reading},
        why,
    )


def _watches(fleet: Fleet) -> Iterator[Never]:
    """What a worker that is not overtaken has read of clients' words is there: nobody but a worker that leads takes it back."""
    reading = guard(**{f"{OWN}at": "fence_ledger|fence_effects", stands("effects"): "yes"})
    for name in fleet.shape.watched:
        for where in (*leading(fleet), reading):
            yield from _still(fleet, name, where, "clients only add, and whoever else takes back has been fenced")


def _registered(fleet: Fleet) -> Iterator[Never]:
    """What any worker has read in the registry, overtaken or not, is there: a record is created once and answered once."""
    registry = fleet.shape.registry
    for name in (n for n, s in fleet.shape.stores.items() if registry is not None and s == registry.store):
        yield from _still(fleet, name, {}, "a record is created once, and answered once")


def _still(fleet: Fleet, name: str, where: Guard, why: str) -> Iterator[Never]:
    values = _values(fleet, name)
    for value in values[1:]:
        old = {f"{OWN}{known(name)}": frozenset({value}), name: frozenset(values) - {value}}
        yield Never(f"what was read of {name} is there: {value}", {**where, **old}, why)


def _values(fleet: Fleet, name: str) -> tuple[str, ...]:
    return next(f.values for f in fleet.shared if f.name == name)


def _told(fleet: Fleet) -> Iterator[Never]:
    if any(f.name == "told" for f in fleet.own):
        yield Never(
            "a cancel that a worker knows of was requested",
            guard(**{f"{OWN}told": "yes", "cancel": "no"}),
            "F1 reads it",
        )
        yield Never(
            "who has not read the events has heard nothing",
            guard(**{f"{OWN}told": "yes", f"{OWN}at": "idle|fence_events"}),
            "F1 reads it",
        )


def _quiet(fleet: Fleet) -> Iterator[Never]:
    """While a started event's own sender may still send, no quiet time is over (T-QUIET)."""
    why = "the started event begins it anew, and time passes only where nobody may send"
    quiet = guard(**{"quiet": "yes", stands("effects"): "yes"}) if fleet.shape.possible else {}
    if quiet:
        yield Never("who is about to send is not quiet", {**quiet, f"{OWN}at": fleet.shape.sending}, why)
        begun = guard(**{f"{OWN}at": STARTED, f"{OWN}landed": "yes"})
        yield Never("who has begun to is not quiet", {**quiet, **begun}, why)


def durable(fleet: Fleet) -> tuple[str, ...]:
    """The durable fields, which only grow or absorb as the one-worker machine's do."""
    return tuple(f.name for f in fleet.shared if f.scope is Scope.DURABLE)
