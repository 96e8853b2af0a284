"""The pytest plugin: one test per crash point, the same under pytest-xdist, words where something is wrong."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pytest

from crashwindow.checkers.campaign import crash_points
from crashwindow.checkers.campaign.adapters.naive import ActThenRecord
from crashwindow.checkers.campaign.bench import Bench
from crashwindow.checkers.campaign.crash_points import CrashPointsError, Found, find, marked
from crashwindow.checkers.campaign.pytest_plugin import Campaigning
from crashwindow.checkers.evidence_matrix import Control, Matrix, Trial
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.reports.crash_matrix_files import load_matrices

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parent.parent
MODULE = "crashwindow.checkers.campaign.pytest_plugin"
QUIET = ["-p", MODULE, "-p", "no:cacheprovider"]

SUITE = """
import pytest
from crashwindow.checkers.campaign.adapters.naive import ActThenRecord

mark = pytest.mark.crash_matrix(adapter=ActThenRecord, steps=("a",), strikes=("before", "after"))

@mark
def test_loop(crash_point, campaign):
    campaign.check(crash_point)

@mark
def test_all(crash_points, campaign, world):
    assert len(crash_points) == 6
    assert campaign.control.effects == {"a": 1}
    assert world.act("b") == {"effect": 1}
"""
IDS = [
    f"test_loop[{when} {boundary} #1]"
    for boundary in ("commit: INSERT jobs", "effect: a", "commit: INSERT done")
    for when in ("before", "after")
]


@pytest.fixture(autouse=True)
def _nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions load the plugin by name and no entry point: it is there once, be the package installed or not."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def matrix_of(directory: Path) -> Matrix:
    """The only matrix in a directory, but for what each run measures anew."""
    (matrix,) = load_matrices(directory)
    return matrix.model_copy(update={"control": matrix.control.model_copy(update={"seconds": 0.0})})


def table_of(output: str) -> str:
    """What the summary shows."""
    return output[output.index("= crash matrices =") :].partition("crash matrices: ")[0]


def test_one_test_per_crash_point_and_the_same_under_xdist(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each crash point is a test id and a case in pytest's JUnit; two workers give the same ids, verdicts, summary and matrix.

    Every form of the report is written, and nothing stays behind in the directory for temporary files.
    """
    pytester.makepyfile(test_loop=SUITE)
    alone = pytester.runpytest_inprocess(*QUIET, "-v", "--crashwindow-report=one", "--junitxml=junit.xml")
    alone.assert_outcomes(passed=5, failed=2)
    temporary = pytester.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    both = pytester.runpytest_subprocess(
        *QUIET, "-p", "xdist", "-v", "-n2", "--dist=load", "--crashwindow-report=two", "--basetemp=base"
    )
    both.assert_outcomes(passed=5, failed=2)

    cases = [case.get("name") for case in ElementTree.parse(pytester.path / "junit.xml").iter("testcase")]
    assert cases == [*IDS, "test_all"]
    assert all(f"test_loop.py::{name}" in both.stdout.str() for name in cases)
    alone.stdout.fnmatch_lines(["DUPLICATE: a 2 times instead of 1: that is not at most once*"])
    assert table_of(alone.stdout.str()) == table_of(both.stdout.str())
    assert matrix_of(pytester.path / "one") == matrix_of(pytester.path / "two")
    assert [f"test_loop[{cell.schedule[0]}]" for cell in matrix_of(pytester.path / "two").cells] == IDS
    assert matrix_of(pytester.path / "one").count() == {Outcome.DUPLICATE: 2, Outcome.EXACTLY_ONCE: 4}
    forms = {"matrix.json", "matrix.schema.json", "matrix.html", "matrix.md", "junit.xml", "results.sarif"}
    assert {file.name for file in (pytester.path / "two").iterdir()} == forms
    assert [file.name for file in temporary.iterdir() if file.name.startswith("crashwindow")] == []


