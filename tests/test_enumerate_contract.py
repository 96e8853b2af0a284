"""The contract engine beside its machine: every step is the machine's; planted bugs are seen; what is taken for one is one."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import bugs_contract, enumerate_contract_bench
from crashwindow.checkers.enumerate_contract import ContractEnumeration, ContractProduct
from crashwindow.checkers.enumerate_contract_case import ContractCase, Outcome
from crashwindow.checkers.enumerate_contract_cases import APPROVED, ASKING, CONTRACTS, DENIED
from crashwindow.checkers.enumerate_contract_sets import ContractSets
from crashwindow.checkers.enumerate_contract_stage import (
    COUNTS,
    KILLS,
    contract_sets,
    enumerated,
    over_sqlite,
    planted,
    refined,
)
from crashwindow.checkers.enumerate_contract_whole import differences
from crashwindow.checkers.enumerate_cover import reachable
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import explore
from crashwindow.checkers.substitute import Plant
from crashwindow.checkers.substitute import planted as planting
from crashwindow.model.contract_machine import build_contract
from crashwindow.model.machine import Actor, Machine, Rule, guard
from crashwindow.runtime.contracts import operations, runner
from crashwindow.runtime.contracts.store import Conflict

from .sampled import sampled
from .spaces import by_rule

OK: tuple[Outcome, ...] = ("ok",)
SMALL = "contract-small"
BEGUN = [
    "runner-1:advance:s1",
    "runner-1:graph_checkpoint",
    "runner-1:load",
    "runner-1:create_contracts",
    "runner-1:crash",
]


@pytest.fixture(scope="module")
def sets() -> ContractSets:
    """The sets of the shipped machine; what several enumerations come to grows in them."""
    return contract_sets()


def small(machine: Machine) -> tuple[ContractEnumeration, ContractSets]:
    """One runner that takes an approval, beside some machine."""
    beside = ContractSets(machine)
    return ContractProduct(CONTRACTS[SMALL], beside).run(), beside


def altered(name: str, **writes: str) -> Machine:
    """The contract's machine with one row's writes changed."""
    machine = build_contract()
    rules = tuple(replace(r, writes={**r.writes, **writes}) if r.name == name else r for r in machine.rules)
    assert rules != machine.rules
    return replace(machine, rules=rules)


def read(case: ContractCase, words: list[str], beside: ContractSets) -> str:
    """How a schedule's last word is read."""
    return list(ContractProduct(case, beside).follow(words))[-1][1]


@pytest.mark.parametrize("name", sampled([SMALL, "contract-2-denied", "contract-2-begin", "contract-changed"], 2))
def test_each_step_of_the_engine_is_a_step_of_the_machine(name: str, sets: ContractSets) -> None:
    """All orders of runners, crashes, people: nothing that the machine cannot do; the numbers are pinned."""
    (run,) = enumerated([name], sets)
    assert not run.parted
    assert run.counts == COUNTS[name]
    assert sets.taken <= reachable(explore(sets.machine))


def test_the_same_is_enumerated_over_sqlite(sets: ContractSets) -> None:
    """Put back to each content by a snapshot, the SQLite store leads to as many states, transitions and pairs."""
    for run in over_sqlite([SMALL, "contract-2-denied"], sets):
        assert not run.parted
        assert run.counts == COUNTS[run.case.name]


@pytest.mark.parametrize(
    ("store", "said"), [("memory", "rows and reads in memory that are the checker's own"), ("SQLite", "shipped")]
)
def test_the_item_says_what_ships(store: str, said: str, sets: ContractSets) -> None:
    """In memory the rules of the store are shipped, and its rows are not; over SQLite all of it is."""
    item = refined(list(enumerated([SMALL], sets)), store)
    assert item.verdict is Verdict.EXHAUSTED
    assert said in item.statement.partition(", over ")[2].partition(", is a step")[0]


def test_a_failure_that_is_named_again_is_not_retried_twice(sets: ContractSets) -> None:
    """What can be undone reserves no key. In its session its retries bear it, and one at a time holds it (C-RETRY)."""
    (run,) = over_sqlite(["contract-named-again"], sets)
    assert (run.counts, run.parted) == (COUNTS["contract-named-again"], [])
    with planting(bugs_contract.named_failure_retried):
        (run,) = over_sqlite(["contract-named-again"], sets)
    assert "is held by 2: s1:exec-002, s1:exec-003" in run.parted[0].difference
    assert run.parted[0].schedule[-1] == "runner-1:create_contracts"


