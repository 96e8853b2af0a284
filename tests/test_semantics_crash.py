"""Jobs beyond the plain step, crashed: the sweep finds nothing, copies and killed processes agree, planted bugs are found."""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from crashwindow.checkers import bugs_decide, bugs_semantics, bugs_step
from crashwindow.checkers.crash import run_schedule
from crashwindow.checkers.crash_run import Record, Trace
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.semantics_cases import SEMANTICS_CASES
from crashwindow.checkers.semantics_crash import NEW, QUICK, sweep_semantics
from crashwindow.checkers.semantics_crash_stage import JUDGED, judged
from crashwindow.checkers.semantics_monitor import SemanticsMonitor
from crashwindow.checkers.substitute import Plant
from crashwindow.runtime import protocol, turn

from .sampled import sampled

CRASHES = Breadth(1, answers=())
FAULT_FREE = Breadth(0)
MONITOR = SemanticsMonitor()


def swept(case: str, breadth: Breadth = CRASHES) -> list[Record]:
    """The records of one case."""
    return list(sweep_case(SEMANTICS_CASES[f"semantics-{case}"], breadth))


def swept_until_it_fails(case: str) -> list[Record]:
    """The same of a runtime that in the end cannot go on: a step whose arguments have changed has another key."""
    records: list[Record] = []
    with suppress(KeyError):
        records.extend(sweep_case(SEMANTICS_CASES[f"semantics-{case}"], CRASHES))
    return records


def found_in(case: str, said: str) -> bool:
    """Whether a case finds something in these words: it is swept until it does, or to its end."""
    return any(said in words([record]) for record in sweep_case(SEMANTICS_CASES[f"semantics-{case}"], CRASHES))


@cache
def sound(case: str) -> tuple[list[Record], dict[str, Trace]]:
    """What the quick profile finds of one case, and the traces, of the runtime without a planted bug; swept once."""
    left: dict[str, Trace] = {}
    return list(sweep_case(SEMANTICS_CASES[f"semantics-{case}"], QUICK, traces=left)), left


def words(records: list[Record]) -> str:
    """Everything that was found, in lines."""
    return "\n".join(f"{record.key}: {said}" for record in records for said in (*record.violations, record.error or ""))


# The hardened runtime.


@pytest.mark.parametrize("case", sampled(["approved", "inputs", "retry-requeue", "undo-refused"]))
def test_one_crash_at_any_boundary_breaks_nothing(case: str) -> None:
    """Crashed before, inside and after each write of worker, client and person: every property holds.

    And each trace that is left is a run of the models of gate, compensation and recorded value. Here of four shapes: a step
    that is tried again, one that is given recorded values, a gate, an undoing. `crashwindow verify` judges all cases
    (`test_crash_stages`).
    """
    records, left = sound(case)
    assert [str(each) for trace in left.values() for each in MONITOR.check(trace) if each.divergence] == []
    assert not [record for record in records if record.violations or record.error], words(records)
    assert len(records) > 10


@pytest.mark.deep
def test_every_write_that_no_plain_step_makes_is_struck() -> None:
    """The cases together come to each of them, and each is struck before, inside and after, and unanswered."""
    cases = (
        "retry-requeue",
        "cancel-first",
        "inputs",
        "approved",
        "wait",
        "undo-refused",
    )
    struck = {(fault.boundary, fault.when) for case in cases for r in sound(case)[0] for fault in r.key.schedule}
    first = set(NEW) - {"append_warned", "confirm_replay"}
    assert {(name, when) for name in first for when in ("before", "torn", "after", "error", "lost")} <= struck
    assert {("compensate", "effect"), ("call_model", "after")} <= struck | {
        (fault.boundary, fault.when) for r in swept("model") for fault in r.key.schedule
    }


@pytest.mark.parametrize(("case", "write"), [("confirm-warn", "append_warned"), ("confirm-person", "confirm_replay")])
def test_the_looks_of_a_recovery_are_struck(case: str, write: str) -> None:
    """What only a recovery performs is struck by a second crash: the look, the warning or the person's word that follows it."""
    records = swept(case, Breadth(1, SEMANTICS_CASES[f"semantics-{case}"].beyond, answers=()))
    assert not [record for record in records if record.violations or record.error], words(records)
    struck = {(fault.boundary, fault.when) for record in records for fault in record.key.schedule[1:]}
    assert {("confirm", "after"), *((write, when) for when in ("before", "torn", "after"))} <= struck


