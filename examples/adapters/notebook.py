"""A runtime of forty lines with its state in a JSON file, and its adapter; docs/campaigns.md runs its campaign.

It writes down that a step is begun, calls it, and writes down that it is done. A step that was begun and has no end is not called
again: the job is parked, for somebody to look.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crashwindow.checkers.campaign.adapter import Belief, Capabilities, Job, Known, Place, Promise
from crashwindow.checkers.evidence_outcome import Outcome


class Notebook:
    """The runtime."""

    file = Path("notebook.json")

    def read(self) -> dict[str, Any]:
        """What is written down."""
        return json.loads(self.file.read_text()) if self.file.exists() else {"job": None, "steps": {}, "parked": False}

    def write(self, state: dict[str, Any]) -> None:
        """Write everything down anew: a whole new file takes the old one's place, and both are on the disk."""
        new = self.file.with_suffix(".new")
        with new.open("w") as file:
            file.write(json.dumps(state))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.file)
        directory = os.open(".", os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)

    def submit(self, job: str, steps: tuple[str, ...]) -> None:
        """Take a job."""
        if self.read()["job"] is None:
            self.write({"job": job, "steps": dict.fromkeys(steps, "not done"), "parked": False})

    def run(self, call: Callable[[str], object]) -> None:
        """Call each step that is not done, in order; park where one was begun."""
        state = self.read()
        for step in state["steps"]:
            if state["steps"][step] == "begun":
                return self.write({**state, "parked": True})
            if state["steps"][step] == "not done":
                self.write({**state, "steps": {**state["steps"], step: "begun"}})
                call(step)
                state["steps"][step] = "done"
                self.write(state)
        return None


class NotebookAdapter:
    """How a campaign speaks to it."""

    promise = Promise(
        "a step happens at most once; one of which nobody knows whether it did parks the job",
        "the docstring above",
        frozenset({Outcome.HONEST_UNKNOWN}),
        power=True,
    )
    capabilities = Capabilities(seconds=10)
    versions = {"notebook": "1"}  # noqa: RUF012

    def prepare(self, place: Place) -> None:
        """An empty directory is enough."""

    def start(self, place: Place, job: Job) -> None:
        """Hand it the job, and run."""
        notebook = Notebook()
        notebook.submit(job.id, job.steps)
        job.accepted()
        notebook.run(job.act)

    def recover(self, place: Place, job: Job) -> None:
        """Run again."""
        Notebook().run(job.act)

    def belief(self, place: Place, job: Job) -> Belief:
        """What is written down. What cannot be read says nothing."""
        try:
            state = Notebook().read()
        except ValueError:
            return Belief("absent")
        if state["job"] != job.id:
            return Belief("absent")
        said: dict[str, Known] = {"not done": "not done", "begun": "unknown", "done": "done"}
        steps = {step: said[word] for step, word in state["steps"].items()}
        if state["parked"]:
            return Belief("unknown", steps)
        return Belief("completed" if set(steps.values()) == {"done"} else "running", steps)
