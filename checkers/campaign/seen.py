"""The matrices of a test session, made of what its tests have seen."""

import json
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from ..evidence_matrix import Cell, Matrix, Told, Trial
from ..evidence_outcome import SEVERITY
from .adapter import Subject
from .bench import Bench
from .campaign import shifts
from .crash_points import SEED, Found
from .shell import command_line
from .sources import place_of


def seen(bench: Bench, found: Found, trial: Trial, test: str) -> str:
    """What one test saw, as JSON: a worker's report carries it to the process that prints. test: its id."""
    return json.dumps(
        {
            "setup": asdict(bench.setup),
            "found": found.dumps(),
            "versions": bench.lab.versions,
            "promise": bench.lab.promise.model_dump_json(),
            "trial": trial.model_dump_json(),
            "test": test,
        }
    )


def matrices(told: Iterable[str]) -> Iterator[Matrix]:
    """The matrix of each runtime that tests have tried, in the order in which they have."""
    runtimes: dict[str, list[str]] = {}
    for each in told:
        runtimes.setdefault(json.dumps(json.loads(each)["setup"], sort_keys=True), []).append(each)
    for its in runtimes.values():
        yield _matrix(its)


def _matrix(told: list[str]) -> Matrix:
    """All that was seen of one runtime: the trials of a schedule are one cell, whichever tests made them."""
    first = json.loads(told[0])
    found = Found.loads(first["found"])
    trials: dict[tuple[str, ...], list[tuple[Trial, str]]] = {}
    for each in map(json.loads, told):
        trial = Trial.model_validate_json(each["trial"])
        trials.setdefault(trial.schedule, []).append((trial, each["test"]))
    # Workers end their tests in any order, and the matrix is to be the same.
    order = {point: number for number, point in enumerate(found.points)}
    schedules = sorted(
        trials, key=lambda schedule: (len(schedule), *(order.get(strike, 0) for strike in schedule), schedule)
    )
    setup = first["setup"]
    subject = Subject(setup["subject"]["name"], setup["subject"]["adapter"])
    file, line = place_of(subject)
    return Matrix(
        subject=subject.name,
        adapter=subject.adapter,
        file=file,
        line=line,
        versions=first["versions"],
        source=setup["source"],
        steps=setup["steps"],
        promise=Told.model_validate_json(first["promise"]),
        control=shifts(found.control, (trial for each in trials.values() for trial, _ in each)),
        cells=[_cell(trials[schedule]) for schedule in schedules],
        seed=SEED,
        sampled=dict(found.sampled),
        python=platform.python_version(),
        platform=platform.platform(),
    )


def _cell(trials: list[tuple[Trial, str]]) -> Cell:
    _, test = min(trials, key=lambda each: SEVERITY[each[0].outcome])
    return Cell.of([trial for trial, _ in trials], command_line(["pytest", test]))
