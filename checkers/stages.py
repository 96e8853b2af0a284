"""The stages of `crashwindow verify`, in order: the tool step, contracts, gates and the like, crashes, scenarios."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..model.claims import CLAIMS
from ..model.invariant import INVARIANT
from ..model.machine import Field, show
from ..model.policy import HARDENED, Policy
from ..model.properties import PROPERTIES
from ..model.seed_claims_s1 import ROW_WINDOWS
from ..model.step import build
from ..model.windows import WINDOWS
from ..scenarios.policies import POLICIES
from .campaign_stage import CAMPAIGN
from .canary import noticed
from .canary_stage import CHECKER_CANARIES
from .contract_crash_stage import CONTRACT_CRASHES, CONTRACT_SCENARIOS
from .contract_stages import CONTRACT_STAGES
from .contract_text import CONTRACT_TEXT
from .contract_walk_stage import CONTRACT_WALK_STAGES
from .crash_stage import CRASHES
from .enumerate_contract_stage import CONTRACT_ENUMERATION
from .enumerate_stage import ENUMERATION
from .evidence import Item, MutantResult, Observed, Verdict, WindowResult
from .explore import explore
from .fleet_stages import FLEET_STAGES
from .interleave_stage import INTERLEAVINGS
from .invariant_stage import INVARIANTS
from .liveness_stage import LIVENESS
from .machines import described
from .mutate_stage import MUTANTS
from .necessity_stage import NECESSITY
from .power_stage import POWER
from .proof_subjects import ROWS, step_subject
from .prove_health_stage import HEALTH
from .quotient import GRAPHS
from .search import check, complete, examine
from .second_stage import SECOND_OPINION
from .seed_text import SEED_TEXT
from .semantics_crash_stage import SEMANTICS_CRASHES
from .semantics_stages import SEMANTICS_STAGES
from .verify import Context, Found, Stage
from .verify_job_stage import VERIFY_JOB
from .walk_stage import WALK_STAGES
from .windows import Derived, derive

if TYPE_CHECKING:
    from .prove import Proof
    from .scenario import Known

PROVED = tuple(p.id for p in PROPERTIES)
STEP_CLAIMS = tuple(
    claim for claim in CLAIMS if claim.policy in POLICIES and not claim.id.endswith("-ANY") and claim.kind != "live"
)
"""The claims about the tool step; those about contracts have stages of their own."""
SEARCHED = tuple(c for c in STEP_CLAIMS if "explore" in c.methods and c.kind not in ("matrix", "exactly"))
"""Those that explicit search of the whole machine answers; what is needed for what is a stage of its own."""

ONE_TOOL: Final = {"idempotent": ("no",), "on_unknown": ("park",), "look": ("none",)}
"""The smallest of the tools, for a table that is derived of a defect in every run: a fifteenth of the states."""
LOST_RULE: Final = "3: effect record"
DOUBLED: Final = "seed-row-3"
"""A scenario that holds, in the model and on the runtime."""


def search(context: Context) -> Found:
    """Every claim by explicit search, and the machines that were searched."""
    found = Found()
    seconds: dict[str, float] = {}
    for claim in SEARCHED:
        new = claim.kind not in ("refuted", "occurs") and claim.policy not in context.spaces
        clock = time.perf_counter()
        if new:
            complete(claim.policy, context.spaces)
            seconds[claim.policy] = time.perf_counter() - clock
        found.add(claim.id, *examine(claim, context.spaces))
        context.tell(f"search: {claim.id}")
    found.machines += [described(context.spaces[policy], spent) for policy, spent in seconds.items()]
    return found


def proved(policy: Policy, context: Context) -> "Proof":
    """The proof of a policy's machine, made once in a run."""
    from .prove import prove

    if policy.name not in context.proofs:
        context.proofs[policy.name] = prove(*step_subject(policy))
    return context.proofs[policy.name]


def proof(context: Context) -> Found:
    """The inductive proofs, of the hardened machine and of two others, with their obligations as files beside the evidence."""
    from .prove import export, to_items

    found = Found()
    for claim in STEP_CLAIMS:
        if "prove" in claim.methods and claim.kind == "holds":
            items = dict(to_items(proved(POLICIES[claim.policy], context), [f"smt2/{claim.policy}/"]))
            found.add(claim.id, *(items[name] for name in claim.properties))
    for policy, made in context.proofs.items():
        export(made, context.directory / "smt2" / policy)
    return found


