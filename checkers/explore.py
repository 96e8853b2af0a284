"""Explicit search: every reachable state of a machine, with shortest witnesses.

A state is packed into one integer, a few bits per field. Rules are grouped by the fields they touch; for each group the
successors of a state depend on `state & mask` alone, so they are computed once per distinct masked value, by the machine's
own interpreter, and remembered as XOR deltas: `successor = state ^ delta`. The interpreter stays the only definition of
what a rule means, and `tests/test_explore.py` compares the two on every state. Who has a C compiler searches in `kernel.py`, all
others in `plain.py`: the same states in the same order. No hashing that loses states, no bound on crashes: the space is finite
because nothing in it counts them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise, product
from math import prod
from typing import Self

from ..model.machine import Field, Guard, Machine, Rule, State, apply, enabled
from .kernel import compiled
from .plain import Found, Plain
from .reduction import Reduction

Delta = tuple[int, int]  # (xor, index of the rule)


class Packing:
    """The layout of a machine's states in one integer."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.shift: dict[str, int] = {}
        self.width: dict[str, int] = {}
        self.codes = {f.name: {value: code for code, value in enumerate(f.values)} for f in machine.fields}
        offset = 0
        for f in machine.fields:
            self.shift[f.name] = offset
            self.width[f.name] = max(1, (len(f.values) - 1).bit_length())
            offset += self.width[f.name]

    def pack(self, state: State) -> int:
        """One integer for a state."""
        return sum(
            self.codes[f.name][value] << self.shift[f.name] for f, value in zip(self.machine.fields, state, strict=True)
        )

    def some(self, fields: Mapping[str, str]) -> int:
        """Some fields alone, by name."""
        return sum(self.codes[name][value] << self.shift[name] for name, value in fields.items())

    def unpack(self, packed: int) -> State:
        """The state that an integer stands for."""
        return tuple(f.values[self.code(packed, f.name)] for f in self.machine.fields)

    def code(self, packed: int, name: str) -> int:
        """The position of one field's value in its domain."""
        return (packed >> self.shift[name]) & ((1 << self.width[name]) - 1)

    def mask(self, names: Iterable[str]) -> int:
        """The bits of some fields."""
        return sum(((1 << self.width[name]) - 1) << self.shift[name] for name in set(names))

    def matcher(self, literals: Guard) -> Callable[[int], bool]:
        """A test for a guard on packed states."""
        mask = self.mask(literals)
        names = list(literals)
        wanted = {
            sum(self.codes[n][v] << self.shift[n] for n, v in zip(names, values, strict=True))
            for values in product(*(literals[n] for n in names))
        }
        return lambda packed: (packed & mask) in wanted


Single = tuple[int, dict[int, tuple[int, ...]]]  # mask of the fields that one rule touches, memo
Group = tuple[int, list[int], dict[int, tuple[Delta, ...]]]  # mask of the fields touched, rules, memo


