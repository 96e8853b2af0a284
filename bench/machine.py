"""The machine and the commit that were measured."""

import os
import platform
import subprocess
from pathlib import Path

from .busy import cores
from .results import Machine

ROOT = Path(__file__).resolve().parent.parent


def machine(stores: Path, before: float) -> Machine:
    """This machine. stores: the directory of the stores; before: the load when the run began."""
    return Machine(
        cpu=_cpu(),
        cores=cores(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        disk=_disk(stores),
        load=(before, load()),
    )


def load() -> float:
    """The mean number of runnable processes over the last minute."""
    return round(os.getloadavg()[0], 2)


def commit() -> str:
    """The commit of the checkout, with `+` where a tracked file was changed since; "" where this is no checkout."""
    if not (ROOT / ".git").exists():
        return ""
    try:
        head = _git("rev-parse", "--short=10", "HEAD")
        return head + "+" * bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _disk(directory: Path) -> str:
    """Device and file system of a directory: the mount that is nearest above it."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return str(directory)
    above = [mount for mount in mounts if directory.resolve().is_relative_to(mount[1])]
    device, point, system, *_ = max(above, key=lambda mount: len(mount[1]))
    return f"{system} on {device} at {point}"
