"""The judge of an ended job's step that a person has undone: by a job of its own, of which the file holds both (T-COMP).

What is asked of a compensation in its own job is asked here, too (`semantics_laws`), of the second job's events and of what both
have in the ledger and among the effects. Beside that: P7 the first job stays as it ended; P11 the step is undone under the one
key that is made of its own; P12 with the arguments that it was executed with, and with its result where that is recorded, as the
witness has seen them; T-QUIET what nobody knows of is not undone before D after the job has ended.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from . import semantics_laws as laws
from .abstraction import compensation_key
from .crash_judge import AT_REST, ENDS, Step, beyond_the_end, shared_keys, split, step_at_rest, step_now
from .crash_witness import Witnessed
from .semantics_records import EFFECTS, LEDGER, UNDO, Durable, Row, deeds_of, of

ARGS: Final = "arguments"
TOLD: Final = "told"
"""What the witness notes of a call: the arguments of the step's, and all that its compensation is told."""
TABLES: Final = (
    "SELECT version, id, type, step, epoch, data, at FROM events WHERE job_id = ? ORDER BY version",
    f"SELECT {LEDGER} FROM ledger WHERE job_id = ? AND step_id = ?",
    f"SELECT {EFFECTS} FROM effects WHERE job_id = ? AND step_id = ?",
)
MOMENT: Final = "SELECT max((SELECT max(at) FROM events), (SELECT ifnull(max(expires_at), 0) FROM leases))"


class Both(NamedTuple):
    """The job that has ended, and the one that undoes its step, if it was asked for: of each what it says of that step.

    moment: the latest time of the file.
    """

    ended: Durable
    undoing: Durable | None
    moment: float

    @property
    def together(self) -> Durable | None:
        """The events of the job that undoes, with the ledger and the effects of both."""
        if self.undoing is None:
            return None
        ledger, effects = self.ended.ledger + self.undoing.ledger, self.ended.effects + self.undoing.effects
        return self.undoing._replace(ledger=ledger, effects=effects, named=self.ended.named + self.undoing.named)


