"""Sessions of execution contracts, crashed: the sweep finds nothing, the judge can say no, planted bugs are found."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import bugs_contract
from crashwindow.checkers.contract_cases import CONTRACT_CASES
from crashwindow.checkers.contract_crash import QUICK, sweep_contracts
from crashwindow.checkers.contract_crash_stage import JUDGED, judged
from crashwindow.checkers.contract_judge import (
    Contract,
    Durable,
    broken_at_rest,
    broken_now,
    changed,
    contract_key,
    outcome,
)
from crashwindow.checkers.crash import differ, run_schedule
from crashwindow.checkers.crash_faults import CONTRACT_WRITES, Fault, parse_key
from crashwindow.checkers.crash_kill import Killer
from crashwindow.checkers.crash_run import Record, Traces
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.crash_witness import Line, Witnessed
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.substitute import Plant, planted
from crashwindow.model.policy import HARDENED

from .sampled import sampled

FAULT_FREE = Breadth(0)


def swept(case: str, breadth: Breadth = QUICK, traces: Traces | None = None) -> list[Record]:
    """The records of one case."""
    return list(sweep_case(CONTRACT_CASES[case], breadth, traces=traces))


def found_in(case: str, said: str, breadth: Breadth = QUICK) -> bool:
    """Whether a case finds something in these words: it is swept until it does, or to its end."""
    return any(said in words([record]) for record in sweep_case(CONTRACT_CASES[case], breadth))


@cache
def sound(case: str, breadth: Breadth = QUICK) -> list[Record]:
    """The same of the runtime without a planted bug, swept once."""
    return swept(case, breadth)


def words(records: list[Record]) -> str:
    """Everything that was found, in lines."""
    return "\n".join(f"{record.key}: {said}" for record in records for said in (*record.violations, record.error or ""))


# The hardened runtime.


STRUCK = (
    "contract-worked-example",
    "contract-denied-reopened",
    "contract-arguments-changed",
    "contract-one-key-twice",
)


@pytest.mark.parametrize("case", sampled(STRUCK))
def test_one_fault_at_any_boundary_breaks_nothing(case: str) -> None:
    """Crashed before, inside and after each write of contract and step, and each contract write unanswered: C1 to C10 hold.

    Here of four shapes: approved and executed; denied, reopened and asked anew; superseded while a person is asked; two
    sessions that want one key. `crashwindow verify` judges all cases (`test_crash_stages`).
    """
    records = sound(case)
    assert not [record for record in records if record.violations or record.error], words(records)
    assert len(records) > 30


@pytest.mark.deep
def test_every_boundary_of_the_contract_is_struck() -> None:
    """The cases together perform each of the eight contract writes, and each is struck before, inside and after."""
    struck = {
        (fault.boundary, fault.when) for case in STRUCK for record in sound(case) for fault in record.key.schedule
    }
    assert {(name, when) for name in CONTRACT_WRITES for when in ("before", "torn", "after", "error", "lost")} <= struck
    assert {("execute", "before"), ("execute", "effect"), ("execute", "after")} <= struck


def test_every_pair_of_crashes_keeps_every_property() -> None:
    """Crashed again at every boundary of each recovery, a denied session breaks nothing."""
    records = swept("contract-denied", Breadth(2, answering=CONTRACT_WRITES))
    assert not [record for record in records if record.violations or record.error], words(records)
    assert max(len(record.key.schedule) for record in records) == 2


@pytest.mark.deep
def test_killed_processes_and_copies_agree() -> None:
    """A schedule ends alike whether its crash is a copy of the files or the end of a process by SIGKILL."""
    found = sweep_contracts(cases=["contract-consent", "contract-timeout-after-effect", "contract-arguments-changed"])
    by = {summary.name: summary for summary in found.summaries}
    assert by["contracts: killed processes"].schedules >= 10
    assert not any(summary.violations or summary.disagreements for summary in found.summaries)
    assert all(judged(claim, found.records, 0).verdict is Verdict.TESTED for claim in JUDGED)


@pytest.mark.parametrize("fault", ["release:after", "execute:effect", "answer:lost", "create_contracts:down"])
def test_a_killed_session_ends_as_its_copy(fault: str, tmp_path: Path) -> None:
    """The faults between approval, execution and record, by SIGKILL as by copy; also where a store goes silent."""
    case = CONTRACT_CASES["contract-worked-example"]
    key = parse_key(f"crash:{case.name}:{fault}")
    killed = Killer(case, HARDENED, str(tmp_path / "k"), {}).run(key.schedule)
    copied = next(r for r in sound(case.name, Breadth(1, answering=CONTRACT_WRITES)) if r.key == key)
    assert killed.error is None
    assert not differ(killed, copied)


def test_a_key_replays_step_by_step() -> None:
    """A contract schedule is run again by its key, and tells each boundary."""
    told: list[str] = []
    record = run_schedule("crash:contract-worked-example:execute:effect", told.append)
    assert (record.outcome, record.violations) == ("unknown→completed completed/1", ())
    assert "process 1, struck by execute:effect" in told
    assert "  > release" in told
    assert record.at_crash
    assert record.at_crash["contracts"]["exec-001"]["status"] == "running"
    with pytest.raises(ValueError, match="there is no case 'contract-none'; there are contract-worked-example"):
        run_schedule("crash:contract-none:")


# Planted bugs.


def test_an_executor_that_runs_ahead_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is executed before `running` is durable: C7, where the process dies after the effect."""
    bugs_contract.executor_runs_ahead(monkeypatch)
    said = "execute:effect: C7: a request was made, and the contract never was running (exec-001)"
    assert found_in("contract-worked-example", said)


