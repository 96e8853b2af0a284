"""What each property says of a job's file and of the world: retries, confirmation, gates, compensation, recorded values.

Generators of violations, each of which begins with the property that is broken. They hold at every moment, at a crash as at rest.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from ..runtime.records import Json
from ..runtime.verifier import Mode
from .crash_judge import COMMITTED, SUCCESS, filled, parsed
from .crash_witness import Witnessed, text_of
from .semantics_records import (
    UNDO,
    Durable,
    Row,
    canonical_digest,
    changes_of,
    deeds_of,
    nodes_of,
    of,
    of_undo,
    resting,
    successes_of,
)

Changes = Callable[[str | None], Sequence[Json]]
"""What a tool tells that an effect has changed, by the effect's external id."""

RESULTS: Final = ("tool", "llm", "human")
"""The kinds of what is committed that are results of a node."""
LONGEST_BACKOFF: Final = 3600.0
WORST_FIRST: Final = ("undetermined", "mismatch")
ENDED: Final = "tool_invocation_finished"
GOES_ON: Final = ("node_started", "tool_invocation_started", "job_waiting", "wait_completed", "node_finished")
"""Events that are written only where every earlier node is done."""


def retries(durable: Durable) -> Iterator[str]:
    """T-RETRY: attempts are numbered, under one key; each further one is granted by an event, and comes after its backoff."""
    for name, deed in deeds_of(durable).items():
        step, _, undo = name.partition(UNDO[0])
        kinds = ("tool_invocation_started", "compensation_started")
        starts = of(durable, *kinds, step=step, undo=bool(undo))
        told = of(durable, *kinds, "tool_invocation_finished", "step_compensated", step=step, undo=bool(undo))
        if [row.said["attempt"] for row in starts] != list(range(1, len(starts) + 1)):
            yield f"T-RETRY: the attempts of {name} are {[row.said['attempt'] for row in starts]}"
        if len({(row.said["idempotency_key"], row.said["invocation_id"]) for row in told}) > 1:
            yield f"T-RETRY: the attempts of {name} bear several keys"
        grants = of(durable, "retry_scheduled", "compensation_requested", step=step, undo=bool(undo))
        for earlier, later in pairwise(starts):
            between = [row for row in grants if earlier.version < row.version < later.version]
            if not between:
                yield f"T-RETRY: attempt {later.said['attempt']} of {name} was granted by no event"
            elif not undo:
                yield from _waited(name, nodes_of(durable)[step], between[-1], later)
        if not undo and deed.started:
            yield from _bounded(name, durable, len(starts))


def _waited(name: str, node: dict[str, Any], grant: Row, start: Row) -> Iterator[str]:
    """A retry's own event names it, and the pause that the plan states; the attempt comes after that."""
    number = start.said["attempt"]
    planned = min(LONGEST_BACKOFF, node.get("backoff_seconds", 0.0) * 2.0 ** (number - 2))
    pause = grant.said.get("backoff_seconds", 0.0)
    if grant.said["attempt"] != number:
        yield f"T-RETRY: attempt {number} of {name} was granted as {grant.said['attempt']}"
    if pause != planned:
        yield f"T-RETRY: attempt {number} of {name} was to wait {planned} s, and its grant says {pause} s"
    if start.at < grant.at + planned:
        yield f"T-RETRY: attempt {number} of {name} came {start.at - grant.at} s after its grant, not {planned} s"


