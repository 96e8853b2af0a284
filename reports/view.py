"""What the evidence says, judged against the claim register: the content that every form of the report renders.

Nothing is added here that is not in the two. A claim is *guaranteed* only if it stands in the register, as a hardened one,
if its best verdict is PROVED or EXHAUSTED and the one that the register expects, and if none of its items is a
refutation or an error. Whatever is not as expected is a sentence in `problems`, so no form can lose it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from ..checkers.evidence import (
    ContractCoverage,
    Item,
    KillRow,
    RunEvidence,
    Schedules,
    Verdict,
    WindowResult,
)
from ..checkers.evidence_verdict import strongest, weakest
from ..model.claims import ASSUMPTIONS, CLAIMS, Assumption, Claim
from ..model.compensation import COMPENSATION_RULES, HARDENED_COMPENSATION
from ..model.contract import RULES
from ..model.contract_policy import HARDENED_CONTRACT
from ..model.fleet_claims import FLEET
from ..model.gate import GATE_RULES, HARDENED_GATE
from ..model.policy import HARDENED
from ..model.recorded import HARDENED_RECORDED, RECORDED_RULES
from .crash_matrix import surroundings
from .graph_counts import graph_problems
from .kills import OTHERS, in_part, not_asked_further, timed
from .words import effects, number, plain

SURE: Final = (Verdict.PROVED, Verdict.EXHAUSTED)
BROKEN: Final = (Verdict.REFUTED, Verdict.ERROR)

ProblemKind = Literal["claim", "window", "campaign", "scenario", "mutant", "mutants", "contracts", "run"]
"""What a problem may be about: `mutants` is a row of the kill matrix, `run` the whole of it."""

TIMING: Final = re.compile(r"second|_ms$|\bms$|per_s|elapsed|duration")
"""The names of figures that depend on the machine and its load."""

LEGEND: Final = {
    Verdict.PROVED: "An inductive proof by a solver: it holds in every reachable state of the model, without a bound on crashes. "
    "It speaks of the model; that the running code follows the model is the matter of crash, monitor and walk.",
    Verdict.EXHAUSTED: "Every reachable state of the model, or every schedule within the bounds stated beside it, was visited. "
    "Given by crash or enumerate it is about the running code: about each image that a loss of power may leave of the recorded "
    "runs, or each step in every order, of the cases and within the bounds that its sentence names. Beyond them, and of what "
    "that sentence calls a sample, it says nothing.",
    Verdict.TESTED: "Some runs were made and none broke it. Runs that were not made are not covered.",
    Verdict.ASSUMED: "Taken for granted. Somebody else must keep it; the list of assumptions says who.",
    Verdict.NOT_CHECKED: "This run says nothing about it.",
    Verdict.REFUTED: "There is a counterexample. It is printed and can be replayed.",
    Verdict.ERROR: "The checker itself failed or gave no answer. This is never a pass.",
}


@dataclass(frozen=True)
class Register:
    """The claim register: what may be claimed, and under which assumptions."""

    claims: tuple[Claim, ...]
    assumptions: Mapping[str, Assumption]


SPEAK_OF: Final = {
    frozenset(("prove", "reprove", "explore", "windows")): "of the model",
    frozenset(("crash", "monitor", "replay")): "on the runtime",
}
"""What a checker's verdict is about; the walk holds the two together, and an enumeration is of neither."""

REGISTER: Final = Register(CLAIMS, ASSUMPTIONS)
SHIPPED: Final = (
    *(p.name for p in (HARDENED, HARDENED_CONTRACT, HARDENED_GATE, HARDENED_COMPENSATION, HARDENED_RECORDED)),
    FLEET,
)
"""The policies that the runtime ships: of a step, a contract, a gate, a compensation, a recorded value; of several workers."""


def figures(item: Item) -> list[tuple[str, str]]:
    """The figures of an item but for timings, which belong to the run's own section."""
    return [(plain(k), number(v)) for k, v in sorted(item.figures.items()) if not TIMING.search(k)]


