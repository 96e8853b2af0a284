"""The approval service's server, on a loopback address of this machine and on no other."""

import socket
from functools import partial
from typing import Final

import uvicorn

from ..errors import CommandError
from .commands import ContractPorts
from .service import Approvals, Continue
from .unattended import take_answer

LOOPBACK: Final = {"127.0.0.1": socket.AF_INET, "localhost": socket.AF_INET, "::1": socket.AF_INET6}
NOBODY_EXECUTES: Final = (
    "This service records answers and executes nothing: the application's runner goes on from them."
)


class ApprovalServer:
    """The approval page of a store, listening from construction on. url: the page's address.

    continue_session: an application's `GraphRunner.resume`; without one answers are taken as far as that needs no executor.
    port: 0 takes a free one. Raises CommandError for an address that is not loopback, or not free.
    """

    def __init__(
        self, ports: ContractPorts, host: str = "127.0.0.1", port: int = 0, continue_session: Continue | None = None
    ) -> None:
        self._socket = listen(host, port)
        name, number, *_ = self._socket.getsockname()
        self.url: Final = f"http://[{name}]:{number}/" if ":" in name else f"http://{name}:{number}/"
        if continue_session is None:
            service = Approvals(ports, partial(take_answer, ports), number, self._stopping, NOBODY_EXECUTES)
        else:
            service = Approvals(ports, continue_session, number, self._stopping)
        # No proxy is in front of us, so nobody may tell us otherwise in a header.
        config = uvicorn.Config(
            service.app(), log_level="warning", lifespan="off", ws="none", proxy_headers=False, server_header=False
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until `stop`; in the main thread also until SIGINT or SIGTERM, which then have their usual effect."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Let `run` end, from any thread, when the requests under way are answered."""
        self._server.should_exit = True

    def _stopping(self) -> bool:
        return self._server.should_exit


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises CommandError for an address that is not loopback, or not free."""
    if host not in LOOPBACK:
        raise CommandError(
            f"--host {host}: the approval page knows no passwords, so it is served on loopback only: {', '.join(LOOPBACK)}."
            " From another machine, use a tunnel: ssh -L PORT:127.0.0.1:PORT"
        )
    if not 0 <= port <= 65535:
        raise CommandError(f"--port {port}: give a number from 0, for any free one, to 65535")
    address = "127.0.0.1" if host == "localhost" else host
    listening = socket.socket(LOOPBACK[host], socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CommandError(
            f"--port {port}: cannot listen there ({error.strerror}); --port 0 takes a free one"
        ) from error
    return listening
