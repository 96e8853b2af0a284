"""JSON as one may believe it: no name twice, no NaN, nothing before or behind."""

import json
from typing import Any, NoReturn


class JsonError(ValueError):
    """A text that is no strict JSON: why."""


def strict_json(data: bytes) -> Any:
    """The value of a JSON text in UTF-8. Raises JsonError."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_pairs, parse_constant=_constant)
    except UnicodeDecodeError as error:
        raise JsonError(f"it is not UTF-8: {error.reason} at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise JsonError(f"it is no JSON: {error}") from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise JsonError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return dict(pairs)


def _constant(word: str) -> NoReturn:
    raise JsonError(f"{word} is no number of JSON")
