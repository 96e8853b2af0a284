"""The stages of `crashwindow verify` that walk on purpose: test paths over the step's state graph, and several workers."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from ..model.policy import HARDENED
from ..model.properties import PROPERTIES
from ..model.step import build
from .conform_follow import Edge
from .evidence import Item, Verdict
from .verify import Context, Found, Stage
from .walk_profiles import BY_NAME, PROFILES
from .walk_programs import Program

if TYPE_CHECKING:
    from .walks import Coverage

CLASSES: Final = 631
"""How many classes the edges of the hardened machine's state graph fall into."""
DRAWN: Final = 595
"""How many edges the quotient has that reports draw: from one crash window to another, or to the same, by one rule."""
PROVED: Final = tuple(p.id for p in PROPERTIES)
WORKED: Final = ("P1", "P2", "P3", "P6", "P7", "P11", "P14")
"""What the judges of several workers ask of the rows and of the world."""


def paths_walked(context: Context) -> Found:
    """A sample of the test paths, drawn by the seed; in the deep profile all, and that they take every edge."""
    from .walks import kept

    programs = kept()
    items = [sampled(context, programs)] if context.profile == "quick" else list(whole(context, programs))
    return Found(items={claim: list(items) for claim in PROVED})


def sampled(context: Context, programs: list[Program]) -> Item:
    """Some of the paths."""
    from .walk_graph import counting
    from .walks import apart, perform, sample

    chosen, model = sample(programs, context.seed), counting(build(HARDENED))
    parted = perform(chosen, model, context.tell)
    drawn, classes = (len(each) for each in apart(model.edges_taken))
    which = f"{len(chosen)} of {len(programs)} test paths, drawn by the seed,"
    return walked_item(parted, which, _figures(context, chosen, programs, classes, drawn))


def whole(context: Context, programs: list[Program]) -> Iterator[Item]:
    """All paths, on SQLite and on PostgreSQL."""
    from .walks import cover

    found = cover(programs, tell=context.tell)
    figures = _figures(context, programs, programs, found.taken, found.drawn_taken)
    figures |= {
        "never taken": len(found.untaken),
        "quotient never taken": len(found.drawn_untaken),
    }
    item = walked_item(found.parted, f"all {len(programs)} test paths", figures)
    if strayed := _strayed(found):
        item = item.model_copy(update={"verdict": Verdict.ERROR, "statement": strayed})
    yield item
    yield on_a_server(context, programs, found.edges)


def _strayed(found: "Coverage") -> str:
    """What the paths leave out, or where the graph is not what is pinned, in words."""
    if (found.classes, found.drawn[1], found.beyond) != (CLASSES, DRAWN, 0):
        return (
            f"the graph has {found.classes} classes and {found.drawn[1]} edges of the quotient, not {CLASSES} and {DRAWN}; beside"
            f" these the paths take {found.beyond}"
        )
    for what, left in (("classes of edges", found.untaken), ("edges of the quotient", found.drawn_untaken)):
        if left:
            return f"no path takes {len(left)} {what}: {left[0]}" + (" and others" if len(left) > 1 else "")
    return ""


def _figures(
    context: Context, chosen: list[Program], programs: list[Program], classes: int, drawn: int
) -> dict[str, int | float | str]:
    return {
        "classes of edges": CLASSES,
        "taken": classes,
        "edges of the quotient": DRAWN,
        "quotient taken": drawn,
        "paths": len(chosen),
        "of": len(programs),
        "moves": sum(len(program.lines) for program in chosen),
        "seed": context.seed,
    }


def walked_item(parted: list[str], which: str, figures: dict[str, int | float | str]) -> Item:
    """Whether model and code agreed on some paths. which: of them, in words."""
    taken, drawn = figures["taken"], figures["quotient taken"]
    verdict = Verdict.TESTED
    said = (
        f"model and SQLite runtime agreed on {which} through {drawn} of {DRAWN} edges of the quotient by crash windows, and"
        f" {taken} of {CLASSES} classes of edges"
    )
    if not taken:
        verdict, said = Verdict.ERROR, "no test path took anything"
    if parted:
        verdict, said = Verdict.REFUTED, f"model and SQLite runtime part: {parted[0]}"
    return Item(checker="walk", verdict=verdict, statement=said, figures=figures, command="crashwindow walks")


def on_a_server(context: Context, programs: list[Program], edges: Collection[Edge]) -> Item:
    """The same on PostgreSQL: every path with a process for each turn, and several workers; without a server, that nobody
    walked there. edges: what the paths take on SQLite.
    """
    from .served import served

    words = "on PostgreSQL nobody walked"
    return served(
        lambda url: _walked_there(context, programs, edges, url),
        Item(checker="walk", verdict=Verdict.NOT_CHECKED, statement=words, command="crashwindow verify"),
    )


def _walked_there(context: Context, programs: list[Program], edges: Collection[Edge], url: str) -> Item:
    from .walk_postgres import perform, walked
    from .walks import apart

    done = perform(url, programs, context.tell)
    record = walked(url, context.seed)
    wrong = done.wrong if record.failure is None else [*done.wrong, str(record.failure.error)]
    if other := done.edges ^ set(edges):
        rules = build(HARDENED).rules
        told = min(f"{rules[edge.rule].name!r}, {edge}" for edge in other)
        wrong.append(f"the test paths take other edges than on SQLite: {len(other)}, {told} for one")
    drawn, classes = (len(each) for each in apart(done.edges))
    figures: dict[str, int | float | str] = {
        "paths": done.paths,
        "taken": classes,
        "quotient taken": drawn,
        "processes": done.processes,
        "killed": done.killed,
        "steps of several workers": record.steps,
        "judged": record.judged,
        "seed": context.seed,
    }
    said = (
        f"on PostgreSQL {done.paths} test paths ran as the model runs, and took what they take on SQLite, each turn a process of"
        f" its own ({done.processes}, of which {done.killed} were ended by SIGKILL); {record.steps} steps of several workers, in"
        " threads there, were as their fleet's"
    )
    verdict = Verdict.REFUTED if wrong else Verdict.TESTED if record.judged and done.killed else Verdict.ERROR
    words = f"on PostgreSQL: {wrong[0]}" if wrong else said
    return Item(checker="walk", verdict=verdict, statement=words, figures=figures, command="crashwindow verify")


def workers_walk(context: Context) -> Found:
    """Several workers in threads over one store, through random histories."""
    from .conform_workers import item_of, walk_workers

    command = f"crashwindow verify --profile {context.profile} --seed {context.seed}"
    item = item_of(walk_workers(PROFILES[BY_NAME[context.profile]], context.seed), command, context.seed)
    return Found(items={claim: [item] for claim in WORKED})


WALK_STAGES: Final = (
    Stage("test_paths", "test paths over the state graph", paths_walked, PROVED, "walk"),
    Stage("workers_walk", "several workers on one store and their fleet in lockstep", workers_walk, WORKED, "walk"),
)
