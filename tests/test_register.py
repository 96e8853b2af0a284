"""`crashwindow claims` and `crashwindow why`: the register can be read, filtered and asked, with evidence and without."""

import io
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.console import Console, RenderableType

from crashwindow.__main__ import main
from crashwindow.checkers.evidence import ClaimResult, RunEvidence, Verdict
from crashwindow.checkers.proofs import NAMES
from crashwindow.model.claim_types import PROPERTY_BY_ID, Kind
from crashwindow.model.claims import CLAIM_BY_ID, CLAIMS
from crashwindow.model.refutation import FIELDS, LIVE_REFUTED, REFUTES, formal, glossary, refuted_by
from crashwindow.reports.files import load
from crashwindow.reports.register import Filters, RegisterError, chosen, named, register_tables, why_text
from crashwindow.reports.view import listing
from crashwindow.reports.why import explain, related, why_data

GOLDEN = Path(__file__).parent / "golden"


def some_evidence() -> RunEvidence:
    """The golden evidence: of the whole register it says something about P1 and P2 alone, and of claims that are not in it."""
    return load(GOLDEN / "evidence.json")


def shown(renderable: RenderableType, width: int = 80) -> str:
    """What a terminal of some width shows, on one line; no line is longer than it is wide."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(renderable)
    assert all(len(line) <= width for line in out.getvalue().splitlines())
    return " ".join(out.getvalue().split())


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command."""
    code = main(argv)
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run lies in the working directory."""
    monkeypatch.chdir(tmp_path)


def test_every_kind_of_claim_says_what_would_refute_it() -> None:
    """The table has each kind once, and each claim of the register has a sentence that names its policy where a run breaks it."""
    assert set(REFUTES) == set(get_args(Kind))
    for claim in CLAIMS:
        said = refuted_by(claim)
        assert said[0].endswith(".")
        assert "{" not in said[0]
        assert (claim.expected == "REFUTED") == ("held for refuted" in said[0])
    assert refuted_by(CLAIM_BY_ID["NO-FINITE-FAULTS"])[0] == LIVE_REFUTED.format(policy="'hardened'")


def test_each_guard_of_a_property_is_something_that_would_refute_its_claim() -> None:
    """Nothing that a property forbids is lost, and every field it speaks of is explained."""
    for claim in CLAIMS:
        stated = [PROPERTY_BY_ID[name] for name in claim.properties]
        forbidden = sum(len(p.never) + len(p.grows) + len(p.absorbing) or 1 for p in stated)
        assert len(refuted_by(claim)) == 1 + forbidden
        spoken = {n for p in stated for g in (*p.never, *p.absorbing, *p.occurs) for n in g}
        assert spoken <= set(glossary(claim)), claim.id
    assert refuted_by(CLAIM_BY_ID["P1"])[1] == "P1: a reachable state in which effects = 2"
    assert set(FIELDS) == {"contract", "gate", "compensation", "recorded"}


def test_what_only_grows_is_said_of_counts_as_of_counts() -> None:
    """A count may grow again; a result that was written may not be replaced."""
    said = formal(CLAIM_BY_ID["P7"])[0].forbids
    assert "a step that lowers `closed`" in said
    assert "a step that takes back or changes `finished`" in said
    assert any(line.startswith("a write to a store once job") for line in said)


def test_a_proof_that_is_named_can_be_asked_for() -> None:
    """Where a claim is proved by induction, `why` names a command that `crashwindow prove` takes."""
    register = listing(None)
    for claim in CLAIMS:
        commands = explain(claim, register, found=False).commands
        proofs = [command.split()[2:] for command in commands if command.startswith("crashwindow prove")]
        assert bool(proofs) == claim.inductive
        assert all(name in NAMES for names in proofs for name in names)
        assert bool(commands) == bool(claim.methods)


@pytest.mark.parametrize(
    ("claim", "rows"),
    [
        ("T-AMBIGUOUS", ["1c", "2", "2x"]),
        ("S1-1-ORDER", []),
        ("S1-2-WINDOW3", ["3"]),
        ("TAKE-OVER", ["1b", "1x"]),
        ("P12", []),
    ],
)
def test_a_claim_leads_to_the_windows_that_it_is_about(claim: str, rows: list[str]) -> None:
    """By the seed's row that it cites, by the rule of recovery that its requirement names, or by what it states."""
    assert [window.id for window in related(CLAIM_BY_ID[claim])] == rows


