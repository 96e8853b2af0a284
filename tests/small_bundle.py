"""A small run with one of everything that an audit looks at, made in a second: real proofs, searches, runs and events."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from crashwindow.checkers.crash_cases import CASES
from crashwindow.checkers.crash_streams import keep_streams
from crashwindow.checkers.evidence import (
    ClaimResult,
    ContractCoverage,
    EdgeTaken,
    Item,
    KillRow,
    Observed,
    RunEvidence,
    ScenarioResult,
    Schedules,
    Trace,
    Verdict,
    WindowResult,
)
from crashwindow.checkers.evidence_code import code_sha256
from crashwindow.checkers.explore import Space
from crashwindow.checkers.machines import described
from crashwindow.checkers.proof_subjects import subject
from crashwindow.checkers.prove import export, prove, to_items
from crashwindow.checkers.quotient import QUOTIENTS, quotient
from crashwindow.checkers.search import complete, examine, shortest
from crashwindow.checkers.seed_text import examine as examine_text
from crashwindow.checkers.traces import replay, trace_to
from crashwindow.model.claim_types import PROPERTY_BY_ID
from crashwindow.model.claims import ASSUMPTIONS, CLAIM_BY_ID, NOT_CHECKED
from crashwindow.model.contract import HARDENED as CONTRACT
from crashwindow.model.machine import show
from crashwindow.model.windows import WINDOWS
from crashwindow.reports.audit import run as audit_run
from crashwindow.reports.audit.outcome import Audit, Check
from crashwindow.reports.audit.run import Anew, Asked, audit
from crashwindow.reports.bundle.contents import collected, derived, sealed
from crashwindow.reports.bundle.manifest import ENVELOPE, MANIFEST
from crashwindow.reports.view import Register
from crashwindow.scenarios.due import Due
from crashwindow.scenarios.due_figures import figures
from crashwindow.scenarios.due_models import proved, searched
from crashwindow.scenarios.profile import CAMPAIGNS, MUTATED, command
from crashwindow.scenarios.schema import Scenario, shipped
from crashwindow.scenarios.searched import IN_WINDOWS
from crashwindow.tests import test_reports as made_up

from .kept_streams import FOLDER, killed, named

POLICY = "recorded-hardened"
SMT2 = f"smt2/{POLICY}/"
STREAM, WORLD = named("crash:ok-park:execute:effect")
HOLDS, WITHOUT, TRIED = CLAIM_BY_ID["P12"], CLAIM_BY_ID["WITHOUT-L-RECORD"], CLAIM_BY_ID["S1-1-COVERED"]
REGISTER = Register(
    claims=(
        replace(HOLDS, methods=("prove", "explore", "crash")),
        replace(WITHOUT, methods=("explore", "replay")),
        replace(
            CLAIM_BY_ID["P1"],
            id="LATER",
            methods=("explore",),
            policy=POLICY,
            kind="rest",
            properties=(),
            expected="NOT CHECKED",
        ),
        replace(TRIED, methods=("enumerate",)),
    ),
    assumptions=ASSUMPTIONS,
)
RECHECK = "crashwindow recheck"
WITNESS, CRASH, AGAIN = 3, 6, 7
"""Which of the items on the claim that holds shows a run, is a crash campaign's, and is a second opinion."""
BROKEN = {
    "s4-reexecute-doubles": "0/0/0/0/0/0/0/0/0/1/2/0/0/0/0/0/0/0/0/3",
    "s4-key-changes": "0/0/0/0/0/0/0/0/0/3/0/0/0/0/0/0/0/0",
    "s1-row2-retry-doubles": "0/0/0/0/0/0/0/0/0/1/2/0/0/0/0/0/0/0/0/1",
    "s0-events-alone-doubles": "0/0/0/0/0/0/0/0/0/1/2/0/0/0/0/0/0/0/0/1",
    "s0-events-alone-barrier-parks": "0/0/0/0/0/0/0/0/0/1/0/0/2/0/0/0/0/0/0/0",
    "barrier-before-lookup-parks": "0/0/0/0/0/0/0/0/0/1/0/0/2/0/0/0/0/0/0/0",
}
"""Runs of models for scenarios that are refuted and do not name theirs; of the others one is searched."""


def shown_by(scenario: Scenario) -> Trace | None:
    """The counterexample that a scenario owes."""
    digits = scenario.interleaving.model if scenario.interleaving else BROKEN.get(scenario.name)
    if digits:
        return replay(f"model:{scenario.policy}:{digits}")
    if scenario.expect == "holds" or scenario.property is None:
        return None
    space, state = shortest(scenario.policy, PROPERTY_BY_ID[scenario.property].never)
    assert state is not None
    return trace_to(space, state)


