"""Joined writes in the model: what a crash leaves of them is what it leaves of writes by themselves (T-ORDER, decision 039).

The machine is the step's own, rule by rule. Beside each of its states stands the one in which the transaction was begun, if one
is open: its stores are what is durable. A write of the worker opens it and is part of it; a thought of the worker leaves it as
it is; a contact, and whatever else the worker does, comes after its commit; people and clients wait for it; world and time do
not. A commit may also come earlier, at any moment. A crash leaves the stores as they were when the transaction was begun, and the
history of the writes that are lost is that of a crash then.

The driver keeps the writes in memory until their commit (decision 044). A commit that succeeds had nobody in between, as if they
had waited; one that is refused leaves nothing, and plain writes follow, up to where the turn reads again.

So each state of such a worker is one that the step's machine reaches, if each state that a crash leaves is one: those are the
only steps that the machine does not have. That is what is searched here, for every crash in every state. What holds of all
states of the step's machine then holds of all states of the joined one.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from ..model.boundaries import BY_NAME
from ..model.machine import Actor, Machine, Rule, Scope
from .explore import Engine, Space

STORES: Final = ("events", "ledger", "effects")
"""What one transaction may span, where one database holds them."""
Base = tuple[int, tuple[int, ...]]
"""What is durable while a transaction is open, and what the history may say of a crash then."""


class Joined(NamedTuple):
    """What was found: how many states, in how many of them a transaction is open, and how many crashes there are in these.

    astray: what crashes leave that the step's machine does not reach, each with the rule of the crash.
    """

    states: int
    open: int
    crashes: int
    astray: list[tuple[str, int]]


def is_write(rule: Rule) -> bool:
    """Whether a rule is a write that may be joined with others: not a fence, whose answer is read again."""
    boundary = BY_NAME.get(rule.boundary or "")
    return (
        rule.actor is Actor.WORKER
        and boundary is not None
        and boundary.store in STORES
        and not boundary.name.startswith("fence_")
    )


def is_thought(machine: Machine, rule: Rule) -> bool:
    """Whether a rule is of the worker alone: it writes into its memory, and meets nothing."""
    fields = machine.by_name
    own = all(fields[name].scope in (Scope.VOLATILE, Scope.GHOST) for name in rule.writes)
    return rule.actor is Actor.WORKER and rule.boundary is None and not rule.meets and own


def waits(machine: Machine, rule: Rule) -> bool:
    """Whether a rule is somebody else's write into the stores, which waits for the transaction's end."""
    fields = machine.by_name
    writes = any(fields[name].scope is Scope.DURABLE for name in rule.writes)
    return rule.actor in (Actor.PERSON, Actor.WORLD) and writes


def is_outside(machine: Machine, rule: Rule) -> bool:
    """Whether a rule is a step of the world or of time that no transaction keeps waiting."""
    return rule.actor in (Actor.WORLD, Actor.CLOCK) and not waits(machine, rule)


def search(space: Space, careless: Callable[[Rule], bool] = lambda rule: False) -> Joined:
    """Every state of a worker that joins its writes. careless: before which of its contacts it commits nothing.

    Where no transaction is open they are the states of the step's machine: each step of it is taken there, a write with a commit
    behind it. So every one of them is gone on from; and what a crash leaves is followed where it is one of them.
    """
    machine, engine, rules = space.machine, space.engine, space.machine.rules
    begun = _Begun(space)
    writes = {index for index, rule in enumerate(rules) if is_write(rule)}
    stays = {
        i for i, rule in enumerate(rules) if is_thought(machine, rule) or careless(rule) or is_outside(machine, rule)
    }
    known = set(space.states)
    within: dict[Base, set[int]] = {}
    """The states in which a transaction is open, by what is durable meanwhile."""
    opening = engine.only(writes)
    for state in known:
        for _, deltas in opening.every([state]):
            within.setdefault(begun.base(state), set()).update([state ^ delta for delta, _ in deltas])
    crashes, astray, inside = 0, set[tuple[str, int]](), engine.only((writes | stays) - begun.crash)
    for base, seen in within.items():
        _close(inside, seen)
        for state in seen:
            for index, left in begun.crashes(state):
                crashes += 1
                there = left & begun.kept | base[0]
                if not any(there | history in known for history in base[1]):
                    astray.add((rules[index].name, there))
    opened = sum(map(len, within.values()))
    return Joined(len(known) + opened, opened, crashes, sorted(astray))


def _close(engine: Engine, seen: set[int]) -> None:
    """Add every state that is reached from these."""
    frontier = list(seen)
    while frontier:
        state = frontier.pop()
        for _, deltas in engine.every([state]):
            for delta, _ in deltas:
                if (after := state ^ delta) not in seen:
                    seen.add(after)
                    frontier.append(after)


class _Begun:
    """What is durable where a transaction is begun; and the crashes of a space. kept: what is neither durable nor history."""

    def __init__(self, space: Space) -> None:
        machine, packing = space.machine, space.packing
        self._durable = packing.mask(f.name for f in machine.fields if f.scope is Scope.DURABLE)
        self._ghost = packing.mask(f.name for f in machine.fields if f.scope is Scope.GHOST)
        self.kept = ~(self._durable | self._ghost)
        self.crash = {index for index, rule in enumerate(machine.rules) if rule.actor is Actor.CRASH}
        self._crashing = space.engine.only(self.crash)

    def base(self, state: int) -> Base:
        """What is durable in a state, and what the history says of a crash there."""
        said = {left & self._ghost for _, left in self.crashes(state)}
        return state & self._durable, tuple(sorted(said))

    def crashes(self, state: int) -> Iterator[tuple[int, int]]:
        """Every crash in a state: the rule, and the state behind it."""
        for delta, index in self._crashing.steps(state):
            yield index, state ^ delta