def test_the_whole_table_belongs_to_the_claim_about_it() -> None:
    """T-WINDOW is about every window."""
    assert len(related(CLAIM_BY_ID["T-WINDOW"])) > 20


def test_without_evidence_no_verdict_is_shown() -> None:
    """The register alone says what is expected, and that nothing was found."""
    register = listing(None)
    text = shown(register_tables(chosen(register, Filters(), found=False), found=False))
    assert sum(text.count(f"expected {verdict}") for verdict in Verdict) == len(CLAIMS)
    assert "best PROVED" not in text
    told = explain(CLAIM_BY_ID["P1"], register, found=False)
    assert "There is no evidence here" in shown(why_text(told))
    data = why_data(told)
    assert (data["best"], data["weakest"], data["evidence"], data["guaranteed"]) == (None, None, None, False)


def test_with_evidence_best_and_weakest_stand_side_by_side() -> None:
    """A proved claim whose weakest link is a test shows both; one that came out otherwise says so."""
    register = listing(some_evidence())
    text = shown(register_tables(chosen(register, Filters(verdict="PROVED"), found=True), found=True), 200)
    assert "expected PROVED" in text
    assert "best PROVED" in text
    assert "weakest TESTED" in text
    assert "✗ not as expected" not in text
    assert "✗ not as expected" in shown(register_tables(chosen(register, Filters(), found=True), found=True))


def test_why_says_everything_about_a_claim() -> None:
    """Sentence, source with hash, requirement, guards, antecedents, assumptions with owners, items, commands, siblings."""
    register = listing(some_evidence())
    claim = CLAIM_BY_ID["P1"]
    text = shown(why_text(explain(claim, register, found=True)), 200)
    for said in (
        claim.sentence,
        *(c.sha256 for c in claim.citations),
        "S1 §2, line 30",
        "T-PROP P1",
        "never: effects = 2",
        "and this occurs: effects = 1 ∧ open = 2",
        "effects: how often the effect happened",
        "Kept by: whoever sets quiet_seconds of a tool.",
        "best PROVED (prove, of the model)",
        "weakest TESTED (crash, on the runtime)",
        "Inductive over 44 clauses. (obligations 131; solver z3)",
        "crashwindow prove X",
        "a reachable state in which effects = 2",
        "S1-2-ROW2 (as written)",
        "not applied in this run monitor walk",
    ):
        assert said in text, said


def test_why_of_a_refuted_claim_names_the_hardened_one() -> None:
    """An as_written claim stands beside the one that holds; a claim that nothing checks says why."""
    register = listing(None)
    assert "S4-5.2-STABLE (hardened)" in shown(why_text(explain(CLAIM_BY_ID["S4-5.2"], register, found=False)))
    text = shown(why_text(explain(CLAIM_BY_ID["S3-SIZE"], register, found=False)), 200)
    assert "none: It is an estimate about another system's data." in text
    assert "Nothing here looks for a refutation." in text


@pytest.mark.parametrize(
    ("filters", "test"),
    [
        (Filters(variant="as_written"), lambda c: c.variant == "as_written"),
        (Filters(verdict="not-checked"), lambda c: c.expected == "NOT CHECKED"),
        (Filters(document="S3"), lambda c: any(x.document == "S3" for x in c.citations)),
        (Filters(requirement="T-RECOVER"), lambda c: "T-RECOVER" in c.requirement),
        (Filters(requirement="P1"), lambda c: c.requirement == "T-PROP P1"),
        (Filters(search="LEDGER committed"), None),
    ],
)
def test_filters_keep_what_is_asked_for(filters: Filters, test: Any) -> None:
    """Each filter keeps exactly the claims that have what it names, and there are some, and others."""
    kept = {entry.claim.id for _, entries in chosen(listing(None), filters, found=False) for entry in entries}
    assert 0 < len(kept) < len(CLAIMS)
    if test:
        assert kept == {claim.id for claim in CLAIMS if test(claim)}
    else:
        said = [repr(CLAIM_BY_ID[name]).casefold() for name in kept]
        assert all("ledger" in text and "committed" in text for text in said)


