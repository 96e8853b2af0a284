"""Trace validation: what real runs leave behind is a run of the model, and an edited trace is not, at the event edited."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crashwindow.checkers.abstraction import EffectRow, LedgerRow, Result, StoredEvent, StoredJob, read_job
from crashwindow.checkers.conform_follow import Model
from crashwindow.checkers.conform_rig import Rig, Strike
from crashwindow.checkers.conform_world import Behaviour, Contract, StepPlan, declared
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.monitor import Monitor, check, to_item
from crashwindow.model.step import build

ONCE: Contract = (False, "park", "none")
ASKED: Contract = (False, "query", "fence")
AGAIN: Contract = (True, "reexecute", "none")
FAILS: Contract = (False, "fail", "none")
MACHINE = build()
STEP = "step-1"


@pytest.fixture(scope="module")
def monitor() -> Monitor:
    """One automaton for all traces, as in a campaign."""
    return Monitor(MACHINE)


@pytest.fixture(scope="module")
def model() -> Model:
    """The model that follows the runs which the traces come from."""
    return Model(MACHINE)


class Turn(NamedTuple):
    """A turn of a worker."""

    behaviours: Sequence[Behaviour] = ()
    strikes: dict[int, Strike] = {}  # noqa: RUF012 (read only)


def run(folder: Path, model: Model, contracts: Sequence[Contract], turns: Sequence[Turn | str]) -> StoredJob:
    """A real job, worked on, struck and answered, read back from its file."""
    rig = Rig(folder, model)
    rig.submit([StepPlan(contract, 1, {"n": 1}, "sent") for contract in contracts])
    for turn in turns:
        if isinstance(turn, Turn):
            rig.work(turn.behaviours, turn.strikes)
        else:
            assert rig.answer(False)
    stored = read_job(rig.path)
    rig.close()
    return stored


HISTORIES: dict[str, tuple[Sequence[Contract], Sequence[Turn | str]]] = {
    "success": ([ONCE], [Turn()]),
    "every answer lost": ([ONCE], [Turn((), dict.fromkeys(range(0, 24, 2), "lost"))]),
    "crashed at the effect, parked, answered": ([ONCE], [Turn(["dies after the effect"]), Turn(), "answer", Turn()]),
    "crashed on the wire, parked, answered": ([ONCE], [Turn(["dies on the wire"]), Turn(), "answer", Turn()]),
    "refused, then done": ([ONCE], [Turn(["no effect"])]),
    "refused for good": ([ONCE], [Turn(["no effect", "no effect"])]),
    "asked": ([ASKED], [Turn(["lost refusal"])]),
    "asked, it happened": ([ASKED], [Turn(["lost answer"])]),
    "executed again": ([AGAIN], [Turn(["lost answer"])]),
    "failed as unknown": ([FAILS], [Turn(["lost answer"])]),
    "two steps": ([ONCE, ONCE], [Turn()]),
    "the second parks": ([ONCE, ONCE], [Turn(["ok", "lost answer"]), "answer", Turn()]),
    "the first fails": ([FAILS, ONCE], [Turn(["lost answer"])]),
    "the second fails": ([ONCE, FAILS], [Turn(["ok", "lost answer"])]),
    "crashed in every write": ([ONCE], [Turn((), {n: "crash after"}) for n in (7, 4, 5, 6, 7, 8)]),
    "overtaken": ([ONCE], [Turn((), {8: "conflict", 20: "conflict"})]),
    "stale": ([ONCE], [Turn((), {8: "stale"}), Turn()]),
}


@pytest.mark.parametrize("history", HISTORIES)
def test_a_real_run_is_a_run_of_the_model(history: str, tmp_path: Path, model: Model, monitor: Monitor) -> None:
    """Every step of every history conforms, with its tool's contract and a witness of its effects."""
    contracts, turns = HISTORIES[history]
    stored = run(tmp_path, model, contracts, turns)
    for number, contract in enumerate(contracts, 1):
        told = monitor.check(stored, f"step-{number}", declared=declared(contract), first_result=Result("sent"))
        assert told.ok, str(told)
        assert monitor.check(stored, f"step-{number}").ok


def test_every_beginning_of_a_run_is_a_run(tmp_path: Path, model: Model, monitor: Monitor) -> None:
    """A crash at any boundary leaves a trace that conforms."""
    for at in range(14):
        folder = tmp_path / str(at)
        folder.mkdir()
        moments: tuple[Strike, ...] = ("crash before", "crash after")
        for when in moments:
            (inner := folder / when.split()[1]).mkdir()
            stored = run(inner, model, [ONCE], [Turn((), {at: when})])
            told = monitor.check(stored, STEP, declared=declared(ONCE), first_result=Result("sent"))
            assert told.ok, f"{at} {when}: {told}"


