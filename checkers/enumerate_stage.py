"""The stage of `crashwindow verify` that enumerates the shipped core beside the model: refinement, its converse, planted bugs."""

from collections.abc import Iterable, Iterator
from typing import Final

from ..model.policy import HARDENED
from .enumerate import Enumeration, Product
from .enumerate_case import ALONE, WIDE, WideCase
from .enumerate_cover import by_rule, fleet_sets, reachable, step_sets
from .enumerate_floor import WideFloor
from .enumerate_sets import Sets
from .evidence import Item, MutantResult, Verdict
from .interleave import CASES
from .interleave_case import Case
from .interleave_floor import Floor
from .interleave_mutants import MUTANTS, SHIPPED, Mutant
from .search import complete
from .verify import Context, Found, Stage

COMMAND: Final = "crashwindow conform"
LETTERS: Final = ("a", "b", "c")
SEVERAL: Final = {
    "fail-2": 2, "park-2": 2, "query-fence-2": 2, "reexecute-2": 2, "query-quiet-2": 2,
}  # fmt: skip
"""The cases of several workers, with how many."""
QUICK: Final = ("fail-1", "warned", "fail-2")
COUNTS: Final[dict[str, tuple[int, int, int]]] = {}
"""States, transitions, pairs of each case. An enumeration that finds others has enumerated something else."""
CLAIMED: Final = ("P1", "P2", "P3", "P6", "P7")
"""The claims of which the model's proof is the code's, as the code's steps are the model's."""
LEFT: Final[dict[str, int]] = {}
"""Of each rule, how many of its edges no case takes."""
KILLS: Final = {
    "events-unfenced": "fail-2", "ledger-unfenced": "fail-2", "effects-unfenced": "fail-2", "acquire-not-atomic": "fail-2",
    "started-unchecked": "fail-2", "unlooked": "fail-2", "ledger-unowned": "fail-2", "condition-alone": "fail-2",
}  # fmt: skip
"""Protections taken away from the store, and in which case a step is then not the model's."""


def every() -> dict[str, Case]:
    """Every case, by name."""
    return {**ALONE, **WIDE, **{name: CASES[name] for name in SEVERAL}}


def product(name: str, sets: Sets | None = None, mutant: Mutant = SHIPPED) -> Product:
    """The product of a case with its machine's sets; they may be shared between cases of as many workers."""
    case = every()[name]
    if isinstance(case, WideCase):
        return Product(WideFloor(case, mutant), step_sets() if sets is None else sets, sampled=name in WIDE)
    letters = LETTERS[: SEVERAL[name]]
    return Product(Floor(case, mutant), fleet_sets(letters) if sets is None else sets, letters)


def enumerated(names: Iterable[str], kept: dict[int, Sets]) -> Iterator[Enumeration]:
    """Cases, one after the other; kept: the sets of so many workers, which grow."""
    for name in names:
        workers = SEVERAL.get(name, 1)
        if workers not in kept:
            kept[workers] = fleet_sets(LETTERS[:workers]) if workers > 1 else step_sets()
        yield product(name, kept[workers]).run()


def enumeration(context: Context) -> Found:
    """Every case of the profile; the edges that were taken; planted bugs."""
    found, kept = Found(), dict[int, Sets]()
    runs = []
    for run in enumerated(QUICK if context.profile == "quick" else every(), kept):
        runs.append(run)
        context.tell(f"enumeration: {run.case.name}, {run.states} states")
    items = [refined(runs)]
    if context.profile == "deep":
        items.append(converse(kept[1], context))
    for claim in CLAIMED:
        found.add(claim, *items)
    found.mutants += [planted(name) for name in (list(KILLS)[:2] if context.profile == "quick" else KILLS)]
    return found


def refined(runs: list[Enumeration]) -> Item:
    """Whether each step of the code is a step of the model, and as much was enumerated as is pinned."""
    figures: dict[str, int | float | str] = {
        "states": sum(run.states for run in runs),
        "transitions": sum(run.transitions for run in runs),
        "pairs": sum(run.pairs for run in runs),
        "cases": len(runs),
        "seconds": round(sum(run.seconds for run in runs), 1),
    }
    for run in runs:
        for why, times in run.known.items():
            figures[f"known, {run.case.name}: {why}"] = times
    wrong = [(run.case.name, parted) for run in runs for parted in run.parted]
    if wrong:
        name, parted = min(wrong, key=lambda each: len(each[1].schedule))
        command = f"{COMMAND} --case {name} --schedule '{';'.join(parted.schedule)}'"
        return Item(checker="enumerate", verdict=Verdict.REFUTED, statement=f"code and model part: {parted}", figures=figures,
                    command=command)  # fmt: skip
    strayed = [run.case.name for run in runs if COUNTS[run.case.name] != run.counts]
    if strayed or not runs:
        said = f"what was enumerated is not what is pinned: the counts of {', '.join(strayed) or 'nothing'} differ"
        return Item(checker="enumerate", verdict=Verdict.ERROR, statement=said, figures=figures, command=COMMAND)
    whole = [run.case.name for run in runs if run.case.name not in WIDE]
    said = (
        f"each of {figures['transitions']} steps of the shipped driver, protocol core and memory store is a step of the model,"
        f" with the same records, effects and requests after it: all orders within the bounds of {', '.join(whole)}"
    )
    if sampled := [run.case.name for run in runs if run.case.name in WIDE]:
        said += f"; and samples of {', '.join(sampled)}"
    if known := dict.fromkeys(why for run in runs for why in run.known):
        said += f"; but for what is known: {'; '.join(known)}"
    return Item(checker="enumerate", verdict=Verdict.EXHAUSTED, statement=said, figures=figures, command=COMMAND)


def converse(sets: Sets, context: Context) -> Item:
    """Whether the code takes every edge of the step machine, but for those that are listed."""
    space = complete(HARDENED.name, context.spaces)
    edges = reachable(space)
    left = by_rule(space.machine, edges - sets.taken)
    figures: dict[str, int | float | str] = {"edges": len(edges), "taken": len(edges & sets.taken)}
    for rule, count in left.items():
        figures[f"not taken: {rule}"] = count
    if left != LEFT or not sets.taken <= edges:
        said = f"the edges that the code takes are not those that are stated: not taken are {left}"
        return Item(checker="enumerate", verdict=Verdict.REFUTED, statement=said, figures=figures, command=COMMAND)
    said = f"the shipped code takes {figures['taken']} of the {len(edges)} edges of the step machine; the others are listed"
    return Item(checker="enumerate", verdict=Verdict.EXHAUSTED, statement=said, figures=figures, command=COMMAND)


def planted(name: str) -> MutantResult:
    """A protection taken away: the enumeration alone has to see a step that is not the model's."""
    run = product(KILLS[name], mutant=MUTANTS[name]).run()
    title = f"enumeration: {name}: {MUTANTS[name].words}"
    if not run.parted:
        return MutantResult(name=title, killed_by=None, words=f"every step of {run.states} states is the model's")
    parted = min(run.parted, key=lambda each: len(each.schedule))
    return MutantResult(name=title, killed_by="enumerate", words=f"{parted}, after {len(parted.schedule)} words")


ENUMERATION: Final = Stage(
    "enumeration", "the shipped core, step by step beside the model", enumeration, CLAIMED, "enumerate"
)
