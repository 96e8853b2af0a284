"""What is the PostgreSQL store's own: durability, the server's clock, lost connections, migrations, announcements, addresses."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from crashwindow.checkers.embedded_postgres import EmbeddedPostgres
from crashwindow.runtime import postgres_clock, postgres_schema, postgres_session, postgres_statements, postgres_store
from crashwindow.runtime.address import without_password
from crashwindow.runtime.event_chain import first_break
from crashwindow.runtime.postgres_address import address, legible
from crashwindow.runtime.postgres_clock import LEAD, ServerClock
from crashwindow.runtime.postgres_errors import translated
from crashwindow.runtime.postgres_statements import WAKE_CHANNEL
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.runtime.records import ChainedEvent, NewEvent
from crashwindow.runtime.store import StoreError, StoreUnusableError
from crashwindow.runtime.wakes import wakes_of

JOB = "job-1"
CREATED = (NewEvent("c1", "job_created", None, {}),)
Admin = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    """A store on the server's own clock, with a job."""
    made = PostgresStore(postgres_url)
    made.submit(JOB, CREATED)
    yield made
    made.close()


@pytest.fixture
def admin(postgres_url: str) -> Iterator[Admin]:
    """The administrator's connection."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def event(name: str, kind: str = "state_changed") -> NewEvent:
    """An event to append."""
    return NewEvent(name, kind, None, {})


# What a statement touches.

STORES = {
    "jobs": "events",
    "events": "events",
    "leases": "leases",
    "ledger": "ledger",
    "ledger_fences": "ledger",
    "effects": "effects",
    "effect_fences": "effects",
}


def test_no_statement_writes_into_two_stores() -> None:
    """Each statement is a transaction by itself, and writes into one of the four stores alone (S1 §1), but for what is joined
    on purpose (T-JOINED)."""
    write = re.compile(r"(?:INSERT INTO|(?<!DO )(?<!FOR )UPDATE) (\w+)")
    written = {
        name: {STORES[table] for table in write.findall(text)}
        for name, text in vars(postgres_statements).items()
        if isinstance(text, str) and " " in text and not name.startswith("_")
    }
    assert {name: stores for name, stores in written.items() if len(stores) > 1} == {
        "JOINED": {"events", "ledger", "effects"}
    }
    assert set().union(*written.values()) == set(STORES.values())
    assert written["SUBMIT"] == {"events"}


def test_what_was_taken_back_is_followed_by_nothing(store: PostgresStore, postgres_url: str) -> None:
    """A thread remembers the link that it wrote last. Where that was taken back, and somebody else has written instead, it is not
    believed: the chain goes on from what is there."""
    chain = after_a_write_that_was_taken_back(store, postgres_url)
    assert [each.id for each in chain] == ["c1", "kept", "next", "last"]
    assert first_break(JOB, chain) is None


def test_without_the_question_about_the_link_the_chain_breaks(
    store: PostgresStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is remembered may be wrong: it is the statement's own question that keeps it out of the chain."""
    asked, unasked = "link = %(previous)s", "%(previous)s::text IS NOT NULL"
    assert postgres_statements.APPEND.count(asked) == 1
    monkeypatch.setattr(postgres_statements, "APPEND", postgres_statements.APPEND.replace(asked, unasked))
    broken = first_break(JOB, after_a_write_that_was_taken_back(store, postgres_url))
    assert broken is not None
    assert broken.version == 3


def after_a_write_that_was_taken_back(store: PostgresStore, postgres_url: str) -> list[ChainedEvent]:
    """The chain of a job into which two stores write, one of them behind a write of its own that is gone."""
    assert store.append(JOB, 1, [event("lost")], None) == 2
    with store.session.connection() as connection:  # as a database that is put back has it
        connection.execute("DELETE FROM events WHERE id = 'lost'")
        connection.execute("UPDATE jobs SET version = 1")
    with closing(PostgresStore(postgres_url)) as other:
        assert other.append(JOB, 1, [event("kept")], None) == 2
    assert store.append(JOB, 2, [event("next")], None) == 3
    assert store.append(JOB, 3, [event("last")], None) == 4
    return store.chain(JOB)


