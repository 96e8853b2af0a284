"""The hooks on commits: each boundary has its name, nothing of it is durable before, and all of it is after."""

import asyncio
import os
import select
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pysqlite3
import pytest
from psycopg import sql

from crashwindow.checkers.campaign import databases, hook_psycopg, hook_sqlite
from crashwindow.checkers.campaign.boundary import Striker
from crashwindow.checkers.campaign.statements import Watch, bare, name_of, split, written
from crashwindow.checkers.embedded_postgres import EmbeddedPostgres

ROWS = "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM u)"
Seen = list[tuple[str, int, int]]
"""Boundaries, without `commit: `, and how many rows others see before and after."""


class Recorder(Striker):
    """Notes at each boundary how many rows others see, and strikes at none."""

    def __init__(self, rows: Callable[[], int]) -> None:
        super().__init__(None, lambda *_: None, 0.0)
        self._rows, self._counting = rows, False
        self.told: list[tuple[str, str, int]] = []

    def before(self, name: str) -> str:
        """A boundary is come to."""
        boundary = super().before(name)
        self._note("before", boundary)
        return boundary

    def after(self, boundary: str) -> None:
        """It is behind the process."""
        self._note("after", boundary)

    def _note(self, when: str, boundary: str) -> None:
        if not self._counting:
            self._counting = True  # who counts may be watched as well
            self.told.append((when, boundary.removeprefix("commit: "), self._rows()))
            self._counting = False

    def seen(self) -> Seen:
        """Each boundary with the rows before and after it; every one was told of twice."""
        pairs = list(zip(self.told[::2], self.told[1::2], strict=True))
        assert all((b[0], a[0], b[1]) == ("before", "after", a[1]) for b, a in pairs), self.told
        return [(before[1], before[2], after[2]) for before, after in pairs]


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("INSERT INTO jobs VALUES (1)", "INSERT jobs"),
        ('insert or ignore into "Jobs" values (1)', "INSERT jobs"),
        ("REPLACE INTO [jobs] VALUES (1)", "REPLACE jobs"),
        ("-- why\n/* and how */ UPDATE dbos.workflow_status SET a = 1", "UPDATE dbos.workflow_status"),
        ('UPDATE ONLY "dbos"."workflow_status" SET a = 1', "UPDATE dbos.workflow_status"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "INSERT t"),
        ("WITH x AS (UPDATE t SET a = '(DELETE FROM v' RETURNING 1) INSERT INTO u SELECT 1", "UPDATE t, INSERT u"),
        ("WITH x AS (DELETE FROM t RETURNING 1) SELECT * FROM x", "DELETE t"),
        ("WITH x AS (SELECT 1 FROM t FOR UPDATE) SELECT * FROM x", None),
        ("DELETE FROM t", "DELETE t"),
        ("MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", "MERGE t"),
        ("TRUNCATE TABLE t", "TRUNCATE t"),
        ("COPY t (a, b) FROM STDIN", "COPY t"),
        ("CREATE UNIQUE INDEX IF NOT EXISTS i ON t (a)", "CREATE i"),
        ("WITH x AS (SELECT 1) INSERT INTO 't' SELECT * FROM x", "INSERT t"),
        ("WITH x AS (SELECT ')', 'a' FROM (SELECT 1)) insert into`t` SELECT * FROM x", "INSERT t"),
        ("WITH x AS (SELECT ' (' FROM y WHERE 'b' = ') DELETE FROM v ') UPDATE[t]SET a = 1", "UPDATE t"),
        ("INSERT INTO'main' . \"a table\"VALUES (1)", "INSERT main.a table"),
        ('COPY"t"FROM STDIN', "COPY t"),
        (";; /* a */ ;INSERT INTO t VALUES (1)", "INSERT t"),
        ("UPDATED t", "UPDATED"),
        ("CREATE OR REPLACE FUNCTION f() RETURNS int AS $$ SELECT 1 $$", "CREATE f"),
        ("PREPARE  TRANSACTION 'x'", "PREPARE TRANSACTION"),
        ("COMMIT PREPARED 'x'", "COMMIT PREPARED"),
        ("INSERT /* x */ INTO -- y\n jobs VALUES ('/*')", "INSERT jobs"),
        ("UPDATE/**/jobs SET a = '--' /* b */", "UPDATE jobs"),
        ("WITH x AS (SELECT 1)/* a */ INSERT INTO t SELECT 1", "INSERT t"),
        ("WITH RECURSIVE x(n) AS (VALUES (1)) -- (DELETE FROM v\n REPLACE INTO t SELECT 1", "REPLACE t"),
        ("DO $$ BEGIN INSERT INTO t VALUES (1); END $$", "DO"),
        ("CALL pay(1)", "CALL"),
        ("EXECUTE pay(1)", "EXECUTE"),
        ("REFRESH MATERIALIZED VIEW v", "REFRESH"),
        ("CREATE VIRTUAL TABLE v USING fts5(a)", "CREATE v"),
        ("PRAGMA user_version = 2", "PRAGMA user_version"),
        ("PRAGMA journal_mode = WAL", None),
        ("/* INSERT INTO t */ SELECT 1", None),
        ("-- INSERT INTO t", None),
        ("(SELECT 1)", None),
        ("COPY t TO STDOUT", None),
        ("SELECT * FROM t FOR UPDATE", None),
        ("COMMIT", None),
        ("PRAGMA user_version", None),
    ],
)
def test_what_a_statement_writes(statement: str, what: str | None) -> None:
    """A write is named by its verb and table, as is each part of one that writes in several; what writes nothing has no name."""
    assert written(bare(statement)) == (what.split(", ") if what else [])


