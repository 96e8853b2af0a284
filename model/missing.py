"""What is left of a machine's rows when mechanisms are missing: a change, as data, made before anything is derived from them.

A change never adds a way of its own to work: it drops rows, has rows ask less, or write something else. Two things that every
row is derived by are switched here as well: what becomes of a write whose answer is an error, and of an append that comes
after a client's event (T-WRITE).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Final

from .machine import Guard, Rule, guard

Edit = Mapping[str, Mapping[str, str | None]]
"""By a pattern of rules' names: literals, or writes, that are put in; None takes one away."""


@dataclass(frozen=True)
class Missing:
    """One change.

    policy: choices of the policy that are made otherwise; rules: those of a machine beside the step's that are switched off.
    drop: patterns of the rows that are gone. sees, meets, writes: what rows ask and write otherwise. unstored: durable fields
    that nobody writes or reads any more. allowed: configurations that a plan's validation no longer rules out. forgets: a write
    whose answer is an error is not repeated, its worker lets go of the job. conflicts: patterns of appends that are refused
    after a client's event. fleet: protections of several workers switched off; unasked: guards of a fleet's row that are not
    asked, by its name.
    """

    policy: Mapping[str, object] = field(default_factory=dict)
    rules: frozenset[str] = frozenset()
    drop: tuple[str, ...] = ()
    sees: Edit = field(default_factory=dict)
    meets: Edit = field(default_factory=dict)
    writes: Edit = field(default_factory=dict)
    unstored: frozenset[str] = frozenset()
    allowed: tuple[Guard, ...] = ()
    forgets: bool = False
    conflicts: tuple[str, ...] = ()
    fleet: frozenset[str] = frozenset()
    unasked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


NOTHING: Final = Missing()


def together(changes: Sequence[Missing]) -> Missing:
    """Several changes as one; where two make the same choice or edit the same row's field the later one holds."""

    def merged(edits: Sequence[Edit]) -> Edit:
        found: dict[str, dict[str, str | None]] = {}
        for edit in edits:
            for pattern, parts in edit.items():
                found[pattern] = {**found.get(pattern, {}), **parts}
        return found

    return Missing(
        policy={name: value for c in changes for name, value in c.policy.items()},
        rules=frozenset().union(*(c.rules for c in changes)),
        drop=tuple(pattern for c in changes for pattern in c.drop),
        sees=merged([c.sees for c in changes]),
        meets=merged([c.meets for c in changes]),
        writes=merged([c.writes for c in changes]),
        unstored=frozenset().union(*(c.unstored for c in changes)),
        allowed=tuple(g for c in changes for g in c.allowed),
        forgets=any(c.forgets for c in changes),
        conflicts=tuple(pattern for c in changes for pattern in c.conflicts),
        fleet=frozenset().union(*(c.fleet for c in changes)),
        unasked={pattern: names for c in changes for pattern, names in c.unasked.items()},
    )


def changed(rules: Sequence[Rule], missing: Missing) -> list[Rule]:
    """Rows after a change."""
    seen = {rule.name: rule.sees for rule in rules}
    rules = [rule for rule in rules if not is_named(rule, missing.drop)]
    gone = [seen[name] for name in seen.keys() - {rule.name for rule in rules}]
    edited = {rule.name: _edited(rule, missing) for rule in rules}
    # A decision list asks that none of the rules before it matches: it goes by what these ask now.
    now = {id(seen[name]): rule.sees for name, rule in edited.items()}
    dropped = {id(each) for each in gone}
    return [
        replace(rule, unless=tuple(_kept(now.get(id(g), g), missing) for g in rule.unless if id(g) not in dropped))
        for rule in edited.values()
    ]


def is_named(rule: Rule, patterns: Sequence[str]) -> bool:
    """Whether a row's name is one of some patterns."""
    return any(fnmatchcase(rule.name, pattern) for pattern in patterns)


def _edited(rule: Rule, missing: Missing) -> Rule:
    sees, meets, writes = (
        _asked(rule.name, rule.sees, missing.sees),
        _asked(rule.name, rule.meets, missing.meets),
        rule.writes,
    )
    for pattern, parts in missing.writes.items():
        if fnmatchcase(rule.name, pattern):
            rest = {name: value for name, value in writes.items() if name not in parts}
            writes = {**rest, **{name: value for name, value in parts.items() if value is not None}}
    writes = {n: v for n, v in writes.items() if n not in missing.unstored}
    return replace(rule, sees=_kept(sees, missing), meets=meets, writes=writes)


def _asked(name: str, literals: Guard, edits: Edit) -> Guard:
    for pattern, parts in edits.items():
        if fnmatchcase(name, pattern):
            kept = {field: values for field, values in literals.items() if field not in parts}
            literals = {**kept, **guard(**{field: text for field, text in parts.items() if text is not None})}
    return literals


def _kept(literals: Guard, missing: Missing) -> Guard:
    return {name: values for name, values in literals.items() if name not in missing.unstored}