def _bounded(name: str, durable: Durable, attempts: int) -> Iterator[str]:
    """No more attempts than the policy allows, but for those that ended by a word, of a query or a person."""
    node = nodes_of(durable)[name]
    requeues = [row for row in durable.events if row.type == "job_requeued" and row.step == name]
    words = [row for row in of(durable, "invocation_resolved", step=name) if row.said["answer"] == "not_happened"]
    allowed = (1 + node.get("max_retries", 2)) * (1 + len(requeues)) + len(words)
    if attempts > allowed:
        yield f"T-RETRY: {name} was attempted {attempts} times, and {allowed} were allowed"
    if len(requeues) > node.get("max_requeues", 0):
        yield f"T-RETRY: {name} was requeued {len(requeues)} times, and {node.get('max_requeues', 0)} were allowed"
    for row in requeues:
        ends = [each for each in of(durable, "node_finished", step=name) if each.version < row.version]
        if not ends or ends[-1].said["result_type"] != "retryable_failure":
            yield f"T-RETRY: {name} was requeued, and had not failed as retryable"
    for row in of(durable, "node_finished", step=name):
        if row.said["result_type"] == "retryable_failure" and (open_ones := open_before(durable, name, row.version)):
            yield f"T-RETRY: {name} was to be tried again, and its attempt {open_ones[0]} is open"


def given_up(durable: Durable, retried: Collection[str]) -> Iterator[str]:
    """T-RETRY: a step fails as without effect once its tool has failed as often as the policy allows, and no sooner.

    An attempt that a crash has swallowed, or of which a person says that it did not happen, is no failure of the tool. retried:
    the steps whose tools take no error for final. A step whose undoing has begun is not tried again.
    """
    for row in of(durable, "node_finished"):
        step = row.step or ""
        if step not in retried or "without effect" not in (row.said.get("reason") or ""):
            continue
        if row.said["result_type"] != "permanent_failure" or of(durable, "compensation_started", step=step, undo=True):
            continue
        node = nodes_of(durable)[step]
        least = (1 + node.get("max_retries", 2)) * (1 + node.get("max_requeues", 0)) + _forgiven(durable, step)
        attempts = len(of(durable, "tool_invocation_started", step=step))
        if attempts < least:
            yield f"T-RETRY: {step} was given up after {attempts} attempts, and {least} were allowed"


def not_retried(durable: Durable, unlisted: Collection[str]) -> Iterator[str]:
    """T-RETRY: an error that a step's policy does not list is its last: no retry is granted for it, nor is the job queued again.

    unlisted: the steps whose policies do not list what their tools raise. After a word, of a query or a person, one may be.
    """
    for step in unlisted:
        ends = of(durable, ENDED, "invocation_resolved", step=step)
        for row in of(durable, "retry_scheduled", "node_finished", step=step):
            last = next((each for each in reversed(ends) if each.version < row.version), None)
            retries = row.type == "retry_scheduled" or row.said["result_type"] == "retryable_failure"
            if retries and last is not None and last.type == ENDED and last.said["outcome"] == "no_effect":
                yield f"T-RETRY: {step} was to be tried again after an error that its policy does not list"


def _forgiven(durable: Durable, step: str) -> int:
    """How often a word closed attempts that are no failures of the tool: a person's, or a query's where no answer had come."""
    ends = of(durable, "tool_invocation_finished", step=step)
    answered = {row.said["attempt"] for row in ends if row.said["outcome"] == "unknown"}
    words = [row for row in of(durable, "invocation_resolved", step=step) if row.said["answer"] == "not_happened"]
    return sum(row.epoch is None or bool({*open_before(durable, step, row.version)} - answered) for row in words)


def open_before(durable: Durable, name: str, version: int) -> list[int]:
    """The attempts of a tool step that were open when an event was written: started, not proven to be without effect."""
    open_ones: set[int] = set()
    step, _, undo = name.partition(UNDO[0])
    for row in durable.events[: version - 1]:
        if row.step != step or ("compensates" in row.said) != bool(undo):
            continue
        said = row.said
        if row.type in ("tool_invocation_started", "compensation_started"):
            open_ones.add(said["attempt"])
        elif said.get("outcome") == "no_effect":
            open_ones.discard(said["attempt"])
        elif said.get("outcome") == "success" or row.type == "invocation_resolved":
            open_ones.clear()
    return sorted(open_ones)


def cancels(durable: Durable) -> Iterator[str]:
    """P6 of a cancelled job: nothing is open, and somebody had asked for it. P9: nobody works on a job that is at rest."""
    for row in of(durable, "job_cancelled"):
        for name in deeds_of(durable):
            if open_ones := open_before(durable, name, row.version):
                yield f"P6: the job was cancelled, and attempt {open_ones[0]} of {name} is open"
        if not of(durable, "cancel_requested"):
            yield "P6: the job was cancelled, and nobody had asked for it"
    for row, status in resting(durable):
        if row.epoch is not None:
            yield f"P9: {row.type} was written by a worker while the job was {status}"


