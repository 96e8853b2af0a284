"""The claim register, browsed: which claims are asked for, and how they look on a terminal."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..checkers.evidence import Verdict
from ..model.claim_types import Citation, Claim
from ..model.claims import no_such_claim
from .terminal import STYLES
from .view import Entry, Listing, figures, grouped
from .why import Why
from .words import plain


class RegisterError(ValueError):
    """A claim or a filter that the register does not know: the message lists what it knows."""


@dataclass(frozen=True)
class Filters:
    """Which claims are asked for; None and "" ask for all. verdict: the best one found, or where there is no evidence the
    expected one. requirement: one, such as T-RECOVER, or a part of one, such as P11. search: words, of which each must occur."""

    variant: str | None = None
    verdict: str | None = None
    requirement: str | None = None
    document: str | None = None
    search: str = ""


def named(name: str, listing: Listing) -> Claim:
    """The claim with this id. Raises RegisterError with the ids near it."""
    for entry in listing.entries:
        if entry.claim.id == name:
            return entry.claim
    raise RegisterError(no_such_claim(name))


def chosen(listing: Listing, filters: Filters, found: bool) -> list[tuple[str, list[Entry]]]:
    """The claims that are asked for, in parts by document and section. Raises RegisterError for a value that no claim has."""
    verdict = _verdict(filters.verdict) if filters.verdict else None
    if filters.requirement:
        _known_requirement(filters.requirement, listing)

    def asked(entry: Entry) -> bool:
        claim = entry.claim
        text = f"{claim.id} {claim.sentence} {claim.requirement} {claim.policy}".casefold()
        return (
            filters.variant in (None, claim.variant)
            and verdict in (None, entry.best if found else Verdict(claim.expected))
            and (not filters.requirement or _requires(claim, filters.requirement))
            and (not filters.document or any(c.document == filters.document for c in claim.citations))
            and all(word in text for word in filters.search.casefold().split())
        )

    parts = [(name, [entry for entry in entries if asked(entry)]) for name, entries in grouped(listing)]
    return [(name, entries) for name, entries in parts if entries]


def _verdict(text: str) -> Verdict:
    name = text.upper().replace("-", " ").replace("_", " ")
    if name not in list(Verdict):
        raise RegisterError(f"there is no verdict {text!r}; there are {', '.join(Verdict)}")
    return Verdict(name)


def _requires(claim: Claim, requirement: str) -> bool:
    """Whether one of a claim's requirements is this one, or has it among its words: T-RECOVER is in "T-RECOVER 2"."""
    return any(f" {requirement} " in f" {part} " for part in claim.requirement.split(", "))


def _known_requirement(requirement: str, listing: Listing) -> None:
    if not any(_requires(entry.claim, requirement) for entry in listing.entries):
        parts = {part for entry in listing.entries for part in entry.claim.requirement.split(", ")}
        raise RegisterError(f"no claim states the requirement {requirement!r}; there are {', '.join(sorted(parts))}")


def _text(value: object, style: str = "") -> Text:
    return Text(plain(value), style=style, overflow="fold")


def _verdicts(entry: Entry, found: bool) -> Text:
    """Expected, best and weakest verdict, a line each."""
    if not found:
        return _text(f"expected {entry.claim.expected}", "dim")
    lines = [Text(f"expected {entry.claim.expected}", style="dim")]
    for name, verdict in (("best", entry.best), ("weakest", entry.worst)):
        lines.append(Text.assemble(f"{name} ", (str(verdict), STYLES[verdict])))
    if not entry.as_expected:
        lines.append(Text("✗ not as expected", style="bold red"))
    return Text("\n").join(lines)


