"""How a tool contract executes: through the durable step, of which it sees an interface, and what it makes of the outcome."""

from typing import Final, NamedTuple

from .contract_rows import ENDED, Key, Rows
from .machine import Actor


class InterfaceStep(NamedTuple):
    """A step of the durable tool step, as its contract sees it: the records before, the effect before, and both after."""

    name: str
    before: tuple[str, ...]
    deed: tuple[str, ...]
    after: str
    effect: str


STEPS: Final = (
    InterfaceStep("step: begins", ("none",), ("none",), "started", "none"),
    InterfaceStep("step: acts while started", ("started",), ("none",), "started", "done"),
    InterfaceStep("step: acts while unknown", ("unknown",), ("none",), "unknown", "done"),
    InterfaceStep("step: ok", ("started", "unknown"), ("done",), "ok", "done"),
    InterfaceStep("step: no effect", ("started",), ("none",), "no_effect", "none"),
    InterfaceStep("step: unknown, nothing happened yet", ("started",), ("none",), "unknown", "none"),
    InterfaceStep("step: unknown, it happened", ("started",), ("done",), "unknown", "done"),
    # By a person's no, too: a step that may run again does not go from unknown to its end without effect at once.
    InterfaceStep("step: tried again", ("unknown",), ("none",), "started", "none"),
)
"""What a contract's step does to what its contract can see."""
UNDONE: Final = InterfaceStep("step: to be undone", ("unknown",), ("done",), "started", "done")
"""A worker goes on with a step because somebody wants it undone, whether it happened or not (T-COMP). Of a contract's step nobody
can want that: `runtime.clients.check_own` refuses it."""
TOLD: Final = InterfaceStep("step: told that nothing happened", ("unknown",), ("none",), "no_effect", "none")
"""What a person says of a step that is not tried again: its job has failed as in flight, and the contract takes the word, while
the step's records stay; or its compensation has begun."""
CLOSED: Final = InterfaceStep("contract: closed before it began", ("none",), ("none",), "no_effect", "none")
"""The contract's own: once it is unknown, a step that never began is closed, by a person or by an executor that finds it so, and
nothing begins it any more."""
ENDS_BY_ITS_EXECUTOR: Final = {"C-AHEAD", "C-DENY", "C-RESUME", "C-UNKNOWN"}
"""With these rules nobody else ends a contract while it is executed: a person's word is for one whose step is at rest."""
INTERFACE: Final = (*STEPS, UNDONE, TOLD, CLOSED)
"""Everything that may become of a step in the eyes of who sees it from outside; whatever else it does leaves both as they are."""


def execution(rows: Rows) -> None:
    """From the move to running to the recorded outcome, and a person's word where there is none."""
    _execute(rows)
    _step(rows)
    _outcome(rows)
    _doubt(rows)


def _execute(rows: Rows) -> None:
    """C-AHEAD, C-BIND: the move to running, which uses the consent up, is durable before anything is executed."""
    bound = "approval:fresh action:shown" if "C-BIND" in rows.on else "approval:fresh|used"
    used = "approval:used uses:+1" if "C-BIND" in rows.on else "uses:+1"
    start = "tool:pending:start:tool_node"
    for name, sees, writes in (
        ("start", "consent:none|during", ""),
        ("start, with consent", f"consent:before {bound}", used),
    ):
        if "C-AHEAD" in rows.on:
            rows.move(
                name,
                Actor.WORKER,
                start,
                sees=f"{sees} executor:idle",
                writes=f"{writes} executor:working",
                source="C-AHEAD",
            )
        else:
            rows.row(
                f"{name}, in memory", Actor.WORKER, sees=f"{sees} tool:pending executor:idle", writes="executor:working"
            )
            rows.move(
                f"{name}, written late",
                Actor.WORKER,
                start,
                sees=f"{sees} executor:working",
                writes=writes,
                source="S3",
            )
    if "C-ACTOR" not in rows.on:
        rows.move("the reasoner starts it", Actor.WORKER, "tool:pending:start:reasoning",
                  sees="consent:none|during executor:idle", source="S3")  # fmt: skip
    at_work = "executor:working step:none"
    rows.move("suspend for consent", Actor.WORKER, "tool:running:suspend:tool_node", sees=f"consent:during answer:none {at_work}",
              writes="executor:idle", source="S3")  # fmt: skip
    rows.move("not permitted", Actor.WORKER, "tool:running:reject:tool_node", sees=at_work, writes="executor:idle",
              key="rejected", source="S3")  # fmt: skip
    if not rows.on >= ENDS_BY_ITS_EXECUTOR:
        ended = f"tool:{ENDED} executor:working"
        rows.row("executor: finds it ended", Actor.WORKER, sees=ended, writes="executor:idle")
    if "C-ORPHAN" in rows.on:
        rows.row("recover", Actor.WORKER, sees="tool:running|unknown executor:idle", writes="executor:working",
                 source="C-ORPHAN")  # fmt: skip
    else:
        rows.row("executed again", Actor.WORKER, sees="tool:running executor:idle", writes="executor:working step:none deed:none",
                 source="S3")  # fmt: skip


