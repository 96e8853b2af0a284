"""Runs of the model as evidence: what changed in each step, and the short key that replays it.

A run that never ends is a lasso: in its key, `0/3/1*4/0`, what follows the star is repeated for ever; its frames show it once.
"""

from ..model.machine import Machine, State
from ..scenarios.machines import NAMES, machine_of
from .evidence import LOOP, Frame, Trace
from .explore import Space, follow, key_of

PREFIX = "model"


def to_trace(machine: Machine, key: str, run: list[tuple[str, State]]) -> Trace:
    """A run as evidence; the first frame holds the whole state, each further one what changed."""
    frames = []
    before: dict[str, str] = {}
    for name, state in run:
        view = machine.view(state)
        changed = {field: value for field, value in view.items() if before.get(field) != value}
        rule = machine.rule(name) if name else None
        actor, boundary = (rule.actor.value, rule.boundary) if rule else ("start", None)
        frames.append(Frame(rule=name or "start", actor=actor, boundary=boundary, changed=changed))
        before = view
    return Trace(key=key, frames=frames)


def trace_to(space: Space, packed: int) -> Trace:
    """A shortest run to a reached state."""
    key = f"{PREFIX}:{space.machine.name}:{space.key(packed)}"
    return to_trace(space.machine, key, space.path(packed))


def to_lasso(machine: Machine, stem: list[tuple[str, State]], repeated: list[tuple[str, State]]) -> Trace:
    """A run to a state, and a cycle from there back to it; without a cycle everybody stands still there."""
    digits = key_of(machine, [*stem, *repeated]).split("/")
    parts = digits[: len(stem)], digits[len(stem) :]
    key = LOOP.join("/".join(part) for part in parts if part)
    return to_trace(machine, f"{PREFIX}:{machine.name}:{key}", [*stem, *repeated])


def replay(key: str) -> Trace:
    """The run that a key names, computed anew by the interpreter alone. Raises ValueError when the key does not fit."""
    prefix, _, rest = key.partition(":")
    policy, _, digits = rest.partition(":")
    try:
        machine = machine_of(policy if prefix == PREFIX else "")
    except KeyError:
        raise ValueError(
            f"{key!r} is no key of a model run: model:POLICY:0/1/2, with POLICY one of {', '.join(NAMES)}, or"
            " without-MECHANISM"
        ) from None
    run = follow(machine, digits.replace(LOOP, "/"))
    trace = to_trace(machine, key, run)
    if trace.repeats is not None and run[trace.repeats][1] != run[-1][1]:
        raise ValueError(f"{key!r} does not lead back to where what it repeats began")
    return trace
