"""Reports say what evidence and register say, in every form, and nothing more.

`CRASHWINDOW_REWRITE_GOLDEN=1 pytest tests/test_reports.py` writes the golden files anew; read the difference before it is kept.
"""

import base64
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from crashwindow.checkers.evidence import (
    ClaimResult,
    ContractCoverage,
    EdgeTaken,
    Frame,
    Item,
    KillRow,
    Machine,
    MutantResult,
    Necessity,
    Need,
    Observed,
    RunEvidence,
    RunInfo,
    ScenarioResult,
    Schedules,
    Sufficient,
    Trace,
    Verdict,
    Wider,
    WindowResult,
)
from crashwindow.checkers.evidence_graph import StateGraph
from crashwindow.model.claims import Assumption, Citation, Claim
from crashwindow.reports.files import EVIDENCE, EvidenceError, forms, load, write
from crashwindow.reports.gaps import gaps
from crashwindow.reports.html import render_html
from crashwindow.reports.markdown import render_markdown
from crashwindow.reports.markdown_text import code, escape
from crashwindow.reports.sequence import LANES, broken, diagram
from crashwindow.reports.terminal import summary_table, trace_table
from crashwindow.reports.view import CONTRACT_RULES, OTHER_RULES, REGISTER, Register, grouped, judge, needs
from crashwindow.reports.words import plain

GOLDEN = Path(__file__).parent / "golden"

START = (
    "idempotent=yes on_unknown=park look=none job=open open=0 closed=0 ledger=none "
    "effect=none at=idle request=none effects=0 keys=0"
)
DOUBLED = """
start | start | | at=idle
claim | worker | claim | at=fence_events
fence events | worker | fence_events | at=recover
acquire | worker | acquire | ledger=inflight at=append_started
append started | worker | append_started | open=1 at=execute
send request, new key | worker | execute | request=sent keys=1 at=await_reply
world: serves | world | | request=first effects=1
crash after the effect | crash | | request=none at=idle
claim | worker | claim | at=recover
6: take over | worker | | at=execute
send request, new key | worker | execute | request=sent keys=2 at=await_reply
world: serves again, another key | world | | request=other effects=2
"""
RESOLVED = """
start | start | | at=idle
claim | worker | claim | at=recover
8: execute | worker | | at=execute
send request | worker | execute | request=sent keys=1 at=await_reply
crash, request on the wire | crash | | request=none at=idle job=parked open=1
time passes | clock | |
person: did not happen | person | resolve | job=open open=0 closed=1
claim | worker | claim | at=await_reply
reply: result | worker | | at=put_effect
"""


SEVERAL = """
start | start | | a.at=idle b.at=idle a.stands_effects=yes b.stands_effects=yes a.known_ledger=none effects=0 order=ab
a: claim [ab] | worker | claim | a.at=fence_effects order=ba
a: fence effects, nobody leads [ba] | worker | fence_effects | a.at=execute b.stands_effects=no
b: claim [ba] | worker | claim | b.at=fence_effects order=ab b.stands_effects=yes
b: fence effects, overtakes: crash before the request (a) [ab] | worker | fence_effects | b.at=recover a.stands_effects=no
b: crash | crash | | b.at=idle
a: send request | worker | execute | a.at=await_reply
a: world: serves | world | | effects=1
a: refused by ledger 1100 | worker | | a.at=idle
time passes | clock | |
"""
"""Two workers: one is overtaken and sends all the same, the other crashes."""


def trace(text: str, key: str, start: str = START) -> Trace:
    """A trace from lines `rule | actor | boundary | field=value …`."""
    frames: list[Frame] = []
    for line in text.strip().splitlines():
        rule, actor, boundary, changes = (part.strip() for part in line.split("|"))
        words = f"{start} {changes}" if not frames else changes
        changed = dict(word.split("=") for word in words.split())
        frames.append(Frame(rule=rule, actor=actor, boundary=boundary or None, changed=changed))
    return Trace(key=key, frames=frames)


def claim(id: str, variant: str, kind: str, properties: tuple[str, ...], expected: str, **more: Any) -> Claim:  # noqa: A002
    """A claim of the small register."""
    fields = {
        "sentence": f"Sentence of {id}.",
        "citations": (Citation("S1", "2", (24, 28), "0" * 64),),
        "requirement": "T-PROP",
        "policy": "hardened",
        "assumptions": (),
        "methods": ("explore",),
        **more,
    }
    return Claim(id=id, variant=variant, kind=kind, properties=properties, expected=expected, **fields)  # type: ignore[arg-type]


SMALL = Register(
    claims=(
        claim(
            "P1",
            "hardened",
            "holds",
            ("P1",),
            "PROVED",
            assumptions=("A-QUIET",),
            methods=("prove", "explore", "crash", "walk"),
        ),
        claim("P2", "hardened", "holds", ("P2",), "ASSUMED"),
        claim("ORDER", "hardened", "holds", ("P1",), "EXHAUSTED", policy="s0-order-full-recovery"),
        claim("AGAIN", "as_written", "refuted", ("P1",), "REFUTED", policy="s4-reexecute", hardened="P1"),
        claim("SEEN", "as_written", "occurs", (), "EXHAUSTED", policy="s0-events-alone", hardened="ORDER"),
        claim("LATER", "hardened", "rest", (), "NOT CHECKED"),
    ),
    assumptions={
        "A-QUIET": Assumption("A-QUIET", "No request is served after D.", "the tool's author"),
        "A-OTHER": Assumption("A-OTHER", "Nobody needs this one.", "nobody"),
    },
)


