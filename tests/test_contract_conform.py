"""The contracts' walk: machine and runtime agree over random histories, and a planted bug parts them, with the field in words."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import conform, contract_abstraction, contract_conform, contract_walk_stage
from crashwindow.checkers.bugs_contract import (
    change_of_nothing,
    consent_kept,
    denial_frees,
    doubt_is_failure,
    error_words_replaced,
    inherited_whatever_the_end,
    key_material_remembered,
    key_not_reserved,
    limit_lost_by_a_change,
    limit_lost_by_a_retry,
    limit_of_a_call_that_waits,
    memory_withheld,
    no_compare_and_set,
    no_quiet_time,
    orphan_again,
    release_in_two,
    request_ends_alone,
    result_dropped,
    second_answer,
    supersede_in_two,
    timeout_cancels,
    used_approval_stands,
    used_approval_taken,
)
from crashwindow.checkers.bugs_decide import arguments_dropped, question_without_arguments
from crashwindow.checkers.conform_follow import Disagreement
from crashwindow.checkers.conform_world import Contract, Says
from crashwindow.checkers.contract_abstraction import ContractReader, NotAContractError, contract_state
from crashwindow.checkers.contract_conform import walk_contracts
from crashwindow.checkers.contract_coverage import Tried, each_attempt, enumerate_all
from crashwindow.checkers.contract_follow import ContractModel
from crashwindow.checkers.contract_rig import ContractRig
from crashwindow.checkers.contract_services import Wish
from crashwindow.checkers.contract_terms import Terms
from crashwindow.checkers.contract_walk_stage import contract_coverage, contract_walk, covered
from crashwindow.checkers.contract_words import misquoted
from crashwindow.checkers.evidence import Item, RunEvidence, Verdict
from crashwindow.checkers.substitute import Patch, Plant
from crashwindow.checkers.substitute import planted as planting
from crashwindow.checkers.verify import Context, Found, Stage, verify
from crashwindow.checkers.walk_profiles import Bounds
from crashwindow.checkers.walk_programs import of_key
from crashwindow.model.claims import CLAIMS
from crashwindow.model.contract import ACTORS, HARDENED, Status, target
from crashwindow.model.contract_machine import build_contract
from crashwindow.runtime.contracts import nodes, operations, rules, write_batch
from crashwindow.runtime.contracts.records import replaced
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.contracts.store import Batch

SEED = 20
ONCE: Contract = (False, "park", "none")
NONE, BEFORE, DURING = (Wish(consent, ONCE) for consent in ("none", "before", "during"))
MODEL = ContractModel(build_contract())


@pytest.fixture
def rig(tmp_path: Path) -> Any:
    """A rig on a file of its own."""
    made = ContractRig(tmp_path, MODEL)
    yield made
    made.close()


# Agreement.


@pytest.mark.parametrize("few", [*contract_walk_stage.LEAST, ""])
def test_a_walk_that_comes_to_little_is_no_evidence(few: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage says how far it came, and is in error where that is not far enough: a walk is never vacuous."""
    record = contract_conform.ContractRecord()
    least = contract_walk_stage.LEAST
    record.steps, record.ends = least["steps"] + 1, Counter(crash=least["crashes"] + 1, refused=least["refusals"] + 1)
    record.model.states_met.update(range(least["durable states"] + 1))
    record.model.rules_taken.update(range(least["rules taken"] + 1))
    if few == "steps":
        record.steps -= 1
    elif few in ("crashes", "refusals"):
        record.ends.subtract({"crash": few == "crashes", "refused": few == "refusals"})
    elif few:
        met = record.model.states_met if few == "durable states" else record.model.rules_taken
        met.pop()
    monkeypatch.setattr(contract_conform, "walk_contracts", lambda *_: record)
    (item,) = contract_walk(Context("quick", SEED, tmp_path, lambda _: None)).items["C1"]
    assert item.figures["seed"] == SEED
    assert item.verdict is (Verdict.ERROR if few else Verdict.TESTED), item
    assert not few or f"to little: {item.figures[few]} {few}, not more than" in item.statement


