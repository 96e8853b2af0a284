"""The second opinion: cvc5 reads the written obligations, agrees with each, and sees what was tampered with."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import cvc5
import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import second, second_cvc5, second_stage
from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.prove import export, prove
from crashwindow.checkers.prove_fleet import export_fleet, prove_fleet
from crashwindow.checkers.second import NoSolverError, Opinion, Solver, files_of, read, recheck, sample, write_proofs
from crashwindow.checkers.second_script import Question, ScriptError, questions
from crashwindow.checkers.verify import Context, _run
from crashwindow.model.recorded import RECORDED_INVARIANT, RECORDED_PROPERTIES, build_recorded
from crashwindow.scenarios.fleet_policies import recorded_fleet

HARD = "(set-logic QF_NIA)\n(declare-const x Int)\n(declare-const y Int)\n(assert (= (* x x) (+ 3 (* 4 y))))"
"""What cvc5 looks for until its limit: no square is three more than a multiple of four."""
TRUSTED = (
    "(set-logic QF_FP)\n(declare-const x (_ FloatingPoint 8 24))\n(assert (fp.isNaN x))\n(assert (fp.isInfinite x))"
)
"""What cvc5 decides only with a step that its own proof checker has to trust."""


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    """cvc5, started once."""
    with Solver() as running:
        yield running


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's directory with the smallest machine's obligations, for one worker and for any number."""
    run = tmp_path_factory.mktemp("run")
    one = prove(build_recorded(), RECORDED_PROPERTIES, RECORDED_INVARIANT)
    export(one, run / "smt2" / "recorded-hardened")
    fleet = prove_fleet(recorded_fleet(), RECORDED_PROPERTIES, RECORDED_INVARIANT)
    export_fleet(fleet, run / "smt2" / "fleet-recorded.smt2")
    return run


def asked(tmp_path: Path, text: str) -> list[Question]:
    """The questions of a file with this text."""
    file = tmp_path / "some.smt2"
    file.write_text(text, encoding="utf-8")
    return list(questions(file))


def rule_kept(written: Path) -> str:
    """The text of an obligation whose `unsat` needs the invariant."""
    return next(written.rglob("*-rule-*.smt2")).read_text(encoding="utf-8")


def test_a_file_of_many_questions_is_taken_apart(tmp_path: Path) -> None:
    """Each question has what is in force at its `check-sat`, its own name and its own stated answer; nothing that was popped."""
    text = """; a machine: two questions
    (set-logic QF_LIA)
    (declare-const |a ; b| Int) ; 0=no (1=yes
    (assert (> |a ; b| 0))
    (push 1)
    ; first
    (set-info :status unsat)
    (assert (< |a ; b| 0))
    (check-sat)
    (pop 1)
    (push 1)
    ; second
    (set-info :status sat)
    (assert (= |a ; b| 7))
    (check-sat)
    (pop 1)"""
    first, second = asked(tmp_path, text)
    assert (first.number, first.name, first.status, second.name, second.status) == (
        1,
        "first",
        "unsat",
        "second",
        "sat",
    )
    assert second.commands == (
        "(set-logic QF_LIA)", "(declare-const |a ; b| Int)", "(assert (> |a ; b| 0))", "(assert (= |a ; b| 7))",
    )  # fmt: skip
    assert second.assumptions == first.assumptions == second.commands[:3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "nothing is asked"),
        ("(assert true)", "nothing is asked"),
        ("(assert true) (check-sat)", "states no answer"),
        ("(set-info :status unknown) (assert true) (check-sat)", "states no answer"),
        ("(set-info :status sat) (check-sat) (assert true) (check-sat)", "question 2 () states no answer"),
        ("(set-info :status sat) (assert (and true", "ends within a command"),
        ("(set-info :status sat) (assert true)) (check-sat)", "not opened"),
        ("(pop 1) (set-info :status sat) (check-sat)", "pop without a push"),
        ("(set-option :produce-proofs false) (set-info :status sat) (check-sat)", "is none of set-logic"),
        ("(reset) (set-info :status sat) (check-sat)", "is none of set-logic"),
    ],
)
def test_what_is_no_list_of_questions_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """A question without a stated answer, a torn file, and commands that could change what an answer means are named."""
    with pytest.raises(ScriptError, match=f"some.smt2: .*{words.replace('(', '[(]').replace(')', '[)]')}"):
        asked(tmp_path, text)