# Durability.


@pytest.fixture
def configure(admin: Admin) -> Iterator[Callable[[str, str], None]]:
    """Change the running server's configuration, for one test."""

    def changed(name: str, value: str | None) -> None:
        admin.execute(f"ALTER SYSTEM {f'SET {name} = {value}' if value else f'RESET {name}'}".encode())
        admin.execute("SELECT pg_reload_conf()")
        wanted = value or "on"
        while admin.execute("SELECT current_setting(%s)", (name,)).fetchone() != (wanted,):
            pass  # the reload is under way

    touched: list[str] = []

    def set_to(name: str, value: str) -> None:
        touched.append(name)
        changed(name, value)

    yield set_to
    for name in touched:
        changed(name, None)


@pytest.mark.parametrize("value", ["off", "local"])
def test_a_session_that_is_not_durable_is_refused(postgres_url: str, value: str) -> None:
    """synchronous_commit weakened by the address: refused when the store is opened, with what would be lost and the remedy."""
    with pytest.raises(StoreUnusableError, match=rf"synchronous_commit={value}.*power loss.*Remedy"):
        PostgresStore(f"{postgres_url}?options=-csynchronous_commit%3D{value}")


@pytest.mark.parametrize("name", ["fsync", "full_page_writes", "synchronous_commit"])
def test_a_server_that_is_not_durable_is_refused(
    postgres_url: str, configure: Callable[[str, str], None], name: str
) -> None:
    """A server that runs with one of the three settings off is refused, the setting named."""
    configure(name, "off")
    with pytest.raises(StoreUnusableError, match=f"{name}=off"):
        PostgresStore(postgres_url)


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_is_weakened_while_it_runs_is_refused(
    store: PostgresStore, configure: Callable[[str, str], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the worker's check, and by an open store, on an open connection, once a minute is over: also by one that is so
    busy that the server tells it the time all along. From then on nobody uses that store.
    """
    real, ahead = postgres_clock.counter, 0.0
    for module in (postgres_clock, postgres_session, postgres_store):
        monkeypatch.setattr(module, "counter", lambda: real() + ahead)
    configure(name, "off")
    ahead = postgres_session.CHECK_SECONDS * 0.6
    store.submit("job", [event("e1")])
    lease = store.claim("w", 30.0)
    assert lease is not None
    ahead = postgres_session.CHECK_SECONDS * 1.1
    for _ in range(2):
        with pytest.raises(StoreUnusableError, match=f"{name}=off"):
            store.renew(lease, 30.0)


def test_the_workers_check_is_everybodys(store: PostgresStore, configure: Callable[[str, str], None]) -> None:
    """Where one check finds the server weak, no thread goes on with the store until the next is due."""
    configure("fsync", "off")
    store.jobs()
    with pytest.raises(StoreUnusableError, match="fsync=off"):
        store.check_durability()
    with pytest.raises(StoreUnusableError, match="fsync=off"):
        store.jobs()


def test_a_reload_while_a_connection_is_made_is_found(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at is what the session keeps: it fixes synchronous_commit first."""
    fixed = postgres_session._SETTINGS
    monkeypatch.setattr(postgres_session, "_SETTINGS", f"SET synchronous_commit = off; {fixed}")
    with pytest.raises(StoreUnusableError, match="synchronous_commit=off"):
        PostgresStore(postgres_url)


def test_a_database_in_another_encoding_is_refused(postgres_server: EmbeddedPostgres, admin: Admin) -> None:
    """One without an encoding has no text that can be relied on: the error says that, and nothing else."""
    admin.execute("CREATE DATABASE anything ENCODING 'SQL_ASCII' TEMPLATE template0")
    try:
        with pytest.raises(StoreUnusableError, match=r"database is in SQL_ASCII.*createdb"):
            PostgresStore(postgres_server.url_of("anything"))
    finally:
        admin.execute("DROP DATABASE anything WITH (FORCE)")


def test_a_session_keeps_its_durability(store: PostgresStore, configure: Callable[[str, str], None]) -> None:
    """synchronous_commit, which a session may fix for itself, is fixed: a reload takes it from no open connection."""
    configure("synchronous_commit", "off")
    store.check_durability()
    with pytest.raises(StoreUnusableError, match="synchronous_commit=off"):
        store.session.connect()


# The clock.


def server_time(admin: Admin) -> float:
    """The server's own clock."""
    row = admin.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row is not None
    return float(row[0])


def test_the_clock_is_the_servers(store: PostgresStore, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """`now` is never behind the server's clock and at most LEAD ahead, whatever this machine takes the time to be."""
    monkeypatch.setattr("time.time", lambda: 0.0)
    for _ in range(20):
        before = server_time(admin)
        now = store.now()
        assert before <= now <= server_time(admin) + LEAD


def test_the_clock_is_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts from the sending; an answer that was longer under way than LEAD is not used."""
    counter = 50.0
    monkeypatch.setattr(postgres_clock, "counter", lambda: counter)
    clock = ServerClock()
    counter = 50.5
    assert clock.note(50.0, 1000.0)
    assert clock.now() == 1000.5
    counter = 60.0
    assert not clock.note(60.0 - LEAD - 0.1, 2000.0)
    assert clock.now() == 1010.0


def test_a_server_that_cannot_tell_the_time_in_time(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every answer is too slow there is no clock, and so no definite answer."""
    monkeypatch.setattr(postgres_clock, "LEAD", -1.0)
    with pytest.raises(StoreError, match="to tell the time"):
        store.check_durability()


def test_leases_end_by_the_servers_clock(store: PostgresStore, admin: Admin) -> None:
    """Expiry, renewal and release are the server's time, and what `claim` and `renew` answer tells the time anew."""
    before = server_time(admin)
    lease = store.claim("w1", 100)
    assert lease is not None
    assert before + 100 <= lease.expires_at <= server_time(admin) + 100
    assert store.claim("w2", 100) is None
    renewed = store.renew(lease, 200)
    assert before + 200 <= renewed.expires_at <= server_time(admin) + 200
    store.release(lease)
    again = store.claim("w2", 100)
    assert again is not None
    assert again.epoch == 2


def test_quiet_is_counted_from_a_bound_that_the_clock_cannot_pass_early(store: PostgresStore, admin: Admin) -> None:
    """A lease's end is handed on LEAD later than the server has it, since `now` may be as much ahead (T-QUIET)."""
    first = store.claim("w1", 100)
    assert first is not None
    store.release(first)
    second = store.claim("w2", 100)
    row = admin.execute("SELECT previous_expiry FROM crashwindow.leases").fetchone()
    assert second is not None
    assert row is not None
    assert second.previous_expiry == row[0] + LEAD


# Connections.


def test_a_lost_connection_is_no_answer(store: PostgresStore, admin: Admin) -> None:
    """Ended by the administrator, with several idle: the next call does not know, and the one after it has an answer."""
    both = threading.Barrier(2)

    def use() -> None:
        with store.session.connection():
            both.wait()

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    admin.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'crashwindow'")
    with pytest.raises(StoreError):
        store.append(JOB, 1, [event("e")], 1)
    assert store.append(JOB, 1, [event("e")], 1) == 2


@pytest.mark.parametrize("end", ["fast", "immediate", "kill"])
def test_a_server_that_is_gone_and_comes_back(
    store: PostgresStore, postgres_server: EmbeddedPostgres, end: str
) -> None:
    """However the server ends, the store does not know meanwhile; afterwards what was acknowledged is there."""
    assert store.append(JOB, 1, [event("e")], 1) == 2
    if end == "kill":
        postgres_server.kill()
    else:
        postgres_server.stop("fast" if end == "fast" else "immediate")
    for _ in range(2):
        with pytest.raises(StoreError):
            store.events(JOB)
    postgres_server.start()
    assert [each.id for each in store.events(JOB)] == ["c1", "e"]


def test_the_pool_is_bounded(postgres_url: str, admin: Admin) -> None:
    """Many threads use no more connections than were granted, and each gets its answer."""
    bounded = PostgresStore(postgres_url, connections=2)
    answers: list[bool] = []
    threads = [threading.Thread(target=lambda n=n: answers.append(bounded.submit(f"j{n}", CREATED))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    open_now = admin.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'crashwindow'").fetchone()
    bounded.close()
    assert answers == [True] * 8
    assert open_now is not None
    assert open_now[0] <= 2


def test_a_pool_that_is_used_up_is_no_answer(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits too long for a connection is told so; it is free again afterwards."""
    bounded = PostgresStore(postgres_url, connections=1)
    monkeypatch.setattr(postgres_session, "WAIT_SECONDS", 0.01)
    with bounded.session.connection(), pytest.raises(StoreError, match="every connection was in use"):
        bounded.jobs()
    assert bounded.jobs() == []
    bounded.close()


def test_a_forked_child_has_to_open_the_store_itself(store: PostgresStore) -> None:
    """A connection that two processes use would mix up their answers."""
    child = os.fork()
    if child == 0:
        try:
            store.jobs()
        except StoreUnusableError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(store.jobs()) == 1


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        *((code, StoreError) for code in ("08006", "40001", "40P01", "53100", "53300", "55P03", "57014", "57P01")),
        *((code, StoreError) for code in ("57P02", "57P03", "58030", "25P03")),
        *((code, StoreUnusableError) for code in ("25006", "28P01", "3D000", "42501", "42P01", "XX001", "XX002")),
        *((code, ValueError) for code in ("22021", "23505", "54000")),
    ],
)
def test_what_an_error_means(code: str, meaning: type[Exception]) -> None:
    """Lost, overloaded, disk full: not known. No rights, no database, damage: unusable. A bad value: the caller's."""
    found = translated(psycopg.errors.lookup(code)("said"), "name")
    assert type(found) is meaning
    assert "name: said" in str(found)


# Who is let in, and where.


def test_nobody_is_let_in_without_the_password(postgres_server: EmbeddedPostgres, postgres_url: str) -> None:
    """A wrong password, user or database is said at once, with the remedy, and the password is not repeated."""
    wrong = {
        postgres_url.replace(
            postgres_server.password, "s3cret"
        ): "password authentication failed.*check user and password",
        postgres_server.url_of("nowhere"): '"nowhere" does not exist.*createdb',
    }
    for url, words in wrong.items():
        with pytest.raises(StoreUnusableError, match=words) as refusal:
            PostgresStore(url)
        assert "s3cret" not in str(refusal.value)
        assert postgres_server.password not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:s3cret@x@h/d",
        "postgresql://u:s3/cret@h/d",
        "postgresql://u:12/s3cret@h/d",
        "postgresql://u:s3cret@h/d?what=x",
        "postgresql://u:s3cret@h:port/d",
        "postgresql://u:s3cret@[h/d",
    ],
)
def test_an_address_that_cannot_be_read(url: str) -> None:
    """It is a ValueError with the form that is expected, and without what may be a password."""
    with pytest.raises(ValueError, match="percent-encoded") as refusal:
        address(url, {})
    assert "cret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@h:1/d?sslmode=require", "postgresql://u@h:1/d?sslmode=require"),
        ("postgresql://u:se/cr@et@h/d", "postgresql://u@h/d"),
        ("postgresql://h/d?user=u&password=secret&x=1", "postgresql://h/d?user=u&password=…&x=1"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        ("memory:", "memory:"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    """What the commands print names the store and no secret."""
    assert without_password(url) == shown


def test_what_the_address_says_goes_before_our_defaults() -> None:
    """Parameters of libpq are the operator's; the name that is printed has no user or password."""
    given = address("postgresql://u:p@h:1/d?connect_timeout=77", {"connect_timeout": 5})
    assert "connect_timeout=77" in given.connect_with
    assert given.name == "postgresql://h:1/d"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://u:s3cret@h/d", "postgresql://h:7777/d"),
        ("postgresql://u:s3cret@/d", "postgresql://elsewhere:7777/d"),
        ("postgresql://u:s3cret@:1", "postgresql://elsewhere:1/u"),
        ("postgresql://u:s3cret@[::1]:1/d", "postgresql://[::1]:1/d"),
        ("postgresql://u:s3cret@h1:1,h2:2/d", "postgresql://h1:1,h2:2/d"),
        ("postgresql://u:s3cret@h1,[fe80::1]/d", "postgresql://h1:5432,[fe80::1]:5432/d"),
        ("postgresql://u:s3cret@%2Frun%2Fpg/d", "postgresql://%2Frun%2Fpg:7777/d"),
        ("postgresql:///d?service=mine", "postgresql:///?service=mine"),
    ],
)
def test_a_database_is_named_by_where_the_connection_goes(url: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the address leaves out is said by PGHOST and PGPORT; every host has its port, and no name a password."""
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PGPORT", "7777")
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    assert address(url, {}).name == name


def test_a_service_file_and_the_server_reached_are_named(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service's server is named once libpq has read the file, in failures too; of several hosts the one that answers."""
    given = conninfo_to_dict(postgres_url)
    place = "host=127.0.0.1\nport={}\ndbname={}\n"
    (tmp_path / "services").write_text(
        f"[there]\n{place.format(given['port'], given['dbname'])}[gone]\n{place.format(1, 'd')}"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    login = f"user={given['user']}&password={given['password']}"
    with pytest.raises(StoreError, match=r"^postgresql://127\.0\.0\.1:1/d: cannot connect"):
        PostgresStore(f"postgresql://?service=gone&{login}")
    where = f"postgresql://127.0.0.1:{given['port']}/{given['dbname']}"
    several = f"postgresql://127.0.0.1:1,127.0.0.1:{given['port']}/{given['dbname']}?{login}"
    for url in (f"postgresql://?service=there&{login}", several):
        store = PostgresStore(url)
        assert store.name == where
        store.close()


@pytest.mark.parametrize(
    ("parameters", "fine"),
    [
        ("sslmode=require", True),
        ("gssencmode=require", True),
        ("target_session_attrs=read-write", True),
        ("sslmode=bogus", False),
        ("target_session_attrs=bogus", False),
        ("service=bogus", False),
    ],
)
def test_parameters_are_tried_without_the_server(parameters: str, fine: bool) -> None:
    """libpq says so itself, before it connects to anybody."""
    assert legible(address(f"postgresql://u:p@192.0.2.1/d?{parameters}", {}).connect_with) is fine


# Migrations.


@pytest.fixture
def blank(postgres_server: EmbeddedPostgres, admin: Admin) -> Iterator[str]:
    """A database without our tables."""
    admin.execute("CREATE DATABASE blank")
    yield postgres_server.url_of("blank")
    admin.execute("DROP DATABASE blank WITH (FORCE)")


def test_a_reader_makes_nothing(blank: str) -> None:
    """A database without our schema is refused where it is only to be looked at, and stays as it is."""
    with pytest.raises(StoreUnusableError, match="no crashwindow store"):
        PostgresStore(blank, make=False)
    with psycopg.connect(blank) as connection:
        assert connection.execute("SELECT to_regnamespace('crashwindow')").fetchone() == (None,)


def test_many_that_come_at_once_make_one_store(blank: str) -> None:
    """Several processes that open an empty database at the same time find the tables, made once."""
    errors: list[BaseException] = []

    def come() -> None:
        try:
            PostgresStore(blank).close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=come) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with psycopg.connect(blank) as connection:
        rows = connection.execute("SELECT version FROM crashwindow.schema_version").fetchall()
    assert rows == [(version + 1,) for version in range(len(postgres_schema.MIGRATIONS))]


def test_a_later_release_adds_what_is_missing(blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data stay; a migration that fails leaves nothing of itself; the release before refuses what came after it."""
    before = PostgresStore(blank)
    before.submit(JOB, CREATED)
    before.close()
    shipped = postgres_schema.MIGRATIONS
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", (*shipped, ("CREATE TABLE more (x int)", "SELECT nonsense")))
    with pytest.raises(StoreUnusableError, match="nonsense"):
        PostgresStore(blank)
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", (*shipped, ("CREATE TABLE more (x int)",)))
    after = PostgresStore(blank)
    assert len(after.jobs()) == 1
    after.close()
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", shipped)
    with pytest.raises(StoreUnusableError, match=f"schema version {len(shipped) + 1}.*knows {len(shipped)}"):
        PostgresStore(blank)


def test_a_migration_may_take_long(blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds a write bounds no upgrade of a database of many jobs; afterwards it bounds writes again."""
    noted = "CREATE TABLE crashwindow.noted AS SELECT current_setting('statement_timeout') AS bound"
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", (*postgres_schema.MIGRATIONS, (noted,)))
    store = PostgresStore(blank)
    with store.session.connection() as connection:
        assert connection.execute("SELECT bound FROM noted").fetchone() == ("0",)
        assert connection.execute("SHOW statement_timeout").fetchone() == ("30s",)
    store.close()


def test_a_schema_that_an_administrator_has_made_is_filled(blank: str, admin: Admin) -> None:
    """Who owns the schema needs no right to make one, as the remedy of a refusal says; without either it is refused."""
    admin.execute("CREATE ROLE tenant LOGIN PASSWORD 'tenant'")
    url = re.sub("//.*@", "//tenant:tenant@", blank)
    with pytest.raises(StoreUnusableError, match="CREATE on the database, or ownership of schema crashwindow"):
        PostgresStore(url)
    with psycopg.connect(blank, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA crashwindow AUTHORIZATION tenant")
        store = PostgresStore(url)
        store.submit(JOB, CREATED)
        assert [job.job_id for job in store.jobs()] == [JOB]
        store.close()
        connection.execute("DROP SCHEMA crashwindow CASCADE")
    admin.execute("DROP ROLE tenant")


def test_a_table_that_a_crash_would_empty_is_refused(blank: str) -> None:
    """An UNLOGGED table loses all at the server's next crash: found when the store is opened, and by the worker's check."""
    store = PostgresStore(blank)
    with psycopg.connect(blank, autocommit=True) as connection:
        connection.execute("ALTER TABLE crashwindow.ledger SET UNLOGGED")
    with pytest.raises(StoreUnusableError, match=r"UNLOGGED.*Remedy"):
        store.check_durability()
    store.close()
    with pytest.raises(StoreUnusableError, match="UNLOGGED"):
        PostgresStore(blank)


# Announcements.


def test_what_opens_a_job_is_announced(store: PostgresStore, admin: Admin) -> None:
    """Submitting, requeueing and asking for a cancel are, in their own transaction; other events, repeats, refusals are not."""
    admin.execute(f"LISTEN {WAKE_CHANNEL}".encode())

    def heard() -> int:
        admin.execute(f"NOTIFY {WAKE_CHANNEL}, 'end'".encode())
        count = 0
        for said in admin.notifies():
            if said.payload == "end":
                break
            count += 1
        return count

    def told(write: Callable[[], object]) -> int:
        write()
        return heard()

    assert told(lambda: store.submit("new", CREATED)) == 1
    assert told(lambda: store.submit("new", CREATED)) == 0
    assert told(lambda: store.append(JOB, 1, [event("p", "job_parked")], None)) == 0
    assert told(lambda: store.append(JOB, 2, [event("s", "signal_received"), event("q", "job_requeued")], None)) == 1
    assert told(lambda: store.append(JOB, 4, [event("e")], 1)) == 0
    assert told(lambda: store.append(JOB, 5, [event("c", "cancel_requested")], None)) == 1


def test_a_worker_that_waits_is_woken(store: PostgresStore, admin: Admin) -> None:
    """`wait` ends at an announcement, also at one that came between two calls; and after its time where there is none."""
    wakes = wakes_of(store)
    assert wakes is not None
    wakes.wait(0.0)
    store.submit("before", CREATED)
    wakes.wait(600.0)
    wakes.wait(0.01)
    waiting = threading.Thread(target=wakes.wait, args=(600.0,))
    waiting.start()
    store.submit("during", CREATED)
    waiting.join()
    admin.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'crashwindow'")
    with pytest.raises(StoreError):
        wakes.wait(600.0)
    wakes.wait(0.0)
    wakes.close()
