"""What steering is worth, measured: one walk without it and one with it, of the same seed, as many examples of each compared.

`python -m crashwindow.tests.steering MACHINE EXAMPLES SEED...` prints decision 032's table.
"""

import sys
import time
from collections.abc import Hashable, Set
from dataclasses import dataclass
from unittest.mock import patch

from crashwindow.checkers import conform, contract_conform
from crashwindow.checkers.conform import Progress, walked
from crashwindow.checkers.conform_workers import walk_workers
from crashwindow.checkers.contract_conform import walk_contracts
from crashwindow.checkers.walk_profiles import PROFILES, Bounds, WalkProfile

STEPS = 30
"""As the `ci` profile has it."""


@dataclass(frozen=True)
class Ended:
    """An example that is over: what it met; the walk's steps, durable states and seconds of CPU up to then."""

    met: frozenset[Hashable]
    steps: int
    states: int
    seconds: float


def walked_by(machine: str, examples: int, steps: int, number: int, steered: bool) -> Progress:
    """What one walk of a machine came to."""
    bounds = Bounds(examples, steps)
    profile = WalkProfile(bounds, bounds, bounds, steered)
    with (
        patch.dict(PROFILES, ci=profile),
        patch.dict(conform.BOUNDS, ci=bounds),
        patch.dict(contract_conform.BOUNDS, ci=bounds),
    ):
        match machine:
            case "step":
                return walked("ci", number)
            case "contract":
                return walk_contracts("ci", number)
            case _:
                return walk_workers(profile, number)


def ended(machine: str, examples: int, number: int, steered: bool) -> list[Ended]:
    """The examples of one walk."""
    told: list[Ended] = []
    begun, before = time.process_time(), Progress.came_to

    def came_to(record: Progress, things: Set[Hashable]) -> None:
        states = len(record.model.states_met) if hasattr(record, "model") else 0
        told.append(Ended(frozenset(things), record.steps, states, time.process_time() - begun))
        before(record, things)

    with patch.object(Progress, "came_to", came_to):
        walked_by(machine, examples, STEPS, number, steered)
    return told


def row(machine: str, examples: int, number: int) -> str:
    """How many examples are compared; then, without and with: distinct things met, met in sum, durable states (of the step and
    the contract), steps, CPU."""
    without, with_it = (ended(machine, examples, number, steered) for steered in (False, True))
    most = min(len(without), len(with_it))
    figures = [str(most)]
    for told in (without[:most], with_it[:most]):
        last, met = told[-1], [example.met for example in told]
        sums = len(frozenset().union(*met)), sum(map(len, met)), last.states or "-", last.steps
        figures.append(
            f"{', '.join(each if isinstance(each, str) else f'{each:,}' for each in sums)}, {last.seconds:.0f} s"
        )
    return f"| {machine}, {number} | {' | '.join(figures)} |"


if __name__ == "__main__":
    for seed in map(int, sys.argv[3:]):
        print(row(sys.argv[1], int(sys.argv[2]), seed), flush=True)
