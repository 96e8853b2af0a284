"""A run as SARIF: a result per finding on the seeds, and one per thing that is not as expected.

A finding points at the rule of the model that its run's last step used, and its steps can be walked through; where no rule is
known, at the claim's line in the register. What the register expects of an as_written claim is a note; the rest is an error.
The lines are those of the code that renders, which is the checked one where the run's code hash says so.
"""

from collections.abc import Sequence
from typing import Final

from ..checkers.evidence import RunEvidence, Trace
from ..model.refutation import refuted_by
from .rule_lines import Line, claim_line, rule_line, window_line
from .sarif_log import Json, Level, place, result, rule, sarif_log
from .sequence import broken, diagram
from .view import REGISTER, Entry, Finding, Problem, ProblemKind, Register, cited, judge, run_facts
from .words import plain

JUDGED_IN: Final[dict[ProblemKind, str]] = {
    "claim": "model/claims.py",
    "window": "model/windows.py",
    "campaign": "checkers/crash.py",
    "scenario": "checkers/scenario.py",
    "mutant": "checkers/stages.py",
    "mutants": "checkers/mutate_matrix.py",
    "contracts": "checkers/contract_stages.py",
    "run": "checkers/verify.py",
}
"""Where what is not as expected is judged, if nothing more exact is known: the first line of this file is pointed at."""

KINDS: Final[dict[ProblemKind, str]] = {
    "claim": "A claim has another verdict than the register expects, or a checker of it failed.",
    "window": "A row of the crash-window table is not as derived, not proved, or not as observed.",
    "campaign": "A crash schedule on the runtime broke a property, or ended otherwise by SIGKILL than by a snapshot.",
    "scenario": "A scenario came out otherwise than expected.",
    "mutant": "A planted bug was noticed by no checker.",
    "mutants": "A mutant was noticed by no checker, and nothing is proved of it.",
    "contracts": "The contract's machine was not tried in full on a store, or not as it is.",
    "run": "The run as a whole is not as expected.",
}
"""What each kind of problem is."""


def render_run_sarif(evidence: RunEvidence, register: Register = REGISTER) -> str:
    """The whole run. Its own section is in the run's properties."""
    view = judge(evidence, register)
    findings = view.findings
    told = {finding.entry.claim.id: finding.entry for finding in findings}
    kinds = dict.fromkeys(problem.kind for problem in view.unexpected)
    rules = [
        *(_claim_rule(entry) for entry in told.values()),
        *(rule(_unexpected(kind), "Not as expected", KINDS[kind]) for kind in kinds),
    ]
    results = [
        *(_problem(problem) for problem in view.unexpected),
        *(_finding(finding, findings[:number]) for number, finding in enumerate(findings)),
    ]
    root: Json = {"description": {"text": "The root of the crashwindow source tree."}}
    return sarif_log(rules, results, root, headline=view.headline, run=dict(run_facts(view.evidence)))


def _unexpected(kind: ProblemKind) -> str:
    return f"unexpected-{kind}"


def _claim_rule(entry: Entry) -> Json:
    claim = entry.claim
    full = f"{claim.sentence} ({cited(claim)})"
    return rule(claim.id, claim.sentence, full, f"{claim.formal}. {' '.join(refuted_by(claim))}", tags=[claim.variant])


def _problem(problem: Problem) -> Json:
    line: Line | None = None
    if problem.kind == "claim":
        line = claim_line(problem.name)
    elif problem.kind == "window":
        line = window_line(problem.name)
    where = place(line.file, line.number) if line else place(JUDGED_IN[problem.kind], 1)
    return result(_unexpected(problem.kind), "error", problem.words, where, problem.words)


def _finding(finding: Finding, earlier: Sequence[Finding]) -> Json:
    """A note where the register expects it of an as_written claim; an error otherwise."""
    entry, item = finding.entry, finding.item
    claim = entry.claim
    expected = claim.variant == "as_written" and entry.as_expected
    level: Level = "note" if expected else "error"
    shown = broken(item.trace, claim.properties) if item.trace else []
    beside = f" Hardened form {finding.hardened.claim.id}: {finding.hardened.best}." if finding.hardened else ""
    words = f"{claim.id}: {item.verdict} by {item.checker}: {item.statement}. {' '.join(shown)}{beside} Reproduce: {item.command}"
    written = claim_line(claim.id)
    home = place(written.file, written.number, "the claim") if written else place(JUDGED_IN["claim"], 1, "the claim")
    steps = _steps(item.trace, home) if item.trace else []
    where = {name: value for name, value in (steps[-1] if steps else home).items() if name != "message"}
    key = item.trace.key if item.trace else "of no run"
    again = sum(_known(each) == _known(finding) for each in earlier)
    flow = {
        "message": {"text": plain(f"crashwindow replay {key}")},
        "threadFlows": [{"locations": [{"location": step} for step in steps]}],
    }
    flows: Json = {"codeFlows": [flow]} if steps else {}
    return result(claim.id, level, words, where, f"{_known(finding)}/{again}", relatedLocations=[home], **flows)


def _known(finding: Finding) -> str:
    """By what a finding is known in the next run, too: several of one claim may have the same."""
    trace = finding.item.trace
    return f"{finding.entry.claim.id}/{finding.item.checker}/{trace.key if trace else ''}"


def _steps(trace: Trace, home: Json) -> list[Json]:
    """The steps of a run, each at the rule that it used; at the claim, where no source of a model makes that name."""
    policy = trace.key.split(":")[1] if trace.key.startswith("model:") else ""
    found = []
    for step, frame in zip(diagram(trace).steps, trace.frames, strict=True):
        line = rule_line(policy, frame.rule) if policy and step.number else None
        changes = ", ".join(f"{name}={new}" for name, _, new in step.changed) if step.number else "the start"
        words = f"{step.number} {step.way}: {step.rule}{f' ({changes})' if changes else ''}"
        found.append(place(line.file, line.number, words) if line else {**home, "message": {"text": plain(words)}})
    return found
