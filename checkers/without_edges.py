"""A machine that lacks some edges of its state graph: what it is followed in where it is shown that nobody can tell."""

from collections.abc import Collection, Iterator

from ..model.machine import Machine
from .explore import Delta, Engine


class EngineWithout(Engine):
    """An engine of a machine that lacks some edges: rules, with the values of the fields that these touch, packed."""

    def __init__(self, machine: Machine, edges: Collection[tuple[int, int]]) -> None:
        super().__init__(machine)
        self.edges = frozenset(edges)

    def steps(self, packed: int) -> Iterator[Delta]:
        """Every other step."""
        return (step for step in super().steps(packed) if (step[1], packed & self.single[step[1]][0]) not in self.edges)
