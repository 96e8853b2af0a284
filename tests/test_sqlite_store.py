"""What only the SQLite store has: a file (damaged, locked, full, not ours), several processes, the worker lock."""

import os
import pickle
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from crashwindow.runtime import sqlite_schema
from crashwindow.runtime import sqlite_statements as sql
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.records import EffectRecord, Invocation, Lease, NewEvent
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.store import StaleEpoch, Store, StoreError, StoreUnusableError, VersionConflict

JOB = "job-1"
CREATED = (NewEvent("c1", "job_created", None, {}), NewEvent("c2", "plan_generated", None, {"plan": {}}))
NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the store's file is, or will be."""
    return tmp_path / "store.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqliteStore]:
    """A store with one open job."""
    made = SqliteStore(file)
    made.submit(JOB, CREATED)
    yield made
    made.close()


@pytest.fixture
def made(file: Path) -> Path:
    """The file of a closed store with one open job. A test that forks must not have it open."""
    with closing(SqliteStore(file)) as store:
        store.submit(JOB, CREATED)
    return file


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


class Child:
    """A forked process that runs a function; it may kill itself, or be killed."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(self._reader)
                try:
                    answer = work()
                except Exception as error:
                    answer = error
                os.write(writer, pickle.dumps(answer))
                status = 0
            finally:
                os._exit(status)
        os.close(writer)

    def answer(self) -> Any:
        """What the function returned or raised; for a process that died, the signal's negative number."""
        with os.fdopen(self._reader, "rb") as reader:
            said = reader.read()
        _, status = os.waitpid(self.pid, 0)
        return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else pickle.loads(said)


@contextmanager
def living(work: Callable[[], object]) -> Iterator[int]:
    """The id of a forked process that has run a function, and lives until the block ends."""
    reader, writer = os.pipe()

    def work_and_wait() -> None:
        work()
        os.write(writer, b"!")
        while True:
            signal.pause()

    child = Child(work_and_wait)
    os.close(writer)
    try:
        assert os.read(reader, 1) == b"!"
        yield child.pid
    finally:
        os.close(reader)
        os.kill(child.pid, signal.SIGKILL)
        assert child.answer() == -signal.SIGKILL


def invocation(epoch: int, owner: str = "w", key: str = "k") -> Invocation:
    """The record that B1 writes."""
    return Invocation(JOB, key, "inv", "s", "mail", "a", "INFLIGHT", owner, epoch)


def effect() -> EffectRecord:
    """The record that B4 writes."""
    return EffectRecord(JOB, "k", "s", "tool", {}, "sent", "i", "o", (), {})


def change(file: Path, *statements: str) -> None:
    """Change a store's file behind its back."""
    connection = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


# Durability.


def test_what_was_written_is_there_after_reopening(file: Path, store: SqliteStore) -> None:
    """Events, records, fences and leases are in the file."""
    lease = store.claim("w", 10)
    assert lease is not None
    store.fence_events(JOB, 1)
    store.fence_ledger(JOB, 1)
    store.fence_effects(JOB, 1)
    store.acquire(invocation(1))
    store.put_effect(effect(), 1)
    before = store.events(JOB), store.ledger(JOB), store.effects(JOB), store.jobs()
    store.close()
    again = SqliteStore(file)
    assert (again.events(JOB), again.ledger(JOB), again.effects(JOB), again.jobs()) == before
    for stale in (lambda: again.append(JOB, 2, CREATED[:1], 0), lambda: again.put_effect(effect(), 0)):
        with pytest.raises(StaleEpoch):
            stale()
    again.close()


@pytest.mark.parametrize("weak", ["OFF", "NORMAL"])
def test_weak_synchronous_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch, weak: str) -> None:
    """A store whose commits may be lost is refused at open, and says that the effect can happen twice."""
    monkeypatch.setattr(sqlite_schema, "SET_SYNCHRONOUS", f"PRAGMA synchronous={weak}")
    with pytest.raises(StoreUnusableError, match=r"store\.db.*synchronous=\d.*power loss.*effect can happen twice"):
        SqliteStore(file)


