"""Why an edge of the step machine need not be taken by the code, as far as that is worked out: no list of excuses.

An edge is a class (`conform_follow.EdgeClass`). Two reasons follow from the graph alone: a crash where no command lies, and
twins. The third is slack: a few rules are wider than the code, each said here with what it is that the code does not do. What
only such a step leads to is computed. That the code does without them is shown: the enumeration follows it in the machine less
its slack.
"""

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from ..model.machine import Actor, Guard, Machine, Rule, guard
from .conform_follow import EdgeClass
from .explore import Packing, Space

UNSEEN: Final = (
    "no command lies here: the worker only decides, and a crash leaves what one before its next command leaves"
)
TWIN: Final = "another rule of the same actor and boundary does exactly the same from the same states: nobody can tell"


HEARS: Final = "hears"


class Slack(NamedTuple):
    """A rule that is wider than the code, the states in which it is, and what the code does not do."""

    rule: str
    where: Guard
    why: str


SLACK: Final = (
    Slack("acquire: cancelled", guard(ledger="none"), "where there is no ledger record a cancel writes none (T-ORDER)"),
    Slack("compensate", guard(memory="first", fresh="yes"),
          "a step that is executed again, after its undoing had failed, is not undone without another request"),
    Slack("person: accepts the record", guard(finished="partial"),
          "a record of a step that failed is not injected: nobody accepts it"),
    Slack("compensation was requested", guard(memory="first", fresh="yes", told="yes"),
          "where a cancel is known, a step whose undoing had failed is not executed again"),
    Slack("client: cancels a waiting job", guard(cancel="yes"), "a job that is asked to end does not wait: it is heard first"),
    Slack("client: cancels a parked job, nothing open", guard(cancel="yes"),
          "a job that is asked to end is not parked with nothing open: it is heard first"),
    Slack("client: cancels a parked job, nothing in doubt", guard(finished="partial", cancel="yes"),
          "a job that is asked to end is not parked with nothing in doubt: it is heard first"),
)  # fmt: skip
"""Of the hardened machine."""


def slack_of(machine: Machine, packing: Packing) -> dict[int, Callable[[int], bool]]:
    """By rule, its lost answers included: whether a step from a packed state is slack."""
    numbers = {rule.name: number for number, rule in enumerate(machine.rules)}
    found = {}
    for rule, where, _ in SLACK:
        for name in (rule, f"{rule} (answer lost)"):
            if name in numbers:
                found[numbers[name]] = packing.matcher(where)
    return found


def without_slack(space: Space) -> set[EdgeClass]:
    """Every edge that is reached without a step that is slack."""
    engine, slack = space.engine, slack_of(space.machine, space.packing)
    reached = {state for state, (_, index) in space.parents.items() if index < 0}
    todo, edges = list(reached), set[EdgeClass]()
    while todo:
        state = todo.pop()
        for delta, index in engine.steps(state):
            if index in slack and slack[index](state):
                continue
            edges.add(EdgeClass(index, state & engine.single[index][0]))
            after = state ^ delta
            if after not in reached:
                reached.add(after)
                todo.append(after)
    return edges


def reasons(space: Space, gaps: Collection[EdgeClass]) -> dict[EdgeClass, str]:
    """Why the code need not take some edges; those for which no reason is worked out are left out.

    What is worked out holds in every state of the class.
    """
    wide = without_slack(space)
    unseen, twins = _alike(space, {edge for edge in gaps if edge in wide})
    every = {edge: _why(space, edge) for edge in gaps if edge not in wide}
    return every | dict.fromkeys(twins, TWIN) | dict.fromkeys(unseen, UNSEEN)


def _why(space: Space, edge: EdgeClass) -> str:
    """Which rule is too wide, where an edge is its own; else that only such a step leads there."""
    name = space.machine.rules[edge.rule].name.removesuffix(" (answer lost)")
    own = next((slack.why for slack in SLACK if slack.rule == name), None)
    return f"slack: {own}" if own else "slack: only a step that the code does not take leads here"


def performs(rule: Rule) -> bool:
    """Whether a rule is the command that the worker is about to perform; it hears what clients said before one."""
    return rule.actor is Actor.WORKER and rule.boundary is not None and not rule.name.startswith(HEARS)


def _alike(space: Space, gaps: Collection[EdgeClass]) -> tuple[set[EdgeClass], set[EdgeClass]]:
    """Of some edges the crashes that no command tells from another, and those of which a twin does the same."""
    rules, engine, packing = space.machine.rules, space.engine, space.packing
    place = space.machine.by_name["at"].values
    unseen, twins = set(gaps), set(gaps)
    masks = {edge.rule: engine.single[edge.rule][0] for edge in gaps}
    for state in space.parents:
        steps = list(engine.steps(state))
        here = [(delta, index) for delta, index in steps if index in masks]
        if not here:
            continue
        at = place[packing.code(state, "at")]
        command = at == "await_reply" or any(performs(rules[index]) for _, index in steps)
        for delta, index in here:
            edge, rule = EdgeClass(index, state & masks[index]), rules[index]
            if command or rule.actor is not Actor.CRASH:
                unseen.discard(edge)
            does = delta, rule.actor, rule.boundary
            alike = [number for other, number in steps if (other, rules[number].actor, rules[number].boundary) == does]
            if len(alike) == 1:
                twins.discard(edge)
    return unseen, twins
