"""Each record of an effect knows it by the external id that the world gave: the courts compare it in all of them (P2)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from crashwindow.checkers.bugs_decide import external_id_of_a_query_dropped
from crashwindow.checkers.crash_snapshot import Breadth, sweep_case
from crashwindow.checkers.interleave import CASES as INTERLEAVED
from crashwindow.checkers.interleave import interleave
from crashwindow.checkers.mutate_runtime import SUBJECTS
from crashwindow.checkers.substitute import Patch, Plant, planted
from crashwindow.runtime.commands import Append, Ports, PutEffect, Settle


def otherwise(command: type[Any], altered: Callable[[Any], Any]) -> Plant:
    """A command that writes something else than it was given."""

    def plant(patch: Patch) -> None:
        original = command.perform

        def perform(self: Any, ports: Ports) -> Any:
            return original(altered(self), ports)

        patch.setattr(command, "perform", perform)

    return plant


def in_events(*types: str) -> Plant:
    """Events of these types have another external id."""

    def altered(append: Append) -> Append:
        events = (e._replace(data={**e.data, "external_id": "other"}) if e.type in types else e for e in append.events)
        return replace(append, events=tuple(events))

    return otherwise(Append, altered)


def of_record(put: PutEffect) -> PutEffect:
    """An effect record without its external id."""
    return replace(put, record=replace(put.record, metadata={**put.record.metadata, "external_id": None}))


PLANTS: dict[str, Plant] = {
    "finished": in_events("tool_invocation_finished", "step_compensated"),
    "committed": in_events("command_committed"),
    "ledger": otherwise(Settle, lambda settle: replace(settle, external_id=None)),
    "effect record": otherwise(PutEffect, of_record),
}


@pytest.mark.parametrize("record", PLANTS)
@pytest.mark.parametrize(
    ("case", "step", "name"),
    [
        ("ok-park", "(step a)", "a-1"),
        ("semantics-undo-partial", "(a)", "a-1"),
        ("semantics-undo-partial", "(a#undo)", "a#undo-2"),
    ],
)
def test_each_record_is_compared(record: str, case: str, step: str, name: str) -> None:
    """Whichever record has another external id than the world gave, of a step or of its undoing, is named."""
    with planted(PLANTS[record]):
        (found,) = sweep_case(SUBJECTS[case], Breadth(0))
    said = [each for each in found.violations if each.startswith(f"P2: {record} has the external id ") and step in each]
    assert [each.endswith(f"and the world gave {name!r} {step}") for each in said] == [True]


def test_what_a_query_names_is_compared() -> None:
    """A query's external id that is dropped is missed in its answer, and in all that is written from it."""
    with planted(external_id_of_a_query_dropped):
        (found,) = sweep_case(SUBJECTS["lost-query-fence"], Breadth(0))
    missed = {each.split()[1] for each in found.violations if "has the external id None" in each}
    assert missed == {"resolved", "finished", "committed", "ledger", "effect"}


@pytest.mark.parametrize("record", ["finished", "ledger", "effect record"])
def test_interleavings_compare_it_too(record: str) -> None:
    """In the orders of two workers' commands each record is held against the world as well."""
    with planted(PLANTS[record]):
        broken = interleave(INTERLEAVED["park-2"], until="P2").broken
    assert f"{record} has the external id" in broken["P2"][0]
