"""`crashwindow report-job`: what it says of a job stands in the record, and no more; what a stranger wrote does nothing.

`CRASHWINDOW_REWRITE_GOLDEN=1 pytest tests/test_job_report.py` writes the golden files anew; read the difference before it is
kept.
"""

import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import job_steps
from crashwindow.checkers.embedded_postgres import EmbeddedPostgres
from crashwindow.checkers.evidence_job import JobEvidence
from crashwindow.checkers.job_evidence import job_evidence
from crashwindow.reports.job_files import file_name
from crashwindow.reports.job_markdown import job_markdown
from crashwindow.reports.job_page import render_job
from crashwindow.reports.job_parts import MOST
from crashwindow.reports.job_sequence import TOOL, job_diagram
from crashwindow.reports.job_words import summary
from crashwindow.runtime.clients import Client, undo_job
from crashwindow.runtime.event_chain import next_link
from crashwindow.runtime.memory_store import MemoryStore
from crashwindow.runtime.open_store import open_store
from crashwindow.runtime.postgres_store import PostgresStore
from crashwindow.runtime.records import ChainedEvent
from crashwindow.runtime.tool import Tool

from .job_examples import DOUBT, EXAMPLES, URL, clock, filed, page_of
from .logged_jobs import JOB, TOOLS, node, work
from .test_compensation import Bank

GOLDEN = Path(__file__).parent / "golden"
EVIL = "<script>alert(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2)> | `x` ]]> \x1b[31m\u202e\u200b\U000e0041\xad\"'"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, JobEvidence]]:
    """Each example, made once, where local time is UTC."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield {name: make(tmp_path_factory.mktemp(name)) for name, make in EXAMPLES.items()}
    os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
    time.tzset()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a job of which one effect happened and one is in doubt."""
    path = tmp_path_factory.mktemp("made") / "store.db"
    filed(path)
    return path


@pytest.fixture
def url(made: Path, tmp_path: Path) -> str:
    """The address of a copy of it, which may be altered."""
    return f"sqlite:///{shutil.copy(made, tmp_path)}"


def bare(page: str) -> str:
    """A page without styles, script and policy, which are tested elsewhere."""
    return re.sub(r"<style>.*?</style>\n|<script>.*?</script>\n|<meta http-equiv[^>]*>\n", "", page, flags=re.DOTALL)


# What it says.


@pytest.mark.parametrize(
    ("name", "form"), [*((name, "md") for name in EXAMPLES), ("doubt", "html"), ("decision", "html")]
)
def test_golden(examples: dict[str, JobEvidence], name: str, form: str) -> None:
    """The same records give the same bytes, and those have been read."""
    text = job_markdown(examples[name]) if form == "md" else bare(render_job(examples[name]))
    file = GOLDEN / f"job-{name}.{form}"
    if os.environ.get("CRASHWINDOW_REWRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8", newline="\n")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "mood", "headline", "world"),
    [
        (
            "crash",
            "good",
            "Completed: 5 effects, each exactly once",
            ["4 effects happened", "1 effect happened, called again"],
        ),
        (
            "doubt",
            "doubt",
            "In doubt: whether x (lose) acted is not known",
            ["x (lose) is in doubt", "1 effect happened"],
        ),
        ("decision", "good", "Completed: 1 effect, exactly once", ["1 effect happened"]),
        (
            "compensation",
            "doubt",
            "The job failed",
            ["1 effect happened, each", "1 effect happened, and was undone: pay (pay)"],
        ),
        ("approval", "good", "Completed: 1 effect", ["1 effect happened"]),
    ],
)
def test_the_first_screen(
    examples: dict[str, JobEvidence], name: str, mood: str, headline: str, world: list[str]
) -> None:
    """What happened, what is in doubt and what was undone is said in sentences, before all else."""
    said = summary(examples[name])
    assert (said.mood, said.headline.startswith(headline)) == (mood, True), said.headline
    assert [told for told, expected in zip(said.world, world, strict=False) if not told.startswith(expected)] == []


def overstated() -> Iterator[str]:
    """What the page says beyond the records, or less than they say, wherever a worker ends."""
    seen = set()
    for number in range(200):
        store = MemoryStore(clock())
        done = work(store, DOUBT[:1], crash_before=number)
        job = page_of(store)
        (step,) = job.steps
        types = {event.type for event in job.events}
        recorded = bool(job.records) or "tool_invocation_finished" in types
        if job.unread:
            yield f"{number}: unread"
        if (step.standing == "happened") != recorded:
            yield f"{number}: {step.standing}, and recorded is {recorded}"
        if (step.standing == "in doubt") != ("tool_invocation_started" in types and not recorded):
            yield f"{number}: {step.standing}, after {types}"
        if summary(job).mood != ("good" if done else "doubt"):
            yield f"{number}: {summary(job).headline}"
        seen.add((step.standing, step.told is None))
        if done:
            break
    if not seen >= {("in doubt", True), ("happened", True), ("happened", False)}:
        yield "the crashes leave out what matters"


