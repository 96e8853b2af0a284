"""Execution contracts, replayed in the contract's machine by the interpreter alone: each tool contract with its request.

Its transitions, in the order of the trace, must be what some run of `model/contract_machine.py` makes; then the rows, what the
step's records say, and the effects that the world's witness noted must be those of a state in which such a run can be. What a
person's answer, a consent or a key is in the machine's words follows C-ONCE, C-BIND and C-DENY; the checkers have an abstraction
of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from ...model.contract_machine import build_contract
from .contract_records import Contracts, Row
from .stream_events import MEANINGLESS, Stream, UnreadableError, World, digest, read_stream
from .stream_fields import MeaninglessError, by_events, by_records, naming
from .stream_states import Model
from .strict_json import JsonError, strict_json

CONTRACTS: Final = ".contracts"
"""What the file with a run's contracts is called, beside its jobs' streams and the world's file."""
JOB: Final = "contract:"
STEP: Final = "call"
FREE: Final = ("failed", "cancelled")
"""What ended so holds its key no more: it is proved that nothing happened (C-RETRY)."""
OTHERS: Final = "other: "
"""How the machine calls what other contracts with the same key do."""
SET: Final = ("first", "other", "partial")


@cache
def model(others: bool) -> Model:
    """The machine, with other contracts beside it or without, and what its interpreter has said so far."""
    whole = build_contract()
    if others:
        return Model(whole, "tool")
    return Model(replace(whole, rules=tuple(r for r in whole.rules if not r.name.startswith(OTHERS))), "tool")


class Replay:
    """One tool contract. steps: the streams of all contracts' jobs, by job; effects: of each contract, what the witness noted."""

    def __init__(
        self, rows: Contracts, name: str, steps: Mapping[str, Stream], effects: Mapping[str, Sequence[Any]]
    ) -> None:
        self.rows, self.name, self.steps, self.effects = rows, name, steps, effects
        self.tool, self.request = rows.contracts[name], rows.request_of(name)
        self.gate = rows.contracts[self.request or name]

    def problems(self) -> Iterator[str]:
        """The first thing that is wrong with it; each sentence begins with the line."""
        line = int(self.tool["line"])
        roles = {self.name: "tool", self.request: "request"}
        machine = model(len(self.alike) > 1)
        try:
            states = machine.start({"consent": self.consent})
            now = {"tool": "absent", "request": "absent", "reopened": "no"}
            for entry in self.rows.trace:
                role = roles.get(entry.contract)
                if role is None:
                    continue
                line, before, move = entry.line, states, entry.move
                if entry.kind == "reopened":
                    now["reopened"] = "yes"
                else:
                    now[role] = move["after"] if move else "pending"
                if self.request and "absent" in now.values():
                    continue  # both are created in one write
                if move is None:
                    did = f"that it was {entry.kind}"
                    states = machine.beside(states, False, now)
                else:
                    did = f"{role}:{move['before']}:{move['trigger']}:{move['actor']}"
                    states = machine.after(states, did, True, None, now)
                if not states:
                    possible = ", ".join(machine.events(before)) or "none"
                    yield f"line {line}: contract {self.name!r}: {did} is no step of the model here; possible were {possible}"
                    return
            line = int(self.tool["line"])
            held = {**now, **self.rest()}
        except MEANINGLESS as error:
            yield f"line {line}: contract {self.name!r}: what is said here means nothing: {type(error).__name__} {error}"
            return
        differing = machine.differing(frozenset(p for p in states if not p[1]), held)
        if differing is None:
            yield f"line {line}: contract {self.name!r}: in the end a write of several transitions is not complete"
        elif differing:
            said = ", ".join(f"{name} {held[name]}, in the model {value}" for name, value in differing.items())
            yield f"line {line}: contract {self.name!r}: in the end there is {said}"

    @property
    def consent(self) -> str:
        """Which consent it needs: asked by a request that defers it, by itself, or none, also where an earlier one covers it."""
        if self.covered:
            return "none"
        return "before" if self.request else "during" if self.tool["needs_consent"] else "none"

    @property
    def covered(self) -> bool:
        """Whether it runs on a consent to an earlier execution, given for retries, after a proven no-effect (C-BIND, C-RETRY).

        Raises MeaninglessError for such a consent that nobody gave.
        """
        consent = self.tool["consent"]
        if consent is None or consent["execution_id"] == self.name:
            return False
        first = consent["execution_id"]
        earlier = [each for each in self.alike if each["seq"] < self.tool["seq"]]
        answers = self.rows.answers[self.rows.request_of(first) or first]
        given = [row["digest"] for row in answers if row["decision"] == "approve" and row["retries"]]
        if given != [consent["digest"]] or self.tool["action_digest"] not in given:
            raise MeaninglessError(f"nobody has approved its action, retries included, as that of {first!r}")
        if first not in [each["execution_id"] for each in earlier] or earlier[-1]["status"] != "failed":
            raise MeaninglessError("the execution before it is not proved to have done nothing")
        return True

    @property
    def alike(self) -> list[Row]:
        """The contracts that share its key: what can be undone reserves none, and stands alone."""
        key, final = self.tool["idempotency_key"], self.tool["irreversible"]
        same = [row for row in self.rows.contracts.values() if row["idempotency_key"] == key and row["irreversible"]]
        return same if final else [self.tool]

    def rest(self) -> dict[str, str]:
        """What the rows, the step's records and the world say in the end."""
        holding = [each["execution_id"] for each in self.alike if holds(each)]
        others = [name for name in holding if name != self.name]
        acted = [name for name in others if self.effects.get(name)]
        mine = len(self.effects.get(self.name, ()))
        every = sum(len(self.effects.get(each["execution_id"], ())) for each in self.alike)
        consent = self.tool["consent"]
        moves = self.rows.moves[self.name]
        if len(holding) > 1 or mine > 1:
            raise MeaninglessError(f"{len(holding)} contracts hold its key, and it had {mine} effects")
        return {
            "holder": "other" if others else "this" if holding else "free",
            "effects": str(min(every, 2)),
            "idle_others": str(len(others) - len(acted)),
            "acted_others": str(len(acted)),
            "reopened": "no" if self.tool["reopened_at"] is None else "yes",
            "approval": "none" if consent is None or self.covered else "used" if self.tool["consent_used"] else "fresh",
            "answer": self.answer(),
            "action": self.action(),
            "oldest": "pending" if moves else "none",
            "step": self.seen(),
            "deed": "done" if mine else "none",
        }

    def answer(self) -> str:
        """What a person has answered to whoever asks."""
        said = [row["decision"] for row in self.rows.answers[self.gate["execution_id"]]]
        if len(said) > 1:
            raise MeaninglessError(f"it has {len(said)} answers, and one was asked for")
        return str(said[0]) if said else "none"

    def action(self) -> str:
        """Whether the action still is what its approvals are of."""
        answers = self.rows.answers[self.gate["execution_id"]]
        approved = [row["digest"] for row in answers if row["decision"] == "approve"]
        approved += [self.tool["consent"]["digest"]] if self.tool["consent"] else []
        return "shown" if all(each == digest(self.tool["action_detail"]) for each in approved) else "changed"

    def seen(self) -> str:
        """What the step's records say, as its contract sees them; of one that failed as in flight a person's word is the last."""
        stream = self.steps.get(f"{JOB}{self.name}")
        if stream is None:
            return "none"
        named = naming(stream, STEP)
        said = {**by_events(stream.events, STEP, named), **by_records(stream, STEP, named)}
        moves = self.rows.moves[self.name]
        word = moves[-1]["trigger"] if moves and moves[-1]["actor"] == "graph_runner" else ""
        told = {"happened": "ok", "did_not_happen": "no_effect"}
        if said["job"] == "failed" and said["node"] == "unknown" and word in told:
            return told[word]
        if any(said[name] in SET for name in ("effect", "finished", "committed", "resolved")):
            return "ok"
        if said["ledger"] == "committed":
            return "ok"
        if said["node"] in ("no_effect", "unknown"):
            return said["node"]
        if said["job"] == "parked" and said["open"] != "0":
            return "unknown"
        if said["job"] == "cancelled" and said["closed"] != "0":
            return "no_effect"
        return "none" if said["open"] == said["closed"] == "0" else "started"


