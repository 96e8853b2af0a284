"""The half of C9 that no guard can say: every contract can come to an end, every status is reached, every edge is taken.

To come to an end counts only without a fault and without anybody giving the contract up: a state whose sole way out is a
cancel by a person is stuck.
"""

from dataclasses import dataclass

from ..model.contract import TERMINAL, Status, Table
from ..model.machine import Actor, Rule, guard
from .explore import Space

_ENDED = "|".join(sorted(TERMINAL))


@dataclass(frozen=True)
class Ends:
    """States that cannot come to an end; of the tool contract, statuses that no run reaches and edges that no run takes."""

    stuck: tuple[int, ...]
    unreached: tuple[str, ...]
    untaken: tuple[str, ...]


def ends(space: Space, table: Table) -> Ends:
    """What is wrong with a contract's ways to its end: nothing, where all three are empty."""
    calm = {i for i, rule in enumerate(space.machine.rules) if not _gives_up(rule)}
    tool = space.reaching(calm, [guard(tool=_ENDED)])
    request = space.reaching(calm, [guard(request=f"absent|{_ENDED}")])
    begun = set(space.all(guard(tool="|".join(status.value for status in Status))))
    reached = space.values(space.states, "tool")
    moves = [move.split(":") for r in space.machine.rules if r.name in space.fired for move in r.emits]
    taken = {(state, trigger) for contract, state, trigger, _ in moves if contract == "tool"}
    return Ends(
        tuple(state for state in space.states if state in begun and not (state in tool and state in request)),
        tuple(status for status in table if status.value not in reached),
        tuple(f"{state} –{t}→" for state, row in table.items() for t in row if (state.value, str(t)) not in taken),
    )


def _gives_up(rule: Rule) -> bool:
    """A crash, or a person who cancels."""
    return rule.actor is Actor.CRASH or (rule.actor is Actor.PERSON and any(":cancel:" in move for move in rule.emits))
