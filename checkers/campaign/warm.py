"""What a warm process may keep for all its children: what is installed. An adapter is loaded by each child anew.

A process draws an identity when it is started: from its number, the clock, or by lot, often in a module's own lines. Were the
adapter loaded once for all children, they would all be the same worker, and a runtime that tells workers apart would be tried
without. So the warm process loads no adapter. Another one does, and ends: it tells what the adapter says of itself, and which
modules were loaded. The warm process loads those of them that are a distribution's, Python's own, or crashwindow's. What
these draw when they are loaded, all children share.
"""

import importlib
import json
import os
import signal
import site
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from . import tree
from .adapter import AdapterError, Subject, load

_OURS: Final = __name__.partition(".")[0]
_INSTALLED: Final = tuple(
    {
        os.path.join(os.path.realpath(path), "")
        for path in (
            *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
            *site.getsitepackages(),
            site.getusersitepackages(),
        )
    }
)
"""Where distributions are. One that is installed to be edited lies elsewhere, and is loaded anew."""


class Learned(NamedTuple):
    """What an adapter says of itself, as JSON, and what it has loaded that children may share, in order."""

    said: dict[str, Any]
    modules: list[str]


def learn(subject: Subject) -> Learned:
    """Load an adapter in a process that ends. Raises AdapterError."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            with os.fdopen(theirs, "w") as told:
                told.write(json.dumps(_learned(subject)) + "\n")
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as told:
        line = told.readline()
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    tree.end(spare=frozenset())
    if not line:
        raise AdapterError(f"{subject.adapter}: the process ended that loaded it")
    refused, said, modules = json.loads(line)
    if refused:
        raise AdapterError(refused)
    return Learned(said, modules)


def _learned(subject: Subject) -> tuple[str | None, dict[str, Any], list[str]]:
    before = set(sys.modules)
    try:
        adapter = load(subject)
    except AdapterError as error:
        return str(error), {}, []
    said = {
        "versions": dict(adapter.versions),
        "promise": {**asdict(adapter.promise), "allows": sorted(adapter.promise.allows)},
        "capabilities": asdict(adapter.capabilities),
    }
    return None, said, [name for name in sys.modules if name not in before and shared(name, subject)]


def keep(subject: Subject, modules: Iterable[str]) -> None:
    """Load modules for all children, and nothing that they have loaded on their way and that is not shared."""
    before = set(sys.modules)
    for name in modules:
        # What cannot be loaded alone is left to whoever loads it.
        with suppress(Exception, SystemExit):
            importlib.import_module(name)
    for name in [name for name in sys.modules if name not in before and not shared(name, subject)]:
        gone = sys.modules.pop(name)
        package, _, last = name.rpartition(".")
        if getattr(sys.modules.get(package), last, None) is gone:
            delattr(sys.modules[package], last)


def shared(name: str, subject: Subject) -> bool:
    """Whether a loaded module is a distribution's, Python's own or crashwindow's, and not the adapter itself."""
    if name == subject.adapter.rpartition(":")[0]:
        return False
    # One without a file is built in, a mere name for a directory, or made by another module.
    file = getattr(sys.modules[name], "__file__", None)
    return name.partition(".")[0] == _OURS or file is None or os.path.realpath(file).startswith(_INSTALLED)
