"""A loopback proxy between one process and its PostgreSQL server, which can cut the connection around one chosen write, or
keep that write on the wire for a while.

The store works in autocommit: a write is one statement, and its COMMIT is part of it; a batch of the contract store is one
transaction. `request`: the statement never reaches the server. `reply`: the server has committed and said so, and the client
never hears it. `late`: the statement waits in the proxy until it is released, and then reaches the server. Which write it is the
proxy reads from the protocol: the statement's text, which stays known where it is prepared under a name, and the job's id among
the parameters.
"""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Literal, NamedTuple

Cut = Literal["request", "reply", "late"]

_WRITES: Final = re.compile(rb"\b(INSERT INTO|UPDATE)\b")
_RENEWAL: Final = re.compile(rb"\bUPDATE leases\b")
_HEAD: Final = 5
"""A message begins with a byte that tells its type, and four for its length, themselves included."""
_CHUNK: Final = 1 << 16


class Order(NamedTuple):
    """What is to be cut: the next write of a job, be it a renewal of its lease or any other."""

    cut: Cut
    job_id: str
    renewal: bool


class Proxy:
    """Listens at `port` from construction to `close`, on a thread of its own; each connection goes on to the server's port."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._order: Order | None = None
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result()
        self._listening = listening
        self.port: Final = int(listening.sockets[0].getsockname()[1])

    def cut(self, order: Order | None) -> None:
        """Do this to the connection that brings this write; None: nothing any more. The newest order alone counts."""
        self._order = order

    def release(self) -> None:
        """Let the write that is late reach the server."""
        self._loop.call_soon_threadsafe(self._released.set)

    @property
    def waiting(self) -> bool:
        """Whether the order has not been carried out."""
        return self._order is not None

    def close(self) -> None:
        """End every connection."""

        async def end() -> None:
            self._listening.close()
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: bytes go both ways, until one side ends or the order is carried out."""
        try:
            there, out = await asyncio.open_connection(*self._server)
        except OSError:  # the server is down
            writer.transport.abort()
            return
        talk = _Talk()
        ways = [
            asyncio.ensure_future(self._to_server(reader, out, talk)),
            asyncio.ensure_future(self._to_client(there, writer, talk)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for end in (writer, out):
                end.transport.abort() if talk.cutting else end.close()

    async def _to_server(self, reader: asyncio.StreamReader, out: asyncio.StreamWriter, talk: "_Talk") -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                order = self._order
                if talk.hears(data, order):
                    self._order = None
                    talk.cutting = order and order.cut
                    if talk.cutting == "request":
                        return
                    if talk.cutting == "late":
                        self._released.clear()
                        await self._released.wait()
                        talk.cutting = None
                out.write(data)
                await out.drain()

    async def _to_client(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, talk: "_Talk") -> None:
        with suppress(OSError):
            while data := await there.read(_CHUNK):
                # ReadyForQuery: outside of a transaction, so the write is committed.
                if talk.cutting == "reply" and data.endswith(b"Z\x00\x00\x00\x05I"):
                    return
                writer.write(data)
                await writer.drain()


class _Talk:
    """What a client has said on one connection: the texts of its statements, by name."""

    def __init__(self) -> None:
        self.cutting: Cut | None = None
        self._rest = b""
        self._begun = False
        self._texts: dict[bytes, bytes] = {}

    def hears(self, data: bytes, order: Order | None) -> bool:
        """Whether this is the write that the order speaks of."""
        found = False
        for kind, body in self._messages(data):
            if kind == b"P":  # Parse: name, text
                name, text, *_ = body.split(b"\0", 2)
                self._texts[name] = text
            elif kind == b"B" and order is not None:  # Bind: portal, name, parameters
                _, name, values = body.split(b"\0", 2)
                text = self._texts.get(name, b"")
                found |= bool(
                    _WRITES.search(text)
                    and order.job_id.encode() in values
                    and bool(_RENEWAL.search(text)) == order.renewal
                )
        return found

    def _messages(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The whole messages, with what was left before. The first packet of a connection has no type."""
        data = self._rest + data
        if not self._begun:
            if len(data) < 8 or len(data) < (size := int.from_bytes(data[:4], "big")):
                self._rest = data
                return
            # A request for encryption is answered, and the first packet comes again.
            self._begun = int.from_bytes(data[4:8], "big") >> 16 == 3
            data = data[size:]
        while len(data) >= _HEAD and len(data) > (size := int.from_bytes(data[1:_HEAD], "big")):
            yield data[:1], data[_HEAD : size + 1]
            data = data[size + 1 :]
        self._rest = data
