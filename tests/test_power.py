"""Power loss: the recording is what happened, the images are what the model allows, FULL survives, weaker settings do not."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crashwindow.checkers import power_stage
from crashwindow.checkers.cli import replay_power
from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_run import STORE, memory_directory
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.power import Sweep, parse_key, replay, sweep
from crashwindow.checkers.power_images import (
    Bounds,
    Disk,
    Image,
    Survival,
    Tear,
    image_at,
    images,
    parse_survival,
)
from crashwindow.checkers.power_judge import LOST, MORE, UNUSABLE, Court
from crashwindow.checkers.power_operations import (
    Created,
    DirectorySynced,
    Entry,
    Operation,
    Removed,
    Renamed,
    Synced,
    Written,
)
from crashwindow.checkers.power_record import Recording, contents
from crashwindow.checkers.power_run import MODES, Run, record
from crashwindow.checkers.verify import Context
from crashwindow.runtime.errors import CommandError
from crashwindow.runtime.sqlite_store import SqliteStore

BETWEEN = Bounds(exhaustive=0, shapes=4, tears=0, between=True)
"""Losses between two calls of the store."""
ALL = Bounds(exhaustive=12, shapes=1, tears=99)


@pytest.fixture(scope="module")
def full() -> Run:
    """A job at synchronous=FULL."""
    return record("ok-park", "full")


@pytest.fixture(scope="module")
def sweeps() -> dict[str, Sweep]:
    """The same in each mode, and its images."""
    return {mode: sweep("ok-park", mode, BETWEEN) for mode in MODES}


def entries_of(*operations: Operation | None) -> list[Entry]:
    """A recording of these, during which nothing was acknowledged."""
    return [Entry(operation, "call", 0, (), None) for operation in operations]


def left(*operations: Operation | None, bounds: Bounds = ALL) -> set[tuple[tuple[str, bytes], ...]]:
    """What a power loss at the end of these may leave."""
    disk = Disk()
    for number, entry in enumerate(entries_of(*operations)):
        disk.take(number, entry)
    return {tuple(sorted(disk.image(0, each).files.items())) for each in disk.survivals(bounds)}


# The fault model.


def test_what_was_synced_is_there() -> None:
    """After syncs of the file and of its directory there is one image; the content alone may still be without a name."""
    made, written = Created("f", 0), Written(0, 0, b"data")
    assert left(made, written, Synced(0), DirectorySynced()) == {(("f", b"data"),)}
    assert left(made, written, Synced(0)) == {(), (("f", b"data"),)}


def test_what_was_not_synced_is_there_in_any_subset() -> None:
    """Two unsynced writes leave four files, and zeros where what was lost had lengthened the file."""
    begun = (Created("f", 0), DirectorySynced())
    found = {files[0][1] for files in left(*begun, Written(0, 0, b"a"), Written(0, 1, b"b"))}
    assert found == {b"", b"a", b"\0b", b"ab", b"\0\0"}


def test_writes_of_one_place_keep_their_order() -> None:
    """A later write is never under an earlier one."""
    begun = (Created("f", 0), DirectorySynced())
    found = {files[0][1] for files in left(*begun, Written(0, 0, b"ab"), Written(0, 0, b"c"))}
    assert found == {b"", b"ab", b"c", b"cb", b"\0\0"}


def test_a_name_keeps_a_prefix_of_its_history() -> None:
    """A removed file may be back, with its content; a new one of its name is not there unless the removal is."""
    old = (Created("f", 0), Written(0, 0, b"old"), Synced(0), DirectorySynced())
    new = (Removed("f"), Created("f", 1), Written(1, 0, b"new"), Synced(1))
    assert left(*old, *new) == {(("f", b"old"),), (), (("f", b"new"),)}
    assert left(*old, *new, DirectorySynced()) == {(("f", b"new"),)}


def test_a_renaming_is_there_or_not() -> None:
    """A file that takes another's name has one of the two, and the other is there as it was; a sync of the directory decides."""
    old = (Created("f", 0), Written(0, 0, b"old"), Synced(0), DirectorySynced())
    new = (Created("t", 1), Written(1, 0, b"new"), Synced(1))
    before, between, after = (("f", b"old"),), (("f", b"old"), ("t", b"new")), (("f", b"new"),)
    assert left(*old, *new, Renamed("t", "f")) == {before, between, after}
    assert left(*old, *new, Renamed("t", "f"), DirectorySynced()) == {after}


