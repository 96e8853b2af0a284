"""Independent pieces of work, several at a time, in new processes."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Task], Result], tasks: Iterable[Task], jobs: int) -> Iterator[tuple[Task, Result]]:
    """Each task with what the work makes of it, as it ends; they begin in their order, `jobs` at a time.

    The work has to be a function that can be imported. What it raises is raised here, and no other task is begun then.
    """
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(work, task): task for task in tasks}
        try:
            yield from ((futures[future], future.result()) for future in as_completed(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