@pytest.mark.parametrize(
    ("plant", "case", "said"),
    [
        (bugs_contract.limit_lost_by_a_retry, "contract-named-again", "it is a call without a limit"),
        (bugs_contract.limit_lost_by_a_change, "contract-changed", "it is a call without a limit"),
        (bugs_contract.change_of_nothing, "contract-changed", "it takes the place of s1:exec-001, and changes nothing"),
    ],
)
@pytest.mark.parametrize("store", ["memory", "SQLite"])
def test_what_is_taken_over_is_what_was_there(
    plant: Plant, case: str, said: str, store: str, sets: ContractSets
) -> None:
    """No machine has time limits and arguments: what a retry, or a contract with other arguments, takes over is compared."""
    with planting(plant):
        (run,) = over_sqlite([case], sets) if store == "SQLite" else enumerated([case], sets)
    assert run.parted
    assert said in run.parted[0].difference


def test_what_a_runner_does_behind_a_lost_answer_is_seen() -> None:
    """A runner is taken for one that was answered at once: each turn is run with answers that come only the second time."""
    (run,) = enumerated(["contract-2-denied-itself"], contract_sets(), singly=True)
    assert (run.counts, run.remembered) == (COUNTS["contract-2-denied-itself"], "")
    assert run.repeated > 60
    with planting(bugs_contract.overtaken_batch_taken_for_done):
        (run,) = enumerated(["contract-2-denied-itself"], contract_sets())
    assert not run.parted
    assert run.remembered == "load follows, where it would be the end"
    assert refined([run]).verdict is Verdict.REFUTED


@pytest.mark.parametrize("plant", sampled(KILLS), ids=lambda plant: plant.__name__)
def test_a_bug_is_a_step_that_is_not_the_machines(plant: Plant) -> None:
    """The enumeration alone sees it: no property is asked."""
    assert planted(plant).killed_by == "enumerate"


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (bugs_contract.error_words_replaced, "after fail its error is 'an error', and should be 'refused'"),
        (bugs_contract.result_dropped, 'its result is null, and should be {"done":"s1:exec-001","result":null}'),
    ],
)
@pytest.mark.parametrize("over", [enumerated, over_sqlite])
def test_what_a_contract_says_of_its_end_is_compared(plant: Plant, said: str, over: Any, sets: ContractSets) -> None:
    """The machine knows no words. What the tool answers or raises is compared all the same, over both stores."""
    with planting(plant):
        (run,) = over(["contract-named-again"], sets)
    assert said in {parted.difference for parted in run.parted}


@pytest.mark.parametrize(
    ("plant", "case", "said"),
    [
        (bugs_contract.ids_numbered_anew, "contract-2-begin", "'r2.1.1' is that of an earlier batch"),
        (bugs_contract.one_id_a_turn, "contract-2-begin", "'r2.1.batch' is that of an earlier batch"),
        (bugs_contract.ids_without_a_name, "contract-2-begin", "'batch.1' does not begin with 'r1.1'"),
        (bugs_contract.name_kept, SMALL, "'r1.1.1' is that of an earlier batch"),
    ],
)
def test_an_id_that_another_batch_may_have_is_seen(plant: Plant, case: str, said: str, sets: ContractSets) -> None:
    """Contents forget the ids of batches. So of each batch it is asked whether its id could be one of those."""
    with planting(plant):
        (run,) = enumerated([case], sets)
    parted = min(run.parted, key=lambda each: len(each.schedule))
    assert said in parted.difference
    assert parted.schedule[-1].partition(":")[2] in ("graph_checkpoint", "create_contracts", "move")


@pytest.mark.parametrize(
    ("plant", "case", "schedules"),
    [
        (bugs_contract.ids_numbered_anew, SMALL, 1),
        (bugs_contract.one_id_a_turn, SMALL, 1),
        (bugs_contract.ids_without_a_name, "contract-2-begin", 10),
        pytest.param(bugs_contract.name_kept, SMALL, 40, marks=pytest.mark.deep),
    ],
)
def test_a_store_that_forgets_no_id_meets_one_that_is_given_twice(plant: Plant, case: str, schedules: int) -> None:
    """What is performed once more keeps each id that was ever written: the store refuses the batch, as in production."""
    with planting(plant):
        assert list(differences(CONTRACTS[case], seed=5, schedules=schedules))


def test_what_is_wrong_before_a_case_begins_is_told(sets: ContractSets, capsys: pytest.CaptureFixture[str]) -> None:
    """A case of which the opening parts from the machine is refuted there, and its schedule can be followed so far."""
    with planting(bugs_contract.ids_numbered_anew):
        (run,) = enumerated([SMALL], sets)
        assert [each.schedule for each in run.parted] == [("before",)]
        assert refined([run]).verdict is Verdict.REFUTED
        assert main(["conform", "--case", SMALL, "--schedule", "before"]) == 0
    assert "is that of an earlier batch" in capsys.readouterr().out


