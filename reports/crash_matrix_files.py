"""Crash matrices as files, and on the terminal."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..checkers.evidence_matrix import Cell, Matrix
from .crash_matrix import STRUCK, facts, notable, outcome, shown, tone, witnessed
from .crash_matrix_ci import render_junit, render_sarif
from .crash_matrix_markdown import render_matrices_markdown
from .crash_matrix_page import render_matrices_html
from .files import EvidenceError
from .words import plain

MATRIX = "matrix.json"
STYLES = {"proved": "green", "assumed": "yellow", "refuted": "bold red", "error": "bold white on red"}
_MATRICES: TypeAdapter[list[Matrix]] = TypeAdapter(list[Matrix])


def write_matrices(title: str, matrices: Sequence[Matrix], directory: Path) -> dict[str, Path]:
    """Write every form, made of what the file of the matrices says; answers name to path."""
    dumped = [matrix.model_dump(mode="json") for matrix in matrices]
    text = json.dumps(dumped, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    matrices = _MATRICES.validate_json(text)
    texts = {
        MATRIX: text,
        "matrix.schema.json": json.dumps(_MATRICES.json_schema(), indent=2, sort_keys=True) + "\n",
        "matrix.html": render_matrices_html(title, matrices),
        "matrix.md": render_matrices_markdown(title, matrices),
        "junit.xml": render_junit(matrices),
        "results.sarif": render_sarif(matrices, _checkout()),
    }
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8", newline="\n")
    return {name: directory / name for name in texts}


def _checkout() -> Path:
    """The checkout in which the command was given; the working directory where that is in none."""
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def load_matrices(path: Path) -> list[Matrix]:
    """Matrices from a file, or from `matrix.json` in a directory. Raises EvidenceError."""
    file = path / MATRIX if path.is_dir() else path
    try:
        return _MATRICES.validate_json(file.read_bytes())
    except OSError as error:
        raise EvidenceError(f"{file}: cannot be read: {error.strerror}. Name the {MATRIX} of a campaign.") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise EvidenceError(f"{file}: is no crash matrix: {first['msg']}. Name the {MATRIX} of a campaign.") from error


def matrix_table(matrix: Matrix) -> Group:
    """A matrix on the terminal: the table, what it means for the promise, and how to repeat what is not exactly once.

    It is printed with `crop=False`: commands are longer than a terminal is wide.
    """
    view = shown(matrix)
    table = Table(title=matrix.subject, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("boundary", overflow="fold")
    for when in view.columns:
        table.add_column(STRUCK[when])
    for row in view.rows:
        table.add_row(Text(plain(row.boundary)), *map(_text, row.cells))
    parts: list[RenderableType] = [table]
    if view.pairs:
        found = [cell for cell in view.pairs if cell in notable(matrix)]
        parts.append(Text(f"{len(view.pairs)} schedules of two faults, {len(found)} not exactly once"))
    parts += [Text(f"{name}: {plain(words)}") for name, words in facts(matrix)[:5]]
    for cell in notable(matrix):
        # A command is one line, however narrow the terminal: so it can be copied, and given to a shell.
        command = Text(f"    {plain(cell.command)}", no_wrap=True, overflow="ignore")
        parts += [Text(f"  {outcome(cell)}: {plain(witnessed(matrix, cell))}"), command]
    return Group(*parts)


def _text(cell: Cell | None) -> Text:
    return Text("–") if cell is None else Text(outcome(cell), style=STYLES[tone(cell.worst)])
