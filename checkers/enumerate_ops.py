"""What a step of the code can have been, as the rules of a machine: which of them an op can be, and whose they are.

The ops are those of a reading (`enumerate_sets.Reading`).
"""

from collections.abc import Callable
from typing import Final

from ..model.machine import Actor, Rule
from .conform_follow import LOST, PLACE, UNVERIFIED

HEARS: Final = "elsewhere: in doubt"
"""What a cancel waits for: it is not seen when."""
REFUSED: Final = ("refused by", "version conflict")
"""Rules of a fleet for a write that changed nothing: the store's answer, not a decision."""
TURNED_AWAY: Final = f"name:{'|'.join(REFUSED)}"
"""What a worker comes to at a command that the store refuses."""
GONE: Final = ("world: late request lost", "world: refuses")
"""What may become of a request while time passes."""


def bare(rule: Rule) -> str:
    """A rule's name without its worker."""
    return rule.name.partition(": ")[2] if actor_of(rule) else rule.name


def actor_of(rule: Rule) -> str:
    """The worker of a fleet whose rule it is; "" for a rule of nobody, and of a machine of one worker."""
    who = rule.name.partition(": ")[0]
    return who if len(who) == 1 and who.islower() else ""


def worker_of(op: str, who: str) -> tuple[str, str]:
    """An op, and whose it is: of the reading's worker, or of the one that it names."""
    op, at, named = op.partition("@")
    return op, named if at else who


def fitness(op: str) -> Callable[[Rule, str], bool]:
    """Which rules an op can be, each given with its name without its worker."""
    kind, _, what = op.partition(":")
    place = PLACE.get(what, what)
    match kind:
        case "do":
            return lambda rule, name: rule.boundary == place and rule.actor is Actor.WORKER and LOST not in rule.name
        case "lost":
            return lambda rule, name: rule.boundary == place and LOST in rule.name
        case "at":
            return lambda rule, name: rule.boundary == place and rule.actor is Actor.WORKER
        case "name":
            beginnings = tuple(what.split("|"))
            return lambda rule, name: name.startswith(beginnings)
        case "emits":
            # A job that parks at another step while this one is in doubt: this one is left as if the job had parked at it.
            whose = ("elsewhere", "park") if what == "job_parked" else "elsewhere"
            return lambda rule, name: name.startswith(whose) and what in rule.emits[:1] and LOST not in rule.name
        case "crash":
            return lambda rule, name: rule.actor is Actor.CRASH
        case "gone":
            return lambda rule, name: name.startswith(GONE)
        case "time":
            return lambda rule, name: rule.actor is Actor.CLOCK
        case _:
            silent = (UNVERIFIED, HEARS) if kind == "unverified" else (HEARS,)
            return lambda rule, name: name.startswith(silent) or (rule.decides and not name.startswith(REFUSED))