@pytest.mark.deep
def test_killed_processes_and_copies_agree() -> None:
    """A schedule ends alike whether its crash is a copy of the files or the end of a process by SIGKILL."""
    cases = [f"semantics-{name}" for name in ("undo-refused", "confirm-person", "approved", "inputs")]
    found = sweep_semantics(cases=cases)
    by = {summary.name: summary for summary in found.summaries}
    assert by["semantics: killed processes"].schedules >= 10
    assert not any(summary.violations or summary.disagreements for summary in found.summaries)
    assert all(judged(claim, found.records, 0).verdict is Verdict.TESTED for claim in JUDGED)


def test_a_key_replays_step_by_step() -> None:
    """A schedule is run again by its key, and tells each boundary: the client's, and the compensation's."""
    told: list[str] = []
    record = run_schedule("crash:semantics-undo-open:compensate:effect", told.append)
    assert (record.outcome, record.violations) == ("parked→completed/1-1+1", ())
    assert "  > request_compensation" in told
    assert "process 1, struck by compensate:effect" in told
    with pytest.raises(ValueError, match="there is no case 'semantics-none'; there are semantics-retry-backoff"):
        run_schedule("crash:semantics-none:")


def test_evidence_is_refuted_by_a_violation_and_spoilt_by_others() -> None:
    """A broken property refutes its own claim; what could not be run, or broke T-RETRY or P15, is no evidence of any."""
    record = swept("cancel-first", FAULT_FREE)[0]
    broken = [replace(record, violations=("P9: worked on",))]
    assert judged("P9", broken, 0).verdict is Verdict.REFUTED
    assert judged("P10", broken, 0).verdict is Verdict.TESTED
    for spoilt in (replace(record, error="never reached"), replace(record, violations=("T-RETRY: too soon",))):
        assert judged("P10", [spoilt], 0).verdict is Verdict.ERROR


# Planted bugs: confirmation.


def test_a_result_from_the_effect_record_injected_unconfirmed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Confirmation is skipped where the effect record alone holds the result: P8."""
    bugs_semantics.unconfirmed_from_the_effect_record(monkeypatch)
    assert found_in(
        "confirm-match", "put_effect:after: P8: node_finished of turn 2 uses the record of a, and nobody looked"
    )


def test_a_finished_node_skipped_unconfirmed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Confirmation is skipped where node_finished is on record: P8."""
    bugs_semantics.unconfirmed_finished_node(monkeypatch)
    assert found_in("confirm-match", "checkpoint:after: P8: node_started of turn 2 uses the record of a")


