"""The pair (contract, tool step) refines both its models.

The contract's machine sees the durable step through an interface: what its records say, and whether its effect happened. Here
that view is a function of the step machine's state (`seen`), and over every reachable transition of both machines it is
checked that

- whatever a step does, its view takes a step of `INTERFACE` or stays as it is;
- whatever the contract's machine does, the view does the same, and its statuses move along `model.contract.table`, by
  actors that may;
- the contract never stands in a running step's way: what a begun step may do next, each contract over it allows. That the
  step begins at all is the contract's decision (C-AHEAD, C-BIND).

So a run of the pair, seen through either model, is a run of that model, and what is proved of each holds of the pair.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..model.contract import HARDENED, InvalidTransitionError, Status, target
from ..model.contract_rows import KINDS
from ..model.contract_step import INTERFACE
from ..model.machine import Machine, Rule
from ..model.step import SET
from .explore import Packing, Space
from .traces import trace_to

View = tuple[str, str]  # what the step's records say, and its effect
Move = tuple[View, View]

EVIDENCE = ("effect", "finished", "committed", "resolved")
READ = (*EVIDENCE, "ledger", "node", "undone", "job", "open", "closed", "effects")
"""The fields of the step machine of which `seen` is a function."""

BEGIN: Move = (("none", "none"), ("started", "none"))
UNDO: Move = (("unknown", "done"), ("started", "done"))
SAID = {(("unknown", "none"), ("no_effect", "none")), (("none", "none"), ("no_effect", "none"))}
"""What no step does by itself: its contract takes a person's word, or closes what never began (`TOLD`, `CLOSED`)."""
ASKED = "person: has it compensated, unresolved"
"""The one rule of the step machine that may take an unknown outcome back where something happened: somebody wants it undone."""


def seen(step: Mapping[str, str]) -> View:
    """A state of the step machine as its contract sees it."""
    deed = {"0": "none", "1": "done"}.get(step["effects"], "twice")
    if any(step[name] in SET.split("|") for name in EVIDENCE) or step["ledger"] == "committed":
        return "ok", deed
    if step["node"] in ("no_effect", "unknown"):
        return step["node"], deed
    if step["job"] == "parked" and step["open"] != "0":
        return "unknown", deed
    if step["job"] == "cancelled" and step["closed"] != "0":
        return "no_effect", deed
    if step["undone"] == "yes":
        return "unknown", deed
    return ("none" if step["open"] == step["closed"] == "0" else "started"), deed


def interface() -> dict[Move, str]:
    """The steps of `INTERFACE`, by what they do to the view."""
    return {
        ((before, deed), (each.after, each.effect)): each.name
        for each in INTERFACE
        for before in each.before
        for deed in each.deed
    }


@dataclass(frozen=True)
class Misfit:
    """A kind of transition that the other model does not have: the rule, what it does, and the key of a first run to it."""

    rule: str
    does: str
    key: str


@dataclass(frozen=True)
class Refinement:
    """What was compared: states, transitions, how often each step of the interface was taken, and what does not fit."""

    states: int
    transitions: int
    taken: Counter[str]
    moves: frozenset[Move]
    misfits: tuple[Misfit, ...]


def viewer(machine: Machine, packing: Packing, view: Callable[[Mapping[str, str]], View]) -> Callable[[int], View]:
    """A view of packed states; those that are equal in what it reads are looked at once."""
    mask = packing.mask(READ)
    known: dict[int, View] = {}

    def look(state: int) -> View:
        found = known.get(state & mask)
        if found is None:
            found = known[state & mask] = view(machine.view(packing.unpack(state)))
        return found

    return look


def refine_step(space: Space, view: Callable[[Mapping[str, str]], View] = seen) -> Refinement:
    """Whether every transition of the step machine is, in the contract's view, a step of the interface or none."""
    look = viewer(space.machine, space.packing, view)
    starts = (space.machine.view(state) for state in space.machine.initial_states())
    misfits = [Misfit("start", f"begins as {view(start)}", "") for start in starts if view(start) != BEGIN[0]]

    return _compare(space, look, misfits, lambda rule, before, after: unasked(rule, look(before), look(after)))


def unasked(rule: Rule, before: View, after: View) -> str | None:
    """What a rule of the step's machine does that nobody asked for, or has said; None where it is nothing of that kind."""
    move = before, after
    strange = (move == UNDO and rule.name != ASKED) or move in SAID
    return f"{before} becomes {after}, and nobody asked for it or said so" if strange else None


def refine_contract(space: Space) -> Refinement:
    """Whether every transition of the contract's machine is a step of the interface or none, and a path of legal moves."""
    views: dict[int, Mapping[str, str]] = {s: space.machine.view(space.packing.unpack(s)) for s in space.states}

    def look(state: int) -> View:
        return views[state]["step"], views[state]["deed"]

    return _compare(space, look, [], lambda rule, before, after: illegal(rule, views[before], views[after]))


def _compare(
    space: Space, look: Callable[[int], View], misfits: list[Misfit], wrong: Callable[[Rule, int, int], str | None]
) -> Refinement:
    allowed = interface()
    taken: Counter[str] = Counter()
    first: dict[tuple[str, str], int] = {}
    moves: set[Move] = set()
    for state in space.states:
        before = look(state)
        for delta, index in space.engine.steps(state):
            rule, after = space.machine.rules[index], look(state ^ delta)
            move = before, after
            does = wrong(rule, state, state ^ delta)
            if before != after and move not in allowed:
                does = f"{before} becomes {after}"
            if does:
                first.setdefault((rule.name, does), state)
            elif before != after:
                taken[allowed[move]] += 1
                moves.add(move)
    misfits += [Misfit(name, does, trace_to(space, state).key) for (name, does), state in first.items()]
    return Refinement(len(space), space.transitions, taken, frozenset(moves), tuple(misfits))


def illegal(rule: Rule, before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """What a rule of the contract's machine does that the contract's table has not; None where it is legal."""
    at = {contract: before[contract] for contract in KINDS}
    for move in rule.emits:
        contract, _, trigger, actor = move.split(":")
        try:
            at[contract] = target(Status(at[contract]), trigger, actor, KINDS[contract], HARDENED).value
        except (InvalidTransitionError, ValueError) as error:
            return str(error)
    for contract, reached in at.items():
        created = before[contract] == "absent" and after[contract] == Status.PENDING
        if after[contract] != reached and not created:
            return f"{contract} becomes {after[contract]}, its moves lead to {reached}"
    return None


def blocked(contract: Space, moves: frozenset[Move]) -> list[Misfit]:
    """Where the contract's machine does not allow what a begun step may do. That it is undone nobody can ask for (`UNDONE`)."""
    first: dict[Move, int] = {}
    for state in contract.parents:
        here = contract.packing.unpack(state)
        view = contract.machine.view(here)
        next_views = [contract.machine.view(later) for _, later in contract.machine.successors(here)]
        allowed = {((view["step"], view["deed"]), (v["step"], v["deed"])) for v in next_views}
        for move in moves - {BEGIN, UNDO} - allowed:
            if move[0] == (view["step"], view["deed"]):
                first.setdefault(move, state)
    return [
        Misfit("", f"{before} may become {after}, and the contract does not allow it", trace_to(contract, state).key)
        for (before, after), state in first.items()
    ]
