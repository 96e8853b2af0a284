"""What something can be doing, as the set of all states of its machine that agree with what was seen of it.

The meaning of a rule is `model.machine`'s alone (`enabled`, `apply`). Everything else is the plainest there is: rules that write
no event are taken until nothing new comes; an event is taken by each rule that writes it; of the states behind it those stay
whose fields are the event's. The only thing that is remembered is what the interpreter has said of a state.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

from ...model.machine import Actor, Machine, Rule, State, apply, enabled

IDLE = "idle"
"""The place of a worker that is none."""
OPEN = "open"
"""Where a job is that may have been claimed."""
Place = tuple[State, tuple[tuple[str, bool], ...]]
"""A state, and what the batch that led there has still to write: the type of each event, and whether a worker writes it."""
States = frozenset[Place]


class Model:
    """A machine. Keep one for many streams. pivot: a field on which most of its rules depend, such as the worker's place."""

    def __init__(self, machine: Machine, pivot: str = "at") -> None:
        self.machine, self.pivot = machine, pivot
        self.places = {field.name: place for place, field in enumerate(machine.fields)}
        self._said: dict[State, list[tuple[Rule, State]]] = {}

    @cached_property
    def _rules_at(self) -> dict[str, list[Rule]]:
        """The rules that are not ruled out by the pivot's value alone."""
        values = self.machine.by_name[self.pivot].values
        return {
            value: [rule for rule in self.machine.rules if value in rule.guards.get(self.pivot, {value})]
            for value in values
        }

    def start(self, declared: Mapping[str, str]) -> States:
        """The states before the first event, in the configurations that agree with what is declared."""
        return self.closed((state, ()) for state in self.machine.initial_states() if self.agrees(state, declared))

    def closed(self, places: Iterable[Place]) -> States:
        """Some states, with all that follow from them without an event."""
        found = set(places)
        todo = list(found)
        while todo:
            state, owed = todo.pop()
            if owed:
                continue
            for rule, after in self.successors(state):
                if not rule.emits and (after, ()) not in found:
                    found.add((after, ()))
                    todo.append((after, ()))
        return frozenset(found)

    def after(self, states: States, kind: str, own: bool, worker: bool | None, fields: Mapping[str, str]) -> States:
        """The states behind an event; none where no state allows it.

        own: whether it is this one's, or another's that changes the job. worker: whether a worker wrote it (None: whoever).
        fields: those that follow from the events up to it.
        """
        taken = {
            place
            for before in states
            for place in self.written(before, kind, own, worker)
            if place[1] or self.agrees(place[0], fields)
        }
        return self.closed(taken)

    def written(self, before: Place, kind: str, own: bool, worker: bool | None) -> Iterable[Place]:
        """Where a rule that writes an event leads from a state, whatever the fields are then."""
        state, owed = before
        if owed:
            (due, by_worker), *rest = owed
            if own and due == kind and worker in (None, by_worker):
                yield state, tuple(rest)
            return
        for rule, after in self.successors(state):
            by_worker = rule.actor is Actor.WORKER
            if rule.emits and rule.emits[0] == kind and elsewhere(rule) != own and worker in (None, by_worker):
                yield after, tuple((each, by_worker) for each in rule.emits[1:])

    def nearest(
        self, states: States, kind: str, own: bool, worker: bool, fields: Mapping[str, str]
    ) -> dict[str, str] | None:
        """Of what rules that write an event leave behind, the fewest fields that are not the event's; None: there is none."""
        behind = {place for before in states for place in self.written(before, kind, own, worker)}
        return self.differing(frozenset(behind), fields)

    def differing(self, states: States, fields: Mapping[str, str]) -> dict[str, str] | None:
        """The fewest fields in which a state of a set is not as is said; None: the set is empty."""
        views = [self.machine.view(state) for state, _ in states]
        found = [{name: view[name] for name, value in fields.items() if view[name] != value} for view in views]
        return min(found, key=lambda fewest: (len(fewest), sorted(fewest.items())), default=None)

    def at_work(self, states: States) -> States:
        """The states in which a worker has just written something that is not seen here: it has a place, or the job is open, and
        what it has claimed it for is not this machine's.
        """
        at, job = self.places["at"], self.places["job"]
        return frozenset(place for place in states if place[0][at] != IDLE or place[0][job] == OPEN)

    def beside(self, states: States, worker: bool, fields: Mapping[str, str]) -> States:
        """The states behind an event that the machine does not write: whatever it writes none for may have happened before, and
        behind it.
        """
        closed = self.closed(self.at_work(states) if worker else states)
        return self.closed(place for place in closed if place[1] or self.agrees(place[0], fields))

    def agrees(self, state: State, fields: Mapping[str, str]) -> bool:
        """Whether a state has these values."""
        return all(state[self.places[name]] == value for name, value in fields.items())

    def possible(self, states: States, names: Iterable[str]) -> list[str]:
        """What a set of states has in some fields, for people."""
        wanted = list(names)
        views = (self.machine.view(state) for state, owed in states if not owed)
        return sorted({" ".join(f"{name}={view[name]}" for name in wanted) for view in views})

    def events(self, states: States) -> list[str]:
        """The types of the events that can come next, for people."""
        owed = {rest[0][0] for _, rest in states if rest}
        return sorted(
            owed | {r.emits[0] for state, rest in states if not rest for r, _ in self.successors(state) if r.emits}
        )

    def successors(self, state: State) -> list[tuple[Rule, State]]:
        """Every step from a state, by the interpreter."""
        if state not in self._said:
            view = self.machine.view(state)
            rules = self._rules_at[view[self.pivot]]
            self._said[state] = [
                (r, after) for r in rules if enabled(view, r) for after in apply(self.machine, view, r)
            ]
        return self._said[state]


def elsewhere(rule: Rule) -> bool:
    """Whether a rule is what another step does to the job: the model names it so."""
    return rule.name.startswith("elsewhere")
