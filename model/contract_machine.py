"""The execution contract as rows: one irreversible tool contract, the request that gates it, its key, and everybody else.

How to read it. `tool` is the status of one contract, `request` that of the ECS contract that defers it. The contract executes
*through* the durable step, of which only the interface is here (`model.contract_step.INTERFACE`: what its records say, and
whether its effect happened); `checkers/refine.py` holds it against the step's own machine. A crash can strike whenever a
process lives, without limit. Where an edge leads is read from `model.contract.table`; a policy without an edge has no row for it.

Any number of contracts, keys, callers. Keys share nothing: no row reads or writes two keys. On one key other contracts are the
rules named `other:`. They touch what contracts share, the registry and the world, in every way that a contract of the same policy
can, and are counted without a bound; what they do to themselves concerns nobody else. C1 for every pair follows from C1
for this one, since it stands for any: `holder` is a function of the key, and a status that holds the key implies `holder = this`.
`tests/test_contract_model.py` checks the abstraction against two explicit contracts. Callers are alike: one is followed, with
what it has read; what all others do is `another caller …`.

What a rule of `model.contract.RULES` changes here when it is off: C-ONCE: only completed contracts are looked for. C-RETRY: a key
is free again once the contract is unknown. C-UNKNOWN: an error or a timeout ends a running contract without proof.
C-ORPHAN: the executor of an orphan does not ask the step's records. C-DENY: a denial is a resume and a rejection, and
frees the key. C-DEFER: a request ends alone. C-BIND: an approval is a release, for whatever the action has become. C-RESUME: a
caller writes what it has loaded; a resumed tool contract is completed. C-AHEAD: running is written after the executor has
begun. C-HISTORY: the oldest transition is dropped. C-ACTOR: the reasoner may start a contract.
"""

from typing import Final

from .contract import Status
from .contract_policy import HARDENED_CONTRACT, ContractPolicy
from .contract_rows import FIELDS, Key, Rows, but
from .contract_step import execution
from .machine import Actor, Machine

GATES: Final = (("before", "request"), ("during", "tool"))
"""Which contract waits for the person, by the kind of consent."""


def build_contract(policy: ContractPolicy = HARDENED_CONTRACT) -> Machine:
    """The machine of a contract under a policy."""
    rows = Rows(policy)
    for part in (
        _create,
        _request,
        _person,
        _resume,
        execution,
        _give_up,
        _change,
        _others,
        _crash,
    ):
        part(rows)
    return Machine(policy.name, FIELDS, tuple(rows.rules))


def _create(rows: Rows) -> None:
    """C-ONCE: creation looks at the key and reserves it, in one write."""
    held = " holder:this" if "C-ONCE" in rows.on else ""
    for name, consent, request in (("create", "none|during", ""), ("create, deferred", "before", " request:pending")):
        rows.row(name, Actor.WORKER, sees=f"consent:{consent} tool:absent holder:free",
                 writes=f"tool:pending{held}{request}", boundary="create_contracts", source="C-ONCE")  # fmt: skip


def _request(rows: Rows) -> None:
    """The ECS contract: it asks a person, and has no effect of its own."""
    move = rows.move
    move("request: start", Actor.WORKER, "request:pending:start:ecs_node")
    move("request: suspend", Actor.WORKER, "request:running:suspend:ecs_node", sees="answer:none", source="C-ORPHAN")
    _end(rows, "request: fails", Actor.WORKER, "request:running:fail:ecs_node", "cancel")
    _end(rows, "request: is rejected", Actor.WORKER, "request:running:reject:graph_runner", "deny")
    for status in (Status.PENDING, Status.RUNNING, Status.WAITING):
        _end(rows, f"request: cancelled, {status}", Actor.PERSON, f"request:{status}:cancel:graph_runner", "cancel")
    _end(rows, "request: times out", Actor.CLOCK, "request:waiting:timeout:graph_runner", "cancel")
    _end(rows, "request: times out, running", Actor.CLOCK, "request:running:timeout:graph_runner", "cancel")
    _end(rows, "request: lost", Actor.WORKER, "request:running:lose:graph_runner", "cancel")
    for trigger in ("happened", "did_not_happen"):  # without an answer on record even a completed one approves nothing
        _end(
            rows,
            f"request: {trigger.replace('_', ' ')}",
            Actor.PERSON,
            f"request:unknown:{trigger}:graph_runner",
            "cancel",
        )


