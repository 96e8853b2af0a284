"""What the shipped code can do, enumerated once and held beside each mutant of a model (E-TRUST, teeth).

The enumeration (`enumerate*.py`) goes along the graph of what the code can do with a set of the model's states. Here that graph
is kept, without any model, and each mutant's machine goes along it: a step of the code that no state of its set allows is a
parting. Where the code is pinned to take every edge of the original, it has to take each edge of a mutant, too, of a changed
rule, or that the original has not: a machine that says more than the code does is not the code's.

One worker at a time, over the store in memory; the smallest cases first, and none in which the code does nothing that a changed
row can be.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from ..model.machine import Machine
from .enumerate import Graph, Product
from .enumerate_cases import AROUND
from .enumerate_contract import ContractProduct
from .enumerate_contract_cases import CONTRACTS
from .enumerate_contract_sets import ContractSets
from .enumerate_contract_stage import COUNTS as CONTRACT_COUNTS
from .enumerate_contract_stage import contract_sets
from .enumerate_counts import COUNTS
from .enumerate_cover import step_sets
from .enumerate_ends import ENDED
from .enumerate_ops import TURNED_AWAY
from .enumerate_others import OTHERS
from .enumerate_sets import Edge, Reading, Sets
from .enumerate_stage import SEVERAL, every, product
from .explore import Engine, searched
from .mutate_rows import Rows

MakeSets = Callable[[Machine, Engine], Sets]


def gone_through(case: str) -> Product:
    """A case of the step's core, to its end. Raises AssertionError where original and code part, or it is not what is pinned."""
    made = product(case)
    run = made.run()
    if run.parted or run.counts != COUNTS[case]:
        raise AssertionError(
            f"{case}: the original and its code part, or {run.counts} is not {COUNTS[case]}: {run.parted}"
        )
    return made


@cache
def graph_of(name: str) -> Graph:
    """What the code does in a case. Raises AssertionError where the original parts from it, or it is not what is pinned."""
    return gone_through(name).graph()


@cache
def contract_product(name: str) -> ContractProduct:
    """The same of a case of the contract engine."""
    made = ContractProduct(CONTRACTS[name], contract_sets())
    run = made.run()
    if run.parted or run.counts != CONTRACT_COUNTS[name]:
        raise AssertionError(f"{name}: the original and its code part, or {run.counts} is not pinned: {run.parted}")
    return made


def parted(graph: Graph, sets: Sets) -> str:
    """The first step of the code that no state of a machine allows, in words; "" where there is none."""
    number: int | None = sets.start(graph.declared)
    for word, reading, code in graph.lead:
        assert number is not None
        number = sets.move(number, reading, code)
        if number is None:
            return _words(graph, word, reading)
    assert number is not None
    layer = [(0, number)]
    met = set(layer)
    while layer:
        later = []
        for state, number in layer:
            for word, reading, code, to in graph.moves[state]:
                after = sets.move(number, reading, code)
                if after is None:
                    return _words(graph, word, reading)
                if to >= 0 and (to, after) not in met:
                    met.add((to, after))
                    later.append((to, after))
        layer = later
    return ""


def _words(graph: Graph, word: str, reading: Reading) -> str:
    return f"{graph.case}: the code performs {word} ({' then '.join(reading.ops)}), and the mutant cannot"


class Beside:
    """The cases of a machine, beside its mutants; the code takes every edge of the machine in them."""

    def __init__(self, base: Engine, names: Sequence[str]) -> None:
        self.base, self.names = base, names

    def examine(self, mutant: Rows | None) -> str:
        """Where the code parts from a mutant, or what it never does of what the mutant says; of the original: None."""
        machine = mutant.of(self.base.machine) if mutant else self.base.machine
        engine, changed = Engine(machine, self.base), frozenset(mutant.changed) if mutant else frozenset()
        said, taken = self.refined(engine, changed)
        return said or self.untaken(engine, changed, taken)

    def refined(self, engine: Engine, changed: frozenset[str]) -> tuple[str, set[Edge]]:
        """The first parting; and the edges that were taken."""
        raise NotImplementedError

    def untaken(self, engine: Engine, changed: frozenset[str], taken: set[Edge]) -> str:
        """What a mutant can do, the original cannot, and the code is never seen to do."""
        machine, rules = self.base.machine, engine.machine.rules
        before = {(machine.rules[n].name, seen) for n, seen in self.base.classes()}
        edges = searched(Engine(engine.machine, self.base)).engine.classes() - taken
        names = {rules[n].name for n, seen in edges if rules[n].name in changed or (rules[n].name, seen) not in before}
        return f"no case of the code takes {len(names)} of its rules as it has them: {min(names)}" if names else ""


class StepsBeside(Beside):
    """Cases of the step's core. sets: the sets of a machine."""

    def __init__(self, base: Engine, names: Sequence[str], sets: MakeSets) -> None:
        super().__init__(base, names)
        self.sets = sets

    def refined(self, engine: Engine, changed: frozenset[str]) -> tuple[str, set[Edge]]:
        """Case by case: those that can meet a changed row; of the original all."""
        sets = self.sets(engine.machine, engine)
        for name in self.names:
            graph = graph_of(name)
            if not changed or _meets(graph, sets, changed):
                said = parted(graph, sets)
                if said:
                    return said, sets.taken
        return "", sets.taken


class ContractsBeside(Beside):
    """Cases of the contract engine."""

    def refined(self, engine: Engine, changed: frozenset[str]) -> tuple[str, set[Edge]]:
        """Case by case."""
        sets = ContractSets(engine.machine, engine)
        for name in self.names:
            run = contract_product(name).beside_another(sets).run()
            if run.parted:
                return f"{name}: {run.parted[0]}", sets.taken
        return "", sets.taken


def _meets(graph: Graph, sets: Sets, changed: frozenset[str]) -> bool:
    """Whether the code does something that a changed row can be. A row that is gone may have been any."""
    rules = sets.machine.rules
    numbers = {n for n, rule in enumerate(rules) if rule.name in changed}
    ops = {op for reading in _readings(graph) for op in _ops(reading)}
    return len(numbers) < len(changed) or any(not numbers.isdisjoint(sets.fitting(op, "")) for op in ops)


def _readings(graph: Graph) -> set[Reading]:
    return {reading for moves in graph.moves for _, reading, _, _ in moves} | {reading for _, reading, _ in graph.lead}


def _ops(reading: Reading) -> Iterator[str]:
    """All that a reading asks rules for."""
    yield from (op.partition("@")[0] for op in reading.ops)
    yield "unverified" if reading.unverified else "decides"
    kind, _, place = reading.end.partition(":")
    if kind == "next":
        yield from (f"at:{place}", TURNED_AWAY)


def beside(policy: str, base: Engine) -> Beside | None:
    """What the code does, beside a machine's mutants; None where nothing of it is enumerated."""
    match policy:
        case "hardened":
            beside_it = [name for other in OTHERS for name in other.cases]
            names = [name for name in every() if name not in {*SEVERAL, *beside_it, *AROUND, *ENDED}]
            return StepsBeside(base, _smallest(names, COUNTS), step_sets)
        case "contract-hardened":
            return ContractsBeside(base, _smallest(list(CONTRACTS), CONTRACT_COUNTS))
        case _:
            return next(
                (StepsBeside(base, tuple(it.cases), it.sets) for it in OTHERS if it.policy == policy),
                None,
            )


def _smallest(names: list[str], counts: Mapping[str, tuple[int, int, int]]) -> list[str]:
    return sorted(names, key=lambda name: counts[name][2])