@pytest.mark.deep
def test_a_walk_is_given_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed walks the same way, here a short one: machine and runtime agree. `verify` walks the long one."""
    monkeypatch.setitem(contract_conform.BOUNDS, "quick", Bounds(4, 12))
    first, second = walk_contracts("quick", SEED), walk_contracts("quick", SEED)
    assert first.failure is None
    assert len(first.edges) > 5
    assert (first.steps, first.ends, first.edges) == (second.steps, second.ends, second.edges)
    assert first.model.states_met == second.model.states_met


Program = Callable[[ContractRig], object]


def worked(rig: ContractRig) -> None:
    """Asked before, approved, executed; a rival overtakes the resume."""
    rig.open(BEFORE)
    rig.respond(0, True)
    assert rig.resume(0, (), {1: "overtaken"}) == "refused"


def denied(rig: ContractRig) -> None:
    """Denied; the key admits no other contract before a person reopens it."""
    rig.open(DURING)
    rig.respond(0, False)
    rig.resume(0)
    rig.open(DURING)
    rig.reopen(0)
    rig.open(DURING)


def answered_twice(rig: ContractRig) -> None:
    """A second answer, the opposite one, is refused."""
    rig.open(BEFORE)
    rig.respond(0, True)
    assert rig.respond(0, False) == "refused"


def orphaned(rig: ContractRig) -> None:
    """The process dies after the effect; a person tells the truth."""
    rig.open(NONE, ["dies after the effect"])
    rig.advance(0)
    rig.resolve(0, True)
    rig.advance(0)


def timed_out(rig: ContractRig) -> None:
    """The process dies when running is durable, and the limit is over before another one comes."""
    rig.open(NONE, (), {9: "crash after"})
    rig.wait(True)
    rig.advance(0)


def given_up(rig: ContractRig) -> None:
    """Nobody answers in time; an answer after that is refused."""
    rig.open(BEFORE)
    rig.wait(True)
    assert rig.respond(0, True) == "refused"


def changed(rig: ContractRig) -> None:
    """The arguments change while a person is asked; the new contract asks for itself."""
    rig.open(BEFORE)
    rig.supersede(0, 7)
    rig.advance(0)
    rig.respond(0, True)
    rig.resume(0)


def retried(rig: ContractRig) -> None:
    """Refused by the service, tried again with the same key, and asked for again."""
    rig.open(replace(DURING, retries=1))
    rig.respond(0, True)
    rig.resume(0, ["no effect"])
    rig.respond(0, True)
    rig.resume(0)


def raced(rig: ContractRig) -> None:
    """Two sessions want the same key."""
    rig.open(BEFORE)
    rig.open(DURING)
    rig.respond(0, True)
    rig.resume(0, ["lost answer"])
    rig.open(DURING)


def late_proof(rig: ContractRig) -> None:
    """The contract is given up while the call lasts, and the call succeeds."""
    rig.open(NONE, ["cancelled meanwhile"])
    rig.open(NONE, ["timed out meanwhile"])


def told(rig: ContractRig) -> None:
    """A step that failed as in flight: the person's word ends the contract itself."""
    rig.open(replace(NONE, tool=(False, "fail", "none")), ["lost refusal"])
    rig.resolve(0, True)


def redeclared(rig: ContractRig) -> None:
    """The tool is declared irreversible between creation and start."""
    rig.open(NONE, (), {7: "crash after"})
    rig.advance(0, (), None, True)


def recognised(rig: ContractRig) -> None:
    """A repeated request of an idempotent service overtakes the first one, which then arrives and changes nothing."""
    rig.open(replace(NONE, tool=(True, "reexecute", "fence")), ["dies on the wire"])
    rig.advance(0)
    assert rig.late(True)
    assert sum(rig.services.effects.values()) == 1


def asked(rig: ContractRig) -> None:
    """The answer is lost, and the service is asked whether it has happened."""
    rig.open(replace(NONE, tool=(False, "query", "fence")), ["lost answer"])
    assert sum(rig.services.effects.values()) == 1


def refused(rig: ContractRig) -> None:
    """The service says why it refuses: what no store can hold, then, to the retry, something else."""
    rig.open(replace(NONE, retries=1, result=[0]), [Says("no effect", "", "no room\0"), Says("no effect", "", "")])


def broken(rig: ContractRig) -> None:
    """An idempotent call raises an error that proves nothing, is sent again, and refused."""
    again = replace(NONE, tool=(True, "reexecute", "fence"))
    rig.open(again, [Says("on the wire", "OSError", "gone"), Says("no effect", "", "no room")])
    rig.late(False)


def remembered(rig: ContractRig) -> None:
    """The user speaks again: after a call that was done, and after one of which nobody knows."""
    rig.open(NONE)
    rig.say(0, ["lost answer"])
    rig.say(0)


