"""Whether a run that is to go on for ever may: P15 supposes what happens finitely often, and who takes steps (T-PROP P15).

Plain and slow on purpose: the moves of a few states, by the interpreter, and no graph.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from ...model.fleet import Fleet, at_work
from ...model.fleet_rows import ORDER, WORKERS
from ...model.liveness import FAIR, RECLAIMS, actors, forever
from ...model.machine import Guard, Machine, State, holds

Moves = Callable[[State], list[tuple[str, State, int]]]
"""Of a state, the moves that may be made for ever: the rule, where it leads, and the fair actors whose move it is, as bits."""
EVERYBODY: Final = (1 << len(FAIR)) - 1


def endless(
    run: Sequence[tuple[str, State]],
    repeats: int | None,
    moves: Moves,
    rests: Sequence[tuple[str, Guard]],
    machine: Machine,
) -> Iterator[str]:
    """Why a run does not break P15 by what it repeats from a frame on, or by standing still in its end; nothing where it does."""
    again = run[repeats:] if repeats is not None else run[-1:]
    if any(holds(machine.view(state), rest) for _, state in again for _, rest in rests):
        yield "the run comes to rest: it is no counterexample"
        return
    taken = 0
    for (_, before), (name, after) in pairwise(again):
        bits = next((bits for rule, to, bits in moves(before) if (rule, to) == (name, after)), None)
        if bits is None:
            yield f"it repeats {name!r} for ever, of which is assumed that it ends: it is no counterexample"
            return
        taken |= bits
    always = EVERYBODY & ~taken
    for _, state in again:
        able = 0
        for _, _, bits in moves(state):
            able |= bits
        always &= able
    if always:
        who = ", ".join(each.assumption for i, each in enumerate(FAIR) if always >> i & 1)
        yield f"the run is not fair: there is always a step that could be taken, and nobody takes it ({who})"


def moves_left(machine: Machine, assumptions: Sequence[str], fleet: Fleet | None = None) -> Moves:
    """The moves that some assumptions leave a machine for ever; fleet: whose machine it is, where it has several workers."""
    left, bits = forever(machine, assumptions), actors(machine, assumptions)
    known = {rule.name: (left[index], bits[index]) for index, rule in enumerate(machine.rules)}
    decisions = fleet.decisions if fleet else frozenset[str]()

    def moves(state: State) -> list[tuple[str, State, int]]:
        who = _newest(fleet, machine, state) if fleet else None
        found = []
        for rule, after in machine.successors(state):
            goes_on, whose = known[rule.name]
            if who is not None and rule.boundary == "claim":
                goes_on = goes_on and not (who and RECLAIMS in assumptions)
                whose = 0 if who else whose
            elif who is not None and rule.name.startswith(tuple(f"{worker}: " for worker in WORKERS)):
                worker, _, row = rule.name.partition(": ")
                whose = whose if worker == who or row in decisions else 0
            if goes_on:
                found.append((rule.name, after, whose))
        return found

    return moves


def _newest(fleet: Fleet, machine: Machine, state: State) -> str:
    """Which worker has the right to go on: the newest at work that nobody has overtaken; "" where there is none."""
    view = machine.view(state)
    return next((x for x in reversed(view[ORDER]) if holds(view, at_work(fleet, x))), "")
