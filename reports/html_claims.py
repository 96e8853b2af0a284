"""The claim register, the findings and the witnesses in HTML."""

from ..checkers.evidence import Item
from ..model.claims import Claim
from .html_parts import badge, verdict
from .html_sequence import draw
from .sequence import broken
from .tags import Html, Part, code, join, pairs, row, table, tag
from .view import Entry, Finding, View, cited, figures, grouped

HEADS = ("Claim", "Variant", "Sentence", "Expected", "Best", "Weakest link")


def anchor(item: Item, entry: Entry) -> str:
    """The id of the diagram of an item."""
    return f"run-{entry.claim.id}-{next(n for n, other in enumerate(entry.items) if other is item)}"


def register_table(view: View) -> Html:
    """Every claim of the register; an as_written one names the hardened one beside which it stands."""
    told = (
        "Every sentence that this version speaks of; nothing outside this table is claimed. A claim marked as "
        "written is what a source document says; where it is refuted, its hardened form stands beside it."
    )
    return join(
        tag("p", told, class_="lead"),
        *(_part(view, name, entries) for name, entries in grouped(view)),
    )


def _part(view: View, name: str, entries: list[Entry]) -> Html:
    """The claims of one part of the register."""
    rows = [_row(view, entry) for entry in entries]
    caption = f"{name}: claims with the best verdict and the weakest link"
    return join(tag("h3", name), table(caption, [*HEADS], rows, "stack claims"))


def _row(view: View, entry: Entry) -> Html:
    claim = entry.claim
    cells: list[Part] = [
        claim.id,
        tag("span", claim.variant.replace("_", " "), class_="variant"),
        join(claim.sentence, _beside(view, entry), _source(claim), _items(entry)),
        join(claim.expected, None if entry.as_expected else tag("strong", "NOT as expected", class_="alarm")),
        badge(entry, entry.best),
        badge(entry, entry.worst),
    ]
    kinds = [claim.variant.replace("_", "-"), *([] if entry.as_expected else ["differs"])]
    return row([*HEADS], cells, " ".join(kinds), f"claim-{claim.id}")


def _beside(view: View, entry: Entry) -> Html | None:
    hardened = view.hardened(entry)
    if hardened is None:
        return None
    link = tag("a", hardened.claim.id, href=f"#claim-{hardened.claim.id}")
    return tag(
        "p", "Hardened form: ", link, f" ({hardened.link(hardened.best)}): {hardened.claim.sentence}", class_="beside"
    )


def _source(claim: Claim) -> Html:
    facts = [
        ("formal", claim.formal),
        ("requirement", claim.requirement),
        ("source", cited(claim)),
        ("needs", ", ".join(claim.assumptions) or "no assumption"),
    ]
    return tag("details", tag("summary", "Formal statement and source"), pairs(facts, "facts"))


def _items(entry: Entry) -> Html:
    lacking = f"Not applied in this run: {', '.join(entry.missing)}." if entry.items and entry.missing else None
    if not entry.items:
        return tag("p", "NOT CHECKED: the evidence holds no item.", class_="small")
    return join(*(_item(entry, item) for item in entry.items), tag("p", lacking, class_="small") if lacking else None)


def _item(entry: Entry, item: Item) -> Html:
    facts = [*figures(item), ("command", code(item.command))]
    shown: list[Part] = [pairs(facts, "facts")]
    if item.trace:
        shown.append(tag("p", tag("a", "The run, step by step", href=f"#{anchor(item, entry)}")))
    mark = verdict(item.verdict, loud=not entry.as_expected)
    words = tag("summary", mark, " ", tag("b", item.checker), f" {item.statement}")
    return tag("details", words, *shown, class_="item")


def findings(view: View) -> Html:
    """Each refutation with its counterexample, then a witness for what holds, all in the same form."""
    found = [_finding(finding, open_=n == 0) for n, finding in enumerate(view.findings)]
    seen = [_witness(entry, item) for entry, item in view.witnesses]
    scenarios = [
        tag(
            "details",
            tag("summary", f"Scenario {s.name}: {s.observed}"),
            _command(s.command),
            draw(s.trace, f"scenario {s.name}", [], False),
        )
        for s in view.evidence.scenarios
        if s.trace
    ]
    return join(
        tag("h3", "Findings"),
        tag("p", "In a state, the number 2 stands for two or more.", class_="lead"),
        *(found or [tag("p", "The evidence refutes no claim.", class_="nothing")]),
        tag("h3", "Witnesses of what holds"),
        tag(
            "p",
            "A claim that never applies holds for the wrong reason. Each run below reaches a state to which the claim applies.",
            class_="lead",
        ),
        *(seen or [tag("p", "The evidence holds no witness.", class_="nothing")]),
        *([tag("h3", "Scenarios"), *scenarios] if scenarios else []),
    )


def _command(command: str) -> Html:
    return tag("p", "Reproduce: ", code(command), class_="command")


def _finding(finding: Finding, open_: bool) -> Html:
    """One finding; its run is folded, but for the first one's and those that nobody expected."""
    entry, item = finding.entry, finding.item
    claim = entry.claim
    title = tag(
        "h4",
        claim.id,
        " ",
        verdict(item.verdict, loud=not entry.as_expected),
        tag("span", claim.variant.replace("_", " "), class_="variant"),
    )
    beside = finding.hardened
    hardened = (
        f"Hardened form {beside.claim.id} ({beside.link(beside.best)}): {beside.claim.sentence}" if beside else None
    )
    refuted = item.verdict == "REFUTED"
    shows = broken(item.trace, claim.properties) if item.trace and refuted else []
    last = shows or ([] if refuted else ["This is what the sentence says"])
    run = (
        tag(
            "details",
            tag("summary", f"The run, step by step: {len(item.trace.frames) - 1} steps"),
            draw(item.trace, f"claim {claim.id}", last, refuted),
            open=open_ or not entry.as_expected,
        )
        if item.trace
        else tag("p", "No run of the model stands beside it: the command shows it.", class_="small")
    )
    return tag(
        "article",
        title,
        tag("blockquote", claim.sentence, tag("footer", cited(claim))),
        tag("p", item.statement),
        tag("p", hardened, class_="beside") if hardened else None,
        *(tag("p", words, class_="ending") for words in last if refuted),
        _command(item.command),
        run,
        id=anchor(item, entry),
        class_=None if entry.as_expected else "differs",
    )


def _witness(entry: Entry, item: Item) -> Html:
    if item.trace is None:
        return Html("")
    head = tag("summary", tag("b", entry.claim.id), " ", verdict(item.verdict), f" {item.checker}: {item.statement}")
    run = draw(item.trace, f"{item.checker}, claim {entry.claim.id}", ["The claim applies here"], False)
    return tag("details", head, tag("p", entry.claim.sentence), _command(item.command), run, id=anchor(item, entry))