@pytest.mark.parametrize(
    ("case", "record"),
    [
        ("confirm-match", "tool_invocation_finished"),
        ("confirm-ledger", "effect record"),
        ("confirm-resolved", "invocation_resolved"),
        ("undo-partial", "tool_invocation_finished"),
    ],
)
def test_changes_that_are_never_recorded_are_found(case: str, record: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tool has told is held against each record, so a record without changes is no reason not to look: P8."""
    bugs_semantics.changes_never_recorded(monkeypatch)
    assert found_in(case, f"P8: {record} of a holds the state changes [], and its tool told [{{")


def test_changes_of_a_query_that_are_left_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query's changes are due in its own event: a worker that dies behind that leaves nothing else of them (P8)."""
    bugs_semantics.changes_of_a_query_left_out(monkeypatch)
    assert found_in("confirm-resolved", "P8: invocation_resolved of a holds the state changes [], and its tool told [{")


@pytest.mark.parametrize("left", ["state_changed", "effect record"])
def test_changes_that_one_record_lacks_are_found(left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record is asked by itself: that another one holds the changes is no excuse for it (P8)."""
    event, record = protocol.Step.succeeded, protocol.Step.effect_record

    def without(step: protocol.Step, *told: Any) -> Any:
        memory, step.memory = step.memory, replace(step.memory, state_changes=())
        made = event(step, *told)
        step.memory = memory
        return made

    if left == "state_changed":
        monkeypatch.setattr(protocol.Step, "succeeded", without)
    else:
        monkeypatch.setattr(protocol.Step, "effect_record", lambda *told: replace(record(*told), state_changes=()))
    said = left if left == "effect record" else "tool_invocation_finished"
    assert found_in("confirm-match", f"P8: {said} of a holds the state changes []")


def test_a_mismatch_taken_for_a_match_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a verifier says is asked, and not heeded: P8, in each of the modes."""
    bugs_decide.mismatch_injected(monkeypatch)
    assert found_in("confirm-mismatch", "P8: node_finished of turn 2 uses the record of a, and a-1 was a mismatch")
    assert found_in("confirm-left", "P8: the last look at a was a undetermined in mode strict")


@pytest.mark.parametrize("case", ["warn", "strict"])
def test_a_mismatch_that_overrules_a_doubt_is_found(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One change is gone, and of the other nobody could tell: a person decides (P8)."""
    bugs_semantics.doubt_overruled_by_a_mismatch(monkeypatch)
    assert found_in(f"confirm-two-{case}", f"P8: the last look at a was a undetermined in mode {case}, and the job is")


def test_a_doubt_that_is_warned_of_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning is of changes that are gone; what nobody could tell of is not used before a person has accepted it (P8)."""
    bugs_semantics.doubt_overruled_by_a_warning(monkeypatch)
    assert found_in("confirm-two-warn", "P8: node_finished of turn 2 uses the record of a, and a-1+ was a undetermined")


def test_what_was_begun_later_left_as_it_was_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job fails at a step that is not confirmed while the next one is in flight: P3 and P6."""
    bugs_step.older_steps_left(monkeypatch)
    found = words(swept("confirm-mismatch"))
    assert "acquire#2:after: P6: the job is failed, and the ledger says INFLIGHT" in found
    assert "put_effect#2:after: P3: the effect record was not caught up (b)" in found


# Planted bugs: retry, cancel.


def test_a_cancel_with_an_open_attempt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel is honoured before a step is sent again whose first answer was lost: P2 and P6."""
    bugs_semantics.cancel_with_an_open_attempt(monkeypatch)
    found = words(swept("cancel-reexecute", FAULT_FREE))
    assert "P2: the ledger says NO_EFFECT, and there is one (a)" in found
    assert "P6: the job was cancelled, and attempt 1 of a is open" in found


def test_a_cancel_with_an_undoing_in_doubt_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel is honoured where an undoing is refused, and nobody knows what became of another one: P6."""
    bugs_semantics.cancelled_with_an_undoing_in_doubt(monkeypatch)
    assert "P6: the job was cancelled, and attempt 1 of b#undo is open" in words(swept("undo-two-undoings", FAULT_FREE))


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("retry-requeue", "a was given up after 4 attempts, and 5 were allowed"),
        ("retry-requeue-asked", "a was given up after 2 attempts, and 3 were allowed"),
    ],
)
def test_a_step_given_up_too_soon_is_found(case: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that a crash has swallowed counts as a failure of the tool, once the job was queued again: T-RETRY."""
    bugs_semantics.forgiveness_lost_by_a_requeue(monkeypatch)
    assert found_in(case, f"append_started:after: T-RETRY: {said}")


def test_a_requeue_after_an_unknown_outcome_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that nobody knows of is taken for a retryable failure: T-RETRY, and P2 where the effect had happened."""
    bugs_semantics.requeued_after_unknown(monkeypatch)
    found = words(swept("retry-unknown-requeue", FAULT_FREE))
    assert "T-RETRY: a was to be tried again, and its attempt 1 is open" in found


def test_a_backoff_forgotten_by_a_recovery_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause before a retry is not waited for: T-RETRY."""
    bugs_semantics.backoff_forgotten(monkeypatch)
    assert "T-RETRY: attempt 2 of a came 0.0 s after its grant, not 5.0 s" in words(swept("retry-backoff", FAULT_FREE))


def test_an_error_that_no_policy_lists_and_that_is_retried_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step whose policy lists other errors is tried again: T-RETRY. A run without a fault, which others are compared with, is
    wrong as well, so it takes a sentence that states what is right."""
    bugs_semantics.every_error_retried(monkeypatch)
    found = words(swept("retry-no-match", FAULT_FREE))
    assert "T-RETRY: a was to be tried again after an error that its policy does not list" in found


# Planted bugs: compensation.


def test_a_compensation_without_its_barrier_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is executed before compensation_started is durable: P14, and P10 once it is repeated."""
    bugs_semantics.compensation_without_barrier(monkeypatch)
    found = words(swept("undo-partial"))
    assert "compensate:effect: P14: a request was made whose started event is not in the file (a#undo)" in found
    assert "P10: a was compensated 2 times" in found


def test_a_compensation_repeated_after_an_unknown_outcome_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compensation whose answer was lost is sent again as if it were idempotent: P10."""
    bugs_semantics.compensation_repeated(monkeypatch)
    found = words(swept("undo-lost", FAULT_FREE))
    assert "P10: the compensation of a began again while its attempt 1 was open" in found
    assert "P10: a was compensated 2 times" in found


def test_an_undoing_called_again_with_other_arguments_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun unresolved and refused, it is told the result once that is known: its key stands for one call, so none can begin."""
    bugs_semantics.undoing_told_what_is_known_now(monkeypatch)
    with pytest.raises(ValueError, match=r"belongs to tool 'witness\.a#compensation' with arguments"):
        swept("undo-harmless-known", FAULT_FREE)


@pytest.mark.parametrize(
    ("bug", "case", "said"),
    [
        (
            bugs_semantics.quiet_of_its_own_step_alone,
            "undo-two-doubts",
            "it was said that b did not happen 60 s after job_parked, not 600 s",
        ),
        (
            bugs_semantics.quiet_of_a_later_undoing_left_out,
            "undo-two-undoings",
            "it was said that b#undo did not happen 60 s after job_parked, not 600 s",
        ),
        (
            bugs_semantics.undoing_asked_by_the_quiet_of_its_step,
            "undo-asked-late",
            "it was said that a#undo did not happen 91 s after compensation_started, not 600 s",
        ),
        (bugs_semantics.own_sending_forgotten, "undo-asked-soon", "the turn that had sent a request of b said that"),
        (bugs_decide.absence_taken_at_once, "undo-asked-soon", "the turn that had sent a request of b said that"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_an_absence_that_is_not_final_is_found(
    bug: Plant, case: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-QUIET: it is said that a step did not happen while a request of it may still act."""
    bug(monkeypatch)
    assert found_in(case, f"T-QUIET: {said}")


def test_an_undoing_that_is_told_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """P11: what undoes a step that is known to have happened is told what the step had and gave, as a request of it shows."""
    bugs_semantics.undoing_told_no_result(monkeypatch)
    assert found_in("undo-partial", 'P11: a#undo came with {"args":{"step":"a"},"result":null}, and was to come with')


def test_a_step_that_is_given_another_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """P11: arguments that ask for a result are told it, and not what asks for it."""
    monkeypatch.setattr(turn, "filled", lambda value, results: value)
    assert found_in("result-used", 'P11: b came with {"from":{"$result":"a"},"step":"b"}')


# Planted bugs: gates.


def test_a_signal_that_is_another_nodes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes wait for one name, and both take the first signal: before the second has come, and where both came early."""
    bugs_semantics.first_signal_for_all(monkeypatch)
    assert "P9: v was passed, and there was no such signal" in words(swept("wait-twice", FAULT_FREE))
    twice = SEMANTICS_CASES["semantics-wait-twice"]
    early = replace(twice, acts=tuple(replace(act, when="submitted") for act in twice.acts))
    found = words(list(sweep_case(early, FAULT_FREE)))
    assert "P9: v was passed with 'first', and its signal said 'second'" in found


def test_a_wait_written_over_its_signal_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes just before the job is let go to wait for it, and the wait is written behind it: P15."""
    bugs_semantics.rest_written_over_words(monkeypatch)
    assert "P15: the job waits for signal w-signal, which it has" in words(swept("wait-just-then", FAULT_FREE))


def test_a_gate_that_a_recovery_walks_through_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that was entered before is taken for passed, and the step does not ask again: P9."""
    bugs_semantics.gate_walked_through(monkeypatch)
    assert found_in("approved", "P9: tool_invocation_started of a was written without an approval by g")


def test_a_denial_that_is_not_final_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a denial the job goes on, and so does the step: P9."""
    bugs_semantics.denial_not_final(monkeypatch)
    found = words(swept("denied", FAULT_FREE))
    assert "P9: tool_invocation_started of a was written without an approval by g" in found


def test_an_approval_of_another_action_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person is shown something else than what then runs, and nothing compares the two: P9."""
    bugs_semantics.another_action_approved(monkeypatch)
    assert "P9: tool_invocation_started of a was written under an approval of another action" in words(
        swept("approved", FAULT_FREE)
    )


# Planted bugs: recorded values.


def test_a_model_asked_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recovery does not look for the recorded answer: P12."""
    bugs_semantics.model_asked_again(monkeypatch)
    assert "append_committed:after: P12: q was asked again after its answer was recorded" in words(
        swept_until_it_fails("model")
    )


def test_an_answer_used_otherwise_than_recorded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a recovery hands on is not what was recorded: P12."""
    bugs_semantics.answer_used_otherwise(monkeypatch)
    found = words(swept_until_it_fails("model"))
    assert "P12: a was given q as {'answer': 7}, and it is recorded as {'answer': 1}" in found


def test_an_input_handed_out_before_it_is_recorded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool is told the time, and nothing durable says what it was told: P12."""
    bugs_semantics.input_not_recorded(monkeypatch)
    assert "P12: a was given a#now#1, which is not recorded" in words(swept("inputs", FAULT_FREE))