# Teeth. Events of a success: 1 created, 2 plan, 3 node started, 4 started, 5 finished, 6 committed, 7 node,
# 8 checkpoint, 9 completed.

Edit = Callable[[list[StoredEvent]], object]


def edited(stored: StoredJob, edit: Edit) -> StoredJob:
    """The job with its stream edited and numbered anew, as a forger would."""
    events = list(stored.events)
    edit(events)
    events = [event.replaced(version=number) for number, event in enumerate(events, 1)]
    return replace(stored, events=tuple(events), line=None)


def swap(events: list[StoredEvent], one: int, other: int) -> None:
    """Exchange two events, counted from 1."""
    events[one - 1], events[other - 1] = events[other - 1], events[one - 1]


def altered(events: list[StoredEvent], number: int, **data: Any) -> None:
    """Change an event's data."""
    events[number - 1] = events[number - 1].replaced(data={**events[number - 1].data, **data})


NOT_HAPPENED = StoredEvent(0, "q", "invocation_resolved", STEP, None, {"answer": "not_happened", "by": "person"})
COMPLETED_AGAIN = StoredEvent(0, "e", "node_finished", STEP, 1, {"result_type": "side_effect_committed"})
STREAM_EDITS: dict[str, tuple[Edit, int, str]] = {
    "created dropped": (lambda e: e.pop(0), 1, "job_created belongs here"),
    "started dropped": (lambda e: e.pop(3), 3, "belongs right before tool_invocation_started"),
    "both started events dropped": (lambda e: e.__delitem__(slice(2, 4)), 3, "that attempt is not open"),
    "finished dropped": (lambda e: e.pop(4), 5, "no such step"),
    "committed dropped": (lambda e: e.pop(5), 6, "no such step"),
    "node_finished dropped": (lambda e: e.pop(6), 7, "no such step"),
    "checkpoint dropped": (lambda e: e.pop(7), 8, "no such step"),
    "started twice": (lambda e: e.insert(4, e[3]), 5, "that is not the next attempt"),
    "another attempt started": (lambda e: e.insert(4, e[3].replaced(data={"attempt": 2})), 5, "no such step"),
    "node started twice": (lambda e: e.__setitem__(slice(4, 4), e[2:4]), 5, "started once"),
    "finished twice": (lambda e: e.insert(5, e[4]), 6, "no such step"),
    "committed twice": (lambda e: e.insert(6, e[5]), 7, "no such step"),
    "finished and committed swapped": (lambda e: swap(e, 5, 6), 5, "no such step"),
    "committed and node_finished swapped": (lambda e: swap(e, 6, 7), 6, "no such step"),
    "started and finished swapped": (lambda e: swap(e, 4, 5), 3, "belongs right before tool_invocation_started"),
    "another result committed": (lambda e: altered(e, 6, result="else"), 6, "committed: other≠first"),
    "unknown in place of success": (lambda e: altered(e, 5, outcome="unknown"), 6, ""),
    "an outcome that does not exist": (lambda e: altered(e, 5, outcome="maybe"), 5, "outcome 'maybe'"),
    "not happened, after success": (lambda e: e.insert(5, NOT_HAPPENED), 6, "no such step"),
    "a worker's event, by a person": (
        lambda e: e.__setitem__(4, e[4].replaced(epoch=None)),
        5,
        "no such step",
    ),
    "an event after the end": (lambda e: e.append(COMPLETED_AGAIN), 10, "no such step"),
    "an event nobody knows": (
        lambda e: e.insert(4, e[4].replaced(type="tool_dreamt")),
        5,
        "no such step",
    ),
}


