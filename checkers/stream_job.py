"""One job of a stream, followed event by event in all the models that speak of it.

What is kept of a job does not grow with its events: for each step of its plan a position and its first result, the readers of its
gates and recorded values, and the last event; where a gate or a model's answer needs them, the results of the steps. Of attempts
it is a byte each, from the first open one on.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple, NoReturn

from .abstraction import (
    COMPENSATES,
    JOB,
    Json,
    NotAJobError,
    StoredEvent,
    StoredJob,
    agree,
    apart,
    canonical,
    records_state,
    tells_failure,
)
from .attempts import NEVER, Again, Attempts
from .automaton import Divergence
from .monitor import BEGINNING, describe, out_of_place
from .semantics_monitor import NONSENSE, SAID, ReaderFollower
from .semantics_trace import Subject
from .stream_crowd import NOBODY, Crowd, Group, leader_of, led_by, named
from .stream_elsewhere import Elsewhere
from .stream_fence import FORGED, NO_TYPES, OF_A_NODE, OF_NO_NODE, by, kind_of, of_no_step
from .stream_lines import Records
from .stream_possible import AGREEING, otherwise, possible, state_of
from .stream_readers import Readers, Refused
from .stream_rows import NO_ROWS, Rows
from .stream_settled import Settled
from .stream_step import (
    ABSENT,
    AHEAD,
    ANOTHER,
    HEARD_OF,
    HYPOTHESES,
    MEANINGLESS,
    SAME,
    UNDO,
    WORKED,
    Position,
    Positions,
    Symbol,
    hear,
    symbol_of,
)
from .stream_told import ASKED, NOTHING_DECLARED, Asked, Declared, at_rest, came_to, misnamed

Contract = Callable[[Mapping[str, Json]], Declared | None]
"""What the tool of a node declares; None for a tool that nobody knows."""
OF_THE_JOB: Final = frozenset({*JOB, *BEGINNING, *SAID, "cancel_requested"})
"""The types of events that each step of the job has to hear of."""
PLAIN: Final[tuple[bool, Asked | None]] = (False, None)
HEARD: Final = {kind: (kind in OF_THE_JOB, ASKED.get(kind)) for kind in (*OF_THE_JOB, *ASKED)}
"""By type: whether each step hears of it, and what is asked of it beside the models; PLAIN for all others."""
STOPPED: Final = frozenset({"job_failed", "job_cancelled"})
"""The ends of a job that is not done."""
NOTHING_BESIDE: Final[Mapping[str, str]] = {}
SHORT: Final = 300
"""Shorter than a whole number that is no double: those have 309 digits."""


class Finding(NamedTuple):
    """Where a job leaves a model. line: of the event; None after the last one. about: which step, node or value."""

    line: int | None
    job_id: str
    about: str
    model: str
    divergence: Divergence

    def __str__(self) -> str:
        at = "" if self.line is None else f"line {self.line}: "
        about = f", {self.about!r}" if self.about else ""
        return f"{at}job {self.job_id!r}{about}, model of the {self.model}: {self.divergence}"


class Diverged(Exception):
    """The job has left a model."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


