"""`crashwindow necessity`: the matrix property × mechanism, computed anew, or the part of it that is asked for."""

import argparse
import json

from rich.console import Console
from rich.table import Column, Table

from ..model.mechanisms import BY_ID, MECHANISMS
from ..runtime.errors import CommandError
from .evidence import Need
from .necessity_stage import COLUMNS, differences, matrix

MARKS = {"needed": "✗", "not needed": "·", "not applicable": "", "not checked": "?"}
LEGEND = "✗ fails without it; · holds without it in every state searched; ? not checked; empty: nothing to ask"

SETS = "Which mechanisms suffice together: crashwindow check NECESSITY-SETS --profile deep (quick: of P1 and P12 alone)"


def necessity(args: argparse.Namespace) -> int:
    """Print the cells that are asked for, each with the key of a run that breaks the property; 1 where one is not as stated."""
    part = args.part
    if part is not None and part not in BY_ID and part not in COLUMNS:
        raise CommandError(
            f"there is no property or mechanism {part!r}; there are {', '.join(COLUMNS)} and {', '.join(BY_ID)}"
        )
    chosen = [part] if part in BY_ID else [m.id for m in MECHANISMS]
    console = Console(emoji=False, stderr=True)
    with console.status("") as status:
        cells = matrix(args.profile, status.update, chosen)
    if part in COLUMNS:
        cells = [c for c in cells if c.property == part]
    if args.json:
        print(json.dumps([c.model_dump(mode="json") for c in cells], indent=2, ensure_ascii=False))
    else:
        _show(Console(emoji=False), cells, part)
    wrong = differences(cells, args.profile)
    for words in wrong:
        console.print(words, style="bold red", markup=False, highlight=False, soft_wrap=True)
    return 1 if wrong else 0


def _show(console: Console, cells: list[Need], part: str | None) -> None:
    properties = list(dict.fromkeys(c.property for c in cells))
    table = Table(Column("without", no_wrap=True), *properties, box=None, padding=(0, 1, 0, 0))
    by_mechanism: dict[str, list[Need]] = {}
    for c in cells:
        by_mechanism.setdefault(c.mechanism, []).append(c)
    for mechanism, column in by_mechanism.items():
        table.add_row(mechanism, *(MARKS[c.answer] for c in column))
    console.print(table)
    console.print(LEGEND, highlight=False)
    console.print(SETS, highlight=False, soft_wrap=True)
    for c in cells:
        if c.key:
            console.print(f"{c.property} without {c.mechanism}: {c.words}; {c.steps} steps: crashwindow replay '{c.key}'",
                          markup=False, highlight=False, soft_wrap=True)  # fmt: skip
        elif part is not None:
            console.print(
                f"{c.property} without {c.mechanism}: {c.answer}: {c.words}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    for mechanism, column in by_mechanism.items():
        answers = {c.answer for c in column}
        if part != column[0].property and "needed" not in answers:
            left = ", but for what is not checked" if any(c.answer == "not checked" for c in column) else ""
            console.print(f"nothing breaks without {mechanism}{left}", highlight=False)