def confirmations(durable: Durable, witnessed: Witnessed) -> Iterator[str]:
    """P8: before a record is used in a turn that did not execute the step, each change was looked at in that turn and found.

    Or it was gone, and that was warned of in that turn, or a person had accepted the record.
    """
    order = list(nodes_of(durable))
    judged: set[tuple[str, int]] = set()
    for row in durable.events:
        if row.epoch is None:
            continue
        for step in _used(row, order):
            if (step, row.epoch) not in judged and _injected(durable, step, row):
                judged.add((step, row.epoch))
                yield from _confirmed(durable, witnessed, step, row)


def _used(row: Row, order: Sequence[str]) -> Sequence[str]:
    """The steps on whose records an event rests: all, the one that it ends, or those before the one that it goes on with.

    What only repairs the records of a later step (U1 to U4) uses none.
    """
    if row.type == "job_completed":
        return order
    if row.step is None or row.type not in GOES_ON:
        return ()
    at = order.index(row.step)
    if row.type == "node_finished":
        return order[: at + 1] if row.said["result_type"] == SUCCESS else ()
    return order[:at]


def _injected(durable: Durable, step: str, row: Row) -> bool:
    """Whether what is known of a step is a record that an earlier turn made, and that was not undone."""
    deed = deeds_of(durable).get(step)
    if deed is None or step + UNDO in deeds_of(durable):
        return False
    own = {
        each.said["attempt"] for each in of(durable, "tool_invocation_started", step=step) if each.epoch == row.epoch
    }
    ended = {each.said["attempt"] for each in of(durable, "tool_invocation_finished", step=step) if _succeeded(each)}
    return not own & ended


def _succeeded(row: Row) -> bool:
    return bool(row.said["outcome"] == "success")


def _confirmed(durable: Durable, witnessed: Witnessed, step: str, row: Row) -> Iterator[str]:
    """P8 of one step in one turn."""
    before = [each for each in durable.events if each.version < row.version and each.step == step]
    if any(each.type == "replay_confirmed" for each in before):
        return
    warned = any((each.type, each.epoch) == ("confirmation_warned", row.epoch) for each in before)
    for change in changes_of(durable, step, row.version):
        resource = change["resource_id"]
        said = [
            look.answer
            for look in witnessed.looks
            if (look.step, look.epoch, look.resource) == (step, row.epoch, resource)
        ]
        if not said:
            yield f"P8: {row.type} of turn {row.epoch} uses the record of {step}, and nobody looked at {resource}"
        elif said[-1] != "match" and not (warned and said[-1] == "mismatch"):
            yield f"P8: {row.type} of turn {row.epoch} uses the record of {step}, and {resource} was a {said[-1]}"


def changes_recorded(
    durable: Durable, witnessed: Witnessed, told: Mapping[str, Changes], ledger_first: bool
) -> Iterator[str]:
    """P8: each record of a success holds the state changes that the tool told with this result: they alone are looked at later.

    What it told follows from the case and the witness's line of the effect (`told`). Nothing is due of what a person has told;
    nor of an end that may rest on the ledger, which holds no changes (`ledger_first`): the effect record has them then.
    """
    for step, changes in told.items():
        words = [row.said for row in of(durable, "invocation_resolved", step=step)]
        by_person = any(said["answer"] == "happened" and said["by"] != "query" for said in words)
        for record, result, found in successes_of(durable, step):
            lines = (line for line in witnessed.effects if (line.step, line.result) == (step, result))
            line = next(lines, None)
            due = [] if line is None or by_person else list(changes(line.external_id))
            excused = ledger_first and record == ENDED and not found
            if line is not None and found != due and not excused:
                yield f"P8: {record} of {step} holds the state changes {text_of(found)}, and its tool told {text_of(due)}"


