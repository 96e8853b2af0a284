"""Sentences of S3 about what contracts are made of, each asked of the shipped code in one rehearsal of the worked example.

A check is a function from the rehearsal to what is wrong; nothing wrong is the pass. What S3 says is stated here by hand: nothing
is compared with itself.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, Final

from ..runtime import drive
from ..runtime.commands import Command, Ports
from ..runtime.contracts import graph, operations
from ..runtime.contracts.commands import ContractPorts
from ..runtime.contracts.reasoner import ScriptedReasoner
from ..runtime.contracts.records import ExecutionContract, ExecutionStep
from ..runtime.contracts.runner import GraphRunner
from ..runtime.contracts.sqlite_contracts import SqliteContractStore
from ..runtime.contracts.views import view
from ..runtime.records import Json
from ..runtime.sqlite_store import SqliteStore
from ..runtime.tool import Tool, ToolContext
from .crash_faults import connection_of
from .evidence import Item, Verdict
from .verify import Context, Found, Stage

MAIL: Final[dict[str, Json]] = {"kind": "call", "service": "email", "method": "send", "args": {"to": "bob@example.com"}}
NOTE: Final[dict[str, Json]] = {"kind": "call", "service": "notes", "method": "add", "args": {"text": "x"}}
ASK: Final[dict[str, Json]] = {"kind": "ask", "message": "Send it?", "defers": 0}
GATED: Final[Json] = [{"actions": [MAIL, ASK, NOTE]}, {"reply": "done"}]
UNGATED: Final[Json] = [{"actions": [MAIL]}, {"reply": "done"}]
TIGHTENED: Final[Json] = [{"actions": [{**NOTE, "irreversible": True, "timeout_seconds": 5.0}]}, {"reply": "done"}]

EDGES: Final = {
    ("intent", "emotion"),
    ("emotion", "memory"),
    ("memory", "reasoning"),
    ("reasoning", "tools"),
    ("reasoning", "ecs"),
    ("reasoning", "end"),
    ("tools", "reasoning"),
}
"""S3's graph."""
FIELDS: Final = {
    *("execution_id", "action_type", "action_detail", "irreversible", "idempotency_key", "timeout_seconds", "status"),
    *("transitions", "result", "error_message", "metadata", "created_at", "updated_at"),
}
MOVE: Final = {"from", "to", "trigger", "timestamp", "actor"}
STEP: Final = {"node_id", "timestamp", "action", "result", "metadata"}
"""S3's data model."""
TABLES: Final = ("contracts", "contract_transitions", "execution_trace", "graph_checkpoints", "contract_answers")
CHANGING: Final = {
    *("status", "version", "transitions", "spilled", "consent", "consent_used", "result", "error_message", "metadata"),
    "updated_at",
}
"""What a move may change in a contract (C-DATA)."""
SECRETS: Final = ("tool_node", "ecs_node", "graph_runner", "timeout", "idempotency")


@dataclass
class Rehearsal:
    """Sessions on a store in a folder, all that was done in them, and the rows that were there after each command."""

    folder: str
    mails: list[str] = field(default_factory=list)
    sleeps: list[float] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = SqliteStore(f"{self.folder}/store.db")
        self.contracts = SqliteContractStore(self.store)
        numbers = count(1)
        self.ports = ContractPorts(
            self.store, self.sleeps.append, self.contracts, name=lambda session, _: f"exec-{next(numbers):03d}"
        )
        self.tools = {
            "email.send": Tool("email.send", self._send, "", irreversible=True),
            "notes.add": Tool("notes.add", lambda args, context: "noted", ""),
        }

    def runner(self, script: Json) -> GraphRunner:
        """A runner with this script."""
        return GraphRunner(self.ports, self.tools, ScriptedReasoner.read(script), self._perform)

    def session(self, name: str) -> dict[str, ExecutionContract]:
        """A session's contracts by kind: the tool's name, or `ask`."""
        found = self.contracts.contracts(name)
        return {each.tool if each.action_type == "tool_call" else "ask": each for each in found}

    def close(self) -> None:
        """Nothing is asked any more."""
        self.store.close()

    def count(self) -> list[int]:
        """The rows of each table."""
        connection = connection_of(self.store)
        return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES]

    def _perform(self, command: Command, ports: Ports) -> Any:
        reply = drive.perform(command, ports)
        self.rows.append(self.count())
        return reply

    def _send(self, args: Json, context: ToolContext) -> str:
        self.mails.append(context.external_key)
        return "mail sent"


