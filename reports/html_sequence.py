"""Draws a sequence diagram in HTML: a list of steps beside the lanes, and a panel with the state after one step.

Without a script the whole run is there to be read, with what each step changed and the last state; the script of the page
only moves through it.
"""

import json

from ..checkers.evidence import Trace
from .sequence import Diagram, Step, diagram, group, meaning, ordered
from .tags import Html, code, join, tag

SHORT = {"event stream": "events", "effect store": "effects"}


def draw(trace: Trace, name: str, last: list[str], broken: bool) -> Html:
    """A trace as a diagram that can be stepped through; `last` says what the last step shows."""
    return draw_picture(diagram(trace), name, last, broken)


def draw_picture(picture: Diagram, name: str, last: list[str], broken: bool) -> Html:
    """The same of a diagram, whatever it was made from."""
    if not picture.steps:
        return tag("p", "The trace holds no step.")
    lanes = len(picture.lanes)
    heads = [tag("span", SHORT.get(lane, lane)) for lane in picture.lanes]
    end = len(picture.steps) - 1
    steps = [_step(picture, step, (last if step.number == end else []), broken) for step in picture.steps]
    return tag(
        "div",
        _buttons(name, end),
        tag(
            "div",
            tag(
                "div",
                tag("span", ""),
                tag("div", *heads, class_=f"lanes of{lanes}"),
                tag("span", ""),
                class_="heads",
                aria_hidden="true",
            ),
            tag("ol", *steps, start=0),
            class_="steps",
            tabindex=0,
            role="group",
            aria_label=f"Steps of {name}; arrow keys move through them",
        ),
        _state(picture, name),
        class_="sequence",
    )


def _buttons(name: str, end: int) -> Html:
    buttons = [
        tag("button", label, type="button", data_move=move, aria_label=f"{words} step")
        for label, move, words in (
            ("⇤", "first", "First"),
            ("←", "back", "Previous"),
            ("→", "next", "Next"),
            ("⇥", "last", "Last"),
        )
    ]
    position = tag("span", f"step {end} of {end}", class_="position", role="status")
    hint = tag("span", "or arrow keys, Home, End", class_="hint")
    return tag(
        "div", *buttons, position, hint, class_="moves", hidden=True, role="group", aria_label=f"Move through {name}"
    )


def _step(picture: Diagram, step: Step, last: list[str], broken: bool) -> Html:
    changes = [
        join(code(f"{field}: {old} → {new}" if old else f"{field}: {new}"), " ") for field, old, new in step.changed
    ]
    changed = {field: new for field, _, new in step.changed}
    told: list[Html | None] = [
        tag("strong", step.rule),
        tag("span", f" {step.way}", class_="way"),
        tag("span", f" · {step.detail}", class_="boundary") if step.detail else None,
        *(tag("span", f"{lane} is overtaken", class_="fallen") for lane in step.fallen),
        tag("span", *changes, class_="changes") if step.number and changes else None,
        *(tag("span", words, class_="broken" if broken else "shown") for words in last),
    ]
    return tag(
        "li",
        tag("span", str(step.number), class_="no", aria_hidden="true"),
        _lanes(picture, step),
        tag("div", *told, class_="told"),
        class_=step.kind,
        aria_current="step" if step is picture.steps[-1] else None,
        data_changed=json.dumps(changed, sort_keys=True),
    )


def _lanes(picture: Diagram, step: Step) -> Html:
    lines = [
        tag("i", class_=f"line at{n}" + (f" {step.lives[lane]}" if lane in step.lives else ""))
        for n, lane in enumerate(picture.lanes)
    ]
    a, b = picture.lanes.index(step.source), picture.lanes.index(step.target)
    if a == b:
        mark = tag("b", "crash" if step.kind == "crash" else "", class_=f"dot at{a}")
    else:
        mark = tag("b", class_=f"arrow from{min(a, b)} to{max(a, b)} {'right' if a < b else 'left'}")
    return tag("div", *lines, mark, class_=f"lanes of{len(picture.lanes)}", aria_hidden="true")


def _state(picture: Diagram, name: str) -> Html:
    final = picture.steps[-1]
    just = {field for field, _, _ in final.changed}
    groups: dict[str, list[Html]] = {}
    for field in picture.groups or ordered(final.state):
        cells = tag("th", field, scope="row", title=meaning(field) or None), tag("td", final.state[field])
        groups.setdefault(picture.groups.get(field) or group(field), []).append(
            tag("tr", *cells, data_field=field, class_="changed" if field in just else None)
        )
    bodies = [
        tag("tbody", tag("tr", tag("th", heading, colspan=2, scope="colgroup")), *rows)
        for heading, rows in groups.items()
    ]
    caption = tag("caption", "State after step ", tag("span", str(final.number), class_="after"))
    return tag(
        "div", tag("table", caption, *bodies), class_="state", tabindex=0, role="region", aria_label=f"State, {name}"
    )
