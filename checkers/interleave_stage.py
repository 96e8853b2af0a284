"""The stage of `crashwindow verify` that interleaves workers: every schedule within bounds, planted defects, whole stores."""

from collections.abc import Sequence
from typing import Final

from .evidence import Item, MutantResult, Verdict
from .interleave import CASES, Graph, interleave
from .interleave_floor import Floor
from .interleave_mutants import MUTANTS
from .interleave_whole import compared
from .verify import Context, Found, Stage

COUNTS: Final = {
    "fail-2": (2507, 4975),
    "park-2": (7465, 12703),
    "query-fence-2": (11078, 24597),
    "reexecute-2": (12895, 24512),
    "query-quiet-2": (32806, 60461),
    "fail-2-cancel": (12810, 26887),
    "fail-2-renewed": (29647, 68648),
    "fail-2-faults": (27167, 62156),
    "park-2-cancel": (42805, 76960),
    "fail-2-again": (62794, 179507),
    "query-fence-2-cancel": (63864, 146994),
    "park-2-renewed": (66549, 134569),
    "fail-3": (74023, 217842),
    "reexecute-2-cancel": (97303, 195030),
    "reexecute-2-faults": (118589, 253743),
    "reexecute-2-renewed": (126771, 286508),
    "query-fence-2-renewed": (164885, 395297),
    "query-quiet-2-cancel": (206581, 398182),
}
"""States and steps of each case that was searched to its end. A search that finds others has searched something else."""
QUICK: Final = tuple(name for name in COUNTS if name.endswith("-2"))
DEEP: Final = tuple(COUNTS)
LARGE: Final = tuple(name for name in CASES if name not in COUNTS)
"""Cases that no profile searches: the deep one draws schedules of them for the whole stores, and that is all."""

CLAIMED: Final = {
    "P1": ("P1",),
    "P2": ("P2",),
    "P3": ("P3", "P8"),
    "P6": ("P6",),
    "P7": ("P7", "P5", "T-ORDER"),
    "P11": ("P11",),
    "P14": ("P14",),
}
"""Beside which claim the evidence stands, and the properties whose violation refutes it there. P5, a write below a fence, and
T-ORDER, an append elsewhere than its writer expected, are shown as what they would be: a log that does not only grow. So is P8,
a success recorded with other state changes than its tool told: a record that is not whole. Nobody confirms one here.
"""

KILLS: Final = {
    "events-unfenced": ("park-2", "P5"),
    "ledger-unfenced": ("park-2", "P2"),
    "effects-unfenced": ("park-2", "P3"),
    "append-unconditional": ("park-2-cancel", "T-ORDER"),
    "acquire-not-atomic": ("park-2", "P7"),
    "started-unchecked-unlooked": ("park-2", "P1"),
    "look-by-token": ("query-fence-2", "P1"),
    "unlooked": ("query-quiet-2", "P1"),
    "lease-alone": ("park-2", "P3"),
    "lease-alone-unlooked": ("park-2", "P1"),
}
"""Each mutant, in which case it is let loose, and the property that the search has to see fall.

`started-unchecked` is not among them: while the driver looks at its lease before B3, nothing breaks (docs/decisions/021).
"""


def interleavings(context: Context) -> Found:
    """Every case of the profile, the mutants, and a sample on whole stores."""
    graphs = []
    for name in QUICK if context.profile == "quick" else DEEP:
        graphs.append(interleave(CASES[name]))
        context.tell(f"interleavings: {name}, {graphs[-1].states} states")
    found = Found()
    for claim, properties in CLAIMED.items():
        found.add(claim, exhausted(claim, properties, graphs))
    floors = [graph.floor for graph in graphs]
    if context.profile == "deep":
        floors += [Floor(CASES[name]) for name in LARGE]
    alike = compared(context, floors)
    for claim in CLAIMED:
        found.add(claim, *alike)
    for name in KILLS:
        found.mutants.append(planted(name))
        context.tell(f"interleavings: {name}")
    return found


def exhausted(claim: str, properties: Sequence[str], graphs: Sequence[Graph]) -> Item:
    """Whether a claim held in every state of these graphs, and in every step."""
    figures: dict[str, int | float | str] = {
        "states": sum(graph.states for graph in graphs),
        "transitions": sum(graph.transitions for graph in graphs),
        "cases": len(graphs),
        "seconds": round(sum(graph.seconds for graph in graphs), 1),
    }
    broken = [graph.broken[name] for graph in graphs for name in properties if name in graph.broken]
    if broken:
        problem, key = min(broken, key=lambda each: each[1].count(";"))
        said = f"a schedule of several workers breaks it: {problem}"
        command = f"crashwindow replay '{key}'"
        return Item(checker="enumerate", verdict=Verdict.REFUTED, statement=said, figures=figures, command=command)
    strayed = [graph.case.name for graph in graphs if COUNTS[graph.case.name] != (graph.states, graph.transitions)]
    if strayed:
        said = f"what was searched is not what is pinned: the counts of {', '.join(strayed)} differ"
        return Item(
            checker="enumerate", verdict=Verdict.ERROR, statement=said, figures=figures, command="crashwindow verify"
        )
    bounds = "; ".join(dict.fromkeys(str(graph.case.bounds) for graph in graphs))
    said = (
        f"{claim} held in each of {figures['states']} states and {figures['transitions']} steps of the shipped driver, protocol"
        " core and store: all interleavings at boundary granularity of one step's job, under each contract of a tool, within"
        f" {bounds}"
    )
    verdict = Verdict.EXHAUSTED if graphs else Verdict.NOT_CHECKED
    return Item(checker="enumerate", verdict=verdict, statement=said, figures=figures, command="crashwindow verify")


def planted(name: str) -> MutantResult:
    """A protection taken away: the search goes on until it sees the property fall that this one has to keep."""
    case, kept = KILLS[name]
    graph = interleave(CASES[case], MUTANTS[name], until=kept)
    title = f"interleavings: {name}: {MUTANTS[name].words}"
    if kept not in graph.broken:
        return MutantResult(name=title, killed_by=None, words=f"{kept} holds in {graph.states} states")
    problem, key = graph.broken[kept]
    steps = key.count(";") + 1
    return MutantResult(
        name=title, killed_by="enumerate", words=f"{problem}, after {steps} words: crashwindow replay '{key}'"
    )


INTERLEAVINGS: Final = Stage(
    "interleavings", "interleavings of several workers", interleavings, tuple(CLAIMED), "enumerate"
)
