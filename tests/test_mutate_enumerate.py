"""Mutants that nobody else kills: the code is enumerated beside them, or nobody can tell them from the original."""

from functools import cache, partial

import pytest

from crashwindow.checkers.explore import Engine, explore
from crashwindow.checkers.mutate_bisimilar import Observer, ToldApartError
from crashwindow.checkers.mutate_enumerate import StepsBeside
from crashwindow.checkers.mutate_model import Bench
from crashwindow.checkers.mutate_refine import compensates
from crashwindow.checkers.mutate_rows import Rows
from crashwindow.scenarios.machines import machine_of
from crashwindow.tests.sampled import sampled

SMALL = ("warned", "owed", "half-undone", "retold", "cancel-1")
"""Cases of the step that take little time, and meet the mutants of these tests."""

deep = partial(pytest.param, marks=pytest.mark.deep)
"""A mutant of a machine whose graph takes long to record."""


@cache
def bench(policy: str) -> Bench:
    """A machine's checkers, made once."""
    return Bench(policy)


def named(policy: str, what: str) -> Rows:
    """A mutant by its change."""
    return next(m for m in bench(policy).generated.mutants if m.what == what)


def enumerated(policy: str, mutant: Rows | None) -> str:
    """What the code says of a mutant; of the step by small cases alone, which do not take every edge."""
    beside = bench(policy).shipped
    assert beside is not None
    if isinstance(beside, StepsBeside) and policy == "hardened":
        machine = mutant.of(beside.base.machine) if mutant else beside.base.machine
        changed = frozenset(mutant.changed) if mutant else frozenset[str]()
        return StepsBeside(beside.base, SMALL, beside.sets).refined(Engine(machine, beside.base), changed)[0]
    return beside.examine(mutant)


def bisimilar(policy: str, what: str) -> str:
    """The proof that a mutant is; "" where there is none."""
    ready, mutant = bench(policy), named(policy, what)
    return ready.observer.bisimilar(mutant, ready.base.difference(mutant))


@pytest.mark.parametrize(
    "policy",
    sampled(["gate-hardened", "hardened", "recorded-hardened", "compensation-hardened", "contract-hardened"]),
)
def test_the_original_passes(policy: str) -> None:
    """The code parts from no machine that is as it was, and where every edge is to be taken, it takes each."""
    assert enumerated(policy, None) == ""


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        deep("recorded-hardened", "append committed, llm, first: does not write at"),
        deep("recorded-hardened", "append committed, input, other: does not write at"),
        ("gate-hardened", "cancelled before the step: job becomes open"),
        deep("compensation-hardened", "person: asks for the compensation: does not write job"),
        deep("contract-hardened", "start: does not write tool_was"),
        deep("contract-hardened", "lose: does not write executor"),
        deep("hardened", "park, an attempt is open (answer lost): job becomes open"),
        ("hardened", "append warned: waiver becomes none"),
    ],
)
def test_what_the_code_does_not_do_is_killed(policy: str, what: str) -> None:
    """These mutants are safe, and no machine of the code: it does something that they do not allow, and is not bisimilar."""
    assert "the mutant cannot" in enumerated(policy, named(policy, what)) or policy == "contract-hardened"
    assert enumerated(policy, named(policy, what))
    assert not bisimilar(policy, what)


@pytest.mark.parametrize(
    ("policy", "what", "field"),
    [
        deep("recorded-hardened", "append job_completed: does not write memory", "memory"),
        ("gate-hardened", "the decider signals: does not write decider", "decider"),
        deep("contract-hardened", "start: does not write executor", "executor"),
        deep("hardened", "ledger unknown: does not write at", "at"),
    ],
)
def test_what_nobody_sees_is_bisimilar(policy: str, what: str, field: str) -> None:
    """What only a process knows, and what changes nothing that is seen, is proved so, in words that say of what; and the code,
    enumerated, does not part from it.
    """
    said = bisimilar(policy, what)
    assert said.startswith("bisimilar: each step of the one is answered by the other")
    assert f"differ in {field} alone" in said
    assert enumerated(policy, named(policy, what)) == ""


def test_a_crash_is_answered_by_one_behind_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that stays where it has written decides once more than another one does: who is gone there may be gone later."""
    mutant = ("hardened", "ledger unknown: does not write at")
    assert bisimilar(*mutant).startswith("bisimilar: ")
    monkeypatch.setattr(Observer, "_later", lambda *_: False)
    assert bisimilar(*mutant) == ""


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        ("gate-hardened", "person: denies: does not write refused"),
        ("gate-hardened", "crash of the worker: does not write at"),
        ("contract-hardened", "start, with consent: does not write uses"),
        ("contract-hardened", "lose: does not write executor"),
        ("contract-hardened", "caller: approved, releases: does not write request"),
        ("recorded-hardened", "claim: dropped"),
    ],
)
def test_what_somebody_sees_is_not_called_bisimilar(policy: str, what: str) -> None:
    """A ghost that a property reads, a write that is missing, a step that only a crash gives back, a row that is gone."""
    assert bisimilar(policy, what) == ""


def test_a_planted_difference_is_told_apart() -> None:
    """Two machines whose states look alike and where one can do what the other cannot are no pair: a rule that is made to
    stop after what nobody sees is refused, though each of its own steps is answered.
    """
    ready = bench("gate-hardened")
    claim = named("gate-hardened", "the decider signals: does not write decider")
    signals = "the decider signals"
    deaf = Rows(
        "gate-hardened", "planted", "planted", {**claim.changed, "the signal of a decision is sent again": None}
    )
    assert deaf.changed[signals]
    assert ready.observer.bisimilar(deaf, ready.base.difference(deaf)) == ""
    with pytest.raises(ToldApartError):
        ready.observer.pairs(ready.base.engine(deaf), ready.base.space.parents)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("step: begins: original becomes unknown", "('none', 'none') becomes ('unknown', 'none')"),
        ("step: ok: does not write original", "nothing does what the step can do: step: ok"),
        ("a late call acts: does not write undone", "nothing can become but that it comes to nothing"),
        ("crash during the call: does not write late", "a call that is on its way is gone"),
        ("what was acquired and not begun is settled: ledger becomes none", "a record in the ledger is gone"),
        ("grant another attempt: does not write at", "stays where it is"),
    ],
)
def test_a_compensation_is_held_to_its_step_and_its_world(what: str, said: str) -> None:
    """The machine as it is sees its part of the interface and nothing else, loses no call and no record; mutants do not."""
    machine = machine_of("compensation-hardened")
    assert compensates(explore(machine)) == ""
    assert said in compensates(explore(named("compensation-hardened", what).of(machine)))


def test_no_mutant_of_a_machine_is_harmless_by_being_safe() -> None:
    """What nobody kills, and nothing proves the same, is a gap, also where the solver says that its rows keep the invariant."""
    ready = Bench("recorded-hardened")
    ready.shipped = None  # nobody enumerates
    (row,) = ready.judge([named("recorded-hardened", "append committed, llm, first: does not write at")], "all")
    assert next(cell.outcome for cell in row.cells if cell.checker == "prove") == "survived"
    assert row.gap
    assert not row.equivalent
