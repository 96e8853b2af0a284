"""The sentences of S0, S1, S2 and S4 that the shipped code can show, each tried on it."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ..model.seed_claims import SEED_REASONS
from .crash_run import memory_directory
from .evidence import Item, Trace, Verdict
from .seed_confirm import CONFIRM_CHECKS
from .seed_house import House
from .seed_keys import KEY_CHECKS
from .seed_ledger import LEDGER_CHECKS, Check
from .seed_llm import LLM_CHECKS
from .seed_log import LOG_CHECKS
from .seed_outcomes import OUTCOME_CHECKS
from .verify import Context, Found, Stage

CHECKS: Final[Mapping[str, Check]] = {
    **LEDGER_CHECKS,
    **KEY_CHECKS,
    **OUTCOME_CHECKS,
    **CONFIRM_CHECKS,
    **LOG_CHECKS,
    **LLM_CHECKS,
}
"""By claim."""
PREFIX: Final = "text"


@contextmanager
def house() -> Iterator[House]:
    """A store in a directory of its own, which is gone afterwards."""
    folder = memory_directory()
    built = House(folder)
    try:
        yield built
    finally:
        built.close()
        shutil.rmtree(folder)


def examine(claim: str) -> Item:
    """What trying a claim's sentence came to. Raises KeyError for a claim without a check."""
    check = CHECKS[claim]
    with house() as built:
        problems = list(check.tried(built))
        trace = Trace(key=f"{PREFIX}:{claim}", frames=built.frames)
    if not problems:
        said = f"tried on the shipped runtime: {check.said}"
        return Item(
            checker="enumerate", verdict=Verdict.TESTED, statement=said, command=f"crashwindow replay {trace.key}"
        )
    said = "; ".join(problems)
    return Item(
        checker="enumerate",
        verdict=Verdict.REFUTED,
        statement=said,
        trace=trace,
        command=f"crashwindow replay {trace.key}",
    )


def replay(key: str) -> Item:
    """A check made anew, by the key `text:CLAIM`. Raises ValueError when there is none."""
    prefix, _, claim = key.partition(":")
    if prefix != PREFIX or claim not in CHECKS:
        raise ValueError(
            f"{key!r} is no key of a tried sentence: {PREFIX}:CLAIM, with CLAIM one of {', '.join(CHECKS)}"
        )
    return examine(claim)


def every_sentence() -> dict[str, Item]:
    """What trying each sentence that can be tried came to, by claim."""
    return {claim: examine(claim) for claim in CHECKS}


def seed_text(context: Context) -> Found:
    """Every sentence that can be tried; and why the rest cannot."""
    found = Found()
    for claim in CHECKS:
        found.add(claim, examine(claim))
        context.tell(f"sentences: {claim}")
    for claim, reason in SEED_REASONS.items():
        command = f"crashwindow check {claim}"
        found.add(claim, Item(checker="enumerate", verdict=Verdict.NOT_CHECKED, statement=reason, command=command))
    return found


SEED_TEXT: Final = Stage("seed_text", "sentences of the seeds, tried", seed_text, (*CHECKS, *SEED_REASONS), "enumerate")