def contracts(rows: Contracts, steps: Mapping[str, Stream], effects: Mapping[str, Sequence[Any]]) -> Iterator[Replay]:
    """Every tool contract of a run; requests are replayed with those that they gate."""
    tools = [name for name, row in rows.contracts.items() if row["action_type"] == "tool_call"]
    yield from (Replay(rows, name, steps, effects) for name in tools)


def steps_of(data: bytes, world: World) -> Iterator[Stream]:
    """The streams of contracts' jobs, each with the effects of its own contract. Raises UnreadableError."""
    lines = data.splitlines(keepends=True)
    heads = [number for number, line in enumerate(lines) if begins(number, line)]
    if not heads or heads[0]:
        raise UnreadableError(1, "a job's records belong here")
    for begin, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        stream = read_stream(b"".join(lines[begin:end]), World({}, {}, ()), begin)
        done = world.effects.get(stream.job_id.removeprefix(JOB), ())
        yield replace(stream, world=World({STEP: done} if done else {}, {}, ()))


def begins(number: int, line: bytes) -> bool:
    """Whether a line is the first of a job: its records. Raises UnreadableError."""
    try:
        return "records" in strict_json(line)
    except (JsonError, TypeError) as error:
        raise UnreadableError(number + 1, f"it is no line of a stream: {error}") from error


def strangers(rows: Contracts, steps: Mapping[str, Stream], effects: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Jobs and effects of no tool contract of the run."""
    tools = {name for name, row in rows.contracts.items() if row["action_type"] == "tool_call"}
    for name in sorted({*effects, *(job.removeprefix(JOB) for job in steps)} - tools):
        yield f"there is a job or an effect of {name!r}, which is no tool contract here"


def holds(contract: Row) -> bool:
    """Whether a contract keeps its key from others."""
    return contract["status"] not in FREE and contract["reopened_at"] is None
