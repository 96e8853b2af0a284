"""A word of a schedule, read as the model has it: what was performed, what became of it, where its worker is then.

What a command was answered is read from the turn that was told it. Requests, and how often the effect happened, are the world's.
Workers of a fleet have letters, the first that is free from their claim on; a machine of one worker has none.
"""

from typing import Final, NamedTuple

from ..runtime.commands import Append, Claim, Command, Execute, Pause, Renew
from ..runtime.history import History
from ..runtime.store import StaleEpoch, VersionConflict
from ..runtime.tool import Absent, Happened
from .conform_follow import JOB_CHANGES
from .enumerate_inputs import RECORD
from .enumerate_records import Records, whose
from .enumerate_sets import Reading
from .interleave_acts import stores_of
from .interleave_case import QUIET
from .interleave_floor import Floor, Move, State
from .interleave_steps import NO_ONE, Actor
from .interleave_store import Name
from .interleave_turn import Answer, Turn
from .interleave_world import Request, World

HEARD: Final = {
    "answer": ("name:reply: result|reply: partial effect|reply: another",),
    "refused": ("name:world: refuses", "name:reply: no effect"),
    "timeout": ("name:no reply",),
}
"""What a worker hears of its request, by how the rules begin."""
SAID: Final = {
    "resolve": "person: happened|person: did not happen|elsewhere: resolved",
    "cancel": "client: cancels",
    "accept": "person: accepts the record",
    "undo": "person: has it compensated",
    "signal": "elsewhere: signalled",
    "other": "elsewhere: resolved",
    "undone": "person: has it compensated",
    "announce": "elsewhere: signalled",
}
"""What people and clients do, likewise."""
UNSEEN: Final = ("release", "look", "heartbeat", "pause")
"""What the model has no row for: its workers have no leases, and time passes by itself."""
REFUSED_BY: Final[dict[Name, str]] = {"stream": "events", "ledger": "ledger", "effects": "effects"}
"""The stores that refuse a write, as a fleet's rows have them."""
LET_GO: Final = (("crash",), *((f"name:refused by {store}",) for store in REFUSED_BY.values()))
"""What ends a worker's turn by itself."""
OUTRUN: Final = ("name:version conflict",)
"""What becomes of an append that somebody was faster than, and that is not made again."""
NOT_REBASED: Final = ("park", "append_waiting")
"""Writes that let go of a job: what was said before them is to be heard first (T-WRITE)."""
READ_ON: Final = ("fence_ledger", "fence_effects")
"""What is read after F1."""
UNANNOUNCED: Final = ("approve", "deny", "withdraw", "foreign")
"""What people say to the contract store alone."""
STRAYED: Final = ("do:execute", "name:world: refuses", "name:no reply")
"""A tool that asks otherwise than before has sent no request, and nobody but it knows that."""
NOBODY: Final = "-"
"""Whose rules those of the world, of people and of late requests are, where workers have letters."""

Letters = tuple[tuple[int, str], ...]
"""The workers that have begun, by number, with their letters."""


class Seen(NamedTuple):
    """A word, read; the letters after it."""

    reading: Reading
    letters: Letters


