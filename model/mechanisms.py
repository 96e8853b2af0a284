"""The mechanisms of T-PROP's matrix, as data: what each does, and what is left of the rows without it.

A mechanism is missed in the rows that everybody reads: `missing.py` says how. Those of one worker are tried on the machine of the
step, and on the machines beside it where it is one of theirs (`counterparts.py`), whose own rules are mechanisms as well; those
between workers on two workers. Of a mechanism that can be missed in more than one way the table has a row each.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final, Literal

from .boundaries import SUCCESS_WRITES
from .counterparts import MACHINES
from .machine import Machine, guard
from .missing import Missing, together
from .policy import Extent, Policy
from .properties import Property
from .step import build

Workers = Literal["one", "two"]


@dataclass(frozen=True)
class Mechanism:
    """One mechanism: what it says, where that comes from, what is left without it, and with how many workers that is tried."""

    id: str
    sentence: str
    source: str
    missing: Missing
    workers: Workers = "one"


_OLDER_OPEN: Final = {"an older attempt is open": {"at": "ledger_no_effect"}}

_ONE: Final = (
    Mechanism("ledger", "There is a ledger: ownership and result of each invocation.", "S0 ②, T-ORDER B1, B7", Missing(
        drop=("2: *", "6: *", "acquire: committed", "crash at *, ledger is there"),
        sees={"append node failed": {"open": "0"}, "append node failed, unknown": {"open": "1|2"}},
        unstored=frozenset({"ledger", "recorded"}))),
    Mechanism("effect-store", "There is an effect store: the result is on record before any event says so.", "S1 §1, T-ORDER B4",
              Missing(policy={"order": ("append_finished", "append_committed", "commit", "put_effect")},
                      drop=("3: *", "crash at *, effect is there"), unstored=frozenset({"effect"}))),
    Mechanism("catch-up", "Recovery looks up the effect record.", "T-RECOVER 3", Missing(drop=("3: *",))),
    Mechanism("catch-up-order", "The effect record is looked up before the barrier is asked.", "T-RECOVER 3, 5",
              Missing(policy={"barrier": "before evidence"})),
    Mechanism("ledger-asked", "Recovery takes a result from the ledger where no event has it.", "T-RECOVER 2",
              Missing(drop=("2: *",), sees={"acquire": {"ledger": "none|inflight|no_effect|unknown|committed"}})),
    Mechanism("barrier", "The started event is durable before the tool is called.", "S1 §3, T-ORDER B2",
              Missing(sees={"append no effect": {"open": None}},
                      writes={"append started": {"open": None}, "append no effect": {"open": None}})),
    Mechanism("barrier-asked", "An open attempt is not executed again: it is UNKNOWN.", "S1 §3, T-RECOVER 5",
              Missing(drop=("5: *",), writes=_OLDER_OPEN)),
    Mechanism("all-attempts", "An attempt counts as without effect only when every attempt is closed.", "T-RECOVER 4, 5",
              Missing(sees={"4: *": {"open": None}}, writes=_OLDER_OPEN)),
    Mechanism("repair", "What one record shows and the others lack is written before the result is used.", "T-RECOVER 1 to 3",
              Missing(writes={pattern: {"at": "confirm"} for pattern in ("1: *", "2: *", "3: *")})),
    Mechanism("rule-0", "After node_finished(failure) only what follows it is written.", "T-RECOVER 0", Missing(drop=("0: *",))),
    Mechanism("quiet", "That nothing is there is believed only when nothing can come any more.", "T-QUIET",
              Missing(sees={"query: absent, quiet": {"quiet": None}, "person: did not happen": {"quiet": None}},
                      writes={"query: absent, fenced": {"wire": None}})),
    Mechanism("same-write", "A write that was answered by an error is repeated, by the worker that knows its outcome.", "T-WRITE",
              Missing(forgets=True)),
    Mechanism("rebase", "An append is rebased over the events of clients.", "T-WRITE", Missing(conflicts=("*",))),
    Mechanism("stable-key", "The external key is the same in every attempt.", "S1 §4.2, T-KEY",
              Missing(policy={"external_key": "attempt"})),
    Mechanism("unknown", "An outcome that nobody knows is not taken for no effect.", "T-OUTCOME",
              Missing(writes={"no reply, *": {"at": "append_no_effect"}})),
    Mechanism("no-effect", "An outcome that is provably no effect is not taken for unknown.", "T-OUTCOME",
              Missing(writes={"reply: no effect": {"at": "append_unknown"}})),
    Mechanism("idempotent-alone", "Only what is idempotent may be declared to be executed again.", "T-RECOVER on_unknown",
              Missing(allowed=(guard(on_unknown="reexecute", idempotent="no"),))),
    Mechanism("on-unknown", "Something is declared of an ambiguous attempt, and done.", "T-RECOVER on_unknown",
              Missing(drop=("on unknown: *", "compensation was requested, harmless"))),
    Mechanism("confirm", "A record is confirmed before it is injected.", "S0 ③, T-CONFIRM", Missing(policy={"confirmed": ()})),
)  # fmt: skip


def _protection(name: str, sentence: str, source: str) -> Mechanism:
    return Mechanism(name, sentence, source, Missing(fleet=frozenset({name})), "two")


_TWO: Final = (
    _protection("fence-events", "The event stream refuses an append below its fence.", "T-FENCE"),
    _protection("fence-ledger", "The ledger refuses a write below its fence.", "T-FENCE"),
    _protection("fence-effects", "The effect store refuses a write below its fence.", "T-FENCE"),
    _protection("conditional", "An append is compare-and-set on the version that its worker has read.", "T-EVENT"),
    _protection("checked", "Where the started event is refused nothing is executed.", "S1 §3, T-ORDER B2"),
    Mechanism(
        "atomic-acquire",
        "What acquire looks at and what it writes is one step: nobody comes in between.",
        "T-ORDER B1",
        Missing(unasked={"acquire": ("w.stands_ledger",)}),
        "two",
    ),
)

_RULES: Final = tuple(
    Mechanism(rule, f"{words[:1].upper()}{words[1:]}.", f"model/{each.kind}.py", Missing(rules=frozenset({rule})))
    for each in MACHINES for rule, words in each.rules.items()
)  # fmt: skip

MECHANISMS: Final = (*_ONE, *_TWO, *_RULES)
"""Every mechanism. The order of the writes, and what is declared of an ambiguous attempt, are choices: `ORDERS`, `CHOICES`."""
CHOICES: Final = ("park", "query", "reexecute", "fail")
"""What may be declared of an ambiguous attempt."""
BY_ID: Final[Mapping[str, Mechanism]] = {mechanism.id: mechanism for mechanism in MECHANISMS}
ONE: Final = tuple(m.id for m in _ONE)
TWO: Final = tuple(m.id for m in _TWO)
RULES: Final = tuple(m.id for m in _RULES)
"""The rules of the machines beside the step's: each is a mechanism of its machine alone (`OF_RULE`)."""

