"""The cache of proofs: exact, never trusted for more, and asked before any solver is loaded."""

import importlib
import inspect
import json
import os
import py_compile
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
import z3

from crashwindow.__main__ import main
from crashwindow.checkers import evidence_code, proof_cache, proof_subjects, proofs, prove_cached, prove_loaded
from crashwindow.checkers.evidence_code import stale_bytecode
from crashwindow.checkers.proof_cache import (
    BUDGET,
    ROOT,
    SOURCES,
    Book,
    asking_code,
    default_folder,
    question_key,
    sources_key,
)
from crashwindow.checkers.proof_subjects import fleet_subject, fleet_subjects
from crashwindow.checkers.proofs import FLEETS, NAMES, prove_all
from crashwindow.checkers.prove import Proof, prove
from crashwindow.checkers.prove_cached import CachedSolver
from crashwindow.checkers.prove_encode import Encoding
from crashwindow.checkers.prove_fleet import prove_fleet
from crashwindow.checkers.prove_fleet_encode import State
from crashwindow.checkers.prove_fleet_solve import solve_fleet
from crashwindow.checkers.prove_solve import Obligation, Result, solve
from crashwindow.checkers.semantics_stages import CANARIES, planted
from crashwindow.model.claims import CLAIMS
from crashwindow.model.invariant import Clause
from crashwindow.model.machine import Machine, guard
from crashwindow.model.recorded import RECORDED_INVARIANT, RECORDED_PROPERTIES, build_recorded
from crashwindow.scenarios.fleet_policies import recorded_fleet

SMALL = "recorded-hardened"


def proved(book: Book, machine: Machine, budget: int = BUDGET) -> tuple[Proof, CachedSolver]:
    """The proof of a recorded value's machine over a book of answers, and what was asked for it."""
    solver = CachedSolver(book)
    return prove(machine, RECORDED_PROPERTIES, RECORDED_INVARIANT, budget=budget, solver=solver.solve), solver


def told(proof: Proof) -> list[tuple[str, str, dict[str, str]]]:
    """Everything that a proof rests on."""
    return [(r.obligation.name, r.answer, r.state) for r in proof.results]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the smallest proof is."""
    folder = tmp_path_factory.mktemp("cache")
    prove_all([SMALL], folder, lambda words: None)
    return folder


def test_what_is_known_is_not_asked(folder: Path) -> None:
    """A proof made from the book asks nothing, and is the proof that is made without one, answer by answer."""
    book = Book.open(folder / "answers" / f"{SMALL}.jsonl")
    again, solver = proved(book, build_recorded())
    assert (solver.asked, solver.reused) == (0, len(again.results))
    assert told(again) == told(prove(build_recorded(), RECORDED_PROPERTIES, RECORDED_INVARIANT))
    assert again.holds


def test_a_fleets_answers_are_kept_as_well(tmp_path: Path) -> None:
    """For any number of workers: the second proof asks nothing, and says the same."""
    book = Book(tmp_path / "fleet.jsonl")
    solvers = [CachedSolver(book), CachedSolver(book)]
    subject = recorded_fleet(), RECORDED_PROPERTIES, RECORDED_INVARIANT
    proofs = [prove_fleet(*subject, solver=solver.solve_fleet) for solver in solvers]
    assert solvers[0].asked > solvers[1].asked == 0
    assert proofs[0].holds
    assert proofs[0].text == proofs[1].text
    assert [r.answer for r in proofs[0].results] == [r.answer for r in proofs[1].results]


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    """What no book is to learn is not written into one; what is asked and answered is the same."""
    books = [Book(tmp_path / "kept.jsonl"), Book(tmp_path / "not kept.jsonl")]
    subject = build_recorded(), RECORDED_PROPERTIES, RECORDED_INVARIANT
    solvers = [CachedSolver(book, keeps=keeps) for book, keeps in zip(books, (True, False), strict=True)]
    proofs = [prove(*subject, solver=solver.solve) for solver in solvers]
    assert told(proofs[0]) == told(proofs[1])
    assert solvers[0].asked == solvers[1].asked == len(books[0].entries)
    assert not books[1].entries


def test_a_fleet_is_found_by_the_name_of_its_policy() -> None:
    """Each fleet of which something is proved is made by its own name, without any other."""
    assert [fleet_subject(name).fleet.name for name in FLEETS] == list(FLEETS)
    assert [each.fleet.name for each in fleet_subjects()] == list(FLEETS)


def test_what_another_proof_was_told_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two proofs of one process that ask alike: the second has the first one's answers, and its own book holds them all."""
    told: dict[str, Result] = {}
    books = [Book(tmp_path / "one.jsonl"), Book(tmp_path / "two.jsonl")]
    subject = build_recorded(), RECORDED_PROPERTIES, RECORDED_INVARIANT
    one = CachedSolver(books[0], told)
    first = prove(*subject, solver=one.solve)
    monkeypatch.setattr(prove_cached, "solve", interrupted)
    two = CachedSolver(books[1], told)
    second = prove(*subject, solver=two.solve)
    assert (two.asked, two.reused) == (one.asked, 0)
    assert [(r.obligation, r.answer) for r in second.results] == [(r.obligation, r.answer) for r in first.results]
    assert books[1].entries.keys() == books[0].entries.keys()