def test_cvc5_agrees_with_every_written_obligation(written: Path, solver: Solver) -> None:
    """Of one worker every tenth obligation, of any number a sample: cvc5 answers as stated, `unsat` with a checked proof.

    The deep profile of `verify` asks them all.
    """
    single, many = read(files_of([written / "smt2" / "recorded-hardened"])), list(written.glob("smt2/*.smt2"))
    chosen = [*list(single)[::10], *sample(many, 3, 3)]
    opinions = recheck(chosen, solver)
    assert {opinion.verdict for opinion in opinions} == {"agrees"}
    assert {opinion.answer for opinion in opinions} == {"sat", "unsat"}
    assert all(0 < opinion.units < solver.limit / 50 for opinion in opinions)


def negated(text: str) -> str:
    """The goal's negation in place of the goal."""
    before, _, goal = text.removesuffix("(check-sat)\n").rpartition("(assert ")
    return f"{before}(assert (not {goal})\n(check-sat)\n"


def without_the_invariant(text: str) -> str:
    """The clauses that are assumed are left out."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("(assert (not "))


def promised(text: str) -> str:
    """Another stated answer."""
    return text.replace(":status unsat", ":status sat")


@pytest.mark.parametrize("tamper", [negated, without_the_invariant, promised])
def test_a_tampered_file_is_seen(written: Path, tmp_path: Path, solver: Solver, tamper: Callable[[str], str]) -> None:
    """A negated goal, a dropped assumption and another stated answer are each a disagreement, by the file's name."""
    (question,) = asked(tmp_path, tamper(rule_kept(written)))
    opinion = recheck([question], solver)[0]
    assert opinion.verdict == "disagrees"
    assert "some.smt2" in opinion.sentence


def test_an_assumption_that_cannot_hold_is_seen(written: Path, tmp_path: Path, solver: Solver) -> None:
    """A false assumption makes every goal `unsat`, as stated; that it cannot hold is asked, and is a disagreement of its own."""
    tampered = rule_kept(written).replace("(set-logic QF_LIA)", "(set-logic QF_LIA)\n(assert (< 1 0))")
    honest = recheck(asked(tmp_path, rule_kept(written)), solver)
    said = recheck(asked(tmp_path, tampered), solver)
    assert [opinion.verdict for opinion in honest] == ["agrees", "agrees"]
    assert [opinion.verdict for opinion in said] == ["agrees", "disagrees"]
    assert said[1].question.name == "what is assumed can hold"


def test_no_answer_is_never_a_pass(written: Path, tmp_path: Path, solver: Solver) -> None:
    """Beyond the limit, text that cvc5 cannot read, and a proof that needs trust: no answer, and the next one is answered."""
    plain = rule_kept(written)
    with Solver(limit=50_000) as short:
        unknown = short.ask(asked(tmp_path, f"{HARD}\n(set-info :status unsat)\n(check-sat)")[0])
    torn = solver.ask(asked(tmp_path, plain.replace("(declare-fun", "(declare-const", 1))[0])
    trusted = solver.ask(asked(tmp_path, f"{TRUSTED}\n(set-info :status unsat)\n(check-sat)")[0])
    assert [(o.answer, o.verdict) for o in (unknown, torn, trusted)] == [
        ("unknown", "no answer"), ("error", "no answer"), ("ended", "no answer"),
    ]  # fmt: skip
    assert solver.ask(asked(tmp_path, plain)[0]).verdict == "agrees"


