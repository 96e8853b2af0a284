"""What befalls the jobs of a rig between two turns, or before a boundary of one: people, clients, late requests, time."""

from typing import Final, Protocol

from ..runtime import resolve
from ..runtime.clients import Client, ClientError, why_parked
from ..runtime.history import History
from ..runtime.registry import Registry
from ..runtime.store import Store
from ..runtime.verifier import Mode
from .abstraction import StoredJob, durable_state
from .conform_follow import Disagreement
from .conform_world import QUIET, SIGNAL, TTL, Job, Services, step_name
from .standing import Stand

UNSETTLED: Final = ("open", "parked", "waiting")
CANCELLED: Final = {
    "requested": "client: cancels",
    "requeued": "client: cancels a parked job",
    "cancelled": "client: cancels a waiting job",
}
"""The model's rule for what became of a client's cancel."""
RELEASED: Final = "elsewhere: signalled"
"""A job that waits is open again."""


class Reads(Protocol):
    """Reads a job with SQL of its own."""

    def read(self, job_id: str) -> StoredJob:
        """The job as it is now."""

    def stand(self, job_id: str) -> Stand:
        """What a call of the job's has to be told now."""

    def close(self) -> None:
        """Give back what is open."""


class People:
    """Jobs in a store, with whoever speaks to them, and the model beside each step. A rig adds the workers.

    slept: how long these have paused in all. No clock shows it: what a request or a lease has waited for is for a walk to say.
    """

    store: Store
    reader: Reads

    def __init__(self, beyond: bool) -> None:
        self.clock = 1_000_000.0
        self.slept = 0.0
        self.beyond = beyond
        self.mode: Mode = "strict"
        self.jobs: dict[str, Job] = {}
        self.status: dict[str, str] = {}
        self.services = Services(self.jobs, beyond, lambda: self.clock + self.slept, self._stand)
        self.registry = Registry()

    def _stand(self, job_id: str) -> Stand:
        """What the store has of a call that is made now; a crash has put another reader in the place of the one before."""
        return self.reader.stand(job_id)

    def has(self, status: str) -> bool:
        """Whether some job is open, parked, …"""
        return status in self.status.values()

    def unsettled(self) -> int:
        """How many jobs have not come to their end."""
        return sum(status in UNSETTLED for status in self.status.values())

    def has_late_requests(self) -> bool:
        """Whether a request is on the wire whose sender is gone."""
        return any(world.wire for job in self.jobs.values() for world in job.worlds.values())

    def _first(self, *statuses: str) -> str | None:
        return next((job_id for job_id, status in self.status.items() if status in statuses), None)

    def _client(self) -> Client:
        return Client(self.store, "ann", lambda _: None)

    def _history(self, job_id: str) -> History:
        return History(self.store.events(job_id))

    def configure(self, mode: Mode) -> None:
        """From now on the workers confirm records in this mode."""
        self.mode = mode

    # People.

    def answer(self, serve_late: bool) -> bool:
        """A truthful person answers about the oldest parked job; False when there is none, or the person cannot say so yet."""
        parked = self._first("parked")
        if parked is None:
            return False
        history = self._history(parked)
        why, step = why_parked(history), history.parked or ""
        match why:
            case "confirmation":
                self._confirm(parked)
            case "compensation failed" if not history.step(step).in_doubt:
                return self._alone_under_way(parked, step) and self._undo(parked, step)
            case "compensation outcome":
                self._tell_undone(parked, serve_late)
            case _:
                self._tell(parked, serve_late)
        return True

    def tell(self, serve_late: bool) -> bool:
        """The same of the step of which nobody knows, whatever else the job is parked for; False when there is none."""
        parked = self._first("parked")
        waiting = [past for past in self._history(parked).steps.values() if past.asks] if parked else []
        if parked is None or not waiting or (waiting[0].undo is not None and waiting[0].undo.lost):
            return False
        self._tell(parked, serve_late)
        return True

    def _tell(self, parked: str, serve_late: bool) -> None:
        """Whether the effect happened."""
        asked = resolve.question(parked, self.store.events(parked))
        world = self.jobs[parked].worlds[asked.step]
        if not world.effects:
            self.wait(serve_late)
        happened = world.first is not None
        result = world.first.value if world.first is not None else None
        said = resolve.Answer(happened, "ann", "the tool's own log", result)
        resolve.resolve(self.store, asked, said, lambda _: None)
        world.by_person |= happened
        for name, follower in self.jobs[parked].followers.items():
            if name == asked.step:
                follower.person(happened)
                follower.verified = follower.verified and not happened  # a person's word records no change
            else:
                follower.elsewhere("job_requeued")
        self._observe(parked)

    def _tell_undone(self, parked: str, serve_late: bool) -> None:
        """Whether what was to undo the effect has done so. For the model of the step, its undoing is begun again."""
        asked = resolve.question(parked, self.store.events(parked))
        undone = self.jobs[parked].worlds[asked.step].undone
        if not undone:
            self.wait(serve_late)
        said = resolve.Answer(undone, "ann", "the tool's own log", "undone" if undone else None)
        resolve.resolve(self.store, asked, said, lambda _: None)
        self._requeued(parked, asked.step, "person: has it compensated")

    def _confirm(self, parked: str) -> None:
        """A person accepts a record that no look has confirmed."""
        step = self._client().confirm(parked, "I looked myself")
        self._requeued(parked, step, "person: accepts the record")

    def _requeued(self, job_id: str, step: str, rule: str) -> None:
        """Something was said about one step, and the job is open again."""
        for name, follower in self.jobs[job_id].followers.items():
            if name == step:
                follower.outside(rule)
            else:
                follower.elsewhere("job_requeued")
        self._observe(job_id)

    # Clients.

    def cancel(self) -> bool:
        """A client cancels the oldest job that has not ended, once more if it has before; False when there is none."""
        job_id = self._first(*UNSETTLED)
        return job_id is not None and self._cancel(job_id)

    def _cancel(self, job_id: str) -> bool:
        became = self._client().cancel(job_id, "not wanted")
        for follower in self.jobs[job_id].followers.values():
            follower.outside(CANCELLED[became])
        self._observe(job_id)
        return True

    def signal(self) -> bool:
        """A client sends the oldest job a signal; False when there is none that takes it."""
        job_id = self._first(*UNSETTLED)
        return job_id is not None and self._signal(job_id)

    def _signal(self, job_id: str) -> bool:
        wakes = self.status[job_id] == "waiting"
        try:
            self._client().signal(job_id, SIGNAL)
        except ClientError:
            return False
        for follower in self.jobs[job_id].followers.values() if wakes else ():
            follower.outside(RELEASED)
        self._observe(job_id)
        return True

    def undo(self, number: int = 0) -> bool:
        """A client asks that a step of the oldest job be undone: by number, or the first that can be; False if none is.

        The first that can be is none while another step is under way: what that one's model has to say of it is another matter
        (decision 030). By a number, whoever wrote the program knows that the models can follow.
        """
        job_id = self._first(*UNSETTLED)
        if job_id is None:
            return False
        steps = [step for step in self.jobs[job_id].followers if step == step_name(number) or not number]
        return any((number or self._alone_under_way(job_id, step)) and self._undo(job_id, step) for step in steps)

    def _alone_under_way(self, job_id: str, step: str) -> bool:
        """Whether no other step of a job has begun and is not over."""
        followed, history = self.jobs[job_id].followers, self._history(job_id)
        beside = [past for name, past in history.steps.items() if name != step and name in followed]
        return not any(past.attempts and not past.checkpointed for past in beside)

    def _undo(self, job_id: str, step: str) -> bool:
        status = self.status[job_id]
        try:
            self._client().compensate(self.registry.tools, job_id, step, "not wanted")
        except ClientError:
            return False
        self.jobs[job_id].followers[step].asked = True
        if status == "parked":
            self._requeued(job_id, step, "person: has it compensated")
        elif status == "waiting":
            for follower in self.jobs[job_id].followers.values():
                follower.outside(RELEASED)
        self._observe(job_id)
        return True

    # The world, and time.

    def wait(self, serve_late: bool) -> None:
        """Requests on the wire arrive, or are lost; then so much time passes that none can be under way (A-QUIET)."""
        while self.late(serve_late):
            pass
        self._time()
        for job_id in self.jobs:
            self._observe(job_id)

    def _time(self) -> None:
        """So much time passes that nothing that was sent can be under way."""
        self.clock += TTL + QUIET + 1
        for job in self.jobs.values():
            for follower in job.followers.values():
                follower.time_passes()

    def late(self, serve: bool) -> bool:
        """A request on the wire arrives, or is lost; False when there is none."""
        for job_id, job in self.jobs.items():
            for name, world in job.worlds.items():
                if world.wire:
                    key = world.wire.pop(0)
                    did = world.serve(key)[1] if serve else "recognises the key"
                    rules = {"serves": "late request", "serves again": "late request again"}
                    job.followers[name].world(f"world: {rules.get(did, 'late request lost')}")
                    self._observe(job_id)
                    return True
        return False

    # The model beside them.

    def _observe(self, job_id: str, raw: bool = False) -> None:
        """Compare every step of a job with its file: through a connection, or raw, as a crash leaves it."""
        job = self.jobs[job_id]
        stored = job.without_undoing(self._raw(job_id) if raw else self.reader.read(job_id))
        if misquoted := job.misquoted(stored):
            raise Disagreement(f"{job_id}: {misquoted}")
        for name, follower in job.followers.items():
            world = job.worlds[name]
            state = durable_state(stored, name, world.first)
            follower.observe(state, world.effects)
            self.status[job_id] = state["job"]

    def _raw(self, job_id: str) -> StoredJob:
        """The job as a crash has left it."""
        raise NotImplementedError