def item(checker: Any, verdict: Verdict, statement: str, **more: Any) -> Item:
    """An item of evidence."""
    return Item(
        checker=checker,
        verdict=verdict,
        statement=statement,
        command=more.pop("command", f"crashwindow {checker} X"),
        **more,
    )


def claims() -> list[ClaimResult]:
    """What was found out about the small register."""
    doubled, resolved = trace(DOUBLED, "model:s4-reexecute:0/1/2"), trace(RESOLVED, "model:hardened:0/0/3")
    return [
        ClaimResult(
            claim="P1",
            expected=Verdict.PROVED,
            items=[
                item(
                    "prove",
                    Verdict.PROVED,
                    "Inductive over 44 clauses.",
                    figures={"obligations": 131, "seconds": 1.25, "solver": "z3"},
                ),
                item("explore", Verdict.EXHAUSTED, "Holds in every state.", figures={"states": 60106}, trace=resolved),
                item("crash", Verdict.TESTED, "No schedule broke it.", figures={"schedules": 4312}),
            ],
        ),
        ClaimResult(
            claim="P2", expected=Verdict.ASSUMED, items=[item("explore", Verdict.ASSUMED, "Nobody looked at the disk.")]
        ),
        ClaimResult(
            claim="ORDER",
            expected=Verdict.EXHAUSTED,
            items=[item("explore", Verdict.EXHAUSTED, "Holds under that order.")],
        ),
        ClaimResult(
            claim="AGAIN",
            expected=Verdict.REFUTED,
            items=[item("explore", Verdict.REFUTED, "P1 fails in 11 steps.", trace=doubled)],
        ),
        ClaimResult(
            claim="SEEN",
            expected=Verdict.EXHAUSTED,
            items=[item("explore", Verdict.EXHAUSTED, "A run reaches it.", trace=doubled)],
        ),
    ]


def windows() -> list[WindowResult]:
    """Two rows of the crash-window table: one where crashes were tried, one where none was."""
    seen = Observed(
        crashes=312,
        killed=14,
        at_crash={"1": 312},
        recovery={"park": 300, "query": 12},
        in_end={"parked/1": 300, "completed/1": 12},
    )
    common: dict[str, Any] = {"agrees": True, "proof": Verdict.PROVED, "source": "T-WINDOW"}
    return [
        WindowResult(
            row="2",
            crash_after="execute",
            durable="job = open ∧ effect = none ∧ node = none or job = parked",
            advice="ambiguous: on_unknown",
            predicted_recovery=["5: open attempt"],
            predicted_at_crash=["1"],
            predicted_in_end=["1"],
            derived_recovery=["5: open attempt"],
            derived_at_crash=["1"],
            derived_in_end=["1"],
            states=57,
            observed=seen,
            **common,
        ),
        WindowResult(
            row="8f",
            crash_after="append_failed",
            durable="job = failed",
            advice="nothing runs",
            predicted_recovery=[],
            predicted_at_crash=["0", "1"],
            predicted_in_end=["0", "1"],
            derived_recovery=[],
            derived_at_crash=["0", "1"],
            derived_in_end=["0", "1"],
            states=774,
            observed=Observed(),
            **common,
        ),
    ]


EDGE = EdgeTaken(before="pending", trigger="start", after="running", by={"walk": 41, "enumerate": 2})
COVERAGE = ContractCoverage(store="SQLite", edges=[EDGE], legal=36, illegal=732, refused=732, wrong=[])


NECESSITY = Necessity(
    bounds=["One worker."],
    cells=[
        Need(
            property="P1",
            mechanism="quiet",
            answer="needed",
            verdict=Verdict.REFUTED,
            words="never: effects = 2",
            key="model:without-quiet:0/1",
            steps=2,
        ),
        Need(
            property="P3", mechanism="quiet", answer="not needed", verdict=Verdict.EXHAUSTED, words="holds without it"
        ),
        Need(
            property="P5", mechanism="quiet", answer="not applicable", verdict=Verdict.NOT_CHECKED, words="one worker"
        ),
        Need(property="P15", mechanism="quiet", answer="not checked", verdict=Verdict.NOT_CHECKED, words="later"),
        Need(property="all", mechanism="order-7456", answer="not needed", verdict=Verdict.EXHAUSTED, words="holds"),
    ],
    sets=[
        Sufficient(
            property="P1",
            sets=[["quiet"]],
            asked=3,
            enough=True,
            monotone=True,
            words="alone",
            wider=[Wider(more=["rule-0"], key="model:whole-without-quiet:0/1", holds=True)],
        )
    ],
    idle=["nothing breaks without ledger"],
    ambiguity=["192 observations are ambiguous"],
    beside=[
        Sufficient(
            property="P12", sets=[["L-RECORD", "L-INJECT"]], asked=256, enough=True, monotone=False, words="of all sets"
        )
    ],
)


