"""Our own runtime, through the same door as the others: submitted, worked on, and worked on again after a crash."""

from collections.abc import Mapping
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version

# What a worker loads late is named here, so that the warm process has it once for all methods (`warm.py`).
from ....runtime.contracts import sqlite_contracts as _sqlite_contracts  # noqa: F401  # for its being loaded
from ....runtime.history import History
from ....runtime.open_store import open_store
from ....runtime.plan import parse_plan, submission, validate_plan
from ....runtime.records import Json
from ....runtime.registry import Registry
from ....runtime.store import Store
from ....runtime.tool import Absent, Happened, OnUnknown, ToolContext
from ....runtime.worker import work_until_idle
from ...evidence_outcome import Outcome
from ..adapter import Belief, Capabilities, Job, Known, Place, Promise

try:
    RELEASE = version("crashwindow")
except PackageNotFoundError:
    RELEASE = "of a checkout"
TTL = 1.0
"""Seconds after which a lease may be taken over: the shortest that the command line allows."""
TOOL = "campaign.act"


class Own:
    """The embedded store on a SQLite file, or the PostgreSQL store of many workers.

    on_unknown: what an attempt of unknown outcome leads to. `park` waits for a person: HONEST UNKNOWN. `query` asks the tool,
    which can say what happened and fences requests that are late: the world of a campaign delays none, as long as nobody
    wakes a paused process. So a paused one is woken with `park` alone, and on PostgreSQL alone: a SQLite file has one worker.
    """

    versions: Mapping[str, str] = {"crashwindow": RELEASE}

    def __init__(self, store: str = "sqlite", on_unknown: OnUnknown = "park") -> None:
        self._server, self._on_unknown = store == "postgresql", on_unknown
        woken = self._server and on_unknown == "park"
        self.capabilities = Capabilities(self._server, takeover_seconds=TTL + 0.2 if woken else None, seconds=30.0)
        allows = frozenset({Outcome.HONEST_UNKNOWN} if on_unknown == "park" else set[Outcome]())
        self.promise = Promise(
            "for one step the world changes at most once, whatever crashes, and the record never lies about it; an outcome"
            " that nobody knows parks the job, unless the tool can be asked",
            "README.md; claims P1, P2 and P6",
            allows,
            pauses=True,
            power=not self._server,
        )

    def prepare(self, place: Place) -> None:
        """An empty store."""
        self._open(place).close()

    def start(self, place: Place, job: Job) -> None:
        """Submit the plan, and work on it."""
        nodes: list[Json] = []
        for step in job.steps:
            nodes.append(
                {
                    "id": step,
                    "tool": TOOL,
                    "depends_on": [str(node["id"]) for node in nodes[-1:] if isinstance(node, dict)],
                }
            )
        plan = validate_plan(parse_plan({"version": 1, "nodes": nodes}), self._registry(job))
        with closing(self._open(place)) as store:
            store.submit(job.id, submission(job.id, plan))
            job.accepted()
            work_until_idle(store, self._registry(job), ttl=TTL)

    def recover(self, place: Place, job: Job) -> None:
        """A worker in a new process: `crashwindow worker --until-idle`."""
        with closing(self._open(place)) as store:
            work_until_idle(store, self._registry(job), ttl=TTL)

    def belief(self, place: Place, job: Job) -> Belief:
        """What the event stream says."""
        with closing(self._open(place)) as store:
            try:
                history = History(store.events(job.id))
            except KeyError:
                return Belief("absent")
        steps: dict[str, Known] = {}
        results: dict[str, Json] = {}
        for name, step in history.steps.items():
            if step.stored is not None:
                steps[name], results[name] = "done", step.stored.result
            else:
                steps[name] = "unknown" if step.open else "not done"
        match history.status:
            case "completed":
                return Belief("completed", steps, results)
            case "failed" | "cancelled":
                return Belief("failed", steps, results)
            case "parked":
                return Belief("unknown", steps, results)
            case _:
                return Belief("running", steps, results)

    def _open(self, place: Place) -> Store:
        return open_store(place.server if place.server is not None else "sqlite:///jobs.db")

    def _registry(self, job: Job) -> Registry:
        registry = Registry()
        asked = self._on_unknown == "query"

        def query(args: Json, context: ToolContext) -> Happened | Absent:
            result = job.find(context.step_id)
            return Absent() if result is None else Happened(result)

        @registry.tool(
            name=TOOL,
            irreversible=True,
            on_unknown=self._on_unknown,
            query=query if asked else None,
            look="fence" if asked else "none",
            no_compensation="an effect on the world's witness cannot be undone",
        )
        def act(args: Json, context: ToolContext) -> Json:
            """Acts once on the campaign's world."""
            return job.act(context.step_id, context.external_key)

        return registry
