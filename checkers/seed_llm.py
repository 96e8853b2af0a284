"""Sentences of S0 ② and S4 on language models, decisions and kinds of effects, each tried on the shipped runtime."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..runtime import job_records
from ..runtime.clients import Client
from ..runtime.effect_log import effect_log
from ..runtime.llm import LlmAnswer, LlmRequest
from ..runtime.records import Json
from ..runtime.tool import ToolContext
from ..runtime.verify_job import verify
from .crash_witness import Line
from .seed_confirm import served
from .seed_house import JOB, House, Problems, step
from .seed_ledger import Check
from .seed_log import canonical_hash

QUESTIONS: Final = "questions"
PROMPT: Final[Json] = [{"role": "user", "content": "Whom to pay? \u00e4\u2028"}]
DECISION: Final[dict[str, Json]] = {"goal": "pay ann", "memory": "ann is owed 5", "reasoning": "the due date is today"}
LLM_CRASHES: Final = ("put_effect:after", "append_committed:after", "append_node_finished:after", "checkpoint:after")


@dataclass
class Oracle:
    """A model that never gives the same answer twice; each question is a line in a file of the world's."""

    house: House
    name: str = "oracle"

    def complete(self, request: LlmRequest) -> LlmAnswer:
        """Another answer than before."""
        self.house.world.append(QUESTIONS, Line(request.model, "", None, request.prompt))
        number = len(self.house.world.lines(QUESTIONS))
        return LlmAnswer({"text": f"answer {number} \u00e4\u2028", "odds": [0.1, 1e-7, None]}, request.model)


def question(name: str, *after: str) -> dict[str, Json]:
    """An LLM node of a stored plan."""
    return {
        "id": name,
        "llm": "oracle",
        "prompt": PROMPT,
        "model": "m-1",
        "temperature": 0.5,
        "depends_on": list(after),
    }


def ask(house: House, struck: str | None = None, job: str = JOB) -> str:
    """A job that asks the model, and does as it says; how it stands in the end."""
    house.providers["oracle"] = Oracle(house)
    house.submit(question("q"), step("a", "act", "q", given={"$result": "q"}), job=job, decision=DECISION)
    status = house.life(struck, job)
    return house.life(job=job) if status == "died" else status


def record_of(house: House, job: str = JOB) -> dict[str, Json]:
    """The effect record of the model's answer; empty when there is none."""
    return next((record for record in house.records(job) if record["step_id"] == "q"), {"metadata": {}})


def pure(house: House) -> Problems:
    """S0-2-SUCCESS."""
    ask(house)
    if house.ended("q") != ["success"] or house.effects("q") or house.requests("q"):
        yield f"the step ended as {house.ended('q')}, with {house.effects('q')} effects"


def recorded(house: House) -> Problems:
    """S4-3-RECORD."""
    ask(house)
    record = record_of(house)
    given = [line.result["given"] for line in _inputs(house)]
    if (
        record.get("kind") != "llm"
        or record.get("input", {}).get("prompt") != PROMPT
        or [record.get("output")] != given
    ):
        yield f"the effect record says {record}, the next step was given {given}"
    if (record["metadata"].get("model"), record["metadata"].get("temperature")) != ("m-1", 0.5):
        yield f"the effect record's metadata are {record['metadata']}"


def _inputs(house: House) -> list[Line]:
    """What the tools were called with."""
    return [Line(row["step_id"], "", None, row["input"]) for row in house.records() if row["kind"] == "tool"]


def prompt_hash(house: House) -> Problems:
    """S4-3-PROMPT, computed apart."""
    ask(house)
    if record_of(house)["metadata"].get("prompt_hash") != canonical_hash(PROMPT):
        yield f"the prompt's hash is {record_of(house)['metadata'].get('prompt_hash')}"


def response_hash(house: House) -> Problems:
    """S4-3-RESPONSE: over the response as the file holds it, which is in canonical form."""
    ask(house)
    found = house.rows("SELECT output FROM effects WHERE kind = 'llm'")
    texts = [hashlib.sha256(row["output"].encode()).hexdigest() for row in found]
    if [record_of(house)["metadata"].get("response_hash")] != texts:
        yield f"the response's hash is {record_of(house)['metadata'].get('response_hash')}, that of the stored text {texts}"


def linked(house: House) -> Problems:
    """S4-3-SNAPSHOT."""
    ask(house)
    ids = [row["id"] for row in house.rows("SELECT id FROM events WHERE type = 'decision_snapshot'")]
    if len(ids) != 1 or record_of(house)["metadata"].get("decision_snapshot_id") not in ids:
        yield f"the record names the decision {record_of(house)['metadata'].get('decision_snapshot_id')}, the events have {ids}"


def decision(house: House) -> Problems:
    """S4-3-DECISION."""
    ask(house)
    kinds = [event.type for event in house.events()]
    told = [event.data for event in house.events("decision_snapshot")]
    if kinds[1:3] != ["plan_generated", "decision_snapshot"]:
        yield f"the events begin with {kinds[:3]}"
    if not told or any(told[0].get(name) != value for name, value in DECISION.items()):
        yield f"the snapshot says {told}"
    elif told[0].get("task_graph", {}).get("nodes") != ["q", "a"]:
        yield f"its graph of tasks is {told[0].get('task_graph')}"


