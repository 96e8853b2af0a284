"""What a campaign asks of a runtime: four methods, each called in a process of its own.

Whoever has a runtime writes a class with these methods and changes nothing of the runtime. `start` and `recover` are what is
killed. The world belongs to the campaign: a step of the job does its effect by `job.act(step)` and by nothing else.

1. `prepare` makes a fresh durable state in the place's directory.
2. `start` runs the job as an application would, and returns when the runtime says that it is over.
3. `recover` does what the runtime's documentation says after a crash, in a new process, and returns when nothing is left to do.
4. `belief` reads what the durable record says. It changes nothing.
"""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, cast

from ...runtime.records import Json
from ..evidence_outcome import Outcome

Status = Literal["absent", "running", "completed", "failed", "unknown"]
"""What a record says of a job. absent: it knows of none. unknown: it says that it does not know, and waits for somebody."""
Known = Literal["done", "not done", "unknown"]
"""What a record says of a step's effect."""


class AdapterError(Exception):
    """An adapter that cannot be used: names it and the remedy."""


class Belief(NamedTuple):
    """What the durable record says. steps: of which effects it speaks, and what. results: a step's result, where one is
    recorded."""

    status: Status
    steps: Mapping[str, Known] = {}
    results: Mapping[str, Json] = {}


@dataclass(frozen=True)
class Place:
    """Where one run happens. directory: empty, the runtime's own, and the working directory.

    server: the address of a PostgreSQL database of its own, where the adapter asks for one. world: the witness's file, for
    whoever cannot call `job.act`: a program in another language.
    """

    directory: Path
    server: str | None = None
    world: Path | None = None


@dataclass(frozen=True)
class Job:
    """What is to be done: the steps, one after the other.

    act: a step's effect, to be called by the step, with the key that the runtime gives a tool to tell a repeat by, if it
    does; returns its result. accepted: to be called where the runtime has told its client that it has the job; a client that
    has not been told starts again with the same id.
    """

    id: str
    steps: tuple[str, ...]
    act: Callable[..., Json]
    find: Callable[[str], Json]
    accepted: Callable[[], None]


@dataclass(frozen=True)
class Promise:
    """What a runtime's documentation promises of a step's effects when processes crash.

    words: in our own English. source: the page and section. allows: the outcomes that keep it, beside EXACTLY ONCE.
    last_only: whether, of the steps that have acted when a process dies, none but the last may act again, and it only where the
    record does not have it as done; and the one that a paused process was in. pauses: whether it speaks of a process that is
    overtaken while it is paused, and then goes on; power: of a loss of power; else such a run cannot break it.
    """

    words: str
    source: str
    allows: frozenset[Outcome] = frozenset()
    last_only: bool = False
    pauses: bool = False
    power: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for a word that is no outcome."""
        if wrong := [each for each in self.allows if each not in set(Outcome)]:
            raise ValueError(f"allows {wrong[0]!r}, which is none of {', '.join(Outcome)}")


@dataclass(frozen=True)
class Capabilities:
    """What may be tried, and how long it takes.

    server: whether each place needs a PostgreSQL database. takeover_seconds: after how long a paused process may be taken
    over by `recover`; None: never. seconds: longer than any method takes; one that takes longer is stuck.
    """

    server: bool = False
    takeover_seconds: float | None = None
    seconds: float = 20.0

    def __post_init__(self) -> None:
        """Raises ValueError for what is no time."""
        # Who writes an adapter need not have a type checker.
        seconds: object = self.seconds
        takeover: object = self.takeover_seconds
        if not isinstance(seconds, int | float) or not seconds > 0:
            raise ValueError(f"seconds is {seconds!r}: give a number above 0")
        if takeover is not None and (not isinstance(takeover, int | float) or not takeover >= 0):
            raise ValueError(f"takeover_seconds is {takeover!r}: give a number from 0, or none")


class Adapter(Protocol):
    """A runtime, as a campaign sees it. versions: of what is tested, by package."""

    @property
    def promise(self) -> Promise:
        """What its documentation says."""

    @property
    def capabilities(self) -> Capabilities:
        """What may be tried."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Which releases are tested, by package."""

    def prepare(self, place: Place) -> None:
        """Make a fresh durable state."""

    def start(self, place: Place, job: Job) -> None:
        """Run the job until the runtime says that it is over."""

    def recover(self, place: Place, job: Job) -> None:
        """Do in a new process what the documentation says after a crash, until nothing is left to do."""

    def belief(self, place: Place, job: Job) -> Belief:
        """What the durable record says."""


