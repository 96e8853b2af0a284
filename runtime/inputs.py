"""Recorded inputs: what a tool asks of the runtime while it runs, durable before it is handed over (E-INPUTS, P12).

An input is one `command_committed` (kind time, random or http, command id `STEP#NAME#N`, N its place among the step's inputs). A
later execution of the step, a retry or a repeat, is given the same answers in the same order; what goes beyond them is asked
anew. So the questions have to come in the same order, too: where they do not, the tool is refused, and the outcome is unknown,
whatever the tool makes of the refusal, since what it did before is not known.
"""

import random
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .canonical import digest
from .history import Input
from .inputs_http import read
from .records import EffectKind, Json, NewEvent
from .store_rules import decode, encode
from .tool import NonDeterministicToolError

Ask = Callable[[Json], Json]
Append = Callable[[int, NewEvent], int]
"""Make an event durable, at an expected version; the stream's new version. Repeats until the answer is definite."""

KINDS: Final[Mapping[str, EffectKind]] = {"now": "time", "random": "random", "uuid": "random", "http_get": "http"}
"""By the name of the question: the kind of the effect."""


def sources(clock: Callable[[], float]) -> dict[str, Ask]:
    """Who answers each question for the first time."""
    chance = random.SystemRandom()
    return {
        "now": lambda _: clock(),
        "random": lambda _: chance.random(),
        "uuid": lambda _: str(uuid.uuid4()),
        "http_get": read,
    }


@dataclass(frozen=True)
class Recording:
    """What an execution begins with. version: the stream's. command_id, identity: what the events of the step bear."""

    version: int = 0
    command_id: str = ""
    identity: dict[str, Json] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()


NO_PAST: Final = Recording()


class Recorded(NamedTuple):
    """What an execution has added: the inputs, and the version of the stream afterwards."""

    inputs: tuple[Input, ...] = ()
    version: int = 0


NOTHING_RECORDED: Final = Recorded()


class Recorder:
    """Answers one execution. failure: why the stream could not be written; then nothing but that is known of the execution.

    strayed: the question that did not come as before.
    """

    def __init__(self, past: Recording, step: str, epoch: int, asked: Mapping[str, Ask], append: Append) -> None:
        self.past, self.step, self.epoch, self.asked, self.append = past, step, epoch, asked, append
        self.inputs = list(past.inputs)
        self.version = past.version
        self.place = 0
        self.failure: Exception | None = None
        self.strayed: NonDeterministicToolError | None = None
        self.thread: int | None = threading.get_ident()

    @property
    def recorded(self) -> Recorded:
        """What was added."""
        return Recorded(tuple(self.inputs[len(self.past.inputs) :]), self.version)

    def close(self) -> None:
        """The call is over: nobody is answered any more."""
        self.thread = None

    def ask(self, name: str, given: Json) -> Json:
        """The answer: the recorded one, or a new one that is durable now."""
        if threading.get_ident() != self.thread:
            raise RuntimeError(f"{name}: inputs are asked for during the tool's call, in the thread of the call")
        if broken := self.failure or self.strayed:
            raise broken
        self.place += 1
        asked = f"{self.past.command_id}#{name}#{self.place}"
        if self.place > len(self.inputs):
            self.inputs.append(self.record(name, Input(asked, given, self.asked[name](given))))
        known = self.inputs[self.place - 1]
        if (known.command_id, known.asked) != (asked, given):
            self.strayed = NonDeterministicToolError(
                f"step {self.step!r} asks for {asked}({encode(given)}), and has asked for"
                f" {known.command_id}({encode(known.asked)}) there before"
            )
            raise self.strayed
        return decode(encode(known.result))

    def record(self, name: str, found: Input) -> Input:
        """I1: one event. Where it cannot be written the tool is told nothing."""
        answer = decode(encode(found.result))
        hashes = {"input_hash": digest(found.asked), "output_hash": digest(answer)}
        told = {"command_id": found.command_id, "kind": KINDS[name], "input": found.asked, "result": answer, **hashes}
        kind = "command_committed"
        event = NewEvent(f"{self.epoch}.{self.version + 1}.{kind}", kind, self.step, {**self.past.identity, **told})
        try:
            self.version = self.append(self.version, event)
        except Exception as error:
            self.failure = error
            raise
        return found._replace(result=answer)
