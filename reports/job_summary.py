"""A run in short, as the Markdown that GitHub shows beside a job: problems first, then verdicts, the rest folded.

GitHub takes 1 MiB. What is folded is left out first, and that is said; the problems are never cut but as a list that says how
many more there are.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ..checkers.evidence import RunEvidence, Verdict
from .markdown_text import code, escape, table
from .view import REGISTER, Entry, Register, View, judge, window_problems
from .words import number, tally

LIMIT: Final = 1024 * 1024
"""Bytes that GitHub takes of a job's summary."""
_ROOM: Final = 2048
"""Bytes kept free for what is said of what was left out."""


def render_summary(evidence: RunEvidence, register: Register = REGISTER, limit: int = LIMIT) -> str:
    """The summary, in at most so many bytes of UTF-8."""
    view = judge(evidence, register)
    room = limit - _ROOM
    text = "\n".join([f"# crashwindow: {escape(view.headline)}", "", *_problems(view, room // 2), *_verdicts(view)])
    left_out = []
    for title, lines in (_guaranteed(view), _windows(view), _findings(view), _runs(view), _not_checked(view)):
        folded = "\n".join(["", f"<details><summary>{escape(title)}</summary>", "", *lines, "</details>", ""])
        if len((text + folded).encode()) > room:
            left_out.append(title)
        else:
            text += folded
    if left_out:
        text += f"\nToo long to be shown here, and in report.md: {escape('; '.join(left_out))}.\n"
    return text.rstrip("\n") + "\n"


def _problems(view: View, room: int) -> list[str]:
    lines = ["> [!CAUTION]"]
    for place, problem in enumerate(view.problems):
        line = f"> - {escape(problem)}"
        room -= len(line.encode()) + 1
        if room < 0:
            lines.append(f"> - and {number(len(view.problems) - place)} more: see report.md")
            break
        lines.append(line)
    return [*lines, ""] if view.problems else []


def _verdicts(view: View) -> list[str]:
    """The totals, how many claims have which best verdict, and how to come by the same."""
    counts = {
        variant: Counter(e.best for e in view.entries if e.claim.variant == variant)
        for variant in ("hardened", "as_written")
    }
    rows = [
        (str(verdict), *(number(counts[variant][verdict]) for variant in counts))
        for verdict in Verdict
        if any(count[verdict] for count in counts.values())
    ]
    run = view.evidence.run
    return [
        *(f"- {escape(line)}" for line in view.totals),
        "",
        *table(("Best verdict", "Hardened claims", "As-written claims"), rows),
        f"Commit {code(run.commit)}, code SHA-256 {code(run.code_sha256)}. Again: {code(run.command)}",
        "",
    ]


def _claims(entries: Sequence[Entry]) -> list[str]:
    rows = [(escape(e.claim.id), str(e.best), str(e.worst), escape(e.claim.sentence)) for e in entries]
    return table(("Claim", "Best", "Weakest link", "Sentence"), rows)


def _guaranteed(view: View) -> tuple[str, list[str]]:
    entries = view.guaranteed
    needed = {name for entry in entries for name in entry.claim.assumptions}
    assumed = [f"- {escape(a.id)}: {escape(a.text)} ({escape(a.owner)})" for a, _ in view.assumptions if a.id in needed]
    held = "are guaranteed" if view.passed else "would be guaranteed, had this run passed"
    return f"{len(entries)} claims {held}, under {len(needed)} assumptions", [*_claims(entries), *assumed, ""]


def _windows(view: View) -> tuple[str, list[str]]:
    rows = []
    for window in view.evidence.windows:
        problems = window_problems(window)
        agrees = f"**{escape('; '.join(problems))}**" if problems else "agrees"
        seen = f"{number(window.observed.crashes)} crashes: {escape(tally(window.observed.in_end) or 'none tried')}"
        rows.append((escape(window.row), escape(window.advice), agrees, str(window.proof), seen))
    return f"{len(rows)} crash windows", table(("Row", "Recovery", "Derived", "Proof", "Observed in the end"), rows)


def _findings(view: View) -> tuple[str, list[str]]:
    rows = [
        (
            escape(f.entry.claim.id),
            escape(f.entry.claim.sentence),
            f"{f.item.verdict} by {f.item.checker}",
            code(f.item.command),
        )
        for f in view.findings
    ]
    return f"{len(rows)} findings and refutations", table(("Claim", "Sentence", "Found", "Command"), rows)


def _runs(view: View) -> tuple[str, list[str]]:
    run = view.evidence
    unlike = [(s, len(s.violations) + len(s.disagreements)) for s in run.schedules]
    wrong = [(c, c.illegal - c.refused + len(c.wrong) + len(c.untaken)) for c in run.contracts]
    rows = [
        *((f"schedules: {escape(s.name)}", number(s.schedules), number(bad)) for s, bad in unlike),
        ("scenarios", number(len(run.scenarios)), number(sum(not s.passed for s in run.scenarios))),
        ("planted bugs", number(len(run.mutants)), number(sum(not m.killed_by for m in run.mutants))),
        ("mutants", number(sum(k.mutants for k in run.kills)), number(sum(len(k.gaps) for k in run.kills))),
        *((f"contracts on {escape(c.store)}", number(c.legal + c.illegal), number(bad)) for c, bad in wrong),
    ]
    return "What was run", table(("What", "How many", "Not as expected"), rows)


def _not_checked(view: View) -> tuple[str, list[str]]:
    return f"Not checked: {len(view.not_checked)} sentences", [
        *(f"- {escape(words)}" for words in view.not_checked),
        "",
    ]
