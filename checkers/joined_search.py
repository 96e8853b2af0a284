"""Joined writes in the model: what a crash leaves of them is what it leaves of writes by themselves (T-ORDER, decision 039).

The machine is the step's own, rule by rule. Beside each of its states stands the one in which the transaction was begun, if one
is open: its stores are what is durable. A write of the worker opens it and is part of it; a thought of the worker leaves it as
it is; a contact, and whatever else the worker does, comes after its commit; people and clients wait for it; world and time do
not. A commit may also come earlier, at any moment. A crash leaves the stores as they were when the transaction was begun, and the
history of the writes that are lost is that of a crash then.

So each state of such a worker is one that the step's machine reaches, if each state that a crash leaves is one: those are the
only steps that the machine does not have. That is what is searched here, for every crash in every state. What holds of all
states of the step's machine then holds of all states of the joined one.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, NamedTuple

from ..model.boundaries import BY_NAME
from ..model.machine import Actor, Machine, Rule, Scope
from .explore import Space

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
    """Every state of a worker that joins its writes. careless: before which of its contacts it commits nothing."""
    machine, engine = space.machine, space.engine
    rules = machine.rules
    writes = [is_write(rule) for rule in rules]
    stays = [is_thought(machine, rule) or careless(rule) or is_outside(machine, rule) for rule in rules]
    crash = [rule.actor is Actor.CRASH for rule in rules]
    durable = space.packing.mask(f.name for f in machine.fields if f.scope is Scope.DURABLE)
    ghost = space.packing.mask(f.name for f in machine.fields if f.scope is Scope.GHOST)
    known = set(space.states)
    astray: list[tuple[str, int]] = []
    crashes = 0

    @cache
    def begun(state: int) -> Base:
        """What is durable where a transaction is begun, and what the history says of a crash there."""
        said = {(state ^ delta) & ghost for delta, index in engine.steps(state) if crash[index]}
        return state & durable, tuple(sorted(said))

    def steps(state: int, base: Base | None) -> Iterator[tuple[int, Base | None]]:
        nonlocal crashes
        for delta, index in engine.steps(state):
            after = state ^ delta
            if base is None:
                yield after, begun(state) if writes[index] else None
            elif crash[index]:
                crashes += 1
                left = after & ~(durable | ghost) | base[0]
                there = [left | history for history in base[1] if left | history in known]
                yield from ((each, None) for each in there)
                if not there:
                    astray.append((rules[index].name, left))
            elif writes[index] or stays[index]:
                yield after, base
        if base is not None:
            yield state, None

    frontier: list[tuple[int, Base | None]] = [(space.packing.pack(state), None) for state in machine.initial_states()]
    seen = set(frontier)
    while frontier:
        found = {after for state, base in frontier for after in steps(state, base)} - seen
        seen |= found
        frontier = list(found)
    return Joined(len(seen), sum(base is not None for _, base in seen), crashes, sorted(set(astray)))