def _end(rows: Rows, name: str, actor: Actor, move: str, take: str, *, rule: str = "C-DEFER", sees: str = "",
         writes: str = "", boundary: str = "move") -> None:  # fmt: skip
    """C-DEFER: a request that ends without an approval takes along, in the same write, what it defers."""
    _, before, trigger, node = move.split(":")
    if rule not in rows.on or rows.after("request", before, trigger, node) == Status.UNKNOWN:
        rows.move(name, actor, move, sees=sees, writes=writes, source="S3")
        return
    both = f"{move} tool:pending:{take}:graph_runner"
    key: Key = "rejected" if take == "deny" else "no effect"
    rows.move(f"{name}, with what it defers", actor, both, sees=sees, writes=writes, key=key, boundary=boundary,
              source=rule)  # fmt: skip
    alone = f"tool:{but('pending')} {sees}"
    rows.move(f"{name}, nothing deferred", actor, move, sees=alone, writes=writes, boundary=boundary, source=rule)


def _person(rows: Rows) -> None:
    """A person answers what waits, once; and reopens a rejected key."""
    for consent, gate in GATES:
        for answer in ("approve", "deny"):
            rows.row(f"person: {answer}, {consent}", Actor.PERSON, sees=f"consent:{consent} {gate}:waiting answer:none",
                     writes=f"answer:{answer}", boundary="answer", source="C-NODES")  # fmt: skip
    rows.row("person: reopens the key", Actor.PERSON, sees="tool:rejected holder:this", writes="holder:free reopened:yes",
             boundary="reopen", source="C-DENY")  # fmt: skip


def _resume(rows: Rows) -> None:
    """C-RESUME: an answer is applied by the caller that finds its contract waiting still, and by no other."""
    for consent, gate in GATES:
        rows.row(f"caller loads, {consent}", Actor.WORKER, writes="caller:loaded",
                 sees=f"consent:{consent} {gate}:waiting answer:approve|deny caller:idle")  # fmt: skip
    for who, sees, writes in (("caller", "caller:loaded", "caller:idle"), ("another caller", "", "")):
        once = f"resumed:+1 {writes}"
        ask = f"consent:before answer:approve {sees}"
        asked = "request:waiting:resume:graph_runner request:running:succeed:graph_runner"
        rows.move(f"{who}: approved, releases", Actor.WORKER, asked, sees=f"{ask} tool:pending",
                  writes=f"approval:fresh {once}", boundary="release", source="C-AHEAD")  # fmt: skip
        rows.move(f"{who}: approved, nothing to release", Actor.WORKER, asked, sees=f"{ask} tool:{but('pending')}",
                  writes=once, boundary="release", source="C-AHEAD")  # fmt: skip
        itself = f"consent:during answer:approve {sees}"
        used = f"approval:used uses:+1 {once}"
        resumed = "tool:waiting:resume:graph_runner"
        if "C-RESUME" in rows.on or not rows.move(
            f"{who}: approved, recorded as completed", Actor.WORKER, f"{resumed} tool:running:succeed:graph_runner",
            sees=itself, writes=used, key="completed", boundary="release", source="S3",
        ):  # fmt: skip
            rows.move(f"{who}: approved, to its executor", Actor.WORKER, resumed, sees=itself, writes=used,
                      boundary="release", source="C-RESUME")  # fmt: skip
        _deny(rows, who, sees, writes)
    for consent, gate in GATES:
        _too_late(rows, consent, gate)


def _deny(rows: Rows, who: str, sees: str, writes: str) -> None:
    """C-DENY: a denial leads from waiting straight to rejected; as written it is a resume, and then a rejection."""
    ask, itself = f"consent:before answer:deny {sees}", f"consent:during answer:deny {sees}"
    if "C-DENY" in rows.on:
        _end(rows, f"{who}: denied", Actor.WORKER, "request:waiting:deny:graph_runner", "deny", rule="C-DENY", sees=ask,
             writes=writes, boundary="release")  # fmt: skip
        rows.move(f"{who}: denied, itself", Actor.WORKER, "tool:waiting:deny:graph_runner", sees=itself, writes=writes,
                  key="rejected", boundary="release", source="C-DENY")  # fmt: skip
        return
    for name, contract, guards in (("denied", "request", ask), ("denied, itself", "tool", itself)):
        rows.move(f"{who}: {name}, resumed", Actor.WORKER, f"{contract}:waiting:resume:graph_runner", sees=guards,
                  writes=f"resumed:+1 {writes}", source="S3")  # fmt: skip
    if who == "caller":
        rows.move("denied, itself, rejected", Actor.WORKER, "tool:running:reject:graph_runner", sees="consent:during answer:deny",
                  key="rejected", source="S3")  # fmt: skip


