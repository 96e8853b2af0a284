"""Sentences of S0 ③ and S1 §5 on confirmation before injection, each tried on the shipped runtime."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, Final

from ..runtime.clients import Client
from ..runtime.records import Json
from ..runtime.tool import ToolContext, ToolResult
from ..runtime.verifier import (
    Answer,
    Confirmation,
    Match,
    Mismatch,
    Mode,
    NoOpVerifier,
    ResourceVerifier,
    StateChange,
    Undetermined,
    VerifyContext,
)
from ..runtime.verifiers.github_issue import GitHubIssue
from .seed_house import JOB, House, Problems, step
from .seed_ledger import Check

INJECTIONS: Final = (
    "put_effect:after",
    "append_finished:after",
    "append_committed:after",
    "commit:after",
    "append_node_finished:after",
)
"""Crashes after which a result is injected: from the effect store, from the events, and where the ledger has it, too."""
TYPE: Final = "line"
CHANGED: Final = Mismatch("it has changed")


def change(name: str) -> dict[str, Json]:
    """A change of state, as a tool returns it."""
    return StateChange(TYPE, name, "create", "v1", '"e1"', f"ref-{name}").record


@dataclass
class Look:
    """A verifier that answers by resource, its last answer ever again; it notes what it was asked, and what had been injected."""

    house: House
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[tuple[StateChange, VerifyContext]] = field(default_factory=list)
    injected: list[int] = field(default_factory=list)

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """The next answer; Match where none was given."""
        self.asked.append((change, context))
        ends = [e for e in self.house.events("node_finished", job=context.job_id) if e.step == context.step_id]
        self.injected.append(len(ends))
        left = self.answers.get(change.resource_id, [Match()])
        return left.pop(0) if len(left) > 1 else left[0]

    @property
    def resources(self) -> list[str]:
        """What was looked at, in order."""
        return [change.resource_id for change, _ in self.asked]


def changing(house: House, name: str, *resources: str) -> None:
    """Register a tool that changes these resources."""

    def call(args: Json, context: ToolContext) -> ToolResult:
        house.world.request(args, context)
        line = house.world.effect(context)
        return ToolResult(line.result, line.external_id, tuple(change(resource) for resource in resources))

    house.tool(name, call=call)


def confirmed(look: ResourceVerifier, mode: Mode = "strict") -> Confirmation:
    """The look, in a mode."""
    return Confirmation({TYPE: look}, mode)


def replayed(
    house: House, look: ResourceVerifier, mode: Mode = "strict", struck: str = "append_committed:after", job: str = JOB
) -> str:
    """A step that changed `x` and `y`, whose worker died; how the job stands once it was replayed."""
    changing(house, "change", "x", "y")
    house.submit(step("a", "change"), job=job)
    house.life(struck, job)
    return house.life(job=job, confirmation=confirmed(look, mode))


def verified(house: House) -> Problems:
    """S0-3-REPLAY: verify, restore, skip; the restored result is what the next step is given."""
    look = Look(house)
    changing(house, "change", "x")
    house.submit(step("a", "change"), step("b", "act", "a", given={"$result": "a"}))
    house.life("commit:after")
    status = house.life(confirmation=confirmed(look))
    given = [record["input"] for record in house.records() if record["step_id"] == "b"]
    happened = [{"given": line.result} for line in house.lines if line.step == "a"]
    if (status, house.requests("a"), look.resources) != ("completed", 1, ["x"]) or given != happened:
        yield f"the job is {status}, {look.resources} verified, {house.requests('a')} requests; the next step was given {given}"


def interface(house: House) -> Problems:
    """S0-3-INTERFACE."""
    look = Look(house)
    replayed(house, look)
    if not look.asked:
        yield "the verifier was not asked"
        return
    asked, context = look.asked[0]
    told = (
        context.job_id,
        context.step_id,
        asked.resource_type,
        asked.resource_id,
        asked.operation,
        asked.external_ref,
    )
    if told != (JOB, "a", TYPE, "x", "create", "ref-x"):
        yield f"the verifier was told {told}"


def kept(house: House) -> Problems:
    """S0-3-FIELDS."""
    changing(house, "change", "x")
    house.run(step("a", "change"))
    in_events = [each for event in house.events("state_changed") for each in event.data["changes"]]
    in_store = [each for record in house.records() for each in record["state_changes"]]
    if in_events != [change("x")] or in_store != [change("x")]:
        yield f"the events hold {in_events}, the effect store holds {in_store}"


def by_step(house: House) -> Problems:
    """S0-3-BYSTEP: the effect records are taken away."""
    look = Look(house)
    changing(house, "one", "x")
    changing(house, "two", "y", "z")
    house.submit(step("a", "one"), step("b", "two"))
    house.life("append_completed:before")
    house.write("DELETE FROM effects")
    house.life(confirmation=confirmed(look))
    asked = [(context.step_id, change.resource_id) for change, context in look.asked]
    if asked != [("a", "x"), ("b", "y"), ("b", "z")]:
        yield f"the changes came back as {asked}"


def both_ways(house: House) -> Problems:
    """S0-3-BOTH and S0-3-EACH: whatever the result is taken from."""
    for struck in INJECTIONS:
        look = Look(house)
        status = replayed(house, look, struck=struck, job=struck)
        before = struck == "append_node_finished:after"  # a recorded success is verified before the job goes on
        if status != "completed" or look.resources != ["x", "y"] or set(look.injected) != {int(before)}:
            yield f"struck at {struck} the job is {status}, and {look.resources} were verified"


def mismatch(house: House) -> Problems:
    """S0-3-MISMATCH, S1-5-STRICT: whichever of the changes it is."""
    for resource in ("x", "y"):
        look = Look(house, {resource: [CHANGED]})
        status = replayed(house, look, job=resource)
        counted = house.rows(
            "SELECT count(*) AS n FROM events WHERE job_id = ? AND type = 'tool_invocation_started'", resource
        )
        if (status, house.ended("a", resource), counted[0]["n"]) != ("failed", ["permanent_failure"], 1):
            yield f"when {resource} had changed the job is {status}, the step {house.ended('a', resource)}"
    if house.requests() != 2:
        yield f"the two steps were requested {house.requests()} times"


def error_is_mismatch(house: House) -> Problems:
    """S0-3-ERROR: a verifier that says, as the text does, that an error is a disagreement."""
    look = Look(house, {"x": [Undetermined("503"), Match()]})

    class AsWritten:
        def verify(self, change: StateChange, context: VerifyContext) -> Answer:
            answer = look.verify(change, context)
            return Mismatch(answer.reason) if isinstance(answer, Undetermined) else answer

    status = replayed(house, AsWritten())
    again = look.verify(*look.asked[0])
    if status != "completed" and isinstance(again, Match):
        yield f"the server answered 503 once: the job is {status} for good, and the next look finds the resource as recorded"


def undetermined(house: House) -> Problems:
    """S0-3-UNDETERMINED: once, for ever, and by an exception."""
    unclear = Undetermined("503")
    once, ever = Look(house, {"x": [unclear, Match()]}), Look(house, {"x": [unclear]})

    class Broken:
        def verify(self, change: StateChange, context: VerifyContext) -> Answer:
            raise ConnectionError("no answer")

    lookers: tuple[tuple[str, Any, str], ...] = (
        ("once", once, "completed"),
        ("ever", ever, "parked"),
        ("broken", Broken(), "parked"),
    )
    for job, look, expected in lookers:
        status = replayed(house, look, job=job)
        if status != expected or house.events("job_failed", job=job):
            yield f"undetermined ({job}): the job is {status}"
    if not house.sleeps or house.requests() != len(lookers):
        yield f"there was no pause before the next look, or the tool was called again ({house.requests()} requests)"


def nothing(house: House) -> Problems:
    """S0-3-NOTHING."""
    look = Look(house, {"x": [CHANGED]})
    changing(house, "change")
    house.submit(step("a", "change"))
    house.life("append_committed:after")
    status = house.life(confirmation=confirmed(look))
    if (status, house.requests(), look.asked) != ("completed", 1, []):
        yield f"with nothing to verify the job is {status}, after {len(look.asked)} looks"


def default(house: House) -> Problems:
    """S0-3-DEFAULT: the world has changed, and nobody looks."""
    changing(house, "change", "x")
    house.submit(step("a", "change"))
    house.life("append_committed:after")
    status = house.life()
    if (status, house.requests()) != ("completed", 1) or Confirmation().confirms(TYPE):
        yield f"without a verifier the job is {status}; confirms: {Confirmation().confirms(TYPE)}"


@contextmanager
def served(answers: Mapping[str, tuple[int, bytes]]) -> Iterator[str]:
    """A server on loopback that gives these answers; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, b"{}"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def shipped(house: House) -> Problems:
    """S0-3-SHIPPED: an issue that is there, and one that is not."""
    answers = {
        "/repos/o/r/issues/1": (200, b'{"number": 1, "state": "open"}'),
        "/repos/o/r": (200, b'{"has_issues": true}'),
    }
    with served(answers) as address:
        for number, expected in ((1, "completed"), (2, "failed")):
            job, issue = str(number), StateChange("github_issue", f"o/r#{number}", "create").record

            def call(args: Json, context: ToolContext, issue: Json = issue) -> ToolResult:
                return ToolResult(house.world.effect(context).result, None, (issue,))

            house.tool("open", call=call)
            house.submit(step("a", "open"), job=job)
            house.life("append_committed:after", job)
            look = Confirmation({"github_issue": GitHubIssue(address)}, backoff_seconds=0.0)
            status = house.life(job=job, confirmation=look)
            if status != expected:
                yield f"issue {number}: the job is {status}"


