"""A walk: Hypothesis drives real jobs on a real SQLite file, and the model beside them, step by step (E-TRUST).

Few coarse rules, since nearly all the time is Hypothesis's own: submit a job, let a worker take a turn, crash it at a boundary,
strike it with store faults, let a person answer, let time pass. What is compared, and where, is `conform_rig`'s business.
Schedules are enumerated elsewhere (`crash`); the walk is for data and for long histories.
"""

import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings, target
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir, storage_directory
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from ..model.policy import HARDENED, Policy
from ..model.surroundings import build_around
from ..runtime.verifier import Mode
from .abstraction import RAM
from .conform_calls import ERRORS
from .conform_follow import Disagreement, Model, made
from .conform_rig import Rig, Strike
from .conform_world import CONTRACTS, Behaviour, Does, Gate, Looks, Says, StepPlan, Undoing, beyond, step_name
from .evidence import Item, Verdict
from .walk_profiles import BY_NAME, PROFILES, Bounds, WalkProfile, examples_folder
from .walk_programs import Kind, Program, shortest, written
from .windows import class_of

Profile = Literal["quick", "deep", "ci", "nightly"]

BOUNDS: Final = {name: PROFILES[of].step for name, of in BY_NAME.items()}
AIM: Final = "the rarest met"
"""What Hypothesis calls the score by which a walk is steered."""
STORAGE: Final = "HYPOTHESIS_STORAGE_DIRECTORY"
"""The environment variable by which Hypothesis is told where its own folder is."""
SHRINKS: Final = 80
"""How many further examples of Hypothesis a failure is worth; what it then has is made shorter line by line (`shortest`)."""
LEAST: Final = {"steps": 500, "durable states": 70, "rules taken": 70}
"""A walk that has come to no more is no evidence. Of quick ones with 15 seeds the least came to 687 steps, 104 durable states and
92 rules; in the middle are 767, 128 and 106 (decision 032)."""
MOST_UNSETTLED: Final = 2
"""More are submitted only after some have ended: a job that is never worked on shows nothing."""
MOST_STEPS: Final = 4
"""Of a plan that is a graph."""
MOST_BOUNDARIES: Final = 20
"""Positions at which a turn is struck: most turns of a two-step job have fewer."""

EDGES: Final = st.tuples(*[st.sets(st.integers(1, MOST_STEPS - 1), max_size=MOST_STEPS - 1)] * 2)
"""Which nodes one comes after, and of which it is given the result."""
SAFE: Final = 2**53 - 1
TEXT: Final = st.text(st.characters(codec="utf-8"), max_size=4)
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-SAFE, SAFE) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
WORDS: Final = st.sampled_from(("", "\0", "half \ud800", "\udfff\0", "é\n")) | TEXT
"""What an error says: all that a store cannot hold as it is, too."""
SAYING: Final[tuple[Behaviour, ...]] = ("no effect", "partial", "lost answer", "lost refusal", "on the wire")
"""What a call does whose error says something."""
BEHAVIOURS: Final[st.SearchStrategy[list[Does]]] = st.lists(
    st.sampled_from(get_args(Behaviour))
    | st.builds(Says, st.sampled_from(SAYING), st.sampled_from(tuple(ERRORS)), WORDS),
    max_size=2,
)
LOOKS: Final[st.SearchStrategy[Looks]] = st.builds(
    Looks,
    st.sampled_from(get_args(Mode)),
    st.lists(st.sampled_from(["mismatch", "undetermined", "match"]), min_size=1, max_size=3).map(tuple),
    st.integers(1, 2),
)
UNDOINGS: Final[st.SearchStrategy[Undoing]] = st.sampled_from(get_args(Undoing))
POSITIONS: Final = st.integers(0, MOST_BOUNDARIES - 1)
INTERRUPTIONS: Final[tuple[Strike, ...]] = ("crash before", "crash after", "cancel", "signal", "time")
STORE_FAULTS: Final[st.SearchStrategy[dict[int, Strike]]] = st.dictionaries(
    POSITIONS, st.sampled_from(["lost", "error", "conflict", "stale"]), min_size=1, max_size=3
)


