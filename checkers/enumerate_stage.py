"""The stage of `crashwindow verify` that enumerates the shipped core beside the model: refinement, its converse, planted bugs."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from ..model.machine import Machine
from ..model.policy import HARDENED
from ..model.surroundings import build_around
from ..scenarios.untaken import untaken
from .conform_follow import Disagreement, Model
from .converse import all_in_words, judged, unless_told
from .edge_untold import untold
from .enumerate import Enumeration, Product
from .enumerate_case import ALONE, AROUND, GATES, SAMPLED, WIDE, WideCase
from .enumerate_certain import CertainSets
from .enumerate_cover import LETTERS, fleet_sets, reachable, step_sets
from .enumerate_ends import ENDED, origin
from .enumerate_fleet_stage import SIGNALS, THREE, TWO, UNDOINGS, fleet_converse, fleets
from .enumerate_floor import WideFloor
from .enumerate_gate import GateReader, gate_sets
from .enumerate_repeat import enumerated as with_repeats
from .enumerate_sets import Edge, Sets
from .enumerate_sqlite import compared
from .evidence import Item, MutantResult, Verdict
from .explore import Space
from .interleave import CASES
from .interleave_case import Bounds, Case
from .interleave_floor import Floor
from .interleave_mutants import MUTANTS, SHIPPED, Mutant
from .search import complete
from .stores_held import stores_held
from .verify import Context, Found, Stage
from .walk_gaps import lacking, left_out

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
    "park-1": (6322, 9766, 7002),
    "fail-1": (13175, 25263, 15658),
    "query-quiet-1": (24758, 37514, 28416),
    "reexecute-1": (10074, 17460, 11553),
    "cancel-1": (372, 498, 397),
    "lease-soon-1": (33336, 76835, 44079),
    "park-soon-1": (9901, 15409, 11227),
    "query-soon-1": (28773, 45437, 34177),
    "warned": (2235, 7849, 2418),
    "modes": (8498, 48428, 10307),
    "whole": (8510, 51374, 10414),
    "asked": (8731, 52912, 10747),
    "harmless": (8245, 50273, 10061),
    "quiet": (7096, 40526, 8259),
    "fenced": (6642, 38072, 7433),
    "again": (8863, 56773, 11521),
    "spent": (9224, 41182, 10011),
    "spent-3": (4051, 10858, 4841),
    "spent-4": (6226, 17395, 7437),
    "refused": (3549, 14520, 3801),
    "told": (6502, 41018, 6678),
    "told-for-good": (2812, 17386, 2913),
    "retold": (227, 1314, 231),
    "half-undone": (242, 1389, 259),
    "half-undone-unsure": (96, 556, 103),
    "failed": (3235, 18978, 3665),
    "repeatable": (8659, 50457, 10073),
    "before-tool": (5826, 20407, 7578),
    "before-fails": (3904, 13397, 5050),
    "before-wait": (3788, 12905, 4855),
    "after-tool": (7536, 30184, 10202),
    "after-fails": (7963, 31438, 10666),
    "after-told": (112, 387, 141),
    "after-wait": (7560, 32859, 11094),
    "hears": (8133, 34553, 10342),
    "pauses": (1339, 2624, 1629),
    "rests": (1224, 2688, 1480),
    "for-good": (897, 1848, 1149),
    "inputs": (1050, 1797, 1334),
    "inputs-lost": (871, 2177, 902),
    "strays": (1402, 2731, 1772),
    "before-llm": (2121, 4254, 2477),
    "after-llm": (1621, 2683, 1962),
    "behind": (1051, 2474, 1305),
    "queried": (1210, 1984, 1670),
    "doubted": (1456, 3014, 1952),
    "approved": (1862, 3778, 2313),
    "gate-approval": (908, 2184, 997),
    "gate-signal": (438, 1066, 456),
    "owed": (488, 1836, 490),
    "owed-fails": (279, 1024, 281),
    "outlived": (5217, 18238, 5771),
    "both-undone": (914, 2840, 944),
    "warned-all": (35944, 64701, 40265),
    "modes-all": (37144, 60836, 43423),
    "quiet-all": (150813, 241494, 177358),
    "fenced-all": (40466, 88659, 50325),
    "spent-3-all": (39870, 82952, 46003),
    "spent-4-all": (161536, 409830, 186810),
    "refused-all": (65378, 128634, 73705),
    "told-for-good-all": (1914, 3095, 2051),
    "retold-all": (1935, 2918, 2013),
    "failed-all": (7692, 14670, 10213),
    "repeatable-all": (52859, 84151, 59200),
    "before-tool-all": (47686, 66865, 55094),
    "before-fails-all": (8598, 14501, 11401),
    "before-wait-all": (12367, 21993, 14771),
    "queried-all": (7427, 11187, 11263),
    "doubted-all": (13066, 19893, 18585),
    "pauses-all": (9230, 16401, 11850),
    "rests-all": (46378, 76697, 51795),
    "for-good-all": (13117, 21319, 15065),
    "inputs-all": (7017, 10570, 9052),
    "inputs-lost-all": (9550, 15088, 11263),
    "strays-all": (23268, 37089, 26870),
    "before-llm-all": (84568, 144644, 100373),
    "after-llm-all": (10381, 17676, 14136),
    "approved-all": (21345, 42685, 27304),
    "behind-all": (55862, 83215, 62469),
    "after-told-all": (1496, 2046, 1728),
    "gate-approval-all": (17322, 30849, 17947),
    "gate-signal-all": (16852, 30525, 17290),
    "fail-2": (2507, 4975, 3289),
    "park-2": (7465, 12703, 8745),
    "query-fence-2": (11078, 24597, 15738),
    "reexecute-2": (12895, 24512, 15970),
    "query-quiet-2": (32806, 60461, 41564),
    "fail-2-cancel": (12810, 26887, 17004),
    "fail-2-faults": (27167, 62156, 35969),
    "park-2-cancel": (42805, 76960, 50822),
    "query-fence-2-cancel": (63864, 146994, 90551),
    "reexecute-2-cancel": (97303, 195030, 122633),
    "query-quiet-2-cancel": (206581, 398182, 267215),
    "park-2-faults": (66116, 128781, 90547),
    "query-fence-2-faults": (120589, 292322, 162443),
    "query-quiet-2-faults": (322734, 649129, 451985),
    "reexecute-2-faults": (118589, 253743, 163698),
    "park-2-signal": (119405, 204533, 137416),
    "fail-2-signal": (31611, 66092, 41545),
    "query-fence-2-signal": (212373, 543762, 305402),
    "query-quiet-2-signal": (588427, 1073957, 742476),
    "reexecute-2-signal": (215694, 428414, 263632),
    "park-2-signal-before": (17702, 35731, 20940),
    "park-signal-cancel": (5425, 7648, 5891),
    "park-2-undo": (8223, 19787, 9769),
    "fail-2-undo": (7114, 17352, 8559),
    "query-fence-2-undo": (7782, 21265, 10376),
    "query-quiet-2-undo": (8081, 25073, 10960),
    "reexecute-2-undo": (7811, 21472, 10159),
    "partial-2-undo": (8192, 20289, 10631),
    "harmless-2-undo": (8429, 20310, 10037),
    "faults-2-undo": (8804, 27104, 10820),
    "cancel-2-undo": (7706, 22207, 11001),
    "behind-2-undo": (8189, 21209, 10765),
    "signal-2-undo": (7170, 21397, 10086),
    "fail-turns": (10768, 19623, 13148),
    "park-turns": (28058, 49467, 32887),
    "query-fence-turns": (46736, 87900, 54020),
    "query-quiet-turns": (21472, 31059, 24002),
    "reexecute-turns": (48524, 88621, 57887),
    "fail-once": (1076, 2129, 1375),
    "overtaken-begun": (81, 225, 112),
    "overtaken-refused": (494, 1498, 757),
    "overtaken-put": (211, 673, 278),
    "overtaken-query": (1724, 6369, 2217),
    "overtaken-happened": (274, 960, 360),
    "overtaken-resolved": (360, 1242, 479),
    "overtaken-barred": (3737, 11163, 5993),
    "overtaken-quiet": (3250, 8957, 5522),
    "overtaken-absent": (1191, 4377, 1641),
    "overtaken-noted": (126, 431, 164),
    "overtaken-again": (470, 1383, 678),
    "overtaken-counted": (508, 1104, 666),
    "overtaken-stale": (508, 1104, 666),
    "query-fence-3": (527613, 1631034, 1059988),
    "park-3": (503030, 1249641, 719747),
    "reexecute-3": (756832, 2010859, 1158186),
    "fail-3": (74023, 217842, 134608),
}
"""States, transitions, pairs of each case. An enumeration that finds others has enumerated something else."""
CLAIMED: Final = ("P1", "P2", "P3", "P6", "P7")
"""The claims of which the model's proof is the code's, as the code's steps are the model's."""
STORED: Final = (*CLAIMED, "P5")
"""The claims that rest on what every store does alike, and on its fences."""
BESIDE: Final = (
    ({**WIDE, **UNDOINGS}, ""),
    (GATES, "beside the machine of a gate, of which a step's claims do not speak, "),
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
    if isinstance(case, WideCase) and kind in GATES:
        return Product(
            WideFloor(case, mutant), gate_sets() if sets is None else sets, sampled=sampled, reader=GateReader
        )
    if isinstance(case, WideCase) and name not in SEVERAL:
        machine = build_around() if kind in AROUND else None
        sets = step_sets(machine) if sets is None else sets
        return Product(WideFloor(case, mutant), sets, sampled=sampled, certain=certain)
    letters = LETTERS[: SEVERAL[name]]
    floor = WideFloor(case, mutant) if isinstance(case, WideCase) else Floor(case, mutant)
    sets = fleet_sets(letters, asked=name in UNDOINGS) if sets is None else sets
    return Product(floor, sets, letters, sampled=sampled, certain=certain)


def enumerated(
    names: Iterable[str], kept: dict[int, CertainSets], singly: bool = False, certain: bool = False
) -> Iterator[Enumeration]:
    """Cases, one after the other; kept: the sets of so many workers, which grow; singly: see `remembered`, but of small cases.

    certain: what one worker and two take for certain is noted in the sets; not once more where a case is sampled, too, nor where
    the case has more in it than the converse of two workers asks for.
    """
    for name in names:
        workers = SEVERAL.get(name, 1)
        if origin(name) in {**GATES, **AROUND, **UNDOINGS}:
            made = product(name)
        else:
            if workers not in kept:
                kept[workers] = fleet_sets(LETTERS[:workers]) if workers > 1 else step_sets()
            made = product(
                name, kept[workers], certain=certain and workers in CONVERSE and name not in {**ENDED, **SIGNALS}
            )
        yield with_repeats(made, singly and name not in {**PARTLY, **ENDED})


def enumeration(context: Context) -> Found:
    """Every case of the profile; the edges that were taken; planted bugs."""
    found, kept = Found(), dict[int, CertainSets]()
    runs = []
    deep = context.profile == "deep"
    for run in enumerated(every() if deep else QUICK, kept, singly=deep, certain=deep):
        runs.append(run)
        context.tell(f"enumeration: {run.case.name}, {run.states} states")
    items = [refined(runs), *(over_sqlite(name, context) for name in ON_SQLITE[context.profile])]
    if context.profile == "deep":
        items.append(converse(kept[1], complete(HARDENED.name, context.spaces)))
        items.append(fleet_converse(kept[2], fleets()))
    for claim in CLAIMED:
        found.add(claim, *items)
    alike = stores_held(context)
    for claim in STORED:
        found.add(claim, *alike)
    found.mutants += [planted(name) for name in (QUICK_KILLS if context.profile == "quick" else KILLS)]
    return found


def refined(runs: list[Enumeration]) -> Item:
    """Whether each step of the code is a step of the model, and as much was enumerated as is pinned."""
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
    whole, behind = to_their_end(runs)
    said = (
        f"each of {figures['transitions']} steps of the shipped driver, protocol core and memory store is a step of the model,"
        f" with the same records, effects and requests after it: all orders within the bounds of {', '.join(whole)}"
    )
    if behind:
        said += f"; all that can follow the schedules of {', '.join(behind)}"
    said += "".join(f"; and {words}" for words in samples(runs, "samples of"))
    said += f". {figures['turns with answers repeated']} turns of workers go the same way where answers come only the second time"
    return _item(Verdict.EXHAUSTED, said, figures)


def to_their_end(runs: Iterable[Enumeration]) -> tuple[list[str], list[str]]:
    """Which cases were gone through with no pair left out: from their beginning, and behind a schedule; each with its machine."""
    found: tuple[list[str], list[str]] = [], []
    for case in (run.case for run in runs if run.case.name not in PARTLY):
        beside = next((words for cases, words in BESIDE if origin(case.name) in cases), "")
        found[bool(case.lead)].append(f"{beside}{case.name}")
    return found


def samples(runs: Iterable[Enumeration], words: str) -> list[str]:
    """Which cases were sampled, by the machine that they were held beside."""
    names = [run.case.name for run in runs]
    found = ((beside, [name for name in names if name in cases]) for cases, beside in BESIDE)
    return [f"{beside}{words} {', '.join(sampled)}" for beside, sampled in found if sampled]


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
    if (found.states, found.transitions) != COUNTS[name][:2]:
        return _item(Verdict.ERROR, f"{name} over SQLite: what was gone through is not what is pinned", figures)
    said = (
        f"{name}: over the SQLite store, with a snapshot of its file for each state, the code has the same {found.states} states"
        f" and {found.transitions} steps as over the memory store, with the same records in each"
    )
    return _item(Verdict.EXHAUSTED, said, figures)


def converse(sets: CertainSets, space: Space) -> Item:
    """Whether the code takes every edge of the step machine for certain, in a case or in a test path, but the pinned ones.

    What a case takes is on every run of the machine, what a path takes on every run of the machine without the pinned ones.
    """
    taken = sets.certain.taken | on_paths(space.machine)
    item = _judged("the shipped code takes", sets, reachable(space), taken, untaken("step"))
    return unless_told(item, lambda: untold(space, left_out(space.machine, space.packing)))


def on_paths(machine: Machine) -> set[Edge]:
    """What the kept test paths take for certain, over the store in memory. A path that parts from the machine takes nothing."""
    from .walk_seek import tried
    from .walks import kept

    model, taken = Model(machine, lacking(machine)), set[Edge]()
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
    return _judged(f"of the edges of {row!r} alone one worker takes", sets, asked, sets.certain.taken & asked, {})


def _judged(who: str, sets: Sets, edges: set[Edge], taken: set[Edge], pinned: Mapping[str, str]) -> Item:
    found = all_in_words(sets.machine, sets.packing, edges, taken, sets.taken)
    return judged(who, CONVERSE[1], found, pinned, f"{COMMAND} --workers 1")


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