def confirmed_at_rest(durable: Durable, witnessed: Witnessed, mode: Mode) -> Iterator[str]:
    """P8, T-CONFIRM: what the last looks have led to. What proves nothing is a person's to decide, whatever else was seen."""
    for step in {look.step: None for look in witnessed.looks}:
        seen = {look.resource: look.answer for look in witnessed.looks if look.step == step}
        last = next((answer for answer in WORST_FIRST if answer in seen.values()), "match")
        accepted = bool(of(durable, "replay_confirmed", step=step))
        cancelled = durable.status == "cancelled"
        expected: tuple[str, ...] = ()
        if last == "mismatch" and mode == "strict":
            expected = ("failed",)
        elif last == "undetermined" or (last == "mismatch" and mode == "human_in_loop"):
            expected = ("parked",)
        if expected and not accepted and not cancelled and durable.status not in expected:
            yield f"P8: the last look at {step} was a {last} in mode {mode}, and the job is {durable.status}"
    tainted = [row.said.get("tainted", False) for row in of(durable, "job_completed")]
    if tainted and tainted[0] != bool(of(durable, "confirmation_warned")):
        yield f"P8: the job was completed with tainted={tainted[0]}, and the warnings say otherwise"


def gates(durable: Durable) -> Iterator[str]:
    """P9: a gated step begins after its approval alone, of exactly its action, by a person; a denial is final."""
    nodes = nodes_of(durable)
    for gate, node in nodes.items():
        if "approve" not in node:
            continue
        step = node["approve"]
        passed = of(durable, "wait_completed", step=gate)
        digest = canonical_digest(asked(durable, gate, nodes[step]))
        given = {(decision, what) for _, decision, what in durable.answers}
        for row in durable.events:
            if row.step != step or row.epoch is None:
                continue
            words = [each.said for each in passed if each.version < row.version]
            if [said["decision"] for said in words] != ["approved"]:
                yield f"P9: {row.type} of {step} was written without an approval by {gate}"
            elif words[0]["digest"] != digest:
                yield f"P9: {row.type} of {step} was written under an approval of another action"
            elif ("approve", digest) not in given:
                yield f"P9: {row.type} of {step} was written, and no person approved"
        if len(passed) > 1:
            yield f"P9: {gate} was answered {len(passed)} times"


def asked(durable: Durable, gate: str, node: dict[str, Any]) -> dict[str, Any]:
    """What a person is shown of a gated step: computed here from the plan and the results on record."""
    (job,) = [row.said["job_id"] for row in of(durable, "job_created")]
    return question(job, gate, node, results_of(durable))


def results_of(durable: Durable) -> dict[str, Any]:
    """What is recorded of each node as its result."""
    committed = of(durable, "command_committed")
    return {row.step or "": row.said["result"] for row in committed if row.said["kind"] in RESULTS}


def question(job: str, gate: str, node: Mapping[str, Any], results: Mapping[Any, Any]) -> dict[str, Any]:
    """The same from what it is made of."""
    return {
        "type": "confirmation",
        "message": f"Run step {node['id']!r} of job {job!r}? ({gate})",
        "job": job,
        "node": gate,
        "step": node["id"],
        "action": {"tool": node["tool"], "args": filled(node["args"], results)},
    }


def waits(durable: Durable) -> Iterator[str]:
    """P9 of a wait node: it is passed once, after the signal that is its own, with that one's data."""
    for name, signal in _own_signals(durable):
        passed = of(durable, "wait_completed", step=name)
        if len(passed) > 1:
            yield f"P9: {name} was passed {len(passed)} times"
        for row in passed:
            if signal is None or signal.version > row.version:
                yield f"P9: {name} was passed, and there was no such signal"
            elif signal.said["data"] != row.said["data"]:
                yield f"P9: {name} was passed with {row.said['data']!r}, and its signal said {signal.said['data']!r}"