# What can be drawn is found out at the first draw: a tenth of a walk, where a strategy is made anew for each.
@cache
def steps(policy: Policy) -> st.SearchStrategy[list[StepPlan]]:
    """One or two steps with any contract that the policy considers, any arguments, any result; or a graph of up to four."""
    contracts = [contract for contract in CONTRACTS if contract[0] or not policy.tools_idempotent]
    step = st.builds(StepPlan, st.sampled_from(contracts), st.integers(0, 2), JSON, JSON)
    graph = st.tuples(
        st.lists(step, min_size=2, max_size=MOST_STEPS), st.lists(EDGES, min_size=MOST_STEPS, max_size=MOST_STEPS)
    )
    return st.lists(step, min_size=1, max_size=2) | graph.map(lambda drawn: joined(*drawn))


def joined(plain: list[StepPlan], edges: list[tuple[set[int], set[int]]]) -> list[StepPlan]:
    """Steps as a graph: each comes after some of those before it, and is given the results of some of these."""
    nodes = []
    for number, (step, (after, used)) in enumerate(zip(plain, edges, strict=False), 1):
        before = tuple(sorted(each for each in after if each < number))
        given = [{"$result": step_name(each)} for each in before if each in used]
        nodes.append(replace(step, after=before, args={"plain": step.args, "given": given} if given else step.args))
    return nodes


@cache
def plans(policy: Policy) -> st.SearchStrategy[list[StepPlan | Gate]]:
    """The same; where the policy's machine holds it some wait for a signal, can be undone, are requeued or tried again later, or,
    alone, verified.
    """
    plain: st.SearchStrategy[list[StepPlan | Gate]] = steps(policy).map(list)
    if not beyond(policy):
        return plain
    wider = st.tuples(
        steps(policy),
        st.none() | LOOKS,
        UNDOINGS,
        st.sampled_from((0, 2)),
        st.integers(-1, 2),
        st.sampled_from((0.0, 3.0)),
    )
    return plain | wider.map(lambda drawn: widened(*drawn))


def widened(
    plain: list[StepPlan], looks: Looks | None, undoes: Undoing, requeues: int, gate: int, backoff: float
) -> list[StepPlan | Gate]:
    """Steps with more: verified where there is one; the first can be undone, is requeued, pauses before a retry; a gate in this
    place, if it is not negative.
    """
    alone = looks if len(plain) == 1 else None
    first = replace(plain[0], looks=alone, undoes=undoes, max_requeues=requeues, backoff=backoff)
    nodes: list[StepPlan | Gate] = [first, *plain[1:]]
    if gate >= 0 and first.after is None:  # a graph names its nodes by their numbers
        nodes.insert(min(gate, len(nodes)), Gate())
    return nodes


class Progress:
    """How far a walk has come, and the disagreement that it has found.

    steered: it aims at what it has rarely come to. met: in how many examples each of these things was seen.
    """

    def __init__(self, steered: bool = False) -> None:
        self.steered = steered
        self.met: Counter[Hashable] = Counter()
        self.examples = 0
        self.steps = 0
        self.failure: Failure | None = None
        self.shrinks = 0

    def begin(self) -> None:
        """One more example; raises EnoughError when a failure has been shrunk for long enough."""
        self.examples += 1
        if self.failure is not None:
            self.shrinks += 1
            if self.shrinks > SHRINKS:
                raise EnoughError

    def rarity(self, things: Set[Hashable]) -> float:
        """How rare the rarest of some things has been so far: minus the logarithm of its frequency."""
        return max((math.log((self.examples + 1) / (self.met[thing] + 1)) for thing in things), default=0.0)

    def came_to(self, things: Set[Hashable]) -> None:
        """An example is over, and met these: where the walk is steered Hypothesis hears how rare it was."""
        if self.steered:
            target(self.rarity(things), label=AIM)
        self.met.update(things)

    def shorten(self, kind: Kind, policy: str) -> None:
        """Leave out of the program that was found the lines that it does not take. kind, policy: of a `Program`."""
        if self.failure is not None:
            program = shortest(Program(kind, policy, self.failure.program))
            self.failure = Failure(program.lines, Disagreement(program.run() or str(self.failure.error)))

    def failed(self, program: list[str], error: Disagreement) -> None:
        """Keep the shortest program that shows a disagreement."""
        if self.failure is None or len(program) <= len(self.failure.program):
            self.failure = Failure(tuple(program), error)


