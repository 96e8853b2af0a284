"""Every row, in the order of the page."""

from collections.abc import Sequence
from typing import Final

from ..runtime.errors import CommandError
from .crash_rows import CRASH_ROWS
from .graph_rows import GRAPH_ROWS
from .growth_rows import GROWTH_ROWS
from .peer_rows import PEER_ROWS
from .proof_rows import PROOF_ROWS
from .row import Row
from .search_rows import SEARCH_ROWS
from .step_rows import STEP_ROWS
from .trace_rows import TRACE_ROWS
from .verify_rows import VERIFY_ROWS
from .worker_rows import WORKER_ROWS

ROWS: Final[tuple[Row, ...]] = (
    *SEARCH_ROWS,
    *STEP_ROWS,
    *PEER_ROWS,
    *WORKER_ROWS,
    *GROWTH_ROWS,
    *GRAPH_ROWS,
    *CRASH_ROWS,
    *PROOF_ROWS,
    *TRACE_ROWS,
    *VERIFY_ROWS,
)


def chosen(names: Sequence[str]) -> list[Row]:
    """The rows of these names, each once, in the order of the table; of no name all but those that have to be asked for.

    Raises CommandError, which names the rows.
    """
    known = {row.name: row for row in ROWS}
    for name in names:
        if name not in known:
            raise CommandError(f"--only {name}: there is no such row; there are {', '.join(known)}")
    return [row for row in ROWS if row.name in names or (not names and not row.asked)]
