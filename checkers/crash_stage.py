"""The stage of `crashwindow verify` that crashes the runtime: what schedules break, where they leave a step, what they record."""

from typing import Final

from ..model.policy import HARDENED
from ..model.properties import PROPERTIES
from ..model.step import build
from ..scenarios.profile import CRASH_STREAMS
from .abstraction import Result
from .crash import Campaign, declared, stored, sweep
from .crash_cases import CASES
from .crash_run import Record
from .crash_shipped import SHIPPED
from .crash_streams import KEPT, keep_streams
from .evidence import Item, Observed, Verdict
from .monitor import Monitor, to_item
from .observed import observe
from .verify import Context, Found, Stage

JUDGED: Final = tuple(p.id for p in PROPERTIES)


def crashes(context: Context) -> Found:
    """Every crash schedule of the profile on the real runtime, and what was seen in each window."""
    campaign = sweep(context.profile, progress=lambda name, done, of: context.tell(f"crash: {name} {done}/{of}"))
    observed, misfits = observe(campaign.records)
    found = Found(schedules=campaign.summaries, observed=observed)
    found.add("T-WINDOW", _in_the_table(observed, misfits))
    keep_streams(campaign.images, {**CASES, **SHIPPED}, context.directory / CRASH_STREAMS)
    replayed = traces(campaign)
    for name in JUDGED:
        found.add(name, held(name, campaign.records, len(campaign.images)), replayed)
    return found


def held(name: str, records: list[Record], kept: int) -> Item:
    """What the campaign says of a property. A schedule that was not run as it was meant is no evidence.

    kept: how many streams there are.
    """
    broken = [r for r in records if any(v.startswith(f"{name}:") for v in r.violations)]
    failed = [r for r in records if r.error]
    key = str(broken[0].key) if broken else ""
    said = f"{name} was broken in {len(broken)} of {len(records)} crash schedules, first in {key}"
    if not broken:
        said = f"{name} held in each of {len(records)} crash schedules on the SQLite runtime"
    verdict = Verdict.REFUTED if broken else Verdict.ERROR if failed else Verdict.TESTED
    figures: dict[str, int | float | str] = {"schedules": len(records), "not run as meant": len(failed), KEPT: kept}
    command = f"crashwindow replay '{key}'" if broken else "crashwindow verify"
    return Item(
        checker="crash", verdict=verdict, statement=said, figures=figures, files=[CRASH_STREAMS], command=command
    )


def _in_the_table(observed: dict[str, Observed], misfits: list[str]) -> Item:
    """Whether every state that a real crash left is in the table."""
    crashes = sum(window.crashes for window in observed.values())
    figures: dict[str, int | float | str] = {"crashes": crashes, "windows": len(observed), "misfits": len(misfits)}
    if misfits:
        key = misfits[0].partition(": state")[0].partition(": the state")[0]
        said = f"{len(misfits)} crashes left a state that the table does not have, first {misfits[0]}"
        return Item(
            checker="crash",
            verdict=Verdict.REFUTED,
            statement=said,
            figures=figures,
            command=f"crashwindow replay '{key}'",
        )
    said = f"each of {crashes} crashes on the runtime left a step in one of {len(observed)} windows of the table"
    return Item(checker="crash", verdict=Verdict.TESTED, statement=said, figures=figures, command="crashwindow verify")


def traces(campaign: Campaign) -> Item:
    """The trace of every run, read back from the store's files, replayed in the model under the tool's declared contract.

    A trace is replayed for each of its steps, with the effects and the first result that the world's witness saw.
    """
    monitor = Monitor(build(HARDENED))
    told, keys = [], []
    for trace in campaign.traces:
        job = stored(trace)
        for step, effects in trace.effects.items():
            first = Result(trace.results[step]) if step in trace.results else None
            contract = declared(trace.case)
            told.append(monitor.check(job, step, declared=contract, first_result=first, effects=effects))
            keys.append(trace.key)
    wrong = [key for key, conformity in zip(keys, told, strict=True) if not conformity.ok]
    item = to_item(told, f"crashwindow replay '{wrong[0]}'" if wrong else "crashwindow verify")
    runs = sum(record.error is None for record in campaign.records)
    words = f"{item.statement}; they are all the distinct ones that {runs} runs left"
    figures = {**item.figures, "runs": runs, KEPT: len(campaign.images)}
    return item.model_copy(update={"statement": words, "figures": figures, "files": [CRASH_STREAMS]})


CRASHES: Final = Stage("crashes", "crashes on the runtime", crashes, (*JUDGED, "T-WINDOW"), "crash", beside=True)
