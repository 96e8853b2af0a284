"""Sentences of S0 ② and S2 on what a step's result means and on compensation, each tried on the shipped runtime."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..runtime.clients import Client
from ..runtime.plan import PlanError, parse_plan, validate_plan
from ..runtime.records import Json
from ..runtime.registry import Registry
from ..runtime.retry import RetryPolicy
from ..runtime.tool import Compensation, NoEffectError, PartialEffectError, Tool, ToolContext
from .crash_witness import Behaviour, witness_tool
from .seed_house import JOB, House, Problems, step
from .seed_ledger import Check

UNDO: Final = "#undo"
ONCE: Final = RetryPolicy(max_retries=0)
COMPENSATION_CRASHES: Final = (
    "append_compensation_started:before", "compensate:before", "compensate:after", "append_compensated:after",
    "append_node_finished:before", "append_node_finished:after",
)  # fmt: skip
"""Where a crash strikes while a step is being compensated."""


def half_done(house: House, *script: Behaviour, **declared: Any) -> list[Json]:
    """Register `half`: a tool whose step fails after its effect, and whose compensation behaves as the script says.

    The list that is returned is filled with what the compensation is called with.
    """
    undo = witness_tool("undo", script or ("ok",), house.world).call
    told: list[Json] = []

    def compensate(args: Json, context: ToolContext) -> Any:
        told.append(args)
        return undo(args, replace(context, step_id=f"{context.step_id}{UNDO}"))

    def half(args: Json, context: ToolContext) -> Json:
        house.world.request(args, context)
        line = house.world.effect(context)
        raise PartialEffectError("only half of it", line.result, line.external_id)

    given = {"compensation": Compensation(compensate), **declared}
    house.tool("half", call=half, retry=ONCE, **given)
    return told


def world_of_result(house: House) -> Problems:
    """S0-2-WORLD: a lost answer, before the effect and after it."""
    found = []
    scripts: tuple[Behaviour, ...] = ("no_answer", "lost_answer")
    for script in scripts:
        house.tool(script, script, on_unknown="fail")
        house.run(step(script, script), job=script)
        found.append((house.ended(script, script), house.effects(script)))
    (first, none), (second, one) = found
    if first == second and none != one:
        yield f"a step without an effect ({none}) and one with an effect ({one}) both ended as {first[0]}"


def decides(house: House) -> Problems:
    """S0-2-DECIDES."""
    house.tool("never", "no_effect", "ok", retry=ONCE)
    for name, struck, status, requests in (
        ("act", "append_node_finished:after", "completed", 1),
        ("never", "append_node_failed:after", "failed", 1),
    ):
        ended = house.run(step(name, name), job=name, struck=struck)
        if (ended, house.requests(name)) != (status, requests):
            yield f"{name}, struck at {struck}, is {ended} after {house.requests(name)} requests"


def side_effect(house: House) -> Problems:
    """S0-2-COMMITTED."""
    house.run(step("a"), step("b"), struck="put_effect#2:after")
    for name in "ab":
        if (house.ended(name), house.effects(name)) != (["side_effect_committed"], 1):
            yield f"step {name} ended as {house.ended(name)}, with {house.effects(name)} effects"


def retryable(house: House) -> Problems:
    """S0-2-RETRYABLE."""
    house.tool("late", "no_effect", "ok", retry=RetryPolicy(max_retries=0, max_requeues=1))
    house.submit(step("a", "late"))
    house.life("append_node_failed:after")
    before = house.ended("a"), house.effects()
    house.life()
    status = house.life()
    if before != (["retryable_failure"], 0) or (status, house.effects()) != ("completed", 1):
        yield f"the step ended as {before[0]} with {before[1]} effects, and tried again the job is {status}"


def permanent(house: House) -> Problems:
    """S0-2-PERMANENT."""
    house.tool("never", "no_effect", "ok", retry=ONCE)
    status = house.run(step("a", "never"), struck="append_node_failed:after")
    again = house.life()
    if house.ended("a") != ["permanent_failure"] or (status, again, house.requests()) != ("failed", "idle", 1):
        yield f"the step ended as {house.ended('a')}, the job is {status}, then {again}, after {house.requests()} requests"


def compensatable(house: House) -> Problems:
    """S0-2-COMPENSATABLE: the result is durable while the effect is there and not yet undone."""
    half_done(house)
    house.submit(step("a", "half"))
    house.life("append_node_failed:after")
    if (house.ended("a"), house.effects("a"), house.effects(f"a{UNDO}")) != (["compensatable_failure"], 1, 0):
        yield f"the step ended as {house.ended('a')}, with {house.effects('a')} effects"
    if not house.records() or not house.events("command_committed"):
        yield "its effect is not committed"


def compensated(house: House) -> Problems:
    """S0-2-COMPENSATED and S2-COMP-TERMINAL: after every crash, the end is the end."""
    half_done(house)
    for number, struck in enumerate((None, *COMPENSATION_CRASHES[3:])):
        name, job = f"s{number}", str(struck)
        house.submit(step(name, "half"), job=job)
        house.life(struck, job)
        lives = [house.life(job=job) for _ in range(2)]
        counted = house.requests(name), house.effects(f"{name}{UNDO}")
        if house.ended(name, job)[-1:] != ["compensated"] or counted != (1, 1) or lives[-1] != "idle":
            yield f"struck at {struck} the step ended as {house.ended(name, job)}, with {counted} requests and undone effects"


def _set_result(house: House, job: str, kind: str) -> None:
    """Let the file say another result of the job's step."""
    house.write(
        "UPDATE events SET data = json_set(data, '$.result_type', ?) WHERE job_id = ? AND type = 'node_finished'",
        kind,
        job,
    )


