"""The mechanisms of the step in the machines beside it: gate, compensation, recorded value (T-PROP's matrix; P9, P10, P12).

A compensation is a step protocol under another key, a gate stands before a step, and a recorded value has records that are
caught up. So a mechanism of the step may be one of theirs: then what is left of their rows without it is stated here, as a change
of rows; where there is none the reason is. Each of these machines has rules of its own beside that, which are mechanisms too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .compensation import COMPENSATION_RULES, HARDENED_COMPENSATION, build_compensation
from .compensation_properties import COMPENSATION_PROPERTIES
from .gate import GATE_PROPERTIES, GATE_RULES, HARDENED_GATE, LEAVE, build_gate
from .machine import Actor, Machine, Rule, Scope
from .missing import Missing, changed, is_named, together
from .properties import Property
from .recorded import HARDENED_RECORDED, RECORDED_PROPERTIES, RECORDED_RULES, build_recorded
from .words import RulePolicy, pairs


@dataclass(frozen=True)
class Beside:
    """A machine beside the step's: what is asked of it, under which id of the matrix, and its rules.

    lets_go: what a worker writes that lets go of the job; again: what one writes that reads everything anew.
    """

    kind: str
    column: str
    properties: Sequence[Property]
    rules: Mapping[str, str]
    build: Callable[[RulePolicy], Machine]
    hardened: RulePolicy
    lets_go: str
    again: str


MACHINES: Final = (
    Beside("gate", "P9", GATE_PROPERTIES, GATE_RULES, build_gate, HARDENED_GATE, LEAVE, "at:replay"),
    Beside("compensation", "P10", COMPENSATION_PROPERTIES, COMPENSATION_RULES, build_compensation, HARDENED_COMPENSATION,
           "at:idle request:none", "at:idle request:none"),
    Beside("recorded", "P12", RECORDED_PROPERTIES, RECORDED_RULES, build_recorded, HARDENED_RECORDED,
           "at:idle memory:none", "at:replay memory:none"),
)  # fmt: skip
BY_KIND: Final = {each.kind: each for each in MACHINES}
BY_COLUMN: Final = {each.column: each for each in MACHINES}
OF_RULE: Final = {rule: each.kind for each in MACHINES for rule in each.rules}
"""The machine of each rule of theirs."""

_WRITES: Final = {"same-write": Missing(forgets=True), "rebase": Missing(conflicts=("*",))}
COUNTERPARTS: Final[Mapping[str, Mapping[str, Missing]]] = {
    "gate": {
        **_WRITES,
        "barrier-asked": Missing(drop=("replay: the step has begun",)),
        "repair": Missing(writes={"gate: approved, *": {"at": "start"}, "gate: signal received": {"at": "start"},
                                  "gate: denied": {"at": "append_failed"}, "gate: another action, *": {"at": "append_failed"}}),
        "rule-0": Missing(drop=("replay: refused",)),
    },
    "compensation": {
        **_WRITES,
        "ledger": Missing(drop=("what was acquired and not begun is settled",), unstored=frozenset({"ledger"})),
        "effect-store": Missing(drop=("decide: it has an effect record",), unstored=frozenset({"record"})),
        "catch-up": Missing(rules=frozenset({"K-RECORD"})),
        "catch-up-order": Missing(sees={"decide: it has an effect record": {"attempt": "none|closed|disproved"}}),
        "barrier": Missing(rules=frozenset({"K-BARRIER"})),
        "barrier-asked": Missing(drop=("decide: an attempt is open",)),
        "repair": Missing(writes={"decide: it is recorded": {"at": "append_node"},
                                  "decide: it has an effect record": {"at": "append_node"}}),
        "rule-0": Missing(drop=("decide: terminal",)),
        "quiet": Missing(meets={"*: it did not happen": {"late": None, "request": None}}),
        "stable-key": Missing(drop=("* is recognised",), meets={"* acts again": {"idempotent": None}}),
        "unknown": Missing(writes={"the callback fails, though it has acted": {"at": "append_no_effect"},
                                   "the callback does not answer": {"at": "append_no_effect"}}),
        "no-effect": Missing(writes={"the callback refuses": {"at": "append_lost"}}),
        "on-unknown": Missing(drop=("ledger unknown",)),
    },
    "recorded": {
        **_WRITES,
        "effect-store": Missing(drop=("replay: inject the effect*",), unstored=frozenset({"effect"})),
        "catch-up": Missing(rules=frozenset({"L-CATCHUP"})),
        "repair": Missing(writes={"replay: inject the effect*": {"at": "use"}, "replay: inject the committed*": {"at": "use"}}),
    },
}  # fmt: skip
"""By machine: what is left of its rows without a mechanism of the step's that is one of its own as well."""