class Engine:
    """The successor function of a machine on packed states, memoised per group of rules.

    Rules that see one field, the place, form a group per value of it; all others form one more. What a single rule does is
    remembered as well, by the fields that it touches: there the interpreter is asked. like: the engine of a machine with the
    same fields; what it remembers of rules that are the same is remembered for both.
    """

    place: str

    def __init__(self, machine: Machine, like: "Engine | None" = None) -> None:
        self.machine = machine
        self.packing = Packing(machine)
        self.like = like if like and like.machine.fields == machine.fields else None
        known = {rule.name: n for n, rule in enumerate(self.like.machine.rules)} if self.like else {}
        self.single: list[Single] = []
        self.asked: list[list[Field]] = []
        self.parts: list[Machine | None] = []
        for rule in machine.rules:
            n = known.get(rule.name)
            if self.like and n is not None and self.like.machine.rules[n] == rule:
                single, asked, part = self.like.single[n], self.like.asked[n], self.like.parts[n]
            else:
                single, asked, part = (self.packing.mask(touched(rule)), {}), asked_of(machine, rule), None
            self.single.append(single)
            self.asked.append(asked)
            self.parts.append(part)
        self._place()

    def _place(self) -> None:
        """A group for each value of the place, and one for the rules that do not see it."""
        fields = self.machine.by_name
        place = fields[self.like.place] if self.like else min(self.machine.fields, key=self._remembered)
        self.place = place.name
        self.shift = self.packing.shift[place.name]
        self.mask = (1 << self.packing.width[place.name]) - 1
        numbered = list(enumerate(self.machine.rules))
        self.anywhere = self._group([i for i, rule in numbered if place.name not in rule.sees])
        self.placed = [
            self._group([i for i, rule in numbered if value in rule.sees.get(place.name, ())]) for value in place.values
        ]

    def _remembered(self, place: Field) -> int:
        """How much there may be to remember if this field is the place: the states of what each group touches."""
        seen = [rule.sees.get(place.name) for rule in self.machine.rules]
        groups = [[i for i, values in enumerate(seen) if values is None]]
        groups += [[i for i, values in enumerate(seen) if values and value in values] for value in place.values]
        domains = [(self.packing.mask([f.name]), len(f.values)) for f in self.machine.fields if f != place]
        masks = [self._group(group)[0] for group in groups]
        return sum(prod(values for field, values in domains if field & mask) for mask in masks)

    def grouped(self) -> tuple[Group, list[tuple[str, list[Group]]]]:
        """The rules that are asked everywhere, and by field those that are asked where it has each of its values."""
        return self.anywhere, [(self.place, self.placed)]

    def _group(self, indices: list[int]) -> Group:
        mask = 0
        for index in indices:
            mask |= self.single[index][0]
        return mask, indices, {}

    def only(self, rules: Collection[int]) -> Self:
        """The same with some of the rules alone. What a single rule does is remembered once for both."""
        narrow = copy(self)
        narrow.anywhere = self._within(self.anywhere, rules)
        narrow.placed = [self._within(group, rules) for group in self.placed]
        return narrow

    def _within(self, group: Group, rules: Collection[int]) -> Group:
        return self._group([index for index in group[1] if index in rules])

    def classes(self) -> set[tuple[int, int]]:
        """Of all that was computed: the rules that fire, each with the values of what it touches where it does."""
        always, by_place = self.grouped()
        memos = [memo for _, _, memo in (always, *(group for _, groups in by_place for group in groups))]
        return {(i, seen & self.single[i][0]) for memo in memos for seen, deltas in memo.items() for _, i in deltas}

    def masks(self) -> list[int]:
        """For each place, by its code, the fields on which it depends what may be done there; the place is one of them."""
        return [self.mask << self.shift | mask | self.anywhere[0] for mask, _, _ in self.placed]

    def steps(self, packed: int) -> Iterator[Delta]:
        """Every step from a state, memoised: (delta, index of the rule)."""
        for _, deltas in self.every([packed]):
            yield from deltas

    def every(self, states: Iterable[int]) -> Iterator[tuple[int, tuple[Delta, ...]]]:
        """Every step from some states, memoised: a state with what a group of rules does to it, if it does anything."""
        for packed in states:
            for mask, indices, memo in (self.placed[(packed >> self.shift) & self.mask], self.anywhere):
                seen = packed & mask
                found = memo.get(seen)
                if found is None:
                    found = memo[seen] = self.deltas(indices, packed)
                if found:
                    yield packed, found

    def deltas(self, indices: Sequence[int], packed: int) -> tuple[Delta, ...]:
        """What the rules of a group do to a state."""
        found: tuple[Delta, ...] = ()
        for index in indices:
            mask, memo = self.single[index]
            seen = packed & mask
            known = memo.get(seen)
            if known is None:
                known = memo[seen] = self.interpreted(index, packed)
            if known:  # few rules of a group may fire
                found += tuple([(delta, index) for delta in known])
        return found

    def interpreted(self, index: int, packed: int) -> tuple[int, ...]:
        """What one rule does to a state, by the machine's own interpreter."""
        rule = self.machine.rules[index]
        if not enabled({f.name: f.values[self.packing.code(packed, f.name)] for f in self.asked[index]}, rule):
            return ()
        part, mask = self.parts[index] or self._part(index), self.single[index][0]
        view = {f.name: f.values[self.packing.code(packed, f.name)] for f in part.fields}
        after = (part.view(state) for state in apply(part, view, rule))
        return tuple((packed & mask) ^ self.packing.some(fields) for fields in after)

    def _part(self, index: int) -> Machine:
        """A rule leaves all other fields as they are: it is asked what becomes of those that it touches alone."""
        names = touched(self.machine.rules[index])
        fields = tuple(f for f in self.machine.fields if f.name in names)
        part = self.parts[index] = replace(self.machine, fields=fields, rules=())
        return part


def asked_of(machine: Machine, rule: Rule) -> list[Field]:
    """The fields that are looked at to see whether a rule may fire."""
    fields = machine.by_name
    return [fields[name] for name in {*rule.guards, *(n for g in rule.unless for n in g)}]


def touched(rule: Rule) -> set[str]:
    """Every field that a rule reads or writes: its successors depend on nothing else."""
    copies = {value[1:] for value in rule.writes.values() if value.startswith("=")}
    return {*rule.guards, *rule.writes, *copies, *(name for g in rule.unless for name in g)}


