"""Test paths on PostgreSQL: each turn is a process, a crash is SIGKILL, and what it leaves is what the model says."""

import os

import pytest

from crashwindow.checkers.bugs_decide import ignored_effect
from crashwindow.checkers.conform_follow import Arc, Disagreement, Model
from crashwindow.checkers.walk_firsts import STEP, UNDONE, program, work
from crashwindow.checkers.walk_graph import counting
from crashwindow.checkers.walk_postgres import ProcessRig, perform
from crashwindow.checkers.walk_seek import tried
from crashwindow.model.step import build

PATHS = [
    program([STEP], work(at8="crash before"), work("ok", at4="lost"), work()),
    program([UNDONE], work("partial", "dies after the effect"), work(), ("answer", False), work()),
]
MODEL = Model(build())


def test_paths_run_as_in_memory_with_a_process_for_each_turn(postgres_url: str) -> None:
    """As many processes as turns, those that crash killed by a signal; the same edges are taken for certain."""
    done = perform(postgres_url, PATHS, lambda words: None)
    assert (done.paths, done.processes, done.killed, done.wrong) == (2, 6, 2, [])
    model = counting(MODEL.machine)
    assert done.edges == frozenset().union(*(tried(path, model).taken for path in PATHS))
    assert any(isinstance(edge, Arc) for edge in done.edges)


def test_a_planted_bug_parts_a_path_there(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that takes over does not look at the effect record: the path parts, and its key is told."""
    ignored_effect(monkeypatch)
    (told,) = perform(postgres_url, PATHS[:1], lambda words: None).wrong
    assert "the model cannot" in told
    assert PATHS[0].key in told


def test_a_process_that_ends_otherwise_is_told(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ends without a word, and one that goes on where it should have been killed."""
    with monkeypatch.context() as patch:
        patch.setattr(ProcessRig, "_report", lambda *what: None)
        (told,) = perform(postgres_url, PATHS[:1], lambda words: None).wrong
        assert "ended without a word" in told
    monkeypatch.setattr(os, "kill", lambda *what: os._exit(0))
    rig = ProcessRig(postgres_url, MODEL)
    rig.submit([STEP])
    with pytest.raises(Disagreement, match="not killed: crash"):
        rig.work([], {4: "crash before"})
    rig.close()
