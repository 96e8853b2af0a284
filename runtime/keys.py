"""Idempotency keys (T-KEY; S1 §4)."""

import hashlib

from .canonical import canonical
from .records import Json


def execution_key(job_id: str, node_id: str, tool_name: str, args: Json) -> str:
    """The internal key of a logical step: SHA256(job_id \\0 node_id \\0 tool_name \\0 canonical(args)), in hexadecimal.

    Raises ValueError when an id holds a NUL, which would make two steps look alike.
    """
    names = (job_id, node_id, tool_name)
    if any("\0" in name for name in names):
        raise ValueError(f"an id must not contain NUL: {names!r}")
    return hashlib.sha256(b"\0".join([*(name.encode() for name in names), canonical(args)])).hexdigest()


def compensation_key(key: str) -> str:
    """The internal key of the compensation of the step that `key` names: one, whatever the step's result was (T-COMP)."""
    return hashlib.sha256(f"compensate\0{key}".encode()).hexdigest()


def stable_key(key: str) -> str:
    """The external key of a logical effect: the same in every attempt, injective over steps as the internal key is (P11)."""
    return f"crashwindow:{key}"


def attempt_key(job_id: str, step_id: str, epoch: int) -> str:
    """The external key as S1 §4.2 writes it: the claim is part of it, so a reclaim changes it. Refuted; see `scenarios/`."""
    return f"aetheris:{job_id}:{step_id}:{epoch}"


def invocation_id(key: str) -> str:
    """The ToolInvocationID of a step: one through all its retries (S2)."""
    return f"inv-{key[:32]}"
