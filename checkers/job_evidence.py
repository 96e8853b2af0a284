"""The page of a job, as data: read from a store of any kind through its reading interface alone, which changes nothing.

Total over what a store lets be read: records that cannot be understood are named, and what would follow from them is left out,
so that a job whose record was altered can be looked at, too.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from ..runtime.address import without_password
from ..runtime.clients import undo_job
from ..runtime.contracts.records import ExecutionContract
from ..runtime.contracts.requests import session_of
from ..runtime.contracts.step import contract_of
from ..runtime.contracts.store import ContractError, ContractStore, NoContract
from ..runtime.contracts.views import view
from ..runtime.effect_log import effect_log
from ..runtime.event_chain import first_break
from ..runtime.history import History
from ..runtime.job_records import Records, read
from ..runtime.next_words import ways
from ..runtime.records import Event
from ..runtime.shift import contracts_of
from ..runtime.store import Store
from ..runtime.store_rules import encode
from ..runtime.verify_job import Verdict, verify
from . import evidence_job as data
from .job_steps import edges, steps

T = TypeVar("T")
NOT_AS_WRITTEN = (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError, StopIteration)
"""What trips over records that this program has not written."""


def job_evidence(store: Store, job_id: str, url: str) -> data.JobEvidence:
    """Everything that a store holds about a job. url: its address, which may hold a password.

    Raises KeyError where there is no such job, StoreError and StoreUnusableError where the store cannot be read.
    """
    records = read(store, job_id)
    verdict = verify(records)
    unread: list[str] = []

    def understood(what: str, make: Callable[[], T], otherwise: T) -> T:
        """What follows from the records, or a word that it does not."""
        try:
            return make()
        except NOT_AS_WRITTEN as error:
            unread.append(f"{what}: the records are not as this program writes them ({type(error).__name__}: {error})")
            return otherwise

    events: list[Event] = understood("events", lambda: records.events, [])
    return data.JobEvidence(
        schema_version=data.JOB_SCHEMA_VERSION,
        job_id=job_id,
        store=without_password(url),
        status=records.line.status,
        version=records.line.version,
        epoch=records.line.epoch,
        created_at=records.line.created_at,
        verdict=_verdict(verdict),
        rests_at=understood("where it rests", lambda: _rests_at(events), None),
        ways=understood("what can be done", lambda: tuple(_ways(url, job_id, events)), ()),
        ended=understood("how it ended", lambda: _ended(events), None),
        events=tuple(_events(records)),
        decision=understood("decision", lambda: _decision(events), None),
        steps=understood("steps", lambda: tuple(steps(records)), ()),
        edges=understood("dependencies", lambda: tuple(edges(records)), ()),
        effects=understood("effect log", lambda: tuple(_effects(job_id, events)), ()),
        ledger=understood("ledger", lambda: tuple(_ledger(records)), ()),
        records=understood("effect records", lambda: tuple(_records(records)), ()),
        turns=tuple(_turns(records)),
        contracts=tuple(_contracts(contracts_of(store), job_id, unread)),
        related=understood("related jobs", lambda: tuple(_related(store, job_id, events)), ()),
        unread=tuple(unread),
        read_at=store.now(),
        program=_program(),
    )


def _program() -> str:
    """This program's version."""
    try:
        return version("crashwindow")
    except PackageNotFoundError:
        return "(not installed)"


def _verdict(verdict: Verdict) -> data.JobVerdict:
    criteria = tuple(
        data.Criterion(
            name=name,
            asks=words,
            holds=fault is None,
            event=fault.event if fault else None,
            reason=fault.reason if fault else None,
        )
        for name, words, fault in verdict.findings
    )
    return data.JobVerdict(
        verifiable=verdict.verifiable,
        head=verdict.head,
        criteria=criteria,
        rests_on=verdict.rests_on,
        warned=verdict.warned,
    )


def _events(records: Records) -> Iterator[data.JobEvent]:
    """The events as they are stored; the chain vouches for those before its first break."""
    broken = first_break(records.job_id, records.chain)
    for number, event in enumerate(records.chain, 1):
        yield data.JobEvent(
            **event._asdict(),
            sha256=hashlib.sha256(event.data.encode(errors="surrogatepass")).hexdigest(),
            chained=broken is None or number < broken.version,
        )


# What the events say of the job.


def _rests_at(events: list[Event]) -> str | None:
    """The node at which the job waits or is parked."""
    history = History(events)
    if history.status == "parked":
        return history.parked
    return str((history.waiting or {})["node"]) if history.status == "waiting" else None


def _ways(url: str, job_id: str, events: list[Event]) -> Iterator[data.Way]:
    for way in ways(url, job_id, events):
        yield data.Way(words=way.words, command=way.command, note=way.note)


