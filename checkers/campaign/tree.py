"""The processes of a runtime: whatever descends from the process that calls its methods, sessions of their own included.

What a dead process has started is handed to the nearest process above that asks for it (PR_SET_CHILD_SUBREAPER); the caller does.
"""

import os
import signal
import time
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import Final

SETTLE_SECONDS: Final = 0.2
"""How long a stop waits for processes to stand; one that does not is blocked in the kernel, and runs no further either."""
_GONE: Final = "ZX"
_STANDS: Final = "Tt"


def end(spare: Set[int]) -> None:
    """Kill and collect all that descends from this process, but for some and what descends from them.

    What is killed may have started more meanwhile: it is over when nothing is left.
    """
    while _collect():
        found = below(spare)
        if not found:
            _collect()
            return
        _send(found, signal.SIGKILL)
        time.sleep(0.0005)


def _collect() -> bool:
    """Collect the dead; whether anybody else is left, as after few calls."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def stop(spare: Set[int]) -> None:
    """Let all that descends from this process stand, but for some and what descends from them, until `go_on`."""
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        running = [pid for pid, state in _states(spare).items() if state not in _STANDS]
        if not running:
            return
        _send(running, signal.SIGSTOP)
        time.sleep(0.0005)


def one_stands(spare: Set[int]) -> bool:
    """Whether any of those stands."""
    return any(state in _STANDS for state in _states(spare).values())


def go_on(processes: Set[int]) -> None:
    """Let processes that stand go on."""
    _send(processes, signal.SIGCONT)


def below(spare: Set[int]) -> frozenset[int]:
    """The living processes that descend from this one, but for some and what descends from them."""
    return frozenset(_states(spare))


def _send(processes: Set[int] | list[int], number: signal.Signals) -> None:
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _states(spare: Set[int]) -> dict[int, str]:
    """Of each of those, whether it runs or stands, by the letter of proc(5)."""
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with suppress(OSError):
                state, parent = Path(f"/proc/{entry}/stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state not in _GONE:
                    children.setdefault(int(parent), []).append((int(entry), state))
    found, todo = dict[int, str](), [os.getpid()]
    while todo:
        for child, state in children.get(todo.pop(), ()):
            if child not in spare:
                found[child] = state
                todo.append(child)
    return found
