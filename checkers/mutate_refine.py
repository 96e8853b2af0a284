"""Mutants of step and contract against the other model: what one does to the step that both see, the other can do (C-PAIR)."""

from collections.abc import Iterator, Mapping

from .explore import Engine, explore
from .mutate_rows import Rows
from .mutate_search import Base, Difference, Seen, run_to, sources
from .refine import interface, refine_contract
from .refine import seen as view_of

STEP = "hardened"


def refines(base: Base, mutant: Rows, difference: Difference, seen: Seen) -> str:
    """The first kind of transition that the other model does not have; "" where each is one of its own, or none.

    Of the step only what a mutant adds is looked at; the contract's machine is small, and looked at whole.
    """
    machine = mutant.of(base.machine)
    if base.machine.name != STEP:
        misfits = refine_contract(explore(machine)).misfits
        return f"{misfits[0].rule}: {misfits[0].does}" if misfits else ""
    allowed = interface()

    def view(state: int) -> tuple[str, str]:
        fields: Mapping[str, str] = machine.view(base.packing.unpack(state))
        return view_of(fields)

    known: dict[int, tuple[str, str]] = {}
    for state, delta, rule in _added(base, Engine(machine), difference, seen):
        before, after = (known[s] if s in known else known.setdefault(s, view(s)) for s in (state, state ^ delta))
        if (
            before != after
            and (before, after) not in allowed
            and run_to(base, machine, difference, seen.grown, state) is not None
        ):
            return f"{rule}: {before} becomes {after}"
    return ""


def _added(base: Base, engine: Engine, difference: Difference, seen: Seen) -> Iterator[tuple[int, int, str]]:
    """Every transition that a mutant adds: from a state of the original, or from one that is new."""
    for state in sources(base.space.parents, difference.mask, difference.added):
        yield from ((state, delta, rule) for rule, delta in difference.added[state & difference.mask])
    for state in seen.grown:
        yield from ((state, delta, engine.machine.rules[index].name) for delta, index in engine.steps(state))
