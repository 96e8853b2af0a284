"""Test paths over the step's state graph: they take what they are said to take, and a planted bug parts them from the model."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import served, walk_postgres, walk_stage, walks
from crashwindow.checkers.bugs_decide import lookup_after_barrier
from crashwindow.checkers.bugs_step import swapped_writes
from crashwindow.checkers.conform_follow import Arc, Disagreement, Edge, Follower, Model
from crashwindow.checkers.conform_workers import WorkersRecord
from crashwindow.checkers.conform_world import Gate, declared
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.quotient import QUOTIENTS
from crashwindow.checkers.quotient import quotient as draw
from crashwindow.checkers.stages import STAGES
from crashwindow.checkers.substitute import Plant
from crashwindow.checkers.verify import Context
from crashwindow.checkers.walk_firsts import FINISHED, PARKS, STEP, UNDONE, looked_at, program, work
from crashwindow.checkers.walk_graph import START, Quotients, classes, counting
from crashwindow.checkers.walk_plan import Planner, Setting, lead
from crashwindow.checkers.walk_programs import of_key
from crashwindow.checkers.walk_seek import Seeker, Walked, followed, shortened, tried
from crashwindow.checkers.walk_stage import CLASSES, DRAWN
from crashwindow.checkers.walk_vary import varied
from crashwindow.model.machine import Guard, guard
from crashwindow.model.step import build
from crashwindow.tests.spaces import narrowed, space_of

from .sampled import sampled
from .test_due import unserved

FEW = 6
PATHS = 320
CLAIMED = ("claim", "fence_events", "fence_ledger", "fence_effects")
SETTING = Setting((False, "park", "none"), "strict", 0, 0)
MODEL = Model(build())
RULES = [rule.name for rule in MODEL.machine.rules]


def test_verify_walks_the_paths_and_the_workers() -> None:
    """Both stages are among those that `verify` runs."""
    assert set(walk_stage.WALK_STAGES) <= set(STAGES)


def test_the_quotient_is_pinned() -> None:
    """277,355 states, whose edges fall into 631 classes, and into 595 edges between crash windows."""
    space = space_of()
    assert (len(space), len(classes(space)), len(walks.kept())) == (277_355, CLASSES, PATHS)
    assert Quotients(space).drawn.number_of_edges() == DRAWN


def test_kept_paths_agree_and_take_something() -> None:
    """Paths that are kept agree with the model, and together they take much: none is an empty program."""
    model = Model(build())
    taken = [0]
    for each in walks.sample(walks.kept(), 3)[:FEW]:
        assert not each.run(model=model)
        taken.append(len(model.classes_taken))
    assert taken == sorted(taken)
    assert taken[-1] > 40


@pytest.fixture(scope="module")
def walked() -> list[Walked]:
    """Every kept path, run in memory."""
    model = counting(MODEL.machine)
    return [tried(each, model) for each in walks.kept()]


@pytest.mark.deep
def test_the_kept_paths_take_what_they_are_said_to_take(walked: list[Walked]) -> None:
    """Every class, and every edge of the quotient that is drawn, and nothing else."""
    assert frozenset[Edge]().union(*(each.taken for each in walked)) == Quotients(space_of()).edges


@pytest.mark.deep
@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ("elsewhere: in doubt", guard(finished="partial")),  # a step that failed ends its job
        ("elsewhere: parks, after", guard(fresh="yes", told="yes")),  # nothing behind it begins
        ("elsewhere: fails, after", guard(fresh="yes", told="yes")),
    ],
)
def test_a_row_that_is_too_narrow_is_contradicted_by_a_kept_path(rule: str, where: Guard, walked: list[Walked]) -> None:
    """Each of these was believed once: a path takes what such a row leaves out, and parts from the machine that has it."""
    matches = MODEL.packing.matcher(where)
    taking = [
        each for each in walked if any(RULES[e.rule] == rule and matches(e.seen) for e in walks.apart(each.taken)[1])
    ]
    assert taking
    rows = (replace(r, unless=(*r.unless, where)) if r.name == rule else r for r in MODEL.machine.rules)
    narrow = Model(replace(MODEL.machine, rules=tuple(rows)))
    with pytest.raises(Disagreement):
        tried(taking[0].program, narrow)


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
    found = lead(model, SETTING, wanted, set())
    assert found is not None
    assert {rules[edge.rule] for edge in found.taken & wanted} == {rules[edge.rule] for edge in wanted}
    assert not found.program.run(model=(again := Model(model.machine)))
    assert again.classes_taken == found.taken


def test_what_only_may_have_been_taken_is_not_counted() -> None:
    """A worker dies before it has performed anything behind its fences: which decision it took nobody knows."""
    model = Model(build())
    follower = Follower(model, declared(SETTING.contract), "step")
    for boundary in ("claim", "fence_events", "fence_ledger", "fence_effects"):
        follower.perform(boundary)
    follower.crash()
    names = {model.machine.rules[edge.rule].name for edge in model.edges_of(follower.sure)}
    assert names == {"claim", "fence events", "fence ledger", "fence effects"}
    assert len(follower.states) > 0


def test_a_planner_keeps_to_what_the_rig_can_do() -> None:
    """Late requests and time come between turns, and what a setting does not allow is in no plan."""
    model = Model(space_of().machine)
    planner = Planner(model, SETTING)
    rules = model.machine.rules
    late = {edge for edge in classes(space_of()) if rules[edge.rule].name == "world: late request"}
    (start, *_) = model.start(declared(SETTING.contract))
    run = [rules[index].name for index, _ in planner.plan(start, late)]
    assert run.index("world: late request") > max(run.index(name) for name in run if name.startswith("crash"))
    assert not planner.plan(
        start, {edge for edge in classes(space_of()) if rules[edge.rule].name.startswith("elsewhere")}
    )


@pytest.fixture(scope="module")
def space() -> Space:
    """Of the machine for tools with one contract: a tenth of the whole one's."""
    return explore(narrowed(build(), idempotent="no", on_unknown="park", look="none"))