def test_a_directory_is_synced_by_itself() -> None:
    """The sync of one directory settles nothing in another, but what had come before a renaming out of it."""
    made = (Created("a/t", 0), Written(0, 0, b"x"), Synced(0))
    assert left(*made, DirectorySynced()) == {(), (("a/t", b"x"),)}
    assert left(*made, DirectorySynced("a")) == {(("a/t", b"x"),)}
    assert left(*made, Renamed("a/t", "f"), DirectorySynced()) == {(("f", b"x"),)}


def test_a_write_is_torn_between_sectors_of_the_file() -> None:
    """A write from byte 500 to 1100 is torn at 512 and at 1024, either part being lost; nowhere else."""
    data = bytes([1]) * 600
    begun = (Created("f", 0), Written(0, 0, bytes([2]) * 1100), Synced(0), DirectorySynced())
    found = {files[0][1] for files in left(*begun, Written(0, 500, data))}
    counts = {(file[500:512].count(1), file[512:1024].count(1), file[1024:].count(1)) for file in found}
    assert counts == {(0, 0, 0), (12, 0, 0), (0, 512, 76), (12, 512, 0), (0, 0, 76), (12, 512, 76)}
    assert all(file[:500] == bytes([2]) * 500 and len(file) == 1100 for file in found)


def test_no_image_is_tried_twice() -> None:
    """Syncs and pauses add no image, unless more is acknowledged by then."""
    one = entries_of(Created("f", 0), DirectorySynced(), Written(0, 0, b"a"), None)
    more = [*one, one[-1], one[-1]._replace(acknowledged=1)]
    every, again = list(images(one, ALL)), list(images(more, ALL))
    assert len(again) == len(every) + len({str(image.survival) for image in again if image.at == 5})


def test_images_begin_where_they_are_asked_to(full: Run) -> None:
    """`since` leaves out the losses before a call, and none after it."""
    every, later = (list(images(full.entries, Bounds(2, 1, 0, since=call))) for call in ("", "claim"))
    begin = full.moments().index("claim+1")
    assert [(i.at, i.survival) for i in later if i.at > begin] == [(i.at, i.survival) for i in every if i.at > begin]
    assert min(image.at for image in later) == begin


@pytest.mark.parametrize("text", ["kept", "lost=1-3,5", "torn=5/2", "lost=2;torn=3/-1", "lost=1-9;zeros", "shm"])
def test_a_survival_is_read_as_it_is_printed(text: str) -> None:
    """Every survival that is printed can be replayed."""
    assert str(parse_survival(text)) == text


def test_only_legal_survivals_are_built() -> None:
    """What no power loss can leave is refused: a lost write that was synced, a tear of what is one sector."""
    entries = entries_of(Created("f", 0), Created("f", 1), Written(1, 0, b"a"))
    for survival in (Survival((4,)), Survival((1,)), Survival(tear=Tear(3, 1, True)), Survival(tear=Tear(9, 1, True))):
        with pytest.raises(ValueError, match=r"cannot be lost|nothing can be torn"):
            image_at(entries, 2, survival)


# What is known of SQLite: twenty transactions, at each setting.