def evidence() -> RunEvidence:
    """Small, but with one of everything."""
    return RunEvidence(
        run=RunInfo(
            run="2026-01-02T03-04-05Z",
            started="2026-01-02T03:04:05Z",
            seconds=41.3,
            kept={"explicit search": "2026-01-02T02:00:00+00:00", "scenarios": "2026-01-02T02:01:00+00:00"},
            profile="quick",
            seed=7,
            command="crashwindow verify --profile quick",
            versions={"python": "3.11.2", "z3": "4.15.3"},
            platform="Linux x86_64",
            commit="0123abc",
            code_sha256="ab" * 32,
        ),
        machines=[
            Machine(
                policy="hardened",
                sha256="cd" * 32,
                fields=25,
                rules=136,
                states=60106,
                transitions=159640,
                states_per_second=212345.6,
                unreached=["world: serves again, another key"],
            )
        ],
        claims=claims(),
        windows=windows(),
        schedules=[
            Schedules(
                name="every single crash",
                by="SIGKILL",
                schedules=4312,
                per_second=310.5,
                outcomes={"completed/1": 4000, "parked/0": 312},
                violations=[],
                disagreements=[],
                boundaries={"execute:after": 12, "claim:before": 12},
            )
        ],
        scenarios=[
            ScenarioResult(
                name="seed-row-2",
                expected="parked",
                observed="parked",
                passed=True,
                detail="as the seed says",
                command="crashwindow scenario run",
            ),
            ScenarioResult(
                name="overtaken",
                expected="refuted",
                observed="as expected",
                passed=True,
                detail="P1 broken after 17 words",
                trace=trace(SEVERAL, "model:fleet-lease-alone:0/1/1", start=""),
                command="crashwindow replay 'interleave:park-2:worker-1:claim'",
            ),
        ],
        mutants=[MutantResult(name="acquire not atomic", killed_by="crash", words="P1: 2 effects")],
        kills=[
            KillRow(
                subject="hardened",
                kind="guard literal dropped",
                mutants=565,
                killed=340,
                by={"prove": 300, "explore": 280, "lockstep": 40},
                cheapest={"prove": 300, "lockstep": 40},
                cheapest_seconds={"prove": 12.5, "lockstep": 4.0},
                survivors={"exhausted: the same": [f"row {n}" for n in range(2)]},
                met={"prove": 565, "explore": 565, "lockstep": 285, "windows": 285},
                stated=12,
                same=130,
                safe=55,
                unasked=40,
                gaps=[],
                seconds=900.5,
            )
        ],
        contracts=[COVERAGE],
        necessity=NECESSITY,
        not_checked=["Many workers on one job."],
        errors=[],
    )


def changed(**parts: Any) -> RunEvidence:
    """The evidence with some parts replaced."""
    return evidence().model_copy(update=parts)


def replaced(number: int, **parts: Any) -> list[ClaimResult]:
    """The claims with one of them changed."""
    results = claims()
    results[number] = results[number].model_copy(update=parts)
    return results


