"""The solver's own proof of the ambiguity class: it says yes of the machine, and no to everything that is not as it says."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from crashwindow.checkers.evidence import Verdict
from crashwindow.checkers.necessity_stage import ambiguity, blinded, classify
from crashwindow.checkers.prove_ambiguity import CLASS, MORE, Pair, Run, Seen, Solved, asked, export, proved, stores
from crashwindow.checkers.second import Solver, files_of, read, recheck
from crashwindow.checkers.stages import STAGES
from crashwindow.model.invariant import Clause
from crashwindow.model.machine import guard
from crashwindow.tests.sampled import sampled
from crashwindow.tests.spaces import space_of


@cache
def pairs() -> tuple[Pair, ...]:
    """The runs to the looks of the class."""
    return tuple(classify(space_of()).pairs)


def test_the_class_is_proved_of_the_rows() -> None:
    """The invariant is inductive with two clauses more, and every question has the answer that the theorem needs."""
    found = proved(pairs())
    assert found.problems == ()
    assert len(pairs()) == 192
    assert found.steps == 41
    assert len(found.results) == 772


def asking(**change: object) -> Solved:
    """The questions with something else seen, or another class."""
    seen = stores(space_of().machine)
    return asked(pairs(), replace(seen, **change))  # type: ignore[arg-type]


def without(name: str) -> Solved:
    """A recovery that does not see a field."""
    return asking(fields=tuple(n for n in stores(space_of().machine).fields if n != name))


def runs(change: Callable[[list[Pair]], list[Pair]]) -> Solved:
    """The questions with other runs."""
    return asked(change(list(pairs())), stores(space_of().machine))


def shortened(run: Run) -> Run:
    """A run from which a step is taken away, and what it led to with it."""
    return Run((*run.states[:4], *run.states[5:]), (*run.rules[:3], *run.rules[4:]))


def elsewhere(run: Run) -> Run:
    """A run that begins where none does."""
    return Run(({**run.states[0], "ledger": "committed"}, *run.states[1:]), run.rules)


FREE = tuple({name: values for name, values in g.items() if name != "idempotent"} for g in CLASS)
TWO_LOOKS = "outside, two states that look the same need opposite answers: sat"
NOT_SHOWN = " do not show that either answer is wrong: sat"
MISSED = "a state of the class looks like no end of a run: sat"
NO_STEP = "a step of a run is none of the machine's: sat"
BREAKS: dict[str, tuple[Callable[[], Solved], str]] = {
    "it sees the world": (lambda: asking(fields=(*stores(space_of().machine).fields, "effects", "wire")), NOT_SHOWN),
    "it does not see what is open": (lambda: without("open"), TWO_LOOKS),
    "it does not see what the tool declares": (lambda: without("idempotent"), TWO_LOOKS),
    "a class without a window": (lambda: asking(members=CLASS[:1]), TWO_LOOKS),
    "a class that is empty": (lambda: asking(members=(guard(open="0", effects="1|2"),)), TWO_LOOKS),
    "a class of tools that are idempotent": (lambda: asking(members=FREE), MISSED),
    "an invariant that is too weak": (lambda: asked(pairs(), stores(space_of().machine), MORE[:1]), MISSED),
    "a look that no run leads to": (lambda: runs(lambda found: found[1:]), MISSED),
    "no run at all": (lambda: runs(lambda found: []), MISSED),
    "the answers exchanged": (lambda: runs(lambda found: [(other, one) for one, other in found]), NOT_SHOWN),
    "the same run twice": (lambda: runs(lambda found: [(one, one) for one, _ in found]), NOT_SHOWN),
    "runs to two looks": (lambda: runs(lambda found: [(found[0][0], found[-1][1]), *found[1:]]), NOT_SHOWN),
    "a run without one of its steps": (lambda: runs(lambda found: [(shortened(found[0][0]), found[0][1]), *found[1:]]), NO_STEP),
    "a run from where none begins": (lambda: runs(lambda found: [(elsewhere(found[0][0]), found[0][1]), *found[1:]]), NO_STEP),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.deep) if n % 3 else each for n, each in enumerate(BREAKS)]
)
def test_what_is_not_so_is_found(name: str) -> None:
    """Whatever is changed in what is seen, in the class, in the invariant or in the runs: a question has the other answer."""
    make, words = BREAKS[name]
    assert any(words in problem for problem in make().problems)


def test_an_invariant_that_is_none_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one of the clauses more is not inductive the class is not proved, whatever else is answered."""
    wrong = Clause("nothing is ever open", guard(open="1|2"), "it is not so")
    monkeypatch.setattr("crashwindow.checkers.prove_ambiguity.MORE", (*MORE, wrong))
    assert any(words.endswith("keeps the invariant: sat") for words in proved(pairs()).problems)


def test_an_assumption_that_cannot_hold_is_told() -> None:
    """Under an invariant that nothing satisfies nothing is there to be decided: the questions are not met by that."""
    nothing = Clause("nothing is", guard(), "it is not so")
    found = asked(pairs(), stores(space_of().machine), (*MORE, nothing))
    assert "inside, both answers may be wrong: unsat" in found.problems
    assert "outside, not to execute may be wrong: unsat" in found.problems


