"""The converse: which edges of the model the shipped code has been seen to take.

An edge is a rule with values of the fields that it touches; reachable ones are what the explicit search has remembered.
"""

from dataclasses import replace
from typing import Final

from ..model.fleet import Fleet
from ..model.fleet_rows import fleet_machine
from ..model.machine import Machine, Scope
from ..model.policy import HARDENED
from ..model.step import build
from ..scenarios.fleet_policies import step_fleet
from .enumerate_certain import CertainSets
from .enumerate_fleet import RowEdge, row_edges
from .enumerate_sets import Edge
from .explore import Engine, Space
from .fleet_search import FleetEngine

WORLD: Final = ("wire", "effects")
"""What a witness counts, beside the requests."""
LETTERS: Final = ("a", "b", "c")
"""The workers' names in a fleet."""
UNASKED: Final = ("compensation was requested", "version conflict with a request")
"""How the rows begin by which a worker finds that somebody wants the effect undone, or was slower than whoever asked for it."""


def step_sets(machine: Machine | None = None, engine: Engine | None = None) -> CertainSets:
    """The sets of the step machine: one worker at a time. engine: its engine, where there is one already."""
    machine = machine or build(HARDENED)
    durable = [f.name for f in machine.fields if f.scope is Scope.DURABLE]
    return CertainSets(machine, [*durable, *WORLD, "request"], engine)


def fleet_sets(letters: tuple[str, ...], asked: bool = False, fleet: Fleet | None = None) -> CertainSets:
    """The sets of the fleet, a worker of it for each real one. Which of them it is makes no other edge of a row.

    asked: whether somebody may want an effect undone. fleet: another than the step's, with its rows changed.
    """
    fleet = fleet or step_fleet()
    if not asked:
        fleet = replace(fleet, rules=tuple(row for row in fleet.rules if not row.name.startswith(UNASKED)))
    machine = fleet_machine(fleet, letters)
    durable = [f.name for f in fleet.shared if f.scope is Scope.DURABLE]
    engine, stand_for = FleetEngine(machine, letters), dict[RowEdge, Edge]()

    def alike(edge: Edge) -> Edge:
        (row,) = row_edges(machine, engine.packing, [edge])
        return stand_for.setdefault(row, edge)

    compared = [*durable, *WORLD, *(f"{x}.request" for x in letters)]
    return CertainSets(machine, compared, engine, alike)


def reachable(space: Space) -> set[Edge]:
    """Every edge of a machine's reachable states."""
    return space.engine.classes()