def test_a_runner_that_stays_where_it_is_ends_the_enumeration(sets: ContractSets, monkeypatch: Any) -> None:
    """What a turn begins with is told by the name that it takes. One that takes none is no endless loop, but an error."""
    attempts = runner.GraphRunner.attempts

    def nameless(self: Any, *arguments: Any) -> Any:
        kept = vars(self)
        if "name" not in kept:
            kept["name"] = self.owner()
        return attempts(replace(self, owner=lambda: kept["name"]), *arguments)

    monkeypatch.setattr(runner.GraphRunner, "attempts", nameless)
    with pytest.raises(AssertionError, match="is where it was"):
        list(enumerated([SMALL], sets))


@pytest.mark.parametrize(
    ("plant", "word"),
    [
        (bugs_contract.used_approval_taken, "used approval"),
        (bugs_contract.used_approval_stands, "no new approval"),
    ],
)
def test_a_second_run_on_one_approval_is_asked_wherever_a_program_may_write(
    plant: Plant, word: str, sets: ContractSets
) -> None:
    """It is refused each time, so it is no word. A store that takes it makes a step that is not the machine's."""
    (run,) = enumerated(["contract-direct-itself"], sets)
    assert run.counts == COUNTS["contract-direct-itself"]
    with planting(plant):
        (run,) = enumerated(["contract-direct-itself"], sets)
    assert {each.schedule[-1] for each in run.parted} == {f"direct:{word}"}


def test_a_bug_of_the_sqlite_store_is_seen_there(sets: ContractSets) -> None:
    """A denial that releases the key is written by the SQLite store's own rows."""
    with planting(bugs_contract.denial_frees):
        (run,) = over_sqlite(["contract-small-denied"], sets)
    assert "holder: free≠this" in run.parted[0].difference


@pytest.mark.parametrize(
    ("row", "writes"),
    [
        ("start, with consent", {"approval": "fresh"}),
        ("succeed", {"tool": "failed"}),
        ("caller: approved, releases", {"approval": "none"}),
        ("step: begins, consent before", {"step": "ok"}),
    ],
)
def test_a_row_written_otherwise_is_seen(row: str, writes: dict[str, str]) -> None:
    """A machine whose row writes something else is not what the engine does."""
    run, _ = small(altered(row, **writes))
    assert run.parted
    assert run.parted[0].possible


def test_a_rule_too_much_is_an_edge_that_is_never_taken() -> None:
    """The converse has teeth: what the machine has more than the engine is left over."""
    more = Rule(
        "completes unseen", Actor.WORKER, guard(tool="running"), writes={"tool": "completed"}, boundary="unseen"
    )
    machine = build_contract()
    _, beside = small(replace(machine, rules=(*machine.rules, more)))
    left = by_rule(beside.machine, reachable(explore(beside.machine)) - beside.taken)
    assert "completes unseen" in left
    assert "start, with consent" not in left


def test_a_request_about_to_be_asked_is_not_ended_by_a_change(sets: ContractSets, monkeypatch: Any) -> None:
    """Of a running request nobody knows how it ended: who changes the arguments then would leave it unknown, and is refused."""
    case = ContractCase("", "before", turns=1, direct=1, words=1, people=("supersede",), outcomes=OK)
    words = [*BEGUN, "direct:request:pending:start:ecs_node"]
    assert "supersede:s1" not in [move.word for move in moves_after(case, words, sets)]
    monkeypatch.setattr(operations, "_check_asked", lambda contract: None)
    assert "request: unknown" in read(case, [*words, "supersede:s1"], sets)


def test_what_has_ended_is_not_released(sets: ContractSets) -> None:
    """A call that somebody cancelled alone, after the approval: the question still ends by its answer, and releases nothing."""
    case = ContractCase("", "before", turns=1, direct=1, outcomes=OK, before=APPROVED)
    words = ["direct:tool:pending:cancel:graph_runner", "runner-1:resume:s1", "runner-1:release"]
    assert read(case, words, sets) == "release s1:exec-002:waiting:resume s1:exec-002:running:succeed (writes)"


def test_an_unknown_request_that_was_asked_takes_along_what_it_defers(sets: ContractSets) -> None:
    """It approves nothing: what it defers is cancelled in the same write (C-DEFER)."""
    case = ContractCase("", "before", turns=1, direct=3, outcomes=OK)
    moves = ("pending:start:ecs_node", "running:lose:graph_runner", "unknown:happened:graph_runner")
    last = read(case, [*BEGUN, *(f"direct:request:{move}" for move in moves)], sets)
    assert last == "move s1:exec-002:unknown:happened s1:exec-001:pending:cancel"


