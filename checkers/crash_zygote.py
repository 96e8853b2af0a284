"""The small warm parent: a process that has imported the runtime and no solver, and forks the processes that die.

It runs as `python -m crashwindow.checkers.crash_zygote DIRECTORY` and speaks JSON lines. A request is one line, `{"do": "sweep",
…}` or `{"do": "kill", …}`; the answer is a line for each record and a last one, `{"done": true}` or `{"error": …}`. It
ends when its standard input does. `Zygote` is the other end.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from ..model.policy import Policy
from .crash_cases import CASES, Subject
from .crash_faults import parse_key
from .crash_kill import Killer
from .crash_run import Record
from .crash_shipped import SERVER, SHIPPED
from .crash_snapshot import Breadth, sweep_case

SUBJECTS: Final[dict[str, Subject]] = {**CASES, **SHIPPED}
CLOSING_SECONDS: Final = 35.0
"""How long it may take to end: longer than any forked process lives."""


class Zygote:
    """A warm parent, as a process of this one."""

    def __init__(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A session of its own: an interrupt from the keyboard is for the parent, and one signal ends all that it forked.
            start_new_session=True,
        )

    def ask(self, request: dict[str, Any]) -> Iterator[Record]:
        """The records that answer a request; raises RuntimeError with the traceback from over there."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if "error" in answer and "key" not in answer:
                raise RuntimeError(f"a crash schedule could not be run:\n{answer['error']}")
            if "done" in answer:
                return
            yield Record.from_json(answer)
        raise RuntimeError(f"the process that forks crash schedules ended with status {self.process.wait()}")

    def sweep(self, case: str, breadth: Breadth, policy: Policy) -> Iterator[Record]:
        """Every schedule of a case, by snapshots."""
        return self.ask({"do": "sweep", "case": case, "breadth": asdict(breadth), "policy": asdict(policy)})

    def kill(self, keys: list[str], policy: Policy) -> Iterator[Record]:
        """These schedules of one case, by SIGKILL."""
        return self.ask({"do": "kill", "keys": keys, "policy": asdict(policy)})

    def close(self) -> None:
        """Let it finish what it is doing, and end."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
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


def answers(request: dict[str, Any], directory: str, killers: dict[tuple[str, Policy], Killer]) -> Iterator[Record]:
    """The records that answer a request."""
    policy = policy_from(request["policy"])
    if request["do"] == "sweep":
        gc.enable()
        yield from sweep_case(SUBJECTS[request["case"]], Breadth(**request["breadth"]), policy, directory)
        return
    # What the collector touches is copied in each forked process.
    gc.disable()
    gc.freeze()
    for key in map(parse_key, request["keys"]):
        if (key.case, policy) not in killers:
            killers[key.case, policy] = Killer(SUBJECTS[key.case], policy, f"{directory}/{len(killers)}")
        yield killers[key.case, policy].run(key.schedule)


def policy_from(data: dict[str, Any]) -> Policy:
    """A policy from its JSON form, in which tuples are lists."""
    return Policy(**{**data, "order": tuple(data["order"]), "evidence": tuple(data["evidence"])})


def main(directory: str) -> None:
    """Answer requests until there are no more."""
    killers: dict[tuple[str, Policy], Killer] = {}
    try:
        for line in sys.stdin:
            try:
                for record in answers(json.loads(line), directory, killers):
                    sys.stdout.write(json.dumps(record.to_json()) + "\n")
                last: dict[str, Any] = {"done": True}
            except Exception:
                last = {"error": traceback.format_exc()}
            sys.stdout.write(json.dumps(last) + "\n")
            sys.stdout.flush()
    finally:
        SERVER.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main(sys.argv[1])
