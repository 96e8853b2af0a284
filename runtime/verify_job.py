"""Is a finished job verifiable? The verdict on its stored records (E-VERIFIABLE; S4 §6).

What this cannot show: whoever can write the file, and writes all of it consistently, chain included, is not found, since nothing
here is signed. A link of the chain that was noted elsewhere (`head`) shows that, too. And records say what tools and people
answered, not that they spoke the truth: `rests_on` lists where a verdict rests on such a word.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .job_records import Records, Step
from .records import Event, Json
from .verify_criteria import CRITERIA, Fault


class Finding(NamedTuple):
    """A criterion, what it asks for in words, and the first fault that violates it."""

    criterion: str
    words: str
    fault: Fault | None


@dataclass(frozen=True)
class Verdict:
    """What was found. head: the last link of the chain, which says more than this verdict to whoever notes it elsewhere.

    rests_on: what the records cannot show and the job's success depends on, in words. warned: with how many recorded changes the
    world did not agree while the job went on, in mode `warn` (T-CONFIRM).
    """

    job_id: str
    status: str
    events: int
    head: str | None
    findings: tuple[Finding, ...]
    rests_on: tuple[str, ...]
    warned: int = 0

    @property
    def violated(self) -> Finding | None:
        """The first criterion that is violated."""
        return next((finding for finding in self.findings if finding.fault), None)

    @property
    def verifiable(self) -> bool:
        """Whether the job is completed and every criterion holds."""
        return self.status == "completed" and self.violated is None

    def as_json(self) -> Json:
        """The same as a JSON value."""
        return {
            "job_id": self.job_id,
            "status": self.status,
            "verifiable": self.verifiable,
            "violated": self.violated.criterion if self.violated else None,
            "events": self.events,
            "head": self.head,
            "criteria": [
                {
                    "criterion": name,
                    "asks": words,
                    "holds": fault is None,
                    "event": fault.event if fault else None,
                    "reason": fault.reason if fault else None,
                }
                for name, words, fault in self.findings
            ],
            "rests_on": list(self.rests_on),
            "tainted": self.warned > 0,
            "confirmation_replay_warn_total": self.warned,
        }


def verify(records: Records) -> Verdict:
    """Judge a job's records by every criterion. Total: records that cannot be understood violate it."""
    findings = tuple(Finding(name, words, _first_fault(name, records)) for name, (words, _) in CRITERIA.items())
    sound = all(finding.fault is None for finding in findings)
    head = records.chain[-1].link if records.chain else None
    told = tuple(rests_on(records)) if sound else ()
    warned = sum(len(e.data["mismatches"]) for e in records.events if e.type == "confirmation_warned") if sound else 0
    return Verdict(records.job_id, records.line.status, len(records.chain), head, findings, told, warned)


def _first_fault(criterion: str, records: Records) -> Fault | None:
    """The first fault. A check that trips over the records, which anybody may have written, has found one."""
    _, check = CRITERIA[criterion]
    try:
        return next(check(records), None)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        return Fault(None, f"the records are not as this program writes them: {type(error).__name__}: {error}")


def rests_on(records: Records) -> Iterator[str]:
    """Where the success of a step rests on a declaration or on somebody's word. For records that violate nothing."""
    for name, step in records.parts:
        for event in step.all("invocation_resolved"):
            what = "happened" if event.data["answer"] == "happened" else "did not happen"
            by = f"{event.data.get('who')!r}" if event.data["by"] == "person" else f"the tool {step.tool!r}"
            yield f"step {name!r}: that it {what} is the word of {by} (event {event.version})"
        for event in step.all("replay_confirmed"):
            who = event.data["who"]
            yield f"step {name!r}: that its record stands, against a verifier, is the word of {who!r} (event {event.version})"
        for event in step.all("confirmation_warned"):
            told = "; ".join(event.data["mismatches"])
            yield f"step {name!r}: its record was used although a verifier did not agree (event {event.version}): {told}"
        for event in repeats(step):
            yield (
                f"step {name!r}: executed again (event {event.version}) while the outcome before was unknown; that it acted"
                " once is what the tool declares by idempotent"
            )


def repeats(step: Step) -> Iterator[Event]:
    """Executions that were begun while an earlier one was neither closed nor resolved."""
    open_attempts: set[int] = set()
    for event in step.events:
        match event.type, event.data.get("outcome"):
            case "tool_invocation_started", _:
                if open_attempts:
                    yield event
                open_attempts.add(event.data["attempt"])
            case "tool_invocation_finished", "no_effect":
                open_attempts.discard(event.data["attempt"])
            case "invocation_resolved", _:
                open_attempts.clear()
