"""The kill matrix as a campaign: a sample for `crashwindow verify`; everything for `crashwindow mutants` (E-TRUST).

In the deep profile every mutant meets every checker that can meet it; of the two largest fleets a run of `verify` takes a part
there, by its seed. What leaves a cell empty the matrix says cell by cell:
where the search of a model's mutant ends at a violation, nobody who needs the whole of its states is asked; where a mutant is
equivalent by exhaustion nobody is asked any more; the code is enumerated beside such machines' mutants alone as nobody else has
killed, and as are not bisimilar to the original, and fleets are searched whole where nobody else kills; and of a bug of the
runtime nobody is asked who runs none of that code. The quick profile asks proof and search alone, of a sample: what they let
through is safe by proof and not asked further; of such a mutant it is open whether it is harmless.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from ..scenarios.profile import ONE_IN
from .evidence import MutantCells
from .explore import Space
from .mutate_bugs import PARTS
from .mutate_fleet import FLEETS, FleetBench
from .mutate_matrix import Kept, blind, summed
from .mutate_model import STEP, SUBJECTS, Bench
from .mutate_runtime import judge, rows, sound, sound_about
from .side_by_side import side_by_side
from .verify import Context, Found, Profile, Stage, made_by

SAMPLE: Final = 40
"""Mutants of each machine that the quick profile asks proof and search about."""
SAMPLE_OF_STEP: Final = 18
"""The same of the step, whose space is a hundred times as large."""
SAMPLE_OF_FLEET: Final = 6
"""The same of the smallest fleet, before the proof, the search of two workers, and counting."""
RUNTIME: Final = "runtime"
EVERY: Final = (*SUBJECTS, *FLEETS, RUNTIME)
"""What is mutated: models, fleets, and the code that ships."""
SHIPPED: Final = "the code as it ships"
"""What every checker of the runtime has to pass before it is asked about a bug."""
TOGETHER: Final = 30
"""Mutants that a process judges at once: those of one rule, which come one after the other, share what is asked of it."""
Name = TypeVar("Name")

GAPS: Final[Mapping[str, str]] = {}
"""Mutants that nobody kills, and of which nothing is proved, each with the reason. They stay in the matrix, and fail the run."""

Tell = Callable[[str, int, int], None]
"""What is being done, how many mutants of it have a row, and how many there are."""


JUDGES: Final = 2
"""Processes that judge in the deep profile."""


class Task(NamedTuple):
    """Some mutants of one subject, by name; of the code as it ships: parts of the runtime."""

    subject: str
    names: tuple[str, ...]
    quick: bool


def every(
    profile: Profile,
    kept: Kept,
    tell: Tell,
    spaces: dict[str, Space] | None = None,
    jobs: int = 1,
    subjects: Sequence[str] = EVERY,
    seed: int | None = None,
) -> Iterator[MutantCells]:
    """The row of each mutant of some subjects: of the models, of the fleets, and in the deep profile of the runtime.

    Rows that are kept are not found again. jobs: how many processes judge; spaces: what is searched already, for one process.
    seed: as of `names`.
    """
    chosen = names(profile, subjects, seed)
    for subject, every_name in chosen.items():
        tell(subject, sum(name in kept.rows for name in every_name), len(every_name))
    for task, found in _done(tasks(chosen, kept, profile), jobs, spaces or {}):
        for row in found:
            kept.add(row)
        of = chosen.get(task.subject, ())
        tell(task.subject, sum(name in kept.rows for name in of), len(of))
    yield from (kept.rows[name] for every_name in chosen.values() for name in every_name)


def names(profile: Profile, subjects: Sequence[str] = EVERY, seed: int | None = None) -> dict[str, Sequence[str]]:
    """The mutants of a profile, subject by subject. seed: of the run, which says what part of the largest fleets it takes; None:
    all of each."""
    quick = profile == "quick"
    chosen: dict[str, Sequence[str]] = {}
    for policy in (policy for policy in SUBJECTS if policy in subjects):
        made = [mutant.name for mutant in _bench(policy).generated.mutants]
        chosen[policy] = _sample(made, SAMPLE_OF_STEP if policy == STEP else SAMPLE) if quick else made
    for name in (name for name in (FLEETS[:1] if quick else FLEETS) if name in subjects):
        made = [mutant.name for mutant in _fleet(name).mutants]
        part = made if seed is None else made[seed % ONE_IN.get(name, 1) :: ONE_IN.get(name, 1)]
        chosen[name] = _sample(made, SAMPLE_OF_FLEET) if quick else part
    return chosen if quick or RUNTIME not in subjects else {**chosen, RUNTIME: rows()}


def _sample(every_name: Sequence[Name], size: int) -> Sequence[Name]:
    """So many of them, or fewer, evenly."""
    return every_name[:: -(-len(every_name) // size)]


def tasks(chosen: Mapping[str, Sequence[str]], kept: Kept, profile: Profile) -> list[Task]:
    """What is left to be judged: models first, of which each is quick; of the runtime each bug, after the code as it ships."""
    todo = {subject: [n for n in every_name if n not in kept.rows] for subject, every_name in chosen.items()}
    bugs = [Task(RUNTIME, (name,), False) for name in todo.pop(RUNTIME, ())]
    found = [
        Task(subject, tuple(left[n : n + TOGETHER]), profile == "quick")
        for subject, left in todo.items()
        for n in range(0, len(left), TOGETHER)
    ]
    shipped = [Task(SHIPPED, (part,), False) for part in dict.fromkeys(PARTS.values())] if bugs else []
    return [*found, *shipped, *bugs]


def _done(todo: Sequence[Task], jobs: int, spaces: Mapping[str, Space]) -> Iterator[tuple[Task, list[MutantCells]]]:
    """Each task with its rows, as they come."""
    if jobs == 1:
        benches = {policy: Bench(policy, space) for policy, space in spaces.items() if policy in SUBJECTS}
        yield from ((task, judged(task, benches)) for task in todo)
        return
    yield from side_by_side(judged, todo, jobs)


def judged(task: Task, benches: Mapping[str, Bench] | None = None) -> list[MutantCells]:
    """The rows of a task; none for the code as it ships. Raises OriginalError where an original does not pass."""
    if task.subject == SHIPPED:
        for part in task.names:
            sound(part)
        return []
    if task.subject == RUNTIME:
        return [judge(name) for name in task.names]
    if task.subject in FLEETS:
        fleet = _fleet(task.subject)
        chosen = [mutant for mutant in fleet.mutants if mutant.name in task.names]
        return list(fleet.judge(chosen, left_out="found" if task.quick else "")) if chosen else []
    bench = (benches or {}).get(task.subject) or _bench(task.subject)
    mutants = [mutant for mutant in bench.generated.mutants if mutant.name in task.names]
    return list(bench.judge(mutants, "proof" if task.quick else "all"))


@cache
def _bench(policy: str) -> Bench:
    return Bench(policy)


@lru_cache(maxsize=1)  # tasks come fleet by fleet, and what is counted of one takes two gigabytes
def _fleet(name: str) -> FleetBench:
    return FleetBench(name)


def one(name: str) -> MutantCells:
    """The row of one mutant, before every checker that can meet it. Raises KeyError where there is none of that name, and
    OriginalError where who says no to it says no to its original as well.
    """
    policy = name.partition(": ")[0]
    found = judged(Task(policy if policy in (*SUBJECTS, *FLEETS) else RUNTIME, (name,), False))
    if not found:
        raise KeyError(name)
    if policy not in (*SUBJECTS, *FLEETS):
        sound_about(found[0])
    return found[0]


def near(name: str) -> list[str]:
    """The names that are most like one that is none: of the mutants of the subject that it begins with, else of subjects."""
    subject = name.partition(": ")[0]
    bugs = {each.partition(": ")[0]: RUNTIME for each in rows()}
    of = bugs.get(subject, subject)
    if of not in (*SUBJECTS, *FLEETS, RUNTIME):
        return [f"{each}: …" for each in get_close_matches(subject, (*SUBJECTS, *FLEETS, *bugs), cutoff=0.0)]
    return get_close_matches(name, names("deep", [of])[of], cutoff=0.0)


def mutants(context: Context) -> Found:
    """The sample or the whole, as rows of the report; rows are kept in the run's directory, so that it can be resumed. A checker
    that says no to nobody fails the run.

    Each maker's rows have a place of their own: a run that goes on with other code or packages begins this stage afresh.
    """
    found_by = f"{made_by()}.{context.profile}"
    kept = Kept(Path(context.directory, "stages", f"mutants.{found_by}"), found_by)
    # By hours of work it pays to have small processes: each check of a bug is forked from the one that judges it.
    found = every(
        context.profile,
        kept,
        lambda what, done, of: context.tell(f"mutants of {what}: {done}/{of}"),
        context.spaces,
        jobs=1 if context.profile == "quick" else JUDGES,
        seed=context.seed,
    )
    parts = ONE_IN if context.profile == "deep" else {}
    kills = [row.model_copy(update={"one_in": parts.get(row.subject, 1)}) for row in summed(found)]
    return Found(kills=kills, errors=blind(kills))


MUTANTS: Final = Stage("mutants", "mutants of the models", mutants, (), "explore")
