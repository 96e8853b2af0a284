"""The report on a terminal, as rich renderables. Text of the evidence is never read as markup."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..checkers.evidence import RunEvidence, Trace, Verdict
from ..model.claims import Claim
from .sequence import diagram
from .view import REGISTER, Entry, Register, View, cited, judge, paired, window_problems
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


def claims_table(register: Register = REGISTER, evidence: RunEvidence | None = None) -> Table:
    """The register: id, variant, verdict, source. Without evidence nothing is checked."""
    entries = judge(evidence, register).entries if evidence else tuple(Entry(claim, ()) for claim in register.claims)
    table = _table("Claim register", "claim", "variant", "verdict", "source")
    for entry in entries:
        verdict = _verdict(entry.best, entry.as_expected or not evidence)
        table.add_row(_text(entry.claim.id), _text(entry.claim.variant), verdict, _text(cited(entry.claim)))
    return table


def claim_text(claim: Claim, evidence: RunEvidence | None = None, register: Register = REGISTER) -> Group:
    """One claim of the register with its formal statement, its assumptions and what was found out about it."""
    entry = Entry(claim, ())
    if evidence:
        entry = next((e for e in judge(evidence, register).entries if e.claim.id == claim.id), entry)
    needed = [register.assumptions[name] for name in claim.assumptions if name in register.assumptions]
    facts = [
        ("formal", claim.formal),
        ("requirement", claim.requirement),
        ("source", cited(claim)),
        *((a.id, f"{a.text} ({a.owner})") for a in needed),
        ("hardened form", claim.hardened or ""),
        ("expected", claim.expected),
        ("verdict", entry.link(entry.best)),
        ("weakest link", entry.link(entry.worst)),
        *((item.checker, f"{item.verdict}: {item.statement} ({item.command})") for item in entry.items),
        ("not applied", ", ".join(entry.missing)),
    ]
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in facts:
        if words:
            table.add_row(_text(name, "dim"), _text(words))
    return Group(_text(f"{claim.id} ({claim.variant.replace('_', ' ')})", "bold"), _text(claim.sentence), table)


def trace_table(trace: Trace) -> Table:
    """A run of the model, step by step."""
    table = _table(f"Replay key {plain(trace.key)}", "#", "who", "step", "changes")
    for step in diagram(trace).steps:
        style = "bold red" if step.kind == "crash" else "bold" if step.kind == "effect" else ""
        changes = ", ".join(f"{name}={new}" for name, _, new in step.changed)
        rule = "; ".join((step.rule, *(f"{lane} is overtaken" for lane in step.fallen)))
        table.add_row(_text(step.number), _text(step.way), _text(rule, style), _text(changes))
    return table