@dataclass(frozen=True)
class Entry:
    """A claim of the register with everything that was found out about it."""

    claim: Claim
    items: tuple[Item, ...]

    @property
    def best(self) -> Verdict:
        """The strongest verdict, unless something refutes it."""
        return strongest([item.verdict for item in self.items])

    @property
    def worst(self) -> Verdict:
        """The weakest link."""
        return weakest([item.verdict for item in self.items])

    @property
    def as_expected(self) -> bool:
        """Whether the claim came out as the register expects."""
        return self.best == self.claim.expected and self.worst is not Verdict.ERROR

    @property
    def guaranteed(self) -> bool:
        """Whether a report may say that this holds."""
        return (
            self.claim.variant == "hardened"
            and self.best in SURE
            and self.as_expected
            and all(item.verdict not in BROKEN for item in self.items)
        )

    def checkers(self, verdict: Verdict) -> str:
        """The checkers that gave a verdict, and whether they speak of the model or of the runtime."""
        names = list(dict.fromkeys(item.checker for item in self.items if item.verdict is verdict))
        return ", ".join([*names, *(words for some, words in SPEAK_OF.items() if names and some.issuperset(names))])

    @property
    def shipped(self) -> bool:
        """Whether the claim speaks of the policy that the runtime ships."""
        return self.claim.policy in SHIPPED

    @property
    def missing(self) -> list[str]:
        """The methods that the register names for this claim and that this run has no item of."""
        return [method for method in self.claim.methods if method not in {item.checker for item in self.items}]

    def link(self, verdict: Verdict) -> str:
        """A verdict with who gave it."""
        by = self.checkers(verdict)
        return f"{verdict} ({by})" if by else str(verdict)


@dataclass(frozen=True)
class Finding:
    """A run that refutes a claim, or shows what an as_written one says, and the hardened form beside which it stands."""

    entry: Entry
    item: Item
    hardened: Entry | None


@dataclass(frozen=True)
class Problem:
    """Something that is not as expected, in words; kind and name say what the words are about, where that is one thing."""

    kind: ProblemKind
    name: str
    words: str


@dataclass(frozen=True)
class Listing:
    """The register's claims, each with what was found out about it, if anything."""

    entries: tuple[Entry, ...]

    def hardened(self, entry: Entry) -> Entry | None:
        """The hardened claim beside which an as_written one stands."""
        return next((e for e in self.entries if e.claim.id == entry.claim.hardened), None)


