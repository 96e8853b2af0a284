"""The reachable states of a machine as a graph that can be drawn: states put together, none left out (E-REPORT)."""

from pydantic import BaseModel, ConfigDict, Field


class _Base(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class StateNode(_Base):
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


class StateEdge(_Base):
    """All transitions from the states of one node to those of another: how many each rule makes, and who takes them."""

    source: str
    target: str
    rules: dict[str, int]
    actors: list[str]

    @property
    def transitions(self) -> int:
        """How many there are."""
        return sum(self.rules.values())


class StateGraph(_Base):
    """A machine's reachable states, put together by what a quotient looks at. states, transitions: of the machine itself."""

    policy: str
    quotient: str  # in words: which states are put together
    states: int
    transitions: int
    nodes: list[StateNode]
    edges: list[StateEdge]
