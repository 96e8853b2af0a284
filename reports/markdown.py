"""The report as GitHub-flavoured Markdown: the same content as the page, compact. Text of the evidence is escaped."""

from collections.abc import Iterable

from ..checkers.evidence import Item, Necessity, RunEvidence, Trace, WindowResult
from ..checkers.evidence_agreement import agreements
from ..model.contract import HARDENED
from ..model.windows import SEED_ROWS
from . import kills
from . import necessity as matrix
from .answers import answers, limit
from .assurance_forms import assurance_markdown
from .crash_matrix import lasting
from .crash_matrix_markdown import matrix_lines, outcome_lines
from .gaps import gaps
from .machine import mermaid
from .markdown_text import code, escape, table
from .sections import NUMBERS, TITLES
from .sequence import broken, diagram
from .state_graph import graphs_markdown
from .view import (
    LEGEND,
    NEEDED,
    REGISTER,
    Entry,
    Register,
    View,
    cited,
    coverage_words,
    figures,
    grouped,
    judge,
    needs,
    run_facts,
    window_problems,
)
from .words import alternatives, number, tally

NO_RUN = "No run of the model stands beside it: the command shows it."


def render_markdown(evidence: RunEvidence, register: Register = REGISTER) -> str:
    """The whole report."""
    view = judge(evidence, register)
    parts = {
        "guaranteed": _guaranteed,
        "windows": _windows,
        "claims": _claims,
        "findings": _findings,
        "contracts": _contracts,
        "necessity": _necessity,
        "mutants": _mutants,
        "coverage": _coverage,
        "matrices": _matrices,
        "graphs": lambda view: [*graphs_markdown(view).splitlines(), ""],
        "assurance": lambda view: [*assurance_markdown(view).splitlines(), ""],
        "run": _run,
    }
    titled = ((f"## {NUMBERS[name]} {title}", "", *parts[name](view)) for name, title in TITLES.items())
    lines = [*_head(view), *(line for part in titled for line in part)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _bullets(items: Iterable[str]) -> list[str]:
    return [*(f"- {escape(item)}" for item in items), ""]


def _head(view: View) -> list[str]:
    lines = ["# crashwindow: verification report", "", f"**{escape(view.headline)}**", ""]
    problems = ["> [!CAUTION]", *(f"> - {escape(problem)}" for problem in view.problems), ""]
    said = (
        (escape(a.question), f"**{a.said}**", escape(", ".join(f"{e.claim.id} {e.best}" for e in a.by)))
        for a in answers(view)
    )
    beyond = limit(view)
    told = [f"What nobody can have ({beyond.claim.id}): {escape(beyond.claim.sentence)}", ""] if beyond else []
    first = [*table(("Question", "Answer, under the assumptions below", "By these claims"), said), *told]
    return [*lines, *([] if view.passed else problems), *first, *_bullets(view.totals)]


def _promises(entries: list[Entry]) -> list[str]:
    rows = [
        (
            escape(e.claim.id),
            escape(e.claim.sentence) + ("" if e.shipped else f" (policy {code(e.claim.policy)})"),
            escape(e.link(e.best)),
            escape(e.link(e.worst)),
            escape(", ".join(e.claim.assumptions) or "no assumption"),
        )
        for e in entries
    ]
    return table(("Claim", "Sentence", "Best", "Weakest link", "Needs"), rows)


def _guaranteed(view: View) -> list[str]:
    run = view.evidence.run
    other = [e for e in view.guaranteed if not e.shipped]
    models = [f"Model {escape(m.policy)}, SHA-256: {code(m.sha256)}" for m in view.evidence.machines]
    warning = ["**This run did not pass: read no line below without the list above.**", ""]
    return [
        *([] if view.passed else warning),
        "### Guaranteed",
        "",
        *_promises([e for e in view.guaranteed if e.shipped]),
        *(
            ["### Holds under another policy, which no command of the runtime selects", "", *_promises(other)]
            if other
            else []
        ),
        "### Under these assumptions (ASSUMED: nobody here checks them)",
        "",
        *table(
            ("Assumption", "What is taken for granted", "Who must keep it", "Needed by"),
            (
                (escape(a.id), escape(a.text), escape(a.owner), escape(", ".join(users)))
                for a, users in view.assumptions
            ),
        ),
        "### Not checked",
        "",
        *_bullets(view.not_checked),
        "### How to reproduce, and for which code",
        "",
        f"- Everything: {code(run.command)}",
        f"- One counterexample or schedule: {code('crashwindow replay KEY')}",
        f"- Commit {code(run.commit)}, code SHA-256 {code(run.code_sha256)}",
        *(f"- {line}" for line in models),
        "",
        "### What the verdicts mean",
        "",
        *(f"- **{verdict}**: {escape(words)}" for verdict, words in LEGEND.items()),
        "",
    ]


def _windows(view: View) -> list[str]:
    heads = (
        "Row",
        "Crash after",
        "Durable state",
        "Predicted recovery",
        "At the crash",
        "In the end",
        "Derived",
        "Proof",
    )
    seen = ("Crashes", "Observed recovery", "Observed at the crash", "Observed in the end")
    seed = ((r.row, escape(r.sentence), r.lines, ", ".join(r.refined_by), escape(r.finding)) for r in SEED_ROWS)
    return [
        *table((*heads, *seen), map(_window, view.evidence.windows)),
        "",
        "The five rows of the seed's own table (S1 §2), and the windows that refine them:",
        "",
        *table(("row", "what it says", "line", "windows", "finding"), seed),
    ]


def _window(window: WindowResult) -> Iterable[str]:
    problems = window_problems(window)
    effects = f"{_or(window.derived_at_crash)} at the crash, {_or(window.derived_in_end)} in the end"
    derived = f"{', '.join(window.derived_recovery) or 'nothing runs'}; {effects}; {number(window.states)} states"
    agrees = f"**{escape('; '.join(problems))}**" if problems else "agrees"
    seen = window.observed
    cells = (
        window.row,
        window.crash_after,
        f"{' or '.join(alternatives(window.durable))} ({window.source})",
        f"{window.advice} ({', '.join(window.predicted_recovery) or 'no rule'})",
        _or(window.predicted_at_crash),
        _or(window.predicted_in_end),
    )
    observed = (tally(counts) or "–" for counts in (seen.recovery, seen.at_crash, seen.in_end))
    tried = f"{number(seen.crashes)}, {number(seen.killed)} by SIGKILL" if seen.crashes else "none tried"
    return (*map(escape, cells), f"{agrees}: {escape(derived)}", str(window.proof), tried, *map(escape, observed))


def _or(values: list[str]) -> str:
    return " or ".join(values) or "–"


def _contracts(view: View) -> list[str]:
    lines = ["```mermaid", *mermaid(HARDENED).splitlines(), "```", ""]
    lines += ["### Edges, on a real store", "", *([] if view.evidence.contracts else ["none", ""])]
    for c in view.evidence.contracts:
        rows = (
            (escape(f"{e.before} –{e.trigger}→ {e.after}"), escape(tally(e.by)) if sum(e.by.values()) else "**NEVER**")
            for e in c.edges
        )
        lines += [f"{escape(c.store)}: {escape(coverage_words(c))}", "", *table(("Edge", "Taken by"), rows)]
        lines += [*_bullets(c.wrong)] if c.wrong else []
    return lines


def _necessity(view: View) -> list[str]:
    lines = ["### Which mechanism each property of the step needs", "", *_needed(view.evidence.necessity)]
    for heading, rules in NEEDED:
        rows = (
            (rule, rules[rule], ", ".join(f"{escape(name)} {said}" for _, name, said in claims))
            for rule, claims in needs(view, rules).items()
        )
        lines += [f"### {heading}", "", "Without the rule, all others in force, these properties fail.", ""]
        lines += table(("Without", "What the rule says", "Then"), rows)
    return lines


def _needed(found: Necessity | None) -> list[str]:
    if found is None:
        return ["none", ""]
    rows = [(r.mechanism, *r.marks) for r in matrix.rows(found)]
    lines = [matrix.LEGEND, "", *table(("Without", *matrix.PROPERTIES), rows)]
    keys = [
        (r.mechanism, escape(r.sentence), c.property, str(c.steps), f"`{c.key}`")
        for r in matrix.rows(found)
        for c in r.needed
    ]
    lines += table(("Without", "What it says", "Fails", "Steps", "crashwindow replay"), keys)
    chosen = [(escape(name), fails, escape(keys)) for name, fails, keys in matrix.choices(found)]
    lines += table(("Choice", "Fails", "crashwindow replay"), chosen)
    return [*lines, *_bullets(list(matrix.sentences(found)))]


def _claims(view: View) -> list[str]:
    heads = ("Claim", "Variant", "Sentence", "Source", "Expected", "Best", "Weakest link")
    lines = []
    for name, entries in grouped(view):
        rows, told = _part(view, entries)
        lines += [f"### {escape(name)}", "", *table(heads, rows), *told, ""]
    return lines


def _part(view: View, entries: list[Entry]) -> tuple[list[tuple[str, ...]], list[str]]:
    """The claims of one part of the register: rows of its table, and what was found out about each."""
    rows: list[tuple[str, ...]] = []
    lines: list[str] = []
    for e in entries:
        beside = view.hardened(e)
        sentence = escape(e.claim.sentence) + (f" Hardened form: {escape(beside.claim.id)}." if beside else "")
        expected = e.claim.expected + ("" if e.as_expected else " **NOT as expected**")
        links = (escape(e.link(e.best)), escape(e.link(e.worst)))
        rows.append((escape(e.claim.id), e.claim.variant, sentence, escape(cited(e.claim)), expected, *links))
        lines += [f"- **{escape(e.claim.id)}** {escape(e.claim.formal)}", *(_item(item) for item in e.items)]
        lines += [f"  - not applied in this run: {', '.join(e.missing)}"] if e.missing else []
    return rows, lines


def _item(item: Item) -> str:
    told = "".join(f"; {escape(name)} {escape(value)}" for name, value in figures(item))
    return f"  - {item.verdict} by {item.checker}: {escape(item.statement)}{told}; {code(item.command)}"


def _findings(view: View) -> list[str]:
    lines = ["In a state, the number 2 stands for two or more.", ""]
    for finding in view.findings:
        entry, item, beside = finding.entry, finding.item, finding.hardened
        lines += [f"### {escape(entry.claim.id)}: {item.verdict} ({entry.claim.variant.replace('_', ' ')})", ""]
        lines += [f"> {escape(entry.claim.sentence)} ({escape(cited(entry.claim))})", "", escape(item.statement), ""]
        lines += [f"Hardened form {escape(beside.claim.id)}: {escape(beside.link(beside.best))}", ""] if beside else []
        lines += [
            f"Reproduce: {code(item.command)}",
            "",
            *_trace(item.trace, "No run of the model stands beside it: the command shows it."),
        ]
        if item.trace and item.verdict == "REFUTED":
            lines += [*(f"**{escape(words)}**" for words in broken(item.trace, entry.claim.properties)), ""]
    lines += ["### Witnesses of what holds", ""]
    for entry, item in view.witnesses:
        lines += [f"<details><summary>{escape(entry.claim.id)}, {item.checker}: {escape(item.statement)}</summary>", ""]
        lines += [f"Reproduce: {code(item.command)}", "", *_trace(item.trace, ""), "</details>", ""]
    for scenario in view.evidence.scenarios:
        if scenario.trace:
            lines += [f"<details><summary>Scenario {escape(scenario.name)}</summary>", "", *_trace(scenario.trace, "")]
            lines += ["</details>", ""]
    return lines


def _trace(trace: Trace | None, nothing: str) -> list[str]:
    if trace is None:
        return [nothing, ""]
    rows = [
        (
            str(step.number),
            escape(step.way),
            (f"**{escape(step.rule)}**" if step.kind == "crash" else escape(step.rule))
            + "".join(f"; **{escape(lane)} is overtaken**" for lane in step.fallen),
            escape(step.detail),
            code(", ".join(f"{name}={new}" for name, _, new in step.changed)) if step.changed else "",
        )
        for step in diagram(trace).steps
    ]
    return table(("#", "Who", "Step", "Boundary", "Changes"), rows)


def _mutants(view: View) -> list[str]:
    run = view.evidence
    mutants = (
        (escape(m.name), escape(m.killed_by) if m.killed_by else "**SURVIVED**", escape(m.words)) for m in run.mutants
    )
    rows = (
        (*map(escape, kills.cells(k)), f"**{escape('; '.join(k.gaps))}**" if k.gaps else "none")
        for k in kills.survivors_first(run.kills)
    )
    left = [(escape(name), escape(words)) for name, words in kills.survivors(run.kills)]
    harmless = table(("Mutant that is not killed", "What is proved of it"), left) if left else []
    classes = (
        [kills.caption(run.kills), "", *table(kills.HEADS, rows), *harmless, *_agreements(view)] if run.kills else []
    )
    return [*table(("Mutant", "Killed by", "In these words"), mutants), *classes]


def _agreements(view: View) -> list[str]:
    """How far the ways to a verdict on any number of workers agree; nothing where no fleet was mutated."""
    return [line for words in agreements(view.evidence.kills) for line in (escape(words), "")]


def _matrices(view: View) -> list[str]:
    found = view.evidence.campaigns
    if not found:
        return ["none", ""]
    parts = [line for each in found for line in (f"### {escape(each.subject)}", "", *matrix_lines(each, lasting(each)))]
    return [*parts, "### What the outcomes mean", "", *outcome_lines(), ""]


def _coverage(view: View) -> list[str]:
    run = view.evidence
    missing = ((escape(where), escape(what)) for where, what in gaps(view))
    campaigns = (
        (
            escape(c.name),
            c.by,
            number(c.schedules),
            escape(tally(c.outcomes)),
            _keys(c.violations),
            _keys(c.disagreements),
        )
        for c in run.schedules
    )
    struck = [f"- {escape(c.name)}, places struck: {escape(tally(c.boundaries) or 'none')}" for c in run.schedules]
    scenarios = (
        (
            *map(escape, (s.name, s.expected, s.observed)),
            "yes" if s.passed else "**NO**",
            escape(s.detail),
            code(s.command),
        )
        for s in run.scenarios
    )
    machines = (
        (
            escape(m.policy),
            *(number(n) for n in (m.fields, m.rules, m.states, m.transitions)),
            escape(", ".join(m.unreached) or "none"),
        )
        for m in run.machines
    )
    return [
        "### Gaps",
        "",
        *table(("Where", "What is missing"), missing),
        "### Crash campaigns on the runtime",
        "",
        *table(("Campaign", "Struck by", "Schedules", "Outcomes", "Violations", "Disagreements"), campaigns),
        *struck,
        "",
        "### Scenarios",
        "",
        *table(("Scenario", "Expected", "Observed", "As expected", "Detail", "Command"), scenarios),
        "### Models",
        "",
        *table(("Policy", "Fields", "Rules", "States", "Transitions", "Rules never reached"), machines),
    ]


def _keys(keys: list[str]) -> str:
    return (
        f"**{number(len(keys))}**: " + ", ".join(code(f"crashwindow replay {key}") for key in keys) if keys else "none"
    )


def _run(view: View) -> list[str]:
    told = "Only this section differs between two runs on the same code."
    return [
        told,
        "",
        *(f"- {escape(name)}: {escape(value)}" for name, value in run_facts(view.evidence)),
    ]