def test_a_model_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `sat` costs what it costs to evaluate the assertions under its model: without `check-models` it would cost less."""
    script = "(set-logic QF_LIA)(declare-const x Int)(declare-const y Int)(assert (< x (+ y 1)))(assert (> (* 2 x) 7))"
    checked = second_cvc5.ask(script, 1_000_000, proof=False)
    monkeypatch.setitem(second_cvc5.OPTIONS, "check-models", "false")
    believed = second_cvc5.ask(script, 1_000_000, proof=False)
    assert checked["answer"] == believed["answer"] == "sat"
    assert int(checked["units"]) > int(believed["units"])


def test_what_cvc5_is_told_is_what_it_does() -> None:
    """The options that the page promises, as we give them and as cvc5 holds them once it has answered.

    Given alone, `check-proofs` shows in no statistic, and `check-proofs-complete` turns it on: the value is all there is to see.
    """
    told = second_cvc5.OPTIONS
    promised = {
        "produce-proofs": "true", "check-proofs": "true", "check-proofs-complete": "true",
        "proof-granularity": "dsl-rewrite", "produce-models": "true", "check-models": "true",
    }  # fmt: skip
    assert told.items() >= promised.items()
    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in told.items():
        solver.setOption(name, value)
    solver.assertFormula(solver.mkBoolean(False))
    assert solver.checkSat().isUnsat()
    assert {name: solver.getOption(name) for name in promised} == promised


def test_a_question_is_asked_once(written: Path, tmp_path: Path, solver: Solver) -> None:
    """The same question in two files costs one answer, and both have it."""
    question = asked(tmp_path, rule_kept(written))[0]
    first, again, _ = recheck([question, question], solver)
    assert first.answer == again.answer == "unsat"
    assert again.seconds == 0.0 < first.seconds


def test_proofs_are_written_for_an_external_checker(written: Path, tmp_path: Path, solver: Solver) -> None:
    """With each `unsat` stands its proof, in cvc5's calculus, beside the question as one that stands alone."""
    opinions = recheck(asked(tmp_path, rule_kept(written)), solver, proofs=True)
    assert write_proofs(opinions, tmp_path / "proofs") == 1
    (proof,), (question,) = (tmp_path / "proofs").rglob("*.cpc"), (tmp_path / "proofs").rglob("*.smt2")
    assert proof.read_text(encoding="utf-8").startswith(f'(reference "{question.name}")')
    assert proof.read_text(encoding="utf-8").count("(step ") > 10
    assert question.read_text(encoding="utf-8").endswith("(check-sat)\n")


