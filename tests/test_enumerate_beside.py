"""What stands beside a step's own execution, enumerated: pauses, inputs, a gate read as its own machine; and each has teeth."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from crashwindow.checkers.bugs_semantics import undoing_left_in_flight
from crashwindow.checkers.enumerate import Product
from crashwindow.checkers.enumerate_case import WIDE
from crashwindow.checkers.enumerate_cases import GATES
from crashwindow.checkers.enumerate_counts import COUNTS
from crashwindow.checkers.enumerate_cover import step_sets
from crashwindow.checkers.enumerate_floor import WideFloor
from crashwindow.checkers.enumerate_gate import GateReader, gate_sets
from crashwindow.checkers.enumerate_gate_floor import GateFloor
from crashwindow.checkers.enumerate_others import OTHERS, Other
from crashwindow.checkers.enumerate_stage import converse_beside, enumerated, product, refined
from crashwindow.checkers.enumerate_undoing import undoing_sets
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import explore
from crashwindow.checkers.interleave_case import TTL
from crashwindow.model.compensation import build_compensation
from crashwindow.model.gate import build_gate
from crashwindow.model.machine import Machine
from crashwindow.model.policy import HARDENED
from crashwindow.model.step import build
from crashwindow.model.surroundings import build_around
from crashwindow.runtime import drive, gate
from crashwindow.runtime.clients import Say
from crashwindow.runtime.contracts import approvals
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.drive import Perform
from crashwindow.runtime.inputs import Recorder
from crashwindow.runtime.llm import LlmAnswer
from crashwindow.runtime.llm_step import LlmStep
from crashwindow.runtime.records import NewEvent
from crashwindow.runtime.store import VersionConflict
from crashwindow.tests.sampled import sampled


def beside_gate(name: str, machine: Machine) -> Product:
    """A case with a node that waits, beside some machine of a gate."""
    return Product(GateFloor(GATES[name]), gate_sets(machine), sampled=True, reader=GateReader, certain=True)


def without(machine: Machine, name: str) -> Machine:
    """A machine without some rows."""
    rules = tuple(rule for rule in machine.rules if not rule.name.startswith(name))
    assert len(rules) < len(machine.rules)
    return replace(machine, rules=rules)


@pytest.mark.parametrize("name", sampled(["rests", "gate-approval", "inputs-lost", "both-undone"], now=2))
def test_each_step_is_the_models(name: str) -> None:
    """A pause that lets go, inputs struck by faults, a gate, a job at rest: nothing parts, and the counts are pinned."""
    run = product(name).run()
    assert not run.parted
    assert run.counts == COUNTS[name]


@pytest.mark.deep
def test_beside_which_machine_a_case_was_held_is_said() -> None:
    """Of a gate's machine, and of a step's with others around it, not all is proved that is of the step's: each is named."""
    said = refined(list(enumerated(["half-undone", "gate-signal", "both-undone"], {}))).statement
    assert "after it: samples of half-undone;" in said
    assert "beside the machine of a gate, of which a step's claims do not speak, samples of gate-signal;" in said
    assert "of which five sentences of P6 and three of P4 do not hold, samples of both-undone. " in said


def test_who_has_asked_looks_again() -> None:
    """Where the gate's machine had it wait at once, the code parts: it asks the gate once more, and may find an answer there."""
    machine = build_gate()
    rules = tuple(
        replace(rule, writes={**rule.writes, "at": "append_waiting"}) if rule.name.startswith("ask for") else rule
        for rule in machine.rules
    )
    run = beside_gate("gate-approval", replace(machine, rules=rules)).run()
    assert run.parted[0].schedule[-1] == "worker-1:open_approval"
    assert "the worker is not at:gate" in str(run.parted[0])


@pytest.mark.deep
def test_a_step_that_is_being_undone_needs_the_rows_of_what_is_around_it() -> None:
    """An earlier step rests, and a person speaks of it: without either row the shipped code is no run of the machine."""
    assert product("both-undone", step_sets()).run().parted
    for name in ("elsewhere: parks, nothing is open", "elsewhere: resolved"):
        assert product("both-undone", step_sets(without(build_around(), name))).run().parted


def test_an_undoing_that_is_not_settled_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of a step has no ledger of its undoing; that less was written is seen by the numbers, which are pinned."""
    undoing_left_in_flight(monkeypatch)
    assert product("both-undone").run().counts != COUNTS["both-undone"]


def test_a_signal_that_is_taken_for_an_approval_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that lets a step begin whatever was said is not the model's: a refusal opens it."""
    shown: Mapping[str, str] = {"decision": "approved"}
    conclude = gate.Gate.conclude
    monkeypatch.setattr(gate.Gate, "conclude", lambda self, answer: conclude(self, {**answer, **shown}))
    assert product("gate-approval").run().parted


