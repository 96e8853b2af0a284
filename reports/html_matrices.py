"""Crash matrices, as a part of a run's report."""

from .crash_matrix import lasting
from .crash_matrix_page import matrix_body, outcomes
from .tags import Html, code, join, tag
from .view import View


def matrices(view: View) -> Html:
    """The crash matrices that were handed to the report, one below the other."""
    found = view.evidence.campaigns
    if not found:
        told = "The evidence holds no crash matrix. "
        return tag("p", told, code("crashwindow campaign run"), " makes one.", class_="nothing")
    bodies = [
        join(tag("h3", matrix.subject, id=f"matrix-{matrix.subject}"), matrix_body(matrix, lasting(matrix)))
        for matrix in found
    ]
    return join(*bodies, tag("h3", "What the outcomes mean"), outcomes())
