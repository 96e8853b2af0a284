"""Sentences of S0 ① and S1 §1 to §3 on the ledger, the order of the writes and crash windows, each tried on the shipped runtime.

A check yields what contradicts its sentence. `Check` pairs it with what is said when nothing does.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ..runtime.memory_store import MemoryStore
from ..runtime.resolve import Answer, question, resolve
from ..runtime.sqlite_store import SqliteStore
from .seed_house import JOB, House, Problems, step


class Check(NamedTuple):
    """What is tried, and what is said when nothing contradicts the sentence."""

    tried: Callable[[House], Problems]
    said: str


SUCCESS: Final = (
    ("append_started:after", "tool_invocation_started"),
    ("put_effect:after", "effect record"),
    ("append_finished:after", "tool_invocation_finished"),
    ("append_committed:after", "command_committed"),
    ("commit:after", "COMMITTED"),
    ("append_node_finished:after", "node_finished"),
    ("checkpoint:after", "state_checkpointed"),
)
"""S1 §3's steps, as what each leaves in the file, and where a crash shows it as the last one that is there."""


def quiet(house: House, *struck: str, requests: int = 1) -> Problems:
    """Whether a job that is struck at each of these places in turn has one effect in the end, by so many requests."""
    for number, fault in enumerate(struck):
        house.submit(step(f"s{number}"), job=f"job{number}")
        house.life(fault, f"job{number}")
        status = house.life(job=f"job{number}")
        counted = house.requests(f"s{number}"), house.effects(f"s{number}")
        if (status, *counted) != ("completed", requests, 1):
            yield f"after a crash at {fault} the job is {status}, with {counted[0]} requests and {counted[1]} effects"


def replay(house: House) -> Problems:
    """S0-REPLAY."""
    house.run(step("a"), step("b", "act", "a"))
    if house.life() not in ("idle", "completed") or house.requests() != 2:
        yield f"a completed job was taken up again, with {house.requests()} requests"
    yield from quiet(house, "append_committed:after", "checkpoint:after", "append_completed:before")


def persistent(house: House) -> Problems:
    """S0-1-PERSISTENT."""
    house.run(step("a"), step("b"), struck="execute#2:before")
    kept = [row["step_id"] for row in house.ledger()]
    if kept != ["a", "b"] and set(kept) != {"a", "b"}:
        yield f"before the second call there are ledger records of {kept}"
    if len({row["invocation_id"] for row in house.ledger()}) != 2:
        yield "two calls have one record"


def nocall(house: House) -> Problems:
    """S0-1-NOCALL: the ledger alone, since nothing of the result is left in events and effect store."""
    house.submit(step("a"))
    house.life("append_finished:before")
    key = house.ledger()[0]["idempotency_key"]
    house.write("UPDATE ledger SET status = 'COMMITTED', result = '{\"by\":\"ledger\"}' WHERE idempotency_key = ?", key)
    house.write("DELETE FROM effects")
    house.life()
    given = [event.data["result"] for event in house.events("command_committed")]
    if house.requests() != 1 or given != [{"by": "ledger"}]:
        yield f"with a committed ledger record the world saw {house.requests()} requests, and the result is {given}"


def otherwise(house: House) -> Problems:
    """S0-1-ELSE."""
    house.run(step("a"))
    order = ["acquire", "execute", "append_finished", "commit"]
    done = [name for name in house.performed if name in order]
    if done != order:
        yield f"the step was done in the order {', '.join(done)}"
    (row,) = house.ledger()
    if row["status"] != "COMMITTED" or not row["result"]:
        yield f"the record is {row['status']} with the result {row['result']!r}"


def fields(house: House) -> Problems:
    """S0-1-FIELDS."""
    house.run(step("a", to="bob"))
    house.run(step("a", to="bob"), job="other")
    (row,) = house.ledger()
    named = ("invocation_id", "job_id", "step_id", "tool_name", "args_hash", "idempotency_key", "status", "result")
    yield from (f"a ledger record has no {name}" for name in named if not row.get(name))
    found = house.rows("SELECT * FROM ledger WHERE job_id = ? AND idempotency_key = ?", JOB, row["idempotency_key"])
    if found != [row]:
        yield f"job and key find {len(found)} records"


def events_alone(house: House) -> Problems:
    """S0-1-EVENTS."""
    house.submit(step("a"))
    house.life("append_committed:before")
    (told,) = [event.data["result"] for event in house.events("tool_invocation_finished")]
    house.write("DELETE FROM effects")
    if any(row["result"] != "null" for row in house.ledger()):
        yield "the ledger holds a result"
    acquired = house.performed.count("acquire")
    status = house.life()
    given = [event.data["result"] for event in house.events("command_committed")]
    if status == "died" or house.requests() != 1 or given != [told] or house.performed.count("acquire") != acquired:
        yield f"from the events alone the job is {status}, with {house.requests()} requests and the result {given}"


