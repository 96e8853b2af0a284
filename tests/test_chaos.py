"""The chaos campaign: each kind of fault strikes real processes and nothing breaks; without a protection something does."""

import json
import random
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import chaos, chaos_protections, chaos_result, embedded_postgres
from crashwindow.checkers.chaos_faults import BOUNDARIES, MOMENTS, Fault, FaultKind, Plan, faults_of, steered
from crashwindow.checkers.chaos_judge import Job, Judge
from crashwindow.checkers.chaos_plans import random_plan
from crashwindow.checkers.chaos_protections import Row
from crashwindow.checkers.chaos_proxy import Cut, Order, Proxy
from crashwindow.checkers.chaos_result import Options, Result
from crashwindow.checkers.chaos_site import EmbeddedSite, PostgresSite, SqliteSite
from crashwindow.checkers.chaos_strikes import Strikes
from crashwindow.checkers.chaos_without import PROTECTIONS, STEERING, Protection
from crashwindow.checkers.chaos_worker import Moment, Reached
from crashwindow.checkers.chaos_world import SORTS, Mark, World, tools
from crashwindow.checkers.embedded_postgres import EmbeddedPostgres
from crashwindow.model.boundaries import BY_NAME
from crashwindow.model.contract import BOUNDARIES as CONTRACT_BOUNDARIES
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.plan import parse_plan, submission, validate_plan
from crashwindow.runtime.records import NewEvent
from crashwindow.runtime.store import StoreError
from crashwindow.runtime.tool import Absent, NoEffectError, ToolContext
from crashwindow.runtime.worker import work_until_idle
from crashwindow.tests.sampled import sampled

SECONDS = 60.0
"""An upper bound for slow machines: these campaigns end as soon as what they are for has happened."""


def test_every_kind_of_fault_strikes_and_nothing_breaks(postgres_server: EmbeddedPostgres) -> None:
    """Nine kinds of faults on workers, clients and their server: nothing doubled, lost or wrong, and jobs were done."""
    postgres_server.start()
    result = chaos.run(EmbeddedSite(postgres_server), Options(SECONDS, seed=2, ttl=0.8, quiet=2.0, once=True))
    assert result.violations == [] == result.ended
    missing = {line.partition(":")[0] for line in result.missing}
    assert result.struck.keys() == MOMENTS.keys() - missing
    assert result.ends.keys() <= {"completed", "failed", "cancelled"}
    assert result.verified == result.ends["completed"] > 0
    assert result.effects > 0
    assert result.passed


def test_a_sqlite_file_under_faults(tmp_path: Path) -> None:
    """The one worker process of a file is killed, stopped past its lease, and finds the disk full: nothing breaks."""
    result = chaos.run(SqliteSite(f"{tmp_path}/jobs.db"), Options(SECONDS, seed=3, ttl=0.5, quiet=1.0, once=True))
    assert result.violations == [] == result.ended
    assert result.struck.keys() == {"kill", "pause", "disk full"}
    assert result.verified == result.ends["completed"] > 0


@pytest.mark.parametrize(
    ("missing", "says"),
    sampled(
        [
            # B1 in two steps: a process is stopped between them, and writes over a committed record.
            ("atomic_acquire", "P6: the step succeeded without ledger"),
            # A write is on the wire when somebody else reads the stream, and arrives afterwards.
            ("fence_events", "P5: "),
            # A client has an earlier step undone while a worker stands before B2, under a lease that stands.
            ("checked_started", "P14: a request was made whose started event is not in the file"),
        ]
    ),
)
def test_what_is_missing_shows(missing: Protection, says: str, postgres_server: EmbeddedPostgres) -> None:
    """The campaign is steered to where one missing protection shows, all others in force."""
    postgres_server.start()
    options = Options(SECONDS, seed=1, concurrency=1, ttl=0.8, quiet=1.0, without=(missing,))
    result = chaos.run(EmbeddedSite(postgres_server), options)
    assert any(says in problem for problem in result.violations)
    assert not result.passed


