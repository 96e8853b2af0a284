"""The crash-window table, derived: every reachable state without a worker, grouped, against the table stated by hand.

For each window the derivation collects which rules of T-RECOVER the next worker fires, how many effects there are when the
crash strikes, and how many when the job has ended if nothing else goes wrong. Change one row of the model, or one cell
of the table, and the comparison fails.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..model.machine import Actor, Machine, Rule, Scope, enabled, guard, holds
from ..model.windows import AMBIGUOUS, WINDOWS, Window
from .explore import Engine, Space

UNLUCKY = ("world: refuses", "world: late request lost", "no reply, still on the wire", "no reply, lost")
"""What a run without further faults does not meet: refusals, lost requests, lost answers; nor does a client cancel (`client`)."""


@dataclass(frozen=True)
class Derived:
    """What the model says of one window."""

    window: Window
    states: int
    recovery: frozenset[str]
    at_crash: frozenset[str]
    in_end: frozenset[str]

    @property
    def agrees(self) -> bool:
        """Whether the table stated by hand says the same."""
        row = self.window
        return bool(self.states) and (self.recovery, self.at_crash, self.in_end) == (
            row.recovery,
            row.at_crash,
            row.in_end,
        )


class MisfitError(Exception):
    """A reachable state without a worker that belongs to no window, or to two that claim to be apart."""


def derive(space: Space) -> list[Derived]:
    """The table as the reachable states give it, one entry per stated window. Raises MisfitError."""
    durable = space.packing.mask(f.name for f in space.machine.fields if f.scope is Scope.DURABLE)
    alike: dict[int, list[int]] = {}
    for state in space.all(guard(at="idle")):
        alike.setdefault(state & durable, []).append(state)
    members: dict[str, list[int]] = {}
    for states in alike.values():
        members.setdefault(class_of(space.machine.view(space.packing.unpack(states[0]))), []).extend(states)
    struck = _struck(space)
    ends = _Ends(space)
    return [_derive(space, w, struck.get(w.id, members.get(w.id, [])), ends) for w in WINDOWS]


def class_of(view: Mapping[str, str]) -> str:
    """The id of the window that a step without a worker is in; of windows that share their states, the first."""
    found = [w for w in WINDOWS if any(holds(view, g) for g in w.durable)]
    if len({id(w.durable) for w in found}) > 1 or not found:
        state = ", ".join(f"{name}={value}" for name, value in view.items())
        raise MisfitError(f"the state fits the windows {[w.id for w in found]}, not exactly one: {state}")
    return found[0].id


def _struck(space: Space) -> dict[str, list[int]]:
    """For the windows of the ambiguity class: the states in which a crash at their places leaves the step."""
    machine, packing = space.machine, space.packing
    sharing = [w for w in WINDOWS if w.durable is AMBIGUOUS]
    places = [(w.id, packing.matcher(g)) for w in sharing for g in w.struck]
    rest = next(w.id for w in sharing if not w.struck)
    ambiguous = [packing.matcher(g) for g in AMBIGUOUS]
    engine = Engine(replace(machine, rules=tuple(rule for rule in machine.rules if rule.actor is Actor.CRASH)))
    left: dict[str, set[int]] = {w.id: set() for w in sharing}
    for state, deltas in engine.every(space.states):
        for delta, _ in deltas:
            if any(match(state ^ delta) for match in ambiguous):
                name = next((window for window, match in places if match(state)), rest)
                left[name].add(state ^ delta)
    return {name: sorted(states) for name, states in left.items()}


def _derive(space: Space, window: Window, states: list[int], ends: "_Ends") -> Derived:
    durable = space.packing.mask(f.name for f in space.machine.fields if f.scope is Scope.DURABLE)
    unlike = {state & durable: state for state in states}.values()
    rules = decisions(space.machine)
    recoveries = {r for state in unlike for r in recovery(rules, space.machine.view(space.packing.unpack(state)))}
    return Derived(window, len(states), frozenset(recoveries), space.values(states, "effects"), ends.of(states))


def recovery(rules: Iterable[Rule], view: Mapping[str, str]) -> Iterable[str]:
    """Those of the rules of T-RECOVER that fire once a worker has claimed the job and read the stores."""
    if view["job"] != "open":
        return []
    read = {**view, "at": "recover", "told": view["cancel"]}
    return [r.name for r in rules if enabled(read, r)]


def decisions(machine: Machine) -> list[Rule]:
    """The rules of T-RECOVER: what a worker decides once it has read the stores."""
    return [r for r in machine.rules if r.sees.get("at") == frozenset({"recover"}) and r.source.startswith("T-RECOVER")]


class _Ends:
    """The numbers of effects with which a job can end, from a state, when nothing else goes wrong."""

    def __init__(self, space: Space) -> None:
        machine = space.machine
        lucky = {
            i
            for i, rule in enumerate(machine.rules)
            if rule.actor is not Actor.CRASH
            and rule.name not in UNLUCKY
            and not rule.name.endswith(("(answer lost)", "not yet known"))
            and not rule.name.startswith(("elsewhere: fails", "client: "))
        }
        self.values = {
            value: space.reaching(lucky, [guard(job="completed|failed|cancelled", wire="0", effects=value)])
            for value in ("0", "1", "2")
        }

    def of(self, states: list[int]) -> frozenset[str]:
        """Those of some states; empty when the job cannot end without another fault: they are stuck."""
        return frozenset(value for value, sources in self.values.items() if not sources.isdisjoint(states))