UNSTABLE = """
from pathlib import Path
import pytest
from crashwindow.checkers.campaign.adapters.naive import ActThenRecord

class Sometimes(ActThenRecord):
    def __init__(self, flag):
        super().__init__()
        self.flag = Path(flag)

    def _step(self, database, job, step):
        super()._step(database, job, step)
        if not self.flag.exists():
            self.flag.touch()
            with database:
                database.execute("CREATE TABLE noise (x)")

mark = pytest.mark.crash_matrix(
    adapter=Sometimes, steps=("a",), strikes=("after",), options={"flag": str(Path(__file__).with_name("flag"))}
)

@mark
def test_a_pair_first(campaign):
    assert campaign.run("after effect: a #1; after effect: a #1").words == "a 3 times instead of 1"
    campaign.run("after effect: a #1")
    campaign.check("after effect: a #7")

@mark
def test_once(crash_point, campaign):
    campaign.run(crash_point)

@mark
def test_a_run_that_does_not_come_there(campaign):
    campaign._found.control.boundaries.append("commit: by chance #1")
    campaign.check("after commit: by chance #1")
"""


def test_an_unstable_boundary_is_no_test_and_the_summary_names_it(pytester: pytest.Pytester) -> None:
    """What one control run alone comes to is not struck, and said; runs of one schedule in several tests are one cell.

    A crash point that is not reached is no pass; where each control run came to it, it is unstable as well, and skipped.
    """
    pytester.makepyfile(test_sometimes=UNSTABLE)
    run = pytester.runpytest_inprocess(*QUIET, "--crashwindow-report=report")
    run.assert_outcomes(passed=3, failed=1, skipped=1)
    run.stdout.fnmatch_lines(
        [
            "NOT STRUCK: *nothing is known of this crash point*",
            "*no test, as not every run * came to it: commit: CREATE noise #1",
        ]
    )
    matrix = matrix_of(pytester.path / "report")
    assert matrix.control.unstable == ["commit: CREATE noise #1"]
    assert [len(cell.schedule) for cell in matrix.cells] == [1, 1, 1, 1, 1, 2]
    runs = {cell.schedule: sum(cell.outcomes.values()) for cell in matrix.cells}
    assert runs["after effect: a #1",] == 2
    assert runs["after effect: a #1", "after effect: a #1"] == 1
    assert not any("CREATE" in strike for schedule in runs for strike in schedule)


def test_a_run_that_misses_its_boundary_and_doubles_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is NOT STRUCK at an unstable boundary is skipped: what is held against a run is, struck or not."""
    point = "after effect: a #1"
    control = Control(runs=3, boundaries=["effect: a #1"], unstable=[], effects={"a": 1}, seconds=0.1)
    campaign = Campaigning(None, cast(Bench, None), Found(control, (point,), {}))
    made = Trial(
        schedule=(point,), run=0, outcome=Outcome.DUPLICATE, words="", status="", effects={}, kept=True, seconds=0.1, came=False
    )  # fmt: skip
    monkeypatch.setattr(campaign, "run", lambda crash_point: made)
    with pytest.raises((pytest.fail.Exception, pytest.skip.Exception)) as raised:
        campaign.check(point)
    assert raised.type is pytest.fail.Exception
    monkeypatch.setattr(campaign, "run", lambda _: made.model_copy(update={"outcome": Outcome.NOT_STRUCK}))
    with pytest.raises(pytest.skip.Exception, match="it is unstable"):
        campaign.check(point)


WRONG = """
import pytest
from crashwindow.checkers.campaign.adapters.naive import ActThenRecord
{adapter}

@pytest.mark.crash_matrix({arguments})
def test_wrong({takes}):
    pass
"""
BROKEN = """
class Broken(ActThenRecord):
    def start(self, place, job):
        raise RuntimeError("no such workflow")

class Unprepared(ActThenRecord):
    def prepare(self, place):
        raise RuntimeError("no disk")
