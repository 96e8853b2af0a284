"""What is signed: an in-toto statement about a bundle, and the DSSE envelope in which it is signed with Ed25519."""

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from ...checkers.evidence import RunEvidence
from .manifest import MANIFEST, listed
from .merkle import merkle_root

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:crashwindow:verification-run:1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
ROOT: Final = "merkleRfc6962Sha256"
"""The name of the Merkle root among a subject's digests: it is the hash of no one file."""


class KeyFileError(ValueError):
    """A file that is no Ed25519 key in PEM: it says what it is taken for and how to make one."""


def statement(files: Mapping[str, bytes], evidence: RunEvidence) -> bytes:
    """The in-toto statement about a bundle's files, as canonical JSON: a function of the files and the evidence in them.

    Subjects: the manifest, under its SHA-256 and as the Merkle root that it states; and the evidence.
    """
    verdicts = Counter(str(item.verdict) for claim in evidence.claims for item in claim.items)
    best = Counter(str(claim.best) for claim in evidence.claims)
    predicate: dict[str, Any] = {
        "run": evidence.run.model_dump(mode="json"),
        "models": {machine.policy: machine.sha256 for machine in evidence.machines},
        "items": dict(verdicts),
        "claims": dict(best),
        "passed": evidence.passed,
    }
    subjects: list[dict[str, Any]] = [
        {"name": MANIFEST, "digest": {"sha256": _sha256(files[MANIFEST]), ROOT: merkle_root(listed(files)).hex()}},
        {"name": "evidence.json", "digest": {"sha256": _sha256(files["evidence.json"])}},
    ]
    return rfc8785.dumps(
        {"_type": STATEMENT_TYPE, "subject": subjects, "predicateType": PREDICATE_TYPE, "predicate": predicate}
    )


def envelope(payload: bytes, key: Ed25519PrivateKey | None) -> bytes:
    """The DSSE envelope of a statement, as canonical JSON; without a key it holds no signature."""
    signatures: list[dict[str, str]] = []
    if key is not None:
        signature = key.sign(signed_bytes(PAYLOAD_TYPE, payload))
        signatures.append({"keyid": key_id(key.public_key()), "sig": _base64(signature)})
    return rfc8785.dumps(
        {"payload": _base64(payload), "payloadType": PAYLOAD_TYPE, "signatures": [dict(each) for each in signatures]}
    )


def signed_bytes(payload_type: str, payload: bytes) -> bytes:
    """What a DSSE signature is over: the pre-authentication encoding of payload type and payload."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def key_id(key: Ed25519PublicKey) -> str:
    """A hint for people who have several keys: the SHA-256 of the public key (SubjectPublicKeyInfo, DER). No check trusts it."""
    return _sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def private_key(pem: bytes) -> Ed25519PrivateKey:
    """The private key of a PEM file without a password. Raises KeyFileError."""
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"it is no private key in PEM without a password: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError("it is a private key, but not of Ed25519: openssl genpkey -algorithm ed25519 -out key.pem")
    return key


def public_key(pem: bytes) -> Ed25519PublicKey:
    """The public key of a PEM file. Raises KeyFileError; a private key is refused, for it is none to hand on."""
    try:
        key = load_pem_public_key(pem)
    except ValueError as error:
        raise KeyFileError(f"it is no public key in PEM (openssl pkey -in key.pem -pubout): {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFileError("it is a public key, but not of Ed25519")
    return key


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
