"""Where one step of a job can be in its models, remembered: what many jobs do alike is worked out once.

A position is what the followers of the two models know after some events: the step's own (twice, for whether its result says that
the step failed is known only in the end) and its compensation's. An event comes as a symbol, which holds exactly what the
followers are then shown: a stand-in event is built from it. What a symbol leaves out they never see, so that a remembered answer
is the answer for every event with that symbol. Results are in it as `same` or `another`, compared before; of attempts, whose
numbers are kept by the job, what decides about the one that is named: however many are open, there are no more positions for it.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..model.surroundings import build_around, build_by_itself
from .abstraction import COMPENSATES, Json, StoredEvent
from .attempts import Attempts, Seen
from .automaton import Divergence, Refusal
from .monitor import BEGINNING, Follower, Monitor
from .semantics_monitor import SAID, ReaderFollower, SemanticsMonitor, queues
from .semantics_trace import CompensationReader
from .stream_fence import of_a_step

Symbol = tuple[Any, ...]
UNDOES, PICKS = 5, 8
"""Where a symbol says whether its event is a compensation's, and where the first of the data stands that it holds."""
STEP: Final = "the step"
PLACES: Final = {"its": STEP, "another": "another step", "none": None}
SAME, ANOTHER, MEANINGLESS = "same", "another", "meaningless"
ABSENT: Final = "absent from the data"
ATTEMPT: Final = "attempt"
PICKED: Final[Mapping[str, tuple[Any, Any]]] = {
    "tool_invocation_started": (ATTEMPT, None),
    "tool_invocation_finished": (ATTEMPT, "outcome"),
    "command_committed": ("kind", None),
    "retry_scheduled": (ATTEMPT, None),
    "invocation_resolved": ("answer", None),
    "compensation_started": (ATTEMPT, None),
    "step_compensated": (ATTEMPT, "outcome"),
    "compensation_failed": (ATTEMPT, "outcome"),
    "node_finished": ("result_type", "reason"),
}
"""The data that a symbol holds, by type of event, beside the result: all that any follower reads (tests/test_check_trace.py).

None is no name that a datum can have: it is never there. Instead of an attempt's number a symbol holds what decides about it
among the others of its step, or of its compensation (`Attempts.seen`): the hundredth retry is remembered as the first.
"""
NONE_PICKED: Final = (None, None)
HEARD_OF: Final = frozenset({
    "tool_invocation_started", "tool_invocation_finished", "compensation_started", "compensation_failed", "invocation_resolved",
})  # fmt: skip
"""The types of events by which something becomes of an attempt."""
BEHIND: Final = frozenset({"state_changed", "job_requeued", "job_cancelled"})
"""Events that are read together with the one before them, ..."""
AHEAD: Final = frozenset({"node_started", *SAID})
"""... and with the one behind them."""
HYPOTHESES: Final = ("first", "partial")
"""What a step's result may be called in the model."""
UNDO: Final = "compensation"
LIMIT: Final = 100_000
"""How many moves from one position to the next are remembered. Beyond that all are forgotten, and all positions with them: a
stream made to fill the memory does not.
"""
LONG: Final = 300
"""A move by an event that says more than this is not remembered: the text is the stream's to choose."""

WORKED: Final[Symbol] = ("state_checkpointed", "another", True, None, None, False, ABSENT, ABSENT, ABSENT, ABSENT)
"""A worker's event of another step: all that it says of this one is that a worker was at work. Saying it twice says no more."""


def place(step: object, step_id: str) -> str:
    """Whose an event is, seen from a step."""
    return "none" if step is None else "its" if step == step_id else "another"


def symbol_of(
    step_id: str,
    before: StoredEvent | None,
    event: StoredEvent,
    after: StoredEvent | None,
    result: str,
    tried: Attempts,
    undoes: bool = False,
) -> Symbol:
    """An event, between those beside it, as the followers of a step are shown it.

    result: what its result is, or ABSENT. undoes: whether it is of the step's compensation. tried: the attempts before it, of the
    one or the other.
    """
    kind, step, data = event.type, event.step, event.data
    whose = "none" if step is None else "its" if step == step_id else "another"
    behind = ahead = None
    if kind in BEHIND:
        if before is not None:
            behind = before.type, place(before.step, step_id), before.data.get("outcome") == "success"
    elif after is not None and kind in AHEAD:
        ahead = after.type, place(after.step, step_id), after.epoch is not None, "node" in after.data
    named = place(data["step"], step_id) if "step" in data else ABSENT
    worker, picks = event.epoch is not None, PICKED.get(kind)
    if picks is None:
        return kind, whose, worker, behind, ahead, undoes, named, result, ABSENT, ABSENT
    one, other = picks
    picked = data.get(one, ABSENT)
    if one is ATTEMPT:
        picked = tried.seen(picked)
    told = ABSENT if other is None else data.get(other, ABSENT)
    return kind, whose, worker, behind, ahead, undoes, named, result, picked, told


