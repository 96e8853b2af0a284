"""A tool of one's own: it acts at once and answers late, so that there is time to kill the worker in between."""

import time

from crashwindow.runtime.records import Json
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.tool import ToolContext, ToolResult
from crashwindow.runtime.tools.file_append import append, find

registry = Registry()


@registry.tool(name="slow.append", irreversible=False, on_unknown="query", query=find, look="quiet")
def slow_append(args: Json, context: ToolContext) -> ToolResult:
    """Appends a line as file.append does, and answers five seconds later."""
    result = append(args, context)
    time.sleep(5)
    return result