def not_asked_again(house: House) -> Problems:
    """S4-3-NOCALL: byte for byte, in the events, in the effect store and in what the next step was given."""
    for number, struck in enumerate(LLM_CRASHES, 1):
        status = ask(house, struck, struck)
        held = house.rows("SELECT output FROM effects WHERE job_id = ? AND kind = 'llm'", struck)
        given = house.rows("SELECT input FROM effects WHERE job_id = ? AND kind = 'tool'", struck)
        texts = {row["output"] for row in held} | {row["input"][len('{"given":') : -1] for row in given}
        questions = len(house.world.lines(QUESTIONS))
        if (status, questions, len(texts), len(given)) != ("completed", number, 1, 1):
            yield f"struck at {struck} the job is {status}, {questions - number} questions too many, answers {sorted(texts)}"
            return


def only_audit(house: House) -> Problems:
    """S4-3-AUDIT: the same crash, with and without what is logged of the decision."""
    ends = []
    names = ("decision_snapshot_id", "prompt_hash", "response_hash", "temperature")
    house.providers["oracle"] = Oracle(house)
    for job in ("with", "without"):
        house.submit(question("q"), step("a", "act", "q", given={"$result": "q"}), job=job, decision=DECISION)
        house.life("put_effect:after", job)
        if job == "without":
            paths = ", ".join(f"'$.{name}'" for name in names)
            house.write(f"UPDATE effects SET metadata = json_remove(metadata, {paths}) WHERE job_id = 'without'")
        ends.append((house.life(job=job), house.ended("q", job), house.ended("a", job)))
    if ends[0] != ends[1] or len(house.world.lines(QUESTIONS)) != len(ends):
        yield f"with the log the job came to {ends[0]}, without it to {ends[1]}"


def kinds(house: House) -> Problems:
    """S4-2.2-KINDS: a tool that asks for the time, a random number and a page, after a model."""
    with served({"/page": (200, b"hello")}) as address:

        def curious(args: Json, context: ToolContext) -> Json:
            return [context.now(), context.random(), context.http_get(f"{address}/page")["status"]]

        house.tool("curious", call=curious)
        house.providers["oracle"] = Oracle(house)
        waiting = house.run(question("q"), {"id": "w", "wait": "go", "depends_on": ["q"]}, step("a", "curious", "w"))
        Client(house.store, "ann").signal(JOB, "go", {"limit": 5})
        status = house.life()
    found = [entry.kind for entry in effect_log(JOB, house.store.events(JOB))]
    if (waiting, status, sorted(found)) != ("waiting", "completed", ["http", "human", "llm", "random", "time", "tool"]):
        yield f"{waiting}, then {status}: the log's kinds are {found}"


def traceable(house: House) -> Problems:
    """S4-6-PROVENANCE: a sound job, and one link of it broken at a time."""
    record = "UPDATE effects SET metadata = json_set(metadata, '$.{}', 'other') WHERE kind = '{}' AND job_id = ?"
    breaks = {
        "the ledger's external id": "UPDATE ledger SET external_id = 'other' WHERE job_id = ?",
        "the record's external id": record.format("external_id", "tool"),
        "the record's decision": record.format("decision_snapshot_id", "llm"),
    }
    for job, statement in (("nothing", None), *breaks.items()):
        ask(house, job=job)
        if statement:
            house.write(statement, job)
        verdict = verify(job_records.read(house.store, job))
        if verdict.verifiable is bool(statement):
            yield f"with {job} broken the job is {'verifiable' if verdict.verifiable else f'not verifiable: {verdict.violated}'}"


LLM_CHECKS: Final[Mapping[str, Check]] = {
    "S0-2-SUCCESS": Check(pure, "a model's answer ended its step so, and the world had seen nothing"),
    "S4-2.2-KINDS": Check(
        kinds, "a job that asks a model, a person, the clock, chance and a server has an entry of each kind"
    ),
    "S4-6-PROVENANCE": Check(
        traceable, "verify-job accepts the sound job, and refuses it with any of three links broken"
    ),
    "S4-3-RECORD": Check(recorded, "the effect record held all of it, and the next step was given the response"),
    "S4-3-PROMPT": Check(prompt_hash, "the hash was the one computed apart"),
    "S4-3-RESPONSE": Check(response_hash, "the hash was the one computed apart"),
    "S4-3-SNAPSHOT": Check(linked, "the record named the job's decision snapshot"),
    "S4-3-DECISION": Check(decision, "the plan was followed by it, with all four"),
    "S4-3-NOCALL": Check(
        not_asked_again, "after four crashes the model had been asked once, and one text stood everywhere"
    ),
    "S4-3-AUDIT": Check(
        only_audit, "without hashes, temperature and decision in the record a crash came to the same end"
    ),
}
"""By claim."""
