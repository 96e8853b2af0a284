"""The stage of `crashwindow verify` that enumerates the contract engine beside its machine: both directions, planted bugs."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ..model.contract_machine import build_contract
from ..model.contract_policy import HARDENED_CONTRACT
from ..model.machine import Machine
from . import bugs_contract
from .abstraction import RAM
from .contract_walk_stage import WALKED
from .converse import all_in_words, judged
from .enumerate_contract import ContractEnumeration, ContractProduct
from .enumerate_contract_cases import CONTRACTS
from .enumerate_contract_sets import ContractSets
from .enumerate_contract_sqlite import SqliteShelf
from .enumerate_cover import reachable
from .enumerate_repeat import enumerated as with_repeats
from .evidence import Item, MutantResult, Verdict
from .explore import Space
from .search import complete
from .substitute import Plant
from .substitute import planted as planting
from .verify import Context, Found, Stage

COMMAND: Final = "crashwindow conform"
QUICK: Final = (
    "contract-gated", "contract-free", "contract-changed", "contract-2-begin", "contract-2-resume", "contract-2-denied",
)  # fmt: skip
ON_SQLITE: Final = {
    "quick": ("contract-2-begin",),
    "deep": ("contract-2-begin", "contract-2-resume", "contract-changed"),
}
"""The cases that are gone through again over the SQLite store."""
BENEATH: Final = {
    "memory": "the store's shipped rules, with rows and reads in memory that are the checker's own",
    "SQLite": "the shipped contract store on SQLite",
}
"""What the contracts lie in, as an item says it."""
COUNTS: Final[dict[str, tuple[int, int, int]]] = {
    "contract-gated": (3991, 8152, 4023),
    "contract-consent": (2315, 4241, 2315),
    "contract-free": (1974, 4771, 1987),
    "contract-fails": (2463, 5840, 2463),
    "contract-asks": (4137, 9686, 4156),
    "contract-repeats": (9447, 20331, 9459),
    "contract-changed": (952, 1583, 952),
    "contract-gated-changed": (1889, 3227, 1895),
    "contract-declared-late": (348, 640, 351),
    "contract-retried": (530, 818, 530),
    "contract-named-again": (537, 830, 546),
    "contract-fine": (2775, 5191, 2775),
    "contract-reopened": (1234, 2512, 1234),
    "contract-one-key": (1632, 2916, 1632),
    "contract-2-begin": (964, 3356, 964),
    "contract-2-resume": (4380, 14497, 4400),
    "contract-2-gated": (10420, 36666, 10471),
    "contract-2-denied": (46, 112, 46),
    "contract-2-denied-itself": (46, 112, 46),
    "contract-2-answered": (2821, 9217, 2854),
    "contract-2-slowly": (16926, 66610, 17124),
    "contract-2-expired": (24369, 89255, 24445),
    "contract-3-resume": (45134, 224804, 45404),
    "contract-direct": (6565, 14571, 6565),
    "contract-2-direct": (3973, 12762, 4006),
    "contract-direct-itself": (1720, 3205, 1720),
    "contract-direct-changed": (7148, 13353, 7172),
    "contract-small": (115, 175, 118),
    "contract-small-denied": (8, 9, 8),
}
"""States, transitions, pairs of each case. An enumeration that finds others has enumerated something else."""
KILLS: Final[dict[Plant, str]] = {
    bugs_contract.no_compare_and_set: "contract-2-denied-itself",
    bugs_contract.consent_kept: "contract-small",
    bugs_contract.release_in_two: "contract-small",
    bugs_contract.executor_runs_ahead: "contract-small",
    bugs_contract.request_ends_alone: "contract-small-denied",
    bugs_contract.named_failure_retried: "contract-named-again",
    bugs_contract.supersede_in_two: "contract-changed",
    bugs_contract.timeout_cancels: "contract-free",
    bugs_contract.doubt_is_failure: "contract-free",
    bugs_contract.orphan_again: "contract-2-expired",
    bugs_contract.used_approval_taken: "contract-2-direct",
    bugs_contract.used_approval_stands: "contract-2-direct",
    bugs_contract.ids_numbered_anew: "contract-2-begin",
    bugs_contract.one_id_a_turn: "contract-2-begin",
    bugs_contract.ids_without_a_name: "contract-2-begin",
    bugs_contract.name_kept: "contract-small",
    bugs_contract.overtaken_batch_taken_for_done: "contract-2-denied-itself",
}
"""Bugs of the engine, and the case in which a step is then not the machine's, the id of a batch may be another's, or a runner
goes another way behind a lost answer.
"""


def contract_sets() -> ContractSets:
    """The sets of the hardened machine; they may be shared between cases."""
    return ContractSets(build_contract())


def enumerated(
    names: Iterable[str], sets: ContractSets, singly: bool = False, certain: bool = False
) -> Iterator[ContractEnumeration]:
    """Cases, one after the other, over the store in memory. singly: see `remembered`; certain: see `ContractProduct`."""
    for name in names:
        yield with_repeats(ContractProduct(CONTRACTS[name], sets, certain=certain), singly)


def over_sqlite(names: Iterable[str], sets: ContractSets, certain: bool = False) -> Iterator[ContractEnumeration]:
    """The same over the SQLite store, which is put back to each content by a snapshot."""
    for name in names:
        with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as folder:
            shelf = SqliteShelf(Path(folder))
            try:
                yield with_repeats(ContractProduct(CONTRACTS[name], sets, shelf, certain))
            finally:
                shelf.close()


def contract_enumeration(context: Context) -> Found:
    """Every case of the profile, in memory and on SQLite; the edges that were taken; planted bugs."""
    found, sets = Found(), contract_sets()
    runs = []
    deep = context.profile == "deep"
    for run in enumerated(CONTRACTS if deep else QUICK, sets, singly=deep, certain=deep):
        runs.append(run)
        context.tell(f"contracts: enumeration: {run.case.name}, {run.states} states")
    again = list(over_sqlite(ON_SQLITE[context.profile], sets))
    items = [refined(runs), refined(again, "SQLite")]
    if context.profile == "deep":
        items.append(converse(sets, complete(HARDENED_CONTRACT.name, context.spaces)))
    for claim in WALKED:
        found.add(claim, *items)
    found.mutants += [planted(plant) for plant in KILLS]
    return found


def refined(runs: list[ContractEnumeration], store: str = "memory") -> Item:
    """Whether each step of the engine is a step of the machine, and as much was enumerated as is pinned."""
    figures: dict[str, int | float | str] = {
        "store": store,
        "states": sum(run.states for run in runs),
        "transitions": sum(run.transitions for run in runs),
        "pairs": sum(run.pairs for run in runs),
        "cases": len(runs),
        "turns with answers repeated": sum(run.repeated for run in runs),
        "seconds": round(sum(run.seconds for run in runs), 1),
    }
    names = ", ".join(run.case.name for run in runs)
    wrong = [(run.case.name, parted) for run in runs for parted in run.parted]
    verdict, command = Verdict.EXHAUSTED, COMMAND
    said = (
        f"each of {figures['transitions']} steps of the shipped nodes and runner, and of what ships for people and clock, over"
        f" {BENEATH[store]}, is a step of the contract's machine, write by write: all orders within the bounds of {names}."
        f" {figures['turns with answers repeated']} turns of runners go the same way where answers come only the second time"
    )
    if wrong:
        name, parted = min(wrong, key=lambda each: len(each[1].schedule))
        verdict, said = Verdict.REFUTED, f"contract engine and machine part: {parted}"
        command = f"{COMMAND} --case {name} --schedule '{';'.join(parted.schedule)}'"
    elif unlike := next((run for run in runs if run.remembered), None):
        verdict, command = Verdict.REFUTED, f"{COMMAND} --case {unlike.case.name}"
        said = f"a runner whose answer comes only when it asks again goes another way: {unlike.remembered}"
    elif strayed := [run.case.name for run in runs if COUNTS.get(run.case.name) != run.counts] or (
        not runs and ["nothing"]
    ):
        verdict = Verdict.ERROR
        said = f"what was enumerated is not what is pinned: the counts of {', '.join(strayed)} differ"
    return Item(checker="enumerate", verdict=verdict, statement=said, figures=figures, command=command)


def converse(sets: ContractSets, space: Space) -> Item:
    """Whether the engine takes every edge of the machine for certain."""
    found = all_in_words(sets.machine, sets.packing, reachable(space), sets.certain.taken, sets.taken)
    return judged("the contract engine takes", "its machine", found, f"{COMMAND} --case contracts")


def converse_of(machine: Machine, row: str) -> Item:
    """The same of the smallest case, and of those rules whose names begin with that of a row, as far as some run takes them."""
    sets = ContractSets(machine)
    run = ContractProduct(CONTRACTS["contract-small"], sets, certain=True).run()
    asked = {edge for edge in sets.taken if machine.rules[edge[0]].name.startswith(row)}
    taken = all_in_words(machine, sets.packing, asked, asked & sets.certain.taken, asked)
    item = judged(f"of the edges of {row!r} alone one runner takes", "the contract's machine", taken, COMMAND)
    said = f"engine and machine part: {run.parted[0]}" if run.parted else ""
    return item.model_copy(update={"verdict": Verdict.ERROR, "statement": said}) if said else item


def planted(plant: Plant) -> MutantResult:
    """A bug: the enumeration alone has to see a step that is not the machine's."""
    with planting(plant):
        (run,) = enumerated([KILLS[plant]], contract_sets())
    words = " ".join((plant.__doc__ or "").split())
    title = f"contracts: enumeration: {words}"
    if run.remembered:
        return MutantResult(name=title, killed_by="enumerate", words=run.remembered)
    if not run.parted:
        return MutantResult(name=title, killed_by=None, words=f"every step of {run.states} states is the machine's")
    parted = min(run.parted, key=lambda each: len(each.schedule))
    return MutantResult(name=title, killed_by="enumerate", words=f"{parted}, after {len(parted.schedule)} words")


CONTRACT_ENUMERATION: Final = Stage(
    "contract_enumeration",
    "the contract engine, step by step beside its machine",
    contract_enumeration,
    WALKED,
    "enumerate",
)
