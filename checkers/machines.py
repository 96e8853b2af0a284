"""A machine that was searched, as a report has it."""

from ..model.fingerprint import machine_sha256
from .evidence import Machine as Described
from .explore import Space


def described(space: Space, seconds: float) -> Described:
    """A machine that was searched, as evidence; seconds: how long that took."""
    machine = space.machine
    return Described(
        policy=machine.name,
        sha256=machine_sha256(machine),
        fields=len(machine.fields),
        rules=len(machine.rules),
        states=len(space),
        transitions=space.transitions,
        states_per_second=round(len(space) / seconds),
        unreached=sorted(r.name for r in machine.rules if r.name not in space.fired),
    )