class Reader:
    """What a floor's words mean. letters: of the model's workers; one without a name where it has one at a time."""

    def __init__(self, floor: Floor, letters: tuple[str, ...] = ("",)) -> None:
        self.floor, self.letters = floor, letters
        self.records = Records(floor)
        self.named = letters != ("",)
        self._words: dict[str, tuple[int, str]] = {}
        self._readings: dict[tuple[object, ...], Reading] = {}
        self._at_work: dict[tuple[Letters, tuple[Actor, ...]], Letters] = {}
        self.nobody = NOBODY if self.named else ""
        self.turns: set[int] = set()
        """What workers' words have led to."""

    @property
    def declared(self) -> dict[str, str]:
        """The case's tool as the model's configuration fields."""
        case = self.floor.case
        return {"idempotent": "yes" if case.idempotent else "no", "on_unknown": case.on_unknown, "look": case.look}

    def durable(self, state: State) -> dict[str, str]:
        """What the stores hold, in the model's fields. Raises NotAJobError for records that no state of the model stands for."""
        return self.records.durable(state)

    def read(self, state: State, names: Letters, move: Move) -> Seen:
        """What a move can have been in the model."""
        word, after = move.word, move.state
        unverified = self.records.unverified(after)
        if word.startswith("worker-"):
            return self._worker(state, names, move, unverified)
        who, _, what = word.partition(":")
        kept = self._kept(names, after)
        if who == "world":
            ops, letter = self._served(state, names, what)
        elif who == "clock":
            gone = ("gone",) * len(self.floor.worlds[state.world].pending)
            ops, letter = (*(self._of("crash", x) for x in self._left(state, names, after)), *gone, "time"), ""
        else:
            ops, letter = self._said(state, what.partition(":")[0]), self.nobody
        end = "any" if self.named else self._end(after)
        return Seen(Reading(ops, end, unverified, letter), kept)

    def _of(self, op: str, letter: str) -> str:
        """An op of a certain worker, where workers have names."""
        return f"{op}@{letter}" if self.named else op

    # Workers.

    def _worker(self, state: State, names: Letters, move: Move, unverified: bool) -> Seen:
        """A worker's word: once for each turn that it was said in, and each that it led to."""
        word, after, _, was, now = move
        owner, what = self._parted(word)
        letter = next((x for number, x in names if number == owner), None)
        known = names
        if letter is None:
            taken = [x for _, x in names]
            letter = next(x for x in self.letters if not x or x not in taken)
            known = (*names, (owner, letter))
        barred = what == "timeout" and self._barred(state, names, letter)
        quiet = self._quiet(state) if what.startswith("query") else ()
        key = (word, letter, was, now, unverified, barred, quiet)
        if key not in self._readings:
            self.turns.add(max(now[0], -1))
            self._readings[key] = self._read(what, letter, was, now, unverified, barred, quiet)
        return Seen(self._readings[key], self._kept(known, after))

    def _read(
        self,
        what: str,
        letter: str,
        was: int,
        now: Actor,
        unverified: bool,
        barred: bool,
        quiet: tuple[str, ...],
    ) -> Reading:
        before, follows = self._turn(was), self._turn(now[0])
        ops = self._ops(what, before, follows)
        if before is not None and self._void(before):
            ops = ("stay",)
        if barred:
            ops = ("name:world: refuses", *ops)
        if what == "query" and ops != ("stay",):
            ops = (*quiet, *ops)
        idle = before is None or isinstance(before.command, (Claim, type(None))) or self._void(before)
        if not idle and follows is not None and follows.stopped and ops not in LET_GO:
            ops = (*ops, "crash")
        return Reading(ops, self._place(now), unverified, letter)

    def _parted(self, word: str) -> tuple[int, str]:
        """A worker's number, and what it does."""
        if word not in self._words:
            who, _, what = word.partition(":")
            self._words[word] = int(who.removeprefix("worker-")), what
        return self._words[word]

    def _turn(self, number: int) -> Turn | None:
        return self.floor.turns[number] if number >= 0 else None

    def _void(self, turn: Turn) -> bool:
        """Whether a worker has read that the job is not open: it reads on, and ends. In the model it ends at once."""
        if turn.command is None or not (turn.command.boundary in READ_ON or isinstance(turn.command, Renew)):
            return False
        while turn.answer is not None:
            events, turn = turn.answer.value, self.floor.turns[turn.before]
            if turn.command is None or turn.command.boundary == "fence_events":
                return isinstance(events, list) and History(events).status != "open"
            if turn.command.boundary not in READ_ON and not isinstance(turn.command, Renew):
                return False
        return False

    def _ops(self, what: str, before: Turn | None, then: Turn | None) -> tuple[str, ...]:
        boundary, _, fault = what.partition(":")
        if boundary in HEARD:
            return HEARD[boundary]
        command = before.command if before is not None else None
        if boundary == "crash":
            return ("stay",) if isinstance(command, Claim | None) else ("crash",)
        if boundary in UNSEEN or fault == "error":
            return ("stay",)
        if fault == "down":
            return ("stay",) if boundary == "claim" else ("crash",)
        if fault == "lost":
            return (f"lost:{boundary}",)
        if boundary == "claim" and (then is None or then.command is None):
            return ("stay",)
        return self._answered(boundary, command, then)

    def _quiet(self, state: State) -> tuple[str, ...]:
        """Time may have passed: the clock stands D behind the last possible sending, in whoever's hands the job was then."""
        lease = self.floor.acts.lease(state.stores)
        over = lease is not None and lease.previous_expiry + QUIET <= state.at
        return ("time@",) if over else ()

    def _answered(self, boundary: str, command: Command | None, then: Turn | None) -> tuple[str, ...]:
        """A command that the store, or whoever was asked, has answered."""
        answer: Answer | None = then.answer if then is not None else None
        if answer is not None and isinstance(answer.error, StaleEpoch):
            return self._refused(command)
        if answer is not None and isinstance(answer.error, VersionConflict):
            assert then is not None
            again = OUTRUN if self.named else ("crash", "do:claim")
            return ("stay",) if rebased(boundary, then.command) else again
        if command is not None and (kind := whose(command)) != "own":
            changes = kind == "other" and boundary in JOB_CHANGES
            return (f"emits:{JOB_CHANGES[boundary]}",) if changes else ("stay",)
        if boundary == "query" and self.named and answer is not None:
            return (known(answer.value),)
        done = "stay" if boundary == RECORD else f"do:{boundary}"
        strayed = then is not None and then.command is not None and then.command.boundary == "append_unknown"
        return (done, *STRAYED) if strayed and boundary in ("append_started", RECORD) else (done,)

    def _refused(self, command: Command | None) -> tuple[str, ...]:
        """A store has refused a command: of several workers' it is told which store it was, but for one of another step: to this
        step its worker is gone.
        """
        return ("crash",) if not self.named or command is None or whose(command) == "other" else (refusal(command),)

    def _end(self, state: State) -> str:
        """Where the only worker is."""
        return self._place(next((actor for actor in state.actors if actor[0] >= 0), NO_ONE))

    def _place(self, actor: Actor) -> str:
        """Where a worker is."""
        turn = self._turn(actor[0])
        if turn is None or isinstance(turn.command, Claim | None) or self._void(turn):
            return "at:idle"
        if actor[1] == "sent":
            return "at:await_reply"
        kind = whose(turn.command)
        if kind == "undo":
            return "at:compensate"
        if kind == "other" or isinstance(turn.command, Pause | Renew):
            return "past"
        boundary = turn.command.boundary
        return f"next:{'execute' if boundary == RECORD else boundary}"

    def _said(self, state: State, what: str) -> tuple[str, ...]:
        """What a person or client has said of the job as it was."""
        status = self.floor.acts.stream(state.stores).status
        if what in UNANNOUNCED:
            return ("stay",)
        if status == "open" and what in ("undo", "undo-other"):
            return ("stay",)  # it is read by whoever works next, or on
        if status != "waiting" and what == "signal":
            return ("stay",)  # likewise; a park that is slower than it is a conflict
        if status == "waiting" and what == "undo":
            what = "signal"
        return (*self._quiet(state), f"name:{SAID[what]}")

    # Letters.

    def _kept(self, names: Letters, after: State) -> Letters:
        """The letters of the workers that are still at work."""
        if not names:
            return names
        key = (names, after.actors)
        if key not in self._at_work:
            turns = [self.floor.turns[number] for number, _ in after.actors if number >= 0]
            owners = {turn.owner for turn in turns if turn.command is not None}
            self._at_work[key] = tuple(sorted(each for each in names if each[0] in owners))
        return self._at_work[key]

    def _left(self, state: State, names: Letters, after: State) -> list[str]:
        """The letters of the workers that the time has overtaken: they are gone."""
        there = {number for number, _ in after.actors}
        gone = [self.floor.turns[n] for n, _ in state.actors if n >= 0 and n not in there]
        return [dict(names)[turn.owner] for turn in gone if not isinstance(turn.command, Claim | None)]

    # The world.

    def world(self, state: State, names: Letters) -> dict[str, str]:
        """The world's fields: each living worker's request, how many others are on the wire, how often the effect happened."""
        world = self.floor.worlds[state.world]
        mine = self._mine(state, names, world)
        others = [r for r in world.pending if r not in mine.values() and not r.effect and r.until > 0]
        late = sum((r.epoch, r.attempt) > world.fence for r in others)
        told = {f"{x}.request" if x else "request": answer(mine.get(x), world) for x in self.letters}
        return {**told, "wire": str(min(late, 2)), "effects": str(min(len(world.effects), 2))}

    def _mine(self, state: State, names: Letters, world: World) -> dict[str, Request]:
        """The request of each worker that waits for an answer."""
        found = {}
        for number, phase in state.actors:
            if phase == "sent":
                turn = self.floor.turns[number]
                assert isinstance(turn.command, Execute)
                context = turn.command.context
                found[dict(names)[turn.owner]] = world.find(context.fencing_token, context.attempt)
        return found

    def _barred(self, state: State, names: Letters, letter: str) -> bool:
        """Whether a worker waits for a request that somebody's look has barred: it is refused, whenever it arrives."""
        world = self.floor.worlds[state.world]
        request = self._mine(state, names, world).get(letter)
        if request is None or request.effect or request.until <= 0:
            return False
        return (request.epoch, request.attempt) <= world.fence

    def _served(self, state: State, names: Letters, what: str) -> tuple[tuple[str, ...], str]:
        """A request arrives, a living worker's or a late one. A late one that a look has barred does nothing."""
        epoch, attempt = map(int, what.rpartition(":")[2].split("."))
        world = self.floor.worlds[state.world]
        request = world.find(epoch, attempt)
        for letter, mine in self._mine(state, names, world).items():
            if mine == request:
                return ("name:world: ",), letter
        barred = (epoch, attempt) <= world.fence
        return (("stay",) if barred else ("name:world: ",)), self.nobody


def refusal(command: Command) -> str:
    """That a store has refused a command, by the store."""
    (store,) = stores_of(command)
    return f"name:refused by {REFUSED_BY[store]}"


def rebased(boundary: str, then: Command | None) -> bool:
    """Whether an append that somebody was faster than is made again, behind what was said: who lets go has to hear that first."""
    return isinstance(then, Append) and then.boundary == boundary and boundary not in NOT_REBASED


def known(told: object) -> str:
    """What a worker was told of its tool: by several it is not always seen at which command it is then."""
    match told:
        case Happened():
            return "name:query: happened"
        case Absent():
            return "name:query: absent"
        case _:
            return "name:query: not yet known"


def answer(request: Request | None, world: World) -> str:
    """A living worker's request in the model's words."""
    if request is None:
        return "none"
    if not request.effect:
        return "sent" if request.until > 0 else "refused"
    return "partial" if request.effect == world.partial else "first" if request.effect == 1 else "other"