METHODS: Final = ("prepare", "start", "recover", "belief")
ATTRIBUTES: Final = {"promise": Promise, "capabilities": Capabilities, "versions": Mapping}


@dataclass(frozen=True)
class Subject:
    """Which runtime is tested: an adapter's class as `module:Class` or `file.py:Class`, or a command that speaks JSON lines.

    options: keyword arguments of the class, or handed to the command.
    """

    name: str
    adapter: str = ""
    command: tuple[str, ...] = ()
    options: Mapping[str, Json] = field(default_factory=dict)


def load(subject: Subject) -> Adapter:
    """The adapter of a subject. Raises AdapterError where there is none."""
    if subject.command:
        from .command import Command

        return Command(subject.command, subject.options)
    where, _, name = subject.adapter.rpartition(":")
    if not where or not name:
        raise AdapterError(f"{subject.adapter!r}: name an adapter as module:Class or file.py:Class")
    try:
        module = _from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except AdapterError:
        raise
    except ImportError as error:
        raise AdapterError(f"{where}: cannot be imported: {error}{_remedy(error)}") from error
    except (Exception, SystemExit) as error:
        raise AdapterError(f"{where}: cannot be loaded: {_told(error)}") from error
    made = getattr(module, name, None)
    if made is None:
        raise AdapterError(f"{where}: has no {name}")
    try:
        adapter = made(**subject.options)
        said = {each: getattr(adapter, each, None) for each in (*METHODS, *ATTRIBUTES)}
    except (Exception, SystemExit) as error:
        raise AdapterError(f"{subject.adapter}: cannot be made: {_told(error)}") from error
    if unfit := _unfit(said):
        raise AdapterError(f"{subject.adapter}: {unfit}")
    return cast(Adapter, adapter)


def _unfit(said: Mapping[str, Any]) -> str:
    """What an adapter lacks, or has of another kind; "" where it can be used. said: its methods and attributes."""
    if lacking := [each for each, what in said.items() if what is None]:
        return f"an adapter also needs {', '.join(lacking)}"
    for each, kind in ATTRIBUTES.items():
        if not isinstance(said[each], kind):
            return f"{each} is {said[each]!r}, and has to be a {kind.__name__}"
    if not all(isinstance(each, str) for release in said["versions"].items() for each in release):
        return f"versions is {said['versions']!r}: a release is a text, as '1.2'"
    if awaited := [each for each in METHODS if iscoroutinefunction(said[each])]:
        return f"{awaited[0]} is asynchronous, and nobody would await it: call asyncio.run in it"
    return ""


def _told(error: BaseException) -> str:
    """An exception, and where it was raised, unless that was here: an adapter's author looks there."""
    places = [place for place in traceback.extract_tb(error.__traceback__) if place.filename != __file__]
    theirs = [place for place in places if not place.filename.startswith("<frozen ")]
    where = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    return f"{type(error).__name__}: {error}{where}"


def _from_file(file: Path) -> object:
    if not file.is_file():
        raise AdapterError(f"{file}: there is no such file")
    spec = importlib.util.spec_from_file_location(f"crashwindow_adapter_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    # Its neighbours can be imported, as those of a script can; nothing that is installed is hidden by them.
    sys.path.append(str(file.resolve().parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


EXTRAS: Final = {"dbos": "dbos", "langgraph": "langgraph", "pysqlite3": "dbos", "distributed": "dask"}
"""Which extra brings a package that an adapter needs."""


def _remedy(error: ImportError) -> str:
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    return f": pip install 'crashwindow[{extra}]'" if extra else ""