def test_the_item_says_what_was_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver has an item of its own beside the search's: with its own sentence. Where it fails nothing is refuted
    by that, and where it is silent it is an error.

    It rests on files, in which every question stands.
    """
    told, (tried, solved) = ambiguity(space_of(), classify(space_of()), tmp_path / "smt2")
    assert told == [tried.statement, solved.statement]
    assert (tried.checker, solved.checker) == ("explore", "prove")
    assert (tried.verdict, solved.verdict) == (Verdict.EXHAUSTED, Verdict.PROVED)
    written = list(read(files_of([tmp_path])))
    assert sorted({f"smt2/{question.file.name}" for question in written}) == sorted(solved.files)
    assert len(written) == solved.figures["questions in files"] == solved.figures["obligations"]
    monkeypatch.setattr("crashwindow.checkers.prove_ambiguity.MORE", ())
    _, (tried, solved) = ambiguity(space_of(), classify(space_of()), tmp_path / "smt2")
    assert (tried.verdict, solved.verdict) == (Verdict.EXHAUSTED, Verdict.NOT_CHECKED)
    assert MISSED in solved.statement
    monkeypatch.setattr("crashwindow.checkers.prove_ambiguity.proved", silent)
    _, (_, solved) = ambiguity(space_of(), classify(space_of()), tmp_path / "smt2")
    assert solved.verdict is Verdict.ERROR


def silent(among: Sequence[Pair]) -> Solved:
    """A solver that gives no answer to one question."""
    told = asked(among, stores(space_of().machine))
    return replace(told, two=(replace(told.two[0], answer="unknown"), *told.two[1:]))


def test_a_recovery_that_sees_more_or_less_is_found_in_every_run() -> None:
    """Two canaries stand before the solver: one that sees the world, one that does not see what is open."""
    assert [mutant.killed_by for mutant in blinded(space_of().machine, pairs())] == ["prove", "prove"]


def test_a_solver_that_gives_no_answer_finds_no_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is not taken for a no."""

    def speechless(among: Sequence[Pair], seen: Seen) -> Solved:
        told = asked(among, seen)
        one, two, runs = ([replace(r, answer="unknown") for r in part] for part in (told.one, told.two, told.runs))
        return replace(told, one=tuple(one), two=tuple(two), runs=tuple(runs))

    monkeypatch.setattr("crashwindow.checkers.prove_ambiguity.asked", speechless)
    assert [mutant.killed_by for mutant in blinded(space_of().machine, pairs())] == [None, None]


@cache
def files() -> dict[str, str]:
    """The files of the questions, by name."""
    with TemporaryDirectory() as place:
        export(proved(pairs()), Path(place))
        return {file.name: file.read_text(encoding="utf-8") for file in Path(place).iterdir()}


ONE, TWO, RUNS = (f"hardened-ambiguity{part}.smt2" for part in ("", "-twins", "-runs"))
OUTSIDE = "outside, two states that look the same need opposite answers"
LOOKS = "a state of the class looks like no end of a run"
STEPS = "a step of a run is none of the machine's"
LAST = "the ends of the runs to look 192 do not show that either answer is wrong"
OPEN = "(or (= |open| |open'|) (and (>= |open| 2) (>= |open'| 2)))"
WEAKENED = {
    "a look that leaves out what is open": (TWO, OUTSIDE, OPEN, "true"),
    "a class that has nothing outside": (TWO, OUTSIDE, "(not (and ", "(or true (and "),
    "runs that end elsewhere": (RUNS, LAST, "(= |effects'| 0)", "(= |effects'| 1)"),
    "a class that has more": (ONE, LOOKS, "(= |idempotent| 0)", "true"),
    "another step": (RUNS, STEPS, "(assert (or ", "(assert (or (= |open| 0) "),
    "another stated answer": (TWO, OUTSIDE, ":status unsat", ":status sat"),
}
"""A file, the question in it that is changed, and what stands there instead of what."""


def changed(text: str, question: str, old: str, new: str) -> str:
    """A file with something else in one of its questions."""
    before, mark, rest = text.partition(f"; {question}\n")
    said, end, after = rest.partition("(check-sat)")
    assert old in said
    return f"{before}{mark}{said.replace(old, new, 1)}{end}{after}"


def opinion(tmp_path: Path, file: str, text: str, name: str) -> str:
    """What cvc5 says of one question of a file with this text."""
    (tmp_path / file).write_text(text, encoding="utf-8")
    with Solver() as solver:
        said = recheck([question for question in read([tmp_path / file]) if question.name == name], solver)
    return said[0].verdict


@pytest.mark.parametrize(("file", "name"), sampled([(RUNS, LAST), (ONE, LOOKS), (TWO, OUTSIDE), (RUNS, STEPS)], now=2))
def test_another_solver_agrees(file: str, name: str, tmp_path: Path) -> None:
    """cvc5 reads the file alone, and answers as it states: here some of those on which the theorem rests, in the deep profile of
    `verify` all.
    """
    assert opinion(tmp_path, file, files()[file], name) == "agrees"


@pytest.mark.parametrize("change", sampled(WEAKENED, now=2))
def test_a_question_that_is_weakened_is_found(change: str, tmp_path: Path) -> None:
    """cvc5 has another answer to it than the file states."""
    file, question, old, new = WEAKENED[change]
    assert opinion(tmp_path, file, changed(files()[file], question, old, new), question) == "disagrees"


def test_an_invariant_that_is_left_out_is_found(tmp_path: Path) -> None:
    """The questions are asked under the clauses that stand in the file: without one of them a look has no run."""
    lines = files()[ONE].splitlines(keepends=True)
    kept = [line for line in lines if not line.endswith(" ; a retry is used up\n")]
    assert len(kept) == len(lines) - 1
    assert opinion(tmp_path, ONE, "".join(kept), LOOKS) == "disagrees"


def test_who_asks_again_comes_after_who_writes() -> None:
    """The stage that asks cvc5 reads what the run has written: the class's questions are there by then."""
    names = [stage.name for stage in STAGES]
    assert names.index("necessity") < names.index("second")
