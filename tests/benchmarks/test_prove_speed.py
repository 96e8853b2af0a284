"""How long the inductive proof takes: figures, never a limit."""

from functools import cache
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from crashwindow.checkers.prove import Proof, export, prove, prove_rows
from crashwindow.checkers.prove_needed import unneeded
from crashwindow.model.invariant import INVARIANT
from crashwindow.model.properties import PROPERTIES
from crashwindow.model.step import build
from crashwindow.model.windows import WINDOWS


@cache
def proved() -> Proof:
    """A proof for those that measure what is done with one."""
    return prove(build(), PROPERTIES, INVARIANT)


def test_the_whole_proof(benchmark: BenchmarkFixture) -> None:
    """Every obligation and every question of health of the hardened machine, encoding included."""
    proof = benchmark(prove, build(), PROPERTIES, INVARIANT)
    benchmark.extra_info["obligations"] = len(proof.results)
    assert proof.holds


def test_the_rows_of_the_table(benchmark: BenchmarkFixture) -> None:
    """The number of effects in each window, from a proof that is there."""
    assert benchmark(prove_rows, proved(), WINDOWS)


def test_the_files_for_another_solver(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Every obligation written as a file of its own."""
    benchmark(export, proved(), tmp_path)
    assert len(list(tmp_path.glob("*.smt2"))) == len(proved().results)


def test_no_clause_is_idle(benchmark: BenchmarkFixture) -> None:
    """The search for clauses that the proof can do without."""
    assert benchmark(unneeded, build(), PROPERTIES, INVARIANT) == []
