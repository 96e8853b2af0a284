"""Mutants of a model that nobody can tell from the original, though their states differ: proved by a bisimulation (E-TRUST).

What is seen: all that is durable, of the world or of the clock; boundaries, events and actors; each ghost that a property speaks
of; and of what only a process knows whether each guard holds that a property forbids, or the invariant. A step that performs no
boundary, writes no event and changes nothing of this is not seen, be it a decision or the crash of a process.

The relation holds each reachable state beside itself, and the pairs that come of the steps that the mutant has otherwise. It is
a weak bisimulation where each step of the one in a pair has an answer of the other: the same rule, leading to a pair that looks
alike; nothing, where the step is not seen; unseen steps to the very state of the first, and then what that state answers; or
unseen steps and then the same rule, to the very state that it leads to. Of the unseen steps none is a crash: who had to wait for
one would answer never, perhaps. Rules are matched by name, but for those of a crash: nobody sees which row it is that takes a
worker away. So what is not proved here may be equivalent all the same; it is not called so.

Not told apart here are who goes round for ever in silence, and what is reached at all: liveness and what has to occur (the column
*stated*) are asked of the mutant itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ..model.invariant import Clause
from ..model.machine import Actor, Guard, Rule, Scope
from .explore import Engine
from .mutate_rows import Rows
from .mutate_search import Base, Difference

HIDDEN: Final = (Scope.VOLATILE, Scope.GHOST)
Pair = tuple[int, int]
"""A state of the original, and one of the mutant beside it."""


class ToldApartError(Exception):
    """A step of the one has no answer of the other."""


class Observer:
    """Who sees what is to be seen of a machine, and nothing else. hidden: the fields whose values are not seen."""

    def __init__(self, base: Base, invariant: Sequence[Clause]) -> None:
        self.base, self.engine, machine, packing = base, base.space.engine, base.machine, base.packing
        forbidden = [g for p in base.properties for g in (*p.never, *p.absorbing)]
        spoken = {name for g in (*forbidden, *(g for p in base.properties for g in p.occurs)) for name in g}
        ghosts = {f.name for f in machine.fields if f.scope is Scope.GHOST}
        told = {name for p in base.properties for name in p.grows} | spoken & ghosts
        self.hidden = {f.name for f in machine.fields if f.scope in HIDDEN} - told
        self._mask = packing.mask(f.name for f in machine.fields if f.name not in self.hidden)
        guards: list[Guard] = [*forbidden, *(c.never for c in invariant)]
        self._guards: list[Callable[[int], bool]] = [packing.matcher(g) for g in guards if self.hidden & g.keys()]

    def alike(self, state: int, other: int) -> bool:
        """Whether two states look alike."""
        return not (state ^ other) & self._mask and all(holds(state) == holds(other) for holds in self._guards)

    def bisimilar(self, mutant: Rows, difference: Difference) -> str:
        """What proves that nobody who sees a mutant and the original can tell which is which; "" where nothing here does."""
        if not all(_labelled_alike(self.base.machine.rule(name), rule) for name, rule in mutant.changed.items()):
            return ""
        try:
            pairs = self.pairs(self.base.engine(mutant), self.base.sources(difference.mask, _changed(difference)))
        except ToldApartError:
            return ""
        fields = {
            name for one, other in pairs for name in self.hidden if (one ^ other) & self.base.packing.mask([name])
        }
        return (
            "bisimilar: each step of the one is answered by the other, in every reachable state beside itself and in"
            f" {len(pairs)} pairs of states that differ in {', '.join(sorted(fields))} alone; seen are stores, world, clock,"
            " boundaries, events, actors, ghosts that a property reads, and whether each guard holds that a property or the"
            " invariant forbids; a step that changes nothing of these is not seen, and no answer waits for a crash"
        )

    def pairs(self, mutated: Engine, sources: Iterable[int]) -> set[Pair]:
        """The unlike states that have to stand beside each other, from some states beside themselves. Raises ToldApartError."""
        todo, pairs = [(state, state) for state in sources], set[Pair]()
        while todo:
            state, other = todo.pop()
            answered = {*self._answers(self.engine, state, mutated, other)}
            answered |= {(one, two) for two, one in self._answers(mutated, other, self.engine, state)}
            fresh = {pair for pair in answered if pair[0] != pair[1]} - pairs
            pairs |= fresh
            todo += fresh
        return pairs

    def _answers(self, engine: Engine, state: int, others: Engine, other: int) -> Iterator[Pair]:
        """Where each step from a state leads, with where the answer leads from another state. Raises ToldApartError."""
        if state != other and self._silently(others, other, state):
            return  # whatever is done here, the other comes here first, and then does what this state answers to itself
        answers: dict[int, list[int]] = {}
        for delta, rule in others.steps(other):
            answers.setdefault(rule, []).append(other ^ delta)
        for delta, rule in engine.steps(state):
            after = state ^ delta
            found = [each for each in answers.get(rule, ()) if self.alike(after, each)]
            if len(found) != 1:  # several: which of them is the answer is not to be seen
                if not found and self._later(others, other, rule, after):
                    found = [after]
                elif not found and self._silent(engine, rule, state, after):
                    found = [other]
                else:
                    raise ToldApartError
            yield after, found[0]

    def _later(self, engine: Engine, state: int, rule: int, to: int) -> bool:
        """Whether silent steps lead from a state to where a rule, or a crash for a crash, leads to another one."""
        rules = engine.machine.rules
        struck = rules[rule].actor is Actor.CRASH
        return any(
            before ^ delta == to and (number == rule or (struck and rules[number].actor is Actor.CRASH))
            for before in self._reached(engine, state)
            for delta, number in engine.steps(before)
        )

    def _silently(self, engine: Engine, state: int, to: int) -> bool:
        """Whether silent steps lead from a state to another one."""
        return to in self._reached(engine, state)

    def _reached(self, engine: Engine, state: int) -> set[int]:
        """A state, and where silent steps lead from it; no crash is among them: it may never come."""
        rules = engine.machine.rules
        reached, todo = {state}, [state]
        while todo:
            before = todo.pop()
            steps = ((n, before ^ d) for d, n in engine.steps(before) if rules[n].actor is not Actor.CRASH)
            fresh = {after for rule, after in steps if self._silent(engine, rule, before, after)} - reached
            reached |= fresh
            todo += fresh
        return reached

    def _silent(self, engine: Engine, number: int, before: int, after: int) -> bool:
        """Whether nobody sees a step."""
        rule = engine.machine.rules[number]
        return not (rule.boundary or rule.emits) and self.alike(before, after)


def _changed(difference: Difference) -> set[int]:
    return {*difference.lost, *difference.added}


def _labelled_alike(rule: Rule, other: Rule | None) -> bool:
    """Whether a rule is the same to whoever sees it fire."""
    return other is not None and (rule.actor, rule.boundary, rule.emits) == (other.actor, other.boundary, other.emits)
