"""What clients and people do in a chaos campaign: one errand at a time, with the shipped client code.

A person is honest: an outcome is answered after the quiet time, and after a look at the world. The errand's token is put into
what is written, so that it can be counted later: what was acknowledged is there once, and nothing is there twice.
"""

import time
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from ..runtime import drive
from ..runtime.clients import Begin, Client, ClientError, why_parked
from ..runtime.commands import Ports
from ..runtime.contracts import operations
from ..runtime.contracts.approvals import take
from ..runtime.contracts.commands import ContractPorts
from ..runtime.contracts.store import ContractError
from ..runtime.drive import Perform
from ..runtime.gate import request_id
from ..runtime.history import History
from ..runtime.plan import submission
from ..runtime.records import Json
from ..runtime.registry import Registry
from ..runtime.resolve import Answer, ResolveError, question, resolve
from ..runtime.shift import contracts_of
from ..runtime.store import JobExistsError, Store, StoreError
from .chaos_world import World
from .semantics_records import UNDO

Kind = Literal["submit", "attend", "signal", "cancel", "undo"]
"""attend: do whatever a job at rest waits for."""
Outcome = Literal["said", "nothing", "early", "refused", "unknown"]
"""said: acknowledged. nothing: it was said before, or nothing is waited for. early: the quiet time is not over. unknown: the
store gave no definite answer."""

MARGIN: Final = 0.25
"""Seconds after the quiet time that an honest person waits."""


class Errand(NamedTuple):
    """One errand. detail: of `submit` the stored plan; of `attend` what is said to a request for approval.

    token: the errand's name, in what it writes; another one for each try.
    """

    kind: Kind
    job_id: str
    detail: Json = None
    token: str = ""


class Done(NamedTuple):
    """How an errand ended. job_id: the job that was spoken to; of an undoing, the one that will do it."""

    errand: Errand
    outcome: Outcome
    job_id: str


class Person:
    """Does errands on a store. The world is looked at where an outcome is asked for."""

    def __init__(self, store: Store, registry: Registry, world: World, perform: Perform) -> None:
        self._store, self._registry, self._world, self._perform = store, registry, world, perform
        self._ports = Ports(store, time.sleep, contracts_of(store))

    def do(self, errand: Errand) -> Done:
        """Do an errand, once."""
        try:
            match errand.kind:
                case "submit":
                    first = Begin(errand.job_id, tuple(submission(errand.job_id, errand.detail)), "submit")
                    drive.persist(first, self._ports, self._perform)
                    return Done(errand, "said", errand.job_id)
                case "undo":
                    return self._undo(errand)
                case "cancel":
                    self._client(errand).cancel(errand.job_id, errand.token)
                    return Done(errand, "said", errand.job_id)
                case "signal":
                    return Done(errand, self._signal(errand), errand.job_id)
                case "attend":
                    return Done(errand, self._attend(errand), errand.job_id)
        except (ClientError, ResolveError, ContractError, JobExistsError):
            return Done(errand, "refused", errand.job_id)
        except StoreError:
            return Done(errand, "unknown", errand.job_id)

    def _client(self, errand: Errand) -> Client:
        return Client(self._store, errand.token, perform=self._perform)

    def _signal(self, errand: Errand) -> Outcome:
        """The first signal that is missing. Two clients may send it: of one id only the first counts."""
        client = self._client(errand)
        history = client.history(errand.job_id)
        for node in history.plan["nodes"]:
            if "wait" in node and node["wait"] not in history.signals:
                new = client.signal(errand.job_id, node["wait"], errand.token, signal_id=node["wait"])
                return "said" if new else "nothing"
        return "nothing"

    def _undo(self, errand: Errand) -> Done:
        """Ask that the first step be undone which has a result and a compensation."""
        client = self._client(errand)
        history = client.history(errand.job_id)
        for node in history.plan["nodes"]:
            past = history.step(node["id"])
            if "tool" in node and past.stored and past.undo is None and self._registry[node["tool"]].compensation:
                job = client.compensate(self._registry.tools, errand.job_id, node["id"], errand.token)
                return Done(errand, "said", job)
        return Done(errand, "nothing", errand.job_id)

    def _attend(self, errand: Errand) -> Outcome:
        """Say what a job at rest waits for."""
        history = self._client(errand).history(errand.job_id)
        waiting = history.waiting or {}
        if history.status == "waiting" and "signal" in waiting:
            return self._signal(errand)
        if history.status == "waiting":
            return self._decide(errand, waiting["node"])
        if history.status != "parked":
            return "nothing"
        if why_parked(history) == "compensation failed":
            self._client(errand).compensate(self._registry.tools, errand.job_id, history.parked or "", errand.token)
            return "said"
        return self._resolve(errand)

    def _decide(self, errand: Errand, gate: str) -> Outcome:
        """A word about exactly the action that is shown; then the answer is taken, which somebody may have died before."""
        assert self._ports.contracts is not None
        desk = ContractPorts(self._store, time.sleep, self._ports.contracts)
        name, told = request_id(errand.job_id, gate), False
        if desk.contracts.given(name) is None:
            if errand.detail == "deny":
                operations.deny(desk, name, errand.token, self._perform)
            else:
                shown = desk.contracts.contract(name).action_digest
                operations.approve(desk, name, errand.token, digest=shown, perform=self._perform)
            told = True
        with suppress(ContractError):  # somebody else has taken it
            take(desk, errand.job_id, self._perform)
        return "said" if told else "nothing"

    def _resolve(self, errand: Errand) -> Outcome:
        """Wait for the quiet time, look at the world, say what is there."""
        events = self._store.events(errand.job_id)
        asked = question(errand.job_id, events)
        if self._store.now() < asked.quiet_until + MARGIN:
            return "early"
        undo = History(events).step(asked.step).undo
        name = asked.step + UNDO * (undo is not None and undo.lost)
        marks = self._world.marks(errand.job_id)
        effect = next((mark for mark in marks if mark.kind == "effect" and mark.step == name), None)
        if effect:
            said = Answer(True, errand.token, errand.token, effect.result, effect.external_id)
        else:
            said = Answer(False, errand.token, errand.token)
        resolve(self._store, asked, said, perform=self._perform)
        return "said"
