"""What an item of evidence is to be, and where the items beside a claim are not those that are due.

An item is due with its checker, verdict, names of figures, files and whether it shows a run; some of its figures have to have one
value. What else it counts is the run's to say.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

BROKEN: Final = ("REFUTED", "ERROR")
BEGUN: Final = 60
"""How many characters of an item's sentence name it."""


VERIFY: Final = "crashwindow verify"
CHECK: Final = "crashwindow check"
SEED: Final = r"-?\d+"
LOSS: Final = r"[\w+]+:lost=\d+"
"""What an item's command names that its run has found: a seed, and which loss of power."""


class Shown(Protocol):
    """A run that stands beside an item."""

    @property
    def key(self) -> str: ...


class Told(Protocol):
    """An item, as evidence has it."""

    @property
    def checker(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def statement(self) -> str: ...
    @property
    def figures(self) -> Mapping[str, int | float | str]: ...
    @property
    def files(self) -> Sequence[str]: ...
    @property
    def trace(self) -> "Shown | None": ...
    @property
    def command(self) -> str: ...


@dataclass(frozen=True)
class Due:
    """An item that is due. figures: their names, each with the value that it has to have, or None where the run says it.

    files: on which it rests; shown: whether a run stands beside it; begins: how its sentence begins, by which items differ that
    are alike else; otherwise: what may be there instead, where something is not installed; command: what repeats it, with `{key}`
    for that of its run, `{seed}` and `{loss}`; least: figures of which more may be told.
    """

    checker: str
    verdict: str
    figures: Mapping[str, int | str | None]
    files: tuple[str, ...] = ()
    shown: bool = False
    begins: str = ""
    otherwise: tuple["Due", ...] = ()
    command: str = VERIFY
    least: Mapping[str, int] = field(default_factory=dict)

    @property
    def begun(self) -> str:
        """Which one it is of several, in words."""
        return f" ({self.begins.strip()})" if self.begins else ""

    def unlike(self, item: Told) -> list[str]:
        """Where an item of this checker is another one, in words; nothing where it is this one."""
        if any(not other.unlike(item) for other in self.otherwise):
            return []
        found = [] if item.verdict == self.verdict else [f"it is {item.verdict}, and {self.verdict} is due"]
        if item.figures.keys() != self.figures.keys():
            found.append(f"its figures are {_listed(item.figures)}, and due are {_listed(self.figures)}")
        found += [
            f"{item.figures[name]} {name} are told, and {value} are due"
            for name, value in self.figures.items()
            if value is not None and item.figures.get(name, value) != value
        ]
        found += [
            f"{item.figures[name]} {name} are told, and at least {least} are due"
            for name, least in self.least.items()
            if not (isinstance(told := item.figures.get(name, least), int) and told >= least)
        ]
        if tuple(item.files) != self.files:
            found.append(f"it rests on {_listed(item.files)}, and due is {_listed(self.files)}")
        if (item.trace is not None) != self.shown:
            found.append("no run is shown" if self.shown else "a run is shown, and none is due")
        if not item.statement.startswith(self.begins):
            found.append(f"its sentence does not begin with {self.begins!r}")
        if not self._repeated_by(item):
            found.append(f"it is repeated by {item.command[:80]!r}, and due is {self.command!r}")
        return found

    def _repeated_by(self, item: Told) -> bool:
        key = item.trace.key if item.trace else ""
        words = re.escape(self.command).replace(re.escape("{key}"), re.escape(key))
        words = words.replace(re.escape("{seed}"), SEED).replace(re.escape("{loss}"), LOSS)
        return re.fullmatch(words, item.command) is not None


def differences(due: Sequence[Due], items: Iterable[Told]) -> Iterator[str]:
    """Where the items beside a claim are not those that are due: each that is missing, another one, or one too many.

    A claim of which a checker failed, or that is refuted though it should not be, is left alone: it is not as expected, and
    whoever judges the run says so.
    """
    there = list(items)
    verdicts = {str(item.verdict) for item in there}
    if "ERROR" in verdicts or ("REFUTED" in verdicts and all(each.verdict != "REFUTED" for each in due)):
        return
    missing = []
    for each in due:
        same = next((item for item in there if item.checker == each.checker and not each.unlike(item)), None)
        if same is None:
            missing.append(each)
        else:
            there.remove(same)
    for each in missing:
        alike = [item for item in there if item.checker == each.checker]
        if alike:
            nearest = min(alike, key=lambda item: len(each.unlike(item)))
            there.remove(nearest)
            yield f"{each.checker}, {nearest.verdict}, {_begun(nearest)}: {'; '.join(each.unlike(nearest))}"
        else:
            yield f"{each.checker}, {each.verdict}: the item with {_listed(each.figures)} is due{each.begun}, and it is missing"
    for item in there:
        yield f"{item.checker}, {item.verdict}, {_begun(item)}: an item with {_listed(item.figures)} is not due, or not once more"


def _begun(item: Told) -> str:
    """Which item it is, of several that are alike but for what they speak of: how its sentence begins."""
    return f"{item.statement[:BEGUN]!r}{'…' if len(item.statement) > BEGUN else ''}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
