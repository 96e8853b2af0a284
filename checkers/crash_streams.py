"""The event streams of representative crash schedules, kept as files in a run's directory: what an auditor replays alone.

Of each window of the crash-window table that a crash left, the first schedule with each distinct outcome, of those with the
fewest faults, is representative; and so is the first one without a crash. Each is run with processes that SIGKILL ends
(`crash_kill`). Time is set in these runs, workers are numbered and so are their epochs: the same code writes the same bytes.

A stream is a file as `crashwindow trace` writes it, with what the hash chain needs besides: each event's id and link (E-CHAIN).
Its line of records names the replay key, and the contract that each tool declares. Beside it lies what the world's witness noted,
byte for byte: a line per effect, then one per question to a language model, then one for each thing that a tool was given in an
attempt; they are told apart by the number of their fields (five, two, four). Both files are named by the replay key.
"""

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Protocol

from ..runtime.tool import Tool
from .crash_faults import Key
from .crash_image import Files
from .crash_run import STORE, Record
from .crash_witness import EFFECTS, GIVEN, QUESTIONS, World
from .stream_lines import Records, written
from .stream_store import stored

STREAM: Final = ".jsonl"
WORLD: Final = ".world"
NOTED: Final = (EFFECTS, QUESTIONS, GIVEN)
"""The files of the witness that are kept, in their order."""
NAMED: Final = str.maketrans({":": "=", ";": "+", "#": ","})
"""What a replay key has that a file's name may not have."""
KEPT: Final = "streams"
"""The figure of an item that says how many streams there are in the folder on which it rests."""
LONGEST: Final = 90
LINKED: Final = "SELECT id, link FROM events WHERE job_id = ? AND version = ?"


def representatives(
    records: Sequence[Record],
    anyway: Collection[Key],
    windows: Callable[[Record], Iterable[str]] = lambda record: [""],
) -> list[Key]:
    """The schedules whose streams are kept, by case.

    anyway: those that are run by SIGKILL whether they are kept or not; of as many faults, they come first. windows: those in
    which a crash left the steps of a job.
    """
    killed = set(anyway)
    records = sorted(records, key=lambda record: (len(record.key.schedule), record.key not in killed))
    chosen: dict[tuple[str, str], Key] = {}
    for record in records:
        if record.error is None and record.at_crash is not None:
            for window in windows(record):
                chosen.setdefault((window, record.outcome), record.key)
    without = next((record.key for record in records if not record.key.schedule), None)
    keys = dict.fromkeys([*([without] if without else []), *chosen.values()])
    return sorted(keys, key=lambda key: key.case)


def windows_of(record: Record) -> Iterator[str]:
    """The windows of the table in which a schedule's last crash left the steps; a state outside of it is told elsewhere."""
    from .observed import window_of
    from .windows import MisfitError

    assert record.at_crash is not None
    for step in record.at_crash["steps"].values():
        try:
            yield window_of(record.key, record.at_crash["job"], step)
        except MisfitError:
            continue


class Case(Protocol):
    """A plan and its tools."""

    @property
    def plan(self) -> dict[str, Any]:
        """The plan as it is stored."""
        ...

    def tools(self, world: World) -> Mapping[str, Tool]:
        """The tools by name, acting on this world."""
        ...


def keep_streams(images: Mapping[Key, Files], cases: Mapping[str, Case], directory: Path) -> None:
    """Write the stream and the world's lines of each image into a directory, in which nothing else is then."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for key, files in images.items():
        name = file_name(key)
        (directory / f"{name}{WORLD}").write_bytes(b"".join(files.get(each, b"") for each in NOTED))
        said = {"replay": str(key), "declared": declared(cases[key.case])}
        lines = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in stream(files, said)]
        (directory / f"{name}{STREAM}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def file_name(key: Key) -> str:
    """A replay key as a file's name: `crash:ok-park:claim#2:before;commit:after` is `ok-park=claim,2=before+commit=after`.

    Of a name that is too long for an archive a hash takes the end's place.
    """
    name = str(key).removeprefix("crash:").translate(NAMED)
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 9]}+{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def stream(files: Files, said: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines of a store's files. said: what stands beside the records of its job."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        path = f"{folder}/{STORE}"
        with closing(sqlite3.connect(path)) as connection:
            for line, at in stored(path):
                more = said
                if not isinstance(line.said, Records):
                    ((event_id, link),) = connection.execute(LINKED, (line.job_id, line.said.version))
                    more = {"id": event_id, "link": link}
                yield {**written(line.job_id, line.said, at), **more}


def declared(case: Case) -> dict[str, dict[str, str]]:
    """The contract that the tool of each tool step declares."""
    tools = case.tools(World(""))
    return {node["id"]: contract(tools[node["tool"]]) for node in case.plan["nodes"] if "tool" in node}


def contract(tool: Tool) -> dict[str, str]:
    """What a tool declares, as values of the model's configuration fields."""
    return {"idempotent": "yes" if tool.idempotent else "no", "on_unknown": tool.on_unknown, "look": tool.look}