def test_extra_synchronous_is_strong_enough(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EXTRA is stronger than FULL, so it is taken."""
    monkeypatch.setattr(sqlite_schema, "SET_SYNCHRONOUS", "PRAGMA synchronous=EXTRA")
    SqliteStore(file).close()


def test_a_file_that_is_not_in_wal_mode_is_refused(file: Path, store: SqliteStore) -> None:
    """A file that another program took out of WAL is refused, with the way back, which works."""
    store.close()
    change(file, "PRAGMA journal_mode=DELETE")
    with pytest.raises(StoreUnusableError, match="journal_mode=delete"):
        SqliteStore(file)
    change(file, "PRAGMA journal_mode=WAL")
    SqliteStore(file).close()


def test_a_worker_checks_durability_again(store: SqliteStore) -> None:
    """`worker_lock` looks again: a setting that was weakened after opening stops the worker before it starts."""
    store._session._connection.execute("PRAGMA synchronous=NORMAL")
    with pytest.raises(StoreUnusableError, match="synchronous=1"):
        store.worker_lock()


# Whose file.


def test_another_schema_version_is_refused(file: Path, store: SqliteStore) -> None:
    """The message names the file, the version found, the one expected, and a remedy; the file stays as it is."""
    store.close()
    change(file, "PRAGMA user_version=99")
    content = file.read_bytes()
    with pytest.raises(StoreUnusableError, match=r"store\.db: schema version 99, expected 3: use the release"):
        SqliteStore(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("identity", [(), ("PRAGMA application_id=7",), ("PRAGMA user_version=1",)])
def test_a_database_of_another_program_is_refused(file: Path, identity: tuple[str, ...]) -> None:
    """A database that we did not make is refused, and not even its journal mode is changed."""
    change(file, "CREATE TABLE theirs (a)", *identity)
    content = file.read_bytes()
    with pytest.raises(StoreUnusableError, match=r"store\.db: not a crashwindow store"):
        SqliteStore(file)
    assert file.read_bytes() == content


def test_an_empty_file_becomes_a_store(file: Path) -> None:
    """A file of no bytes, as a crash leaves it that struck while the store was made, is made into a store."""
    file.touch()
    made = SqliteStore(file)
    assert made.submit(JOB, CREATED)
    made.close()


@pytest.mark.parametrize("path", ["", ":memory:", "file:store.db?immutable=1", "file:///x/store.db"])
def test_what_is_not_a_plain_path_is_refused(path: str) -> None:
    """Without a file, or with URI options, there is no WAL that another process respects."""
    with pytest.raises(StoreUnusableError, match="give a path"):
        SqliteStore(path)


def test_an_old_sqlite_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library without STRICT tables is named with its version, instead of a syntax error."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreUnusableError, match=r"needs 3\.37\.0 or later"):
        SqliteStore(file)


# Damage.


def test_a_file_that_is_no_database_is_refused(file: Path) -> None:
    """Garbage is named, with the remedy, and stays as it is."""
    file.write_bytes(b"no database at all " * 100)
    with pytest.raises(StoreUnusableError, match=r"store\.db: .*backup.*integrity_check"):
        SqliteStore(file)
    assert file.read_bytes() == b"no database at all " * 100


def test_a_truncated_file_is_refused(file: Path, store: SqliteStore) -> None:
    """A file that lost its end is refused at open or at the first read, with the remedy."""
    store.close()
    file.write_bytes(file.read_bytes()[:6000])

    def use() -> None:
        SqliteStore(file).events(JOB)

    with pytest.raises(StoreUnusableError, match=r"store\.db: .*backup.*integrity_check"):
        use()


def test_damage_that_shows_later_is_named(file: Path, store: SqliteStore) -> None:
    """A page that turns out broken during a write or a read is no "repeat, please", but unusable, with the remedy."""
    roots = [row[0] for row in store._session._connection.execute("SELECT rootpage FROM sqlite_schema")]
    store.close()
    pages = bytearray(file.read_bytes())
    for root in roots:
        pages[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    file.write_bytes(pages)
    damaged = SqliteStore(file)
    for use in (lambda: damaged.events(JOB), lambda: damaged.append(JOB, 2, CREATED, 1), lambda: damaged.ledger(JOB)):
        with pytest.raises(StoreUnusableError, match=r"store\.db: .*backup"):
            use()
    damaged.close()


@pytest.mark.parametrize("content", ["'{'", "CAST(x'ff22' AS TEXT)"])
def test_damage_inside_a_value_is_named(file: Path, store: SqliteStore, content: str) -> None:
    """Stored text that is not JSON, or not UTF-8, is damage too."""
    change(file, f"UPDATE events SET data = {content} WHERE version = 1")
    with pytest.raises(StoreUnusableError, match=r"store\.db: damaged content"):
        store.events(JOB)


def test_changed_tables_are_named(file: Path, store: SqliteStore) -> None:
    """A table that is gone is unusable, not a write to be repeated."""
    change(file, "DROP TABLE leases")
    with pytest.raises(StoreUnusableError, match=r"no such table: leases.*another program"):
        store.claim("w", 10)


# Rights, locks, space.


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    """The directory is not made on the user's behalf: a typing error would start a second, empty store."""
    with pytest.raises(StoreUnusableError, match=r"none/store\.db: .*directory must exist"):
        SqliteStore(tmp_path / "none" / "store.db")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("what", ["file", "directory", "new file"])
def test_what_may_not_be_written_is_refused_at_open(open_directory: Path, what: str) -> None:
    """A read-only file, or a read-only directory, where WAL has no place, is refused before anything runs."""
    path = open_directory / "store.db"
    if what != "new file":
        SqliteStore(path).close()
    path.parent.chmod(0o777 if what == "file" else 0o555)
    if path.exists():
        path.chmod(0o444 if what == "file" else 0o666)

    def use() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setuid(NOBODY)
        SqliteStore(path)

    error = Child(use).answer()
    path.parent.chmod(0o755)
    assert isinstance(error, StoreUnusableError)
    assert str(path) in str(error)
    assert "writ" in str(error)


@pytest.fixture
def locked(file: Path) -> Iterator[Callable[[], None]]:
    """A function that makes another process hold the file's write lock until the test ends."""
    script = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute(f'PRAGMA locking_mode={sys.argv[2]}')\n"
        "connection.execute('BEGIN IMMEDIATE')\n"
        "connection.execute('CREATE TABLE IF NOT EXISTS held (a)')\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    holders: list[subprocess.Popen[str]] = []

    def lock(mode: str = "NORMAL") -> None:
        command = [sys.executable, "-c", script, str(file), mode]
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        holders.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

    yield lock
    for holder in holders:
        holder.communicate()


def test_a_write_that_finds_the_file_locked_is_not_known(
    file: Path, store: SqliteStore, locked: Callable[..., None]
) -> None:
    """While another process writes for too long, each write is a StoreError that names the file; reading goes on."""
    impatient = SqliteStore(file, busy_seconds=0.01)
    before = impatient.events(JOB)
    locked()
    for write in (
        lambda: impatient.submit("job-2", CREATED),
        lambda: impatient.claim("w", 10),
        lambda: impatient.release(Lease(JOB, "w", 0, 0.0, 0.0)),
        lambda: impatient.fence_events(JOB, 1),
        lambda: impatient.fence_ledger(JOB, 1),
        lambda: impatient.fence_effects(JOB, 1),
        lambda: impatient.append(JOB, 2, [NewEvent("e", "t", None, {})], 1),
        lambda: impatient.acquire(invocation(1)),
        lambda: impatient.settle(JOB, "k", 1, "UNKNOWN"),
        lambda: impatient.put_effect(effect(), 1),
    ):
        with pytest.raises(StoreError, match=r"store\.db: database is locked"):
            write()
    assert impatient.events(JOB) == before
    assert impatient.jobs() == store.jobs()
    impatient.close()


def test_a_store_waits_for_anothers_write(made: Path) -> None:
    """A write that another process holds up for a moment succeeds."""

    def hold() -> None:
        connection = sqlite3.connect(made, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        signal.signal(signal.SIGALRM, lambda *_: connection.commit())
        signal.setitimer(signal.ITIMER_REAL, 0.1)

    with living(hold), closing(SqliteStore(made)) as store:
        begin = time.monotonic()
        assert store.append(JOB, 2, [NewEvent("e", "t", None, {})], None) == 3
        assert time.monotonic() - begin > 0.02


def test_making_a_store_waits_for_a_rival(file: Path) -> None:
    """A new file that another process locks for a moment, as one that makes the store does, is no error."""

    def hold() -> None:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        signal.signal(signal.SIGALRM, lambda *_: connection.rollback())
        signal.setitimer(signal.ITIMER_REAL, 0.1)

    with living(hold), closing(SqliteStore(file)) as store:
        assert store.submit(JOB, CREATED)


@pytest.mark.parametrize("whole", [True, False])
def test_a_file_that_is_locked_entirely_is_refused_at_open(
    file: Path, locked: Callable[..., None], whole: bool
) -> None:
    """A file that another process keeps to itself, a store already or not, is named at open."""
    if whole:
        SqliteStore(file).close()
    locked("EXCLUSIVE")
    with pytest.raises(StoreUnusableError, match=r"store\.db: locked by another process"):
        SqliteStore(file, busy_seconds=0.05)


def fill(store: Store) -> tuple[int, Exception]:
    """Append large events until the store says no: the version reached, and the error."""
    version = 2
    while True:
        try:
            batch = [NewEvent(f"{version}.{n}", "t", None, {"text": "x" * 20_000}) for n in range(2)]
            version = store.append(JOB, version, batch, 1)
        except Exception as error:
            return version, error


def test_a_full_disk_is_not_known_and_leaves_no_half_batch(store: SqliteStore) -> None:
    """A write for which there is no room is a StoreError, leaves nothing, and succeeds when there is room again."""
    connection = store._session._connection
    connection.execute("PRAGMA max_page_count=100")
    version, error = fill(store)
    assert isinstance(error, StoreError)
    assert "full" in str(error)
    assert version == len(store.events(JOB)) == store.jobs()[0].version > 2
    connection.execute("PRAGMA max_page_count=100000")
    assert store.append(JOB, version, [NewEvent(f"{version}.0", "t", None, {})], 1) == version + 1


def test_a_failing_write_to_the_file_is_not_known(made: Path) -> None:
    """When the file may not grow, the write is a StoreError, and afterwards the file holds what was acknowledged."""

    def use() -> tuple[int, Exception]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        return fill(SqliteStore(made))

    version, error = Child(use).answer()
    assert isinstance(error, StoreError)
    assert str(made) in str(error)
    with closing(SqliteStore(made)) as store:
        assert version == len(store.events(JOB)) == store.jobs()[0].version > 2


def test_no_room_to_make_a_store_is_refused_at_open(file: Path) -> None:
    """A new file for which there is no room is refused, and nothing looks like a store afterwards."""

    def use() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))
        SqliteStore(file)

    error = Child(use).answer()
    assert isinstance(error, StoreUnusableError)
    assert "check the disk" in str(error)
    SqliteStore(file).close()


