"""The converse of two workers: edges of the fleet's rows, what a case takes of them, and that a missing one is seen."""

from dataclasses import replace

import pytest

from crashwindow.checkers import enumerate_cover, enumerate_fleet_stage, enumerate_read
from crashwindow.checkers.converse import row_in_words
from crashwindow.checkers.enumerate import Product
from crashwindow.checkers.enumerate_case import BEGUN, SENT, said
from crashwindow.checkers.enumerate_certain import CertainSets
from crashwindow.checkers.enumerate_cover import fleet_sets, reachable
from crashwindow.checkers.enumerate_fleet import RowEdge, row_edges, row_of, within
from crashwindow.checkers.enumerate_fleet_stage import SIGNALS, THREE, TOOLS, TWO, fleet_converse
from crashwindow.checkers.enumerate_floor import WideFloor
from crashwindow.checkers.enumerate_read import Reader
from crashwindow.checkers.enumerate_stage import product
from crashwindow.checkers.evidence import Item, Verdict
from crashwindow.checkers.interleave import CASES, follow
from crashwindow.checkers.interleave_case import Bounds, Case
from crashwindow.checkers.interleave_floor import Floor
from crashwindow.model import fleet_fencing
from crashwindow.model.fleet_rows import fleet_machine
from crashwindow.model.fleet_shape import STEP_SHAPE
from crashwindow.model.fleet_terms import Terms
from crashwindow.model.machine import Guard, guard
from crashwindow.scenarios import fleet_policies
from crashwindow.scenarios.fleet_policies import step_fleet

LETTERS = ("a", "b")
SMALL = Case("", Bounds(workers=1, claims=1, expiries=0), "fail")


@pytest.fixture(scope="module")
def edges() -> set[RowEdge]:
    """The edges of the smallest fleet."""
    space = within(TOOLS[0], 1)
    return row_edges(space.machine, space.packing, reachable(space))


def taken() -> CertainSets:
    """What one worker takes in one claim."""
    sets = fleet_sets(LETTERS)
    assert not Product(Floor(SMALL), sets, LETTERS, certain=True).run().parted
    return sets


def test_every_rule_of_named_workers_is_of_a_row() -> None:
    """Who acts, who led and who claimed first are taken out of a rule's name; what is left is a row of the fleet."""
    fleet = step_fleet()
    rows = {rule.name for rule in fleet.rules}
    for rule in fleet_machine(fleet, ("a", "b")).rules:
        row, who, led = row_of(rule)
        assert row in rows or row.rpartition(" ")[0] in rows
        assert {who, led} <= {"", "a", "b"}


