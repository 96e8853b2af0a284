"""LangGraph with its SQLite checkpointer, in each durability mode: a graph with a node per step, or an entrypoint with tasks.

It is used as its page on durable execution says: a run belongs to a thread; after a crash the graph is invoked again on the
same thread with `None`, which goes on from the last checkpoint. A run that left no checkpoint is begun anew by its client.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from importlib.metadata import version
from typing import Any, Literal, TypedDict, cast

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph

from ....runtime.records import Json
from ...evidence_outcome import Outcome
from ..adapter import Belief, Capabilities, Job, Known, Place, Promise

Durability = Literal["sync", "async", "exit"]
DATABASE = "checkpoints.db"
PAGE = "docs.langchain.com, LangGraph, Durable execution"
PROMISES: dict[Durability, Promise] = {
    "sync": Promise(
        "changes are persisted before the next step starts; a step that was begun and not completed is run again",
        f"{PAGE}: durability modes; idempotency",
        frozenset({Outcome.DUPLICATE}),
        last_only=True,
    ),
    "async": Promise(
        "changes are persisted while the next step executes; a crash may come before they are written, and what has no"
        " checkpoint is run again",
        f"{PAGE}: durability modes",
        frozenset({Outcome.DUPLICATE}),
    ),
    "exit": Promise(
        "changes are persisted when the graph exits; nothing in between can be recovered, and a run is begun again",
        f"{PAGE}: durability modes",
        frozenset({Outcome.DUPLICATE}),
    ),
}


# In "changes are persisted before the next step starts" a step is the graph's; an entrypoint is one, however many tasks it calls.
TASKS = Promise(
    "completed task results are saved, so that a resumed thread can skip finished work; that a result is durable before the next"
    " task of the same entrypoint begins is not said",
    "docs.langchain.com, LangGraph, Functional API: tasks; Durable execution: durability modes",
    frozenset({Outcome.DUPLICATE}),
)


class _State(TypedDict, total=False):
    """What a graph's nodes hand on: the result of each step."""

    results: dict[str, Json]


class LangGraph:
    """A graph. durability: of each invocation. tasks: an entrypoint with a task per step, instead of a graph with a node per
    step."""

    capabilities = Capabilities(takeover_seconds=0.5, seconds=30.0)
    versions: Mapping[str, str] = {
        name: version(name) for name in ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite")
    }

    def __init__(self, durability: Durability = "async", tasks: bool = False) -> None:
        self._durability, self._make = durability, _with_tasks if tasks else _with_nodes
        self.promise = TASKS if tasks and durability == "sync" else PROMISES[durability]

    def prepare(self, place: Place) -> None:
        """The checkpointer's tables."""
        with closing(_connect()) as connection:
            SqliteSaver(connection).setup()

    def start(self, place: Place, job: Job) -> None:
        """Invoke the graph on a thread of the job's own."""
        self._invoke(job, {"results": {}})

    def recover(self, place: Place, job: Job) -> None:
        """Invoke it again on that thread, where it left a checkpoint."""
        if self.belief(place, job).status != "absent":
            self._invoke(job, None)

    def belief(self, place: Place, job: Job) -> Belief:
        """What the thread's last checkpoint holds, with the writes of tasks that came after it."""
        with closing(_connect()) as connection:
            saver = SqliteSaver(connection)
            if saver.get_tuple(_config(job)) is None:
                return Belief("absent")
            state = self._make(job, saver).get_state(_config(job))
        results = dict((state.values or {}).get("results") or {}) if isinstance(state.values, dict) else {}
        over = not state.next and all(step in results for step in job.steps)
        steps: dict[str, Known] = {step: "done" for step in job.steps if step in results}
        return Belief("completed" if over else "running", steps, results)

    def _invoke(self, job: Job, given: dict[str, Any] | None) -> None:
        with closing(_connect()) as connection:
            self._make(job, SqliteSaver(connection)).invoke(given, _config(job), durability=self._durability)


def _connect() -> sqlite3.Connection:
    # The checkpointer writes from threads of its own.
    return sqlite3.connect(DATABASE, check_same_thread=False)


def _config(job: Job) -> Any:
    return {"configurable": {"thread_id": job.id}}


def _with_nodes(job: Job, saver: SqliteSaver) -> Any:
    """A graph with a node per step, one behind the other."""
    graph = StateGraph(_State)
    for before, step in zip((START, *job.steps), job.steps, strict=False):
        graph.add_node(step, _node(job, step))
        graph.add_edge(before, step)
    graph.add_edge(job.steps[-1], END)
    return graph.compile(checkpointer=saver)


def _node(job: Job, step: str) -> Any:
    def node(state: _State) -> _State:
        return {"results": {**state.get("results", {}), step: job.act(step)}}

    return node


def _with_tasks(job: Job, saver: SqliteSaver) -> Any:
    """An entrypoint that calls a task per step."""

    @task
    def act(step: str) -> Json:
        return job.act(step)

    @entrypoint(checkpointer=saver)
    def run(given: dict[str, Any]) -> dict[str, Any]:
        return {"results": {step: cast(Json, act(step).result()) for step in job.steps}}

    return run
