"""The warm process with a part broken, for tests that have to see it: `BROKEN` in the environment says which."""

import os
import sys
from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

from crashwindow.checkers.campaign import call_record, ptrace, tree, warm, zygote
from crashwindow.checkers.campaign.adapter import load

BREAKS: Final[dict[str, Callable[[], Any]]] = {
    "others": lambda: patch.object(ptrace, "interrupt", lambda thread: None),
    "failures": lambda: patch.object(ptrace, "result", lambda thread: 0),
    "syncs": lambda: patch.object(call_record, "Synced", lambda content: None),
    "pauses": lambda: patch.object(tree, "stop", lambda spare: None),
    "warm": lambda: patch.object(warm, "keep", lambda subject, modules: load(subject)),
}
"""A tracer that stops no others, takes a failed call for a done one, or forgets syncs; a pause that stops no others; a warm
process that has loaded the adapter itself, and whatever it loads."""

if __name__ == "__main__":
    BREAKS[os.environ["BROKEN"]]().start()
    sys.exit(zygote.main())