def test_a_value_that_is_too_big_is_a_value_error(store: SqliteStore) -> None:
    """Repeating would not help, so it is no StoreError."""
    store._session._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    with pytest.raises(ValueError, match="too big"):
        store.append(JOB, 2, [NewEvent("e", "t", None, {"text": "x" * 2000})], 1)
    assert len(store.events(JOB)) == 2


# Processes.


def test_a_forked_child_may_not_use_its_parents_store(store: SqliteStore) -> None:
    """An inherited store refuses, naming both processes, and closing it harms nobody; the parent's still works."""

    def use() -> None:
        store.close()
        store.jobs()

    child = Child(use)
    error = child.answer()
    assert isinstance(error, StoreUnusableError)
    assert str(os.getpid()) in str(error)
    assert str(child.pid) in str(error)
    assert store.append(JOB, 2, [NewEvent("e", "t", None, {})], None) == 3


def test_a_forked_child_may_not_open_what_its_parent_has_open(file: Path, store: SqliteStore) -> None:
    """SQLite would believe that the child holds the parent's locks; other files, and a closed one, may be opened."""
    link = file.parent / "link.db"
    link.symlink_to(file)
    error = Child(lambda: SqliteStore(link)).answer()
    assert isinstance(error, StoreUnusableError)
    assert "close it before" in str(error)
    other = file.parent / "other.db"
    assert Child(lambda: SqliteStore(other).jobs()).answer() == []
    store.close()
    assert Child(lambda: len(SqliteStore(file).jobs())).answer() == 1