def shown(renderable: RenderableType, width: int = 80) -> str:
    """What a terminal shows, on one line."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(renderable)
    assert all(len(line) <= width for line in out.getvalue().splitlines())
    return re.sub(r"\s+", " ", out.getvalue())


def words(page: str) -> str:
    """The text of a page, without tags."""
    body = page[page.index("<body") : page.index("<script>")]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", body.replace("<wbr>", ""))))


def guaranteed(page: str) -> str:
    """The part of a page that says what is guaranteed."""
    text = words(page)
    return text[text.index("Guaranteed") : text.index("Under these assumptions")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("report.html", render_html(evidence(), SMALL)),
        ("report.md", render_markdown(evidence(), SMALL)),
        (
            "evidence.json",
            json.dumps(evidence().model_dump(mode="json"), indent=2, sort_keys=True, ensure_ascii=False) + "\n",
        ),
    ],
)
def test_golden(name: str, text: str) -> None:
    """The same evidence gives the same bytes as when somebody last read the report."""
    file = GOLDEN / name
    if os.environ.get("CRASHWINDOW_REWRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8", newline="\n")
    assert file.read_text(encoding="utf-8") == text


def test_golden_evidence_renders_to_golden_reports() -> None:
    """Old evidence, read back from its file, renders to the same bytes as when it was fresh."""
    old = load(GOLDEN / "evidence.json")
    assert old == evidence()
    assert render_html(old, SMALL) == (GOLDEN / "report.html").read_text(encoding="utf-8")
    assert render_markdown(old, SMALL) == (GOLDEN / "report.md").read_text(encoding="utf-8")


def test_reports_say_how_far_the_ways_agree_on_the_mutants_of_a_fleet() -> None:
    """Page and Markdown have a line for each fleet, all its classes added up; without mutants of a fleet there is none."""
    row = (
        evidence()
        .kills[0]
        .model_copy(
            update={"subject": "fleet-gate", "agreed": {"4": 500, "split": 65}, "unanswered": {"count: it is large": 7}}
        )
    )
    for render in (render_html, render_markdown):
        said = render(changed(kills=[row, row.model_copy(update={"kind": "row dropped"})]), SMALL)
        assert "fleet-gate, 1,130 mutants: so many ways gave the same answer: 4 on 1,000; on 130 some failed" in said
        assert "Without an answer: count: it is large (14)." in said
        assert "ways gave the same answer" not in render(evidence(), SMALL)


def test_only_the_runs_own_section_differs_between_two_runs() -> None:
    """Times, seed and run id stand in the last section alone, in both forms."""
    run = evidence().run.model_copy(
        update={"run": "other", "started": "2027", "seconds": 1.0, "seed": 8, "platform": "BSD", "versions": {}}
    )
    slow = claims()[0].items[0].model_copy(update={"figures": {"obligations": 131, "seconds": 99.5, "solver": "z3"}})
    first = claims()[0]
    other = changed(
        run=run,
        claims=replaced(0, items=[slow, *first.items[1:]]),
        machines=[evidence().machines[0].model_copy(update={"states_per_second": 5.0})],
        schedules=[evidence().schedules[0].model_copy(update={"per_second": 2.0})],
    )
    for render, mark in ((render_html, '<section id="run"'), (render_markdown, "## 12 Environment, and this run")):
        one, two = render(evidence(), SMALL), render(other, SMALL)
        assert one.split(mark)[0] == two.split(mark)[0]
        assert one.split(mark)[1] != two.split(mark)[1]


def test_a_run_that_came_out_as_expected_says_so() -> None:
    """The headline is not red by default: it is the good one where nothing is wrong."""
    assert judge(evidence(), SMALL).problems == ()
    for text in (
        words(render_html(evidence(), SMALL)),
        render_markdown(evidence(), SMALL),
        shown(summary_table(evidence(), SMALL)),
    ):
        assert "Every verdict is the expected one." in text
        assert "NOT PASSED" not in text


REFUTED_P1 = replaced(0, items=[*claims()[0].items, item("walk", Verdict.REFUTED, "Broken after 9 steps.")])
WINDOW = windows()[0]
SEEN = WINDOW.observed


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        (changed(claims=REFUTED_P1), "claim P1 (hardened): expected PROVED, found REFUTED (walk)"),
        (changed(claims=claims()[1:]), "claim P1 (hardened): expected PROVED, found NOT CHECKED"),
        (
            changed(claims=replaced(2, items=[*claims()[2].items, item("explore", Verdict.ERROR, "no answer")])),
            "claim ORDER: the checker explore failed: no answer",
        ),
        (
            changed(claims=replaced(3, items=[item("explore", Verdict.EXHAUSTED, "holds")])),
            "claim AGAIN (as_written): expected REFUTED",
        ),
        (
            changed(claims=replaced(0, expected=Verdict.TESTED)),
            "claim P1: the evidence expects TESTED, the register PROVED",
        ),
        (changed(claims=[*claims(), claims()[0]]), "claim P1: the evidence lists it 2 times"),
        (
            changed(claims=[*claims(), ClaimResult(claim="P99", expected=Verdict.PROVED, items=claims()[0].items)]),
            "claim P99: the register has",
        ),
        (
            changed(windows=[WINDOW.model_copy(update={"agrees": False})]),
            "window 2: the row derived from the model DIFFERS",
        ),
        (changed(windows=[WINDOW.model_copy(update={"derived_in_end": ["2"]})]), "window 2: it is said to agree"),
        (
            changed(windows=[WINDOW.model_copy(update={"proof": Verdict.REFUTED})]),
            "window 2: its proof came out as REFUTED",
        ),
        (
            changed(windows=[WINDOW.model_copy(update={"observed": SEEN.model_copy(update={"at_crash": {"0": 1}})})]),
            "window 2: effects observed at the crash that were not predicted: 0",
        ),
        (
            changed(
                windows=[
                    WINDOW.model_copy(update={"observed": SEEN.model_copy(update={"in_end": {"completed/1+2": 1}})})
                ]
            ),
            "window 2: more effects were observed in the end than predicted: completed/1+2",
        ),
        (
            changed(schedules=[evidence().schedules[0].model_copy(update={"violations": ["crash:7"]})]),
            "campaign every single crash: 1 schedules broke a property, first crash:7",
        ),
        (
            changed(schedules=[evidence().schedules[0].model_copy(update={"disagreements": ["crash:8"]})]),
            "campaign every single crash: 1 schedules ended otherwise by SIGKILL, first crash:8",
        ),
        (
            changed(scenarios=[evidence().scenarios[0].model_copy(update={"passed": False, "observed": "failed"})]),
            "scenario seed-row-2: expected parked, observed failed",
        ),
        (
            changed(mutants=[evidence().mutants[0].model_copy(update={"killed_by": None})]),
            "mutant acquire not atomic: no checker said no",
        ),
        (
            changed(contracts=[COVERAGE.model_copy(update={"edges": [EDGE.model_copy(update={"by": {"walk": 0}})]})]),
            "contracts on SQLite: pending –start→ running was never taken",
        ),
        (
            changed(contracts=[COVERAGE.model_copy(update={"wrong": ["start is illegal, and led to running"]})]),
            "contracts on SQLite: start is illegal, and led to running",
        ),
        (
            changed(contracts=[COVERAGE.model_copy(update={"refused": 731})]),
            "731 of 732 illegal ones refused without any change",
        ),
    ],
)
def test_what_is_wrong_is_said_in_every_form(failing: RunEvidence, said: str) -> None:
    """One wrong thing turns the headline of page, Markdown and terminal, and is named in each."""
    page = render_html(failing, SMALL)
    assert "<title>NOT PASSED" in page
    assert 'class="banner bad"' in page
    assert 'class="failbar"' in page
    for text in (
        words(page),
        render_markdown(failing, SMALL).replace("\\", ""),
        shown(summary_table(failing, SMALL), 200),
    ):
        assert said in text
        assert "NOT PASSED" in text
        assert "Every verdict is the expected one" not in text


def test_the_first_screen_says_of_what_each_figure_is() -> None:
    """Proved, refuted and derived is the register and the model; tested was what ran: no figure is under the wrong words."""
    page = words(render_html(evidence(), SMALL))
    model, tested = (
        page.index("What the register's claims and the model came to:"),
        page.index("the code follows it was tested:"),
    )
    beyond = page.index("Every guarantee, sentence by sentence")
    assert all(model < page.index(figure) < tested for figure in judge(evidence(), SMALL).of_the_model)
    assert all(tested < page.index(figure) < beyond for figure in judge(evidence(), SMALL).on_the_runtime)


def test_evidence_that_did_not_pass_cannot_pass_in_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the evidence says no and the report knows no reason, the report says no as well."""
    monkeypatch.setattr(RunEvidence, "passed", property(lambda _: False))
    assert "NOT PASSED: 1 thing is not as expected." in words(render_html(evidence(), SMALL))


