"""Boundaries of any program: its system calls are intercepted and named, and it is struck there with all that it has started."""

import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crashwindow.checkers.campaign import lab as labs
from crashwindow.checkers.campaign.adapter import Subject
from crashwindow.checkers.campaign.bench import Bench, Setup
from crashwindow.checkers.campaign.boundary import Strike
from crashwindow.checkers.campaign.call_names import drawn
from crashwindow.checkers.campaign.call_record import load
from crashwindow.checkers.campaign.child import Request
from crashwindow.checkers.campaign.lab import Lab
from crashwindow.checkers.campaign.ptrace import seize
from crashwindow.checkers.campaign.seccomp import AUDIT, CALLS, TraceRefusedError, numbers, program
from crashwindow.checkers.campaign.zygote import Ended
from crashwindow.checkers.evidence_outcome import Outcome
from crashwindow.checkers.power_operations import Synced

RUNTIME = f"{Path(__file__).parent / 'traced_runtime.py'}:Behaviours"


class Desk:
    """Calls behaviours in a place of their own."""

    def __init__(self, lab: Lab, directory: Path) -> None:
        self.lab, self.directory, self.place = lab, directory, directory / "place"
        self.place.mkdir()

    def call(self, behaviour: str, strike: str | None = None, hold_seconds: float = 0.0, record: bool = False) -> Ended:
        """Let it behave, intercepted."""
        ended = self.lab.call(
            Request(
                "start",
                str(self.place),
                str(self.directory / "world"),
                "job",
                (behaviour,),
                source="calls",
                strike=strike,
                hold_seconds=hold_seconds,
                record=str(self.directory / "record") if record else None,
            )
        )
        assert not (ended.error or "").strip().endswith("choose `boundaries: commits`"), ended.error
        return ended


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A warm process for the behaviours; skips where this machine does not let a process trace its children."""
    with Lab(Subject("behaviours", RUNTIME), "calls") as lab:
        ended = lab.call(Request("start", "/", "/dev/null", "job", ("fails",), source="calls"))
        if ended.error and "cannot be intercepted" in ended.error:
            pytest.skip(ended.error)
        yield lab


@pytest.fixture
def desk(lab: Lab, tmp_path: Path) -> Desk:
    """A fresh place."""
    return Desk(lab, tmp_path)


# The filter.


def filtered(filter_: bytes, number: int, arguments: tuple[int, ...] = (0,) * 6, audit: int = AUDIT["x86_64"]) -> bool:
    """Whether a filter stops a call: the instructions, interpreted."""
    data = struct.pack("=IIQ6Q", number, audit, 0, *arguments)
    rows = list(struct.iter_unpack("=HBBI", filter_))
    at, loaded = 0, 0
    while True:
        code, true, false, value = rows[at]
        at += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("=I", data, value)
            case 0x15:
                at += true if loaded == value else false
            case 0x45:
                at += true if loaded & value else false
            case 0x06:
                return bool(value == 0x7FF00000)


@pytest.mark.parametrize("machine", AUDIT)
def test_the_filter_stops_the_named_calls_alone(machine: str) -> None:
    """Each call of the table stops, those for recordings only in one; every other passes, and so does foreign code."""
    named, audit = numbers(machine), AUDIT[machine]
    every = (0xFFFF,) * 6
    for recording in (False, True):
        made = program(machine, recording)
        stopped = {number for number in range(500) if filtered(made, number, every, audit)}
        assert stopped == {number for number, call in named.items() if recording or not call.records}
        assert not any(filtered(made, number, every, audit + 1) for number in range(500))


@pytest.mark.parametrize("machine", AUDIT)
def test_only_files_that_may_be_created_stop(machine: str) -> None:
    """An open that creates nothing and cuts nothing passes at full speed, and so does private memory."""
    made = program(machine, recording=True)
    number = next(number for number, call in numbers(machine).items() if call.name == "openat")
    for flags, stops in ((os.O_RDWR, False), (os.O_RDWR | os.O_CREAT, True), (os.O_TRUNC, True)):
        assert filtered(made, number, (0, 0, flags, 0, 0, 0), AUDIT[machine]) is stops


def test_numbers_are_of_one_call_each() -> None:
    """No two calls of the table share a number, on either architecture."""
    for machine in AUDIT:
        listed = [call for call in CALLS if (call.x86_64 if machine == "x86_64" else call.aarch64) is not None]
        assert len(numbers(machine)) == len(listed)


def test_a_refusal_names_the_remedy() -> None:
    """Where the kernel refuses to trace, the error says what was refused, and what to do in a container."""
    with pytest.raises(TraceRefusedError, match=r"ptrace: .*SYS_PTRACE.*choose `boundaries: commits`"):
        seize(os.getpid())


# Names.


def test_calls_that_change_files_of_the_place_or_the_world_are_boundaries(desk: Desk) -> None:
    """In order, by call and file; no pipe, no device, no file elsewhere, none that has no name any more; the fsync of the
    world is not one."""
    assert desk.call("files").reached == [
        "call: openat new #1",
        "call: write new #1",
        "call: pwrite64 new #1",
        "call: writev new #1",
        "call: fdatasync new #1",
        "call: ftruncate new #1",
        "call: rename new to kept-* #1",
        "call: mkdir below #1",
        "call: openat below/gone #1",
        "call: write below/gone #1",
        "call: unlink below/gone #1",
        "call: write world #1",
        "call: unlink kept-* #1",
    ]


def test_what_a_path_changes_is_a_boundary_where_it_changes_something(desk: Desk) -> None:
    """A directory, a link or a file that comes to be, goes, or is cut; not one that is there already, nor an open that changes
    nothing, so that no lock file or directory that is asked for again and again makes a boundary each time."""
    reached = [each.replace("mknodat", "mknod") for each in desk.call("changes").reached]
    assert reached == [
        "call: mkdir made #1",
        "call: mkdirat at #1",
        "call: mknod pipe #1",
        "call: symlink link #1",
        "call: symlinkat link-at #1",
        "call: openat file #1",
        "call: truncate file #1",
        "call: openat file #2",
        "call: openat2 second #1",
        "call: rmdir made #1",
    ]


def test_a_recording_says_what_it_cannot_hold(desk: Desk) -> None:
    """An image of a power loss has plain files alone: where a link or a pipe was made, the recording says so."""
    desk.call("changes", record=True)
    trouble, _ = load(desk.directory / "record")
    assert trouble
    assert trouble.endswith("which is no plain file")


def test_sockets_to_somebody_are_boundaries(desk: Desk) -> None:
    """Each way to send over TCP, or to a socket with a name; not within a pair."""
    assert desk.call("sockets").reached == [
        f"call: {call} socket {kind} #1" for kind in ("inet", "unix") for call in ("sendto", "write", "sendmsg")
    ]


def test_names_are_the_same_in_each_run() -> None:
    """What a run draws by lot or takes from a process's number is not part of a name."""
    assert drawn("tmpab12cd_x/state.json.tmp") == "*/state.json.tmp"
    assert drawn("3f2b8a52-7c1e-4b8e-9d55-0242ac120002.part") == "*.part"
    assert drawn("lock.48213") == "lock.*"
    assert drawn("jobs.db-wal") == "jobs.db-wal"
    assert drawn("000001.log") == "*.log"