@dataclass(frozen=True)
class View(Listing):
    """The whole report, before it has a form."""

    evidence: RunEvidence
    assumptions: tuple[tuple[Assumption, tuple[str, ...]], ...]  # with the claims that need each
    not_checked: tuple[str, ...]
    unexpected: tuple[Problem, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What is not as expected, in words."""
        return tuple(problem.words for problem in self.unexpected)

    @property
    def passed(self) -> bool:
        """Whether every verdict is the expected one."""
        return self.evidence.passed and not self.problems

    @property
    def guaranteed(self) -> list[Entry]:
        """The claims that a report may state as holding."""
        return [entry for entry in self.entries if entry.guaranteed]

    @property
    def findings(self) -> list[Finding]:
        """Each refutation, and each run of an as_written claim; the unexpected ones first."""
        found = [
            Finding(entry, item, self.hardened(entry))
            for entry in self.entries
            for item in entry.items
            if item.verdict is Verdict.REFUTED or (item.trace and entry.claim.variant == "as_written")
        ]
        return sorted(found, key=lambda f: (f.entry.as_expected, f.entry.claim.variant == "as_written"))

    @property
    def witnesses(self) -> list[tuple[Entry, Item]]:
        """Runs that show where the antecedent of a hardened claim holds."""
        hardened = [entry for entry in self.entries if entry.claim.variant == "hardened"]
        return [(e, i) for e in hardened for i in e.items if i.trace and i.verdict is not Verdict.REFUTED]

    @property
    def headline(self) -> str:
        """The one sentence on top of every form."""
        if self.passed:
            return "Every verdict is the expected one."
        return f"NOT PASSED: {len(self.problems)} {'thing is' if len(self.problems) == 1 else 'things are'} not as expected."

    @property
    def totals(self) -> list[str]:
        """The run in a few figures."""
        return [*self.of_the_model, *self.on_the_runtime]

    @property
    def of_the_model(self) -> list[str]:
        """The figures of the register and the model."""
        written = [e for e in self.entries if e.claim.variant == "as_written"]
        refuted = sum(e.best is Verdict.REFUTED for e in written)
        hardened = len(self.entries) - len(written)
        tested = sum(e.claim.variant == "hardened" and e.best is Verdict.TESTED for e in self.entries)
        windows = self.evidence.windows
        return [
            f"{len(self.guaranteed)} of {hardened} hardened claims PROVED or EXHAUSTED, {tested} TESTED alone",
            f"{refuted} of {len(written)} as-written claims REFUTED",
            f"{sum(w.agrees for w in windows)} of {len(windows)} crash windows as derived",
        ]

    @property
    def on_the_runtime(self) -> list[str]:
        """The figures of what was run."""
        run = self.evidence
        killed = sum(bool(m.killed_by) for m in run.mutants)
        tried = sum(s.schedules for s in run.schedules)
        broken = sum(len(s.violations) for s in run.schedules)
        return [
            f"{number(tried)} crash schedules on the runtime, {number(broken)} violations",
            f"{sum(s.passed for s in run.scenarios)} of {len(run.scenarios)} scenarios as expected",
            f"{killed} of {len(run.mutants)} planted defects found",
        ]


def paired(view: Listing) -> list[Entry]:
    """The register with each as_written claim behind the hardened one beside which it stands."""
    known = {entry.claim.id for entry in view.entries}
    behind: dict[str, list[Entry]] = {}
    for entry in view.entries:
        behind.setdefault(entry.claim.hardened or "", []).append(entry)
    alone = (entry for entry in view.entries if entry.claim.hardened not in known)
    return [each for entry in alone for each in (entry, *behind.get(entry.claim.id, ()))]


_OWN: Final = "Properties, tables and keys"
_SENTENCE: Final = re.compile(r"S\d-")


def grouped(view: Listing) -> list[tuple[str, list[Entry]]]:
    """The register in parts: the specification's own properties, then the sentences of each document, section by section.

    An as_written claim stands behind the hardened one, and so in its part.
    """
    parts: dict[str, list[Entry]] = {_OWN: []}
    name = _OWN
    for entry in paired(view):
        if view.hardened(entry) is None:
            name = _part(entry.claim)
        parts.setdefault(name, []).append(entry)
    own = parts.pop(_OWN)
    rest = sorted(parts.items(), key=lambda part: min(_place(entry.claim) for entry in part[1] if _of(entry, part[0])))
    return [*([(_OWN, own)] if own else []), *rest]


def _part(claim: Claim) -> str:
    """The part to which a claim without a hardened one belongs."""
    if not _SENTENCE.match(claim.id) or not claim.citations:
        return _OWN
    first = claim.citations[0]
    return f"{first.document} §{first.section}" if first.section else first.document


def _of(entry: Entry, name: str) -> bool:
    """Whether a claim gives its part its place."""
    return _part(entry.claim) == name


def _place(claim: Claim) -> tuple[str, int]:
    """Where a claim's first source stands."""
    return claim.citations[0].document, claim.citations[0].lines[0]


def cited(claim: Claim) -> str:
    """Where the sentence of a claim comes from."""
    sources = []
    for source in claim.citations:
        first, last = source.lines
        part = f" §{source.section}" if source.section else ""
        sources.append(f"{source.document}{part}, {f'lines {first}–{last}' if last != first else f'line {first}'}")
    return "; ".join(sources) or "ours"


def listing(evidence: RunEvidence | None, register: Register = REGISTER) -> Listing:
    """The register with the items of the evidence; without evidence no claim has one."""
    items: dict[str, list[Item]] = {}
    for result in evidence.claims if evidence else ():
        items.setdefault(result.claim, []).extend(result.items)
    return Listing(tuple(Entry(claim, tuple(items.get(claim.id, ()))) for claim in register.claims))


def judge(evidence: RunEvidence, register: Register = REGISTER) -> View:
    """Put the evidence beside the register."""
    entries = listing(evidence, register).entries
    problems = [*_claim_problems(evidence, register, entries), *_run_problems(evidence)]
    if not evidence.passed and not problems:
        problems = [Problem("run", "", "the evidence says of itself that not every verdict is the expected one")]
    return View(
        entries,
        evidence,
        tuple(_assumptions(register, entries)),
        tuple(_not_checked(evidence, entries)),
        tuple(replace(problem, words=plain(problem.words)) for problem in problems),
    )


def _claim_problems(evidence: RunEvidence, register: Register, entries: tuple[Entry, ...]) -> Iterator[Problem]:
    def about(name: str, words: str) -> Problem:
        return Problem("claim", name, f"claim {name}{words}")

    known = {claim.id: claim for claim in register.claims}
    for name, count in Counter(result.claim for result in evidence.claims).items():
        if name not in known:
            yield about(name, ": the register has no such claim, so nothing is claimed by it")
        if count > 1:
            yield about(name, f": the evidence lists it {count} times")
    for result in evidence.claims:
        claim = known.get(result.claim)
        if claim and result.expected != claim.expected:
            yield about(claim.id, f": the evidence expects {result.expected}, the register {claim.expected}")
    for entry in entries:
        claim = entry.claim
        if not entry.as_expected:
            yield about(claim.id, f" ({claim.variant}): expected {claim.expected}, found {entry.link(entry.best)}")
        for item in entry.items:
            if item.verdict is Verdict.ERROR:
                yield about(claim.id, f": the checker {item.checker} failed: {item.statement}")
        for name in claim.assumptions:
            if name not in register.assumptions:
                yield about(claim.id, f": the register does not define its assumption {name}")


def _run_problems(evidence: RunEvidence) -> Iterator[Problem]:
    yield from (Problem("run", "", words) for words in evidence.errors)
    yield from (Problem("run", "", words) for words in graph_problems(evidence))
    for window in evidence.windows:
        for words in window_problems(window):
            yield Problem("window", window.row, f"window {window.row}: {words}")
    for campaign in evidence.schedules:
        for words in campaign_problems(campaign):
            yield Problem("campaign", campaign.name, f"campaign {campaign.name}: {words}")
    for scenario in evidence.scenarios:
        if not scenario.passed:
            words = f"scenario {scenario.name}: expected {scenario.expected}, observed {scenario.observed}"
            yield Problem("scenario", scenario.name, words)
    for mutant in evidence.mutants:
        if not mutant.killed_by:
            yield Problem("mutant", mutant.name, f"mutant {mutant.name}: no checker said no")
    for row in evidence.kills:
        for name in row.gaps:
            words = f"no checker said no, and nothing is proved of it: crashwindow mutants --only '{name}'"
            yield Problem("mutants", kills_name(row), f"mutant {name}: {words}")
    for coverage in evidence.contracts:
        for words in coverage_problems(coverage):
            yield Problem("contracts", coverage.store, f"contracts on {coverage.store}: {words}")


def campaign_problems(campaign: Schedules) -> list[str]:
    """What is wrong with a campaign of crash schedules on the runtime."""
    told = (("broke a property", campaign.violations), ("ended otherwise by SIGKILL", campaign.disagreements))
    return [f"{number(len(keys))} schedules {what}, first {keys[0]}" for what, keys in told if keys]


def coverage_problems(coverage: ContractCoverage) -> list[str]:
    """What is wrong with how a contract's machine was tried on a store."""
    refused = [] if coverage.refused == coverage.illegal else [coverage_words(coverage)]
    return [*(f"{edge} was never taken" for edge in coverage.untaken), *coverage.wrong, *refused]


def kills_name(row: KillRow) -> str:
    """A row of the kill matrix by its name: whose mutants, and of which kind."""
    return f"{row.subject}: {row.kind}"


Needs = dict[str, list[tuple[str, str, Verdict]]]
"""For each hardening rule: the claim, the property and its verdict in the machine without the rule."""

CONTRACT_RULES: Final[Mapping[str, str]] = dict(RULES.items())
OTHER_RULES: Final[Mapping[str, str]] = {**GATE_RULES, **COMPENSATION_RULES, **RECORDED_RULES}
NEEDED: Final = (
    ("Which rule each property needs", CONTRACT_RULES),
    ("Which rule each property of gates, compensations and recorded values needs", OTHER_RULES),
)
"""The hardening rules and what each of them says, under the heading of what they are needed for."""


def needs(view: View, rules: Iterable[str]) -> Needs:
    """What fails without each rule, by the items of this run: what they do not say is not in it."""
    found: Needs = {}
    for rule in rules:
        entry = next((e for e in view.entries if e.claim.id == f"WITHOUT-{rule}"), None)
        if entry and entry.items:
            found[rule] = [
                (entry.claim.id, name, item.verdict)
                for name, item in zip(entry.claim.properties, entry.items, strict=False)
            ]
    return found


def coverage_words(coverage: ContractCoverage) -> str:
    """How much of a contract's machine was tried on a store."""
    return (
        f"{len(coverage.edges) - len(coverage.untaken)} of {len(coverage.edges)} edges taken; {coverage.legal} legal"
        f" combinations of state, trigger, actor and action type made; {coverage.refused} of {coverage.illegal} illegal ones"
        " refused without any change"
    )


def window_problems(window: WindowResult) -> list[str]:
    """What is wrong with one row of the crash-window table."""
    found = []
    stated = window.predicted_recovery, window.predicted_at_crash, window.predicted_in_end
    derived = window.derived_recovery, window.derived_at_crash, window.derived_in_end
    if not window.agrees:
        found.append("the row derived from the model DIFFERS from the stated one")
    elif [set(values) for values in stated] != [set(values) for values in derived]:
        found.append("it is said to agree, but the derived row DIFFERS from the stated one")
    if window.proof in BROKEN:
        found.append(f"its proof came out as {window.proof}")
    for seen in sorted(window.observed.at_crash):
        if seen.isdecimal() and seen not in window.predicted_at_crash:
            found.append(f"effects observed at the crash that were not predicted: {seen}")
    most = max((int(n) for n in window.predicted_in_end if n.isdecimal()), default=None)
    for seen in sorted(window.observed.in_end):
        if most is not None and any(count > most for count in effects(seen)):
            found.append(f"more effects were observed in the end than predicted: {seen}")
    return found


def _assumptions(register: Register, entries: tuple[Entry, ...]) -> Iterator[tuple[Assumption, tuple[str, ...]]]:
    for name, assumption in register.assumptions.items():
        users = tuple(e.claim.id for e in entries if name in e.claim.assumptions and e.claim.variant == "hardened")
        if users:
            yield assumption, users


def _not_checked(evidence: RunEvidence, entries: tuple[Entry, ...]) -> Iterator[str]:
    yield from map(plain, evidence.not_checked)
    for entry in entries:
        if entry.best is Verdict.NOT_CHECKED:
            yield f"Claim {entry.claim.id}: {entry.claim.sentence}"
    yield from (f"{words}: beside {', '.join(claims)}." for words, claims in _unasked(entries).items())
    lacking = [f"{e.claim.id} ({', '.join(e.missing)})" for e in entries if e.items and e.missing]
    if lacking:
        yield f"Methods that the register names for a claim and this run did not apply: {'; '.join(lacking)}."
    untried = [plain(w.row) for w in evidence.windows if not w.observed.crashes]
    if untried:
        yield f"No crash was tried in {'window' if len(untried) == 1 else 'windows'} {', '.join(untried)}."
    if left := not_asked_further(evidence.kills):
        yield f"{number(left)} mutants are safe by proof, and killed by nobody who was asked; not asked about them: {OTHERS}."
    yield from (f"Mutants of {subject}: {words}." for subject, words in in_part(evidence))
    for what, there in (
        ("The crash-window table was not computed", evidence.windows),
        ("No crash schedule was run on the runtime", evidence.schedules),
        ("No scenario was run", evidence.scenarios),
        ("No mutant was planted", evidence.mutants),
        ("No edge of a contract's machine was taken on a real store", evidence.contracts),
        ("No model was examined", evidence.machines),
    ):
        if not there:
            yield f"{what}."


def _unasked(entries: tuple[Entry, ...]) -> dict[str, list[str]]:
    """What was not looked at beside claims that hold all the same: what an item says of it, and of which claims.

    Such a claim is as expected, so nothing else would name it.
    """
    found: dict[str, list[str]] = {}
    for entry in entries:
        if entry.best not in (Verdict.NOT_CHECKED, *BROKEN):
            for words in dict.fromkeys(plain(i.statement) for i in entry.items if i.verdict is Verdict.NOT_CHECKED):
                found.setdefault(words, []).append(entry.claim.id)
    return found


def run_facts(evidence: RunEvidence) -> list[tuple[str, str]]:
    """The run's own section, by name: everything that differs between two runs on the same code."""
    run = evidence.run
    return [
        ("Run", run.run),
        ("Started", run.started),
        ("Seconds", number(run.seconds)),
        *([("Taken up again", kept_words(run.kept))] if run.kept else ()),
        ("Profile", run.profile),
        ("Seed", str(run.seed)),
        ("Platform", run.platform),
        *((f"Version of {plain(name)}", version) for name, version in sorted(run.versions.items())),
        *timings(evidence),
    ]


def kept_words(kept: Mapping[str, str]) -> str:
    """What a run that was taken up again has from its earlier sittings, and what else here is not of those."""
    stages = f"{number(len(kept))} {'stages' if len(kept) > 1 else 'stage'} ended in earlier sittings of this run"
    titles = ", ".join(f"{plain(title)} ({at})" for title, at in kept.items())
    return f"{stages}, by the same code and packages; start, seconds and platform are the last sitting's: {titles}"


def timings(evidence: RunEvidence) -> Iterator[tuple[str, str]]:
    """Every figure that depends on the machine and its load: they belong to the run's own section."""
    for machine in evidence.machines:
        yield f"model {plain(machine.policy)}", f"{number(round(machine.states_per_second))} states per second"
    for campaign in evidence.schedules:
        yield f"campaign {plain(campaign.name)}", f"{number(round(campaign.per_second))} schedules per second"
    for matrix in evidence.campaigns:
        for name, words in surroundings(matrix):
            yield f"crash matrix {plain(matrix.subject)}", f"{name}: {plain(words)}"
    for row in evidence.kills:
        yield f"mutants {plain(kills_name(row))}", timed(row)
    for result in evidence.claims:
        for item in result.items:
            for key, value in sorted(item.figures.items()):
                if TIMING.search(key):
                    yield f"{plain(result.claim)}, {item.checker}", f"{plain(key)} {number(value)}"
