"""Fleets searched whole, one worker and two, each state as it is: no property fails there, and each graph is the one that is
stated.

Two workers are searched reduced elsewhere (`fleet_search`), and of the tool step its own execution alone. Here nothing stands
for anything else, and clients, people and other steps are there. Two workers on the whole tool step have more states than
memory; they are bounded, by two claims and by the attempts of a plan, which are counted.

Of each graph a number is stated beside its states (`Space.graph`): a row that leads elsewhere may well leave as many states,
and the same ones.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ..model.fleet import Fleet
from ..model.fleet_rows import WORKERS
from ..model.machine import Rule
from ..scenarios.fleet_policies import TOOLS, only
from ..scenarios.searched import FLEET_GRAPHS
from .enumerate_fleet import CLAIMS, row_of
from .evidence import Item
from .evidence_verdict import Verdict
from .explore import Space
from .fleet_alone import ALONE
from .fleet_search import search
from .machines import BEYOND
from .proof_subjects import fleet_subjects
from .spoken_of import judged

Graph = tuple[int, int, int]
"""States, transitions, and the number of the graph."""
FENCED_KEY: Final = {"idempotent": "yes", "on_unknown": "query", "look": "fence"}
"""A tool that recognises a key, and refuses whom a look has fenced: what the world answers depends on both where a plan has two
attempts."""


@dataclass(frozen=True)
class Whole:
    """A fleet to be searched: in words what of it; its kind of tool or node, none for all; who works; and how many claims
    and attempts there are at most (0: no bound)."""

    what: str
    config: Mapping[str, str]
    workers: tuple[str, ...] = WORKERS
    claims: int = 0
    attempts: int = 0

    def search(self, fleet: Fleet, limit: int = 0) -> Space:
        """Every state of a fleet, as it is. limit: as of `searched`."""
        kind = only(fleet, dict(self.config))
        return search(kind, self.workers, claims=self.claims, attempts=self.attempts, limit=limit)


def _tool(config: Mapping[str, str], attempts: int) -> Whole:
    bounds = f"within {CLAIMS} claims and {attempts} attempt{'s' * (attempts > 1)}"
    return Whole(f"two workers {bounds}, {', '.join(config.values())}", config, claims=CLAIMS, attempts=attempts)


EVERY: Final = Whole("one worker", {}, ALONE)
WHOLE: Final[Mapping[str, tuple[Whole, ...]]] = {
    "fleet-recorded": (EVERY, Whole("two workers", {})),
    "fleet-gate": (
        EVERY,
        Whole("two workers, for a signal", {"kind": "signal"}),
        Whole("two workers, for an approval", {"kind": "approval"}),
    ),
    "fleet-compensation": (
        EVERY,
        Whole("two workers, not harmless", {"harmless": "no", "idempotent": "no"}),
        Whole("two workers, not harmless, idempotent", {"harmless": "no", "idempotent": "yes"}),
        Whole("two workers, harmless", {"harmless": "yes", "idempotent": "no"}),
    ),
    "fleet": (
        EVERY,
        *(_tool(config, 1) for config in TOOLS),
        _tool(FENCED_KEY, 2),
    ),
}  # fmt: skip
"""By fleet what is searched."""


def number(space: Space) -> int:
    """The number of a fleet's graph: a step has the name of its row and of who acts, in whichever order the workers claimed."""
    return space.graph(_named)


def _named(rule: Rule) -> str:
    row, who, led = row_of(rule)
    return f"{who} {led}: {row}"


def differs(name: str, mutant: Fleet) -> str:
    """The first graph of a fleet's mutant that is not what is stated, in words; "" where each is.

    Raises ModelError where workers can have no such row.
    """
    for whole in WHOLE[name]:
        states, _, graph = FLEET_GRAPHS[name][whole.what]
        space = whole.search(mutant, states + BEYOND)
        if len(space) != states:
            return f"{whole.what}: {len(space):,} states, and not {states:,}"
        if number(space) != graph:
            return f"{whole.what}: the steps between its {states:,} states are other ones"
    return ""


def items(name: str, tell: Callable[[str], None]) -> Iterator[tuple[str, Item]]:
    """What the searches of a fleet say of each property that forbids states. tell: is told of each search that is over."""
    subject = next(each for each in fleet_subjects() if each.fleet.name == name)
    for whole in WHOLE[name]:
        space = whole.search(subject.fleet)
        found = len(space), space.transitions, number(space)
        for prop in (each for each in subject.properties if each.never):
            verdict = judged(prop, space, subject.fleet, whole.what, "each state as it is", whole.workers)
            yield prop.id, _item(whole, found, FLEET_GRAPHS[name][whole.what], verdict)
        tell(f"search: {name}, {whole.what}")


def _item(whole: Whole, found: Graph, stated: Graph, told: tuple[Verdict, str]) -> Item:
    verdict, said = told
    if found != stated:
        verdict = Verdict.ERROR
        said = f"{said}; {whole.what}: {found} is not {stated}, which scenarios/searched.py states"
    states, transitions, graph = found
    return Item(
        checker="explore", verdict=verdict, statement=said, command="crashwindow verify --profile deep",
        figures={"workers": len(whole.workers), "states": states, "transitions": transitions, "graph": f"{graph:016x}"},
    )  # fmt: skip