@pytest.mark.parametrize("name", STREAM_EDITS)
def test_an_edited_stream_is_refused_where_it_was_edited(
    name: str, tmp_path: Path, model: Model, monitor: Monitor
) -> None:
    """Drop, repeat, exchange, alter, add: the first event that no run of the model has is named, with what was possible."""
    edit, number, words = STREAM_EDITS[name]
    genuine = run(tmp_path, model, [ONCE], [Turn()])
    assert monitor.check(genuine, STEP).ok
    told = monitor.check(edited(genuine, edit), STEP, declared=declared(ONCE))
    assert told.divergence is not None
    assert told.divergence.index == number - 1, str(told)
    assert words in str(told)
    assert told.divergence.enabled or name == "an event after the end"
    assert "job=" in str(told)


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"effects": ()}, "effect: none≠first"),
        ({"ledger": ()}, "ledger: none≠committed"),
        ({"ledger": (LedgerRow(STEP, "INFLIGHT", None),)}, "ledger: inflight≠committed"),
        ({"ledger": (LedgerRow(STEP, "COMMITTED", "else"),)}, "recorded: other≠first"),
        ({"effects": (EffectRow(STEP, "else"),)}, "≠"),
        ({"ledger": (LedgerRow(STEP, "COMMITTED", "sent"),) * 2}, "has 2 ledger records"),
        ({"line": None, "ledger": (LedgerRow(STEP, "UNKNOWN", None),)}, "ledger: unknown≠committed"),
    ],
)
def test_stores_that_disagree_with_the_stream_are_refused(
    rest: dict[str, Any], words: str, tmp_path: Path, model: Model, monitor: Monitor
) -> None:
    """After the last event, ledger and effect store must be the model's too; the differing field is named."""
    genuine = run(tmp_path, model, [ONCE], [Turn()])
    told = monitor.check(replace(genuine, **rest), STEP, first_result=Result("sent"))
    assert told.divergence is not None
    assert told.divergence.index is None
    assert words in str(told)


def test_who_wrote_the_rest_of_a_batch_is_asked(tmp_path: Path, model: Model, monitor: Monitor) -> None:
    """A person's answer queues the job again in the person's own write: a worker's event in its place is no run."""
    genuine = run(tmp_path, model, [ONCE], [Turn(["dies after the effect"]), Turn(), "answer", Turn()])
    at, queued = next((n, e) for n, e in enumerate(genuine.events) if e.type == "job_requeued")

    def forge(events: list[StoredEvent]) -> None:
        events[at] = queued.replaced(epoch=2)

    assert monitor.check(edited(genuine, lambda events: None), STEP).ok
    assert not monitor.check(edited(genuine, forge), STEP).ok


def test_committed_without_an_effect_record_is_refused(tmp_path: Path, model: Model, monitor: Monitor) -> None:
    """A ledger that says COMMITTED while nothing was recorded is no run, though the stream is a genuine beginning."""
    begun = run(tmp_path, model, [ONCE], [Turn((), {6: "crash after"})])
    told = monitor.check(replace(begun, ledger=(LedgerRow(STEP, "COMMITTED", "sent"),)), STEP)
    assert told.divergence is not None
    assert "ledger: committed≠" in str(told)


def test_the_witness_of_the_world_is_heard(tmp_path: Path, model: Model, monitor: Monitor) -> None:
    """Two effects, or a first result that is not the recorded one, are no run of the hardened model."""
    genuine = run(tmp_path, model, [ONCE], [Turn()])
    assert monitor.check(genuine, STEP, effects=1, first_result=Result("sent")).ok
    assert "the effect happened 2 times" in str(monitor.check(genuine, STEP, effects=2))
    assert "finished: other≠first" in str(monitor.check(genuine, STEP, first_result=Result("something")))


def test_a_contract_narrows_what_is_possible(tmp_path: Path, model: Model, monitor: Monitor) -> None:
    """The trace of a tool that fails on unknown is no trace of one that parks."""
    stored = run(tmp_path, model, [FAILS], [Turn(["lost answer"])])
    assert monitor.check(stored, STEP, declared=declared(FAILS)).ok
    assert not monitor.check(stored, STEP, declared=declared(ONCE)).ok
    with pytest.raises(ValueError, match="no initial state"):
        monitor.check(stored, STEP, declared={"on_unknown": "guess"})


def test_the_verdict_counts_traces_and_tells_the_first_divergence(tmp_path: Path, model: Model) -> None:
    """TESTED, REFUTED or NOT CHECKED, with figures."""
    genuine = run(tmp_path, model, [ONCE], [Turn()])
    good = check(MACHINE, genuine, STEP)
    bad = check(MACHINE, edited(genuine, lambda e: swap(e, 5, 6)), STEP)
    assert to_item([good], "x").verdict is Verdict.TESTED
    item = to_item([good, bad], "x")
    assert (item.verdict, item.figures["traces"], item.figures["diverging"]) == (Verdict.REFUTED, 2, 1)
    assert "event 5" in str(item.figures["first divergence"])
    assert to_item([], "x").verdict is Verdict.NOT_CHECKED
