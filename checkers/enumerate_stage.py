"""The stage of `crashwindow verify` that enumerates the shipped core beside the model: refinement, its converse, planted bugs."""

import time
from collections import Counter
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
from .enumerate_case import ALONE, AROUND, SAMPLED, WIDE, WideCase
from .enumerate_certain import CertainSets
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
COUNTS: Final[dict[str, tuple[int, int, int]]] = {
    "park-1": (6322, 9766, 6725),
    "fail-1": (13175, 25263, 15160),
    "query-quiet-1": (24758, 37514, 27410),
    "reexecute-1": (10074, 17460, 11040),
    "cancel-1": (372, 498, 372),
    "lease-soon-1": (33336, 76835, 39546),
    "park-soon-1": (9901, 15409, 10849),
    "query-soon-1": (28773, 45437, 32904),
    "warned": (3731, 12604, 4127),
    "modes": (8934, 50507, 10394),
    "whole": (8712, 51900, 10213),
    "asked": (8976, 53675, 10522),
    "harmless": (8640, 52047, 10160),
    "quiet": (5942, 34216, 6836),
    "fenced": (5600, 32228, 6216),
    "again": (8172, 52147, 10320),
    "spent": (9080, 40528, 9793),
    "spent-3": (3237, 8712, 3576),
    "spent-4": (4991, 14105, 5534),
    "refused": (3136, 12819, 3347),
    "told": (5910, 36984, 5967),
    "told-for-good": (2512, 15345, 2569),
    "retold": (206, 1173, 206),
    "half-undone": (216, 1243, 223),
    "half-undone-unsure": (85, 490, 88),
    "failed": (2834, 16494, 3146),
    "repeatable": (8807, 50343, 10025),
    "before-tool": (4111, 14542, 4517),
    "before-fails": (2875, 9833, 3263),
    "before-wait": (2798, 9501, 3161),
    "after-tool": (8671, 35196, 10406),
    "after-fails": (8439, 33474, 10214),
    "after-told": (88, 312, 107),
    "after-wait": (8491, 37440, 10413),
    "hears": (8026, 33319, 9012),
    "pauses": (1571, 3254, 2087),
    "rests": (1846, 4035, 2141),
    "for-good": (1213, 2595, 1503),
    "inputs": (1156, 2149, 1610),
    "inputs-lost": (944, 2516, 1189),
    "strays": (1761, 3640, 2297),
    "before-llm": (3364, 7133, 4078),
    "after-llm": (1939, 3500, 2629),
    "behind": (1403, 3349, 1885),
    "queried": (1198, 2114, 1766),
    "doubted": (1582, 3292, 2245),
    "approved": (2522, 5723, 3259),
    "gate-approval": (8209, 28468, 10009),
    "gate-signal": (2064, 5284, 2161),
    "gate-approval-woken": (2335, 6689, 2994),
    "gate-ended": (108, 251, 108),
    "gate-ended-other": (108, 251, 108),
    "gate-signal-woken": (826, 1431, 863),
    "value-input": (198, 366, 226),
    "value-input-other": (198, 366, 226),
    "value-input-lost": (405, 1233, 414),
    "value-input-lost-other": (405, 1233, 414),
    "value-input-again": (28, 30, 28),
    "value-input-again-other": (28, 30, 28),
    "value-llm": (2103, 3963, 2127),
    "value-llm-lost": (910, 3154, 1009),
    "undo-works": (7760, 18811, 7778),
    "undo-harmless": (9112, 21499, 9130),
    "undo-asked": (8274, 20365, 8304),
    "undo-asked-harmless": (9550, 25440, 10280),
    "undo-fails": (6270, 16427, 6288),
    "undo-again": (9149, 29139, 10072),
    "undo-query": (5203, 17678, 5229),
    "owed": (469, 1783, 469),
    "owed-fails": (230, 839, 230),
    "outlived": (7762, 27076, 9045),
    "both-undone": (820, 2543, 820),
    "warned-all": (35944, 64701, 39355),
    "modes-all": (37144, 60836, 41096),
    "quiet-all": (150813, 241494, 169412),
    "fenced-all": (40466, 88659, 46650),
    "spent-3-all": (39870, 82952, 43256),
    "spent-4-all": (161536, 409830, 172180),
    "refused-all": (65378, 128634, 71047),
    "told-for-good-all": (1914, 3095, 1963),
    "retold-all": (1935, 2918, 1957),
    "failed-all": (7692, 14670, 9622),
    "repeatable-all": (52859, 84151, 56401),
    "before-tool-all": (47686, 66865, 53051),
    "before-fails-all": (8598, 14501, 10832),
    "before-wait-all": (12367, 21993, 14153),
    "queried-all": (7427, 11187, 10857),
    "doubted-all": (13066, 19893, 18066),
    "pauses-all": (9230, 16401, 11234),
    "rests-all": (46378, 76697, 49315),
    "for-good-all": (13117, 21319, 14280),
    "inputs-all": (7017, 10570, 8779),
    "inputs-lost-all": (9550, 15088, 11149),
    "strays-all": (23268, 37089, 25825),
    "before-llm-all": (84568, 144644, 93990),
    "after-llm-all": (10381, 17676, 13769),
    "approved-all": (21345, 42685, 24605),
    "behind-all": (55862, 83215, 59847),
    "after-told-all": (1496, 2046, 1722),
    "gate-approval-all": (93568, 237264, 102597),
    "gate-signal-all": (51644, 94203, 53022),
    "gate-ended-all": (1314, 2082, 1314),
    "gate-ended-other-all": (1314, 2082, 1314),
    "gate-approval-woken-all": (20446, 50652, 24851),
    "gate-signal-woken-all": (20687, 24498, 21256),
    "value-input-all": (1139, 1608, 1172),
    "value-input-other-all": (1139, 1608, 1172),
    "value-input-lost-all": (9550, 15088, 9728),
    "value-input-lost-other-all": (9550, 15088, 9728),
    "value-input-again-all": (32, 32, 32),
    "value-input-again-other-all": (32, 32, 32),
    "value-llm-all": (74889, 120556, 80575),
    "value-llm-lost-all": (101348, 190030, 108231),
    "fail-2": (2507, 4975, 2928),
    "park-2": (7465, 12703, 8201),
    "query-fence-2": (11078, 24597, 13926),
    "reexecute-2": (12895, 24512, 14930),
    "query-quiet-2": (32806, 60461, 38919),
    "fail-2-cancel": (12810, 26887, 15049),
    "fail-2-faults": (27167, 62156, 33181),
    "park-2-cancel": (42805, 76960, 47283),
    "query-fence-2-cancel": (63864, 146994, 80507),
    "reexecute-2-cancel": (97303, 195030, 114358),
    "query-quiet-2-cancel": (206581, 398182, 248871),
    "park-2-faults": (66116, 128781, 86347),
    "query-fence-2-faults": (120589, 292322, 149581),
    "query-quiet-2-faults": (322734, 649129, 431731),
    "reexecute-2-faults": (118589, 253743, 155773),
    "park-2-signal": (119405, 204533, 128886),
    "fail-2-signal": (31611, 66092, 37217),
    "query-fence-2-signal": (212373, 543762, 273865),
    "query-quiet-2-signal": (588427, 1073957, 700549),
    "reexecute-2-signal": (215694, 428414, 246370),
    "park-2-signal-before": (17702, 35731, 19375),
    "park-signal-cancel": (5425, 7648, 5595),
    "park-2-undo": (8692, 22292, 10192),
    "fail-2-undo": (8878, 23244, 10269),
    "query-fence-2-undo": (7910, 22070, 10052),
    "query-quiet-2-undo": (9026, 28777, 11411),
    "reexecute-2-undo": (8645, 24616, 10696),
    "partial-2-undo": (8375, 21597, 10486),
    "harmless-2-undo": (8821, 22410, 10313),
    "faults-2-undo": (7798, 25767, 10583),
    "cancel-2-undo": (8023, 23201, 10422),
    "behind-2-undo": (8674, 23379, 10897),
    "signal-2-undo": (8417, 25176, 10851),
    "fail-turns": (10768, 19623, 12874),
    "park-turns": (28058, 49467, 32371),
    "query-fence-turns": (46736, 87900, 51941),
    "query-quiet-turns": (21472, 31059, 23336),
    "reexecute-turns": (48524, 88621, 56634),
    "fail-once": (1076, 2129, 1232),
    "overtaken-begun": (81, 225, 100),
    "overtaken-refused": (494, 1498, 712),
    "overtaken-put": (211, 673, 264),
    "overtaken-query": (1724, 6369, 2094),
    "overtaken-happened": (274, 960, 343),
    "overtaken-resolved": (360, 1242, 449),
    "overtaken-barred": (3737, 11163, 5409),
    "overtaken-quiet": (3250, 8957, 5355),
    "overtaken-absent": (1191, 4377, 1547),
    "overtaken-noted": (126, 431, 155),
    "overtaken-again": (470, 1383, 635),
    "overtaken-counted": (508, 1104, 628),
    "overtaken-stale": (508, 1104, 628),
    "query-fence-3": (527613, 1631034, 903427),
    "park-3": (503030, 1249641, 639609),
    "reexecute-3": (756832, 2010859, 1046693),
    "fail-3": (74023, 217842, 113989),
}
"""States, transitions, pairs of each case. An enumeration that finds others has enumerated something else."""
CLAIMED: Final = ("P1", "P2", "P3", "P6", "P7")
"""The claims of which the model's proof is the code's, as the code's steps are the model's."""
STORED: Final = (*CLAIMED, "P5")
"""The claims that rest on what every store does alike, and on its fences."""
BESIDE: Final = (
    ({**WIDE, **UNDOINGS}, ""),
    *((other.cases, f"beside {other.words}, of which a step's claims do not speak, ") for other in OTHERS),
    (
        AROUND,
        "beside the step's machine with what other steps do to it, of which four sentences of P6 and one of P4 do not hold, ",
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
        if name in {**AROUND, **UNDOINGS}:
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
    """The same of another machine, in its cases; of one with edges that are not taken in these, whether they are those pinned."""
    edges, command = reachable(space), f"{COMMAND} --workers 1"
    if not other.untaken:
        found = all_in_words(sets.machine, sets.packing, edges, sets.certain.taken, sets.taken)
        return judged("the shipped code takes", other.words, found, command)
    left = Counter(sets.machine.rules[number].name for number, _ in edges - sets.certain.taken)
    figures: dict[str, int | float | str] = {
        "edges": len(edges),
        "taken for certain": len(edges & sets.certain.taken),
    }
    said = f"of the {len(edges)} edges of {other.words} the shipped code takes {figures['taken for certain']} for certain; "
    if left != other.untaken:
        strayed = sorted(name for name in {*left, *other.untaken} if left[name] != other.untaken.get(name, 0))
        return _item(
            Verdict.REFUTED,
            f"{said}which others it does not is not what is pinned: {', '.join(strayed)}",
            figures,
            command,
        )
    return _item(Verdict.TESTED, f"{said}of {left.total()} others, pinned by row, that is not shown", figures, command)


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
