"""The stages of `crashwindow verify` in which the contract's machine meets the real store: the walk, and the coverage."""

from typing import TYPE_CHECKING, Final

from ..model.contract import HARDENED
from ..model.policy import HARDENED as POLICY
from .contract_coverage import Tried, enumerate_all
from .evidence import ContractCoverage, EdgeTaken, Item, Verdict
from .verify import Context, Found, Stage
from .walk_programs import Program

if TYPE_CHECKING:
    from .contract_conform import ContractRecord

STORE: Final = "SQLite"
WALKED: Final = ("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C10")
"""The claims whose properties speak of a state or a step: what the walk follows."""
LEAST: Final = {"steps": 800, "durable states": 24, "rules taken": 34, "crashes": 20, "refusals": 300}
"""A walk that has come to no more is no evidence. Of quick ones with 21 seeds the least came to 1,349 steps, 30 durable states,
41 rules, 60 crashes and 679 refusals; in the middle are 1,528, 45, 50, 96 and 811 (decision 032)."""
COVERED: Final = ("C4", "C6", "C8", "C9", "S3-VALIDATES")
"""The claims of which the enumeration tries every instance: who may, under which approval, what is legal, every edge."""


def contract_walk(context: Context) -> Found:
    """Model and runtime in lockstep over random histories of contracts."""
    from .contract_conform import walk_contracts

    record = walk_contracts(context.profile, context.seed)
    item = item_of(record, f"crashwindow verify --profile {context.profile} --seed {context.seed}", context.seed)
    taken = {" ".join(edge): count for edge, count in sorted(record.edges.items())}
    return Found(items={claim: [item] for claim in WALKED}, edges={"walk": taken})


def item_of(record: "ContractRecord", command: str, seed: int) -> Item:
    """A walk's item; ERROR in the place of TESTED where it has come to so little that it shows nothing."""
    figures: dict[str, int | float | str] = {
        "examples": record.examples,
        "steps": record.steps,
        "comparisons": record.model.comparisons,
        "durable states": len(record.model.states_met),
        "rules taken": len(record.model.rules_taken),
        "rules": len(record.model.machine.rules),
        "crashes": record.ends["crash"],
        "refusals": record.ends["refused"],
        "seed": seed,
    }
    steps = f"{record.steps} steps of random histories"
    said = f"the contract's machine and the runtime on {STORE} agreed at every boundary of {steps}"
    verdict = Verdict.TESTED
    short = [
        f"{figures[name]} {name}, not more than {least}" for name, least in LEAST.items() if int(figures[name]) <= least
    ]
    if short:
        verdict, said = Verdict.ERROR, f"the contracts' walk has come to little: {'; '.join(short)}"
    record.shorten("contract", POLICY.name)
    if record.failure is not None:
        verdict = Verdict.REFUTED
        said = f"the contract's machine and the runtime on {STORE} part: {record.failure.error}"
        figures["program"] = "\n".join(record.failure.program)
        command = f"crashwindow replay {Program('contract', POLICY.name, record.failure.program).key}"
    return Item(checker="walk", verdict=verdict, statement=said, figures=figures, command=command)


def contract_coverage(context: Context) -> Found:
    """Every edge and every combination that is none, on the real store."""
    tried = enumerate_all()
    coverage = covered(tried)
    figures: dict[str, int | float | str] = {
        "edges": len(coverage.edges),
        "legal": coverage.legal,
        "illegal": coverage.illegal,
        "refused": coverage.refused,
        "retries": tried.retries,
        "unapproved": tried.unapproved,
    }
    said = (
        f"on {STORE} each of {len(coverage.edges)} edges was taken, by everybody who may ({coverage.legal} combinations), and"
        f" each of {coverage.illegal} illegal combinations was refused without any change; of {tried.retries} states that a call"
        " comes to under an approval for retries, only failed handed it on to its retry; and in each of"
        f" {tried.unapproved} ways to be without an approval that is needed, or to have used it, a call was refused its run"
    )
    verdict = Verdict.TESTED
    if not coverage.complete:
        verdict = Verdict.REFUTED
        wrong = [*(f"{edge} was never taken" for edge in coverage.untaken), *coverage.wrong]
        said = f"on {STORE}: {'; '.join(wrong) or 'not every illegal combination was refused'}"
    item = Item(
        checker="enumerate",
        verdict=verdict,
        statement=said,
        figures=figures,
        command="crashwindow verify --profile quick",
    )
    return Found(items={claim: [item] for claim in COVERED}, contracts=[coverage])


def covered(tried: Tried) -> ContractCoverage:
    """What was tried, as evidence: the edges are the model's, whatever the store takes."""
    edges = [
        EdgeTaken(before=before, trigger=trigger, after=after, by={"enumerate": tried.taken[before, trigger, after]})
        for before, row in HARDENED.items()
        for trigger, after in row.items()
    ]
    return ContractCoverage(
        store=STORE, edges=edges, legal=tried.legal, illegal=tried.illegal, refused=tried.refused, wrong=tried.wrong
    )


CONTRACT_WALK_STAGES: Final = (
    Stage("contract_walk", "contracts: model and runtime in lockstep", contract_walk, WALKED, "walk"),
    Stage("contract_coverage", "contracts: every edge, every refusal", contract_coverage, COVERED, "enumerate"),
)