def _too_late(rows: Rows, consent: str, gate: str) -> None:
    """A caller whose contract has moved on: a conflict; without C-RESUME it writes what it has loaded."""
    if "C-RESUME" in rows.on:
        rows.row(f"caller: conflict, {consent}", Actor.WORKER, sees=f"consent:{consent} {gate}:{but('waiting')} caller:loaded",
                 writes="caller:idle", source="C-RESUME")  # fmt: skip
        return
    # Where the step's records are not asked either, what the graph runs again begins anew.
    anew = "" if "C-ORPHAN" in rows.on else " step:none deed:none"
    stale = {
        "before": "request:completed request_was:=request tool:pending tool_was:=tool approval:fresh",
        "during": "tool:running tool_was:=tool",
    }[consent]
    rows.row(f"caller: writes what it has loaded, {consent}", Actor.WORKER, writes=f"{stale}{anew} resumed:+1 caller:idle",
             sees=f"consent:{consent} {gate}:{but('waiting')} answer:approve caller:loaded", source="S3")  # fmt: skip


def _give_up(rows: Rows) -> None:
    """Cancel and timeout of the tool contract, by where it stands."""
    cancel = "cancel:graph_runner"
    late = "timeout" if "C-UNKNOWN" in rows.on else "cancel"
    rows.move("cancelled before it began", Actor.PERSON, f"tool:pending:{cancel}", key="no effect", source="C-DENY")
    rows.move("cancelled while running", Actor.PERSON, f"tool:running:{cancel}", key="unproven", source="C-UNKNOWN")
    rows.move(
        "times out while running", Actor.CLOCK, f"tool:running:{late}:graph_runner", key="unproven", source="C-UNKNOWN"
    )
    rows.move("cancelled while waiting", Actor.PERSON, f"tool:waiting:{cancel}", key="no effect", source="C-MACHINE")
    rows.move(
        "times out while waiting", Actor.CLOCK, "tool:waiting:timeout:graph_runner", key="no effect", source="C-MACHINE"
    )


def _change(rows: Rows) -> None:
    """C-BIND: other arguments are another contract, with another key, and this one is cancelled; as written it just changes."""
    if "C-BIND" not in rows.on:
        rows.row(
            "arguments change",
            Actor.WORKER,
            sees="tool:pending|waiting action:shown",
            writes="action:changed",
            source="S3",
        )
        return
    alone = f"request:{but('pending', 'waiting')}"
    for status in ("pending", "waiting"):
        old = f"tool:{status}:cancel:graph_runner"
        rows.move(
            f"superseded, {status}",
            Actor.WORKER,
            old,
            sees=alone,
            key="no effect",
            boundary="supersede",
            source="C-BIND",
        )
    for status in ("pending", "waiting"):
        both = f"tool:pending:cancel:graph_runner request:{status}:cancel:graph_runner"
        rows.move(
            f"superseded, with its request, {status}",
            Actor.WORKER,
            both,
            key="no effect",
            boundary="supersede",
            source="C-BIND",
        )


def _others(rows: Rows) -> None:
    """Any number of other contracts with the same key, in whatever session: what they do to the registry and to the world."""

    def other(name: str, sees: str = "", meets: str = "", writes: str = "", source: str = "C-ONCE") -> None:
        rows.row(f"other: {name}", Actor.WORLD, sees=sees, meets=meets, writes=writes, source=source)

    once = "C-ONCE" in rows.on
    other("created", "holder:free", "", "idle_others:+1" + (" holder:other" if once else ""))
    other("acts", "", "idle_others:1|2", "idle_others:-1 acted_others:+1 effects:+1")
    other(
        "ends without effect",
        "holder:other" if once else "",
        "idle_others:1|2",
        "idle_others:-1" + (" holder:free" if once else ""),
    )
    if not once:
        other("is recorded as completed", "", "acted_others:1|2", "holder:other", "S3")
    elif "C-RETRY" not in rows.on:
        other("is unknown, and its key free", "holder:other", "", "holder:free", "S3")
    if not {"C-ORPHAN", "C-RESUME"} <= rows.on:
        other("acts again", "", "acted_others:1|2", "effects:+1", "S3")
    if "C-BIND" not in rows.on:
        other("runs on this approval", "approval:fresh|used", "", "uses:+1", "S3")


def _crash(rows: Rows) -> None:
    """A crash takes a process and what it knows; and the cap on the history, which strikes at its own time."""
    rows.row("crash of the executor", Actor.CRASH, sees="executor:working", writes="executor:idle")
    rows.row("crash of the caller", Actor.CRASH, sees="caller:loaded", writes="caller:idle")
    if "C-HISTORY" not in rows.on:  # the cap stands for 50: running and waiting alternate without a bound
        rows.row("the oldest transition is dropped", Actor.WORKER, sees="oldest:pending tool:waiting|unknown|completed|failed",
                 writes="oldest:later", source="S3")  # fmt: skip