def stand_ins(symbol: Symbol, version: int) -> tuple[StoredEvent, StoredEvent, StoredEvent | None]:
    """The event that a symbol stands for, between stand-ins of those beside it. The last attempt has the number 0."""
    kind, whose, worker, before, after, undoes, named, result, *picked = symbol
    names = PICKED.get(str(kind), NONE_PICKED)
    data: dict[str, Json] = {name: value for name, value in zip(names, picked, strict=True) if value is not ABSENT}
    if ATTEMPT in data:
        data[ATTEMPT] = data[ATTEMPT][0]
    data |= {COMPENSATES: True} if undoes else {}
    data |= {"step": PLACES[str(named)]} if named is not ABSENT else {}
    data |= {"result": result} if result is not ABSENT else {}
    event = StoredEvent(version, "", str(kind), PLACES[str(whose)], 1 if worker else None, data)
    return _behind(before), event, _ahead(after)


def _behind(seen: Any) -> StoredEvent:
    """The stand-in of the event before another."""
    if seen is None:
        return StoredEvent(0, "", "", None, None, {})
    kind, whose, success = seen
    return StoredEvent(0, "", kind, PLACES[whose], None, {"outcome": "success"} if success else {})


def _ahead(seen: Any) -> StoredEvent | None:
    """The stand-in of the event behind another."""
    if seen is None:
        return None
    kind, whose, worker, of_a_gate = seen
    return StoredEvent(0, "", kind, PLACES[whose], 1 if worker else None, {"node": ANOTHER} if of_a_gate else {})


def judge_of(hypothesis: str) -> Callable[[Json], str]:
    """What a compared result is called in the model."""

    def told(result: Json) -> str:
        if result == MEANINGLESS:
            raise ValueError("the result has no canonical JSON")
        return hypothesis if result == SAME else "other"

    return told


class Tried(NamedTuple):
    """What became of the attempts of a step, or of its compensation.

    open: whether one is not known to have had no effect. swallowed: whether of one nothing was heard. stored: whether a result is
    on record.
    """

    open: bool = False
    swallowed: bool = False
    stored: bool = False

    @property
    def lost(self) -> bool:
        """Whether nobody knows of one what became of it."""
        return self.open and not self.stored


class Position:
    """Where a step can be. living: a follower for each hypothesis, and for the compensation, that has not been refused yet.

    tried, undone: what became of the attempts of the step, and of its compensation.
    """

    __slots__ = ("ends", "living", "moves", "size", "tried", "undone")

    def __init__(self, living: Mapping[str, Follower | ReaderFollower]) -> None:
        self.living, self.size = living, len(living)
        self.tried = next((tried_by(living[name], False) for name in HYPOTHESES if name in living), Tried())
        self.undone = tried_by(living[UNDO], True) if UNDO in living else Tried()
        self.moves: dict[Symbol, Position] = {}
        self.ends: dict[Hashable, Divergence | None] = {}


class Positions:
    """Every position met so far. Keep it for as many jobs as there are. remembered: how many moves are."""

    def __init__(self) -> None:
        self.monitor, self.by_itself = Monitor(build_around()), Monitor(build_by_itself())
        self.semantics = SemanticsMonitor()
        self.known: dict[Hashable, Position] = {}
        self.starts: dict[Hashable, Position] = {}
        self.remembered = 0

    def start(
        self, declared: Mapping[str, str] | None, by_itself: bool, before: Sequence[StoredEvent] = ()
    ) -> Position:
        """Behind the plan. declared: the tool's contract, as values of the model's configuration fields. by_itself: whether the
        step is all of the plan. before: what a step of another job, which is only undone here, has left there.
        """
        key = by_itself, tuple(event.type for event in before), tuple(sorted(declared.items())) if declared else ()
        if key not in self.starts:
            monitor = self.by_itself if by_itself else self.monitor
            living: dict[str, Follower | ReaderFollower] = {
                each: monitor.follower(STEP, judge_of(each), declared) for each in HYPOTHESES
            }
            self.starts[key] = self._known({**living, UNDO: self.semantics.follower(CompensationReader(STEP))})
            tried = Attempts()
            for at, event in enumerate(before):
                said, behind = before[at - 1] if at else None, next(iter(before[at + 1 :]), None)
                result = SAME if "result" in event.data else ABSENT
                self.starts[key] = self.move(self.starts[key], symbol_of(STEP, said, event, behind, result, tried))
                hear(tried, event)
        return self.starts[key]

    def move(self, position: Position, symbol: Symbol) -> Position:
        """The position behind an event. TypeError for a symbol that cannot be remembered: its data are no plain values."""
        after = position.moves.get(symbol)
        if after is None:
            tried = {name: tried_on(follower, symbol) for name, follower in position.living.items()}
            living = {name: twin for name, (twin, refused) in tried.items() if refused is None}
            if self.remembered >= LIMIT:
                self._forget()
            after = self._known(living)
            if not any(type(each) is str and len(each) > LONG for each in symbol[PICKS:]):
                position.moves[symbol] = after
                self.remembered += 1
        return after

    def words(self, position: Position, symbol: Symbol, name: str, event: StoredEvent) -> Divergence:
        """What one who does not follow has to say of an event, whose symbol this is."""
        twin, refused = tried_on(position.living[name], symbol, event.version)
        assert refused is not None
        return twin.words(event.version - 1, event, refused)

    def rest(self, position: Position, name: str, beside: Mapping[str, str]) -> Divergence | None:
        """What one who follows has to say in the end. beside: the fields that the other records tell, if there are any."""
        key = name, *beside.items()
        if key not in position.ends:
            follower = position.living[name]
            assert isinstance(follower, Follower)
            position.ends[key] = follower.rest(beside)
        return position.ends[key]

    def _known(self, living: dict[str, Follower | ReaderFollower]) -> Position:
        key = tuple((name, signature_of(follower)) for name, follower in living.items())
        if key not in self.known:
            self.known[key] = Position(living)
        return self.known[key]

    def _forget(self) -> None:
        """Let go of all positions but those that live jobs are at, and of where these led: else they would hold the others."""
        for position in self.known.values():
            position.moves.clear()
        self.known.clear()
        self.starts.clear()
        self.remembered = 0