def test_one_changed_literal_asks_its_obligations_alone(folder: Path) -> None:
    """A rule that sees one value more: the questions that read differently are asked, no other, and the answers are right."""
    machine = build_recorded()
    before = prove(machine, RECORDED_PROPERTIES, RECORDED_INVARIANT)
    rule = machine.rule("llm: the first answer")
    changed = replace(rule, sees={**rule.sees, **guard(node="no")})
    mutant = replace(machine, rules=tuple(changed if r is rule else r for r in machine.rules))
    proof, solver = proved(Book.open(folder / "answers" / f"{SMALL}.jsonl"), mutant)
    goals = {r.obligation.goal for r in before.results}
    new = {r.obligation.goal: r.obligation.rule for r in proof.results if r.obligation.goal not in goals}
    assert solver.asked == len(new) > 1
    assert set(new.values()) == {rule.name}
    assert told(proof) == told(prove(mutant, RECORDED_PROPERTIES, RECORDED_INVARIANT))


@pytest.mark.parametrize("canary", [name for name, (policy, _, _) in CANARIES.items() if policy == SMALL])
def test_a_defect_is_found_over_a_warm_cache(folder: Path, canary: str) -> None:
    """A planted defect fails its proof although every answer about the machine without it is known."""
    book = Book.open(folder / "answers" / f"{SMALL}.jsonl")
    proof, solver = proved(book, planted(*CANARIES[canary]))
    assert not proof.holds
    assert 0 < solver.asked < 12
    assert solver.reused > 90


