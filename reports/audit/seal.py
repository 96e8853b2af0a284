"""The seal of a bundle: its manifest, the Merkle root, the envelope, the signature, and what the signed statement says."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ...checkers.evidence import RunEvidence
from ..bundle.manifest import ENVELOPE, FORMAT, MANIFEST, listed
from ..bundle.manifest import manifest as manifest_of
from ..bundle.merkle import merkle_root
from ..bundle.statement import PAYLOAD_TYPE, key_id, signed_bytes, statement
from .strict_json import JsonError, strict_json


def manifest(files: Mapping[str, bytes]) -> list[str]:
    """What differs between the manifest and the files, both ways."""
    if MANIFEST not in files:
        return [f"{MANIFEST}: it is missing"]
    try:
        stated = strict_json(files[MANIFEST])
        rows = {row["path"]: (row["sha256"], row["size"]) for row in stated["files"]}
    except JsonError as error:
        return [f"{MANIFEST}: {error}"]
    except (TypeError, KeyError) as error:
        return [f"{MANIFEST}: it is no list of files: {error!r}"]
    there = {path: (hashlib.sha256(data).hexdigest(), len(data)) for path, data in listed(files).items()}
    problems = [f"{path}: the manifest lists it, and it is missing" for path in rows if path not in there]
    problems += [f"{path}: it is there, and the manifest does not list it" for path in there if path not in rows]
    for path, (digest, size) in there.items():
        if path in rows and rows[path] != (digest, size):
            problems.append(f"{path}: it is not what the manifest says: {size} bytes with SHA-256 {digest}")
    if not problems and stated.get("format") != FORMAT:
        problems.append(f"{MANIFEST}: its format is {stated.get('format')!r}, this program reads {FORMAT!r}")
    return problems


def root(files: Mapping[str, bytes]) -> list[str]:
    """Whether the manifest states the Merkle root, and is written in the one way in which a manifest is written."""
    if MANIFEST not in files:
        return [f"{MANIFEST}: it is missing"]
    if files[MANIFEST] == manifest_of(files):
        return []
    try:
        stated = strict_json(files[MANIFEST])
    except JsonError as error:
        return [f"{MANIFEST}: {error}"]
    computed = merkle_root(listed(files)).hex()
    said = stated.get("merkle_root") if isinstance(stated, dict) else None
    if said != computed:
        return [f"{MANIFEST}: it states the root {said}; over the files that are there it is {computed}"]
    return [f"{MANIFEST}: it is not written as a manifest is: in order, as canonical JSON, and nothing else"]


@dataclass(frozen=True)
class Envelope:
    """A DSSE envelope, taken apart: what is said, as what, and the signatures with their key ids."""

    payload: bytes
    kind: str
    signatures: tuple[tuple[str, bytes], ...]


class EnvelopeError(ValueError):
    """An envelope that is none: why."""


def opened(files: Mapping[str, bytes]) -> Envelope:
    """The envelope of a bundle. Raises EnvelopeError."""
    if ENVELOPE not in files:
        raise EnvelopeError(f"{ENVELOPE}: it is missing")
    try:
        content = strict_json(files[ENVELOPE])
        if sorted(content) != ["payload", "payloadType", "signatures"] or rfc8785.dumps(content) != files[ENVELOPE]:
            raise EnvelopeError(f"{ENVELOPE}: it is not written as an envelope is: three members, as canonical JSON")
        signatures = tuple((_text(each["keyid"]), _decoded(each["sig"])) for each in content["signatures"])
        if any(sorted(each) != ["keyid", "sig"] for each in content["signatures"]):
            raise EnvelopeError(f"{ENVELOPE}: a signature has other members than keyid and sig")
        return Envelope(_decoded(content["payload"]), _text(content["payloadType"]), signatures)
    except JsonError as error:
        raise EnvelopeError(f"{ENVELOPE}: {error}") from error
    except (TypeError, KeyError, ValueError) as error:
        raise (
            error if isinstance(error, EnvelopeError) else EnvelopeError(f"{ENVELOPE}: it is damaged: {error!r}")
        ) from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _decoded(value: Any) -> bytes:
    data = base64.b64decode(_text(value), validate=True)
    if base64.b64encode(data).decode() != value:
        raise ValueError("base64 that is written otherwise than it has to be")
    return data


def envelope(found: Envelope) -> list[str]:
    """What is wrong with an envelope, its signatures apart."""
    if found.kind != PAYLOAD_TYPE:
        return [f"{ENVELOPE}: its payload is of type {found.kind!r}, not {PAYLOAD_TYPE!r}"]
    if len(found.signatures) > 1:
        return [f"{ENVELOPE}: it has {len(found.signatures)} signatures; one is expected"]
    return []


def signature(found: Envelope, key: Ed25519PublicKey) -> list[str]:
    """Whether the one signature is the key's. What it says of itself as key id is not asked."""
    if len(found.signatures) != 1:
        return [f"{ENVELOPE}: it has {len(found.signatures)} signatures; one is expected"]
    named, signed = found.signatures[0]
    try:
        key.verify(signed, signed_bytes(found.kind, found.payload))
    except InvalidSignature:
        other = f"; it names the key {named!r}" if named != key_id(key) else ", though it names that key"
        return [f"{ENVELOPE}: the signature is not by the key {key_id(key)}{other}"]
    return []


def says(found: Envelope, files: Mapping[str, bytes], evidence: RunEvidence) -> list[str]:
    """Whether the statement is the one that follows from the files: subjects, run, models, totals."""
    expected = statement(files, evidence)
    if found.payload == expected:
        return []
    try:
        said = strict_json(found.payload)
    except JsonError as error:
        return [f"{ENVELOPE}: its payload: {error}"]
    due = strict_json(expected)
    if not isinstance(said, dict):
        return [f"{ENVELOPE}: its payload is no statement"]
    differing = [name for name in {**due, **said} if said.get(name) != due.get(name)]
    if not differing:
        return [f"{ENVELOPE}: its payload is not canonical JSON"]
    problems = [f"{ENVELOPE}: the statement's {name} is not what follows from the files" for name in differing]
    subjects = said.get("subject")
    for subject in due["subject"]:
        if not isinstance(subjects, list) or subject not in subjects:
            problems.append(f"{subject['name']}: the statement does not speak of the file that is here")
    return problems