def register_tables(parts: Sequence[tuple[str, Sequence[Entry]]], found: bool) -> Group:
    """The claims as tables, one for each part of the register, and how many there are of which verdict."""
    tables: list[RenderableType] = []
    for name, entries in parts:
        table = Table(
            title=f"{plain(name)} ({len(entries)})",
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        table.add_column("claim", overflow="fold", max_width=24)
        table.add_column("verdict", min_width=20)
        table.add_column("sentence", overflow="fold")
        for entry in entries:
            claim = entry.claim
            who = Text.assemble((plain(claim.id), "bold"), "\n", (claim.variant.replace("_", " "), "dim"))
            table.add_row(who, _verdicts(entry, found), _text(claim.sentence))
        tables.append(table)
    return Group(*tables, _text(counted(parts, found)))


def counted(parts: Sequence[tuple[str, Sequence[Entry]]], found: bool) -> str:
    """How many claims there are, by the best verdict found, or by the expected one."""
    entries = [entry for _, some in parts for entry in some]
    if not entries:
        return "no claim is like that"
    each = Counter(entry.best if found else Verdict(entry.claim.expected) for entry in entries)
    said = ", ".join(f"{each[verdict]} {verdict}" for verdict in Verdict if verdict in each)
    return f"{len(entries)} {'claim' if len(entries) == 1 else 'claims'}, {'best verdict' if found else 'expected'}: {said}"


def _source(cited: Citation) -> str:
    first, last = cited.lines
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    return f"{cited.document}{f' §{cited.section}' if cited.section else ''}, {lines}, SHA-256 {cited.sha256}"


def why_text(told: Why) -> Group:
    """One claim in full, a heading for each question that is asked of it."""
    claim, entry = told.claim, told.entry
    kept = "" if entry.guaranteed else " A report may not call it guaranteed."
    verdict = (
        [f"expected {claim.expected}; best {entry.link(entry.best)}; weakest {entry.link(entry.worst)}.{kept}"]
        if told.found
        else [f"expected {claim.expected}. There is no evidence here: nothing is said of what was found."]
    )
    parts = (
        ("source", [_source(cited) for cited in claim.citations] or ["ours"]),
        ("requirement", [claim.requirement]),
        ("formally", [claim.formal, *_formal(told)]),
        ("assumptions", [f"{a.id}: {a.text} Kept by: {a.owner}." for a in told.assumptions] or ["none"]),
        ("methods", [", ".join(claim.methods) or f"none: {told.reason or 'nothing checks it'}"]),
        ("not applied in this run", entry.missing if told.found else []),
        ("verdict", verdict),
        ("evidence", _evidence(told)),
        ("what would refute it", told.refuted_by),
        ("searched, or shown, by", told.commands),
        ("beside it", [_beside(each, told.found) for each in told.beside]),
        ("crash windows", [f"{w.id}, after {w.crash_after}: {w.advice}" for w in told.windows]),
    )
    head = _text(f"{claim.id} ({claim.variant.replace('_', ' ')})", "bold")
    shown: list[RenderableType] = [head, Padding(_text(claim.sentence), (0, 0, 1, 0))]
    for name, lines in parts:
        if lines:
            shown += [_text(name, "dim"), *(Padding(_text(line), (0, 0, 0, 2)) for line in lines)]
    return Group(*shown)


def _formal(told: Why) -> list[str]:
    lines = []
    for part in told.formal:
        lines += [part.name]
        lines += [f"  never: {words}" for words in part.never]
        lines += [f"  only grows: {', '.join(part.grows)}"] if part.grows else []
        lines += [f"  nothing is written once: {words}" for words in part.absorbing]
        lines += [f"  and this occurs: {words}" for words in part.occurs]
    fields = [f"{name}: {meaning}" for name, meaning in told.glossary.items()]
    return [*lines, *(["where (2 stands for two or more)", *(f"  {line}" for line in fields)] if fields else [])]


def _evidence(told: Why) -> list[str]:
    lines = []
    for item in told.entry.items:
        told_of = "; ".join(f"{name} {value}" for name, value in figures(item))
        lines += [f"{item.verdict} by {item.checker}: {item.statement}{f' ({told_of})' if told_of else ''}"]
        lines += [f"  {item.command}", *(f"  file {file}" for file in item.files)]
    return lines or (
        ["none in this run"] if told.found else ["none: run `crashwindow verify`, or give --evidence FILE"]
    )


def _beside(entry: Entry, found: bool) -> str:
    said = entry.link(entry.best) if found else f"expected {entry.claim.expected}"
    return f"{entry.claim.id} ({entry.claim.variant.replace('_', ' ')}): {said}: {entry.claim.sentence}"
