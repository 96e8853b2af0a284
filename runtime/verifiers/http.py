"""`HttpResource`: asks a server for the resource itself, and compares the entity tag (RFC 9110, 8.8.3).

| the server's answer                                    | means                                                      |
| ------------------------------------------------------ | ---------------------------------------------------------- |
| a status in `present` (200, 204)                       | there; a recorded etag is compared as below                |
| a status in `absent` (404, 410)                        | provably not there                                         |
| 301, 308 to the same server                            | moved for good: followed, three times at the most          |
| any other redirect                                     | undetermined: a login page is not the resource             |
| 401, 403, 407                                          | undetermined: no permission says nothing of the resource   |
| 429, 5xx, any other; no answer, or none that is HTTP   | undetermined; `Retry-After` is passed on                   |

Recorded and present entity tag differ: mismatch. They are the same, but one of them is weak: a match under weak
comparison; under strong comparison undetermined, for a weak tag does not prove that the bytes are the same, nor that they differ.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ..tools.http_post import trusted
from ..verifier import Answer, Match, Mismatch, StateChange, Undetermined, VerifyContext, if_absent, if_present

if TYPE_CHECKING:
    import httpx

ENTITY_TAG: Final = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
"""Weakness and opaque tag."""

MOVED: Final = frozenset({301, 308})
HOPS: Final = 3


class Reply(NamedTuple):
    """A server's answer. url: where it came from, after permanent redirects. content: as much of the body as was asked for."""

    status: int
    headers: "httpx.Headers"
    url: str
    content: bytes


class UnclearReplyError(Exception):
    """An answer from which nothing follows: broken, too late, too large, or a redirect that is not followed."""


@dataclass(frozen=True)
class HttpResource:
    """Verifies a resource that has an address: `external_ref` of the change, or else its `resource_id`, relative to `base_url`.

    Only addresses of the server of `base_url` are asked (scheme, host and port), so that what a record says cannot lead the
    headers, a token perhaps, to another one. Only `etag` is compared, not `version`. timeout_seconds bounds each wait for the
    server, and the reading of a body as a whole. Raises ValueError for an address or a header that HTTP does not allow.
    """

    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    method: Literal["GET", "HEAD"] = "GET"
    comparison: Literal["strong", "weak"] = "strong"
    present: frozenset[int] = frozenset({200, 204})
    absent: frozenset[int] = frozenset({404, 410})
    timeout_seconds: float = 10.0

    def __post_init__(self) -> None:
        import httpx

        try:
            base = httpx.URL(self.base_url)
        except httpx.InvalidURL as error:
            raise ValueError(f"base_url {self.base_url!r}: {error}") from error
        if base.scheme not in ("http", "https") or not base.host or base.userinfo:
            raise ValueError("base_url must begin with http:// or https:// and a host, without a user's name")
        for name, value in self.headers.items():
            if not re.fullmatch(r"[\w-]+", name, re.ASCII) or not re.fullmatch(r"[\x20-\x7e]*", value):
                raise ValueError(f"the header {name!r} has a name or a value that HTTP does not allow")
        if self.method not in ("GET", "HEAD") or self.comparison not in ("strong", "weak"):
            raise ValueError("method is GET or HEAD; comparison is strong or weak")
        if self.present & self.absent or not self.timeout_seconds > 0:
            raise ValueError("a status cannot mean both present and absent, and timeout_seconds must be > 0")

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """Ask, and judge the answer by the table above. Never raises."""
        reply = self.ask(change.external_ref or change.resource_id)
        if isinstance(reply, Undetermined):
            return reply
        if reply.status in self.absent:
            return if_absent(change, f"{reply.url}: the server answers {reply.status}")
        if reply.status not in self.present:
            return unclear(reply)
        if change.deletes or change.etag is None:
            return if_present(change, reply.url)
        return compare(change.etag, reply.headers.get("ETag"), self.comparison)

    def ask(self, address: str, body_limit: int = 0) -> Reply | Undetermined:
        """The server's answer, with a body of at most `body_limit` bytes, or why there is none. Never raises."""
        import httpx

        try:
            base = httpx.URL(self.base_url)
            url = base.copy_with(path=base.path.rstrip("/") + "/").join(address)
            with httpx.Client(
                # Identity: with a compressed body some servers change the entity tag.
                headers={"Accept-Encoding": "identity", **self.headers},
                timeout=self.timeout_seconds,
                verify=trusted(),
                # A connection for each request: a kept one may be closed by the server just when the next request is sent.
                limits=httpx.Limits(max_keepalive_connections=0),
            ) as client:
                for _ in range(HOPS + 1):
                    if _origin(url) != _origin(base):
                        raise UnclearReplyError("not an address of the server that this verifier may ask")
                    reply = self._reply(client, url, body_limit)
                    if reply.status not in MOVED:
                        return reply
                    url = url.join(reply.headers.get("Location", ""))
            raise UnclearReplyError(f"moved more than {HOPS} times")
        except (UnclearReplyError, httpx.HTTPError, httpx.InvalidURL, OSError, TypeError, ValueError) as error:
            return Undetermined(f"{self.method} {address!r}: {type(error).__name__}: {error}")

    def _reply(self, client: "httpx.Client", url: "httpx.URL", body_limit: int) -> Reply:
        """One request."""
        deadline = time.monotonic() + self.timeout_seconds
        with client.stream(self.method, url) as response:
            content = b""
            for piece in response.iter_bytes() if body_limit else ():
                content += piece
                if len(content) > body_limit:
                    raise UnclearReplyError(f"the body is longer than {body_limit} bytes")
                if time.monotonic() > deadline:
                    raise UnclearReplyError("the body was not complete when the time was over")
            return Reply(response.status_code, response.headers, str(url), content)