"""


def test_wrong_use_is_told_in_words(pytester: pytest.Pytester) -> None:
    """A mark that cannot be meant, a runtime that fails without a fault, a fixture without a mark: a line, no traceback."""
    cases = {
        "positional": ("'module:Class'", "crash_point", "the mark takes adapter=…"),
        "idle": ("adapter=ActThenRecord", "tmp_path", "takes crash_point, crash_points or campaign"),
        "broken": ("adapter=Broken", "crash_point", "failed without any fault: RuntimeError: no such workflow"),
        "unprepared": (
            "adapter=Unprepared",
            "crash_point",
            "without any fault, `prepare` failed: RuntimeError: no disk",
        ),
        "nobody": ("adapter='no.such.module:Class'", "crash_point", "no.such.module: cannot be imported"),
    }
    for name, (arguments, takes, _) in cases.items():
        text = WRONG.format(adapter=BROKEN, arguments=arguments, takes=takes)
        pytester.makepyfile(**{f"test_{name}": text})
    pytester.makepyfile(test_unmarked="def test_a(crash_point): pass\ndef test_b(campaign): pass")
    run = pytester.runpytest_inprocess(*QUIET, "--continue-on-collection-errors")
    run.assert_outcomes(errors=len(cases) + 2)
    output = run.stdout.str()
    assert [words for _, _, words in cases.values() if words not in output] == []
    assert output.count("mark it with @pytest.mark.crash_matrix(adapter=…)") >= 2
    assert "INTERNALERROR" not in output
    assert "another exception" not in output
    assert "pytest_plugin.py" not in output


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({}, "takes adapter"),
        ({"adapter": ActThenRecord, "step": "a"}, "may take steps"),
        ({"adapter": ActThenRecord()}, "give a class"),
        ({"adapter": ActThenRecord, "steps": "abc"}, "steps='abc'"),
        ({"adapter": ActThenRecord, "steps": ()}, "one or more"),
        ({"adapter": ActThenRecord, "steps": ("a", "a")}, "none twice"),
        ({"adapter": ActThenRecord, "strikes": ("during",)}, "one or more of before, after"),
        ({"adapter": ActThenRecord, "boundaries": "syscalls"}, "one or more of commits, calls"),
    ],
)
def test_a_mark_that_cannot_be_meant_is_refused(named: dict[str, object], words: str) -> None:
    """Each argument is checked before anything is run."""
    with pytest.raises(CrashPointsError, match=words):
        marked((), named)


def test_a_runtime_is_named_with_its_options() -> None:
    """Two ways of one runtime have two matrices, which can be told apart."""
    asked = marked((), {"adapter": ActThenRecord, "options": {"synchronous": "OFF"}})
    assert asked.setup.subject.name == "actthenrecord-OFF"
    assert asked.key != marked((), {"adapter": ActThenRecord}).key


def test_crash_points_are_found_once_for_all_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process looks, the others read what it found, an error included; what is torn is not read."""
    control = Control(runs=3, boundaries=["effect: a #1"], unstable=[], effects={"a": 1}, seconds=0.1)
    found = Found(control, ("after effect: a #1",), {"effect: a #1": 20})
    looked = []

    def explore(asked: crash_points.Marked) -> Found:
        looked.append(asked.key)
        if asked.whens == ("paused",):
            raise CrashPointsError("there is no crash point")
        return found

    monkeypatch.setattr(crash_points, "_explore", explore)
    asked = marked((), {"adapter": ActThenRecord})
    nothing = marked((), {"adapter": ActThenRecord, "strikes": ("paused",)})
    (tmp_path / f"{asked.key}.part").write_text("torn")
    assert find(asked, tmp_path) == find(asked, tmp_path) == found
    for _ in range(2):
        with pytest.raises(CrashPointsError, match="no crash point"):
            find(nothing, tmp_path)
    assert looked == [asked.key, nothing.key]


def test_where_nobody_takes_over_nothing_is_paused() -> None:
    """A mark that leaves no crash point is refused, and says why, instead of being an empty set of tests."""
    with pytest.raises(CrashPointsError, match="takeover_seconds"):
        find(marked((), {"adapter": ActThenRecord, "steps": ("a",), "strikes": ("paused",)}), None)


def test_an_installed_package_brings_the_plugin(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest finds it by the entry point that pyproject.toml declares, once, also where it is asked for by name."""
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
    assert entry == {"crashwindow": MODULE}
    installed = pytester.mkdir("crashwindow-0.dist-info")
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: crashwindow\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(f"[pytest11]\ncrashwindow = {entry['crashwindow']}\n")
    monkeypatch.syspath_prepend(pytester.path)
    run = pytester.runpytest_inprocess("-p", "crashwindow", "-p", "crashwindow", "--markers")
    assert run.ret == 0
    assert run.stdout.str().count("@pytest.mark.crash_matrix(adapter, ") == 1


def test_pytest_starts_as_quickly_as_without() -> None:
    """Loading the plugin, which pytest does wherever the package is installed, loads nothing heavy and nothing else of ours."""
    script = f"import json, sys, {MODULE}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout)
    assert {"pydantic", "rich", "hypothesis", "z3", "yaml", "psycopg"} & set(loaded) == set()
    ours = {"crashwindow", "crashwindow.checkers", "crashwindow.checkers.campaign", MODULE}
    assert {name for name in loaded if name.startswith("crashwindow")} == ours
