"""`OpenAIProvider`: asks a server that speaks OpenAI's HTTP API, with one POST to {base_url}/chat/completions.

| what happens                                            | what the runtime is told                                    |
| ------------------------------------------------------- | ----------------------------------------------------------- |
| 200, `choices[0].message.content` is a text             | the text, and the model that the server names               |
| 200, the text was cut short (`length`, `content_filter`) | `LlmError`: half an answer is none                          |
| 200, no such text, no JSON, or more than 4 MiB          | `LlmError`                                                  |
| 429, 5xx, any other status                              | `LlmError`, with the time of `Retry-After` if there is one  |
| no connection, no answer in time, a broken one          | `LlmError`                                                  |

The key comes from the environment at each call, and is in no record and no message. Redirects are not followed, so that it goes
to no other server. What an error's body says is not passed on, since it may repeat what was sent.
"""

import json
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..llm import LlmAnswer, LlmError, LlmRequest
from ..records import Json
from ..tools.http_post import trusted
from ..verifiers.http import retry_after

if TYPE_CHECKING:
    import httpx

KEY: Final = "CRASHWINDOW_OPENAI_KEY"
"""The environment variable with the key; a server that wants none is asked without one."""
BASE_URL: Final = "CRASHWINDOW_OPENAI_URL"
"""The environment variable with the address, where none is given."""
DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"
BODY_LIMIT: Final = 4 * 1024 * 1024
"""Bytes: a longer answer is refused."""
CUT_SHORT: Final = frozenset({"length", "content_filter"})


@dataclass(frozen=True)
class OpenAIProvider:
    """Asks for one completion. prompt: a text, asked as one message of the user, or a list of messages, sent as it is.

    base_url: None takes the environment's, or OpenAI's own. timeout_seconds bounds the wait for the server, and the reading of
    the answer as a whole.
    """

    name: str = "openai"
    base_url: str | None = None
    timeout_seconds: float = 60.0

    def complete(self, request: LlmRequest) -> LlmAnswer:
        """The answer, by the table above; raises LlmError."""
        import httpx

        base = self.base_url or os.environ.get(BASE_URL) or DEFAULT_BASE_URL
        url = f"{base.rstrip('/')}/chat/completions"
        body, headers = _body(request), _headers()
        try:
            with httpx.Client(timeout=self.timeout_seconds, verify=trusted()) as client:
                deadline = time.monotonic() + self.timeout_seconds
                with client.stream("POST", url, json=body, headers=headers) as response:
                    if response.status_code != 200:
                        said = f"{url}: the server answers {response.status_code} {response.reason_phrase}"
                        raise LlmError(said, retry_after(response.headers))
                    content = _read(response, deadline)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TypeError, ValueError) as error:
            raise LlmError(f"{url}: {type(error).__name__}: {error}") from error
        return _answer(content, request.model)


def _body(request: LlmRequest) -> dict[str, Json]:
    """What is asked."""
    prompt = request.prompt
    if not isinstance(prompt, str | list):
        raise LlmError(f"a prompt is a text or a list of messages, not {type(prompt).__name__}")
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    heat = {} if request.temperature is None else {"temperature": request.temperature}
    return {"model": request.model, "messages": messages, **heat}


def _headers() -> dict[str, str]:
    """With the key, if there is one; a bad one is refused here, where the message does not repeat it."""
    key = os.environ.get(KEY, "")
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        raise LlmError(f"{KEY} holds a character that no header may hold")
    return {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})}


def _read(response: "httpx.Response", deadline: float) -> bytes:
    """The whole body."""
    content = b""
    for piece in response.iter_bytes():
        content += piece
        if len(content) > BODY_LIMIT:
            raise LlmError(f"the answer is longer than {BODY_LIMIT} bytes")
        if time.monotonic() > deadline:
            raise LlmError("the answer was not complete when the time was over")
    return content


def _answer(content: bytes, model: str) -> LlmAnswer:
    """The text of the first choice."""
    try:
        body = json.loads(content)
        choice = body["choices"][0]
        text, why, named = choice["message"]["content"], choice.get("finish_reason"), body.get("model", model)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise LlmError(f"the answer is not a chat completion: {type(error).__name__}: {error}") from error
    if not isinstance(text, str) or not isinstance(named, str):
        raise LlmError("the answer is not a chat completion: its first choice holds no text")
    if why in CUT_SHORT:
        raise LlmError(f"the answer was cut short: {why}")
    return LlmAnswer(text, named)
