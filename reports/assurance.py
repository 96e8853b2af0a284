"""The assurance case in Goal Structuring Notation (GSN), made from the register and a run's evidence: nothing else is in it.

One goal on top; strategies argue over the surroundings, the model, the code, the teeth of the checkers, and policies that are not
shipped; below them a goal for each requirement and for each claim of the register, exactly one; what supports a claim is each
item of its evidence. What nobody checked is a goal without support: undeveloped, and first among its neighbours. Whether a goal
is supported is computed from below: one refuted or unexpected claim, and no goal above it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from ..checkers.evidence import KillRow, Verdict
from .kills import OTHERS, not_asked_further
from .view import BROKEN, SHIPPED, Entry, View, coverage_words
from .words import number

Kind = Literal["goal", "strategy", "solution", "context", "assumption"]
TOP: Final = "G-TOP"
FAMILY: Final = re.compile(r"T-PROP P\d+|[A-Z]+(-[A-Z]+)?")
SILENT: Final = (Verdict.NOT_CHECKED, Verdict.ASSUMED)
"""Verdicts that support nothing: they say why nothing does."""
ON_THE_MODEL: Final = frozenset(("prove", "reprove", "explore", "windows"))
"""Methods that decide a claim on the model."""


class Support(StrEnum):
    """How far an element is supported, the worst first."""

    NOT = "not supported"
    OPEN = "undeveloped"
    PARTLY = "supported but for what is undeveloped"
    FULL = "supported"


@dataclass(frozen=True)
class Element:
    """A node of the case. context: contexts and assumptions; parts: what it is supported by, the worst first.

    verdict: of a claim its best, of a solution its own. worst: of a claim its weakest link. claim: the id in the register.
    command: reproduces a solution.
    """

    id: str
    kind: Kind
    text: str
    support: Support
    parts: tuple["Element", ...] = ()
    context: tuple["Element", ...] = ()
    verdict: Verdict | None = None
    worst: Verdict | None = None
    claim: str | None = None
    command: str | None = None

    @property
    def undeveloped(self) -> bool:
        """Whether it is a goal or a strategy that nothing supports."""
        return self.kind in ("goal", "strategy") and not self.parts

    def all(self) -> Iterator["Element"]:
        """This element and everything below it, contexts and assumptions apart."""
        yield self
        for part in self.parts:
            yield from part.all()


def case(view: View) -> Element:
    """The whole case. A report that did not pass supports no top goal, whatever the reason."""
    shipped = [entry for entry in view.entries if entry.shipped]
    written = [entry for entry in view.entries if entry.claim.variant == "as_written"]
    hardened = [entry for entry in shipped if entry.claim.variant == "hardened"]
    others = [entry for entry in view.entries if not entry.shipped and entry.claim.variant == "hardened"]
    decided = [entry for entry in hardened if ON_THE_MODEL.intersection(entry.claim.methods)]
    run = [entry for entry in hardened if entry not in decided]
    assumed = _assumptions(view)
    strategies = [
        _inner("S-SURROUNDINGS", "strategy", "Over the surroundings: what is taken for granted, each with who must keep it, and "
               "what the run says nothing about", _unsaid(view), tuple(assumed.values())),
        _inner("S-MODEL", "strategy", "Over the model: each requirement, by the claims that are decided on every reachable state",
               [*_requirements("MODEL", decided, assumed), *_of_the_model(view)]),
        _inner("S-CODE", "strategy", "Over the code that ships: each requirement, by the claims that runs of the code show, and "
               "the code beside its model", [*_requirements("CODE", run, assumed), *_of_the_code(view)]),
        _inner("S-TEETH", "strategy", "Over the teeth of the checkers: planted defects are found, and what documents write comes "
               "out as the register expects", [*_documents(written, assumed), *_of_the_teeth(view)]),
        _inner("S-OTHERS", "strategy", "Over policies that no command of the runtime selects: what holds under them",
               _requirements("OTHERS", others, assumed)),
    ]  # fmt: skip
    top = _inner(
        TOP,
        "goal",
        "Under the policies that the runtime ships, and the assumptions named: no effect happens twice, nothing that is recorded"
        " is lost, and no record lies – each as far as a claim of the register below says so, and no further",
        [strategy for strategy in strategies if strategy.parts or strategy.context],
        tuple(_contexts(view)),
    )
    return top if view.passed else _refused(top, view)


def undeveloped(top: Element) -> list[Element]:
    """Every goal that nothing supports."""
    return [element for element in top.all() if element.undeveloped]


def _refused(top: Element, view: View) -> Element:
    """The case of a report that did not pass: what is not as expected stands first below the goal that it refuses."""
    counter = tuple(
        Element(f"Sn-PROBLEM-{n}", "solution", words, Support.NOT, command="crashwindow verify")
        for n, words in enumerate(view.problems or [view.headline], 1)
    )
    text = "Over what is not as expected: while it is there, the goal above is not supported"
    problems = _inner("S-PROBLEMS", "strategy", text, counter)
    return _inner(top.id, top.kind, top.text, (problems, *top.parts), top.context)


def _inner(id: str, kind: Kind, text: str, parts: Iterable[Element], context: tuple[Element, ...] = ()) -> Element:  # noqa: A002
    """A goal or strategy that is as supported as its parts are; the worst of them stand first."""
    order = list(Support)
    ranked = sorted(parts, key=lambda part: order.index(part.support))
    return Element(id, kind, text, _support([part.support for part in ranked]), tuple(ranked), context)


def _support(parts: Sequence[Support]) -> Support:
    if not parts:
        return Support.OPEN
    if Support.NOT in parts:
        return Support.NOT
    return parts[0] if len(set(parts)) == 1 else Support.PARTLY


def _contexts(view: View) -> Iterator[Element]:
    run = view.evidence.run
    yield Element("C-CODE", "context", f"Commit {run.commit}; code, SHA-256 {run.code_sha256}", Support.FULL)
    for machine in view.evidence.machines:
        if machine.policy in SHIPPED:
            words = f"Model {machine.policy}, SHA-256 {machine.sha256}: {number(machine.states)} states"
            yield Element(f"C-MODEL-{machine.policy}", "context", words, Support.FULL)
    yield Element(
        "C-REGISTER",
        "context",
        f"The claim register: {len(view.entries)} claims, hardened and as written",
        Support.FULL,
    )


def _assumptions(view: View) -> dict[str, Element]:
    """By id, every assumption that a claim needs."""
    needed = {name for entry in view.entries for name in entry.claim.assumptions}
    known = {a.id: f"{a.text} Kept by: {a.owner}" for a, _ in view.assumptions}
    return {
        name: Element(
            name,
            "assumption",
            known.get(name, "An assumption of sentences as written alone."),
            Support.FULL,
            verdict=Verdict.ASSUMED,
        )
        for name in sorted(needed)
    }


def _unsaid(view: View) -> Iterator[Element]:
    """Each sentence on what the run says nothing about. A claim that nothing checked is a goal of its own elsewhere."""
    silent = tuple(f"Claim {entry.claim.id}: " for entry in view.entries if entry.best is Verdict.NOT_CHECKED)
    for n, words in enumerate((words for words in view.not_checked if not words.startswith(silent)), 1):
        yield Element(f"G-OPEN-{n}", "goal", f"Left open: {words}", Support.OPEN, verdict=Verdict.NOT_CHECKED)


def _requirements(strategy: str, entries: Iterable[Entry], assumed: Mapping[str, Element]) -> Iterator[Element]:
    """A goal for each requirement, such as T-CONFIRM or T-PROP P1: that each of its claims comes out as the register says."""
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        family = FAMILY.match(entry.claim.requirement)
        families.setdefault(family[0] if family else entry.claim.requirement, []).append(entry)
    for name, members in sorted(families.items(), key=lambda family: _natural(family[0])):
        yield _group(f"G-{strategy}-{name.replace(' ', '-')}", f"Requirement {name}", members, assumed)


def _natural(name: str) -> list[tuple[int, str]]:
    """P2 comes before P11."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _documents(entries: Iterable[Entry], assumed: Mapping[str, Element]) -> Iterator[Element]:
    """A goal for each document: that each of its sentences, as written, comes out as the register says."""
    documents: dict[str, list[Entry]] = {}
    for entry in entries:
        cited = entry.claim.citations
        documents.setdefault(cited[0].document if cited else "ours", []).append(entry)
    for name, members in sorted(documents.items()):
        title = "What we write ourselves of what is not enough" if name == "ours" else f"Document {name}, as written"
        yield _group(f"G-WRITTEN-{name}", title, members, assumed)


