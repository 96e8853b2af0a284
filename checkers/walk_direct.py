"""A directed walk: a planned run of the step's machine, forced on real jobs by the rig's own faults (E-TRUST).

The plan says which rules are to be taken; the director turns each into what forces it, at the moment when it is due: a crash
before a boundary, an answer that is lost, a cancel, what the tool does, what a verifier finds. What was forced is written down
as the lines of a program, which do the same again without any plan. Whether the code follows is not the director's business: the
model follows the code, and says what was taken.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ..model.machine import Actor, Rule
from ..runtime.commands import Command, Execute, Ports, Verify
from .conform_follow import ELSEWHERE, LOST, PLACE, Follower, Model
from .conform_rig import Strike
from .conform_world import Behaviour, Directed, Seen, StepPlan, step_name
from .walk_memory import MemoryRig
from .walk_programs import written

LOOKED: Final[dict[str, Seen]] = {"confirm: match": "match", "confirm: not determined": "undetermined"}
CANCELS: Final = "client: cancels"


class Director(MemoryRig):
    """A rig whose faults come from a plan: the rules that are still to be taken, one job at a time."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.steps: list[StepPlan] = []
        self.rules = model.machine.rules
        self.plan: deque[Rule] = deque()
        self.lines: list[str] = []
        self.done: list[Behaviour | Directed] = []
        self.forced: dict[int, Strike] = {}
        self.look: Seen = "match"
        self.seen: list[Seen] = []

    def begin(self, step: StepPlan, other: StepPlan | None = None, before: bool = False) -> Follower:
        """A job of one step, or of another one beside it, before or behind it: what follows the first."""
        self.steps = [step] if other is None else [other, step] if before else [step, other]
        self.name = step_name(self.steps.index(step) + 1)
        return self.jobs[self.submit(self.steps)].followers[self.name]

    def program(self) -> tuple[str, ...]:
        """What was done, from the beginning; what the verifier found is in the first line."""
        found = tuple(self.seen) or ("match",)
        steps = [replace(step, looks=step.looks and replace(step.looks, answers=found)) for step in self.steps]
        return written("submit", (steps,)), *self.lines

    def follow_plan(self, rules: Sequence[int]) -> None:
        """Force a run that begins and ends where no worker has the job."""
        self.plan = deque(self.rules[index] for index in rules)
        while self.plan:
            before = len(self.plan)
            self._between()
            if len(self.plan) == before:
                return  # the code went another way: there is nothing to claim, or nobody to ask

    def _between(self) -> None:
        """What the next rule asks for, where no worker has the job."""
        rule = self.plan[0]
        match rule.actor:
            case Actor.WORKER if self.has("open"):
                self._turn()
                return
            case Actor.WORLD if self.has_late_requests():
                self._do("late", "lost" not in rule.name)
            case Actor.CLOCK:
                self._do("wait", False)
            case Actor.PERSON if rule.name.startswith(CANCELS) and self.unsettled():
                self._do("cancel")
            case Actor.PERSON if self.has("parked") and not rule.name.startswith(CANCELS):
                self._do("answer", False)
            case _:
                return
        self.plan.popleft()

    def _turn(self) -> None:
        """A turn of a worker, with whatever the plan has for it."""
        self.done, self.forced = [], {}
        self.work()
        self.lines.append(written("work", (self.done, self.forced)))

    def _do(self, name: str, *arguments: object) -> None:
        self.lines.append(written(name, arguments))
        getattr(self, name)(*arguments)

    # Within a turn.

    def _perform(self, command: Command, ports: Ports) -> Any:
        """As a rig does, with the strike that is due now."""
        strike = None
        if (self.jobs[self.job_id].step_of(command) if self.job_id else None) in (None, self.name):
            strike = self._due(PLACE.get(command.boundary, command.boundary), isinstance(command, Execute))
        elif isinstance(command, Execute):
            self._does(self._elsewhere())
        if isinstance(command, Verify):
            self.seen.append(self.look)
            self.jobs[self.job_id].worlds[self.name].looks = iter([self.look])
        if strike is not None:
            self.strikes[self.performed] = self.forced[self.performed] = strike
        return super()._perform(command, ports)

    def _due(self, place: str, executes: bool) -> Strike | None:
        """The strike before this boundary, if the plan has one; the plan goes on by what will have been done."""
        rule = self._visible()
        if rule is not None and rule.name == CANCELS:
            self.plan.popleft()
            following = self._visible()
            if following is None or following.boundary != place:
                return "cancel"
            self.plan.popleft()
            return "cancel, lost" if following.name.endswith(LOST) else "cancel"
        if rule is not None and rule.actor is Actor.CRASH:
            self.plan.popleft()
            return "crash before"
        self.look = "match"
        if rule is not None and rule.boundary == place:
            self.plan.popleft()
            self.look = LOOKED.get(rule.name, "mismatch")
            if executes:
                self._does(self._behaviour())
            return "lost" if rule.name.endswith(LOST) else None
        if executes:
            self._does("ok")
        return None

    def _does(self, behaviour: Behaviour | Directed) -> None:
        self.done.append(behaviour)
        self.services.behaviours = iter([behaviour])

    def _elsewhere(self) -> Behaviour:
        """What the tool of the other step is to do, for that step to change the job as the plan says."""
        rule = self._visible()
        if rule is None or not rule.name.startswith(ELSEWHERE) or rule.actor is not Actor.WORKER:
            return "ok"
        self.plan.popleft()
        return "no effect" if "requeues" in rule.name else "lost answer"

    def _visible(self) -> Rule | None:
        """The next rule of the plan that leaves a trace."""
        while self.plan and self.plan[0].decides:
            self.plan.popleft()
        return self.plan[0] if self.plan else None

    def _behaviour(self) -> Behaviour | Directed:
        """What the tool is to do, from what the plan says of the world and of the worker that faces it."""
        taken: list[str] = []
        while self.plan and (
            self.plan[0].actor is Actor.WORLD or self.plan[0].sees.get("at") == frozenset({"await_reply"})
        ):
            taken.append(self.plan.popleft().name)
        told = " ".join(taken)
        part, refused = "in part" in told or "of a partial" in told, "refuses" in told
        if "still on the wire" in told:
            return "on the wire"
        if "request on the wire" in told:
            return "dies on the wire"
        if "crash after" in told:
            return "dies after a part" if part else "dies after the refusal" if refused else "dies after the effect"
        if "no reply, lost" in told:
            return "lost part" if part else "lost refusal" if refused else "lost answer"
        return "partial" if part else "no effect" if refused else "ok"