def test_a_commit_is_named_by_its_writes() -> None:
    """Each write is in the name once, in order; a text is split at its own semicolons alone, not at those of a string."""
    assert name_of(["INSERT t", "UPDATE u", "INSERT t"]) == "commit: INSERT t, UPDATE u"
    text = "INSERT INTO t VALUES (';'); DO $a$ x; $$ y; $$ $a$; /* ; */ SELECT \";\"; -- ;\n"
    assert [each.strip()[:6] for each in split(text)] == ["INSERT", "DO $a$", "/* ; *", "-- ;"]
    assert len(split(r"SELECT E'it\'s; '; SELECT 1")) == 2


def test_two_phases_are_two_boundaries() -> None:
    """What is prepared is durable, and so is its commit, by whichever connection; its rollback is none."""
    recorder = Recorder(lambda: 0)
    watch = Watch(recorder)
    for statement in ("INSERT INTO t VALUES (1)", "PREPARE TRANSACTION 'x'"):
        watch.sent([statement], in_transaction=True)
        watch.returned()
    for statement in ("ROLLBACK PREPARED 'x'", "COMMIT PREPARED 'x'"):
        watch.sent([statement], in_transaction=False)
        watch.returned()
    assert recorder.seen() == [("INSERT t, PREPARE TRANSACTION #1", 0, 0), ("COMMIT PREPARED #1", 0, 0)]


PAUSED = """
import os, threading
from crashwindow.checkers.campaign.boundary import Strike, Striker

def work():
    for _ in range(100):
        Striker(Strike("x #1", "paused"), lambda *_: None, 0.0).before("x")
        os.write(1, b".")

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_a_paused_thread_does_nothing_until_it_is_woken() -> None:
    """A process of several threads stops in the one that is struck, before what is behind the boundary."""
    process = subprocess.Popen([sys.executable, "-c", PAUSED], stdout=subprocess.PIPE, bufsize=0)
    try:
        assert process.stdout is not None
        for number in range(100):
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            assert not select.select([process.stdout], [], [], 0)[0], f"pause {number}"
            os.kill(process.pid, signal.SIGCONT)
            assert process.stdout.read(1) == b"."
    finally:
        process.kill()
        process.communicate()


# SQLite


@pytest.fixture(params=[sqlite3, pysqlite3], ids=["sqlite3", "pysqlite3"])
def driver(request: pytest.FixtureRequest) -> ModuleType:
    """Either driver."""
    module: ModuleType = request.param
    return module


@pytest.fixture
def lite(driver: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A database with two tables, in `x.db` of the working directory; connections made now are watched."""
    monkeypatch.chdir(tmp_path)
    # Of the same driver: two SQLite libraries in one process would release each other's locks.
    witness = driver.connect("x.db", isolation_level=None, check_same_thread=False)
    witness.execute("PRAGMA journal_mode=WAL")
    witness.executescript("CREATE TABLE t (n INTEGER PRIMARY KEY); CREATE TABLE u (n)")
    recorder = Recorder(lambda: int(witness.execute(ROWS).fetchone()[0]))
    for module, name, instead in hook_sqlite.replacements(recorder, driver.__name__):
        monkeypatch.setattr(module, name, instead)
    yield recorder
    witness.close()


