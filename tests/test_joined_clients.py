"""A client who speaks while a turn joins its writes is heard as by one that does not: nothing is begun or ended over its word."""

import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from crashwindow.model.boundaries import BOUNDARIES
from crashwindow.runtime.clients import Client, ClientError
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.drive import perform, run
from crashwindow.runtime.job_records import read
from crashwindow.runtime.joined import ON_RECORD, Together
from crashwindow.runtime.llm import LlmAnswer
from crashwindow.runtime.plan import submission
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.tool import NoEffectError, Tool
from crashwindow.runtime.turn import Worker
from crashwindow.runtime.verify_job import verify
from crashwindow.tests.sampled import sampled

JOB: Final = "job"
FIRST: Final[dict[str, Any]] = {"id": "a", "tool": "t", "args": {}, "depends_on": []}
PLANS: Final[dict[str, list[dict[str, Any]]]] = {
    "a step": [FIRST],
    "two steps": [FIRST, {"id": "b", "tool": "t", "args": {}, "depends_on": ["a"]}],
    "a wait": [FIRST, {"id": "w", "wait": "go", "depends_on": ["a"]}],
    "two waits": [{"id": "w", "wait": "on", "depends_on": []}, {"id": "v", "wait": "go", "depends_on": ["w"]}],
    "a model": [FIRST, {"id": "m", "llm": "p", "prompt": "hi", "model": "m", "depends_on": ["a"]}],
    "an approval": [FIRST, {"id": "ask", "approve": "b", "depends_on": ["a"]},
                    {"id": "b", "tool": "t", "args": {}, "depends_on": ["ask"]}],
    "refused": [{**FIRST, "tool": "refuses"}],
    "asks": [{**FIRST, "tool": "asks"}],
}  # fmt: skip
SAYS: Final[dict[str, Callable[[Client], object]]] = {
    "cancel": lambda client: client.cancel(JOB, "no longer wanted"),
    "signal": lambda client: client.signal(JOB, "go", 1),
}
FIRST_ASKED: Final = (
    ("a step", "cancel"), ("a wait", "cancel"), ("an approval", "cancel"), ("asks", "cancel"),
    ("a step", "signal"), ("a wait", "signal"), ("two waits", "signal"), ("a model", "signal"),
)  # fmt: skip
"""What `make test` has of these: each word at each kind of thing that a step can be, or that a job waits for."""
CONTACTS: Final = (
    "claim",
    "fence_events",
    "fence_ledger",
    "fence_effects",
    "execute",
    "call_model",
    "load_request",
    "open_approval",
)
"""Before these all is durable that was written."""


class Came(NamedTuple):
    """What became of a job: its status, what was called how often, and what is wrong with its records."""

    status: str
    called: int
    asked: int
    violated: str | None


class Place:
    """A job on a SQLite file, and a client who speaks once, before the so-manieth boundary of a turn; boundaries: all of them."""

    def __init__(self, folder: Path, plan: str, says: str = "cancel", at: int = 0) -> None:
        self.path = Path(tempfile.mkdtemp(dir=folder)) / "s.db"
        self.plan, self.says, self.at = plan, says, at
        self.called = self.asked = 0
        self.boundaries: list[str] = []

    @property
    def name(self) -> str:
        """What plans call the model's provider."""
        return "p"

    def complete(self, request: Any) -> LlmAnswer:
        """A model's answer."""
        self.asked += 1
        return LlmAnswer("yes", "m")

    def _tool(self, kind: str) -> Tool:
        def call(args: Any, context: Any) -> Any:
            self.called += 1
            if kind == "refuses":
                raise NoEffectError("no")
            return context.now() if kind == "asks" else "done"

        return Tool(kind, call, kind, retry=RetryPolicy(max_retries=1))

    def came(self, joined: bool) -> Came:
        """After one turn."""
        with closing(SqliteStore(self.path)) as store, closing(SqliteStore(self.path)) as beside:
            store.submit(JOB, submission(JOB, {"version": 1, "nodes": PLANS[self.plan]}))
            client = Client(beside, "ann")
            with suppress(ClientError):  # nothing of the plan waits for it
                client.signal(JOB, "on", 1)
            tools = {kind: self._tool(kind) for kind in ("t", "refuses", "asks")}
            worker = Worker("w", tools, joined=joined, providers={"p": self})

            def performing(command: Command, ports: Ports) -> Any:
                if command.boundary == "make_durable":  # no boundary of the protocol
                    return perform(command, ports)
                self.boundaries.append(command.boundary)
                if len(self.boundaries) == self.at:
                    with suppress(ClientError):  # the job has ended, or takes no signal
                        SAYS[self.says](client)
                return perform(command, ports)

            end = run(worker, Ports(store, lambda _: None, SqliteContractStore(store)), JOB, performing)
            violated = verify(read(store, JOB)).violated
            return Came(end.status, self.called, self.asked, violated and violated.criterion)


def unlike(folder: Path, plan: str, says: str) -> list[str]:
    """At which moments of a turn a word leads to something else where writes are joined.

    What is not durable yet has not been done: a word finds the job as it was at the last contact, or at any moment since.
    """
    begun = Place(folder, plan)
    begun.came(joined=False)
    assert len(begun.boundaries) > 7
    different, since = [], list[Came]()
    for at, boundary in enumerate(begun.boundaries, 1):
        plain, joined = (Place(folder, plan, says, at).came(each) for each in (False, True))
        since = [plain] if boundary in CONTACTS else [*since, plain]
        if joined not in since:
            different.append(f"{says} before {boundary} ({at}): {joined}, not {plain}")
        if boundary in CONTACTS:
            since = []
    return different


@pytest.mark.parametrize(
    ("plan", "says"),
    sampled(sorted(product(PLANS, SAYS), key=lambda each: each not in FIRST_ASKED), now=len(FIRST_ASKED)),
)
def test_a_word_leads_to_the_same(plan: str, says: str, tmp_path: Path) -> None:
    """At each moment of a turn: the job ends or rests alike, and as much was called and asked."""
    assert unlike(tmp_path, plan, says) == []


@pytest.mark.parametrize(
    ("plan", "says"), sampled([("a wait", "signal"), ("a model", "cancel"), ("two steps", "cancel")], now=2)
)
def test_unless_it_is_heard_it_is_lost(plan: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that goes on over a client's word executes the next step, waits for what was said, asks a model."""
    monkeypatch.setattr(Together, "_hear", lambda self, command: None)
    assert unlike(tmp_path, plan, says)


def test_what_the_world_has_answered_is_on_record_first() -> None:
    """No append that says what the turn knows waits for a client: else an answer in memory would be lost to the word."""
    assert {b.name for b in BOUNDARIES if b.id in ("B5", "B5n", "B5u", "K3", "K3f", "Q2", "U2")} <= ON_RECORD
    assert not ON_RECORD & {
        b.name for b in BOUNDARIES if b.id in ("B2", "B10", "B10f", "B10c", "Q1", "W1", "R1", "R2", "K1")
    }
