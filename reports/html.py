"""The report as one self-contained HTML page: nothing from elsewhere, the same bytes for the same evidence.

Reading order (E-REPORT): what is guaranteed and what is not, the crash-window table, the contract's machine, the register
with its verdicts, the findings and witnesses step by step, coverage, and at the end the run's own section, which alone holds
what differs between two runs on the same code.
"""

from ..checkers.evidence import RunEvidence, Verdict
from .html_claims import findings, register_table
from .html_contracts import contracts
from .html_coverage import coverage, run_section
from .html_parts import badge, section, verdict
from .html_windows import windows
from .page import page
from .tags import Html, Part, code, join, listing, names, pairs, row, table, tag, text
from .view import LEGEND, REGISTER, SHIPPED, Entry, Register, View, judge
from .words import plain

SECTIONS = (
    ("guaranteed", "1", "What is guaranteed, and what is not"),
    ("windows", "2", "Crash windows"),
    ("contracts", "3", "Execution contracts"),
    ("claims", "4", "Claim register"),
    ("findings", "5", "Findings and witnesses, step by step"),
    ("coverage", "6", "Coverage"),
    ("run", "7", "This run"),
)


def render_html(evidence: RunEvidence, register: Register = REGISTER) -> str:
    """The whole page."""
    view = judge(evidence, register)
    bodies = (
        _guaranteed(view),
        windows(view),
        contracts(view),
        register_table(view),
        findings(view),
        coverage(view),
        run_section(view),
    )
    sections = [section(*head, body) for head, body in zip(SECTIONS, bodies, strict=True)]
    body = join(
        None if view.passed else tag("p", tag("a", view.headline, href="#problems"), class_="failbar"),
        tag(
            "header",
            tag("p", "crashwindow", class_="brand"),
            tag("h1", "Verification report"),
            _banner(view),
            _contents(),
        ),
        tag("main", *sections),
    )
    title = f"{'Passed' if view.passed else 'NOT PASSED'} · crashwindow report"
    return page(title, body, "passed" if view.passed else "failed")


def _banner(view: View) -> Html:
    totals = listing(list(view.totals), "totals")
    if view.passed:
        return tag("div", tag("p", view.headline, class_="headline"), totals, class_="banner good")
    problems = listing(list(view.problems))
    return tag(
        "div",
        tag("p", view.headline, class_="headline"),
        problems,
        totals,
        class_="banner bad",
        role="alert",
        id="problems",
    )


def _contents() -> Html:
    links = [tag("li", tag("a", f"{number} {title}", href=f"#{name}")) for name, number, title in SECTIONS]
    return tag("nav", tag("ul", *links), aria_label="Contents")


def _guaranteed(view: View) -> Html:
    shipped = [e for e in view.guaranteed if e.shipped]
    other = [e for e in view.guaranteed if not e.shipped]
    warning = tag("p", "This run did not pass: read no line below without the list above.", class_="warning")
    return join(
        None if view.passed else warning,
        tag("h3", "Guaranteed"),
        _promises("Guaranteed, under the policy that the runtime ships", shipped),
        tag("h3", "Holds under another policy, which no command of the runtime selects") if other else None,
        _promises("Holds under another policy", other) if other else None,
        tag("h3", "Under these assumptions"),
        _assumptions(view),
        tag("h3", "Not checked"),
        listing(list(view.not_checked), "gaps") if view.not_checked else tag("p", "The evidence names nothing."),
        tag("h3", "How to reproduce, and for which code"),
        _reproduce(view),
        tag("h3", "What the verdicts mean"),
        _legend(),
    )


def _promises(caption: str, entries: list[Entry]) -> Html:
    if not entries:
        return tag("p", "Nothing.", class_="nothing")
    heads = ["Claim", "Sentence", "Best", "Weakest link"]
    rows = []
    for entry in entries:
        claim = entry.claim
        policy = None if entry.shipped else tag("span", "policy ", code(claim.policy), class_="small")
        needs = tag(
            "span", "needs ", names(claim.assumptions) if claim.assumptions else "no assumption", class_="small"
        )
        link = tag("a", claim.id, href=f"#claim-{claim.id}")
        cells = [link, join(claim.sentence, policy, needs), badge(entry, entry.best), badge(entry, entry.worst)]
        rows.append(row(heads, [*cells]))
    return table(caption, [*heads], rows, "stack quiet promises")


def _assumptions(view: View) -> Html:
    if not view.assumptions:
        return tag("p", "The register names none.")
    heads = ["Assumption", "What is taken for granted", "Who must keep it", "Needed by"]
    rows = [
        row(heads, [a.id, join(verdict(Verdict.ASSUMED), " ", a.text), a.owner, tag("small", names(users))])
        for a, users in view.assumptions
    ]
    return table("Assumptions: nobody here checks them", [*heads], rows, "stack quiet assumptions")


def _reproduce(view: View) -> Html:
    run = view.evidence.run
    facts: list[tuple[str, Part]] = [
        ("Everything", code(run.command)),
        ("One counterexample or schedule", code("crashwindow replay KEY")),
        ("One item", text("the command that stands with it in the register")),
        ("Commit", code(run.commit)),
        ("Code, SHA-256", code(run.code_sha256)),
        *((f"Model {plain(m.policy)}, SHA-256", code(m.sha256)) for m in view.evidence.machines if m.policy in SHIPPED),
        ("Other models", text("with their SHA-256 in section 6")),
    ]
    return pairs(facts, "facts")


def _legend() -> Html:
    return pairs([(verdict(value), words) for value, words in LEGEND.items()], "legend")
