"""A step of the model that follows a real run, move by move: the set of states it can be in, given what was seen done.

The rig, which performs the real moves, says which boundary was performed, how the world answered, where a crash struck. Each
leaves only the model states in which a rule for it is enabled. Then the durable fields and the count of effects are compared
with the real ones; states that differ are dropped. An empty set is a disagreement between model and code.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from ..model.boundaries import CATCH_UP
from ..model.machine import Actor, Machine, Rule, Scope
from ..model.step import normal
from .explore import Engine

ELSEWHERE: Final = "elsewhere"
LOST: Final = "(answer lost)"
UNVERIFIED: Final = "confirm: match"
"""What happens, unseen, to a record that nobody verifies: no verifier is there, or no change is recorded (A-VERIFIER)."""
PLACE: Final = {recovered: place for place, recovered in CATCH_UP.items()}
"""A catch-up write is, in the model, the write that it repeats."""


class Disagreement(AssertionError):
    """Model and code part: says where, which fields differ, what the model allowed."""


class Model:
    """A machine ready to be followed, and what some walks have seen of it."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.engine = machine, Engine(machine)
        self.packing = self.engine.packing
        durable = [f.name for f in machine.fields if f.scope is Scope.DURABLE]
        self.durable, self.seen = self.packing.mask(durable), self.packing.mask([*durable, "effects"])
        self.starts: dict[tuple[str, ...], dict[int, tuple[int, ...]]] = {}
        self.rules_taken: set[int] = set()
        self.states_met: set[int] = set()
        self.comparisons = 0

    def start(self, declared: Mapping[str, str]) -> dict[int, tuple[int, ...]]:
        """The initial states under a tool's contract, in the form that a follower keeps."""
        declared = normal(declared)
        key = tuple(declared.values())
        if key not in self.starts:
            views = ((self.machine.view(state), state) for state in self.machine.initial_states())
            fitting = [s for view, s in views if all(view[name] == value for name, value in declared.items())]
            self.starts[key] = {self.packing.pack(state): () for state in fitting}
        return dict(self.starts[key])

    def covered(self) -> list[str]:
        """The names of the rules that were taken."""
        return [self.machine.rules[index].name for index in sorted(self.rules_taken)]


class Follower:
    """One step's model states, each with the rules that led there since the last observation.

    verified: its recorded changes are looked at before they are injected, and each look is performed.
    """

    def __init__(self, model: Model, declared: Mapping[str, str], name: str, verified: bool = False) -> None:
        self.verified = verified
        self.model, self.engine, self.machine, self.packing = model, model.engine, model.machine, model.packing
        self.name = name
        self.states = model.start(declared)

    # The moves of the real run.

    def perform(self, boundary: str, lost: bool = False, leading_to: Collection[str] = ()) -> None:
        """A boundary of this step was performed; `leading_to`: the places, where the reply decides it.

        `lost`: the answer was. Where nothing was written (a look, or a write that had landed before), the step is where it was.
        """
        place = PLACE.get(boundary, boundary)

        def fits(rule: Rule) -> bool:
            performs = rule.boundary == place and rule.actor is Actor.WORKER
            fitting = not leading_to or rule.writes.get("at") in leading_to
            return performs and not rule.name.endswith(LOST) and fitting

        if lost:
            self._take_lost(fits, place)
        else:
            self._take(fits, f"performs {boundary}")

    def elsewhere(self, event: str) -> None:
        """Another step changed the job."""
        self._take(lambda r: r.name.startswith(ELSEWHERE) and event in r.emits[:1], f"sees {event} of another step")

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

    def crash(self, before: str | None = None) -> None:
        """The worker is gone; `before` is the boundary of this step that it was about to perform."""
        self._close()
        if before is not None:
            place = PLACE.get(before, before)
            self.states = {
                state: path
                for state, path in self.states.items()
                if any(self.machine.rules[i].boundary == place for _, i in self.engine.steps(state))
            }
            self._expect(f"is about to perform {before}", {})
        idle = {state: path for state, path in self.states.items() if self.value(state, "at") == "idle"}
        struck = self._after(lambda rule: rule.actor is Actor.CRASH)
        self.states = {**struck, **idle}

    def rest(self, job: str | None = None) -> None:
        """The turn is over, the job in this state (None: there was nothing to claim)."""
        self._close()
        before = self.states
        self.states = {
            state: path
            for state, path in before.items()
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
        self.states = {state: path for state, path in before.items() if state & self.model.seen == code}
        if not self.states:
            raise Disagreement(f"{self.name}: {self._difference(before, fields)} (the code, the model)")
        for path in self.states.values():
            self.model.rules_taken.update(path)
        self.model.states_met.add(code & self.model.durable)
        self.model.comparisons += 1
        self.states = dict.fromkeys(self.states, ())

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
            state: path
            for state, path in before.items()
            if any(fits(self.machine.rules[index]) for _, index in self.engine.steps(state))
        }
        self._expect(f"performs {place}, its answer is lost", before)

    def _after(self, fits: Callable[[Rule], bool]) -> dict[int, tuple[int, ...]]:
        return {
            state ^ delta: (*path, index)
            for state, path in self.states.items()
            for delta, index in self.engine.steps(state)
            if fits(self.machine.rules[index])
        }

    def _close(self) -> None:
        """Add what the worker can have decided on the way: rules without boundary, event or contact with the world."""
        todo = list(self.states)
        while todo:
            state = todo.pop()
            for delta, index in self.engine.steps(state):
                if state ^ delta not in self.states and self._decides(self.machine.rules[index]):
                    self.states[state ^ delta] = (*self.states[state], index)
                    todo.append(state ^ delta)

    def _decides(self, rule: Rule) -> bool:
        return decides(rule) or (rule.name == UNVERIFIED and not self.verified)

    def _expect(self, what: str, before: Mapping[int, tuple[int, ...]]) -> None:
        if not self.states:
            raise Disagreement(f"{self.name}: the code {what}, the model cannot. {self._possible(before)}")

    def _possible(self, states: Mapping[int, tuple[int, ...]]) -> str:
        rules = {self.machine.rules[i].name for state in states for _, i in self.engine.steps(state)}
        views = [self.machine.view(self.packing.unpack(state)) for state in sorted(states)[:1]]
        return f"It could: {', '.join(sorted(rules)) or 'nothing'}. In: {views}"

    def _difference(self, states: Mapping[int, tuple[int, ...]], real: Mapping[str, str]) -> str:
        """The fields in which the nearest state differs from the real ones."""
        views = [self.machine.view(self.packing.unpack(state)) for state in states]
        view = min(views, key=lambda view: sum(view[name] != value for name, value in real.items()))
        differing = [f"{name}: {value}≠{view[name]}" for name, value in real.items() if view[name] != value]
        return "what the stores hold differs: " + " ".join(differing)


def named(name: str) -> Callable[[Rule], bool]:
    """A test for a rule's name, or for what stands before the comma in it."""
    return lambda rule: rule.name == name or rule.name.startswith(f"{name}, ")


def decides(rule: Rule) -> bool:
    """Whether a rule is a decision of the worker: nobody else can see that it was taken."""
    return rule.actor is Actor.WORKER and rule.boundary is None and not rule.emits and not rule.meets
