"""A machine's rows as tables of numbers: what the compiled search (`kernel.c`) reads.

The rows stay the one definition. A guard is, per field, the set of values that satisfy it; what a write leaves is asked of the
model's own `outcomes`, once for every value that it may read. Packed states are cut into words of 64 bits, between fields.
"""

from array import array
from collections.abc import Iterable, Sequence
from ctypes import Structure, c_uint32, c_void_p
from typing import TYPE_CHECKING, Final

from ..model.machine import Guard, Rule, outcomes
from .reduction import Reduction

if TYPE_CHECKING:
    from .explore import Engine, Group, Packing

WORD: Final = 64
NOBODY: Final = 8
"""As many workers as the kernel can put in order."""
CODES: Final = 1 << 15
"""A field may have as many values."""
MOST: Final = (1 << WORD) - 1
GOLDEN: Final = 0x9E3779B97F4A7C15
ODD: Final = 0xD6E8FEB86659FD93
"""By what the kernel mixes the bits of a state."""
Span = tuple[int, int]  # the first, and how many


class Span_(Structure):
    """`Span` of the kernel."""

    _fields_ = (("first", c_uint32), ("count", c_uint32))


class Field_(Structure):
    """`Field` of the kernel: a word, a shift, and the mask after it."""

    _fields_ = (("word", c_uint32), ("shift", c_uint32), ("mask", c_uint32))


class Guards_(Structure):
    """`Guards` of the kernel."""

    _fields_ = (("literals", c_void_p), ("conjunctions", c_void_p), ("sets", c_void_p))


class Model_(Structure):
    """`Model` of the kernel."""

    _fields_ = (
        ("guards", Guards_),
        *((name, c_void_p) for name in ("rules", "writes", "outcomes", "groups", "members", "touched", "places",
                                        "workers", "fields", "blocks", "idle", "orders")),
        ("order", Field_),
        *((name, c_uint32) for name in ("named", "n_groups", "n_places", "n_workers")),
        ("stop", Span_),
    )  # fmt: skip


class Layout:
    """Where a packing's fields are once a state is cut into words. cuts: the bit at which each word begins."""

    def __init__(self, packing: "Packing") -> None:
        self.packing = packing
        self.cuts = [0]
        self.at: dict[str, tuple[int, int, int]] = {}
        for name, shift in packing.shift.items():
            width = packing.width[name]
            if shift + width > self.cuts[-1] + WORD:
                self.cuts.append(shift)
            self.at[name] = len(self.cuts) - 1, shift - self.cuts[-1], (1 << width) - 1
        bits = sum(packing.width.values())
        self.masks = [(1 << end - cut) - 1 for cut, end in zip(self.cuts, [*self.cuts[1:], bits], strict=True)]

    @property
    def words(self) -> int:
        """How many words a state has."""
        return len(self.cuts)

    def split(self, states: Iterable[int]) -> "array[int]":
        """The words of some packed states, one state after another."""
        parts = tuple(zip(self.cuts, self.masks, strict=True))
        return array("Q", [state >> cut & mask for state in states for cut, mask in parts])

    def hashed(self, state: int) -> int:
        """The hash of a packed state, as the kernel has it."""
        found = 0
        for word in self.split([state]):
            found = (found ^ word) * GOLDEN & MOST
            found ^= found >> 32
        found = found * ODD & MOST
        return found ^ found >> 29

    def join(self, words: "Sequence[int]", step: int = 0) -> list[int]:
        """The packed states of which these are the words; step: how many words lie from one to the next, if there is more."""
        step = step or self.words
        states = words[0::step]
        for n, cut in enumerate(self.cuts[1:], 1):
            states = [state | word << cut for state, word in zip(states, words[n::step], strict=True)]
        return list(states)


