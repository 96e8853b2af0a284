"""The three shipped tools as crash subjects: their effects are counted in their own worlds, not by their word.

`file.append`: the lines of the file. `sqlite.insert`: the rows of the table. `http.post`: the log of a server on loopback, a
process of its own, which honours the Idempotency-Key. A request is a call entered.
"""

import json
import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from ..runtime.records import Json
from ..runtime.tool import Tool, ToolContext
from ..runtime.tools import registry
from .crash_cases import WORKING_DIRECTORY
from .crash_server import Server
from .crash_turns import QUIET, Turns
from .crash_witness import EFFECTS, REQUESTS, Line, Witnessed, World

FILE: Final = "world.jsonl"
DATABASE: Final = "world.db"
STEP: Final = "a"


@dataclass(frozen=True)
class Shipped(Turns):
    """One step of a shipped tool. effects: reads its world. reach: makes its arguments point into this world."""

    name: str
    tool: str
    args: Json
    effects: Callable[[World], list[Line]]
    prepare: Callable[[World], None] = lambda world: None
    reach: Callable[[Json, World], Json] = lambda args, world: args
    later: float = 1.0 + QUIET
    locked: bool = False
    joined: bool = False

    @property
    def plan(self) -> dict[str, Json]:
        """One node."""
        return {"version": 1, "nodes": [{"id": STEP, "tool": self.tool, "args": self.args, "depends_on": []}]}

    def tools(self, world: World) -> dict[str, Tool]:
        """The tool as it ships, with a note of each call, and a place to be struck in after its effect."""
        tool = registry[self.tool]

        def call(args: Json, context: ToolContext) -> Any:
            world.request(args, context)
            answer = tool.call(self.reach(args, world), context)
            world.call.reached()
            return answer

        return {self.tool: replace(tool, call=call)}

    def witnessed(self, world: World) -> Witnessed:
        """Calls entered, and the effects that the tool's own world shows."""
        return Witnessed(world.lines(REQUESTS), self.effects(world))


def file_lines(world: World) -> list[Line]:
    """The complete lines of the file, each with the output of the call that wrote it."""
    try:
        with open(f"{world.directory}/{WORKING_DIRECTORY}/{FILE}", "rb") as file:
            content = file.read().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    found, offset = [], 0
    for line in content:
        data = json.loads(line)
        found.append(Line(STEP, data["key"], data["attempt"], {"path": FILE, "offset": offset, "bytes": len(line)}))
        offset += len(line)
    return found


def make_table(world: World) -> None:
    """The database that `sqlite.insert` expects to find."""
    with closing(sqlite3.connect(f"{world.directory}/{WORKING_DIRECTORY}/{DATABASE}")) as connection:
        connection.execute("CREATE TABLE notes(text TEXT)")


def table_rows(world: World) -> list[Line]:
    """The rows of the table. Which call inserted one, the table does not say."""
    with closing(sqlite3.connect(f"{world.directory}/{WORKING_DIRECTORY}/{DATABASE}")) as connection:
        rows = connection.execute("SELECT rowid FROM notes ORDER BY rowid").fetchall()
    return [Line(STEP, "", None, {"table": "notes", "rowid": number}, str(number)) for (number,) in rows]


SERVER: Final = Server(__name__)


def at_server(args: Json, world: World) -> Json:
    """The plan names no address, so that its keys are the same in every run: the call is led to the witness server."""
    return {**args, "url": f"{SERVER.address()}{world.directory}"}


def start_server(world: World) -> None:
    """The server must run before a process is forked that needs it; the tool's library is loaded here, once."""
    SERVER.address()
    registry["http.post"].call({"url": f"{SERVER.address()}/warm"}, ToolContext("", "", "", "", "", 0, 0))


SHIPPED: Final = {
    subject.name: subject
    for subject in (
        Shipped("file-append", "file.append", {"path": FILE, "text": "a line"}, file_lines),
        Shipped(
            "sqlite-insert",
            "sqlite.insert",
            {"database": DATABASE, "table": "notes", "row": {"text": "a row"}},
            table_rows,
            prepare=make_table,
        ),
        Shipped(
            "http-post",
            "http.post",
            {"url": "http://witness.invalid/", "json": {"step": STEP}},
            lambda world: world.lines(EFFECTS),
            prepare=start_server,
            reach=at_server,
        ),
    )
}


class Handler(BaseHTTPRequestHandler):
    """POST to /<directory of a world>: one effect for each new key, and the first answer for each repeated one."""

    lock = threading.Lock()

    def do_POST(self) -> None:
        """Act once, and answer."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content = json.dumps(self.act(self.headers["Idempotency-Key"])).encode() if os.path.isdir(self.path) else b"{}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def act(self, key: str) -> Json:
        """The body of the first answer to this key."""
        world = World(self.path)
        with self.lock:
            line = world.find(key)
            if line is None:
                number = len(world.lines(EFFECTS)) + 1
                body = {"id": f"effect-{number}"}
                line = Line(STEP, key, None, {"status": 200, "body": body}, body["id"])
                world.append(EFFECTS, line)
        return line.result["body"]

    def log_message(self, *args: Any) -> None:
        """The witness file is the log."""


def serve_http() -> None:
    """Serve until standard input ends; the first line of the output says where."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve_http()
