"""Mutants of the step against the crash-window table: what is left at a crash, and what recovery then does, is in its row.

Of the table's three derived columns two are asked of a mutant: recovery's first rule, and the effects at the crash. They are
told from single states, so the original's states and those that a mutant adds are enough; states that are alike in all that is
asked are asked once. The third, the effects in the end, is derived of the whole space alone (`windows.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..model.machine import Rule, guard
from ..model.windows import WINDOWS, Window
from .mutate_rows import Rows
from .mutate_search import Base, Difference, Seen, run_to
from .windows import MisfitError, class_of, decisions, recovery

READ: Final = ("job", "cancel", "effects", *(name for w in WINDOWS for g in w.durable for name in g))
"""The fields that tell a state's window, and what is asked of it there, but for recovery's rules."""


class Table:
    """The rows, with the original's states without a worker, one for each that looks otherwise.

    Raises AssertionError where the original has a state that has no row, or another recovery, or another number of effects.
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self.rows = {window.id: window for window in WINDOWS}
        self.idle = base.packing.matcher(guard(at="idle"))
        self.mask = self._asked(decisions(base.machine))
        self.unlike: dict[int, int] = {}
        for state in filter(self.idle, base.space.parents):
            self.unlike.setdefault(state & self.mask, state)
        for _, said in self._misfits(decisions(base.machine), self.unlike.values()):
            raise AssertionError(f"the original has a state that is not as its window says: {said}")

    def _asked(self, rules: Sequence[Rule]) -> int:
        """All that is asked of a state, recovery's rules being these."""
        guards = [*(r.guards for r in rules), *(g for r in rules for g in r.unless)]
        return self.base.packing.mask((*READ, *(name for each in guards for name in each)))

    def examine(self, mutant: Rows, difference: Difference, seen: Seen) -> str:
        """The first state without a worker that has no row, or another recovery or number of effects than its row."""
        rules = decisions(mutant.of(self.base.machine))
        mask = self.mask | self._asked(rules)
        unlike: dict[int, int] = {}
        for state in filter(self.idle, seen.grown):
            unlike.setdefault(state & mask, state)
        decides = rules != decisions(self.base.machine)
        for like, said in self._misfits(rules, (*(self.unlike.values() if decides else ()), *unlike.values())):
            every = (s for s in (*self.base.space.parents, *seen.grown) if s & mask == like & mask and self.idle(s))
            if any(run_to(self.base, mutant, difference, seen.grown, s) is not None for s in (like, *every)):
                return said
        return ""

    def _misfits(self, rules: Sequence[Rule], states: Iterable[int]) -> Iterable[tuple[int, str]]:
        view = self.base.machine.view
        told = ((state, self._misfit(rules, view(self.base.packing.unpack(state)))) for state in states)
        return ((state, said) for state, said in told if said)

    def _misfit(self, rules: Sequence[Rule], view: Mapping[str, str]) -> str:
        try:
            window: Window = self.rows[class_of(view)]
        except MisfitError as error:
            return str(error)
        began = set(recovery(rules, view))
        if not began <= window.recovery or (window.recovery and view["job"] == "open" and not began):
            return f"window {window.id}: recovery begins with {', '.join(sorted(began)) or 'nothing'}"
        if window.struck:  # these windows share their durable states: which of them it is, the crash itself has decided
            return ""
        return (
            "" if view["effects"] in window.at_crash else f"window {window.id}: {view['effects']} effects at the crash"
        )