def twenty(directory: Path, journal: str, synchronous: str) -> tuple[list[Entry], int]:
    """A recording of twenty acknowledged rows; how many entries made the table."""
    directory.mkdir()
    with Recording(str(directory)) as recording:
        connection = recording.connect(str(directory / STORE))
        for setting in (f"journal_mode={journal}", f"synchronous={synchronous}"):
            connection.execute(f"PRAGMA {setting}").fetchall()
        connection.execute("CREATE TABLE t(x)")
        recording.acknowledge(contents(connection))
        begin = len(recording.entries)
        for number in range(20):
            connection.execute("INSERT INTO t VALUES(?)", (number,))
            recording.acknowledge(contents(connection))
        entries = list(recording.entries)
        connection.close()
    return entries, begin


def short(directory: Path, image: Image, acknowledged: int) -> bool:
    """Whether an acknowledged row is not there, or the file is damaged."""
    directory.mkdir()
    for name, content in image.files.items():
        (directory / name).write_bytes(content)
    connection = sqlite3.connect(directory / STORE)
    try:
        found = [x for (x,) in connection.execute("SELECT x FROM t ORDER BY x")]
    except sqlite3.DatabaseError:
        return True
    finally:
        connection.close()
        shutil.rmtree(directory)
    return found[:acknowledged] != list(range(acknowledged))


@pytest.mark.parametrize(
    ("journal", "synchronous", "loses"),
    [
        ("WAL", "FULL", False),
        ("WAL", "NORMAL", True),
        ("WAL", "OFF", True),
        ("DELETE", "EXTRA", False),
        ("DELETE", "FULL", True),  # the removal of the journal is a commit, and is not synced
    ],
)
def test_the_model_finds_what_is_known_of_sqlite(
    memory_path: Path, journal: str, synchronous: str, loses: bool
) -> None:
    """Which settings lose acknowledged transactions is as SQLite's documentation says, and as measured elsewhere."""
    entries, begin = twenty(memory_path / "recorded", journal, synchronous)
    bounds = Bounds(exhaustive=2, shapes=2, tears=0, between=loses)
    tried = [image for image in images(entries, bounds) if image.at >= begin]
    wrong = sum(short(memory_path / "image", image, entries[image.at].acknowledged - 1) for image in tried)
    assert len(tried) >= 40
    assert (wrong > 0) is loses


@pytest.fixture
def memory_path() -> Iterator[Path]:
    """A directory where syncing costs nothing, if there is one."""
    path = Path(memory_directory())
    yield path
    shutil.rmtree(path)


# The recording.


def test_an_image_without_a_loss_is_the_file_on_the_disk(tmp_path: Path) -> None:
    """Built from the recording, and read from the directory, the files of a store are equal byte by byte."""
    with Recording(str(tmp_path)) as recording:
        connection = recording.connect(str(tmp_path / STORE))
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute("CREATE TABLE t(x)")
        for number in range(5):
            connection.execute("INSERT INTO t VALUES(zeroblob(?))", (number * 3000,))
        connection.execute("PRAGMA wal_checkpoint").fetchall()
        recording.note()
        there = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        image = image_at(recording.entries, len(recording.entries) - 1, Survival(shared=True))
        connection.close()
    assert image.files == there
    assert set(there) == {STORE, f"{STORE}-wal", f"{STORE}-shm"}


def test_the_recorded_run_is_the_jobs(full: Run) -> None:
    """Through the recorded SQLite the shipped store and worker do what they do on the other one; calls have their names."""
    assert full.outcome == "completed/1"
    assert full.calls()[1:8] == ["open", "submit", "close", "open#2", "claim", "fence_events", "fence_ledger"]
    assert len(set(full.moments())) == len(full.entries)
    assert sum(isinstance(entry.operation, Synced) for entry in full.entries) > 15
    assert record("ok-park", "full").moments() == full.moments()


def test_production_opens_files_as_before(full: Run, tmp_path: Path) -> None:
    """The recording leaves nothing behind: the store's connection is the standard library's again, and refuses NORMAL."""
    store = SqliteStore(tmp_path / STORE)
    with store.session as connection:
        assert isinstance(connection, sqlite3.Connection)
    store.close()


# The verdicts.


