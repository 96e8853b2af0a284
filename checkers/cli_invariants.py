"""`crashwindow invariants`: what is found without a written invariant, beside what is written, and the workers counted."""

import argparse
import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from ..model.claim_types import PROPERTY_BY_ID
from ..runtime.errors import CommandError
from ..scenarios.fleet_policies import FLEET_POLICIES
from .invariant_ways import COUNTED, LIFTED, MACHINES, bounds, counted, found, found_in_two, lifted

NAMES = (*MACHINES, *dict.fromkeys((*LIFTED, *COUNTED, *FLEET_POLICIES)))


def invariants(args: argparse.Namespace) -> int:
    """The machines that are asked for, with what was found; 1 where that does not prove what is proved, or counts otherwise."""
    if args.machine is not None and args.machine not in NAMES:
        raise CommandError(f"there is no machine {args.machine!r}; there are {', '.join(NAMES)}")
    console = Console(emoji=False, stderr=True)
    told = []
    for name in [args.machine] if args.machine else NAMES:
        with console.status(name):
            told.append(_told(name))
    if args.json:
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        for each in told:
            _print(Console(emoji=False), each)
    return 1 if any(map(_contradicts, told)) else 0


def _contradicts(told: Mapping[str, Any]) -> bool:
    """Whether a way comes to another verdict than the claims: a machine is safe, a refuted policy is not."""
    proved = all(figures.get("proves every property", True) for part, figures in told.items() if part != "machine")
    safe = told.get("counted", {}).get("safe", told["machine"] in COUNTED)
    return not proved or safe != (told["machine"] in COUNTED)


def _told(name: str) -> dict[str, Any]:
    """What is known of a machine, as data."""
    told: dict[str, Any] = {"machine": name}
    if name in MACHINES:
        made = found(name)
        search, comparison = made.search, made.comparison
        told["found"] = {
            "proves every property": made.holds,
            "stuck": search.stuck,
            "states": search.states,
            "rounds": search.rounds,
            "states shown": search.shown,
            "clauses": [c.name for c in search.clauses],
            "written": comparison.written,
            "written, not implied": list(comparison.missing),
            "found, not implied": list(comparison.more),
        }
    if name in LIFTED:
        lifting = lifted(name)
        told["read for any number"] = {
            "proves every property": lifting.holds,
            "stuck": lifting.stuck,
            "kept": len(lifting.kept),
            "states that many workers add": lifting.learned,
            "rounds": lifting.rounds,
            "clauses added": [c.name for c in lifting.added],
            "dropped": [f"{clause}: broken by {row}" for clause, row in lifting.dropped],
        }
    if name == "fleet-recorded":
        two = found_in_two()
        told["found in two workers"] = {
            "proves every property": two.holds,
            "stuck": two.stuck,
            "states": two.states,
            "rounds": two.rounds,
            "clauses": [c.name for c in two.clauses],
        }
    if name in COUNTED or name in FLEET_POLICIES:
        number = counted(name)
        told["counted"] = {
            "safe": number.safe,
            "broken": number.broken,
            "abstract states": number.states,
            "states of others": number.workers,
            "steps": number.steps,
            "state": number.state,
            "of": bounds(name),
            "antecedents never there": [
                f"{p}: {words}" for p in number.met for words in number.unmet(PROPERTY_BY_ID[p])
            ],
        }
    return told


def _print(console: Console, told: dict[str, Any]) -> None:
    """A machine as a few lines: numbers, then what does not follow."""
    console.print(told["machine"], style="bold", highlight=False)
    for part, figures in told.items():
        if part == "machine":
            continue
        numbers = {n: v for n, v in figures.items() if isinstance(v, int | str) and v != ""}
        words = [f"{n} {'yes' if v is True else 'no' if v is False else v}" for n, v in numbers.items()]
        words += [f"{len(v)} {n}" for n, v in figures.items() if isinstance(v, list)]
        console.print(f"  {part}: {', '.join(words)}", markup=False, highlight=False, soft_wrap=True)
        for name in ("written, not implied", "dropped", "antecedents never there"):
            for each in figures.get(name, ()):
                console.print(f"    {name}: {each}", markup=False, highlight=False, soft_wrap=True)
