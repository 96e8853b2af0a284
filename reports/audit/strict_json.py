"""JSON as one may believe it, and everybody reads alike (RFC 7493): no name twice, no number too large, nothing behind."""

import json
import re
from typing import Any, Final, NoReturn

from ...checkers.evidence_base import LARGEST

DEEPEST: Final = 100
"""How deep values may lie in each other."""
SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""How half a character begins: whether the other half follows is asked of the value."""


class JsonError(ValueError):
    """A text that is no strict JSON: why."""


def strict_json(data: bytes) -> Any:
    """The value of a JSON text in UTF-8; it has a canonical form (RFC 8785). Raises JsonError."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_pairs,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_float,
        )
        if SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise JsonError(f"it is not UTF-8: {error.reason} at byte {error.start}") from error
    except UnicodeEncodeError as error:
        raise JsonError("it holds half of a character, a lone surrogate") from error
    except (ValueError, RecursionError) as error:
        raise JsonError(f"it is no JSON: {error}") from error
    if data.count(b"[") + data.count(b"{") > DEEPEST and _deep(value):
        raise JsonError(f"its values lie in each other, more than {DEEPEST} deep")
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise JsonError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return dict(pairs)


def _constant(word: str) -> NoReturn:
    raise JsonError(f"{word} is no number of JSON")


def _integer(digits: str) -> int:
    if len(digits) > len(str(-LARGEST)) or abs(int(digits)) > LARGEST:
        raise JsonError(f"{digits[:20]} is beyond {LARGEST}: not every program reads it as the same number")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise JsonError(f"{digits[:20]} is no number that a program can hold")
    return value


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            each
            for outer in level
            if isinstance(outer, dict | list)
            for each in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)
