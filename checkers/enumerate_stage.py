"""The stage of `crashwindow verify` that enumerates the shipped core beside the model: refinement, its converse, planted bugs."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from ..model.machine import Machine
from ..model.policy import HARDENED
from ..model.surroundings import build_around
from .conform_follow import Disagreement, Model
from .converse import all_in_words, judged
from .crash_anywhere import of_one, of_two
from .enumerate import Enumeration, Product
from .enumerate_case import ALONE, WIDE, WideCase
from .enumerate_cases import AROUND, SAMPLED
from .enumerate_certain import CertainSets
from .enumerate_counts import COUNTS
from .enumerate_cover import LETTERS, fleet_sets, reachable, step_sets
from .enumerate_ends import ENDED, origin
from .enumerate_fleet_stage import SIGNALS, THREE, TWO, UNDOINGS, fleet_converse, fleets
from .enumerate_floor import WideFloor
from .enumerate_others import OTHERS, Other, beside_other
from .enumerate_repeat import enumerated as with_repeats
from .enumerate_sets import Edge, Sets
from .enumerate_sqlite import Alike, compared
from .evidence import Item, MutantResult, Verdict
from .explore import Space
from .interleave import CASES
from .interleave_case import Bounds, Case
from .interleave_floor import Floor
from .interleave_mutants import MUTANTS, SHIPPED, Mutant
from .search import complete
from .stores_held import stores_held
from .verify import Context, Found, Stage

COMMAND: Final = "crashwindow conform"
CONVERSE: Final = {1: "the step machine", 2: "the fleet of two"}
"""By number of workers, whose edges all their cases together have to take."""
SEVERAL: Final = {
    **dict.fromkeys(("fail-2", "park-2", "query-fence-2", "reexecute-2", "query-quiet-2"), 2),
    **dict.fromkeys(("fail-2-cancel", "park-2-cancel", "query-fence-2-cancel", "reexecute-2-cancel", "query-quiet-2-cancel"), 2),
    **dict.fromkeys(("fail-2-faults", "park-2-faults", "query-fence-2-faults", "query-quiet-2-faults", "reexecute-2-faults"), 2),
    **dict.fromkeys((*TWO, *SIGNALS, *UNDOINGS), 2),
    **dict.fromkeys(("fail-3", "park-3", "query-fence-3", "reexecute-3", *THREE), 3),
}  # fmt: skip
"""The cases of several workers, with how many."""
PARTLY: Final = {**SAMPLED, **UNDOINGS}
"""The cases that are sampled."""
SMALL: Final = WideCase("small", Bounds(workers=1, claims=2, expiries=1), "fail")
"""In which a canary of the converse shows at once."""
QUICK: Final = ("park-1", "cancel-1", "warned", "fail-2")
CLAIMED: Final = ("P1", "P2", "P3", "P6", "P7")
"""The claims of which the model's proof is the code's, as the code's steps are the model's."""
STORED: Final = (*CLAIMED, "P5")
"""The claims that rest on what every store does alike, and on its fences."""
BESIDE: Final = (
    ({**WIDE, **UNDOINGS}, ""),
    *((other.cases, f"beside {other.words}, of which a step's claims do not speak, ") for other in OTHERS),
    (
        AROUND,
        "beside the step's machine with what other steps do to it, of which five sentences of P6 and three of P4 do not hold, ",
    ),
)
"""What is sampled, and beside which other machine: what is proved of the step's alone is not said of it."""
ON_SQLITE: Final = {"quick": ("fail-2",), "deep": ("fail-2", "park-2")}
"""What is gone through again over the SQLite store, by profile."""
KILLS: Final = {
    "events-unfenced": "fail-2", "ledger-unfenced": "fail-2", "effects-unfenced": "fail-2", "acquire-not-atomic": "fail-2",
    "started-unchecked": "fail-2", "unlooked": "query-quiet-2", "ledger-unowned": "fail-2", "condition-alone": "fail-2",
}  # fmt: skip
"""Protections taken away from the store, and in which case a step is then not the model's."""


QUICK_KILLS: Final = ("events-unfenced", "ledger-unfenced")


def every() -> dict[str, Case]:
    """Every case, by name."""
    return {
        **ALONE,
        **SAMPLED,
        **ENDED,
        **{name: {**CASES, **TWO, **SIGNALS, **UNDOINGS, **THREE}[name] for name in SEVERAL},
    }


def product(name: str, sets: Sets | None = None, mutant: Mutant = SHIPPED, certain: bool = False) -> Product:
    """The product of a case with its machine's sets; they may be shared between cases of as many workers."""
    case, kind, sampled = every()[name], origin(name), name in PARTLY
    if other := beside_other(name):
        held = other.sets() if sets is None else sets
        return Product(other.floor(case, mutant), held, sampled=sampled, reader=other.reader, certain=certain)
    if isinstance(case, WideCase) and name not in SEVERAL:
        machine = build_around() if kind in AROUND else None
        sets = step_sets(machine) if sets is None else sets
        return Product(WideFloor(case, mutant), sets, sampled=sampled, certain=certain)
    letters = LETTERS[: SEVERAL[name]]
    floor = WideFloor(case, mutant) if isinstance(case, WideCase) else Floor(case, mutant)
    sets = fleet_sets(letters, asked=name in UNDOINGS) if sets is None else sets
    return Product(floor, sets, letters, sampled=sampled, certain=certain)