class Track:
    """One step: where it can be, its attempts, its first result, and what those who follow no more have said.

    undoings: the attempts of its compensation. group: the steps that move with it, if there are any; then its own position is
    that of the one that leads them.
    """

    __slots__ = (
        "again",
        "attempts",
        "came_to",
        "failed",
        "first",
        "group",
        "position",
        "refused",
        "shown",
        "step",
        "tool",
        "undoings",
        "undone",
    )

    def __init__(self, step: str, tool: Json, position: Position) -> None:
        self.step, self.tool, self.position, self.again = step, tool, position, NEVER
        self.attempts, self.undoings = Attempts(), Attempts()
        self.first: Json = None
        self.shown = ""
        self.failed = self.undone = False
        self.came_to: tuple[bytes, ...] = ()
        self.refused: dict[str, Callable[[], Finding]] = {}
        self.group: Group[Track] | None = None

    def alike(self) -> Hashable:
        """What decides about it while no event is its own: who has been refused is no longer in the position."""
        return self.position, self.failed, self.undone

    def adopt(self, other: "Track") -> None:
        """Go on from where another step is that was alike. What it was refused for each has itself."""
        self.position = other.position

    def compared(self, result: Json) -> str:
        """Whether a result is the step's first one, which is the first that anybody speaks of."""
        try:
            shown = repr(result)
            if shown == self.shown:  # equal for equal values only, and much quicker than canonical JSON
                return SAME
            if self.shown:
                return SAME if canonical(result) == canonical(self.first) else ANOTHER
            if not meaningful(shown):
                canonical(result)
        except (ValueError, OverflowError, RecursionError):
            return MEANINGLESS
        self.first, self.shown = result, shown
        return SAME

    def undoing(self, result: Json) -> str | None:
        """What is wrong with a result of the step's compensation; None for the first that anybody speaks of, and its like."""
        try:
            told = canonical(result)
        except (ValueError, OverflowError):
            return "its result has no canonical JSON"
        self.came_to = self.came_to or (told,)
        return None if told == self.came_to[0] else "its result is not the first one of the compensation"

    @property
    def name(self) -> str:
        """What the step's result is called in the model, as far as is known."""
        return "partial" if self.failed else "first"


def meaningful(shown: str) -> bool:
    """Whether what Python shows of a JSON value is enough to know that it has canonical JSON; nothing is said by False.

    It has none where it holds a number that is no double, or half a surrogate pair, which is shown with a backslash.
    """
    return len(shown) < SHORT and shown.isascii() and not ("inf" in shown or "nan" in shown or "\\" in shown)


