"""One session's defect does not hinder the others, and retention is a command that says what it did."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crashwindow.runtime.contracts.reasoner import ScriptedReasoner
from crashwindow.runtime.contracts.records import GraphState
from crashwindow.runtime.contracts.runner import GraphRunner

from .approval_office import Office, mail


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """An empty office."""
    office = Office(tmp_path / "store.db")
    yield office
    office.store.close()


class Faulty(GraphRunner):
    """A runner that has a defect with one session."""

    def advance(self, session_id: str) -> GraphState:
        """Run a session."""
        if session_id == "bad":
            raise KeyError("args")
        return super().advance(session_id)


def test_an_unforeseen_error_leaves_the_other_sessions_alone(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    """Its traceback is logged, its session stays as it is, and the sessions after it are run."""
    for name in ("bad", "good"):
        office.open(name, mail(subject=name))
    runner = Faulty(office.ports, office.tools, ScriptedReasoner(()))
    assert [each.session_id for each in runner.recover()] == ["good"]
    (record,) = [each for each in caplog.records if "session bad: unforeseen" in each.message]
    assert record.exc_info is not None


def test_an_interrupt_passes(office: Office) -> None:
    """Ctrl-C is no defect of a session: it ends the runner."""

    def interrupted(session_id: str) -> GraphState:
        raise KeyboardInterrupt(session_id)

    with pytest.raises(KeyboardInterrupt):
        office.runner("s").attempt("s", interrupted)
