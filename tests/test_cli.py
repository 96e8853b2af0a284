"""The commands do what they say, say what is to be done next, and end with the code that they promise."""

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from crashwindow.__main__ import main
from crashwindow.commands.grammar import Command
from crashwindow.commands.table import COMMANDS
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.records import Event
from crashwindow.runtime.resolve import Answer, ResolveError, question, resolve

STORE = "sqlite:///jobs.db"
TOOLS = """
import os, time
from pathlib import Path
from crashwindow.runtime.registry import Registry
from crashwindow.runtime.retry import RetryPolicy
from crashwindow.runtime.tool import NoEffectError

registry = Registry()

def touch(context, word):
    with open("effects.txt", "a") as file:
        file.write(f"{context.job_id} {word} {context.attempt}\\n")
    return {"word": word}

@registry.tool(name="touch", on_unknown="park", quiet_seconds=0.0)
def _(args, context):
    return touch(context, "touched")

@registry.tool(name="lose", on_unknown="park", quiet_seconds=0.0)
def _(args, context):
    if context.attempt > 1:
        return touch(context, "done")
    raise ConnectionError("the answer was lost")

@registry.tool(name="lose.slowly", on_unknown="park", quiet_seconds=600.0)
def _(args, context):
    raise ConnectionError("the answer was lost")

@registry.tool(name="refuse", irreversible=True, no_compensation="nobody knows how", retry=RetryPolicy(max_retries=0))
def _(args, context):
    raise NoEffectError("not today\\x1b[31m")

@registry.tool(name="linger", on_unknown="park")
def _(args, context):
    touch(context, "lingering")
    time.sleep(args["seconds"])
    return None
"""


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class House:
    """A directory with a tools file and plans of one step, in which commands are run."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self.capsys = path, capsys
        (path / "tools.py").write_text(TOOLS)

    def plan(self, tool: str, **args: object) -> str:
        """The file name of a plan of one step."""
        node = {"id": "step", "tool": tool, "args": args}
        (self.path / f"{tool}.json").write_text(json.dumps({"version": 1, "nodes": [node]}))
        return f"{tool}.json"

    def __call__(self, *argv: str) -> Done:
        """Run a command in this process."""
        self.capsys.readouterr()
        try:
            code = main(argv)
        except SystemExit as end:
            code = int(end.code or 0)
        return Done(code, *self.capsys.readouterr())

    def run(self, tool: str, job: str = "j", **args: object) -> Done:
        """`crashwindow run` of a plan of one step."""
        return self("run", self.plan(tool, **args), "--store", STORE, "--tools", "tools.py", "--job", job)

    def start(self, *argv: str) -> subprocess.Popen[str]:
        """Start a command in a process of its own."""
        command = [sys.executable, "-m", "crashwindow", *argv]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @property
    def effects(self) -> list[str]:
        """What the tools did."""
        file = self.path / "effects.txt"
        return file.read_text().splitlines() if file.exists() else []

    def wait_for_effects(self, count: int) -> None:
        """Until the tools have done so much; a minute is long enough anywhere."""
        give_up = time.monotonic() + 60
        while len(self.effects) < count:
            assert time.monotonic() < give_up
            time.sleep(0.01)

    def events(self, job: str = "j") -> list[Event]:
        """A job's events."""
        store = open_store(STORE)
        try:
            return store.events(job)
        finally:
            store.close()


