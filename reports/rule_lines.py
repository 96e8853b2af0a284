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
_WRITE: Final = re.compile(r" \(answer lost\)(, nothing written)?| \(found\)|: a conflict, hears what clients said")
_FLEET: Final = re.compile(r", nobody leads|, the job is not open|, overtakes: .*")
"""What a machine adds to the name of a row: what becomes of its write; and, where several work, who is overtaken."""


@dataclass(frozen=True)
class Line:
    """A line of a file, the file named from the root of the project."""

    file: str
    number: int


@dataclass(frozen=True)
class _Text:
    """A string in the source: what it is or, where it is made from parts, may become. rank: the lowest fits best.

    function: the one that makes it; of a string that a call is given as a name, the one that is called.
    """

    text: str | re.Pattern[str]
    line: Line
    rank: int
    function: str

    @property
    def made(self) -> bool:
        """Whether it is made from parts."""
        return not isinstance(self.text, str)

    def fits(self, name: str) -> bool:
        """Whether a name is this string; a place such as `append_node` gives its rule the name "append node"."""
        if isinstance(self.text, str):
            return name in (self.text, self.text.replace("_", " "))
        return bool(self.text.fullmatch(name))

    def place(self, name: str) -> tuple[int, int]:
        """How well it fits a name, the best first: given as a name; made, half of it fixed; anywhere; made somehow."""
        if self.made:
            return (1 if -self.rank * 2 >= len(name) else 3), self.rank
        return (2 if self.rank else 0), self.rank


@cache
def rule_line(policy: str, rule: str) -> Line | None:
    """Where the rule of a policy's machine is written; None for a name that no source of a model makes."""
    match = _WORKER.fullmatch(rule)
    plain = _WRITE.sub("", match["rule"] if match else rule)
    files = next(files for begins, files in RULES if policy.startswith(begins))
    added = _FLEET.search(plain)
    for name in (added[0], plain) if added else (plain,):
        for file in files:
            if found := _find(file, name):
                return found
    return None


@cache
def claim_line(claim: str) -> Line | None:
    """Where a claim is written down; None for one that is not in the register."""
    files = sorted(file.name for file in MODEL.glob("*claims*.py"))
    found = [_find(file, claim, exact=exact) for exact in (True, False) for file in files]
    return next((line for line in found if line), None)


def _find(file: str, name: str, *, exact: bool = False) -> Line | None:
    written, made = _index(file)
    fitting = [*written.get(name, ()), *(() if exact else (text for text in made if text.fits(name)))]
    if not fitting:
        return None
    best = min(fitting, key=lambda text: text.place(name))
    return _part(file, name, best) or best.line


def _part(file: str, name: str, made: _Text) -> Line | None:
    """Where a part of a made name is given to the function that makes it: `gate("denied", …)` makes "gate: denied"."""
    match = None if isinstance(made.text, str) else made.text.fullmatch(name)
    for part in match.groups() if match else ():
        for text in _texts(file):
            if text.rank == 0 and text.function == made.function and text.fits(part):
                return text.line
    return None


@cache
def _index(file: str) -> tuple[dict[str, list[_Text]], list[_Text]]:
    """The strings of a file by what they are, and those that are made; a place such as `append_node` is "append node", too."""
    written: dict[str, list[_Text]] = {}
    for text in _texts(file):
        if isinstance(text.text, str):
            for name in {text.text, text.text.replace("_", " ")}:
                written.setdefault(name, []).append(text)
    return written, [text for text in _texts(file) if text.made]


@cache
def _texts(file: str) -> tuple[_Text, ...]:
    tree = ast.parse((MODEL / file).read_text(encoding="utf-8"))
    return tuple(_strings(tree, f"model/{file}", "", dict(_constants(tree))))


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The strings that a file names once, for use in others."""
    for each in tree.body:
        match each:
            case ast.AnnAssign(target=ast.Name(name), value=ast.Constant(str(text))):
                yield name, text


def _strings(
    node: ast.AST, file: str, function: str, known: dict[str, str], called: str | None = None
) -> Iterator[_Text]:
    """Every string: first what a call is given as a name, then what stands in a function, then what stands in a table."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        rank = 0 if called is not None else 1 if function else 2
        yield _Text(node.value, Line(file, node.lineno), rank, called or function)
    if isinstance(node, ast.JoinedStr):
        fixed = [_fixed(part, known) for part in node.values]
        length = sum(map(len, fixed))
        if length > SHORT:
            pattern = "".join(re.escape(text) if text else "(.*)" for text in fixed)
            yield _Text(re.compile(pattern), Line(file, node.lineno), -length, function)
        return
    inside = node.name if isinstance(node, ast.FunctionDef) else function
    named = {id(name): who for name, who in _names(node)} if isinstance(node, ast.Call) else {}
    for child in ast.iter_child_nodes(node):
        yield from _strings(child, file, inside, known, named.get(id(child)))


def _fixed(part: ast.expr, known: dict[str, str]) -> str:
    """What a part of a formatted string always is; "" where that is not known."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    named = part.value if isinstance(part, ast.FormattedValue) else None
    return known.get(named.id, "") if isinstance(named, ast.Name) else ""


def _names(call: ast.Call) -> list[tuple[ast.expr, str]]:
    """What a call may be given as the name of what it makes, and who is called: its first argument, or the second of
    `_end(rows, "…")`."""
    who = call.func.id if isinstance(call.func, ast.Name) else ""
    if who == "Field":
        return []
    given = call.args[1:2] if call.args and isinstance(call.args[0], ast.Name) else call.args[:1]
    return [(each, who) for each in given]


def window_line(window: str) -> Line | None:
    """Where a row of the crash-window table is written; None for one that is not in the table."""
    return _find("windows.py", window, exact=True)
