"""Crash matrices as GitHub-flavoured Markdown: the same content as the page, compact."""

from collections.abc import Sequence

from ..checkers.evidence_matrix import Cell, Matrix
from ..checkers.evidence_outcome import MEANING, Outcome
from .crash_matrix import STRUCK, facts, headline, notable, outcome, shown, witnessed
from .markdown_text import code, escape, table


def render_matrices_markdown(title: str, matrices: Sequence[Matrix]) -> str:
    """The whole text."""
    lines = [f"# Crash matrix: {escape(title)}", "", escape(headline(matrices)), ""]
    for matrix in matrices:
        lines += [f"## {escape(matrix.subject)}", "", *matrix_lines(matrix, facts(matrix))]
    return "\n".join([*lines, "## What the outcomes mean", "", *outcome_lines()]) + "\n"


def matrix_lines(matrix: Matrix, told: Sequence[tuple[str, str]]) -> list[str]:
    """One subject: the facts beside its table (told), the table, and the command of each cell that is not exactly once."""
    view = shown(matrix)
    lines = [f"- {escape(name)}: {escape(words)}" for name, words in told]
    lines += [*(f"- {count} × {escape(value)}" for value, count in matrix.count().items()), ""]
    heads = ("boundary", *(STRUCK[when] for when in view.columns))
    lines += table(heads, ((code(r.boundary), *(_mark(c) for c in r.cells)) for r in view.rows))
    several = [*view.pairs, *(c for c in notable(matrix) if len(c.schedule) == 1)]
    shown_once = {c.schedule: c for c in several if c.worst is not Outcome.EXACTLY_ONCE}.values()
    rows = ((code("; ".join(c.schedule)), _mark(c), escape(witnessed(matrix, c)), code(c.command)) for c in shown_once)
    return [*lines, *table(("struck", "outcome", "seen", "to repeat it"), rows)]


def outcome_lines() -> list[str]:
    """What each outcome of a cell means."""
    return [f"- {escape(value)}: {escape(words)}" for value, words in MEANING.items()]


def _mark(cell: Cell | None) -> str:
    return escape("not tried" if cell is None else outcome(cell))
