"""What a call is told of itself, compared with the rows: job, step, key, invocation, attempt, token (T-KEY, P14)."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from crashwindow.checkers.bugs_decide import (
    every_attempt_told_the_first,
    invocation_named_by_the_key,
    token_of_the_first_lease,
)
from crashwindow.checkers.conform_follow import Disagreement, Model
from crashwindow.checkers.conform_rig import Rig
from crashwindow.checkers.conform_world import CONTRACTS, StepPlan
from crashwindow.checkers.contract_follow import ContractModel
from crashwindow.checkers.contract_rig import ContractRig
from crashwindow.checkers.contract_services import Wish
from crashwindow.checkers.interleave import CASES as INTERLEAVED
from crashwindow.checkers.interleave import interleave
from crashwindow.checkers.interleave_replay import replay
from crashwindow.checkers.mutate_runs import enumerated, paths_walked, workers_walked
from crashwindow.checkers.mutate_runtime import swept
from crashwindow.checkers.standing import Called, Stand, misled, stood
from crashwindow.checkers.substitute import Plant, planted
from crashwindow.checkers.walk_memory import MemoryRig
from crashwindow.model.contract_machine import build_contract
from crashwindow.model.step import build

MODEL = Model(build())
PARTED = "is told the|has no such attempt|a second time"
BUGS = (invocation_named_by_the_key, token_of_the_first_lease, every_attempt_told_the_first)
FIRST = Called("j", "a", "k", "inv", 1, 1)


def started(attempt: int, epoch: int, step: str = "a", kind: str = "tool_invocation_started") -> tuple[object, ...]:
    """A started event: step, epoch, type, data."""
    return step, epoch, kind, {"idempotency_key": "k", "invocation_id": "inv", "attempt": attempt}


def store(*events: tuple[object, ...], lease: int = 4) -> Stand:
    """A store with these events, and a ledger with the step's record."""
    return stood("j", events, [("a", "k", "inv")], lease)


TWICE = store(started(1, 1), started(2, 3), started(1, 2, step="b"))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (FIRST, ""),
        (FIRST._replace(attempt=2, token=3), ""),
        (FIRST._replace(attempt=2), "is told the token 1, not 3"),
        (FIRST._replace(token=3), "is told the token 3, not 1"),
        (FIRST._replace(invocation="k"), "is told the invocation 'k', not 'inv'"),
        (FIRST._replace(key="inv"), "is told the key 'inv', not 'k'"),
        (FIRST._replace(job="i"), "is told the job 'i', not 'j'"),
        (FIRST._replace(step="c"), "the store has no such attempt"),
        (FIRST._replace(attempt=3), "the store has no such attempt"),
        (FIRST._replace(step="b", token=2), "the ledger has no such record"),
    ],
)
def test_an_execution_is_the_attempt_that_it_is_told_to_be(told: Called, words: str) -> None:
    """Everything is the started event's of just this attempt, and the ledger knows the invocation."""
    found = misled(told, TWICE, undoing=False)
    assert words in found if words else found == ""


@pytest.mark.parametrize(
    ("told", "asker", "words"),
    [
        (FIRST._replace(attempt=2, token=4), 4, ""),
        (FIRST._replace(attempt=2, token=3), 3, ""),
        (FIRST._replace(token=2), 2, ""),
        (FIRST._replace(attempt=2, token=3), 4, "is told the token 3, not 4"),
        (FIRST._replace(token=4), 4, "is told the attempt 1, not 2"),
        (FIRST, 0, "the store has no such attempt"),
    ],
)
def test_a_question_bears_its_askers_token(told: Called, asker: int, words: str) -> None:
    """A question is about the newest attempt that its asker can know of; the token is the asker's, not the attempt's."""
    found = misled(told, TWICE, undoing=False, asker=asker)
    assert words in found if words else found == ""


def test_of_two_workers_who_began_one_attempt_each_is_told_its_own() -> None:
    """A store that is not fenced lets that happen; what is wrong then is not what the tools are told."""
    both = store(started(1, 1), started(1, 2))
    assert [misled(FIRST._replace(token=token), both, undoing=False) for token in (1, 2)] == ["", ""]
    assert misled(FIRST._replace(token=3), both, undoing=False) == "is told the token 3, not 1"


def test_an_undoing_has_attempts_of_its_own() -> None:
    """What undoes a step is compared with its own started event, and neither with the other's."""
    stand = store(started(1, 2, kind="compensation_started"))
    assert misled(FIRST._replace(token=2), stand, undoing=True) == ""
    assert "the store has no such attempt" in misled(FIRST._replace(token=2), stand, undoing=False)


def retried(rig: Rig) -> None:
    """A step whose first attempt is refused, whose worker dies at the second, and that is asked about by the next one."""
    rig.submit([StepPlan(next(each for each in CONTRACTS if each[1:] == ("query", "fence")), 1, {"n": 1}, "done")])
    rig.work(["no effect", "dies on the wire"])
    rig.wait(serve_late=False)
    rig.work()


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize(
    "made", [lambda folder: Rig(folder, MODEL), lambda folder: MemoryRig(MODEL)], ids=["file", "memory"]
)
def test_a_rig_sees_what_a_tool_is_told(bug: Plant, made: Callable[[Path], Rig], tmp_path: Path) -> None:
    """The walks over a file and over memory part at a call that is told something else than stands in the store."""
    with closing(made(tmp_path)) as rig:
        retried(rig)
    (tmp_path / "again").mkdir()
    with closing(made(tmp_path / "again")) as rig, planted(bug), pytest.raises(Disagreement, match=PARTED):
        retried(rig)


def test_the_rig_of_contracts_sees_it(tmp_path: Path) -> None:
    """A contract's step runs under the same protocol, and its tools are told the same things."""
    with closing(ContractRig(tmp_path, ContractModel(build_contract()))) as rig:
        assert rig.open(Wish("none", CONTRACTS[0])) == "done"
        with planted(invocation_named_by_the_key), pytest.raises(Disagreement, match="is told the invocation"):
            rig.open(Wish("none", CONTRACTS[0]))


@pytest.mark.deep
@pytest.mark.parametrize("bug", BUGS)
def test_every_court_sees_it(bug: Plant) -> None:
    """The witness of the crash campaign notes it, and its judge compares; so do the kept paths, several workers, enumerations."""
    with planted(bug):
        assert re.search("P14|P2", swept(("retry-park", "ok-query-fence")))
        assert re.search(PARTED, paths_walked())
        assert re.search(PARTED, workers_walked())
        assert "P14: execute is told the" in enumerated()


@pytest.mark.parametrize("bug", BUGS)
def test_the_interleavings_see_it(bug: Plant) -> None:
    """A schedule in which a tool is told something else breaks P14, and its replay says so at the same word."""
    with planted(bug):
        _, key = interleave(INTERLEAVED["park-2"], until="P14").broken["P14"]
        assert any("P14: " in problem for problem in list(replay(key))[-1].problems)
