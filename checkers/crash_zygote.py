"""The small warm parent: a process that has imported the runtime and no solver, and forks the processes that die.

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
from collections.abc import Mapping
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from ..model.policy import Policy
from .crash_cases import CASES
from .crash_faults import Key
from .crash_image import Files
from .crash_kill import Killer
from .crash_run import Record, Traces
from .crash_server import stop_servers
from .crash_shipped import SHIPPED
from .crash_snapshot import Breadth, sweep_case
from .crash_subject import Subject

SUBJECTS: Final[dict[str, Subject]] = {**CASES, **SHIPPED}
CONTRACTS: Final = "contract-"
"""How the names of sessions of execution contracts begin, as those of plans do not."""
SEMANTICS: Final = "semantics-"
"""How the names of jobs begin that retry, wait, compensate and so on."""
CLOSING_SECONDS: Final = 35.0
"""How long it may take to end: longer than any forked process lives."""


class Request(NamedTuple):
    """What is to be run: a case swept by snapshots as far as `breadth` goes, or schedules by SIGKILL.

    images: whether the files that each of these schedules leaves in the end are wanted as well.
    """

    policy: Policy
    case: str = ""
    breadth: Breadth | None = None
    keys: tuple[Key, ...] = ()
    images: bool = False


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


def subject_of(name: str) -> Subject:
    """The subject that a key names. Raises ValueError, which lists what there is."""
    known: Mapping[str, Subject] = SUBJECTS
    if name.startswith(SEMANTICS):
        from .semantics_cases import SEMANTICS_CASES

        known = SEMANTICS_CASES
    elif name.startswith(CONTRACTS):
        # A process that forks no sessions is smaller without what they need.
        from .contract_cases import CONTRACT_CASES
        from .contract_mail import MAIL_CASES

        known = {**CONTRACT_CASES, **MAIL_CASES}
    if name not in known:
        raise ValueError(f"there is no case {name!r}; there are {', '.join(known)}")
    return known[name]


Killers = dict[tuple[str, Policy], Killer]


def answer(
    request: Request, directory: str, killers: Killers, traces: Traces, images: dict[Key, Files]
) -> list[Record]:
    """The records that answer a request; what its runs left is added to `traces`, and to `images` where they are asked for."""
    policy = request.policy
    if request.breadth:
        return list(sweep_case(subject_of(request.case), request.breadth, policy, directory, traces))
    records: list[Record] = []
    for case, keys in groupby(request.keys, attrgetter("case")):
        if (case, policy) not in killers:
            killers[case, policy] = Killer(subject_of(case), policy, f"{directory}/{len(killers)}", traces)
        killer = killers[case, policy]
        killer.wanted, killer.images = frozenset(request.keys if request.images else ()), images
        records += killer.run_all([key.schedule for key in keys])
    return records


def main(directory: str) -> None:
    """Answer requests until there are no more."""
    # What the collector touches is copied in each forked process: it runs between requests.
    gc.disable()
    gc.freeze()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Replies have a channel of their own: whatever a tool, a library or a forked process prints must not get between them.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    killers: Killers = {}
    traces: Traces = {}
    told: set[str] = set()
    try:
        while True:
            try:
                request = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            try:
                images: dict[Key, Files] = {}
                records = answer(request, directory, killers, traces, images)
                reply = Reply(records, {name: trace for name, trace in traces.items() if name not in told}, images)
            except Exception:
                reply = Reply([], {}, {}, traceback.format_exc())
            pickle.dump(reply, replies)
            replies.flush()
            gc.collect()
            # They are told, and would only make the process that is forked larger.
            told.update(traces)
            traces.clear()
    finally:
        stop_servers()
