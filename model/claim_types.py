"""What a claim of the register is made of (E-CLAIM). The claims themselves are in `claims.py` and `contract_claims.py`."""

from dataclasses import dataclass
from typing import Final, Literal

from .contract_properties import CONTRACT_BY_ID
from .properties import BY_ID, Property
from .semantics_properties import SEMANTICS_BY_ID

Variant = Literal["hardened", "as_written"]
Kind = Literal[
    "holds", "refuted", "occurs", "table", "rows", "ambiguity", "rest", "joined", "keys", "refines", "salted", "shown", "belied",
    "fleet", "live", "matrix", "exactly", "unchecked",
]  # fmt: skip
"""How a claim is checked: its properties hold; at least one named property fails; a described state is reached; the derived
table equals the stated one, or some rows of it; two windows leave the same durable state; every state can come to rest; joined
writes leave no other states; keys differ; contract and step refine both models; a key formula gives two processes one key; the
runtime shows it, or the opposite; its properties hold for any number of workers; every weakly fair run comes to rest; what is
computed of mechanisms is as stated; so is the class of observations at which no recovery is right; nothing here checks it."""

P5: Final = Property("P5", "A write below a store's fence changes nothing in that store.")
"""What is said of each write by each worker, rather than of a state: `checkers/prove_fleet_obligations.py` writes it out."""

PROPERTY_BY_ID: Final[dict[str, Property]] = {**BY_ID, P5.id: P5, **CONTRACT_BY_ID, **SEMANTICS_BY_ID}
"""Every property that a claim may name: the tool step's, the contract's, and those of gate, compensation and recorded value."""


@dataclass(frozen=True)
class Assumption:
    """An axiom: nobody here checks it, so somebody else must keep it."""

    id: str
    text: str
    owner: str


@dataclass(frozen=True)
class Citation:
    """Lines of a document, first and last, with their SHA-256."""

    document: str
    section: str
    lines: tuple[int, int]
    sha256: str


@dataclass(frozen=True)
class Claim:
    """One sentence of the register."""

    id: str
    variant: Variant
    sentence: str
    citations: tuple[Citation, ...]
    requirement: str
    policy: str
    kind: Kind
    properties: tuple[str, ...]
    assumptions: tuple[str, ...]
    methods: tuple[str, ...]
    expected: str
    hardened: str | None = None  # the claim beside which a refuted one stands

    @property
    def inductive(self) -> bool:
        """Whether it rests on the inductive proof of its policy's machine. What else a solver answers is no such proof."""
        return "prove" in self.methods and self.kind in ("holds", "fleet")

    @property
    def formal(self) -> str:
        """What is checked, in words of the model."""
        if self.kind in ("holds", "fleet", "refuted"):
            verb = {"holds": "holds", "fleet": "holds for any number of workers", "refuted": "fails"}[self.kind]
            return f"under policy {self.policy!r}, {verb}: " + "; ".join(
                f"{p} ({PROPERTY_BY_ID[p].title})" for p in self.properties
            )
        return f"under policy {self.policy!r}: {FORMAL[self.kind]}"


FORMAL: Final = {
    "occurs": "a run reaches a state in which the ledger is COMMITTED, no event says so, and the effect happened twice",
    "table": "every reachable state without a worker is in exactly one window, and each window's recovery, effects at the crash "
    "and effects in the end equal the row stated by hand",
    "rows": "in the windows that refine the row, recovery, effects at the crash and in the end are as the table stated by "
    "hand says",
    "ambiguity": "windows 1c and 2 contain the same durable state, with 0 effects and with 1",
    "keys": "steps that differ in job, node, tool or canonical arguments have different external keys",
    "rest": "from every reachable state a run without further faults reaches a completed, failed or parked job",
    "joined": "with the writes between two contacts as one transaction, every state, and every state that a crash within a "
    "transaction leaves, is a reachable state of the machine without transactions",
    "refines": "every transition of the step machine and of the contract's machine is, in their common interface, a step of the "
    "interface or none; and the contract's moves are edges of the table, by actors that may",
    "salted": "two interpreters compute the same key for the same arguments",
    "shown": "the runtime's scenarios, crash schedules and tests show it",
    "belied": "a run of the runtime contradicts it",
    "live": "no weakly fair run stays outside rest for ever, if what the claim assumes of `model.liveness` holds",
    "matrix": "what is computed, by taking each mechanism out of the rows, of cells, orders and sets is what "
    "`model.mechanisms` states",
    "exactly": "for every function of the observable durable state to `execute` or `not`: at each observation of the class it "
    "is wrong in a reachable state that is so observed; and there is one that is right at all others",
    "unchecked": "nothing here checks it",
}