def memory(house: House) -> Problems:
    """S0-1-MEMORY: another process has another store object, which begins empty; the file's second store does not."""
    house.run(step("a"))
    if MemoryStore().jobs() or not SqliteStore(house.file).jobs():
        yield "what one process keeps in memory another one finds, or what it keeps in a file another one does not"


def shared(house: House) -> Problems:
    """S0-1-SHARED."""
    house.submit(step("a"))
    house.life("commit:after", owner="first")
    house.time += 100.0
    status = house.life(owner="second")
    owners = {row["owner"] for row in house.ledger()}
    if (status, house.requests(), owners) != ("completed", 1, {"first"}):
        yield f"a second worker made of the first one's commit: {status}, {house.requests()} requests"


def no_transaction(house: House) -> Problems:
    """S1-1-NOTX."""
    house.tool("late", "no_effect", "ok")
    house.run(step("a"), step("b", "late"), struck="put_effect:after")
    for touched in house.transactions:
        if len(touched) > 1:
            yield f"one write changed {' and '.join(sorted(touched))}"
    if not {"events", "ledger", "effects", "leases"} <= set().union(*house.transactions):
        yield "not all four stores were written"


def write_order(house: House) -> Problems:
    """S1-1-WRITEORDER, by what a crash after each write leaves in the file."""
    for number, (struck, _) in enumerate(SUCCESS[1:5]):
        job = f"job{number}"
        house.submit(step("a"), job=job)
        house.life(struck, job)
        finished, committed = (
            house.events("tool_invocation_finished", job=job),
            house.events("command_committed", job=job),
        )
        there = [
            bool(house.records(job)),
            bool(finished),
            bool(committed),
            house.ledger(job)[0]["status"] == "COMMITTED",
        ]
        if there != [place <= number for place in range(4)]:
            yield f"after {struck} there are effect record, finished, committed, ledger: {there}"


def authority(house: House) -> Problems:
    """S1-1-AUTHORITY: ledger and effect store are made to say something else."""
    house.submit(step("a"))
    house.life("commit:before")
    (told,) = [event.data["result"] for event in house.events("command_committed")]
    house.write("UPDATE effects SET output = '{\"other\":1}'")
    house.life()
    (row,) = house.ledger()
    if house.requests() != 1 or f'"effect":{told["effect"]}' not in row["result"].replace(" ", ""):
        yield f"the events say {told}, and the ledger was given {row['result']}, after {house.requests()} requests"


def catch_up(house: House) -> Problems:
    """S1-1-CATCHUP and the third row."""
    yield from quiet(house, "put_effect:after", "append_finished:before")
    for number in range(2):
        (kept,) = house.records(f"job{number}")
        told = [
            e.data["result"] for e in house.events("tool_invocation_finished", "command_committed", job=f"job{number}")
        ]
        if told != [kept["output"]] * 2:
            yield f"the effect record holds {kept['output']}, and the events were given {told}"


def covered(house: House) -> Problems:
    """S1-1-COVERED: the effect record is made in this window, and a crash before it leaves nothing to catch up from."""
    house.submit(step("a"))
    house.life("put_effect:before")
    there = house.effects(), len(house.records()), len(house.events("tool_invocation_finished"))
    status = house.life()
    if status != "completed":
        yield (
            f"executed ({there[0]} effect), and crashed before the append ({there[2]} finished): the effect store holds"
            f" {there[1]} records, nothing can be caught up, and the job is {status}"
        )


def from_events(house: House) -> Problems:
    """S1-1-REPLAYED and the fourth row."""
    yield from quiet(house, "append_finished:after", "append_committed:after", "commit:before")
    for number in range(3):
        (row,) = house.ledger(f"job{number}")
        if row["status"] != "COMMITTED":
            yield f"the ledger is left {row['status']}"


def before_started(house: House) -> Problems:
    """S1-2-WINDOW1."""
    yield from quiet(
        house, "claim:after", "fence_effects:after", "acquire:before", "acquire:after", "append_started:before"
    )


def started_unsent(house: House) -> Problems:
    """S1-2-WINDOW1-ALL."""
    house.submit(step("a"))
    house.life("execute:before")
    started = len(house.events("tool_invocation_started"))
    status = house.life()
    if started or status != "completed":
        yield f"a crash just before the execution leaves {started} started event, and the job is {status}"


def window_two(house: House) -> Problems:
    """S1-2-WINDOW2, for what an unknown outcome can lead to."""
    house.tool("asked", on_unknown="query", look="fence")
    house.tool("failing", on_unknown="fail")
    house.tool("repeated", on_unknown="reexecute", idempotent=True)
    for number, tool in enumerate(("act", "asked", "failing", "repeated")):
        for struck in ("execute:effect", "execute:after", "put_effect:before"):
            before, job = house.effects(), f"{number} {struck}"
            house.run(step("s", tool), struck=struck, job=job)
            if house.effects() - before != 1:
                yield f"{tool}, struck at {struck}: {house.effects() - before} effects"


