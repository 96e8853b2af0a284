"""The world of the chaos campaign: a file for each job, a line for each request, effect and fence; and the tools that write them.

As in `crash_witness`, the world is dumber than the model: it appends lines, and the judge counts them. Several processes write at
the same time, so a tool that is idempotent, or can fence, looks and acts under a lock of the job's file, as a database would.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ..runtime.records import Json
from ..runtime.registry import Registry
from ..runtime.tool import (
    Absent,
    Call,
    Compensation,
    Happened,
    Look,
    NoEffectError,
    OnUnknown,
    PartialEffectError,
    Query,
    Tool,
    ToolContext,
    ToolResult,
)
from .crash_witness import Behaviour, Line, Told, Witnessed, told_of
from .semantics_records import UNDO

Kind = Literal["request", "effect", "fence"]
Inside = Callable[[str, int], None]
"""Called by a tool between its request and its effect, with the job and the epoch: where a late request is late."""

# Bound before a worker's wall clock is made to jump: the world has a clock of its own.
_true_time: Final = time.time


class Mark(NamedTuple):
    """One line of a job's file. epoch: the fencing token of the request; of a fence, the token below which nothing is let in.

    told: what the tool was told of a request; None of what is none.
    """

    kind: Kind
    step: str
    key: str
    attempt: int
    epoch: int
    at: float
    result: Json = None
    external_id: str | None = None
    told: Told | None = None


@dataclass(frozen=True)
class Sort:
    """A sort of tool: how its n-th request of a step behaves (the last word repeats), and what it declares.

    lingers: it takes longer than a lease lasts without a heartbeat. partial: the effect happens, and the step fails: it is
    compensated, and the job fails. undo: how its compensation behaves, request by request; without it there is none.
    """

    script: tuple[Behaviour, ...]
    on_unknown: OnUnknown
    look: Look = "none"
    idempotent: bool = False
    lingers: bool = False
    partial: bool = False
    undo: tuple[Behaviour, ...] = ()


SORTS: Final = {
    "park": Sort(("ok",), "park"),
    "ask": Sort(("ok",), "query", "quiet"),
    "fenced": Sort(("ok",), "query", "fence"),
    "again": Sort(("ok",), "reexecute", idempotent=True),
    "fail": Sort(("ok",), "fail"),
    "flaky": Sort(("no_effect", "ok"), "query", "quiet"),
    "lost": Sort(("lost_answer",), "query", "fence"),
    "silent": Sort(("no_answer", "ok"), "query", "fence"),
    "unanswered": Sort(("no_answer", "ok"), "park", lingers=True),
    "refused-lost": Sort(("no_effect", "lost_answer"), "park"),
    "slow": Sort(("ok",), "query", "quiet", lingers=True),
    "undone": Sort(("ok",), "query", "fence", undo=("ok",)),
    "undo-asked": Sort(("ok",), "park", undo=("no_effect", "lost_answer")),
    "saga": Sort(("ok",), "query", "quiet", partial=True, undo=("ok",)),
}
"""Each completes where there is no fault, but what is partial, so that another end needs an excuse (P4)."""


HALF: Final = "half done"
"""Why a step failed that is partial."""


class World:
    """The files of all jobs, in one directory."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def marks(self, job_id: str) -> list[Mark]:
        """What was done to a job's part of the world so far, in order."""
        try:
            content = (self._directory / job_id).read_bytes()
        except FileNotFoundError:
            return []
        return [Mark(*json.loads(line)) for line in content.splitlines()]

    def witnessed(self, job_id: str) -> Witnessed:
        """The same, as the judge of crashes reads it."""
        marks = self.marks(job_id)
        return Witnessed(
            [Line(m.step, m.key, m.attempt, told=m.told and Told(*m.told)) for m in marks if m.kind == "request"],
            [Line(m.step, m.key, m.attempt, m.result, m.external_id) for m in marks if m.kind == "effect"],
        )

    def append(self, job_id: str, mark: Mark) -> None:
        """One line, by one write. Not synced: no power is lost here, and processes that are killed lose nothing written."""
        file = os.open(self._directory / job_id, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, json.dumps(mark).encode() + b"\n")
        finally:
            os.close(file)

    @contextmanager
    def locked(self, job_id: str) -> Iterator[list[Mark]]:
        """The marks of a job, while nobody else who asks for the lock adds any."""
        file = os.open(self._directory / job_id, os.O_RDONLY | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield self.marks(job_id)
        finally:
            os.close(file)


def tools(world: World, inside: Inside, quiet: float, ttl: float) -> Registry:
    """The tools of the campaign. quiet: the time D that each declares, in seconds. ttl: of a lease, for what outlasts it."""
    return Registry(_tool(name, sort, world, inside, quiet, ttl) for name, sort in SORTS.items())


def _tool(name: str, sort: Sort, world: World, inside: Inside, quiet: float, ttl: float) -> Tool:
    query = _query(sort, world)
    undo = Sort(sort.undo, "park", sort.look)
    compensation = Compensation(_call(undo, world, inside, ttl, UNDO), _query(undo, world, UNDO), sort.look, quiet)
    return Tool(
        name,
        _call(sort, world, inside, ttl),
        "adds a line to the job's file",
        idempotent=sort.idempotent,
        on_unknown=sort.on_unknown,
        query=query,
        look=sort.look,
        quiet_seconds=quiet,
        compensation=compensation if sort.undo else None,
    )


def _call(sort: Sort, world: World, inside: Inside, ttl: float, suffix: str = "") -> Call:
    """What a tool does, or its compensation: an effect of its own, named after the step and `suffix`."""

    def call(args: Json, context: ToolContext) -> ToolResult:
        context = replace(context, step_id=context.step_id + suffix)
        job, sent = context.job_id, _mark("request", context)._replace(told=told_of(context))
        world.append(job, sent)
        number = sum(m.kind == "request" and m.step == sent.step for m in world.marks(job))
        behaviour = sort.script[min(number, len(sort.script)) - 1]
        inside(job, context.fencing_token)
        if behaviour == "no_effect":
            raise NoEffectError("the world refused")
        if behaviour == "no_answer":
            raise ConnectionError("nobody answers")
        effect = _act(sort, world, context)
        if sort.lingers:
            time.sleep(1.25 * ttl)
        if behaviour == "lost_answer":
            raise ConnectionError("the answer was lost")
        if sort.partial:
            raise PartialEffectError(HALF, effect.result, effect.external_id)
        return ToolResult(effect.result, effect.external_id)

    return call


def _query(sort: Sort, world: World, suffix: str = "") -> Query | None:
    """How it is asked; None for what cannot be."""

    def query(args: Json, context: ToolContext) -> Happened | Absent:
        context = replace(context, step_id=context.step_id + suffix)
        with world.locked(context.job_id) as marks:
            if sort.look == "fence":
                world.append(context.job_id, _mark("fence", context))
            effect = _effect_under(context.external_key, marks)
        return Happened(effect.result, effect.external_id) if effect else Absent()

    return None if sort.look == "none" else query


def _act(sort: Sort, world: World, context: ToolContext) -> Mark:
    """Change the world: one more line, unless an idempotent tool has acted under this key. Raises NoEffectError at a fence."""
    job = context.job_id
    # The result is not the same twice, so that records of two effects would differ.
    effect = _mark("effect", context)._replace(
        result={"effect": f"{os.getpid()}.{time.monotonic_ns()}"},
        external_id=f"{context.step_id}.{time.monotonic_ns()}",
    )
    if sort.idempotent or sort.look == "fence":
        with world.locked(job) as marks:
            fence = max((m.epoch for m in marks if m.kind == "fence" and m.step == context.step_id), default=0)
            if context.fencing_token < fence:
                raise NoEffectError(f"a request with token {context.fencing_token} comes after a fence of {fence}")
            earlier = _effect_under(context.external_key, marks) if sort.idempotent else None
            if earlier is not None:
                return earlier
            world.append(job, effect)
    else:
        world.append(job, effect)
    return effect


def _mark(kind: Kind, context: ToolContext) -> Mark:
    return Mark(kind, context.step_id, context.external_key, context.attempt, context.fencing_token, _true_time())


def _effect_under(key: str, marks: list[Mark]) -> Mark | None:
    return next((m for m in marks if m.kind == "effect" and m.key == key), None)