def test_the_command_says_what_it_found(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`recheck` exits 0 where all is as stated, 1 where something is not, 2 where there is nothing to read."""
    file = tmp_path / "one" / "some.smt2"
    file.parent.mkdir()
    file.write_text(rule_kept(written), encoding="utf-8")
    assert main(["recheck", str(file)]) == 0
    assert "2 questions, 2 answered as stated; 1 unsat, each with a proof" in capsys.readouterr().out
    file.write_text(promised(rule_kept(written)), encoding="utf-8")
    assert main(["recheck", str(tmp_path)]) == 1
    assert "disagrees: " in capsys.readouterr().out
    file.write_text("(check-sat)", encoding="utf-8")
    assert main(["recheck", str(file)]) == main(["recheck", str(tmp_path / "none")]) == 2
    file.unlink()
    assert main(["recheck", str(tmp_path)]) == 2


def opinions_of(run: Path, answer: Callable[[Question], str]) -> list[Opinion]:
    """What a solver would have said to every question of the run that answers in this way."""
    return [Opinion(question, answer(question), 1, 0.0) for question in read(files_of([run]))]


@pytest.mark.parametrize(
    ("answer", "sampled", "verdict"),
    [
        (lambda q: q.status, False, Verdict.PROVED),
        (lambda q: q.status, True, Verdict.TESTED),
        (lambda q: "sat", False, Verdict.ERROR),
        (lambda q: "unknown" if q.number == 1 and "follows" in q.name else q.status, False, Verdict.ERROR),
    ],
)
def test_one_question_not_answered_as_stated_fails_the_claim(
    written: Path, answer: Callable[[Question], str], sampled: bool, verdict: Verdict
) -> None:
    """A claim is proved again only where all its obligations are; a sample is tested; disagreement and silence are errors."""
    said = opinions_of(written, answer)
    found = second_stage.item(
        ["recorded-hardened"], second_stage.by_proof(said, written / "smt2"), written / "smt2", sampled, "cvc5"
    )
    assert found.verdict is verdict


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("hardened-windows", "T-WINDOW"),
        ("hardened-ambiguity.smt2", "T-AMBIGUOUS-EXACT"),
        ("hardened-ambiguity-twins.smt2", "T-AMBIGUOUS-EXACT"),
        ("hardened-ambiguity-runs.smt2", "T-AMBIGUOUS-EXACT"),
        ("recorded-hardened-found", "P12"),
        ("fleet-recorded-lifted.smt2", "P12-ANY"),
        ("fleet-recorded-found.smt2", "P12-ANY"),
    ],
)
def test_what_cvc5_says_of_any_proof_of_a_run_is_heard(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, claim: str
) -> None:
    """The table's rows, the ambiguity class and the found invariants have files of their own: a disagreement there is an error of
    a claim as well.
    """
    (tmp_path / "smt2").mkdir()
    kind = "fleet-recorded.smt2" if name.endswith(".smt2") else "recorded-hardened"
    (tmp_path / "smt2" / name).symlink_to(written / "smt2" / kind)
    wrong = [Opinion(question, "unknown", 1, 0.0) for question in read(files_of([written / "smt2" / kind]))]
    placed = [replace(each, question=replace(each.question, file=moved(each, tmp_path, kind, name))) for each in wrong]
    monkeypatch.setattr(second_stage, "recheck", lambda *asked: placed)
    monkeypatch.setattr(second_stage, "files_of", lambda folders: [tmp_path / "smt2" / name / "1.smt2"])
    monkeypatch.setattr(second_stage, "sample", lambda *asked: [])
    monkeypatch.setattr(second_stage, "PLANTED", {})
    found = second_stage.second_opinion(Context("quick", 1, tmp_path, lambda words: None))
    assert found.errors == []
    assert any("does not agree" in item.statement for item in found.items[claim] if item.verdict is Verdict.ERROR)


def moved(opinion: Opinion, run: Path, kind: str, name: str) -> Path:
    """Where a question would stand, had its proof another name."""
    parts = opinion.question.file.parts
    return run.joinpath("smt2", name, *parts[parts.index(kind) + 1 :])


def test_obligations_of_no_claim_fail_the_run(written: Path, tmp_path: Path) -> None:
    """A proof that no claim is known to rest on would be asked of cvc5 and nobody would hear the answer: the run says so."""
    (tmp_path / "smt2").mkdir()
    (tmp_path / "smt2" / "stray.smt2").symlink_to(written / "smt2" / "fleet-recorded.smt2")
    found = second_stage.second_opinion(Context("quick", 1, tmp_path, lambda words: None))
    assert [words for words in found.errors if words.startswith("smt2/stray: no claim rests on these obligations")]


def test_a_proof_without_files_fails_its_claims(written: Path) -> None:
    """The stage speaks of each claim with a proof; where its obligations were not written that is an error, not silence."""
    said = second_stage.by_proof(opinions_of(written, lambda q: q.status), written / "smt2")
    due = [(claim.id, second_stage.own_proofs(claim)) for claim in second_stage.PROVED]
    items = {claim: second_stage.item(names, said, written / "smt2", False, "cvc5") for claim, names in due}
    assert {name for name, item in items.items() if item.verdict is Verdict.PROVED} == {"P12"}
    assert "no obligation was written for hardened" in items["P1"].statement
    assert "fleet-gate" in items["P1-ANY"].statement


def test_the_quick_profile_asks_a_sample(written: Path, tmp_path: Path) -> None:
    """`verify` starts cvc5 on the run's own files, some of each proof, and says how many; and on what it must not agree to."""
    (tmp_path / "smt2" / "recorded-hardened").mkdir(parents=True)
    for file in written.glob("smt2/recorded-hardened/*.smt2"):
        (tmp_path / "smt2" / "recorded-hardened" / file.name).symlink_to(file)
    found = second_stage.second_opinion(Context("quick", 1, tmp_path, lambda words: None))
    (item,) = found.items["P12"]
    assert item.verdict is Verdict.TESTED
    assert item.figures["obligations"] in (second_stage.EACH + 1, second_stage.EACH + 2)
    assert item.figures["proofs checked"] == second_stage.EACH
    assert json.loads(item.model_dump_json())["checker"] == "reprove"
    assert [mutant.killed_by for mutant in found.mutants] == ["reprove"] * len(second_stage.PLANTED)


def test_without_cvc5_nothing_is_claimed(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The extra may be missing: the command says what to install, `verify` that there is no second opinion."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoSolverError):
        Solver()
    assert main(["recheck", str(written)]) == 2
    assert "pip install 'crashwindow[second]'" in capsys.readouterr().err
    found = second_stage.second_opinion(Context("quick", 1, written, lambda words: None))
    assert {item.verdict for items in found.items.values() for item in items} == {Verdict.NOT_CHECKED}
    assert found.mutants == []


MORTAL = """import json, pathlib, sys
died = pathlib.Path({died!r})
if died.exists():
    sys.exit(1)
print(json.dumps({{"version": "that dies"}}), flush=True)
for number, line in enumerate(sys.stdin, 1):
    if number == {last}:
        died.touch()
    print(json.dumps({{"answer": "sat", "units": 0, "proof": ""}}), end={ends!r} if number == {last} else "\\n", flush=True)
    if number == {last}:
        sys.exit(1)
"""
"""A solver that gives some wrong answers, ends at the last of them, and cannot be started again."""


@pytest.mark.parametrize("ends", ["", "\n"], ids=["within an answer", "behind an answer"])
def test_a_solver_that_dies_takes_no_answer_with_it(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """Each disagreement that was heard before stays one, whom nobody could ask is an error and never "not checked", and the run
    fails: so its stage is not kept either, and a run that goes on asks again.
    """
    (tmp_path / "mortal.py").write_text(MORTAL.format(died=str(tmp_path / "died"), last=4, ends=ends), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(second, "MODULE", "mortal")
    found = second_stage.second_opinion(Context("quick", 1, written, lambda words: None))
    assert {item.verdict for items in found.items.values() for item in items} == {Verdict.ERROR}
    assert "stated unsat, cvc5: sat" in found.items["P12"][0].statement
    assert [mutant.killed_by for mutant in found.mutants] == [None] * len(second_stage.PLANTED)
    (error,) = found.errors
    assert error.startswith("no second opinion on the rest: its process ended with 1, and cvc5 is installed and cannot")


def test_a_cvc5_that_is_installed_and_cannot_be_started_fails_the_run(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that cannot be imported is not one that is not there: an error beside each claim and of the run; `recheck` exits 2."""
    (tmp_path / "cvc5.py").write_text("raise ImportError\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = _run(second_stage.SECOND_OPINION, Context("quick", 1, written, lambda words: None))
    assert {item.verdict for items in found.items.values() for item in items} == {Verdict.ERROR}
    assert "cvc5 is installed and cannot be started" in found.errors[0]
    assert main(["recheck", str(written)]) == 2
    assert "cvc5 is installed and cannot be started" in capsys.readouterr().err
