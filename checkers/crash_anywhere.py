"""A worker may be gone where it only decides, too: nobody can tell that from a crash before its next command (T-WINDOW, E-TRUST).

So the machine of a step, and its fleet, have crashes before commands alone, and each of them is taken by the code. Here the rows
of the others are put back (`Policy.crashes`), and it is shown that without them the machine looks the same in every run, however
long: of one worker by a simulation (`edge_untold`), of two along every word that can be seen (`enumerate_fleet_untold`). What is
seen are the stores and the world. What properties note beside these is seen by nobody, so that crashes anywhere break no
property is proved by itself, of a step and of its fleet (decision 047).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ..model.policy import HARDENED
from ..model.step import DECIDING, UNCONFIRMED, UNHEARD, build
from .conform_follow import EdgeClass
from .edge_untold import untold
from .enumerate_fleet import ANYWHERE, RowEdge
from .enumerate_fleet_stage import WITHIN, fleet_edges, fleets
from .enumerate_fleet_untold import untold as untold_of_two
from .evidence import Item, Verdict
from .explore import explore

EVERYWHERE: Final = replace(HARDENED, name="hardened, crashes anywhere", crashes="anywhere")
"""The whole job, whose worker may be gone where it only decides, too; `ANYWHERE` is the step alone."""
MORE: Final = (DECIDING, UNHEARD, UNCONFIRMED)
"""What is in the name of a row of the fleet that its cases do not have: nobody speaks there, and nobody is asked."""


def of_one() -> Item:
    """One worker: the whole machine of a step."""
    machine = build(EVERYWHERE)
    space = explore(machine)
    deciding = {number for number, rule in enumerate(machine.rules) if rule.name.startswith(DECIDING)}
    edges = {EdgeClass(*edge) for edge in space.engine.classes() if edge[0] in deciding}
    return _item("one worker", len(edges), bool(edges) and untold(space, edges), 1)


def of_two() -> Item:
    """Two workers, one of which may overtake the other while that one decides."""
    spaces = fleets(ANYWHERE)
    edges = elsewhere(fleet_edges(spaces))
    return _item(
        f"two workers on the step alone, {WITHIN},", len(edges), bool(edges) and untold_of_two(spaces, edges), 2
    )


def elsewhere(edges: Iterable[RowEdge]) -> set[RowEdge]:
    """Those of a fleet's edges by which a worker is gone, or is overtaken, where it only decides."""
    return {edge for edge in edges if any(each in edge.row for each in MORE)}


def _item(who: str, edges: int, shown: bool, workers: int) -> Item:
    said = (
        f"a crash where a worker only decides is one before its next command, to all who can see it: without its {edges} edges"
        f" the machine of {who} follows all that it does with them, for runs of any length"
        if shown
        else f"it is not shown that nobody can tell of {who} a crash where one only decides from one before the next command"
    )
    verdict = Verdict.EXHAUSTED if shown else Verdict.REFUTED
    command = f"crashwindow conform --workers {workers}"
    return Item(checker="enumerate", verdict=verdict, statement=said, figures={"crashes": edges}, command=command)
