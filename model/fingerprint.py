"""Which model evidence speaks of: one hash over everything that a machine is made of."""

import hashlib

from .machine import Machine, show


def machine_sha256(machine: Machine) -> str:
    """The hash of a machine's fields and rows."""
    text = repr([(f.name, f.scope.value, f.values, f.starts, f.count) for f in machine.fields])
    text += repr([show(g) for g in machine.impossible])
    for rule in machine.rules:
        parts = [
            show(rule.sees),
            show(rule.meets),
            [show(g) for g in rule.unless],
            sorted(rule.writes.items()),
            rule.emits,
        ]
        text += repr((rule.name, rule.actor.value, rule.boundary, *parts))
    return hashlib.sha256(text.encode()).hexdigest()