@cache
def scenarios() -> list[ScenarioResult]:
    """Every scenario that ships, as if it had come out as it should."""
    return [
        ScenarioResult(
            name=each.name, expected=each.expect + (f", {each.run.outcome}" if each.run else ""), observed="as expected",
            passed=True, detail="as it says", trace=shown_by(each), command=repeated_by(each),
        )
        for each in shipped()
    ]  # fmt: skip


def repeated_by(scenario: Scenario) -> str:
    """The command that runs a scenario again."""
    return f"crashwindow replay '{scenario.key()}'" if scenario.key() else f"crashwindow scenario run {scenario.name}"


SHOWN = repeated_by(shipped()[0])
DUE = {
    HOLDS.id: (
        *proved([POLICY])(HOLDS, False),
        *searched([POLICY])(HOLDS, False),
        Due("crash", "TESTED", figures("schedules, not run as meant, streams"), (FOLDER,)),
        Due("reprove", "TESTED", figures("obligations, proofs checked, limit, solver"), (SMT2,), command=RECHECK),
    ),
    WITHOUT.id: (*searched([WITHOUT.policy])(WITHOUT, False), Due("replay", "REFUTED", {}, command=SHOWN)),
    "LATER": (Due("explore", "NOT CHECKED", {}),),
    TRIED.id: (Due("enumerate", "REFUTED", {}, shown=True, command=f"crashwindow replay text:{TRIED.id}"),),
}
"""The items that it owes, as a run of this register would."""
OURS = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
"""The key that whoever audits trusts."""
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))


def owed(profile: str) -> dict[str, tuple[Due, ...]]:
    """The same, whatever the profile."""
    return DUE


@dataclass(frozen=True)
class Run:
    """A run: what was found out, and the files on which that rests."""

    evidence: RunEvidence
    files: dict[str, bytes]

    def whole(self) -> dict[str, bytes]:
        """Every file of its bundle, but manifest and envelope."""
        return {**derived(self.evidence, REGISTER), **self.files}

    def packed(self, key: Ed25519PrivateKey | None = OURS) -> bytes:
        """Its bundle."""
        return sealed(self.whole(), self.evidence, key)

    def with_items(self, claim: str, items: list[Item]) -> "Run":
        """The run with other items of one claim."""
        results = [r.model_copy(update={"items": items}) if r.claim == claim else r for r in self.evidence.claims]
        return replace(self, evidence=self.evidence.model_copy(update={"claims": results}))

    def items(self, claim: str) -> list[Item]:
        """The items of a claim."""
        return next(list(result.items) for result in self.evidence.claims if result.claim == claim)

    def with_item(self, claim: str, number: int, **parts: Any) -> "Run":
        """The run with one item changed."""
        items = self.items(claim)
        items[number] = items[number].model_copy(update=parts)
        return self.with_items(claim, items)


def audited(data: bytes, recheck: bool = False) -> Audit:
    """What an audit says that trusts our key, and knows what is asked of the models."""
    asked = Asked(OURS.public_key(), recheck, Anew(proof_files, sentences), REGISTER, owed)
    return audit(data, asked)


@contextmanager
def looked_at_once() -> Iterator[None]:
    """What an audit says of the same contents is worked out once: beside manifest and envelope, it depends on nothing else."""
    known: dict[tuple[frozenset[tuple[str, bytes]], bool, bool], list[Check]] = {}
    whole = audit_run._contents

    def quick(files: Mapping[str, bytes], evidence: RunEvidence, asked: Asked) -> list[Check]:
        contents = frozenset((name, data) for name, data in files.items() if name not in (MANIFEST, ENVELOPE))
        key = contents, asked.recheck, asked.regenerate is None
        if key not in known:
            known[key] = whole(files, evidence, asked)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_run, "_contents", quick)
        yield


@cache
def proof_files() -> dict[str, bytes]:
    """The obligations of the small machine."""
    return {name: data for name, data in run().files.items() if name.startswith(SMT2)}


@cache
def sentences() -> dict[str, Item]:
    """The sentence that is tried."""
    return {TRIED.id: examine_text(TRIED.id)}