def test_a_refuted_hardened_claim_is_never_guaranteed() -> None:
    """One refutation outweighs every proof, even where somebody writes that it is expected."""
    assert "Sentence of P1." in guaranteed(render_html(evidence(), SMALL))
    cheating = SMALL.claims[0].__class__(**{**SMALL.claims[0].__dict__, "expected": "REFUTED"})
    expecting = Register((cheating, *SMALL.claims[1:]), SMALL.assumptions)
    told = [
        result.model_copy(update={"expected": Verdict.REFUTED}) if result.claim == "P1" else result
        for result in REFUTED_P1
    ]
    for register, results in ((SMALL, REFUTED_P1), (expecting, told)):
        refuted = changed(claims=results)
        assert "P1" not in [entry.claim.id for entry in judge(refuted, register).guaranteed]
        assert "Sentence of P1." not in guaranteed(render_html(refuted, register))


def test_only_hardened_and_sure_claims_are_guaranteed() -> None:
    """What is assumed, tested, not checked or as_written is not listed as guaranteed; another policy stands apart."""
    text = guaranteed(render_html(evidence(), SMALL))
    assert [entry.claim.id for entry in judge(evidence(), SMALL).guaranteed] == ["P1", "ORDER"]
    assert [name for name in ("P2", "AGAIN", "SEEN", "LATER") if f"Sentence of {name}." in text] == []
    assert text.index("Sentence of P1.") < text.index("Holds under another policy") < text.index("Sentence of ORDER.")


def test_what_is_not_checked_is_listed() -> None:
    """Sentences of the evidence, claims without items, methods not applied and windows without a crash are all named; so is what
    nobody asked beside a claim that holds all the same.
    """
    listed = judge(evidence(), SMALL).not_checked
    assert listed[:2] == ("Many workers on one job.", "Claim LATER: Sentence of LATER.")
    assert "P1 (walk)" in listed[2]
    assert listed[3] == "No crash was tried in window 8f."
    held, *others = claims()
    nobody = item("walk", Verdict.NOT_CHECKED, "on PostgreSQL nobody walked")
    unserved = changed(claims=[held.model_copy(update={"items": [*held.items, nobody]}), *others])
    assert judge(unserved, SMALL).passed
    assert "on PostgreSQL nobody walked: beside P1." in judge(unserved, SMALL).not_checked
    empty = changed(windows=[], schedules=[], mutants=[], scenarios=[], machines=[], contracts=[])
    assert "No crash schedule was run on the runtime." in judge(empty, SMALL).not_checked


def test_a_part_of_the_mutants_is_called_a_part() -> None:
    """A deep run that has judged one in eight of a fleet's mutants lists that under what is not checked, with who judges all."""
    (row,) = evidence().kills
    deep = changed(kills=[row, row.model_copy(update={"subject": "fleet", "unasked": 0, "one_in": 8})])
    words = "one in 8 was judged, by the run's seed; crashwindow mutants --subject fleet judges all"
    assert f"Mutants of fleet: {words}." in judge(deep, SMALL).not_checked
    assert ("Mutants of fleet", words) in gaps(judge(deep, SMALL))
    assert not any("one in" in each for each in judge(evidence(), SMALL).not_checked)


def test_assumptions_are_listed_with_who_must_keep_them() -> None:
    """An assumption that a hardened claim needs is shown with its owner; one that nobody needs is not."""
    for text in (words(render_html(evidence(), SMALL)), render_markdown(evidence(), SMALL)):
        assert "No request is served after D." in text
        assert "the tool's author" in text
        assert "Nobody needs this one." not in text


def every_word(run: RunEvidence) -> list[str]:
    """Each text that stands in evidence, the frames of traces and the timings apart."""
    found = [plain(s) for s in run.not_checked]
    for result in run.claims:
        for one in result.items:
            found += [one.checker, one.verdict, one.statement, one.command, *(key for key in one.figures)]
    for window in run.windows:
        found += [
            window.row,
            window.crash_after,
            window.advice,
            *window.derived_recovery,
            window.source,
            *window.observed.in_end,
        ]
    for campaign in run.schedules:
        found += [campaign.name, campaign.by, f"{campaign.schedules:,}", *campaign.outcomes, *campaign.boundaries]
    for scenario in run.scenarios:
        found += [scenario.name, scenario.expected, scenario.observed, scenario.detail, scenario.command]
    for mutant in run.mutants:
        found += [mutant.name, mutant.killed_by or "", mutant.words]
    for machine in run.machines:
        found += [machine.policy, machine.sha256, f"{machine.states:,}", *machine.unreached]
    own = (str(value) for name, value in run.run if name not in ("versions", "kept"))
    return [*found, *own, *run.run.versions.values(), *run.run.kept, *run.run.kept.values()]


