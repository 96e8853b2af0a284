"""Mutants of a model by liveness, incrementally: is there a fair run that the change keeps from coming to rest (P15)?

Where no two states outside rest lead to each other, the original's states have an order that every move descends. A cycle of
a mutant then climbs by a move that is new, so only what lies between such moves is looked at; and whoever stands still stands
where a move was lost. Other machines are small: theirs are looked at whole.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..model.liveness import forever
from ..model.machine import Guard, Machine
from .liveness import Moves, look, moves_of, resting
from .mutate_rows import OriginalError, Rows
from .mutate_search import Base, Difference, Seen, run_to, way


@dataclass(frozen=True)
class Halted:
    """A fair run that never comes to rest, in words, with the rules of a run to where it stays; words is "" where none is."""

    words: str
    run: tuple[str, ...] = ()


class Liveness:
    """The original's order, under the assumptions of its claim. Raises OriginalError where it does not come to rest."""

    def __init__(self, base: Base, assumptions: Sequence[str], rests: Sequence[Guard]) -> None:
        self.base, self.assumptions, self.rests = base, assumptions, rests
        self.resting = resting(base.packing, rests)
        moves = moves_of(base.space.engine, assumptions)
        self.order = _descending(base.space.parents, moves, self.resting)
        # Where each move to another state lowers a number, a run can only stay where everybody stands still.
        stays = (
            look(base.space.parents, moves, self.resting).stuck
            if self.order is None
            else any(_stands(state, moves) for state in self.order)
        )
        if stays:
            raise OriginalError(f"{base.machine.name}: a fair run of the original stays outside rest for ever")

    def examine(self, mutant: Rows, difference: Difference, seen: Seen) -> Halted:
        """Whether a fair run of a mutant never comes to rest; `seen` is what a complete search of it has added."""
        machine = mutant.of(self.base.machine)
        moves = moves_of(self.base.engine(mutant), self.assumptions)
        if self.order is None:
            return self._whole(mutant, moves)
        stuck = self._still(difference, seen, moves)
        stuck += self._round(machine, difference, seen, moves)
        if not stuck:
            return Halted("")
        for state in stuck:
            run = run_to(self.base, mutant, difference, seen.grown, state)
            if run is not None:
                return Halted(f"after {len(run)} steps a fair run stays outside rest for ever", run)
        return self._whole(mutant, moves)

    def _still(self, difference: Difference, seen: Seen, moves: Moves) -> list[int]:
        """Where moves were lost or added, and everybody may stand still."""
        changed = {**difference.lost, **difference.added}
        states = [s for s in self.base.sources(difference.mask, changed) if not self.resting(s)]
        return [s for s in (*states, *seen.grown) if not self.resting(s) and _stands(s, moves)]

    def _round(self, machine: Machine, difference: Difference, seen: Seen, moves: Moves) -> list[int]:
        """A state of each cycle that climbs by a new move, and in which a fair run may stay."""
        order = self.order or {}
        allowed = {
            rule.name for rule, left in zip(machine.rules, forever(machine, self.assumptions), strict=True) if left
        }
        lowest, begins = len(order), [s for s in seen.grown if not self.resting(s)]
        for state in self.base.sources(difference.mask, difference.added):
            if state not in order:
                continue
            for name, delta in difference.added[state & difference.mask]:
                to = state ^ delta
                if name in allowed and to != state and not self.resting(to):
                    lowest = min(lowest, order[state])
                    if to in order and order[to] >= order[state]:
                        begins.append(to)
        between = dict.fromkeys(begins)
        todo = list(between)
        while todo:
            for to, _, _ in moves(todo.pop()):
                if to not in between and order.get(to, lowest) >= lowest and not self.resting(to):
                    between[to] = None
                    todo.append(to)
        return [next(iter(each.states)) for each in look(between, moves, self.resting).stuck if len(each.states) > 1]

    def _whole(self, mutant: Rows, moves: Moves) -> Halted:
        """A look at all that the mutant reaches, of which nothing breaks a property."""
        space = self.base.whole(mutant).grown
        looked = look(space, moves, self.resting)
        if not looked.stuck:
            return Halted("")
        stuck = set().union(*(each.states for each in looked.stuck))
        state = next(state for state in space if state in stuck)
        run = tuple(rule for rule, _ in way(space, self.base.machine.rules, state)[1:])
        return Halted(f"after {len(run)} steps a fair run stays outside rest for ever", run)


def _stands(state: int, moves: Moves) -> bool:
    """Whether everybody who must move somewhere may stay here for ever."""
    able = taken = 0
    for to, _, bits in moves(state):
        able |= bits
        taken |= bits if to == state else 0
    return not able & ~taken


def _descending(states: Iterable[int], moves: Moves, rests: Callable[[int], bool]) -> dict[int, int] | None:
    """A number for each state outside rest that each move to another one lowers; None where two lead to each other."""
    order: dict[int, int] = {}
    open_: set[int] = set()
    for root in states:
        if root in order or rests(root):
            continue
        path = [(root, iter(moves(root)))]
        open_.add(root)
        while path:
            state, rest = path[-1]
            for to, _, _ in rest:
                if to == state or to in order or rests(to):
                    continue
                if to in open_:
                    return None
                open_.add(to)
                path.append((to, iter(moves(to))))
                break
            else:
                path.pop()
                open_.discard(state)
                order[state] = len(order)
    return order