@dataclass(frozen=True)
class Rehearsed:
    """What the rehearsal came to: the worked example's contracts before its answer and in the end, and two further sessions."""

    house: Rehearsal
    before: dict[str, ExecutionContract]
    after: dict[str, ExecutionContract]
    nodes: list[tuple[str, str]]  # where each checkpoint of the worked example leads to, with its status
    ungated: dict[str, ExecutionContract]
    ungated_mails: int
    tightened: dict[str, ExecutionContract]


def rehearse(folder: str) -> Rehearsed:
    """Run the sessions."""
    house = Rehearsal(folder)
    runner = house.runner(GATED)
    runner.open("gated", "invite bob")
    before = house.session("gated")
    operations.approve(house.ports, before["ask"].execution_id, "alice")
    runner.resume("gated")
    checkpoints = connection_of(house.store).execute(
        "SELECT json_extract(state,'$.node'), json_extract(state,'$.status') FROM graph_checkpoints"
        " WHERE session_id = 'gated' ORDER BY version"
    )
    nodes = [tuple(row) for row in checkpoints.fetchall()]
    after = house.session("gated")
    mails = len(house.mails)
    house.runner(UNGATED).open("ungated", "another", "another")
    house.runner(TIGHTENED).open("tightened", "note", "note")
    return Rehearsed(
        house, before, after, nodes, house.session("ungated"), len(house.mails) - mails, house.session("tightened")
    )


Problems = Iterator[str]


def _events(found: Rehearsed) -> Problems:
    if found.house.sleeps:
        yield f"the runner slept {len(found.house.sleeps)} times"
    for (before, status), (after, _) in pairwise(found.nodes):
        # Resume executes the graph again from `reasoning`, which routes (S3 step 6).
        routed = status == "suspended" and ("reasoning", after) in EDGES
        if before != after and not _leads(before, after) and not routed:
            yield f"from {before} the graph went to {after}"


def _leads(before: str, after: str) -> bool:
    """Whether the edges lead there, through nodes that pass the state on and leave no checkpoint of their own."""
    return any(
        node == before and (to == after or (to in ("emotion", "memory", "reasoning") and _leads(to, after)))
        for node, to in EDGES
    )


def _immutable(found: Rehearsed) -> Problems:
    everyone = [*found.after.values(), *found.ungated.values(), *found.tightened.values()]
    if len({each.execution_id for each in everyone}) != len(everyone):
        yield "two contracts have one id"
    for name, old in found.before.items():
        new = found.after[name].model_dump()
        yield from (
            f"{key} of {old.execution_id} changed"
            for key, value in old.model_dump().items()
            if key not in CHANGING and new[key] != value
        )
        try:
            setattr(old, "status", "completed")  # noqa: B010 - the checker of types knows that it cannot
        except ValueError:
            continue
        yield f"{old.execution_id} can be assigned to"


def _model(found: Rehearsed) -> Problems:
    contract = found.after["email.send"].model_dump(by_alias=True, mode="json")
    yield from (f"a contract has no {name}" for name in FIELDS - contract.keys())
    for move in contract["transitions"]:
        yield from (f"a transition has no {name}" for name in MOVE - move.keys())
    if not contract["transitions"]:
        yield "there is no transition"
    yield from (f"a step of the trace has no {name}" for name in STEP - ExecutionStep.model_fields.keys())


def _levels(found: Rehearsed) -> Problems:
    contract = found.after["email.send"]
    result, transitions, request = (view(contract, level) for level in ("result", "transitions", "request"))
    if result["result"] != "mail sent" or "transitions" in result:
        yield "the result level is not the result alone"
    if len(transitions["transitions"]) != contract.version or "idempotency_key" in transitions:
        yield "the transitions level is not the history alone"
    if request != contract.model_dump(mode="json", by_alias=True):
        yield "the request level is not everything"


def _hidden(found: Rehearsed) -> Problems:
    for contract in (*found.after.values(), *found.tightened.values()):
        planted = contract.model_copy(update={"metadata": {"system_prompt": "you are", "actor": "tool_node"}})
        shown = repr(view(planted, "result"))
        secrets = [*SECRETS, "you are", contract.idempotency_key or "", contract.action_digest]
        yield from (
            f"{secret!r} of {contract.execution_id} is shown" for secret in filter(None, secrets) if secret in shown
        )


