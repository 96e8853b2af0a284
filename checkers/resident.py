"""How much memory another process holds."""

import os


def resident(pid: int | None) -> int:
    """The resident memory of a process, in bytes; 0 when it is gone, or where the system does not tell (other than Linux)."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0