def waited(rig: ContractRig) -> None:
    """A call waits for consent far longer than it may run."""
    rig.open(DURING)
    rig.wait(True)
    rig.respond(0, True)
    rig.resume(0)


PROGRAMS = (
    worked,
    denied,
    answered_twice,
    orphaned,
    timed_out,
    given_up,
    changed,
    retried,
    raced,
    late_proof,
    told,
    redeclared,
    recognised,
    asked,
    refused,
    broken,
    remembered,
    waited,
)
ENDS: Mapping[str, tuple[str, ...]] = {
    "worked": ("completed",),
    "denied": ("rejected", "waiting"),
    "answered_twice": ("pending",),
    "orphaned": ("completed",),
    "timed_out": ("failed",),
    "given_up": ("cancelled",),
    "changed": ("cancelled", "completed"),
    "retried": ("failed", "completed"),
    "raced": ("unknown",),
    "late_proof": ("completed", "completed"),
    "told": ("failed",),
    "redeclared": ("rejected",),
    "recognised": ("completed",),
    "asked": ("completed",),
    "refused": ("failed", "failed"),
    "broken": ("unknown",),
    "remembered": ("completed", "unknown", "completed"),
    "waited": ("completed",),
}
"""How the tool contracts of each program end, in the order of their creation."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_a_story_ends_as_it_should(program: Program, rig: ContractRig) -> None:
    """The stories that the walk is made of are followed to their ends: the programs below are not vacuous."""
    program(rig)
    assert tuple(rig.ports.contracts.contract(name).status for name in rig.followers) == ENDS[program.__name__]


@pytest.mark.parametrize("at", [pytest.param(n, marks=pytest.mark.deep) if n % 9 else n for n in range(0, 40, 3)])
@pytest.mark.parametrize("when", ["crash before", "crash after", "lost", "error"])
def test_a_strike_anywhere_is_followed(at: int, when: Any, rig: ContractRig) -> None:
    """The approved action, struck at each command of its resume: the model follows, and what is left is recovered."""
    rig.open(BEFORE)
    rig.respond(0, True)
    rig.resume(0, (), {at: when})
    rig.resume(0)
    rig.advance(0)
    (name,) = rig.followers
    assert rig.ports.contracts.contract(name).status in (Status.COMPLETED, Status.UNKNOWN)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_whatever_ended_a_contract_has_words_of_its_own(program: Program, rig: ContractRig) -> None:
    """Of each contract that a story leaves, other words, or none, are seen; so is a tool's error that was recorded otherwise."""
    program(rig)
    for name in rig.reader.read().contracts:
        contract, said = rig.reader.standing(name), rig.services.said[name]
        assert not misquoted(contract, said)
        for error in {"something else", None} - {contract.error}:
            assert f"its error is {error!r}, and should be {contract.error!r}" in misquoted(
                contract._replace(error=error), said
            )
        for attempt in said:
            assert f"the error of attempt {attempt} is recorded as" in misquoted(contract, {**said, attempt: "no"})


# Teeth: bugs of the runtime.


BUGS: tuple[tuple[Plant, str], ...] = (
    (second_answer, "answer: deny≠approve"),
    (no_compare_and_set, "InvalidTransitionError where a refusal would be a ContractError"),
    (consent_kept, "approval: fresh≠used"),
    (denial_frees, "reopened: yes≠no"),
    (release_in_two, "performs release with request:waiting:resume:graph_runner, the model cannot"),
    (orphan_again, "its effect happened 2 times"),
    (supersede_in_two, "half of a supersede: cancel"),
    (timeout_cancels, "tool: cancelled≠unknown"),
    (request_ends_alone, "request:waiting:timeout:graph_runner, the model cannot"),
    (doubt_is_failure, "tool:running:fail:tool_node, the model cannot"),
    (key_not_reserved, "is held by 2"),
    (arguments_dropped, 'attempt 1 is handed {}, not {"n":0}'),
    (question_without_arguments, 'attempt 1 is handed {}, not {"n":0}'),
    (error_words_replaced, r"after fail its error is 'an error', and should be 'no room\\x00'"),
    (result_dropped, 'its result is null, and should be {"done":'),
    (limit_lost_by_a_retry, "performs create_contracts: its limit is null, and should be 30"),
    (limit_lost_by_a_change, "performs supersede: its limit is null, and should be 30"),
    (change_of_nothing, 'performs supersede: its detail is {"args":{"n":0}'),
    (memory_withheld, "the memory are [], and should be ['s1:exec-001: [SUCCESS]"),
    (key_material_remembered, 'is mistold: what is kept is ["s1:exec-001: '),
    (limit_of_a_call_that_waits, "the clock takes it, and its time is not over"),
    (no_quiet_time, "that it did not happen is taken 0.0 s after it was begun"),
)
LONG = (question_without_arguments, error_words_replaced, key_material_remembered, limit_of_a_call_that_waits)
"""Bugs that one of the last stories shows, and beside each another one of its kind that `make test` has."""


