"""The approval service: S3's surface over the contract store, and a page for people.

| request             | does                                                                                             |
| ------------------- | ------------------------------------------------------------------------------------------------ |
| GET /               | the page: what waits for a person, and what nobody knows the outcome of                           |
| POST /ecs/respond   | stores an answer                                                                                 |
| POST /ecs/continue  | calls `continue_session`: the application's `GraphRunner.resume`                                  |
| GET /ecs/events     | the stream: `ecs` with the form of a question, `unknown` with a doubt, `settled` when it waits no more |

Events are read from the store, so the checkpoint is durable before the event is sent. The graph never polls; this stream does,
since a store tells no other process of a contract's write.

Answering twice, an action that is not the one that was shown, and continuing what has no answer, are 409 and change nothing.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from importlib import resources
from typing import Any, Final

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ...model.contract import InvalidTransitionError
from ..canonical import NotCanonicalError
from ..drive import StoppedError
from ..records import Json
from ..store import StoreError
from . import approval_page
from .commands import ContractPorts
from .operations import respond
from .requests import job_of
from .service_guard import Guard, HostAndHeaders, Refused, fields, is_form
from .service_input import Continued, Responded, refused
from .store import ContractError, NoContract
from .unattended import take_answer
from .waiting import doubts, questions

Continue = Callable[[str], object]
"""Goes on with a session whose question was answered: `GraphRunner.resume`. Raises Conflict when there is no answer to take."""

LOOK_SECONDS: Final = 0.5
"""How often a stream reads the store."""
ASSETS: Final = {"approval_page.css": "text/css", "approval_page.js": "text/javascript"}


class Approvals:
    """The service. port: where it listens. stopping: whether the server ends, and the streams with it.

    note: what people are told about who executes.
    """

    def __init__(
        self,
        ports: ContractPorts,
        continue_session: Continue,
        port: int,
        stopping: Callable[[], bool],
        note: str = "",
    ) -> None:
        self._ports, self._continue, self._note, self._stopping = ports, continue_session, note, stopping
        self._guard: Final = Guard(port)

    def app(self) -> Starlette:
        """The ASGI application."""
        routes = [
            Route("/", self.page),
            Route("/ecs/respond", answered(self.respond), methods=["POST"]),
            Route("/ecs/continue", answered(self.go_on), methods=["POST"]),
            Route("/ecs/events", self.events),
            *(Route(f"/{name}", asset) for name in ASSETS),
        ]
        return Starlette(routes=routes, middleware=[Middleware(HostAndHeaders, guard=self._guard)])

    async def page(self, request: Request) -> Response:
        """What waits, for people."""
        browser = self._guard.browser(request)
        asked, doubted = await run_in_threadpool(lambda: (questions(self._ports.contracts), doubts(self._ports)))
        response = HTMLResponse(approval_page.page(asked, doubted, self._guard.token(browser), self._note))
        self._guard.remember(response, browser)
        return response

    async def respond(self, request: Request) -> dict[str, Json]:
        """Store an answer."""
        given = Responded.model_validate(await self._checked(request))
        await run_in_threadpool(self._store, given)
        return {"execution_id": given.execution_id, "decision": given.decision, "stored": True}

    async def go_on(self, request: Request) -> dict[str, Json]:
        """Take the answer, and run the session; this request ends when the session rests."""
        given = Continued.model_validate(await self._checked(request))
        of_graph = job_of(given.session_id) is None
        await run_in_threadpool(self._continue if of_graph else partial(take_answer, self._ports), given.session_id)
        state = await run_in_threadpool(self._ports.contracts.state, given.session_id)
        status = None if state is None else state.status
        return {"session_id": given.session_id, "status": status, "note": self._note}

    async def events(self, request: Request) -> Response:
        """The stream of what waits."""
        return StreamingResponse(self._stream(), media_type="text/event-stream")

    async def _checked(self, request: Request) -> dict[str, Any]:
        """The fields of a body, if a page of ours sent it."""
        found = await fields(request)
        self._guard.check_post(request, str(found.get("csrf_token", "")))
        return found

    def _store(self, given: Responded) -> None:
        """Store an answer, or say why not."""
        try:
            respond(self._ports, given.answer(self._ports.contracts.now()))
        except ContractError as error:
            raise refused(self._ports.contracts, given, error) from error

    async def _stream(self) -> AsyncIterator[str]:
        """What waits now, then every change. Starlette ends it when the other side has gone."""
        told: dict[str, str] = {}
        yield "retry: 2000\n\n"
        while not self._stopping():
            waits = await run_in_threadpool(self._waits)
            for name in told.keys() - waits.keys():
                yield event("settled", {"execution_id": told[name]})
            for name, (kind, data) in waits.items():
                if name not in told:
                    yield event(kind, data)
            told = {name: str(data["execution_id"]) for name, (_, data) in waits.items()}
            await asyncio.sleep(LOOK_SECONDS)

    def _waits(self) -> dict[str, tuple[str, dict[str, Json]]]:
        """The events that are true now, by a name that no other question has, not even a later one of the same contract."""
        asked = [each.form for each in questions(self._ports.contracts) if each.answer is None]
        found = {f"{data['execution_id']}@{data['version']}": ("ecs", data) for data in asked}
        return found | {each.execution_id: ("unknown", each.doubt) for each in doubts(self._ports) if not each.word}


def event(name: str, data: dict[str, Json]) -> str:
    """One server-sent event. JSON has no line break outside of strings, and none inside."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def answered(
    endpoint: Callable[[Request], Awaitable[dict[str, Json]]],
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint whose answer is JSON; for a form that was sent without our script, the page again, or what went wrong."""

    async def answer(request: Request) -> Response:
        try:
            said = await endpoint(request)
        except Exception as error:
            status, message = failure(error)
            if is_form(request):
                return HTMLResponse(approval_page.problem(message), status)
            return JSONResponse({"error": message}, status)
        return RedirectResponse("/", 303) if is_form(request) else JSONResponse(said)

    return answer


def failure(error: Exception) -> tuple[int, str]:
    """Status and text of an error that tells people what to do; any other one is raised again, a defect."""
    match error:
        case Refused():
            return error.status, str(error)
        case ValidationError():
            wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            return 422, f"{wrong}; nothing was changed"
        case NotCanonicalError():
            return 422, f"this cannot be stored: {error}; nothing was changed"
        case NoContract():
            return 404, f"{error}; nothing was changed"
        case ContractError() | InvalidTransitionError():
            return 409, str(error)
        case StoreError() | StoppedError():
            return 503, f"it is not known whether this was recorded ({error}); load the page again and look"
        case _:
            raise error


async def asset(request: Request) -> Response:
    """A style sheet or script that ships with the page."""
    name = request.url.path.removeprefix("/")
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return Response(text, media_type=ASSETS[name])