def implicit(database: Any) -> None:
    """The driver begins by itself."""
    database.execute("INSERT INTO t VALUES (1)")
    database.cursor().execute("INSERT INTO u VALUES (1)")
    database.commit()


def explicit(database: Any) -> None:
    """The application says BEGIN and COMMIT."""
    database.isolation_level = None
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO t VALUES (1)")
    database.execute("SELECT 1").fetchall()
    database.execute("END")


def autocommit(database: Any) -> None:
    """No transaction at all."""
    database.isolation_level = None
    database.execute("INSERT INTO t VALUES (1)")
    database.execute("INSERT INTO t VALUES (2)")


def savepoints(database: Any) -> None:
    """A savepoint that begins a transaction commits it with its release; an inner one does not."""
    database.isolation_level = None
    for each in ("SAVEPOINT a", "INSERT INTO t VALUES (1)", "SAVEPOINT b", "INSERT INTO u VALUES (1)"):
        database.execute(each)
    database.execute("RELEASE b")
    database.execute('RELEASE SAVEPOINT "A"')


def script(database: Any) -> None:
    """Many statements in one text, with what was open before it."""
    database.execute("INSERT INTO u VALUES (1)")
    database.executescript(
        "BEGIN; INSERT/* ; */INTO t VALUES (1); /* */ COMMIT; -- ;\n;;INSERT INTO t VALUES (2), (3);"
    )


def many(database: Any) -> None:
    """One statement for many rows."""
    database.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    database.commit()


def block(database: Any) -> None:
    """`with` commits."""
    with database:
        database.execute("INSERT INTO t VALUES (1)")


def undone(database: Any) -> None:
    """What is rolled back, by hand or by `with`, is no boundary, nor is a commit behind it."""
    database.execute("INSERT INTO t VALUES (1)")
    database.rollback()
    database.commit()
    with pytest.raises(ZeroDivisionError), database:  # noqa: PT012
        database.execute("INSERT INTO t VALUES (1)")
        raise ZeroDivisionError
    with pytest.raises(Exception, match="UNIQUE"):
        database.execute("INSERT OR ROLLBACK INTO t VALUES (1), (1)")
    database.commit()


def returning(database: Any) -> None:
    """A write that returns rows is committed with the last of them."""
    database.isolation_level = None
    assert database.execute("INSERT INTO t VALUES (1), (2) RETURNING n").fetchall() == [(1,), (2,)]
    cursor = database.execute("INSERT INTO t VALUES (3) RETURNING n")
    assert cursor.fetchone() == (3,)
    assert list(database.execute("INSERT INTO u VALUES (1), (2) RETURNING n")) == [(1,), (2,)]
    database.execute("INSERT INTO u VALUES (3) RETURNING n").fetchmany(5)