def test_a_verdict_is_the_one_found_where_there_is_evidence() -> None:
    """P1 is PROVED in the evidence; what nothing was found about is NOT CHECKED."""
    register = listing(some_evidence())
    proved = [e.claim.id for _, some in chosen(register, Filters(verdict="proved"), found=True) for e in some]
    assert proved == ["P1"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["claims", "--verdict", "SURE"], "there is no verdict 'SURE'; there are PROVED, EXHAUSTED"),
        (["claims", "--requirement", "T-NONE"], "no claim states the requirement 'T-NONE'; there are C-ACTOR"),
        (["claims", "P1", "--document", "S1"], "P1 is one claim: leave the filters out"),
        (["why", "P99"], "there is no claim 'P99', but P9: `crashwindow claims` lists them all"),
    ],
)
def test_an_unknown_value_is_named(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and what there is."""
    code, _, err = run(capsys, *argv)
    assert code == 2
    assert said in err


@pytest.mark.parametrize("argv", [["--document", "S9"], ["--variant", "hard"]])
def test_an_unknown_choice_is_named(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Where there are few values, the usage lists them."""
    with pytest.raises(SystemExit, match="2"):
        main(["claims", *argv])
    assert "invalid choice" in capsys.readouterr().err


def test_claims_and_why_speak_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The same claims, as data; a source has its hash."""
    code, out, _ = run(capsys, "claims", "--document", "S2", "--json")
    rows = json.loads(out)["claims"]
    assert code == 0
    assert {source["document"] for row in rows for source in row["sources"]} >= {"S2"}
    assert all(len(source["sha256"]) == 64 for row in rows for source in row["sources"])
    file = str(GOLDEN / "evidence.json")
    told = json.loads(run(capsys, "why", "P1", "--json", "--evidence", file)[1])
    assert (told["best"], told["weakest"], told["guaranteed"]) == ("PROVED", "TESTED", True)
    assert told["evidence"][0]["command"] == "crashwindow prove X"
    assert json.loads(run(capsys, "claims", "P1", "--json", "--evidence", file)[1]) == told


def test_evidence_that_nobody_named_and_nobody_can_read_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The newest run is of an older schema: the register is shown, without verdicts, and with the reason."""
    old = tmp_path / "reports" / "out" / "20200101-000000" / "evidence.json"
    old.parent.mkdir(parents=True)
    old.write_text('{"schema_version": 1}')
    code, out, _ = run(capsys, "claims", "--search", "P14")
    assert code == 0
    assert "no verdicts: " in out
    assert "schema_version 1" in out
    assert run(capsys, "claims", "--evidence", str(old))[0] == 2


def test_an_error_in_the_evidence_is_never_a_pass() -> None:
    """One failed checker makes P1 not as expected, and its verdict ERROR, in list and detail."""
    whole = some_evidence()
    broken = whole.claims[0].items[0].model_copy(update={"verdict": Verdict.ERROR, "statement": "no answer"})
    first = ClaimResult(claim="P1", expected=Verdict.PROVED, items=[broken, *whole.claims[0].items[1:]])
    register = listing(whole.model_copy(update={"claims": [first, *whole.claims[1:]]}))
    told = explain(named("P1", register), register, found=True)
    assert "ERROR by prove: no answer" in shown(why_text(told), 200)
    assert "A report may not call it guaranteed." in shown(why_text(told), 200)
    assert [e.claim.id for _, some in chosen(register, Filters(verdict="ERROR"), found=True) for e in some] == ["P1"]


def test_a_claim_that_is_not_there_is_an_error() -> None:
    """`named` lists what there is."""
    with pytest.raises(RegisterError, match="there is no claim 'X'"):
        named("X", listing(None))