@pytest.mark.parametrize(
    ("name", "row"),
    [("approved", "elsewhere: waits, before"), ("before-llm", "elsewhere: fails, before"), ("strays", "no reply")],
)
def test_without_its_row_a_step_is_found(name: str, row: str) -> None:
    """A request for approval that lets go of the job, a model that gives up, a tool that strays: each is looked for and seen."""
    machine = without(build(HARDENED), row)
    assert Product(WideFloor(WIDE[name]), step_sets(machine), sampled=True).run().parted


@pytest.mark.parametrize(
    "other",
    [pytest.param(it, id=it.policy, marks=[pytest.mark.deep] if it.claim == "P10" else []) for it in OTHERS],
)
def test_every_edge_of_a_machine_beside_the_steps_is_taken(other: Other) -> None:
    """In the cases of a gate, of a recorded value and of a compensation the code takes each edge for certain."""
    sets = other.sets()
    for name in other.cases:
        run = product(name, sets, certain=True).run()
        assert not run.parted
        assert run.counts == COUNTS[name]
    item = converse_beside(other, sets, explore(sets.machine))
    assert item.verdict is Verdict.EXHAUSTED
    assert item.figures["edges"] == {"P9": 105, "P10": 160, "P12": 74}[other.claim]


def test_an_edge_of_a_compensation_that_no_case_takes_is_named() -> None:
    """One case alone takes fewer than all: the edges that are left are named, and the item is refuted."""
    other = next(it for it in OTHERS if it.claim == "P10")
    sets = other.sets()
    product("undo-query", sets, certain=True).run()
    item = converse_beside(other, sets, explore(sets.machine))
    assert item.verdict is Verdict.REFUTED
    assert "on no run of any schedule" in item.statement
    assert "asked for, and given up elsewhere: the job ends" in item.statement


def test_an_attempt_that_is_none_is_settled_before_the_next_one() -> None:
    """Where a compensation's machine had that of what was acquired alone, the code parts: a word of a person leaves UNKNOWN."""
    machine, name = build_compensation(), "what was acquired and not begun is settled"
    rules = tuple(
        replace(rule, sees={**rule.sees, "ledger": frozenset({"inflight"})}) if rule.name == name else rule
        for rule in machine.rules
    )
    assert rules != machine.rules
    run = product("undo-works", undoing_sets(replace(machine, rules=rules))).run()
    assert run.parted[0].schedule[-1].endswith(":ledger_no_effect")
    assert "ledger: no_effect≠unknown" in str(run.parted[0])


def test_a_row_of_a_gate_that_no_code_follows_is_seen() -> None:
    """Beside "person: approves" another row says the same: some run takes it, and none for certain, nor the first one then."""
    machine = build_gate()
    approves = next(rule for rule in machine.rules if rule.name == "person: approves")
    false = replace(approves, name="person: approves, they say")
    sets = gate_sets(replace(machine, rules=(*machine.rules, false)))
    assert not product("gate-approval", sets, certain=True).run().parted
    both = {edge for edge in sets.taken if sets.machine.rules[edge[0]].name.startswith(approves.name)}
    assert len(both) == 4
    assert not both & sets.certain.taken
    assert converse_beside(OTHERS[0], sets, explore(sets.machine)).verdict is Verdict.REFUTED


def test_another_value_than_the_recorded_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catch-up that records another answer than the effect record holds, and a recovery that hands over another input than is
    recorded, part: which value it is, is read where it lies.
    """
    recorded = LlmStep.recorded

    def forgotten(self: LlmStep) -> LlmAnswer | None:
        answer = recorded(self)
        return None if answer is None else LlmAnswer("that", answer.model)

    with monkeypatch.context() as patch:
        patch.setattr(LlmStep, "recorded", forgotten)
        assert "committed: other≠first" in str(product("value-llm").run().parted[0])
    ask = Recorder.ask
    monkeypatch.setattr(Recorder, "ask", lambda self, name, given: ask(self, name, given) + TTL)
    assert product("value-input").run().parted


def test_an_answer_that_wakes_a_job_which_does_not_wait_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who announces an answer looks whether the job waits for it: one that queues any job again is no decider of the machine."""

    def wake(ports: ContractPorts, job_id: str, perform: Perform = drive.perform) -> bool:
        events = ports.store.events(job_id)
        batch = (NewEvent(f"person.{len(events) + 1}.answered", "job_requeued", None, {"by": "person"}),)
        try:
            perform(Say("signal", job_id, len(events), batch), ports)
        except VersionConflict:  # it has ended
            return False
        return True

    monkeypatch.setattr(approvals, "wake", wake)
    parted = product("gate-approval").run().parted
    assert parted
    assert all("person:announce" in each.schedule for each in parted)