def mode_by_default(house: House) -> Problems:
    """S1-5-DEFAULT."""
    changing(house, "change", "x")
    house.submit(step("a", "change"))
    house.life("append_committed:after")
    status = house.life(confirmation=Confirmation({TYPE: Look(house, {"x": [CHANGED]})}))
    if status != "failed":
        yield f"without a mode a changed world made the job {status}"


def warned(house: House) -> Problems:
    """S1-5-WARN: both changes are looked at, though the first has changed already."""
    look = Look(house, {"x": [CHANGED], "y": [CHANGED]})
    status = replayed(house, look, "warn")
    told = [len(event.data["mismatches"]) for event in house.events("confirmation_warned")]
    tainted = [event.data.get("tainted") for event in house.events("job_completed")]
    if (status, told, tainted, house.requests()) != ("completed", [2], [True], 1):
        yield f"the job is {status}, warnings tell of {told}, tainted: {tainted}, {house.requests()} requests"


def asked_person(house: House) -> Problems:
    """S1-5-HUMAN."""
    status = replayed(house, Look(house, {"x": [CHANGED]}), "human_in_loop")
    ends = house.events("job_failed", "job_completed", "node_finished")
    if (status, ends, house.requests()) != ("parked", [], 1):
        yield f"the job is {status}, with {len(ends)} ends and {house.requests()} requests"