def _irreversible(found: Rehearsed) -> Problems:
    if not found.after["email.send"].irreversible:
        yield "a tool that is declared irreversible makes a contract that is not"
    if found.after["notes.add"].irreversible:
        yield "a tool that declares nothing makes an irreversible contract"
    if not found.tightened["notes.add"].irreversible:
        yield "a caller cannot tighten"


def _defaults(found: Rehearsed) -> Problems:
    limits = [found.after["email.send"].timeout_seconds, found.after["ask"].timeout_seconds]
    if limits != [30, None]:
        yield f"a tool call and a request have {limits} seconds"
    if found.tightened["notes.add"].timeout_seconds != 5.0:
        yield "a contract's own limit is not kept"


def _action(found: Rehearsed) -> Problems:
    for contract in found.after.values():
        text = repr(contract.action_detail)
        if "status" in contract.action_detail or contract.execution_id in text:
            yield f"the action of {contract.execution_id} speaks of its execution: {text}"


def _graph(found: Rehearsed) -> Problems:
    if graph.EDGES != EDGES:
        yield f"the graph differs in {graph.EDGES ^ EDGES}"


def _store(found: Rehearsed) -> Problems:
    with open(found.house.store.path, "rb") as file:
        if file.read(15) != b"SQLite format 3":
            yield "the store is no SQLite file"
    yield from (f"{table} is empty" for table, rows in zip(TABLES, found.house.rows[-1], strict=True) if not rows)


def _consent(found: Rehearsed) -> Problems:
    contract = found.ungated["email.send"]
    if contract.status != "waiting" or found.ungated_mails:
        yield f"an irreversible call that nobody approved is {contract.status}, with {found.ungated_mails} effects"


def _retention(found: Rehearsed) -> Problems:
    shrunk = [
        TABLES[n]
        for before, after in pairwise(found.house.rows)
        for n, (old, new) in enumerate(zip(before, after, strict=True))
        if new < old
    ]
    yield from (f"{table} lost rows" for table in dict.fromkeys(shrunk))


CHECKS: Final[dict[str, tuple[Callable[[Rehearsed], Problems], str]]] = {
    "S3-EVENTS": (
        _events,
        "the runner never slept, and every checkpoint led along the text's edges, or on from a resume",
    ),
    "S3-IMMUTABLE": (_immutable, "no field that a move does not own changed, none can be assigned, ids are distinct"),
    "S3-MODEL": (_model, "contracts, transitions and steps have the text's fields"),
    "S3-LEVELS": (_levels, "each level shows what is its own"),
    "S3-HIDDEN": (_hidden, "in people's view no secret of a contract was found, nor one that was planted"),
    "S3-IRREVERSIBLE": (_irreversible, "declared, undeclared and tightened tools made the contracts that they should"),
    "S3-DEFAULTS": (_defaults, "a tool call had 30 seconds, a request no limit, a stated limit was kept"),
    "S3-ACTION": (_action, "no action spoke of a status or of its contract"),
    "S3-GRAPH": (_graph, "the graph's edges are the text's"),
    "S3-STORE": (_store, "contracts, trace, checkpoints and answers were rows of one SQLite file"),
    "S3-CONSENT": (_consent, "an irreversible call that nobody had approved waited, and nothing happened"),
    "S3-RETENTION": (_retention, "no table lost a row between two commands"),
}
"""Each claim's check, and what is said when nothing is wrong."""


def examine_text() -> dict[str, Item]:
    """An item for each claim."""
    with tempfile.TemporaryDirectory(prefix="crashwindow-") as folder:
        found = rehearse(folder)
        try:
            return {claim: _item(claim, list(check(found)), said) for claim, (check, said) in CHECKS.items()}
        finally:
            found.house.close()


def _item(claim: str, problems: list[str], said: str) -> Item:
    verdict = Verdict.REFUTED if problems else Verdict.TESTED
    statement = "; ".join(problems) or f"in a rehearsal of three sessions {said}"
    return Item(checker="enumerate", verdict=verdict, statement=statement, command=f"crashwindow check {claim}")


def contract_text(context: Context) -> Found:
    """S3's sentences about what contracts are made of."""
    return Found(items={claim: [item] for claim, item in examine_text().items()})


CONTRACT_TEXT: Final = Stage(
    "contract_text", "contracts: what they are made of", contract_text, tuple(CHECKS), "enumerate"
)
