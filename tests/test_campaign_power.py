"""Losses of power in any runtime: what its calls ask of the disk is recorded; what a loss may leave is recovered and judged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crashwindow.checkers.campaign.adapter import Subject
from crashwindow.checkers.campaign.bench import Bench, ControlError, Setup
from crashwindow.checkers.campaign.boundary import Strike
from crashwindow.checkers.campaign.call_record import load
from crashwindow.checkers.campaign.campaign import Campaign, Local, Options
from crashwindow.checkers.campaign.child import Request
from crashwindow.checkers.campaign.journal import Journal
from crashwindow.checkers.campaign.lab import Lab
from crashwindow.checkers.campaign.power import IMAGES, lay_out, losses
from crashwindow.checkers.campaign.run import JOB
from crashwindow.checkers.evidence_matrix import Cell, Control, Matrix, Told
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.checkers.power_images import Survival, image_at
from crashwindow.checkers.power_operations import Created, DirectorySynced, Entry, Operation, Renamed, Synced, Written
from crashwindow.reports.crash_matrix import outcome, shown

RUNTIME = f"{Path(__file__).parent / 'traced_runtime.py'}:Behaviours"
NAIVE = "crashwindow.checkers.campaign.adapters.naive:ActThenRecord"
LOOP = str(Path(__file__).parent.parent / "examples" / "adapters" / "loop.sh")
STEPS = ("a", "b")


def naive(synchronous: str) -> Setup:
    """The loop that acts and then records, on a write-ahead log that is synced at each commit (FULL), or not (NORMAL)."""
    return Setup(Subject("naive", NAIVE, options={"synchronous": synchronous}), STEPS, "calls", 0.0)


@pytest.fixture(scope="module", autouse=True)
def permitted() -> None:
    """Skips where this machine does not let a process trace its children."""
    with Lab(Subject("behaviours", RUNTIME), "calls") as lab:
        ended = lab.call(Request("start", "/", "/dev/null", "job", ("fails",), source="calls"))
    if ended.error and "cannot be intercepted" in ended.error:
        pytest.skip(ended.error)


@pytest.fixture(scope="module")
def normal() -> Iterator[Bench]:
    """The loop on a log that is not synced at a commit."""
    with Bench(naive("NORMAL")) as bench:
        yield bench


def recorded(subject: Subject, steps: tuple[str, ...], directory: Path) -> tuple[str | None, list[Entry]]:
    """What a run without a fault asks of the disk, in a place that is left as it is."""
    place, record, world = directory / "place", directory / "record", str(directory / "world")
    place.mkdir()
    with Lab(subject, "calls") as lab:
        assert lab.call(Request("prepare", str(place), world, JOB, steps)).answered
        ended = lab.call(Request("start", str(place), world, JOB, steps, source="calls", record=str(record)))
    assert ended.answered, ended.error
    return load(record)


def files(place: Path) -> dict[str, bytes]:
    """What is there, SQLite's shared memory left out."""
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }


# The key.


def test_a_loss_of_power_is_a_key() -> None:
    """A strike says what is left, and comes back from what it prints; without that it is refused."""
    strike = Strike("call: rename a left of to b #2", "power", "lost=1-3;zeros")
    assert str(strike) == "power call: rename a left of to b #2 left lost=1-3;zeros"
    assert Strike.parse(str(strike)) == strike
    with pytest.raises(ValueError, match="left lost=1-3"):
        Strike.parse("power call: fsync a #1")


# The recording.


@pytest.mark.parametrize(
    ("subject", "steps"),
    [
        (Subject("disk", RUNTIME), ("disk",)),
        (Subject("naive", NAIVE), STEPS),
        (Subject("loop", command=("sh", LOOP)), STEPS),
    ],
    ids=["disk", "naive", "loop"],
)
def test_a_disk_that_keeps_everything_is_the_directory(
    subject: Subject, steps: tuple[str, ...], tmp_path: Path
) -> None:
    """Every way to write, cut, move, link and remove is recorded as it happened: what it adds up to is what is there."""
    trouble, entries = recorded(subject, steps, tmp_path)
    assert trouble is None
    assert image_at(entries, len(entries) - 1, Survival()).files == files(tmp_path / "place")


