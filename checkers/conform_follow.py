"""A step of the model that follows a real run, move by move: the set of states it can be in, given what was seen done.

The rig, which performs the real moves, says which boundary was performed, how the world answered, where a crash struck. Each
leaves only the model states in which a rule for it is enabled. Then the durable fields and the count of effects are compared
with the real ones; states that differ are dropped. An empty set is a disagreement between model and code.

Beside each state stands what was taken on *every* run to it that fits what was seen: coverage counts that alone, and nothing
that was merely possible.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from ..model.boundaries import CATCH_UP
from ..model.machine import Actor, Machine, Rule, Scope
from ..model.step import normal
from .explore import Engine

ELSEWHERE: Final = "elsewhere"
LOST: Final = "(answer lost)"
PARKED: Final = "job_parked"
UNVERIFIED: Final = "confirm: match"
"""What happens, unseen, to a record that nobody verifies: no verifier is there, or no change is recorded (A-VERIFIER)."""
PLACE: Final = {recovered: place for place, recovered in CATCH_UP.items()}
"""A catch-up write is, in the model, the write that it repeats."""

JOB_CHANGES: Final = {
    "park": "job_parked",
    "append_failed": "job_failed",
    "append_cancelled": "job_cancelled",
    "append_waiting": "job_waiting",
    "requeue": "job_requeued",
}
"""By boundary, the events by which one step changes the job, of which the others hear."""
EVERYBODYS: Final = ("fence_events", "fence_ledger", "fence_effects", "append_completed")
"""Boundaries that every step of a job comes to."""


class EdgeClass(NamedTuple):
    """The edges of a machine's state graph that are alike: one rule, from states that are equal in all that it reads or writes.

    rule: its position. seen: those fields of the state before, packed.
    """

    rule: int
    seen: int


class Arc(NamedTuple):
    """An edge of a quotient of the state graph: one rule, from a state that is in one of its nodes to a state that is in one."""

    source: str
    rule: int
    target: str


Edge = EdgeClass | Arc
"""What is counted as taken."""
Node = Callable[[int], str]
"""The node of a quotient in which a packed state is."""


class Disagreement(AssertionError):
    """Model and code part: says where, which fields differ, what the model allowed."""


class NoMoveError(LookupError):
    """A move of a program that cannot be made where it stands: there is no such worker, session or contract."""


def made(move: Callable[..., Any], *arguments: Any) -> Any:
    """What a rig says of a move. An exception that no rig expects parts model and code like any other answer, beneath a client's
    call as beneath a worker's turn: so it is written down, made shorter and given a key. Raises Disagreement, NoMoveError.
    """
    try:
        return move(*arguments)
    except (Disagreement, NoMoveError):
        raise
    except Exception as error:
        raise Disagreement(f"{move.__name__}: the code raised {type(error).__name__}: {error}") from error


class Known(Protocol):
    """What is known of a step beside its records: see `Follower`."""

    @property
    def verified(self) -> bool:
        """Whether its recorded changes are looked at."""

    @property
    def undoes(self) -> str:
        """What its tool says of undoing its effect."""

    @property
    def asked(self) -> bool:
        """Whether somebody has asked for that."""

    @property
    def among_others(self) -> bool:
        """Whether its job has other steps."""


def counted_as(engine: Engine, node: Node | None = None) -> Callable[[int, int, int], tuple[Edge, ...]]:
    """What a step counts as, by state, rule and state after: its class, and the edge of a quotient, if one is given."""
    masks = [mask for mask, _ in engine.single]

    def counted(state: int, rule: int, after: int) -> tuple[Edge, ...]:
        alike = EdgeClass(rule, state & masks[rule])
        return (alike,) if node is None else (alike, Arc(node(state), rule, node(after)))

    return counted


class Model:
    """A machine ready to be followed, and what some walks have seen of it. engine: its engine, where there is one already.

    node: of the quotient whose edges are counted beside the classes, where they are. edges: see `counted_as`.
    """

    def __init__(self, machine: Machine, engine: Engine | None = None, node: Node | None = None) -> None:
        self.machine, self.engine = machine, engine or Engine(machine)
        self.edges = counted_as(self.engine, node)
        self.packing = self.engine.packing
        durable = [f.name for f in machine.fields if f.scope is Scope.DURABLE]
        self.durable, self.seen = self.packing.mask(durable), self.packing.mask([*durable, "effects"])
        self.starts: dict[tuple[str, ...], dict[int, int]] = {}
        self.numbers: dict[Edge, int] = {}
        self.taken = 0
        self.states_met: set[int] = set()
        self.comparisons = 0

    def start(self, declared: Mapping[str, str]) -> dict[int, int]:
        """The initial states under a tool's contract, in the form that a follower keeps."""
        declared = normal(declared)
        key = tuple(declared.values())
        if key not in self.starts:
            views = ((self.machine.view(state), state) for state in self.machine.initial_states())
            fitting = [s for view, s in views if all(view[name] == value for name, value in declared.items())]
            self.starts[key] = {self.packing.pack(state): 0 for state in fitting}
        return dict(self.starts[key])

    def bits(self, state: int, rule: int, after: int) -> int:
        """What a step counts as, as the bits by which this model knows it."""
        found = 0
        for edge in self.edges(state, rule, after):
            found |= 1 << self.numbers.setdefault(edge, len(self.numbers))
        return found

    @property
    def kept(self) -> tuple[dict[Edge, int], int, set[int], int]:
        """What was seen so far, for a model in another process to go on with."""
        return self.numbers, self.taken, self.states_met, self.comparisons

    @kept.setter
    def kept(self, seen: tuple[dict[Edge, int], int, set[int], int]) -> None:
        self.numbers, self.taken, self.states_met, self.comparisons = seen

    def edges_of(self, bits: int) -> set[Edge]:
        """The edges that some bits stand for."""
        return {edge for edge, number in self.numbers.items() if bits >> number & 1}

    @property
    def edges_taken(self) -> set[Edge]:
        """What was taken, whatever else is not known of the runs."""
        return self.edges_of(self.taken)

    @property
    def classes_taken(self) -> set[EdgeClass]:
        """The classes among these."""
        return {edge for edge in self.edges_taken if isinstance(edge, EdgeClass)}

    @property
    def rules_taken(self) -> set[int]:
        """The rules of these."""
        return {edge.rule for edge in self.classes_taken}


