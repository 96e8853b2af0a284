"""A gate of a job in the words of its machine (`model/gate.py`): what the events say of its wait, its answer, and its step.

It follows T-WORKER and A2 of T-ORDER (P9), and what an approval's digest covers: the request that a person is shown. The checkers
of a run have a reader of their own.
"""

from collections.abc import Mapping
from typing import Any, Final

from .stream_beside import ended, follows, hashed, queues, right_behind
from .stream_events import Event, Stream, digest, filled
from .stream_fields import STARTED, MeaninglessError

ENDED: Final = {"job_completed": "completed", "job_failed": "failed", "job_cancelled": "cancelled"}
DECISIONS: Final = {"approve": "approved", "deny": "denied"}
"""What a person's answer is called on the record, and in the machine."""
OTHER: Final = "other action"
"""How an answer is recorded that is for another action than the one that would be taken."""
WITHDRAWN: Final = {"ended": "denied"}
"""What the machine calls the refusal that an event tells of, where nobody has answered: the request ended, which is as final."""
BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "node_started": ("",),
    "job_waiting": ("node_started", "job_waiting"),
    "wait_completed": ("node_started", "job_waiting"),
    "command_committed": ("wait_completed",),
    "node_finished": ("command_committed",),
    "state_checkpointed": ("node_finished",),
}
"""The node's own events: which may come next before each."""