def test_every_item_of_evidence_is_there() -> None:
    """Nothing that the evidence holds is lost on the way to page or Markdown, the steps of its runs included."""
    page, text = words(render_html(evidence(), SMALL)), render_markdown(evidence(), SMALL).replace("\\", "")
    steps = [frame.rule for result in claims() for one in result.items if one.trace for frame in one.trace.frames]
    for said in [*every_word(evidence()), *steps]:
        assert said in page
        assert said in text


EVIL = "<script>alert(1)</script> | `x` **bold** [a](http://e) \x1b[31m\u202e</table>"


def test_text_of_the_evidence_is_only_text() -> None:
    """Markup in a claim, a statement, a rule or a name is shown, not obeyed, in each form."""
    frames = [Frame(rule=EVIL, actor=EVIL, boundary=EVIL, changed={EVIL: EVIL})]
    bad = item(
        "explore", Verdict.REFUTED, EVIL, figures={EVIL: EVIL}, trace=Trace(key=EVIL, frames=frames), command=EVIL
    )
    register = Register((claim(EVIL, "as_written", "refuted", ("P1",), "REFUTED", sentence=EVIL),), {})
    run = changed(
        claims=[ClaimResult(claim=EVIL, expected=Verdict.REFUTED, items=[bad])],
        windows=[WINDOW.model_copy(update={"advice": EVIL, "durable": EVIL, "crash_after": EVIL, "row": EVIL})],
        mutants=[MutantResult(name=EVIL, killed_by=EVIL, words=EVIL)],
        not_checked=[EVIL],
    )
    page = render_html(run, register)
    assert page.count("<script") == 1
    assert page.count("</table>") == len(re.findall("<table", page))
    assert not re.search("[\x1b\u202e]", page)
    text = render_markdown(run, register)
    assert not re.search("[\x1b\u202e]", text)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<script" not in outside
    assert not re.search(r"(?<!\\)\]\(", outside)
    out = shown(summary_table(run, register), 200) + shown(trace_table(bad.trace), 200) if bad.trace else ""
    assert not re.search("[\x1b\u202e]", out)


def test_markdown_pieces_are_escaped() -> None:
    """A table cell, a list mark and a fence in a text stay in their place; names with an underscore stay readable."""
    assert escape("a|b") == "a\\|b"
    assert escape("1. x") == "1\\. x"
    assert escape("put_effect _x_") == "put_effect \\_x\\_"
    assert code("a`b") == "``a`b``"


def test_nothing_is_loaded_from_elsewhere() -> None:
    """The page is self-contained: no address in src, href or url(), no import, and a policy that forbids the network."""
    page = render_html(evidence(), SMALL)
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", page) == []
    assert "url(" not in page
    assert "@import" not in page
    assert "fetch(" not in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page


def test_the_page_is_made_for_everybody() -> None:
    """Tables have captions and scopes, every link leads somewhere, ids are unique, and the lists can be reached by keyboard."""
    page = render_html(evidence(), SMALL)
    assert page.count("<caption>") == page.count("<table")
    assert re.findall(r"<th(?![^>]*scope=)[ >]", page) == []
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)
    assert '<html lang="en">' in page
    assert page.count('class="steps" tabindex="0"') == page.count('class="sequence"') > 0


