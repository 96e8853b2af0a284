"""Every stage of `crashwindow verify` as columns of the kill matrix, or why it is none (a test holds this to the stages)."""

from collections.abc import Mapping
from typing import Final

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "search": ("explore", "stated"),
    "proof": ("prove",),
    "table": ("windows",),
    "keys": ("keys",),
    "walk": ("lockstep", "program", "walk"),
    "test_paths": ("paths",),
    "workers_walk": ("workers",),
    "contract_search": ("explore", "stated"),
    "contract_proof": ("prove",),
    "contract_refinement": ("refine",),
    "contract_walk": ("lockstep", "walk"),
    "contract_coverage": ("coverage",),
    "verify_job": ("verify-job",),
    "semantics_search": ("explore", "stated"),
    "semantics_proof": ("prove",),
    "fleet_proof": ("prove",),
    "fleet_search": ("explore", "stated", "alone", "whole"),
    "invariants": ("found", "count"),
    "liveness": ("liveness",),
    "interleavings": ("interleave",),
    "enumeration": ("enumerate", "stores"),
    "contract_enumeration": ("enumerate",),
    "power": ("power",),
    "crashes": ("crash", "monitor"),
    "semantics_crashes": ("crash", "monitor"),
    "contract_crashes": ("crash",),
}
"""The columns that speak for a stage; of a model's mutants those of `mutate_model`, of a fleet's `mutate_fleet`, of the runtime's
`mutate_runtime`."""

BY_STATEMENT: Final = frozenset({"stated", "whole"})
"""Columns that compare a mutant with what is stated of its original: how many states and steps, which graph, what has to occur.
What is wrong with a mutant they do not say."""
CONTRACT: Final = "contract"
WORKERS: Final = "several workers"
"""Two parts of the runtime: bugs of contracts, and protections that are taken away from several workers."""
MEANT: Final[Mapping[str, tuple[str, ...]]] = {
    "step": (
        "keys", "woken", "crash", "program", "monitor", "check-trace", "verify-job", "interleave", "enumerate", "paths", "walk",
        "workers", "power",
    ),
    "beyond the step": ("crash", "monitor", "check-trace", "verify-job"),
    "store": ("stores", "program"),
    CONTRACT: ("coverage", "crash", "enumerate", "walk"),
    WORKERS: ("interleave", "enumerate"),
}  # fmt: skip
"""By part of the runtime the checkers that are made for it: one of them that says no to none of its bugs is blind.

Every other that can meet them is asked as well, and may let all through: a store's refusals are asked by name, or hardly
(decision 030).
"""

BESIDE: Final[Mapping[str, str]] = {
    "check-trace": "the command of that name",
    "woken": "what the tests of the heartbeat ask of a worker that wakes, as a check",
}
"""Columns that are no stage, and what they are."""

NO_COLUMN: Final[Mapping[str, str]] = {
    "mutants": "it is the matrix",
    "canaries": "it plants a fixed few in every run; each has to be found by search and by proof",
    "contract_canaries": "the same of contracts",
    "semantics_canaries": "the same of gates, compensations and recorded values",
    "fleet_canaries": "the same of fences",
    "checker_canaries": "the same of the code, one for each checker that runs it",
    "health": "it asks whether a proof says something, of the original; a mutant that says nothing more is no better proved",
    "second": "it puts the questions that `prove` has answered to another solver; what it can find is a wrong answer of Z3",
    "necessity": "each mechanism that it takes out of the model is a mutant, and its matrix says which property falls",
    "contract_text": "it reads sentences of the seeds against tables, and runs nothing that a mutant changes",
    "seed_text": "it tries what the seeds say; its own planted defects, sentence by sentence, are in tests/seed_mutants.py",
    "graphs": "it draws what the search has found, and refuses nothing but figures that do not add up",
    "campaigns": "it strikes whole runtimes by the commits that it sees; what it can find the crash campaign finds by boundary",
    "scenarios": "saved schedules of the crash campaign and the search, which are columns as a whole",
    "contract_scenarios": "the same of contracts",
}
"""Stages that are no column, and why."""
