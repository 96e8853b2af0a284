"""What a claim says formally, thing by thing, and what would refute it, in words that every form of the report shares.

A thing that is forbidden is a guard of the model's own (`model.properties` and its like), as the rows have it: nothing is
restated here. In a guard, the number 2 stands for two or more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from . import compensation, contract_rows, gate, recorded, step
from .claim_types import PROPERTY_BY_ID, Claim, Kind
from .machine import Field, show

FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    "contract": contract_rows.FIELDS,
    "gate": gate.FIELDS,
    "compensation": compensation.FIELDS,
    "recorded": recorded.FIELDS,
}
"""The fields of a machine other than the step's, by how the names of its policies begin."""

OF_FLEET: Final = {"P9": gate.FIELDS, "P10": compensation.FIELDS, "P12": recorded.FIELDS}
"""The fields of a machine that several workers run, other than the step's, by its first property."""

COUNTS: Final = frozenset(f.name for some in (step.FIELDS, *FIELDS.values()) for f in some if f.count)
"""The fields that count: what grows there may grow again."""

REFUTES: Final[Mapping[Kind, str]] = {
    "holds": "A run of the machine under policy {policy} that does one of the things below.",
    "fleet": "A run of any number of workers under policy {policy} in which the worker that leads, or a store, does one of "
    "the things below.",
    "refuted": "It is held for refuted: some run under policy {policy} does one of the things below. That verdict would be "
    "wrong if no reachable state did.",
    "occurs": "It would be wrong if no run under policy {policy} reached the state described.",
    "table": "A state that a crash leaves and that is in no window or in two; a row, computed from the machine, that "
    "differs from the one stated by hand; or a crash of the runtime with more effects than its row predicts.",
    "rows": "A window that refines the row and whose recovery or effects, computed from the machine, differ from the ones"
    " stated by hand; or a run of the runtime that contradicts the sentence.",
    "ambiguity": "Anything in the stores by which every crash before the execution differs from every crash after it: then "
    "windows 1c and 2 would share no durable state.",
    "rest": "A reachable state under policy {policy} from which no run without a further fault comes to rest.",
    "joined": "A crash within a transaction that leaves, under policy {policy}, a state to which no run without one comes.",
    "keys": "Two steps that differ in job, node, tool or canonical arguments, and have one external key.",
    "refines": "A transition of the step's machine, or of the contract's, that is neither a step of their common interface "
    "nor without effect on it; or a move of a contract that is no edge of the table, or by an actor that may not "
    "make it.",
    "salted": "It is held for refuted: two interpreters compute different keys. That verdict would be wrong if every "
    "interpreter computed the same one.",
    "shown": "A run of the shipped runtime (a scenario, a crash schedule or a test) that contradicts the sentence.",
    "belied": "It is held for refuted: a run of the shipped runtime contradicts it. That verdict would be wrong if the same"
    " run bore the sentence out.",
    "live": "A run under policy {policy} that keeps every assumption of the claim, in which whoever can act for ever does act, "
    "and that never comes to rest.",
    "matrix": "A mechanism, an order or a set of mechanisms for which the search finds another answer than the one stated "
    "by hand: a run that breaks a property where the matrix says `not needed`, or none where it says `needed`.",
    "exactly": "A rule that reads the stores alone and is right at an observation of the class; or an observation outside it"
    " at which every such rule is wrong in some reachable state.",
    "unchecked": "Nothing here looks for a refutation.",
}
"""What would refute a claim of each kind; of one that is refuted, what would show that verdict to be wrong."""

LIVE_REFUTED: Final = (
    "It is held for refuted: some run under policy {policy} keeps every assumption of the claim and never comes to rest. "
    "That verdict would be wrong if every such run came to rest."
)
"""The same of a claim of kind `live` that is expected to be refuted: the register has both."""


@dataclass(frozen=True)
class Formal:
    """One property of a claim, in words of the model: guards that never hold, what only grows, what absorbs, and the antecedents,
    which are reachable, or the property would say nothing."""

    name: str
    title: str
    never: tuple[str, ...]
    grows: tuple[str, ...]
    absorbing: tuple[str, ...]
    occurs: tuple[str, ...]

    @property
    def forbids(self) -> list[str]:
        """What the property forbids, a sentence each; its title where no guard says it (P5 is said of each write)."""
        found = [f"a reachable state in which {words}" for words in self.never]
        found += [
            f"a step {'that lowers' if name in COUNTS else 'that takes back or changes'} `{name}`"
            for name in self.grows
        ]
        found += [f"a write to a store once {words}" for words in self.absorbing]
        return found or [f"a step that contradicts: {self.title}"]


def formal(claim: Claim) -> tuple[Formal, ...]:
    """The properties that a claim names; none where it states a relation that a checker computes (`claim.formal` says which)."""
    return tuple(_formal(name) for name in claim.properties)


def _formal(name: str) -> Formal:
    stated = PROPERTY_BY_ID[name]
    never, absorbing, occurs = (tuple(map(show, g)) for g in (stated.never, stated.absorbing, stated.occurs))
    return Formal(name, stated.title, never, stated.grows, absorbing, occurs)


def refuted_by(claim: Claim) -> list[str]:
    """What would refute a claim: a sentence by its kind, then each thing that its properties forbid."""
    refuted = claim.kind == "live" and claim.expected == "REFUTED"
    said = (LIVE_REFUTED if refuted else REFUTES[claim.kind]).format(policy=f"'{claim.policy}'")
    return [said, *(f"{part.name}: {words}" for part in formal(claim) for words in part.forbids)]


def glossary(claim: Claim) -> dict[str, str]:
    """What the fields mean that the claim's properties speak of, by name, in the model's order."""
    begins = claim.policy.partition("-")[0]
    some = FIELDS.get(begins, OF_FLEET.get(claim.properties[0], step.FIELDS) if claim.properties else step.FIELDS)
    stated = [PROPERTY_BY_ID[name] for name in claim.properties]
    spoken = set(chain.from_iterable((*p.grows, *chain(*p.never, *p.absorbing, *p.occurs)) for p in stated))
    return {field.name: field.meaning for field in some if field.name in spoken}