@pytest.mark.parametrize("cut", ["request", "reply"])
def test_a_cut_connection_has_written_or_not(postgres_url: str, cut: Cut) -> None:
    """Cut before the write reaches the server nothing is there; cut after its COMMIT it is. The client knows neither."""
    site = PostgresSite(postgres_url)
    store, beside = open_store(site.address(0)), open_store(postgres_url)
    event = NewEvent("first", "job_created", None, {})
    store.submit("j", [event])
    for version in range(1, 8):  # until the driver sends the statement by a name alone
        store.append("j", version, [NewEvent(f"n{version}", "signal_received", None, {})], None)
    site.cut(0, Order(cut, "another job", False))
    last = NewEvent("last", "signal_received", None, {})
    store.append("j", 8, [NewEvent("n8", "signal_received", None, {})], None)
    assert site.proxy(0).waiting
    site.cut(0, Order(cut, "j", False))
    with pytest.raises(StoreError):
        store.append("j", 9, [last], None)
    assert not site.proxy(0).waiting
    assert len(beside.events("j")) == (10 if cut == "reply" else 9)
    assert store.append("j", 9, [last], None) == 10
    store.close()
    beside.close()
    site.close()


def test_a_late_write_arrives_when_it_is_let_through(postgres_url: str) -> None:
    """The proxy keeps one write on the wire, though its sender waits; released, it reaches the server, and is answered."""
    site = PostgresSite(postgres_url)
    store, beside = open_store(site.address(0)), open_store(postgres_url)
    store.submit("j", [NewEvent("first", "job_created", None, {})])
    site.cut(0, Order("late", "j", False))
    sender = threading.Thread(
        target=store.append, args=("j", 1, [NewEvent("n1", "signal_received", None, {})], None), daemon=True
    )
    sender.start()
    while site.proxy(0).waiting:
        sender.join(0.01)
    sender.join(0.05)
    assert sender.is_alive()
    assert len(beside.events("j")) == 1
    site.proxy(0).release()
    sender.join(SECONDS)
    assert len(beside.events("j")) == 2
    site.cut(0, Order("late", "j", False))
    assert not site.caught(0)
    assert not site.proxy(0).waiting
    store.close()
    beside.close()
    site.close()


def test_a_proxy_leaves_no_thread() -> None:
    """Closing a proxy ends its thread."""
    before = threading.active_count()
    proxy = Proxy("127.0.0.1", 9)
    assert threading.active_count() == before + 1
    proxy.close()
    assert threading.active_count() == before


class FakeSite(EmbeddedSite):
    """A server that notes what is done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def stop(self, how: str) -> None:
        """See EmbeddedSite."""
        self.done.append(how)

    def start(self) -> None:
        """See EmbeddedSite."""
        self.done.append("start")

    def fill(self) -> None:
        """See EmbeddedSite."""
        self.done.append("fill")

    def free(self) -> None:
        """See EmbeddedSite."""
        self.done.append("free")


class FakeSlot:
    """A worker's place, without a process."""

    number, client, stopped, ready = 0, False, False, True

    def __init__(self) -> None:
        self.armed: dict[Moment, Fault] = {}
        self.armed_at = 0.0

    def say(self, *order: object) -> None:
        """Nobody hears it."""


def test_a_full_disk_has_room_before_its_server_recovers() -> None:
    """The supervisor waits for the server, so nobody else could give the room back that a recovery needs."""
    site, slot = FakeSite(), FakeSlot()
    strikes = Strikes(site, None, Options(1.0), random.Random(1), lambda job, kind, slot: "")  # type: ignore[arg-type]
    kinds: tuple[FaultKind, ...] = ("disk full", "server kill")
    for kind in kinds:
        slot.armed = {("commit", "before"): Fault(kind, ("commit", "before"))}
        strikes.strike(slot, Reached(("commit", "before"), "j", 1))  # type: ignore[arg-type]
    assert site.done == ["fill", "free", "kill", "start"]


def test_the_plan_is_the_seed_s() -> None:
    """The same seed gives the same order; a round holds every fault once; what was given back comes next."""
    every = faults_of(MOMENTS)

    def order(seed: int) -> list[Fault]:
        plan = Plan(random.Random(seed), every)
        taken: list[Fault] = []
        while len(taken) < len(every):
            taken += plan.take(7)
        return taken

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == sorted(every)
    plan = Plan(random.Random(1), every)
    first = plan.take(3)
    assert len({fault.moment for fault in first}) == 3
    plan.give_back(first[1:])
    assert plan.take(2) == first[1:]


def test_every_boundary_is_one_of_the_runtime_s() -> None:
    """The plan names boundaries of the vocabulary, and a missing protection has moments to be seen at."""
    assert set(BOUNDARIES) <= BY_NAME.keys() | {name for _, name, _ in CONTRACT_BOUNDARIES}
    assert all(steered([name]) for name in PROTECTIONS)
    assert {strike.moment[0] for steer in STEERING.values() for strike in steer.strikes} <= set(BOUNDARIES)


