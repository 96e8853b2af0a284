"""The command `crashwindow check`: one claim, by every stage of the run that has something to say about it."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markup import escape

from ..model.claims import CLAIM_BY_ID, no_such_claim
from ..runtime.errors import CommandError
from ..scenarios.due_stages import ITEMS, items_of_stage
from .evidence import ClaimResult, RunEvidence
from .stages import STAGES
from .verify import Context, Profile, Stage
from .verify import verify as stages


def check(args: argparse.Namespace) -> int:
    """Check one claim anew; 0 only if it comes out as the register expects."""
    if args.claim not in CLAIM_BY_ID:
        raise CommandError(no_such_claim(args.claim))
    chosen = tuple(stage for stage in STAGES if args.claim in (*stage.claims, *more_claims(stage, args.profile)))
    if not chosen:
        raise CommandError(
            f"no stage of a run speaks of {args.claim}: `crashwindow why {args.claim}` says what is known of it"
        )
    console = Console(emoji=False)
    command = f"crashwindow check {args.claim} --profile {args.profile} --seed {args.seed}"
    console.print(command, highlight=False, soft_wrap=True)
    with TemporaryDirectory(prefix="crashwindow-check-") as directory, console.status("") as status:
        context = Context(args.profile, args.seed, Path(directory), lambda words: status.update(escape(words)))
        evidence = list(stages(context, chosen, command, args.claim))[-1]
    assert isinstance(evidence, RunEvidence)
    result = next(each for each in evidence.claims if each.claim == args.claim)
    _say(result, evidence.errors, console)
    return 0 if result.as_expected and not evidence.errors else 1


def more_claims(stage: Stage, profile: Profile) -> Iterable[str]:
    """The claims of which a stage has to say something in a profile: in the deep one of more than in each."""
    return items_of_stage(stage.name, profile) if stage.name in ITEMS else ()


def _say(result: ClaimResult, errors: list[str], console: Console) -> None:
    for item in result.items:
        console.print(
            f"{item.verdict} by {item.checker}: {item.statement}", markup=False, highlight=False, soft_wrap=True
        )
    for words in errors:
        console.print(words, style="bold red", markup=False, highlight=False, soft_wrap=True)
    said = "as expected" if result.as_expected else f"expected {result.expected}"
    console.print(f"{result.claim}: {result.best}, {said}", style="bold", highlight=False, soft_wrap=True)
