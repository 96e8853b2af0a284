"""Which states of some named workers stand for which: one definition, for the search in Python and for the compiled one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..model.machine import Guard

if TYPE_CHECKING:
    from .explore import Packing


@dataclass(frozen=True)
class Reduction:
    """A worker at rest, or overtaken and not about to send, holds what it holds at rest; then names are given by age.

    fields: of each worker, in one order and side by side; idle: what they hold at rest. rests, overtaken, sends: guards about
    each worker, the first two of one field. order: the field that says who claimed after whom, by a word of one-letter names.
    """

    workers: tuple[str, ...]
    fields: tuple[tuple[str, ...], ...]
    idle: tuple[Mapping[str, str], ...]
    rests: tuple[Guard, ...]
    overtaken: tuple[Guard, ...]
    sends: tuple[tuple[Guard, ...], ...]
    order: str

    def function(self, packing: "Packing") -> Callable[[int], int]:
        """The state that stands for a state."""
        workers, numbers = self.workers, range(len(self.workers))
        blocks = [packing.mask(names) for names in self.fields]
        idle = [packing.some(fields) for fields in self.idle]
        low = [packing.shift[names[0]] for names in self.fields]
        at_rest = [packing.matcher(g) for g in self.rests]
        overtaken = [packing.matcher(g) for g in self.overtaken]
        sends = [[packing.matcher(g) for g in guards] for guards in self.sends]
        orders = packing.machine.by_name[self.order].values
        shift, mask = packing.shift[self.order], packing.mask([self.order])
        by_name = orders.index("".join(workers)) << shift
        ages = [[workers.index(x) for x in order] for order in orders]

        def canonical(state: int) -> int:
            for n in numbers:
                if at_rest[n](state) or (overtaken[n](state) and not any(match(state) for match in sends[n])):
                    state = (state & ~blocks[n]) | idle[n]
            # Idle workers come first, oldest last; then the names are given anew by age.
            order = ages[(state & mask) >> shift]
            ranked = sorted(order, key=lambda n: (not at_rest[n](state), order.index(n)))
            held = [(state & blocks[n]) >> low[n] for n in ranked]
            state &= ~sum(blocks) & ~mask
            for n, block in zip(numbers, held, strict=True):
                state |= block << low[n]
            return state | by_name

        return canonical