def test_a_resume_that_is_not_compare_and_set_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two who continue the second wins as well: C5, without any crash."""
    bugs_contract.resume_not_compared(monkeypatch)
    found = words(swept("contract-consent-twice", FAULT_FREE))
    assert "C5: it waited 1 times and was resumed 2 times" in found


def test_a_release_in_two_writes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is durable, and what it frees is not yet: the e-mail is approved and forgotten."""
    bugs_contract.answer_before_its_release(monkeypatch)
    said = "release:torn: REST: it is left pending, and nobody is asked about it (exec-001)"
    assert found_in("contract-worked-example", said)


def test_a_consent_that_is_bound_to_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arguments change under the approval, and the approval holds: C6."""
    bugs_contract.consent_bound_to_nothing(monkeypatch)
    found = words(swept("contract-arguments-changed", FAULT_FREE))
    assert "C6: the approval is for another action than the contract's (exec-001)" in found


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("contract-superseded-retried", "C6: the approval is for exec-001 (exec-004)"),
        ("contract-cancelled-retried", "C6: the approval is for exec-001 (exec-003)"),
        ("contract-denied-retried", "C6: it runs, though exec-001, with the same key, was denied"),
        ("contract-gated-retried", "C6: transition 1 executes what needs consent, and bears no approval (exec-003)"),
    ],
)
def test_a_retry_that_takes_any_earlier_consent_is_found(case: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry inherits from whatever came before, or forgets that it was gated: something is sent that nobody agreed to, C6."""
    bugs_contract.any_consent_inherited(monkeypatch)
    assert said in words(swept(case, FAULT_FREE))