class GuardTables:
    """Guards as literals, conjunctions and bit sets."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.literals, self.conjunctions, self.sets = array("I"), array("I"), array("Q")
        self._known: dict[tuple[str, frozenset[str]], tuple[int, int, int, int]] = {}

    def literal(self, name: str, values: frozenset[str]) -> tuple[int, int, int, int]:
        """Where a field is, and where the set of its values that are allowed begins."""
        found = self._known.get((name, values))
        if found is None:
            codes = self.layout.packing.codes[name]
            allowed = sum(1 << codes[value] for value in values)
            found = self._known[name, values] = (*self.layout.at[name], len(self.sets))
            self.sets.extend(allowed >> n & (1 << WORD) - 1 for n in range(0, len(codes), WORD))
        return found

    def guard(self, *parts: Guard) -> Span:
        """Where the literals of a guard, or of several that must all hold, stand."""
        first = len(self.literals) // 4
        for part in parts:
            for name, values in part.items():
                self.literals.extend(self.literal(name, values))
        return first, len(self.literals) // 4 - first

    def either(self, guards: Iterable[Guard]) -> Span:
        """Where guards of which one has to hold stand."""
        spans = [self.guard(each) for each in guards]
        first = len(self.conjunctions) // 2
        for span in spans:
            self.conjunctions.extend(span)
        return first, len(spans)

    def made(self) -> Guards_:
        """The tables as the kernel has them; they live as long as this does."""
        return Guards_(*map(address, (self.literals, self.conjunctions, self.sets)))


class Tables:
    """The rows of an engine's machine, by its groups. stop: guards at which a search ends."""

    def __init__(self, engine: "Engine", stop: Sequence[Guard], reduction: Reduction | None) -> None:
        self.engine, self.layout = engine, Layout(engine.packing)
        self.guards = GuardTables(self.layout)
        self._kept: list[object] = [self.guards]
        self._outcomes: dict[tuple[str, str], tuple[int, ...]] = {}
        self.writes, self.outcomes = array("I"), array("I")
        rules = array("I")
        for rule in engine.machine.rules:
            unless = self.guards.either(rule.unless)
            rules.extend((*self.guards.guard(rule.sees, rule.meets), *unless, *self._writes(rule)))
        always, by_place = engine.grouped()
        self.groups = [always, *(group for _, groups in by_place for group in groups)]
        model = self.model = Model_()
        model.rules = self._keep(rules)
        model.writes, model.outcomes = self._keep(self.writes), self._keep(self.outcomes)
        self._grouped(self.groups)
        places, first = array("I"), 1
        for name, groups in by_place:
            places.extend((*self.layout.at[name], first))
            first += len(groups)
        model.places, model.n_places = self._keep(places), len(by_place)
        if reduction:
            self._reduced(reduction)
        model.stop = Span_(*self.guards.either(stop))
        model.guards = self.guards.made()

    def _keep(self, table: "array[int]") -> int:
        self._kept.append(table)
        return address(table)

    def _writes(self, rule: Rule) -> Span:
        """What a rule writes, in the order of the fields, which is that of `apply`."""
        first = len(self.writes) // 7
        for f in self.engine.machine.fields:
            if f.name in rule.writes:
                self.writes.extend(self._write(f.name, rule.writes[f.name]))
        return first, len(self.writes) // 7 - first

    def _write(self, name: str, write: str) -> tuple[int, ...]:
        """What a write leaves, by what it reads: the field that it copies, or else what it writes over."""
        known = self._outcomes.get((name, write))
        if known is None:
            source = write[1:] if write.startswith("=") else name
            begins, codes = len(self.outcomes), self.layout.packing.codes[name]
            for value in self.engine.machine.by_name[source].values:
                left = [codes[v] for v in outcomes(value, write, {source: value})]
                if len(left) > 2:  # what an entry has room for
                    raise ValueError(
                        f"{write!r} leaves {len(left)} values in {name!r}: the kernel knows of two at most"
                    )
                self.outcomes.append(left[0] | left[-1] << 15 | (len(left) - 1) << 30)
            known = self._outcomes[name, write] = (*self.layout.at[name], *self.layout.at[source], begins)
        return known

    def _grouped(self, groups: Sequence["Group"]) -> None:
        members, spans = array("I"), array("I")
        for _, indices, _ in groups:
            spans.extend((len(members), len(indices)))
            members.extend(indices)
        model = self.model
        model.groups, model.members, model.n_groups = self._keep(spans), self._keep(members), len(groups)
        model.touched = self._keep(self.layout.split(mask for mask, _, _ in groups))

    def _reduced(self, reduction: Reduction) -> None:
        packing, fields, spans = self.layout.packing, array("I"), array("I")
        for n, names in enumerate(reduction.fields):
            sends = self.guards.either(reduction.sends[n])
            rests, overtaken = (self.guards.literal(*_only(g[n])) for g in (reduction.rests, reduction.overtaken))
            spans.extend((*rests, *overtaken, *sends, len(fields) // 3, len(names)))
            for name in names:
                fields.extend(self.layout.at[name])
        orders = packing.machine.by_name[reduction.order].values
        model = self.model
        model.workers, model.fields, model.n_workers = self._keep(spans), self._keep(fields), len(reduction.workers)
        model.blocks = self._keep(self.layout.split(map(packing.mask, reduction.fields)))
        model.idle = self._keep(self.layout.split(map(packing.some, reduction.idle)))
        model.orders = self._keep(array("I", [reduction.workers.index(x) for order in orders for x in order]))
        model.order, model.named = Field_(*self.layout.at[reduction.order]), orders.index("".join(reduction.workers))


def fits(engine: "Engine", reduction: Reduction | None) -> bool:
    """Whether the kernel has room for a machine's fields and workers."""
    return (
        max(len(f.values) for f in engine.machine.fields) <= CODES
        and len(reduction.workers if reduction else ()) <= NOBODY
    )


def _only(literals: Guard) -> tuple[str, frozenset[str]]:
    """The one literal of a guard."""
    (literal,) = literals.items()
    return literal


def address(table: "array[int]") -> int:
    """Where a table is in memory."""
    return table.buffer_info()[0]
