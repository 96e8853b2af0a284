"""A run of the model as a sequence diagram: who acts upon whom, step by step, and the state after each step.

The diagram is data; `html_sequence` and `terminal` draw it. A step goes from one lane to another, or stays in its own. A
crash cuts the worker's lane: until the next claim there is no worker. In a run of several workers each has a lane, and one that
was overtaken, so that it stands in the effect store no longer, is drawn as such until it lets go.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from ..checkers.evidence import Frame, Trace
from ..model.boundaries import BY_NAME
from ..model.claim_types import PROPERTY_BY_ID
from ..model.machine import Scope, holds, show
from ..model.step import FIELDS

WORKER: Final = "worker"
LANES: Final = (WORKER, "event stream", "ledger", "effect store", "world")
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
_COPY: Final = "known_"
_FIELDS: Final = {f.name: f for f in FIELDS}
_ORDER: Final = {f.name: position for position, f in enumerate(FIELDS)}

Kind = Literal["start", "local", "message", "world", "effect", "crash"]
Life = Literal["none", "begins", "lives", "ends", "crashes", "falls", "overtaken"]
_PLACE: Final = re.compile(r"([a-z])\.at")
_RULE: Final = re.compile(r"(?:(?P<who>[a-z]): )?(?P<what>.*?)(?: \[[^\]]*\])?(?: [012]{4})?")
"""A rule of several workers: who acts, what happens; then who claimed after whom, which the state says as well."""


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
    lives: Mapping[str, Life]  # what the lane of each worker looks like

    @property
    def way(self) -> str:
        """Who acts upon whom, in words."""
        return self.source if self.source == self.target else f"{self.source} → {self.target}"

    @property
    def fallen(self) -> list[str]:
        """Who is overtaken by this step."""
        return [lane for lane, life in self.lives.items() if life == "falls"]


@dataclass(frozen=True)
class Diagram:
    """The lanes and the steps. groups: the heading of each field of the state, in their order, where they are not the model's."""

    lanes: tuple[str, ...]
    steps: tuple[Step, ...]
    groups: Mapping[str, str] = field(default_factory=dict)


def ordered(names: Mapping[str, str]) -> list[str]:
    """Field names in the order of the model, unknown ones by name; then each worker's own, and its copies."""
    return sorted(names, key=_position)


def _position(name: str) -> tuple[str, bool, int, str]:
    who, _, own = name.rpartition(".")
    return who, own.startswith(_COPY), _ORDER.get(_plain(name), len(_ORDER)), name


def group(name: str) -> str:
    """The heading under which a field stands in a table of the state."""
    who, _, own = name.rpartition(".")
    if who:
        return (
            f"Worker {who}: copies of what it has read"
            if own.startswith(_COPY)
            else f"In worker {who}: a crash resets it"
        )
    return GROUPS[_FIELDS[name].scope] if name in _FIELDS else OTHER


def meaning(name: str) -> str:
    """What a field says, in words."""
    return _FIELDS[_plain(name)].meaning if _plain(name) in _FIELDS else ""


def _plain(name: str) -> str:
    """A worker's own field as the machine of one worker names it."""
    return name.rpartition(".")[2].removeprefix(_COPY)


def diagram(trace: Trace) -> Diagram:
    """A trace as a sequence diagram."""
    workers = {who: f"{WORKER} {who}" for who in _workers(trace)} or {"": WORKER}
    steps: list[Step] = []
    state: dict[str, str] = {}
    for position, frame in enumerate(trace.frames):
        after = {**state, **frame.changed}
        steps.append(_step(position, frame, state, after, workers))
        state = after
    if trace.repeats is not None:
        steps[-1] = replace(
            steps[-1], rule=f"{steps[-1].rule}; all is as after step {trace.repeats}, and so on for ever"
        )
    people = any(PERSON in (step.source, step.target) for step in steps)
    return Diagram((*workers.values(), *LANES[1:], *((PERSON,) if people else ())), tuple(steps))


def _workers(trace: Trace) -> list[str]:
    """The letters of the workers of a run of several."""
    first = trace.frames[0].changed if trace.frames else {}
    return [match[1] for match in map(_PLACE.fullmatch, first) if match]


def _step(
    position: int, frame: Frame, before: Mapping[str, str], after: Mapping[str, str], workers: Mapping[str, str]
) -> Step:
    match = _RULE.fullmatch(frame.rule) if "" not in workers else None
    who, rule = (match["who"] or "", match["what"]) if match else ("", frame.rule)
    lane = workers.get(who) or next(iter(workers.values()))
    kind, source, target = _way(position, frame, rule, before, after, lane)
    boundary = BY_NAME.get(frame.boundary or "")
    detail = f"{boundary.id} {boundary.name}: {boundary.write}" if boundary else frame.boundary or ""
    names = [name for name in ordered(frame.changed) if before.get(name) != after[name]]
    changed = tuple((name, before.get(name, ""), after[name]) for name in names)
    lives = {workers[x]: _life(kind == "crash" and x == who, f"{x}." if x else "", before, after) for x in workers}
    served = f", the request of {lane}" if who and kind in ("world", "effect") else ""
    return Step(position, f"{rule or 'start'}{served}", kind, source, target, detail, changed, after, lives)


def _way(
    position: int, frame: Frame, rule: str, before: Mapping[str, str], after: Mapping[str, str], worker: str
) -> tuple[Kind, str, str]:
    boundary = BY_NAME.get(frame.boundary or "")
    store = STORES.get(boundary.store, "") if boundary else ""
    if position == 0:
        return "start", worker, worker
    if frame.actor == "crash":
        return "crash", worker, worker
    if frame.actor in ("world", "clock"):
        happened = frame.actor == "world" and before.get("effects") != after.get("effects")
        return "effect" if happened else "world", "world", "world"
    lane = PERSON if frame.actor == "person" else worker
    if store:
        return "message", lane, store
    if rule.startswith("reply"):
        return "message", "world", lane
    return "local", lane, lane


def _life(crashes: bool, own: str, before: Mapping[str, str], after: Mapping[str, str]) -> Life:
    if crashes:
        return "crashes"
    was, now = (state.get(f"{own}at", "idle") != "idle" for state in (before, after))
    if was and now:
        stood, stands = (state.get(f"{own}stands_effects") != "no" for state in (before, after))
        return "lives" if stands else "falls" if stood else "overtaken"
    if was:
        return "ends"
    return "begins" if now else "none"


def broken(trace: Trace, properties: tuple[str, ...]) -> list[str]:
    """What properties say must never hold, and does in the last state of a trace; of several workers, of one that leads."""
    state = {name: value for frame in trace.frames for name, value in frame.changed.items()}
    never = [(name, g) for name in properties if name in PROPERTY_BY_ID for g in PROPERTY_BY_ID[name].never]
    leading = [x for x in _workers(trace) if state.get(f"{x}.stands_effects") != "no"]
    named = [(name, {_of(f, x, state): v for f, v in g.items()}) for name, g in never for x in leading or [""]]
    found = [f"{name} broken: {show(g)}" for name, g in named if all(f in state for f in g) and holds(state, g)]
    return list(dict.fromkeys(found))


def _of(name: str, who: str, state: Mapping[str, str]) -> str:
    """The field of a state that a property means: shared, or a worker's own."""
    return name if name in state or not who else f"{who}.{name}"
