"""The lock that makes one process the only worker on a file. The kernel ends it with the process, SIGKILL included."""

import fcntl
import os
from typing import Final

from .store import StoreUnusableError


class WorkerLock:
    """An exclusive lock on `<file>.worker`, from construction to `release` or the end of the process.

    Raises StoreUnusableError, naming the holder, while another process (or another lock object of this one) holds it.

    `tenure` is a random name for this holding of the lock. A lease that bears another tenure was taken by a worker that
    is gone: otherwise this one could not hold the lock.

    A program started by the worker does not inherit the lock (O_CLOEXEC). A child that is only forked shares it: it
    then lasts until the last of them ends. So take it after forking, never before.
    """

    def __init__(self, file: str) -> None:
        # Links to one file must lead to one lock.
        path: Final = f"{os.path.realpath(file)}.worker"
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreUnusableError(
                f"{path}: cannot be opened ({error.strerror}); a worker needs to lock it"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            if not isinstance(error, BlockingIOError):
                raise StoreUnusableError(f"{path}: cannot be locked ({error.strerror}); use a local disk") from error
            raise StoreUnusableError(
                f"{file}: another worker, process {holder or 'unknown'}, works on this file, and one file has one"
                f" worker process: wait until it ends, or stop it (the lock is {path})"
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        self.tenure = os.urandom(8).hex()

    def release(self) -> None:
        """Let another worker take the lock. The lock file stays: removing it would let two workers lock two files."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)
