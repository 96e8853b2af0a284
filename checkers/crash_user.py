"""A user's own plan and tools as a crash subject: the witness notes each call that is entered, and each that returned."""

from dataclasses import dataclass
from functools import cached_property

from ..runtime.records import Json
from ..runtime.tool import Tool
from .crash_turns import Turns
from .crash_witness import EFFECTS, REQUESTS, Witnessed, World, witnessed_tool


@dataclass(frozen=True)
class UserPlan(Turns):
    """A validated plan, with the tools that it names."""

    plan: dict[str, Json]
    registered: dict[str, Tool]
    name: str = "plan"
    locked: bool = False
    joined: bool = False

    @cached_property
    def later(self) -> float:
        """When every tool's "absent" has become final."""
        return 1.0 + max((tool.quiet_seconds for tool in self.registered.values()), default=0.0)

    def prepare(self, world: World) -> None:
        """What the tools need is for their author to make."""

    def tools(self, world: World) -> dict[str, Tool]:
        """The tools, witnessed."""
        return {name: witnessed_tool(tool, world) for name, tool in self.registered.items()}

    def witnessed(self, world: World) -> Witnessed:
        """Calls entered and calls returned."""
        return Witnessed(world.lines(REQUESTS), world.lines(EFFECTS))
