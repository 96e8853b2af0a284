"""Where a rule of a model, or a claim of the register, is written: file and line, found in the source itself.

A name is looked up as it is written there: as a string, or as a formatted string that makes it. What a machine adds to the
name of a rule (a lost answer, a worker's letter) is taken off first. The lines are those of the code that is installed.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

MODEL: Final = Path(__file__).resolve().parent.parent / "model"
RULES: Final = (
    ("contract", ("contract_machine.py", "contract_step.py", "contract_rows.py")),
    ("gate", ("gate.py",)),
    ("compensation", ("compensation.py", "contract_step.py")),
    ("recorded", ("recorded.py",)),
    (
        "",
        ("step.py", "fleet_fencing.py", "fleet_build.py", "fleet_rows.py", "gate.py", "compensation.py", "recorded.py"),
    ),
)
"""The files in which rules are written, by how the names of their policies begin; the first that fits holds."""
SHORT: Final = 2
"""A formatted string with no more than so many fixed characters fits too much to say anything."""
_WORKER: Final = re.compile(r"(?:[a-z]: )?(?P<rule>.*?)(?: \([a-z]\))?(?: \[[^\]]*\])?(?: [012]{4})?")
_ADDED: Final = re.compile(
    r" \(answer lost\)(, nothing written)?| \(found\)|: a conflict, hears what clients said|, nobody leads"
    r"|, the job is not open|, overtakes: .*"
)


@dataclass(frozen=True)
class Line:
    """A line of a file, the file named from the root of the project."""

    file: str
    number: int


@dataclass(frozen=True)
class _Text:
    """A string in the source: what it is or, where it is made from parts, may become. rank: the lowest fits best."""

    pattern: re.Pattern[str]
    line: Line
    made: bool
    rank: int


def rule_line(policy: str, rule: str) -> Line | None:
    """Where the rule of a policy's machine is written; None for a name that no source of a model makes."""
    match = _WORKER.fullmatch(rule)
    plain = match["rule"] if match else rule
    files = next(files for begins, files in RULES if policy.startswith(begins))
    for name in dict.fromkeys((plain, _ADDED.sub("", plain))):
        for file in files:
            if found := _find(file, name):
                return found
    return None


def claim_line(claim: str) -> Line | None:
    """Where a claim is written down; None for one that is not in the register."""
    files = sorted(file.name for file in MODEL.glob("*claims*.py"))
    found = [line for line in (_find(file, claim, exact=True) for file in files) if line]
    return (found or [line for line in (_find(file, claim) for file in files) if line] or [None])[0]


def _find(file: str, name: str, *, exact: bool = False) -> Line | None:
    fitting = [text for text in _texts(file) if text.pattern.fullmatch(name) and not (exact and text.made)]
    return min(fitting, key=lambda text: (text.made, text.rank)).line if fitting else None


@cache
def _texts(file: str) -> tuple[_Text, ...]:
    return tuple(_strings(ast.parse((MODEL / file).read_text(encoding="utf-8")), f"model/{file}"))


def _strings(tree: ast.Module, file: str) -> Iterator[_Text]:
    """Every string: first what a call is given as a name, then what stands in a function, then what stands in a table."""
    named = {id(arg) for node in ast.walk(tree) if isinstance(node, ast.Call) for arg in _names(node)}
    inner = {id(node) for outer in ast.walk(tree) if isinstance(outer, ast.FunctionDef) for node in ast.walk(outer)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                # A place such as `append_node` gives its rule the name "append node".
                pattern = f"{re.escape(text)}|{re.escape(text.replace('_', ' '))}"
                rank = 0 if id(node) in named else 1 if id(node) in inner else 2
                yield _Text(re.compile(pattern), Line(file, node.lineno), made=False, rank=rank)
            case ast.JoinedStr(values=parts):
                fixed = [str(part.value) if isinstance(part, ast.Constant) else "" for part in parts]
                length = sum(map(len, fixed))
                if length > SHORT:
                    pattern = "".join(re.escape(text) if text else ".+" for text in fixed)
                    yield _Text(re.compile(pattern), Line(file, node.lineno), made=True, rank=-length)


def _names(call: ast.Call) -> list[ast.expr]:
    """What a call may be given as the name of what it makes: its first argument, or the second of `_end(rows, "…")`."""
    if isinstance(call.func, ast.Name) and call.func.id == "Field":
        return []
    return call.args[1:2] if call.args and isinstance(call.args[0], ast.Name) else call.args[:1]