def context(token: int, key: str = "k") -> ToolContext:
    """A tool's context under a fencing token."""
    return ToolContext("j", "s0", "e", key, "i", 1, token)


def test_the_world_acts_once_per_key_and_behind_its_fence(tmp_path: Path) -> None:
    """An idempotent tool answers a repeat with the first result; a look that fences refuses the request that comes late."""
    world = World(str(tmp_path))
    registry = tools(world, lambda job, epoch: None, 1.0, 1.0)
    again, fenced = registry["again"], registry["fenced"]
    first = again.call({}, context(1))
    assert again.call({}, context(2)) == first
    assert len(world.witnessed("j").effects) == 1
    assert fenced.query is not None
    assert fenced.query({}, context(5, "other")) == Absent()
    with pytest.raises(NoEffectError):
        fenced.call({}, context(4, "other"))
    fenced.call({}, context(5, "other"))
    assert [line.key for line in world.witnessed("j").effects] == ["k", "other"]


def judged(tmp_path: Path, *marks: Mark) -> list[str]:
    """What the judge says of a job that the runtime completed, with more lines in the world."""
    directory = tmp_path / "world"
    directory.mkdir()
    site, world = SqliteSite(f"{tmp_path}/jobs.db"), World(str(directory))
    store, registry = open_store(site.own_address()), tools(world, lambda job, epoch: None, 1.0, 1.0)
    plan = validate_plan(parse_plan({"version": 1, "nodes": [{"id": "s0", "tool": "ask"}]}), registry)
    store.submit("j", submission("j", plan))
    work_until_idle(store, registry)
    for mark in marks:
        world.append("j", mark)
    job, judge = Job("j"), Judge(site, world)
    judge.doubled(job)
    judge.at_rest(job)
    assert judge.verified(store, [job]) == 1
    store.close()
    site.close()
    return list(job.found)


def test_the_judge_counts_lines(tmp_path: Path) -> None:
    """A job as it should be is accepted; one line more is P1; a request that no event announces is P14."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    assert judged(tmp_path / "a") == []
    assert any("P1: 2 effects" in said for said in judged(tmp_path / "b", Mark("effect", "s0", "k", 1, 1, 0.0)))
    assert any("P14" in said for said in judged(tmp_path / "c", Mark("request", "s0", "k", 7, 1, 0.0)))


def test_plans_are_of_the_sorts_that_are_asked_for() -> None:
    """Random plans are valid, and of the given sorts."""
    registry = tools(World("."), lambda job, epoch: None, 1.0, 1.0)
    chance = random.Random(1)
    for _ in range(50):
        plan = random_plan(chance, ("ask", "slow"))
        validate_plan(parse_plan(plan), registry)
        assert {node["tool"] for node in plan["nodes"] if "tool" in node} <= {"ask", "slow"}
    assert {tool.name for tool in registry} == SORTS.keys()


ROW = Row("quiet", "D is 0", "P1: 2 effects (step s0)", ("P1", "P2"), 3, 7.0, "crashwindow …")
NONE = ROW._replace(violation=None, properties=())


@pytest.mark.parametrize(("rows", "code"), [([ROW], 0), ([ROW, NONE], 1)])
def test_every_protection_has_to_show(
    rows: list[Row], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0 only if for each a violation appears; the table and the JSON name property and command."""
    monkeypatch.setattr(chaos_protections, "shown", lambda server, options, tell: iter(rows))
    monkeypatch.setattr(embedded_postgres, "EmbeddedPostgres", nullcontext)
    command = ["campaign", "protections", "--embedded-postgres", "--seed", "7"]
    assert main(command) == code
    told = capsys.readouterr().out
    assert "P1, P2" in told
    assert ("none, after 3" in told) == (code == 1)
    assert main([*command, "--json"]) == code
    assert [row["shown"] for row in json.loads(capsys.readouterr().out)["protections"]] == [row.shown for row in rows]


