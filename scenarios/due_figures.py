"""The figures that items have, by what they tell of: their names, and those whose value is stated."""

from typing import Final

from .searched import COMBINATIONS, SEARCHED

Figures = dict[str, int | str | None]


def figures(names: str, **stated: int | str) -> Figures:
    """Names that are parted by ", ", and those whose value is stated."""
    return {**dict.fromkeys(names.split(", ") if names else ()), **stated}


def sized(policy: str, names: str = "") -> Figures:
    """States and transitions of a policy's whole machine."""
    size = SEARCHED[policy]
    return figures(names, states=size.states, transitions=size.transitions)


COUNTED: Final = figures("states, transitions")
PROOF: Final = figures("clauses, obligations, questions in files, rlimit, seconds, solver")
OF_FLEET: Final = figures("obligations, questions in files, rows, seconds, solver")
FOUND: Final = figures("found, found not implied, questions in files, rounds, states, written, written not implied")
LIFTED: Final = figures("added, dropped, kept, questions in files, rounds, states that many workers add")
IN_TWO: Final = figures("found, questions in files, rounds, states of one of two, written coupling")
COUNT: Final = figures("abstract states, seconds, states of others, steps")
HEALTH: Final = figures("clauses, least rlimit, most rlimit, obligations, rlimit, seeds")
AGAIN: Final = figures("limit, obligations, proofs checked, seconds, solver")
WALKED: Final = figures("comparisons, durable states, examples, rules, rules taken, seed, steps")
PATHS: Final = figures("classes of edges, edges of the quotient, moves, of, paths, quotient taken, seed, taken")
LEFT_OUT: Final = figures("", **{"never taken": 0, "quotient never taken": 0})
"""What test paths say besides where all of them are walked."""
SERVED: Final = figures("judged, killed, paths, processes, quotient taken, seed, steps of several workers, taken")
ALIKE: Final = figures("SQLite, memory, words", differences=0)
ALIKE_ON_A_SERVER: Final = figures("PostgreSQL, words", differences=0)
TAKEN: Final = figures("", edges=631, **{"taken for certain": 631})
TAKEN_OF_GATES: Final = figures("", edges=105, **{"taken for certain": 105})
TAKEN_OF_VALUES: Final = figures("", edges=74, **{"taken for certain": 74})
TAKEN_OF_COMPENSATIONS: Final = figures("", edges=160, **{"taken for certain": 160})
TAKEN_BY_TWO: Final = figures("", edges=340, **{"taken for certain": 340})
TAKEN_OF_CONTRACTS: Final = figures("", edges=103, **{"taken for certain": 103})
DECIDING: Final = figures("", crashes=185)
DECIDING_OF_TWO: Final = figures("", crashes=52)
POWER: Final = figures(
    "double the effect, images, lose an acknowledged write, not to be used, recorded operations, runs, worked to rest"
)
REST: Final = "components of several states, moves there without what is finite, states outside rest"
JOINED: Final = "crashes there, joined states, within a transaction"
COMBINED: Final = figures("edges, retries", unapproved=4, **COMBINATIONS)
FORGED: Final = figures("beside: accepted, beside: free of repeats, beside: provenance traceable, beside: replayable, forgeries, "
                         "plain: chain intact, rechained: accepted, rechained: auditable, rechained: free of repeats, "
                         "rechained: not finished, rechained: provenance traceable, rechained: replayable")  # fmt: skip
CLASS: Final = figures("in the class, observations")
SOLVED: Final = figures("clauses, in the class, obligations, questions in files, solver, steps")
