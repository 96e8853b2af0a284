"""`http.post`: one POST request, with the external key in the header `Idempotency-Key`.

| what happens                                          | outcome   | why                                           |
| ----------------------------------------------------- | --------- | --------------------------------------------- |
| bad arguments or URL; no connection (refused, TLS, …) | no effect | no request was sent                           |
| 2xx, body read to its end or to 64 KiB                | ok        | the server says that it acted                 |
| a status in `REFUSED`                                 | no effect | the server says that it did not act           |
| 408, 409, 425, any other 4xx                          | unknown   | this or an earlier request may be at work     |
| 3xx                                                   | unknown   | many servers act, then redirect; not followed |
| 5xx                                                   | unknown   | a server may fail after it acted              |
| later: timed out, connection broken, body cut short   | unknown   | the answer is lost, perhaps not the effect    |

The server is taken at its word: that it honours the key is assumption A-IDEMPOTENT, the three classes are T-OUTCOME's.
A 201 with a Location names what was created: that is recorded as a state change, for T-CONFIRM.
"""

import time
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ..canonical import NotCanonicalError, canonical, json_or_text
from ..records import Json
from ..tool import NoEffectError, Tool, ToolContext, ToolResult
from ..verifier import StateChange

if TYPE_CHECKING:
    import ssl

    import httpx

REFUSED: Final = frozenset({400, 401, 403, 404, 405, 410, 411, 413, 414, 415, 422, 429, 431})
"""Statuses by which a server refuses a request before acting on it."""

BODY_LIMIT: Final = 64 * 1024
"""How many bytes of a response body are kept."""

RESERVED: Final = frozenset(
    {"idempotency-key", "accept-encoding", "connection", "content-length", "expect", "transfer-encoding", "upgrade"}
)
"""Headers that a plan may not set: the key is the runtime's, the others frame the message."""


class UnclearResponseError(Exception):
    """The server answered, but not so that one could tell whether it acted: the outcome is unknown."""


class Arguments(NamedTuple):
    """A validated call."""

    url: str
    headers: dict[str, str]
    content: bytes | None
    timeout_seconds: float


def post(args: Json, context: ToolContext) -> ToolResult:
    """Send the request and classify the answer by the table above; "id" of a JSON body becomes the external id."""
    import httpx

    arguments = _arguments(args)
    try:
        # One connection, no retries and no redirects: one call is one request.
        client = httpx.Client(timeout=arguments.timeout_seconds, verify=trusted())
        request = _request(client, arguments, context.external_key)
    except (httpx.InvalidURL, OSError, TypeError, ValueError) as error:
        raise NoEffectError(f"the request cannot be made: {error}") from error
    deadline = time.monotonic() + arguments.timeout_seconds
    with client:
        try:
            response = client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise NoEffectError(f"no connection to {arguments.url!r}: {error}") from error
        try:
            return _result(response, deadline)
        finally:
            response.close()


@cache
def trusted() -> "ssl.SSLContext":
    """The certificates that are trusted. Reading them takes longer than many a request: once in a process is enough."""
    import httpx

    return httpx.create_ssl_context()


def _request(client: "httpx.Client", arguments: Arguments, key: str) -> "httpx.Request":
    """The request, ready to be sent; the same bytes in every attempt."""
    headers = {"Accept-Encoding": "identity", **arguments.headers, "Idempotency-Key": key}
    request = client.build_request("POST", arguments.url, headers=headers, content=arguments.content)
    if arguments.content is not None:
        request.headers.setdefault("Content-Type", "application/json")
    if request.url.scheme not in ("http", "https") or not request.url.host:
        raise ValueError(f"the URL {arguments.url!r} does not begin with http:// or https:// and a host")
    if not 0 < (request.url.port or 80) < 65536:  # the system would take it modulo 65536
        raise ValueError(f"the URL {arguments.url!r} has a port that does not exist")
    return request


def _result(response: "httpx.Response", deadline: float) -> ToolResult:
    """What an answer means; raises NoEffectError or UnclearResponseError."""
    status = response.status_code
    if status in REFUSED:
        raise NoEffectError(f"the server refused: {status} {response.reason_phrase}")
    if not response.is_success:
        raise UnclearResponseError(f"{status} {response.reason_phrase}: the server may have acted or not")
    content = _read(response, deadline)
    if len(content) > BODY_LIMIT:
        kept = content[:BODY_LIMIT].decode(errors="replace")
        return ToolResult({"status": status, "body": kept, "truncated": True}, state_changes=_created(response))
    body = json_or_text(content)
    identity = body.get("id") if isinstance(body, dict) else None
    external_id = identity if isinstance(identity, str) else None
    return ToolResult({"status": status, "body": body}, external_id, _created(response))


def _created(response: "httpx.Response") -> tuple[Json, ...]:
    """What a 201 says was created, and its entity tag (RFC 9110, 15.3.2). Never raises: the server has acted."""
    import httpx

    location = response.headers.get("Location")
    if response.status_code != 201 or not location:
        return ()
    try:
        url = response.url.join(location).copy_with(userinfo=b"")
    except (httpx.InvalidURL, ValueError):
        return ()
    return (StateChange("http", str(url), "create", etag=response.headers.get("ETag")).record,)


def _read(response: "httpx.Response", deadline: float) -> bytes:
    """The body, up to the first piece beyond the limit. The time-out counts for all of it, not for each piece."""
    content = b""
    for piece in response.iter_bytes():
        content += piece
        if len(content) > BODY_LIMIT:
            break
        if time.monotonic() > deadline:
            raise UnclearResponseError("the body was not complete when the time was over")
    return content


def _arguments(args: Json) -> Arguments:
    """Raises NoEffectError, naming what is wrong."""
    if not isinstance(args, dict) or not isinstance(args.get("url"), str):
        raise NoEffectError('http.post takes {"url": a string, "json"?, "headers"?, "timeout_seconds"?}')
    if unknown := sorted(set(args) - {"url", "json", "headers", "timeout_seconds"}):
        raise NoEffectError(f"http.post knows no argument {', '.join(map(repr, unknown))}")
    headers, timeout = args.get("headers", {}), args.get("timeout_seconds", 10)
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise NoEffectError("headers: an object of strings")
    for name, value in headers.items():
        if name.lower() in RESERVED:
            raise NoEffectError(f"the header {name!r} is set by the tool")
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum() or not _is_text(value):
            raise NoEffectError(f"the header {name!r} has a name or a value that HTTP does not allow")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 3600:
        raise NoEffectError("timeout_seconds: a number above 0, at most 3600")
    try:
        content = canonical(args["json"]) if "json" in args else None
    except NotCanonicalError as error:
        raise NoEffectError(f"json: {error}") from error
    return Arguments(args["url"], headers, content, timeout)


def _is_text(value: str) -> bool:
    """Printable ASCII without blanks at the ends: what every HTTP library sends unchanged."""
    return value.isascii() and (value == "" or value.isprintable()) and value == value.strip()


TOOL: Final = Tool(
    name="http.post",
    call=post,
    description=(
        'Sends a POST request with the external key in the header Idempotency-Key. Arguments: {"url", "json"?, '
        '"headers"?, "timeout_seconds"? (10)}. Idempotent only if the server honours that header, that is, answers a '
        "repeat with the first answer and does nothing else: this is assumed, not checked. It cannot be asked "
        "afterwards: an unknown outcome parks the job. Taken as irreversible: only the server knows."
    ),
    idempotent=True,
    irreversible=True,
    on_unknown="park",
)