def test_each_protection_has_a_campaign_of_its_own(
    monkeypatch: pytest.MonkeyPatch, postgres_server: EmbeddedPostgres
) -> None:
    """One is missing at a time; the first violation is told without its job, with all properties that broke."""
    missing: list[tuple[str, ...]] = []

    def run(site: object, options: Options, tell: object) -> Result:
        missing.append(options.without)
        found = (
            ["j-0: P13: refused", "j-1: P1: 2 effects (step s0)", "j-2: P2: a lie"]
            if options.without == ("quiet",)
            else []
        )
        return Result(0, violations=found, struck={"pause": {"execute:before": 2}})

    monkeypatch.setattr(chaos, "run", run)
    monkeypatch.setattr(chaos_protections, "EmbeddedSite", lambda server: None)
    rows = {row.protection: row for row in chaos_protections.shown(postgres_server, Options(30.0, 2, 5))}
    assert missing == [(name,) for name in PROTECTIONS]
    assert [name for name, row in rows.items() if row.shown] == ["quiet"]
    assert rows["quiet"][2:5] == ("P1: 2 effects (step s0)", ("P1", "P13", "P2"), 2)
    assert "--without quiet --minutes 0.5 --workers 2 --seed 5" in rows["quiet"].command


def test_memory_is_a_line_through_its_samples() -> None:
    """Growth by a constant is seen, after the process was warm; a flat line has no slope."""
    growing = [(float(at), 1000 if at < 2 else 500 * at) for at in range(8)]
    flat = [(float(at), 7000) for at in range(8)]
    found = Result(0, memory={"growing": growing, "flat": flat, "short": flat[:2]}).memories()
    assert [(memory.process, round(memory.slope, 6)) for memory in found] == [("growing", 500.0), ("flat", 0.0)]
    assert found[0][1:4] == (5.0, 1000, 3500)
    assert chaos_result.WARM < 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--store", "memory:"], "--store: give"),
        (["--store", "sqlite:///"], "--store: give"),
        (["--store", "sqlite:////nowhere/x.db"], "the directory must exist"),
        (["--store", "postgresql://ann@127.0.0.1:1/jobs"], "cannot connect"),
        (["--store", "postgresql://ann:12/s3@host/jobs"], "percent-encoded"),
        (["--store", "sqlite:///x.db", "--without", "quiet"], "nobody overtakes"),
        (["--store", "sqlite:///x.db", "--without", "luck"], "there is no such protection"),
        (["--embedded-postgres", "--without", "quiet", "--workers", "1"], "--workers 2"),
        (["--embedded-postgres", "--minutes", "0"], "--minutes"),
        (["--embedded-postgres", "--minutes", "inf"], "--minutes"),
        (["--embedded-postgres", "--workers", "0"], "1 or more"),
    ],
)
def test_what_cannot_be_is_refused(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad input is exit code 2 and one line with the remedy, before anything is started, or a seed printed."""
    assert main(["campaign", "chaos", *options]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--store", "postgresql://x/y"], "--embedded-postgres"),
        (["--embedded-postgres", "--workers", "1"], "2 or more"),
        (["--embedded-postgres", "--minutes", "0"], "--minutes"),
    ],
)
def test_protections_are_taken_away_on_an_own_server(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody else's database is worked on by a worker without its protections."""
    assert main(["campaign", "protections", *options]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.out == ""


def test_the_command_tells_what_it_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Exit code 0 for a clean run, 1 for a violation; the result as JSON on demand; gaps stand first in the table."""
    struck = {"kill": {f"{name}:{side}": 1 for name in BOUNDARIES for side in ("before", "inside", "after")}}
    del struck["kill"]["query:after"]
    clean = Result(7, 1.5, 3, {"completed": 3}, struck=struck, gaps={"kill": ["query:after"]})
    broken = Result(7, 1.5, 3, {"completed": 3}, violations=["j: P1: 2 effects (step s0)"])
    command = ["campaign", "chaos", "--store", f"sqlite:///{tmp_path}/x.db", "--seed", "7"]
    monkeypatch.setattr(chaos, "run", lambda site, options, tell: clean)
    assert main(command) == 0
    told = capsys.readouterr().out
    rows = [line.split()[0] for line in told.splitlines() if line.split()[:1] and line.split()[0] in BOUNDARIES]
    assert rows[0] == "query"
    assert "doubled 0" in told
    monkeypatch.setattr(chaos, "run", lambda site, options, tell: broken)
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["violations"] == broken.violations


def test_a_pause_beyond_the_quiet_time_is_said() -> None:
    """Where the machine lets a process on too late, A-QUIET was not kept, and the result knows."""
    options = Options(1.0, quiet=5.0)
    assert Result(0, longest_pause=4.9).quiet_kept(options)
    assert not Result(0, longest_pause=5.1).quiet_kept(options)