def asleep(durable: Durable) -> Iterator[str]:
    """P15: a job that waits for a signal, and has it, or whose end was asked for: nobody will wake it."""
    waiting = of(durable, "job_waiting")[-1].said if durable.status == "waiting" else {}
    if waiting and of(durable, "cancel_requested"):
        yield "P15: the job waits, and its end was asked for"
    if any(signal for name, signal in _own_signals(durable) if name == waiting.get("node")):
        yield f"P15: the job waits for signal {waiting['signal']}, which it has"


def _own_signals(durable: Durable) -> Iterator[tuple[str, Row | None]]:
    """Each wait node with its signal: of those that wait for one name the n-th, in the plan's order, has the n-th signal."""
    taken: Counter[str] = Counter()
    for name, node in nodes_of(durable).items():
        if "wait" in node:
            came = [row for row in of(durable, "signal_received") if row.said["signal"] == node["wait"]]
            yield name, next(iter(came[taken[node["wait"]] :]), None)
            taken[node["wait"]] += 1


def final(durable: Durable, quiet: Mapping[str, float]) -> Iterator[str]:
    """T-QUIET: "it did not happen" is said once no request can act any more: D after the job was parked, if by a person; if by a
    look, D after its last attempt began, and never by the turn that sent it.

    quiet: D of each step, and of each undoing, whose looks hold no late request back.
    """
    for row in durable.events:
        name = (row.step or "") + UNDO * of_undo(row)
        least = quiet.get(name)
        if row.type != "invocation_resolved" or row.said["answer"] == "happened" or least is None:
            continue
        since = _last_sending(durable, row)
        if since.epoch == row.epoch:
            yield f"T-QUIET: the turn that had sent a request of {name} said that it did not happen"
        elif row.at < since.at + least:
            said = f"{row.at - since.at:g} s after {since.type}, not {least:g} s"
            yield f"T-QUIET: it was said that {name} did not happen {said}"


def _last_sending(durable: Durable, word: Row) -> Row:
    """After which event nothing was sent of what a word speaks of: for a person the park, for a look the start of an attempt."""
    before = durable.events[: word.version - 1]
    if word.epoch is None:
        return [row for row in before if row.type == "job_parked"][-1]
    kind = "compensation_started" if of_undo(word) else "tool_invocation_started"
    return [row for row in before if (row.type, row.step) == (kind, word.step)][-1]


def compensations(durable: Durable, witnessed: Witnessed, harmless: bool) -> Iterator[str]:
    """P10: a compensation runs for a recorded effect, after its barrier, once; its record is truthful, and has one outcome."""
    for name in deeds_of(durable):
        step, _, mark = name.partition(UNDO[0])
        if not mark:
            continue
        starts = of(durable, "compensation_started", step=step, undo=True)
        done = of(durable, "step_compensated", step=step, undo=True)
        failed = of(durable, "compensation_failed", step=step, undo=True)
        if witnessed.count(name) > 1:
            yield f"P10: {step} was compensated {witnessed.count(name)} times"
        asked_for = any(line.step == name for line in witnessed.requests)
        if asked_for and not deeds_of(durable)[step].results and not harmless:
            yield f"P10: {step} was compensated, and no record says that it had an effect"
        for row in starts:
            if open_ones := open_before(durable, name, row.version):
                yield f"P10: the compensation of {step} began again while its attempt {open_ones[0]} was open"
            if done and row.version > done[0].version:
                yield f"P10: the compensation of {step} began again after it was done"
        if len(done) > 1 or {row.said["attempt"] for row in done} & {_closed(row) for row in failed}:
            yield f"P10: the compensation of {step} has several outcomes"
        if done and not witnessed.count(name):
            yield f"P10: {step} is said to be compensated, and is not"
        if starts and any(row.version > starts[0].version for row in of(durable, "tool_invocation_started", step=step)):
            yield f"P10: {step} was executed after its compensation had begun"
        if deeds_of(durable)[step].node == "compensated" and not done:
            yield f"P10: {step} is said to be compensated without a record of it"
    requested = {line.step for line in witnessed.requests if line.step.endswith(UNDO)}
    for name in requested - deeds_of(durable).keys():
        yield f"P10: {name} was executed, and nothing durable says that it was to be"