@cache
def run() -> Run:
    """The run, made once."""
    spaces: dict[str, Space] = {}
    proof = prove(*subject(POLICY))
    with TemporaryDirectory() as place:
        folder = Path(place)
        export(proof, folder / SMT2)
        keep_streams(killed("crash:ok-park:execute:effect"), CASES, folder / FOLDER)
        items = dict(to_items(proof, [SMT2]))
        crash = made_up.item("crash", Verdict.TESTED, "no schedule broke it", files=[FOLDER], command="crashwindow verify",
                             figures={"schedules": 12, "not run as meant": 0, "streams": 1})  # fmt: skip
        again = made_up.item("reprove", Verdict.TESTED, "cvc5 agrees", files=[SMT2], command=RECHECK,
                             figures={"obligations": 2, "proofs checked": 2, "limit": 5, "solver": "cvc5"})  # fmt: skip
        shown = made_up.item("replay", Verdict.REFUTED, "the runtime shows the same", command=SHOWN)
        proved = [items[name] for name in HOLDS.properties]
        claims = [
            ClaimResult(claim=HOLDS.id, expected=Verdict.PROVED, items=[*proved, *examine(HOLDS, spaces), crash, again]),
            ClaimResult(claim=WITHOUT.id, expected=Verdict.REFUTED, items=[*examine(WITHOUT, spaces), shown]),
            ClaimResult(claim="LATER", expected=Verdict.NOT_CHECKED, items=[
                made_up.item("explore", Verdict.NOT_CHECKED, "nobody looked", command="crashwindow verify")]),
            ClaimResult(claim=TRIED.id, expected=Verdict.REFUTED, items=list(sentences().values())),
        ]  # fmt: skip
        evidence = made_up.evidence()
        repeated = command(evidence.run.profile, evidence.run.seed)
        info = evidence.run.model_copy(update={"code_sha256": code_sha256(), "command": repeated})
        machines = [described(complete(name, spaces), 1.0) for name in (POLICY, WITHOUT.policy)]
        parts = {"run": info, "claims": claims, "machines": machines, "schedules": schedules(),
                 "graphs": [quotient(complete(POLICY, spaces), QUOTIENTS[POLICY])],
                 "scenarios": scenarios(), "windows": windows(), "contracts": [contracts()],
                 "not_checked": list(NOT_CHECKED), "kills": kills(), "necessity": None}  # fmt: skip
        whole = evidence.model_copy(update=parts)
        return Run(whole, collected(whole, folder))


def schedules() -> list[Schedules]:
    """Every campaign of the step, of three schedules each."""
    return [
        Schedules(name=name, by=by, schedules=3, per_second=1.0, outcomes={"completed/1": 3}, violations=[], disagreements=[],
                  boundaries={"execute:after": 3})
        for name, by in CAMPAIGNS[FOLDER].items()
    ]  # fmt: skip


def kills() -> list[KillRow]:
    """As many mutants of the model as the quick profile makes, of two kinds; one of each is let through by proof and search."""
    return [
        KillRow(subject=POLICY, kind=kind, mutants=number + 1, killed=number, by={"explore": number},
                cheapest={"explore": number}, met={"explore": number + 1, "prove": number + 1}, same=0, safe=0, unasked=1,
                gaps=[], survivors={"proved: safe": [f"one of {kind}"]}, seconds=1.0)
        for kind, number in (("rule dropped", 5), ("write dropped", MUTATED[POLICY] - 7))
    ]  # fmt: skip


def windows() -> list[WindowResult]:
    """Every window, as the model states it; in window 2, which comes first, crashes were observed."""
    seen = Observed(crashes=12, at_crash={"1": 12}, recovery={"park": 12}, in_end={"parked/1": 12})
    found = []
    for window in sorted(WINDOWS, key=lambda each: each.id != "2"):
        row = sorted(window.recovery), sorted(window.at_crash), sorted(window.in_end)
        found.append(
            WindowResult(
                row=window.id, crash_after=window.crash_after, durable=" or ".join(map(show, window.durable)),
                advice=window.advice, predicted_recovery=row[0], predicted_at_crash=row[1], predicted_in_end=row[2],
                derived_recovery=row[0], derived_at_crash=row[1], derived_in_end=row[2],
                states=IN_WINDOWS[window.id], agrees=True, proof=Verdict.PROVED,
                observed=seen if window.id == "2" else Observed(), source=window.source,
            )
        )  # fmt: skip
    return found


def contracts() -> ContractCoverage:
    """Every edge of a contract, taken once."""
    edges = [
        EdgeTaken(before=before, trigger=trigger, after=after, by={"enumerate": 1})
        for before, row in CONTRACT.items()
        for trigger, after in row.items()
    ]
    return ContractCoverage(store="SQLite", edges=edges, legal=36, illegal=732, refused=732, wrong=[])
