"""The parts of a run's report in their order (E-REPORT), with their titles: the same in every form that people read."""

from typing import Final

TITLES: Final = {
    "guaranteed": "What is guaranteed, and what is not",
    "windows": "Crash windows",
    "claims": "Claim register",
    "findings": "Findings and witnesses, step by step",
    "contracts": "Execution contracts",
    "necessity": "Which mechanism each property needs",
    "mutants": "Mutants: planted bugs, and who said no",
    "coverage": "Coverage, gaps first",
    "matrices": "Crash matrices of runtimes",
    "graphs": "The reachable states, drawn",
    "assurance": "Assurance case",
    "run": "Environment, and this run",
}
NUMBERS: Final = {name: str(place) for place, name in enumerate(TITLES, 1)}