def empty(house: House) -> Problems:
    """S0-2-EMPTY: a step that was refused, whose result type is made empty."""
    house.tool("never", "no_effect", retry=ONCE)
    house.submit(step("a", "never"))
    house.life("append_node_failed:after")
    _set_result(house, JOB, "")
    status = house.life()
    if status != "completed" or house.effects() != 1:
        yield f"a step with an empty result type had {house.effects()} effects: as written complete, here the job is {status}"


def complete(house: House) -> Problems:
    """S0-2-COMPLETE: each result type, and an empty one, in the file before a replay."""
    done = {"success", "side_effect_committed", "compensated"}
    for kind in (*sorted(done), "permanent_failure", "retryable_failure"):
        house.submit(step(kind), job=kind)
        house.life("append_node_finished:after", kind)
        _set_result(house, kind, kind)
        status = house.life(job=kind)
        if (status == "completed") != (kind in done) or house.requests(kind) != 1:
            yield f"a step that ended as {kind} made the job {status}, with {house.requests(kind)} requests"
    yield from (f"an empty result type made the job {words}" for words in _completed_by_nothing(house))


def _completed_by_nothing(house: House) -> Problems:
    house.tool("never", "no_effect", retry=ONCE)
    house.submit(step("empty", "never"), job="empty")
    house.life("append_node_failed:after", "empty")
    _set_result(house, "empty", "")
    status = house.life(job="empty")
    if status == "completed":
        yield status


def never_again(house: House) -> Problems:
    """S0-2-NORETRY."""
    half_done(house)
    house.tool("act", retry=RetryPolicy(max_retries=5, max_requeues=5))
    house.run(step("a"), job="done", struck="append_node_finished:after")
    house.run(step("b", "half"), job="undone", struck="append_node_finished:after")
    for job, name in (("done", "a"), ("undone", "b")):
        house.life(job=job)
        if house.requests(name) != 1 or house.ended(name, job)[-1] not in ("side_effect_committed", "compensated"):
            yield f"a step that ended as {house.ended(name, job)} was requested {house.requests(name)} times"


