"""SMT-LIB 2 files read as an auditor reads them: questions, each with its stated answer, what it assumes, and its goal.

This is a reader of its own: it shares nothing with the program that writes the files, nor with the one that asks them again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

PLAIN: Final = frozenset({"set-logic", "declare-sort", "declare-fun", "declare-const", "assert"})
"""Commands that say what a question is; any other may change what an answer means, and is refused."""
_SIGN: Final = re.compile(r";[^\n]*|\|[^|]*\||\"(?:[^\"]|\"\")*\"|[()]")
_STATUS: Final = re.compile(r"\(set-info\s+:status\s+(sat|unsat)\s*\)")
_INFO: Final = re.compile(r"\(set-info\s+:smt-lib-version\s+2\.6\s*\)")
_FRAME: Final = re.compile(r"\((push|pop) 1\)")
_VERB: Final = re.compile(r"\(\s*([\w-]+)")


class ScriptError(ValueError):
    """A file that is no list of questions with stated answers: why."""


@dataclass(frozen=True)
class Question:
    """One `check-sat`: what the comment before it calls it, the answer that is stated, and the commands before it."""

    name: str
    status: str
    commands: tuple[str, ...]

    @property
    def assumed(self) -> tuple[str, ...]:
        """Everything but the goal, which is the last assertion."""
        return self.commands[:-1]


@lru_cache(maxsize=8192)
def questions(data: bytes) -> tuple[Question, ...]:
    """The questions of a file, in order. Raises ScriptError."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ScriptError(f"it is no plain text: {error.reason} at byte {error.start}") from error
    found = tuple(_questions(text))
    if not found:
        raise ScriptError("nothing is asked")
    return found


def _questions(text: str) -> Iterator[Question]:
    kept: list[str] = []
    frames: list[int] = []
    status = ""
    for command, name in _commands(text):
        verb = match[1] if (match := _VERB.match(command)) else ""
        if verb in PLAIN:
            kept.append(command)
        elif frame := _FRAME.fullmatch(command):
            if frame[1] == "push":
                frames.append(len(kept))
            elif frames:
                del kept[frames.pop() :]
            else:
                raise ScriptError("a pop without a push")
        elif stated := _STATUS.fullmatch(command):
            status = stated[1]
        elif command == "(check-sat)":
            if not status:
                raise ScriptError(f"no answer is stated for {name!r}")
            if not kept or not kept[-1].startswith("(assert"):
                raise ScriptError(f"{name!r} has no goal")
            yield Question(name, status, tuple(kept))
            status = ""
        elif not _INFO.fullmatch(command):
            raise ScriptError(f"{command[:40]!r} is no part of a question")
    if status:
        raise ScriptError("it ends before its last question is asked")


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a script, each with the last comment before it that has a line of its own."""
    depth = start = 0
    name = ""
    for sign in _SIGN.finditer(text):
        if sign[0].startswith(";"):
            if not depth and _own_line(text, sign.start()):
                name = sign[0][1:].strip()
        elif sign[0] == "(":
            start = start if depth else sign.start()
            depth += 1
        elif sign[0] == ")":
            depth -= 1
            if depth < 0:
                raise ScriptError("a parenthesis is closed that was not opened")
            if not depth:
                yield text[start : sign.end()], name
    if depth:
        raise ScriptError("it ends within a command")


def _own_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"