def table(context: Context) -> Found:
    """The crash-window table, derived and compared; and what the invariant proves of each row."""
    from .prove import prove_rows

    space = complete(HARDENED.name, context.spaces)
    proofs = prove_rows(proved(HARDENED, context), WINDOWS, context.directory / "smt2" / ROWS)
    found = Found()
    context.table[:] = rows = derive(space)
    for row in rows:
        window = row.window
        found.windows.append(
            WindowResult(
                row=window.id,
                crash_after=window.crash_after,
                durable=" or ".join(show(g) for g in window.durable),
                advice=window.advice,
                predicted_recovery=sorted(window.recovery),
                predicted_at_crash=sorted(window.at_crash),
                predicted_in_end=sorted(window.in_end),
                derived_recovery=sorted(row.recovery),
                derived_at_crash=sorted(row.at_crash),
                derived_in_end=sorted(row.in_end),
                states=row.states,
                agrees=row.agrees,
                proof=proofs[window.id],
                observed=Observed(),
                source=window.source,
            )
        )
    found.add("T-WINDOW", as_stated(rows, len(space)))
    for claim, (ids, effects) in ROW_WINDOWS.items():
        found.add(claim, row_of_the_seed(claim, [row for row in rows if row.window.id in ids], effects))
    found.mutants.append(table_with_a_rule_lost())
    return found


def as_stated(rows: list[Derived], states: int) -> Item:
    """Whether the derived table is the one that is stated by hand."""
    wrong = [row.window.id for row in rows if not row.agrees]
    said = (
        f"rows that differ from the table stated by hand: {', '.join(wrong)}"
        if wrong
        else f"each of {len(rows)} windows, over {sum(r.states for r in rows)} states, is as stated by hand"
    )
    verdict = Verdict.REFUTED if wrong else Verdict.EXHAUSTED
    figures: dict[str, int | float | str] = {"windows": len(rows), "states": states}
    command = "crashwindow check T-WINDOW"
    files = [f"smt2/{ROWS}/"]
    return Item(checker="windows", verdict=verdict, statement=said, figures=figures, files=files, command=command)


def table_with_a_rule_lost() -> MutantResult:
    """The table of a machine that has lost a rule of recovery. Of one tool, by whose states alone each row is as stated, too."""
    machine = build(HARDENED)
    rules = tuple(rule for rule in machine.rules if rule.name != LOST_RULE)
    space = explore(replace(machine, fields=tuple(map(of_one_tool, machine.fields)), rules=rules))
    return noticed(f"windows: the rule {LOST_RULE!r} is lost", as_stated(derive(space), len(space)))


def of_one_tool(field: Field) -> Field:
    """A field that begins as one tool declares it, where a tool declares it."""
    return replace(field, initial=ONE_TOOL.get(field.name, field.initial))


def row_of_the_seed(claim: str, rows: list[Derived], effects: frozenset[str]) -> Item:
    """Whether the windows that refine a row of S1's table are as stated, and end with so many effects."""
    wrong = [row.window.id for row in rows if not row.agrees or not row.in_end <= effects]
    windows, states = ", ".join(row.window.id for row in rows), sum(row.states for row in rows)
    said = f"window {windows}: {states} states, in the end {' or '.join(sorted(effects))} effects"
    if wrong:
        said = f"window {', '.join(wrong)} differs from the row"
    verdict = Verdict.REFUTED if wrong else Verdict.EXHAUSTED
    figures: dict[str, int | float | str] = {"windows": len(rows), "states": states}
    return Item(
        checker="windows", verdict=verdict, statement=said, figures=figures, command=f"crashwindow check {claim}"
    )


def walk(context: Context) -> Found:
    """Model and runtime in lockstep over random histories."""
    from .conform import substantial
    from .conform import walk as walk_together

    item = substantial(walk_together(context.profile, context.seed))
    return Found(items={name: [item] for name in PROVED})


def scenarios(context: Context) -> Found:
    """Every shipped scenario of tool steps, in both its halves."""
    from ..scenarios.schema import shipped
    from .scenario import known_of, run, shown

    found, known = Found(), known_of(context)
    for scenario in (each for each in shipped() if not each.of_contracts()):
        context.tell(f"scenario: {scenario.name}")
        result = run(scenario, known)
        found.scenarios.append(result)
        for claim, item in shown(scenario, result).items():
            found.add(claim, item)
    found.mutants.append(told_otherwise(known))
    return found