def triggered(database: Any) -> None:
    """What a trigger writes is part of the statement that sets it off."""
    database.isolation_level = None
    database.execute("CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO u VALUES (1); SELECT 1; END")
    database.execute("INSERT INTO t VALUES (1)")
    database.executemany("INSERT INTO t VALUES (?)", [(2,), (3,)])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (implicit, [("INSERT t, INSERT u #1", 0, 2)]),
        (explicit, [("INSERT t #1", 0, 1)]),
        (autocommit, [("INSERT t #1", 0, 1), ("INSERT t #2", 1, 2)]),
        (savepoints, [("INSERT t, INSERT u #1", 0, 2)]),
        (script, [("INSERT u #1", 0, 1), ("INSERT t #1", 1, 2), ("INSERT t #2", 2, 4)]),
        (many, [("INSERT t #1", 0, 2)]),
        (block, [("INSERT t #1", 0, 1)]),
        (undone, []),
        (returning, [("INSERT t #1", 0, 2), ("INSERT t #2", 2, 3), ("INSERT u #1", 3, 5), ("INSERT u #2", 5, 6)]),
        (triggered, [("CREATE x #1", 0, 0), ("INSERT t #1", 0, 2), ("INSERT t #2", 2, 4), ("INSERT t #3", 4, 6)]),
    ],
)
def test_commits_of_sqlite(driver: ModuleType, lite: Recorder, body: Callable[[Any], None], expected: Seen) -> None:
    """However a commit comes about, others see nothing of it before its boundary, and all of it behind."""
    database = driver.connect("x.db")
    body(database)
    database.close()
    assert lite.seen() == expected


def test_a_setting_that_commits_is_a_boundary(driver: ModuleType, lite: Recorder) -> None:
    """What is open is committed as soon as a connection is told to begin no more transactions: it is behind it at once."""
    database = driver.connect("x.db")
    database.execute("INSERT INTO t VALUES (1)")
    database.isolation_level = None
    assert lite.seen() == [("INSERT t #1", 0, 1)]
    assert database.isolation_level is None
    database.execute("INSERT INTO t VALUES (2)")
    database.isolation_level = "IMMEDIATE"
    database.execute("INSERT INTO t VALUES (3)")
    database.close()
    assert lite.seen() == [("INSERT t #1", 0, 1), ("INSERT t #2", 1, 2)]


def test_a_cursor_that_is_closed_ends_its_statement(driver: ModuleType, lite: Recorder) -> None:
    """A write whose rows nobody fetches is committed when its cursor is closed; another one's end says nothing of it."""
    database = driver.connect("x.db", isolation_level=None)
    other = database.execute("SELECT 1")
    cursor = database.execute("INSERT INTO t VALUES (1), (2) RETURNING n")
    other.close()
    assert [when for when, _, _ in lite.told] == ["before"]
    cursor.close()
    assert lite.seen() == [("INSERT t #1", 0, 2)]
    database.close()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="connections have `autocommit` from Python 3.12 on")
def test_commits_where_the_driver_always_keeps_a_transaction_open(lite: Recorder, driver: ModuleType) -> None:
    """`autocommit=False`: a commit begins the next transaction at once, and is told of once, before it returns."""
    if driver is pysqlite3:
        pytest.skip("pysqlite3 has no `autocommit`")
    database = driver.connect("x.db", autocommit=False)
    database.execute("INSERT INTO t VALUES (1)")
    database.commit()
    expected = [("INSERT t #1", 0, 1)]
    assert lite.seen() == expected
    database.commit()
    with database:
        database.execute("INSERT INTO u VALUES (1)")
    expected += [("INSERT u #1", 1, 2)]
    assert lite.seen() == expected
    database.execute("INSERT INTO t VALUES (2)")
    database.rollback()
    database.executescript("INSERT INTO t VALUES (2); INSERT INTO u VALUES (2);")
    assert lite.seen() == expected
    database.autocommit = True
    expected += [("INSERT t, INSERT u #1", 2, 4)]
    assert lite.seen() == expected
    assert database.autocommit is True
    database.execute("INSERT INTO t VALUES (3)")
    database.commit()
    expected += [("INSERT t #2", 4, 5)]
    assert lite.seen() == expected
    database.autocommit = False
    database.execute("INSERT INTO t VALUES (4)")
    database.close()
    assert lite.seen() == expected


