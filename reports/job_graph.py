"""The dependency graph of a job as a picture: results that are given on, approvals, mere order, and how each step stands."""

from collections.abc import Sequence
from typing import Final

from ..checkers.evidence_job import JobEvidence, JobStep
from .graph_layout import Box, Point, placed, ranked
from .job_parts import step_id
from .tags import Html, tag
from .words import plain

MOST: Final = 40
"""More steps than these are left to the table."""
WIDTH: Final = 190.0
HEIGHT: Final = 46.0
LETTERS: Final = 25
"""Characters that a box has room for."""


def drawing(job: JobEvidence) -> Html | None:
    """The picture; None where it could not be read, and for a single step."""
    nodes = {step.name: step for step in job.steps if step.kind != "compensation"}
    ends = [(edge.before, edge.after) for edge in job.edges if {edge.before, edge.after} <= nodes.keys()]
    if not 1 < len(nodes) <= MOST:
        return None
    layout = placed(dict.fromkeys(nodes, (WIDTH, HEIGHT)), ranked(list(nodes), ends), ends)
    kinds = {(edge.before, edge.after): edge.kind for edge in job.edges}
    picture = tag(
        "svg",
        tag("title", "Steps and their dependencies; the table below says the same"),
        *(_arrow(points, kinds[pair]) for pair, points in layout.routes.items()),
        *(_node(step, layout.boxes[name]) for name, step in nodes.items()),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {layout.width:.0f} {layout.height:.0f}",
        width=round(layout.width),
        height=round(layout.height),
        class_="needs",
        role="group",
        aria_label="Steps and their dependencies",
    )
    words = "Solid: a result is given on. Dashed: an approval. Dotted: order alone. A box says how its step stands."
    return tag("figure", tag("div", picture, class_="scroll"), tag("figcaption", words, class_="small"), class_="graph")


def _node(step: JobStep, box: Box) -> Html:
    name = plain(step.name)
    shown = name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"
    inner = (
        tag("title", f"{step.name}: {step.what}"),
        tag("rect", x=f"{box.x:.1f}", y=f"{box.y:.1f}", width=f"{box.width:.1f}", height=f"{box.height:.1f}", rx=5),
        tag("text", shown, x=f"{box.x + 9:.0f}", y=f"{box.y + 19:.0f}", class_="name"),
        tag("text", step.standing, x=f"{box.x + 9:.0f}", y=f"{box.y + 36:.0f}"),
    )
    doubt = " doubt" if step.standing == "in doubt" else ""
    return tag("a", tag("g", *inner, class_=f"node{doubt}"), href=f"#{step_id(step.name)}")


def _arrow(points: Sequence[Point], kind: str) -> Html:
    (x, y), *later = points
    line = [f"M{x:.1f} {y:.1f}", *(f"L{to_x:.1f} {to_y:.1f}" for to_x, to_y in later)]
    end_x, end_y = points[-1]
    head = f"M{end_x:.1f} {end_y:.1f} l-4 -8 h8 Z"
    return tag(
        "g", tag("path", d=" ".join(line), class_="line"), tag("path", d=head, class_="head"), class_=f"edge {kind}"
    )
