"""The kill matrix as a campaign: a sample for `crashwindow verify`, everything for its deep profile (E-TRUST)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from .evidence import MutantCells
from .explore import Space
from .mutate_fleet import FLEETS, FleetBench
from .mutate_fleet_rows import FleetMutant
from .mutate_matrix import Kept, summed
from .mutate_model import STEP, SUBJECTS, Bench, Until
from .mutate_rows import Rows
from .mutate_runtime import judge, rows, sound
from .verify import Context, Found, Profile, Stage, code_sha256

SAMPLE: Final = 40
"""Mutants of each machine that the quick profile asks proof and search about."""
SAMPLE_OF_STEP: Final = 18
"""The same of the step, whose space is a hundred times as large."""
SAMPLE_OF_FLEET: Final = 6
"""The same of the smallest fleet, before the proof, the search of two workers, and counting."""
Mutant = TypeVar("Mutant", Rows, FleetMutant)

GAPS: Final[Mapping[str, str]] = {}
"""Mutants that nobody kills, and of which nothing is proved, each with the reason. They stay in the matrix, and fail the run."""

Tell = Callable[[str, int, int], None]
"""What is being done, how many mutants of it have a row, and how many there are."""


def every(profile: Profile, kept: Kept, tell: Tell, spaces: dict[str, Space] | None = None) -> Iterator[MutantCells]:
    """The row of each mutant, those that are kept first: of the models, of the fleets, and in the deep profile of the runtime."""
    quick = profile == "quick"
    for policy in SUBJECTS:
        bench = Bench(policy, (spaces or {}).get(policy))
        size = SAMPLE_OF_STEP if policy == STEP else SAMPLE
        mutants = _sample(bench.generated.mutants, size) if quick else bench.generated.mutants
        until: Until = "proof" if quick else "killed"
        yield from _rows(policy, mutants, partial(bench.judge, until=until), kept, tell)
    for name in FLEETS[:1] if quick else FLEETS:
        fleet = FleetBench(name)
        chosen = _sample(fleet.mutants, SAMPLE_OF_FLEET) if quick else fleet.mutants
        judge = partial(fleet.judge, whole=False, left_out="found" if quick else "")
        yield from _rows(name, chosen, judge, kept, tell)
    if not quick:
        yield from _runtime(kept, tell)


def _sample(mutants: Sequence[Mutant], size: int) -> Sequence[Mutant]:
    """So many of them, or fewer, evenly."""
    return mutants[:: -(-len(mutants) // size)]


def _rows(
    what: str,
    mutants: Sequence[Mutant],
    judge: Callable[[Sequence[Mutant]], Iterator[MutantCells]],
    kept: Kept,
    tell: Tell,
) -> Iterator[MutantCells]:
    """The rows of some mutants, as they come; those of an interrupted run first."""
    done = [kept.rows[m.name] for m in mutants if m.name in kept.rows]
    yield from done
    todo = [m for m in mutants if m.name not in kept.rows]
    for number, row in enumerate(judge(todo) if todo else (), len(done) + 1):
        kept.add(row)
        tell(what, number, len(mutants))
        yield row


def _runtime(kept: Kept, tell: Tell) -> Iterator[MutantCells]:
    names = rows()
    if any(name not in kept.rows for name in names):
        tell("runtime", 0, len(names))
        sound()
    for number, name in enumerate(names, 1):
        if name not in kept.rows:
            kept.add(judge(name, whole=True))
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
    if policy in FLEETS:
        fleet = FleetBench(policy)
        of_it = [mutant for mutant in fleet.mutants if mutant.name == name]
        if not of_it:
            raise KeyError(name)
        return next(fleet.judge(of_it, whole=True))
    return judge(name, whole=True)


def mutants(context: Context) -> Found:
    """The sample or the whole, as rows of the report; rows are kept in the run's directory, so that it can be resumed."""
    kept = Kept(Path(context.directory), f"{code_sha256()} {context.profile}")
    found = every(
        context.profile, kept, lambda what, done, of: context.tell(f"mutants of {what}: {done}/{of}"), context.spaces
    )
    return Found(kills=summed(found))


MUTANTS: Final = Stage("mutants", "mutants of the models", mutants, (), "explore")