class Job:
    """A live job."""

    __slots__ = ("before", "cancelled", "contract", "crowd", "declared", "elsewhere", "ended", "every_idle", "failed", "homes",
                 "idle", "job_id", "nodes", "pending", "positions", "readers", "records", "rows", "settled", "status", "tracks",
                 "undo_asked", "undo_keys", "version")  # fmt: skip

    def __init__(self, job_id: str, positions: Positions, contract: Contract | None, records: Records | None) -> None:
        self.job_id, self.positions, self.contract, self.records = job_id, positions, contract, records
        self.version, self.status = 0, "open"
        self.before: StoredEvent | None = None
        self.pending: tuple[int, StoredEvent] | None = None
        self.tracks: dict[str, Track] = {}
        self.crowd: Crowd[Track] = NOBODY
        self.idle: dict[Track, None] = {}  # in an order, so that of two steps always the same one is told of
        self.every_idle = False  # whether all the others are, too, behind them
        self.readers: Readers | None = None
        self.nodes: Mapping[str, Mapping[str, Json]] = {}
        self.settled = Settled({})
        self.declared = NOTHING_DECLARED
        self.ended: dict[str | None, int] = {}
        self.failed: dict[str | None, Json] = {}
        self.elsewhere: Elsewhere | None = None
        self.homes: dict[str | None, frozenset[str]] = {None: OF_NO_NODE}
        self.rows = Rows(records) if records else NO_ROWS
        self.undo_asked = self.cancelled = False
        self.undo_keys: set[Json] = set()

    def take(self, line: int, event: StoredEvent) -> None:
        """The next event. One that is read together with what follows waits for that. Raises Diverged."""
        self.version = event.version
        if self.pending is not None:
            pending, self.pending = self.pending, None
            self._read(*pending, event)
        if event.type in AHEAD:
            self.pending = line, event
        else:
            self._read(line, event, None)

    def end(self) -> None:
        """After the last event: no batch is half written, and the other records are the models' too. Raises Diverged."""
        if self.pending is not None:
            pending, self.pending = self.pending, None
            self._read(*pending, None)
        if self.records is not None:
            try:
                agree(self.records.line, self.status, self.version)
            except NotAJobError as error:
                self._refuse_records(None, "job", str(error))
            if wrong := self.rows.stray(self.nodes):
                self._refuse_records(None, "job", wrong)
        if self.readers is None:
            return
        self.crowd.scatter()
        for track in self.tracks.values():
            self._end_of(track)
        beside = self.records.beside() if self.records else None
        if beside is not None and (wrong := self.readers.stray(beside)):
            self._refuse_records(None, "gate", wrong)
        if refused := self.readers.rest(beside):
            raise Diverged(Finding(None, self.job_id, refused.about, refused.machine, refused.divergence))

    @property
    def undeclared(self) -> set[str]:
        """The tools of its steps of which whoever knows contracts knows none."""
        if self.contract is None:
            return set()
        return {str(track.tool) for name, track in self.tracks.items() if name not in self.declared}

    def release(self) -> None:
        """Let go of what refers to the job itself, so that it is gone at once, and not when garbage is next looked for."""
        self.tracks.clear()
        self.crowd = NOBODY
        self.idle.clear()

    def in_doubt(self) -> Iterator[tuple[str, Position]]:
        """The steps that have lost an attempt, or one of their compensation, and where they are."""
        for leader in self.crowd.leaders():
            at = leader.position
            if at.tried.lost or at.undone.lost:
                yield from ((track.step, at) for track in led_by(leader))

    def _read(self, line: int, event: StoredEvent, after: StoredEvent | None) -> None:
        """One event, between those beside it."""
        before = self.before
        if self.readers is None or before is None:
            self._begin(line, event)
            self.before = event
            return
        kind, step, data = event.type, event.step, event.data
        (of_the_job, asked), undoes, status = HEARD.get(kind, PLAIN), COMPENSATES in data, self.status
        own = None if step is None else self._apart(step) if self.crowd.groups else self.tracks.get(step)
        was = None if own is None else own.position
        resting = None if status == "open" else at_rest(status, self.cancelled, before, event)
        instead = () if resting is None else possible(self, event)
        if own is None and (kind not in self.homes.get(step, NO_TYPES) or FORGED[kind] is (event.epoch is not None)):
            self._refuse_event(line, event, of_no_step(event, self.homes))
        if self.elsewhere is not None:
            self._undoing(self.elsewhere, line, before, event, after)
        elif of_the_job:
            self._note(line, event)
            self._every(line, before, event, after, undoes)
        else:
            if undoes:
                self._note(line, event)
            if event.epoch is not None and (
                len(self.tracks) > (own is not None) if self.every_idle else len(self.idle) > (own in self.idle)
            ):
                self._elsewhere(line, event, own)
            if own is not None:
                if name := self._move(line, own, before, event, after, undoes):
                    raise Diverged(own.refused[name]())
                self.idle[own] = None
        beyond = (self.readers.every and self.elsewhere is None) or (
            kind == "command_committed" and data.get("kind") != "tool"
        )
        wrong = self._beyond_steps(line, event, after, of_the_job) if beyond else None
        wrong = asked(self, event, own) if wrong is None and asked is not None else wrong
        if wrong is None and resting is not None:
            self._tell(line, event, resting, instead, status, was)
        if (
            wrong is None
            and own is not None
            and (undoes or (data.get("tool_name") != own.tool and kind != "node_started"))
        ):
            wrong = misnamed(event, own.tool)
        if wrong is not None:
            self._tell(line, event, wrong, otherwise(event, was), status, was)
        self.before = event

    def _undoing(
        self, known: Elsewhere, line: int, before: StoredEvent, event: StoredEvent, after: StoredEvent | None
    ) -> None:
        """One event of a job that undoes a step of another one, and does nothing else."""
        queued = known.queued(event)
        if reason := known.wrong(event):
            self._refuse_event(line, event, reason)
        self._note(line, event)
        (track,), name = self.tracks.values(), None
        if not known.unseen:
            name = self._move(line, track, before, event, queued or after, COMPENSATES in event.data)
        if queued is not None and name is None:
            name = self._move(line, track, event, queued.replaced(version=event.version), None, False)
        if name is not None:
            raise Diverged(track.refused[name]())

    def _begin(self, line: int, event: StoredEvent) -> None:
        """The first two events: the job, and its plan."""
        if reason := out_of_place(event.version - 1, event):
            self._refuse_event(line, event, reason)
        if event.epoch is not None:
            self._refuse_event(line, event, by(event))
        if event.step is not None:
            self._refuse_event(line, event, "it is of no step")
        if event.version < len(BEGINNING):
            if event.data.get("job_id") != self.job_id:
                self._refuse_event(line, event, f"it is the beginning of job {event.data.get('job_id')!r}")
            return
        try:
            nodes = {node["id"]: node for node in event.data["plan"]["nodes"]}
            by_itself, self.nodes, self.settled = len(nodes) == 1, nodes, Settled(nodes)
            self.declared = known_of(nodes, self.contract) if self.contract else NOTHING_DECLARED
            for name, node in nodes.items():
                kind = kind_of(node)
                if "undoes" in node:
                    self._undoes(line, event, nodes)
                elif kind == "tool":
                    declared = self.declared.get(name)
                    contract = declared and declared.contract
                    self.tracks[name] = Track(name, node["tool"], self.positions.start(contract, by_itself))
                else:
                    self.homes[name] = OF_A_NODE[kind]
            self.readers = Readers(Subject(self.job_id, nodes), self.positions.semantics)
        except NONSENSE as error:
            self._refuse_event(line, event, f"its data mean nothing here: {type(error).__name__} {error}")
        self.crowd, self.every_idle = Crowd(self.tracks.values()), True
        for row in self.rows.first_effects():
            if row.step in self.tracks:
                self.tracks[row.step].compared(row.output)

    def _undoes(self, line: int, event: StoredEvent, nodes: Mapping[str, Mapping[str, Json]]) -> None:
        """A job that undoes a step of another one, and does nothing else: it goes on from what that has left. Raises Diverged."""
        if len(nodes) > 1:
            self._refuse_event(line, event, "a plan that undoes a step of another job has this one node")
        ((name, node),) = nodes.items()
        self.elsewhere = known = Elsewhere(name, node)
        position = self.positions.start(None, False, known.before)
        track = self.tracks[name] = Track(name, node["tool"], position)
        for each in known.before:
            hear(track.attempts, each)
        if self.records is not None:
            self.rows = Rows(known.beside(self.records))
        if known.happened:
            track.compared(known.result)

    def _note(self, line: int, event: StoredEvent) -> None:
        """What the whole job has to remember of an event. Raises Diverged for an end that there cannot be."""
        kind, data = event.type, event.data
        self.undo_asked = self.undo_asked or kind == "compensation_requested"
        self.cancelled = self.cancelled or kind == "cancel_requested"
        track, undoes = None if event.step is None else self.tracks.get(event.step), COMPENSATES in data
        if undoes:
            self.undo_keys.add(str(data.get("idempotency_key")))
        if track is not None:
            track.undone = track.undone or undoes
            if undoes and came_to(event) and (wrong := track.undoing(data.get("result"))):
                self._refuse_event(line, event, wrong)
            if kind in AGAIN:
                track.again = more(track, event, undoes)
        if kind in STOPPED:
            self._stopped(line, event)
        self.status = JOB.get(kind, self.status)

    def _stopped(self, line: int, event: StoredEvent) -> None:
        """The job ended at a node of its plan, not done; and where it says that it was cancelled, somebody had asked for that."""
        at = event.data.get("step")
        if type(at) is not str or at not in self.nodes:
            self._refuse_event(line, event, f"the plan has no node {at!r}, at which it would have ended")
        if event.type == "job_cancelled" and not self.cancelled:
            self._refuse_event(line, event, "nobody has asked for it")

    # The models of a step, and of its compensation.

    def _every(
        self, line: int, before: StoredEvent, event: StoredEvent, after: StoredEvent | None, undoes: bool
    ) -> None:
        """An event of the whole job: each step hears of it, one for all those that it, or an event beside it, does not name."""
        if self.crowd.groups:
            for track in named(self.tracks, before.step, event.step, after and after.step, event.data.get("step")):
                self.crowd.apart(track)
        wrong: dict[Track, str] = {}
        for track in self.crowd.leaders():
            if name := self._move(line, track, before, event, after, undoes):
                wrong[track] = name
        if wrong:
            self._first(wrong, self.tracks.values())
        self.crowd.gather()
        self.every_idle = True

    def _apart(self, step: str) -> Track | None:
        """The step of an event, which goes on by itself from here."""
        own = self.tracks.get(step)
        if own is not None:
            self.crowd.apart(own)
        return own

    def _first(self, wrong: Mapping[Track, str], order: Iterable[Track]) -> NoReturn:
        """Tell of the first step, in an order, that does not follow or whose leader does not. Raises Diverged."""
        first = next(track for track in order if leader_of(track) in wrong)
        raise Diverged(first.refused[wrong[leader_of(first)]]())

    def _move(
        self,
        line: int,
        track: Track,
        before: StoredEvent,
        event: StoredEvent,
        after: StoredEvent | None,
        undoes: bool,
    ) -> str | None:
        """Let a step's followers take an event: who is refused, if that counts. undoes: whether it is of a compensation."""
        result, data = ABSENT, event.data
        if "result" in data and event.step == track.step and not apart(event):
            result = track.compared(data["result"])
        if "failed" in data and event.step == track.step:
            track.failed = track.failed or tells_failure(event)
        tried = track.undoings if undoes else track.attempts
        wrong = self._go(line, track, symbol_of(track.step, before, event, after, result, tried, undoes), event)
        if wrong is None and event.type in HEARD_OF and event.step == track.step:
            hear(tried, event)
        return wrong

    def _elsewhere(self, line: int, event: StoredEvent, mine: Track | None) -> None:
        """A worker's event of one step tells the others that a worker is at work. Once is enough until they hear of more."""
        others, wrong = self.crowd.leaders() if self.every_idle else list(self.idle), dict[Track, str]()
        for track in others:
            if track is not mine and (name := self._go(line, track, WORKED, event)):
                wrong[track] = name
        if wrong:
            self._first(wrong, (*self.idle, *self.tracks.values()))
        self.idle = {mine: None} if mine is not None and (self.every_idle or mine in self.idle) else {}
        self.every_idle = False

    def _go(self, line: int, track: Track, symbol: Symbol, event: StoredEvent) -> str | None:
        """On to the next position, with a note of who does not follow, and for whom else: who that is, where it counts."""
        position = track.position
        try:
            after = position.moves.get(symbol) or self.positions.move(position, symbol)
        except TypeError:
            self._refuse_event(line, event, "its data mean nothing here: they are no plain values")
        if after is position and not track.refused:
            return None
        track.position = after
        if after.size < position.size:
            for name in position.living.keys() - after.living.keys():
                for each in led_by(track):  # each has as many refusals as there are followers, however long the job is
                    each.refused[name] = partial(self._words, line, each.step, position, symbol, name, event)
            return self._judge(track)
        if track.refused and (track.failed or track.undone or self.undo_asked):  # else as when it was judged last
            return self._judge(track)
        return None

    def _words(
        self, line: int, step: str, position: Position, symbol: Symbol, name: str, event: StoredEvent
    ) -> Finding:
        """What one who does not follow has to say; said only where it counts, since the words cost much more than the step."""
        model = "compensation" if name == UNDO else "step"
        return Finding(line, self.job_id, step, model, self.positions.words(position, symbol, name, event))

    def _judge(self, track: Track) -> str | None:
        """Which refusal counts: of a compensation if there is one; under a name of the result, once it is known."""
        refused = track.refused
        if UNDO in refused and (self.undo_asked or track.undone):
            return UNDO
        if track.name in refused and (track.failed or track.position.living.keys().isdisjoint(HYPOTHESES)):
            return track.name
        return None

    def _end_of(self, track: Track) -> None:
        """A step after the last event of its job."""
        step, beside = track.step, NOTHING_BESIDE
        if self.records is not None:
            beside = self._beside(track)
        if track.name in track.refused:
            raise Diverged(track.refused[track.name]())
        if found := self.positions.rest(track.position, track.name, beside):
            raise Diverged(Finding(None, self.job_id, step, "step", found))
        undo = track.position.living.get(UNDO) if self.undo_asked or track.undone else None
        if undo is not None:
            assert isinstance(undo, ReaderFollower)
            if found := undo.rest(self.rows.renamed(step) if self.records else None):
                raise Diverged(Finding(None, self.job_id, step, "compensation", found))
        for result in self.rows.came_to(step, self.undo_keys) if track.came_to else ():
            if wrong := track.undoing(result):
                self._refuse_records(step, "compensation", f"in a record of it {wrong}")

    def _beside(self, track: Track) -> Mapping[str, str]:
        """What ledger and effect store say of a step, in the words of its model. Raises Diverged."""
        ledger, effects = self.rows.of(track.step, self.undo_keys)
        track.failed = track.failed or any(row.failed for row in effects)
        try:
            return records_state(StoredJob(self.job_id, (), ledger, effects), track.step, _told(track))
        except (NotAJobError, ValueError) as error:
            self._refuse_records(track.step, "step", str(error))

    # Beside the steps.

    def _beyond_steps(self, line: int, event: StoredEvent, after: StoredEvent | None, of_the_job: bool) -> str | None:
        """Let the readers of gates and recorded values take an event; what is wrong with one that is of none of them."""
        assert self.readers is not None
        try:
            refused: Refused | None = self.readers.take(event, after, of_the_job)
        except NONSENSE as error:
            return f"its data mean nothing here: {type(error).__name__} {error}"
        if refused:
            raise Diverged(Finding(line, self.job_id, refused.about, refused.machine, refused.divergence))
        return None

    # What no model says.

    def lost(self, line: int | None) -> Finding:
        """What is said of data in which Python itself gets lost. They are not shown: it would get lost again."""
        where = "after the last event" if line is None else "an event here"
        wrong = "its data are nested too deeply to be followed"
        said = Divergence(None, where, possible(self, None), self._state(self.status, None), wrong)
        return Finding(line, self.job_id, "", "job", said)

    def _refuse_event(self, line: int, event: StoredEvent, reason: str) -> NoReturn:
        """No model is shown the event. Raises Diverged."""
        self._tell(line, event, reason, possible(self, event), self.status, self._place(event.step))

    def _tell(
        self, line: int, event: StoredEvent, reason: str, instead: tuple[str, ...], status: str, was: Position | None
    ) -> NoReturn:
        """What is wrong with an event beside the models. status, was: of the job, and of the event's step, before it."""
        where = f"event {event.version}, {describe(event)}"
        said = Divergence(event.version - 1, where, instead, self._state(status, was), reason)
        raise Diverged(Finding(line, self.job_id, event.step or "", "job", said))

    def _refuse_records(self, about: str | None, model: str, reason: str) -> NoReturn:
        """The records do not agree with the events, which may go on. Raises Diverged."""
        state = self._state(self.status, self._place(about))
        said = Divergence(None, "after the last event", (AGREEING, *possible(self, None)), state, reason)
        raise Diverged(Finding(None, self.job_id, about or "", model, said))

    def _place(self, step: str | None) -> Position | None:
        """Where a step is; None for what is none."""
        return self.tracks[step].position if step is not None and step in self.tracks else None

    def _state(self, status: str, was: Position | None) -> Mapping[str, str]:
        """The state of the job, or of one of its steps, as far as it follows from the events."""
        if was is not None and (told := state_of(was)):
            return told
        return {"job": "none" if self.before is None else status, "cancel": "yes" if self.cancelled else "no"}


