"""A run of the model as a sequence diagram: who acts upon whom, step by step, and the state after each step.

The diagram is data; `html_sequence` and `terminal` draw it. A step goes from one lane to another, or stays in its own. A
crash cuts the worker's lane: until the next claim there is no worker.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from ..checkers.evidence import Frame, Trace
from ..model.boundaries import BY_NAME
from ..model.claim_types import PROPERTY_BY_ID
from ..model.machine import Scope, holds, show
from ..model.step import FIELDS

LANES: Final = ("worker", "event stream", "ledger", "effect store", "world")
PERSON: Final = "person"
STORES: Final = {"events": "event stream", "ledger": "ledger", "effects": "effect store", "world": "world"}
GROUPS: Final = {
    Scope.CONFIG: "Declared by the tool",
    Scope.DURABLE: "In the stores: survives a crash",
    Scope.VOLATILE: "In the worker: a crash resets it",
    Scope.WORLD: "In the world: no process can read it",
    Scope.CLOCK: "Time",
    Scope.GHOST: "History, for the properties alone",
}
OTHER: Final = "Other fields"
_FIELDS: Final = {f.name: f for f in FIELDS}
_ORDER: Final = {f.name: position for position, f in enumerate(FIELDS)}

Kind = Literal["start", "local", "message", "world", "effect", "crash"]
Life = Literal["none", "begins", "lives", "ends", "crashes"]


@dataclass(frozen=True)
class Step:
    """One step: `source` and `target` are lanes, the same one where nothing is sent."""

    number: int
    rule: str
    kind: Kind
    source: str
    target: str
    detail: str  # the write boundary, in words
    changed: tuple[tuple[str, str, str], ...]  # field, value before, value after
    state: Mapping[str, str]
    life: Life  # what the worker's lane looks like

    @property
    def way(self) -> str:
        """Who acts upon whom, in words."""
        return self.source if self.source == self.target else f"{self.source} → {self.target}"


@dataclass(frozen=True)
class Diagram:
    """The lanes and the steps."""

    lanes: tuple[str, ...]
    steps: tuple[Step, ...]


def ordered(names: Mapping[str, str]) -> list[str]:
    """Field names in the order of the model; unknown ones follow, by name."""
    return sorted(names, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))


def group(name: str) -> str:
    """The heading under which a field stands in a table of the state."""
    return GROUPS[_FIELDS[name].scope] if name in _FIELDS else OTHER


def meaning(name: str) -> str:
    """What a field says, in words."""
    return _FIELDS[name].meaning if name in _FIELDS else ""


def diagram(trace: Trace) -> Diagram:
    """A trace as a sequence diagram."""
    steps: list[Step] = []
    state: dict[str, str] = {}
    for position, frame in enumerate(trace.frames):
        after = {**state, **frame.changed}
        steps.append(_step(position, frame, state, after))
        state = after
    if trace.repeats is not None:
        steps[-1] = replace(
            steps[-1], rule=f"{steps[-1].rule}; all is as after step {trace.repeats}, and so on for ever"
        )
    people = any(PERSON in (step.source, step.target) for step in steps)
    return Diagram((*LANES, PERSON) if people else LANES, tuple(steps))


def _step(position: int, frame: Frame, before: Mapping[str, str], after: Mapping[str, str]) -> Step:
    kind, source, target = _way(position, frame, before, after)
    boundary = BY_NAME.get(frame.boundary or "")
    detail = f"{boundary.id} {boundary.name}: {boundary.write}" if boundary else frame.boundary or ""
    names = [name for name in ordered(frame.changed) if before.get(name) != after[name]]
    changed = tuple((name, before.get(name, ""), after[name]) for name in names)
    life = _life(kind, before, after)
    return Step(position, frame.rule or "start", kind, source, target, detail, changed, after, life)


def _way(position: int, frame: Frame, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Kind, str, str]:
    boundary = BY_NAME.get(frame.boundary or "")
    store = STORES.get(boundary.store, "") if boundary else ""
    if position == 0:
        return "start", "worker", "worker"
    if frame.actor == "crash":
        return "crash", "worker", "worker"
    if frame.actor in ("world", "clock"):
        happened = frame.actor == "world" and before.get("effects") != after.get("effects")
        return "effect" if happened else "world", "world", "world"
    lane = PERSON if frame.actor == "person" else "worker"
    if store:
        return "message", lane, store
    if frame.rule.startswith("reply"):
        return "message", "world", lane
    return "local", lane, lane


def _life(kind: Kind, before: Mapping[str, str], after: Mapping[str, str]) -> Life:
    if kind == "crash":
        return "crashes"
    was, now = (state.get("at", "idle") != "idle" for state in (before, after))
    if was:
        return "lives" if now else "ends"
    return "begins" if now else "none"


def broken(trace: Trace, properties: tuple[str, ...]) -> list[str]:
    """What properties say must never hold, and does in the last state of a trace."""
    state = {name: value for frame in trace.frames for name, value in frame.changed.items()}
    never = [(name, g) for name in properties if name in PROPERTY_BY_ID for g in PROPERTY_BY_ID[name].never]
    return [f"{name} broken: {show(g)}" for name, g in never if all(f in state for f in g) and holds(state, g)]