class Gate:
    """A node that waits for a signal, or for a person's approval of a step.

    step: what may not begin before: the approved step, or the first tool step behind a wait; "" where there is none, and the rest
    of the job begins behind the node's checkpoint.
    """

    def __init__(self, stream: Stream, name: str) -> None:
        self.stream, self.name, self.node = stream, name, stream.nodes[name]
        self.what = f"gate {name!r}"
        self.step: str = self.node.get("approve") or stream.behind(name)
        spoken = [e.data["digest"] for e in stream.events if e.step == name and "digest" in e.data]
        self.first: str | None = next(iter(spoken), None)
        self.contract = f"approval-{digest([stream.job_id, name])[:24]}"
        begins = (STARTED, self.step) if self.step else ("state_checkpointed", name)
        self.start = next((n for n, e in enumerate(stream.events) if (e.type, e.step) == begins), None)

    @property
    def declared(self) -> dict[str, str]:
        """What it waits for."""
        return {"kind": "approval" if "approve" in self.node else "signal"}

    @property
    def signal(self) -> int | None:
        """The place of its signal: of the n-th node that waits for a name the n-th signal of that name. None: there is none."""
        alike = [name for name, node in self.stream.nodes.items() if node.get("wait") == self.node.get("wait")]
        sent = [
            number
            for number, event in enumerate(self.stream.events)
            if event.type == "signal_received" and event.data["signal"] == self.node.get("wait")
        ]
        place = alike.index(self.name)
        return sent[place] if "wait" in self.node and place < len(sent) else None

    def in_place(self, number: int) -> None:
        """Its own events: one order, an answer that was given, and a result that is this answer."""
        event = self.stream.events[number]
        ended(self.stream, number, self.name)
        if event.step != self.name:
            return
        follows(self.stream, number, BEFORE)
        data = event.data
        if event.type in ("job_waiting", "wait_completed") and "approve" in self.node:
            self.requested(data)
            self.waited_for(number)
        if event.type == "wait_completed" and "wait" in self.node:
            if self.signal is None or self.signal > number:
                raise MeaninglessError("its signal was not received")
            if data["data"] != self.stream.events[self.signal].data["data"]:
                raise MeaninglessError("it was answered with something else than its signal")
        if event.type == "command_committed":
            right_behind(self.stream, number, "wait_completed")
            said = self.stream.events[number - 1].data
            answer = said["data"] if "wait" in self.node else {n: v for n, v in said.items() if n != "node"}
            if (data["command_id"], data["kind"], data["result"]) != (self.name, "human", answer):
                raise MeaninglessError("what is recorded is not the answer")
            hashed(data)
        if event.type == "node_finished":
            passed = self.wait(number) not in ("none", "refused")
            if data["result_type"] != ("success" if passed else "permanent_failure"):
                raise MeaninglessError(f"it ends as {data['result_type']}, and its answer says otherwise")

    def requested(self, data: Mapping[str, Any]) -> None:
        """That it is this gate's request that a person is asked, or has answered, about some action. Raises MeaninglessError."""
        if data["contract_id"] != self.contract:
            raise MeaninglessError(
                f"it names the request {data['contract_id']!r}, and this gate's is {self.contract!r}"
            )
        if not isinstance(data["digest"], str):
            raise MeaninglessError(f"{data['digest']!r} is no digest of an action")

    def waited_for(self, number: int) -> None:
        """That an answer is for the action for which the job waited last. Raises MeaninglessError."""
        event = self.stream.events[number]
        if event.type == "job_waiting" or event.data["decision"] == OTHER:
            return
        shown = [
            e.data["digest"] for e in self.stream.events[:number] if (e.type, e.step) == ("job_waiting", self.name)
        ]
        if shown and shown[-1] != event.data["digest"]:
            raise MeaninglessError("it answers for another action than was waited for")

    def own(self, number: int) -> str | None:
        """Its waits, its signal, its answer; the start of what is behind it; cancels, and the job's end."""
        event = self.stream.events[number]
        if number == self.start:
            return STARTED
        match event.type:
            case "job_waiting" | "wait_completed":
                mine = event.step == self.name
            case "signal_received":
                mine = number == self.signal
            case "job_requeued":
                mine = event.data.get("node") == self.name
            case "compensation_requested":
                mine = self.wakes(number)
            case _:
                mine = event.type == "cancel_requested" or (event.type in ENDED and self.ends_here(event))
        return event.type if mine else None

    def ends_here(self, event: Event) -> bool:
        """Whether the end of the job is one that this gate has to allow: none of a node that comes before what it holds back, and
        no cancel of a job that waits at another node.
        """
        if event.type == "job_completed" or event.data["step"] == self.name:
            return True
        if event.type == "job_cancelled" and event.epoch is None:
            return False
        order = list(self.stream.nodes)
        return order.index(event.data["step"]) >= order.index(self.step or self.name)

    def fields(self, number: int) -> dict[str, str]:
        """What follows from the events up to this one."""
        places = range(number + 1)
        events = self.stream.events
        waits = [n for n in places if events[n].type == "job_waiting" and events[n].step == self.name]
        woken = waits and any(self.wakes(n) for n in range(waits[-1], number + 1))
        cancel = any(events[n].type == "cancel_requested" for n in places)
        return {
            "job": self.job(number),
            "wait": self.wait(number),
            "started": "none" if self.start is None or self.start > number else self.action(self.start),
            "waited": "yes" if waits else "no",
            "woken": "yes" if woken else "no",
            "cancel": "yes" if cancel else "no",
            "signal": "received" if self.signalled(number) else "none",
            **self.answered(number),
        }

    def job(self, number: int) -> str:
        """The job's status, waiting where it waits at this node."""
        for place in range(number, -1, -1):
            event = self.stream.events[place]
            if event.type in ENDED and self.ends_here(event):
                return ENDED[event.type]
            if event.type == "job_requeued" or queues(self.stream, place):
                return "open"
            if event.type == "job_waiting" and event.step == self.name:
                return "waiting"
        return "open"

    def wakes(self, number: int) -> bool:
        """Whether somebody has another step undone while the job waits here."""
        asked = self.stream.events[number].type == "compensation_requested" and queues(self.stream, number)
        return asked and self.job(number - 1) == "waiting"

    def signalled(self, number: int) -> bool:
        """Whether the signal is there; that of an approval is for the newest wait."""
        if "wait" in self.node:
            return self.signal is not None and self.signal <= number
        for event in reversed(self.stream.events[: number + 1]):
            if event.type == "job_waiting" and event.step == self.name:
                return False
            if event.type == "job_requeued" and event.data.get("node") == self.name:
                return True
        return False

    def completed(self, number: int) -> Mapping[str, Any] | None:
        """The newest answer on record."""
        said = [e.data for e in self.stream.events[: number + 1] if e.type == "wait_completed" and e.step == self.name]
        return said[-1] if said else None

    def wait(self, number: int) -> str:
        """What the newest answer is."""
        said = self.completed(number)
        if said is None:
            return "none"
        if "wait" in self.node:
            return "signalled"
        return self.named(said["digest"]) if said["decision"] == "approved" else "refused"

    def answered(self, number: int) -> dict[str, str]:
        """What an answer on record says of the contract: the action that was asked about, and the decision."""
        said = self.completed(number)
        if said is None or "wait" in self.node:
            return {}
        decision = {"decision": said["decision"]} if said["decision"] in DECISIONS.values() else {}
        return {"asked": self.named(said["digest"]), **decision}

    def named(self, action: str) -> str:
        """Which of two actions a digest is of: the first one that anybody speaks of, or another."""
        return "first" if self.first in (None, action) else "other"

    def action(self, number: int) -> str:
        """Which action the step begins: the planned one, with the results so far, as its event tells it; or another."""
        if "wait" in self.node:
            return "first"
        node, data = self.stream.nodes[self.step], self.stream.events[number].data
        args = filled(node["args"], self.stream.results(number))
        if (data["tool_name"], data["args_hash"]) != (node["tool"], digest(args)):
            return "other"
        job = self.stream.job_id
        shown = {
            "type": "confirmation",
            "message": f"Run step {self.step!r} of job {job!r}? ({self.name})",
            "job": job,
            "node": self.name,
            "step": self.step,
            "action": {"tool": node["tool"], "args": args},
        }
        return self.named(digest(shown))

    def rest(self) -> dict[str, str]:
        """The answer on the contract."""
        if "wait" in self.node:
            return {"asked": "none", "decision": "none"}
        given = {
            (answer["decision"], answer["digest"])
            for answer in self.stream.records["answers"]
            if answer["contract_id"] == self.contract
        }
        if len(given) > 1:
            raise MeaninglessError("two answers are on record, and one was asked for")
        decision, action = next(iter(given), (None, None))
        if decision is None:
            said = self.completed(len(self.stream.events) - 1) or {}
            return {"decision": WITHDRAWN.get(str(said.get("decision")), "none")}
        asked = {} if action is None else {"asked": self.named(action)}
        return {"decision": DECISIONS[decision], **asked}
