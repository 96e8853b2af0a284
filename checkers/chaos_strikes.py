"""Strikes: which process is armed with which faults, what happens when it comes to one, and who goes on when."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

from ..runtime.store import StoreError
from .chaos_errands import Kind
from .chaos_faults import MOMENTS, SAID, Fault, FaultKind, Plan, faults_of, steered
from .chaos_fleet import Fleet, Slot
from .chaos_paused import Paused
from .chaos_proxy import Cut, Order
from .chaos_records import Site
from .chaos_result import Options, Result
from .chaos_site import TICK, EmbeddedSite, PostgresSite
from .chaos_worker import Reached

BATCH: Final = 12
"""How many moments are armed in a process at the same time."""
PATIENCE: Final = 3.0
"""Seconds that a process has to come to one of them."""
BREATH: Final = 0.2
"""Seconds between a fault and the next one in the same process; none where it is steered to what is missing."""
CALM: Final = 2.0
"""The same for a client: those who submit and answer jobs must come to it."""
HOURS: Final = (-5.0, -1.0, 1.0, 5.0)
"""How far a worker's wall clock jumps."""
DOWN: Final = 0.2
"""Seconds that a server is down, at most, before it is started again."""
FULL: Final = (0.2, 0.8)
"""Seconds that a disk is full, at least and at most."""


BOUND: Final = 0.75
"""The part of the quiet time D that a process is stopped for, at most: the rest is for a machine that is busy (A-QUIET)."""
EARLY: Final = 0.25
"""The part of it after which a process is let on before the server is stopped."""
WATCH: Final = 3.0
"""Seconds that a job is judged again after a process was let on at it: whatever it still does must not matter."""
LATER: Final = 2.0
"""Seconds that others have to finish a job, beyond lease and quiet time, where a protection is missing."""


LANDS: Final = 0.5
"""Seconds that a write which was late has to be answered, once it may arrive."""

READING: Final = Fault("hold", ("fence_events", "after"), "fenced")
"""Armed in others while a write waits for them to read the stream. It is no fault: whoever comes goes on at once."""

Ask = Callable[[str, Kind, Slot], str]
"""Has a client, in another process than this one, do something about a job; the errand's token."""


