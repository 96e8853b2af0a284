"""The generated parts of `docs/contract.md`: tables and diagram, from the data of `model.contract`.

A part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; what people wrote around it stays.
`tests/test_contract_docs.py` compares the files with what is generated here.
"""

import re
from collections.abc import Iterable
from typing import Final, get_args

from ..model.contract import ACTORS, ADDED, AS_WRITTEN, HARDENED, RULES, Status, Trigger
from .machine import added_by, mermaid, svg
from .markdown_text import code, escape, table

_PART: Final = re.compile(r"(<!-- begin ([\w-]+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def pictures() -> dict[str, str]:
    """The SVG files beside the page, by file name."""
    return {
        "contract.svg": svg(HARDENED, added_by()),
        "contract-as-written.svg": svg(AS_WRITTEN, {}),
    }


def parts() -> dict[str, str]:
    """The generated parts by name, as Markdown."""
    return {
        "table": _table(),
        "actors": _actors(),
        "rules": _rules(),
        "diagram": f"```mermaid\n{mermaid(HARDENED)}```\n",
    }


def current(page: str) -> str:
    """The page with its generated parts written anew. Raises ValueError unless it has each part exactly once."""
    made = parts()
    found = [match[2] for match in _PART.finditer(page)]
    if sorted(found) != sorted(made):
        raise ValueError(f"docs/contract.md has the parts {sorted(found)}; it needs {sorted(made)}, each once")
    return _PART.sub(lambda match: f"{match[1]}{made[match[2]]}{match[3]}", page)


def _table() -> str:
    added = added_by()
    keys = dict.fromkeys(
        (state, trigger) for rows in (HARDENED, AS_WRITTEN) for state in rows for trigger in rows[state]
    )
    lines = []
    for state, trigger in keys:
        before, after = (rows.get(state, {}).get(trigger) for rows in (AS_WRITTEN, HARDENED))
        rules = added.get((state, trigger, after), ()) if after else ()
        lines.append((code(state), code(trigger), _state(before), _state(after), ", ".join(rules) or "–"))
    return _lines(table(("From", "Trigger", "As written", "Hardened", "By rule"), lines))


def _state(state: Status | None) -> str:
    return code(state) if state else "undefined"


def _actors() -> str:
    lines = [
        (code(actor), *(", ".join(code(t) for t in get_args(Trigger) if t in kinds[kind]) or "none" for kind in kinds))
        for actor, kinds in ACTORS.items()
    ]
    return _lines(table(("Actor", *(code(kind) for kind in next(iter(ACTORS.values())))), lines))


def _rules() -> str:
    lines = [
        (rule, escape(sentence), str(sum(edge.rule == rule for edge in ADDED) or "none"))
        for rule, sentence in RULES.items()
    ]
    return _lines(table(("Rule", "In one sentence", "Edges that it adds"), lines))


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"