def resumed(house: House) -> Problems:
    """S1-5-RESUME: the world is still another one."""
    look = Look(house, {"x": [CHANGED]})
    parked = replayed(house, look, "human_in_loop")
    Client(house.store, "ann").confirm(JOB, "looked")
    status = house.life(confirmation=confirmed(look, "human_in_loop"))
    if (parked, status, house.requests()) != ("parked", "completed", 1) or house.ended("a") != [
        "side_effect_committed"
    ]:
        yield f"{parked}, then confirmed by a person, the job is {status}, after {house.requests()} requests"


def looked_twice(house: House) -> tuple[str, Look]:
    """A replay that verified and died before it wrote so, and another one, for which the world has changed meanwhile."""
    look = Look(house, {"x": [Match(), CHANGED]})
    changing(house, "change", "x")
    house.submit(step("a", "change"))
    house.life("append_committed:after")
    house.life("append_node_finished:before", confirmation=confirmed(look))
    return house.life(confirmation=confirmed(look)), look


def skipped(house: House) -> Problems:
    """S0-1-SKIP: the first look is the one after which the second might be spared."""
    status, look = looked_twice(house)
    if len(look.asked) > 1 and status != "completed":
        yield f"once confirmed, the record no longer agrees at the next look: the job is {status}, and a skip had injected it"


def again(house: House) -> Problems:
    """S0-1-AGAIN."""
    status, look = looked_twice(house)
    if (len(look.asked), status) != (2, "failed"):
        yield f"two replays looked {len(look.asked)} times, and the job, whose world has changed, is {status}"


def no_op(house: House) -> Problems:
    """S1-5-NOOP."""
    status = replayed(house, NoOpVerifier())
    if status != "completed" or confirmed(NoOpVerifier()).confirms(TYPE):
        yield f"the job is {status}, and the configuration says that it confirms"


CONFIRM_CHECKS: Final[Mapping[str, Check]] = {
    "S0-1-SKIP": Check(skipped, "a second look found what the first one had"),
    "S0-1-AGAIN": Check(again, "a second replay looked again, saw that the world had changed, and failed the job"),
    "S0-3-REPLAY": Check(verified, "a result was verified, given to the next step, and its tool not called"),
    "S0-3-INTERFACE": Check(interface, "the verifier was told all of it"),
    "S0-3-FIELDS": Check(kept, "events and effect store held the change as the tool had returned it"),
    "S0-3-BYSTEP": Check(by_step, "without effect records the changes of two steps came back to each"),
    "S0-3-BOTH": Check(
        both_ways, "after crashes in five places each change was verified before the step was taken for done"
    ),
    "S0-3-EACH": Check(both_ways, "after crashes in five places both changes of the step were verified"),
    "S0-3-MISMATCH": Check(
        mismatch, "whichever of two changes did not agree, the job failed for good, with one request"
    ),
    "S0-3-ERROR": Check(error_is_mismatch, "a failed job had a world that did not agree"),
    "S0-3-UNDETERMINED": Check(
        undetermined, "an unclear answer was asked for again, then parked the job; none failed it"
    ),
    "S0-3-NOTHING": Check(nothing, "a step without changes was injected, unasked"),
    "S0-3-DEFAULT": Check(
        default, "without a verifier the result was injected, and the configuration says that nothing is confirmed"
    ),
    "S0-3-SHIPPED": Check(
        shipped, "of two issues at a local server the one that was there let the job complete, the other failed it"
    ),
    "S1-5-DEFAULT": Check(mode_by_default, "without a mode a changed world failed the job"),
    "S1-5-STRICT": Check(mismatch, "whichever of two changes did not agree, the job failed for good"),
    "S1-5-WARN": Check(warned, "both changes were recorded as warnings, the job completed, and is marked as tainted"),
    "S1-5-HUMAN": Check(asked_person, "the job was parked before any end was written"),
    "S1-5-RESUME": Check(resumed, "after a person's word the job completed, with one request"),
    "S1-5-NOOP": Check(
        no_op, "a changed world went by unnoticed, and the configuration says that nothing is confirmed"
    ),
}
"""By claim."""
