"""Two real worker processes of two threads each, on one PostgreSQL server: each effect exactly once, whoever is stopped when."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.plan import parse_plan, submission, validate_plan
from crashwindow.runtime.registry import load_tools

JOBS = 50
TOOLS = """
import os, time
from crashwindow.runtime.registry import Registry

registry = Registry()

@registry.tool(name="touch")
def _(args, context):
    # One write of one line: lines of several processes do not mix.
    descriptor = os.open("effects.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{context.job_id} {os.getpid()}\\n".encode())
    os.close(descriptor)
    time.sleep(0.05)
    return None
"""


def started(folder: Path, url: str) -> subprocess.Popen[bytes]:
    """A worker process."""
    argv = ("worker", "--store", url, "--tools", "tools.py", "--concurrency", "2", "--poll", "0.2", "--log", "json")
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "crashwindow", *argv], cwd=folder, stderr=log, env=os.environ)


def eventually(true: Callable[[], bool], log: Path) -> None:
    """Wait until something holds; otherwise what the workers said."""
    give_up = time.monotonic() + 90
    while not true():
        assert time.monotonic() < give_up, log.read_text()[-4000:]
        time.sleep(0.02)


def test_two_processes_work_each_job_once(postgres_url: str, tmp_path: Path) -> None:
    """Fifty jobs, two processes of two threads; one is asked to stop half-way: nothing is lost, nothing doubled, both worked."""
    (tmp_path / "tools.py").write_text(TOOLS)
    witness, log = tmp_path / "effects.txt", tmp_path / "log.txt"
    witness.touch()
    plan = parse_plan({"version": 1, "nodes": [{"id": "step", "tool": "touch"}]})
    stored = validate_plan(plan, load_tools(str(tmp_path / "tools.py")))
    store = open_store(postgres_url)
    jobs = [f"j{number}" for number in range(JOBS)]
    processes = [started(tmp_path, postgres_url) for _ in range(2)]
    try:
        eventually(lambda: log.read_text().count("at work") == 2, log)
        for job in jobs:
            store.submit(job, submission(job, stored))
        pids = {str(process.pid) for process in processes}
        eventually(lambda: {line.split()[1] for line in witness.read_text().splitlines()} == pids, log)
        processes[0].send_signal(signal.SIGTERM)
        assert any(row.status == "open" for row in store.jobs())  # it was half-way
        assert processes[0].wait(60) == 0
        eventually(lambda: all(row.status == "completed" for row in store.jobs()), log)
        processes[1].send_signal(signal.SIGTERM)
        assert processes[1].wait(60) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
    effects = Counter(line.split()[0] for line in witness.read_text().splitlines())
    assert effects == dict.fromkeys(jobs, 1)
    assert [row.job_id for row in store.jobs()] == jobs
    store.close()
