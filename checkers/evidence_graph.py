"""The reachable states of a machine as a graph that can be drawn: states put together, none left out (E-REPORT)."""

from typing import Self

from pydantic import Field, model_validator

from .evidence_base import Base


class StateNode(Base):
    """States that were put together. All figures are counts, of states or of transitions.

    loops: transitions that stay among these states. crashes: of all transitions from here, loops too, those of a crash.
    effects: how often the world has changed ("2": twice or more) -> of how many of the states; {} where the machine has no
    such count.
    """

    name: str
    words: str
    states: int
    starts: int  # states in which a run may begin
    loops: int
    crashes: int
    effects: dict[str, int] = Field(default_factory=dict)


class StateEdge(Base):
    """All transitions from the states of one node to those of another: how many each rule makes, and who takes them."""

    source: str
    target: str
    rules: dict[str, int]
    actors: list[str]

    @property
    def transitions(self) -> int:
        """How many there are."""
        return sum(self.rules.values())


class StateGraph(Base):
    """A machine's reachable states, put together by what a quotient looks at. states, transitions: of the machine itself."""

    policy: str
    quotient: str  # in words: which states are put together
    states: int
    transitions: int
    nodes: list[StateNode] = Field(min_length=1)
    edges: list[StateEdge]

    @model_validator(mode="after")
    def _joined(self) -> Self:
        """Each edge joins two of the nodes, which have names of their own."""
        names = [node.name for node in self.nodes]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.policy}: two nodes have one name")
        if strange := {end for edge in self.edges for end in (edge.source, edge.target)} - set(names):
            raise ValueError(f"{self.policy}: an edge ends at {min(strange)!r}, which is no node")
        return self
