"""Commands about the claim register: which claims there are, and why one stands as it does."""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from ..checkers.evidence import RunEvidence
from .files import EvidenceError, load, newest_run
from .register import Filters, RegisterError, chosen, named, register_tables, why_text
from .view import listing
from .why import claim_data, explain, why_data


class Found(NamedTuple):
    """Evidence, if there is any, and a sentence about where it is from."""

    evidence: RunEvidence | None
    said: str


def found(file: str | None) -> Found:
    """The evidence of a file; else of the newest run in reports/out. Raises EvidenceError for a named file alone: one that
    nobody has named and that cannot be read is as good as none, with the reason."""
    if file:
        return Found(load(Path(file)), f"verdicts from {file}")
    newest = newest_run()
    if newest is None:
        return Found(None, "no verdicts: run `crashwindow verify`, or give --evidence FILE")
    try:
        return Found(load(newest), f"verdicts from {newest}")
    except EvidenceError as error:
        return Found(None, f"no verdicts: {error}")


def claims(args: argparse.Namespace) -> int:
    """The register, or those of its claims that are asked for."""
    filters = Filters(args.variant, args.verdict, args.requirement, args.document, args.search)
    if args.claim and filters != Filters():
        raise RegisterError(f"{args.claim} is one claim: leave the filters out")
    if args.claim:
        return why(args)
    evidence, said = found(args.evidence)
    parts = chosen(listing(evidence), filters, evidence is not None)
    if args.json:
        rows = [
            {"part": name, **claim_data(entry, evidence is not None)} for name, entries in parts for entry in entries
        ]
        _print_json({"said": said, "claims": rows})
        return 0
    console = Console(emoji=False)
    console.print(register_tables(parts, evidence is not None))
    console.print(said, highlight=False, soft_wrap=True)
    return 0


def why(args: argparse.Namespace) -> int:
    """One claim, with everything that register, model and evidence say of it."""
    evidence, said = found(args.evidence)
    register = listing(evidence)
    told = explain(named(args.claim, register), register, evidence is not None)
    if args.json:
        _print_json({"said": said, **why_data(told)})
        return 0
    console = Console(emoji=False)
    console.print(why_text(told))
    console.print(said, highlight=False, soft_wrap=True)
    return 0


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
