"""Jobs made at random: plans, tools, crashes, and everything that people and clients may say. A seed names a job and its life."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

from crashwindow.checkers.crash_witness import Behaviour
from crashwindow.checkers.semantics_world import MODEL, Deed, Seen, Undo
from crashwindow.runtime.clients import ClientError, why_parked
from crashwindow.runtime.commands import Command
from crashwindow.runtime.contracts.approvals import relay
from crashwindow.runtime.gate import request_id
from crashwindow.runtime.records import TERMINAL, Json
from crashwindow.runtime.resolve import ResolveError
from crashwindow.runtime.tool import Look, OnUnknown
from crashwindow.runtime.verifier import Mode

from .real_jobs import JOB, Died, Left, Node, RealJob

TURNS: Final = 14
"""After so many turns and words a job is left as it is: what it leaves then is a stream, too."""
WORDS: Final[tuple[Behaviour, ...]] = ("ok", "no_effect", "lost_answer", "no_answer")
LOOKS: Final[tuple[Look, ...]] = ("none", "none", "quiet", "fence")
MODES: Final[tuple[Mode | None, ...]] = (None, None, None, "strict", "warn", "human_in_loop")


class RandomJob:
    """One job and its life. undoing: half of them are steps alone, and people who have them undone."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw, self.seed = Random(seed), seed
        self.undoing = self.draw.random() < 0.5
        self.job = RealJob(folder, list(self._nodes()), self.draw.choice(MODES))

    # What it is.

    def _nodes(self) -> Iterator[Node]:
        """One to four nodes, and an approval before some of the steps."""
        draw, before = self.draw, list[str]()
        for name in "abcd"[: draw.randint(1, 4)]:
            kind = draw.choices(["tool", "wait", "approve", "llm"], [9, 1, 1, 0] if self.undoing else [6, 2, 2, 1])[0]
            if kind == "wait":
                yield {"id": f"w{name}", "wait": draw.choice(["go", "on"])}
                continue
            if kind == "llm":
                yield {"id": f"m{name}", "llm": MODEL, "prompt": {"node": f"m{name}"}, "model": "any"}
                before.append(f"m{name}")
                continue
            if kind == "approve":
                yield {"id": f"ok{name}", "approve": name}
            yield self._deed(name, before)
            before.append(name)

    def _looks(self, name: str) -> tuple[Seen, ...]:
        """What a verifier says of what the step has changed; of some there is nothing to be said."""
        draw = self.draw
        words: tuple[Seen, ...] = ("match", "mismatch", "undetermined")
        looks = tuple(draw.choices(words, [4, 1, 1], k=draw.randint(1, 3)))
        return () if Random(f"{self.seed} {name} changes nothing").random() < 0.4 else looks

    def _deed(self, name: str, before: list[str]) -> Deed:
        """A step, with a tool that behaves and declares as it likes."""
        draw = self.draw
        look: Look = draw.choice(LOOKS)
        idempotent = draw.random() < 0.3
        unknown: list[OnUnknown] = ["park", "park", "fail"]
        if look != "none":
            unknown.append("query")
        if idempotent:
            unknown.append("reexecute")
        retries: dict[str, Json] = {"max_retries": draw.randint(0, 1), "max_requeues": draw.choice([0, 0, 1])}
        return Deed(
            name,
            self._script(9 if self.undoing else 5),
            draw.choice(unknown),
            look,
            idempotent,
            partial=draw.random() < 0.25,
            undo=self._undo() if self.undoing or draw.random() < 0.7 else None,
            inputs=draw.choice([0, 0, 0, 1]),
            uses=draw.choice([None, *before]),
            looks=self._looks(name),
            errors=draw.choice([None, None, ("never",)]),
            quiet=Random(f"{self.seed} {name}").choice([0.0, 0.0, 3.0, 7.5]),
            node=retries,
        )

    def _script(self, well: int) -> tuple[Behaviour, ...]:
        return tuple(self.draw.choices(WORDS, [well, 2, 2, 2], k=self.draw.randint(1, 3)))

    def _undo(self) -> Undo:
        return Undo(self._script(4), self.draw.choice(LOOKS), self.draw.random() < 0.5)

    # What becomes of it.

    def live(self) -> Left:
        """Turns of workers and words of people, until it has ended or nobody cares any more."""
        job = self.job
        for _ in range(TURNS):
            status = job.history.status
            if status in TERMINAL:
                break
            if status == "open":
                self.turn()
            else:
                self.say_at_rest()
            relay(job.desk)
            if job.history.status in TERMINAL and job.deeds and job.job_id == JOB and self.draw.random() < 0.3:
                with suppress(ClientError):
                    job.undo_elsewhere(self.draw.choice(job.deeds).id)
        return job.left()

    def turn(self) -> None:
        """One life of a worker, which may end before any command; clients speak meanwhile."""
        left = self.draw.randint(1, 25) if self.draw.random() < 0.5 else 0
        spoken = 0.1 if self.undoing else 0.04

        def before(command: Command) -> None:
            nonlocal left
            if self.draw.random() < spoken:
                self.say_meanwhile()
            left -= 1
            if not left:
                raise Died

        self.job.turn(before)

    def say_meanwhile(self) -> None:
        """A client speaks to the job, whatever that is doing."""
        with suppress(ClientError):
            match self.draw.choices(["cancel", "signal", "undo"], [1, 1, 9 if self.undoing else 3])[0]:
                case "cancel":
                    self.job.client.cancel(self.job.job_id, "not wanted")
                case "signal":
                    self.signal(self.draw.choice(["go", "on"]))
                case _:
                    self.undo()

    def say_at_rest(self) -> None:
        """A person sees to a job at rest: mostly to what it rests for."""
        with suppress(ClientError, ResolveError):
            match self.draw.choices(["what it asks", "undo", "cancel", "signal"], [16, 6, 1, 2])[0]:
                case "undo":
                    self.undo()
                case "cancel":
                    self.job.client.cancel(self.job.job_id, "given up")
                case "signal":
                    self.signal(self.draw.choice(["go", "on"]))
                case _:
                    self.answer()

    def signal(self, name: str) -> None:
        """Somebody sends a signal."""
        self.job.client.signal(self.job.job_id, name, self.draw.randint(0, 9))

    def undo(self) -> None:
        """Somebody wants some step undone."""
        if self.job.deeds:
            self.job.undo(self.draw.choice(self.job.deeds).id)

    def answer(self) -> None:
        """What it rests for: a signal, an approval, an outcome, an undoing that failed, a record that is not confirmed."""
        job, draw, history = self.job, self.draw, self.job.history
        waiting = history.waiting or {}
        if history.status == "waiting" and "signal" in waiting:
            self.signal(waiting["signal"])
        elif history.status == "waiting":
            if job.contracts.given(request_id(JOB, waiting["node"])) is None:
                job.decide(waiting["node"], draw.random() < 0.8)
        else:
            why = why_parked(history)
            doubtful = [name for name, past in history.steps.items() if past.asks]
            if doubtful and (why in ("outcome", "compensation outcome") or draw.random() < 0.5):
                job.resolve(draw.choice(doubtful))
            elif why == "compensation failed":
                job.undo(history.parked or "")
            else:
                job.client.confirm(job.job_id, "the witness")