def judged(run: Run, image: Image) -> tuple[str, ...]:
    """The problems of an image."""
    directory = memory_directory()
    try:
        return Court(run, directory, None).judge(image).problems
    finally:
        shutil.rmtree(directory)


def words(problems: tuple[str, ...]) -> set[str]:
    """What they begin with."""
    return {problem.partition(":")[0] for problem in problems}


@pytest.mark.parametrize("mode", ["full", "full-checkpointed"])
def test_full_survives(sweeps: dict[str, Sweep], mode: str) -> None:
    """At FULL no power loss between two calls takes anything acknowledged, whatever is left of the rest."""
    found = sweeps[mode]
    assert found.images > 20
    assert found.findings == []
    assert set(found.outcomes) == {"completed/1", "parked→completed/1"}


@pytest.mark.parametrize(("moment", "images_of_it"), [("append_started+6", 32), ("append_completed+8", 128)])
def test_full_survives_a_loss_within_a_call(full: Run, moment: str, images_of_it: int) -> None:
    """The power may fail while the started event is written, too, or the last one: every subset of the six writes, or eight where
    the job's status changes as well, and tears of each."""
    at = full.moments().index(moment)
    bounds = Bounds(exhaustive=8, shapes=1, tears=1, any_torn=True)
    tried = [image for image in images(full.entries[: at + 1], bounds) if image.at == at]
    assert len(tried) > images_of_it
    directory = memory_directory()
    try:
        court = Court(full, directory, {})
        assert {court.judge(image).problems for image in tried} == {()}
    finally:
        shutil.rmtree(directory)


def test_normal_doubles_an_effect(sweeps: dict[str, Sweep]) -> None:
    """At NORMAL acknowledged writes are lost in most images, and where the started event is, the effect happens twice."""
    normal = sweeps["normal"]
    assert normal.count(LOST) > normal.images / 2
    assert normal.outcomes["completed/2"] == normal.count("P1") > 0
    shortest = normal.shortest("P1")
    assert shortest is not None
    assert shortest.lost == 1
    assert ":execute+2:" in shortest.key
    heard: list[str] = []
    assert replay(shortest.key, heard.append) == shortest.verdict
    assert heard[-1] == "in the end: completed/2"


def test_off_damages_the_file(sweeps: dict[str, Sweep]) -> None:
    """At OFF a power loss may leave a file that cannot be used; and a doubled effect in one that can."""
    found = sweeps["off"]
    assert found.count(UNUSABLE) > 0
    assert found.count("P1") > 0


def test_equal_contents_end_alike(sweeps: dict[str, Sweep]) -> None:
    """What is worked to rest once for equal contents ends as where each image is worked to rest."""
    run = sweeps["normal"].run
    tried = list(images(run.entries, BETWEEN))[-60::2]
    directory = memory_directory()
    try:
        one, each = Court(run, directory, {}), Court(run, directory, None)
        assert [one.judge(image) for image in tried] == [each.judge(image) for image in tried]
    finally:
        shutil.rmtree(directory)
    assert one.worked < each.worked == len(tried)


def without(kind: type[Operation], label: str) -> Callable[[Entry], Entry]:
    """An entry of a run in which an operation was forgotten."""
    return lambda entry: (
        entry._replace(operation=None) if isinstance(entry.operation, kind) and entry.label == label else entry
    )


@pytest.mark.parametrize("label", ["submit", "acquire", "append_started", "commit", "append_completed"])
def test_a_forgotten_sync_is_found(full: Run, label: str) -> None:
    """Without a single one of the run's syncs an acknowledged write is lost in some image."""
    entries = [without(Synced, label)(entry) for entry in full.entries]
    assert entries != full.entries
    mutant = full._replace(entries=entries)
    at = max(n for n, entry in enumerate(entries) if entry.label == label)
    assert LOST in words(judged(mutant, image_at(entries, at, Survival((1,)))))


