"""Test paths over the step's state graph: they take what they are said to take, and a planted bug parts them from the model."""

from pathlib import Path

import pytest

from crashwindow.checkers import walk_stage, walks
from crashwindow.checkers.bugs_decide import lookup_after_barrier
from crashwindow.checkers.bugs_step import swapped_writes
from crashwindow.checkers.conform_follow import Follower, Model
from crashwindow.checkers.conform_world import declared
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import explore
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.substitute import Plant
from crashwindow.checkers.verify import Context
from crashwindow.checkers.walk_gaps import CLASSES, LEFT, PINNED, UNSEEN, reasons
from crashwindow.checkers.walk_plan import Planner, Setting, classes, lead
from crashwindow.model.machine import Actor
from crashwindow.model.step import build
from crashwindow.tests.spaces import narrowed, space_of

FEW = 6
PATHS, TAKEN = 125, 438
PARKS = Setting((False, "park", "none"), "strict", 0, 0)


def test_verify_walks_the_paths_and_the_workers() -> None:
    """Both stages are among those that `verify` runs."""
    assert set(walk_stage.WALK_STAGES) <= set(STAGES)


def test_the_quotient_is_pinned() -> None:
    """364,304 states, whose edges fall into 697 classes; the reasons for the gaps, with what is taken, make up all of them."""
    space = space_of()
    assert (len(space), len(classes(space))) == (364_304, CLASSES)
    assert len(walks.kept()) == PATHS
    assert sum(PINNED.values()) == CLASSES - TAKEN


def test_kept_paths_agree_and_take_something() -> None:
    """Paths that are kept agree with the model, and together they take much: none is an empty program."""
    model = Model(build())
    taken = [0]
    for program in walks.sample(walks.kept(), 3)[:FEW]:
        assert not program.run(model=model)
        taken.append(len(model.classes_taken))
    assert taken == sorted(taken)
    assert taken[-1] > 40


def test_a_sample_rotates_by_its_seed() -> None:
    """Another seed, other paths; the same seed, the same."""
    programs = walks.kept()
    assert walks.sample(programs, 1) == walks.sample(programs, 1) != walks.sample(programs, 2)


def test_a_job_is_led_to_what_nobody_took() -> None:
    """From the beginning to a wanted class: a lost answer of the very last write, and what the repetition finds."""
    model = Model(space_of().machine)
    rules = [rule.name for rule in model.machine.rules]
    wanted = {
        edge for edge in classes(space_of())
        if rules[edge.rule] in ("append completed (answer lost)", "append completed (found)", "crash before B2 is written")
    }  # fmt: skip
    found = lead(model, PARKS, wanted, set())
    assert found is not None
    assert {rules[edge.rule] for edge in found.taken & wanted} == {rules[edge.rule] for edge in wanted}
    assert not found.program.run(model=(again := Model(model.machine)))
    assert again.classes_taken == found.taken


def test_what_only_may_have_been_taken_is_not_counted() -> None:
    """A worker dies before it has performed anything behind its fences: which decision it took nobody knows."""
    model = Model(build())
    follower = Follower(model, declared(PARKS.contract), "step")
    for boundary in ("claim", "fence_events", "fence_ledger", "fence_effects"):
        follower.perform(boundary)
    follower.crash()
    names = {model.machine.rules[edge.rule].name for edge in model.classes_of(follower.sure)}
    assert names == {"claim", "fence events", "fence ledger", "fence effects"}
    assert len(follower.states) > 0


def test_a_crash_between_two_commands_is_said_to_be_unseen() -> None:
    """What is worked out: where the worker only decides there is no command before which it could be killed."""
    space = explore(narrowed(build(), idempotent="no", on_unknown="park", look="none"))
    every = classes(space)
    crashes = {edge for edge in every if space.machine.rules[edge.rule].actor is Actor.CRASH}
    why = reasons(space, crashes)
    place = space.machine.by_name["at"].values
    unseen = {place[space.packing.code(edge.seen, "at")] for edge in crashes if why[edge] == UNSEEN}
    seen = {place[space.packing.code(edge.seen, "at")] for edge in crashes if why[edge] != UNSEEN}
    assert {"on_unknown", "retry_policy", "attempt_closed"} <= unseen
    assert {"execute", "append_started", "commit"} <= seen
    assert "execute" not in unseen


def test_a_planner_keeps_to_what_the_rig_can_do() -> None:
    """Late requests and time come between turns, and what a setting does not allow is in no plan."""
    model = Model(space_of().machine)
    planner = Planner(model, PARKS)
    rules = model.machine.rules
    late = {edge for edge in classes(space_of()) if rules[edge.rule].name == "world: late request"}
    (start, *_) = model.start(declared(PARKS.contract))
    run = [rules[index].name for index, _ in planner.plan(start, late)]
    assert run.index("world: late request") > max(run.index(name) for name in run if name.startswith("crash"))
    assert not planner.plan(
        start, {edge for edge in classes(space_of()) if rules[edge.rule].name.startswith("elsewhere")}
    )


@pytest.mark.parametrize("bug", [swapped_writes, lookup_after_barrier])
def test_a_planted_bug_parts_a_path(bug: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a quick run's sample a path parts, and the key that is printed shows it."""
    bug(monkeypatch)
    parted = walks.perform(walks.sample(walks.kept(), 1), Model(build()))
    assert parted
    assert "crashwindow replay walk:step@hardened:" in parted[0]


def test_the_stage_says_what_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick: a sample. A path that parts refutes; in the deep profile gaps that differ from the pinned ones are an error."""
    monkeypatch.setattr(walks, "SAMPLE", 2)
    quick = walk_stage.paths_walked(Context("quick", 1, tmp_path, lambda _: None)).items["P1"][0]
    assert quick.verdict is Verdict.TESTED
    assert quick.figures["paths"] == 2
    assert int(quick.figures["taken"]) > 20
    other = walks.Coverage(364_304, CLASSES, 210, (), 125, 688, 437, gaps={("crash", LEFT): 260})
    monkeypatch.setattr(walks, "cover", lambda programs, tell: other)
    monkeypatch.setattr(walk_stage, "on_a_server", lambda context, programs: [])
    deep = walk_stage.paths_walked(Context("deep", 1, tmp_path, lambda _: None)).items["P1"][0]
    assert deep.verdict is Verdict.ERROR
    assert "other classes than pinned" in deep.statement