# Strikes.


def test_before_the_call_is_not_done_and_after_it_is(desk: Desk) -> None:
    """A process that is struck before a renaming has not renamed; struck after it, it has, and does nothing more."""
    ended = desk.call("files", "before call: rename new to kept-* #1")
    assert ended.struck
    assert ended.signal == 9
    assert os.listdir(desk.place) == ["new"]
    assert desk.call("files", "after call: rename new to kept-* #1").struck
    assert os.listdir(desk.place) == ["kept-123456"]


@pytest.mark.parametrize("name", ["thread", "fork", "program", "inner"])
def test_whatever_is_started_is_followed_and_ends_with_it(desk: Desk, name: str) -> None:
    """A thread, a fork in a session of its own, a program and its program are struck; none of them does anything after."""
    ended = desk.call("tree", f"before call: write {name} #1")
    assert ended.struck
    assert ended.signal == 9
    assert not (desk.place / name).read_bytes()
    assert not (desk.directory / "end").exists()


def test_a_tree_that_is_not_struck_runs_to_its_end(desk: Desk) -> None:
    """Interception changes nothing: each part writes once, in order."""
    ended = desk.call("tree")
    assert ended.answered
    parts = ("thread", "fork", "program", "inner")
    assert ended.reached == [f"call: {call} {name} #1" for name in parts for call in ("openat", "write")]
    assert (desk.directory / "end").exists()