NUMBERS: Final = dict(zip(SUCCESS_WRITES, "4567", strict=True))
"""The success writes by their numbers: B4 to B7."""
ORDERS: Final = {"".join(NUMBERS[write] for write in order): order for order in permutations(SUCCESS_WRITES)}
"""Every order of the success writes, by their numbers."""
AT_ONCE: Final = "4(567)"
TRANSACTION: Final = Missing(
    drop=("append committed", "append committed: there", "commit", "commit: there"),
    writes={"append finished": {"committed": "=memory", "recorded": "=memory", "ledger": "committed", "at": "confirm"},
            "append finished: there": {"at": "confirm"}})  # fmt: skip
"""One transaction over B5 to B7, where one database holds event stream and ledger (S1 §1's open question)."""

NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "ledger": (), "effect-store": (), "ledger-asked": (),
    "catch-up": ("P3", "P4", "P6", "P10", "P12"), "catch-up-order": ("P3", "P4", "P6", "P10"),
    "repair": ("P3", "P4", "P6", "P10", "P12"), "barrier": ("P1", "P2", "P6", "P10", "P14"),
    "barrier-asked": ("P1", "P2", "P6", "P9", "P10"), "all-attempts": ("P1", "P2", "P6"), "quiet": ("P1", "P2", "P6", "P10"),
    "unknown": ("P1", "P2", "P6", "P10"), "idempotent-alone": ("P1", "P2", "P6"), "stable-key": ("P1", "P2", "P6", "P11"),
    "rule-0": ("P2", "P4", "P7", "P15"), "on-unknown": ("P15",),
    "same-write": ("P4",), "rebase": ("P4",), "no-effect": ("P4",), "confirm": ("P8",),
    "fence-events": ("P2", "P4", "P5", "P6", "P7", "P9", "P10", "P12"),
    "fence-ledger": ("P2", "P3", "P5", "P6", "P7", "P10"),
    "fence-effects": ("P3", "P5", "P7", "P10", "P12"),
    "conditional": (), "checked": ("P1", "P2", "P6", "P14"), "atomic-acquire": ("P3", "P5", "P6", "P7"),
    "G-ASK": ("P9",), "G-RECORD": ("P9",), "G-BIND": ("P9",), "G-DENY": ("P9", "P15"), "G-SIGNAL": ("P9",), "G-CANCEL": ("P9",),
    "K-BARRIER": ("P10", "P15"), "K-COMMITTED": ("P10",), "K-QUIET": ("P10",), "K-TRUTH": ("P10",), "K-RECORD": ("P10",),
    "K-TERMINAL": ("P10", "P15"), "L-RECORD": ("P12",), "L-INJECT": ("P12",), "L-CATCHUP": ("P12",), "L-RETRY": ("P12",),
}  # fmt: skip
"""The matrix, stated by hand for readers: the properties that need each mechanism. `necessity` computes it and compares."""
NEEDED_BY_JOBS: Final[Mapping[str, tuple[str, ...]]] = {"rule-0": ("P6",), "atomic-acquire": ("P10",)}
"""And those that need it for what may befall a job beside its step's own execution: the deep profile searches that."""
PLANTS: Final[Mapping[str, tuple[str, Missing]]] = {
    "ledger": ("the ledger is written first, and nobody looks up the effect record",
               Missing(policy={"order": ORDERS["7456"]}, drop=("3: *",))),
    "ledger-asked": ("the ledger is written first", Missing(policy={"order": ORDERS["7456"]})),
    "effect-store": ("an append of a success is not rebased over the events of clients",
                     Missing(conflicts=("append finished", "append committed"))),
}  # fmt: skip
"""For a mechanism without which nothing breaks: a change against which it does protect."""