def test_memory_is_not_shared_between_processes() -> None:
    """The memory store refuses each call of another process and names the remedy."""
    memory = MemoryStore()
    memory.submit(JOB, CREATED)
    for call in (memory.jobs, memory.now, lambda: memory.claim("w", 1), lambda: memory.events(JOB)):
        error = Child(call).answer()
        assert isinstance(error, StoreUnusableError)
        assert "not shared between processes" in str(error)
        assert "sqlite:///path" in str(error)


def at_once(file: Path, use: Callable[[SqliteStore, str], object], wait: float = 0.1) -> list[Any]:
    """The answers of four processes that open and use one file at the same moment, some seconds from now."""
    begin = time.monotonic() + wait

    def work(owner: str) -> object:
        while time.monotonic() < begin:
            pass
        return use(SqliteStore(file), owner)

    children = [Child(lambda n=n: work(f"w{n}")) for n in range(4)]  # type: ignore[misc]
    return [child.answer() for child in children]


@pytest.mark.parametrize("turns", [4, pytest.param(12, marks=pytest.mark.deep)])
def test_processes_make_one_store(turns: int, tmp_path: Path) -> None:
    """Processes that open a new file at the same moment all get a whole store, and it is the same one."""
    for turn in range(turns):
        path = tmp_path / f"{turn}.db"
        assert at_once(path, lambda mine, owner: mine.submit(owner, CREATED), wait=0.03) == [True] * 4
        with closing(SqliteStore(path)) as store:
            assert len(store.jobs()) == 4