def told_otherwise(known: "Known") -> MutantResult:
    """A scenario that says of its run that it doubles the effect, which it does not."""
    from ..scenarios.schema import shipped
    from .scenario import run

    (scenario,) = (each for each in shipped() if each.name == DOUBLED)
    assert scenario.run is not None
    wrong = scenario.run.model_copy(update={"outcome": "completed/2", "violates": ("P1",)})
    result = run(scenario.model_copy(update={"run": wrong}), known)
    name = f"replay: {DOUBLED} is said to double the effect"
    return MutantResult(name=name, killed_by=None if result.passed else "replay", words=result.detail)


def keys(context: Context) -> Found:
    """Keys of steps that look alike."""
    from .keys import check as check_keys

    return Found(items={"P11-INJECTIVE": [check_keys()]})


CANARIES = {
    "an open attempt is executed again": ("5: open attempt", {"at": "acquire"}),
    "the effect record is not looked up": ("3: effect record", {"at": "ledger_unknown"}),
    "the started event is not written": ("append started", {"retry": "no", "at": "execute"}),
    "the commit stores another result": (
        "commit",
        {"ledger": "committed", "recorded": "other", "at": "append_node_finished"},
    ),
    "the external key changes with the attempt": (
        "send request",
        {"request": "sent", "quiet": "no", "keys": "+1", "at": "await_reply"},
    ),
    "a cancel is honoured while an attempt is open": ("5: open attempt", {"at": "append_cancelled"}),
    "a cancelled job leaves its ledger record as it was": ("6: cancelled", {"at": "append_cancelled"}),
    "what comes from the effect record is not confirmed": (
        "3: effect record",
        {"at": "put_effect", "memory": "=effect", "fresh": "yes"},
    ),
    "a step with an unknown outcome is requeued": ("on unknown: fail", {"at": "append_retryable"}),
    "a finished node is skipped whatever the verifier says": (
        "confirm: mismatch, again",
        {"at": "checkpoint", "cleared": "differs"},
    ),
}
"""Plausible defects of the model that search and proof have to find in every run: rule, and what it writes instead."""


def canaries(context: Context) -> Found:
    """Plant a few defects; a checker that lets one live is broken."""
    from .prove import stops_at

    found = Found()
    for name, (rule, writes) in CANARIES.items():
        machine = build(HARDENED)
        rules = tuple(replace(r, writes=writes) if r.name == rule else r for r in machine.rules)
        mutant = replace(machine, rules=rules)
        space = explore(mutant, *(never for p in PROPERTIES for never in p.never))
        violation = next((v for p in PROPERTIES if (v := check(space, p))), None)
        stop = stops_at(mutant, PROPERTIES, INVARIANT)
        words = f"search: {violation.property}, {violation.part}" if violation else "search: no violation"
        words += f"; proof: stops at {stop.obligation.name}" if stop else "; proof: found nothing"
        killed = "explore, prove" if violation and stop else None
        found.mutants.append(MutantResult(name=name, killed_by=killed, words=words))
    return found


STAGES = (
    Stage(
        "search",
        "explicit search",
        search,
        tuple(c.id for c in SEARCHED),
        "explore",
    ),
    Stage("proof", "inductive proof", proof, PROVED, "prove"),
    Stage("table", "crash-window table", table, ("T-WINDOW", *ROW_WINDOWS), "windows"),
    Stage("keys", "keys of steps that look alike", keys, ("P11-INJECTIVE",), "enumerate"),
    Stage("walk", "model and runtime in lockstep", walk, PROVED, "walk"),
    *WALK_STAGES,
    Stage("canaries", "defects planted in the model", canaries, PROVED, "explore"),
    # It plants: in the process that does one stage after the other, and there before those that leave much in memory.
    CHECKER_CANARIES,
    MUTANTS,
    *CONTRACT_STAGES,
    *CONTRACT_WALK_STAGES,
    CONTRACT_TEXT,
    SEED_TEXT,
    VERIFY_JOB,
    *SEMANTICS_STAGES,
    # After every search that it draws.
    GRAPHS,
    *FLEET_STAGES,
    replace(INVARIANTS, elsewhere=True),
    HEALTH,
    NECESSITY,
    # After every stage that proves: it reads the files that they wrote.
    SECOND_OPINION,
    LIVENESS,
    # These need no search of another stage: a second core does them while this one is at the others.
    *(replace(stage, elsewhere=True) for stage in (INTERLEAVINGS, ENUMERATION, CONTRACT_ENUMERATION, POWER)),
    CRASHES,
    SEMANTICS_CRASHES,
    CONTRACT_CRASHES,
    CAMPAIGN,
    # Last: a schedule that has to be run alone forks this process, and no other thread is to run then.
    Stage("scenarios", "scenarios", scenarios, (), "replay"),
    CONTRACT_SCENARIOS,
)
