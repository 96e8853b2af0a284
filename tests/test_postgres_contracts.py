"""Contracts on a real PostgreSQL server: batches that meet, connections that are cut, S3's worked example, answers relayed.

What the store promises at rest stands in test_contract_store.py, for both databases. Each race is decided by hand, as in
test_postgres_races.py, and each test of one is repeated with the lock taken out, which has to show.
"""

import itertools
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import psycopg
import pytest

from crashwindow.__main__ import main
from crashwindow.bench.plans import WHOLE, of_postgres
from crashwindow.checkers.embedded_postgres import EmbeddedPostgres
from crashwindow.model.contract import Status
from crashwindow.runtime import drive
from crashwindow.runtime.commands import Ports
from crashwindow.runtime.contracts import approvals, operations
from crashwindow.runtime.contracts import postgres_contract_statements as sql
from crashwindow.runtime.contracts import sqlite_contract_statements as sqlite
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.postgres_contracts import PostgresContractStore
from crashwindow.runtime.contracts.records import ExecutionContract, GraphState
from crashwindow.runtime.contracts.serve import ApprovalServer
from crashwindow.runtime.contracts.store import (
    Batch,
    Conflict,
    ConsentMissing,
    GivenAnswer,
    KeyHeld,
    Move,
)
from crashwindow.runtime.postgres_session import Connection
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.runtime.shift import contracts_of
from crashwindow.runtime.store import StoreError, StoreUnusableError

from .test_contract_graph import GOLDEN, SEND_ASKED, House
from .test_contract_store import (
    ANSWER,
    RELEASE,
    SESSION,
    approval,
    batch,
    create,
    ecs,
    suspended_resume,
    tool,
    walk,
)
from .test_postgres_races import Meanwhile, standing


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    """An empty store, whose clock stands still."""
    with closing(PostgresStore(postgres_url, lambda: 1000.0)) as made:
        yield made


@pytest.fixture
def contracts(store: PostgresStore) -> PostgresContractStore:
    """Its contracts."""
    found = contracts_of(store)
    assert isinstance(found, PostgresContractStore)
    return found


@pytest.fixture
def other(store: PostgresStore) -> Iterator[Connection]:
    """Somebody else's connection, in a transaction that is not committed yet."""
    with store.session.connect() as connection:
        connection.autocommit = False
        connection.execute("SELECT 1")
        yield connection
        connection.rollback()


# Batches that meet.


def resumes(store: PostgresContractStore) -> list[Batch]:
    """Two runners resume one contract."""
    create(store, tool(irreversible=False))
    walk(store, "tool", "start", "suspend")
    return [batch(moves=(Move("tool", 2, "resume", "graph_runner"),)) for _ in range(2)]


def creations(store: PostgresContractStore) -> list[Batch]:
    """Two sessions want the same irreversible action of one occurrence."""
    return [batch(name, creates=(tool(f"of-{name}", session_id=name),)) for name in ("s-1", "s-2")]


def answers(store: PostgresContractStore) -> list[Batch]:
    """Two people answer one question."""
    create(store, tool(needs_consent=True), ecs(defers="tool"))
    walk(store, "ecs", "start", "suspend")
    return [batch(answer=ANSWER), batch(answer=ANSWER.__class__(**{**vars(ANSWER), "by": "bob"}))]


def checkpoints(store: PostgresContractStore) -> list[Batch]:
    """Two runners of one session write where it stands."""
    return [batch(state=GraphState(session_id=SESSION, version=1, node=node)) for node in ("ecs", "end")]


def approvals_of_one_action(store: PostgresContractStore) -> list[Batch]:
    """The same mail is wanted in two occurrences, and both are approved at once, as if the other were not."""
    create(store, tool("a", needs_consent=True), tool("b", "request-2", needs_consent=True))
    moves = [suspended_resume(store, store.contract(name), None) for name in "ab"]
    shown = [store.contract(move.execution_id) for move in moves]
    return [
        batch(answer=GivenAnswer(each.execution_id, 2, "approve", "ann", 7.0, each.action_digest)) for each in shown
    ]


RACES: dict[str, tuple[Callable[[PostgresContractStore], list[Batch]], type[Exception], str]] = {
    "resume": (resumes, Conflict, "somebody else moved it first"),
    "create": (creations, KeyHeld, "pending as 'of-s-1'"),
    "answer": (answers, Conflict, "answered already: approve by 'ann'"),
    "checkpoint": (checkpoints, Conflict, "is at checkpoint 1"),
    "approve": (approvals_of_one_action, ConsentMissing, "what 'a' "),
}


