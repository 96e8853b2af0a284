"""What a tool reads by HTTP: one GET request, whatever its status (E-INPUTS). A GET changes nothing (RFC 9110, 9.2.1)."""

import time
from typing import TYPE_CHECKING, Final

from .canonical import json_or_text
from .records import Json
from .tools.http_post import trusted

if TYPE_CHECKING:
    import httpx

TIMEOUT_SECONDS: Final = 10.0
"""For each wait for the server, and for the reading of the body as a whole."""
BODY_LIMIT: Final = 1024 * 1024
"""Bytes: a longer body counts as no answer, since half of it could mislead."""


def read(url: Json) -> dict[str, Json]:
    """{"status", "body"}, the body as JSON where it is one that can be stored, else as text; or {"error": why there is none}.

    Redirects are not followed: where they lead is in nobody's plan. Never raises.
    """
    import httpx

    try:
        with httpx.Client(timeout=TIMEOUT_SECONDS, verify=trusted()) as client:
            deadline = time.monotonic() + TIMEOUT_SECONDS
            with client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response:
                return _answer(response, deadline)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, TypeError, ValueError, UnicodeError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _answer(response: "httpx.Response", deadline: float) -> dict[str, Json]:
    """Status and body."""
    content = b""
    for piece in response.iter_bytes():
        content += piece
        if len(content) > BODY_LIMIT:
            return {"error": f"the body is longer than {BODY_LIMIT} bytes"}
        if time.monotonic() > deadline:
            return {"error": "the body was not complete when the time was over"}
    return {"status": response.status_code, "body": json_or_text(content)}
