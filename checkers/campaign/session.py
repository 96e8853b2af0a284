"""A campaign's file from beginning to end: each of its subjects, with a journal in a directory, judged by what is expected."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...scenarios.campaign import CampaignFile, Tried
from ..evidence_matrix import Matrix, Trial
from .adapter import Subject
from .bench import Bench, Setup
from .campaign import Campaign, Executor, Options
from .journal import journal_of

Tell = Callable[[str, int, int, Trial | None], None]
"""Who is told how far it is: the subject, its trials done, its trials in all, the last one."""


@dataclass(frozen=True)
class Judged:
    """A subject's matrix, and in which points it is not what was expected."""

    matrix: Matrix
    unexpected: tuple[str, ...]


def sessions(
    file: CampaignFile, options: Options, executor: Executor, directory: Path | None, command: str, tell: Tell
) -> Iterator[Judged]:
    """Each subject of a campaign. directory: where journals are kept. command: repeats the campaign.

    Raises AdapterError and ControlError where a subject cannot be tried, ValueError where a journal is of another campaign.
    """
    for tried in file.subjects:
        subject = Subject(tried.name, tried.adapter, tried.command, tried.options)
        setup = Setup(subject, file.steps, file.boundaries, file.hold_seconds)

        def told(done: int, of: int, trial: Trial | None, name: str = tried.name) -> None:
            tell(name, done, of, trial)

        with Bench(setup) as bench:
            journal = journal_of(directory, setup, options, bench.lab.versions)
            repeat = f"{command} --subject {tried.name}"
            matrix = Campaign(bench, options, executor, journal, repeat, told).run()
        yield Judged(matrix, tuple(_unexpected(tried, matrix, bool(options.at))))


def _unexpected(tried: Tried, matrix: Matrix, part: bool) -> Iterator[str]:
    """In which points a matrix is not what was expected. part: it has some cells alone, of which none has to break anything."""
    found = {"promise": matrix.broken, "at_most_once": matrix.repeated}
    for what, expected in (("promise", tried.expect.promise), ("at_most_once", tried.expect.at_most_once)):
        cells = found[what]
        words = what.replace("_", " ")
        if expected == "kept" and cells:
            yield f"{tried.name}: {words} is broken by {len(cells)} of {len(matrix.cells)} cells"
        if expected == "broken" and not cells and not part:
            yield f"{tried.name}: {words} was expected to be broken, and no cell breaks it"
    if unanswered := matrix.unanswered:
        yield f"{tried.name}: {len(unanswered)} cells could not be judged: {unanswered[0].words}"
    if not part and len(matrix.unjudged) == len(matrix.cells):
        yield f"{tried.name}: not one cell could be judged"