def test_of_many_processes_one_acquires(made: Path) -> None:
    """B1 is atomic between processes: of four owners at one epoch exactly one gets each of many steps."""

    def use(mine: SqliteStore, owner: str) -> list[str]:
        won = []
        for n in range(50):
            try:
                won.append(mine.acquire(invocation(1, owner, f"k{n}")).idempotency_key)
            except StaleEpoch:
                continue
        return won

    winners = at_once(made, use)
    with closing(SqliteStore(made)) as store:
        assert sorted(key for won in winners for key in won) == sorted(store.ledger(JOB))
        assert len(store.ledger(JOB)) == 50


def test_of_many_processes_one_appends(made: Path) -> None:
    """The append is compare-and-set between processes: each version is won by one, and nobody's event is lost."""

    def use(mine: SqliteStore, owner: str) -> list[int]:
        won = []
        for expected in range(2, 42):
            while len(mine.events(JOB)) < expected:
                time.sleep(0.0002)
            try:
                won.append(mine.append(JOB, expected, [NewEvent(f"{owner}.{expected}", "t", None, {})], None))
            except VersionConflict:
                continue
        return won

    assert sorted(version for won in at_once(made, use) for version in won) == list(range(3, 43))
    with closing(SqliteStore(made)) as store:
        assert len(store.events(JOB)) == 42


def test_of_many_processes_one_claims(made: Path) -> None:
    """B0 is atomic between processes: each job goes to one owner, at epoch 1."""
    with closing(SqliteStore(made)) as store:
        for n in range(2, 21):
            store.submit(f"job-{n}", CREATED)

    def use(mine: SqliteStore, owner: str) -> list[Lease]:
        leases = [mine.claim(f"{owner}.{n}", 60) for n in range(20)]
        return [lease for lease in leases if lease]

    leases = [lease for taken in at_once(made, use) for lease in taken]
    with closing(SqliteStore(made)) as store:
        assert sorted(lease.job_id for lease in leases) == sorted(row.job_id for row in store.jobs())
    assert {lease.epoch for lease in leases} == {1}


