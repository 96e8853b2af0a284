"""Text from elsewhere, made safe to look at, and text that is written where not every character can be."""

import codecs
import io
import sys
from typing import Final

ESCAPED: Final = "crashwindow.escaped"
"""What is done about a character that cannot be written, by the name by which Python knows it."""


def plain(text: str) -> str:
    """Text without control characters, those of writing direction included: what a plan, a tool or a model hands in must not
    steer the terminal, nor look like something else to the person who approves it.
    """
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


def escape_what_cannot_be_written() -> None:
    """Standard output shows what its encoding does not have as `\\uXXXX`, as JSON has it: a command never ends for that.

    Python shows it on standard error by itself, but writes \\xXX there, which no reader of JSON understands.
    """
    codecs.register_error(ESCAPED, _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Characters as JSON has them: those of a terminal's encoding are missing, or they are halves of surrogate pairs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True)), error.end
