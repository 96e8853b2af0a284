"""Complete searches of the step's machines for tests that only read them: each is made once in a process."""

from functools import cache

from crashwindow.checkers.explore import Space, explore
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.scenarios.policies import POLICIES


@cache
def space_of(policy: str = HARDENED.name) -> Space:
    """The whole space of a policy's machine."""
    return explore(build(POLICIES[policy]))