def handed(durable: Durable, witnessed: Witnessed, harmless: bool) -> Iterator[str]:
    """P11: what comes with a request is what its key stands for: the plan's arguments, with the results on record filled in.

    An undoing is told these, and what the step truly answered; or nothing of it where nothing was known when it was first begun.
    """
    nodes, results, told = nodes_of(durable), results_of(durable), defaultdict[str, set[str]](set)
    for line in witnessed.requests:
        step, _, undo = line.step.partition(UNDO[0])
        if line.args is None or step not in nodes:
            continue
        args = filled(nodes[step]["args"], results)
        allowed = [text_of({"args": args, "result": None})] if undo and harmless else []
        if not undo:
            allowed.append(text_of(args))
        elif (done := next((each for each in witnessed.effects if each.step == step), None)) is not None:
            allowed.append(text_of({"args": args, "result": done.result, "external_id": done.external_id}))
        told[line.step].add(line.args)
        if line.args not in allowed:
            yield f"P11: {line.step} came with {line.args}, and was to come with {' or '.join(allowed) or 'nothing'}"
    for name in (name for name, said in told.items() if len(said) > 1):
        yield f"P11: {name} came with other arguments in another attempt"


def _closed(row: Row) -> int | None:
    """The attempt that an event says to be without effect."""
    return row.said["attempt"] if row.said["outcome"] == "no_effect" else None


def compensated_at_rest(durable: Durable, witnessed: Witnessed) -> Iterator[str]:
    """P10: a job does not end with a compensation under way, or owed."""
    if durable.status not in ("completed", "failed", "cancelled"):
        return
    given_up = durable.status == "cancelled"  # by a person, who was told that the compensation failed
    deeds = deeds_of(durable)
    for name, deed in deeds.items():
        step = deeds.get(name.removesuffix(UNDO), deed)
        nothing = (
            not step.results and bool(step.started) and step.closed >= step.started
        )  # to undo: the step turned out not to have happened
        known = deed.results or ((given_up or nothing) and deed.closed >= deed.started)
        if name.endswith(UNDO) and not known:
            yield f"P10: the job is {durable.status}, and what became of {name} is not recorded"
        if deed.node == "compensatable_failure" and not (given_up and deeds.get(name + UNDO, deed).closed):
            yield f"P10: the job is {durable.status}, and {name} was to be compensated"
        if deed.node in COMMITTED and name.endswith(UNDO) and witnessed.count(name) != 1:
            yield f"P10: {name} is done, with {witnessed.count(name)} effects"


def recorded(durable: Durable, witnessed: Witnessed) -> Iterator[str]:
    """P12: a model is not asked again once its answer is recorded; what is handed out is recorded, and the same each time."""
    commands = [row.said for row in of(durable, "command_committed")]
    ids = [said["command_id"] for said in commands if "compensates" not in said]
    for twice in sorted({each for each in ids if ids.count(each) > 1}):
        yield f"P12: {twice} was recorded {ids.count(twice)} times"
    answers: dict[str, Any] = {step: parsed(output) for step, _, kind, output, _ in durable.effects if kind == "llm"}
    for said in commands:
        if said["kind"] == "llm" and answers.setdefault(said["command_id"], said["result"]) != said["result"]:
            yield f"P12: the records of {said['command_id']} hold different answers"
    for node, answer in answers.items():
        asked_for = [each.number for each in witnessed.questions if each.node == node]
        if answer["answer"] not in asked_for:
            yield f"P12: {node} is recorded as {answer}, and no model answered so"
        elif asked_for[-1] != answer["answer"]:
            yield f"P12: {node} was asked again after its answer was recorded"
    known = {said["command_id"]: said["result"] for said in commands} | answers
    for given in witnessed.given:
        if given.name not in known:
            yield f"P12: {given.step} was given {given.name}, which is not recorded"
        elif canonical_digest(known[given.name]) != canonical_digest(given.value):
            yield f"P12: {given.step} was given {given.name} as {given.value}, and it is recorded as {known[given.name]}"
