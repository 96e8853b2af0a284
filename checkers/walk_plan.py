"""Test paths over the step's state graph: planned on the model, walked on the shipped code, until nothing is left to reach.

A path has to take each class of edges that are alike (`conform_follow.EdgeClass`: one rule, and the values of the fields that it
touches), and each edge of the quotient. The plan is greedy: from where a job stands to the nearest that nobody has taken,
and on from there. Where the code goes another way, since a choice is not the rig's to make, it is planned anew.
"""

from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass
from itertools import product
from typing import Final, get_args

from ..model.machine import Actor, Rule, guard
from ..model.step import normal
from ..runtime.verifier import Mode
from .conform_follow import ELSEWHERE, LOST, UNVERIFIED, Disagreement, Edge, Model
from .conform_world import CONTRACTS, Contract, Looks, StepPlan, declared
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


Step = tuple[int, tuple[Edge, ...]]
"""A rule, and what the step that it makes counts as."""
Run = list[Step]


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

    def plan(self, state: int, wanted: Collection[Edge]) -> Run:
        """A run from one idle state to another through wanted edges; [] where there is none."""
        run: Run = []
        left = set(wanted)
        while not (run and self.idle(state)) and len(run) < LONGEST:
            found = self._nearest(state, lambda edges, after: not left.isdisjoint(edges))
            if found is None:
                break
            state, more = found
            run += more
            left.difference_update(*(edges for _, edges in more))
        if run and not self.idle(state):
            home = self._nearest(state, lambda edges, after: self.idle(after))
            run += home[1] if home else []
        return run

    def _nearest(self, start: int, there: Callable[[tuple[Edge, ...], int], bool]) -> tuple[int, Run] | None:
        """The first step, breadth first, that is wanted: the state behind it, and the run to it."""
        came: dict[int, tuple[int, Step] | None] = {start: None}
        frontier = [start]
        while frontier:
            later = []
            for state in frontier:
                for delta, index in self.engine.steps(state):
                    if index not in self.allowed or not self._timely(state, self.rules[index]):
                        continue
                    after = state ^ delta
                    step = index, self.model.edges(state, index, after)
                    if there(step[1], after):
                        return after, [*self._back(state, came), step]
                    if after not in came:
                        came[after] = state, step
                        later.append(after)
            frontier = later
        return None

    def _back(self, state: int, came: dict[int, tuple[int, Step] | None]) -> Run:
        run = []
        while (known := came[state]) is not None:
            state, step = known
            run.append(step)
        return run[::-1]

    def _timely(self, state: int, rule: Rule) -> bool:
        """Whether the rig can let this happen now: late requests and time between turns, a cancel before a boundary."""
        if rule.actor is Actor.CLOCK or rule.name.startswith("world: late"):
            return self.idle(state)
        return rule.name != CANCELS or self.idle(state) or self.interrupted(state)


def lead(model: Model, setting: Setting, wanted: Set[Edge], blocked: set[Edge]) -> Walked | None:
    """Lead one job through as many wanted edges as it comes to; None where no plan is left.

    blocked: what was planned under this setting and not taken by the code; it grows. Raises Disagreement with the program.
    """
    planner, rig = Planner(model, setting), Director(model)
    try:
        other = setting.other
        follower = rig.begin(setting.step(), other.step() if other else None, other is not None and other.before)
        planned = False
        for _ in range(SEGMENTS):
            taken = model.edges_of(follower.sure)
            at_rest = sorted(state for state in follower.states if planner.idle(state))
            run = planner.plan(at_rest[0], wanted - blocked - taken) if at_rest else []
            if not run:
                break
            planned = True
            rig.follow_plan([index for index, _ in run])
            blocked |= {edge for _, edges in run for edge in edges} & wanted - model.edges_of(follower.sure)
        if not planned:
            return None
        return Walked(Program("step", model.machine.name, rig.program()), frozenset(model.edges_of(follower.sure)))
    except Disagreement as error:
        raise Disagreement(f"{error}\n{Program('step', model.machine.name, rig.program()).key}") from error
    finally:
        rig.close()
