"""`GitHubIssue`: whether an issue is still there, and open or closed as recorded; over `HttpResource`, in GitHub's REST shape.

| GitHub's answer                                 | means                                                               |
| ----------------------------------------------- | ------------------------------------------------------------------- |
| 200                                             | there; after `close` its state must be closed, after `reopen` open  |
| 301                                             | transferred, or its repository renamed: followed on the same server |
| 404, 410, and the repository shows its issues   | provably not there                                                  |
| 404, 410 otherwise                              | undetermined                                                        |
| 403, 429                                        | undetermined; used-up rate limit: until `X-RateLimit-Reset`         |
| 401, 5xx, any other, or a body of another shape | undetermined                                                        |

A 404 alone proves nothing: GitHub hides with it what a token may not see. Nor does a 410: it also says that a repository's issues
are disabled. So the repository is asked as well.

What else an issue says (title, labels, comments) is not compared: neither `version` nor `etag` of the change is looked at.
"""

import json
import re
from dataclasses import dataclass, field, replace
from typing import Final

from ..records import Json
from ..verifier import Answer, Mismatch, StateChange, Undetermined, VerifyContext, if_absent, if_present
from .http import HttpResource, Reply, seconds, sent_at, unclear

NAME: Final = re.compile(r"(?P<repository>\w[\w-]*/(?!\.{1,2}#)[\w.-]+)#(?P<number>[1-9][0-9]{0,17})", re.ASCII)
STATE_AFTER: Final = {"close": "closed", "reopen": "open"}
BODY_LIMIT: Final = 1024 * 1024
"""How many bytes of an answer are read: an issue's text has at most 64 Ki characters, reactions and labels come on top."""


@dataclass(frozen=True)
class GitHubIssue:
    """Verifies the issue that the change's `resource_id` names, `OWNER/REPOSITORY#NUMBER`, in one request, or two if it is gone.

    Operations: `close`, `reopen`, `delete`; after any other one (`create`, `comment`, …) the issue must be there. token: a
    personal or installation token; None asks as anybody. timeout_seconds bounds each wait. Raises ValueError for a
    `base_url` or a token that HTTP does not allow.
    """

    base_url: str = "https://api.github.com"
    token: str | None = field(default=None, repr=False)
    timeout_seconds: float = 10.0

    def __post_init__(self) -> None:
        self._server()

    def verify(self, change: StateChange, context: VerifyContext) -> Answer:
        """Ask for the issue, and judge the answer by the table above. Never raises."""
        name = NAME.fullmatch(change.resource_id)
        if name is None:
            return Undetermined(f"{change.resource_id!r} is not the name of an issue, OWNER/REPOSITORY#NUMBER")
        reply = self._server().ask(f"repos/{name['repository']}/issues/{name['number']}", BODY_LIMIT)
        if isinstance(reply, Undetermined):
            return reply
        if reply.status in (404, 410):
            return self._missing(change, reply)
        if reply.status != 200:
            return _unclear(reply)
        return _present(change, reply)

    def _server(self) -> HttpResource:
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return HttpResource(self.base_url, headers, timeout_seconds=self.timeout_seconds)

    def _missing(self, change: StateChange, reply: Reply) -> Answer:
        """An issue that is not shown is absent only where the repository is, and where it shows its issues."""
        repository = self._server().ask(reply.url.rpartition("/issues/")[0], BODY_LIMIT)
        if isinstance(repository, Undetermined):
            return repository
        if repository.status == 200 and _object(repository).get("has_issues") is True:
            return if_absent(
                change, f"{change.resource_id}: GitHub answers {reply.status}, and shows the repository's other issues"
            )
        if repository.status in (200, 404, 410):
            why = "its repository does not show its issues, or not to this token"
            return Undetermined(f"{change.resource_id}: GitHub answers {reply.status}, but {why}")
        return _unclear(repository)


def _present(change: StateChange, reply: Reply) -> Answer:
    """An issue that is shown."""
    issue = _object(reply)
    state = issue.get("state")
    if state not in ("open", "closed") or not isinstance(issue.get("number"), int):
        return Undetermined(f"{reply.url}: the answer is not an issue")
    expected = STATE_AFTER.get(change.operation, state)
    if state != expected:
        return Mismatch(f"{change.resource_id} is {state}, recorded is {change.operation!r}")
    return if_present(change, change.resource_id)


def _object(reply: Reply) -> dict[str, Json]:
    """The JSON object in the body; an empty one where there is another thing."""
    try:
        body = json.loads(reply.content)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _unclear(reply: Reply) -> Undetermined:
    """As for any HTTP resource; where the rate limit is used up, with the time until GitHub resets it."""
    answer, reset = unclear(reply), seconds(reply.headers.get("X-RateLimit-Reset", ""))
    if answer.retry_after is None and reset is not None and reply.headers.get("X-RateLimit-Remaining") == "0":
        return replace(answer, retry_after=max(0.0, reset - sent_at(reply.headers)))
    return answer
