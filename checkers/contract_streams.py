"""What representative crash schedules of execution contracts left, as files in a run's directory: what an auditor replays alone.

Of the schedules that are run with processes that SIGKILL ends, the first of each case and outcome with the fewest faults is kept,
but for cases in which a program of its own writes what no machine has: the judge alone looks at these.
There are three files, named by the replay key: the contracts (`.contracts`), a line for each row of their tables, by table and in
the order in which it was written; the streams of the jobs of their steps (`.jsonl`), if any has begun, one after the other, as
`crash_streams` writes them; and the effects that the world's witness noted (`.world`).
"""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from .contract_cases import ContractCase
from .contract_world import mail_tool
from .crash_faults import Key
from .crash_image import Files
from .crash_run import STORE, Record
from .crash_streams import STREAM, WORLD, contract, file_name, stream
from .crash_witness import EFFECTS, World

CONTRACTS: Final = ".contracts"
STEP: Final = "call"
"""The one step of a contract's job."""
TABLES: Final = {
    "contracts": "SELECT * FROM contracts ORDER BY seq",
    "contract_transitions": "SELECT * FROM contract_transitions ORDER BY execution_id, position",
    "contract_answers": "SELECT * FROM contract_answers ORDER BY execution_id, version",
    "execution_trace": "SELECT * FROM execution_trace ORDER BY seq",
}
JSON: Final = ("action_detail", "consent", "result", "metadata", "data")
"""The columns that hold JSON."""


def shows(record: Record) -> list[str]:
    """What a schedule shows: its own case."""
    return [record.key.case]


def keep_contracts(images: Mapping[Key, Files], cases: Mapping[str, ContractCase], directory: Path) -> None:
    """Write the three files of each image into a directory, in which nothing else is then."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for key, files in images.items():
        tool = mail_tool((), World(""), lambda seconds: None, cases[key.case].irreversible)
        said = {"replay": str(key), "declared": {STEP: contract(tool)}}
        name = file_name(key)
        (directory / f"{name}{WORLD}").write_bytes(files.get(EFFECTS, b""))
        for suffix, lines in ((STREAM, stream(files, said)), (CONTRACTS, rows(files))):
            text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
            if text:  # a contract that was never begun has no job
                (directory / f"{name}{suffix}").write_text(text, encoding="utf-8")


def rows(files: Files) -> Iterator[dict[str, Any]]:
    """Every row of the contracts' tables, with the name of its table."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        with closing(sqlite3.connect(f"{folder}/{STORE}")) as connection:
            connection.row_factory = sqlite3.Row
            for table, query in TABLES.items():
                for row in connection.execute(query):
                    yield {"table": table, **{n: json.loads(row[n]) if n in JSON else row[n] for n in row.keys()}}  # noqa: SIM118  # of a Row
