"""What an enumerated state holds, as the contract's machine has it: by the oracle's own reading of records."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..runtime.contracts.step import job_id
from .abstraction import EffectRow, JobLine, LedgerRow, StoredEvent, StoredJob, durable_state, says_failed
from .contract_abstraction import (
    STEP_ID,
    StoredAnswer,
    StoredContract,
    StoredContracts,
    StoredEntry,
    StoredMove,
    contract_state,
)
from .contract_services import result_of
from .contract_terms import Terms
from .contract_words import Last, Standing, misanswered, misquoted, tool_of
from .enumerate_contract_case import RAISED
from .enumerate_contract_store import Content
from .interleave_store import Effects, Ledger, Stream

if TYPE_CHECKING:
    from .enumerate_contract_bench import Bench, Place


class Moved(NamedTuple):
    """A transition that a write made: whose, from where, by which trigger and actor."""

    execution_id: str
    before: str
    trigger: str
    actor: str


def stored_contracts(content: Content) -> StoredContracts:
    """The contracts of a store in memory, as the oracle reads them from a file; without their steps."""
    contracts = {
        name: StoredContract(
            name,
            it.session_id,
            it.action_type,
            it.action_detail,
            it.irreversible,
            it.idempotency_key,
            it.needs_consent,
            it.defers,
            it.status.value,
            it.version,
            None if it.consent is None else it.consent.model_dump(),
            it.consent_used,
            it.action_digest,
            name in content.reopened,
        )
        for name, it in content.contracts.items()
    }
    moves: dict[str, list[StoredMove]] = {}
    for each in content.moves:
        it = each.transition
        moves.setdefault(each.execution_id, []).append(
            StoredMove(each.position, it.from_.value, it.to.value, it.trigger, it.actor)
        )
    answers: dict[str, list[StoredAnswer]] = {}
    for given in content.answers:
        answers.setdefault(given.execution_id, []).append(StoredAnswer(given.decision, given.digest))
    trace = (
        StoredEntry(seq, name, it.action, str(it.metadata["trigger"]), str(it.metadata.get("actor", "")))
        for seq, (name, it) in enumerate(content.trace, 1)
    )
    return StoredContracts(contracts, _frozen(moves), _frozen(answers), tuple(trace), {})


def standing_in(content: Content, name: str) -> Standing:
    """The same of one contract, with what is said of its end."""
    it = content.contracts[name]
    moves = [each.transition for each in content.moves if each.execution_id == name]
    last = Last(moves[-1].trigger, moves[-1].from_.value, moves[-1].metadata) if moves else None
    return Standing(it.status.value, tool_of(it.action_detail), it.result, it.error_message, last, ())


def terms_in(content: Content) -> dict[str, Terms]:
    """What the contracts of a store in memory are made of."""
    return {
        name: Terms(
            it.session_id,
            it.action_type,
            it.action_detail,
            it.occurrence,
            it.irreversible,
            it.idempotency_key,
            it.timeout_seconds,
            it.needs_consent,
            it.defers,
            cast("str | None", it.metadata.get("supersedes")),
        )
        for name, it in content.contracts.items()
    }


def _frozen(lists: Mapping[str, list[Any]]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(several) for name, several in lists.items()}


def stored_step(job: str, stream: Stream, ledger: Ledger | None, effects: Effects | None) -> StoredJob:
    """The records of a contract's step."""
    return StoredJob(
        job,
        tuple(StoredEvent(e.version, e.id, e.type, e.step, e.epoch, json.loads(e.data)) for e in stream.events),
        tuple(LedgerRow(r.step_id, r.status, r.result, r.idempotency_key) for r in (ledger.records if ledger else ())),
        tuple(
            EffectRow(r.step_id, r.output, says_failed(r.metadata), r.idempotency_key)
            for r in (effects.records if effects else ())
        ),
        JobLine(stream.status, len(stream.events)),
    )


class View:
    """The states of a bench's contracts in the model's words, each read once. Raises NotAContractError, NotAJobError."""

    def __init__(self, bench: "Bench") -> None:
        self._bench = bench
        self._stored: dict[int, StoredContracts] = {}
        self._steps: dict[int, dict[str, dict[str, str]]] = {}
        self._fields: dict[tuple[Place, str], dict[str, str]] = {}

    def stored(self, number: int) -> StoredContracts:
        """The contracts of a content."""
        if number not in self._stored:
            self._stored[number] = self._bench.shelf.stored(number)
        return self._stored[number]

    def terms(self, number: int) -> dict[str, Terms]:
        """What the contracts of a content are made of."""
        return self._bench.shelf.terms(number)

    def tool_contracts(self, number: int) -> list[str]:
        """The tool contracts of a content."""
        every = self.stored(number).contracts.values()
        return [each.execution_id for each in every if each.action_type == "tool_call"]

    def roles(self, number: int, name: str) -> dict[str, str]:
        """Which contracts a machine speaks of: the tool contract, and the request that defers it."""
        request = self.stored(number).request_of(name)
        return {name: "tool"} | ({request.execution_id: "request"} if request else {})

    def fields(self, place: "Place", name: str) -> dict[str, str]:
        """The model's fields for a tool contract."""
        key = (place, name)
        if key not in self._fields:
            stored = self.stored(place.contracts)
            steps = self._records(place.steps)
            mine = {each: steps.get(job_id(each), {}) for each in self.tool_contracts(place.contracts)}
            effects = Counter(self._bench.worlds[place.world].effects)
            self._fields[key] = contract_state(replace(stored, steps=mine), name, effects)
        return self._fields[key]

    def misquoted(self, place: "Place", name: str) -> str:
        """How a contract says otherwise of its end than its tool has, or whoever ended it; "" where it does not."""
        stream = self._bench.steps(place.steps).get(job_id(name), (None,))[0]
        events = [(each.type, json.loads(each.data)) for each in stream.events] if stream else []
        said = {data["attempt"]: RAISED[data["outcome"]] for _, data in events if data.get("outcome") in RAISED}
        contract = self._bench.shelf.standing(place.contracts, name)._replace(events=events)
        return misanswered(contract, result_of(name)) or misquoted(contract, said)

    def _records(self, number: int) -> dict[str, dict[str, str]]:
        if number not in self._steps:
            seen = self._bench.steps(number)
            self._steps[number] = {
                job: durable_state(stored_step(job, stream, ledger, effects), STEP_ID)
                for job, (stream, ledger, effects, _) in seen.items()
                if stream is not None
            }
        return self._steps[number]