def test_who_speaks_too_late_is_refused(sets: ContractSets) -> None:
    """Two people read the same question, and the second one's answer changes nothing."""
    case = ContractCase("", "before", words=2, people=("approve", "deny"), slow=True, before=ASKING)
    words = ["approve:s1:reads", "deny:s1:reads", "approve:s1:writes", "deny:s1:writes"]
    assert [told for _, told in ContractProduct(case, sets).follow(words)][2:] == ["answer", "nothing that is kept"]


def test_a_refusal_that_changes_something_is_found(sets: ContractSets, monkeypatch: Any) -> None:
    """Who refuses has written nothing, by whatever way."""
    original = operations.cancel

    def careless(ports: Any, execution_id: str, by: str, perform: Any) -> None:
        original(ports, execution_id, by)
        raise Conflict("too late")

    monkeypatch.setattr(operations, "cancel", careless)
    with pytest.raises(AssertionError, match="has changed something"):
        ContractProduct(ContractCase("", "before", words=1, people=("cancel",), before=ASKING), sets).run()


@pytest.mark.parametrize("name", ["contract-2-expired", "contract-gated", "contract-one-key", "contract-direct"])
def test_what_is_taken_for_one_is_one(name: str) -> None:
    """With runners that forget nothing, and every content of SQLite kept apart, the same is possible, and comes of it."""
    assert not list(differences(CONTRACTS[name], seed=5, schedules=3))


def test_what_is_not_one_is_found(monkeypatch: Any) -> None:
    """Contents that differ in an answer are not one: drawn schedules show it."""
    key = enumerate_contract_bench._key
    monkeypatch.setattr(enumerate_contract_bench, "_key", lambda content: key(replace(content, answers=())))
    assert list(differences(CONTRACTS["contract-2-answered"], seed=5, schedules=5))


def test_fewer_steps_than_pinned_are_an_error() -> None:
    """An enumeration of something else is no pass; nor is one of nothing."""
    less = ContractEnumeration(CONTRACTS[SMALL], states=1, transitions=1, pairs=1)
    assert refined([less]).verdict is Verdict.ERROR
    assert refined([]).verdict is Verdict.ERROR
    assert set(COUNTS) == set(CONTRACTS)


def test_a_parting_is_told_with_its_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    """The evidence's command follows it; the last word says how engine and machine part."""
    with planting(bugs_contract.release_in_two):
        (run,) = enumerated([SMALL], contract_sets())
        item = refined([run])
        assert item.verdict is Verdict.REFUTED
        schedule = item.command.partition("--schedule ")[2].strip("'")
        assert main(["conform", "--case", SMALL, "--schedule", schedule]) == 0
    assert "engine and machine part" in item.statement
    assert "cannot" in capsys.readouterr().out.splitlines()[-1]


def test_conform_says_what_it_enumerated(capsys: pytest.CaptureFixture[str]) -> None:
    """One case as JSON: its numbers, and no converse, which only all cases have; a word that is impossible is refused."""
    assert main(["conform", "--case", SMALL, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(c["states"], c["transitions"], c["pairs"]) for c in told["cases"]] == [COUNTS[SMALL]]
    assert told["over"] == "memory"
    assert told["converse"] is None
    assert main(["conform", "--case", SMALL]) == 0
    said = capsys.readouterr().out
    steps = COUNTS[SMALL][1]
    assert (
        f"code and the contract's machine agree: each of {steps} steps of the code is a step of the contract's machine"
        in said
    )
    assert main(["conform", "--case", "contract-small-denied", "--schedule", "clock"]) != 0
    assert "possible are" in capsys.readouterr().err
    assert CONTRACTS["contract-small-denied"].before == DENIED


def moves_after(case: ContractCase, words: list[str], beside: ContractSets) -> Iterator[Any]:
    """What the engine can do after a schedule."""
    floor = ContractProduct(case, beside).floor
    state = floor.first
    for word in words:
        state = next(move.state for move in floor.moves(state) if move.word == word)
    return floor.moves(state)


def test_the_command_says_over_which_store(capsys: pytest.CaptureFixture[str]) -> None:
    """A case over SQLite is told as such, in words and in JSON: nobody has to believe that it was another store."""
    assert main(["conform", "--case", SMALL, "--over", "sqlite"]) == 0
    assert f"{SMALL} over SQLite: " in capsys.readouterr().out
    assert main(["conform", "--case", SMALL, "--over", "sqlite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["over"] == "sqlite"