class Record(Progress):
    """What the examples of one walk add up to."""

    def __init__(self, policy: Policy, steered: bool = False) -> None:
        super().__init__(steered)
        self.policy = policy
        self.model = Model(build_around(policy))

    def windows(self, states: Set[int]) -> set[str]:
        """The windows that durable states of a step are in, were its worker gone; none but under the hardened policy."""
        if self.policy != HARDENED:
            return set()
        machine, packing = self.model.machine, self.model.packing
        return {class_of({**machine.view(packing.unpack(state)), "at": "idle"}) for state in states}


@dataclass(frozen=True)
class Failure:
    """A disagreement, and the calls to a `Rig` that show it."""

    program: tuple[str, ...]
    error: Disagreement


class EnoughError(BaseException):
    """Ends a walk: not an `Exception`, which Hypothesis would take for one more failure."""


class WrittenWalk(RuleBasedStateMachine):
    """A walk that writes down what it has a rig do, in a folder of its own. `record` is set by a subclass, for each walk anew."""

    record: Progress

    def __init__(self) -> None:
        super().__init__()
        self.record.begin()
        self.program: list[str] = []
        self.folder = tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None)

    def do(self, call: Callable[..., object], *arguments: object) -> object:
        """Let the rig do something, and write it down as the line of a program that would do it again; what it says."""
        self.record.steps += 1
        self.program.append(written(call.__name__, arguments))
        try:
            return made(call, *arguments)
        except Disagreement as error:
            self.record.failed(self.program, error)
            raise


class Walk(WrittenWalk):
    """Model and SQLite runtime in lockstep."""

    record: Record

    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig(Path(self.folder.name), self.record.model, self.record.policy)

    def teardown(self) -> None:
        """Say what this history came to, close and remove the files."""
        followers = (each for job in self.rig.jobs.values() for each in job.followers.values())
        self.record.came_to(self.record.windows(set().union(*(each.met for each in followers))))
        self.rig.close()
        self.folder.cleanup()

    @precondition(lambda self: self.rig.unsettled() < MOST_UNSETTLED)
    @rule(data=st.data())
    def submit(self, data: st.DataObject) -> None:
        """A client submits a job."""
        self.do(self.rig.submit, data.draw(plans(self.record.policy)))

    @precondition(lambda self: self.rig.has("open"))
    @rule(behaviours=BEHAVIOURS)
    def work(self, behaviours: list[Does]) -> None:
        """A worker takes a turn, undisturbed: the recovery, where an earlier one did not end."""
        self.do(self.rig.work, behaviours)

    @precondition(lambda self: self.rig.has("open"))
    @rule(behaviours=BEHAVIOURS, at=POSITIONS, when=st.sampled_from(INTERRUPTIONS))
    def crash(self, behaviours: list[Does], at: int, when: Strike) -> None:
        """A worker takes a turn, and at a boundary is killed, a client speaks, or time passes."""
        self.do(self.rig.work, behaviours, {at: when})

    @precondition(lambda self: self.rig.has("open"))
    @rule(behaviours=BEHAVIOURS, faults=STORE_FAULTS)
    def store_faults(self, behaviours: list[Does], faults: dict[int, Strike]) -> None:
        """A worker takes a turn while its store errs, conflicts or fences it off."""
        self.do(self.rig.work, behaviours, faults)

    @precondition(lambda self: self.rig.beyond and self.rig.unsettled() > 0)
    @rule(what=st.sampled_from(["cancel", "signal", "undo"]))
    def speak(self, what: str) -> None:
        """A client cancels a job between two turns, sends it a signal, or asks that a step be undone."""
        self.do(getattr(self.rig, what))

    @precondition(lambda self: self.rig.has("parked"))
    @rule(late_requests_arrive=st.booleans())
    def answer(self, late_requests_arrive: bool) -> None:
        """A truthful person answers about a parked job."""
        self.do(self.rig.answer, late_requests_arrive)

    @precondition(lambda self: self.rig.has_late_requests())
    @rule(arrives=st.booleans())
    def late_request(self, arrives: bool) -> None:
        """A request whose sender is gone arrives, or is lost."""
        self.do(self.rig.late, arrives)

    @precondition(lambda self: self.rig.has("open"))
    @rule(late_requests_arrive=st.booleans())
    def wait(self, late_requests_arrive: bool) -> None:
        """So much time passes that nothing can be under way."""
        self.do(self.rig.wait, late_requests_arrive)


