"""The tables of the track record: sentences of the documents by the register, the rest by track_record.yaml."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from crashwindow.checkers.seed_text import CHECKS
from crashwindow.model.claims import CLAIMS, DOCUMENTS, Claim

RECORD: Final[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "track_record.yaml").read_text(encoding="utf-8")
)
DECISIONS: Final = "decisions/{}.md"
BY_TEST: Final = {"S3-KEY": "pytest tests/test_contract_model.py -k changes_from_process_to_process"}
"""Sentences that have no run: two processes compute the key."""


def refuted() -> list[Claim]:
    """The sentences of the documents that came out as refuted; what we left out ourselves to see it missing is none."""
    return [
        claim
        for claim in CLAIMS
        if claim.variant == "as_written" and claim.expected == "REFUTED" and claim.id.partition("-")[0] in DOCUMENTS
    ]


def shown_by(claim: Claim) -> str:
    """The command that shows it again. Raises KeyError where there is none."""
    if claim.id in BY_TEST:
        return BY_TEST[claim.id]
    key = f"text:{claim.id}" if claim.id in CHECKS else RECORD["counterexamples"][claim.id]
    return f"crashwindow replay {key}"


def found_by(claim: Claim) -> str:
    """The checker."""
    if claim.id in CHECKS:
        return "tried on the shipped runtime"
    return "two processes" if claim.id in BY_TEST else "search of the model"


def sentences(document: str) -> str:
    """The refuted sentences of one document."""
    rows = [
        (f"`{claim.id}`", claim.sentence, f"`{claim.hardened}`", found_by(claim), f"`{shown_by(claim)}`")
        for claim in refuted()
        if claim.id.startswith(f"{document}-")
    ]
    return _table(("claim", "sentence, refuted", "instead", "found by", "shown again by"), rows)


def defects(_: str) -> str:
    """What was found in our own model, runtime and checkers."""
    rows = [(each["what"], f"{each['found']}{_source(each)}", f"`{own_command(each)}`") for each in RECORD["own"]]
    return _table(("what", "found by", "looked at again by"), rows)


def _source(defect: dict[str, str]) -> str:
    """The decision that tells more, where there is one."""
    name = defect.get("source")
    return f" ([decision {name[:3]}]({DECISIONS.format(name)}))" if name else ""


def own_command(defect: dict[str, str]) -> str:
    """The command of a defect of our own."""
    return defect.get("command") or f"pytest {defect['test']}"


def campaigns(_: str) -> str:
    """What campaigns showed of runtimes that others wrote."""
    rows = [
        (f"[{each['runtime']}]({each['page']}.md)", each["what"], each["outcome"], f"`{each['command']}`")
        for each in RECORD["campaigns"]
    ]
    return _table(("runtime", "what", "outcome", "shown again by"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