class Follower:
    """One step's model states, each with the edges that are on every run to it, as bits (`Model.bits`).

    verified: its recorded changes are looked at before they are injected, and each look is performed. undoes: what its tool
    says of undoing its effect; asked: somebody has asked for that. among_others: its job has other steps, of which one may be in
    doubt. met: the durable states in which it was seen, packed.
    """

    undoes = ""
    asked = among_others = False

    def __init__(self, model: Model, declared: Mapping[str, str], name: str, verified: bool = False) -> None:
        self.verified = verified
        self.model, self.engine, self.machine, self.packing = model, model.engine, model.machine, model.packing
        self.name = name
        self.states = model.start(declared)
        self.met: set[int] = set()

    # The moves of the real run.

    def perform(self, boundary: str, lost: bool = False, leading_to: Collection[str] = (), called: str = "") -> None:
        """A boundary of this step was performed; `leading_to`: the places, where the reply decides it.

        `called`: how the rule's name begins, where the reply says that. `lost`: the answer was. Where nothing was written
        (a look, or a write that had landed before), the step is where it was.
        """
        place = PLACE.get(boundary, boundary)

        def fits(rule: Rule) -> bool:
            performs = rule.boundary == place and rule.actor is Actor.WORKER
            fitting = (not leading_to or rule.writes.get("at") in leading_to) and rule.name.startswith(called)
            return performs and not rule.name.endswith(LOST) and fitting

        if lost:
            self._take_lost(fits, place)
        else:
            self._take(fits, f"performs {boundary}")

    def elsewhere(self, event: str) -> None:
        """Another step changed the job. To a step in doubt it is the same whether that one parks or it does so itself.

        Its own row is followed then, and nothing that leads there counts as taken.
        """
        self._close()
        before, sure = self.states, self.sure
        self.states = self._after(lambda r: r.name.startswith(ELSEWHERE) and event in r.emits[:1])
        if not self.states and event == PARKED:
            self.states = before
            self.states = dict.fromkeys(self._after(lambda r: r.boundary == "park" and event in r.emits[:1]), sure)
        self._expect(f"sees {event} of another step", before)

    def person(self, happened: bool) -> None:
        """A person answered about this step."""
        self._take(
            lambda r: r.actor is Actor.PERSON and r.boundary == "resolve" and ("resolved" in r.writes) == happened,
            f"is resolved: {'happened' if happened else 'did not happen'}",
        )

    def outside(self, name: str) -> None:
        """A person or a client did this: a rule by name, without what stands after a comma."""
        self._take(named(name), name)

    def world(self, *names: str) -> None:
        """The world, or the worker facing it, did this, then that: rules by name, without what stands after a comma."""
        for name in names:
            self._take(named(name), name, silent=False)

    def time_passes(self) -> None:
        """Long enough for every request to have ended."""
        self._take(lambda rule: rule.actor is Actor.CLOCK, "time passes")

    def crash(self, before: str | None = None, leading_to: Collection[str] = ()) -> None:
        """The worker is gone; `before`: the boundary of this step that it was about to perform; `leading_to`: as in `perform`."""
        self._close()
        if before is not None:
            place = PLACE.get(before, before)
            self.states = {
                state: sure
                for state, sure in self.states.items()
                if any(
                    rule.boundary == place and (not leading_to or rule.writes.get("at") in leading_to)
                    for rule in (self.machine.rules[i] for _, i in self.engine.steps(state))
                )
            }
            self._expect(f"is about to perform {before}", {})
        idle = {state: sure for state, sure in self.states.items() if self.value(state, "at") == "idle"}
        struck = self._after(lambda rule: rule.actor is Actor.CRASH)
        self.states = merged([*struck.items(), *idle.items()])

    def undoing(self) -> None:
        """The worker is at work on undoing the step's effect, under a protocol of its own."""
        self._close()
        before = self.states
        self.states = {state: sure for state, sure in before.items() if self.value(state, "at") == "compensate"}
        self._expect("is undoing the effect", before)

    def rest(self, job: str | None = None) -> None:
        """The turn is over, the job in this state (None: there was nothing to claim)."""
        self._close()
        before = self.states
        self.states = {
            state: sure
            for state, sure in before.items()
            if self.value(state, "at") == "idle"
            and (self.value(state, "job") == job if job else self.value(state, "job") != "open")
        }
        self._expect(f"comes to rest, {job or 'with nothing to claim'}", before)

    def observe(self, real: Mapping[str, str], effects: int) -> None:
        """Compare with what the stores hold, and with how often the effect happened."""
        codes, shift = self.packing.codes, self.packing.shift
        fields = {**real, "effects": str(min(effects, 2))}
        code = sum(codes[name][value] << shift[name] for name, value in fields.items())
        before = self.states
        self.states = {state: sure for state, sure in before.items() if state & self.model.seen == code}
        if not self.states:
            raise Disagreement(f"{self.name}: {self._difference(before, fields)} (the code, the model)")
        self.model.taken |= self.sure
        durable = code & self.model.durable
        self.met.add(durable)
        self.model.states_met.add(durable)
        self.model.comparisons += 1

    @property
    def sure(self) -> int:
        """What was taken on every run that fits what was seen so far, as bits."""
        first, *others = self.states.values()
        for bits in others:
            first &= bits
        return first

    # The set.

    def value(self, state: int, field: str) -> str:
        """A field of a packed state."""
        return self.machine.by_name[field].values[self.packing.code(state, field)]

    def _take(self, fits: Callable[[Rule], bool], what: str, silent: bool = True) -> None:
        """Every state that a fitting rule leads to, after decisions that leave no trace."""
        if silent:
            self._close()
        before = self.states
        self.states = self._after(fits)
        self._expect(what, before)

    def _take_lost(self, fits: Callable[[Rule], bool], place: str) -> None:
        """The same where the answer is lost: the rule that says so, where there is one."""
        self._close()
        before = self.states
        written = self._after(lambda rule: rule.boundary == place and rule.name.endswith(LOST))
        self.states = written or {
            state: sure
            for state, sure in before.items()
            if any(fits(self.machine.rules[index]) for _, index in self.engine.steps(state))
        }
        self._expect(f"performs {place}, its answer is lost", before)

    def _after(self, fits: Callable[[Rule], bool]) -> dict[int, int]:
        return merged(
            (state ^ delta, sure | self.model.bits(state, index, state ^ delta))
            for state, sure in self.states.items()
            for delta, index in self.engine.steps(state)
            if fits(self.machine.rules[index])
        )

    def _close(self) -> None:
        """Add what the worker can have decided on the way: rules without boundary, event or contact with the world."""
        todo = list(self.states)
        while todo:
            state = todo.pop()
            for delta, index in self.engine.steps(state):
                if unseen(self.machine.rules[index], self):
                    after = state ^ delta
                    sure = self.states[state] | self.model.bits(state, index, after)
                    known = self.states.get(after, sure)
                    if after not in self.states or known & sure != known:
                        self.states[after] = known & sure
                        todo.append(after)

    def _expect(self, what: str, before: Mapping[int, int]) -> None:
        if not self.states:
            raise Disagreement(f"{self.name}: the code {what}, the model cannot. {self._possible(before)}")

    def _possible(self, states: Mapping[int, int]) -> str:
        rules = {self.machine.rules[i].name for state in states for _, i in self.engine.steps(state)}
        views = [self.machine.view(self.packing.unpack(state)) for state in sorted(states)[:1]]
        return f"It could: {', '.join(sorted(rules)) or 'nothing'}. In: {views}"

    def _difference(self, states: Mapping[int, int], real: Mapping[str, str]) -> str:
        """The fields in which the nearest state differs from the real ones."""
        if not states:
            return "no state of the model is left"
        views = [self.machine.view(self.packing.unpack(state)) for state in states]
        view = min(views, key=lambda view: sum(view[name] != value for name, value in real.items()))
        differing = [f"{name}: {value}≠{view[name]}" for name, value in real.items() if view[name] != value]
        return "what the stores hold differs: " + " ".join(differing)


def merged(runs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """States with what is on every run to them: of several runs to one state, what they share."""
    found: dict[int, int] = {}
    for state, sure in runs:
        found[state] = found.get(state, sure) & sure
    return found


def named(name: str) -> Callable[[Rule], bool]:
    """A test for a rule's name, or for what stands before the comma in it."""
    return lambda rule: rule.name == name or rule.name.startswith(f"{name}, ")


def unseen(rule: Rule, known: Known) -> bool:
    """Whether the worker can have taken a rule without anybody seeing it, by what is known of the step."""
    match rule.name:
        case "elsewhere: in doubt":  # a cancel waits for other steps, and for what undoes this one
            return known.among_others or bool(known.undoes)
        case "compensation was requested" | "its undoing has begun, and nothing is open":
            return known.asked
        case "compensation was requested, harmless" | "compensation was requested, harmless, and a retry is due":
            return known.asked and known.undoes == "harmless"
        case "a partial effect, compensatable":
            return bool(known.undoes)
        case "a partial effect, for good":
            return not known.undoes
        case _ if rule.name == UNVERIFIED:
            return not known.verified and not known.asked
        case _:
            return rule.decides