def _group(id: str, title: str, members: Sequence[Entry], assumed: Mapping[str, Element]) -> Element:  # noqa: A002
    comes = "its claim comes" if len(members) == 1 else f"each of its {len(members)} claims comes"
    goals = [_claim(entry, assumed) for entry in members]
    return _inner(id, "goal", f"{title}: {comes} out as the register says", goals)


def _claim(entry: Entry, assumed: Mapping[str, Element]) -> Element:
    """The goal of a claim: its items are its solutions, a method that was not applied an undeveloped goal below it."""
    claim = entry.claim
    solutions = [
        Element(f"Sn-{claim.id}-{n}", "solution", item.statement, Support.FULL, verdict=item.verdict, claim=claim.id,
                command=item.command)
        for n, item in enumerate(entry.items, 1)
        if item.verdict not in SILENT
    ]  # fmt: skip
    lacking = [
        Element(f"G-{claim.id}-{method}", "goal", f"{claim.id} by {method}: the register names this method, the run did not "
                "apply it", Support.OPEN, verdict=Verdict.NOT_CHECKED)
        for method in (entry.missing if entry.items else ())
    ]  # fmt: skip
    text = claim.sentence if claim.variant == "hardened" else f"As written, expected {claim.expected}: {claim.sentence}"
    if not entry.shipped and claim.variant == "hardened":
        text = f"Under policy {claim.policy}: {text}"
    text += "".join(f" ({item.verdict}: {item.statement})" for item in entry.items if item.verdict in SILENT)
    return Element(
        f"G-{claim.id}",
        "goal",
        text,
        _stands(entry, bool(lacking)),
        (*lacking, *solutions),
        tuple(assumed[name] for name in claim.assumptions),
        entry.best,
        entry.worst,
        claim.id,
    )


