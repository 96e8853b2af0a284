"""Mutants, coverage with its gaps first, and the run's own section in HTML."""

from ..checkers.evidence import KillRow, Machine, Schedules
from ..checkers.evidence_agreement import agreements
from . import kills
from .gaps import gaps
from .html_parts import counts
from .tags import Html, Part, code, join, listing, pairs, row, table, tag
from .view import View, run_facts
from .words import number, tally

NONE = "none"


def mutants(view: View) -> Html:
    """Planted bugs, and who said no: how well the checkers see."""
    return join(_kills(view.evidence.kills), tag("h3", "Defects planted by hand"), _mutants(view))


def coverage(view: View) -> Html:
    """What was tried; what was not comes first."""
    run = view.evidence
    return join(
        tag("h3", "Gaps", id="gaps"),
        _gaps(view),
        tag("h3", "Crash campaigns on the runtime"),
        _campaigns(run.schedules),
        tag("h3", "Scenarios"),
        _scenarios(view),
        tag("h3", "Models", id="models"),
        _machines(run.machines),
    )


def _gaps(view: View) -> Html:
    found = gaps(view)
    if not found:
        return tag("p", "The evidence shows none.", class_="nothing")
    heads = ["Where", "What is missing"]
    return table(
        "What was not reached, not taken or not tried", [*heads], [row(heads, [*gap]) for gap in found], "stack"
    )


def _empty(what: str) -> Html:
    return tag("p", f"The evidence holds no {what}.", class_="nothing")


def _campaigns(campaigns: list[Schedules]) -> Html:
    if not campaigns:
        return _empty("campaign")
    heads = ["Campaign", "Struck by", "Schedules", "Outcomes", "Violations", "Disagreements"]
    rows = []
    for c in campaigns:
        cells: list[Part] = [
            c.name,
            c.by,
            number(c.schedules),
            counts(c.outcomes),
            _keys(c.violations),
            _keys(c.disagreements),
        ]
        rows.append(row(heads, cells, "differs" if c.violations or c.disagreements else None))
    struck = [
        tag(
            "details",
            tag("summary", f"{c.name}: {len(c.boundaries)} places struck"),
            tag("p", tally(c.boundaries) or NONE),
        )
        for c in campaigns
    ]
    return join(table("Crash schedules on the real runtime", [*heads], rows, "stack"), *struck)


def _keys(keys: list[str]) -> Html:
    if not keys:
        return tag("span", NONE)
    return join(
        tag("strong", number(len(keys)), class_="alarm"), listing([code(f"crashwindow replay {key}") for key in keys])
    )


def _scenarios(view: View) -> Html:
    if not view.evidence.scenarios:
        return _empty("scenario")
    heads = ["Scenario", "Expected", "Observed", "Came out", "Detail", "Command"]
    rows = []
    for s in view.evidence.scenarios:
        mark = "as expected" if s.passed else tag("strong", "NOT as expected", class_="alarm")
        rows.append(
            row(
                heads,
                [s.name, s.expected, s.observed, mark, s.detail, code(s.command)],
                None if s.passed else "differs",
            )
        )
    return table("Scenarios, expected and observed", [*heads], rows, "stack sentences")


def _mutants(view: View) -> Html:
    mutants = view.evidence.mutants
    if not mutants:
        return _empty("mutant")
    heads = ["Mutant", "Killed by", "In these words"]
    rows = [
        row(
            heads,
            [m.name, m.killed_by or tag("strong", "SURVIVED", class_="alarm"), m.words],
            None if m.killed_by else "differs",
        )
        for m in mutants
    ]
    killed = sum(bool(m.killed_by) for m in mutants)
    return table(f"{killed} of {len(mutants)} planted defects found", [*heads], rows, "stack sentences")


def _kills(matrix: list[KillRow]) -> Html | None:
    """The kill matrix by class; nothing where the run made no mutants."""
    heads = list(kills.HEADS)
    rows = [
        row(
            heads,
            [*kills.cells(k), tag("strong", "; ".join(k.gaps), class_="alarm") if k.gaps else NONE],
            "differs" if k.gaps else None,
        )
        for k in kills.survivors_first(matrix)
    ]
    agreed = (tag("p", words) for words in agreements(matrix))
    return join(table(kills.caption(matrix), [*heads], rows, "stack"), _survivors(matrix), *agreed) if matrix else None


def _survivors(matrix: list[KillRow]) -> Html | None:
    """Who is not killed, each with what is proved of it; nothing where everybody is."""
    heads = ["Mutant", "What is proved of it"]
    rows = [row(heads, [name, words]) for name, words in kills.survivors(matrix)]
    if not rows:
        return None
    title = f"{number(len(rows))} mutants that are not killed, and what is proved of each"
    return tag("details", tag("summary", title), table("Not killed", [*heads], rows, "stack sentences"))


def _machines(machines: list[Machine]) -> Html:
    if not machines:
        return _empty("model")
    heads = [
        "Policy",
        "Fields",
        "Rules",
        "Reachable states",
        "Transitions",
        "Rules never reached",
        "SHA-256",
    ]
    rows = []
    for m in machines:
        never = join(number(len(m.unreached)), listing([*m.unreached], "small")) if m.unreached else tag("span", NONE)
        counts = [number(n) for n in (m.fields, m.rules, m.states, m.transitions)]
        rows.append(row(heads, [m.policy, *counts, never, code(m.sha256)]))
    return table(
        "Models that were examined; a rule never reached is defence in depth, or a gap", [*heads], rows, "stack"
    )


def run_section(view: View) -> Html:
    """Everything that differs between two runs on the same code."""
    told = "Only this section differs between two runs on the same code."
    return join(tag("p", told, class_="lead"), pairs(run_facts(view.evidence), "facts"))