def _origin(url: "httpx.URL") -> tuple[str, str, int | None, bytes]:
    """What must be the same for two addresses to be of one server; a user's name in one of them makes them differ."""
    return url.scheme, url.host, url.port, url.userinfo


def compare(recorded: str, found: str | None, comparison: Literal["strong", "weak"]) -> Answer:
    """Compare two entity tags (RFC 9110, 8.8.3.2): three-valued, since a weak tag that is the same does not prove the bytes."""
    then, now = ENTITY_TAG.fullmatch(recorded), ENTITY_TAG.fullmatch(found or "")
    if then is None:
        return Undetermined(f"the recorded etag {recorded!r} is not an entity tag")
    if now is None:
        return Undetermined(f"the server gives no entity tag to compare, but {found!r}")
    if then[2] != now[2]:
        return Mismatch(f"the entity tag is {found}, recorded is {recorded}")
    if comparison == "strong" and (then[1] or now[1]):
        return Undetermined(
            f"{found} and {recorded} are the same under weak comparison only; allow it with comparison='weak'"
        )
    return Match()


def unclear(reply: Reply) -> Undetermined:
    """An answer from which nothing follows, with the time after which to ask again if the server gave one."""
    why = {401: "no permission", 403: "no permission", 407: "no permission", 429: "too many requests"}.get(reply.status)
    said = f"{reply.url}: the server answers {reply.status}" + (
        f": {why}, which says nothing of the resource" if why else ""
    )
    return Undetermined(said, retry_after(reply.headers))


def retry_after(headers: "httpx.Headers") -> float | None:
    """`Retry-After` (RFC 9110, 10.2.3) in seconds from now; None if there is none that means anything."""
    given = headers.get("Retry-After", "")
    if seconds(given) is not None:
        return seconds(given)
    date = _date(given)
    return None if date is None else max(0.0, date - sent_at(headers))


def sent_at(headers: "httpx.Headers") -> float:
    """When the server sent this, by its own clock if it says so: the clocks of two machines are not compared without need."""
    date = _date(headers.get("Date", ""))
    return time.time() if date is None else date


def seconds(text: str) -> float | None:
    """A header's whole number of seconds; of at most twelve digits, which is enough for a date."""
    return float(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def _date(text: str) -> float | None:
    """An HTTP date in seconds since the epoch."""
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
