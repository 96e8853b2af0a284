"""The crash-window table in HTML: the centre of the page."""

from ..checkers.evidence import WindowResult
from ..model.windows import SEED_ROWS
from .html_parts import counts, verdict
from .tags import Html, Part, breakable, join, listing, row, table, tag
from .view import View, window_problems
from .words import alternatives, number

HEADS = (
    "Row",
    "Crash after",
    "Durable state",
    "Predicted recovery",
    "Effects at the crash",
    "Effects in the end",
    "Derived from the model",
    "Proof",
    "Crashes tried",
    "Observed recovery starts with",
    "Observed effects",
)


def windows(view: View) -> Html:
    """The table, with how to read it."""
    found = view.evidence.windows
    if not found:
        return tag("p", "The evidence holds no crash-window table.", class_="warning")
    told = (
        "Each row is a class of states in which a crash can leave the step. The prediction is stated by hand; the "
        "model derives the same row from its reachable states, and both must agree; the proof covers the effects; the "
        "crashes are those of real runs. "
        "The end is predicted for runs that no further fault strikes."
    )
    return join(
        tag("p", told, class_="lead"),
        table(
            "Crash windows: predicted, derived, proved, tried, observed",
            [*HEADS],
            [_row(w) for w in found],
            "stack windows",
        ),
        _seed_rows(),
    )


def _seed_rows() -> Html:
    """The seed's own table beside ours: which windows refine each of its rows, and what was found about it."""
    heads: list[Part] = ["Row of S1 §2", "What it says", "Line", "Windows", "Finding"]
    names = [str(head) for head in heads]
    rows = [row(names, [r.row, r.sentence, r.lines, ", ".join(r.refined_by), r.finding]) for r in SEED_ROWS]
    return table("The five rows of the seed's own table, and the windows that refine them", heads, rows, "stack")


def _row(window: WindowResult) -> Html:
    problems = window_problems(window)
    cells: list[Part] = [
        tag("span", window.row),
        breakable(window.crash_after),
        join(listing([*alternatives(window.durable)], "counts"), tag("span", window.source, class_="small")),
        join(window.advice, tag("span", _rules(window.predicted_recovery), class_="small")),
        _or(window.predicted_at_crash),
        _or(window.predicted_in_end),
        _derived(window, problems),
        verdict(window.proof),
        _crashes(window),
        counts(window.observed.recovery),
        _effects(window),
    ]
    return row([*HEADS], cells, "differs" if problems else None)


def _or(values: list[str]) -> str:
    return " or ".join(values) or "–"


def _rules(rules: list[str]) -> str:
    return f"rules {', '.join(rules)}" if rules else "no rule: nothing runs"


def _derived(window: WindowResult, problems: list[str]) -> Html:
    recovery = _rules(window.derived_recovery)
    states = tag("span", f"{number(window.states)} states", class_="small")
    if not problems:
        return join(tag("span", "✓ agrees", class_="agrees"), tag("span", recovery, class_="small"), states)
    effects = f"{_or(window.derived_at_crash)} at the crash, {_or(window.derived_in_end)} in the end"
    alarms = [tag("strong", problem, class_="alarm") for problem in problems]
    return join(*alarms, tag("span", f"{recovery}; {effects}"), states)


def _effects(window: WindowResult) -> Html:
    seen = window.observed
    if not seen.at_crash and not seen.in_end:
        return tag("span", "–")
    label = tag("span", "at the crash:", class_="small"), tag("span", "in the end:", class_="small")
    return join(label[0], counts(seen.at_crash), label[1], counts(seen.in_end))


def _crashes(window: WindowResult) -> Html:
    seen = window.observed
    if not seen.crashes:
        return tag("span", "none tried", class_="verdict not-checked")
    return join(number(seen.crashes), tag("span", f"{number(seen.killed)} by SIGKILL", class_="small"))
