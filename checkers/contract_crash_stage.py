"""The stages of `crashwindow verify` that crash sessions of execution contracts, and run their scenarios."""

from typing import Final

from ..scenarios.profile import CONTRACT_STREAMS
from ..scenarios.schema import Scenario, shipped
from .contract_cases import CONTRACT_CASES
from .contract_crash import sweep_contracts
from .contract_streams import keep_contracts
from .crash_run import Record
from .crash_streams import KEPT
from .evidence import Item, ScenarioResult, Verdict
from .scenario import known_of, run, shown
from .verify import Context, Found, Stage

JUDGED: Final = ("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C10")
"""What the judge asks of every run. An illegal edge, which C8 forbids, is one that C3 finds."""
FOUND_AS: Final = {"C8": "C3"}
SHOWN: Final = ("S3-EXAMPLE", "S3-BRANCH", "S3-TRACE", "S3-RESUME", "S3-SUSPEND", "S3-READ")
"""Sentences of S3 that a scenario, or the judge in every run, shows."""


def contract_crashes(context: Context) -> Found:
    """Every crash schedule of the profile over sessions of execution contracts."""
    campaign = sweep_contracts(
        context.profile, progress=lambda name, done, of: context.tell(f"crash: {name} {done}/{of}")
    )
    images = {key: files for key, files in campaign.images.items() if CONTRACT_CASES[key.case].modelled}
    keep_contracts(images, CONTRACT_CASES, context.directory / CONTRACT_STREAMS)
    found, kept = Found(schedules=campaign.summaries), len(images)
    for claim in JUDGED:
        found.add(claim, judged(claim, campaign.records, kept))
    found.add("S3-TRACE", judged("S3-TRACE", campaign.records, kept, "C3"))
    return found


def judged(claim: str, records: list[Record], kept: int, found_as: str | None = None) -> Item:
    """What the campaign says of a claim. A schedule that broke anything else, or could not be run, is no evidence.

    kept: how many of the runs are in files.
    """
    prefix = found_as or FOUND_AS.get(claim, claim)
    broken = [record for record in records if any(words.startswith(f"{prefix}:") for words in record.violations)]
    spoilt = [record for record in records if record.error or any(_of_the_rest(words) for words in record.violations)]
    figures: dict[str, int | float | str] = {
        "schedules": len(records),
        "not at rest or not run": len(spoilt),
        KEPT: kept,
    }
    if broken:
        key = str(broken[0].key)
        words = next(each for each in broken[0].violations if each.startswith(f"{prefix}:"))
        return Item(
            checker="crash",
            verdict=Verdict.REFUTED,
            statement=f"{claim} was broken in {len(broken)} of {len(records)} crash schedules, first: {words}",
            figures=figures,
            files=[CONTRACT_STREAMS],
            command=f"crashwindow replay '{key}'",
        )
    said = f"{claim} held in each of {len(records)} crash schedules of contracts on the SQLite runtime"
    command = f"crashwindow replay '{spoilt[0].key}'" if spoilt else "crashwindow verify"
    verdict = Verdict.ERROR if spoilt else Verdict.TESTED
    return Item(
        checker="crash", verdict=verdict, statement=said, figures=figures, files=[CONTRACT_STREAMS], command=command
    )


def _of_the_rest(words: str) -> bool:
    """Whether a violation belongs to no claim about contracts: of the step, of coming to rest, of what is taken over."""
    return words.startswith(("P", "REST", "DATA"))


def contract_scenarios(context: Context) -> Found:
    """Every scenario of execution contracts that ships, without a fault or with its own."""
    found, known = Found(), known_of(context)
    for scenario in filter(Scenario.of_contracts, shipped()):
        context.tell(f"scenario: {scenario.name}")
        result = run(scenario, known)
        found.scenarios.append(result)
        for claim in shown_by(scenario):
            found.add(claim, session(claim, scenario, result))
        for claim, item in shown(scenario, result).items():
            found.add(claim, item)
    return found


def shown_by(scenario: Scenario) -> tuple[str, ...]:
    """The claims that a scenario speaks of: its own, and for the worked example those that its steps show."""
    if scenario.run is not None and scenario.run.steps:
        return ("S3-EXAMPLE", "S3-RESUME", "S3-SUSPEND", "S3-READ")
    return (scenario.claim,) if scenario.claim in SHOWN else ()


def session(claim: str, scenario: Scenario, result: ScenarioResult) -> Item:
    """A scenario's outcome, as evidence."""
    return Item(
        checker="replay",
        verdict=Verdict.TESTED if result.passed else Verdict.REFUTED,
        statement=f"{claim}: {scenario.title}: {result.detail}",
        command=f"crashwindow scenario run {scenario.name}",
    )


CONTRACT_CRASHES: Final = Stage(
    "contract_crashes",
    "contracts: crashes on the runtime",
    contract_crashes,
    (*JUDGED, "S3-TRACE"),
    "crash",
    beside=True,
)
CONTRACT_SCENARIOS: Final = Stage(
    "contract_scenarios", "contracts: scenarios", contract_scenarios, SHOWN[:2] + SHOWN[3:], "replay"
)