def test_a_call_that_fails_has_no_other_side(desk: Desk) -> None:
    """Nothing is struck behind a renaming that the kernel refused; the one that it did is struck."""
    assert not desk.call("fails", "after call: rename absent to present #1").struck
    (desk.place / "present").unlink()
    assert desk.call("fails", "after call: rename absent to present #2").struck


def counted(desk: Desk) -> tuple[int, int]:
    """How far the other thread and the other process have come."""
    thread, process = (os.stat(desk.directory / name).st_mtime_ns for name in ("thread", "process"))
    return thread, process


def test_others_go_on_while_one_is_held(desk: Desk) -> None:
    """The held thread stands before its call; another thread and another process go on, and die with it in the end."""
    ended = desk.call("side_by_side", "held call: write struck #1", hold_seconds=0.3)
    assert ended.struck
    assert ended.signal == 9
    assert not (desk.place / "struck").read_bytes()
    then = counted(desk)
    assert min(then) > 1
    time.sleep(0.03)
    assert counted(desk) == then


def test_a_paused_tree_stands_still_until_it_is_woken(desk: Desk) -> None:
    """Neither thread nor process goes on while it is paused; woken, it does the call, and comes to its end."""
    ended = desk.call("side_by_side", "paused call: write struck #1")
    assert ended.stopped
    then = counted(desk)
    time.sleep(0.03)
    assert counted(desk) == then
    assert not (desk.place / "struck").read_bytes()
    assert desk.lab.wake(ended.stopped).answered
    assert (desk.place / "struck").read_bytes() == b"x"


# What the tests above are worth.


def stands_still(desk: Desk) -> bool:
    """Whether a paused tree does."""
    desk.call("side_by_side", "paused call: write struck #1")
    then = counted(desk)
    time.sleep(0.05)
    return counted(desk) == then


def knows_failures(desk: Desk) -> bool:
    """Whether nothing is struck behind a call that failed."""
    return not desk.call("fails", "after call: rename absent to present #1").struck


def knows_syncs(desk: Desk) -> bool:
    """Whether a recording has them."""
    desk.call("disk", record=True)
    return any(isinstance(entry.operation, Synced) for entry in load(desk.directory / "record")[1][4:])


@pytest.mark.parametrize(
    ("broken", "claim"), [("others", stands_still), ("failures", knows_failures), ("syncs", knows_syncs)]
)
def test_a_broken_tracer_is_seen(
    lab: Lab, tmp_path: Path, broken: str, claim: Callable[[Desk], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not stop the others, takes a failed call for a done one, or forgets syncs, breaks a claim that holds."""
    for name in ("broken", "whole"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(labs, "ZYGOTE", "crashwindow.tests.broken_zygote")
    monkeypatch.setenv("BROKEN", broken)
    with Lab(Subject("behaviours", RUNTIME), "calls") as mutant:
        assert not claim(Desk(mutant, tmp_path / "broken"))
    assert claim(Desk(lab, tmp_path / "whole"))


# A campaign.


def test_calls_say_of_a_teaching_case_what_commits_say(lab: Lab) -> None:
    """Act, then record: doubled between the effect and the write that records it, and nowhere else around it."""
    subject = Subject("naive", "crashwindow.checkers.campaign.adapters.naive:ActThenRecord")
    with Bench(Setup(subject, ("a",), "calls", 0.0)) as bench:
        reached = bench.clean().boundaries
        at = reached.index("call: write world #1")
        assert {name.split(" #")[0] for name in reached[at + 1 :]} >= {
            "call: pwrite64 jobs.db-wal",
            "call: fdatasync jobs.db-wal",
        }
        commit = next(name for name in reached[at:] if name.startswith("call: fdatasync jobs.db-wal"))
        outcomes = {
            str(strike): bench.trial((strike,), 0, {"a": 1}).outcome
            for strike in (
                Strike("call: write world #1", "before"),
                Strike("call: write world #1", "after"),
                Strike(reached[at + 1], "before"),
                Strike(commit, "after"),
            )
        }
    assert list(outcomes.values()) == [
        Outcome.EXACTLY_ONCE,
        Outcome.DUPLICATE,
        Outcome.DUPLICATE,
        Outcome.EXACTLY_ONCE,
    ]
