"""What `crashwindow bench` says of figures is so: ratios by pairs, goals, gaps, changes; and rivals do the same work."""

import json
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg
import pytest

from crashwindow.__main__ import main
from crashwindow.bench import cli, step_rows, table, verify_rows, worker_rows
from crashwindow.bench.apart import apart
from crashwindow.bench.busy import busy, cores, seconds
from crashwindow.bench.compare import changes
from crashwindow.bench.figures import Figures, compared, verdict
from crashwindow.bench.plain import plain_tuples
from crashwindow.bench.results import Machine, Measured, Run, read
from crashwindow.bench.row import Contestant, Goal, Measure, Row, UnavailableError, WrongWorkError
from crashwindow.bench.runner import run
from crashwindow.bench.search_rows import same
from crashwindow.bench.steps import WRITES, submit, work
from crashwindow.bench.symmetry import symmetry
from crashwindow.checkers.crash_run import memory_directory
from crashwindow.checkers.explore import explore
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.scenarios.machines import machine_of

MACHINE = Machine(cpu="any", cores=2, system="any", python="any", disk="any", load=(0.0, 0.0))


def says(*figures: float | BaseException, notes: list[str] | None = None, name: str = "") -> Callable[[Any], Any]:
    """Somebody who has these figures, the first of them for the round that does not count."""

    @contextmanager
    def begin(_: Any) -> Iterator[Measure]:
        rest = iter(figures)

        def measure() -> float:
            if notes is not None:
                notes.append(name)
            said = next(rest)
            if isinstance(said, BaseException):
                raise said
            return said

        yield measure

    return begin


def row(ours: Callable[[Any], Any], *rivals: Contestant, better: Any = "more", goals: tuple[Goal, ...] = ()) -> Row:
    """A row of nothing in particular."""
    return Row("a", "this", "that", "things/s", better, Contestant("us", ours), rivals, goals, rounds=3)


def measured(*rows: Row, rounds: int | None = None) -> list[Measured]:
    """What the runner says of rows."""
    return list(run(rows, rounds, lambda *_: None))


def test_a_ratio_is_of_the_two_in_one_round() -> None:
    """The ratio is taken round by round, after one round that does not count: 2, 2 and 5 have the median 2, not 20 to 8."""
    (found,) = measured(row(says(999, 10, 20, 40), Contestant("them", says(1, 5, 10, 8)), goals=(Goal(2, "them"),)))
    (rival,) = found.rivals
    assert rival.ratios is not None
    assert rival.ratios.values == (2, 2, 5)
    assert (rival.ratios.median, rival.ratios.low, rival.ratios.high) == (2, 2, 3.5)
    assert found.goals[0].verdict == "met"


def test_less_may_be_better() -> None:
    """Of seconds the ratio is theirs to ours, and a bound is met from below."""
    goals = (Goal(2, "them"), Goal(3.0), Goal(1.0))
    (found,) = measured(row(says(1, 2, 2, 2), Contestant("them", says(1, 4, 4, 4)), better="less", goals=goals))
    assert [goal.verdict for goal in found.goals] == ["met", "met", "missed"]
    assert [goal.found for goal in found.goals] == [2, 2, 2]


def test_they_take_turns() -> None:
    """Who was last in a round begins the next: nobody always comes after the same."""
    notes: list[str] = []
    measured(
        row(says(*[1] * 4, notes=notes, name="us"), Contestant("them", says(*[1] * 4, notes=notes, name="them"))),
        rounds=3,
    )
    assert notes == ["us", "them", "them", "us", "us", "them", "them", "us"]


def test_who_is_missing_keeps_nobody_from_it() -> None:
    """A rival that is not installed is skipped by name, with the remedy, one that fails with its error; others are measured."""

    @contextmanager
    def begin(_: Any) -> Iterator[Measure]:
        raise UnavailableError("no server: start one")
        yield

    rivals = (
        Contestant("absent", says(1), "no-such-distribution", "dbos"),
        Contestant("unserved", begin),
        Contestant("strays", says(1, 1, WrongWorkError("3 states, not 4"))),
        Contestant("there", says(1, 1, 1, 1)),
    )
    goals = tuple(Goal(1, rival.name) for rival in rivals)
    (found,) = measured(row(says(1, 1, 1, 1), *rivals, goals=goals))
    assert [rival.status for rival in found.rivals] == ["not measured", "not measured", "failed", "measured"]
    assert "pip install 'crashwindow[dbos]'" in found.rivals[0].reason
    assert found.rivals[1].reason == "no server: start one"
    assert found.rivals[2].reason == "WrongWorkError: 3 states, not 4"
    assert found.rivals[2].figures is None
    assert [goal.verdict for goal in found.goals] == ["not measured", "not measured", "not measured", "met"]