def test_what_is_synced_is_recorded_as_synced(tmp_path: Path) -> None:
    """An fsync, a descriptor that syncs each write, and a directory's own: nothing of these can be lost, the rest can."""
    _, entries = recorded(Subject("disk", RUNTIME), ("disk",), tmp_path)
    numbers = {op.name: op.content for op in (entry.operation for entry in entries) if isinstance(op, Created)}
    synced = {entry.operation.content for entry in entries if isinstance(entry.operation, Synced)}
    assert synced == {numbers["a"], numbers["gathered"]}
    assert [entry.operation for entry in entries if isinstance(entry.operation, DirectorySynced)] == [
        DirectorySynced("sub")
    ]
    assert Renamed("b", "sub/b") in [entry.operation for entry in entries]
    assert [entry.sizes[0] > 0 for entry in entries if entry.label == "call: write world #1"] == [True]


def test_a_mapped_file_is_said_to_escape(tmp_path: Path) -> None:
    """Writes through memory are no calls: the recording is of no use then, the campaign says so, and what to do."""
    trouble, _ = recorded(Subject("mapped", RUNTIME), ("mapped",), tmp_path)
    assert trouble == "mapped is mapped to be written"
    setup = Setup(Subject("mapped", RUNTIME), ("mapped",), "calls")
    with Bench(setup) as bench, pytest.raises(ControlError, match="mapped to be written; leave `power` out"):
        bench.losses(0)


def test_commits_say_nothing_of_the_disk() -> None:
    """A campaign on commits that is to lose power is told to intercept calls."""
    setup = Setup(Subject("naive", NAIVE), STEPS)
    with Bench(setup) as bench:
        campaign = Campaign(bench, Options(whens=("power",)), Local(1), Journal(None), "run", lambda *_: None)
        with pytest.raises(ControlError, match="choose `boundaries: calls`"):
            campaign.run()


# The images.


def moments(*operations: Operation) -> list[Entry]:
    """A recording in which each operation is a call."""
    return [
        Entry(each, f"call: {number} #1", 0, (0,), None)
        for number, operation in enumerate(operations)
        for each in (operation, None)
    ]


def test_no_image_is_tried_twice() -> None:
    """A second sync, or a write of what is there, leaves nothing new; a line in the world makes all of it new."""
    entries = moments(Created("f", 0), DirectorySynced(), Written(0, 0, b"a"))
    found = losses(entries, 0).strikes
    assert [str(each) for each in found] == [
        "power call: 0 #1 left lost=1",
        "power call: 2 #1 left lost=1;zeros",
    ]
    later = Entry(None, "call: write world #1", 0, (1,), None)
    assert [each.image for each in losses([*entries, later], 0).strikes] == [
        "lost=1",
        "lost=1;zeros",
        "lost=1",
        "lost=1;zeros",
    ]


def test_many_images_are_sampled_and_that_is_said() -> None:
    """At a boundary with more than sixteen, sixteen are drawn by the seed, that which lost most among them; how many there
    are is told."""
    writes = [Written(0, 512 * number, bytes([number + 1]) * 1024) for number in range(12)]
    entries = [
        *moments(Created("f", 0), DirectorySynced(), *writes),
        Entry(None, "call: write world #1", 0, (1,), None),
    ]
    found, again, other = losses(entries, 1), losses(entries, 1), losses(entries, 2)
    images = [each.image for each in found.strikes if each.boundary == "call: write world #1"]
    assert len(images) == IMAGES < found.sampled["call: write world #1"]
    assert "lost=1-12" in images
    assert found == again != other


