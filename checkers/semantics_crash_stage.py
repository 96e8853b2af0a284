"""The stage of `crashwindow verify` that crashes jobs beyond the plain step (`semantics_cases`)."""

from typing import Final

from ..scenarios.profile import SEMANTICS_STREAMS
from .crash_run import Record
from .crash_streams import KEPT, keep_streams
from .evidence import Item, Verdict
from .semantics_cases import SEMANTICS_CASES
from .semantics_crash import sweep_semantics
from .semantics_monitor import SemanticsMonitor, to_items
from .verify import Context, Found, Stage

JUDGED: Final = ("P1", "P2", "P3", "P4", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P14")
"""What the court asks of every run (`semantics_judge`)."""
BESIDE: Final = ("T-RETRY", "T-QUIET", "P15")
"""What it asks besides, which is no claim of its own: a violation spoils the evidence of every claim."""


def semantics_crashes(context: Context) -> Found:
    """Every crash schedule of the profile over these jobs; each distinct trace is replayed in the models of P9, P10 and P12."""
    campaign = sweep_semantics(
        context.profile, progress=lambda name, done, of: context.tell(f"crash: {name} {done}/{of}")
    )
    keep_streams(campaign.images, SEMANTICS_CASES, context.directory / SEMANTICS_STREAMS)
    found, kept = Found(schedules=campaign.summaries), len(campaign.images)
    for claim in JUDGED:
        found.add(claim, judged(claim, campaign.records, kept))
    monitor = SemanticsMonitor()
    replayed = [each for trace in campaign.traces for each in monitor.check(trace)]
    for claim, item in to_items(replayed).items():
        found.add(
            claim, item.model_copy(update={"files": [SEMANTICS_STREAMS], "figures": {**item.figures, KEPT: kept}})
        )
    return found


def judged(claim: str, records: list[Record], kept: int) -> Item:
    """What the campaign says of a claim. A schedule not run as it was meant, or that broke what stands beside, is no evidence.

    kept: how many streams there are.
    """
    broken = [record for record in records if said(record, claim)]
    spoilt = [record for record in records if record.error or any(said(record, name) for name in BESIDE)]
    figures: dict[str, int | float | str] = {"schedules": len(records), "not run as meant": len(spoilt), KEPT: kept}
    if broken:
        return Item(
            checker="crash",
            verdict=Verdict.REFUTED,
            statement=f"{claim} was broken in {len(broken)} of {len(records)} crash schedules of jobs with retries, gates,"
            f" compensations and recorded values, first: {said(broken[0], claim)}",
            figures=figures,
            files=[SEMANTICS_STREAMS],
            command=f"crashwindow replay '{broken[0].key}'",
        )
    return Item(
        checker="crash",
        verdict=Verdict.ERROR if spoilt else Verdict.TESTED,
        statement=f"{claim} held in each of {len(records)} crash schedules of jobs with retries, confirmations, gates,"
        " compensations and recorded values on the SQLite runtime",
        figures=figures,
        files=[SEMANTICS_STREAMS],
        command=f"crashwindow replay '{spoilt[0].key}'" if spoilt else "crashwindow verify",
    )


def said(record: Record, claim: str) -> str:
    """The first violation of a claim in a record; empty when there is none."""
    return next((words for words in record.violations if words.startswith(f"{claim}:")), "")


SEMANTICS_CRASHES: Final = Stage(
    "semantics_crashes", "jobs beyond the step: crashes on the runtime", semantics_crashes, JUDGED, "crash", beside=True
)
