"""When a checkpoint settles what is before it (T-RECOVER, T-CONFIRM, decision 043).

It does where all nodes up to its own are done, and nothing that was said before it asks anything more of whoever recovers, but
results that later nodes use. A checkpoint narrows the work, and hides no evidence: where a node has changed what is to be
confirmed, was or is to be undone, or was gone through with a warning, where a cancel, a signal or an approval is still to be
heard, or where a later node has begun already, it settles nothing, and recovery begins before it.
"""

from collections.abc import Mapping
from typing import Final

from .fill import asked_for
from .history import History
from .records import EffectRecord, Json

MOST_KEPT: Final = 64
"""Events that a checkpoint keeps at most. Where later nodes use more results it settles nothing: it would grow with the plan."""


class Settling:
    """What the checkpoints of a turn settle, while it goes through the plan.

    begin: how many nodes are settled already, of those that the turn has not read.
    """

    def __init__(self, history: History, effects: Mapping[str, EffectRecord], begin: int) -> None:
        self._history = history
        self._nodes: list[dict[str, Json]] = history.plan["nodes"]
        self._next = begin
        places = {entry["id"]: place for place, entry in enumerate(self._nodes)}
        self._begun = max((places[name] for name in history.touched), default=-1)
        self._again = any(effect.state_changes for effect in effects.values()) or any(
            past.undo is not None or (past.stored is not None and past.stored.state_changes)
            for past in history.steps.values()
        )
        self._last_use: dict[str, int] = {}
        self._last_wait: dict[str, int] = {}
        for place in range(begin, len(self._nodes)):
            self._uses(place)
        self._places = places
        self._over: dict[int, list[str]] = {}
        for name, place in self._last_use.items():
            self._over.setdefault(place, []).append(name)
        self._kept = {name for name in self._last_use if places[name] < begin}

    def _uses(self, place: int) -> None:
        """Note what a node needs of what was before it."""
        entry = self._nodes[place]
        for name in asked_for(entry):
            self._last_use[name] = place
        if "wait" in entry:
            self._last_wait[entry["wait"]] = place
        if "undoes" in entry:
            self._again = True

    def passed(self, place: int, to_confirm: bool) -> None:
        """The turn has gone through the plan up to a node. to_confirm: whether this one has changed what is to be confirmed."""
        self._again |= to_confirm
        for each in range(self._next, place + 1):
            node = self._nodes[each]
            if node["id"] in self._last_use:
                self._kept.add(node["id"])
            if "approve" in node:  # it is used, once its step is done
                self._begun = max(self._begun, self._places[node["approve"]])
            self._kept.difference_update(self._over.get(each, ()))
        self._next = place + 1

    def said(self) -> dict[str, Json]:
        """What a checkpoint of the last node that was passed says of it; nothing where it settles nothing."""
        history, place = self._history, self._next - 1
        signals = any(self._last_wait.get(signal, -1) > place for signal in history.signals)
        if self._again or place < self._begun or signals or history.cancelled is not None or history.warned:
            return {}
        keeps = [*range(1, history.submitted + 1), *sorted(history.step(name).committed_at for name in self._kept)]
        return {"settled": self._next, "keeps": keeps} if len(keeps) <= MOST_KEPT else {}
