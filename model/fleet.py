"""Any number of workers on one job: a row machine, made into rows for a fleet, mechanically (T-FENCE, T-WRITE, T-WORKER).

How to read it. A row machine (`step.py`, `recorded.py`) was written for one worker at a time. Here the same rows are taken
apart: what a worker has in memory, its own request and *a copy of each durable field* become fields of each worker (`w.at`,
`w.known_ledger`); a worker decides by its copies, which it fills at F1 to F3 and keeps up with its own writes alone, so one
that was overtaken goes on deciding by what it read long ago. What is durable, the world and the clock are shared.

Epochs are numbers that only grow. `w.stands_events` says that the worker's epoch is not below the event stream's fence;
likewise for the ledger and the effect store. A claim may come at any time while the job is open: nothing bounds expiries (a
lease protects nothing here). F1 to F3 raise a fence each and read. A write to a store where its worker does not stand is
refused, and the worker lets go; an append is refused, and recovery run again, where somebody else's event came in between
(`w.current`), events of clients alone being rebased over, but by an append that lets go of a job (`AT_REST`).
A worker *leads* if it has passed F3 and stands in the effect
store: nobody has passed F3 after it. A registry is a store without a fence: a worker that was overtaken still writes to it, once
for each record; it is read where the worker asks it, and not at F1 to F3. Of the fields that clients write at any time a worker
may know an old value; it looks again whenever it likes, and an append asks for what is there.

People and clients do not see where workers are: of their rows only what is durable is kept. Time that proves a request dead
(T-QUIET) passes while no worker has a request on the wire or is about to send one. A look that raises a fence at the tool
bars every worker with an older token. What only properties read (ghosts) is written by the worker that leads: the crash of
one that was overtaken excuses nothing; what the leader's crash would excuse is excused when it is overtaken.

A row has one acting worker, `w.`, and at F3 the one that led until then, `l.`. `fleet_build.py` makes the rows, with the words of
`fleet_terms.py`; claims, fences and refusals are in `fleet_fencing.py`. Two readers follow the rows: `fleet_rows.py`
makes a machine of some named workers, which is searched; `checkers/prove_fleet*.py` takes workers of an uninterpreted sort.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from .fleet_shape import FENCES, FleetPolicy, Shape
from .machine import Actor, Field, Guard, Machine

OWN: Final = "w."
LED: Final = "l."
NO_YES: Final = ("no", "yes")


def stands(store: str, who: str = OWN) -> str:
    """The field that says whether a worker's epoch is not below a store's fence."""
    return f"{who}stands_{store}"


def known(name: str) -> str:
    """A worker's copy of a durable field."""
    return f"known_{name}"


def at_work(fleet: "Fleet", worker: str) -> Guard:
    """That a named worker is at work, and that nobody has overtaken it: then it has the right to go on."""
    places = frozenset(next(f.values for f in fleet.own if f.name == "at")) - {"idle"}
    return {f"{worker}.at": places, stands("effects", f"{worker}."): frozenset({"yes"})}


@dataclass(frozen=True)
class Does:
    """What a row does, whenever it may fire: all that the state after it depends on, beside the state before. Many rows do the
    same. Fields as of `FleetRule`."""

    writes: tuple[tuple[str, str], ...]
    claims: bool
    raises: str
    bars: bool
    appends: bool
    acts: bool


@dataclass(frozen=True)
class FleetRule:
    """A row of the fleet. Names begin with `w.` (the acting worker), `l.` (who led until now), or are shared.

    unless: as for `Rule`. nobody: guards in `w.` that no worker satisfies. claims: the acting worker gets a new epoch, above all.
    raises: the store whose fence is raised to the acting worker's epoch. bars: every worker with an older epoch is barred at the
    tool. appends: an event that is not neutral, so that every other worker's knowledge of the stream is old. alone: nobody leads.
    """

    name: str
    actor: Actor
    guards: Guard = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    unless: tuple[Guard, ...] = ()
    nobody: tuple[Guard, ...] = ()
    claims: bool = False
    raises: str = ""
    bars: bool = False
    appends: bool = False
    alone: bool = False
    boundary: str | None = None
    emits: tuple[str, ...] = ()
    source: str = ""

    @cached_property
    def acts(self) -> bool:
        """Whether a worker acts, or is acted on."""
        return any(name.startswith(OWN) for name in (*self.guards, *self.writes))

    @cached_property
    def does(self) -> Does:
        """What the row does."""
        return Does(tuple(self.writes.items()), self.claims, self.raises, self.bars, self.appends, self.acts)

    @property
    def overtakes(self) -> bool:
        """Whether somebody led until now."""
        return any(name.startswith(LED) for name in self.guards)


@dataclass(frozen=True)
class Fleet:
    """A machine for any number of workers: shared fields, fields of each worker, rows; `ends`: places of a job's last writes."""

    machine: Machine
    shape: Shape
    policy: FleetPolicy
    shared: tuple[Field, ...]
    own: tuple[Field, ...]
    rules: tuple[FleetRule, ...]
    ends: frozenset[str]

    @property
    def name(self) -> str:
        """The policy's name: a policy belongs to one machine."""
        return self.policy.name

    @cached_property
    def decisions(self) -> frozenset[str]:
        """The rows by which a worker only decides where it goes: no other worker and no store can keep it from that."""
        return frozenset(rule.name for rule in self.machine.rules if rule.decides)

    @property
    def working(self) -> frozenset[str]:
        """The places of a worker that has read all stores."""
        places = next(f.values for f in self.own if f.name == "at")
        return frozenset(places) - {"idle", *FENCES}
