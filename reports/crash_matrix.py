"""A crash matrix, ready to be shown: boundaries down, kinds of fault across; what several forms of it share."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..checkers.evidence_matrix import Cell, Matrix, boundary_of
from ..checkers.evidence_outcome import AT_MOST_ONCE, SEVERITY, UNJUDGED, Outcome

STRUCK: Final = {
    "before": "killed before it",
    "after": "killed after it",
    "held": "held, then killed",
    "paused": "paused, overtaken, woken",
    "power": "power fails at it",
}
"""What the kinds of fault are called, in the order of the columns."""


class Row(NamedTuple):
    """A boundary, and its cell in each column; None where that was not tried."""

    boundary: str
    cells: tuple[Cell | None, ...]


class Shown(NamedTuple):
    """A matrix. columns: the kinds of fault. pairs: schedules of more than one fault."""

    matrix: Matrix
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Cell, ...]


def shown(matrix: Matrix) -> Shown:
    """The rows of a matrix, boundaries in the order of the control runs."""
    alone: dict[tuple[str, str], list[Cell]] = {}
    for cell in matrix.cells:
        if len(cell.schedule) == 1:
            alone.setdefault(_split(cell.schedule[0]), []).append(cell)
    single = {each: _folded(cells) for each, cells in alone.items()}
    columns = tuple(when for when in STRUCK if any(when == each for each, _ in single))
    boundaries = dict.fromkeys([*matrix.control.boundaries, *(boundary for _, boundary in single)])
    rows = (Row(each, tuple(single.get((when, each)) for when in columns)) for each in boundaries)
    pairs = tuple(cell for cell in matrix.cells if len(cell.schedule) > 1)
    return Shown(matrix, columns, tuple(row for row in rows if any(row.cells)), pairs)


def _split(strike: str) -> tuple[str, str]:
    return strike.partition(" ")[0], boundary_of(strike)


def _folded(cells: list[Cell]) -> Cell:
    """One cell for the images that a loss of power may leave at a boundary: how many ended how, and the worst one's words."""
    worst = min(cells, key=lambda cell: list(Outcome).index(cell.worst))
    outcomes = sum((Counter(cell.outcomes) for cell in cells), Counter[Outcome]())
    return worst.model_copy(update={"outcomes": dict(outcomes), "kept": sum(cell.kept for cell in cells)})


def outcome(cell: Cell) -> str:
    """What a cell says: the worst outcome, and of how many runs, where it was not all of them."""
    runs = sum(cell.outcomes.values())
    share = f" {cell.outcomes[cell.worst]} of {runs}" if len(cell.outcomes) > 1 else ""
    return f"{cell.worst}{share}{' (inferred)' if cell.inferred else ''}"


def notable(matrix: Matrix) -> list[Cell]:
    """The cells that are not simply exactly once: those that break the promise, then the worst, then in the matrix's order."""
    bad = (cell for cell in matrix.cells if cell.worst is not Outcome.EXACTLY_ONCE)
    return sorted(bad, key=lambda cell: (cell not in matrix.broken, SEVERITY[cell.worst]))


def witnessed(matrix: Matrix, cell: Cell) -> str:
    """What was seen of a cell, and whether it is what the runtime's documentation rules out."""
    return f"{cell.words}; this breaks the promise" if cell in matrix.broken else cell.words


def good(value: Outcome) -> bool:
    """Whether an outcome doubles and denies nothing."""
    return value in AT_MOST_ONCE


def tone(value: Outcome) -> str:
    """How loud an outcome is shown: the words stay what they are."""
    if value in UNJUDGED:
        return "error"
    if value is Outcome.EXACTLY_ONCE:
        return "proved"
    return "assumed" if value in AT_MOST_ONCE else "refuted"


def promise_words(matrix: Matrix) -> str:
    """Whether the runtime keeps what its documentation promises."""
    promise = matrix.promise
    kinds = {
        "paused": (promise.pauses, "a process that is overtaken while it is paused"),
        "power": (promise.power, "a loss of power"),
    }
    met = {strike.partition(" ")[0] for cell in matrix.cells for strike in cell.schedule}
    unspoken = {kind: words for kind, (spoken, words) in kinds.items() if kind in met and not spoken}
    silent = [c for c in matrix.cells if any(s.partition(" ")[0] in unspoken for s in c.schedule)]
    spoken = [cell for cell in matrix.cells if cell not in silent]
    words = _kept(spoken, len(matrix.broken)) if spoken else "not at stake"
    return f"{words}; it does not speak of {' or of '.join(unspoken.values())}" if silent else words


def once_words(matrix: Matrix) -> str:
    """Whether every effect happened at most once, and the record says so."""
    return _kept(matrix.cells, len(matrix.repeated))


def _kept(cells: Sequence[Cell], broken: int) -> str:
    run = [cell for cell in cells if not cell.inferred]
    unjudged = sum(bool(set(cell.outcomes) & UNJUDGED) for cell in run)
    inferred = len(cells) - len(run)
    if broken:
        words = f"broken in {broken} of {len(run)} cells"
    elif unjudged:
        words = f"kept in {len(run) - unjudged} of {len(run)} cells, the others were not judged"
    else:
        words = f"kept in all {len(run)} cells{' that were run' if inferred else ''}"
    return f"{words}; {inferred} more are inferred from their neighbours" if inferred else words


def allowed(matrix: Matrix) -> str:
    """The outcomes that keep the promise."""
    woken = ", or that a paused process was in" if matrix.promise.pauses else ""
    alone = (
        f" ({Outcome.DUPLICATE} only of the step that had acted last{woken}, and was not recorded as done)"
        if matrix.promise.last_only
        else ""
    )
    return ", ".join([str(Outcome.EXACTLY_ONCE), *map(str, matrix.promise.allows)]) + alone


def headline(matrices: Sequence[Matrix]) -> str:
    """What was tried, in a line."""
    cells = sum(len(matrix.cells) for matrix in matrices)
    names = ", ".join(matrix.subject for matrix in matrices)
    return f"{names}: {cells} schedules of faults"


def facts(matrix: Matrix) -> list[tuple[str, str]]:
    """What a reader has to know beside the table; what differs between two machines comes last."""
    return [*lasting(matrix), *surroundings(matrix)]


def surroundings(matrix: Matrix) -> list[tuple[str, str]]:
    """How long a run took, and where: of a whole run's report this is in the run's own section."""
    return [
        ("a run without a fault took", f"{matrix.control.seconds:.3g} s"),
        ("machine", f"Python {matrix.python}, {matrix.platform}"),
    ]


def lasting(matrix: Matrix) -> list[tuple[str, str]]:
    """What a second campaign on the same code would say as well."""
    control = matrix.control
    unstable = (
        ", ".join(control.unstable)
        or "none: every run without a fault came to the same boundaries, behind the same effects"
    )
    if control.several:
        unstable += "; several threads come to boundaries, so each schedule is run several times"
    found = "a hook on commits in the process" if matrix.source == "commits" else "the interception of system calls"
    return [
        ("tested", ", ".join(f"{name} {version}" for name, version in matrix.versions.items())),
        ("its documentation promises", f"{matrix.promise.words} ({matrix.promise.source})"),
        ("which allows", allowed(matrix)),
        ("that promise is", promise_words(matrix)),
        ("at most once, and an honest record: this is", once_words(matrix)),
        ("the job", f"steps {', '.join(matrix.steps)}, one effect each"),
        ("boundaries found by", found),
        ("unstable boundaries", unstable),
        ("control", f"{control.runs} runs without a fault"),
        ("seed", str(matrix.seed)),
    ]