_CALLS: Final = "unknown no-effect idempotent-alone on-unknown quiet stable-key"
_REASONS: Final[Mapping[str, Mapping[str, str]]] = {
    "gate": {
        "ledger effect-store catch-up catch-up-order ledger-asked":
            "a gate has events and the contract that asks: no ledger record, and no effect record",
        "barrier": "P9 is said of the started event, which is what the barrier is: without it nothing is left to be said",
        "all-attempts": "a gate has no attempts: what stands behind it is begun once, by one event",
        _CALLS: "a gate calls no tool: there is no key, no request on its way and no outcome to be known",
        "confirm": "a gate injects no result: it is asked, and its answer is on record",
    },
    "compensation": {
        "ledger-asked": "a compensation takes no result from its ledger: its evidence is its effect record and step_compensated",
        "all-attempts": "a compensation begins no attempt beside one that is not closed: only the newest may be open",
        "idempotent-alone": "nothing can be declared by which a compensation that is in doubt is called again",
        "confirm": "a compensation has no result that is injected anywhere",
    },
    "recorded": {
        "ledger ledger-asked": "an answer is held by its effect record and its event: it has no ledger record",
        "catch-up-order barrier-asked barrier":
            "there is no barrier before a question, which changes nothing: the step that uses the value has one of its own",
        "all-attempts": "a question leaves no attempt that is open: it is asked again (S4-6-ASKED-ONCE is refuted)",
        "rule-0": "the node of a recorded value does not fail: it is asked until it is answered",
        _CALLS: "a question changes nothing in the world: it has no outcome to be known, and no key; the step that uses the"
                " value is seen with its key, which is kept",
        "confirm": "a recorded value says nothing of the world's state that a verifier could look at",
    },
}  # fmt: skip
NO_COUNTERPART: Final[Mapping[str, Mapping[str, str]]] = {
    kind: {name: why for names, why in reasons.items() for name in names.split()} for kind, reasons in _REASONS.items()
}
"""By machine: why a mechanism of the step's is none of its own, and there is nothing to ask."""


def changes(kind: str) -> dict[str, Missing]:
    """The mechanisms of a machine beside the step's, each with its change: of the step's, then rules of its own.

    One of the step's that is a rule of its own, and nothing else, is that rule, under another name: it is not here twice.
    """
    rules = {name: Missing(rules=frozenset({name})) for name in BY_KIND[kind].rules}
    return {name: change for name, change in COUNTERPARTS[kind].items() if change not in rules.values()} | rules


def absent(kind: str, names: Iterable[str]) -> Missing:
    """The change of a machine beside the step's without some mechanisms: of the step's, or rules of its own.

    Raises KeyError for one that is neither.
    """
    rules, own = BY_KIND[kind].rules, COUNTERPARTS[kind]
    return together([Missing(rules=frozenset({name})) if name in rules else own[name] for name in names])


def beside_without(name: str, kind: str, names: Iterable[str]) -> Machine:
    """A machine beside the step's without some mechanisms. Raises KeyError for one that it does not have."""
    beside, change = BY_KIND[kind], absent(kind, names)
    machine = beside.build(RulePolicy(name, beside.hardened.rules - change.rules))
    scopes = {field.name: field.scope for field in machine.fields}
    rules = [row for rule in changed(machine.rules, change) for row in _answers(rule, change, beside, scopes)]
    return replace(machine, rules=tuple(rules))


def _answers(rule: Rule, change: Missing, beside: Beside, scopes: Mapping[str, Scope]) -> list[Rule]:
    """A row of a worker with what may become of its write: as the machine has it, or as it is without T-WRITE."""
    durable = {n: v for n, v in rule.writes.items() if scopes[n] is not Scope.VOLATILE}
    writes = rule.actor is Actor.WORKER and "idle" not in rule.sees.get("at", {"idle"}) and rule.boundary
    if not writes or not any(scopes[name] is Scope.DURABLE for name in durable):
        return [rule]
    rows, leaves = [rule], pairs(beside.lets_go)
    if change.forgets and rule.name.endswith("(answer lost)"):
        rows = []  # it is whoever repeats the write
    elif change.forgets:
        rows.append(replace(rule, name=f"{rule.name} (answer lost)", writes={**durable, **leaves}))
        rows.append(replace(rule, name=f"{rule.name} (answer lost), nothing written", writes=leaves, emits=()))
    if rule.emits and is_named(rule, change.conflicts):
        rows.append(
            replace(
                rule, name=f"{rule.name}: a conflict, hears what clients said", writes=pairs(beside.again), emits=()
            )
        )
    return rows
