"""The commands that a campaign prints: whoever pastes one into a POSIX shell gives these very arguments."""

import shlex
from collections.abc import Iterable


def command_line(arguments: Iterable[str]) -> str:
    """The arguments as one printable line of shell. One that is not printable is made by `printf`, so that it is seen whole."""
    return " ".join(map(_word, arguments))


def _word(text: str) -> str:
    if text.isprintable():
        return shlex.quote(text)
    octal = "".join(each if each.isprintable() and each not in "\\%" else _octal(each) for each in text)
    return f'"$(printf {shlex.quote(octal)})"'


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode(errors="surrogateescape"))
