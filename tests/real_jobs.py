"""Jobs over the real runtime and a witness, in a file each, and what three judges say of what they leave.

Nothing is said that is not true: whoever answers for an effect has looked at the world's witness.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from crashwindow.checkers.crash_streams import LINKED, NOTED, contract
from crashwindow.checkers.crash_witness import EFFECTS, World
from crashwindow.checkers.forgery import still_covering
from crashwindow.checkers.semantics_records import UNDO
from crashwindow.checkers.semantics_world import MODEL, RESOURCE, Deed, WitnessModel, WitnessVerifier
from crashwindow.checkers.stream_check import StreamChecker, contract_of
from crashwindow.checkers.stream_job import Contract
from crashwindow.checkers.stream_lines import Records, lines, written
from crashwindow.checkers.stream_step import Positions
from crashwindow.checkers.stream_store import stored
from crashwindow.reports.audit.stream_events import read_stream, read_world
from crashwindow.reports.audit.stream_replay import Replayed, replay
from crashwindow.reports.audit.streams import next_link
from crashwindow.runtime import drive
from crashwindow.runtime.clients import Client, undo_job
from crashwindow.runtime.commands import Command, Ports
from crashwindow.runtime.contracts.approvals import relay
from crashwindow.runtime.contracts.commands import ContractPorts
from crashwindow.runtime.contracts.operations import approve, deny
from crashwindow.runtime.contracts.sqlite_contracts import SqliteContractStore
from crashwindow.runtime.gate import request_id
from crashwindow.runtime.history import History
from crashwindow.runtime.job_records import read
from crashwindow.runtime.plan import submission
from crashwindow.runtime.records import Json, Lease
from crashwindow.runtime.resolve import Answer, question, resolve
from crashwindow.runtime.sqlite_store import SqliteStore
from crashwindow.runtime.turn import Worker
from crashwindow.runtime.verifier import Confirmation, Mode
from crashwindow.runtime.verify_job import verify

JOB: Final = "job"
Node = Deed | dict[str, Json]
Raw = dict[str, Any]
POSITIONS: Final = Positions()


class Died(BaseException):
    """The end of a worker."""


class RealJob:
    """A job, its nodes in a row; its worker, and who speaks to it. mode: how its changes are confirmed, if they are."""

    def __init__(self, folder: Path, nodes: Sequence[Node], mode: Mode | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.mode, self.time, self.epoch = folder, mode, 1_750_000_000.5, 0
        self.job_id = JOB
        self.before: dict[str, int] = {}
        self.world = World(str(folder))
        self.deeds = [node for node in nodes if isinstance(node, Deed)]
        self.tools = {tool.name: tool for tool in (deed.tool(self.world) for deed in self.deeds)}
        self.store = SqliteStore(folder / "store", lambda: self.time)
        self.contracts = SqliteContractStore(self.store)
        self.desk = ContractPorts(self.store, self.sleep, self.contracts)
        self.client = Client(self.store, "Ann", self.sleep)
        plain = [node.stored if isinstance(node, Deed) else node for node in nodes]
        ids = [node["id"] for node in plain]
        chain = [{**node, "depends_on": ids[:at][-1:]} for at, node in enumerate(plain)]
        self.store.submit(JOB, submission(JOB, {"version": 1, "nodes": chain}))

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds

    @property
    def history(self) -> History:
        """The job, as it is."""
        return History(self.store.events(self.job_id))

    def turn(self, before: Callable[[Command], object] = lambda command: None) -> str:
        """A worker's turn, and the job's status then. before: called with each command; the turn ends there if it raises Died."""
        looks = {change: script for deed in self.deeds for change, script in deed.scripts.items()}
        verifiers = {} if self.mode is None else {RESOURCE: WitnessVerifier(self.world, looks, lambda: self.epoch)}
        confirmation = Confirmation(verifiers, self.mode or "strict", retries=1)
        worker = Worker(
            "worker", self.tools, confirmation=confirmation, providers={MODEL: WitnessModel(self.world, ("ok",))}
        )

        def perform(command: Command, ports: Ports) -> Any:
            before(command)
            reply = drive.perform(command, ports)
            if isinstance(reply, Lease):
                self.epoch = reply.epoch
            return reply

        with suppress(Died, drive.StoppedError):
            drive.run(worker, Ports(self.store, self.sleep, self.contracts), self.job_id, perform)
        self.sleep(100.0)
        return self.history.status

    def undo(self, step: str) -> None:
        """Somebody wants a step undone."""
        self.client.compensate(self.tools, self.job_id, step, "wrong")

    def undo_elsewhere(self, step: str) -> None:
        """The same of a job that has ended: that is a job of its own, of which all is told from here on."""
        self.undo(step)
        self.job_id = undo_job(JOB, step)
        self.before = {name: len(self.world.content(name)) for name in NOTED}

    def decide(self, gate: str, yes: bool = True) -> None:
        """A person answers a request for approval."""
        name = request_id(JOB, gate)
        if yes:
            approve(self.desk, name, "Ann", digest=self.contracts.contract(name).action_digest)
        else:
            deny(self.desk, name, "Ann")
        relay(self.desk)

    def resolve(self, step: str) -> None:
        """A person looks at the world and says what became of a step, or of its compensation."""
        asked = question(self.job_id, self.store.events(self.job_id), step)
        of = step + UNDO if "compensates" in asked.identity else step
        line = next((line for line in self.world.lines(EFFECTS) if line.step == of), None)
        result = (line.result, line.external_id) if line else (None, None)
        self.sleep(max(0.0, asked.quiet_until - self.time))
        resolve(self.store, asked, Answer(line is not None, "Ann", "the witness", *result))

    def left(self) -> "Left":
        """What it leaves, as a run keeps it for an auditor, and what `verify-job` has against it."""
        planned = {node["id"] for node in self.history.plan["nodes"]}
        violated = verify(read(self.store, self.job_id)).violated
        self.store.close()
        path = str(self.folder / "store")
        declared = {deed.id: contract(self.tools[deed.stored["tool"]]) for deed in self.deeds if deed.id in planned}
        kept: list[Raw] = []
        with closing(sqlite3.connect(path)) as connection:
            for line, at in stored(path, self.job_id):
                more: Raw = {"declared": declared}
                if not isinstance(line.said, Records):
                    ((event_id, link),) = connection.execute(LINKED, (line.job_id, line.said.version))
                    more = {"id": event_id, "link": link}
                kept.append({**written(line.job_id, line.said, at), **more})
        seen = b"".join(self.world.content(name)[self.before.get(name, 0) :] for name in NOTED)
        return Left(kept, seen, str(violated) if violated else None, contract_of(self.tools))


class Left(NamedTuple):
    """What a job left: the line of its records, then its events; what the world's witness noted; what `verify-job` said; what
    its tools declare.
    """

    lines: list[Raw]
    world: bytes
    violated: str | None
    contract: Contract

    def altered(self, change: Callable[[list[Raw]], object]) -> "Left":
        """The same, forged by somebody who numbers and links the events anew, and adapts checkpoints and the job's line."""
        head, *events = json.loads(json.dumps(self.lines))
        change(events)
        link = None
        places = {event["version"]: version for version, event in enumerate(events, 1)}
        for version, event in enumerate(events, 1):
            if "covers" in event["data"]:
                event["data"] = still_covering(event["data"], version - event["version"], places)
            event["version"] = version
            link = event["link"] = next_link(link, event)
        ends = {"job_completed": "completed", "job_failed": "failed", "job_cancelled": "cancelled"}
        head["records"] |= {"version": len(events), "status": ends.get(events[-1]["type"], head["records"]["status"])}
        return Left([head, *events], self.world, None, self.contract)

    def diverges(self, records: bool = True, tools: bool = False) -> list[str]:
        """What `check-trace` has against it, with the records or without; with the tools, or of unknown ones."""
        raw = [json.dumps(line).encode() + b"\n" for line in self.lines[0 if records else 1 :]]
        return [str(found) for found in StreamChecker(self.contract if tools else None, POSITIONS).check(lines(raw))]

    def audited(self) -> list[str]:
        """What an audit has against it."""
        raw = b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)
        return list(replay(read_stream(raw, read_world(self.world)), Replayed()))

    def objections(self) -> list[str]:
        """What anybody has against it."""
        said = [f"verify-job: {self.violated}"] if self.violated else []
        ways = self.diverges(), self.diverges(records=False), self.diverges(tools=True)
        said += [f"check-trace: {each}" for way in ways for each in way]
        return said + [f"audit: {each}" for each in self.audited()]