@pytest.fixture
def house(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """An empty house, which is the working directory. Signal handlers that a command sets are taken back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield House(tmp_path, capsys)
    for number, handler in handlers.items():
        signal.signal(number, handler)


# The table of commands.


def leaves(commands: tuple[Command, ...] = COMMANDS, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, in the words that call it."""
    for command in commands:
        words = (*before, command.name)
        if command.commands:
            yield from leaves(command.commands, words)
        else:
            yield words


@pytest.mark.parametrize("words", list(leaves()), ids=" ".join)
def test_each_command_exists(house: House, words: tuple[str, ...]) -> None:
    """Each entry of the table names a function that is there, and its help says what it is for."""
    known: tuple[Command, ...] = COMMANDS
    entry = None
    for word in words:
        (entry,) = [command for command in known if command.name == word]
        known = entry.commands
    assert entry is not None
    assert callable(
        getattr(import_module(entry.module or ".__main__", "crashwindow"), "_".join(words).replace("-", "_"))
    )
    assert entry.help.split()[0].lower() in house(*words, "--help").out.lower()
    assert entry.help in re.sub(r"\s+", " ", house(*words[:-1], "--help").out)


def test_help_loads_nothing_heavy() -> None:
    """`--help` answers at once: neither graphs nor schemas nor rendering are loaded for it."""
    heavy = "{'networkx', 'pydantic', 'rich', 'httpx', 'sqlite3', 'yaml', 'asyncio'}"
    code = f"import sys; from crashwindow.commands.table import parser; parser().format_help(); print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_defect_shows_its_traceback(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only errors that tell the user what to do become a message; others are ours and stay visible."""

    def defect(args: object) -> int:
        raise KeyError("defect")

    monkeypatch.setattr("crashwindow.runtime.cli.jobs", defect)
    with pytest.raises(KeyError, match="defect"):
        house("jobs", "--store", STORE)


def test_an_interrupt_ends_with_its_code(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a command that only looks ends it with 130, without a traceback."""

    def interrupted(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("crashwindow.runtime.cli.jobs", interrupted)
    assert house("jobs", "--store", STORE).code == 130


# run, submit, worker.


def test_run_completes(house: House) -> None:
    """Exit code 0, one effect, and the result is printed."""
    done = house.run("touch")
    assert (done.code, house.effects) == (0, ["j touched 1"])
    assert done.out == 'job j submitted\njob j completed\n  step: {"word": "touched"}\n'


def test_run_is_repeatable(house: House) -> None:
    """The same job id and plan is the same job: nothing happens again, and the result is printed again."""
    first, second = house.run("touch"), house.run("touch")
    assert (second.code, house.effects) == (0, ["j touched 1"])
    assert second.out.splitlines()[1:] == first.out.splitlines()[1:]
    assert "there already" in second.out


def test_run_names_a_job(house: House) -> None:
    """Without --job each run is a job of its own, whose name is printed."""
    plan = house.plan("touch")
    outs = [house("run", plan, "--store", STORE, "--tools", "tools.py").out for _ in range(2)]
    names = [out.split()[1] for out in outs]
    assert len(set(names)) == 2
    assert [line.split()[0] for line in house.effects] == names


def test_a_contracts_job_is_not_a_users(house: House) -> None:
    """A job that is called as a contract's step is refused: it would keep that contract from being executed."""
    done = house("submit", house.plan("touch"), "--store", STORE, "--tools", "tools.py", "--job", "contract:exec-001")
    assert (done.code, house.effects) == (2, [])
    assert "contract exec-001" in done.err


def test_run_fails(house: House) -> None:
    """Exit code 1, and why; what a tool said cannot steer the terminal."""
    done = house.run("refuse")
    assert (done.code, house.effects) == (1, [])
    assert "step step: every attempt ended without effect" in done.out
    assert "\x1b" not in house("show", "j", "--store", STORE).out


def test_run_in_memory(house: House) -> None:
    """A plan can be tried without a file."""
    assert house("run", house.plan("touch"), "--store", "memory:", "--tools", "tools.py").code == 0


def test_run_parks_and_says_what_next(house: House) -> None:
    """Exit code 3, and the commands that go on work as they are printed."""
    done = house.run("lose")
    assert done.code == 3
    commands = re.findall(r"it .*happen.*: +crashwindow (.*)", done.out)
    assert len(commands) == 2
    filled = commands[0].replace("NAME", "Ann").replace("TEXT", "'seen it'").replace("JSON", "'\"yes\"'")
    assert house(*shlex.split(filled)).code == 0
    assert house.run("lose").out.splitlines()[1:] == ["job j completed", '  step: "yes"']
    assert house.effects == []


def test_submit_and_worker(house: House) -> None:
    """`submit` only submits; `worker --until-idle` runs what is there."""
    plan = house.plan("touch")
    for job in ("a", "b"):
        done = house("submit", plan, "--store", STORE, "--tools", "tools.py", "--job", job)
        assert (done.code, done.out) == (0, f"job {job} submitted\n")
    assert house.effects == []
    assert house("worker", "--store", STORE, "--tools", "tools.py", "--once").code == 0
    assert house.effects == ["a touched 1"]
    assert house("worker", "--store", STORE, "--tools", "tools.py", "--until-idle").code == 0
    assert house.effects == ["a touched 1", "b touched 1"]


def test_a_killed_worker_is_recovered(house: House) -> None:
    """SIGKILL in the midst of a call: the next worker finds the step ambiguous and does not call again."""
    argv = ("run", house.plan("linger", seconds=60), "--store", STORE, "--tools", "tools.py", "--job", "j")
    with house.start(*argv) as process:
        house.wait_for_effects(1)
        process.kill()
    done = house(*argv)
    assert (done.code, house.effects) == (3, ["j lingering 1"])


def test_a_worker_finishes_its_turn(house: House) -> None:
    """On SIGTERM the job at hand is brought to its end, the next is not begun, and the exit code is 0."""
    for job in ("a", "b"):
        house("submit", house.plan("linger", seconds=1), "--store", STORE, "--tools", "tools.py", "--job", job)
    with house.start("worker", "--store", STORE, "--tools", "tools.py") as process:
        house.wait_for_effects(1)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "finishing the current turn" in err
    assert house.events("a")[-1].type == "job_completed"
    assert house.effects == ["a lingering 1"]


def test_a_second_signal_stops_at_once(house: House) -> None:
    """The first signal waits for the turn, the second does not; what is open then is ambiguous, not lost."""
    house("submit", house.plan("linger", seconds=60), "--store", STORE, "--tools", "tools.py", "--job", "j")
    with house.start("worker", "--store", STORE, "--tools", "tools.py") as process:
        house.wait_for_effects(1)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any("second signal" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert house.events()[-1].type == "tool_invocation_started"


def test_an_idle_worker_stops(house: House) -> None:
    """A worker that waits for jobs, too, ends on SIGTERM, and is quick about it."""
    house.run("touch")
    with house.start("worker", "--store", STORE, "--tools", "tools.py", "--poll", "3600") as process:
        while (house.path / "jobs.db.worker").read_text().strip() != str(process.pid):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


# resolve.


@pytest.fixture
def parked(house: House) -> House:
    """A house with job `j`, parked."""
    assert house.run("lose").code == 3
    return house


ANSWER = ("--store", STORE, "--by", "Ann", "--evidence", "looked")


def test_what_a_resolution_writes(parked: House) -> None:
    """Answer and release stand side by side, without an epoch, with who said it and on what evidence."""
    assert parked("resolve", "j", *ANSWER, "--happened", "--result", '{"a": 1}', "--external-id", "X1").code == 0
    resolved, requeued = parked.events()[-2:]
    assert (resolved.type, requeued.type) == ("invocation_resolved", "job_requeued")
    assert (resolved.epoch, requeued.epoch) == (None, None)
    said = {"by": "person", "who": "Ann", "evidence": "looked", "answer": "happened", "result": {"a": 1}}
    assert said.items() <= resolved.data.items()
    assert resolved.data["external_id"] == "X1"
    assert resolved.data["tool_name"] == "lose"


def test_it_did_not_happen(parked: House) -> None:
    """After the quiet time the step is run again."""
    assert parked("resolve", "j", *ANSWER, "--not-happened").code == 0
    assert parked.run("lose").code == 0
    assert parked.effects == ["j done 2"]


def test_it_did_not_happen_is_refused_too_early(house: House) -> None:
    """Before the tool's own quiet time is over only 'it happened' is accepted, and the message says until when."""
    house.run("lose.slowly")
    done = house("resolve", "j", *ANSWER, "--not-happened")
    assert done.code == 2
    assert re.search(r"too early.*from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S* on, in (600|59\d) s", done.err)
    assert house.events()[-1].type == "job_parked"
    assert house("resolve", "j", *ANSWER, "--happened", "--result", "null").code == 0


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["j", *ANSWER, "--happened"], "--result JSON"),
        (["j", *ANSWER, "--not-happened", "--result", "1"], "has no result"),
        (["j", *ANSWER, "--happened", "--result", "NaN"], "NaN is not JSON"),
        (["j", *ANSWER, "--happened", "--result", "done"], "quote strings"),
        (["j", *ANSWER, "--happened", "--result", str(2**60)], "cannot be stored"),
        (["j", *ANSWER, "--happened", "--result", "1", "--external-id", "a\0b"], "contains NUL"),
        (["j", *ANSWER, "--happened", "--result", "1", "--step", "other"], "it waits for 'step'"),
        (["k", *ANSWER, "--happened", "--result", "1"], "there is no job 'k'"),
        (["j", "--store", STORE, "--by", " ", "--evidence", "x", "--happened", "--result", "1"], "--by"),
        (["j", *ANSWER], "one of the arguments --happened --not-happened is required"),
        (["j", *ANSWER, "--happened", "--not-happened", "--result", "1"], "not allowed with"),
    ],
)
def test_an_answer_that_is_refused(parked: House, argv: list[str], words: str) -> None:
    """Each is named, and the job stays parked as it was."""
    before = parked.events()
    done = parked("resolve", *argv)
    assert done.code == 2
    assert words in done.err
    assert parked.events() == before


