"""The kill matrix as a campaign: a sample for `crashwindow verify`, everything for its deep profile (E-TRUST)."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from .evidence import MutantCells
from .explore import Space
from .mutate_matrix import Kept, summed
from .mutate_model import STEP, SUBJECTS, Bench
from .mutate_runtime import judge, rows
from .verify import Context, Found, Profile, Stage, code_sha256

SAMPLE: Final = 40
"""Mutants of each machine that the quick profile asks proof and search about."""
SAMPLE_OF_STEP: Final = 18
"""The same of the step, whose space is a hundred times as large."""

GAPS: Final[Mapping[str, str]] = {}
"""Mutants that nobody kills, and of which nothing is proved, each with the reason. They stay in the matrix, and fail the run."""

Tell = Callable[[str, int, int], None]
"""What is being done, how many mutants of it have a row, and how many there are."""


def every(profile: Profile, kept: Kept, tell: Tell, spaces: dict[str, Space] | None = None) -> Iterator[MutantCells]:
    """The row of each mutant, those that are kept first: of the models, and in the deep profile of the runtime."""
    for policy in SUBJECTS:
        bench = Bench(policy, (spaces or {}).get(policy))
        mutants = bench.generated.mutants
        if profile == "quick":
            step = -(-len(mutants) // (SAMPLE_OF_STEP if policy == STEP else SAMPLE))
            mutants = mutants[::step]
        done = [kept.rows[m.name] for m in mutants if m.name in kept.rows]
        yield from done
        todo = [m for m in mutants if m.name not in kept.rows]
        for number, row in enumerate(bench.judge(todo, "proof" if profile == "quick" else "killed"), len(done) + 1):
            kept.add(row)
            tell(policy, number, len(mutants))
            yield row
    if profile == "deep":
        yield from _runtime(kept, tell)


def _runtime(kept: Kept, tell: Tell) -> Iterator[MutantCells]:
    names = rows()
    for number, name in enumerate(names, 1):
        if name not in kept.rows:
            kept.add(judge(name, whole=False))
        tell("runtime", number, len(names))
        yield kept.rows[name]


def one(name: str) -> MutantCells:
    """The row of one mutant, before every checker that can meet it. Raises KeyError where there is none of that name."""
    policy = name.partition(": ")[0]
    if policy in SUBJECTS:
        bench = Bench(policy)
        found = [mutant for mutant in bench.generated.mutants if mutant.name == name]
        if not found:
            raise KeyError(name)
        return next(bench.judge(found, "all"))
    return judge(name, whole=True)


def mutants(context: Context) -> Found:
    """The sample or the whole, as rows of the report; rows are kept in the run's directory, so that it can be resumed."""
    kept = Kept(Path(context.directory), f"{code_sha256()} {context.profile}")
    found = every(
        context.profile, kept, lambda what, done, of: context.tell(f"mutants of {what}: {done}/{of}"), context.spaces
    )
    return Found(kills=summed(found))


MUTANTS: Final = Stage("mutants", "mutants of the models", mutants, (), "explore")