# Crashes.


@pytest.mark.parametrize("statement", ["INSERT INTO events", "COMMIT"])
def test_a_process_killed_within_a_batch_leaves_nothing_of_it(made: Path, statement: str) -> None:
    """SIGKILL before the second event, or before the commit: no event, no new version, and the batch can be written."""
    batch = [NewEvent("e3", "t", None, {}), NewEvent("end", "job_completed", None, {})]

    def use() -> None:
        mine = SqliteStore(made)
        seen = 0

        def strike(running: str) -> None:
            nonlocal seen
            seen += running.startswith(statement)
            if seen == (2 if statement.startswith("INSERT") else 1):
                os.kill(os.getpid(), signal.SIGKILL)

        mine._session._connection.set_trace_callback(strike)
        mine.append(JOB, 2, batch, 1)

    assert Child(use).answer() == -signal.SIGKILL
    with closing(SqliteStore(made)) as store:
        assert [event.id for event in store.events(JOB)] == ["c1", "c2"]
        assert [(row.status, row.version) for row in store.jobs()] == [("open", 2)]
        assert store.append(JOB, 2, batch, 1) == 4


def test_a_process_killed_while_it_makes_the_store_leaves_nothing_wrong(file: Path) -> None:
    """SIGKILL at each statement of the making: the next process makes the store, whole."""

    def use(count: int) -> None:
        seen = 0

        def strike(_: str) -> None:
            nonlocal seen
            seen += 1
            if seen > count:
                os.kill(os.getpid(), signal.SIGKILL)

        connect = sqlite3.connect

        def traced(*args: Any, **named: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **named)
            connection.set_trace_callback(strike)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]
        SqliteStore(file).close()

    count = 0
    while Child(lambda: use(count)).answer() == -signal.SIGKILL:  # noqa: B023 (it has ended before the next turn)
        with closing(SqliteStore(file)) as store:
            assert store.submit(JOB, CREATED)
        for left in file.parent.iterdir():
            left.unlink()
        count += 1
    assert count > len(sqlite_schema.TABLES)


# The worker lock.


def test_one_file_has_one_worker(made: Path) -> None:
    """A second worker is refused and told who the first is, while other commands use the file."""
    with living(lambda: keep(SqliteStore(made)).worker_lock()) as first, closing(SqliteStore(made)) as store:
        with pytest.raises(StoreUnusableError, match=f"another worker, process {first}, works on this file") as refusal:
            store.worker_lock()
        assert str(made) in str(refusal.value)
        assert store.submit("job-2", CREATED)
        assert len(store.jobs()) == 2


KEPT: list[SqliteStore] = []


def keep(store: SqliteStore) -> SqliteStore:
    """Keep a store open until the process ends."""
    KEPT.append(store)
    return store


def test_closing_frees_the_lock(file: Path, store: SqliteStore) -> None:
    """The lock is held through a repeated call, and by nobody after `close`."""
    store.worker_lock()
    store.worker_lock()
    with closing(SqliteStore(file)) as other:
        with pytest.raises(StoreUnusableError, match=f"process {os.getpid()}"):
            other.worker_lock()
        store.close()
        other.worker_lock()


