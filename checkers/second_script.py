"""SMT-LIB 2 files, taken apart into questions that stand alone: text in, text out, and nothing of the encoder that wrote them.

A file holds one question, or many between `push` and `pop`. Each becomes a script of its own, with all that is declared and
asserted at its `check-sat`, and the answer that the file states for it (`:status`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

KEPT: Final = ("set-logic", "declare-sort", "declare-fun", "declare-const", "assert")
"""The commands of which a question consists; a file with others is not read, for who knows what they do to an answer."""

_TOKEN: Final = re.compile(r";[^\n]*|\|[^|]*\||\"(?:[^\"]|\"\")*\"|[()]")
_STATUS: Final = re.compile(r"\(set-info\s+:status\s+(\w+)\s*\)")
_HEAD: Final = re.compile(r"\(\s*([\w-]+)\s*(\d*)")
_SAID: Final = re.compile(r"^[ \t]*;[ \t]*(.*?)[ \t]*$", re.MULTILINE)


class ScriptError(ValueError):
    """A file that is no list of questions, or a question without a stated answer: it says which and why."""


@dataclass(frozen=True)
class Question:
    """One `check-sat`: where it stands, what the file calls it, the answer it states, and the commands before it."""

    file: Path
    number: int
    name: str
    status: str
    commands: tuple[str, ...]

    @property
    def script(self) -> str:
        """The question as a script that stands alone, without `check-sat`."""
        return "\n".join(self.commands)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything but the last assertion, which is what is asked."""
        last = max((n for n, command in enumerate(self.commands) if command.startswith("(assert")), default=-1)
        return self.commands[:last] + self.commands[last + 1 :] if last >= 0 else self.commands


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The top-level commands of a script, each with the last comment that has a line of its own since the one before."""
    depth = start = after = 0
    for token in _TOKEN.finditer(text):
        sign = token.group()
        if sign == "(":
            start = start if depth else token.start()
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth < 0:
                raise ScriptError("a parenthesis is closed that was not opened")
            if not depth:
                # What follows a command on its own line is a remark about it, and no name of the next one.
                _, _, own = text[after:start].partition("\n") if after else ("", "", text[:start])
                said = _SAID.findall(own)
                yield text[start : token.end()], said[-1] if said else ""
                after = token.end()
    if depth:
        raise ScriptError("the file ends within a command")


def questions(file: Path) -> Iterator[Question]:
    """The questions of a file, in order. Raises OSError, and ScriptError for what is no list of questions."""
    try:
        text = file.read_text(encoding="utf-8")
        yield from _questions(file, text)
    except (ScriptError, UnicodeDecodeError) as error:
        raise ScriptError(f"{file}: {error}") from error


def _questions(file: Path, text: str) -> Iterator[Question]:
    kept: list[str] = []
    marks: list[int] = []
    name = status = ""
    number = 0
    for command, said in commands(text):
        name = said or name
        match = _HEAD.match(command)
        verb, count = match.groups() if match else ("", "")
        if verb == "push":
            marks += [len(kept)] * int(count or 1)
        elif verb == "pop":
            for _ in range(int(count or 1)):
                if not marks:
                    raise ScriptError("a pop without a push")
                del kept[marks.pop() :]
        elif verb == "set-info":
            stated = _STATUS.match(command)
            status = stated.group(1) if stated else status
        elif verb == "check-sat":
            number += 1
            if status not in ("sat", "unsat"):
                raise ScriptError(f"question {number} ({name}) states no answer")
            yield Question(file, number, name, status, tuple(kept))
            status = ""
        elif verb in KEPT:
            kept.append(command)
        else:
            raise ScriptError(f"{command[:40]!r} is none of {', '.join(KEPT)}")
    if not number:
        raise ScriptError("nothing is asked")
