"""The claims about power loss on SQLite: what synchronous=FULL keeps, and what the settings that the store refuses would cost."""

from typing import Final

from .claim_types import Assumption, Citation, Claim

_BARRIER: Final = Citation("S1", "3", (38, 38), "3e1349fb25d61a98301788c3d0cb7aa0c447b66e07477f6733b2218de9f657e5")
_DURABLE: Final = Citation("S0", "①", (16, 16), "98f0061dec476825ae4c0638f6537919d1d88989292fe43e219e7af4f0573241")

POWER_ASSUMPTIONS: Final = (
    Assumption("A-FSYNC", "A sync that has returned is on the disk; a sector of 512 bytes is written whole or not at all, and its neighbours stay "
               "as they were.", "the disk and its file system"),
)  # fmt: skip


def _suffices(name: str, sentence: str) -> Claim:
    """A weaker setting, as if it were enough."""
    return Claim(
        name, "as_written", sentence, (_DURABLE, _BARRIER), "T-STORES", "hardened", "belied", (), (), ("crash",),
        "REFUTED", "POWER-FULL",
    )  # fmt: skip


POWER_CLAIMS: Final = (
    Claim("POWER-FULL", "hardened", "On SQLite with WAL and synchronous=FULL, as the store opens it, a power loss takes back no acknowledged write and "
          "damages no file; the worker that comes next keeps every property.", (_DURABLE, _BARRIER),
          "T-STORES", "hardened", "shown", (), ("A-FSYNC", "A-QUIET", "A-PERSON"), ("crash",), "EXHAUSTED"),
    _suffices("POWER-NORMAL", "With WAL, synchronous=NORMAL suffices: a recorded call is a durable entity, and what was started is not started again."),
    _suffices("POWER-OFF", "synchronous=OFF suffices: no killed process loses by it what was recorded."),
)  # fmt: skip