def hear(tried: Attempts, event: StoredEvent) -> None:
    """What becomes of the attempts of a step, or of its compensation, by an event that its models have taken."""
    data = event.data
    match event.type:
        case "tool_invocation_started" | "compensation_started":
            tried.start(data[ATTEMPT])
        case "tool_invocation_finished" | "compensation_failed" if (
            data["outcome"] != "success"
        ):  # with a result it stays open
            tried.end(data[ATTEMPT], data["outcome"])
        case "invocation_resolved" if data["answer"] == "not_happened":
            tried.close()


def tried_on(
    follower: Follower | ReaderFollower, symbol: Symbol, version: int = 0
) -> tuple[Follower | ReaderFollower, Refusal | None]:
    """A twin of a follower behind an event, and whether it was refused. version: the event's, where there are words of it."""
    twin = copy_of(follower)
    if PICKED.get(symbol[0], NONE_PICKED)[0] is ATTEMPT:
        recall(twin, symbol[UNDOES], symbol[PICKS])
    before, event, after = stand_ins(symbol, version)
    if reason := of_a_step(event):
        return twin, Refusal(reason)
    if isinstance(twin, Follower):
        return twin, twin.step(len(BEGINNING), before, event, after)
    return twin, twin.step(event, queues(event, after))


def copy_of(follower: Follower | ReaderFollower) -> Follower | ReaderFollower:
    """The same, to go on from by itself."""
    if isinstance(follower, Follower):
        return follower.copy()
    assert isinstance(follower.reader, CompensationReader)
    return ReaderFollower(follower.automaton, follower.reader.copy(), follower.number)


def attempts_of(follower: Follower | ReaderFollower, undoes: bool) -> Attempts:
    """Those of its step, or of the step's compensation, as far as it has heard of them."""
    if isinstance(follower, Follower):
        return follower.fold.attempts
    assert isinstance(follower.reader, CompensationReader)
    return follower.reader.undoings if undoes else follower.reader.attempts


def recall(follower: Follower | ReaderFollower, undoes: bool, seen: Seen) -> None:
    """Let it have as many attempts as the job has, as far as an event can tell that names one of them.

    A follower in a position stands for many, whose attempts have other numbers.
    """
    tried = Attempts.like(seen)
    if isinstance(follower, Follower):
        if not undoes:  # it does not hear of those of the compensation
            follower.fold.attempts = tried
        return
    assert isinstance(follower.reader, CompensationReader)
    if undoes:
        follower.reader.undoings = tried
    else:
        follower.reader.attempts = tried.undoubted()


def tried_by(follower: Follower | ReaderFollower, undoes: bool) -> Tried:
    """What it has heard of the attempts of its step, or of the step's compensation."""
    attempts = attempts_of(follower, undoes)
    if isinstance(follower, Follower):
        stored = any(known != "none" for known in follower.fold.results.values())
    else:
        stored = follower.reader.fields()["done"] == "yes"
    return Tried(attempts.open > 0, attempts.swallowed, stored)


def signature_of(follower: Follower | ReaderFollower) -> Hashable:
    """Equal for followers that will say the same."""
    if isinstance(follower, Follower):
        return follower.automaton, *follower.signature()
    assert isinstance(follower.reader, CompensationReader)
    return follower.number, *follower.reader.signature()
