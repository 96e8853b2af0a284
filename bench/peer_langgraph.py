"""LangGraph with the rows' trivial step: a graph with a node per step, SQLite checkpointer, durability sync; in `apart`."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from .row import Measure, WrongWorkError
from .steps import STEPS


class _State(TypedDict):
    done: int


def _step(state: _State) -> _State:
    return {"done": state["done"] + 1}


def _graph(saver: SqliteSaver) -> Any:
    graph = StateGraph(_State)
    names = [f"s{n}" for n in range(STEPS)]
    for before, name in zip((START, *names), names, strict=False):
        graph.add_node(name, _step)
        graph.add_edge(before, name)
    graph.add_edge(names[-1], END)
    return graph.compile(checkpointer=saver)


@contextmanager
def on_sqlite(directory: Path) -> Iterator[Measure]:
    """A thread for each job; the graph is made once."""
    # The checkpointer writes from threads of its own.
    with closing(sqlite3.connect(directory / "checkpoints.db", check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        saver.setup()
        graph, threads = _graph(saver), count()

        def measure() -> float:
            config = {"configurable": {"thread_id": f"job{next(threads)}"}, "recursion_limit": STEPS + 1}
            began = time.perf_counter()
            done = graph.invoke({"done": 0}, config, durability="sync")["done"]
            if done != STEPS:
                raise WrongWorkError(f"{done} steps, not {STEPS}")
            return STEPS / (time.perf_counter() - began)

        yield measure
