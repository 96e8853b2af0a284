"""Jobs that retry, are confirmed, wait, compensate, ask a model or are cancelled, as data: what is crashed at every boundary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from ..runtime.records import Json
from ..runtime.sqlite_store import SqliteStore
from ..runtime.tool import Tool
from ..runtime.turn import Worker
from ..runtime.verifier import Confirmation, Mode
from .crash_subject import Setting
from .crash_turns import JOB, QUIET, TTL, submission
from .crash_witness import REFUSAL, Witnessed, World
from .semantics_judge import SemanticsCourt
from .semantics_life import Act, SemanticsLife, When, Why, Word
from .semantics_records import UNDO as UNDO_OF
from .semantics_world import MODEL, RESOURCE, Deed, Undo, WitnessModel, WitnessVerifier, in_a_row, witnessed

Node = Deed | dict[str, Json]
COMMIT_FIRST: Final[tuple[str, ...]] = ("put_effect", "commit", "append_finished", "append_committed")
"""A write order in which the ledger alone may hold the result (rule 2)."""


@dataclass(frozen=True)
class SemanticsCase:
    """A plan, how the world behaves, and what clients and people do.

    mode: how a verifier of all changes confirms; None where there is none. order: of the success writes, where it is not the
    usual one. undone: see `Subject`. beyond: single faults after which the quick profile strikes the recovery, too.
    """

    name: str
    title: str
    nodes: tuple[Node, ...]
    mode: Mode | None = None
    acts: tuple[Act, ...] = ()
    words: Mapping[Why, Word] = field(default_factory=dict)
    model: tuple[Literal["ok", "error"], ...] = ("ok",)
    order: tuple[str, ...] | None = None
    undone: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    later: float = 1.0 + QUIET
    joined: bool = False

    @property
    def court(self) -> SemanticsCourt:
        """Its judge."""
        harmless = any(deed.undo is not None and deed.undo.harmless for deed in self.deeds)
        quiet = {deed.id: deed.quiet for deed in self.deeds if deed.look != "fence"}
        undoings = {deed.id: deed.undo for deed in self.deeds if deed.undo is not None}
        quiet |= {step + UNDO_OF: undo.quiet for step, undo in undoings.items() if undo.look != "fence"}
        retried = frozenset(deed.id for deed in self.deeds if deed.errors is None)
        unlisted = frozenset(
            d.id for d in self.deeds if d.errors is not None and not any(e in REFUSAL for e in d.errors)
        )
        told = {deed.id: deed.changes for deed in self.deeds}
        return SemanticsCourt(self.mode, harmless, quiet, retried, unlisted, told, self.order == COMMIT_FIRST)

    @property
    def deeds(self) -> tuple[Deed, ...]:
        """The tool nodes."""
        return tuple(node for node in self.nodes if isinstance(node, Deed))

    @property
    def plan(self) -> dict[str, Json]:
        """The nodes in a row."""
        return in_a_row(self.nodes)

    def begin(self, store: SqliteStore) -> None:
        """The job is submitted."""
        store.submit(JOB, submission(self.plan))

    def prepare(self, world: World) -> None:
        """The witness needs nothing."""

    def tools(self, world: World) -> dict[str, Tool]:
        """A tool for each tool node."""
        return {tool.name: tool for tool in (deed.tool(world) for deed in self.deeds)}

    def worker(self, setting: Setting, turn: Callable[[], int]) -> Worker:
        """The worker of a life."""
        world = setting.world
        tools = self.tools(world)
        policy = setting.policy if self.order is None else replace(setting.policy, order=self.order)
        looks = {change: script for deed in self.deeds for change, script in deed.scripts.items()}
        verifiers = {} if self.mode is None else {RESOURCE: WitnessVerifier(world, looks, turn)}
        confirmation = Confirmation(verifiers, self.mode or "strict", retries=2)
        providers = {MODEL: WitnessModel(world, self.model)}
        return Worker(f"worker-{setting.number}", tools, TTL, policy, True, confirmation, providers, joined=self.joined)

    def serve(self, setting: Setting) -> None:
        """One life."""
        SemanticsLife(self, setting).live()

    def witnessed(self, world: World) -> Witnessed:
        """The lines of the witness."""
        return witnessed(world)


def ask(name: str, **more: Json) -> dict[str, Json]:
    """An LLM node."""
    return {"id": name, "llm": MODEL, "prompt": {"node": name}, "model": "any", **more}


def wait(name: str) -> dict[str, Json]:
    """A wait node, for the signal of its name."""
    return {"id": name, "wait": f"{name}-signal"}


def gate(name: str, step: str) -> dict[str, Json]:
    """An approval node."""
    return {"id": name, "approve": step}


def cancel(when: When, node: str = "") -> tuple[Act, ...]:
    """A client that cancels."""
    return (Act("cancel", when, node),)


def signal(when: When, node: str = "", data: str = "go") -> Act:
    """A client that sends the signal of the wait node `w`."""
    return Act("signal", when, node, "w-signal", data)


def undo(when: When, node: str = "") -> tuple[Act, ...]:
    """A client that wants `a` undone."""
    return (Act("undo", when, node, "a"),)


LOOKED_AT: Final = ("put_effect:after",)
"""Where the effect record alone holds the result. A verifier looks, and a person is asked, in a recovery alone."""
BACKOFF: Final = {"max_retries": 2, "backoff_seconds": 5.0}
ONCE_MORE: Final = {"max_retries": 1, "backoff_seconds": 2.0, "max_requeues": 1}
NONE: Final = {"max_retries": 0}
THRICE: Final = ("no_effect", "no_effect", "no_effect", "ok")
TWICE: Final = ("no_effect", "no_effect", "ok")
REFUSED: Final = ("no_effect",)
LOST: Final = ("lost_answer", "ok")
SILENT: Final = ("no_answer", "ok")
LATE: Final = ("late_answer", "ok")
UNDO: Final = Undo()
HARMLESS: Final = Undo(harmless=True)
REFUSED_ONCE: Final = Undo(("no_effect", "ok"), harmless=True)

RETRIES: Final = (
    SemanticsCase("retry-backoff", "Refused twice, tried again after 5 and 10 s", (Deed("a", TWICE, node=BACKOFF),)),
    SemanticsCase(
        "retry-requeue", "Retries used up, once more through the queue, done", (Deed("a", THRICE, node=ONCE_MORE),)
    ),
    SemanticsCase("retry-requeue-over", "Retries and requeues used up: failed", (Deed("a", REFUSED, node=ONCE_MORE),)),
    SemanticsCase(
        "retry-no-match", "An error that is not to be retried", (Deed("a", REFUSED, errors=("timeout",), node=BACKOFF),)
    ),
    SemanticsCase("retry-match", "An error that is to be retried", (Deed("a", TWICE, errors=("timeout", "refused")),)),
    SemanticsCase(
        "retry-reexecute",
        "An idempotent step whose answer is lost is sent again",
        (Deed("a", LOST, "reexecute", idempotent=True, node=BACKOFF),),
    ),
    SemanticsCase(
        "retry-requeue-asked",
        "Refused, once more through the queue, done; an attempt that a crash swallows is asked about, and costs nothing",
        (Deed("a", ("no_effect", "ok"), "query", "fence", node={**NONE, "max_requeues": 1}),),
    ),
    SemanticsCase("retry-unknown-requeue", "An unknown outcome is not requeued", (Deed("a", SILENT, node=ONCE_MORE),)),
)

CANCELS: Final = (
    SemanticsCase("cancel-first", "Cancelled before anything began", (Deed("a"),), acts=cancel("submitted")),
    SemanticsCase("cancel-started", "Cancelled while the request is sent", (Deed("a"),), acts=cancel("started", "a")),
    SemanticsCase(
        "cancel-happened", "Cancelled while the answer arrives", (Deed("a"), Deed("b")), acts=cancel("happened", "a")
    ),
    SemanticsCase("cancel-between", "Cancelled between two steps", (Deed("a"), Deed("b")), acts=cancel("done", "a")),
    SemanticsCase(
        "cancel-backoff",
        "Cancelled while it waits to try again",
        (Deed("a", TWICE, node=BACKOFF),),
        acts=cancel("started", "a"),
    ),
    SemanticsCase(
        "cancel-parked", "Cancelled while parked; the answer comes first", (Deed("a", SILENT),), acts=cancel("waiting")
    ),
    SemanticsCase(
        "cancel-parked-happened",
        "Cancelled while parked; it had happened, so it is recorded",
        (Deed("a", LOST), Deed("b")),
        acts=cancel("waiting"),
    ),
    SemanticsCase("cancel-waiting", "Cancelled while it waits", (wait("w"), Deed("a")), words={"signal": "cancel"}),
    SemanticsCase(
        "cancel-reexecute",
        "Cancelled with an open attempt of an idempotent step",
        (Deed("a", LOST, "reexecute", idempotent=True), Deed("b")),
        acts=cancel("started", "a"),
    ),
    SemanticsCase(
        "cancel-just-then",
        "Cancelled as the job is about to be let go to wait for a signal",
        (wait("w"), Deed("a")),
        acts=cancel("resting"),
        words={"signal": "leave"},
    ),
    SemanticsCase("cancel-model", "Cancelled before a model is asked", (ask("q"), Deed("a")), acts=cancel("submitted")),
)


def confirming(name: str, title: str, mode: Mode, *looks: str, **more: object) -> SemanticsCase:
    """Two steps, of which the first is confirmed whenever its record is used again."""
    first = Deed("a", looks=looks or ("match",))  # type: ignore[arg-type]
    nodes = (first, Deed("b"))
    return SemanticsCase(f"confirm-{name}", title, nodes, mode, **more)  # type: ignore[arg-type]


CONFIRMATIONS: Final = (
    confirming("match", "The world agrees with each record", "strict"),
    confirming("mismatch", "It does not: the job fails", "strict", "mismatch", beyond=LOOKED_AT),
    confirming("warn", "It does not: a warning, and the job is tainted", "warn", "mismatch", beyond=LOOKED_AT),
    confirming("person", "It does not: a person accepts the record", "human_in_loop", "mismatch",
               beyond=LOOKED_AT),
    confirming("person-cancels", "It does not: a person gives the job up", "human_in_loop", "mismatch",
               words={"confirmation": "cancel"}),
    confirming("unsure", "The first look proves nothing, the second one does", "strict", "undetermined", "match",
               beyond=LOOKED_AT),
    confirming("never-sure", "No look proves anything: a person accepts the record", "warn", "undetermined"),
    confirming("left", "No look proves anything, and nobody decides", "strict", "undetermined",
               words={"confirmation": "leave"}),
    SemanticsCase(
        "confirm-two-warn", "Of two changes one is gone, and no look at the other proves anything: a person accepts the record",
        (Deed("a", looks=("mismatch",), beside=("undetermined",)),), "warn",
    ),
    SemanticsCase(
        "confirm-two-strict", "Nor here, where that is no mismatch: the job does not fail by itself",
        (Deed("a", looks=("undetermined",), beside=("mismatch",)),), "strict",
    ),
    SemanticsCase("confirm-ledger", "The ledger alone holds the result", (Deed("a"),), "strict", order=COMMIT_FIRST),
    SemanticsCase(
        "confirm-resolved", "A query finds the effect", (Deed("a", LOST, "query", "fence"), Deed("b")), "strict"
    ),
    SemanticsCase(
        "confirm-resolved-mismatch",
        "A query finds the effect, and a verifier does not",
        (Deed("a", LOST, "query", "fence", looks=("mismatch",)),),
        "human_in_loop",
    ),
)  # fmt: skip

COMPENSATIONS: Final = (
    SemanticsCase("undo-partial", "Failed after its effect, and compensated", (Deed("a", partial=True, undo=UNDO),)),
    SemanticsCase("undo-none", "Failed after its effect, and nothing undoes it", (Deed("a", partial=True),)),
    SemanticsCase(
        "undo-second", "The second step is compensated, the first stays", (Deed("a"), Deed("b", partial=True, undo=UNDO))
    ),
    SemanticsCase(
        "undo-owed",
        "A compensation is owed, and an earlier step is not confirmed",
        (Deed("a", looks=("mismatch",)), Deed("b", partial=True, undo=UNDO)),
        "strict",
    ),
    SemanticsCase(
        "undo-in-flight",
        "Undone on request while the next step is in flight; refused, and given up",
        (Deed("a", undo=Undo(REFUSED)), Deed("b", LOST, "reexecute", idempotent=True)),
        acts=undo("started", "b"),
        words={"compensation failed": "cancel"},
    ),
    SemanticsCase(
        "undo-two-doubts",
        "Parked at an undoing that failed; of the next step, which is in doubt and takes longer, a person says it did not happen",
        (Deed("a", undo=Undo(REFUSED)), Deed("b", SILENT, quiet=10 * QUIET)),
        acts=undo("started", "b"),
        words={"compensation failed": "cancel"},
    ),
    SemanticsCase(
        "undo-two-undoings",
        "Cancelled as an undoing begins, which is refused: parked all the same, for that of the next step is in doubt; its D is"
        " longer than its step's",
        (Deed("a", undo=Undo(REFUSED)), Deed("b", undo=Undo(SILENT, quiet=10 * QUIET)), wait("w")),
        acts=(Act("undo", "waiting", "", "b"), *undo("waiting"), *cancel("undoing", "a")),
        words={"compensation failed": "cancel"},
    ),
    SemanticsCase(
        "undo-asked-late",
        "No answer to the compensation, which can be asked for; what is not found is final later than it would be of the step",
        (Deed("a", partial=True, undo=Undo(SILENT, "quiet", quiet=10 * QUIET)),),
    ),
    SemanticsCase(
        "undo-asked-soon",
        "Read again by the turn that has sent a request, which asks about it while the request may be on the wire",
        (Deed("a", undo=UNDO), Deed("b", SILENT, "query", "quiet")),
        acts=undo("started", "b"),
    ),
    SemanticsCase(
        "undo-asked-backoff", "Undone on request while another step waits to be tried again",
        (Deed("a", undo=UNDO), Deed("b", ("no_effect", "ok"), node=BACKOFF)), acts=undo("retried", "b"),
    ),
    SemanticsCase(
        "undo-outlived",
        "Of a step to be undone unresolved a person says that it did not happen: it is sent again, its answer is lost, and it is"
        " resolved before it is undone",
        (Deed("a", undo=REFUSED_ONCE), Deed("b", ("no_answer", "lost_answer"), undo=HARMLESS)),
        acts=(*undo("waiting"), Act("undo", "waiting", "", "b")),
        words={"compensation failed": "settle"},
    ),
    SemanticsCase(
        "undo-undone",
        "Undone unresolved, and before its end is written an earlier step is to be undone, which is refused; of the one that is"
        " undone a person says that it did not happen: the job fails",
        (Deed("a", undo=REFUSED_ONCE), Deed("b", SILENT, undo=HARMLESS), Deed("c")),
        acts=(Act("undo", "waiting", "", "b"), *undo("undone", "b")),
        words={"compensation failed": "settle"},
    ),
    SemanticsCase(
        "undo-nothing",
        "A step that could be undone is refused until it is given up: nothing happened, and nothing is undone",
        (Deed("a", REFUSED, undo=UNDO, node=NONE),),
    ),
    SemanticsCase(
        "undo-refused",
        "The compensation is refused; a person requests it again",
        (Deed("a", partial=True, undo=Undo(("no_effect", "ok"))),),
    ),
    SemanticsCase(
        "undo-refused-cancelled",
        "The compensation is refused; a person gives the job up",
        (Deed("a", partial=True, undo=Undo(REFUSED)),),
        words={"compensation failed": "cancel"},
    ),
    SemanticsCase(
        "undo-lost", "The compensation's answer is lost; a person finds it done", (Deed("a", partial=True, undo=Undo(LOST)),)
    ),
    SemanticsCase(
        "undo-late", "The compensation is done and answers too late; a person finds it done",
        (Deed("a", partial=True, undo=Undo(LATE)),),
    ),
    SemanticsCase(
        "undo-silent", "No answer, and nothing undone; a person says so", (Deed("a", partial=True, undo=Undo(SILENT)),)
    ),
    SemanticsCase(
        "undo-query", "The compensation's answer is lost, and can be asked for",
        (Deed("a", partial=True, undo=Undo(LOST, "fence")),),
    ),
    SemanticsCase(
        "undo-cancelled", "Cancelled while a compensation is owed", (Deed("a", partial=True, undo=UNDO),),
        acts=cancel("happened", "a"),
    ),
    SemanticsCase(
        "undo-open", "Undone on request while the job goes on", (Deed("a", undo=UNDO), Deed("b", uses="a")),
        acts=undo("done", "a"),
    ),
    SemanticsCase(
        "undo-settled", "Undone on request, though it is settled, and a later step uses its result",
        (Deed("a", looks=(), undo=UNDO), Deed("b", looks=()), Deed("c", uses="a", looks=())), acts=undo("done", "b"),
    ),
    SemanticsCase(
        "undo-parked", "Undone on request while another step is parked",
        (Deed("a", undo=UNDO), Deed("b", SILENT, uses="a")), acts=undo("waiting"),
    ),
    SemanticsCase(
        "undo-waiting", "Undone on request while the job waits", (Deed("a", undo=UNDO), wait("w"), Deed("b")),
        acts=undo("waiting"),
    ),
    SemanticsCase(
        "undo-harmless", "Undone unresolved, which is harmless", (Deed("a", SILENT, undo=HARMLESS),),
        acts=undo("waiting"),
    ),
    SemanticsCase(
        "undo-harmless-known",
        "Undone unresolved, which is refused; then it is known to have happened, and its undoing requested again",
        (Deed("a", LOST, undo=REFUSED_ONCE),),
        acts=undo("waiting"), words={"compensation failed": "settle"},
    ),
    SemanticsCase(
        "undo-harmless-nothing",
        "Undone unresolved, which is refused; then it is known not to have happened: it is not run again, and nothing is called",
        (Deed("a", SILENT, undo=REFUSED_ONCE),),
        acts=undo("waiting"), words={"compensation failed": "settle"},
    ),
    SemanticsCase(
        "undo-overtaken",
        "Two undoings are owned, and not begun, when an earlier step is to be undone, which is refused; the job is given up, and"
        " of one step a person says that it did not happen",
        (Deed("a", undo=Undo(REFUSED)), Deed("b", undo=UNDO), Deed("c", SILENT, undo=HARMLESS)),
        acts=(*undo("undoing", "b"), Act("undo", "undoing", "c", "b"), Act("undo", "waiting", "", "c")),
        words={"compensation failed": "cancel"},
    ),
)  # fmt: skip

VALUES: Final = (
    SemanticsCase("model", "A model is asked, and a tool uses its answer", (ask("q"), Deed("a", uses="q"))),
    SemanticsCase(
        "model-retried", "A model fails once, and is asked again", (ask("q", **BACKOFF), Deed("a", uses="q")),
        model=("error", "ok"),
    ),
    SemanticsCase(
        "model-requeued", "A model fails until the job is requeued", (ask("q", **ONCE_MORE), Deed("a")),
        model=("error", "error", "ok"),
    ),
    SemanticsCase(
        "model-fails", "A model fails, and so does the job", (ask("q", **NONE), Deed("a")), model=("error",)
    ),
    SemanticsCase("inputs", "A tool asks twice for the time", (Deed("a", inputs=2),)),
    SemanticsCase(
        "inputs-retried", "It is told the same when it is tried again", (Deed("a", TWICE, inputs=2, node=BACKOFF),)
    ),
    SemanticsCase(
        "inputs-reexecuted", "It is told the same when it is sent again",
        (Deed("a", LOST, "reexecute", idempotent=True, inputs=2),),
    ),
    SemanticsCase("result-used", "A step uses what another one gave", (Deed("a"), Deed("b", uses="a"))),
    SemanticsCase(
        "result-settled", "Two steps use what a settled one gave, and nothing is to be confirmed",
        (Deed("a", looks=()), Deed("b", uses="a", looks=()), Deed("c", uses="a", looks=())),
    ),
)  # fmt: skip

WAITS: Final = (
    SemanticsCase("wait", "A signal comes while the job waits", (wait("w"), Deed("a", uses="w"))),
    SemanticsCase(
        "wait-early", "A signal comes before it is waited for", (Deed("a"), wait("w"), Deed("b")), acts=(signal("started", "a"),)
    ),
    SemanticsCase(
        "wait-settled", "A signal comes first of all, and a step runs before it is waited for that nobody will go through again",
        (Deed("a", looks=()), wait("w"), Deed("b", uses="w", looks=())), acts=(signal("submitted"),),
        words={"signal": "leave"},
    ),
    SemanticsCase(
        "wait-twice", "Two nodes wait for one name, and take a signal each",
        (wait("w"), {**wait("w"), "id": "v"}, Deed("a", uses="v")),
        acts=(signal("submitted", data="first"), signal("waiting", data="second")),
    ),
    SemanticsCase(
        "wait-just-then", "A signal comes as the job is about to be let go to wait for it", (wait("w"), Deed("a", uses="w")),
        acts=(signal("resting"),), words={"signal": "leave"},
    ),
    SemanticsCase(
        "wait-overtaken", "Two signals come before joined writes, of which one is refused and made by itself: what is kept of"
        " them for a later step stands further on than the worker believed",
        (Deed("a", looks=()), wait("w"), {**wait("w"), "id": "v"}, Deed("b", uses="a", looks=()), Deed("c", uses="a", looks=())),
        acts=(signal("happened", "a", "first"), signal("happened", "a", "second")), joined=True,
    ),
    SemanticsCase("approved", "A person approves, and the step runs", (gate("g", "a"), Deed("a"))),
    SemanticsCase(
        "approved-result", "What is approved is made of another step's result",
        (Deed("z"), gate("g", "a"), Deed("a", uses="z")),
    ),
    SemanticsCase(
        "approved-retried", "An approved step is refused, and tried again", (gate("g", "a"), Deed("a", TWICE)),
    ),
    SemanticsCase(
        "denied", "A person denies: the step never runs", (gate("g", "a"), Deed("a")), words={"approval": "deny"}
    ),
    SemanticsCase(
        "approval-cancelled", "A person cancels the job that asks", (gate("g", "a"), Deed("a")),
        words={"approval": "cancel"},
    ),
    SemanticsCase(
        "approval-left", "Nobody answers: the job waits", (gate("g", "a"), Deed("a")), words={"approval": "leave"}
    ),
)  # fmt: skip

SEMANTICS_CASES: Final = {
    case.name: case
    for case in (
        replace(case, name=f"semantics-{case.name}")
        for case in (*RETRIES, *CANCELS, *CONFIRMATIONS, *COMPENSATIONS, *VALUES, *WAITS)
    )
}
BESIDE: Final = frozenset(f"semantics-{case.name}" for case in (*COMPENSATIONS, *VALUES, *WAITS))
"""Those in which something else than a step is at work, which has a machine of its own."""
