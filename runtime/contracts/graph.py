"""The graph of a session (S3), with its loop; it says where the runner may go, and nothing of what happens there.

    intent → emotion → memory → reasoning → tools | ecs | end        tools → reasoning

A session that waits for a person rests where it stands. When it goes on, the graph is executed again from `reasoning`, which
routes before it asks the reasoner: whatever is pending comes first.
"""

from collections.abc import Sequence
from typing import Final

from .records import ExecutionContract, NodeName

EDGES: Final[frozenset[tuple[NodeName, NodeName]]] = frozenset(
    {
        ("intent", "emotion"),
        ("emotion", "memory"),
        ("memory", "reasoning"),
        ("reasoning", "tools"),
        ("reasoning", "ecs"),
        ("reasoning", "end"),
        ("tools", "reasoning"),
    }
)
"""The graph of S3."""

FIRST: Final[NodeName] = "intent"


def route(pending: Sequence[ExecutionContract]) -> NodeName:
    """Where `reasoning` leads, given what is pending: tools before requests, so that work which may go on does not wait for
    a person; `reasoning` itself when nothing is left, and the reasoner is asked.
    """
    kinds = {contract.action_type for contract in pending}
    if "tool_call" in kinds:
        return "tools"
    return "ecs" if kinds else "reasoning"