def test_a_case_that_is_missing_is_a_gap(edges: set[RowEdge], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked for is compared, edge by edge: one that is not taken for certain refutes it."""
    sets = taken()
    certain = row_edges(sets.machine, sets.packing, sets.certain.taken) & edges
    assert certain

    def asked(asked_for: set[RowEdge], by: CertainSets = sets) -> Item:
        monkeypatch.setattr(enumerate_fleet_stage, "fleet_edges", lambda spaces: asked_for)
        return fleet_converse(by, [])

    assert asked(certain).verdict is Verdict.EXHAUSTED
    nobody = asked(certain, fleet_sets(LETTERS))
    assert (nobody.verdict, nobody.figures["taken for certain"]) == (Verdict.REFUTED, 0)
    more = {*certain, RowEdge("two workers send", (("w.at", "execute"),))}
    assert "not taken for certain (1): two workers send [w.at=execute]" in asked(more).statement
    assert asked(edges).verdict is Verdict.REFUTED
    assert asked(set()).verdict is Verdict.REFUTED


def said_of(case: Case) -> set[str]:
    """What two workers take for certain in a case, in words."""
    sets = fleet_sets(LETTERS)
    assert not Product(Floor(case), sets, LETTERS, certain=True).run().parted
    return {row_in_words(edge) for edge in row_edges(sets.machine, sets.packing, sets.certain.taken)}


REFUSED = "refused by ledger, as a crash [w.at=acquire w.stands_effects=yes w.stands_ledger=no]"
ABSENT = "query: absent, fenced (overtaken) [effects=0 look=fence w.at=query w.stands_effects=no]"


def test_it_is_told_which_store_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who only hears that some store did cannot tell whether the worker looked at the stream again and was refused there."""
    case = replace(CASES["fail-2"], lead=f"{said(1, BEGUN)};clock:expire;{said(2, 'claim fence_events fence_ledger')}")
    assert REFUSED in said_of(case)
    monkeypatch.setattr(Reader, "_refused", lambda self, command: ("name:refused by",))
    monkeypatch.setattr(enumerate_read, "LET_GO", (("crash",), ("name:refused by",)))
    assert REFUSED not in said_of(case)


def test_it_is_told_what_a_query_was_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that was overtaken looks at its lease next, and not at what it would do with the answer."""
    assert ABSENT in said_of(TWO["overtaken-query"])
    monkeypatch.setattr(enumerate_read, "known", lambda told: "do:query")
    assert ABSENT not in said_of(TWO["overtaken-query"])


def test_nobody_who_was_not_asked_undoes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is gone before it ends its node might have been about to end an undoing: no case of two asks for one."""
    ends = "crash [w.at=append_node_finished]"
    assert ends in said_of(CASES["fail-2"])
    monkeypatch.setattr(enumerate_cover, "UNASKED", "no row")
    assert ends not in said_of(CASES["fail-2"])


def gone(case: Case, words: str = "crash") -> set[str]:
    """The rows by whose words a worker is gone that a case takes of its fleet."""
    sets = fleet_sets(LETTERS)
    assert not Product(Floor(case), sets, LETTERS).run().parted
    return {edge.row for edge in row_edges(sets.machine, sets.packing, sets.taken) if edge.row.startswith(words)}


def test_an_overtaken_worker_is_seen_to_crash() -> None:
    """Where it is a word of its own, a worker that is gone leaves a request that nobody waits for."""
    case = TWO["overtaken-again"]
    row = "crash, request on the wire (overtaken)"
    assert row in gone(case)
    assert row not in gone(replace(case, bounds=replace(case.bounds, crashes=False)))


def test_an_answer_of_the_last_fence_is_lost_while_another_works() -> None:
    """F3 has overtaken whoever was at work, though nobody has read: the code goes on, and so does the fleet."""
    begun = said(1, "claim fence_events fence_ledger fence_effects acquire")
    second = said(2, "claim fence_events fence_ledger fence_effects:lost")
    case = Case("", Bounds(workers=2, claims=2, expiries=1, faults=1), "fail", lead=f"{begun};clock:expire;{second}")
    assert "fence effects (answer lost), overtakes: crash before B2 is written" in gone(case, "fence effects")


def test_a_fence_that_nobody_has_read_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it code and fleet part: the worker that was overtaken is refused, by a fence that nobody raised."""
    monkeypatch.setattr("crashwindow.model.fleet_build.unread", lambda terms: ())
    first, second = said(1, "claim"), said(2, "claim fence_events:lost")
    case = Case("", Bounds(workers=2, claims=2, expiries=1, faults=1), "fail", lead=f"{first};clock:expire;{second}")
    run = Product(Floor(case), fleet_sets(LETTERS), LETTERS).run()
    assert any(each.schedule[-1] == "worker-1:fence_events" for each in run.parted)


def test_a_plan_bounds_what_is_on_record() -> None:
    """Under a plan of two attempts no third one is scheduled, nor the first given up; under one, it is."""
    once, twice = within(TOOLS[0], 1), within(TOOLS[0], 2)
    given_up = {"node": frozenset({"no_effect"}), "closed": frozenset({"1"}), "open": frozenset({"0"})}
    assert once.find(given_up) is not None
    assert twice.find(given_up) is None
    again = {"retry": frozenset({"yes"})}
    assert once.find(again) is None
    assert twice.find(again) is not None
    assert twice.find({**again, "closed": frozenset({"2"})}) is None


@pytest.mark.deep
def test_a_park_that_a_cancel_was_faster_than_is_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker reads all again under the same lease. The fleet had no row for it; with none it parts from the code there."""
    case = CASES["park-2-cancel"]
    assert not Product(Floor(case), fleet_sets(LETTERS), LETTERS).run().parted
    monkeypatch.setattr(fleet_fencing, "AT_REST", frozenset())
    parted = Product(Floor(case), fleet_sets(LETTERS), LETTERS).run().parted
    assert parted
    assert all(each.schedule[-1] == "worker-1:park" and "person:cancel" in each.schedule for each in parted)
    assert all(each.reading == "name:version conflict" for each in parted)


PARKS, IN_DOUBT = "version conflict with a client, park [", "version conflict with a client, park, an attempt is open ["
BEFORE, AFTER = (f"version conflict with a client, elsewhere: parks, {when} [" for when in ("before", "after"))
"""The rows of a worker that lets go of a job and is slower than a client: at this step, or at another one."""


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("park-signal-cancel", {PARKS, IN_DOUBT, AFTER}, {"worker-1:park", "worker-1:append_waiting"}),
        pytest.param(
            "park-2-signal-before",
            {BEFORE},
            {"worker-1:append_waiting", "worker-2:append_waiting"},
            marks=pytest.mark.deep,
        ),
    ],
)
def test_whoever_lets_go_and_is_slower_than_a_signal_meets_a_conflict(
    name: str, rows: set[str], words: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code takes each such row for certain (T-WRITE); without them, or where they ask for a cancel, it parts there."""
    case = SIGNALS[name]
    sets = fleet_sets(LETTERS)
    assert not Product(WideFloor(case), sets, LETTERS, certain=True).run().parted
    certain = {row_in_words(edge) for edge in row_edges(sets.machine, sets.packing, sets.certain.taken)}
    assert {row for row in (PARKS, IN_DOUBT, BEFORE, AFTER) if any(each.startswith(row) for each in certain)} == rows

    free = fleet_fencing._behind_clients

    def cancelled(terms: Terms) -> dict[str, Guard]:
        return {row: {**guards, **guard(cancel="yes")} for row, guards in free(terms).items()}

    def none(terms: Terms) -> dict[str, Guard]:
        return {}

    for fewer in (cancelled, none):
        monkeypatch.setattr(fleet_fencing, "_behind_clients", fewer)
        parted = Product(WideFloor(case), fleet_sets(LETTERS), LETTERS).run().parted
        assert parted
        assert {each.schedule[-1] for each in parted} <= words
        assert {each.reading for each in parted} == {"name:version conflict"}
        assert all("person:signal" in each.schedule or "person:cancel" in each.schedule for each in parted)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["park-2-undo", "behind-2-undo"])
def test_whoever_appends_and_is_slower_than_a_request_to_undo_goes_as_the_rows_have_it(name: str) -> None:
    """At the step and behind it, under the lease or overtaken (T-WRITE, T-COMP)."""
    assert not product(name).run().parted


@pytest.mark.deep
@pytest.mark.parametrize("name", ["park-2-undo", "behind-2-undo"])
def test_whoever_appends_and_is_slower_than_a_request_to_undo_meets_a_conflict(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the rows for that, code and model part there."""
    monkeypatch.setattr(fleet_fencing, "_behind_a_request", lambda *_: iter(()))
    parted = product(name).run().parted
    assert parted
    assert {each.reading for each in parted} == {"name:version conflict"}
    assert all("person:undo" in each.schedule for each in parted)


def test_whoever_undoes_is_refused_by_every_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """The undoing asks ledger and effect store under the same lease, so who was overtaken is refused there (T-FENCE); in a
    fleet in which only the end of its node is, code and model part."""
    monkeypatch.setattr(fleet_policies, "STEP_SHAPE", replace(STEP_SHAPE, within={}))
    assert {each.reading for each in product("park-2-undo").run().parted} == {"name:refused by ledger"}


def test_of_a_job_at_rest_several_workers_do_not_keep_people_away() -> None:
    """A fleet's people do not see where workers are: one of them may be heard while a worker is at its work on a parked job, be
    it overtaken; where one works at a time, the model of one hears them once it is gone."""
    parked = (
        f"{SENT};{said(1, 'timeout append_unknown ledger_unknown')};clock:expire;{said(2, BEGUN)};{said(2, 'park')}"
    )
    two = WideFloor(SIGNALS["park-2-signal"])
    *_, (_, last) = follow(two, parked.split(";"))
    heard = {move.word for move in two.moves(last.state)}
    assert {"person:signal", "worker-1:park"} <= heard


def test_two_workers_take_the_look_that_counts_from_what_was_read() -> None:
    """Behind the third worker's schedule, two at a time: an edge of the fleet of two that no other case of theirs takes."""
    stale = "query: absent, quiet (overtaken, by what it read) [effects=0 look=quiet quiet=no w.at=query w.stands_effects=no]"
    assert stale in said_of(TWO["overtaken-counted"])


def test_who_was_overtaken_goes_by_the_time_that_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that somebody else has begun since is none to it: it may find the effect absent by the clock, though no time is
    over for whoever knows of that attempt. The fleet had no row for it, and without one three workers part from the code.
    """
    letters, case = ("a", "b", "c"), THREE["overtaken-stale"]
    assert not Product(Floor(case), fleet_sets(letters), letters).run().parted
    stale = "query: absent, quiet (overtaken, by what it read)"
    assert stale in {row.name for row in step_fleet().rules}
    monkeypatch.setattr(enumerate_cover, "UNASKED", (*enumerate_cover.UNASKED, stale))
    parted, *_ = Product(Floor(case), fleet_sets(letters), letters).run().parted
    assert (parted.schedule[-1], parted.reading) == ("worker-2:query", "time@ then name:query: absent")
