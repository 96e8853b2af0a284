"""The stages of `crashwindow verify` that walk on purpose: test paths over the step's state graph, and several workers."""

from typing import Final

from ..model.policy import HARDENED
from ..model.properties import PROPERTIES
from ..model.step import build
from ..scenarios.untaken import untaken
from .evidence import Item, Verdict
from .verify import Context, Found, Stage
from .walk_gaps import CLASSES, PINNED
from .walk_profiles import BY_NAME, PROFILES
from .walk_programs import Program

PROVED: Final = tuple(p.id for p in PROPERTIES)
WORKED: Final = ("P1", "P2", "P3", "P6", "P7", "P11", "P14")
"""What the judges of several workers ask of the rows and of the world."""


def paths_walked(context: Context) -> Found:
    """A sample of the test paths, drawn by the seed; in the deep profile all, and that what they leave out is as it is pinned."""
    from .conform_follow import Model
    from .converse import REASONS
    from .walks import cover, kept, perform, sample

    programs = kept()
    quick = context.profile == "quick"
    chosen = sample(programs, context.seed) if quick else programs
    verdict, against, strayed = Verdict.TESTED, dict[tuple[str, str], int](), ""
    figures: dict[str, int | float | str] = {}
    if quick:
        model = Model(build(HARDENED))
        parted = perform(chosen, model, context.tell)
        taken = len(model.classes_taken)
    else:
        found = cover(chosen, tell=context.tell)
        parted, taken, against, left = found.parted, found.taken, found.against, found.left_out
        named = {edge: REASONS.get(why, why) for edge, why in found.untaken.items()}
        figures["never taken"] = sum(left.values())
        if left != PINNED:
            strayed = f"the paths leave out other classes than pinned: {left}, not {PINNED}"
        elif other := named.items() ^ untaken("step").items():
            strayed = f"the paths leave out other edges than pinned: {sorted(other)[0]} and others"
    figures |= {
        "classes of edges": CLASSES,
        "taken": taken,
        "paths": len(chosen),
        "of": len(programs),
        "moves": sum(len(program.lines) for program in chosen),
        "seed": context.seed,
    }
    which = (
        f"{len(chosen)} of {len(programs)} test paths, drawn by the seed," if quick else f"all {len(chosen)} test paths"
    )
    said = f"model and SQLite runtime agreed on {which} through {taken} of {CLASSES} classes of edges"
    if not taken:
        verdict, said = Verdict.ERROR, "no test path took anything"
    if strayed:
        verdict, said = Verdict.ERROR, strayed
    if against:
        verdict, said = Verdict.REFUTED, f"the paths take what is said not to be taken: {against}"
    if parted:
        verdict, said = Verdict.REFUTED, f"model and SQLite runtime part: {parted[0]}"
    items = [Item(checker="walk", verdict=verdict, statement=said, figures=figures, command="crashwindow walks")]
    if not quick:
        items.append(on_a_server(context, programs))
    return Found(items={claim: list(items) for claim in PROVED})


def on_a_server(context: Context, programs: list[Program]) -> Item:
    """The same on PostgreSQL: every path with a process for each turn, and several workers; without a server, that nobody
    walked there.
    """
    from .served import served

    words = "on PostgreSQL nobody walked"
    return served(
        lambda url: _walked_there(context, programs, url),
        Item(checker="walk", verdict=Verdict.NOT_CHECKED, statement=words, command="crashwindow verify"),
    )


def _walked_there(context: Context, programs: list[Program], url: str) -> Item:
    from .walk_postgres import perform, walked

    done = perform(url, programs, context.tell)
    record = walked(url, context.seed)
    wrong = done.wrong if record.failure is None else [*done.wrong, str(record.failure.error)]
    figures: dict[str, int | float | str] = {
        "paths": done.paths,
        "taken": done.taken,
        "processes": done.processes,
        "killed": done.killed,
        "steps of several workers": record.steps,
        "judged": record.judged,
        "seed": context.seed,
    }
    said = (
        f"on PostgreSQL {done.paths} test paths ran as the model runs, each turn a process of its own ({done.processes}, of which"
        f" {done.killed} were ended by SIGKILL), and so did {record.steps} steps of several workers"
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
