"""The worked example with the tool that ships, `email.send`, and a real mail server on loopback: its messages are the witness."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ..runtime.records import Json
from ..runtime.tool import Tool, ToolContext
from ..runtime.tools import email_send
from .contract_cases import CONTRACT_CASES, ContractCase
from .contract_world import contract_line
from .crash_mail_server import HOST
from .crash_server import Server
from .crash_subject import Setting
from .crash_witness import EFFECTS, REQUESTS, Line, Witnessed, World, told_of

MAIL_SERVER: Final = Server(f"{__package__}.crash_mail_server")
PORT: Final = "port"
"""The file of a world that says where its mail server listens."""


@dataclass(frozen=True)
class MailCase(ContractCase):
    """A case whose world is a mail server."""

    def prepare(self, world: World) -> None:
        """A port for this world alone."""
        Path(world.directory, PORT).write_text(MAIL_SERVER.ask(world.directory), encoding="utf-8")

    def tools(self, world: World, setting: Setting) -> Mapping[str, Tool]:
        """The tool as it ships, with a note of each call, and a place to be struck in after its effect."""
        tool = email_send.TOOL
        # The process dies, and others like it live side by side, but never two at once.
        os.environ[email_send.SERVER] = f"{HOST}:{Path(world.directory, PORT).read_text(encoding='utf-8')}"

        def call(args: Json, context: ToolContext) -> Any:
            world.append(REQUESTS, contract_line(context, context.attempt, args)._replace(told=told_of(context)))
            result = tool.call(args, context)
            world.call.reached()
            return result

        return {tool.name: replace(tool, call=call)}

    def witnessed(self, world: World) -> Witnessed:
        """Calls entered, and messages received; a message belongs to the last contract that was called with its key."""
        requests = world.lines(REQUESTS)
        owners = {line.key: line.step for line in requests}
        return Witnessed(requests, [owned(line, owners) for line in world.lines(EFFECTS)])


def owned(line: Line, owners: Mapping[str, str]) -> Line:
    """A message with its contract; under a key that nobody was called with it belongs to none."""
    return line._replace(step=owners.get(line.key, "nobody"))


_EXAMPLE: Final = CONTRACT_CASES["contract-worked-example"]
MAIL_CASES: Final = {"contract-mail": MailCase("contract-mail", _EXAMPLE.title, _EXAMPLE.script)}