def enumerated(
    names: Iterable[str], kept: dict[int | str, CertainSets], singly: bool = False, certain: bool = False
) -> Iterator[Enumeration]:
    """Cases, one after the other; kept: the sets of so many workers, or of another machine, by its policy, which grow; singly:
    see `remembered`, but of small cases.

    certain: what one worker and two take for certain is noted in the sets; not once more where a case is sampled, too, nor where
    the case has more in it than the converse of two workers asks for.
    """
    for name in names:
        workers = SEVERAL.get(name, 1)
        if origin(name) in AROUND or name in UNDOINGS:
            made = product(name)
        else:
            asked = certain and workers in CONVERSE and name not in {**ENDED, **SIGNALS}
            made = product(name, _sets(name, workers, kept), certain=asked)
        yield with_repeats(made, singly and name not in {**PARTLY, **ENDED})


def _sets(name: str, workers: int, kept: dict[int | str, CertainSets]) -> CertainSets:
    """The sets that a case goes on with."""
    other = beside_other(name)
    key = other.policy if other else workers
    if key not in kept:
        kept[key] = other.sets() if other else fleet_sets(LETTERS[:workers]) if workers > 1 else step_sets()
    return kept[key]


def enumeration(context: Context) -> Found:
    """Every case of the profile; the edges that were taken; planted bugs."""
    found, kept = Found(), dict[int | str, CertainSets]()
    runs = []
    deep = context.profile == "deep"
    for run in enumerated(every() if deep else QUICK, kept, singly=deep, certain=deep):
        runs.append(run)
        context.tell(f"enumeration: {run.case.name}, {run.states} states")
    items = [
        refined([run for run in runs if not beside_other(run.case.name)]),
        *(over_sqlite(name, context) for name in ON_SQLITE[context.profile]),
    ]
    if context.profile == "deep":
        items.append(converse(kept[1], complete(HARDENED.name, context.spaces)))
        items.append(fleet_converse(kept[2], fleets()))
        items += [of_one(), of_two()]
        for other in OTHERS:
            found.add(other.claim, refined([run for run in runs if beside_other(run.case.name) is other], other))
            found.add(other.claim, converse_beside(other, kept[other.policy], complete(other.policy, context.spaces)))
    for claim in CLAIMED:
        found.add(claim, *items)
    alike = stores_held(context)
    for claim in STORED:
        found.add(claim, *alike)
    found.mutants += [planted(name) for name in (QUICK_KILLS if context.profile == "quick" else KILLS)]
    return found


def refined(runs: list[Enumeration], other: Other | None = None) -> Item:
    """Whether each step of the code is a step of the model, or of another machine, and as much was enumerated as is pinned."""
    figures: dict[str, int | float | str] = {
        "states": sum(run.states for run in runs),
        "transitions": sum(run.transitions for run in runs),
        "pairs": sum(run.pairs for run in runs),
        "cases": len(runs),
        "turns with answers repeated": sum(run.repeated for run in runs),
        "seconds": round(sum(run.seconds for run in runs), 1),
    }
    wrong = [(run.case.name, parted) for run in runs for parted in run.parted]
    if wrong:
        name, parted = min(wrong, key=lambda each: len(each[1].schedule))
        command = f"{COMMAND} --case {name} --schedule '{';'.join(parted.schedule)}'"
        return _item(Verdict.REFUTED, f"code and model part: {parted}", figures, command)
    if unlike := next((run for run in runs if run.remembered), None):
        said = f"a worker whose answer comes only when it asks again goes another way: {unlike.remembered}"
        return _item(Verdict.REFUTED, said, figures, f"{COMMAND} --case {unlike.case.name}")
    strayed = [run.case.name for run in runs if COUNTS[run.case.name] != run.counts]
    if strayed or not runs:
        said = f"what was enumerated is not what is pinned: the counts of {', '.join(strayed) or 'nothing'} differ"
        return _item(Verdict.ERROR, said, figures)
    whole, behind = to_their_end(runs, other)
    parts = [f"all orders within the bounds of {', '.join(whole)}"] if whole else []
    parts += [f"all that can follow the schedules of {', '.join(behind)}"] if behind else []
    parts += [f"{'and ' * bool(parts)}{words}" for words in samples(runs, "samples of", other)]
    said = (
        f"each of {figures['transitions']} steps of the shipped driver, protocol core and memory store is a step of"
        f" {other.words if other else 'the model'}, with the same records, effects and requests after it: {'; '.join(parts)}."
        f" {figures['turns with answers repeated']} turns of workers go the same way where answers come only the second time"
    )
    return _item(Verdict.EXHAUSTED if whole or behind else Verdict.TESTED, said, figures)


