"""Canonical JSON (RFC 8785): one byte string per value, whatever the order of keys (T-KEY)."""

import hashlib
import json
from collections.abc import Iterable
from types import NoneType
from typing import Final

import msgspec
import rfc8785

from .records import Json


class NotCanonicalError(ValueError):
    """A value that has no canonical JSON form: NaN, bytes, a key that is not a string."""


def canonical(value: Json) -> bytes:
    """The canonical bytes of a JSON value; raises NotCanonicalError, naming what is wrong."""
    try:
        if _simple(value) or _simple(value := _integers(value)):
            return _encode(value)
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, ValueError, TypeError, RecursionError) as error:
        raise NotCanonicalError(f"not canonical JSON (RFC 8785): {error}") from error


def shortest(number: Json) -> Json:
    """A whole number as an integer, which has the same canonical bytes and the quick encoder; anything else as it is."""
    return int(number) if type(number) is float and number.is_integer() and -_EXACT < number < _EXACT else number


def digest(value: Json) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def check_kept(value: Json) -> None:
    """Raise NotCanonicalError unless a value is still one of RFC 8785 when it has been written and read again: 1e20 comes back
    as an integer that is too large.
    """
    canonical(json.loads(canonical(value)))


def json_or_text(content: bytes) -> Json:
    """What somebody answered: JSON if it can be stored unchanged, else text."""
    try:
        body = json.loads(content)
        check_kept(body)
    except (NotCanonicalError, ValueError, RecursionError):
        return content.decode(errors="replace")
    return body


# Most values have no large integer, only ASCII keys, and no float but times of day. For these an encoder written in C gives the
# same bytes in a tenth of the time; `tests/test_keys.py` compares the two. Every event of every step is encoded. Both write the
# shortest digits that give a float back; they differ in where an exponent begins, and in "1.0".
_encode: Final = msgspec.json.Encoder(order="sorted").encode
_ALIKE: Final = frozenset({str, bool, NoneType})
_EXACT: Final = 2**53
_FIXED: Final = 1e-4


def _simple(value: Json) -> bool:
    """Whether `_encode` writes a value as RFC 8785 says."""
    kind = type(value)
    if kind in _ALIKE:
        return True
    if kind is int:
        return bool(-_EXACT < value < _EXACT)
    if kind is float:
        return _FIXED <= value < _EXACT and not value.is_integer()
    if kind is dict:
        return "".join(value).isascii() and _all_simple(value.values())
    return (kind is list or kind is tuple) and _all_simple(value)


def _integers(value: Json) -> Json:
    """The same value, to RFC 8785, with its whole numbers as integers: a time of day that is one is no reason to be slow."""
    kind = type(value)
    if kind is dict:
        return {key: _integers(item) for key, item in value.items()}
    return [_integers(item) for item in value] if kind is list or kind is tuple else shortest(value)


def _all_simple(values: Iterable[Json]) -> bool:
    """The same of each value. Most are strings and small numbers: for them nothing is called."""
    for value in values:
        kind = type(value)
        if kind is str:
            continue
        if kind is int:
            if not -_EXACT < value < _EXACT:
                return False
        elif kind not in _ALIKE and not _simple(value):
            return False
    return True
