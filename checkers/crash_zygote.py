"""The small warm parent: a process that has imported the runtime and no solver, and forks those that sweep and those that die.

It runs `main` and speaks pickles, with its own program only: a `Request` is answered by a `Reply`. It ends when its standard
input does. `Zygote` is the other end.
"""

import gc
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import BinaryIO, Final, NamedTuple

from ..model.policy import Policy
from ..scenarios.profile import SESSIONS
from .crash_cases import CASES
from .crash_faults import Key, Schedule
from .crash_image import Files
from .crash_kill import Killer, run_together
from .crash_run import Record, Traces
from .crash_server import stop_servers
from .crash_shipped import SHIPPED
from .crash_snapshot import Breadth, sweep_case
from .crash_subject import Subject
from .substitute import Plant, planted

SUBJECTS: Final[dict[str, Subject]] = {**CASES, **SHIPPED}
SEMANTICS: Final = "semantics-"
"""How the names of jobs begin that retry, wait, compensate and so on."""
CLOSING_SECONDS: Final = 35.0
"""How long it may take to end: longer than any forked process lives."""


class Request(NamedTuple):
    """What is to be run: a case swept by snapshots as far as `breadth` goes, or schedules by SIGKILL.

    images: whether the files that each of these schedules leaves in the end are wanted as well.
    weakened: whether the policy is one under which the runtime has lost a rule (`without_rules`).
    """

    policy: Policy
    case: str = ""
    breadth: Breadth | None = None
    keys: tuple[Key, ...] = ()
    images: bool = False
    weakened: bool = False


class Reply(NamedTuple):
    """The records, the traces that were not told before, and the images that were asked for; or an error's traceback."""

    records: list[Record]
    traces: Traces
    images: Mapping[Key, Files]
    error: str | None = None


class Zygote:
    """A warm parent, as a process of this one."""

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import sys, {__name__} as it; it.main(sys.argv[1])", directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A session of its own: an interrupt from the keyboard is for the parent, and one signal ends all that it forked.
            start_new_session=True,
            # Each life has a thread: with an arena for each, every one would touch new pages, and pages cost more than locks.
            env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        )

    def ask(self, request: Request) -> Reply:
        """The answer to a request; raises RuntimeError with the traceback from over there."""
        assert self.process.stdin
        assert self.process.stdout
        pickle.dump(request, self.process.stdin)
        self.process.stdin.flush()
        try:
            reply: Reply = pickle.load(self.process.stdout)
        except EOFError:
            status = self.process.wait()
            raise RuntimeError(f"the process that forks crash schedules ended with status {status}") from None
        if reply.error:
            raise RuntimeError(f"a crash schedule could not be run:\n{reply.error}")
        return reply

    def close(self) -> None:
        """Let it finish what it is doing, and end."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                # A request that was never read is of no interest any more.
                with suppress(BrokenPipeError):
                    stream.close()
        try:
            self.process.wait(CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            self.stop()

    def stop(self) -> None:
        """End it at once, with every process that it has forked."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.process.stdout and not self.process.stdout.closed:
            # Each that it forked holds an end of the pipe for as long as it runs.
            self.process.stdout.read()


def subject_of(name: str) -> Subject:
    """The subject that a key names. Raises ValueError, which lists what there is."""
    known: Mapping[str, Subject] = SUBJECTS
    if name.startswith(SEMANTICS):
        from .ended_cases import ENDED_CASES
        from .semantics_cases import SEMANTICS_CASES

        known = {**SEMANTICS_CASES, **ENDED_CASES}
    elif name.startswith(SESSIONS):
        # A process that forks no sessions is smaller without what they need.
        from .contract_cases import CONTRACT_CASES
        from .contract_mail import MAIL_CASES

        known = {**CONTRACT_CASES, **MAIL_CASES}
    if name not in known:
        raise ValueError(f"there is no case {name!r}; there are {', '.join(known)}")
    return known[name]


class Kills:
    """What a parent runs by SIGKILL: each case under each policy has its killer, and no trace is told twice."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.killers: dict[tuple[str, Policy], Killer] = {}
        self.traces: Traces = {}
        self.told: set[str] = set()

    def answer(self, request: Request) -> Reply:
        """Run the schedules of a request side by side."""
        images: dict[Key, Files] = {}
        asked: list[tuple[Killer, Schedule]] = []
        for key in request.keys:
            killer = self.killer(key.case, request.policy)
            killer.wanted, killer.images = frozenset(request.keys if request.images else ()), images
            asked.append((killer, key.schedule))
        records = run_together(asked)
        new = {name: trace for name, trace in self.traces.items() if name not in self.told}
        # They are told, and would only make the process that is forked larger.
        self.told.update(new)
        self.traces.clear()
        return Reply(records, new, images)

    def killer(self, case: str, policy: Policy) -> Killer:
        """The one of a case."""
        if (case, policy) not in self.killers:
            directory = f"{self.directory}/{len(self.killers)}"
            self.killers[case, policy] = Killer(subject_of(case), policy, directory, self.traces)
        return self.killers[case, policy]


def swept(request: Request, directory: str) -> Reply:
    """Sweep the case of a request."""
    assert request.breadth
    traces: Traces = {}
    records = list(sweep_case(subject_of(request.case), request.breadth, request.policy, directory, traces))
    return Reply(records, traces, {})


def send(answer: Callable[[], Reply], replies: BinaryIO) -> None:
    """Send what answers a request, or why there is no answer."""
    try:
        reply = answer()
    except Exception:
        reply = Reply([], {}, {}, traceback.format_exc())
    pickle.dump(reply, replies)
    replies.flush()


def weakened(plant: Plant, request: Request, directory: str) -> Reply:
    """Run the schedules of a request on a runtime that has lost a rule."""
    with planted(plant):
        return Kills(f"{directory}/{request.policy.name}").answer(request)


def apart(work: Callable[[], None]) -> int:
    """Work in a forked process, and wait until it has ended; with which status."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def answer_apart(answer: Callable[[Request, str], Reply], request: Request, directory: str, replies: BinaryIO) -> None:
    """Answer a request in a process of its own. What that leaves in memory stays apart: a small process forks fast."""
    with suppress(ValueError):  # there is no such case, as the forked process will tell
        for case in [key.case for key in request.keys] or [request.case]:
            subject_of(case)  # what it needs is loaded here, and once
    status = apart(partial(send, partial(answer, request, directory), replies))

    def lost() -> Reply:
        raise RuntimeError(f"the process that ran {request.case or request.keys} ended with status {status}")

    if status:
        send(lost, replies)


def main(directory: str) -> None:
    """Answer requests until there are no more."""
    # What the collector touches is copied in each forked process: it runs between requests.
    gc.disable()
    gc.freeze()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Replies have a channel of their own: whatever a tool, a library or a forked process prints must not get between them.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    kills = Kills(directory)
    try:
        while True:
            try:
                request = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            if request.breadth:
                answer_apart(swept, request, directory, replies)
            elif request.weakened:
                from .without_rules import WITHOUT  # here, and once

                answer_apart(partial(weakened, WITHOUT[request.policy.name]), request, directory, replies)
            else:
                send(partial(kills.answer, request), replies)
            gc.collect()
    finally:
        stop_servers()
