"""DBOS Transact, used as its documentation says: a workflow with a step per effect, recovered when the application is launched.

The job's id is the workflow's id. The executor id and the application's version are set, as the documentation asks of an
application that is hosted without Conductor: `launch` recovers the pending workflows of its own executor id and version, and
no others, so a second process of the same executor is the documented recovery. Whether the first one is really dead nobody
checks without Conductor (and with it, a time-out of 60 seconds by default); the documentation names the zombie that this makes
possible, and promises a step at least once then.

Two intervals are shorter than DBOS's own, to be quick; the order of what happens stays: how often the queue through which a
recovered workflow is dispatched is looked at (one second), and how often a result is asked for (a documented argument).
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from types import ModuleType
from typing import Any, Final, Literal

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig, SetWorkflowID

from ....runtime.records import Json
from ...evidence_outcome import Outcome
from ..adapter import Belief, Capabilities, Job, Known, Place, Promise, Status

NAME: Final = "crashwindow-campaign"
POLL_SECONDS: Final = 0.02
OLDEST_SQLITE: Final = (3, 42)
"""DBOS's queries use what older releases of SQLite do not have."""
STATUS: Final[Mapping[str, Status]] = {
    "PENDING": "running",
    "ENQUEUED": "running",
    "DELAYED": "running",
    "SUCCESS": "completed",
    "ERROR": "failed",
    "CANCELLED": "failed",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed",
}
PENDING: Final = [name for name, status in STATUS.items() if status == "running"]


def sqlite_of_dbos() -> ModuleType:
    """Python's own driver, or a newer one where its library is too old for DBOS."""
    if sqlite3.sqlite_version_info >= OLDEST_SQLITE:
        return sqlite3
    import pysqlite3

    module: ModuleType = pysqlite3
    return module


class Dbos:
    """DBOS Transact on a SQLite file, its default, or on PostgreSQL, which its documentation recommends for production."""

    promise = Promise(
        "a workflow always runs to completion; a step is tried at least once, and never again after it has completed, which it"
        " has when its result is recorded; several executions of a workflow at once have one recorded outcome, and each step"
        " at least once",
        "docs.dbos.dev: Workflows, 'Workflow Guarantees'; Explanations, 'Concurrent Executions'; Production, 'Workflow"
        " Recovery'",
        frozenset({Outcome.DUPLICATE}),
        last_only=True,
        pauses=True,
    )

    def __init__(self, store: Literal["sqlite", "postgresql"] = "sqlite") -> None:
        self._server = store == "postgresql"
        self._sqlite = None if self._server else sqlite_of_dbos()
        # Nothing waits before it takes over: whoever is launched with an executor id is that executor. One that was paused
        # within a transaction has locks, for which a recovery waits: it is given up after these seconds, and repeated.
        self.capabilities = Capabilities(server=self._server, takeover_seconds=0.0, seconds=15.0)
        driver = {"psycopg": version("psycopg")}
        if self._sqlite is not None:
            driver = {"sqlite": self._sqlite.sqlite_version}
        self.versions: Mapping[str, str] = {
            "dbos": version("dbos"),
            "sqlalchemy": version("sqlalchemy"),
            **driver,
        }

    def prepare(self, place: Place) -> None:
        """A launch makes the system database and its tables."""
        with self._launched(place):
            pass

    def start(self, place: Place, job: Job) -> None:
        """Start the workflow in the background, and wait for its result."""
        with self._launched(place, job) as workflow:
            with SetWorkflowID(job.id):
                handle = DBOS.start_workflow(workflow, list(job.steps))
            job.accepted()
            handle.get_result(polling_interval_sec=POLL_SECONDS)

    def recover(self, place: Place, job: Job) -> None:
        """Launch the application, which recovers what its executor had not finished; wait for that."""
        with self._launched(place, job):
            for found in DBOS.list_workflows(status=PENDING):
                DBOS.retrieve_workflow(found.workflow_id).get_result(polling_interval_sec=POLL_SECONDS)

    def belief(self, place: Place, job: Job) -> Belief:
        """What DBOS's client, which runs nothing, reads in the system database."""
        url = sqlalchemy.make_url(self._url(place))
        engine = sqlalchemy.create_engine(
            url.set(drivername="postgresql+psycopg") if self._server else url, **self._engine_options()
        )
        client = DBOSClient(system_database_engine=engine)
        try:
            found = client.list_workflows(workflow_ids=[job.id])
            if not found:
                return Belief("absent")
            recorded = [step for step in client.list_workflow_steps(job.id) if step["error"] is None]
            steps: dict[str, Known] = {step["function_name"]: "done" for step in recorded}
            results: dict[str, Json] = {step["function_name"]: step["output"] for step in recorded}
            return Belief(STATUS[found[0].status], steps, results)
        finally:
            client.destroy()
            engine.dispose()

    @contextmanager
    def _launched(self, place: Place, job: Job | None = None) -> Iterator[Any]:
        """An application with one workflow, from its launch to its end; yields the workflow."""
        application = DBOS(config=self._config(place))

        @DBOS.workflow(name="job")
        def workflow(steps: list[str]) -> None:
            assert job is not None
            for step in steps:
                DBOS.run_step({"name": step}, job.act, step)

        application._registry.get_internal_queue()._polling_interval_sec = POLL_SECONDS
        DBOS.launch()
        try:
            yield workflow
        finally:
            DBOS.destroy(destroy_registry=True)

    def _config(self, place: Place) -> DBOSConfig:
        return {
            "name": NAME,
            "application_version": "1",
            "executor_id": "executor-1",
            "system_database_url": self._url(place),
            "db_engine_kwargs": self._engine_options(),
            "notification_listener_polling_interval_sec": POLL_SECONDS,
            "log_level": "WARNING",
        }

    def _url(self, place: Place) -> str:
        """Where the system database is: DBOS's default on SQLite is a file in the working directory as well."""
        if place.server is None:
            return f"sqlite:///{NAME}.sqlite"
        return place.server

    def _engine_options(self) -> dict[str, Any]:
        """What SQLAlchemy is told, beside what DBOS tells it: which SQLite."""
        return {} if self._sqlite is None else {"module": self._sqlite}
