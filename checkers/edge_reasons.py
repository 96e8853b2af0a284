"""Why an edge of the step machine need not be taken by the code, as far as that is worked out: no list of excuses.

An edge is a class (`conform_follow.EdgeClass`). Two reasons follow from the graph alone: a crash where no command lies, and
twins. The third is slack: a few rules are wider than the code, each said here with what in the code makes it so. What only such
a step leads to is computed. That the code does without them is tried: the enumeration follows it in the machine less its slack,
and so do the kept test paths.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from ..model.machine import Actor, Guard, Machine, Rule, guard
from .conform_follow import EdgeClass, Model
from .explore import Delta, Engine, Packing, Space

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


HEARD_BEFORE_PARK: Final = (
    "whoever parks with nothing in doubt (`Compensation.give_up`, `Step.confirm`) has just heard of no cancel, `park` is never"
    " rebased (`AT_REST`), and what settles the last doubt releases the job in the same batch (`Resolve`)"
)

SLACK: Final = (
    Slack("acquire: cancelled", guard(ledger="none"),
          "`Step.cancel` settles nothing where the ledger has no record (`settle_no_effect`)"),
    Slack("compensate", guard(memory="first", fresh="yes"),
          "a step executes with its undoing on record only after that had failed, and no other is granted by then: until a result"
          " is recorded `check_undoable` refuses the request, and one after that makes the turn read again (`VersionConflict`);"
          " a request can wait that long only where an earlier step rests meanwhile, which is not modelled (decision 030)"),
    Slack("person: accepts the record", guard(finished="partial"),
          "`Step.conclude` does not come to `confirm` after a failure; a park of its undoing is no confirmation (`why_parked`)"),
    Slack("compensation was requested", guard(memory="first", fresh="yes", told="yes"),
          "a step with its undoing on record is executed only once all attempts are closed (`ambiguous` undoes it), and then"
          " `run_or_recover` ends the job for a known cancel, as nothing else is in doubt"),
    Slack("client: cancels a waiting job", guard(cancel="yes"),
          "`Gate.run_or_recover` hears first, nothing is in doubt there, and `append_waiting` is never rebased (`AT_REST`)"),
    Slack("client: cancels a parked job, nothing open", guard(cancel="yes"), HEARD_BEFORE_PARK),
    Slack("client: cancels a parked job, nothing in doubt", guard(finished="partial", cancel="yes"), HEARD_BEFORE_PARK),
)  # fmt: skip
"""Of the hardened machine: each with the functions of `runtime` that make it impossible."""


def slack_of(machine: Machine, packing: Packing) -> dict[int, Callable[[int], bool]]:
    """By rule, its lost answers included: whether a step from a packed state is slack."""
    numbers = {rule.name: number for number, rule in enumerate(machine.rules)}
    found = {}
    for rule, where, _ in SLACK:
        for name in (rule, f"{rule} (answer lost)"):
            if name in numbers:
                found[numbers[name]] = packing.matcher(where)
    return found


class TightEngine(Engine):
    """The steps of a machine less its slack."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._slack = slack_of(machine, self.packing)

    def steps(self, packed: int) -> Iterator[Delta]:
        """Every step from a state that is not slack."""
        for delta, index in super().steps(packed):
            if index not in self._slack or not self._slack[index](packed):
                yield delta, index


class TightModel(Model):
    """A machine less its slack, to be followed: code that takes what is said to be slack parts from it."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.engine = TightEngine(machine)


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
