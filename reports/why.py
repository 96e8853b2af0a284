"""Why a claim stands as it does: everything that register, model and evidence say of it, before it has a form.

Without evidence nothing is found, and that is said: no verdict is taken from the register alone.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..checkers.evidence import Item
from ..model.claim_types import Assumption, Claim
from ..model.claims import REASONS
from ..model.refutation import Formal, formal, glossary, refuted_by
from ..model.windows import AMBIGUOUS, SEED_ROWS, WINDOWS, Window
from .view import REGISTER, Entry, Listing, Register, figures

_RULE: Final = re.compile(r"T-RECOVER (\d)")


@dataclass(frozen=True)
class Why:
    """One claim. found: whether there was evidence at all. commands: what searches for a refutation, or shows the one there is.

    beside: the hardened claim of an as_written one, or the as_written ones of a hardened one. reason: why nothing checks it.
    """

    entry: Entry
    found: bool
    formal: tuple[Formal, ...]
    glossary: dict[str, str]
    assumptions: tuple[Assumption, ...]
    refuted_by: tuple[str, ...]
    commands: tuple[str, ...]
    beside: tuple[Entry, ...]
    windows: tuple[Window, ...]
    reason: str

    @property
    def claim(self) -> Claim:
        """The claim itself."""
        return self.entry.claim


def explain(claim: Claim, listing: Listing, found: bool, register: Register = REGISTER) -> Why:
    """What there is to say of one claim. found: whether the listing has its items from evidence. Raises KeyError where the
    listing has no such claim."""
    entries = {entry.claim.id: entry for entry in listing.entries}
    entry = entries[claim.id]
    hardened = listing.hardened(entry)
    below = [each for each in listing.entries if each.claim.hardened == claim.id]
    return Why(
        entry=entry,
        found=found,
        formal=formal(claim),
        glossary=glossary(claim),
        assumptions=tuple(register.assumptions[name] for name in claim.assumptions if name in register.assumptions),
        refuted_by=tuple(refuted_by(claim)),
        commands=tuple(searched_by(claim, entry.items)),
        beside=(hardened,) if hardened else tuple(below),
        windows=tuple(related(claim)),
        reason=REASONS.get(claim.id, ""),
    )


def searched_by(claim: Claim, items: Sequence[Item]) -> list[str]:
    """The commands that search for a refutation: those of its items, then the proof of its policy, then the whole run."""
    if not claim.methods:
        return []
    prove = ["crashwindow prove" if claim.kind == "fleet" else f"crashwindow prove {claim.policy}"]
    own = [item.command for item in items]
    check = f"crashwindow check {claim.id}"
    return list(dict.fromkeys([*own, *(prove if claim.inductive else []), check, "crashwindow verify"]))


def related(claim: Claim) -> list[Window]:
    """The rows of the crash-window table that a claim is about: by the lines that it cites, by the rule of recovery that it
    names, or all of them."""
    if claim.kind == "table":
        return list(WINDOWS)
    if claim.kind in ("ambiguity", "exactly"):
        return [window for window in WINDOWS if window.durable == AMBIGUOUS]
    cited = {str(line) for c in claim.citations if c.document == "S1" for line in range(c.lines[0], c.lines[1] + 1)}
    refining = {name for row in SEED_ROWS if row.lines in cited for name in row.refined_by}
    rules = set(_RULE.findall(claim.requirement))
    return [w for w in WINDOWS if w.id in refining or any(rule.partition(":")[0] in rules for rule in w.recovery)]


def verdicts(entry: Entry, found: bool) -> dict[str, Any]:
    """A claim's verdicts as JSON: null where there is no evidence."""
    return {
        "expected": entry.claim.expected,
        "best": entry.best.value if found else None,
        "weakest": entry.worst.value if found else None,
        "as_expected": entry.as_expected if found else None,
        "guaranteed": entry.guaranteed,
    }


def claim_data(entry: Entry, found: bool) -> dict[str, Any]:
    """A claim of the register as JSON, without its items."""
    claim = entry.claim
    sources = [
        {"document": c.document, "section": c.section, "lines": list(c.lines), "sha256": c.sha256}
        for c in claim.citations
    ]
    return {
        "id": claim.id,
        "variant": claim.variant,
        "sentence": claim.sentence,
        "sources": sources,
        "requirement": claim.requirement,
        "policy": claim.policy,
        "kind": claim.kind,
        "formal": claim.formal,
        "assumptions": list(claim.assumptions),
        "methods": list(claim.methods),
        "hardened": claim.hardened,
        **verdicts(entry, found),
    }


def why_data(told: Why) -> dict[str, Any]:
    """Everything about one claim, as JSON."""
    return {
        **claim_data(told.entry, told.found),
        "properties": [
            {
                "id": part.name,
                "title": part.title,
                "never": list(part.never),
                "grows": list(part.grows),
                "absorbing": list(part.absorbing),
                "occurs": list(part.occurs),
            }
            for part in told.formal
        ],
        "fields": told.glossary,
        "assumptions": [{"id": a.id, "text": a.text, "owner": a.owner} for a in told.assumptions],
        "evidence": [_item(item) for item in told.entry.items] if told.found else None,
        "not_applied": told.entry.missing if told.found else None,
        "reason": told.reason,
        "refuted_by": list(told.refuted_by),
        "commands": list(told.commands),
        "beside": [{"id": e.claim.id, "variant": e.claim.variant, **verdicts(e, told.found)} for e in told.beside],
        "windows": [window.id for window in told.windows],
    }


def _item(item: Item) -> dict[str, Any]:
    return {
        "checker": item.checker,
        "verdict": item.verdict.value,
        "statement": item.statement,
        "figures": dict(figures(item)),
        "key": item.trace.key if item.trace else None,
        "files": list(item.files),
        "command": item.command,
    }
