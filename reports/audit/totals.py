"""Whether figures that are told twice, or add up, agree: windows, schedules, machines, mutants, contracts."""

from collections.abc import Iterator

from ...checkers.evidence import RunEvidence, Verdict
from ..view import Register


def totals(evidence: RunEvidence, register: Register) -> list[str]:
    """Every figure that another one contradicts."""
    return [
        *_windows(evidence),
        *_schedules(evidence),
        *_machines(evidence, register),
        *_kills(evidence),
        *_contracts(evidence),
        *_scenarios(evidence),
    ]


def _windows(evidence: RunEvidence) -> Iterator[str]:
    for window in evidence.windows:
        seen, name = window.observed, f"window {window.row}"
        stated = window.predicted_recovery, window.predicted_at_crash, window.predicted_in_end
        derived = window.derived_recovery, window.derived_at_crash, window.derived_in_end
        if window.agrees != (stated == derived):
            yield f"{name}: it is said {'' if window.agrees else 'not '}to agree, and its columns say otherwise"
        if seen.killed > seen.crashes or sum(seen.at_crash.values()) != seen.crashes:
            counts = sum(seen.at_crash.values())
            yield f"{name}: {seen.crashes} crashes, of which {seen.killed} kills, left {counts} counts of effects"
        for what, counted in (("recoveries", seen.recovery), ("ends", seen.in_end)):
            if sum(counted.values()) > seen.crashes:
                yield f"{name}: {sum(counted.values())} {what} after {seen.crashes} crashes"
    crashes = sum(window.observed.crashes for window in evidence.windows)
    struck = sum(window.observed.crashes > 0 for window in evidence.windows)
    for claim, figures in _figures(evidence, "T-WINDOW", "crash"):
        if (figures.get("crashes"), figures.get("windows")) != (crashes, struck):
            yield (
                f"claim {claim}: {figures.get('crashes')} crashes in {figures.get('windows')} windows; the table has {crashes} in"
                f" {struck}"
            )
    for claim, figures in _figures(evidence, "T-WINDOW", "windows"):
        if figures.get("windows") != len(evidence.windows):
            yield f"claim {claim}: {figures.get('windows')} windows; the table has {len(evidence.windows)}"


def _figures(evidence: RunEvidence, claim: str, checker: str) -> Iterator[tuple[str, dict[str, int | float | str]]]:
    for result in evidence.claims:
        if result.claim == claim:
            yield from ((claim, item.figures) for item in result.items if item.checker == checker)


def _schedules(evidence: RunEvidence) -> Iterator[str]:
    most = sum(campaign.schedules for campaign in evidence.schedules)
    for campaign in evidence.schedules:
        outcomes = sum(campaign.outcomes.values())
        if outcomes != campaign.schedules:
            yield f"campaign {campaign.name}: {campaign.schedules} schedules came to {outcomes} outcomes"
        if len(campaign.violations) + len(campaign.disagreements) > campaign.schedules:
            yield f"campaign {campaign.name}: more schedules broke something than there are"
    broken = sum(len(campaign.violations) for campaign in evidence.schedules)
    for result in evidence.claims:
        for item in result.items:
            said = item.figures.get("schedules")
            if item.checker == "crash" and isinstance(said, int) and said > most:
                yield f"claim {result.claim}: {said} schedules; all campaigns have {most}"
    if broken and not any(
        i.verdict is Verdict.REFUTED and i.checker == "crash" for r in evidence.claims for i in r.items
    ):
        yield f"campaigns: {broken} schedules broke a property, and no claim is refuted by it"


def _machines(evidence: RunEvidence, register: Register) -> Iterator[str]:
    searched = {machine.policy: machine for machine in evidence.machines}
    policies = {claim.id: claim.policy for claim in register.claims}
    for policy, machine in searched.items():
        if len([m for m in evidence.machines if m.policy == policy]) > 1 and policy not in ("fleet",):
            yield f"model {policy}: it is there twice"
        if machine.states < 1 or machine.transitions < machine.states - 1:
            yield f"model {policy}: {machine.transitions} transitions cannot reach {machine.states} states"
    for result in evidence.claims:
        found = searched.get(policies.get(result.claim, ""))
        for item in result.items:
            if found and item.checker == "explore" and item.figures.keys() == {"states", "transitions"}:
                said = item.figures["states"], item.figures["transitions"]
                if item.verdict is Verdict.EXHAUSTED and said != (found.states, found.transitions):
                    yield (
                        f"claim {result.claim}: {said[0]} states and {said[1]} transitions; the model {found.policy} has"
                        f" {found.states} and {found.transitions}"
                    )


def _kills(evidence: RunEvidence) -> Iterator[str]:
    for row in evidence.kills:
        name = f"mutants of {row.subject}, {row.kind}"
        if row.killed + row.same + row.safe + row.unasked + len(row.gaps) != row.mutants:
            yield (
                f"{name}: {row.killed} killed, {row.same} + {row.safe} harmless, {row.unasked} not asked further, {len(row.gaps)}"
                f" gaps are not {row.mutants}"
            )
        if sum(row.cheapest.values()) != row.killed:
            yield f"{name}: {sum(row.cheapest.values())} cheapest killers of {row.killed} that are killed"
        if (named := sum(map(len, row.survivors.values()))) != row.same + row.safe + row.unasked:
            yield f"{name}: {named} are named that are not killed, of {row.same} + {row.safe} + {row.unasked}"
        if row.stated > row.killed:
            yield f"{name}: {row.stated} killed by what is stated alone, of {row.killed} that are killed"
        if row.agreed and sum(row.agreed.values()) != row.mutants:
            yield f"{name}: the ways to a verdict agree, or do not, on {sum(row.agreed.values())} of {row.mutants}"
        for checker, count in row.by.items():
            if count > row.met.get(checker, 0):
                yield f"{name}: {checker} says no to {count} of {row.met.get(checker, 0)} that it was asked about"


def _contracts(evidence: RunEvidence) -> Iterator[str]:
    for coverage in evidence.contracts:
        if coverage.refused > coverage.illegal:
            yield f"contracts on {coverage.store}: {coverage.refused} of {coverage.illegal} illegal combinations refused"


def _scenarios(evidence: RunEvidence) -> Iterator[str]:
    names = [scenario.name for scenario in evidence.scenarios]
    yield from (f"scenario {name}: it is there twice" for name in sorted({n for n in names if names.count(n) > 1}))