def test_ours_that_fails_is_no_figure() -> None:
    """Where ours did other work the row has failed, and no goal is met."""
    (found,) = measured(row(says(WrongWorkError("other work")), Contestant("them", says(1)), goals=(Goal(1, "them"),)))
    assert (found.status, found.reason, found.ours) == ("failed", "WrongWorkError: other work", None)
    assert found.goals[0].verdict == "not measured"
    with pytest.raises(WrongWorkError, match=r"counted \(3, 9, 2\) .*, not \(4, 9, 2\)"):
        same((3, 9, 2), (4, 9, 2))


def test_an_interrupt_keeps_what_is_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """After Ctrl-C the rounds that were whole are told and written, it is said, and nothing more is begun; the code is 130."""
    first = row(says(1, 3, 3, 3))
    second = row(says(1, 4, KeyboardInterrupt()), Contestant("them", says(1, 2, 2)))
    third = row(says(AssertionError("never begun")))
    monkeypatch.setattr(cli, "chosen", lambda _: [first, second, third])
    assert main(["bench", "--out", str(tmp_path / "o.json")]) == 130
    said = capsys.readouterr().out
    assert "interrupted after 1 of 3 rounds" in said
    assert "interrupted: 1 of 3 rows are whole" in said
    found = read(tmp_path / "o.json")
    assert [r.status for r in found.rows] == ["measured", "interrupted"]
    assert found.rows[1].rivals[0].ratios == Figures.of([2.0])


def a_run(*rows: Measured) -> Run:
    """A run of these rows."""
    return Run(date="today", commit="", command="bench", machine=MACHINE, rows=rows)


