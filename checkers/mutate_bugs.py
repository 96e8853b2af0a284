"""The bugs of the runtime that are planted: each with where, what should fall, and where to look first (E-TRUST, teeth)."""

from dataclasses import dataclass
from typing import Final

from . import bugs_contract, bugs_decide, bugs_joined, bugs_semantics, bugs_step, bugs_store, bugs_workers
from .substitute import Plant


@dataclass(frozen=True)
class Bug:
    """A bug of the runtime. plant: how it is planted, its docstring saying what is wrong; where: the code that it replaces.

    falls: the property that it is meant to break, for people: nobody compares by what it is killed. cases: the crash cases in
    which it shows, the cheapest first. never: the rule of the model that is lost with it, where that is one that can never fire:
    then the bug is harmless, by that proof.
    """

    plant: Plant
    where: str
    falls: str
    cases: tuple[str, ...] = ()
    never: str = ""

    @property
    def name(self) -> str:
        """The bug's name."""
        return f"{self.part}: {getattr(self.plant, '__name__').replace('_', ' ')}"  # noqa: B009  # no name, to the checker of types

    @property
    def part(self) -> str:
        """The part of the runtime that it is planted in."""
        return PARTS[self.plant.__module__.rpartition(".")[2]]

    @property
    def words(self) -> str:
        """What is wrong."""
        return (self.plant.__doc__ or "").strip()