def by_default(house: House) -> Problems:
    """S2-RETRY-DEFAULT: a tool that takes every error for retryable, as the text does where nobody says otherwise."""
    house.tool("as.written", "lost_answer", "ok")
    losing = house.tools["as.written"].call

    def taken_for_retryable(args: Json, context: ToolContext) -> Any:
        try:
            return losing(args, context)
        except ConnectionError as error:
            raise NoEffectError(str(error)) from error

    house.tools["as.written"] = replace(house.tools["as.written"], call=taken_for_retryable)
    status = house.run(step("a", "as.written"))
    if house.effects() != 1:
        yield f"after an answer that was lost the step was retried: the job is {status}, with {house.effects()} effects"


def triggered(house: House) -> Problems:
    """S2-COMP-TRIGGER: and it is told what it undoes."""
    told = half_done(house)
    status = house.run(step("a", "half", to="bob"))
    (line,) = [line for line in house.lines if line.step == "a"]
    if told != [{"args": {"to": "bob"}, "result": line.result, "external_id": line.external_id}]:
        yield f"the compensation was called with {told}"
    if house.ended("a")[:1] != ["compensatable_failure"] or house.effects(f"a{UNDO}") != 1 or status != "failed":
        yield f"the step ended as {house.ended('a')}, its effect was undone {house.effects(f'a{UNDO}')} times"


def requested(house: House) -> Problems:
    """S2-COMP-REQUEST: of a job that has ended, and of one that is parked behind the step."""
    half_done(house)
    undo = house.tools["half"].compensation
    house.tool("undoable", compensation=undo)
    house.tool("lost", "lost_answer")
    house.run(step("a", "undoable"), job="ended")
    house.run(step("b", "undoable"), step("c", "lost", "b"), job="parked")
    for job, name in (("ended", "a"), ("parked", "b")):
        begun = Client(house.store, "ann").compensate(house.tools, job, name, "the order was recalled")
        for _ in range(2):
            house.life(job=begun)
        counted = house.requests(name), house.effects(f"{name}{UNDO}")
        if counted != (1, 1) or not house.events("step_compensated", job=begun):
            yield f"of a job that was {job}, the step was requested {counted[0]} times, and undone {counted[1]} times"


def after_callback(house: House) -> Problems:
    """S2-COMP-EVENT: it is there after the callback, and not before."""
    half_done(house)
    house.submit(step("a", "half"))
    house.life("compensate:before")
    before = len(house.events("step_compensated"))
    house.run(step("b", "half"), job="other")
    after = house.events("step_compensated", job="other")
    if before or len(after) != 1 or house.effects(f"b{UNDO}") != 1:
        yield f"before the callback there are {before} events, and after it {len(after)}"


def committed_only(house: House) -> Problems:
    """S2-COMP-COMMITTED: a refused step, one whose outcome is unknown, and one that has its effect."""
    half_done(house)
    undo = house.tools["half"].compensation
    for name, script, status in (("refused", "no_effect", "failed"), ("unknown", "lost_answer", "parked")):
        house.tool(name, script, compensation=undo, retry=ONCE)  # type: ignore[arg-type]
        ended = house.run(step(name, name), job=name)
        if house.requests(f"{name}{UNDO}") or ended != status:
            yield f"a step that was {name} was undone {house.requests(f'{name}{UNDO}')} times; the job is {ended}"
    house.run(step("half", "half"), job="half")
    if house.requests(f"half{UNDO}") != 1 or not house.events("command_committed", job="half"):
        yield "a committed effect was not undone"


def once(house: House) -> Problems:
    """S2-COMP-ONCE."""
    half_done(house)
    for number, struck in enumerate(COMPENSATION_CRASHES):
        name = f"s{number}"
        house.submit(step(name, "half"), job=name)
        house.life(struck, name)
        for _ in range(3):
            house.life(job=name)
        if house.effects(f"{name}{UNDO}") > 1 or house.requests(name) != 1:
            yield f"struck at {struck}, the effect was undone {house.effects(f'{name}{UNDO}')} times"


