"""A runtime that does what its first step says, for tests of the interception of system calls: files, threads, processes."""

import ctypes
import mmap
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from crashwindow.checkers.campaign.adapter import Belief, Capabilities, Job, Place, Promise


def opened(path: str, flags: int) -> None:
    """Open, to read and write, and close."""
    os.close(os.open(path, os.O_RDWR | flags))


def opened_by_two(path: str, flags: int) -> None:
    """The same by openat2, whose flags lie in memory."""
    how = struct.pack("=QQQ", os.O_RDWR | flags, 0o600 if flags else 0, 0)
    os.close(ctypes.CDLL(None).syscall(437, -100, path.encode(), how, len(how)))


class Behaviours:
    """Each method below is a behaviour, named by the job's first step; it runs in the place's directory."""

    promise = Promise("nothing", "nowhere")
    capabilities = Capabilities(seconds=20.0, takeover_seconds=0.0)
    versions: Mapping[str, str] = {"behaviours": "1"}

    def prepare(self, place: Place) -> None:
        """Nothing."""

    def start(self, place: Place, job: Job) -> None:
        """Behave."""
        getattr(self, job.steps[0])(job)

    def recover(self, place: Place, job: Job) -> None:
        """Nothing."""

    def belief(self, place: Place, job: Job) -> Belief:
        """All is well."""
        return Belief("completed")

    def files(self, job: Job) -> None:
        """Every way to change a file, and writes that do not count."""
        file = os.open("new", os.O_RDWR | os.O_CREAT)
        os.write(file, b"one ")
        os.pwrite(file, b"two ", 4)
        os.writev(file, [b"ONE", b" "])
        os.fdatasync(file)
        os.ftruncate(file, 6)
        os.rename("new", "kept-123456")
        os.mkdir("below")
        Path("below/gone").write_bytes(b"x")
        os.unlink("below/gone")
        job.act("files")
        for path in ("/dev/null", "../outside"):
            with open(path, "wb", buffering=0) as other:
                other.write(b"x")
        _, writer = os.pipe()
        os.write(writer, b"x")
        os.unlink("kept-123456")
        os.write(file, b"nobody reads it")

    def changes(self, job: Job) -> None:
        """Every way to change by a path what is there, each twice: the second time it changes nothing."""
        here = os.open(".", os.O_RDONLY)
        ways: tuple[Callable[[], object], ...] = (
            partial(os.mkdir, "made"),
            partial(os.mkdir, "at", dir_fd=here),
            partial(os.mkfifo, "pipe"),
            partial(os.symlink, "elsewhere", "link"),
            partial(os.symlink, "elsewhere", "link-at", dir_fd=here),
            partial(opened, "file", os.O_CREAT),
            partial(os.truncate, "file", 5),
            partial(opened, "file", os.O_TRUNC),
            partial(opened, "file", 0),
            partial(opened_by_two, "second", os.O_CREAT),
            partial(opened_by_two, "second", 0),
            partial(os.rmdir, "made"),
        )
        for way in ways:
            for _ in range(2):
                with suppress(OSError):
                    way()

    def disk(self, job: Job) -> None:
        """What a recording has to follow."""
        Path("a").write_bytes(b"a" * 700)
        with open("a", "ab", buffering=0) as more:
            more.write(b"more")
            os.fsync(more.fileno())
        os.truncate("a", 600)
        Path("b").write_bytes(b"b" * 10)
        Path("b").write_bytes(b"B")
        with open("a", "rb") as source, open("copied", "wb") as target:
            os.copy_file_range(source.fileno(), target.fileno(), 300, offset_dst=5)
            os.sendfile(target.fileno(), source.fileno(), 100, 50)
        file = os.open("gathered", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
        os.pwritev(file, [b"x", b"", b"yz"], 2)
        os.posix_fallocate(file, 0, 20)
        os.link("gathered", "linked")
        os.mkdir("sub")
        shutil.move("b", "sub/b")
        Path("sub/c").write_bytes(b"c")
        directory = os.open("sub", os.O_RDONLY)
        os.fsync(directory)
        os.replace("sub/c", "copied")
        os.unlink("linked")
        job.act("disk")

    def mapped(self, job: Job) -> None:
        """A file that is written through memory."""
        Path("mapped").write_bytes(bytes(4096))
        with open("mapped", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[:1] = b"x"
        job.act("mapped")

    def fails(self, job: Job) -> None:
        """A call that is refused, and one that is not."""
        for _ in range(2):
            try:
                os.rename("absent", "present")
            except OSError:
                Path("absent").touch()

    def tree(self, job: Job) -> None:
        """A thread, a fork, a program, and a program's program, one after the other; then a line in the end."""
        thread = threading.Thread(target=Path("thread").write_bytes, args=(b"x",))
        thread.start()
        thread.join()
        child = os.fork()
        if not child:
            os.setsid()
            Path("fork").write_bytes(b"x")
            os._exit(0)
        os.waitpid(child, 0)
        subprocess.run(["sh", "-c", "echo x > program; (sh -c 'echo x > inner')"], check=True)
        Path("../end").touch()

    def sockets(self, job: Job) -> None:
        """A pair, which leads nowhere, a connection over the loopback, and one to a socket's name."""
        ours, kept = socket.socketpair()
        ours.send(b"x")
        assert kept.recv(1) == b"x"
        for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, "listens")):
            with socket.socket(family) as server, socket.socket(family) as client:
                server.bind(address)
                server.listen()
                client.connect(server.getsockname())
                client.send(b"x")
                os.write(client.fileno(), b"x")
                client.sendmsg([b"x"])

    def side_by_side(self, job: Job) -> None:
        """One thread writes a line that can be struck; another, and a process, meanwhile count on, by calls that none stops."""
        if not os.fork():
            self._count("process")
        threading.Thread(target=self._count, args=("thread",), daemon=True).start()
        while not (Path("../thread").exists() and Path("../process").exists()):
            time.sleep(0.002)
        Path("struck").write_bytes(b"x")

    def _count(self, name: str) -> None:
        """A file's date is the count."""
        Path(f"../{name}.new").touch()
        os.utime(f"../{name}.new", ns=(0, 0))
        os.rename(f"../{name}.new", f"../{name}")
        for number in range(100_000):
            os.utime(f"../{name}", ns=(number, number))
            time.sleep(0.005)
