"""A run as JUnit XML, for machines: a case per claim, window, campaign, scenario, planted bug, class of mutants and store.

What is unexpected is a failure, in words; where a checker failed, an error; what is not checked is skipped, never passed.
Every problem of the view stands in some case: one that is about nothing listed has a case of its own.
"""

from collections.abc import Iterator, Sequence

from ..checkers.evidence import KillRow, RunEvidence, Schedules, Verdict, WindowResult
from ..checkers.evidence_matrix import Matrix
from ..model.claims import REASONS
from .junit_xml import Case, Result, Suite, junit_xml
from .view import REGISTER, Entry, ProblemKind, Register, View, coverage_words, judge, kills_name, run_facts
from .words import number, plain, tally


def render_run_junit(evidence: RunEvidence, register: Register = REGISTER) -> str:
    """The whole run. Its own section is the properties of the last suite."""
    view = judge(evidence, register)
    listed: list[tuple[ProblemKind, str, list[Case]]] = [
        ("claim", "claims", [_claim(entry) for entry in view.entries]),
        ("window", "crash windows", [_window(window) for window in evidence.windows]),
        ("campaign", "crash schedules", [_campaign(campaign) for campaign in evidence.schedules]),
        ("scenario", "scenarios", [Case(s.name, told=f"{s.detail}: {s.command}") for s in evidence.scenarios]),
        ("mutant", "planted bugs", [Case(m.name, told=f"{m.killed_by}: {m.words}") for m in evidence.mutants]),
        ("mutants", "classes of mutants", [_kills(row) for row in evidence.kills]),
        ("contracts", "execution contracts", [Case(c.store, told=coverage_words(c)) for c in evidence.contracts]),
    ]
    known: set[tuple[str, str]] = {(kind, case.name) for kind, _, cases in listed for case in cases}
    matrices = Suite("crash matrices of runtimes", "crashwindow.matrix", [_matrix(m) for m in evidence.campaigns])
    return junit_xml([*(_suite(view, *each) for each in listed), matrices, *_rest(view, known)])


def _suite(view: View, kind: ProblemKind, name: str, cases: Sequence[Case]) -> Suite:
    """A suite in which whatever the view has a problem with fails: as an error where the case is one."""
    told: dict[str, list[str]] = {}
    for problem in view.unexpected:
        if problem.kind == kind:
            told.setdefault(problem.name, []).append(problem.words)
    return Suite(name, f"crashwindow.{kind}", [_failed(case, told.get(case.name, ())) for case in cases])


def _failed(case: Case, problems: Sequence[str]) -> Case:
    if not problems:
        return case
    result: Result = "error" if case.result == "error" else "failure"
    return Case(case.name, result, "; ".join(problems), case.kind or "unexpected", case.told or case.message)


def _claim(entry: Entry) -> Case:
    claim = entry.claim
    said = (
        f"expected {claim.expected}, best {entry.link(entry.best)}, weakest {entry.link(entry.worst)}: {claim.sentence}"
    )
    if Verdict.ERROR in [item.verdict for item in entry.items]:
        return Case(claim.id, "error", "a checker failed", "ERROR", said)
    if entry.best is Verdict.NOT_CHECKED:
        return Case(claim.id, "skipped", f"not checked: {REASONS.get(claim.id, 'this run says nothing about it')}")
    if entry.best is Verdict.ASSUMED:
        return Case(claim.id, "skipped", f"assumed, and checked by nobody here: {claim.sentence}")
    return Case(claim.id, told=said)


def _window(window: WindowResult) -> Case:
    seen = window.observed
    crashes = f"{number(seen.crashes)} crashes, {number(seen.killed)} by SIGKILL: {tally(seen.in_end)}"
    if window.proof is Verdict.NOT_CHECKED:
        return Case(window.row, "skipped", "not checked: nothing was proved of this row")
    return Case(
        window.row, told=f"{window.advice}; proof {window.proof}; {crashes if seen.crashes else 'no crash was tried'}"
    )


def _campaign(campaign: Schedules) -> Case:
    if not campaign.schedules:
        return Case(campaign.name, "skipped", "not checked: no schedule was run")
    return Case(
        campaign.name, told=f"{number(campaign.schedules)} schedules by {campaign.by}: {tally(campaign.outcomes)}"
    )


def _kills(row: KillRow) -> Case:
    proved = f"{row.same} proved equivalent, {row.safe} proved safe, {row.unasked} safe by proof and not asked further"
    return Case(kills_name(row), told=f"{row.killed} of {row.mutants} killed, {proved}, {len(row.gaps)} gaps")


def _matrix(matrix: Matrix) -> Case:
    """Of a runtime of others: what became of it is told; what its campaign expects is in the campaign's own file."""
    if not matrix.cells:
        return Case(matrix.subject, "skipped", "not checked: no cell was run")
    each = ", ".join(f"{count} {found}" for found, count in matrix.count().items())
    broken, unjudged = len(matrix.broken), len(matrix.unjudged)
    return Case(matrix.subject, told=f"{each}; {broken} cells break the runtime's promise, {unjudged} were not judged")


def _rest(view: View, known: set[tuple[str, str]]) -> Iterator[Suite]:
    """What the view says is not checked, skipped; then what belongs to the run as a whole, or to nothing that is listed."""
    yield Suite("not checked", "crashwindow.not_checked", [Case(words, "skipped", words) for words in view.not_checked])
    failed = set(map(plain, view.evidence.errors))
    cases = [
        Case(problem.words, "error" if problem.words in failed else "failure", problem.words, "unexpected")
        for problem in view.unexpected
        if (problem.kind, problem.name) not in known
    ]
    yield Suite("run", "crashwindow.run", cases or [Case("the run came to its end")], dict(run_facts(view.evidence)))