def to_their_end(runs: Iterable[Enumeration], other: Other | None = None) -> tuple[list[str], list[str]]:
    """Which cases were gone through with no pair left out: from their beginning, and behind a schedule; each with its machine,
    unless all are beside another one.
    """
    found: tuple[list[str], list[str]] = [], []
    for case in (run.case for run in runs if run.case.name not in PARTLY):
        beside = next((words for cases, words in BESIDE if origin(case.name) in cases and not other), "")
        found[bool(case.lead)].append(f"{beside}{case.name}")
    return found


def samples(runs: Iterable[Enumeration], words: str, other: Other | None = None) -> list[str]:
    """Which cases were sampled, by the machine that they were held beside, unless all are beside another one."""
    names = [run.case.name for run in runs]
    found = ((beside, [name for name in names if name in cases]) for cases, beside in BESIDE)
    return [f"{'' if other else beside}{words} {', '.join(sampled)}" for beside, sampled in found if sampled]


def over_sqlite(name: str, context: Context) -> Item:
    """Whether a case has the same graph over the SQLite store: the same states, steps and records."""
    clock = time.perf_counter()
    found = compared(name)
    context.tell(f"enumeration: {name} over SQLite, {found.states} states")
    figures: dict[str, int | float | str] = {
        "states": found.states, "transitions": found.transitions, "seconds": round(time.perf_counter() - clock, 1)
    }  # fmt: skip
    if found.different:
        return _item(Verdict.REFUTED, f"{name}: the SQLite store's graph is another: {found.different}", figures)
    if not as_pinned(name, found):
        return _item(Verdict.ERROR, f"{name} over SQLite: what was gone through is not what is pinned", figures)
    said = (
        f"{name}: over the SQLite store, with a snapshot of its file for each state, the code has the same {found.states} states"
        f" and {found.transitions} steps as over the memory store, with the same records in each"
    )
    return _item(Verdict.EXHAUSTED, said, figures)


def as_pinned(name: str, found: Alike) -> bool:
    """Whether what was gone through over SQLite is what is pinned of the case: the agreement of anything else says nothing."""
    return (found.states, found.transitions) == COUNTS[name][:2]


def converse(sets: CertainSets, space: Space) -> Item:
    """Whether the code takes every edge of the step machine for certain, in a case or in a test path."""
    return _judged("the shipped code takes", sets, reachable(space), sets.certain.taken | on_paths(space.machine))


def converse_beside(other: Other, sets: CertainSets, space: Space) -> Item:
    """The same of another machine, in its cases."""
    found = all_in_words(sets.machine, sets.packing, reachable(space), sets.certain.taken, sets.taken)
    return judged("the shipped code takes", other.words, found, f"{COMMAND} --workers 1")


def on_paths(machine: Machine) -> set[Edge]:
    """What the kept test paths take for certain, over the store in memory. A path that parts from the machine takes nothing."""
    from .walk_seek import tried
    from .walks import kept

    model, taken = Model(machine), set[Edge]()
    for program in kept():
        with suppress(Disagreement):
            tried(program, model)
            taken |= model.classes_taken
    return taken


def converse_of(machine: Machine, row: str) -> Item:
    """The same of the smallest case, and of those rules whose names begin with that of a row, as far as some run takes them."""
    sets = step_sets(machine)
    run = Product(WideFloor(SMALL), sets, certain=True).run()
    if run.parted:
        return _item(Verdict.ERROR, f"code and model part: {run.parted[0]}", {})
    asked = {edge for edge in sets.taken if machine.rules[edge[0]].name.startswith(row)}
    return _judged(f"of the edges of {row!r} alone one worker takes", sets, asked, sets.certain.taken & asked)


def _judged(who: str, sets: Sets, edges: set[Edge], taken: set[Edge]) -> Item:
    found = all_in_words(sets.machine, sets.packing, edges, taken, sets.taken)
    return judged(who, CONVERSE[1], found, f"{COMMAND} --workers 1")


def _item(verdict: Verdict, statement: str, figures: dict[str, int | float | str], command: str = COMMAND) -> Item:
    return Item(checker="enumerate", verdict=verdict, statement=statement, figures=figures, command=command)


def planted(name: str) -> MutantResult:
    """A protection taken away: the enumeration alone has to see a step that is not the model's."""
    run = product(KILLS[name], mutant=MUTANTS[name]).run()
    title = f"enumeration: {name}: {MUTANTS[name].words}"
    if not run.parted:
        return MutantResult(name=title, killed_by=None, words=f"every step of {run.states} states is the model's")
    parted = min(run.parted, key=lambda each: len(each.schedule))
    return MutantResult(name=title, killed_by="enumerate", words=f"{parted}, after {len(parted.schedule)} words")


ENUMERATION: Final = Stage(
    "enumeration", "the shipped core, step by step beside the model", enumeration, STORED, "enumerate"
)
