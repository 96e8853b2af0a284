"""The audit's own replay of execution contracts: real sessions are runs of the contract's machine, altered ones are refused.

The forger computes every chain anew: transitions are numbered and linked, the contract's row and the trace's numbers adapted.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pytest
import rfc8785

from crashwindow.model.contract_machine import build_contract
from crashwindow.reports.audit import contract_replay
from crashwindow.reports.audit.contract_records import COVERED, CREATED, MOVED
from crashwindow.reports.audit.stream_events import digest
from crashwindow.reports.audit.stream_replay import replay_streams
from crashwindow.reports.audit.stream_states import Model

from .kept_streams import CONTRACTS, kept_contracts

EXAMPLE: Final = "contract-worked-example="
DOUBT: Final = "contract-worked-example=execute=effect"
RETRIED: Final = "contract-retry-approved="
TWICE: Final = "contract-new-occurrence="
REOPENED: Final = "contract-denied-reopened="
DENIED: Final = "contract-denied="
NAMES: Final = (EXAMPLE, DOUBT, RETRIED, TWICE, REOPENED, DENIED)
Rows = list[dict[str, Any]]
Change = Callable[[Rows], object]


@cache
def honest() -> dict[str, bytes]:
    """What is kept of some schedules."""
    return kept_contracts(*(f"crash:{name.replace('=', ':')}" for name in NAMES))


def rows_of(name: str) -> Rows:
    """The rows of a run."""
    return [json.loads(line) for line in honest()[f"{CONTRACTS}{name}.contracts"].splitlines()]


def of(rows: Rows, table: str, contract: str | None = None) -> Rows:
    """The rows of a table, of one contract or of all."""
    return [row for row in rows if row["table"] == table and contract in (None, row["execution_id"])]


def forged(rows: Rows) -> bytes:
    """The rows as they would be written: whole in themselves."""
    for contract in of(rows, "contracts"):
        covered = {n: bool(contract[n]) if n in ("irreversible", "needs_consent") else contract[n] for n in COVERED}
        link, moves = (
            hashlib.sha256(CREATED + rfc8785.dumps(covered)).hexdigest(),
            of(rows, "contract_transitions", contract["execution_id"]),
        )
        for position, move in enumerate(moves, 1):
            move["position"] = position
            told = {"from": move["before"], "to": move["after"], "timestamp": move["at"]}
            said = {**told, **{name: move[name] for name in ("trigger", "actor", "metadata")}}
            content = [link, contract["execution_id"], position, said, move["outcome"]]
            link = move["link"] = hashlib.sha256(MOVED + rfc8785.dumps(content)).hexdigest()
        contract["link"], contract["version"] = link, len(moves)
        contract["status"] = moves[-1]["after"] if moves else "pending"
    for number, entry in enumerate(of(rows, "execution_trace"), 1):
        entry["seq"] = number
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def problems(name: str, change: Change, **files: bytes | None) -> list[str]:
    """What is found of a run with altered rows; files: others of its three in the place of the honest ones, by suffix."""
    rows = rows_of(name)
    change(rows)
    kept = {f"{CONTRACTS}{name}.{each}": honest().get(f"{CONTRACTS}{name}.{each}") for each in ("jsonl", "world")}
    kept |= {f"{CONTRACTS}{name}.contracts": forged(rows)}
    kept |= {f"{CONTRACTS}{name}.{suffix}": data for suffix, data in files.items()}
    return replay_streams({path: data for path, data in kept.items() if data is not None}).problems


def nothing(rows: Rows) -> None:
    """Alter nothing."""


def test_sessions_of_real_crashes_are_runs_of_the_model() -> None:
    """Asked, in doubt, retried, twice in two sessions, reopened, denied: each tool contract is replayed, and counted."""
    found = replay_streams(honest())
    assert found.problems == []
    tools = sum(row["action_type"] == "tool_call" for name in NAMES for row in of(rows_of(name), "contracts"))
    assert (found.streams, found.contracts) == (len(NAMES), tools)
    assert f"{tools} contracts of {len(NAMES)} streams" in found.words
    assert [problems(name, nothing) for name in NAMES] == [[]] * len(NAMES)


@pytest.mark.parametrize("name", [EXAMPLE, DOUBT])
def test_a_transition_that_is_dropped_doubled_or_exchanged_is_refused(name: str) -> None:
    """With its entry in the trace, or without: every one of every contract."""
    told = of(rows_of(name), "execution_trace")
    for place, entry in enumerate(told):
        assert problems(name, lambda rows, at=place: drop(rows, at)), entry  # type: ignore[misc]
        assert problems(name, lambda rows, at=place: rows.remove(of(rows, "execution_trace")[at])), entry  # type: ignore[misc]
        assert problems(name, lambda rows, at=place: rows.append(dict(of(rows, "execution_trace")[at]))), entry  # type: ignore[misc]
        if place + 1 < len(told) and place:  # that two contracts are created in one write has no order
            assert problems(name, lambda rows, at=place: exchange(rows, at)), entry  # type: ignore[misc]


def drop(rows: Rows, place: int) -> None:
    """Take an entry of the trace away, and its transition."""
    entry = of(rows, "execution_trace")[place]
    before = [e for e in of(rows, "execution_trace", entry["execution_id"]) if e["seq"] < entry["seq"]]
    rows.remove(entry)
    moves = of(rows, "contract_transitions", entry["execution_id"])
    if before and len(before) <= len(moves):
        rows.remove(moves[len(before) - 1])


def exchange(rows: Rows, place: int) -> None:
    """Exchange an entry of the trace and the next one."""
    one, two = of(rows, "execution_trace")[place : place + 2]
    at = rows.index(one)
    rows[at], rows[at + 1] = two, one


def every(table: str, contract: str, number: int = 0, **fields: Any) -> Change:
    """Alter a row of a table."""
    return lambda rows: of(rows, table, contract)[number].update(fields)


def pulled(contract: str, number: int, trigger: str, after: str, actor: str | None = None) -> Change:
    """Another trigger for a transition, in the trace, too."""

    def change(rows: Rows) -> None:
        move = of(rows, "contract_transitions", contract)[number]
        move.update(trigger=trigger, after=after, actor=actor or move["actor"])
        entry = of(rows, "execution_trace", contract)[number + 1]
        entry["action"] = f"transition:{contract}:{move['before']}→{after}"
        entry["metadata"].update(trigger=trigger, actor=move["actor"])

    return change


def acting_otherwise(rows: Rows) -> None:
    """The action is another one, and its digest is right."""
    contract = of(rows, "contracts", "exec-001")[0]
    contract["action_detail"]["args"]["to"] = "eve@example.com"
    contract["action_digest"] = digest(contract["action_detail"])


def under_one_key(rows: Rows) -> None:
    """Both contracts have one key."""
    one, two = (row for row in of(rows, "contracts") if row["action_type"] == "tool_call")
    two["idempotency_key"] = one["idempotency_key"]


FIRST: Final = "exec-001"
ASKS: Final = "exec-002"
ALTERED: dict[str, tuple[str, Change, str]] = {
    "an answer that nobody gave": (EXAMPLE, lambda x: x.remove(of(x, "contract_answers")[0]), "answer none, in the model"),
    "an answer that says no": (EXAMPLE, every("contract_answers", ASKS, decision="deny"), "answer deny, in the model approve"),
    "an answer about another action": (EXAMPLE, every("contract_answers", ASKS, digest="0" * 64), "action changed, in the model"),
    "another action than the approved one": (EXAMPLE, acting_otherwise, "action changed, in the model shown"),
    "another action, its digest kept": (EXAMPLE, every("contracts", FIRST, action_detail={}), "not the one of its digest"),
    "a consent that was not used up": (EXAMPLE, every("contracts", FIRST, consent_used=0), "approval fresh, in the model used"),
    "a consent that is not there": (EXAMPLE, every("contracts", FIRST, consent=None), "approval none, in the model used"),
    "an actor that may not": (EXAMPLE, pulled(FIRST, 0, "start", "running", "reasoning"), "is no step of the model here"),
    "a result that was a failure": (EXAMPLE, pulled(FIRST, 1, "fail", "failed"), "in the end there is"),
    "an outcome that was known": (DOUBT, pulled(FIRST, 1, "succeed", "completed"), "stands where 3 from completed belongs"),
    "an end without a trigger": (EXAMPLE, pulled(FIRST, 1, "finish", "completed"), "does not lead from running to completed"),
    "another word of a person": (DOUBT, pulled(FIRST, 2, "did_not_happen", "failed"), "in the end there is"),
    "a result": (EXAMPLE, every("contracts", FIRST, result={"sent": 7}), "its result is not that of its last transition"),
    "a denial that was an approval": (DENIED, every("contract_answers", ASKS, decision="approve"), "in the end there is answer"),
    "a key that was never released": (REOPENED, lambda x: of(x, "contracts")[0].update(reopened_at=None), "belongs to none"),
    "a key released by nobody": (DENIED, every("contracts", FIRST, reopened_at=1.0), "not everything that became of it"),
    "two contracts with one key": (TWICE, under_one_key, "2 contracts hold its key"),
    "a retry that was not covered": (RETRIED, every("contract_answers", FIRST, retries=0), "nobody has approved its action"),
    "a retry of another action": (RETRIED, every("contract_answers", FIRST, digest="0" * 64), "nobody has approved"),
    "an entry's actor": (EXAMPLE, lambda x: of(x, "execution_trace")[3]["metadata"].update(actor="tool_node"), "the trace says"),
    "a row of no table": (EXAMPLE, lambda x: x[0].update(table="jobs"), "line 1: it is no row"),
    "a row of no contract": (EXAMPLE, every("contract_answers", ASKS, execution_id="exec-009"), "no contract 'exec-009'"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ALTERED)
def test_what_was_altered_is_refused_by_its_place(attack: str) -> None:
    """The file and the line are named, and what is wrong there."""
    name, change, words = ALTERED[attack]
    found = problems(name, change)
    assert any(words in each for each in found), found
    assert all(each.startswith(f"{CONTRACTS}{name}.contracts, line ") for each in found)


def test_a_chain_that_was_not_made_anew_is_refused() -> None:
    """A changed row is found by the links alone."""
    name = f"{CONTRACTS}{EXAMPLE}.contracts"
    files = {**honest(), name: honest()[name].replace(b'"by":"Ann"', b'"by":"Eve"')}
    assert any(
        each.startswith(f"{name}, line 1: contract 'exec-001': the chain breaks")
        for each in replay_streams(files).problems
    )


def beside(suffix: str) -> bytes:
    """The step's streams, or the world's file, of the example."""
    return honest()[f"{CONTRACTS}{EXAMPLE}.{suffix}"]


WORLDS: dict[str, tuple[Callable[[], dict[str, bytes | None]], str]] = {
    "an effect more": (lambda: {"world": beside("world") * 2}, "it had 2 effects"),
    "no effect": (lambda: {"world": b""}, "in the end there is"),
    "an effect of nobody": (lambda: {"world": beside("world").replace(b"exec-001", b"exec-009")}, "'exec-009'"),
    "no record of its step": (lambda: {"jsonl": None}, "in the end there is step none, in the model ok"),
    "a step's stream without its head": (lambda: {"jsonl": beside("jsonl").partition(b"\n")[2]}, "a job's records belong"),
    "no contracts": (lambda: {"contracts": None}, "which is no step of the plan"),
    "no row": (lambda: {"contracts": b""}, "it holds no contract"),
    "no world": (lambda: {"world": None}, "belong together"),
}  # fmt: skip


@pytest.mark.parametrize("attack", WORLDS)
def test_what_stands_beside_the_rows_has_to_agree(attack: str) -> None:
    """The step's stream and the world's lines are compared with the contract's states; no file can be left out."""
    files, words = WORLDS[attack]
    found = problems(EXAMPLE, nothing, **files())
    assert any(words in each for each in found), found


@pytest.mark.parametrize("rule", ["person: approve", "start, with consent", "step: ok", "caller: approved, releases"])
def test_it_is_the_model_that_says_what_a_run_is(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a rule that a run has taken, the run is none of the model any more."""
    machine = build_contract()
    rules = tuple(each for each in machine.rules if not each.name.removeprefix("another ").startswith(rule))
    less = Model(replace(machine, rules=rules), "tool")
    monkeypatch.setattr(contract_replay, "model", lambda others: less)
    assert problems(EXAMPLE, nothing)
