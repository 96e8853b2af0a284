"""The lines of a recorded stream: the quick parser reads what the standard library's reads, and refuses what that one refuses."""

import json
import random
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import pytest

from crashwindow.checkers import stream_lines
from crashwindow.checkers.abstraction import StoredEvent
from crashwindow.checkers.stream_lines import EventType, Line, Quick, Records, StreamError, line_of, lines, parsed

LINE = {
    "job_id": "j",
    "version": 2,
    "type": "tool_invocation_finished",
    "step": "a",
    "epoch": 1,
    "at": 1.5,
    "data": {"attempt": 1, "outcome": "success", "result": {"paid": [1, -0.0, 1e3, True, None, "\u00e9\\"]}},
}
WHOLE = json.dumps(LINE).encode() + b"\n"
HEAD = b'{"job_id":"j","version":2,"type":"node_finished","data":{"result":'
VALUES = (
    b"NaN", b"-Infinity", b"1e999", b"-0", b"-0.0", b"1.0", b"1E5", b"01", b"1.", b"-", b"18446744073709551616",
    b"123456789012345678901234567890", b"1" * 400, b"1" * 4400, b"5e-324", b"1e-999", b"9007199254740993.0",
    b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\xff"', b'"\x01"', b'"\x7f"', b'"\\x"', b'"\\u0000"', b'"\xed\xa0\x80"',
    b"[1,]", b"[1 2]", b'{"a":1,"a":2}', b'{"\xff":1}', b"[" * 600 + b"]" * 600, b"\xef\xbb\xbf1", b"[1]\x0b", b"tru", b"",
)  # fmt: skip
"""What parsers differ about."""


def slow(line: bytes) -> Line | None:
    """A line as `json` reads it; None where it is blank."""
    return line_of(1, parsed(1, line)) if line.strip() else None


def told(read: Callable[[bytes], Line | None], line: bytes) -> str:
    """What is read, to the last digit and type; or that it is refused."""
    try:
        found = read(line)
    except (StreamError, RecursionError):
        return "refused"
    if found is None or isinstance(found.said, Records):
        return repr(found)
    said = found.said
    return repr([found.number, found.job_id, *(getattr(said, name) for name in StoredEvent.__struct_fields__)])


def quick(line: bytes) -> Line | None:
    """A line as streams are read."""
    return next(lines([line]), None)


def oddities() -> list[bytes]:
    """Lines with one value that parsers differ about; and of a good one each field made another thing, or not there."""
    odd = [HEAD + value + b"}}\n" for value in VALUES]
    others: tuple[Any, ...] = (None, 0, -1, 1.0, True, "", [], {}, "dreamt")
    for name in LINE:
        odd += [json.dumps({**LINE, name: other}).encode() for other in others]
        odd.append(json.dumps({key: value for key, value in LINE.items() if key != name}).encode())
    twice = WHOLE.replace(b'"version"', b'"version": 7, "version"')
    return [
        *odd,
        twice,
        WHOLE.replace(b"{", b'{"more": "\xff",', 1),
        *(WHOLE.replace(b"{", b'{"id": %b,' % other, 1) for other in (b'""', b'"e"', b"1")),
        WHOLE + b"{}",
        b" " + WHOLE,
        b"[1]",
        b"{}",
        b"\n",
        b" \t\n",
    ]


def damaged(number: int) -> bytes:
    """The good line with a byte or two changed, dropped or put in."""
    draw, line = random.Random(number), bytearray(WHOLE)
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.randrange(len(line))
        line[at : at + draw.randrange(2)] = draw.choice(
            (b"", b"\xff", b"\xc3", b'"', b"\\", b"0", b"e", b",", b"}", b"\x00")
        )
    return bytes(line)


def differences() -> list[bytes]:
    """The lines of which the quick way says something else than the slow one."""
    return [line for line in [WHOLE, *oddities(), *map(damaged, range(1500))] if told(quick, line) != told(slow, line)]


def test_the_quick_parser_reads_what_json_reads() -> None:
    """Every odd value, odd field and damaged byte: the same event, or a refusal both times."""
    assert differences() == []
    assert told(quick, WHOLE) != "refused"


def test_most_lines_are_read_quickly() -> None:
    """What `crashwindow trace` writes is not looked at twice; its events, at least: records are one line a job."""
    assert msgspec.json.decode(WHOLE, type=Quick).data == LINE["data"]


class OfAnyType(Quick, frozen=True, forbid_unknown_fields=True):
    """The mutant that knows one type of event too many."""

    type: EventType | Literal["dreamt"]  # type: ignore[assignment]


class Lax(msgspec.Struct):
    """The mutant that takes whatever has a job."""

    job_id: str
    version: int = 1
    id: str = ""
    type: str = "job_failed"
    step: Any = None
    epoch: Any = None
    data: dict[str, Any] = {}


def of_any_type(patch: pytest.MonkeyPatch) -> None:
    """Types of events are not compared with those that exist."""
    patch.setattr(stream_lines, "_quick", msgspec.json.Decoder(OfAnyType).decode)


def of_any_shape(patch: pytest.MonkeyPatch) -> None:
    """Fields are not compared with what they have to be, and what is no field is skipped."""
    patch.setattr(stream_lines, "_quick", msgspec.json.Decoder(Lax).decode)


def with_great_numbers_rounded(patch: pytest.MonkeyPatch) -> None:
    """A whole number of more than 64 bits is read as the nearest double, as another parser would."""
    read = stream_lines._quick

    def rounded(line: bytes) -> Quick:
        said = read(line)
        result = said.data.get("result")
        if type(result) is int and abs(result) >= 2**64 and len(line) < 300:
            said.data["result"] = float(result)
        return said

    patch.setattr(stream_lines, "_quick", rounded)


@pytest.mark.parametrize(
    "broken", [of_any_type, of_any_shape, with_great_numbers_rounded], ids=lambda each: each.__name__
)
def test_a_parser_that_is_not_strict_is_found(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant that takes more, or reads something else, differs from `json`."""
    broken(monkeypatch)
    assert differences()
