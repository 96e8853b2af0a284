"""The pytest plugin: one test per crash point of a runtime, in its own suite; the matrix in the terminal's summary.

A test that is marked `@pytest.mark.crash_matrix(adapter=…)` and takes `crash_point` runs once for each schedule. The
boundaries are found by runs without a fault when the tests are collected; under pytest-xdist one worker finds them for all.
What each test saw travels in its report, so the process that prints the summary has everything.

pytest loads this wherever the package is installed: nothing heavy is imported before a test asks for it.
"""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from ..evidence_matrix import Matrix, Trial
    from .bench import Bench, Clean, Setup
    from .world import World

MARK: Final = "crash_matrix"
PROPERTY: Final = "crashwindow"
SECONDS: Final = 600.0
"""How long a worker waits for the one that finds the boundaries."""
DEFAULT_STEPS: Final = ("a", "b", "c")
DEFAULT_WHENS: Final = ("before", "after", "held", "paused")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the matrices are written."""
    group = parser.getgroup("crashwindow", "crash matrices")
    group.addoption(
        "--crashwindow-report", metavar="DIR", help="write the crash matrices of this session there, in every form"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and what this session has seen."""
    config.addinivalue_line(
        "markers",
        "crash_matrix(adapter, steps=('a', 'b', 'c'), boundaries='commits', strikes=('before', 'after', 'held', 'paused'),"
        " options={}, hold_seconds=0.15): run the test once for each crash point of a runtime; adapter: a class, or its name"
        " as module:Class or file.py:Class",
    )
    config.stash[_SEEN] = []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per crash point."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    if "crash_point" not in metafunc.fixturenames:
        raise pytest.UsageError(f"{metafunc.function.__name__}: a test that is marked crash_matrix takes `crash_point`")
    setup = _setup(mark)
    points = _points(setup, tuple(mark.kwargs.get("strikes", DEFAULT_WHENS)), metafunc.config)
    metafunc.parametrize("crash_point", points, ids=list(points))


@pytest.fixture
def world(tmp_path: Path) -> "World":
    """A witness of the test's own: `world.act(step)` has an effect, `world.effects()` are those that happened."""
    from .world import World

    return World(tmp_path / "world")