def fails(house: House) -> Problems:
    """S1-2-FAIL."""
    house.tool("failing", on_unknown="fail")
    status = house.run(step("a", "failing"), struck="put_effect:before")
    reasons = [event.data.get("reason") for event in house.events("job_failed")]
    if (status, house.requests()) != ("failed", 1) or reasons != ["invocation in flight or lost"]:
        yield f"the job is {status}, for {reasons}, after {house.requests()} requests"


def waits(house: House) -> Problems:
    """S1-2-WAIT."""
    house.submit(step("a"))
    house.life("execute:before", owner="first")
    status = house.life(owner="second")
    if (status, house.requests()) != ("idle", 0):
        yield f"while another holds the lease a worker's turn is {status}, with {house.requests()} requests"


def person(house: House) -> Problems:
    """S1-2-PERSON, for both answers."""
    for happened in (True, False):
        job = str(happened)
        house.submit(step(job), job=job)
        house.life("execute:after" if happened else "execute:before", job)
        parked = house.life(job=job)
        if parked != "parked":
            yield f"window 2 is not left to a person: the job is {parked}"
            continue
        house.time += 1000.0
        asked = question(job, house.store.events(job))
        resolve(house.store, asked, Answer(happened, "ann", "looked", {"seen": 1} if happened else None))
        status = house.life(job=job)
        if (status, house.effects(job)) != ("completed", 1):
            yield f"as it is said that it happened: {happened}, the job is {status} with {house.effects(job)} effects"


def after_commit(house: House) -> Problems:
    """S1-2-WINDOW5."""
    yield from quiet(house, "commit:after", "append_node_finished:after", "checkpoint:after", "append_completed:before")


def order(house: House) -> Problems:
    """S1-3-ORDER: what each crash leaves is what the text's steps up to there have written."""
    for number, (struck, last) in enumerate(SUCCESS):
        job = f"job{number}"
        house.submit(step("a"), job=job)
        house.life(struck, job)
        there = {event.type for event in house.events(job=job)}
        there |= {"effect record"} if house.records(job) else set()
        there |= {house.ledger(job)[0]["status"]}
        written = [name for _, name in SUCCESS if name in there]
        if written != [name for _, name in SUCCESS[: number + 1]]:
            yield f"a crash at {struck}, after {last}, leaves {', '.join(written)}"


LEDGER_CHECKS: Final[Mapping[str, Check]] = {
    "S0-REPLAY": Check(
        replay, "jobs that were completed, or whose result was recorded, were recovered without a further request"
    ),
    "S0-1-PERSISTENT": Check(
        persistent, "a crash just before a call left a ledger record of that call, and of each earlier one"
    ),
    "S0-1-NOCALL": Check(
        nocall, "a result that the ledger alone held was injected, and the world saw no second request"
    ),
    "S0-1-ELSE": Check(otherwise, "record, execution, result and commit came in this order"),
    "S0-1-FIELDS": Check(fields, "the record had every field, and job and key found it alone"),
    "S0-1-EVENTS": Check(
        events_alone,
        "with no result in the ledger and no effect record the result came from the events, without a request",
    ),
    "S0-1-MEMORY": Check(memory, "a second store in memory was empty, and a second one on the file was not"),
    "S0-1-SHARED": Check(shared, "what one worker had committed another one injected"),
    "S1-1-NOTX": Check(no_transaction, "each write of a run with a crash and a retry changed one store alone"),
    "S1-1-WRITEORDER": Check(
        write_order, "crashes after each write left the effect record first, then events, then the ledger's commit"
    ),
    "S1-1-AUTHORITY": Check(authority, "against another effect record the events' result was injected and committed"),
    "S1-1-CATCHUP": Check(catch_up, "crashes after the effect record were caught up from it, without a request"),
    "S1-1-COVERED": Check(covered, "a crash after the execution was caught up"),
    "S1-1-REPLAYED": Check(
        from_events, "crashes after the append were recovered from the events, and the ledger was repaired"
    ),
    "S1-2-WINDOW1": Check(
        before_started, "after each of five crashes before the started event the step was executed once"
    ),
    "S1-2-WINDOW1-ALL": Check(started_unsent, "a crash before the execution left no started event"),
    "S1-2-WINDOW2": Check(window_two, "no crash after the effect, and no choice of on_unknown, led to a second one"),
    "S1-2-FAIL": Check(fails, "the job failed as in flight or lost, after one request"),
    "S1-2-WAIT": Check(waits, "a second worker got nothing while the first one's lease ran"),
    "S1-2-WINDOW3": Check(catch_up, "crashes after the effect record were caught up from it: one request, one effect"),
    "S1-2-WINDOW4": Check(
        from_events, "crashes after the append were recovered from the events: one request, one effect"
    ),
    "S1-2-WINDOW5": Check(
        after_commit, "after each of four crashes after the commit there was one request and one effect"
    ),
    "S1-2-PERSON": Check(
        person, "a person's yes and a person's no each brought the parked job to its end, with one effect"
    ),
    "S1-3-ORDER": Check(
        order, "a crash after each write left what the text's steps up to there write, and nothing more"
    ),
}
"""By claim."""
