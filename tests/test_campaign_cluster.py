"""A campaign on a cluster: the same matrix as on this machine alone."""

import pytest

from crashwindow.checkers.campaign.adapter import Subject
from crashwindow.checkers.campaign.bench import Bench, Setup
from crashwindow.checkers.campaign.boundary import Strike
from crashwindow.checkers.campaign.campaign import Campaign, Executor, ExecutorError, Local, Options
from crashwindow.checkers.campaign.cluster import Cluster
from crashwindow.checkers.campaign.journal import Journal
from crashwindow.checkers.evidence_matrix import Matrix

AT = tuple((Strike("effect: a #1", when),) for when in ("before", "after", "held"))


def campaign(executor: Executor) -> Matrix:
    """Some schedules of a teaching case."""
    setup = Setup(Subject("x", "crashwindow.checkers.campaign.adapters.naive:ActThenRecord"), ("a",), hold_seconds=0.0)
    with Bench(setup) as bench:
        return Campaign(bench, Options(at=AT), executor, Journal(None), "run", lambda *_: None).run()


def test_a_cluster_of_two_workers_gives_the_local_matrix() -> None:
    """Two worker processes of a real cluster find what threads of this process find, cell by cell."""
    spread, alone = campaign(Cluster(None, 2)), campaign(Local(1))
    assert [(cell.schedule, cell.outcomes, cell.kept) for cell in spread.cells] == [
        (cell.schedule, cell.outcomes, cell.kept) for cell in alone.cells
    ]


def test_a_scheduler_that_is_not_there_is_named() -> None:
    """The error names the address, and what to start there."""
    with pytest.raises(ExecutorError, match=r"tcp://127\.0\.0\.1:9: cannot be reached"):
        campaign(Cluster("tcp://127.0.0.1:9", 1))