def test_an_image_is_laid_out_or_refused(tmp_path: Path) -> None:
    """What was there goes, directories stay; a loss that the disk was never open to is an error, not some other image."""
    entries = moments(Created("sub/f", 0), Written(0, 0, b"a"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "old").write_bytes(b"old")
    lay_out(tmp_path, entries, Strike("call: 1 #1", "power", "lost=2"))
    assert files(tmp_path) == {"sub/f": b""}
    assert (tmp_path / "empty").is_dir()
    with pytest.raises(ValueError, match="cannot be lost"):
        lay_out(tmp_path, entries, Strike("call: 0 #1", "power", "lost=2"))
    with pytest.raises(ValueError, match="nothing was recorded"):
        lay_out(tmp_path, entries, Strike("call: 9 #1", "power", "lost=1"))


def test_a_boundary_has_one_row_for_all_its_images() -> None:
    """A matrix shows how many images ended how, and the worst of them with its key; each image keeps a cell of its own."""
    told = Told(words="", source="", allows=[], last_only=False, pauses=False)
    found = Control(runs=1, boundaries=["call: fsync a #1"], unstable=[], effects={"a": 1}, seconds=0.1)
    cells = [
        Cell(schedule=(str(strike),), outcomes={ended: 1}, kept=1, words=f"{ended}", command=f"--at {strike}")
        for strike, ended in (
            (Strike("call: fsync a #1", "after"), Outcome.EXACTLY_ONCE),
            (Strike("call: fsync a #1", "power", "lost=1"), Outcome.EXACTLY_ONCE),
            (Strike("call: fsync a #1", "power", "lost=2"), Outcome.LOST_WORK),
            (Strike("call: fsync a #1", "power", "lost=1-2"), Outcome.EXACTLY_ONCE),
        )
    ]
    matrix = Matrix(
        subject="s", adapter="a", versions={}, source="calls", steps=["a"], promise=told, control=found, cells=cells, seed=0,
        python="", platform="",
    )  # fmt: skip
    (row,) = shown(matrix).rows
    assert [outcome(cell) for cell in row.cells if cell] == ["EXACTLY ONCE", "LOST WORK 1 of 3"]
    assert row.cells[1] is not None
    assert row.cells[1].command == "--at power call: fsync a #1 left lost=2"
    assert shown(matrix).matrix.cells == cells


# A teaching case.


def test_a_log_that_is_not_synced_loses_what_was_acknowledged(normal: Bench) -> None:
    """synchronous=NORMAL: when the first effect has happened, a loss of power may take the job that a client was told of."""
    at = [each for each in normal.losses(0).strikes if each.boundary == "call: write world #1"]
    most = max(at, key=lambda each: each.image.count("lost=1-"))
    trial = normal.trial((most,), 0, {"a": 1, "b": 1})
    assert (trial.outcome, trial.schedule) == (Outcome.LOST_WORK, (str(most),))
    again = normal.trial((Strike.parse(trial.schedule[0]),), 0, {"a": 1, "b": 1})
    assert again.outcome is Outcome.LOST_WORK


def test_a_log_that_is_synced_loses_nothing(tmp_path: Path) -> None:
    """synchronous=FULL: when an effect happens, nothing is unsynced. Without the syncs, there would be something to lose."""
    _, entries = recorded(naive("FULL").subject, STEPS, tmp_path)
    effects = {f"call: write world #{number}" for number in (1, 2)}
    assert not effects & {each.boundary for each in losses(entries, 0).strikes}
    # Those of the run: what was there before it is synced, too.
    begun = next(number for number, entry in enumerate(entries) if entry.label)
    unsynced = [
        entry for number, entry in enumerate(entries) if number < begun or not isinstance(entry.operation, Synced)
    ]
    assert effects <= {each.boundary for each in losses(unsynced, 0).strikes}


def test_what_a_promise_does_not_speak_of_is_not_held_against_it(normal: Bench) -> None:
    """The loop's promise is of crashes: a loss of power is shown, and does not break it; at most once is judged as ever."""
    strike = next(each for each in normal.losses(0).strikes if each.boundary == "call: write world #2")
    trial = normal.trial((strike,), 0, {"a": 1, "b": 1})
    assert trial.outcome in (Outcome.LOST_WORK, Outcome.DUPLICATE)
    assert trial.kept