@pytest.mark.parametrize(
    ("plant", "case", "said"),
    [
        (bugs_contract.named_failure_retried, "contract-failed-named-again", "C10: 2 effects under one key"),
        (bugs_contract.first_word_kept, "contract-two-words", "the last word about the step was happened by person"),
        (
            bugs_contract.answer_to_another_wait,
            "contract-asked-again",
            "C5: transition 5 resumes, and no answer was given",
        ),
        (bugs_contract.error_words_replaced, "contract-smtp-refused", "C10: after fail its error is 'an error'"),
        (bugs_contract.error_words_replaced, "contract-no-answer", "C10: after lose its error is 'an error'"),
        (bugs_contract.result_dropped, "contract-worked-example", "C10: its result is null, and should be"),
        (
            bugs_contract.limit_lost_by_a_retry,
            "contract-retry-approved",
            "DATA: it is a call without a limit (exec-002)",
        ),
        (
            bugs_contract.limit_lost_by_a_change,
            "contract-arguments-changed",
            "DATA: its limit is null, and should be 30",
        ),
        (bugs_contract.change_of_nothing, "contract-arguments-changed", "DATA: it takes the place of exec-001"),
        (bugs_contract.memory_withheld, "contract-smtp-refused", "P15: the reasoner of 'mail' is mistold: the memory"),
        (bugs_contract.key_material_remembered, "contract-smtp-refused", "is mistold: what is kept is"),
    ],
)
def test_a_bug_that_takes_what_it_should_not_is_found(
    plant: Plant, case: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract that the reasoner names, the first of two words, an answer to an earlier wait, an error or a result that is
    not the tool's: without a fault, too.
    """
    assert not words(swept(case, FAULT_FREE)).replace(f"crash:{case}:: ", "").strip()
    plant(monkeypatch)
    assert said in words(swept(case, FAULT_FREE))


def test_an_orphan_that_is_run_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An open attempt is executed again by whoever recovers: two e-mails, C10."""
    bugs_contract.orphan_again(monkeypatch)
    assert found_in("contract-worked-example", "execute:effect: C10: it is completed, with 2 effects (exec-001)")


def test_a_key_that_is_not_reserved_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the key is free is looked up, and the lookup is not believed: two contracts hold it, C1."""
    bugs_contract.key_looked_up_and_not_believed(monkeypatch)
    found = words(swept("contract-one-key-twice", FAULT_FREE))
    assert "C1: 2 contracts hold it" in found


# The judge alone, on what a run left, altered by hand.


@pytest.fixture(scope="module")
def left() -> tuple[Durable, Witnessed]:
    """What the worked example leaves."""
    traces: Traces = {}
    swept("contract-worked-example", FAULT_FREE, traces)
    (trace,) = traces.values()
    durable: Durable = trace.durable
    key = f"crashwindow:{durable.contracts[0].idempotency_key}"
    args = json.loads(durable.contracts[0].action_detail)["args"]
    request, effect = Line("exec-001", key, 1, args), Line("exec-001", key, 1, {"sent": 1}, "mail-1")
    return durable, Witnessed([request], [effect])


def test_the_judge_accepts_what_is_right(left: tuple[Durable, Witnessed]) -> None:
    """What a whole run leaves is in order."""
    assert broken_at_rest(*left) == []
    assert changed(left[0], left[0]) == []
    assert outcome(*left) == "completed completed/1"


def altered(durable: Durable, table: str, at: int, **values: Any) -> Durable:
    """The tables with other values in one row."""
    rows = list(getattr(durable, table))
    rows[at] = rows[at]._replace(**values)
    changes: dict[str, Any] = {table: tuple(rows)}
    return durable._replace(**changes)


def twin(durable: Durable, **values: Any) -> Durable:
    """The tables with a second contract of the same key."""
    first: Contract = durable.contracts[0]
    second = first._replace(execution_id="exec-003", status="pending", version=0, **values)
    return durable._replace(
        contracts=(*durable.contracts, second),
        trace=(*durable.trace, ("mail", "exec-003", "create_contract:exec-003", "reasoning")),
    )


def retried(durable: Durable, changes: dict[str, Any], status: str = "failed", **values: Any) -> Durable:
    """The tables with a retry of the first contract, which can be undone, failed, and had an approval for retries.

    changes: to the approval, everywhere; with none the retry executes without one. status: of the first. values: of the retry.
    """
    start = next(move for move in durable.moves if (move.execution_id, move.after) == ("exec-001", "running"))
    consent = {**json.loads(start.metadata)["approval"], "retries": True, **changes}
    under = start._replace(metadata=json.dumps({"approval": consent}))
    again = under if changes else start._replace(metadata="{}")
    first = durable.contracts[0]._replace(irreversible=0, status=status)
    second = first._replace(execution_id="exec-003", status="running", version=1, **values)
    return durable._replace(
        contracts=(first, *durable.contracts[1:], second),
        moves=(*(under if move == start else move for move in durable.moves), again._replace(execution_id="exec-003")),
        answers=tuple(answer._replace(retries=consent["retries"]) for answer in durable.answers),
    )


ALTERED: dict[str, Any] = {
    "C1: 2 contracts hold it": lambda d, w: (twin(d), w),
    "C1: a contract bears another key": lambda d, w: (altered(d, "contracts", 0, idempotency_key="other"), w),
    "C6: exec-001 and exec-003 do the same, both approved as the next after None": lambda d, w: (
        altered(
            retried(d, {"retries": True}, "completed", irreversible=1, occurrence="another"),
            "contracts",
            0,
            irreversible=1,
        ),
        w,
    ),
    "C2: there is a new contract though exec-001 is completed": lambda d, w: (twin(d), w),
    "C2: there is a new contract though exec-001 had an effect": lambda d, w: (
        altered(twin(d), "contracts", 0, status="failed"),
        w,
    ),
    "C3: transition 2 leaves": lambda d, w: (altered(d, "moves", 1, before="waiting"), w),
    "is no edge of the machine": lambda d, w: (altered(d, "moves", 1, trigger="timeout"), w),
    "C3: 2 transitions end in completed, the contract is failed": lambda d, w: (
        altered(d, "contracts", 0, status="failed"),
        w,
    ),
    "C3: the trace says": lambda d, w: (d._replace(trace=d.trace[:-1]), w),
    "C3: the trace holds": lambda d, w: (d._replace(trace=(*d.trace, ("mail", "x", "create_contract:x", "ecs"))), w),
    "C4: reasoning pulled start": lambda d, w: (altered(d, "moves", 0, actor="reasoning"), w),
    "C5: transition 3 resumes, and no answer was given": lambda d, w: (d._replace(answers=()), w),
    "C6: no person gave this approval": lambda d, w: (altered(d, "answers", 0, decision="deny"), w),
    "C6: transition 1 executes what needs consent": lambda d, w: (altered(d, "moves", 0, metadata="{}"), w),
    "C6: the approval is for another action": lambda d, w: (
        altered(d, "contracts", 0, action_detail=d.contracts[0].action_detail.replace("bob", "eve")),
        w,
    ),
    "C6: the world received other arguments": lambda d, w: (
        d,
        w._replace(requests=[w.requests[0]._replace(result={"to": "eve"})]),
    ),
    "C6: the world received what needs consent, and no transition": lambda d, w: (d._replace(moves=()), w),
    "C6: transition 1 executes what needs consent, and bears no approval (exec-003)": lambda d, w: (
        retried(d, {}, needs_consent=0),
        w,
    ),
    "C6: it runs, though exec-001, with the same key, was denied": lambda d, w: (
        retried(d, {}, status="rejected"),
        w,
    ),
    "C6: the approval is for exec-001 (exec-003)": lambda d, w: (retried(d, {"retries": False}), w),
    "C7: a request was made, and the contract never was running": lambda d, w: (d._replace(moves=()), w),
    "C7: a request was made whose started event": lambda d, w: (
        d,
        w._replace(requests=[w.requests[0]._replace(attempt=2)]),
    ),
    "C7: contract:exec-001 is the step of no contract": lambda d, w: (d._replace(contracts=d.contracts[1:]), w),
    "DATA: it is a call without a limit (exec-001)": lambda d, w: (altered(d, "contracts", 0, timeout_seconds=None), w),
    "DATA: its limit is 31, and should be 30, as the contract with its key before it has it (exec-003)": lambda d, w: (
        twin(d, timeout_seconds=31.0),
        w,
    ),
    "DATA: its occurrence is": lambda d, w: (twin(d, occurrence="another", metadata='{"supersedes":"exec-001"}'), w),
    "DATA: it takes the place of exec-001, and changes nothing (exec-003)": lambda d, w: (
        twin(d, metadata='{"supersedes":"exec-001"}'),
        w,
    ),
    "C10: it is completed, with 0 effects": lambda d, w: (d, w._replace(effects=[])),
    "C10: it is rejected, with 1 effects": lambda d, w: (altered(d, "contracts", 0, status="rejected"), w),
    "C10: it is waiting, and had an effect": lambda d, w: (altered(d, "contracts", 0, status="waiting"), w),
    'C10: its result is {"sent":2}': lambda d, w: (altered(d, "contracts", 0, result='{"sent":2}'), w),
    'C10: its result is {"sent":1}, and should be null': lambda d, w: (altered(d, "contracts", 0, status="failed"), w),
    "C10: after succeed its error is 'x', and should be None": lambda d, w: (
        altered(d, "contracts", 0, error_message="x"),
        w,
    ),
    "C10: 2 effects under one key": lambda d, w: (d, w._replace(effects=w.effects * 2)),
    "P11: the world was shown": lambda d, w: (d, w._replace(requests=[w.requests[0]._replace(key="other")])),
    "P1: 2 effects": lambda d, w: (d, w._replace(effects=w.effects * 2)),
    "REST: it is left running": lambda d, w: (altered(d, "contracts", 0, status="running"), w),
    "REST: it is left pending": lambda d, w: (altered(d, "contracts", 0, status="pending"), w),
    "REST: the session is left processing": lambda d, w: (
        d._replace(states=(*d.states, ("mail", 99, '{"status": "processing", "node": "tools"}'))),
        w,
    ),
    "P15: the job is left open": lambda d, w: (
        d._replace(jobs=((d.jobs[0][0], d.jobs[0][1]._replace(status="open")),)),
        w,
    ),
    "REST: the step is parked, and its contract is not unknown": lambda d, w: (
        d._replace(jobs=((d.jobs[0][0], d.jobs[0][1]._replace(status="parked")),)),
        w,
    ),
}


@pytest.mark.parametrize("said", ALTERED)
def test_each_check_of_the_judge_says_no(said: str, left: tuple[Durable, Witnessed]) -> None:
    """One thing is altered in what a run left, and the judge names the property and what is wrong."""
    found = "\n".join(broken_at_rest(*ALTERED[said](*left)))
    assert said in found


def test_the_error_on_record_is_what_the_tool_has_raised() -> None:
    """Other words in the contract, or of an attempt, are seen; where the world notes no errors the attempt's are believed."""
    traces: Traces = {}
    swept("contract-smtp-refused", FAULT_FREE, traces)
    (durable,) = (trace.durable for trace in traces.values())
    words = "SMTP connection refused"

    def errors(said: str | None, told: str = words) -> list[str]:
        raised = None if said is None else [Line("exec-001", "key", 1, said)]
        judged = broken_now(altered(durable, "contracts", 0, error_message=told), Witnessed([], [], raised=raised))
        return [each for each in judged if each.startswith("C10") and "error" in each]

    assert errors(words) == errors(None) == []
    assert errors("450") == [f"C10: the error of attempt 1 is recorded as {words!r}, and it was '450' (exec-001)"]
    other = f"C10: after fail its error is '450', and should be {words!r} (exec-001)"
    assert errors(words, "450") == errors(None, "450") == [other]


@pytest.mark.parametrize("status", ["failed", "cancelled", "rejected", "completed", "pending"])
def test_an_approval_for_retries_covers_a_failed_execution_alone(status: str, left: tuple[Durable, Witnessed]) -> None:
    """Under the approval of a contract that was cancelled (superseded, too), denied, or did not fail, its retry may not run."""
    found = "\n".join(broken_now(retried(left[0], {"retries": True}, status), left[1]))
    assert ("C6: the approval is for exec-001 (exec-003)" in found) == (status != "failed")


def test_an_approval_for_retries_must_have_been_used_and_given(left: tuple[Durable, Witnessed]) -> None:
    """It was not used where no transition bears it, and not given where the stored answer speaks of one execution."""
    right = retried(left[0], {"retries": True})
    unused = right._replace(moves=tuple(move for move in right.moves if move.execution_id != "exec-001"))
    once = right._replace(answers=tuple(answer._replace(retries=0) for answer in right.answers))
    assert "C6: the approval is for exec-001 (exec-003)" in "\n".join(broken_now(unused, left[1]))
    assert "C6: no person gave this approval (exec-003)" in "\n".join(broken_now(once, left[1]))
    assert "(exec-003)" not in "\n".join(said for said in broken_now(right, left[1]) if said.startswith("C6"))


def test_what_is_denied_may_be_asked_anew_once_reopened(left: tuple[Durable, Witnessed]) -> None:
    """A reopened rejected contract no longer bars its key."""
    denied = retried(left[0], {"retries": True}, "rejected")
    reopened = altered(denied, "contracts", 0, reopened_by="Ann")
    assert "was denied and not reopened" in "\n".join(broken_now(denied, left[1]))
    assert "was denied and not reopened" not in "\n".join(broken_now(reopened, left[1]))


@pytest.mark.parametrize(
    ("table", "row", "said"),
    [
        ("moves", 0, "C3: a transition that was durable"),
        ("answers", 0, "C5: an answer that was durable"),
        ("trace", 0, "C3: an entry of the trace"),
        ("states", 0, "C3: a checkpoint"),
        ("contracts", 1, "C3: a contract's constraints"),
    ],
)
def test_what_was_durable_stays(left: tuple[Durable, Witnessed], table: str, row: int, said: str) -> None:
    """A row that was there at the crash and is gone later is found."""
    rows = list(getattr(left[0], table))
    del rows[row]
    changes: dict[str, Any] = {table: tuple(rows)}
    assert said in "\n".join(changed(left[0], left[0]._replace(**changes)))


def test_the_judge_computes_keys_and_asks_at_every_moment(left: tuple[Durable, Witnessed]) -> None:
    """The key is computed from the action and not read; what is wrong at a crash is found there, not only at rest."""
    assert contract_key(left[0].contracts[0]) == left[0].contracts[0].idempotency_key
    assert "C10: 2 effects under one key" in "\n".join(
        broken_now(left[0], left[1]._replace(effects=left[1].effects * 2))
    )


def test_both_ways_find_that_there_is_no_rest(tmp_path: Path) -> None:
    """Where nothing that waits can ever go on, copies and killed processes say so alike: it is a violation, not an error."""
    with planted(bugs_contract.request_ends_alone):
        copied = next(iter(sweep_case(CONTRACT_CASES["contract-denied"], Breadth(1))))
        killed = Killer(CONTRACT_CASES["contract-denied"], HARDENED, str(tmp_path / "killer"), {}).run(())
    assert killed.error is copied.error is None
    assert killed.violations == copied.violations
    assert killed.violations[0].startswith("P15: exec-001 did not end")


def test_a_broken_schedule_is_no_evidence() -> None:
    """A claim whose property was broken is REFUTED with the key; one beside which something else broke is an ERROR."""
    good = swept("contract-denied", FAULT_FREE)[0]
    bad = replace(good, violations=("C5: it waited 1 times and was resumed 2 times (exec-001)",))
    left_running = replace(good, key=good.key._replace(schedule=(Fault("move", 1, "after"),)), violations=("REST: x",))
    assert judged("C5", [good, bad], 0).verdict is Verdict.REFUTED
    assert judged("C4", [good, bad], 0).verdict is Verdict.TESTED
    assert judged("C4", [good, left_running], 0).verdict is Verdict.ERROR
    assert "move:after" in judged("C4", [good, left_running], 0).command


@pytest.mark.parametrize("excused", [True, False])
def test_an_act_that_the_store_refused_for_good_is_excused_where_the_case_says_so(
    tmp_path: Path, excused: bool
) -> None:
    """A change of the arguments that was never written leads to another end; a case that does not name the fault is told P4."""
    case = CONTRACT_CASES["contract-arguments-changed"]
    subject = case if excused else replace(case, undone=())
    schedule = parse_key("crash:contract-arguments-changed:supersede:down").schedule
    record = Killer(subject, HARDENED, f"{tmp_path}/killer", {}).run(schedule)
    assert any(words.startswith("P4") for words in record.violations) is not excused
    assert record.error is None
