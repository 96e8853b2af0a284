"""The event streams that a crash campaign keeps: which, what is in them, and that they are the same each time."""

import json
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from crashwindow.checkers import crash, crash_stage
from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_faults import Key
from crashwindow.checkers.crash_run import Record
from crashwindow.checkers.crash_snapshot import SINGLE, sweep_case
from crashwindow.checkers.crash_streams import LONGEST, file_name, keep_streams, representatives, windows_of
from crashwindow.checkers.stream_check import StreamChecker
from crashwindow.checkers.stream_lines import lines
from crashwindow.checkers.verify import Context
from crashwindow.reports.audit.streams import streams
from crashwindow.scenarios.profile import CRASH_STREAMS

from .kept_streams import kept, killed, named

SMALL = "ok-fail"


@cache
def records() -> list[Record]:
    """The schedules of one case, swept once."""
    return list(sweep_case(CASES[SMALL], SINGLE))


def test_each_window_and_outcome_has_a_stream_of_the_fewest_faults() -> None:
    """Whatever window a crash left and however the job ended, a schedule that shows it is kept; and one without a crash."""
    chosen = representatives(records(), (), windows_of)
    by_key = {record.key: record for record in records()}
    shown = {(window, by_key[key].outcome) for key in chosen if key.schedule for window in windows_of(by_key[key])}
    crashed = [record for record in records() if record.at_crash is not None]
    assert shown == {(window, record.outcome) for record in crashed for window in windows_of(record)}
    assert len({window for window, _ in shown}) > 8
    assert [key for key in chosen if not key.schedule] == [Key(SMALL, "hardened", ())]
    assert len(chosen) < len(crashed) / 2
    # In a sweep the pairs that begin with a fault stand before the next single one: they show nothing that it does not.
    twice = [replace(r, key=r.key._replace(schedule=r.key.schedule * 2)) for r in crashed]
    assert representatives([*twice, *records()], [record.key for record in twice]) == representatives(records(), ())
    # Of single ones those come first that are killed anyway.
    assert crashed[-1].key not in representatives(records(), ())
    assert crashed[-1].key in representatives(records(), [crashed[-1].key])


def test_a_schedule_that_could_not_be_run_is_no_representative() -> None:
    """An error is told of as such, and no stream stands for it."""
    wrong = [replace(record, error="it was never reached") for record in records()[1:]]
    assert representatives([records()[0], *wrong], (), windows_of) == [records()[0].key]


def test_two_runs_of_a_stage_keep_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed by warm parents in a campaign, or by this test: each stream and each world is the same, byte for byte."""
    monkeypatch.setattr(crash, "CASES", {SMALL: CASES[SMALL]})
    monkeypatch.setattr(crash, "SHIPPED", {})
    monkeypatch.setattr(crash, "Pool", partial(crash.Pool, processes=1))
    (tmp_path / CRASH_STREAMS).mkdir(parents=True)
    (tmp_path / CRASH_STREAMS / "left-by-an-interrupted-run.jsonl").write_text("x")
    found = crash_stage.crashes(Context("quick", 1, tmp_path, lambda words: None))
    assert {place for items in found.items.values() for item in items for place in item.files} == {CRASH_STREAMS}
    written = {f"{CRASH_STREAMS}{p.name}": p.read_bytes() for p in (tmp_path / CRASH_STREAMS).iterdir()}
    sampled = crash.sample(records(), "quick")
    keys = list(map(str, representatives(records(), sampled, windows_of)))
    assert written == kept(*keys)
    assert {name for key in keys for name in named(key)} == written.keys()


def test_a_stream_is_one_of_the_trace_format_with_a_whole_chain() -> None:
    """`crashwindow check-trace` reads it, each link is what the events give, and its records line names key and contract."""
    key = "crash:ok-query-fence:put_effect:after"
    stream, world = named(key)
    files = kept(key)
    told = streams(files)
    assert (told.problems, told.events, told.linked) == ([], told.linked, told.events)
    raw = files[stream].splitlines(keepends=True)
    checker = StreamChecker()
    assert [*checker.check(lines(raw)), *checker.finish()] == []
    assert (checker.checked.jobs, checker.checked.compared) == (1, 1)
    head = json.loads(raw[0])
    assert head["replay"] == key
    assert head["declared"] == {"a": {"idempotent": "no", "on_unknown": "query", "look": "fence"}}
    (effect,) = map(json.loads, files[world].splitlines())
    assert (effect[0], effect[3]) == ("a", head["records"]["effects"][0]["output"])


def test_names_are_those_of_the_keys_and_no_two_keys_share_one() -> None:
    """A file is found by its replay key, whatever the key holds."""
    keys = [record.key for record in records()]
    assert len({file_name(key) for key in keys}) == len(keys)
    assert file_name(keys[0]) == f"{SMALL}="
    long = [keys[1]._replace(schedule=keys[1].schedule * number) for number in (9, 10)]
    assert len({file_name(key) for key in long}) == 2
    assert {len(file_name(key)) for key in long} == {LONGEST}


def test_nothing_of_an_earlier_run_stays(tmp_path: Path) -> None:
    """A stage that is run again in the same directory leaves there what it has kept, and nothing else."""
    (tmp_path / "streams").mkdir()
    (tmp_path / "streams" / "old.world").write_text("x")
    keep_streams(killed("crash:ok-park:claim:after"), CASES, tmp_path / "streams")
    names = sorted(path.name for path in (tmp_path / "streams").iterdir())
    # Nor the run without a fault, which comes along to be compared with.
    assert names == ["ok-park=claim=after.jsonl", "ok-park=claim=after.world"]
