"""What becomes of a disk after a power loss: the shipped store opens it, the shipped worker brings the job to rest.

The file is recovered by the sqlite3 of the standard library, not by the SQLite that was recorded. Asked is: can the file be
used, and is it whole; does it hold exactly what was acknowledged, or that and the call under way; is a property broken
(T-PROP), at the moment of the loss or at rest. The court is the crash campaign's (`crash_judge`).
"""

import shutil
import sqlite3
from typing import Final, NamedTuple

from ..runtime.store import StoreUnusableError
from .crash_cases import CASES
from .crash_faults import Striker, connection_of
from .crash_image import Files, Incarnation
from .crash_run import EPOCH, Judgement
from .crash_snapshot import not_here
from .crash_witness import FILES
from .power_images import Image
from .power_record import Contents, contents
from .power_run import POLICY, Run

UNUSABLE: Final = "UNUSABLE"
"""The file cannot be opened, or is damaged."""
LOST: Final = "LOST"
"""An acknowledged write is not there."""
MORE: Final = "MORE"
"""The file holds what was neither acknowledged nor under way."""
REST: Final = "REST"
"""The job does not come to rest."""


class Judged(NamedTuple):
    """What was wrong, and how the job ended. Each problem begins with one of the words above, or with a property's name."""

    problems: tuple[str, ...]
    outcome: str


Key = tuple[Contents, tuple[int, ...], float, int]
Ends = dict[Key, Judged]
"""What the worker made of a content, by that content, the world, the time, and what was acknowledged."""


class Court:
    """Judges the images of one run. ends: kept from image to image, so that equal contents are worked once; None: never."""

    def __init__(self, run: Run, directory: str, ends: Ends | None) -> None:
        self.run, self.directory, self.ends = run, directory, ends
        self.subject = CASES[run.case]
        self.calls = run.calls()
        self.worked = 0
        self._number = 0

    def judge(self, image: Image) -> Judged:
        """Recover an image, and work its job to rest."""
        entry = self.run.entries[image.at]
        files = {**image.files, **self.witnessed(entry.sizes)}
        self._number += 1
        directory = f"{self.directory}/{self._number}"
        begin = self.begin(entry.acknowledged)
        try:
            life = Incarnation(self.subject, POLICY, directory, files, 1, begin)
        except StoreUnusableError as error:
            shutil.rmtree(directory)
            return Judged((f"{UNUSABLE}: {str(error).partition(': ')[2]}",), "unusable")
        try:
            return self.recovered(life, image.at)
        finally:
            life.discard()

    def begin(self, acknowledged: int) -> float:
        """When whoever recovers comes: after all that was durable before the power failed, whatever is left of it."""
        durable = self.run.durables[acknowledged]
        return (durable.moment if durable else EPOCH) + self.subject.later

    def witnessed(self, sizes: tuple[int, ...]) -> Files:
        """The world's files as they were."""
        return {name: self.run.witness[name][:size] for name, size in zip(FILES, sizes, strict=True) if size}

    def recovered(self, life: Incarnation, at: int) -> Judged:
        """What a file that could be opened holds, and what becomes of it."""
        entry = self.run.entries[at]
        try:
            connection = connection_of(life.store)
            ((whole,), *_) = connection.execute("PRAGMA integrity_check(1)").fetchall()
            there = contents(connection)
        except sqlite3.DatabaseError as error:
            return Judged((f"{UNUSABLE}: damaged: {error}",), "unusable")
        damage = () if whole == "ok" else (f"{UNUSABLE}: damaged: {whole}",)
        key = there, entry.sizes, life.clock.now(), entry.acknowledged
        if self.ends is None or key not in self.ends:
            end = self.worked_to_rest(life, there, entry.acknowledged)
            if self.ends is None:
                return end._replace(problems=(*damage, *end.problems))
            self.ends[key] = end
        end = self.ends[key]
        return end._replace(problems=(*damage, *end.problems))

    def worked_to_rest(self, life: Incarnation, there: Contents, acknowledged: int) -> Judged:
        """Compare, and let the next worker live."""
        self.worked += 1
        problems = self.compared(there, acknowledged)
        court, submitted = self.subject.court, self.run.durables[acknowledged]
        judgement = Judgement(court, self.run.outcome)
        judgement.last = submitted
        if "jobs" not in dict(there):
            if submitted:
                return Judged((*problems, f"{REST}: the job is gone"), "gone")
            self.subject.begin(life.store)  # nobody has told the client that the job is there: it submits again
        else:
            judgement.crashed(*life.state())
        striker = Striker(None, life.world.call, not_here)
        try:
            life.serve(striker, lambda: judgement.parked(*life.state()))
            outcome = judgement.ended(*life.state())
        except Exception as error:  # whatever a damaged record leads to: it is never a pass
            return Judged((*problems, *judgement.violations(), f"{REST}: {type(error).__name__}: {error}"), "no rest")
        return Judged((*problems, *judgement.violations()), outcome)

    def compared(self, there: Contents, acknowledged: int) -> tuple[str, ...]:
        """Whether a file holds what was acknowledged, with or without the call under way."""
        states = self.run.states
        if there in states[acknowledged : acknowledged + 2]:
            return ()
        if there in states:
            lost = self.calls[states.index(there) + 1 : acknowledged + 1]
            if lost:
                return (f"{LOST}: {', '.join(lost)}",)
        return (f"{MORE}: what the store never held at a return",)
