"""Test paths over the step's state graph: planned on the model, walked on the shipped code, until nothing is left to reach.

Edges that are alike (`conform_follow.EdgeClass`: one rule, and the values of the fields that it touches) are one edge of the
quotient; a path has to take one of each. The plan is greedy: from where a job stands to the nearest class that nobody has taken,
and on from there. Where the code goes another way, since a choice is not the rig's to make, it is planned anew.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final, get_args

from ..model.machine import Actor, Rule, guard
from ..model.step import normal
from ..runtime.verifier import Mode
from .conform_follow import ELSEWHERE, LOST, UNVERIFIED, Disagreement, EdgeClass, Model
from .conform_world import CONTRACTS, Contract, Looks, StepPlan, declared
from .explore import Space
from .walk_direct import CANCELS, Director
from .walk_programs import Program
from .walk_seek import Walked

LONGEST: Final = 45
"""Rules of one plan: behind that it goes to where no worker has the job."""
SEGMENTS: Final = 12
"""Plans of one job."""
NEVER: Final = (
    "elsewhere: waits", "elsewhere: in doubt", "person: has it compensated", "compensation was requested",
    "a partial effect, compensatable", "confirm: one look of several",
)  # fmt: skip
"""How the rules begin that no plan contains: variations come to them (`walk_seek`)."""
MODES: Final[dict[str, Mode]] = {
    "confirm: mismatch, first": "strict",
    "confirm: mismatch, again": "strict",
    "confirm: mismatch, warned of": "warn",
    "confirm: mismatch, for a person": "human_in_loop",
}
RETRIES: Final = ((0, 0), (1, 0), (9, 0), (0, 9), (1, 9))
"""Retries and requeues that a step is given."""


@dataclass(frozen=True)
class Other:
    """A step beside the one that is followed. before: it comes first. fails: instead of parking or being requeued."""

    before: bool
    fails: bool

    def step(self) -> StepPlan:
        """The step to submit."""
        return StepPlan((False, "fail" if self.fails else "park", "none"), 0, None, "o", None, 0 if self.fails else 9)

    def does(self, rule: Rule) -> bool:
        """Whether it can change the job as a rule says."""
        name = rule.name.removeprefix(f"{ELSEWHERE}: ")
        if name.startswith("resolved"):
            return not self.fails
        if not name.endswith("before" if self.before else "after"):
            return False
        return name.startswith("cancels") or name.startswith("fails") is self.fails


@dataclass(frozen=True)
class Setting:
    """What is fixed when a job is submitted."""

    contract: Contract
    mode: Mode
    retries: int
    requeues: int
    other: Other | None = None

    def step(self) -> StepPlan:
        """The step to submit: its record is verified where it is alone (`conform_rig.StepPlan`)."""
        looks = None if self.other else Looks(self.mode, ("match",))
        return StepPlan(self.contract, self.retries, None, "r", looks, self.requeues)

    def allows(self, rule: Rule) -> bool:
        """Whether a rule can be taken at all."""
        if rule.name.startswith(NEVER) or MODES.get(rule.name, self.mode) != self.mode:
            return False
        if rule.name.startswith(ELSEWHERE):
            return self.other is not None and self.other.does(rule)
        if self.other is not None and rule.boundary == "confirm":
            return rule.name == UNVERIFIED
        plain = rule.name.removesuffix(f" {LOST}")
        if plain == "retry again":
            return self.retries > 0
        return plain != ("retries used up" if self.requeues else "retries used up, requeued")


def settings() -> Iterator[Setting]:
    """Every contract that the model tells apart, with every mode of confirmation and some policies of retries."""
    unlike = {tuple(normal(declared(contract)).items()): contract for contract in reversed(CONTRACTS)}
    for (retries, requeues), mode, contract in product(RETRIES, get_args(Mode), unlike.values()):
        yield Setting(contract, mode, retries, requeues)
    for contract, before, fails in product(unlike.values(), (True, False), (True, False)):
        yield Setting(contract, "strict", 1, 0, Other(before, fails))


def classes(space: Space) -> set[EdgeClass]:
    """The classes of all edges of a state graph: what its search has computed."""
    return {EdgeClass(*each) for each in space.engine.classes()}


class Planner:
    """Shortest runs to what is wanted, through what a setting allows."""

    def __init__(self, model: Model, setting: Setting) -> None:
        self.model, self.engine, self.rules = model, model.engine, model.machine.rules
        self.allowed = {index for index, rule in enumerate(self.rules) if setting.allows(rule)}
        matcher = model.packing.matcher
        self.idle = matcher(guard(at="idle"))
        places = {rule.boundary for rule in self.rules if rule.actor is Actor.WORKER and rule.boundary}
        here = [place for place in places if place in model.machine.by_name["at"].values]
        self.interrupted = matcher({"at": frozenset(here), **guard(landed="no")})

    def plan(self, state: int, wanted: Collection[EdgeClass]) -> list[tuple[int, EdgeClass]]:
        """A run from one idle state to another through wanted classes, each with its rule; [] where there is none."""
        run: list[tuple[int, EdgeClass]] = []
        left = set(wanted)
        while not (run and self.idle(state)) and len(run) < LONGEST:
            found = self._nearest(state, lambda edge, after: edge in left)
            if found is None:
                break
            state, more = found
            run += more
            left.difference_update(edge for _, edge in more)
        if run and not self.idle(state):
            home = self._nearest(state, lambda edge, after: self.idle(after))
            run += home[1] if home else []
        return run

    def _nearest(
        self, start: int, there: Callable[[EdgeClass, int], bool]
    ) -> tuple[int, list[tuple[int, EdgeClass]]] | None:
        """The first edge, breadth first, that is wanted: the state behind it, and the run to it."""
        came: dict[int, tuple[int, EdgeClass] | None] = {start: None}
        frontier = [start]
        while frontier:
            later = []
            for state in frontier:
                for delta, index in self.engine.steps(state):
                    if index not in self.allowed or not self._timely(state, self.rules[index]):
                        continue
                    edge, after = EdgeClass(index, state & self.engine.single[index][0]), state ^ delta
                    if there(edge, after):
                        return after, [*self._back(state, came), (index, edge)]
                    if after not in came:
                        came[after] = (state, edge)
                        later.append(after)
            frontier = later
        return None

    def _back(self, state: int, came: dict[int, tuple[int, EdgeClass] | None]) -> list[tuple[int, EdgeClass]]:
        run = []
        while (step := came[state]) is not None:
            state, edge = step
            run.append((edge.rule, edge))
        return run[::-1]

    def _timely(self, state: int, rule: Rule) -> bool:
        """Whether the rig can let this happen now: late requests and time between turns, a cancel before a boundary."""
        if rule.actor is Actor.CLOCK or rule.name.startswith("world: late"):
            return self.idle(state)
        return rule.name != CANCELS or self.idle(state) or self.interrupted(state)


def lead(model: Model, setting: Setting, wanted: set[EdgeClass], blocked: set[EdgeClass]) -> Walked | None:
    """Lead one job through as many wanted classes as it comes to; None where no plan is left.

    blocked: what was planned under this setting and not taken by the code; it grows. Raises Disagreement with the program.
    """
    planner, rig = Planner(model, setting), Director(model)
    try:
        other = setting.other
        follower = rig.begin(setting.step(), other.step() if other else None, other is not None and other.before)
        planned = False
        for _ in range(SEGMENTS):
            taken = model.classes_of(follower.sure)
            at_rest = sorted(state for state in follower.states if planner.idle(state))
            run = planner.plan(at_rest[0], wanted - blocked - taken) if at_rest else []
            if not run:
                break
            planned = True
            rig.follow_plan([index for index, _ in run])
            blocked |= {edge for _, edge in run} & wanted - model.classes_of(follower.sure)
        if not planned:
            return None
        return Walked(Program("step", model.machine.name, rig.program()), frozenset(model.classes_of(follower.sure)))
    except Disagreement as error:
        raise Disagreement(f"{error}\n{Program('step', model.machine.name, rig.program()).key}") from error
    finally:
        rig.close()