def test_a_write_that_fails_has_not_happened(driver: ModuleType, lite: Recorder) -> None:
    """The boundary of a failed write has no other side, and the next one is told of as ever."""
    database = driver.connect("x.db", isolation_level=None)
    database.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(driver.IntegrityError):
        database.execute("INSERT INTO t VALUES (1)")
    database.execute("INSERT INTO t VALUES (2)")
    assert [(when, name) for when, name, _ in lite.told] == [
        ("before", "INSERT t #1"), ("after", "INSERT t #1"), ("before", "INSERT t #2"),
        ("before", "INSERT t #3"), ("after", "INSERT t #3"),
    ]  # fmt: skip
    database.close()


def test_a_commit_that_finds_the_database_locked_is_tried_again(driver: ModuleType, lite: Recorder) -> None:
    """A COMMIT that could not have the lock leaves its transaction open: the next one is a boundary of the same writes."""
    database = driver.connect("y.db", timeout=0)
    database.executescript("CREATE TABLE t (n)")
    reader = driver.connect("y.db", isolation_level=None)
    reader.executescript("BEGIN; SELECT * FROM t")
    reader.execute("SELECT count(*) FROM t").fetchall()
    database.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(driver.OperationalError, match="locked"):
        database.commit()
    reader.execute("COMMIT")
    database.commit()
    told = [(when, name) for when, name, _ in lite.told]
    assert told[2:] == [("before", "INSERT t #1"), ("before", "INSERT t #2"), ("after", "INSERT t #2")]
    reader.close()
    database.close()


def test_what_a_caller_asks_of_sqlite_is_kept(driver: ModuleType, lite: Recorder) -> None:
    """The caller's classes of connections and cursors and its trace callback work as without the hook."""

    class Mine(driver.Connection):  # type: ignore[name-defined,misc]
        pass

    class Cursor(driver.Cursor):  # type: ignore[name-defined,misc]
        def execute(self, *args: Any) -> Any:
            super().execute("INSERT INTO u VALUES (1)")
            return super().execute(*args)

    lines: list[str] = []
    for database in (
        driver.connect("x.db", factory=Mine),
        driver.connect("x.db", 5.0, 0, "DEFERRED", True, Mine),
    ):
        assert isinstance(database, Mine)
        database.set_trace_callback(lines.append)
        cursor = database.cursor(Cursor)
        assert isinstance(cursor, Cursor)
        cursor.execute("INSERT INTO t VALUES (?)", (len(lines),))
        database.commit()
        database.close()
    assert [each.strip() for each in lines[:4]] == [
        "BEGIN",
        "INSERT INTO u VALUES (1)",
        "INSERT INTO t VALUES (0)",
        "COMMIT",
    ]
    assert lite.seen() == [("INSERT u, INSERT t #1", 0, 2), ("INSERT u, INSERT t #2", 2, 4)]


# PostgreSQL


@pytest.fixture(scope="module")
def hooks_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """A database with two tables."""
    postgres_server.start()
    url = databases.fresh_database(postgres_server, "hooks")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (n int PRIMARY KEY); CREATE TABLE u (n int)")
    yield url
    databases.drop_database(postgres_server, "hooks")