def test_a_forgotten_sync_of_the_directory_is_found(full: Run) -> None:
    """Were the log's directory entry not synced, a log that is synced would be lost with all that it holds."""
    entries = [without(DirectorySynced, "claim")(entry) for entry in full.entries]
    at = full.moments().index("execute+2")
    assert judged(full, image_at(full.entries, at, Survival())) == ()
    found = words(judged(full._replace(entries=entries), image_at(entries, at, Survival((1, 2)))))
    assert {LOST, "P1"} <= found


def test_a_damaged_page_is_found(full: Run) -> None:
    """A file that opens and is not whole is not taken for one that survived."""
    at = len(full.entries) - 1
    image = image_at(full.entries, at, Survival())
    torn = bytearray(image.files[STORE])
    torn[4096 * 3 : 4096 * 3 + 512] = bytes(512)
    assert judged(full, image) == ()
    assert UNUSABLE in words(judged(full, image._replace(files={STORE: bytes(torn)})))


def test_what_nobody_wrote_is_found(full: Run) -> None:
    """A content that the store never had at a return is no survival."""
    at = full.moments().index("execute+2")
    states = [state if n % 2 else ((("jobs", ((n,),)),)) for n, state in enumerate(full.states)]
    lost = full.calls().index("append_started")
    states[lost] = states[lost + 1] = (("jobs", (("another",),)),)
    assert MORE in words(judged(full._replace(states=states), image_at(full.entries, at, Survival())))


# Keys, and the claims.


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("power:ok-park", "write power:CASE@MODE"),
        ("power:nothing@full:open+1:kept", "there is no case 'nothing'"),
        ("power:ok-park@extra:open+1:kept", "there is no mode 'extra'"),
        ("power:ok-park@full:open+1:all", "none of kept"),
        ("power:ok-park@full:open+999:kept", "there is no moment"),
        ("power:ok-park@full:open+1:lost=7", "cannot be lost"),
    ],
)
def test_a_wrong_key_is_refused_with_words(key: str, said: str) -> None:
    """A mistyped key is refused, and the message says what is accepted."""
    with pytest.raises(CommandError, match=said):
        replay_power(key)


def test_a_loss_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """`crashwindow replay` shows what was acknowledged, what is left, and what broke; 1 if anything did."""
    assert replay_power("power:ok-park@full:append_started+3:lost=2") == 0
    assert "during append_started" in capsys.readouterr().out
    assert replay_power("power:ok-park@normal:execute+2:lost=1") == 1
    assert "P1: 2 effects" in capsys.readouterr().out


def test_every_case_and_mode_of_the_stage_exists() -> None:
    """Both profiles name what there is, and speak of each claim."""
    for parts in (power_stage.QUICK, power_stage.DEEP):
        for part in parts:
            assert part.case in CASES
            assert parse_key(f"power:{part.case}@{part.mode}:open+1:kept")
        for begins in power_stage.CLAIMED.values():
            assert any(part.mode.startswith(begins) for part in parts)


def test_the_claims_come_out_as_registered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sweeps: dict[str, Sweep]
) -> None:
    """FULL is EXHAUSTED, NORMAL is REFUTED with a key; a FULL that loses is refuted, a NORMAL that does not is no refutation."""
    monkeypatch.setattr(power_stage, "sweep", lambda case, mode, *how: sweeps[mode])
    normal = sweeps["normal"]
    found = power_stage.power_loss(Context("quick", 1, tmp_path, lambda words: None))
    assert {claim: item.verdict for claim, (item,) in found.items.items()} == {
        "POWER-FULL": Verdict.EXHAUSTED,
        "POWER-NORMAL": Verdict.REFUTED,
        "POWER-OFF": Verdict.REFUTED,
    }
    shown = power_stage.belied([normal])
    assert "2 effects" in shown.statement
    assert shown.command.startswith("crashwindow replay 'power:ok-park@normal:")
    assert power_stage.survived([normal]).verdict is Verdict.REFUTED
    assert power_stage.belied([normal._replace(findings=[])]).verdict is Verdict.TESTED
