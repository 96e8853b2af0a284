"""Two real worker processes of two threads each, on one PostgreSQL server: each effect exactly once, whoever is stopped when."""

import json
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
from crashwindow.runtime.store import Store

JOBS = 50
TOOLS = """
import os, time
from crashwindow.runtime.registry import Registry

registry = Registry()

@registry.tool(name="touch")
def _(args, context):
    touch(context)

def touch(context):
    # One write of one line: lines of several processes do not mix.
    descriptor = os.open("effects.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{context.job_id} {os.getpid()}\\n".encode())
    os.close(descriptor)
    time.sleep(0.05)
    return None

@registry.tool(name="linger", on_unknown="park")
def _(args, context):
    touch(context)
    while not os.path.exists("go"):
        time.sleep(0.02)
    return None
"""


def started(folder: Path, url: str, log_name: str = "log.txt", *options: str) -> subprocess.Popen[bytes]:
    """A worker process."""
    argv = ("worker", "--store", url, "--tools", "tools.py", "--poll", "0.2", "--log", "json", *options)
    with (folder / log_name).open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "crashwindow", *argv], cwd=folder, stderr=log, env=os.environ)


def submit(store: Store, job: str, tool: str, folder: Path) -> None:
    """A job of one step."""
    plan = parse_plan({"version": 1, "nodes": [{"id": "step", "tool": tool}]})
    store.submit(job, submission(job, validate_plan(plan, load_tools(str(folder / "tools.py")))))


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
    store = open_store(postgres_url)
    jobs = [f"j{number}" for number in range(JOBS)]
    processes = [started(tmp_path, postgres_url, log.name, "--concurrency", "2") for _ in range(2)]
    try:
        eventually(lambda: log.read_text().count("at work") == 2, log)
        for job in jobs:
            submit(store, job, "touch", tmp_path)
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


def test_a_process_that_wakes_after_its_lease_writes_nothing(postgres_url: str, tmp_path: Path) -> None:
    """SIGSTOP in a tool past the lease, another process takes the job over, SIGCONT: the answer comes, and nothing is written.

    The other one found an open attempt and parked the job: the effect is there once, and the record says that it is not known.
    """
    (tmp_path / "tools.py").write_text(TOOLS)
    zombie_log, other_log = tmp_path / "zombie.txt", tmp_path / "other.txt"
    witness = tmp_path / "effects.txt"
    store = open_store(postgres_url)
    submit(store, "j", "linger", tmp_path)
    processes = [started(tmp_path, postgres_url, zombie_log.name, "--ttl", "2")]
    try:
        eventually(witness.exists, zombie_log)
        processes[0].send_signal(signal.SIGSTOP)
        processes.append(started(tmp_path, postgres_url, other_log.name))
        eventually(lambda: store.jobs()[0].status == "parked", other_log)
        events = store.events("j")
        (tmp_path / "go").touch()
        processes[0].send_signal(signal.SIGCONT)
        eventually(lambda: "left open" in zombie_log.read_text(), zombie_log)
        for process in processes:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()
    lines = [json.loads(line) for line in zombie_log.read_text().splitlines()]
    told = [(line["boundary"], line["answer"]) for line in lines if "boundary" in line and "answer" in line]
    after_the_barrier = told[told.index(("append_started", "done")) + 1 :]
    assert {boundary for boundary, _ in after_the_barrier} == {"heartbeat", "execute"}
    assert ("heartbeat", "stale") in after_the_barrier
    assert store.events("j") == events
    assert len(witness.read_text().splitlines()) == 1
    store.close()