def test_links_and_directories_do_not_hide_the_lock(
    file: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same file by another name, or by a relative one from elsewhere, has the same lock."""
    link = file.parent / "link.db"
    link.symlink_to(file)
    monkeypatch.chdir(file.parent)
    others = [SqliteStore("store.db"), SqliteStore(link)]
    monkeypatch.chdir("/")
    store.worker_lock()
    for other in others:
        with closing(other), pytest.raises(StoreUnusableError, match="another worker"):
            other.worker_lock()


def test_the_lock_ends_with_a_killed_process(made: Path) -> None:
    """SIGKILL frees the lock, and the next worker takes the job at once, bounded by now, not by the old expiry."""

    def work() -> None:
        mine = SqliteStore(made, now=lambda: 1000.0)
        mine.worker_lock()
        mine.claim("w1", 3600)
        os.kill(os.getpid(), signal.SIGKILL)

    assert Child(work).answer() == -signal.SIGKILL
    with closing(SqliteStore(made, now=lambda: 1005.0)) as store:
        assert store.claim("w2", 10) is None
        store.worker_lock()
        assert store.claim("w2", 10) == Lease(JOB, "w2", 2, 1015.0, 1005.0)


def test_a_program_that_the_worker_starts_does_not_keep_the_lock(made: Path) -> None:
    """A tool's subprocess that outlives the worker does not lock the next worker out."""

    def work() -> int:
        keep(SqliteStore(made)).worker_lock()
        return subprocess.Popen(["sleep", "60"], close_fds=False, stdout=subprocess.DEVNULL).pid

    outliving = Child(work).answer()
    with closing(SqliteStore(made)) as store:
        store.worker_lock()
    os.kill(outliving, signal.SIGTERM)


def test_the_lock_does_not_end_living_leases(file: Path) -> None:
    """A lease under this holding of the lock, or one taken without it, keeps other owners out until it expires."""
    time_now = [1000.0]
    first = SqliteStore(file, now=lambda: time_now[0])
    for name in ("a", "b"):
        first.submit(name, CREATED)
    assert first.claim("client", 100) == Lease("a", "client", 1, 1100.0, 0.0)
    first.worker_lock()
    assert first.claim("w1", 10) == Lease("b", "w1", 1, 1010.0, 0.0)
    assert first.claim("w2", 10) is None
    time_now[0] = 1010.0
    assert first.claim("w2", 10) == Lease("b", "w2", 2, 1020.0, 1010.0)
    first.close()


def test_a_lock_that_cannot_be_opened_is_named(file: Path, store: SqliteStore) -> None:
    """Where the lock file cannot be, the worker is refused, with the path."""
    file.with_name("store.db.worker").mkdir()
    with pytest.raises(StoreUnusableError, match=r"store\.db\.worker: cannot be opened"):
        store.worker_lock()


# Speed.


@pytest.mark.parametrize(("statement", "index"), [(sql.OPEN_JOBS, "jobs_open"), (sql.WAITING_JOBS, "jobs_waiting")])
def test_a_page_uses_an_index(store: SqliteStore, statement: str, index: str) -> None:
    """A page of open or waiting jobs is found by index and nothing is sorted: it costs the same after a million closed jobs."""
    values = (0, 100, "tenure")[: statement.count("?")]
    plan = [row[3] for row in store._session._connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert f"USING INDEX {index}" in plan[0].replace("COVERING ", "")
    assert not any("SCAN" in line or "B-TREE" in line for line in plan)


@pytest.mark.parametrize(("statement", "values"), [(sql.CLAIM_OLDEST, 4), (sql.CLAIM_ONE, 5)])
def test_claim_uses_an_index(store: SqliteStore, statement: str, values: int) -> None:
    """B0 finds open jobs and leases by index and sorts nothing: it costs the same after a million closed jobs."""
    connection = store._session._connection
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", ("w",) * values)]
    by_index = (
        "SEARCH j USING INDEX jobs_open",
        "SEARCH j USING INDEX sqlite_autoindex_jobs_1",
        "SEARCH l USING PRIMARY KEY",
    )
    assert len(plan) == 2
    assert all(line.startswith(by_index) for line in plan)


@pytest.mark.parametrize(("statement", "values", "written"), [(sql.ADVANCE, 5, 0), (sql.ADVANCE_TO, 6, 2)])
def test_a_status_that_stays_is_not_written(store: SqliteStore, statement: str, values: int, written: int) -> None:
    """Hardly any batch changes its job's status: all others leave the indexes by status as they are (decision 040)."""
    with store.session as connection:
        program = connection.execute(f"EXPLAIN {statement}", (None,) * values).fetchall()
    assert sum(operation == "IdxDelete" for _, operation, *_ in program) == written
