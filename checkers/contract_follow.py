"""The contract's machine follows a real run, write by write: the set of states it can be in, given what was seen done.

The rig says which boundary was performed and which transitions it wrote; both are read from the file. The model may take the rows
of that boundary whose transitions these are, in this order and all of them; decisions of a process that leave no trace; and
whatever other contracts did. Then the durable fields, and the effects that a witness counted, are compared; states that differ
are dropped. An empty set is a disagreement between model and code.
"""

from collections.abc import Callable, Mapping

from ..model.machine import Machine, Rule, Scope
from .conform_follow import Disagreement
from .explore import Engine

COUNTED = ("deed", "effects", "idle_others", "acted_others")
"""The fields of the world that a witness can count."""
SHARED = ("holder", "effects", "idle_others", "acted_others")
"""What other contracts with the key can change."""
OTHER = "other: "
STEP = "step"
"""What the rig calls every boundary of a contract's step, which has its own machine, and every act of the world."""
PLACES = {"supersede": ("supersede", "create_contracts")}
"""The boundaries of the model's rows that one of the code's may be: a contract that takes another's place is created with it."""

Node = tuple[int, int, bool]
"""A packed state, how many of the transitions have been taken, and whether a row was that leaves a trace without any."""


class ContractModel:
    """The machine ready to be followed, and what some walks have seen of it. engine: its engine, where there is one already."""

    def __init__(self, machine: Machine, engine: Engine | None = None) -> None:
        self.machine, self.engine = machine, engine or Engine(machine)
        self.packing = self.engine.packing
        self.scopes = {field.name: field.scope for field in machine.fields}
        self.compared = tuple(name for name, scope in self.scopes.items() if scope is Scope.DURABLE or name in COUNTED)
        self.mask = self.packing.mask(self.compared)
        self.rules_taken: set[int] = set()
        self.states_met: set[int] = set()
        self.comparisons = 0

    def silent(self, rule: Rule) -> bool:
        """Whether a row leaves no trace: it changes only what a process knows."""
        return all(self.scopes[name] is Scope.VOLATILE for name in rule.writes)

    def code(self, fields: Mapping[str, str]) -> int:
        """The compared fields, packed."""
        packing = self.packing
        return sum(packing.codes[name][fields[name]] << packing.shift[name] for name in self.compared)


class ContractFollower:
    """The model states of one tool contract and the request that gates it."""

    def __init__(self, model: ContractModel, consent: str, name: str) -> None:
        self.model, self.machine, self.packing, self.name = model, model.machine, model.packing, name
        starts = (state for state in self.machine.initial_states() if self.machine.view(state)["consent"] == consent)
        self.states = {self.packing.pack(state) for state in starts}
        self.last: Mapping[str, str] | None = None

    @property
    def status(self) -> str:
        """The contract's status when it was last seen."""
        return self.last["tool"] if self.last else "absent"

    def observe(self, boundary: str, moves: tuple[str, ...], real: Mapping[str, str]) -> None:
        """A boundary was performed, with these transitions (`tool:before:trigger:actor`); the file and the witness say `real`."""
        self.model.comparisons += 1
        if not moves and real == self.last:
            return
        last = self.last or {}
        others = any(last.get(name) != real[name] for name in SHARED)
        code = self.model.code(real)
        reached = self._reach(self.states, lambda rule: self._fits(rule, boundary, others), moves)
        met = {node: path for node, path in reached.items() if node[1] == len(moves)}
        self.states, before = {state for state, *_ in met if state & self.model.mask == code}, self.states
        if not self.states:
            raise Disagreement(self._words(boundary, moves, real, before, {state for state, *_ in met}))
        for (state, *_), path in met.items():
            if state in self.states:
                self.model.rules_taken.update(path)
        self.model.states_met.add(code)
        self.last = dict(real)

    def _fits(self, rule: Rule, boundary: str, others: bool) -> bool:
        """Whether a row that leaves a trace can be what was performed, or what others did meanwhile."""
        if rule.name.startswith(OTHER):
            return others
        if rule.name.startswith("step: "):
            return boundary == STEP
        return rule.boundary in PLACES.get(boundary, (boundary,))

    def _reach(
        self, states: set[int], fits: Callable[[Rule], bool], moves: tuple[str, ...]
    ) -> dict[Node, tuple[int, ...]]:
        """Every state that rows lead to that fit, with how many of the transitions they made, and by which rows.

        One write is one row, or several that make its transitions: a write that makes none is one row.
        """
        reached: dict[Node, tuple[int, ...]] = {(state, 0, False): () for state in states}
        todo = list(reached)
        while todo:
            state, done, traced = node = todo.pop()
            for delta, index in self.model.engine.steps(state):
                rule = self.machine.rules[index]
                silent, other = self.model.silent(rule), rule.name.startswith(OTHER)
                leaves = not (silent or other or rule.emits)
                after = (state ^ delta, done + len(rule.emits), traced or leaves)
                if after in reached or (traced and leaves) or moves[done : after[1]] != rule.emits:
                    continue
                if silent or fits(rule):
                    reached[after] = (*reached[node], index)
                    todo.append(after)
        return reached

    def _words(
        self, boundary: str, moves: tuple[str, ...], real: Mapping[str, str], before: set[int], met: set[int]
    ) -> str:
        """What the code performed, how that differs from the nearest the model allows, and what the model could have done."""
        did = f"{self.name}: the code performs {boundary}" + (f" with {' '.join(moves)}" if moves else "")
        near = self._reach(before, lambda rule: False, ())
        steps = (self.machine.rules[index] for state, *_ in near for _, index in self.model.engine.steps(state))
        could = sorted({rule.name for rule in steps if not self.model.silent(rule)})
        where = met or before
        view = min(
            map(self._view, where), key=lambda view: sum(view[name] != real[name] for name in self.model.compared)
        )
        differing = [f"{name}: {real[name]}≠{view[name]}" for name in self.model.compared if real[name] != view[name]]
        cannot = "the model cannot" if not met else "the model does, and differs"
        return (
            f"{did}, {cannot}: {' '.join(differing)} (the code, the model). It could: {', '.join(could) or 'nothing'}"
        )

    def _view(self, state: int) -> dict[str, str]:
        return self.machine.view(self.packing.unpack(state))