def race(name: str, store: PostgresStore, other: Connection, commits: bool = True) -> object:
    """The second of two batches begins while the first is written and not committed; what becomes of the second."""
    contracts = PostgresContractStore(store)
    first, second = RACES[name][0](contracts)
    with standing(store, other):
        contracts.write(first)
    rival = Meanwhile(lambda: contracts.write(second), other)
    if commits:
        other.commit()
    else:
        other.rollback()
    return rival.end()


@pytest.mark.parametrize("name", RACES)
def test_of_two_batches_at_once_one_wins(name: str, store: PostgresStore, other: Connection) -> None:
    """C-RESUME, C-ONCE: the second waits, sees what the first has written, and is refused in the words of the rules."""
    said = race(name, store, other)
    assert isinstance(said, RACES[name][1])
    assert RACES[name][2] in str(said)


@pytest.mark.parametrize("name", RACES)
def test_a_batch_that_is_taken_back_was_never_there(name: str, store: PostgresStore, other: Connection) -> None:
    """Where the first writer's transaction ends without a commit, the second one wins."""
    assert race(name, store, other, commits=False) is None


@pytest.mark.parametrize("name", RACES)
def test_without_the_lock_the_rules_see_too_little(
    name: str, store: PostgresStore, other: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is what does it. Unique keys still stop what breaks a key; two approvals that know nothing of each other pass."""
    monkeypatch.setattr(sql, "LOCK", "SELECT 1")
    said = race(name, store, other)
    if name == "approve":
        assert said is None
        assert [PostgresContractStore(store).given(each) is not None for each in "ab"] == [True, True]
    else:
        assert isinstance(said, ValueError)
        assert "unique constraint" in str(said)


def test_a_writer_waits_within_bounds(store: PostgresStore, other: Connection) -> None:
    """Who is held up for too long learns nothing definite, and the same batch is written when the way is free."""
    contracts = PostgresContractStore(store)
    other.execute(sql.LOCK)
    with store.session.connection() as connection:  # the one that is used next
        connection.execute("SET lock_timeout = '20ms'")
    created = batch(creates=(tool(),))
    with pytest.raises(StoreError, match="lock timeout"):
        contracts.write(created)
    other.commit()
    contracts.write(created)
    assert len(contracts.contracts()) == 1


def test_readers_wait_for_nobody(store: PostgresStore, other: Connection) -> None:
    """Contracts are read while a batch is being written, as they were before it."""
    contracts = PostgresContractStore(store)
    create(contracts, tool(irreversible=False))
    with standing(store, other):
        contracts.write(batch(moves=(Move("tool", 0, "start", "tool_node"),)))
    assert contracts.contract("tool").status is Status.PENDING
    other.commit()
    assert contracts.contract("tool").status is Status.RUNNING


def read_meanwhile(contracts: PostgresContractStore, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """A contract is read, and moved between the two statements of the read: how many transitions are shown, and are spilled."""
    create(contracts, tool(irreversible=False))
    newest = contracts._newest

    def late(*given: Any) -> Any:
        monkeypatch.undo()
        walk(contracts, "tool", "start")
        return newest(*given)

    monkeypatch.setattr(contracts, "_newest", late)
    read = contracts.contract("tool")
    return len(read.transitions), read.spilled


def test_a_reader_sees_one_moment(contracts: PostgresContractStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-HISTORY: a contract and its transitions are of the same version, whoever writes in between."""
    assert read_meanwhile(contracts, monkeypatch) == (0, 0)


def test_without_a_snapshot_a_reader_sees_two(
    contracts: PostgresContractStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: in READ COMMITTED the second statement sees more than the first."""
    with monkeypatch.context() as patch:
        patch.setattr(sql, "SNAPSHOT", "SELECT 1")
        assert read_meanwhile(contracts, monkeypatch) == (1, -1)


# Connections that are cut.


class Cut:
    """A connection that is lost before its n-th statement."""

    def __init__(self, connection: Connection, left: Iterator[int]) -> None:
        self._connection, self._left = connection, left

    def execute(self, *given: Any) -> Any:
        """Execute, or lose the connection."""
        if next(self._left) == 0:
            self._connection.close()
        return self._connection.execute(*given)


def torn(
    contracts: PostgresContractStore, rows: Callable[[], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> int | None:
    """Cut a large batch at each statement; at which of them something of it was left first. Written whole in the end."""
    create(contracts, tool(needs_consent=True), ecs(defers="tool"))
    walk(contracts, "ecs", "start", "suspend")
    contracts.write(batch(answer=ANSWER))
    state = GraphState(session_id=SESSION, version=1, node="tools")
    large = Batch("large", "test", SESSION, moves=RELEASE, creates=(tool("next", "request-2"),), state=state)
    made, before = contracts.rows.__init__, rows()
    for last in itertools.count():
        left = iter(range(last, -1000, -1))
        monkeypatch.setattr(contracts.rows, "__init__", lambda self, found, left=left: made(self, Cut(found, left)))
        try:
            contracts.write(large)
        except StoreError:
            if rows() != before:
                return last
        else:
            assert last > len(RELEASE) * 3
            return None
    raise AssertionError


def everything(store: PostgresStore) -> list[Any]:
    """What lies in the tables that a batch writes."""
    with store.session.connection() as connection:
        return [
            connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
            for table in (
                "contracts",
                "contract_transitions",
                "execution_trace",
                "graph_checkpoints",
                "contract_writes",
            )
        ]


def test_a_batch_that_is_cut_leaves_nothing(
    contracts: PostgresContractStore, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is lost before any statement of a batch leaves nothing of it, and says *not known*; repeat it."""
    assert torn(contracts, lambda: everything(store), monkeypatch) is None
    monkeypatch.undo()
    assert [each.status for each in contracts.contracts()] == [Status.PENDING, Status.COMPLETED, Status.PENDING]
    assert contracts.contract("tool").consent == approval(tool())


def test_without_a_transaction_half_a_batch_is_left(
    contracts: PostgresContractStore, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: where a batch is no transaction, the cut shows."""
    session = store.session
    monkeypatch.setattr(session, "transaction", session.connection)
    assert torn(contracts, lambda: everything(store), monkeypatch) is not None


def test_a_lost_acknowledgement_is_found_again(
    contracts: PostgresContractStore, store: PostgresStore, other: Connection
) -> None:
    """T-WRITE: a batch whose commit is still under way when it is repeated is waited for, and written once."""
    created = batch(creates=(tool(),))
    with standing(store, other):
        contracts.write(created)
    again = Meanwhile(lambda: contracts.write(created), other)
    other.commit()
    assert again.end() is None
    assert len(contracts.trace(SESSION)) == 1


def test_the_contracts_end_with_their_store(contracts: PostgresContractStore, store: PostgresStore) -> None:
    """A contract store whose PostgresStore is closed says so."""
    store.close()
    with pytest.raises(StoreUnusableError, match="this store object is closed"):
        contracts.contracts()


# Statements.


def test_both_databases_have_the_same_statements() -> None:
    """A statement of one is a statement of the other; what is more on PostgreSQL makes up for the file's lock and JSON."""
    names = {name for name in vars(sql) if name.isupper() and not name.startswith("_")}
    others = {name for name in vars(sqlite) if name.isupper() and not name.startswith("_")}
    assert names - others == {"LOCK", "SNAPSHOT", "TO_PRUNE"}
    assert others <= names


LOOKUPS: list[tuple[str, Any, str]] = [
    (sql.CONTRACT, ("e7",), "contracts_execution_id_key"),
    (sql.OF_SESSION, {"session": "s7", "status": None}, "contract_sessions"),
    (sql.HOLDER, ("k7",), "contract_keys"),
    (sql.EXPIRED, (5.0,), "contract_deadlines"),
    (sql.SAME_ACTION, ("a7",), "contract_actions"),
    (sql.ATTEMPTS, ("k7",), "contract_attempts"),
    (sql.REQUEST_FOR, ("d7",), "contracts_defers_key"),
    (sql.NEWEST, (["e7"], 50), "contract_transitions_pkey"),
    (sql.TRACE, ("s7",), "trace_sessions"),
    (sql.STATE, ("s7",), "graph_checkpoints_session_id_version_key"),
]

_SEQ = "'seq', 1000000 * seq + n"
MANY = {
    "contracts": f"{_SEQ}, 'execution_id', 'e' || n, 'session_id', 's' || n, 'idempotency_key', 'k' || n, 'action', 'a' || n,"
    " 'defers', 'd' || n, 'status', 'running', 'updated_at', n",
    "contract_transitions": "'execution_id', 'e' || n",
    "execution_trace": f"{_SEQ}, 'session_id', 's' || n",
    "graph_checkpoints": f"{_SEQ}, 'session_id', 's' || n",
}
"""Of a row of each table many are made, which differ in this."""


def test_lookups_use_an_index(store: PostgresStore, contracts: PostgresContractStore) -> None:
    """What a write or a turn looks up costs the same however many contracts there are: the planner, left alone, takes it."""
    create(contracts, tool(timeout_seconds=1.0))
    walk(contracts, "tool", "start")
    contracts.write(batch(state=GraphState(session_id=SESSION, version=1, node="ecs")))
    with store.session.transaction() as connection:
        for table, fields in MANY.items():
            connection.execute(
                f"INSERT INTO {table} OVERRIDING SYSTEM VALUE"
                f" SELECT (jsonb_populate_record(one, jsonb_build_object({fields}))).*"
                f" FROM {table} AS one, generate_series(1, 2000) AS n"
            )
            connection.execute(f"ANALYZE {table}")
        for query, values, index in LOOKUPS:
            plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN {query}", values))
            assert index in plan
            assert "Seq Scan" not in plan


@pytest.fixture
def unknown(postgres_server: EmbeddedPostgres) -> Iterator[PostgresStore]:
    """A database of its own: what the planner has noted of other tests' rows, whenever it looked, it does not know here."""
    postgres_server.start()
    with psycopg.connect(postgres_server.url, autocommit=True) as admin:
        admin.execute("CREATE DATABASE unknown")
        try:
            with closing(PostgresStore(postgres_server.url_of("unknown"))) as made:
                yield made
        finally:
            admin.execute("DROP DATABASE unknown WITH (FORCE)")


def test_no_statement_reads_a_growing_table(unknown: PostgresStore) -> None:
    """Of all statements only those that list everything, and retention, have to read a table from end to end."""
    assert {each.name for each in of_postgres(unknown) if each.scans} == WHOLE.keys() - {"PRUNE_CONTRACTS"}
    with unknown.session.connection() as connection:
        connection.execute("DROP INDEX jobs_open")
    assert {each.name for each in of_postgres(unknown) if each.scans} >= {"CLAIM_OLDEST", "OPEN_JOBS"}


def test_retention_bears_any_json(contracts: PostgresContractStore) -> None:
    """A NUL character in arguments, which the server's own JSON functions refuse, does not keep them from being removed."""
    create(contracts, tool(args={"text": "a\0b"}))
    walk(contracts, "tool", "start", "succeed", result="\0")
    assert contracts.prune(2000.0) == 1
    assert contracts.contract("tool").action_detail == {"service": "email", "method": "send"}


# S3's worked example.


class Mansion(House):
    """The house, on a server."""

    url = ""

    def begin(self) -> None:
        """A new process: new connections, a new runner."""
        self.lives += 1
        store = PostgresStore(self.url, now=lambda: self.time)
        contracts = PostgresContractStore(store)
        self.ports = ContractPorts(
            store,
            self.sleep,
            contracts,
            announce=lambda event, data: self.told.append((event, data)),
            name=lambda session, number: f"exec-{number:03d}",
        )
        self.store, self.contracts = store, contracts  # type: ignore[assignment]


def test_worked_example(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3's nine steps, a process of their own for each half: one mail, and the golden trace; the answer is taken once."""
    monkeypatch.setattr(Mansion, "url", postgres_url)
    house = Mansion(tmp_path, SEND_ASKED)
    assert house.runner().open("s", "invite bob").status == "suspended"
    assert not house.mails
    form = house.told[0][1]
    house.crash()
    operations.approve(house.ports, "exec-002", "alice", digest=form["digest"])
    house.crash()
    ended = house.runner().resume("s")
    assert (ended.status, ended.reply) == ("idle", "[SUCCESS] mail sent")
    assert house.trace() == GOLDEN
    with pytest.raises(Conflict):
        house.runner().resume("s")
    assert house.runner().recover() == []
    assert len(house.mails) == 1
    house.store.close()


# A plan's step that a person approves, several workers, and the commands.

PLAN = """version: 1
nodes:
  - {id: ok, approve: a}
  - {id: a, tool: file.append, args: {path: PATH, text: hello}, depends_on: [ok]}
"""
JOB = "j"
REQUEUED = "job_requeued"


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The worker command asks for signals; this process goes on afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def waiting(url: str, folder: Path) -> ExecutionContract:
    """A job that waits for an approval, brought there by the worker command; its request."""
    plan = folder / "plan.yaml"
    plan.write_text(PLAN.replace("PATH", str(folder / "lines")), encoding="utf-8")
    assert main(("submit", str(plan), "--job", JOB, "--store", url)) == 0
    assert main(("worker", "--until-idle", "--store", url)) == 0
    with closing(PostgresStore(url)) as store:
        (request,) = PostgresContractStore(store).contracts()
    assert request.status is Status.WAITING
    return request


def lines(folder: Path) -> int:
    """How often the effect is in the world."""
    file = folder / "lines"
    return file.read_text(encoding="utf-8").count("hello") if file.exists() else 0


def test_a_person_approves_on_the_command_line(
    postgres_url: str, postgres_server: EmbeddedPostgres, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked, listed, shown, approved, done once; what is printed names the store without the password."""
    request = waiting(postgres_url, tmp_path)
    at = ("--store", postgres_url)
    assert lines(tmp_path) == 0
    assert main(("contract", "list", *at)) == 0
    assert main(("contract", "show", request.execution_id, *at)) == 0
    words = ("--by", "Ann", "--digest", request.action_digest)
    assert main(("contract", "approve", request.execution_id, *words, *at)) == 0
    assert main(("contract", "approve", request.execution_id, *words, *at)) == 2
    assert main(("worker", "--until-idle", *at)) == 0
    assert main(("verify-job", JOB, *at)) == 0
    assert main(("contract", "prune", "--before", "0", *at)) == 0
    assert lines(tmp_path) == 1
    said = capsys.readouterr()
    assert "is completed: it waits for no answer" in said.err
    assert postgres_server.password not in said.out + said.err


def test_the_approval_page_serves_it(postgres_url: str, tmp_path: Path) -> None:
    """The page shows the question that waits; who answers it in another process ends it there, too."""
    request = waiting(postgres_url, tmp_path)
    with closing(PostgresStore(postgres_url)) as store:
        contracts = contracts_of(store)
        assert contracts is not None
        ports = ContractPorts(store, lambda _: None, contracts)
        server = ApprovalServer(ports)
        thread = Thread(target=server.run)
        thread.start()
        try:
            assert request.execution_id in httpx.get(server.url).text
            words = ("--by", "Ann", "--digest", request.action_digest)
            assert main(("contract", "approve", request.execution_id, *words, "--store", postgres_url)) == 0
            assert request.execution_id not in httpx.get(server.url).text
        finally:
            server.stop()
            thread.join()


def relayed(url: str, folder: Path, at: int) -> list[str]:
    """Two workers find one answer; before the first performs its `at`-th write, the second does all of it. The job's events."""
    request = waiting(url, folder)
    stores = [PostgresStore(url) for _ in range(2)]
    first, second = (Ports(store, lambda _: None, contracts_of(store)) for store in stores)
    assert first.contracts is not None
    desk = ContractPorts(first.store, first.sleep, first.contracts)
    operations.approve(desk, request.execution_id, "Ann", digest=request.action_digest)
    performed = itertools.count()

    def perform(command: Any, ports: Ports) -> Any:
        if next(performed) == at:
            approvals.relay(second)
        return drive.perform(command, ports)

    approvals.relay(first, perform)
    assert next(performed) > at
    events = [event.type for event in first.store.events(JOB)]
    moves = [move.trigger for move in first.contracts.history(request.execution_id)]
    assert moves == ["start", "suspend", "resume", "succeed"]
    for store in stores:
        store.close()
    return events


@pytest.mark.parametrize("at", [0, 1])
def test_two_workers_relay_one_answer_once(postgres_url: str, tmp_path: Path, at: int) -> None:
    """Wherever the second comes in between, the answer is taken once, the job queued again once, its effect made once."""
    assert relayed(postgres_url, tmp_path, at).count(REQUEUED) == 1
    assert main(("worker", "--until-idle", "--store", postgres_url)) == 0
    assert lines(tmp_path) == 1


def test_without_conditional_appends_a_job_is_queued_twice(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: where an event is appended whatever came before, both workers' words are there."""
    append, numbers = PostgresStore.append, itertools.count()

    def careless(self: PostgresStore, job_id: str, expected: int, events: Any, epoch: int | None) -> int:
        if events[0].type == REQUEUED:
            events = [event._replace(id=f"{event.id}.{next(numbers)}") for event in events]
            expected = self.events(job_id)[-1].version
        return append(self, job_id, expected, events, epoch)

    monkeypatch.setattr(PostgresStore, "append", careless)
    assert relayed(postgres_url, tmp_path, 1).count(REQUEUED) == 2