@pytest.fixture(scope="module")
def quotient(space: Space) -> Quotients:
    """Its quotients."""
    return Quotients(space)


def test_the_quotients_say_what_a_gap_follows(space: Space, quotient: Quotients) -> None:
    """Every class of edges is a node of the line graph; what nothing that was taken leads to lies behind other gaps. An edge of
    the drawn one follows what ends where it begins."""
    runs = [tried(program([STEP], work()), MODEL), tried(program([STEP], work(at7="lost", at8="crash before")), MODEL)]
    taken = frozenset().union(*(run.taken for run in runs))
    assert taken <= set(quotient.lines)
    claims = [edge for edge in quotient.lines if RULES[edge.rule] == "claim"]
    assert START in set.union(*(quotient.next_to([], edge) for edge in claims))
    (parks, *_) = (edge for edge in quotient.lines if RULES[edge.rule] == "person: accepts the record")
    assert not quotient.next_to(taken, parks)
    assert quotient.next_to(quotient.lines, parks)
    counted = counting(MODEL.machine)
    run = tried(program([STEP], work()), counted)
    (commit,) = (edge for edge in run.taken if isinstance(edge, Arc) and RULES[edge.rule] == "commit")
    before = quotient.next_to(run.taken, commit)
    assert before
    assert {edge.target for edge in before if isinstance(edge, Arc)} == {commit.source}


