"""The report as one self-contained HTML page: nothing from elsewhere, the same bytes for the same evidence.

Reading order (E-REPORT): five answers on the first screen; what is guaranteed and what is not, the crash-window table, the
register with its verdicts, the findings and witnesses step by step, the contract's machine, what needs what, mutants, coverage
with its gaps first, crash matrices, and at the end the run's own section, which alone holds what differs between two runs on
the same code.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ..checkers.evidence import RunEvidence
from .html_assurance import assurance
from .html_claims import findings, register_table
from .html_contracts import contracts
from .html_coverage import coverage, mutants, run_section
from .html_first import banner, first
from .html_guaranteed import guaranteed
from .html_matrices import matrices
from .html_necessity import necessity
from .html_parts import section
from .html_windows import windows
from .page import page
from .sections import NUMBERS, TITLES
from .state_graph import state_graphs
from .tags import Html, join, tag
from .view import REGISTER, Register, View, judge

BODIES: Final[Mapping[str, Callable[[View], Html]]] = {
    "guaranteed": guaranteed,
    "windows": windows,
    "claims": register_table,
    "findings": findings,
    "contracts": contracts,
    "necessity": necessity,
    "mutants": mutants,
    "coverage": coverage,
    "matrices": matrices,
    "graphs": state_graphs,
    "assurance": assurance,
    "run": run_section,
}
"""What makes each part of the page."""


def render_html(evidence: RunEvidence, register: Register = REGISTER) -> str:
    """The whole page."""
    view = judge(evidence, register)
    sections = [section(name, NUMBERS[name], title, BODIES[name](view)) for name, title in TITLES.items()]
    body = join(
        None if view.passed else tag("p", tag("a", view.headline, href="#problems"), class_="failbar"),
        tag(
            "header",
            tag("p", "crashwindow", class_="brand"),
            tag("h1", "Verification report"),
            banner(view),
            first(view),
            _contents(),
            tag("button", "Unfold everything", type="button", class_="unfold", aria_pressed="false", hidden=True),
        ),
        tag("main", *sections),
    )
    title = f"{'Passed' if view.passed else 'NOT PASSED'} · crashwindow report"
    return page(title, body, "passed" if view.passed else "failed", styles=("page_graph.css",))


def _contents() -> Html:
    links = [tag("li", tag("a", f"{NUMBERS[name]} {title}", href=f"#{name}")) for name, title in TITLES.items()]
    return tag("nav", tag("ul", *links), aria_label="Contents")