def _stands(entry: Entry, lacking: bool) -> Support:
    """A claim that came out as expected; a hardened one besides without any refutation."""
    broken = any(item.verdict in BROKEN for item in entry.items) and entry.claim.variant == "hardened"
    if broken or not entry.as_expected:
        return Support.NOT
    if entry.best in SILENT:
        return Support.OPEN
    return Support.PARTLY if lacking else Support.FULL


Part = tuple[str, bool]
"""A sentence that says what was found, and whether it is as it should be."""


def _found(id: str, text: str, parts: Iterable[Part], command: str = "crashwindow verify") -> Element:  # noqa: A002
    """A goal on something that is not a claim: undeveloped where the evidence holds nothing of it."""
    solutions = [
        Element(f"Sn-{id}-{n}", "solution", words, Support.FULL if well else Support.NOT, command=command)
        for n, (words, well) in enumerate(parts, 1)
    ]
    return _inner(f"G-{id}", "goal", text, solutions)


def _share(well: Sequence[bool], what: str) -> list[Part]:
    """How many of some things are as they should be, in one sentence; none where there is nothing."""
    return [(f"{number(sum(well))} of {number(len(well))} {what}", all(well))] if well else []


def _of_the_model(view: View) -> Iterator[Element]:
    agree = [window.agrees and window.proof not in BROKEN for window in view.evidence.windows]
    parts = _share(agree, "windows are as derived, and their proofs stand")
    yield _found("TABLE", "Each row of the crash-window table is as the model derives it", parts)


def _of_the_code(view: View) -> Iterator[Element]:
    run = view.evidence
    schedules = [
        (
            f"{c.name}: {number(c.schedules)} schedules, {number(len(c.violations))} broke a property,"
            f" {number(len(c.disagreements))} ended otherwise by SIGKILL",
            not (c.violations or c.disagreements),
        )
        for c in run.schedules
    ]
    yield _found("SCHEDULES", "No crash schedule on the runtime breaks a property", schedules)
    scenarios = _share([scenario.passed for scenario in run.scenarios], "scenarios are as expected")
    yield _found("SCENARIOS", "Each scenario comes out as expected", scenarios)
    stores = [(f"{c.store}: {coverage_words(c)}", c.complete) for c in run.contracts]
    text = "Each edge of the contract's machine is taken on a real store, and what is none is refused"
    yield _found("CONTRACTS", text, stores)


def _of_the_teeth(view: View) -> Iterator[Element]:
    run = view.evidence
    found = _share([bool(mutant.killed_by) for mutant in run.mutants], "planted defects are found")
    yield _found("DEFECTS", "Each defect that the run plants is found", found)
    every, killed = sum(row.mutants for row in run.kills), sum(row.killed for row in run.kills)
    same, safe = sum(row.same for row in run.kills), sum(row.safe for row in run.kills)
    words = f"{number(killed)} of {number(every)} killed, {number(same)} proved the same, {number(safe)} proved safe"
    parts = [(words, not any(row.gaps for row in run.kills))] if run.kills else []
    text = (
        "Each mutant that the run makes is killed, or proved the same as its original, or to break no safety property"
    )
    mutants = _found("MUTANTS", text, parts, "crashwindow mutants")
    yield _inner(mutants.id, mutants.kind, mutants.text, [*_unasked(run.kills), *mutants.parts])


def _unasked(rows: Sequence[KillRow]) -> Iterator[Element]:
    """A goal that nothing supports, where not everybody was asked."""
    if left := not_asked_further(rows):
        text = f"{number(left)} mutants are safe by proof, and who kills them is open: not asked were {OTHERS}"
        yield Element("G-MUTANTS-REST", "goal", text, Support.OPEN, verdict=Verdict.NOT_CHECKED)
