"""A Merkle tree over files, of the shape and with the domain separation of RFC 6962.

A leaf is over a file's path and the SHA-256 of its content, so exchanging the contents of two files changes the root. A path
holds no NUL: no two files have the same leaf.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

LEAF: Final = b"\x00"
NODE: Final = b"\x01"


def merkle_root(files: Mapping[str, bytes]) -> bytes:
    """The root over some files by path, in the order of the paths; of no file, the hash of nothing."""
    return tree_hash([_leaf(path, content) for path, content in sorted(files.items())])


def tree_hash(leaves: Sequence[bytes]) -> bytes:
    """The hash of a tree with these leaves, which are hashed here (RFC 6962, section 2.1)."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(LEAF + leaves[0]).digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1  # the largest power of two below their number
    return hashlib.sha256(NODE + tree_hash(leaves[:half]) + tree_hash(leaves[half:])).digest()


def _leaf(path: str, content: bytes) -> bytes:
    return path.encode() + b"\0" + hashlib.sha256(content).digest()