def known_of(nodes: Mapping[str, Mapping[str, Json]], contract: Contract) -> dict[str, Declared]:
    """What is known of the tools of a plan, by step."""
    steps = {name: contract(node) for name, node in nodes.items() if "tool" in node}
    return {name: declared for name, declared in steps.items() if declared is not None}


AGAIN: Final = frozenset({"job_requeued", "invocation_resolved"})
"""The types of events behind which a step may be tried again, beyond its retries."""


def more(track: Track, event: StoredEvent, undoes: bool) -> Again:
    """What may be done again of a step, or of its compensation, once one of these events has happened."""
    again = track.again
    if event.type == "job_requeued":
        return again._replace(requeues=again.requeues + 1)
    tried = track.position.undone if undoes else track.position.tried
    if event.data.get("answer") == "happened" or not (event.epoch is None or tried.swallowed):
        return again  # it happened, or its tool failed: a person's word alone is then worth another attempt
    if undoes:
        return again._replace(undoings_forgiven=again.undoings_forgiven + 1)
    return again._replace(forgiven=again.forgiven + 1)


def _told(track: Track) -> Callable[[Json], str]:
    """What a result in a record is called in the model."""

    def told(result: Json) -> str:
        compared = track.compared(result)
        if compared == MEANINGLESS:
            raise ValueError("a result has no canonical JSON")
        return track.name if compared == SAME else "other"

    return told
