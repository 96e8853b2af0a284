"""The manifest of a bundle: each file with its size and SHA-256, and the Merkle root over all of them."""

import hashlib
from collections.abc import Mapping
from typing import Final

import rfc8785

from .merkle import merkle_root

MANIFEST: Final = "manifest.json"
ENVELOPE: Final = "statement.dsse.json"
FORMAT: Final = "crashwindow evidence bundle 1"


def listed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that a manifest lists: all but itself, and the envelope, which speaks of it."""
    return {path: content for path, content in files.items() if path not in (MANIFEST, ENVELOPE)}


def manifest(files: Mapping[str, bytes]) -> bytes:
    """The manifest of some files, as canonical JSON (RFC 8785)."""
    rows: list[dict[str, str | int]] = [
        {"path": path, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
        for path, content in sorted(listed(files).items())
    ]
    root = merkle_root(listed(files)).hex()
    return rfc8785.dumps({"format": FORMAT, "files": list(rows), "merkle_root": root})