def test_a_second_answer_is_refused(parked: House) -> None:
    """A job that is no longer parked cannot be answered, and the message names the first answer."""
    assert parked("resolve", "j", *ANSWER, "--happened", "--result", "1").code == 0
    done = parked("resolve", "j", *ANSWER, "--happened", "--result", "2")
    assert done.code == 2
    assert "is open, not parked" in done.err
    assert "'happened' by Ann" in done.err


def test_of_two_answers_at_once_one_counts(parked: House) -> None:
    """Both read the same question; the second one's compare-and-set fails, and it is told to look again."""
    store = open_store(STORE)
    asked = question("j", store.events("j"))
    resolve(store, asked, Answer(True, "Ann", "seen", 1))
    resolve(store, asked, Answer(True, "Ann", "seen", 1))  # the same, repeated: acknowledged
    with pytest.raises(ResolveError, match="look again"):
        resolve(store, asked, Answer(True, "Bob", "seen", 2))
    assert [event.type for event in store.events("j")].count("invocation_resolved") == 1
    store.close()


# jobs, show, tools.


def test_jobs(house: House) -> None:
    """A line for each job, oldest first, on the terminal and as JSON."""
    house.run("touch", "first")
    house.run("refuse", "second")
    listed = house("jobs", "--store", STORE)
    assert listed.code == 0
    assert re.search(r"first.*completed.*\n.*second.*failed", listed.out)
    rows = json.loads(house("jobs", "--store", STORE, "--json").out)
    assert [(row["job_id"], row["status"], row["epoch"]) for row in rows] == [
        ("first", "completed", 1),
        ("second", "failed", 1),
    ]