@pytest.mark.parametrize("part", range(6))
def test_a_key_is_all_that_the_answer_depends_on(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Assumptions, goal, expected answer, budget, the solver's version and the code that asks: another one is another key."""
    versions, code = ["5"], ["one"]
    monkeypatch.setattr(proof_cache, "solver_version", lambda: versions[-1])
    monkeypatch.setattr(proof_cache, "asking_code", lambda: code[-1])
    before = question_key("a", "g", "unsat", 1)
    assert question_key("a", "g", "unsat", 1) == before
    versions += ["6"] * (part == 4)
    code += ["another"] * (part == 5)
    other = question_key("ab"[part == 0], "gh"[part == 1], "sat" if part == 2 else "unsat", 1 + (part == 3))
    assert other != before


def test_a_mended_prover_does_not_believe_what_it_said_before(tmp_path: Path) -> None:
    """The hash of the code that asks is another one for another byte in any module between a question and its answer."""
    between = (CachedSolver, Encoding, State, solve, solve_fleet)
    files = [Path(inspect.getsourcefile(each) or "").relative_to(ROOT) for each in between]
    hashes = set()
    for number, changed in enumerate([None, *files]):
        root = tmp_path / str(number)
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text("mended" if file == changed else "", encoding="utf-8")
        hashes.add(asking_code(root))
    assert len(hashes) == 1 + len(files)


def test_a_damaged_entry_is_asked_anew(folder: Path, tmp_path: Path) -> None:
    """An entry that was edited, a line that is torn, and bytes that are no text are counted and not used; the rest is."""
    lines = (folder / "answers" / f"{SMALL}.jsonl").read_bytes().splitlines()
    edited = next(line for line in lines if b'"answer": "unsat"' in line)
    lines[lines.index(edited)] = edited.replace(b'"answer": "unsat"', b'"answer": "sat"')
    lines[-1] = lines[-1][:40]
    file = tmp_path / "answers.jsonl"
    file.write_bytes(b"\n".join([*lines, b"\xff\xfe", b"[1, 2]"]))
    book = Book.open(file)
    proof, solver = proved(book, build_recorded())
    assert (book.damaged, solver.asked) == (4, 2 if edited != lines[-1] else 1)
    assert proof.holds
    book.write()
    assert Book.open(file).damaged == 0


def test_no_answer_is_never_kept(tmp_path: Path) -> None:
    """Questions that the budget did not suffice for are asked again by the next proof; so is the whole proof."""
    book = Book(tmp_path / "answers.jsonl")
    poor, _ = proved(book, build_recorded(), budget=1)
    unanswered = {r.obligation.name for r in poor.results if r.answer == "unknown"}
    assert unanswered
    assert not unanswered & {entry["question"] for entry in book.entries.values()}
    rich, solver = proved(book, build_recorded(), budget=1)
    assert solver.asked >= len({r.obligation.goal for r in rich.results if r.obligation.name in unanswered})


def test_a_proof_without_all_answers_is_never_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One unknown among its answers, or an interruption: the whole proof is made anew, and then holds."""
    monkeypatch.setattr(prove_cached, "solve", silent)
    (first,), _ = prove_all([SMALL], tmp_path, lambda words: None)
    monkeypatch.setattr(prove_cached, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prove_all([SMALL], tmp_path, lambda words: None)
    monkeypatch.setattr(prove_cached, "solve", solve)
    (third,), _ = prove_all([SMALL], tmp_path, lambda words: None)
    (fourth,), _ = prove_all([SMALL], tmp_path, lambda words: None)
    assert not first.outcome.holds
    assert first.outcome.unmet
    assert (third.cached, third.outcome.holds, third.outcome.asked) == ("", True, 1)
    assert fourth.cached
    assert fourth.outcome == third.outcome


def silent(machine: Machine, clauses: Sequence[Clause], asked: Sequence[Obligation], *rest: object) -> Iterator[Result]:
    """A solver that says nothing to the first question."""
    for number, result in enumerate(solve(machine, clauses, asked)):
        yield replace(result, answer="unknown") if number == 0 else result


def interrupted(*arguments: object) -> Iterator[Result]:
    """A solver that is interrupted."""
    raise KeyboardInterrupt
    yield


def test_the_key_of_a_proof_is_every_source_that_it_depends_on(tmp_path: Path) -> None:
    """Another byte in one of its files, another file, and another budget are each another key."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "step.py").write_text("a = 1\n", encoding="utf-8")
    keys = {sources_key(BUDGET, tmp_path), sources_key(BUDGET + 1, tmp_path)}
    (tmp_path / "model" / "step.py").write_text("a = 2\n", encoding="utf-8")
    keys.add(sources_key(BUDGET, tmp_path))
    (tmp_path / "model" / "more.py").write_text("", encoding="utf-8")
    keys.add(sources_key(BUDGET, tmp_path))
    assert len(keys) == 4


LOADED = """
import sys
from crashwindow.checkers import proof_subjects, prove, prove_cached, prove_fleet
print(*sorted(m.__file__ for n, m in sys.modules.items() if n.startswith("crashwindow.") and m.__file__), sep="\\n")
"""


def test_no_source_of_a_proof_is_missing_from_its_key() -> None:
    """Every module of ours that is loaded when a proof is made is among the files whose bytes the key has."""
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = {Path(line).resolve() for line in ran.stdout.splitlines()}
    hashed = {file.resolve() for pattern in SOURCES for file in ROOT.glob(pattern)}
    assert {file.name for file in loaded - hashed} <= {"__init__.py"}


WARM = """
import sys
from crashwindow.__main__ import main
code = main(["prove", *sys.argv[1:]])
heavy = ("z3", "pydantic", "networkx", "rich", "importlib.metadata", "dataclasses", "datetime", "shutil")
print(sorted(n for n in sys.modules if n in heavy or n.startswith("crashwindow.model.")), code)
"""


def test_a_warm_proof_loads_neither_solver_nor_model(folder: Path) -> None:
    """`prove` says that it is cached, and since when, and has loaded nothing with which it could have proved anything, nor
    what would take longer to load than all the rest.
    """
    command = [sys.executable, "-c", WARM, SMALL, "--cache", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[] 0"
    assert "cached: 20" in ran.stdout
    assert "1 of 1 proofs hold; 1 cached, 0 made now" in ran.stdout


def test_the_solver_is_the_one_that_is_installed() -> None:
    """Its version, found without what reads metadata, is the one that the metadata and the solver itself tell."""
    told = proof_cache.solver_version().removeprefix("z3-solver ")
    assert told == version("z3-solver")
    assert told == z3.get_version_string() or told.startswith(f"{z3.get_version_string()}.")


def test_a_solver_that_was_installed_in_another_way_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata that are no dist-info are read by who knows them."""
    metadata = tmp_path / "z3_solver-4.8.12.egg-info"
    metadata.mkdir()
    (metadata / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: z3-solver\nVersion: 4.8.12\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    proof_cache.installed_solver.cache_clear()
    assert proof_cache.solver_version() == "z3-solver 4.8.12"
    monkeypatch.undo()
    proof_cache.installed_solver.cache_clear()


def test_proofs_that_are_made_side_by_side_are_those_made_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several proofs are made in processes of their own: each comes to what it comes to alone, in the order asked for, and is
    cached.
    """
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    names = [SMALL, "gate-hardened", SMALL]
    together, _ = prove_all(names, tmp_path, lambda words: None)
    alone = [prove_all([name], None, lambda words: None)[0][0] for name in names]
    assert [told.outcome._replace(seconds=0) for told in together] == [
        told.outcome._replace(seconds=0) for told in alone
    ]
    assert [bool(told.cached) for told in prove_all(names, tmp_path, lambda words: None)[0]] == [True] * 3


def test_every_claim_that_is_proved_has_a_proof() -> None:
    """The names are those of the policies whose claims name a proof, and of the fleets; and each has a machine."""
    proved_claims = {claim.policy for claim in CLAIMS if "prove" in claim.methods}
    assert set(NAMES) == proved_claims | set(FLEETS)
    assert sorted(s.fleet.name for s in proof_subjects.fleet_subjects()) == sorted(FLEETS)
    assert all(proof_subjects.subject(name).properties for name in NAMES if name not in FLEETS)


def test_the_command_fails_with_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 and the obligations that are not met, cached or not; 2 for what is no proof; `--no-cache` writes nothing."""
    broken = planted(*CANARIES["an answer is used before it is recorded"])
    subject = proof_subjects.Subject(broken, RECORDED_PROPERTIES, RECORDED_INVARIANT)
    monkeypatch.setattr(proof_subjects, "subject", lambda name: subject)
    for _ in range(2):
        assert main(["prove", SMALL, "--cache", str(tmp_path)]) == 1
        assert "keeps the invariant: sat" in capsys.readouterr().out
    assert main(["prove", "none"]) == 2
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert main(["prove", SMALL, "--no-cache"]) == 1
    assert not (tmp_path / "home").exists()
    assert default_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/crashwindow")
    assert default_folder({"HOME": "/h"}) == Path("/h/.cache/crashwindow")


@pytest.mark.parametrize("where", ["the folder", "answers", "proofs.jsonl", "answers/NAME.jsonl"])
def test_a_cache_that_cannot_be_written_is_refused_first(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, with file and remedy, before a proof is made: not behind minutes of work that is lost then."""
    cache = tmp_path / "cache"
    if where == "the folder":
        cache.write_text("a file", encoding="utf-8")
    elif where == "answers":
        cache.mkdir()
        (cache / where).write_text("a file", encoding="utf-8")
    else:
        (cache / where.replace("NAME", NAMES[-1])).mkdir(parents=True)

    def made(*given: object) -> None:
        raise AssertionError("a proof is made")

    monkeypatch.setattr(proofs, "_making", made)
    assert main(["prove", "--cache", str(cache)]) == 2
    said = capsys.readouterr().err
    assert str(cache) in said
    assert "name a directory with --cache, or use --no-cache" in said


def test_an_answer_says_what_it_is_of(folder: Path) -> None:
    """An entry names its question, solver and time: who reads the file sees what was asked."""
    entry = json.loads((folder / "answers" / f"{SMALL}.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert entry.keys() == {"question", "answer", "state", "rlimit", "seconds", "key", "solver", "date", "sha256"}


def test_bytecode_of_another_source_is_no_proof_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python runs bytecode whose source was replaced by one of the same size and time: answers are kept by the source's bytes, so
    nothing is proved, and the file is named. Bytecode that is only older than its source's inode is looked at, and taken. Of a
    module that another loader has loaded, which reads no such file, none is asked.
    """
    source = tmp_path / "planted_module.py"
    source.write_text("VALUE = 1\n", encoding="utf-8")
    py_compile.compile(str(source))
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("planted_module")
    monkeypatch.setitem(sys.modules, "planted_module", module)
    assert stale_bytecode(tmp_path) == []
    was = source.stat()
    os.utime(source, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert stale_bytecode(tmp_path) == []
    source.write_text("VALUE = 2\n", encoding="utf-8")
    os.utime(source, ns=(was.st_atime_ns, was.st_mtime_ns))
    (stale,) = stale_bytecode(tmp_path)
    assert stale == module.__cached__
    monkeypatch.setattr(module, "__loader__", object())
    assert stale_bytecode(tmp_path) == []


def test_stale_bytecode_ends_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the file and the remedy, and exits with 2."""
    monkeypatch.setattr(evidence_code, "stale_bytecode", lambda: ["model/x.pyc"])
    assert main(["prove", SMALL, "--no-cache"]) == 2
    assert "model/x.pyc: not made of the source that lies there: remove it, and prove again" in capsys.readouterr().err


def test_every_kind_of_source_is_in_the_hash_of_the_code() -> None:
    """Also what is no Python: the compiled search decides verdicts, and was left out once."""
    rooms = [evidence_code.ROOT / room for room in evidence_code.ROOMS]
    files = (path for room in rooms for path in room.rglob("*") if path.is_file())
    kept = [path for path in files if not {"out", "__pycache__"} & set(path.relative_to(evidence_code.ROOT).parts)]
    assert {path.suffix for path in kept} <= evidence_code.SOURCES


@pytest.mark.parametrize("command", [["prove", SMALL, "--no-cache"], ["prove", SMALL, "--health"], ["check", "P12"]])
@pytest.mark.parametrize("other", ["of another version", "in another place"])
def test_another_solver_answers_for_nobody(
    command: list[str], other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers and evidence name the solver that is installed: where another one is loaded, one that stands before it on the path,
    nothing is asked of it, and the command says what to do and exits with 2.
    """
    if other == "of another version":
        monkeypatch.setattr(z3, "get_version_string", lambda: "9.9.9-other")
    else:
        (tmp_path / "z3").mkdir()
        monkeypatch.setattr(z3, "__file__", str(tmp_path / "z3" / "__init__.py"))
    assert main(command) == 2
    said = capsys.readouterr().err
    assert (
        f"{z3.__file__} is loaded, z3 {z3.get_version_string()}, and {proof_cache.solver_version()} is installed"
        in said
    )
    assert "take the other one off PYTHONPATH" in said


def test_a_version_that_goes_on_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The distribution may count on behind the solver's version, by a number of its own: 4.8.1 is not a part of 4.8.12."""
    folder = Path(z3.__file__).parent.parent
    for told, loaded in (("4.8.12.0", "4.8.12"), ("4.8.12", "4.8.12")):
        monkeypatch.setattr(prove_loaded, "installed_solver", lambda told=told: (told, folder))
        monkeypatch.setattr(z3, "get_version_string", lambda loaded=loaded: loaded)
        prove_loaded.solver_as_installed()
    monkeypatch.setattr(z3, "get_version_string", lambda: "4.8.1")
    with pytest.raises(prove_loaded.AnotherSolverError):
        prove_loaded.solver_as_installed()


@pytest.mark.parametrize("meanwhile", [Book.write, Book.try_to_write])
def test_two_who_write_one_book_do_not_meet(
    meanwhile: Callable[[Book], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may write, or see whether it could, between what is written and its taking the book's place: the last one's
    book is whole, and nothing is left beside it.
    """
    one, other = Book(tmp_path / "proofs.jsonl"), Book(tmp_path / "proofs.jsonl")
    one.add("one", {"outcome": 1})
    other.add("other", {"outcome": 2})
    replace = Path.replace

    def interrupted(path: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        meanwhile(other)
        return path.replace(target)

    monkeypatch.setattr(Path, "replace", interrupted)
    one.write()
    kept = Book.open(one.file)
    assert (set(kept.entries), kept.damaged) == ({"one"}, 0)
    assert list(tmp_path.iterdir()) == [one.file]


@pytest.mark.parametrize("fails", ["write_text", "replace"])
def test_a_book_that_could_not_be_written_is_as_it_was(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, or Ctrl-C in the midst of writing: the older book is there, and nothing beside it."""
    book = Book(tmp_path / "proofs.jsonl")
    book.add("one", {"outcome": 1})
    book.write()
    book.add("another", {"outcome": 2})

    def interrupted(path: Path, *given: object, **named: object) -> None:
        path.open("a").close()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, fails, interrupted)
    with pytest.raises(KeyboardInterrupt):
        book.write()
    assert set(Book.open(book.file).entries) == {"one"}
    assert list(tmp_path.iterdir()) == [book.file]
