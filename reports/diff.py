"""What changed between two runs, what got worse first.

Worse is: a problem where there was none; a claim that is no longer as expected, or a hardened one with a weaker verdict, best or
weakest; evidence that is gone (a claim, a checker's item, a window, a campaign, a scenario, a planted bug, a class of mutants, a
store, a machine, a cell that ends worse). Better is the opposite. Everything else has changed. Timings are no difference.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel
from rich.text import Text

from ..checkers.evidence import RunEvidence, Verdict
from ..checkers.evidence_outcome import SEVERITY
from ..checkers.evidence_verdict import STRENGTH
from .view import REGISTER, TIMING, Entry, Register, View, figures, judge, kills_name
from .words import number, plain

Way = Literal["worse", "better", "changed"]
WAYS: Final[Mapping[Way, str]] = {"worse": "Worse", "better": "Better", "changed": "Changed"}
"""The ways in which something can differ, in the order in which they are told."""
STYLES: Final[Mapping[Way, str]] = {"worse": "bold red", "better": "green", "changed": ""}
HASTY: Final = frozenset({"cheapest"})
"""What a row says that depends on timings, beside the timings themselves: who is quickest."""
LISTS: Final[Mapping[str, Callable[[RunEvidence], Iterable[tuple[str, BaseModel]]]]] = {
    "model": lambda run: ((m.policy, m) for m in run.machines),
    "window": lambda run: ((w.row, w) for w in run.windows),
    "campaign": lambda run: ((s.name, s) for s in run.schedules),
    "scenario": lambda run: ((s.name, s) for s in run.scenarios),
    "mutant": lambda run: ((m.name, m) for m in run.mutants),
    "mutants": lambda run: ((kills_name(k), k) for k in run.kills),
    "contracts on": lambda run: ((c.store, c) for c in run.contracts),
    "edge on": lambda run: (
        (f"{c.store}: {e.before} –{e.trigger}→ {e.after}", e) for c in run.contracts for e in c.edges
    ),
    "crash matrix of": lambda run: ((m.subject, m) for m in run.campaigns),
    "necessity": lambda run: (
        (f"{c.mechanism} for {c.property}", c) for c in (run.necessity.cells if run.necessity else ())
    ),
    "sets that suffice for": lambda run: ((s.property, s) for s in (run.necessity.sets if run.necessity else ())),
    "sets that suffice, with the stores, for": lambda run: (
        (s.property, s) for s in (run.necessity.whole if run.necessity else ())
    ),
    "sets between workers that suffice for": lambda run: (
        (s.property, s) for s in (run.necessity.between if run.necessity else ())
    ),
    "sets beside the step that suffice for": lambda run: (
        (s.property, s) for s in (run.necessity.beside if run.necessity else ())
    ),
}
"""The lists of the evidence beside its claims, by what a row of each is called."""


@dataclass(frozen=True)
class Change:
    """One difference: in which way, of what, and what was and is."""

    way: Way
    about: str
    words: str


def diff(before: RunEvidence, after: RunEvidence, register: Register = REGISTER) -> list[Change]:
    """Every difference but of timings, what got worse first; none where the two say the same."""
    one, two = judge(before, register), judge(after, register)
    found = [
        *_problems(one, two),
        *_claims(one, two),
        *_lists(before, after),
        *_cells(before, after),
        *_sentences(one, two),
        *_code(before, after),
    ]
    order = list(WAYS)
    return sorted(dict.fromkeys(found), key=lambda change: order.index(change.way))


def got_worse(changes: Iterable[Change]) -> bool:
    """Whether anything got worse."""
    return any(change.way == "worse" for change in changes)


def _problems(one: View, two: View) -> Iterator[Change]:
    """A problem is known by what it is about: other words about the same thing are no new one."""
    told = [{(p.kind, p.name if p.name else p.words): p.words for p in view.unexpected} for view in (one, two)]
    was, now = told
    for key, words in now.items():
        if key not in was:
            yield Change("worse", f"{key[0]} {key[1]}" if key[0] != "run" else "run", f"now a problem: {words}")
        elif was[key] != words:
            yield Change("changed", f"{key[0]} {key[1]}", f"still a problem: {words}; it was: {was[key]}")
    for key, words in was.items():
        if key not in now:
            yield Change("better", f"{key[0]} {key[1]}" if key[0] != "run" else "run", f"no problem any more: {words}")


def _claims(one: View, two: View) -> Iterator[Change]:
    said = [{result.claim: result.expected for result in view.evidence.claims} for view in (one, two)]
    for name in said[0]:
        if name not in said[1]:
            yield Change("worse", f"claim {name}", "nothing is said of it any more")
    for name, expected in said[1].items():
        if name not in said[0]:
            yield Change("changed", f"claim {name}", "new in the evidence")
        elif said[0][name] != expected:
            yield Change("changed", f"claim {name}", f"expected {said[0][name]}, now {expected}")
    for was, now in zip(one.entries, two.entries, strict=True):
        if was.claim.id in said[0] and was.claim.id in said[1]:
            yield from _verdicts(was, now)
            yield from _items(was, now)


def _verdicts(was: Entry, now: Entry) -> Iterator[Change]:
    about = f"claim {was.claim.id}"
    for what, old, new in (("best verdict", was.best, now.best), ("weakest link", was.worst, now.worst)):
        if old != new:
            yield Change(_way(was, now, old, new), about, f"{what} {old}, now {new}")
    if was.guaranteed != now.guaranteed:
        words = "guaranteed, now it is not" if was.guaranteed else "guaranteed now, it was not"
        yield Change("worse" if was.guaranteed else "better", about, words)


def _way(was: Entry, now: Entry, old: Verdict, new: Verdict) -> Way:
    if was.as_expected != now.as_expected:
        return "worse" if was.as_expected else "better"
    if was.claim.variant != "hardened" and not {old, new} & {Verdict.ERROR}:
        return "changed"
    return "worse" if STRENGTH.index(new) > STRENGTH.index(old) else "better"


def _items(was: Entry, now: Entry) -> Iterator[Change]:
    """The items of each checker, in their order: their verdicts, and their figures but for timings; none may be gone."""
    about = f"claim {was.claim.id}"
    for checker in dict.fromkeys(item.checker for item in (*was.items, *now.items)):
        old, new = ([item for item in entry.items if item.checker == checker] for entry in (was, now))
        if len(old) != len(new):
            way: Way = "worse" if len(new) < len(old) else "better"
            yield Change(way, about, f"{len(old)} items by {checker}, now {len(new)}")
            continue
        for first, second in zip(old, new, strict=True):
            said = [{"verdict": item.verdict, **dict(figures(item))} for item in (first, second)]
            yield from _changed(about, f"{checker}, ", *said)


def _lists(before: RunEvidence, after: RunEvidence) -> Iterator[Change]:
    """The other lists of the evidence: what is gone, what is new, and what is not as it was."""
    for title, rows in LISTS.items():
        was, now = ({name: facts(row) for name, row in rows(run)} for run in (before, after))
        yield from (Change("worse", f"{title} {name}", "is gone") for name in was if name not in now)
        yield from (Change("changed", f"{title} {name}", "is new") for name in now if name not in was)
        for name in was:
            if name in now:
                yield from _changed(f"{title} {name}", "", was[name], now[name])


def _changed(about: str, prefix: str, was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys((*was, *now)):
        old, new = was.get(name, "none"), now.get(name, "none")
        if old != new:
            yield Change("changed", about, f"{prefix}{name} {old}, now {new}")


def facts(row: BaseModel) -> dict[str, str]:
    """What a row says, a line each, but for timings and what depends on them."""
    found: dict[str, str] = {}
    for name, value in row.model_dump(mode="json", exclude={"trace", "cells", "edges"}).items():
        if TIMING.search(name) or name in HASTY:
            continue
        if isinstance(value, dict):
            found |= {f"{name} {key}": _words(each) for key, each in value.items() if not TIMING.search(key)}
        else:
            found[name] = _words(value)
    return found


def _words(value: object) -> str:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return number(value) or "none"
    return plain(json.dumps(value, ensure_ascii=False, sort_keys=True)) if value else "none"


def _cells(before: RunEvidence, after: RunEvidence) -> Iterator[Change]:
    """The cells of crash matrices: by schedule, the worst outcome of each."""
    was, now = ({(m.subject, c.schedule): c.worst for m in run.campaigns for c in m.cells} for run in (before, after))
    for key in dict.fromkeys((*was, *now)):
        about = f"crash matrix of {key[0]}, {'; '.join(key[1])}"
        if key not in now:
            yield Change("worse", about, "is gone")
        elif key not in was:
            yield Change("changed", about, f"is new: {now[key]}")
        elif was[key] != now[key]:
            way: Way = "worse" if SEVERITY[now[key]] < SEVERITY[was[key]] else "better"
            yield Change(way, about, f"{was[key]}, now {now[key]}")


def _sentences(one: View, two: View) -> Iterator[Change]:
    """What is not checked, and under which assumptions the guaranteed claims hold."""
    said = [
        {
            **{("not checked", words): "" for words in view.not_checked},
            **{("assumption", name): "" for entry in view.guaranteed for name in entry.claim.assumptions},
            **{("necessity", words): "" for words in _necessity(view.evidence)},
        }
        for view in (one, two)
    ]
    for about, words in said[1]:
        if (about, words) not in said[0]:
            yield Change("changed", about, f"new: {words}")
    for about, words in said[0]:
        if (about, words) not in said[1]:
            yield Change("changed", about, f"no more: {words}")


def _necessity(run: RunEvidence) -> list[str]:
    found = run.necessity
    return [*found.bounds, *found.idle, *found.ambiguity] if found else []


def _code(before: RunEvidence, after: RunEvidence) -> Iterator[Change]:
    """For which code, with which versions, and how the two were run."""
    told = ("commit", "code_sha256", "profile", "seed", "command", "platform", "versions")
    was, now = (facts(run.run.model_copy()) for run in (before, after))
    names = [name for name in dict.fromkeys((*was, *now)) if name.split(" ")[0] in told]
    yield from _changed("run", "", {n: was[n] for n in names if n in was}, {n: now[n] for n in names if n in now})


def changes_text(changes: Sequence[Change]) -> Text:
    """The differences on a terminal, a line each, what got worse first; one line where there are none."""
    if not changes:
        return Text("Nothing changed but timings.")
    shown: list[Text] = []
    for way, title in WAYS.items():
        some = [change for change in changes if change.way == way]
        if some:
            shown.append(Text(f"{title} ({len(some)})", style="bold"))
            shown += [Text(f"  {plain(change.about)}: {plain(change.words)}", style=STYLES[way]) for change in some]
    return Text("\n").join(shown)


def changes_data(changes: Sequence[Change]) -> dict[str, object]:
    """The same as JSON."""
    rows = [{"way": change.way, "about": change.about, "words": change.words} for change in changes]
    return {"worse": got_worse(changes), "changes": rows}
