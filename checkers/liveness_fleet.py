"""Liveness of two workers on one job: whose move counts as the worker's, and which claim takes a job from somebody (T-PROP P15).

Which worker has which name does not matter to either, so the space may be reduced by symmetry (`fleet_search.py`): a cycle of the
reduced space is, gone round often enough, one of the whole, with the same moves of the same actors.
"""

from collections.abc import Callable, Sequence

from ..model.fleet import Fleet, at_work
from ..model.fleet_rows import ORDER, WORKERS
from ..model.liveness import RECLAIMS, actors, forever
from .explore import Engine, Packing
from .fleet_search import reduction
from .liveness import Move, Moves


def fleet_moves(fleet: Fleet, engine: Engine, assumptions: Sequence[str], workers: tuple[str, ...] = WORKERS, *,
                reduced: bool = False) -> Moves:  # fmt: skip
    """The moves that some assumptions leave a fleet for ever, each with whose move it is; engine: of these workers' machine."""
    machine = engine.machine
    left, bits = forever(machine, assumptions), actors(machine, assumptions)
    goes_on, bounded = newest(fleet, engine.packing, workers), RECLAIMS in assumptions
    reduce_to = reduction(fleet, workers).function(engine.packing) if reduced else None
    # A row of a worker begins with its name.
    own = {f"{x}: ": x for x in workers}
    whose = [own.get(rule.name[:3], "") for rule in machine.rules]
    claims = [rule.boundary == "claim" for rule in machine.rules]
    decides = [bool(x) and rule.name[3:] in fleet.decisions for rule, x in zip(machine.rules, whose, strict=True)]

    def moves(state: int) -> list[Move]:
        who, found = goes_on(state), []
        for delta, index in engine.steps(state):
            if not left[index] or (claims[index] and who and bounded):
                continue
            entitled = not whose[index] or decides[index] or (not who if claims[index] else whose[index] == who)
            to = reduce_to(state ^ delta) if reduce_to else state ^ delta
            found.append((to, machine.rules[index].name, bits[index] if entitled else 0))
        return found

    return moves


def newest(fleet: Fleet, packing: Packing, workers: tuple[str, ...]) -> Callable[[int], str]:
    """Which worker has the right to go on: the newest at work that nobody has overtaken; "" where there is none."""
    matches = {x: packing.matcher(at_work(fleet, x)) for x in workers}
    orders = packing.machine.by_name[ORDER].values

    def who(state: int) -> str:
        return next((x for x in reversed(orders[packing.code(state, ORDER)]) if matches[x](state)), "")

    return who
