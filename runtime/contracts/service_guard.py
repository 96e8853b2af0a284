"""Who may speak to the approval service: a page that it served itself, on this machine. All else is 403 and changes nothing.

- Host must be a loopback name with our port, whatever the method: a page elsewhere whose name was made to resolve to 127.0.0.1
  (DNS rebinding) sends its own name.
- A POST needs an Origin that is ours, our cookie, and the token that the page bears. The cookie is SameSite=Strict, so another
  site's form comes without it; the token is derived from the cookie by a secret of this process, so no page of another process,
  or of another browser, fits.

It does not tell the users of this machine apart: see docs/decisions/012-approval-service.md.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT: Final = 64 * 1024
"""Bytes of a request's body."""

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: browsers would send the Origin of a form as null.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):
    """A request that is not carried out. status: of the answer, in HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """The rules of one process, which listens on one port."""

    def __init__(self, port: int) -> None:
        self.hosts: Final = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        # Cookies know no ports: the name keeps two services on one machine apart.
        self.cookie: Final = f"crashwindow_{port}"
        self._secret = secrets.token_bytes(32)

    def browser(self, request: Request) -> str:
        """The cookie of a browser; a new value for one that has none."""
        return request.cookies.get(self.cookie) or secrets.token_urlsafe(32)

    def remember(self, response: Response, browser: str) -> None:
        """Give a browser its cookie."""
        response.set_cookie(self.cookie, browser, httponly=True, samesite="strict", path="/")

    def token(self, browser: str) -> str:
        """What a page for this browser bears, and sends back."""
        return hmac.new(self._secret, browser.encode(), hashlib.sha256).hexdigest()

    def check_post(self, request: Request, token: str) -> None:
        """Raise Refused unless a page of ours, in the browser that it was made for, sent this."""
        host = request.headers.get("host", "")
        if request.headers.get("origin") != f"http://{host}":
            raise Refused(403, "the request does not come from the approval page (Origin); nothing was changed")
        browser = request.cookies.get(self.cookie, "")
        if not (browser and hmac.compare_digest(token.encode(), self.token(browser).encode())):
            raise Refused(403, "the page's token is missing or old: load the page again; nothing was changed")


class HostAndHeaders:
    """The outermost layer: refuses other hosts, before anything is read, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app = self._app
        if scope["type"] == "http" and Request(scope).headers.get("host", "").lower() not in self._guard.hosts:
            app = PlainTextResponse("this service answers to its loopback address only (Host)\n", 403)
        await app(scope, receive, with_headers)


async def fields(request: Request) -> dict[str, Any]:
    """The fields of a body, JSON or form. Raises Refused for one that is too large, or neither. Empty form fields are omitted."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT:
            raise Refused(413, f"the body is larger than {BODY_LIMIT} bytes; nothing was changed")
    try:
        if is_form(request):
            pairs = parse_qsl(body.decode(), strict_parsing=True, max_num_fields=50)
            return {name: value.replace("\r\n", "\n") for name, value in pairs if value}
        if _content_type(request) == "application/json":
            found = json.loads(body)
            if isinstance(found, dict):
                # JSON can spell half of a surrogate pair; that has no UTF-8 form, so it names and says nothing.
                json.dumps(found, ensure_ascii=False).encode()
                return found
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body cannot be read: {error}; nothing was changed") from error
    raise Refused(415, "send a form, or a JSON object with Content-Type: application/json; nothing was changed")


def is_form(request: Request) -> bool:
    """Whether a form was sent without our script: then people read the answer."""
    return _content_type(request) == "application/x-www-form-urlencoded"


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
