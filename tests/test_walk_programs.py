"""Programs of walks: a failure is a key, the key a scenario, and the scenario shows the same failure again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers import conform
from crashwindow.checkers.bugs_contract import consent_kept
from crashwindow.checkers.bugs_decide import ignored_effect, retried_after_unknown
from crashwindow.checkers.conform import walk
from crashwindow.checkers.conform_workers import item_of as of_workers
from crashwindow.checkers.conform_workers import walk_workers
from crashwindow.checkers.conform_world import Looks, Says, StepPlan
from crashwindow.checkers.contract_conform import walk_contracts
from crashwindow.checkers.contract_walk_stage import item_of as of_contracts
from crashwindow.checkers.evidence import Item, Verdict
from crashwindow.checkers.substitute import Plant
from crashwindow.checkers.walk_profiles import PROFILES
from crashwindow.checkers.walk_programs import Program, of_key, parsed, shortest
from crashwindow.runtime import resolve
from crashwindow.scenarios.schema import ScenarioError, load

PARKS = StepPlan((False, "park", "none"), 0, {"a": [-1, 0.5, None]}, "é", Looks("strict", ("match",)))
PROGRAM = Program(
    "step", "hardened", (f"rig.submit([{PARKS!r}])", "rig.work([], {7: 'crash after'})", "rig.work([], {})")
)
GRAPH = Program(
    "step", "hardened",
    (f"rig.submit([{PARKS!r}, {replace(PARKS, looks=None, args={'$result': 'step-1'}, after=(1,), backoff=3.0)!r}])",
     f"rig.work([{Says('no effect', '', chr(0xd800))!r}, {Says('lost answer', 'OSError', chr(0))!r}])"),
)  # fmt: skip
CONTRACT = Program("contract", "hardened", ("rig.open(Wish('none', (True, 'park', 'none')), [], {})",))
WORKERS = Program("workers", "hardened", ("rig.submit([StepPlan((False, 'park', 'none'), 0, None, 1)])", "rig.begin(0, [])",
                                          "rig.go(0, 40, '')"))  # fmt: skip


@pytest.mark.parametrize("program", [PROGRAM, GRAPH, CONTRACT, WORKERS])
def test_a_key_holds_its_program(program: Program) -> None:
    """Packed and unpacked it is the same, its arguments are what they were, and it runs."""
    assert of_key(program.key) == program
    assert not program.run()


def test_a_line_is_read_as_it_was_written() -> None:
    """Literals and records come back as they were."""
    assert parsed(PROGRAM.lines[0], "step") == ("submit", ([PARKS],))
    assert parsed(PROGRAM.lines[1], "step") == ("work", ([], {7: "crash after"}))
    said = [Says("no effect", "", chr(0xD800)), Says("lost answer", "OSError", chr(0))]
    assert parsed(GRAPH.lines[1], "step") == ("work", (said,))


@pytest.mark.parametrize(
    "line",
    ["rig.close()", "rig.submit(open('x'))", "rig.work([], {0: 'lost'}, x=1)", "rig.work.__class__()", "import os",
     "rig.open([])",
     "rig.submit([StepPlan()])", "rig.work([x for x in ()])", "(" * 3000,
     "rig.work(1, 2, 3)", "rig.work(['ok'], 5)", "rig.work(['nope'])", "rig.work([], {'7': 'lost'})", "rig.submit([3])",
     "rig.submit([StepPlan(7, 0, None, None)])", "rig.submit([StepPlan((True, 'park', 'none'), 'no', None, None)])"],
)  # fmt: skip
def test_nothing_else_is_understood(line: str) -> None:
    """A line that is no move with data is refused, and nothing of it is done."""
    with pytest.raises(ValueError, match=r"."):
        parsed(line, "step")
    with pytest.raises(ValueError, match=r"."):
        of_key(Program("step", "hardened", (line,)).key)


@pytest.mark.parametrize(
    "key",
    [
        "walk:",
        "walk:step@hardened:",
        "walk:what@hardened:eA",
        "walk:step@none:eA",
        PROGRAM.key[:-9],
        PROGRAM.key[:40],
    ],
)
def test_a_damaged_key_is_named(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, with a sentence."""
    assert main(["replay", key]) == 2
    assert "crashwindow: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (Program("workers", "hardened", ("rig.begin(7)",)), "there are 3 workers"),
        (Program("workers", "hardened", ("rig.kill(-1)",)), "there are 3 workers"),
        (Program("contract", "hardened", ("rig.respond(0, True)",)), "there is no session"),
    ],
)
def test_a_move_that_cannot_be_made_is_no_parting(
    program: Program, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who names a worker or a session that there is not has made a mistake (exit 2): model and runtime have not parted."""
    assert main(["replay", program.key]) == 2
    assert f"{program.lines[0]!r} cannot be done there: {words}" in capsys.readouterr().err
    assert shortest(program) == program


@pytest.mark.parametrize(
    ("walked", "bug"),
    [
        (lambda seed: of_contracts(walk_contracts("quick", seed), "", seed), consent_kept),
        pytest.param(
            lambda seed: of_workers(walk_workers(PROFILES["quick"], seed), "", seed),
            retried_after_unknown,
            marks=pytest.mark.deep,
        ),
    ],
    ids=["contract", "workers"],
)
def test_each_machine_s_failure_is_made_shorter(
    walked: Callable[[int], Item], bug: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line, as long as it parts in the same words: what is told cannot be made shorter."""
    monkeypatch.setattr(conform, "SHRINKS", 10)
    bug(monkeypatch)
    # What a seed draws depends on the modules that are loaded.
    item = next(item for seed in range(1, 9) if (item := walked(seed)).verdict is Verdict.REFUTED)
    program = of_key(item.command.removeprefix("crashwindow replay "))
    assert program.run() in item.statement
    assert shortest(program) == program


def test_an_exception_beneath_a_client_s_call_is_a_failure_like_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's answer that ends with an error of the code's parts the walk: shown as a program whose key parts again."""

    def answered(*arguments: Any, **named: Any) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(conform, "SHRINKS", 5)
    with monkeypatch.context() as patch:
        patch.setattr(resolve, "resolve", answered)
        item = next(item for seed in range(1, 9) if (item := walk("quick", seed)).verdict is Verdict.REFUTED)
        assert "the code raised KeyError: 'planted'" in item.statement
        assert main(["replay", item.command.removeprefix("crashwindow replay ")]) == 1
    assert main(["replay", item.command.removeprefix("crashwindow replay ")]) == 0


def test_a_failure_becomes_a_regression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A planted bug parts a walk; its key replays it; saved, the scenario is refuted with the bug and holds without."""
    monkeypatch.setattr(conform, "SHRINKS", 5)
    file = tmp_path / "kept.yaml"
    with monkeypatch.context() as patch:
        ignored_effect(patch)
        item = walk("quick", 20)
        assert item.verdict is Verdict.REFUTED
        key = item.command.removeprefix("crashwindow replay ")
        assert main(["replay", key]) == 1
        assert (
            main(
                [
                    "scenario",
                    "save",
                    key,
                    "--name",
                    "found",
                    "--title",
                    "The effect record is read",
                    "--file",
                    str(file),
                ]
            )
            == 0
        )
        assert main(["scenario", "run", str(file)]) == 1
        assert "refuted: job-" in capsys.readouterr().out
    assert main(["scenario", "run", str(file)]) == 0
    assert "1 of 1 scenarios as expected" in capsys.readouterr().out
    (saved,) = load(file)
    assert (saved.list, saved.expect, saved.policy) == ("regression", "holds", "hardened")
    assert saved.walk is not None
    assert saved.walk.program == of_key(key).lines


def test_a_failure_says_how_it_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`walk` ends with the program that parts, the command that repeats it, and the one that makes a scenario of it."""
    monkeypatch.setattr(conform, "SHRINKS", 0)
    with monkeypatch.context() as patch:
        ignored_effect(patch)
        assert main(["walk", "step", "--seed", "20"]) == 1
    *_, replay, save = capsys.readouterr().out.splitlines()
    key = replay.removeprefix("crashwindow replay ")
    assert of_key(key).lines
    assert save == f"crashwindow scenario save {key} --name NAME --title TEXT"


@pytest.mark.parametrize("more", [[], ["--name", "x"], ["--name", "x", "--title", "t"]])
def test_what_is_no_key_is_named_first(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Whether the scenario has a name or not: no name helps a key that is none, and the words say where to find one."""
    assert main(["scenario", "save", "nope", *more]) == 2
    said = capsys.readouterr().err
    assert "'nope' is no key of a walk" in said
    assert "walk:" in said
    assert "--name" not in said


def test_a_key_without_a_name_is_asked_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    """The key is one; what is missing is named, with the whole command."""
    assert main(["scenario", "save", PROGRAM.key]) == 2
    assert "scenario save KEY --name NAME --title TEXT" in capsys.readouterr().err


def test_names_are_given_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second scenario is added behind the first; a name that is taken, or none, is refused."""
    file = tmp_path / "kept.yaml"

    def save(*more: str) -> int:
        return main(["scenario", "save", PROGRAM.key, "--title", "t", "--file", str(file), *more])

    assert [save("--name", "one"), save("--name", "two", "--list", "exploratory")] == [0, 0]
    assert [each.name for each in load(file)] == ["one", "two"]
    assert [save("--name", "one"), save("--name", "window-1a"), save()] == [2, 2, 2]
    assert len(load(file)) == 2
    assert (
        main(["scenario", "save", "crash:ok-park:claim:after", "--name", "x", "--title", "t", "--file", str(file)]) == 2
    )
    assert "no key of a walk" in capsys.readouterr().err


@pytest.mark.parametrize(
    "half", ["window: '1a'", "property: P1", "run: {case: ok-park, schedule: 'claim:after', outcome: completed/1}"]
)
def test_a_walk_has_no_other_half(half: str, tmp_path: Path) -> None:
    """A scenario that is a walk says nothing else."""
    file = tmp_path / "both.yaml"
    file.write_text(
        f"- {{name: x, title: t, list: regression, source: s, expect: holds, walk: {{program: []}}, {half}}}\n"
    )
    with pytest.raises(ScenarioError, match="it has both halves"):
        load(file)


def test_a_program_that_is_none_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario whose lines cannot be read is not as expected, and says why."""
    entry: dict[str, Any] = {"program": ["rig.close()"]}
    file = tmp_path / "none.yaml"
    file.write_text(f"- {{name: x, title: t, list: regression, source: s, expect: holds, walk: {entry}}}\n")
    assert main(["scenario", "run", str(file)]) == 1
    assert "no program" in capsys.readouterr().out


def test_a_program_that_parts_is_made_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does not take is gone, also what only the rest of it needed; one that does not part stays as it is."""
    crash = "rig.work([], {7: 'crash after'})"
    moves = ("rig.work([], {})", PROGRAM.lines[0], crash, "rig.signal()", "rig.work([], {})", "rig.work([], {})")
    needless = Program("step", "hardened", (PROGRAM.lines[0], *moves))
    assert shortest(needless) == needless
    ignored_effect(monkeypatch)
    assert shortest(needless).lines == (PROGRAM.lines[0], crash, "rig.work([], {})")


def test_a_job_that_is_not_needed_is_gone_with_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job and its turn are needed only by each other: without the job alone the turn is another's, and nothing parts."""
    crash = ("rig.work([], {7: 'crash after'})", "rig.work([], {})")
    gate = "rig.submit([Gate(signal='go')])"
    ignored_effect(monkeypatch)
    assert shortest(Program("step", "hardened", (gate, PROGRAM.lines[0], "rig.work([], {})", *crash))).lines == (
        PROGRAM.lines[0],
        *crash,
    )