@pytest.fixture
def server(hooks_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Two empty tables; every connection is watched."""
    with psycopg.connect(hooks_url, autocommit=True) as witness:
        witness.execute("TRUNCATE t, u")
        recorder = Recorder(lambda: int(witness.execute(ROWS).fetchone()[0]))  # type: ignore[index]
        for owner, name, instead in hook_psycopg.replacements(recorder):
            monkeypatch.setattr(owner, name, instead)
        yield recorder
        monkeypatch.undo()


Connection = psycopg.Connection[Any]


def committed(connection: Connection) -> None:
    """psycopg begins by itself; prepared statements, composed ones."""
    for number in (1, 2):
        connection.execute("INSERT INTO t VALUES (%s)", (number,), prepare=True)
    connection.execute(sql.SQL("INSERT INTO {} VALUES (%b)").format(sql.Identifier("u")), (1,))
    connection.commit()
    connection.execute("SELECT 1")
    connection.commit()


def as_block(connection: Connection) -> None:
    """`with` commits."""
    with connection:
        connection.execute("DELETE FROM u")
        connection.execute("INSERT INTO t VALUES (1)")


def nested(connection: Connection) -> None:
    """The outermost transaction block commits; an inner one is a savepoint."""
    connection.autocommit = True
    with connection.transaction():
        connection.execute("INSERT INTO t VALUES (1)")
        with connection.transaction():
            connection.execute("INSERT INTO u VALUES (1)")


def autonomous(connection: Connection) -> None:
    """Autocommit: each statement, each text of several statements, all rows of one `executemany`."""
    connection.autocommit = True
    connection.execute("INSERT INTO t VALUES (1)")
    connection.execute("DO $$ BEGIN INSERT INTO u VALUES (0); END $$; -- done")
    connection.execute("INSERT INTO t VALUES (2); INSERT INTO u VALUES (1)")
    connection.execute("BEGIN; INSERT INTO t VALUES (3); COMMIT; INSERT INTO u VALUES (2)")
    connection.cursor().executemany("INSERT INTO u VALUES (%s)", [(3,), (4,)])
    connection.execute("BEGIN")
    connection.execute("INSERT INTO u VALUES (5)")
    connection.execute("COMMIT")


def bound_here(connection: Connection) -> None:
    """Cursors that put the parameters in themselves, and those that hand over `$1`; each row of `executemany`."""
    for number, cursor in enumerate((psycopg.ClientCursor(connection), psycopg.RawCursor(connection))):
        marks = ("%s", "$1")[number]
        cursor.execute(f"INSERT INTO t VALUES ({marks})", (number,))
        cursor.executemany(f"INSERT INTO u VALUES ({marks})", [(1,), (2,)])
        connection.commit()
    connection.cursor_factory = psycopg.ClientCursor
    connection.autocommit = True
    connection.execute("INSERT INTO t VALUES (%s)", (2,))


def on_server(connection: Connection) -> None:
    """A cursor of the server's reads; what its transaction has written beside it is committed as ever."""
    connection.execute("INSERT INTO t VALUES (1)")
    with connection.cursor("named") as cursor:
        assert cursor.execute("SELECT n FROM t").fetchall() == [(1,)]
    connection.commit()


def streamed(connection: Connection) -> None:
    """A stream of rows that a write returns is over with its last row; outside autocommit it is committed later."""
    assert len(list(connection.cursor().stream("INSERT INTO t VALUES (1), (2) RETURNING n"))) == 2
    connection.commit()
    connection.autocommit = True
    assert len(list(connection.cursor().stream("INSERT INTO u VALUES (1) RETURNING n"))) == 1


def copied(connection: Connection) -> None:
    """COPY, within a transaction and without, finished and given up."""
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write_row((1,))
        copy.write_row((2,))
    connection.commit()
    connection.autocommit = True
    with connection.cursor().copy("COPY u (n) FROM STDIN") as copy:
        copy.write_row((1,))


def piped(connection: Connection) -> None:
    """A pipeline commits with a synchronization what no transaction holds; else with its COMMIT."""
    connection.autocommit = True
    with connection.pipeline() as pipeline:
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("INSERT INTO u VALUES (1)")
        pipeline.sync()
        connection.execute("INSERT INTO t VALUES (2)")
    with connection.pipeline(), connection.transaction():
        connection.execute("INSERT INTO u VALUES (2)")
    connection.autocommit = False
    with connection.pipeline():
        connection.execute("INSERT INTO u VALUES (3)")
        connection.commit()


def rolled_back(connection: Connection) -> None:
    """What is rolled back is no boundary, nor is the COMMIT of a transaction that has failed, or that nothing was done in."""
    connection.execute("INSERT INTO t VALUES (1)")
    connection.rollback()
    connection.commit()
    connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("INSERT INTO t VALUES (1)")
    connection.commit()
    with pytest.raises(ZeroDivisionError), connection.transaction():  # noqa: PT012
        connection.execute("INSERT INTO t VALUES (1)")
        raise ZeroDivisionError
    connection.autocommit = True
    with pytest.raises(psycopg.errors.UniqueViolation), connection.pipeline():  # noqa: PT012
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (1), (1)")
        connection.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (committed, [("INSERT t, INSERT u #1", 0, 3)]),
        (as_block, [("DELETE u, INSERT t #1", 0, 1)]),
        (nested, [("INSERT t, INSERT u #1", 0, 2)]),
        (
            autonomous,
            [
                ("INSERT t #1", 0, 1),
                ("DO #1", 1, 2),
                ("INSERT t, INSERT u #1", 2, 4),
                ("INSERT t, INSERT u #2", 4, 6),
                ("INSERT u #1", 6, 8),
                ("INSERT u #2", 8, 9),
            ],
        ),
        (bound_here, [("INSERT t, INSERT u #1", 0, 3), ("INSERT t, INSERT u #2", 3, 6), ("INSERT t #1", 6, 7)]),
        (on_server, [("INSERT t #1", 0, 1)]),
        (streamed, [("INSERT t #1", 0, 2), ("INSERT u #1", 2, 3)]),
        (copied, [("COPY t #1", 0, 2), ("COPY u #1", 2, 3)]),
        (
            piped,
            [("INSERT t, INSERT u #1", 0, 2), ("INSERT t #1", 2, 3), ("INSERT u #1", 3, 4), ("INSERT u #2", 4, 5)],
        ),
        (rolled_back, []),
    ],
)
def test_commits_of_postgresql(
    hooks_url: str, server: Recorder, body: Callable[[Connection], None], expected: Seen
) -> None:
    """However a commit comes about, others see nothing of it before its boundary, and all of it behind."""
    connection = psycopg.connect(hooks_url)
    body(connection)
    connection.close()
    assert server.seen() == expected