@pytest.mark.parametrize(
    ("bug", "words"),
    [pytest.param(bug, words, id=bug.__name__, marks=pytest.mark.deep if bug in LONG else ()) for bug, words in BUGS],
)
def test_a_planted_bug_parts_a_story(bug: Plant, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bug of the runtime parts one of the stories, with words that say what differs."""
    bug(monkeypatch)
    said: list[str] = []
    for program in PROGRAMS:
        if any(words in each for each in said):
            return
        folder = tmp_path / program.__name__
        folder.mkdir()
        rig = ContractRig(folder, MODEL)
        try:
            program(rig)
        except Disagreement as error:
            said.append(str(error))
        except AssertionError:
            pass  # a story that ends otherwise; what counts is what the model says
        finally:
            rig.close()
    assert any(words in each for each in said), said


@pytest.mark.parametrize(
    ("bug", "words"),
    [
        pytest.param(consent_kept, "approval: fresh≠used", marks=pytest.mark.deep),
        pytest.param(doubt_is_failure, "tool:running:fail:tool_node", marks=pytest.mark.deep),
        pytest.param(error_words_replaced, "its error is 'an error', and should be", marks=pytest.mark.deep),
        (result_dropped, "its result is null, and should be"),
    ],
)
def test_the_walk_finds_a_planted_bug(bug: Plant, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random histories find it, too, and hand back a program that shows it again."""
    bug(monkeypatch)
    monkeypatch.setattr(conform, "SHRINKS", 0)  # the first program that shows it is as good as the shortest
    found = contract_walk(Context("quick", SEED, tmp_path, lambda _: None))
    (item,) = found.items["C6"]
    assert item.verdict is Verdict.REFUTED
    assert words in item.statement
    assert of_key(item.command.removeprefix("crashwindow replay ")).run(), "the key shows it again"
    rig = ContractRig(tmp_path, MODEL)
    with pytest.raises(Disagreement):
        exec(str(item.figures["program"]), {"rig": rig, "Wish": Wish, "Says": Says})
    rig.close()


# Teeth: the abstraction.


@pytest.mark.parametrize(
    ("field", "value", "story"),
    [
        ("detail", {"service": "note", "method": "once-park-none", "args": {"n": 1}}, refused),
        ("occurrence", "another", refused),
        ("irreversible", True, refused),
        ("key", "another", refused),
        ("limit", 10.0, refused),
        ("gated", True, refused),
        ("defers", None, worked),
        ("supersedes", None, changed),
        ("session", "another", refused),
        ("kind", "another", refused),
    ],
)
def test_a_contract_that_is_made_of_something_else_parts(
    field: str, value: object, story: Program, rig: ContractRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each term in a contract's row is looked at: it is what the session, or a person, has asked for, or was taken over."""
    original = ContractReader.terms

    other: dict[str, Any] = {field: value}

    def altered(self: ContractReader) -> dict[str, Terms]:
        found = original(self)
        return {**found, **{name: each._replace(**other) for name, each in list(found.items())[-1:]}}

    monkeypatch.setattr(ContractReader, "terms", altered)
    with pytest.raises((Disagreement, KeyError), match=f"its {field} is |another"):
        story(rig)


def test_terms_that_change_part(rig: ContractRig) -> None:
    """What a contract is made of stays as it was when it was created."""
    rig.open(BEFORE)
    with rig.store.session as connection:
        connection.execute("UPDATE contracts SET timeout_seconds = NULL")
    with pytest.raises(Disagreement, match="its limit is null, and should be 30"):
        rig.respond(0, True)


def test_a_limit_is_over_when_it_is(rig: ContractRig) -> None:
    """A call that may last longer than people are waited for is not taken by the clock with others; what it leaves parts."""
    rig.open(replace(NONE, limit=5_000.0), ["timed out meanwhile"])
    rig.open(NONE, ["timed out meanwhile"])
    timeouts = [each.execution_id for each in rig.reader.read().trace if each.trigger == "timeout"]
    assert timeouts == ["s2:exec-001"]
    rig.open(BEFORE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations, "time_out", lambda *_: None)
        with pytest.raises(Disagreement, match="s3:exec-002: its time is over, and the clock has not taken it"):
            rig.wait(True)


@pytest.mark.parametrize("field", ["text", "turn", "refusals", "memory", "observations"])
def test_a_reasoner_that_is_told_something_else_parts(
    field: str, rig: ContractRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that a reasoner decides by is what stands in the rows."""
    original = nodes.question
    other: dict[str, Any] = {"text": "no", "turn": 7, "refusals": ("no",), "memory": ("no",), "observations": ()}
    monkeypatch.setattr(nodes, "question", lambda *seen: replace(original(*seen), **{field: other[field]}))
    with pytest.raises(Disagreement, match="the reasoner of 's1' is mistold: the "):
        rig.open(NONE)


def test_a_blind_abstraction_parts(rig: ContractRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """An abstraction that has a held key wrong is found by the very same comparison."""
    monkeypatch.setattr(contract_abstraction, "PROVEN_WITHOUT_EFFECT", ("failed", "cancelled", "rejected"))
    with pytest.raises(Disagreement, match="holder: free≠this"):
        denied(rig)


def test_a_write_behind_the_models_back_is_named(rig: ContractRig) -> None:
    """Rows that no transition explains are an error that names the contract."""
    rig.open(BEFORE)
    (name,) = rig.followers
    with rig.store.session as connection:
        connection.execute("UPDATE contracts SET status = 'running' WHERE execution_id = ?", (name,))
    stored = rig.reader.read()
    with pytest.raises(NotAContractError, match=f"{name}.* is running at version 0, its transitions end in pending"):
        contract_state(stored, name, {})


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger SET status = 'UNKNOWN'",
        "DELETE FROM effects",
        "UPDATE effects SET output = '2'",
        "UPDATE events SET data = '{}' WHERE type = 'node_finished'",
        "DELETE FROM events WHERE version = (SELECT max(version) FROM events)",
        "UPDATE jobs SET status = 'open'",
    ],
)
def test_what_a_step_said_is_not_taken_for_what_it_says(change: str, rig: ContractRig) -> None:
    """What is remembered of a step's rows is that of these rows: one that is altered, or gone, is seen at the next look."""
    worked(rig)
    (before,) = rig.reader.read().steps.values()
    with rig.store.session as connection:
        connection.execute(change)
    with suppress(NotAContractError, KeyError):
        assert list(rig.reader.read().steps.values()) != [before]


def test_a_changed_action_is_seen(rig: ContractRig) -> None:
    """An action that is not the one that was approved is seen by its own digest, whatever the row says of it."""
    rig.open(BEFORE)
    rig.respond(0, True)
    (name,) = rig.followers
    with rig.store.session as connection:
        detail = '{"service": "mail", "method": "once-park-none", "args": {"n": 99}}'
        connection.execute("UPDATE contracts SET action_detail = ? WHERE execution_id = ?", (detail, name))
    assert contract_state(rig.reader.read(), name, {})["action"] == "changed"


# Coverage.


@cache
def whole() -> Tried:
    """What comes of every combination, without a planted bug."""
    return enumerate_all()


def tried_until(words: str) -> Tried:
    """What came of the attempts up to the first that went wrong in these words; StopIteration where none does."""
    with closing(each_attempt()) as after_each:
        return next(tried for tried in after_each if any(words in wrong for wrong in tried.wrong[-1:]))


def test_every_edge_is_taken_and_everything_illegal_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 768 combinations: 36 legal ones over 16 edges, 732 illegal ones."""
    monkeypatch.setattr(contract_walk_stage, "enumerate_all", whole)
    found = contract_coverage(Context("quick", SEED, tmp_path, lambda _: None))
    (coverage,) = found.contracts
    assert coverage.complete
    assert (len(coverage.edges), coverage.legal, coverage.illegal, coverage.refused) == (16, 36, 732, 732)
    assert {item.verdict for items in found.items.values() for item in items} == {Verdict.TESTED}


def test_an_approval_is_handed_on_by_a_failure_alone() -> None:
    """Whatever became of a call that ran under it: seven states, and a store that looks at none of them is found out."""
    assert (whole().retries, whole().wrong) == (7, [])
    with planting(inherited_whatever_the_end):
        wrong = tried_until("was handed on to its retry").wrong
    assert wrong == ["the approval of a call that is running was handed on to its retry"]


def nothing_needs_approval(patch: Patch) -> None:
    """The store lets every call run."""
    original = rules.moved
    patch.setattr(
        write_batch, "moved", lambda contract, *more: original(replaced(contract, needs_consent=False), *more)
    )


@pytest.mark.parametrize(
    ("plant", "how"),
    [
        (nothing_needs_approval, "was never asked about"),
        (used_approval_stands, "has used it"),
        (used_approval_taken, "is given the used one"),
    ],
)
def test_a_call_runs_once_for_each_approval(plant: Plant, how: str) -> None:
    """Of four ways to be without an approval that is needed none lets a call run; a store that takes one is found out."""
    assert whole().unapproved == 4
    with planting(plant):
        wrong = tried_until("needs an approval").wrong
    assert wrong == [f"a call that needs an approval and {how} runs"]


def test_an_edge_that_the_runtime_lacks_is_not_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The edges are the model's: one that the store refuses is missing, and the verdict says so."""
    table: Any = {**HARDENED, Status.UNKNOWN: {"happened": Status.COMPLETED}}
    with monkeypatch.context() as planted:
        planted.setattr(rules, "target", lambda state, trigger, actor, kind: target(state, trigger, actor, kind, table))
        refused = tried_until("is unknown is legal, and was refused")
    assert len(refused.wrong) == 1
    assert ("unknown", "did_not_happen", "failed") not in refused.taken
    taken = {edge: count for edge, count in whole().taken.items() if edge != ("unknown", "did_not_happen", "failed")}
    thin = replace(whole(), taken=Counter(taken))
    coverage = covered(thin)
    assert coverage.untaken == ["unknown –did_not_happen→ failed"]
    assert not coverage.complete
    monkeypatch.setattr(contract_walk_stage, "enumerate_all", lambda: thin)
    found = contract_coverage(Context("quick", SEED, tmp_path, lambda _: None))
    assert found.items["C9"][0].verdict is Verdict.REFUTED
    assert "unknown –did_not_happen→ failed was never taken" in found.items["C9"][0].statement


def test_a_run_shows_who_took_an_edge_and_fails_without_one(tmp_path: Path) -> None:
    """The evidence puts what the walk took beside what the enumeration took; an incomplete coverage fails the run."""
    every = covered(whole())
    assert every.complete
    thin = every.model_copy(
        update={"edges": [edge.model_copy(update={"by": {"enumerate": 0}}) for edge in every.edges]}
    )
    for coverage, walked, passes in ((every, 0, True), (thin, 0, False), (thin, 3, False)):
        expected = {
            c.id: [Item(checker="explore", verdict=Verdict(c.expected), statement="-", command="-")] for c in CLAIMS
        }
        found = Found(items=expected, contracts=[coverage], edges={"walk": {"pending start running": walked}})
        stage = Stage("all", "all", lambda _, found=found: found, (), "explore")  # type: ignore[misc]
        folder = tmp_path / f"{passes}{walked}"
        evidence = list(verify(Context("quick", 1, folder, lambda _: None), (stage,), "crashwindow verify"))[-1]
        assert isinstance(evidence, RunEvidence)
        assert evidence.passed is passes
        (shown,) = evidence.contracts
        assert next(edge.by["walk"] for edge in shown.edges if edge.trigger == "start") == walked


def test_an_illegal_move_that_is_accepted_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store without the actor table takes what nobody may pull."""
    monkeypatch.setattr(
        rules,
        "target",
        lambda state, trigger, actor, kind: target(
            state, trigger, next((name for name in ACTORS if trigger in ACTORS[name][kind]), actor), kind
        ),
    )
    coverage = covered(
        tried_until("start by reasoning on a tool_call contract that is pending is illegal, and led to running")
    )
    assert not coverage.complete


def test_a_refusal_that_changes_something_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused is not enough: the rows have to be what they were."""
    original = SqliteContractStore.write

    def planted(self: SqliteContractStore, batch: Batch) -> None:
        try:
            original(self, batch)
        except Exception:
            with self._session as connection:
                row = (batch.id, batch.boundary, batch.session_id, "", 0.0)
                connection.execute("INSERT OR REPLACE INTO contract_writes VALUES (?, ?, ?, ?, ?)", row)
            raise

    monkeypatch.setattr(SqliteContractStore, "write", planted)
    coverage = covered(tried_until("was refused, and changed contract_writes"))
    assert coverage.refused == 0
    assert len(coverage.wrong) == 1
