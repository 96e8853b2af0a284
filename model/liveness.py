"""What P15 supposes, as data: what happens finitely often only, who takes steps, and where a job may rest (T-PROP P15).

P15: every run comes back to rest again and again, or stays there. It may break that in one way alone: it ends in a cycle outside
rest (to stand still is the smallest one). Of a cycle two things are supposed. A row of `FINITE` is not in it. And it is *weakly
fair*: whoever `FAIR` names, and could take a step all the time, does take one. Nothing is supposed of anybody else: people and
clients may act for ever, or never.

Each supposition is an assumption of the claims that need it, and a claim that leaves one out stands beside them, refuted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from .machine import Actor, Guard, Machine, Rule, guard

FINITE_FAULTS: Final = "A-FINITE-FAULTS"
RECLAIMS: Final = "A-RECLAIMS-FINITE"
RETRIES: Final = "A-RETRIES-BOUNDED"
LOOKS: Final = "A-LOOKS-BOUNDED"
FAIR_WORKER: Final = "A-FAIR-WORKER"
FAIR_WORLD: Final = "A-FAIR-WORLD"
RESEND: Final = "A-RESEND"
STEP_ENDS: Final = "A-STEP-ENDS"
NOBODY: Final = ""
"""No assumption: whoever may act so need not."""


@dataclass(frozen=True)
class Supposed:
    """Rules, by actor and by patterns of their names, of which an assumption says something; why: why it may."""

    assumption: str
    actors: tuple[Actor, ...]
    names: tuple[str, ...]
    why: str

    def covers(self, rule: Rule) -> bool:
        """Whether a rule is meant."""
        return rule.actor in self.actors and any(fnmatchcase(rule.name, name) for name in self.names)


EVERYBODY: Final = tuple(Actor)

FINITE: Final = (
    Supposed(FINITE_FAULTS, (Actor.CRASH,), ("*",), "a crash is a fault"),
    Supposed(FINITE_FAULTS, (Actor.WORKER,), ("*(answer lost)*",), "so is an answer of a store that gets lost"),
    Supposed(RETRIES, (Actor.WORKER,), ("*retry again*", "*on unknown: reexecute", "grant another attempt"),
             "the plan's max_attempts is read from the events"),
    Supposed(RETRIES, (Actor.WORKER,), ("*retries used up, requeued*", "*elsewhere: requeues*"),
             "the plan bounds a job's requeues, of all its steps"),
    Supposed(RETRIES, (Actor.WORKER,), ("step: unknown, nothing happened yet",), "each is of an attempt"),
    Supposed(LOOKS, (Actor.WORKER,), ("*confirm: one look of several*",), "a verifier is asked a configured number of times"),
    Supposed(LOOKS, (Actor.WORKER,), ("*hears what clients said*",), "the stream is read again after a client's event"),
)  # fmt: skip
"""What happens finitely often: the rules of faults, and of choices that a plan's policy bounds. Of a fleet, beside them: a claim
while another worker has the right to go on (`A-RECLAIMS-FINITE`); whether one has is seen in the state, not in the rule."""

FAIR: Final = (
    Supposed(NOBODY, (Actor.WORKER, Actor.WORLD), ("superseded*", "other: *"),
             "whoever changes their mind, and what other contracts do"),
    Supposed(STEP_ENDS, (Actor.WORKER,), ("step: *",),
             "the step behind its interface: its own P15, and a person's answer where it is parked"),
    Supposed(FAIR_WORKER, (Actor.WORKER,), ("*",), "whoever runs workers starts them again; each request has a time limit"),
    Supposed(FAIR_WORLD, (Actor.WORLD,), ("*",), "a request that is sent is served, or refused, some day"),
    Supposed(RESEND, (Actor.PERSON,), ("the decider *", "the signal of a decision is sent again"),
             "whoever has decided signals until somebody hears"),
)  # fmt: skip
"""Who takes a step, if one could be taken all the time. A rule is the first row's that covers it, or nobody's. Of a fleet the
worker is the one that has the right to go on: the newest at work that nobody has overtaken; where there is none, whoever claims
next. An overtaken one may stop for ever, at a command: whoever only decides where it goes has decided (`Fleet.decisions`)."""


def mover(rule: Rule) -> int | None:
    """The row of `FAIR` whose move a rule is; None where nobody is supposed to make it."""
    row = next((i for i, s in enumerate(FAIR) if s.covers(rule)), None)
    return row if row is not None and FAIR[row].assumption else None


def forever(machine: Machine, assumptions: Sequence[str]) -> list[bool]:
    """Of each rule, whether it may happen without end, if these assumptions hold."""
    finite = [s for s in FINITE if s.assumption in assumptions]
    return [not any(s.covers(rule) for s in finite) for rule in machine.rules]


def actors(machine: Machine, assumptions: Sequence[str]) -> list[int]:
    """Whose move each rule is, as bits: a fair actor's, if these assumptions hold, or nobody's."""
    movers = [mover(rule) for rule in machine.rules]
    return [1 << i if i is not None and FAIR[i].assumption in assumptions else 0 for i in movers]


_ENDED: Final = "completed|failed|cancelled"
RESTS: Final[Mapping[str, tuple[tuple[str, Guard], ...]]] = {
    "hardened": (
        *((status, guard(job=status, at="idle")) for status in ("completed", "failed", "cancelled", "parked", "waiting")),
    ),
    "gate-hardened": (
        *((status, guard(job=status, at="idle")) for status in ("completed", "failed", "cancelled")),
        ("waiting for a person who has not answered", guard(job="waiting", at="idle", kind="approval", decision="none")),
        ("waiting for a signal", guard(job="waiting", at="idle", kind="signal")),
    ),
    "compensation-hardened": (("ended", guard(job="ended", at="idle")), ("parked", guard(job="parked", at="idle"))),
    "recorded-hardened": (("completed", guard(job="completed", at="idle")),),
    "contract-hardened": (
        ("not created", guard(tool="absent")),
        *((status, guard(tool=status, executor="idle")) for status in ("completed", "failed", "rejected", "cancelled")),
        ("waiting for a person who has not answered", guard(tool="waiting", answer="none")),
        ("its request waiting for a person who has not answered", guard(tool="pending", request="waiting", answer="none")),
        ("its request waiting for a person to say what became of it", guard(tool="pending", request="unknown")),
    ),
    "fleet": (*((status, guard(job=status)) for status in ("completed", "failed", "parked")),),
}  # fmt: skip
"""Where a job of each machine is at rest, by the name of its policy, in words and as a guard; each is reached."""