def _ended(events: list[Event]) -> str | None:
    """Why the job failed or was cancelled."""
    last = events[-1] if events else None
    if last is not None and last.type == "job_failed":
        return f"step {last.data['step']}: {last.data['reason']}"
    asked = next((event.data for event in events if event.type == "cancel_requested"), None)
    if last is not None and last.type == "job_cancelled" and asked is not None:
        return f"{asked['who']} asked for it: {asked['reason']}"
    return None


def _decision(events: list[Event]) -> data.Decision | None:
    event = next((event for event in events if event.type == "decision_snapshot"), None)
    if event is None:
        return None
    said = {name: encode(event.data[name]) for name in ("goal", "memory", "reasoning")}
    return data.Decision(event=event.version, id=event.id, graph=encode(event.data["task_graph"]), **said)


def _effects(job_id: str, events: list[Event]) -> Iterator[data.LoggedEffect]:
    for entry in effect_log(job_id, events):
        said = entry._asdict()
        del said["job_id"]
        yield data.LoggedEffect(**said)


def _turns(records: Records) -> Iterator[data.Turn]:
    """The events of each lease; the ledger alone knows who held it."""
    for epoch in sorted({event.epoch for event in records.chain if event.epoch is not None}):
        mine = [event for event in records.chain if event.epoch == epoch]
        yield data.Turn(
            epoch=epoch,
            owners=tuple(sorted({held.owner for held in records.ledger.values() if held.epoch == epoch})),
            first=mine[0].version,
            last=mine[-1].version,
            count=len(mine),
            first_at=mine[0].at,
            last_at=mine[-1].at,
        )


# The other records.


def _ledger(records: Records) -> Iterator[data.LedgerRow]:
    for key, held in records.ledger.items():
        yield data.LedgerRow(
            step=held.step_id,
            tool=held.tool_name,
            status=held.status,
            owner=held.owner,
            epoch=held.epoch,
            key=key,
            invocation_id=held.invocation_id,
            args_hash=held.args_hash,
            result=encode(held.result),
            external_id=held.external_id,
            confirmed_at=held.confirmed_at,
        )


def _records(records: Records) -> Iterator[data.EffectRow]:
    for key, record in records.effects.items():
        yield data.EffectRow(
            step=record.step_id,
            kind=record.kind,
            key=key,
            input=encode(record.input),
            output=encode(record.output),
            input_hash=record.input_hash,
            output_hash=record.output_hash,
            changes=tuple(encode(change) for change in record.state_changes),
            metadata=encode(record.metadata),
        )


def _contracts(store: ContractStore | None, job_id: str, unread: list[str]) -> Iterator[data.JobContract]:
    """The contract whose step the job is, and the requests for approval that its nodes have made."""
    if store is None:
        return
    try:
        found: list[tuple[str, ExecutionContract]] = []
        own = contract_of(job_id)
        if own is not None:
            with suppress(NoContract):
                found.append(("the job is its durable step", store.contract(own)))
        found += [("a request of the job for approval", each) for each in store.contracts(session_of(job_id))]
        for relation, contract in found:
            store.history(contract.execution_id)  # which checks its chain
            yield _contract(relation, contract)
    except ContractError as error:
        unread.append(f"contracts: {error}")


def _contract(relation: str, contract: ExecutionContract) -> data.JobContract:
    """A contract at the level that is for diagnosis (C-DATA)."""
    shown = view(contract, "transitions")
    moves = tuple(
        data.ContractMove(
            at=move["timestamp"],
            before=move["from"],
            after=move["to"],
            trigger=move["trigger"],
            actor=move["actor"],
            metadata=encode(move["metadata"]),
        )
        for move in shown["transitions"]
    )
    consent = contract.consent
    return data.JobContract(
        execution_id=contract.execution_id,
        relation=relation,
        status=shown["status"],
        action=encode(shown["action_detail"]),
        digest=contract.action_digest,
        consent=None if consent is None else f"by {consent.by}, of digest {consent.digest}",
        result=None if shown["result"] is None else encode(shown["result"]),
        error=contract.error_message,
        moves=moves,
        earlier=contract.spilled,
    )


def _related(store: Store, job_id: str, events: Iterable[Event]) -> Iterator[data.RelatedJob]:
    """The job whose step this one undoes, and the jobs that undo a step of this one."""
    status = {row.job_id: row.status for row in store.jobs()}
    for node in History(events).plan.get("nodes", ()):
        if "undoes" in node:
            other = str(node["undoes"]["job"])
            yield data.RelatedJob(
                job_id=other, relation=f"its step {node['id']} is undone here", status=status.get(other)
            )
        elif (undo := undo_job(job_id, node["id"])) in status:
            yield data.RelatedJob(job_id=undo, relation=f"undoes step {node['id']}", status=status[undo])
