"""Addresses of PostgreSQL databases: what to connect with, what may be printed, and whether libpq can make sense of it at all."""

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import psycopg
from psycopg import conninfo, pq

_FORM: Final = (
    "the PostgreSQL address cannot be read; its form is postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters in"
    " user and password percent-encoded (@ is %40, / is %2F), and parameters of libpq after a question mark"
)
_PORT: Final = "5432"


class Address(NamedTuple):
    """Where a database is: what to connect with, and what may be printed of it, which is never a password.

    service: whether a service file has a say in that, which libpq reads when it connects.
    """

    connect_with: str
    name: str
    service: bool


def address(url: str, defaults: Mapping[str, Any]) -> Address:
    """The parts of a `postgresql://` address; what it leaves out is libpq's to say (PGHOST, PGPORT, PGSERVICE …).

    defaults: what to connect with besides. ValueError for a bad address, which is not repeated: a password may be in it.
    """
    try:
        given: dict[str, Any] = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise ValueError(_FORM) from None
    # What stands before an @ that was not encoded would be taken for a host, a port or a database, and be printed.
    if any("@" in str(part) for part in (given.get("host"), given.get("dbname"))) or not _is_port(given.get("port")):
        raise ValueError(_FORM)
    service = given.get("service")
    name = (
        f"postgresql:///?service={quote(service)}" if service else _name({**_told(pq.Conninfo.get_defaults()), **given})
    )
    return Address(conninfo.make_conninfo(**{**defaults, **given}), name, bool(service))


def reached(connection: psycopg.Connection[Any]) -> str:
    """The name of the database that a connection has come to: of several hosts, the one that answered."""
    info = connection.info
    return _name({"host": info.host, "port": info.port, "dbname": info.dbname})


def tried(error: psycopg.Error) -> str | None:
    """The name of the database that was not reached, as libpq saw it; None where it came to no attempt."""
    with suppress(psycopg.Error):
        return _name(_told(error.pgconn.info)) if error.pgconn else None
    return None


def legible(connect_with: str) -> bool:
    """Whether libpq accepts these parameters: it looks at them before it connects, here to a socket that answers nothing.

    Whether there is such a socket is tried as well: where there is not, nothing is said against the parameters.
    """
    given = conninfo.conninfo_to_dict(connect_with)
    if given.get("gssencmode") == "require":  # asks for a ticket at once, which may come later
        given["gssencmode"] = "disable"
    with suppress(OSError), socket.create_server(("127.0.0.1", 0)) as nobody:
        there = {"host": "127.0.0.1", "hostaddr": "127.0.0.1", "port": nobody.getsockname()[1]}
        return _begins({**given, **there}) or not _begins({"user": "nobody", **there})
    return True


def _begins(parameters: Mapping[str, Any]) -> bool:
    """Whether a connection is begun with these; nothing is sent."""
    connection = pq.PGconn.connect_start(conninfo.make_conninfo(**parameters).encode())
    try:
        return connection.status != pq.ConnStatus.BAD
    finally:
        connection.finish()


def _name(known: Mapping[str, Any]) -> str:
    """Host, port and database as an address: each host with its port, IPv6 in brackets, a socket's directory quoted."""
    hosts = str(known.get("host") or known.get("hostaddr") or "").split(",")
    ports = str(known.get("port") or _PORT).split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    places = (f"{_host(host)}:{port or _PORT}" for host, port in zip(hosts, ports, strict=False))
    return f"postgresql://{','.join(places)}/{quote(str(known.get('dbname') or known.get('user') or ''), safe='')}"


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else quote(host, safe="")


def _told(options: list[pq.ConninfoOption]) -> dict[str, str]:
    """What libpq says of where it goes, and of nothing else."""
    return {
        option.keyword.decode(): option.val.decode(errors="replace")
        for option in options
        if option.val and option.keyword in (b"host", b"hostaddr", b"port", b"dbname", b"user")
    }


def _is_port(given: object) -> bool:
    """Whether this is a port, several hosts' ports, or none."""
    return given is None or all(port.isdecimal() for port in str(given).split(",") if port)
