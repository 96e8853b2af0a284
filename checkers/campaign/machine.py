"""A Hypothesis state machine for any adapter: random lives of one job, process after process, held against the reference model.

    class TestMine(adapter_machine(MyRuntime).TestCase): ...

Each rule is a whole process of the runtime that is struck somewhere, or not at all. After it the record and the world have to be
what the reference model reaches (`visible`), no effect may be gone, and a job that is over has to stay as it was.
"""

import atexit
from collections.abc import Mapping
from typing import Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from ...runtime.records import Json
from .adapter import Belief, Subject
from .bench import Bench, Setup
from .boundary import Source, Strike
from .run import Run
from .sources import name_of
from .visible import OVER, allowed, denied
from .world import counts

SETTINGS: Final = settings(
    max_examples=20,
    stateful_step_count=5,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
"""Processes are slow beside Hypothesis: few examples, short ones."""


def adapter_machine(
    adapter: type | str,
    steps: tuple[str, ...] = ("a", "b"),
    boundaries: Source = "commits",
    options: Mapping[str, Json] | None = None,
) -> type[RuleBasedStateMachine]:
    """A state machine of a runtime. adapter: a class, or its name. steps: of its job. Raises ControlError, AdapterError."""
    name = name_of(adapter)
    setup = Setup(Subject(name.rpartition(":")[2].lower(), name, options=options or {}), steps, boundaries, 0.0)
    bench = Bench(setup)
    # Whoever runs the machine without its test case closes nothing.
    atexit.register(bench.close)
    control = bench.clean()
    strikes = st.none() | st.builds(Strike, st.sampled_from(control.boundaries), st.sampled_from(("before", "after")))

    class Machine(RuleBasedStateMachine):
        """The lives of one job."""

        def __init__(self) -> None:
            super().__init__()
            self.run = Run(bench)
            self.belief, self.acted = Belief("absent"), dict[str, int]()

        @rule(strike=strikes)
        def live(self, strike: Strike | None) -> None:
            """A process that begins the job, or recovers it where the record knows it; it is struck where it comes there."""
            self.run.call("start" if self.belief.status == "absent" else "recover", strike)
            self._look()

        def _look(self) -> None:
            before, self.belief = self.belief, self.run.belief()
            acted = counts(self.run.world.effects())
            for step in steps:
                seen = acted.get(step, 0)
                assert allowed(self.belief, step, seen), (
                    f"the record says {self.belief.status}, of {step} {self.belief.steps.get(step, 'nothing')}, and {step} acted"
                    f" {seen} times: the reference model has no such state"
                )
                assert seen >= self.acted.get(step, 0), f"an effect of {step} is gone"
            assert not denied(self.belief, steps, acted), "the record has the job as failed, and every effect happened"
            if before.status in OVER:
                assert (self.belief.status, acted) == (before.status, self.acted), "a job that was over has changed"
            self.acted = dict(acted)

        def teardown(self) -> None:
            """Forget the job."""
            self.run.close()

    Machine.__name__ = f"{name.rpartition(':')[2]}Machine"
    case: Any = Machine.TestCase
    case.settings = SETTINGS
    case.tearDownClass = classmethod(lambda cls: bench.close())
    return Machine