def _step(rows: Rows) -> None:
    """The durable step, through its interface; it begins only in an executor's hands, with the consent that is needed."""
    consents = {
        "before": "approval:used" if "C-BIND" in rows.on and "C-AHEAD" in rows.on else "approval:fresh|used",
        "during": "approval:used" if "C-BIND" in rows.on else "answer:approve|deny",
        "none": "",
    }
    begins, acts = STEPS[0], STEPS[1:3]
    for consent, given in consents.items():
        sees = f"consent:{consent} executor:working step:{'|'.join(begins.before)} {given}"
        rows.row(f"{begins.name}, consent {consent}", Actor.WORKER, sees=sees, writes=f"step:{begins.after}",
                 boundary="execute", source="T-ORDER B2")  # fmt: skip
    for each in STEPS[1:]:
        effect = " effects:+1" if each in acts else ""
        rows.row(each.name, Actor.WORLD if each in acts else Actor.WORKER, sees=f"step:{'|'.join(each.before)}",
                 meets=f"deed:{'|'.join(each.deed)}", writes=f"step:{each.after} deed:{each.effect}{effect}",
                 source="T-RECOVER")  # fmt: skip
    rows.row("step: closed before it began", Actor.WORKER, sees=f"tool:unknown executor:working step:{CLOSED.before[0]}",
             meets=f"deed:{CLOSED.deed[0]}", writes=f"step:{CLOSED.after}", source="C-UNKNOWN")  # fmt: skip


def _outcome(rows: Rows) -> None:
    """What the executor records, from what the step's records say."""

    def records(name: str, move: str, step: str, key: Key, source: str) -> None:
        rows.move(
            name,
            Actor.WORKER,
            move,
            sees=f"step:{step} executor:working",
            writes="executor:idle",
            key=key,
            source=source,
        )

    records("succeed", "tool:running:succeed:tool_node", "ok", "completed", "C-MACHINE")
    records("fail", "tool:running:fail:tool_node", "no_effect", "no effect", "C-UNKNOWN")
    records("lose", "tool:running:lose:tool_node", "unknown", "unproven", "C-UNKNOWN")
    records("late proof: happened", "tool:unknown:happened:tool_node", "ok", "completed", "C-UNKNOWN")
    records("late proof: did not happen", "tool:unknown:did_not_happen:tool_node", "no_effect", "resolved", "C-UNKNOWN")
    # A parked step is what a person answers; the contract follows, and the move is the runner's, with the person's word.
    records("the step was told: happened", "tool:unknown:happened:graph_runner", "ok", "completed", "T-QUIET")
    records(
        "the step was told: did not happen",
        "tool:unknown:did_not_happen:graph_runner",
        "no_effect",
        "resolved",
        "T-QUIET",
    )
    if "C-UNKNOWN" not in rows.on:
        records("error that proves nothing", "tool:running:fail:tool_node", "started|unknown", "unproven", "S3")


def _doubt(rows: Rows) -> None:
    """A person's word on an unknown effect, once the step's own records are at rest; it closes the step as well, so that nothing
    begins or ends it afterwards. Before that nobody needs to say: an executor brings the step to rest."""
    rows.move("person: it happened", Actor.PERSON, "tool:unknown:happened:graph_runner", sees="step:unknown executor:idle",
              meets="deed:done", writes="step:ok", key="completed", source="C-UNKNOWN; assumption A-PERSON")  # fmt: skip
    rows.move("person: it did not happen", Actor.PERSON, "tool:unknown:did_not_happen:graph_runner",
              sees="step:unknown executor:idle", meets="deed:none", writes="step:no_effect", key="resolved",
              source="T-QUIET; assumptions A-PERSON, A-QUIET")  # fmt: skip
