"""Whether the solver that is loaded is the one that is installed, by whose version answers and evidence are kept."""

import os
from pathlib import Path

import z3

from ..runtime.errors import CommandError
from .proof_cache import installed_solver


class AnotherSolverError(CommandError):
    """The message names both solvers, and the remedy."""


def solver_as_installed() -> None:
    """Raises AnotherSolverError where the loaded solver tells another version than its metadata, or lies in another place."""
    told, folder = installed_solver()
    loaded, file = z3.get_version_string(), Path(str(z3.__file__))
    # The distribution counts what it changed beside the solver.
    as_told = told == loaded or told.startswith(f"{loaded}.")
    if not as_told or not os.path.samefile(file.parent.parent, folder):
        raise AnotherSolverError(
            f"{file} is loaded, z3 {loaded}, and z3-solver {told} is installed in {folder}, as which its answers would be kept:"
            " take the other one off PYTHONPATH, or install z3-solver anew"
        )