class Strikes:
    """The faults of a campaign, from its plan to their counts."""

    def __init__(self, site: Site, fleet: Fleet, options: Options, chance: random.Random, ask: Ask) -> None:
        self._site, self._fleet, self._options, self._chance, self._ask = site, fleet, options, chance, ask
        self.kinds = {"kill", "pause", *site.faults}
        faults = steered(options.without) if options.without else faults_of(self.kinds)
        self._plan = Plan(chance, [fault for fault in faults if fault.moment[0] not in SAID])
        self._said = Plan(chance, [fault for fault in faults if fault.moment[0] in SAID])
        self._struck: Counter[Fault] = Counter()
        self._paused: list[Paused] = []
        self._later: list[tuple[float, Callable[[], None]]] = []
        self.watched: dict[str, float] = {}
        """Jobs that a process was just let on at, though they may have ended, and until when they are to be watched."""
        self.fences: list[tuple[str, int, int]] = []
        """Of jobs whose stream was read just now: job, epoch, and how long the stream was (P5)."""
        self.errands: set[str] = set()
        """The tokens of errands that have ended, for whoever waits for one."""
        self._taken_over = 0
        self._longest = 0.0

    def __len__(self) -> int:
        return self._struck.total()

    @property
    def every_kind(self) -> bool:
        """Whether each kind of fault has struck."""
        return self.kinds <= {fault.kind for fault in self._struck}

    def arm(self) -> None:
        """Give each process that has had some rest a few moments to be struck at."""
        now = time.monotonic()
        for slot in self._fleet.all:
            breath = 0.0 if self._options.without else CALM if slot.client else BREATH
            rest = PATIENCE if slot.armed else breath
            if slot.stopped or not slot.ready or now - slot.armed_at < rest:
                continue
            faults = self._plan_of(slot).take(BATCH)
            if self._options.once:
                faults = [fault for fault in faults if fault.kind not in {each.kind for each in self._struck}]
            if self._options.soak and slot.number == 0:
                faults = [fault for fault in faults if fault.kind != "kill"]
            slot.arm(faults)

    def _plan_of(self, slot: Slot) -> Plan:
        return self._said if slot.client else self._plan

    def strike(self, slot: Slot, reached: Reached) -> None:
        """A process stands at an armed moment."""
        fault = slot.armed.pop(reached.moment, None)
        self._plan_of(slot).give_back([each for each in slot.armed.values() if each != READING])
        slot.armed, slot.armed_at = {}, time.monotonic()
        self._note_fence(reached)
        stops = fault is not None and fault.kind in ("pause", "late write")
        if fault is None or fault == READING or (stops and not self._may_stop(slot)):
            slot.say("go")
            return
        if fault.kind == "late write" and not self._keep(slot, reached):
            return
        self._struck[fault] += 1
        match fault.kind:
            case "kill":
                slot.kill()
                slot.start()
                return
            case "pause" | "late write" | "hold":
                self._pause(slot, fault, reached)
                if fault.kind != "pause":
                    return
            case "server immediate" | "server kill":
                self._restart(slot, fault)
                return
            case "cut request" | "cut reply":
                cut: Cut = "request" if fault.kind == "cut request" else "reply"
                order = Order(cut, reached.job_id, fault.moment[0] == "heartbeat")
                cast(PostgresSite, self._site).cut(slot.number, order)
            case "clock":
                slot.say("clock", 3600 * self._chance.choice(HOURS))
            case "disk full":
                self._fill(slot)
        slot.say("go")  # a process that is stopped hears it when it goes on

    def due(self) -> None:
        """Do what is due by now: give room back, let processes go on."""
        now = time.monotonic()
        for entry in [entry for entry in self._later if entry[0] <= now]:
            self._later.remove(entry)
            entry[1]()
        options = self._options
        for paused in list(self._paused):
            stopped = now - paused.since
            limit = CALM if paused.slot.client else BOUND * options.quiet
            if options.without:
                limit = options.ttl + 2 * options.quiet + LATER
            over = paused.over(self._site, self.errands)
            alone = self._site.processes == 1 and stopped > 1.25 * options.ttl
            if over or alone or stopped > limit:
                self._let_on(paused)
                self._taken_over += over

    def end(self) -> None:
        """No fault strikes any more; whoever is stopped goes on, to do what it was about to do."""
        self._give_back()
        for paused in list(self._paused):
            self._let_on(paused)
        for slot in self._fleet.all:
            slot.arm([])

    def _give_back(self) -> None:
        """Give all room back, whatever its time."""
        for _, act in self._later:
            act()
        self._later = []

    def count(self, result: Result) -> None:
        """Note what struck, and what never did."""
        for fault, times in self._struck.items():
            row = result.struck.setdefault(fault.kind, {})
            moment = ":".join(fault.moment)
            row[moment] = row.get(moment, 0) + times
        for kind in sorted(self.kinds) if not self._options.without else ():
            moments = [":".join(moment) for moment in MOMENTS[cast(FaultKind, kind)]]
            never = [moment for moment in moments if moment not in result.struck.get(kind, {})]
            if never:
                result.gaps[kind] = never
        result.taken_over, result.longest_pause = self._taken_over, round(self._longest, 2)
        if isinstance(self._site, EmbeddedSite):
            result.disk_refusals = self._site.refusals()

    def _may_stop(self, slot: Slot) -> bool:
        """Whether somebody is left to take over; where there is one process alone, nobody is."""
        peers = self._fleet.clients if slot.client else self._fleet.slots
        others = [other for other in peers if other is not slot and not other.stopped]
        return bool(others) or (self._site.processes == 1 and not slot.client)

    def _keep(self, slot: Slot, reached: Reached) -> bool:
        """Let a process send its write, and keep that on the wire; whether it came. A server that is down sees none."""
        site = cast(PostgresSite, self._site)
        site.cut(slot.number, Order("late", reached.job_id, renewal=False))
        slot.say("go")
        return site.caught(slot.number)

    def _pause(self, slot: Slot, fault: Fault, reached: Reached) -> None:
        if fault.kind != "hold":
            slot.signal(signal.SIGSTOP)
        epoch = version = 0
        try:
            epoch = reached.epoch or self._site.lease(reached.job_id).epoch
            _, version = self._site.version(reached.job_id)
        except (StoreError, ValueError):  # no answer; or a job that is not there yet
            pass
        paused = Paused(slot, fault, reached.job_id, epoch, version, time.monotonic())
        self._paused.append(paused)
        if fault.beside is not None:
            paused.token = self._ask(reached.job_id, fault.beside, slot)
        if fault.until == "fenced":
            for other in self._fleet.slots:
                if other is not slot and not other.stopped:
                    other.arm([READING], reached.job_id)

    def _note_fence(self, reached: Reached) -> None:
        """Somebody has read a job's stream, and stands: from here on an older epoch may not write (P5).

        A write that is late, and waits for this, is let through before the reader goes on.
        """
        if reached.moment != READING.moment:
            return
        with suppress(StoreError):
            _, version = self._site.version(reached.job_id)
            self.fences.append((reached.job_id, reached.epoch, version))
            for paused in list(self._paused):
                if paused.job_id == reached.job_id and paused.fault.until == "fenced":
                    self._let_on(paused)
                    self._taken_over += 1
                    give_up = time.monotonic() + LANDS
                    while self._site.version(reached.job_id)[1] == version and time.monotonic() < give_up:
                        time.sleep(TICK)

    def _restart(self, slot: Slot, fault: Fault) -> None:
        """The server ends; the write that was held goes nowhere; the server comes back.

        That takes a while, in which nobody is let on: who has been stopped for long goes on before (A-QUIET). Its recovery needs
        room: a disk that is full is not by then, since nobody else would give that back.
        """
        self._give_back()
        for paused in list(self._paused):
            if time.monotonic() - paused.since > EARLY * self._options.quiet:
                self._let_on(paused)
        site = cast(EmbeddedSite, self._site)
        site.stop("kill" if fault.kind == "server kill" else "immediate")
        slot.say("go")
        time.sleep(self._chance.uniform(0, DOWN))
        site.start()

    def _fill(self, slot: Slot) -> None:
        """No room for a while."""
        until = time.monotonic() + self._chance.uniform(*FULL)
        if isinstance(self._site, EmbeddedSite):
            self._site.fill()
            self._later.append((until, self._site.free))
        else:
            slot.say("pages", 0)
            self._later.append((until, lambda: slot.say("pages", None)))

    def _let_on(self, paused: Paused) -> None:
        if paused.fault.kind == "hold":
            paused.slot.say("go")
        else:
            if paused.fault.kind == "late write":
                cast(PostgresSite, self._site).proxy(paused.slot.number).release()
            paused.slot.signal(signal.SIGCONT)
        paused.slot.armed_at = time.monotonic()
        self._paused.remove(paused)
        self.watched[paused.job_id] = time.monotonic() + WATCH
        self._longest = max(self._longest, time.monotonic() - paused.since)