def missing(names: Iterable[str]) -> Missing:
    """Without these mechanisms. Raises KeyError for one that there is not."""
    wanted = frozenset(names)
    if unknown := wanted - BY_ID.keys():
        raise KeyError(", ".join(sorted(unknown)))
    return together([m.missing for m in MECHANISMS if m.id in wanted])


def step_without(name: str, names: Iterable[str], extent: Extent = "step alone") -> Machine:
    """The machine of one step without some mechanisms, worked by one worker at a time."""
    return _built(name, extent, missing(names))


def step_ordered(name: str, order: str, names: Iterable[str] = (), extent: Extent = "step alone") -> Machine:
    """The same with the success writes in another order, such as `5467`, or B5 to B7 at once. Raises KeyError for neither."""
    ordered = TRANSACTION if order == AT_ONCE else Missing(policy={"order": ORDERS[order]})
    return _built(name, extent, together([missing(names), ordered]))


def step_planted(name: str, plant: str, names: Iterable[str] = (), extent: Extent = "step alone") -> Machine:
    """The same with a change planted against which a mechanism protects. Raises KeyError for a mechanism that has none."""
    return _built(name, extent, together([missing(names), PLANTS[plant][1]]))


def _built(name: str, extent: Extent, change: Missing) -> Machine:
    return build(replace(Policy(name, extent), **change.policy), change)  # type: ignore[arg-type]


def spoken_of(prop: Property, change: Missing) -> Property | None:
    """What is left of a property where some records do not exist; None where it speaks of nothing else."""
    if not change.unstored:
        return prop
    never = tuple(g for g in prop.never if change.unstored.isdisjoint(g))
    grows = tuple(name for name in prop.grows if name not in change.unstored)
    if (prop.never and not never) or (prop.grows and not grows):
        return None
    return replace(prop, never=never, grows=grows)