def test_at_every_crash_the_page_says_no_more_than_is_known() -> None:
    """Wherever a worker ends, a step happened where a record holds its result, and is in doubt where it was only begun."""
    assert list(overstated()) == []


@pytest.mark.parametrize("said", [None, "somebody will know"])
def test_a_page_that_says_too_little_or_too_much_is_found_out(
    monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    """The check above can fail: a page to which no record is evidence, and one to which everything is."""
    monkeypatch.setattr(job_steps, "_evidence", lambda *given: said)
    assert list(overstated())


def test_a_call_that_nobody_answered_is_drawn_as_one_that_may_have_been(examples: dict[str, JobEvidence]) -> None:
    """The diagram shows an effect where an answer is recorded, and nowhere else."""
    kinds = {name: [step.kind for step in job_diagram(examples[name]).steps] for name in ("crash", "doubt")}
    assert kinds["doubt"].count("effect") == 1
    lost = [step.rule for step in job_diagram(examples["crash"]).steps if "may have been called" in step.rule]
    assert lost == ["pay may have been called here, and may have acted: no event of this worker says", *lost[1:]]
    gone = [step.rule for step in job_diagram(examples["crash"]).steps if "writes no more" in step.rule]
    assert len(gone) == 1
    assert all(TOOL in job_diagram(job).lanes for job in examples.values())


def test_the_decision_leads_to_the_effect(examples: dict[str, JobEvidence]) -> None:
    """From decision_snapshot over the model's answer to the step that was given it."""
    job = examples["decision"]
    ask, use = job.steps
    assert job.decision is not None
    assert json.loads(job.decision.goal) == "a number"
    assert ask.answer is not None
    assert (ask.answer.decision, use.took) == (job.decision.id, ("ask",))
    assert [(edge.before, edge.after, edge.kind) for edge in job.edges] == [("ask", "use", "result")]
    page = bare(render_job(job))
    assert "led to" in page
    assert ask.answer.response.replace('"', "&quot;") in page


def test_an_approval_and_its_contract(examples: dict[str, JobEvidence]) -> None:
    """The gate, who answered, and the contract that asked."""
    job = examples["approval"]
    assert [edge.kind for edge in job.edges] == ["approval"]
    (contract,) = job.contracts
    assert contract.status == "completed"
    assert "Ann" in contract.moves[-1].metadata
    assert "answered by Ann" in [note.words for note in job.steps[0].notes]


def test_a_job_that_undoes_a_step_of_another(tmp_path: Path) -> None:
    """Each of the two names the other."""
    bank = Bank(tmp_path)
    bank.live()
    undo = bank.compensate()
    bank.live(job_id=undo)
    first, second = (page_of(bank.stage.store, job) for job in (JOB, undo))
    assert [(each.job_id, each.status) for each in first.related] == [(undo_job(JOB, "pay"), "completed")]
    assert [each.job_id for each in second.related] == [JOB]
    assert [step.standing for step in second.steps] == ["undone", "happened"]
    assert first.unread == second.unread == ()
    bank.stage.store.close()


def test_signals_and_cancels_are_named_with_who_said_so(tmp_path: Path) -> None:
    """A job that waits says for what, and how to answer; one that was cancelled says by whom."""
    store = MemoryStore(clock())
    work(store, [{"id": "w", "wait": "go", "depends_on": []}])
    waiting = page_of(store)
    assert (waiting.steps[0].standing, waiting.rests_at) == ("waits", "w")
    assert "crashwindow signal job go" in waiting.ways[0].command
    Client(store, "Ann").cancel(JOB, "no more money")
    cancelled = page_of(store)
    assert cancelled.ended == "Ann asked for it: no more money"
    assert "no more money" in bare(render_job(cancelled))


# What strangers wrote.


class Tags(HTMLParser):
    """The elements of a page, and what their attributes hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One element."""
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_hostile_text_does_nothing(tmp_path: Path) -> None:
    """Markup, terminal codes, directions, invisible characters are text: in ids, arguments, errors, results, names, reasons."""

    def lose(args: Any, context: Any) -> Any:
        raise ConnectionError(EVIL)

    name = EVIL[:180]
    tools = {"evil": Tool("evil", lambda args, context: {EVIL: EVIL}, EVIL), "lose": Tool("lose", lose, EVIL)}
    store = MemoryStore(clock())
    with pytest.MonkeyPatch.context() as patch:
        for each, tool in tools.items():
            patch.setitem(TOOLS, each, tool)
        work(store, [node(name, "evil", text=EVIL), node("x", "lose", name, text={"$result": name})], EVIL)
    Client(store, EVIL).cancel(EVIL, EVIL)
    job = page_of(store, EVIL)
    page, text = render_job(job), job_markdown(job)
    clean = Tags(bare(render_job(page_of(_harmless()))))
    assert not re.search("[\x1b\u202e\u200b\U000e0041\xad]", page + text)
    assert page.count("<script>") == 1
    assert "<script>alert" not in page
    assert Tags(bare(page)).names <= clean.names
    assert Tags(bare(page)).attributes <= clean.attributes | {"open"}
    assert "<img src" in json.dumps(job.model_dump())


def _harmless() -> MemoryStore:
    """The same job without malice."""
    store = MemoryStore(clock())
    work(store, [node("a", "pay", to="x", amount=1), node("x", "lose", "a")])
    Client(store, "Ann").cancel(JOB, "why")
    return store


def test_a_long_value_is_cut_and_its_length_and_hash_are_said() -> None:
    """The page holds the beginning; the data hold all of it."""
    store = MemoryStore(clock())
    work(store, [node("a", "pay", to="y" * 100_000, amount=1)])
    job = page_of(store)
    page = render_job(job)
    assert "y" * (MOST + 1) not in page
    assert "characters, the first 600 shown; SHA-256 of all" in page
    assert "y" * 100_000 in job.steps[0].given


# Records that were altered.


def alter(url: str, statement: str, *values: object) -> None:
    """Somebody who can write the file."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        assert connection.execute(statement, values).rowcount > 0, statement


def test_a_broken_chain_is_said_first_and_the_page_is_written(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, as of verify-job; the break stands on top, and from it on no event is said to be chained."""
    alter(url, "UPDATE events SET data = replace(data, 'pay-ann', 'pay-eve') WHERE version = 5")
    assert main(["verify-job", JOB, "--store", url]) == 1
    assert main(["report-job", JOB, "--store", url, "--output", str(tmp_path)]) == 1
    assert "does not stand: not chain intact" in capsys.readouterr().out
    page = (tmp_path / "job-job.html").read_text(encoding="utf-8")
    top = page[page.index("<header>") : page.index("</header>")]
    assert "not chain intact: event 5: " in top
    assert "do not rely on it" in top
    assert "exactly once" not in top
    with closing(open_store(url)) as store:
        chained = [event.chained for event in page_of(store).events]
    assert chained == [True] * 4 + [False] * (len(chained) - 4)


def test_an_event_that_is_missing(url: str) -> None:
    """What was cut out is a break, too."""
    alter(url, "DELETE FROM events WHERE version = 6")
    with closing(open_store(url)) as store:
        job = page_of(store)
    assert summary(job).mood == "bad"
    assert [event.version for event in job.events if not event.chained][:1] == [7]


def test_data_that_mean_nothing(url: str) -> None:
    """Under a chain that fits them: what cannot be understood is named, and the rest is shown."""
    with closing(open_store(url)) as store:
        stored = store.chain(JOB)
    for version in (2, 5, 13):
        event = stored[version - 1]
        for data in ("{", "[]", "[" * 10_000, '{"plan":{"nodes":[{}]}}'):
            link = next_link(stored[version - 2].link if version > 1 else None, JOB, event._replace(data=data))
            alter(url, "UPDATE events SET data = ?, link = ? WHERE version = ?", data, link, version)
            with closing(open_store(url)) as store:
                job = page_of(store)
            assert summary(job).mood == "bad", (version, data)
            assert len(job.events) == len(stored)
            assert render_job(job)
            assert job_markdown(job)
        alter(url, "UPDATE events SET data = ?, link = ? WHERE version = ?", event.data, event.link, version)


@pytest.mark.parametrize("column", ["ledger.result", "effects.output", "effects.metadata"])
def test_a_record_that_no_store_has_written(url: str, column: str) -> None:
    """NaN is no JSON that can be hashed: what holds it is named and left out, and the rest is shown."""
    table, name = column.split(".")
    alter(url, f"UPDATE {table} SET {name} = 'NaN'")
    with closing(open_store(url)) as store:
        job = page_of(store)
    assert summary(job).mood == "bad"
    assert any("NaN" in words or "not as this program writes" in words for words in job.unread)
    assert render_job(job)


def test_a_damaged_store_is_an_error_and_no_page(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code 2, the file named, nothing written."""
    alter(url, "UPDATE ledger SET result = '{'")
    out = tmp_path / "out"
    assert main(["report-job", JOB, "--store", url, "--output", f"{out}/"]) == 2
    assert "store.db" in capsys.readouterr().err
    assert not out.exists()


# The command.


@pytest.mark.parametrize(
    ("nodes", "code"), [(DOUBT[:1], 0), (DOUBT, 3), ([node("a", "fail")], 3)], ids=["completed", "parked", "failed"]
)
def test_exit_codes_are_those_of_verify_job(tmp_path: Path, nodes: list[dict[str, Any]], code: int) -> None:
    """0 verifiable, 3 not completed; a broken chain is above."""
    url = filed(tmp_path / "store.db", nodes)
    assert main(["verify-job", JOB, "--store", url]) == code
    assert main(["report-job", JOB, "--store", url, "--output", str(tmp_path)]) == code


def test_every_form_and_place(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory, a file, or the working directory; JSON is what the schema says, and comes back the same."""
    monkeypatch.chdir(tmp_path)
    command = ["report-job", JOB, "--store", url]
    assert main(command) == 3
    assert (tmp_path / "job-job.html").is_file()
    assert main([*command, "--format", "json", "--output", "sub/dir/x.json"]) == 3
    text = (tmp_path / "sub/dir/x.json").read_text(encoding="utf-8")
    assert JobEvidence.model_validate_json(text).job_id == JOB
    assert main([*command, "--format", "md", "--output", "sub/"]) == 3
    assert (tmp_path / "sub/job-job.md").is_file()
    assert str(Path("sub/job-job.md")) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody", "--store", "STORE"], "there is no job 'nobody'"),
        ([JOB, "--store", "sqlite:///nowhere.db"], "no such file"),
        ([JOB, "--store", "STORE", "--output", "/dev/null/x"], "--output /dev/null/x"),
    ],
)
def test_bad_input_is_named(url: str, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    """Code 2, with what is wrong."""
    assert main(["report-job", *(url if word == "STORE" else word for word in words)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_is_named_after_the_job_where_that_is_safe() -> None:
    """No id leads out of the directory, and none of two is taken for the other."""
    assert file_name("booking-1", "html") == "job-booking-1.html"
    evil = [file_name(name, "html") for name in ("../../etc/x", "a/b", "a b", "..", "\u202e", "x" * 200, "-rf")]
    assert all(re.fullmatch(r"job-[0-9a-f]{16}\.html", name) for name in evil)
    assert len(set(evil)) == len(evil)


def test_a_password_is_not_shown() -> None:
    """The address of the store is said without it."""
    store = MemoryStore(clock())
    work(store, DOUBT)
    job = job_evidence(store, JOB, "postgresql://ann:secret@host/db?password=secret")
    assert "secret" not in job.model_dump_json()
    assert "postgresql://ann@host/db" in job.ways[1].command


def test_reading_changes_nothing(url: str) -> None:
    """The same records, and the same page, after it was read."""
    with closing(open_store(url)) as store:
        first = page_of(store)
    with closing(open_store(url)) as store:
        assert page_of(store) == first


def test_postgres_gives_the_same_page(postgres_server: EmbeddedPostgres, postgres_url: str) -> None:
    """Whatever store holds the records: but for times, links and what hangs on them the page says the same."""
    with closing(PostgresStore(postgres_url)) as store:
        work(store, DOUBT)
        there = page_of(store)
    memory = MemoryStore(clock())
    work(memory, DOUBT)
    here = page_of(memory)
    assert there.unread == ()
    assert (there.steps, there.edges, there.rests_at) == (here.steps, here.edges, here.rests_at)
    assert [(e.type, e.data) for e in there.events] == [(e.type, e.data) for e in here.events]
    assert summary(there) == summary(here)


def test_a_link_is_part_of_what_is_hashed() -> None:
    """The tests of altered events compute links as the store does."""
    store = MemoryStore(clock())
    work(store, DOUBT)
    first: ChainedEvent = store.chain(JOB)[0]
    assert next_link(None, JOB, first) == first.link
    assert URL in page_of(store).store
