"""The process that a campaign strikes: it calls one method of an adapter, and tells through a pipe what it comes to.

Its lines are JSON: `["loaded"]`, `["reached", BOUNDARY, THREAD]`, `["struck", STRIKE]`, `["accepted"]`, and at last
`["answer", ...]` or `["error", TEXT]`. Whatever is not told has not happened.
"""

import json
import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ...runtime.records import Json
from . import hooks, seccomp
from .adapter import Adapter, AdapterError, Belief, Job, Known, Place, Status
from .boundary import ACCEPTED, EFFECT, Source, Strike, Striker
from .world import World

Do = Literal["prepare", "start", "recover", "belief"]
LOADED: Final = "loaded"
ANSWER: Final = "answer"
ERROR: Final = "error"


@dataclass(frozen=True)
class Request:
    """One method to be called. directory: the place; world: the witness's file. source: who finds boundaries; None: nobody.

    record: the file that gets what was asked of the disk, where calls are intercepted.
    """

    do: Do
    directory: str
    world: str
    job: str
    steps: tuple[str, ...]
    server: str | None = None
    source: Source | None = None
    strike: str | None = None
    record: str | None = None
    hold_seconds: float = 0.15
    seconds: float = 20.0

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Request":
        """What `dataclasses.asdict` gave, as it comes out of JSON."""
        return cls(**{**data, "steps": tuple(data["steps"])})


class Teller:
    """Writes lines into the pipe, each at once."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def __call__(self, *words: Json) -> None:
        os.write(self._pipe, json.dumps(words).encode() + b"\n")


def serve(load: Callable[[], Adapter], request: Request, tell: Teller) -> None:
    """Load the adapter, and call the method in its place. What it raises is told; nothing is raised."""
    try:
        adapter = load()
        tell(LOADED)
        os.chdir(request.directory)
        striker = Striker(Strike.parse(request.strike) if request.strike else None, tell, request.hold_seconds)
        answer = _call(adapter, request, striker, tell)
        tell(ANSWER, answer)
    except BaseException as error:
        tell(ERROR, "".join(traceback.format_exception(error))[-4000:])


def _call(adapter: Adapter, request: Request, striker: Striker, tell: Teller) -> Json:
    world = World(Path(request.world))
    place = Place(Path(request.directory), request.server, world.file)

    def act(step: str, key: str | None = None) -> Json:
        if request.source != "commits":
            return world.act(step, key)
        with striker.around(f"{EFFECT}{step}"):
            return world.act(step, key)

    job = Job(request.job, request.steps, act, world.find, lambda: tell(ACCEPTED))
    if request.source == "commits":
        hooks.arm(striker)
    if request.source == "calls":
        seccomp.install(recording=request.record is not None)
    match request.do:
        case "prepare":
            adapter.prepare(place)
        case "start":
            adapter.start(place, job)
        case "recover":
            adapter.recover(place, job)
        case "belief":
            return _told(adapter.belief(place, job))
    return None


def _told(belief: object) -> Json:
    """A belief as JSON. Raises AdapterError for what is none: an unknown word would be judged as if it were another one."""
    if not isinstance(belief, Belief) or not all(isinstance(each, Mapping) for each in belief[1:]):
        raise AdapterError(f"`belief` returns Belief(status, steps, results), the last two by step, not {belief!r}")
    for said, words in (((belief.status,), get_args(Status)), (belief.steps.values(), get_args(Known))):
        if wrong := [each for each in said if each not in words]:
            raise AdapterError(f"`belief` says {wrong[0]!r}, which is none of {', '.join(words)}")
    return [belief.status, dict(belief.steps), dict(belief.results)]