def registered(house: House) -> Problems:
    """S2-COMP-REGISTER."""
    half_done(house)
    registry = Registry([house.tools["half"], Tool("plain", house.tools["act"].call, "")])
    if registry["half"].compensation is None or registry["plain"].compensation is not None:
        yield "the registry does not keep what a tool was registered with"


def _accepted(tool: Tool) -> bool:
    """Whether a plan that uses the tool is accepted."""
    plan = parse_plan({"version": 1, "nodes": [{"id": "a", "tool": tool.name}]})
    try:
        validate_plan(plan, Registry([tool]))
    except PlanError:
        return False
    return True


def must(house: House) -> Problems:
    """S2-COMP-MUST."""
    half_done(house)
    silent = replace(house.tools["half"], irreversible=True, compensation=None)
    for tool, accepted, words in (
        (silent, False, "says nothing"),
        (replace(silent, compensation=house.tools["half"].compensation), True, "declares one"),
        (replace(silent, no_compensation="it cannot be recalled"), True, "says why it has none"),
    ):
        if _accepted(tool) is not accepted:
            yield f"of an irreversible tool that {words} a plan is {'refused' if accepted else 'accepted'}"


def without(house: House) -> Problems:
    """S2-COMP-NONE."""
    half_done(house)
    house.tools["half"] = replace(house.tools["half"], compensation=None)
    status = house.run(step("a", "half"))
    if house.ended("a") != ["permanent_failure"] or house.requests() != 1 or status != "failed":
        yield f"the step ended as {house.ended('a')}, the job is {status}, after {house.requests()} requests"


OUTCOME_CHECKS: Final[Mapping[str, Check]] = {
    "S0-2-WORLD": Check(world_of_result, "steps with and without an effect had different results"),
    "S0-2-DECIDES": Check(
        decides, "a recorded success was skipped, a recorded failure ended the job: no further request"
    ),
    "S0-2-COMMITTED": Check(side_effect, "two tool steps, one of them caught up, ended so, with one effect each"),
    "S0-2-RETRYABLE": Check(retryable, "a step without effect ended so, and was tried again with success"),
    "S0-2-PERMANENT": Check(permanent, "a step ended so, and was not tried again, after a crash neither"),
    "S0-2-COMPENSATABLE": Check(compensatable, "a step that failed after its effect ended so, the effect committed"),
    "S0-2-COMPENSATED": Check(
        compensated, "through four crashes the step ended so, undone once, and nothing ran afterwards"
    ),
    "S0-2-EMPTY": Check(empty, "a step with an empty result was complete"),
    "S0-2-COMPLETE": Check(complete, "three result types were skipped, two failures and an empty one were not"),
    "S0-2-NORETRY": Check(never_again, "neither was requested again, whatever the retry policy allows"),
    "S2-RETRY-DEFAULT": Check(by_default, "a retry after an answer that was lost did no harm"),
    "S2-COMP-TRIGGER": Check(triggered, "a failure after the effect had the effect undone"),
    "S2-COMP-REQUEST": Check(requested, "a request had a step undone once, of an ended job and of a parked one"),
    "S2-COMP-EVENT": Check(after_callback, "the event was written after the callback, once"),
    "S2-COMP-TERMINAL": Check(compensated, "through four crashes neither the step nor its compensation ran again"),
    "S2-COMP-COMMITTED": Check(committed_only, "a refused and an unknown effect were not undone, a committed one was"),
    "S2-COMP-ONCE": Check(once, "through six crashes in the compensation no effect was undone twice"),
    "S2-COMP-REGISTER": Check(registered, "the registry keeps the compensation that a tool is registered with"),
    "S2-COMP-MUST": Check(
        must, "a plan with a silent irreversible tool was refused, with a compensation or a reason accepted"
    ),
    "S2-COMP-NONE": Check(without, "without a compensation the step failed for good, and nothing was undone"),
}
"""By claim."""
