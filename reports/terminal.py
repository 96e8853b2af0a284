"""The report on a terminal, as rich renderables. Text of the evidence is never read as markup."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..checkers.evidence import RunEvidence, Trace, Verdict
from .sequence import diagram
from .view import REGISTER, Register, View, judge, paired, window_problems
from .words import effects, number, plain

STYLES = {
    Verdict.PROVED: "green",
    Verdict.EXHAUSTED: "green",
    Verdict.TESTED: "cyan",
    Verdict.ASSUMED: "yellow",
    Verdict.NOT_CHECKED: "yellow",
    Verdict.REFUTED: "red",
    Verdict.ERROR: "bold white on red",
}


def _text(value: object, style: str = "") -> Text:
    return Text(plain(value), style=style, overflow="fold")


def _verdict(verdict: Verdict, as_expected: bool = True) -> Text:
    style = STYLES[verdict] if as_expected and verdict is not Verdict.REFUTED else "bold red"
    return Text(str(verdict), style="" if as_expected and verdict is Verdict.REFUTED else style)


def _table(title: str, *heads: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    return table


def summary_table(evidence: RunEvidence, register: Register = REGISTER) -> Group:
    """Claims, crash windows, schedules, what is not as expected, and the final line."""
    view = judge(evidence, register)
    parts: list[RenderableType] = [_claims(view), _windows(view), _schedules(view)]
    parts += [_text(f"✗ {problem}", "bold red") for problem in view.problems]
    parts += [_text("; ".join(view.totals)), _text(view.headline, "bold green" if view.passed else "bold white on red")]
    return Group(*parts)


def _claims(view: View) -> Table:
    table = _table("Claims", "claim", "best", "weakest link", "")
    for entry in paired(view):
        if not entry.as_expected:
            mark = _text(f"✗ expected {entry.claim.expected}", "bold red")
        elif entry.claim.variant == "as_written":
            mark = _text("✓ expected: as written")
        else:
            mark = _text("✓", "green")
        table.add_row(
            _text(entry.claim.id),
            _verdict(entry.best, entry.as_expected),
            _verdict(entry.worst, entry.as_expected),
            mark,
        )
    return table


def _windows(view: View) -> Table:
    table = _table("Crash windows", "row", "predicted", "observed effects", "derived", "proof", "crashes", "SIGKILL")
    for window in view.evidence.windows:
        problems = window_problems(window)
        seen = window.observed
        counts = sorted({str(count) for outcome in seen.in_end for count in effects(outcome)})
        table.add_row(
            _text(window.row),
            _text(" or ".join(window.predicted_in_end)),
            _text(" or ".join(counts) or "–"),
            _text("; ".join(problems), "bold red") if problems else _text("agrees", "green"),
            _verdict(window.proof),
            _text(number(seen.crashes) if seen.crashes else "none", "" if seen.crashes else "yellow"),
            _text(number(seen.killed)),
        )
    return table


def _schedules(view: View) -> Table:
    table = _table(
        "Crash schedules (their outcomes are in the report)", "campaign", "schedules", "a second", "broken", "unlike"
    )
    for c in view.evidence.schedules:
        bad = [_text(number(len(keys)), "bold red" if keys else "") for keys in (c.violations, c.disagreements)]
        table.add_row(_text(c.name), _text(number(c.schedules)), _text(number(c.per_second)), *bad)
    return table


def trace_table(trace: Trace) -> Table:
    """A run of the model, step by step."""
    table = _table(f"Replay key {plain(trace.key)}", "#", "who", "step", "changes")
    for step in diagram(trace).steps:
        style = "bold red" if step.kind == "crash" else "bold" if step.kind == "effect" else ""
        changes = ", ".join(f"{name}={new}" for name, _, new in step.changed)
        rule = "; ".join((step.rule, *(f"{lane} is overtaken" for lane in step.fallen)))
        table.add_row(_text(step.number), _text(step.way), _text(rule, style), _text(changes))
    return table
