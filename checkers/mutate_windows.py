"""Mutants of the step against the crash-window table: what is left at a crash, and what recovery then does, is in its row.

Of the table's three derived columns two are asked of a mutant: recovery's first rule, and the effects at the crash. They are
told from single states, so the original's states and those that a mutant adds are enough. The third, the effects in the end,
is derived of the whole space alone (`windows.py`).
"""

from collections.abc import Mapping

from ..model.machine import Machine, Scope, guard
from ..model.windows import WINDOWS, Window
from .mutate_rows import Rows
from .mutate_search import Base, Difference, Seen, run_to
from .windows import MisfitError, class_of, recovery


class Table:
    """The rows, with the original's states at a crash: one for each durable state."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.rows = {window.id: window for window in WINDOWS}
        self.idle = base.packing.matcher(guard(at="idle"))
        self.mask = base.packing.mask(f.name for f in base.machine.fields if f.scope is Scope.DURABLE)
        self.unlike: dict[int, int] = {}
        for state in filter(self.idle, base.space.parents):
            self.unlike.setdefault(state & self.mask, state)

    def examine(self, mutant: Rows, difference: Difference, seen: Seen) -> str:
        """The first state without a worker that has no row, or another recovery or number of effects than its row."""
        machine = mutant.of(self.base.machine)
        states = [s for s in seen.grown if self.idle(s)]
        decides = any("recover" in rule.sees.get("at", ()) for rule in map(self.base.machine.rule, mutant.changed))
        for state in (*(self.unlike.values() if decides else ()), *states):
            said = self._misfit(machine, machine.view(self.base.packing.unpack(state)))
            if said and run_to(self.base, machine, difference, seen.grown, state) is not None:
                return said
        return ""

    def _misfit(self, machine: Machine, view: Mapping[str, str]) -> str:
        try:
            window: Window = self.rows[class_of(view)]
        except MisfitError as error:
            return str(error)
        began = set(recovery(machine, view))
        if not began <= window.recovery or (window.recovery and view["job"] == "open" and not began):
            return f"window {window.id}: recovery begins with {', '.join(sorted(began)) or 'nothing'}"
        if window.struck:  # these windows share their durable states: which of them it is, the crash itself has decided
            return ""
        return (
            "" if view["effects"] in window.at_crash else f"window {window.id}: {view['effects']} effects at the crash"
        )
