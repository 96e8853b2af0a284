"""What is crashed, as data: plans of one or two steps, and how the world behaves when they run."""

from dataclasses import dataclass
from typing import Final

from ..runtime.records import Json
from ..runtime.tool import Look, OnUnknown, Tool
from .crash_turns import QUIET, TTL, Turns
from .crash_witness import ASKED, EFFECTS, OVERDUE, REQUESTS, Behaviour, Witnessed, World, witness_tool

WORKING_DIRECTORY: Final = "cwd"
"""Where, below a schedule's directory, its processes run: what a tool writes under a relative path lies here."""


@dataclass(frozen=True)
class Case(Turns):
    """Steps of the witness tool: a script for each, and the contract that all of them declare.

    patient: recovery begins only when an "absent" has become final (T-QUIET); else as soon as the lease is over.
    joined: whether what a worker writes between two contacts is one transaction (decision 039).
    pairs: the quick profile strikes its recoveries, too; the deep one strikes those of every case. beyond: single faults after
    which the quick profile strikes the recovery although it does not strike all of them.
    """

    name: str
    scripts: tuple[tuple[Behaviour, ...], ...]
    on_unknown: OnUnknown = "park"
    look: Look = "none"
    idempotent: bool = False
    patient: bool = True
    locked: bool = False
    joined: bool = False
    pairs: bool = False
    beyond: tuple[str, ...] = ()

    @property
    def plan(self) -> dict[str, Json]:
        """One node per script, in a row: a, b, …"""
        ids = [chr(ord("a") + number) for number in range(len(self.scripts))]
        nodes = [{"id": name, "tool": f"witness.{name}", "args": {"step": name}} for name in ids]
        return {
            "version": 1,
            "nodes": [{**node, "depends_on": ids[:at][-1:]} for at, node in enumerate(nodes)],
        }

    @property
    def later(self) -> float:
        """With the lock at once, else when the lease is over."""
        return 1.0 - TTL if self.locked else 1.0 + (QUIET if self.patient else 0.0)

    def prepare(self, world: World) -> None:
        """The witness needs nothing."""

    def tools(self, world: World) -> dict[str, Tool]:
        """A witness tool for each node."""
        made = [
            witness_tool(node["tool"], script, world, self.on_unknown, self.look, self.idempotent)
            for node, script in zip(self.plan["nodes"], self.scripts, strict=True)
        ]
        return {tool.name: tool for tool in made}

    def witnessed(self, world: World) -> Witnessed:
        """The lines of the witness."""
        lines = world.lines
        return Witnessed(lines(REQUESTS), lines(EFFECTS), asked=lines(ASKED), overdue=lines(OVERDUE))


OK: Final[tuple[Behaviour, ...]] = ("ok",)
RETRY: Final[tuple[Behaviour, ...]] = ("no_effect", "ok")
REFUSED: Final[tuple[Behaviour, ...]] = ("no_effect",)
LOST: Final[tuple[Behaviour, ...]] = ("lost_answer", "ok")
SILENT: Final[tuple[Behaviour, ...]] = ("no_answer", "ok")
LATE: Final[tuple[Behaviour, ...]] = ("late_answer", "ok")
LATER: Final[tuple[Behaviour, ...]] = ("lost_answer", "no_effect", "ok")
"""The effect happens, and what is sent after its answer was lost is refused: the older attempt stays open (rule 4)."""
MIXED: Final[tuple[Behaviour, ...]] = ("no_effect", "no_answer", "ok")

CASES: Final = {
    case.name: case
    for case in (
        Case("ok-park", (OK,), pairs=True),
        Case("ok-park-lock", (OK,), locked=True),
        Case("ok-fail", (OK,), "fail"),
        Case("ok-query-fence", (OK,), "query", "fence", pairs=True),
        Case("ok-query-quiet", (OK,), "query", "quiet"),
        Case("ok-query-soon", (OK,), "query", "quiet", patient=False),
        Case("ok-reexecute", (OK,), "reexecute", idempotent=True, pairs=True),
        Case("retry-park", (RETRY,), pairs=True),
        Case("retry-query", (RETRY,), "query", "quiet"),
        Case("retry-reexecute", (RETRY,), "reexecute", idempotent=True),
        Case("refused-park", (REFUSED,)),
        Case("refused-reexecute", (REFUSED,), "reexecute", idempotent=True),
        Case("lost-park", (LOST,)),
        Case("lost-fail", (LOST,), "fail", pairs=True),
        Case("lost-query-fence", (LOST,), "query", "fence"),
        Case("lost-query-soon", (LOST,), "query", "quiet", patient=False),
        Case("lost-reexecute", (LOST,), "reexecute", idempotent=True),
        Case("later-refused-reexecute", (LATER,), "reexecute", idempotent=True),
        Case("late-park", (LATE,)),
        Case("silent-park", (SILENT,)),
        Case("silent-fail", (SILENT,), "fail"),
        Case("silent-query-fence", (SILENT,), "query", "fence"),
        Case("silent-query-lock", (SILENT,), "query", "quiet", locked=True),
        Case("silent-reexecute", (SILENT,), "reexecute", idempotent=True),
        Case("mixed-park", (MIXED,)),
        Case("joined-ok-park", (OK,), joined=True),
        Case("joined-retry-reexecute", (RETRY,), "reexecute", idempotent=True, joined=True),
        Case("joined-lost-query-fence", (LOST,), "query", "fence", joined=True),
        Case("joined-two-ok-park", (OK, OK), joined=True, pairs=True),
        Case("two-ok-park", (OK, OK), beyond=("execute:effect",)),
        Case("two-retry-query", (RETRY, LOST), "query", "fence"),
        Case("two-lost-reexecute", (LOST, RETRY), "reexecute", idempotent=True),
    )
}