def test_the_edges_of_the_drawn_quotient_are_those_that_reports_draw(space: Space, quotient: Quotients) -> None:
    """Between the same nodes, by the same rules; within a node by those that lead from one state in it to another, or nowhere."""
    by = QUOTIENTS["hardened"]
    between = {(edge.source, edge.target, rule) for edge in draw(space, by).edges for rule in edge.rules}
    drawn = {(source, target, RULES[rule]) for source, target, rule in quotient.drawn.edges(keys=True)}
    assert {each for each in drawn if each[0] != each[1]} == between
    seen: dict[tuple[str, ...], str] = {}

    def node(state: int) -> str:
        view = space.machine.view(space.packing.unpack(state))
        told = tuple(view[name] for name in by.fields)
        return seen.setdefault(told, by.name(view)[0]) if told not in seen else seen[told]

    looked_at = space.states[:: len(space) // 3000]
    loops = {(node(s), RULES[i]) for s in looked_at for d, i in space.engine.steps(s) if node(s) == node(s ^ d)}
    assert len(loops) > 300
    assert loops <= {(source, rule) for source, target, rule in drawn if source == target}


def test_a_variation_that_the_steps_own_machine_cannot_follow_takes_nothing() -> None:
    """A step that is refused its undoing parks a later one: that is another machine's."""
    undone = program([UNDONE, STEP], work(at14="crash before"), ("undo", 1), work("no effect"))
    with pytest.raises(Disagreement):
        tried(undone, MODEL)
    assert followed(undone, MODEL).taken == frozenset()


def test_a_bug_is_no_variation_that_cannot_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the machine with the rest of the job parts as well, so does the search."""
    swapped_writes(monkeypatch)
    for nodes in ([STEP], [UNDONE], [STEP, STEP]):
        with pytest.raises(Disagreement):
            followed(program(nodes, work()), MODEL)


def test_a_cancel_before_a_write_whose_answer_is_lost_is_followed() -> None:
    """The record is acquired behind a cancel that the worker has not heard of, and its answer is lost."""
    model = counting(MODEL.machine)
    done = program([STEP], work(at4="cancel, lost"), work())
    assert not done.run(model=model)
    (acquired,) = (
        edge for edge in model.edges_taken if isinstance(edge, Arc) and RULES[edge.rule] == "acquire (answer lost)"
    )
    assert (acquired.source, acquired.target) == ("1x", "1x")


def test_time_passes_over_a_job_that_is_over() -> None:
    """And it is seen at once: what the stores hold is compared behind it."""
    model = counting(MODEL.machine)
    assert not program([STEP], work(), ("wait", False)).run(model=model)
    assert "time passes" in {RULES[edge.rule] for edge in model.edges_taken}


def test_nobody_tells_of_a_step_of_which_everything_is_known() -> None:
    """A program may ask for it at any time, in a key that somebody has written: it does nothing, and is no error."""
    for moves in ([], [FINISHED], [FINISHED, work()]):
        assert not program([looked_at("strict", "undetermined")], *moves, ("tell", False), work()).run()


def test_another_steps_park_is_followed_in_doubt_and_does_not_count() -> None:
    """To a step in doubt it is its own: the model goes on from there, and no rule is taken for certain. Nothing else is."""
    follower = Follower(MODEL, declared(PARKS), "a step")
    for boundary in (*CLAIMED, "acquire", "append_started", "execute"):
        follower.perform(boundary)
    follower.crash()
    for boundary in (*CLAIMED, "ledger_unknown"):
        follower.perform(boundary)
    states, sure = dict(follower.states), follower.sure
    follower.elsewhere("job_parked")
    assert follower.sure == sure
    assert {follower.value(state, "job") for state in follower.states} == {"parked"}
    for event in ("job_failed", "job_requeued"):
        follower.states = dict(states)
        with pytest.raises(Disagreement, match=event):
            follower.elsewhere(event)


@pytest.mark.parametrize(
    ("nodes", "moves", "rules"),
    [
        ([UNDONE], [work("partial", "no effect"), ("answer", False), work()],
         {"append node failed, compensatable", "compensation failed", "park", "person: has it compensated", "compensate",
          "0: compensated after a failure"}),
        ([UNDONE, STEP], [FINISHED, ("undo",), work("ok", "lost answer"), ("answer", False), work()],
         {"compensation was requested", "0: compensated", "elsewhere: parks, after", "elsewhere: resolved, undone"}),
        ([STEP, Gate()], [work(at8="signal"), work()], {"append completed", "hears what clients said, append completed"}),
        ([Gate(), STEP], [work(), ("signal",), work()], {"elsewhere: waits, before", "elsewhere: signalled"}),
        ([Gate(), STEP], [work(), ("cancel",)], {"client: cancels a waiting job"}),
        ([STEP], [work("lost answer"), ("cancel",), ("cancel",)], {"client: cancels"}),
        ([looked_at("strict", "match", "mismatch", changes=2)], [FINISHED, work()],
         {"confirm: one look of several", "confirm: mismatch, first"}),
        ([looked_at("warn", "mismatch", "mismatch")], [FINISHED, work(at9="crash before"), ("configure", "strict"), work()],
         {"append warned", "confirm: mismatch, again"}),
    ],
)  # fmt: skip
def test_the_rig_does_what_may_befall_a_step(
    nodes: list[Any], moves: list[Any], rules: set[str], tmp_path: Path
) -> None:
    """On SQLite as in memory, and each of the model's rules for it is taken for certain."""
    done = program(nodes, *moves)
    model = Model(MODEL.machine)
    assert not done.run(model=model)
    assert rules <= {RULES[edge.rule] for edge in model.classes_taken}
    assert tried(done, MODEL).taken == model.classes_taken


def test_time_passes_while_a_worker_is_about_to_look(tmp_path: Path) -> None:
    """An absence that was not final yet is final: the step is executed again instead of being parked."""
    asks = replace(STEP, contract=(False, "query", "quiet"), max_retries=1)
    taken = [
        {
            RULES[edge.rule]
            for edge in tried(program([asks], work("dies on the wire"), ("late", False), turn), MODEL).taken
        }
        for turn in (work(at5="time"), work())
    ]
    assert "query: absent, quiet" in taken[0] - taken[1]
    assert "query: not yet known" in taken[1] - taken[0]


def test_a_search_comes_to_what_is_left(quotient: Quotients) -> None:
    """A sweep strikes at every boundary; what is kept of it is short."""
    begun = tried(program([STEP], work()), MODEL)
    lost = {edge for edge in quotient.lines if RULES[edge.rule] == "checkpoint (answer lost)"}
    seeker = Seeker(MODEL, quotient, lost, [begun])
    seeker.sweep(begun)
    assert not seeker.left
    (found,) = seeker.found
    needless = replace(found.program, lines=(*found.program.lines, "rig.signal()"))
    assert shortened(tried(needless, MODEL), frozenset(lost), MODEL).program == replace(
        found.program, lines=found.program.lines[:2]
    )


def test_a_search_is_steered_by_what_gaps_follow(quotient: Quotients) -> None:
    """Variations of a program that took what a gap follows come to it; a search for nothing tries nothing."""
    begun = [
        tried(program([STEP], work(at7="crash before")), MODEL),
        tried(program([STEP], work("lost answer")), MODEL),
    ]
    cancel = {edge for edge in quotient.lines if RULES[edge.rule] == "fence events"} - begun[0].taken
    seeker = Seeker(MODEL, quotient, cancel, begun)
    seeker.seek(300, 1, lambda words: None)
    assert not seeker.left
    seeker.seek(10**9, 1, lambda words: None)


def test_variations_are_programs_and_repeat() -> None:
    """Each differs from what it is made of, is read as a program, and is the same for the same seed."""
    first = program([STEP], work(at7="lost"), work())
    made = [[varied(first, random.Random(seed)) for seed in range(40)] for _ in range(2)]
    assert made[0] == made[1]
    assert len(set(made[0])) > 30
    for each in made[0]:
        assert of_key(each.key) == each


@pytest.mark.parametrize("bug", sampled([swapped_writes, lookup_after_barrier]))
def test_a_planted_bug_parts_a_path(bug: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a quick run's sample a path parts, and the key that is printed shows it."""
    bug(monkeypatch)
    parted = walks.perform(walks.sample(walks.kept(), 1), Model(build()))
    assert parted
    assert "crashwindow replay walk:step@hardened:" in parted[0]


def test_the_stage_says_what_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_server: None) -> None:
    """Quick: a sample. A path that parts refutes; in the deep profile an edge that none takes is an error, and beside each claim
    it is said that no server was there.
    """
    monkeypatch.setattr(walks, "SAMPLE", 2)
    quick = walk_stage.paths_walked(Context("quick", 1, tmp_path, lambda _: None)).items["P1"][0]
    assert quick.verdict is Verdict.TESTED
    assert quick.figures["paths"] == 2
    assert int(quick.figures["taken"]) > 20
    whole = walks.Coverage(1, CLASSES, 1, (), 1, 1, 1, drawn=(24, DRAWN))
    monkeypatch.setattr(walks, "cover", lambda programs, tell: whole)
    deep, on_server = walk_stage.paths_walked(Context("deep", 1, tmp_path, lambda _: None)).items["P1"]
    assert deep.verdict is Verdict.TESTED
    unserved(on_server, "test_paths")
    for left, said in (
        (replace(whole, untaken=("crash [at=query]",)), "no path takes 1 classes of edges: crash [at=query]"),
        (
            replace(whole, drawn_untaken=("crash [1a -> 1a]", "claim [1a -> 1a]")),
            "no path takes 2 edges of the quotient: crash",
        ),
    ):
        monkeypatch.setattr(walks, "cover", lambda programs, tell, left=left: left)
        deep, _ = walk_stage.paths_walked(Context("deep", 1, tmp_path, lambda _: None)).items["P1"]
        assert deep.verdict is Verdict.ERROR
        assert said in deep.statement
    for other in (replace(whole, drawn=(24, DRAWN - 1)), replace(whole, classes=CLASSES - 1), replace(whole, beyond=1)):
        monkeypatch.setattr(walks, "cover", lambda programs, tell, other=other: other)
        deep, _ = walk_stage.paths_walked(Context("deep", 1, tmp_path, lambda _: None)).items["P1"]
        assert deep.verdict is Verdict.ERROR
        assert "the graph has" in deep.statement


def test_paths_that_take_other_edges_on_a_server_refute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the paths take on PostgreSQL is compared with what they take on SQLite, edge by edge."""
    edge = Arc("1a", 0, "1b")
    done = walk_postgres.Performed(1, 1, 1, frozenset({edge}), [])
    walked = WorkersRecord(False, None)
    walked.judged = 1
    monkeypatch.setattr(walk_postgres, "perform", lambda url, programs, tell: done)
    monkeypatch.setattr(walk_postgres, "walked", lambda url, seed: walked)
    monkeypatch.setattr(served, "served", lambda check, item: check("a server"))
    context = Context("deep", 1, tmp_path, lambda _: None)
    assert walk_stage.on_a_server(context, [], {edge}).verdict is Verdict.TESTED
    other = walk_stage.on_a_server(context, [], {edge, Arc("1b", 1, "1c")})
    assert other.verdict is Verdict.REFUTED
    assert "other edges than on SQLite: 1, 'fence events', Arc(source='1b', rule=1" in other.statement