def test_two_runs_are_compared_by_ratio() -> None:
    """A change is said only where every round lies outside; the ratio is compared and not our figure, which the machine moves."""

    def found(*ours: float) -> Measured:
        return measured(row(says(1, *ours), Contestant("them", says(1, 1, 1, 1))))[0]

    before, slower = found(10, 11, 12), found(5, 6, 7)
    assert [c.word for c in changes(a_run(before), a_run(slower))] == ["worse"]
    assert [c.word for c in changes(a_run(slower), a_run(before))] == ["better"]
    assert [c.word for c in changes(a_run(before), a_run(found(12, 13, 14)))] == ["within the spread"]
    assert [c.word for c in changes(a_run(), a_run(before))] == ["not measured before"]
    other = before.model_copy(update={"unit": "s"})
    assert [c.word for c in changes(a_run(other), a_run(before))] == ["measured otherwise before"]
    assert compared(Figures.of([2.0, 3.0]), Figures.of([1.0, 1.5]), more=False) == "better"
    assert verdict(Goal(1), None, "more") == "not measured"


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": "another", "version": 1}', '{"format": "crashwindow bench", "version": 2}']
)
def test_a_foreign_file_is_refused(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--against` a file that no bench has written, or another version of it, is bad input, and nothing is measured."""
    file = tmp_path / "results.json"
    file.write_text(content)
    assert main(["bench", "--against", str(file)]) == 2
    assert "give a file that `crashwindow bench --out FILE` has written" in capsys.readouterr().err


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown row is answered with those there are; no rounds, or a file that cannot be written, end it before it measures."""
    assert main(["bench", "--only", "speed"]) == 2
    assert "--only speed: there is no such row; there are search, " in capsys.readouterr().err
    assert main(["bench", "--only", "search", "--rounds", "0"]) == 2
    assert main(["bench", "--only", "search", "--out", str(tmp_path / "no" / "o.json")]) == 2
    assert main(["bench", "--against", str(tmp_path / "nothing")]) == 2


def test_the_table_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows have names of their own, each goal is a bound or names a rival of its row, and `--list` shows all of them."""
    assert len({r.name for r in table.ROWS}) == len(table.ROWS)
    for each in table.ROWS:
        assert {goal.beside for goal in each.goals} <= {"", *(rival.name for rival in each.rivals)}
        assert each.goals
    assert main(["bench", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(each.name in said for each in table.ROWS)
    assert [r for r in table.ROWS if not r.asked] == table.chosen(())


def test_what_is_written_is_json_with_its_format(tmp_path: Path) -> None:
    """The file says what it is, and reads back as the same run."""
    from crashwindow.bench.results import write

    found = a_run(*measured(row(says(1, 2, 3, 4))))
    write(found, tmp_path / "o.json")
    assert read(tmp_path / "o.json") == found
    assert json.loads((tmp_path / "o.json").read_text())["version"] == 1


@pytest.mark.parametrize("policy", ["recorded-hardened", "compensation-hardened", "contract-hardened"])
def test_the_plain_search_does_the_same_work(policy: str) -> None:
    """Plain tuples come to the same states, by as many steps, as far from the start; counts that are taken back included."""
    space = explore(machine_of(policy))
    place = "at" if "at" in space.machine.by_name else space.machine.fields[0].name
    assert plain_tuples(space.machine, place) == (len(space), space.transitions, space.depth)


def test_workers_without_names() -> None:
    """The same properties hold of two workers with names and without; both are counted to the end."""
    told = symmetry("ab")
    assert (told.reduced, told.plain, told.whole, told.failing) == (2_500, 18_184, True, ((), ()))


@pytest.mark.parametrize(("joined", "each"), [(False, WRITES), (True, 1)])
def test_the_raw_rival_makes_as_many_commits(tmp_path: Path, joined: bool, each: int) -> None:
    """With each step more come as many commits as it makes writes; one, where these are joined."""

    def commits(steps: int) -> int:
        statements: list[str] = []
        with closing(SqliteStore(tmp_path / f"{steps}.db")) as store:
            submit(store, "job", steps)
            with store.session as raw:
                raw.set_trace_callback(statements.append)
            work(store, "job", joined)
            with store.session as raw:
                raw.set_trace_callback(None)
        return durable(statements)

    assert commits(3) - commits(2) == each


def durable(statements: list[str]) -> int:
    """How many transactions were committed that wrote: by COMMIT, or by a statement on its own."""
    found, within = 0, False
    for sql in statements:
        within = within or sql.startswith("BEGIN")
        found += sql == "COMMIT" or (not within and not sql.startswith(("SELECT", "BEGIN", "PRAGMA", "ROLLBACK")))
        within = within and sql not in ("COMMIT", "ROLLBACK")
    return found


def test_a_process_of_its_own_answers_or_says_why() -> None:
    """A contestant in a process of its own has its figure there, and what goes wrong over there is raised here."""
    directory = Path(memory_directory())
    try:
        with apart(step_rows.raw_sqlite, directory) as measure:
            assert measure() > 0
            with closing(sqlite3.connect(directory / "raw.db")) as raw:
                raw.execute("DROP TABLE log")
            with pytest.raises(RuntimeError, match="OperationalError: no such table"):
                measure()
    finally:
        shutil.rmtree(directory)


def test_workers_are_measured_until_no_job_is_open(tmp_path: Path) -> None:
    """A round of a process of workers begins with open jobs, and ends when each is completed; one that is not is told."""
    address = f"sqlite:///{tmp_path}/s.db"
    with closing(SqliteStore(tmp_path / "s.db")) as store, worker_rows.service(2, address) as measure:
        for name in ("a", "b", "c"):
            submit(store, name, 1)
        began = time.monotonic()
        assert began < measure() < time.monotonic()
        worker_rows.completed(store, ["a", "b", "c"])
        submit(store, "d", 1)
        with pytest.raises(WrongWorkError, match="not completed: d"):
            worker_rows.completed(store, ["c", "d"])


def test_what_has_ended_meanwhile_takes_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server's own processes come and go: one that is gone is not counted, and what the others did stays."""
    looks = iter([{1: 5.0, 2: 1.0}, {2: 1.5, 3: 0.25}])
    monkeypatch.setattr("crashwindow.bench.busy._worked", lambda url: next(looks))
    monkeypatch.setattr("crashwindow.bench.busy.cores", lambda: 1)
    monkeypatch.setattr("time.monotonic", lambda: 10.0)
    assert busy("")(11.0) == 0.75


def test_how_busy_a_machine_is_counts_a_row_s_own_processes(postgres_url: str) -> None:
    """Whoever else works: of all processors, the share of the server, and of who was started; not that of who asks."""
    idle, until = busy(postgres_url), time.monotonic() + 0.3
    while time.monotonic() < until:
        pass
    assert 0 <= idle(until) < 0.2 / cores()
    with psycopg.connect(postgres_url) as client:
        client.execute("SELECT 1")
        working, until = busy(postgres_url), time.monotonic() + 0.3
        while time.monotonic() < until:
            client.execute("SELECT sum(n) FROM generate_series(1, 200000) AS n")
        assert 0.2 / cores() < working(time.monotonic()) < 1.2 / cores()
    process = get_context("spawn").Process(target=sum, args=(range(10**12),), daemon=True)
    process.start()
    try:
        started = busy(postgres_url)
        time.sleep(0.5)
        assert started(time.monotonic()) > 0.1 / cores()
    finally:
        process.kill()
        process.join()
    assert process.pid is not None
    with pytest.raises(UnavailableError, match=f"how long process {process.pid} has had a processor"):
        seconds(process.pid)


def test_a_run_that_fails_is_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose verdicts are not as expected is no measurement of one that is; its cache is where it was told."""
    said = "import os, sys; sys.exit(os.environ['XDG_CACHE_HOME'])"
    monkeypatch.setattr(verify_rows, "VERIFY", (sys.executable, "-c", said))
    with pytest.raises(WrongWorkError, match=f"verify ended with 1: {tmp_path}/cache"):
        verify_rows.verify(tmp_path / "cache")
