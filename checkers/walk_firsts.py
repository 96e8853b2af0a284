"""Programs that a search for test paths begins with: what a job can be beside a step's own execution, each once (`walk_seek`).

They are the jobs that no plan submits: several nodes, gates, steps that are undone, people who change their minds.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from .conform_world import Contract, Gate, Looks, StepPlan
from .walk_programs import Program, written

PARKS: Final[Contract] = (False, "park", "none")
AGAIN: Final[Contract] = (True, "reexecute", "none")
FAILS: Final[Contract] = (False, "fail", "none")
STEP: Final = StepPlan(PARKS, 0, None, "r")
UNDONE: Final = StepPlan(PARKS, 0, None, "r", undoes="works")
SEEN: Final = StepPlan(PARKS, 0, None, "r", Looks("strict", ()))
"""Its record is looked at, and is always as the world is: so whether it was gone over can be told."""
HARMLESS: Final = StepPlan(PARKS, 9, None, "r", undoes="harmless")
OTHER: Final = StepPlan(PARKS, 0, None, "o", max_requeues=9)
FAILING: Final = StepPlan(FAILS, 0, None, "o")
CANCELLED: Final = (("cancel",),)
PARTS: Final = ("ok", "partial", "no effect", "lost answer", "on the wire", "lost part")


def work(*behaviours: str, **strikes: str) -> tuple[Any, ...]:
    """A turn; strikes by position, as in `at8="crash before"`."""
    return "work", list(behaviours), {int(at.removeprefix("at")): strike for at, strike in strikes.items()}


def program(nodes: Sequence[StepPlan | Gate], *moves: tuple[Any, ...]) -> Program:
    """A job of these nodes, and what befalls it."""
    lines = (written(name, arguments) for name, *arguments in (("submit", list(nodes)), *moves))
    return Program("step", "hardened", tuple(lines))


def looked_at(mode: Any, *answers: Any, changes: int = 1) -> StepPlan:
    """A step whose record is looked at."""
    return StepPlan(PARKS, 0, None, "r", Looks(mode, answers, changes))


DIES: Final = work("dies on the wire")
FINISHED: Final = work(at9="crash before")
"""The step's result is on record, its node is not over."""
OVER: Final = work(at13="crash before")
"""The step is over, the next one has not begun."""
UNDOABLE: Final = StepPlan(PARKS, 0, None, "o", undoes="works")
OUTLIVED: Final = (
    work("ok", "dies on the wire"),
    work(),
    ("wait", False),
    ("undo", 2),
    ("undo", 1),
    work("no effect"),
    ("tell", False),
    ("undo", 1),
)
"""Of two steps the second is in doubt, and is to be undone; that the first is to be undone as well, and can't be, comes before
it. A person says that the second did not happen, and it is executed with the request on record."""
FIRSTS: Final = (
    # A cancel is known, and the step is executed again.
    *(program([StepPlan(AGAIN, 9, None, "r")], DIES, *CANCELLED, work(part)) for part in PARTS),
    *(program([StepPlan(AGAIN, 9, None, "r", undoes="works")], DIES, *CANCELLED, work("partial", undoing))
      for undoing in ("ok", "no effect")),
    # Two attempts are open, others closed.
    *(program([StepPlan(AGAIN, tries, None, "r", undoes="harmless")], work(*behaviours, "dies on the wire"),
              work("dies on the wire"), work(), *after)
      for tries, behaviours in ((2, ["no effect"]), (3, ["no effect", "no effect"]), (1, []))
      for after in ([("answer", False), work()], [("wait", False), ("undo",), work()])),
    *(program([StepPlan(AGAIN, tries, None, "r")], work(*behaviours), ("answer", False), work())
      for tries, behaviours in ((2, ["no effect", "on the wire", "on the wire"]),
                                (3, ["no effect", "no effect", "on the wire", "on the wire"]))),
    program([StepPlan(AGAIN, 9, None, "r")], DIES, work("dies on the wire"), *CANCELLED, work()),
    # Undone: asked for at every moment, with every end.
    *(program([UNDONE], work("partial", undoing), work(), ("answer", False), work(), ("undo",), work())
      for undoing in ("ok", "no effect", "lost answer")),
    program([UNDONE], work("partial", "no effect"), *CANCELLED, work()),
    *(program([UNDONE, *nodes], before, ("undo",), work(undoing, last), ("answer", False), work())
      for nodes in ([], [STEP], [OTHER], [FAILING], [Gate()])
      for before in (FINISHED, OVER) for undoing in ("ok", "no effect")
      for last in (("ok", "lost answer", "no effect") if nodes and nodes != [Gate()] else ("ok",))),
    program([looked_at("strict", "undetermined")], FINISHED, work(), ("undo",), work()),
    program([StepPlan(PARKS, 0, None, "r", Looks("human_in_loop", ("mismatch",)), undoes="works")], FINISHED, work(),
            ("undo",), work("no effect"), ("answer", False), work()),
    program([HARMLESS], DIES, work(), ("wait", False), ("undo",), work("no effect"), ("answer", False), work("ok")),
    program([HARMLESS], DIES, work(), ("wait", False), ("undo",), work("no effect"), ("answer", False),
            work("partial", "no effect")),
    program([HARMLESS], DIES, work(), ("wait", True), ("undo",), work("lost answer"), ("answer", False), work()),
    *(program([UNDONE], work("partial", "ok", **strikes), work("ok")) for strikes in (
        {"at19": "crash before"}, {"at19": "lost", "at20": "crash before"})),
    program([UNDONE], work("partial", at8="crash before"), work("ok", at15="lost")),
    *(program([HARMLESS], DIES, work(), ("wait", False), ("undo",), *told, work("ok", at11="lost", **strikes))
      for told in ((), CANCELLED) for strikes in ({}, {"at12": "crash before"})),
    *(program([UNDOABLE, HARMLESS], *OUTLIVED, work("ok", "ok", undoing, **strikes)) for undoing, strikes in (
        ("ok", {}), ("ok", {"at30": "lost"}), ("ok", {"at30": "crash before"}), ("ok", {"at30": "lost", "at31": "crash before"}),
        ("no effect", {}), ("no effect", {"at28": "crash before"}), ("no effect", {"at28": "lost", "at29": "crash before"}),
        ("no effect", {"at24": "cancel", "at30": "crash before"}),
        ("no effect", {"at24": "cancel", "at30": "lost", "at31": "crash before"}))),
    # Another step, which fails, is requeued or parks, before this one or behind it.
    *(program(nodes, work(*[last, "ok"][:: 1 if nodes[0] is not STEP else -1]), work(), *CANCELLED, work())
      for other in (OTHER, FAILING) for nodes in ([STEP, other], [other, STEP]) for last in ("no effect", "lost answer")),
    *(program([STEP, other], OVER, work(last), work(), *CANCELLED, work())
      for other in (OTHER, FAILING) for last in ("no effect", "dies on the wire")),
    *(program([SEEN, other], work("ok", last), *after) for other in (OTHER, FAILING) for last in ("no effect", "dies on the wire")
      for after in ((), (*CANCELLED, work()))),
    *(program([replace(SEEN, undoes="works"), other], FINISHED, ("undo",), work("ok", last), *after, work())
      for other in (OTHER, FAILING) for last in ("no effect", "dies on the wire") for after in ((), CANCELLED)),
    *(program([UNDONE], work("partial", at9="crash before"), *after, work(undoing))
      for undoing in ("ok", "no effect") for after in ((), CANCELLED)),
    *(program([UNDONE, *nodes], FINISHED, ("undo",), *CANCELLED, work(undoing))
      for nodes in ([], [STEP]) for undoing in ("ok", "no effect")),
    *(program([UNDONE, other], FINISHED, ("undo",), work("ok", "no effect"), work()) for other in (OTHER, FAILING)),
    program([OTHER, STEP], work("no effect")),
    program([StepPlan(PARKS, 0, None, "r", max_requeues=9)], work("no effect"), work()),
    # Gates.
    program([STEP, Gate()], work(), ("signal",), work()),
    program([Gate(), STEP, Gate()], work(), ("signal",), work(), ("signal",), work()),
    program([StepPlan(PARKS, 9, None, "r"), Gate()], work("no effect", "ok"), *CANCELLED),
    program([STEP, Gate()], FINISHED, *CANCELLED, work()),
    program([looked_at("strict", "undetermined"), Gate()], FINISHED, work(), *CANCELLED, work()),
    # A signal overtakes a worker that knows of a cancel: it reads again.
    program([StepPlan((False, "query", "fence"), 1, None, "r"), Gate()], DIES, *CANCELLED, work(at6="signal")),
    program([looked_at("human_in_loop", "mismatch"), Gate()], work(at8="crash before"), *CANCELLED, work(at5="signal")),
    # It is gone before it has done so.
    *(program([looked_at("human_in_loop", seen), Gate()], work(at8="crash before"), *CANCELLED,
              work(at2="signal", at9="crash before"))
      for seen in ("mismatch", "undetermined")),
    *(program([UNDOABLE, StepPlan(FAILS, 9, None, "r"), Gate()], work("ok", "dies on the wire"), ("undo", 1), *told,
              work("no effect", "ok", at2="signal", at10="crash before")) for told in ((), CANCELLED)),
    # Looks, by another configuration the second time, and several at once; time while somebody is about to look.
    *(program([looked_at("warn", "mismatch", "mismatch", changes=changes)], FINISHED, work(**{at: "crash before"}),
              ("configure", mode), work())
      for mode in ("strict", "human_in_loop") for at in ("at6", "at7", "at8", "at9") for changes in (1, 2)),
    *(program([StepPlan((False, "query", "quiet"), 1, None, "r")], DIES, ("late", False), *moves)
      for moves in ([work(at5="time")], [("wait", False), work(at5="time")])),
)  # fmt: skip