def luminance(colour: str) -> float:
    """Relative luminance of `#rgb` or `#rrggbb` (WCAG)."""
    digits = colour[1:] if len(colour) > 4 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_text_colour_has_contrast() -> None:
    """In light, dark and print each text colour has at least 4.5:1 on each ground it can stand on (WCAG AA)."""
    style = (Path(__file__).parent.parent / "reports" / "page.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{([^}]*)\}", style)
    assert len(roots) == 3
    for root in roots:
        colour = dict(re.findall(r"--([\w-]+): (#\w+)", root))
        inks = ("ink", "soft", "link", "good", "fair", "some", "axiom", "none", "bad")
        pairs = [(ink, ground) for ink in inks for ground in ("paper", "wash", "bad-wash", "good-wash", "now")]
        for one, two in [*pairs, ("on-bad", "bad")]:
            light, dark = sorted((luminance(colour[one]), luminance(colour[two])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (one, two)


def test_a_diagram_shows_who_acts_and_cuts_the_workers_lane() -> None:
    """Writes go to their store, effects happen in the world, a crash ends the worker until the next claim."""
    picture = diagram(trace(DOUBLED, "k"))
    assert picture.lanes == LANES
    ways = [(step.kind, step.source, step.target) for step in picture.steps]
    assert ways[3:8] == [
        ("message", "worker", "ledger"),
        ("message", "worker", "event stream"),
        ("message", "worker", "world"),
        ("effect", "world", "world"),
        ("crash", "worker", "worker"),
    ]
    assert [step.lives["worker"] for step in picture.steps] == [
        "none",
        "begins",
        *["lives"] * 5,
        "crashes",
        "begins",
        "lives",
        "lives",
        "lives",
    ]
    assert picture.steps[-1].state["effects"] == "2"
    assert picture.steps[-1].changed == (("request", "sent", "other"), ("effects", "1", "2"))


def test_each_of_several_workers_has_a_lane() -> None:
    """Each rule stands in the lane of who acts; the take-over, what the overtaken worker still does, and the crash are seen."""
    picture = diagram(trace(SEVERAL, "k", start=""))
    assert picture.lanes == ("worker a", "worker b", *LANES[1:])
    assert [step.way for step in picture.steps][4:8] == [
        "worker b → effect store",
        "worker b",
        "worker a → world",
        "world",
    ]
    assert [step.rule for step in picture.steps][1:3] == ["claim", "fence effects, nobody leads"]
    assert picture.steps[7].rule == "world: serves, the request of worker a"
    lives = [[step.lives[lane] for step in picture.steps] for lane in picture.lanes[:2]]
    assert lives[0][1:] == ["begins", "lives", "lives", "falls", "overtaken", "overtaken", "overtaken", "ends", "none"]
    assert lives[1][3:] == ["begins", "lives", "crashes", *["none"] * 4]
    assert [(step.number, step.fallen) for step in picture.steps if step.fallen] == [(4, ["worker a"])]
    for text in (words(render_html(evidence(), SMALL)), render_markdown(evidence(), SMALL)):
        assert "worker a is overtaken" in text


def test_what_several_workers_break_is_said_of_the_one_who_does() -> None:
    """A property about a worker's place names the worker, which is not one that was overtaken."""
    state = "a.at=idle a.stands_effects=yes b.at=query b.stands_effects={} effect=first effects=2"
    told = [broken(trace(f"start | start | | {state.format(v)}", "k", start=""), ("P1", "P3")) for v in ("yes", "no")]
    assert [[line.partition(" ∈ ")[0] for line in lines] for lines in told] == [
        ["P1 broken: effects = 2", "P3 broken: b.at"],
        ["P1 broken: effects = 2"],
    ]


def test_a_person_has_a_lane_where_one_acts() -> None:
    """The sixth lane is there when a person acts, and a reply comes from the world."""
    picture = diagram(trace(RESOLVED, "k"))
    assert picture.lanes == (*LANES, "person")
    assert (picture.steps[6].source, picture.steps[6].target) == ("person", "event stream")
    assert (picture.steps[8].source, picture.steps[8].target) == ("world", "worker")


def test_a_counterexample_says_what_it_breaks() -> None:
    """The refuted claim stands with its hardened form, the broken property and the command that shows it."""
    for text in (words(render_html(evidence(), SMALL)), render_markdown(evidence(), SMALL)):
        assert "P1 broken: effects = 2" in text
        assert "Hardened form P1" in text
        assert "crashwindow explore X" in text


def test_terminal_tables_fit_a_narrow_terminal() -> None:
    """Summary and trace fit 80 columns; the last line of the summary is the headline."""
    assert shown(summary_table(evidence(), SMALL)).strip().endswith("Every verdict is the expected one.")
    assert "crash after the effect" in shown(trace_table(trace(DOUBLED, "model:k:0/1")))


def test_evidence_survives_a_round_trip(tmp_path: Path) -> None:
    """What is written is read back equal, byte by byte the second time, and fits the schema's names."""
    paths = write(evidence(), tmp_path / "new" / "run", SMALL)
    assert {"evidence.json", "evidence.schema.json", "report.html", "report.md"} <= set(paths)
    first = {name: path.read_bytes() for name, path in paths.items()}
    again = load(tmp_path / "new" / "run")
    assert again == evidence()
    write(again, tmp_path / "new" / "run", SMALL)
    assert {name: path.read_bytes() for name, path in paths.items()} == first
    schema = json.loads(first["evidence.schema.json"])
    assert set(json.loads(first[EVIDENCE])) == set(schema["properties"])


def _turned(value: Any) -> Any:
    """A value with the names of every object in the opposite order."""
    if isinstance(value, dict):
        return {name: _turned(value[name]) for name in reversed(value)}
    return [_turned(each) for each in value] if isinstance(value, list) else value


def test_no_form_knows_in_which_order_evidence_was_found() -> None:
    """In memory a search's order is in the evidence, in its file there is none: every form is the same of both, byte for byte."""
    rules = {"b": 1, "a": 2}
    nodes = _graph(["a", "b"], "b")["nodes"]
    edges = [{"source": "a", "target": "b", "rules": rules, "actors": ["worker"]}]
    told = {"policy": "hardened", "quotient": "", "states": 2, "transitions": 3, "nodes": nodes, "edges": edges}
    found = changed(graphs=[StateGraph.model_validate(told)])
    turned = RunEvidence.model_validate_json(json.dumps(_turned(json.loads(found.model_dump_json()))))
    read = RunEvidence.model_validate_json(forms(found, SMALL)[EVIDENCE])
    made = forms(found, SMALL)
    for other in (turned, read):
        assert [name for name, text in forms(other, SMALL).items() if text != made[name]] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not json", "is not JSON"),
        ("[1, 2]", "is not evidence: it has no schema_version"),
        ('{"schema_version": 1}', "has schema_version 1, this program reads 4"),
        ('{"schema_version": 4}', "errors, first at run: Field required"),
        ("[" * 100_000, "is not JSON"),
        ("\udcff", "is not JSON"),
    ],
)
def test_a_file_that_is_not_evidence_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """The message names the file, the reason and what to do."""
    file = tmp_path / "some.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(EvidenceError, match=re.escape(said)) as caught:
        load(file)
    assert str(file) in str(caught.value)
    assert caught.value.args[0].endswith(("run.", "again."))


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda told: told["run"].update(seconds=float("inf")), "Infinity is no number of JSON"),
        (lambda told: told["run"].update(seed=2**53), "9007199254740992 is beyond 9007199254740991"),
        (lambda told: told["run"].update(commit="\ud800"), "half of a character"),
        (lambda told: _in_end(told).update({"completed/" + "9" * 5000: 1}), "at most 200 characters"),
        (lambda told: told["windows"][0].update(predicted_in_end=["9" * 5000]), "at most 200 characters"),
        (lambda told: _first_trace(told).update(frames=[]), "a run that is shown has a step"),
        (lambda told: told.update(graphs=[_graph(["a"], "nowhere")]), "an edge ends at 'nowhere', which is no node"),
        (lambda told: told.update(graphs=[{**_graph(["a"], "a"), "nodes": [], "edges": []}]), "at least 1 item"),
        (lambda told: told.update(graphs=[_graph(["a", "a"], "a")]), "two nodes have one name"),
    ],
)  # fmt: skip
def test_evidence_that_nothing_can_be_made_of_is_refused(
    tmp_path: Path, alter: Callable[[dict[str, Any]], None], said: str
) -> None:
    """A number that is none, a run without a step, an edge to nowhere: they end no report in a traceback."""
    told = json.loads(evidence().model_dump_json())
    alter(told)
    file = tmp_path / "some.json"
    file.write_text(json.dumps(told))
    with pytest.raises(EvidenceError, match=re.escape(said)):
        load(file)


