"""Independent pieces of work, several at a time, in processes of their own."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Literal, TypeVar

from .collector import collect_seldom
from .orphan import end_with

Task = TypeVar("Task")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[Task], Result], tasks: Iterable[Task], jobs: int, start: Literal["spawn", "fork"] = "spawn"
) -> Iterator[tuple[Task, Result]]:
    """Each task with what the work makes of it, as it ends; they begin at once, in their order, `jobs` at a time.

    The work has to be a function that can be imported. What it raises is raised here, and no other task is begun then. start:
    "fork" for processes that have at once what this one has loaded; only where it has no other thread.
    """
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context(start), initializer=_begin, initargs=(os.getpid(),))
    return _ended(pool, {pool.submit(work, task): task for task in tasks})


def _begin(parent: int) -> None:
    """What each process does first. One whose parent is killed would wait for a task for ever."""
    end_with(parent)
    collect_seldom()


def _ended(pool: ProcessPoolExecutor, futures: dict[Future[Result], Task]) -> Iterator[tuple[Task, Result]]:
    with pool:
        try:
            yield from ((futures[future], future.result()) for future in as_completed(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
