"""Sentences of S1 §4 and S2 on keys, invocation ids and retries, each tried on the shipped runtime."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from ..runtime.retry import RetryPolicy
from .crash_witness import REQUESTS
from .seed_house import JOB, House, Problems, step
from .seed_ledger import Check

CALL_EVENTS: Final = ("tool_invocation_started", "tool_invocation_finished")
THREE: Final = RetryPolicy(max_retries=2, backoff_seconds=3.0)


def formula(house: House) -> Problems:
    """S1-4.1-FORMULA, computed here from the text."""
    house.run(step("a", "act", b=1, a=[None, {}]))
    text = b"\0".join([JOB.encode(), b"a", b"act", b'{"a":[null,{}],"b":1}'])
    (row,) = house.ledger()
    if row["idempotency_key"] != hashlib.sha256(text).hexdigest():
        yield f"the ledger's key is {row['idempotency_key']}, the text's formula gives {hashlib.sha256(text).hexdigest()}"


def lookup(house: House) -> Problems:
    """S1-4.1-LOOKUP: the same step in two jobs, one of which has committed it."""
    house.run(step("a"))
    house.run(step("a"), job="other")
    kept = [(row["job_id"], row["step_id"]) for row in house.rows("SELECT * FROM ledger")]
    if house.effects() != 2 or Counter(kept) != {(JOB, "a"): 1, ("other", "a"): 1}:
        yield f"the same step of two jobs had {house.effects()} effects, and the ledger holds {kept}"


def key_in_events(house: House) -> Problems:
    """S1-4.1-EVENTS."""
    house.tool("late", "no_effect", "ok")
    house.run(step("a", "late"))
    (row,) = house.ledger()
    for event in house.events(*CALL_EVENTS):
        if event.data.get("idempotency_key") != row["idempotency_key"]:
            yield f"event {event.version}, {event.type}, bears the key {event.data.get('idempotency_key')}"
    if len(house.events(*CALL_EVENTS)) != 4:
        yield "two calls have not left four events"


def one_key(house: House) -> Problems:
    """S1-4.1-SAME and S2-RETRY-SAME: through a retry, and through crashes before and between."""
    house.tool("late", "no_effect", "ok")
    house.submit(step("a", "late"))
    for struck in ("append_started:before", "schedule_retry:after", "put_effect:after", None):
        house.life(struck)
        house.time += 100.0
    told = house.events(*CALL_EVENTS)
    for name in ("idempotency_key", "invocation_id"):
        values = {event.data[name] for event in told} | {row[name] for row in house.ledger()}
        if len(values) != 1:
            yield f"one step has {len(values)} values of {name}"
    external = {line.key for line in house.world.lines(REQUESTS)}
    if (
        len(external) != 1
        or len({context.execution_key for context in house.contexts}) != 1
        or len(house.contexts) != 2
    ):
        yield f"in {len(house.contexts)} executions the tool was given {len(external)} external keys"


def passed(house: House) -> Problems:
    """S1-4.2-PASSED: a downstream that deduplicates by the key that it is handed."""
    house.tool("repeated", "lost_answer", "ok", on_unknown="reexecute", idempotent=True)
    house.run(step("a", "repeated"))
    if (house.requests(), house.effects()) != (2, 1) or not all(line.key for line in house.lines):
        yield f"by its key the downstream made {house.effects()} effects of {house.requests()} requests"


def unique_id(house: House) -> Problems:
    """S2-ID-UNIQUE."""
    house.run(step("a"), step("b"), step("c", "act", "a"))
    house.run(step("a"), job="other")
    ids = [row["invocation_id"] for row in house.rows("SELECT * FROM ledger")]
    if len(ids) != 4 or len(set(ids)) != 4 or not all(ids):
        yield f"four steps have the ids {sorted(ids)}"


def id_and_key(house: House) -> Problems:
    """S2-ID-KEY."""
    house.run(step("a"), step("b"))
    house.run(step("a"), job="other")
    pairs = {(row["invocation_id"], row["idempotency_key"]) for row in house.rows("SELECT * FROM ledger")}
    pairs |= {(e.data["invocation_id"], e.data["idempotency_key"]) for e in house.events(*CALL_EVENTS)}
    if not len(pairs) == len({one for one, _ in pairs}) == len({key for _, key in pairs}) == 3:
        yield f"ids and keys of three steps are paired {len(pairs)} times"


def both_events(house: House) -> Problems:
    """S2-ID-EVENTS."""
    house.run(step("a"))
    for kind in CALL_EVENTS:
        (event,) = house.events(kind)
        yield from (
            f"{kind} bears no {name}" for name in ("invocation_id", "idempotency_key") if not event.data.get(name)
        )


def handed(house: House) -> Problems:
    """S2-ID-CONTEXT."""
    house.run(step("a"))
    (context,), (row,) = house.contexts, house.ledger()
    if context.execution_key != row["idempotency_key"] or not context.external_key:
        yield f"the tool was handed the keys {context.execution_key!r} and {context.external_key!r}"


def retry_events(house: House) -> Problems:
    """S2-RETRY-EVENTS."""
    house.tool("late", "no_effect", "no_effect", "ok")
    house.run(step("a", "late"))
    numbers = [event.data.get("attempt") for event in house.events("retry_scheduled")]
    started = [event.data.get("attempt") for event in house.events("tool_invocation_started")]
    if (numbers, started) != ([2, 3], [1, 2, 3]):
        yield f"of three executions the events number the starts {started}, and the retries {numbers}"


def configured(house: House) -> Problems:
    """S2-RETRY-CONFIG: number, pause and errors each make a difference."""
    policies = {
        "none": (RetryPolicy(max_retries=0), 1, 0.0),
        "two": (RetryPolicy(max_retries=2), 3, 0.0),
        "paused": (RetryPolicy(max_retries=1, backoff_seconds=7.0), 2, 7.0),
        "matched": (RetryPolicy(max_retries=1, retryable_errors=("refused",)), 2, 0.0),
        "unmatched": (RetryPolicy(max_retries=1, retryable_errors=("another",)), 1, 0.0),
    }
    for name, (policy, requests, pause) in policies.items():
        house.tool(name, "no_effect", retry=policy)
        before = house.time
        house.run(step(name, name), job=name)
        if (house.requests(name), house.time - before) != (requests, pause):
            yield f"{policy} led to {house.requests(name)} requests in {house.time - before:g} seconds"


def at_tool_or_node(house: House) -> Problems:
    """S2-RETRY-WHERE."""
    house.tool("never", "no_effect", retry=RetryPolicy(max_retries=1))
    house.run(step("a", "never"), job="tool")
    house.run(step("b", "never", choices={"max_retries": 3}), job="node")
    if (house.requests("a"), house.requests("b")) != (2, 4):
        yield f"1 retry of the tool's and 3 of the node's led to {house.requests('a')} and {house.requests('b')} requests"


def proven(house: House) -> Problems:
    """S2-RETRY-PROVEN: the same policy, after a refusal and after an answer that was lost, before or after the effect."""
    for name, script, requests in (
        ("refusing", "no_effect", 2),
        ("losing", "lost_answer", 1),
        ("mute", "no_answer", 1),
    ):
        house.tool(name, script, "ok", retry=RetryPolicy(max_retries=2))  # type: ignore[arg-type]
        status = house.run(step(name, name), job=name)
        if house.requests(name) != requests or status != ("completed" if requests == 2 else "parked"):
            yield f"after {script} there were {house.requests(name)} requests, and the job is {status}"


def bound(house: House) -> Problems:
    """S2-RETRY-BOUND, also where a crash comes between."""
    house.tool("never", "no_effect", retry=RetryPolicy(max_retries=2))
    for struck in (None, "schedule_retry:after", "append_no_effect#2:after", "ledger_no_effect#3:after"):
        name = str(struck)
        house.run(step(name, "never"), job=name, struck=struck)
        if house.requests(name) != 3:
            yield f"2 retries, struck at {struck}: {house.requests(name)} executions"


def backoff(house: House) -> Problems:
    """S2-RETRY-BACKOFF: between the executions, and after a crash in the pause."""
    house.tool("late", "no_effect", "no_effect", "ok", retry=THREE)
    house.run(step("a", "late"))
    times = [event.at for event in house.events("tool_invocation_started")]
    if [round(later - earlier, 3) for earlier, later in pairwise(times)] != [3.0, 6.0]:
        yield f"the executions were begun at {times}"
    before = house.time
    house.run(step("b", "late"), job="crashed", struck="schedule_retry:after")
    if house.time - before < THREE.backoff_seconds:
        yield f"after a crash in the pause the retry came after {house.time - before:g} seconds"


def used_up(house: House) -> Problems:
    """S2-RETRY-END."""
    house.tool("never", "no_effect", retry=RetryPolicy(max_retries=1))
    status = house.run(step("a", "never"))
    if house.ended("a") not in (["retryable_failure"], ["permanent_failure"]) or status != "failed":
        yield f"the step ended as {house.ended('a')}, the job is {status}"


def requeued(house: House) -> Problems:
    """S2-RETRY-REQUEUE."""
    house.tool("never", "no_effect", retry=RetryPolicy(max_retries=0, max_requeues=2))
    house.submit(step("a", "never"))
    lives = [house.life() for _ in range(4)]
    if house.ended("a") != ["retryable_failure", "retryable_failure", "permanent_failure"]:
        yield f"the step ended as {house.ended('a')}"
    if lives != ["open", "open", "failed", "idle"] or house.requests() != 3:
        yield f"with 2 requeues the turns ended {lives}, after {house.requests()} executions"


def second_execution(house: House) -> Problems:
    """S2-FIRST-ONLY and S2-ONE-EXECUTION: a retry after a refusal is a second execution, under the same key."""
    house.tool("late", "no_effect", "ok")
    status = house.run(step("a", "late"))
    keys = {line.key for line in house.world.lines(REQUESTS)}
    if house.requests() > 1:
        yield (
            f"the job is {status} after {house.requests()} real executions under {len(keys)} key, of which the first did"
            f" nothing: {house.effects()} effect"
        )


KEY_CHECKS: Final[Mapping[str, Check]] = {
    "S1-4.1-FORMULA": Check(formula, "the ledger's key was the text's formula, computed apart"),
    "S1-4.1-LOOKUP": Check(lookup, "the same step of another job had a record and an effect of its own"),
    "S1-4.1-EVENTS": Check(key_in_events, "four events of two calls bore the ledger's key"),
    "S1-4.1-SAME": Check(one_key, "through a retry and three crashes there was one key in events, ledger and requests"),
    "S1-4.2-PASSED": Check(passed, "a downstream made one effect of two requests by the key"),
    "S2-ID-UNIQUE": Check(unique_id, "four steps of two jobs had four ids"),
    "S2-ID-KEY": Check(id_and_key, "each id had one key, and each key one id"),
    "S2-ID-EVENTS": Check(both_events, "both events bore both"),
    "S2-ID-CONTEXT": Check(handed, "the tool was handed the ledger's key and one for the downstream"),
    "S2-RETRY-EVENTS": Check(retry_events, "two retries of three executions were events, numbered"),
    "S2-RETRY-CONFIG": Check(configured, "number, pause and errors of five policies each decided"),
    "S2-RETRY-WHERE": Check(at_tool_or_node, "the tool's policy held, and a node's own prevailed"),
    "S2-RETRY-PROVEN": Check(
        proven, "a refusal was retried; an answer that was lost, before or after the effect, was not"
    ),
    "S2-RETRY-BOUND": Check(bound, "with two retries there were three executions, wherever a crash came between"),
    "S2-RETRY-BACKOFF": Check(
        backoff, "pauses of 3 and 6 seconds passed before the retries, and one after a crash in it"
    ),
    "S2-RETRY-END": Check(used_up, "the step ended as a failure, and so did the job"),
    "S2-RETRY-REQUEUE": Check(requeued, "two requeues were granted, a third was not"),
    "S2-RETRY-SAME": Check(
        one_key, "through a retry and three crashes there was one id and one key, internal and external"
    ),
    "S2-FIRST-ONLY": Check(second_execution, "there was one execution"),
    "S2-ONE-EXECUTION": Check(second_execution, "there was one execution"),
}
"""By claim."""
