"""What the shipped code really does, recorded once and replayed in each mutant of a model (E-TRUST, teeth).

Of the step and of the contract a walk is recorded: every boundary, crash, answer and comparison, as the model that follows it
is told them. Of gates, compensations and recorded values the traces that crashed jobs leave are kept. A mutant of the model that
cannot do what the code did, or that says something else of the stores, is not the code's model. Nothing is executed again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..model.machine import Machine
from ..scenarios.machines import machine_of
from .conform import walk
from .conform_follow import Disagreement, Follower, Model
from .contract_conform import walk_contracts
from .contract_follow import ContractFollower, ContractModel
from .crash_run import Trace
from .crash_snapshot import Breadth, sweep_case
from .evidence import Verdict
from .explore import Engine
from .semantics_cases import SEMANTICS_CASES
from .semantics_monitor import SemanticsMonitor
from .substitute import Patch, planted

SEEDS: Final = (1, 2)
"""The walks that are recorded; each is given by its seed."""
ONCE: Final = Breadth(1, answers=("lost",))
CASES_OF: Final = {
    "gate-hardened": ("approved", "denied", "wait", "cancel-waiting"),
    "compensation-hardened": ("undo-partial", "undo-refused", "undo-lost", "undo-open", "undo-overtaken"),
    "recorded-hardened": ("model", "inputs"),
}
"""Of each model beyond the step: the cases whose traces are replayed."""
MOVES: Final = (
    "perform",
    "elsewhere",
    "person",
    "outside",
    "world",
    "time_passes",
    "crash",
    "undoing",
    "rest",
    "observe",
)

STOOD: Final = ("verified", "asked", "undoes", "among_others")
"""What a follower of a step knows of it beside its moves (`conform_follow.Follower`)."""
Told = tuple[str, tuple[Any, ...], tuple[tuple[str, Any], ...], tuple[Any, ...]]
"""A move that a follower was told: the method, its arguments, and how it stood then (`STOOD`)."""
Said = str
"""Where a mutant parts from the code, in words; "" where it does not."""


class Run(NamedTuple):
    """One step, or one contract, of a real job: what its follower was given, and every move."""

    given: tuple[Any, ...]
    moves: list[Told]


def tape_of_steps() -> list[Run]:
    """The walks of the step, as their followers were told them. Raises AssertionError where the shipped code itself parts."""
    runs: dict[int, Run] = {}

    def record(patch: Patch) -> None:
        begin = Follower.__init__

        def init(self: Follower, model: Model, declared: Mapping[str, str], name: str, verified: bool = False) -> None:
            begin(self, model, declared, name, verified)
            runs[id(self)] = Run((dict(declared), name), [])
            kept.append(self)

        patch.setattr(Follower, "__init__", init)
        for name in MOVES:
            patch.setattr(Follower, name, _recording(name, getattr(Follower, name), runs))

    kept: list[Follower] = []
    with planted(record):
        for number in SEEDS:
            item = walk("quick", number)
            if item.verdict is not Verdict.TESTED:
                raise AssertionError(item.statement)
    return _distinct(list(runs.values()))


def _recording(name: str, method: Callable[..., None], runs: Mapping[int, Run]) -> Callable[..., None]:
    def told(self: Follower, *arguments: Any, **named: Any) -> None:
        copied = tuple(dict(a) if isinstance(a, Mapping) else a for a in arguments)
        runs[id(self)].moves.append((name, copied, tuple(named.items()), tuple(getattr(self, each) for each in STOOD)))
        method(self, *arguments, **named)

    return told


def _distinct(runs: list[Run]) -> list[Run]:
    """Each run once, the shortest first."""
    return sorted({repr((run.given[0], run.moves)): run for run in runs}.values(), key=lambda run: len(run.moves))


def replay_steps(engine: Engine, runs: Sequence[Run]) -> Said:
    """The first run of the code that an engine's machine cannot follow."""
    model = Model(engine.machine, engine)
    for run in runs:
        follower = Follower(model, *run.given)
        for name, arguments, named, stood in run.moves:
            for each, value in zip(STOOD, stood, strict=True):
                setattr(follower, each, value)
            try:
                getattr(follower, name)(*arguments, **dict(named))
            except Disagreement as error:
                return str(error).partition(". It could")[0]
    return ""


def tape_of_contracts() -> list[Run]:
    """The same of the contracts' walk."""
    runs: dict[int, Run] = {}

    def record(patch: Patch) -> None:
        begin, observe = ContractFollower.__init__, ContractFollower.observe

        def init(self: ContractFollower, model: ContractModel, consent: str, name: str) -> None:
            begin(self, model, consent, name)
            runs[id(self)] = Run((consent, name), [])
            kept.append(self)

        def told(self: ContractFollower, boundary: str, moves: tuple[str, ...], real: Mapping[str, str]) -> None:
            runs[id(self)].moves.append(("observe", (boundary, moves, dict(real)), (), ()))
            observe(self, boundary, moves, real)

        patch.setattr(ContractFollower, "__init__", init)
        patch.setattr(ContractFollower, "observe", told)

    kept: list[ContractFollower] = []
    with planted(record):
        for number in SEEDS:
            failure = walk_contracts("quick", number).failure
            if failure is not None:
                raise failure.error
    return _distinct(list(runs.values()))


def replay_contracts(engine: Engine, runs: Sequence[Run]) -> Said:
    """The first contract of the code that an engine's machine cannot follow."""
    model = ContractModel(engine.machine, engine)
    for run in runs:
        follower = ContractFollower(model, *run.given)
        for _, arguments, _, _ in run.moves:
            try:
                follower.observe(*arguments)
            except Disagreement as error:
                return str(error).partition(". It could")[0]
    return ""


def traces_of_semantics(policy: str) -> list[Trace]:
    """The distinct traces that a model's cases leave, each case struck once at every boundary."""
    left: dict[str, Trace] = {}
    for name in CASES_OF[policy]:
        for record in sweep_case(SEMANTICS_CASES[f"semantics-{name}"], ONCE, traces=left):
            if record.violations or record.error:
                raise AssertionError(f"{record.key}: {record.violations} {record.error}")
    return list(left.values())


def replay_semantics(machine: Machine, policy: str, traces: Sequence[Trace]) -> Said:
    """The first trace that is not a run of the machine in a policy's place."""
    monitor = SemanticsMonitor(lambda name: machine if name == policy else machine_of(name))
    for trace in traces:
        for replayed in monitor.check(trace):
            if replayed.policy == policy and replayed.divergence:
                return f"{replayed.about}: {replayed.divergence.event}: {replayed.divergence.reason}"
    return ""
