"""The pytest plugin: one test per crash point of a runtime, in its own suite; the matrix in the terminal's summary.

A test that is marked `@pytest.mark.crash_matrix(adapter=…)` and takes `crash_point` runs once for each schedule of one fault.
The boundaries are found by runs without a fault when the tests are collected; one that not every such run comes to is no test,
and the summary says so. What each test saw travels in its report: under pytest-xdist the controller has everything as well.

pytest loads this wherever the package is installed: nothing heavy is imported before a test asks for it.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

if TYPE_CHECKING:
    from ..evidence_matrix import Control, Matrix, Trial
    from .bench import Bench
    from .crash_points import Found, Marked
    from .world import World

MARK: Final = "crash_matrix"
FIXTURES: Final = ("crash_point", "crash_points", "campaign")
"""What the mark is for: a test that has it takes one of these."""
SHARED: Final = "crashwindow_shared"
"""The key of xdist's `workerinput` under which a worker finds the directory that all workers of a session share."""
_SEEN: Final = pytest.StashKey[list[str]]()
_FOUND: Final = pytest.StashKey[dict[str, "Found"]]()
_SHARED: Final = pytest.StashKey[Path]()
_T = TypeVar("_T")


class CrashMatrixError(pytest.Collector.CollectError):
    """A mark that cannot be used, or a runtime that cannot be tried. pytest shows its words, and no traceback."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the matrices are written."""
    group = parser.getgroup("crashwindow", "crash matrices")
    group.addoption(
        "--crashwindow-report", metavar="DIR", help="write the crash matrices of this session there, in every form"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and what this session will have seen."""
    config.addinivalue_line(
        "markers",
        "crash_matrix(adapter, steps=('a', 'b', 'c'), boundaries='commits', strikes=('before', 'after', 'held', 'paused'),"
        " options={}, hold_seconds=0.15): run the test once for each crash point of a runtime; adapter: a class, or its name"
        " as module:Class or file.py:Class",
    )
    seen = config.stash[_SEEN] = []
    config.pluginmanager.register(_Collector(seen), "crashwindow-collector")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist which directory the workers of this session share."""
    stash = node.config.stash
    if _SHARED not in stash:
        stash[_SHARED] = Path(tempfile.mkdtemp(prefix="crashwindow-pytest-"))
    node.workerinput[SHARED] = str(stash[_SHARED])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove that directory."""
    if _SHARED in config.stash:
        shutil.rmtree(config.stash[_SHARED], ignore_errors=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per crash point."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    if not set(FIXTURES) & set(metafunc.fixturenames):
        raise CrashMatrixError(
            f"{metafunc.function.__name__}: a test that is marked {MARK} takes {', '.join(FIXTURES[:-1])} or {FIXTURES[-1]}"
        )
    points = _found(_marked(mark), metafunc.config).points
    if "crash_point" in metafunc.fixturenames:
        metafunc.parametrize("crash_point", points, ids=points)


@pytest.fixture
def world(tmp_path: Path) -> "World":
    """A witness of the test's own: `world.act(step)` has an effect, `world.effects()` are those that happened."""
    from .world import World

    return World(tmp_path / "world")


@pytest.fixture
def crash_points(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Every crash point of this test's runtime, each as `crash_point` is."""
    return _for_test(lambda: _found(_marked_of(request), request.config).points)


@pytest.fixture
def crash_point(request: pytest.FixtureRequest) -> str:
    """One crash point, `after effect: a #1`: the mark makes a test of each."""
    pytest.fail(f"{request.node.name}: {_UNMARKED}", pytrace=False)


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

    def made() -> Campaigning:
        from .bench import Bench

        asked = _marked_of(request)
        found = _found(asked, request.config)
        if asked.key not in _benches:
            _benches[asked.key] = Bench(asked.setup)
        return Campaigning(request.node, _benches[asked.key], found)

    return _for_test(made)


class Campaigning:
    """What a test does with its crash point."""

    def __init__(self, node: Any, bench: "Bench", found: "Found") -> None:
        self._node, self._bench, self._found = node, bench, found

    @property
    def control(self) -> "Control":
        """The runs without a fault."""
        return self._found.control

    def run(self, crash_point: str) -> "Trial":
        """Strike there, recover, and judge; `;` stands between the strikes of a schedule of several, the second of which
        strikes the recovery. ValueError for what is no crash point."""
        from .boundary import Strike
        from .seen import seen

        schedule = tuple(map(Strike.parse, crash_point.split(";")))
        trial = self._bench.trial(schedule, 0, self.control.effects)
        told = seen(self._bench, self._found, trial, self._node.nodeid)
        self._node.stash.setdefault(_SEEN, []).append(told)
        self._node.user_properties.append(("outcome", str(trial.outcome)))
        return trial

    def check(self, crash_point: str, at_most_once: bool = True) -> "Trial":
        """Run it, and fail unless the runtime does what it promises, and unless nothing is doubled or denied, where that is
        asked. Skipped where the process did not come to a boundary to which each run without a fault came, and nothing else is
        held against it."""
        from ..evidence_outcome import AT_MOST_ONCE, UNJUDGED, Outcome

        trial = self.run(crash_point)
        said = f"{trial.outcome}: {trial.words}"
        if trial.outcome is Outcome.NOT_STRUCK and not trial.came and self._unstable(crash_point):
            pytest.skip(f"{said}; each run without a fault came to it: it is unstable")
        if trial.outcome in UNJUDGED:
            pytest.fail(f"{said}: nothing is known of this crash point", pytrace=False)
        if not trial.kept:
            pytest.fail(f"{said}: its documentation promises: {self._bench.lab.promise.words}", pytrace=False)
        if at_most_once and trial.outcome not in AT_MOST_ONCE:
            pytest.fail(f"{said}: that is not at most once, with an honest record", pytrace=False)
        return trial

    def _unstable(self, crash_point: str) -> bool:
        """Of a crash point to which a run has not come: whether runs without a fault do."""
        from ..evidence_matrix import boundary_of

        return boundary_of(crash_point) in self.control.boundaries


# What is known of a runtime.

_UNMARKED: Final = f"mark it with @pytest.mark.{MARK}(adapter=…)"


def _for_test(make: Callable[[], _T]) -> _T:
    """What a fixture gives; one that cannot be given fails its test with words alone."""
    try:
        return make()
    except CrashMatrixError as error:
        words = str(error)
    pytest.fail(words, pytrace=False)


def _marked_of(request: pytest.FixtureRequest) -> "Marked":
    mark: pytest.Mark | None = request.node.get_closest_marker(MARK)
    if mark is None:
        raise CrashMatrixError(f"{request.node.name}: {_UNMARKED}")
    return _marked(mark)


def _marked(mark: pytest.Mark) -> "Marked":
    from .crash_points import CrashPointsError, marked

    try:
        return marked(mark.args, mark.kwargs)
    except CrashPointsError as error:
        raise CrashMatrixError(f"{MARK}: {error}") from None


def _found(asked: "Marked", config: pytest.Config) -> "Found":
    """The crash points of a runtime, found once in a session."""
    from .crash_points import CrashPointsError, find

    found = config.stash.setdefault(_FOUND, {})
    if asked.key not in found:
        shared = getattr(config, "workerinput", {}).get(SHARED)
        try:
            found[asked.key] = find(asked, Path(shared) if shared else None)
        except CrashPointsError as error:
            raise CrashMatrixError(f"{MARK}: {error}") from None
    return found[asked.key]


# The summary.


class _Collector:
    """Takes what tests have seen out of their reports, in the process that prints the summary."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Put what a test has seen beside its report, so that it goes where the report goes."""
        report = yield
        if call.when == "call":
            report.crashwindow = item.stash.get(_SEEN, [])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Each test's report, once."""
        self._seen += getattr(report, "crashwindow", [])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A matrix for each runtime that was struck."""
    told = config.stash.get(_SEEN, [])
    if not told:
        return
    from io import StringIO

    from rich.console import Console

    from ...reports.crash_matrix_files import matrix_table, write_matrices
    from .seen import matrices

    found = list(matrices(told))
    terminalreporter.section("crash matrices")
    for matrix in found:
        text = StringIO()
        Console(emoji=False, file=text, width=100).print(matrix_table(matrix), crop=False)
        terminalreporter.write(text.getvalue())
        for line in _not_tried(matrix):
            terminalreporter.write_line(line)
    directory = config.getoption("--crashwindow-report")
    if directory:
        files = write_matrices("of a test session", found, Path(directory))
        terminalreporter.write_line(f"crash matrices: {files['matrix.html']}")


def _not_tried(matrix: "Matrix") -> Iterator[str]:
    """What a reader would take to have been tried."""
    if matrix.control.unstable:
        names = ", ".join(matrix.control.unstable)
        yield f"{matrix.subject}: no test, as not every run without a fault came to it: {names}"
    for boundary, images in matrix.sampled.items():
        yield f"{matrix.subject}: of {images} things that a loss of power may leave at {boundary}, a sample"