PARTS: Final = {
    "bugs_step": "step",
    "bugs_decide": "step",
    "bugs_workers": "step",
    "bugs_joined": "step",
    "bugs_store": "store",
    "bugs_semantics": "beyond the step",
    "bugs_contract": "contract",
}
s, d, b, c, w, j, t = bugs_step, bugs_decide, bugs_semantics, bugs_contract, bugs_workers, bugs_joined, bugs_store
BUGS: Final = (
    Bug(s.swapped_writes, "Step.record", "T-ORDER", ("ok-park",)),
    Bug(s.skipped_committed, "Step.record", "P3", ("ok-park",)),
    Bug(s.catch_up_skips_committed, "Step.record", "P3", ("ok-park",)),
    Bug(s.ledger_left_open, "Step.record", "P6", ("ok-park",)),
    Bug(s.altered_result, "Step.record", "P11", ("ok-park",)),
    Bug(d.dropped_unknown, "Step.settle", "P2", ("ok-park",)),
    Bug(d.ignored_effect, "Step.__init__", "P4", ("ok-park", "ok-fail")),
    Bug(d.committed_ledger_ignored, "Step.__init__", "P4", ("ok-park", "ok-fail"), "2: ledger committed"),
    Bug(d.mismatch_injected, "confirm.judged", "P8", ("semantics-confirm-mismatch",)),
    Bug(d.partial_taken_for_success, "Step.fail_after_effect", "T-OUTCOME", ("semantics-undo-partial",)),
    Bug(d.cancel_ignored, "Run.heard", "P15", ("semantics-cancel-first",)),
    Bug(s.ledger_forgotten, "Step.record", "P7", ("ok-park",)),
    Bug(s.unchecked_started, "drive.persist", "P14", ("ok-park",)),
    Bug(d.lookup_after_barrier, "Step.recover", "P4", ("ok-park", "ok-fail")),
    Bug(d.attempt_in_the_key, "Step.external_key", "P11", ("ok-reexecute",)),
    Bug(d.epoch_in_the_key, "Step.own_key", "P11", ("ok-park",)),
    Bug(d.barrier_absent, "Step.recover", "P1", ("ok-park",)),
    Bug(s.execute_before_started, "Step.attempt", "P14", ("ok-park",)),
    Bug(s.effect_not_stored, "SqliteStore.put_effect", "P6", ("ok-park",)),
    Bug(d.last_attempt_only, "Step.recover", "P4", ("later-refused-reexecute",)),
    Bug(d.unknown_taken_for_no_effect, "Execute.perform", "P2", ("lost-park",)),
    Bug(s.lost_answer_taken_for_failure, "drive.persist", "T-WRITE", ("ok-park",)),
    Bug(d.retried_after_unknown, "Step.ambiguous", "P1", ("lost-park",)),
    Bug(s.node_finished_twice, "Step.conclude", "P11", ("ok-park",)),
    Bug(s.checkpoint_first, "Step.conclude", "T-ORDER", ("ok-park",)),
    Bug(d.absence_taken_at_once, "Query.perform", "P1", ("silent-query-lock", "lost-query-soon", "ok-query-soon")),
    Bug(d.absence_taken_too_early, "Query.perform", "T-QUIET", ("lost-query-soon",)),
    Bug(s.overtaken_taken_for_done, "drive.persist", "T-WRITE", ("semantics-cancel-first",)),
    Bug(d.absent_without_asking, "Query.perform", "P2", ("lost-query-fence",)),
    Bug(d.retries_without_end, "RetryPolicy.allows", "T-RETRY", ("refused-park",)),
    Bug(d.key_without_node, "keys.execution_key", "P11", ("two-ok-park",)),
    Bug(d.no_effect_left_open, "StepHistory.close", "P6", ("retry-park",)),
    Bug(d.arguments_dropped, "Execute.perform", "P11", ("ok-park",)),
    Bug(d.arguments_altered_in_a_retry, "Execute.perform", "P11", ("retry-park",)),
    Bug(d.question_without_arguments, "Query.perform", "P11", ("lost-query-fence",)),
    Bug(d.external_id_of_a_query_dropped, "Query.perform", "P2", ("lost-query-fence",)),
    Bug(d.time_limit_taken_for_a_refusal, "commands._within", "P1", ("late-park",)),
    Bug(d.time_limit_not_kept, "commands._within", "T-OUTCOME", ("late-park",)),
    Bug(d.error_words_lost, "commands._words", "T-OUTCOME", ("retry-park",)),
    Bug(d.invocation_named_by_the_key, "Step.context", "P14", ("ok-park",)),
    Bug(d.token_of_the_first_lease, "Step.context", "P14", ("ok-query-fence",)),
    Bug(d.every_attempt_told_the_first, "Step.context", "P14", ("retry-park",)),
    Bug(s.parked_without_saying, "Step.park", "P15", ("lost-park",)),
    Bug(s.epoch_not_raised, "sqlite_statements.CLAIM_ONE", "P5", ("ok-park", "ok-query-quiet")),
    Bug(s.effects_not_fenced, "Fence.perform", "P5", ("ok-park",)),
    Bug(s.older_steps_left, "Step.settle_later", "P6", ("semantics-confirm-mismatch",)),
    Bug(s.output_hashed_as_input, "Step.effect_record", "P13", ("ok-park",)),
    Bug(b.unconfirmed_from_the_effect_record, "Step.confirm", "P8", ("semantics-confirm-match",)),
    Bug(b.unconfirmed_finished_node, "Step.confirm", "P8", ("semantics-confirm-match",)),
    Bug(b.changes_never_recorded, "commands._storable", "P8", ("semantics-confirm-match",)),
    Bug(b.changes_of_a_query_left_out, "Step.ask", "P8", ("semantics-confirm-resolved",)),
    Bug(b.cancel_with_an_open_attempt, "Run.heard", "P2", ("semantics-cancel-reexecute",)),
    Bug(b.requeued_after_unknown, "Step.ambiguous", "T-RETRY", ("semantics-retry-unknown-requeue",)),
    Bug(b.backoff_forgotten, "Run.wait", "T-RETRY", ("semantics-retry-backoff",)),
    Bug(b.every_error_retried, "RetryPolicy.accepts", "T-RETRY", ("semantics-retry-no-match",)),
    Bug(b.compensation_without_barrier, "Compensation.attempt", "P14", ("semantics-undo-partial",)),
    Bug(b.compensation_repeated, "compensation.undoing_tool", "P10", ("semantics-undo-lost",)),
    Bug(b.gate_walked_through, "Gate.run_or_recover", "P9", ("semantics-approved",)),
    Bug(b.denial_not_final, "Gate.conclude", "P9", ("semantics-denied",)),
    Bug(b.another_action_approved, "gate.shown", "P9", ("semantics-approved",)),
    Bug(b.model_asked_again, "LlmStep.recorded", "P12", ("semantics-model",)),
    Bug(b.answer_used_otherwise, "LlmStep.recorded", "P12", ("semantics-model",)),
    Bug(b.input_not_recorded, "Recorder.record", "P12", ("semantics-inputs",)),
    Bug(b.input_asked_again, "Recorder.__init__", "P12", ("semantics-inputs",)),
    Bug(b.input_recorded_late, "Recorder.record", "P12", ("semantics-inputs",)),
    Bug(b.settled_though_to_be_confirmed, "Settling.said", "P8", ("semantics-confirm-mismatch",)),
    Bug(b.settled_before_a_signal_is_heard, "Settling.said", "P15", ("semantics-wait-settled",)),
    Bug(b.settled_without_what_is_used, "Settling.said", "P15", ("semantics-result-settled",)),
    Bug(b.settled_whatever_is_asked, "checkpoint.from_checkpoint", "P10", ("semantics-undo-settled",)),
    Bug(b.first_signal_for_all, "Wait.ask", "P9", ("semantics-wait-twice",)),
    Bug(b.undoing_told_what_is_known_now, "Compensation.told", "P11", ("semantics-undo-harmless-known",)),
    Bug(b.tried_again_beside_its_undoing, "Step.closed", "P10", ("semantics-undo-harmless-nothing",)),
    Bug(b.parked_with_nothing_to_undo, "Compensation.closed", "P10", ("semantics-undo-harmless-nothing",)),
    Bug(b.undoing_told_no_result, "Compensation.told", "P11", ("semantics-undo-partial",)),
    Bug(b.undoing_left_in_flight, "Step.settle_undoing", "P6", ("semantics-undo-overtaken",)),
    Bug(b.rest_written_over_words, "drive.AT_REST", "P15", ("semantics-wait-just-then",)),
    Bug(b.quiet_of_its_own_step_alone, "Step.quiet_seconds", "T-QUIET", ("semantics-undo-two-doubts",)),
    Bug(b.own_sending_forgotten, "Step.__init__", "T-QUIET", ("semantics-undo-asked-soon",)),
    Bug(b.heard_and_not_acted_on, "Run.listen", "P10", ("semantics-undo-asked-backoff",)),
    Bug(b.kept_where_it_was_believed, "Run.listen", "P13", ("semantics-wait-overtaken",)),
    Bug(b.sent_again_and_undone_unresolved, "StepHistory.undone_unresolved", "T-QUIET", ("semantics-undo-outlived",)),
    Bug(b.done_where_nothing_was_undone, "Step.closed", "P4", ("semantics-undo-undone",)),
    Bug(b.undone_too_early_elsewhere, "clients.check_undoable", "T-QUIET", ("semantics-ended-unknown",)),
    Bug(b.undone_elsewhere_with_arguments_unfilled, "clients.undo_plan", "P11", ("semantics-ended-completed",)),
    Bug(b.undone_elsewhere_as_if_known, "ElsewhereStep.stored", "P12", ("semantics-ended-unknown",)),
    Bug(b.undoing_asked_by_the_quiet_of_its_step, "compensation.undoing_tool", "T-QUIET", ("semantics-undo-asked-late",)),
    Bug(b.limit_of_an_undoing_forgotten, "compensation.undoing_tool", "T-OUTCOME", ("semantics-undo-late",)),
    Bug(b.quiet_of_a_later_undoing_left_out, "Step.quiet_seconds", "T-QUIET", ("semantics-undo-two-undoings",)),
    Bug(b.doubt_overruled_by_a_mismatch, "confirm.judged", "P8", ("semantics-confirm-two-strict",)),
    Bug(b.doubt_overruled_by_a_warning, "confirm.judged", "P8", ("semantics-confirm-two-warn",)),
    Bug(b.cancelled_with_an_undoing_in_doubt, "History.ends_by_cancel", "P6", ("semantics-undo-two-undoings",)),
    Bug(b.forgiveness_lost_by_a_requeue, "StepHistory._node", "T-RETRY", ("semantics-retry-requeue-asked",)),
    Bug(w.lease_not_looked_at, "drive.tend", "P1", ("ok-park",)),
    Bug(w.rest_told_as_completed, "job.resume", "T-WORKER", ("lost-park",)),
    Bug(w.lost_lease_not_heard, "Hold.current", "P1", ("ok-park",)),
    Bug(w.told_under_a_lease_that_ran_out, "drive.recording", "T-QUIET", ("ok-park",)),
    Bug(j.joined_past_the_world, "Together.come_to", "P14", ("joined-ok-park",)),
    Bug(j.ended_before_it_is_durable, "Together.come_to", "P15", ("joined-ok-park",)),
    Bug(j.commit_taken_for_done, "Together.make_durable", "P15", ("joined-ok-park",)),
    Bug(j.taken_back_and_forgotten, "Together._one_by_one", "T-WRITE", ("joined-ok-park",)),
    Bug(t.own_batch_known_below_the_fence, "sqlite_store._own_or_refused", "P5", ("ok-park",)),
    Bug(t.committed_record_settled_anew, "sqlite_statements.SETTLED", "P7", ("ok-park",)),
    Bug(t.settled_below_the_fence, "sqlite_statements.SETTLED", "P5", ("ok-park",)),
    Bug(t.appended_behind_the_end, "sqlite_statements.ADVANCE", "P7", ("ok-park",)),
    Bug(t.clients_fenced, "SqliteStore.append", "T-FENCE", ("semantics-cancel-first",)),
    Bug(t.stream_fence_lowered, "sqlite_statements.FENCE_EVENTS", "P5", ("ok-park",)),
    Bug(t.other_fences_lowered, "sqlite_statements.FENCE_LEDGER", "P5", ("ok-park",)),
    Bug(t.another_plan_taken_for_the_same, "SqliteStore.submit", "T-WRITE", ("ok-park",)),
    Bug(t.earlier_holders_forgotten, "sqlite_statements.CLAIM_ONE", "T-QUIET", ("ok-query-quiet",)),
    Bug(t.last_holder_forgotten, "sqlite_statements.CLAIM_ONE", "T-QUIET", ("ok-query-quiet",)),
    Bug(t.ended_job_claimed, "sqlite_statements.CLAIM_ONE", "T-WORKER", ("ok-park",)),
    Bug(t.lease_made_shorter, "sqlite_statements.RENEW", "T-WORKER", ("ok-park",)),
    Bug(t.stale_lease_renewed, "sqlite_statements.RENEW", "T-WORKER", ("ok-park",)),
    Bug(t.newer_lease_released, "sqlite_statements.RELEASE", "T-WORKER", ("ok-park",)),
    Bug(t.newer_lease_released_in_memory, "MemoryStore.release", "T-WORKER", ("ok-park",)),
    Bug(t.step_of_another_owner_acquired, "sqlite_statements.ACQUIRE", "P1", ("ok-park",)),
    Bug(t.own_step_not_acquired_again, "sqlite_statements.ACQUIRE", "T-WRITE", ("ok-park",)),
    Bug(t.invocation_named_anew, "sqlite_statements.ACQUIRE", "P14", ("ok-park",)),
    Bug(t.effect_written_over, "sqlite_statements.PUT_EFFECT", "P7", ("ok-park",)),
    Bug(t.effect_put_below_the_fence, "sqlite_statements.PUT_EFFECT", "P5", ("ok-park",)),
    Bug(t.records_of_another_job_read, "sqlite_statements.LEDGER_AMONG", "T-KEY", ("ok-park",)),
    Bug(t.other_arguments_joined, "sqlite_statements.ACQUIRED", "T-JOINED", ("ok-park",)),
    Bug(t.joined_writes_made_in_part, "sqlite_group._does", "T-JOINED", ("ok-park",)),
    Bug(c.executor_runs_ahead, "Session.start", "C7", ("contract-worked-example",)),
    Bug(c.resume_not_compared, "write_batch", "C5", ("contract-consent-twice",)),
    Bug(c.answer_before_its_release, "write_batch._checkpoint", "C9", ("contract-worked-example",)),
    Bug(c.consent_bound_to_nothing, "operations.supersede", "C6", ("contract-arguments-changed",)),
    Bug(c.any_consent_inherited, "drafts._again", "C6", ("contract-superseded-retried",)),
    Bug(c.first_word_kept, "step.word_of", "C4", ("contract-two-words",)),
    Bug(c.error_words_replaced, "step.verdict", "C10", ("contract-smtp-refused",)),
    Bug(c.result_dropped, "step.verdict", "C10", ("contract-worked-example",)),
    Bug(c.answer_to_another_wait, "release.answered", "C5", ("contract-asked-again",)),
    # No shipped runner asks for such a retry, so no crash shows it: the coverage of the store does.
    Bug(c.inherited_whatever_the_end, "rules.inherits", "C6", ("contract-retry-approved",)),
    Bug(c.named_failure_retried, "drafts._again", "C2", ("contract-failed-named-again",)),
    Bug(c.key_looked_up_and_not_believed, "SqliteContractStore.holder", "C1", ("contract-one-key-twice",)),
    Bug(c.orphan_again, "Step.recover", "C10", ("contract-worked-example",)),
    Bug(c.second_answer, "_SqliteRows.answered", "C5", ("contract-worked-example",)),
    Bug(c.no_compare_and_set, "write_batch._move_all", "C5", ("contract-consent-twice",)),
    Bug(c.consent_kept, "rules.moved", "C6", ("contract-worked-example",)),
    Bug(c.denial_frees, "_SqliteRows.move", "C1", ("contract-denied-reopened",)),
    Bug(c.release_in_two, "release", "C9", ("contract-worked-example",)),
    Bug(c.supersede_in_two, "operations._write", "C6", ("contract-arguments-changed",)),
    Bug(c.timeout_cancels, "contract.target", "C8", ("contract-worked-example",)),
    Bug(c.request_ends_alone, "write_batch._end_deferred", "C9", ("contract-worked-example",)),
    Bug(c.doubt_is_failure, "nodes.PROVEN", "C8", ("contract-worked-example",)),
    Bug(c.overtaken_batch_taken_for_done, "drive.persist", "C5", ("contract-consent-twice",)),
    Bug(c.key_not_reserved, "_SqliteRows.holder", "C1", ("contract-one-key-twice",)),
    Bug(c.used_approval_taken, "rules.check_approval", "C6", ("contract-consent-twice",)),
    # No shipped program resumes a call without an approval: the coverage and the enumeration do.
    Bug(c.used_approval_stands, "rules.moved", "C6", ("contract-consent-twice",)),
    Bug(c.limit_lost_by_a_retry, "drafts._again", "C-DATA", ("contract-retry-approved",)),
    Bug(c.limit_lost_by_a_change, "operations._changed", "C-DATA", ("contract-arguments-changed",)),
    Bug(c.change_of_nothing, "operations._changed", "C-BIND", ("contract-superseded-retried",)),
    Bug(c.memory_withheld, "nodes.question", "C-DATA", ("contract-smtp-refused",)),
    Bug(c.key_material_remembered, "Session.memory", "C-DATA", ("contract-smtp-refused",)),
    # In no crash case does a call wait longer than it may run, or is anybody asked about a step that failed: the walk does both.
    Bug(c.limit_of_a_call_that_waits, "operations.time_out", "C-DATA", ("contract-consent",)),
    Bug(c.no_quiet_time, "operations._resolve_failed", "T-QUIET", ("contract-lost-answer",)),
    Bug(c.ids_numbered_anew, "Session.write", "T-WRITE", ("contract-worked-example",)),
    Bug(c.one_id_a_turn, "runner.batch_ids", "T-WRITE", ("contract-worked-example",)),
    Bug(c.ids_without_a_name, "runner.batch_ids", "T-WRITE", ("contract-worked-example",)),
    Bug(c.name_kept, "GraphRunner.attempts", "T-WRITE", ("contract-worked-example",)),
)  # fmt: skip
"""The bugs, by the part of the runtime."""