class Space:
    """The reachable states of a machine: how each was first reached, and which rules ever fired.

    states: nearest to the start first; parents: from which each was first met, and by which rule (roots have rule -1).
    """

    def __init__(self, found: Found) -> None:
        self.machine, self.packing, self.found = found.engine.machine, found.engine.packing, found
        self.transitions, self.depth = found.transitions, found.depth
        self.fired = {self.machine.rules[index].name for index in found.fired}
        self.reaching, self.firsts = found.reaching, found.firsts

    def __len__(self) -> int:
        return len(self.found)

    @property
    def states(self) -> Sequence[int]:
        """Every state, nearest to the start first."""
        return self.found.states

    @property
    def parents(self) -> dict[int, Delta]:
        """Every state, nearest first: from which it was first met, and by which rule; roots have rule -1."""
        return self.found.parents

    @cached_property
    def engine(self) -> Engine:
        """What has been computed of the machine's steps, for whoever goes over the space again."""
        self.found.teach()
        return self.found.engine

    def graph(self, named: Callable[[Rule], str]) -> int:
        """A number for the whole graph: 64 bits of each step to another state, with the name of what takes it, added up.

        Two graphs with another step somewhere have another number, but for one chance in very many; whatever numbers the states
        and rules have. named: the name of a rule.
        """
        names = [blake2b(named(rule).encode(), digest_size=8).digest() for rule in self.machine.rules]
        return self.found.graph([int.from_bytes(name, "big") for name in names])

    def find(self, literals: Guard) -> int | None:
        """The first state, nearest to the start, in which a guard holds."""
        return next(iter(self.found.where([literals], 1)), None)

    def all(self, literals: Guard) -> list[int]:
        """Every state in which a guard holds."""
        return self.found.where([literals])

    def values(self, states: Iterable[int], name: str) -> frozenset[str]:
        """The values that a field takes in some states."""
        domain = self.machine.by_name[name].values
        return frozenset(domain[code] for code in {self.packing.code(s, name) for s in states})

    def path(self, packed: int) -> list[tuple[str, State]]:
        """A shortest run to a state: the rules that fired, each with the state after it; the first is ("", start)."""
        steps = []
        while True:
            parent, index = self.found.before(packed)
            name = self.machine.rules[index].name if index >= 0 else ""
            steps.append((name, self.packing.unpack(packed)))
            if index < 0:
                return steps[::-1]
            packed = parent

    def key(self, packed: int) -> str:
        """A run as a short replay key: the start's number and the position of each choice, as in `0/3/1`."""
        return key_of(self.machine, self.path(packed))


def key_of(machine: Machine, run: list[tuple[str, State]]) -> str:
    """The replay key of a run: the start's number and the position of each choice, as in `0/3/1`."""
    digits = [list(machine.initial_states()).index(run[0][1])]
    for (_, before), (name, after) in pairwise(run):
        options = [(rule.name, state) for rule, state in machine.successors(before)]
        digits.append(options.index((name, after)))
    return "/".join(map(str, digits))


def follow(machine: Machine, key: str) -> list[tuple[str, State]]:
    """The run that a replay key names; raises `ValueError`, with the wrong choice, when the key does not fit the machine."""
    misfit = f"replay key {key!r} does not fit the machine {machine.name!r}"
    run: list[tuple[str, State]] = []
    options = [("", state) for state in machine.initial_states()]
    for place, part in enumerate(key.split("/")):
        if not (part.isdecimal() and int(part) < len(options)):
            where = f"step {place}" if place else "the start"
            known = f"0 to {len(options) - 1}" if options else "nothing: no rule can fire"
            raise ValueError(f"{misfit}: {where} is {part!r}; possible is {known}")
        run.append(options[int(part)])
        options = [(rule.name, state) for rule, state in machine.successors(run[-1][1])]
    return run


def explore(machine: Machine, *stop: Guard, like: Engine | None = None) -> Space:
    """Search breadth first from every initial state; with guards to `stop` at, end where the first of them holds.

    Complete: when it returns without having met `stop`, `parents` holds every reachable state. like: as of an `Engine`.
    """
    return searched(Engine(machine, like), stop)


def searched(engine: Engine, stop: Sequence[Guard] = (), reduction: Reduction | None = None, limit: int = 0) -> Space:
    """Search as `explore` does, in the compiled kernel where there is one; reduction: states stand for others.

    limit: of states; the search ends soon after there are so many, and is not complete. 0: none.
    """
    found = compiled(engine, stop, reduction, limit)
    return Space(Plain(engine, stop, reduction, limit) if found is None else found)
