"""Canonical JSON (RFC 8785): one byte string per value, whatever the order of keys (T-KEY)."""

import hashlib

import rfc8785

from .records import Json


class NotCanonicalError(ValueError):
    """A value that has no canonical JSON form: NaN, bytes, a key that is not a string."""


def canonical(value: Json) -> bytes:
    """The canonical bytes of a JSON value; raises NotCanonicalError, naming what is wrong."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, ValueError, TypeError, RecursionError) as error:
        raise NotCanonicalError(f"not canonical JSON (RFC 8785): {error}") from error


def digest(value: Json) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()