def test_show(house: House) -> None:
    """Events, ledger and effects, on the terminal and, with everything that is stored, as JSON."""
    house.run("touch")
    shown = house("show", "j", "--store", STORE).out
    assert re.search(r"tool_invocation_started *│ step .*attempt", shown)
    assert re.search(r"ledger[^┐]*COMMITTED", shown)
    assert re.search(r"effects\s*┏", shown)
    records = json.loads(house("show", "j", "--store", STORE, "--json").out)
    assert [event["version"] for event in records["events"]] == [*range(1, len(records["events"]) + 1)]
    assert records["status"] == "completed"
    assert records["ledger"][0]["result"] == records["effects"][0]["output"] == {"word": "touched"}
    assert records["ledger"][0]["idempotency_key"] == records["effects"][0]["idempotency_key"]


def test_tools(house: House) -> None:
    """The shipped tools and one's own, with what each declares; what was not said is listed as such."""
    listed = house("tools", "--tools", "tools.py").out
    for line in (
        r"file\.append *│ no *│ no *│ quiet 60 s *│ query *│ 2 *│ Appends",
        r"sqlite\.insert *│ yes *│ no *│ fence *│ query",
        r"http\.post *│ yes *│ yes *│ none *│ park",
        r"touch *│ no *│ undeclared *│ none *│ park",
        r"refuse *│ no *│ yes *│ none *│ park *│ 0",
    ):
        assert re.search(line, listed), line


def test_output_that_nobody_reads(house: House) -> None:
    """`crashwindow … | head` ends without a traceback."""
    house.run("touch")
    with house.start("show", "j", "--store", STORE, "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