@pytest.fixture
def crash_points(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Every crash point of this test's runtime."""
    mark = _mark(request)
    return _points(_setup(mark), tuple(mark.kwargs.get("strikes", DEFAULT_WHENS)), request.config)


@pytest.fixture(scope="module")
def _benches() -> Iterator[dict[str, "Bench"]]:
    """A bench for each runtime of a module: the process that has loaded it is warm for all its crash points."""
    benches: dict[str, Bench] = {}
    yield benches
    for bench in benches.values():
        bench.close()


@pytest.fixture
def campaign(request: pytest.FixtureRequest, _benches: dict[str, "Bench"]) -> "Campaigning":
    """Runs a crash point: `campaign.run(crash_point)` says what became of the job, `campaign.check(crash_point)` fails if it
    is bad."""
    from .bench import Bench

    setup = _setup(_mark(request))
    key = _key(setup)
    if key not in _benches:
        _benches[key] = Bench(setup)
    return Campaigning(request.node, _benches[key], _control(setup, request.config))


class Campaigning:
    """What a test does with its crash point."""

    def __init__(self, node: Any, bench: "Bench", control: "Clean") -> None:
        self._node, self._bench, self.control = node, bench, control

    def run(self, crash_point: str) -> "Trial":
        """Strike there, recover, and judge; `;` stands between the strikes of a schedule of several."""
        from dataclasses import asdict

        from .boundary import Strike

        schedule = tuple(map(Strike.parse, crash_point.split(";")))
        trial = self._bench.trial(schedule, 0, self.control.effects)
        lab = self._bench.lab
        told = {
            "setup": asdict(self._bench.setup),
            "control": asdict(self.control),
            "versions": lab.versions,
            "promise": lab.promise.model_dump(mode="json"),
            "trial": trial.model_dump(mode="json"),
            "test": self._node.nodeid,
        }
        self._node.user_properties.append((PROPERTY, json.dumps(told)))
        return trial

    def check(self, crash_point: str, at_most_once: bool = True) -> "Trial":
        """Run it, and fail unless the runtime does what it promises, and unless nothing is doubled or denied, where that is
        asked."""
        from ..evidence_outcome import AT_MOST_ONCE

        trial = self.run(crash_point)
        if not trial.kept:
            pytest.fail(
                f"{trial.outcome}: {trial.words}: its documentation promises: {self._bench.lab.promise.words}",
                pytrace=False,
            )
        if at_most_once and trial.outcome not in AT_MOST_ONCE:
            pytest.fail(f"{trial.outcome}: {trial.words}", pytrace=False)
        return trial


# What is known of a runtime.


def _mark(request: pytest.FixtureRequest) -> pytest.Mark:
    mark: pytest.Mark | None = request.node.get_closest_marker(MARK)
    if mark is None:
        raise pytest.UsageError(f"{request.node.name}: mark it with @pytest.mark.crash_matrix(adapter=…)")
    return mark


def _setup(mark: pytest.Mark) -> "Setup":
    from .adapter import Subject, name_of
    from .bench import Setup

    known = {"adapter", "steps", "boundaries", "strikes", "options", "hold_seconds"}
    if mark.args or not set(mark.kwargs) <= known or "adapter" not in mark.kwargs:
        raise pytest.UsageError(f"crash_matrix takes adapter=, and may take {', '.join(sorted(known - {'adapter'}))}")
    name = name_of(mark.kwargs["adapter"])
    subject = Subject(name.rpartition(":")[2].lower(), name, options=dict(mark.kwargs.get("options", {})))
    steps = tuple(mark.kwargs.get("steps", DEFAULT_STEPS))
    return Setup(subject, steps, mark.kwargs.get("boundaries", "commits"), mark.kwargs.get("hold_seconds", 0.15))


def _key(setup: "Setup") -> str:
    return hashlib.sha256(repr(setup).encode()).hexdigest()[:16]


_FOUND: Final = pytest.StashKey[dict[str, tuple["Clean", tuple[str, ...], bool]]]()


def _points(setup: "Setup", whens: tuple[str, ...], config: pytest.Config) -> tuple[str, ...]:
    """The schedules of one fault each, at boundaries that every run without a fault comes to."""
    _, boundaries, takeover = _known(setup, config)
    return tuple(f"{when} {boundary}" for boundary in boundaries for when in whens if takeover or when != "paused")


def _control(setup: "Setup", config: pytest.Config) -> "Clean":
    return _known(setup, config)[0]


def _known(setup: "Setup", config: pytest.Config) -> tuple["Clean", tuple[str, ...], bool]:
    """A run without a fault, the stable boundaries, and whether there is a take-over; found once in a session."""
    from .bench import Clean

    found = config.stash.setdefault(_FOUND, {})
    key = _key(setup)
    if key not in found:
        run = getattr(config, "workerinput", {}).get("testrunuid")
        data = _explored(setup) if run is None else _shared(setup, f"{run}-{key}")
        found[key] = (
            Clean(tuple(data["boundaries"]), data["effects"], data["seconds"]),
            tuple(data["stable"]),
            data["takeover"],
        )
    return found[key]


def _explored(setup: "Setup") -> dict[str, Any]:
    from .bench import Bench, ControlError
    from .campaign import control

    try:
        with Bench(setup) as bench:
            found, runs = control(bench)
            takeover = bench.lab.capabilities.takeover_seconds is not None
    except ControlError as error:
        raise pytest.UsageError(str(error)) from error
    stable = [boundary for boundary in found.boundaries if boundary not in found.unstable]
    return {
        "boundaries": list(runs[0].boundaries),
        "effects": found.effects,
        "seconds": found.seconds,
        "stable": stable,
        "takeover": takeover,
    }


def _shared(setup: "Setup", name: str) -> dict[str, Any]:
    """The same, found by the first worker of a session and read by the others: all have to collect the same tests."""
    file = Path(tempfile.gettempdir()) / f"crashwindow-{os.getuid()}-{name}.json"
    try:
        os.close(os.open(f"{file}.claimed", os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        deadline = time.monotonic() + SECONDS
        while not file.exists():
            if time.monotonic() > deadline:
                raise pytest.UsageError(
                    f"another worker did not find the crash points of {setup.subject.name}"
                ) from None
            time.sleep(0.05)
        read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if "error" in read:
            raise pytest.UsageError(read["error"]) from None
        return read
    try:
        found = _explored(setup)
    except pytest.UsageError as error:
        found = {"error": str(error)}
    whole = file.with_suffix(".part")
    whole.write_text(json.dumps(found), encoding="utf-8")
    whole.rename(file)
    if "error" in found:
        raise pytest.UsageError(found["error"])
    return found


# The summary.

_SEEN: Final = pytest.StashKey[list[dict[str, Any]]]()


class _Collector:
    """Takes what tests have seen out of their reports, in the process that prints the summary."""

    def __init__(self, seen: list[dict[str, Any]]) -> None:
        self._seen = seen

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Each test's report, once."""
        if report.when == "call":
            self._seen += [json.loads(str(value)) for name, value in report.user_properties if name == PROPERTY]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Listen to reports; under pytest-xdist the workers' come to the controller."""
    session.config.pluginmanager.register(_Collector(session.config.stash[_SEEN]), "crashwindow-collector")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A matrix for each runtime that was struck."""
    seen = config.stash.get(_SEEN, [])
    if not seen:
        return
    from io import StringIO

    from rich.console import Console

    from ...reports.crash_matrix_files import matrix_table, write_matrices

    matrices = list(_matrices(seen))
    terminalreporter.section("crash matrices")
    for matrix in matrices:
        console = Console(file=StringIO(), width=100)
        console.print(matrix_table(matrix))
        terminalreporter.write(console.file.getvalue())  # type: ignore[attr-defined]  # it is the StringIO above
    directory = config.getoption("--crashwindow-report")
    if directory:
        files = write_matrices("of a test session", matrices, Path(directory))
        terminalreporter.write_line(f"crash matrices: {files['matrix.html']}")


def _matrices(seen: list[dict[str, Any]]) -> Iterator["Matrix"]:
    """The matrix of each runtime, from what its tests saw."""
    import platform

    from ..evidence_matrix import Cell, Control, Matrix, Told, Trial

    runtimes: dict[str, list[dict[str, Any]]] = {}
    for each in seen:
        runtimes.setdefault(json.dumps(each["setup"], sort_keys=True), []).append(each)
    for told in runtimes.values():
        first = told[0]
        setup, control = first["setup"], first["control"]
        cells = []
        for each in told:
            trial = Trial.model_validate_json(json.dumps(each["trial"]))
            command = f"pytest {json.dumps(each['test'])}"
            cells.append(
                Cell(
                    schedule=trial.schedule,
                    outcomes={trial.outcome: 1},
                    kept=int(trial.kept),
                    words=trial.words,
                    command=command,
                )
            )
        yield Matrix(
            subject=setup["subject"]["name"],
            adapter=setup["subject"]["adapter"],
            versions=first["versions"],
            source=setup["source"],
            steps=list(setup["steps"]),
            promise=Told.model_validate_json(json.dumps(first["promise"])),
            control=Control(
                runs=3,
                boundaries=list(control["boundaries"]),
                unstable=[],
                effects=control["effects"],
                seconds=control["seconds"],
            ),
            cells=cells,
            seed=0,
            python=platform.python_version(),
            platform=platform.platform(),
        )