def test_a_write_that_the_server_refuses_has_not_happened(hooks_url: str, server: Recorder) -> None:
    """The boundary of a failed write has no other side: a statement, a COPY that is given up, a pipeline."""
    with psycopg.connect(hooks_url, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO t VALUES (1), (1)")
        with pytest.raises(ZeroDivisionError), connection.cursor().copy("COPY u FROM STDIN"):
            raise ZeroDivisionError
        with pytest.raises(psycopg.errors.UniqueViolation):
            list(connection.cursor().stream("INSERT INTO t VALUES (1), (1) RETURNING n"))
        with pytest.raises(psycopg.errors.UniqueViolation), connection.pipeline():
            connection.execute("INSERT INTO t VALUES (1), (1)")
        connection.execute("INSERT INTO u VALUES (1)")
    assert [(when, name) for when, name, _ in server.told] == [
        ("before", "INSERT t #1"), ("before", "COPY u #1"), ("before", "INSERT t #2"), ("before", "INSERT t #3"),
        ("before", "INSERT u #1"), ("after", "INSERT u #1"),
    ]  # fmt: skip


def test_commits_of_asynchronous_connections(hooks_url: str, server: Recorder) -> None:
    """An asynchronous connection tells of its commits as one that waits does."""

    async def body() -> None:
        async with await psycopg.AsyncConnection.connect(hooks_url) as connection:
            await connection.execute("INSERT INTO t VALUES (1)")
            await connection.commit()
            async with connection.transaction():
                await connection.execute("INSERT INTO u VALUES (1)")
            async with connection.cursor().copy("COPY u FROM STDIN") as copy:
                await copy.write_row((2,))
            await connection.commit()
            await connection.set_autocommit(True)
            async with connection.pipeline():
                await connection.execute("INSERT INTO t VALUES (2)")
            await connection.execute("INSERT INTO t VALUES (3)")

    asyncio.run(body())
    assert server.seen() == [
        ("INSERT t #1", 0, 1), ("INSERT u #1", 1, 2), ("COPY u #1", 2, 3), ("INSERT t #2", 3, 4), ("INSERT t #3", 4, 5),
    ]  # fmt: skip