def _graph(names: list[str], target: str) -> dict[str, Any]:
    nodes = [{"name": name, "words": "", "states": 1, "starts": 0, "loops": 0, "crashes": 0} for name in names]
    edge = {"source": "a", "target": target, "rules": {"r": 1}, "actors": ["worker"]}
    return {"policy": "p", "quotient": "", "states": 1, "transitions": 1, "nodes": nodes, "edges": [edge]}


def _in_end(told: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = told["windows"][0]["observed"]["in_end"]
    return found


def _first_trace(told: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(item["trace"] for c in told["claims"] for item in c["items"] if item["trace"])
    return found


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing file is an error in words, too, and so is a directory without evidence."""
    with pytest.raises(EvidenceError, match="cannot be read"):
        load(tmp_path)


def test_the_page_allows_its_own_styles_and_no_others() -> None:
    """The page's policy names the hash of each style in it, those of the pictures included: a browser applies them all."""
    page = render_html(evidence(), SMALL)
    found = re.search(r"style-src ([^;]*);", page)
    assert found
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles]
    assert len(set(hashes)) == 3
    assert {f"'sha256-{each}'" for each in hashes} == set(unescape(found[1]).split())


@pytest.mark.parametrize(
    ("rule", "property_id", "rules"), [("C-ONCE", "C1", CONTRACT_RULES), ("G-ASK", "P9", OTHER_RULES)]
)
@pytest.mark.parametrize("verdict", [Verdict.REFUTED, Verdict.EXHAUSTED])
def test_what_needs_a_rule_is_what_this_run_refuted(
    verdict: Verdict, rule: str, property_id: str, rules: Mapping[str, str]
) -> None:
    """A rule's row shows the verdict of each property as this run found it; a rule that no item speaks of has no row."""
    name = f"WITHOUT-{rule}"
    without = claim(name, "as_written", "refuted", (property_id,), "REFUTED", policy="contract-without-C-ONCE")
    register = Register((*SMALL.claims, without), SMALL.assumptions)
    item = Item(checker="explore", verdict=verdict, statement=rule, command="crashwindow verify")
    result = ClaimResult(claim=name, expected=Verdict.REFUTED, items=[item])
    view = judge(changed(claims=[*claims(), result]), register)
    assert needs(view, rules) == {rule: [(name, property_id, verdict)]}
    assert f"{property_id} {verdict}" in render_markdown(view.evidence, register)
    assert f'href="#claim-{name}"' in render_html(view.evidence, register)


def test_the_register_is_read_by_document_and_section() -> None:
    """Own properties come first, then each document's sections in its order; every claim once, as written behind hardened."""
    view = judge(evidence(), REGISTER)
    parts = grouped(view)
    names = [name for name, _ in parts]
    assert names[0] == "Properties, tables and keys"
    assert names[1:] == [*dict.fromkeys(names[1:])]
    assert [name[:2] for name in names[1:]] == sorted(name[:2] for name in names[1:])
    assert names.index("S1 §1") < names.index("S1 §2") < names.index("S1 §5") < names.index("S4 §6")
    listed = [entry.claim.id for _, entries in parts for entry in entries]
    assert sorted(listed) == sorted(claim.id for claim in REGISTER.claims)
    for html in (render_html(evidence(), REGISTER), render_markdown(evidence(), REGISTER)):
        assert all(html.count(f"{name}</h3>") == 1 or f"### {name}\n" in html.replace("\\", "") for name in names)