@dataclass(frozen=True)
class EndedCourt:
    """The court of one case. step: what is undone. quiet: its D. harmless: whether it may be undone unresolved."""

    step: str
    quiet: float
    harmless: bool

    @property
    def undo(self) -> str:
        """What its undoing is called."""
        return self.step + UNDO

    def read(self, connection: sqlite3.Connection, /) -> Both:
        """What is committed in the file, in which the job that undoes is the younger one."""
        jobs = connection.execute("SELECT job_id, status, version FROM jobs ORDER BY rowid").fetchall()
        ((moment,),) = connection.execute(MOMENT).fetchall()
        read = []
        for job, status, version in jobs:
            events = connection.execute(TABLES[0], (job,)).fetchall()
            ledger, effects = (connection.execute(query, (job, self.step)).fetchall() for query in TABLES[1:])
            rows = tuple(Row(*row) for row in events)
            found = split(ledger, effects)
            read.append(Durable(status, version, rows, found.ledger, found.effects, (), 0.0, found.held, found.named))
        ended, *undoing = read
        return Both(ended, undoing[0] if undoing else None, moment)

    def steps_of(self, durable: Both, /) -> tuple[str, ...]:
        """The step and its undoing."""
        return self.step, self.undo

    def undone(self, durable: Both) -> Step:
        """What the records say of the undoing."""
        together = durable.together
        return Step() if together is None else deeds_of(together).get(self.undo, Step())

    def known(self, durable: Both) -> bool:
        """Whether the job that has ended says what the step gave."""
        return bool(deeds_of(durable.ended)[self.step].results)

    def ambiguous(self, durable: Both, /) -> bool:
        """Whether nobody can tell from the records if it was undone."""
        return self.undone(durable).ambiguous

    def excused(self, durable: Both, witnessed: Witnessed, /) -> bool:
        """Nothing is looked at again."""
        return False

    def described(self, durable: Both, witnessed: Witnessed, /) -> dict[str, Any]:
        """A state that a crash left, for people."""
        deed, undoing = self.undone(durable), durable.undoing
        return {
            "job": undoing.status if undoing else "not asked for",
            "steps": {self.undo: {"events": deed.labels, "ledger": deed.ledger, "effects": witnessed.count(self.undo)}},
        }

    def outcome(self, durable: Both, witnessed: Witnessed, /) -> str:
        """How both jobs ended, with the effects of the step and of its undoing: `failed, parked→completed/1-1`."""
        undoing = durable.undoing
        status = undoing.status if undoing else "not asked for"
        if undoing and status != "parked" and any(row.type == "job_parked" for row in undoing.events):
            status = f"parked→{status}"
        return f"{durable.ended.status}, {status}/{witnessed.count(self.step)}-{witnessed.count(self.undo)}"

    def broken_now(self, durable: Both, witnessed: Witnessed, /) -> list[str]:
        """What is wrong at this moment, be it at a crash or at rest."""
        found = [*shared_keys(witnessed), *beyond_the_end([row.type for row in durable.ended.events])]
        if durable.ended.status not in ENDS:
            found.append(f"P7: the job that had ended is {durable.ended.status}")
        together = durable.together
        if together is None:
            if any(line.step == self.undo for line in witnessed.requests):
                found.append(f"P10: {self.undo} was executed, and nothing durable says that it was to be")
            return found
        found += [f"{problem} ({self.undo})" for problem in step_now(self.undo, self.undone(durable), witnessed)]
        found += beyond_the_end([row.type for row in together.events])
        found += laws.retries(together)
        found += laws.cancels(together)
        found += laws.compensations(together, witnessed, self.harmless)
        found += self.one_key(durable, together, witnessed)
        found += self.told(durable, witnessed)
        found += self.late_enough(durable, together)
        if of(together, "tool_invocation_started"):
            found.append(f"P10: the job that undoes {self.step} has executed it")
        return found

    def one_key(self, durable: Both, together: Durable, witnessed: Witnessed) -> Iterator[str]:
        """P11: the records and the world know the undoing by the key that is made of the step's."""
        (key,) = [row[1] for row in durable.ended.ledger]
        undo = compensation_key(key)
        if strange := [row for row in together.ledger if row[1] not in (key, undo)]:
            yield f"P11: {self.step} is undone under {strange[0][1][:8]}…, and the key made of its own is {undo[:8]}…"
        for line in witnessed.requests:
            if line.step == self.undo and not line.key.endswith(undo):
                yield f"P11: the world was asked to undo {self.step} under another key than is made of its own"

    def told(self, durable: Both, witnessed: Witnessed) -> Iterator[str]:
        """P12: what it is told is what the step was given, and what that is recorded to have answered."""
        for given in witnessed.given:
            if (given.step, given.name) == (self.undo, TOLD):
                args = next(each.value for each in witnessed.given if (each.step, each.name) == (self.step, ARGS))
                due: dict[str, Any] = {"args": args, "result": None}
                if self.known(durable):
                    line = next(each for each in witnessed.effects if each.step == self.step)
                    due = {"args": args, "result": line.result, "external_id": line.external_id}
                if given.value != due:
                    yield f"P12: {self.undo} was told {given.value}, not {due}"

    def late_enough(self, durable: Both, together: Durable) -> Iterator[str]:
        """T-QUIET: a late request would act after its undoing."""
        if self.known(durable):
            return
        ended = durable.ended.events[-1].at
        for row in of(together, "compensation_started", undo=True):
            if row.at < ended + self.quiet:
                said = f"{row.at - ended:g} s after its job had ended, not {self.quiet:g} s"
                yield f"T-QUIET: {self.step}, of which nobody knows, was undone {said}"

    def broken_at_rest(self, durable: Both, witnessed: Witnessed, /) -> list[str]:
        """What is wrong once nothing more will be written, or not before a person has answered."""
        found = self.broken_now(durable, witnessed)
        together, deed = durable.together, self.undone(durable)
        if together is None or together.status not in AT_REST:
            status = together.status if together else "not there"
            return [*found, f"P15: the job that undoes {self.step} is left {status}"]
        found += [
            f"{problem} ({self.undo})" for problem in step_at_rest(deed, together.status, witnessed.count(self.undo))
        ]
        if together.status in ENDS and deed.ledger not in ("COMMITTED" if deed.results else "NO_EFFECT", None):
            found.append(f"P6: the job is {together.status}, and the ledger says {deed.ledger} ({self.undo})")
        found += laws.compensated_at_rest(together, witnessed)
        return list(dict.fromkeys(found))

    def changed(self, before: Both, after: Both, /) -> list[str]:
        """P7: what was durable at a crash and is gone or altered later."""
        found = []
        if before.ended != after.ended:
            found.append("P7: the job that had ended is not as it was")
        if before.undoing is None:
            return found
        old, new = before.undoing, after.undoing
        if new is None or new.events[: len(old.events)] != old.events:
            return [*found, "P7: events that were durable at the crash are gone or altered"]
        if not set(old.effects) <= set(new.effects):
            found.append("P7: an effect record that was durable at the crash is gone or altered")
        if not {row for row in old.ledger if row[2] == "COMMITTED"} <= set(new.ledger):
            found.append("P7: a committed record is gone or altered")
        return found
