"""Crash matrices as one self-contained HTML page."""

from collections.abc import Sequence

from ..checkers.evidence_matrix import Cell, Matrix
from ..checkers.evidence_outcome import MEANING, Outcome
from .crash_matrix import STRUCK, Shown, facts, headline, notable, outcome, shown, tone, witnessed
from .html_parts import section
from .page import page
from .tags import Html, Part, code, join, pairs, row, table, tag
from .words import number


def render_matrices_html(title: str, matrices: Sequence[Matrix]) -> str:
    """The whole page."""
    sections = [_section(number, matrix) for number, matrix in enumerate(matrices, 1)]
    legend = section("outcomes", str(len(matrices) + 1), "What the outcomes mean", outcomes())
    contents = [tag("li", tag("a", f"{n} {m.subject}", href=f"#{m.subject}")) for n, m in enumerate(matrices, 1)]
    body = join(
        tag(
            "header",
            tag("p", "crashwindow", class_="brand"),
            tag("h1", f"Crash matrix: {title}"),
            tag("p", headline(matrices), class_="lead"),
            tag("nav", tag("ul", *contents), aria_label="Contents"),
        ),
        tag("main", *sections, legend),
    )
    return page(f"Crash matrix: {title}", body, "passed", script=False)


def _section(number: int, matrix: Matrix) -> Html:
    return section(matrix.subject, str(number), matrix.subject, matrix_body(matrix, facts(matrix)))


def matrix_body(matrix: Matrix, told: Sequence[tuple[str, str]]) -> Html:
    """One subject: the facts beside its table (told), the table, and the command of each cell."""
    view = shown(matrix)
    return join(pairs(told, "facts"), _totals(matrix), _table(view), _second(view), _notable(matrix))


def _totals(matrix: Matrix) -> Html:
    return tag(
        "ul",
        *(
            tag("li", tag("span", f"{number(count)} ×", class_="count"), " ", _badge(o))
            for o, count in matrix.count().items()
        ),
        class_="counts",
    )


def _badge(value: Outcome, words: str | None = None) -> Html:
    return tag("span", words or str(value), class_=f"verdict {tone(value)}")


def _cell(cell: Cell | None) -> Part:
    return "not tried" if cell is None else _badge(cell.worst, outcome(cell))


def _table(view: Shown) -> Html:
    heads = ["boundary", *(STRUCK[when] for when in view.columns)]
    rows = [row(heads, [code(each.boundary), *map(_cell, each.cells)]) for each in view.rows]
    return table(
        "What becomes of the job where the process is struck, by boundary and kind of fault", heads, rows, "matrix"
    )


def _second(view: Shown) -> Html | None:
    """Schedules of several faults."""
    if not view.pairs:
        return None
    heads = ["struck first", "and its recovery", "outcome"]
    rows = [row(heads, [code(c.schedule[0]), code("; ".join(c.schedule[1:])), _cell(c)]) for c in view.pairs]
    return table("Schedules of two faults", heads, rows, "matrix")


def _notable(matrix: Matrix) -> Html:
    """Every cell with the command that repeats it: those that are not exactly once, and, folded, the others."""
    bad = notable(matrix)
    rest = [cell for cell in matrix.cells if cell not in bad]
    shown_bad = (
        _commands("Every cell that is not exactly once", bad, matrix)
        if bad
        else tag("p", "Every cell is EXACTLY ONCE.")
    )
    folded = tag("details", tag("summary", "How the other cells are repeated"), _commands("Exactly once", rest, matrix))
    return join(shown_bad, folded if rest else None)


def _commands(caption: str, cells: list[Cell], matrix: Matrix) -> Html:
    heads = ["struck", "outcome", "seen", "to repeat it"]
    rows = [row(heads, [code("; ".join(c.schedule)), _cell(c), witnessed(matrix, c), code(c.command)]) for c in cells]
    return table(caption, heads, rows, "matrix")


def outcomes() -> Html:
    """What each outcome of a cell means."""
    return tag("dl", *(join(tag("dt", _badge(o)), tag("dd", words)) for o, words in MEANING.items()), class_="legend")
