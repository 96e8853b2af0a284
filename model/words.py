"""Rows and clauses from words: `job:open|waiting at:idle` is a guard, `at:gate loaded:first` what a row writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .invariant import Clause
from .machine import Actor, Guard, Rule, guard

NO_YES: Final = ("no", "yes")


@dataclass(frozen=True)
class RulePolicy:
    """Which hardening rules of one machine are switched on; the machine's module says what each of them demands."""

    name: str
    rules: frozenset[str]


def pairs(text: str) -> dict[str, str]:
    """`at:idle job:open` as a mapping."""
    return dict(pair.split(":") for pair in text.split())


def words(text: str) -> Guard:
    """`at:idle job:open|waiting` as a guard."""
    return guard(**pairs(text))


def row(name: str, actor: Actor, sees: str = "", writes: str = "", *, meets: str = "", boundary: str | None = None,
        emits: tuple[str, ...] = (), source: str = "") -> Rule:  # fmt: skip
    """A rule from words."""
    return Rule(name, actor, words(sees), words(meets), pairs(writes), (), boundary, emits, source)


def clauses(why: str, named: Mapping[str, str]) -> tuple[Clause, ...]:
    """Clauses with one reason: name, and what holds in no reachable state."""
    return tuple(Clause(name, words(never), why) for name, never in named.items())