def walk(profile: Profile, number: int, policy: Policy = HARDENED) -> Item:
    """Walk with a seed; a disagreement comes back shrunk, as the program that shows it."""
    return item_of(walked(profile, number, policy), profile, number)


def walked(profile: Profile, number: int, policy: Policy = HARDENED) -> Record:
    """The same, with all that the walk has come to."""
    of = PROFILES[BY_NAME[profile]]
    record = Record(policy, of.steered)
    bound: type[Walk] = seed(number)(type("Walk", (Walk,), {"record": record}))
    try:
        led(bound, chosen(BOUNDS[profile], of))
    except (Exception, EnoughError):
        # Hypothesis says in several ways that it has found, or was kept from shrinking, what the record holds by now.
        if record.failure is None:
            raise
    record.shorten("step", policy.name)
    return record


def led(machine: type[RuleBasedStateMachine], by: settings) -> None:
    """Let Hypothesis lead a walk. What it keeps of the modules in whose sources it finds constants lies beside the examples: left
    to itself it makes a folder in the working directory. Who says where by its environment variable is heard.
    """
    before = storage_directory(intent_to_write=False).path
    if STORAGE not in os.environ:
        set_hypothesis_home_dir(examples_folder().with_name("hypothesis"))
    try:
        run_state_machine_as_test(machine, settings=by)
    finally:
        set_hypothesis_home_dir(before)


def substantial(item: Item) -> Item:
    """A walk's item; ERROR in the place of TESTED where it has come to so little that it shows nothing."""
    least = {**LEAST, "comparisons": int(item.figures["steps"])}
    short = [f"{item.figures[name]} {name}, not more than {few}" for name, few in least.items()
             if int(item.figures[name]) <= few]  # fmt: skip
    if item.verdict is not Verdict.TESTED or not short:
        return item
    said = f"the walk has come to little: {'; '.join(short)}"
    return item.model_copy(update={"verdict": Verdict.ERROR, "statement": said})


def chosen(bounds: Bounds, profile: WalkProfile = PROFILES["quick"]) -> settings:
    """Hypothesis's settings: no clock; a database of examples where the profile keeps one.

    A seed gives the same walk wherever the same modules are loaded: Hypothesis also draws constants that it finds in them. What
    a failure prints is therefore a program, which needs neither.
    """
    return settings(
        max_examples=bounds.examples,
        stateful_step_count=bounds.steps,
        deadline=None,
        database=DirectoryBasedExampleDatabase(examples_folder()) if profile.kept else None,
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
        phases=[
            *([Phase.reuse] if profile.kept else []),
            Phase.generate,
            *([Phase.target] if profile.steered else []),
            Phase.shrink,
        ],
        suppress_health_check=list(HealthCheck),
    )


def item_of(record: Record, profile: Profile, number: int) -> Item:
    """What a walk has shown."""
    figures: dict[str, Any] = {
        "examples": record.examples,
        "steps": record.steps,
        "comparisons": record.model.comparisons,
        "durable states": len(record.model.states_met),
        "rules taken": len(record.model.rules_taken),
        "rules": len(record.model.machine.rules),
        "seed": number,
    }
    command = f"crashwindow verify --profile {profile} --seed {number}"
    name = record.policy.name
    if record.failure is None:
        said = f"model and SQLite runtime ({name}) agreed at every boundary of {record.steps} steps of random histories"
        return Item(checker="walk", verdict=Verdict.TESTED, statement=said, figures=figures, command=command)
    figures["program"] = "\n".join(record.failure.program)
    command = f"crashwindow replay {Program('step', name, record.failure.program).key}"
    said = f"model and SQLite runtime ({name}) part: {record.failure.error}"
    return Item(checker="walk", verdict=Verdict.REFUTED, statement=said, figures=figures, command=command)
