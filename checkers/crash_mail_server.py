"""The mail server of the worked example: real SMTP on loopback, whose received messages are the witness.

It serves many worlds, each on a port of its own: a line with a world's directory on standard input is answered by the port,
and each message that arrives there is a line in that directory. It ends when standard input does.
"""

import asyncio
import sys
from email import message_from_bytes
from email.policy import default
from typing import Final

from aiosmtpd.smtp import SMTP, Envelope, Session

from .crash_witness import EFFECTS, Line, World

HOST: Final = "127.0.0.1"


class Mailbox:
    """Takes the messages of one world."""

    def __init__(self, directory: str) -> None:
        self.world = World(directory)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """One more message: durable before it is acknowledged."""
        content = envelope.content or b""
        message = message_from_bytes(content if isinstance(content, bytes) else content.encode(), policy=default)
        key, identity = (str(message[name]).strip() for name in ("X-Idempotency-Key", "Message-ID"))
        result = {"message_id": identity, "to": str(message["To"])}
        self.world.append(EFFECTS, Line("", key, None, result, identity))
        return "250 OK"


async def serve() -> None:
    """Open a port for each world that is named, until standard input ends."""
    loop = asyncio.get_running_loop()
    answer(HOST)
    while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        box = Mailbox(line)
        server = await loop.create_server(lambda box=box: SMTP(box, hostname="witness", loop=loop), HOST, 0)  # type: ignore[misc]  # a default binds the box of this round
        answer(str(server.sockets[0].getsockname()[1]))


def answer(words: str) -> None:
    """One line, at once."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve())
