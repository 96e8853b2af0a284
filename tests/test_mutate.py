"""The teeth: mutants are all generated, judged as a full search would, and a gap, or a canary that survives, fails the run."""

import argparse
import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from crashwindow.__main__ import main
from crashwindow.checkers import (
    cli_mutants,
    contract_stages,
    mutate_fleet_prove,
    mutate_model,
    mutate_prove,
    mutate_runtime,
    mutate_stage,
    verify,
)
from crashwindow.checkers.bugs_step import epoch_not_raised, skipped_committed
from crashwindow.checkers.evidence import Cell, KillRow, MutantCells
from crashwindow.checkers.explore import explore
from crashwindow.checkers.liveness import look, moves_of
from crashwindow.checkers.mutate_bugs import BUGS, Bug
from crashwindow.checkers.mutate_fleet import FleetBench
from crashwindow.checkers.mutate_fleet_prove import Said
from crashwindow.checkers.mutate_fleet_rows import FleetMutant
from crashwindow.checkers.mutate_matrix import FEW, Kept, OtherCodeError, blind, summed
from crashwindow.checkers.mutate_model import Bench
from crashwindow.checkers.mutate_prove import Asked
from crashwindow.checkers.mutate_rows import KINDS, OriginalError, Rows, generate, row
from crashwindow.checkers.mutate_runtime import apart, idle, rows, swept
from crashwindow.checkers.mutate_search import examine
from crashwindow.checkers.prove_solve import Answer, Result
from crashwindow.checkers.search import check
from crashwindow.checkers.substitute import Patch, Substitution, planted
from crashwindow.checkers.verify import Context
from crashwindow.model.machine import Machine, guard
from crashwindow.runtime import sqlite_statements
from crashwindow.runtime.errors import CommandError
from crashwindow.runtime.protocol import Step
from crashwindow.scenarios.machines import machine_of
from crashwindow.scenarios.profile import MUTATED, MUTATED_FLEETS, ONE_IN
from crashwindow.scenarios.searched import SEARCHED

from .sampled import sampled

COUNTS = {
    "recorded-hardened": (287, 0),
    "gate-hardened": (452, 0),
    "compensation-hardened": (572, 4),
    "contract-hardened": (1211, 2),
    "hardened": (1999, 6),
}
"""For each machine its distinct mutants, and the stillborn ones."""


@cache
def bench(policy: str) -> Bench:
    """A machine's checkers, made once."""
    return Bench(policy)


def named(policy: str, what: str) -> Rows:
    """A mutant by its change."""
    return next(m for m in bench(policy).generated.mutants if m.what == what)


@pytest.mark.parametrize("policy", COUNTS)
def test_every_mutant_is_generated(policy: str) -> None:
    """The number of mutants is what the rows say: each rule, literal, earlier guard, write, and other durable value, once."""
    machine = machine_of(policy)
    made = generate(machine)
    assert (len(made.mutants), made.stillborn) == COUNTS[policy]
    kinds = Counter(mutant.kind for mutant in made.mutants)
    assert set(kinds) <= set(KINDS)
    assert kinds["rule dropped"] == len(machine.rules)
    assert kinds["write dropped"] == sum(len(rule.writes) for rule in machine.rules)
    assert kinds["guard literal dropped"] + made.stillborn == sum(len(rule.guards) for rule in machine.rules)
    assert len({mutant.name for mutant in made.mutants}) == len(made.mutants)
    assert not [m.name for m in made.mutants if all(r and row(r) == row(machine.rule(n)) for n, r in m.changed.items())]


@pytest.mark.parametrize(
    ("policy", "step"), sampled([("recorded-hardened", 4), ("gate-hardened", 23), ("compensation-hardened", 41)])
)
def test_the_incremental_search_is_the_full_one(policy: str, step: int) -> None:
    """Equivalent is what a search from the start cannot tell apart; a violation is found if and only if that finds one."""
    ready = bench(policy)
    told: Counter[str] = Counter()
    for mutant in ready.generated.mutants[::step]:
        space = explore(mutant.of(ready.machine))
        difference = ready.base.difference(mutant)
        broken = any(check(space, p) for p in ready.model.properties)
        if difference.none:
            told["equivalent"] += 1
            assert space.parents.keys() == ready.base.space.parents.keys(), mutant.name
            assert space.transitions == ready.base.space.transitions, mutant.name
        else:
            found = examine(ready.base, mutant, difference)
            told["broken" if broken else "not broken"] += 1
            assert bool(found.violation) == broken, mutant.name
    assert min(told[kind] for kind in ("equivalent", "broken", "not broken")) > 0


def test_a_violation_is_shown_by_a_run_of_the_mutant() -> None:
    """The run that is told can be taken in the mutant, rule by rule, from a start."""
    ready = bench("recorded-hardened")
    shown = 0
    for mutant in ready.generated.mutants[::5]:
        machine = mutant.of(ready.machine)
        found = examine(ready.base, mutant, ready.base.difference(mutant))
        states = set(machine.initial_states())
        for rule in found.run:
            states = {after for state in states for fired, after in machine.successors(state) if fired.name == rule}
            assert states, (mutant.name, rule)
        shown += bool(found.run)
    assert shown > 5


def test_liveness_by_order_is_liveness_of_the_whole() -> None:
    """Where the original has an order, a mutant is found to halt if and only if a look at its whole space finds that."""
    ready = bench("recorded-hardened")
    assert ready.liveness.order is not None
    told: Counter[bool] = Counter()
    for mutant in ready.generated.mutants[::6]:
        difference = ready.base.difference(mutant)
        seen = examine(ready.base, mutant, difference)
        if seen.violation or difference.none:
            continue
        space = explore(mutant.of(ready.machine))
        stuck = look(space.parents, moves_of(space.engine, ready.liveness.assumptions), ready.liveness.resting).stuck
        assert bool(ready.liveness.examine(mutant, difference, seen).words) == bool(stuck), mutant.name
        told[bool(stuck)] += 1
    assert told[True] > 5
    assert told[False] > 5


@pytest.mark.parametrize(
    ("policy", "what", "killer"),
    [
        ("gate-hardened", "replay: ask the gate: dropped", "liveness"),
        ("gate-hardened", "append wait_completed, approved, first: does not look at decision", "prove"),
        ("recorded-hardened", "claim: dropped", "liveness"),
    ],
)
def test_a_mutant_is_killed_in_words(policy: str, what: str, killer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the checkers says why; those that it never met are not said to have passed."""
    monkeypatch.setitem(bench(policy).__dict__, "replay", lambda machine, engine: "")
    (judged,) = bench(policy).judge([named(policy, what)], "all")
    assert killer in {cell.checker for cell in judged.killers}
    assert all(cell.words for cell in judged.killers)
    assert {cell.outcome for cell in judged.cells if cell.checker in ("windows", "refine")} == {"not applicable"}
    assert judged.killed
    assert not judged.gap


def test_what_is_proved_and_broken_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proof and search must agree on every mutant: where one finds it safe, and the other a violation, one of them is wrong."""
    ready = bench("recorded-hardened")
    broken = next(m for m in ready.generated.mutants if examine(ready.base, m, ready.base.difference(m)).violation)
    with pytest.raises(AssertionError, match="proved safe, and a run breaks"):
        ready._row(broken, Asked("", "unsat", 0.0), "proof")


@pytest.mark.deep
def test_what_the_quick_profile_lets_through_is_not_called_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody is asked after proof and search a mutant that they let through is open, and says who was not asked; the whole
    of the checkers kill some of these, and then nothing is open."""
    ready = bench("recorded-hardened")
    mutants = ready.generated.mutants[::8]
    assert named("recorded-hardened", "claim: dropped") in mutants
    quick = {row.name: row for row in ready.judge(mutants, "proof")}
    assert {row.equivalent.partition(":")[0] for row in quick.values()} == {"", "exhausted"}
    left = {name for name, row in quick.items() if row.unasked}
    assert left
    for open_row in (quick[name] for name in left):
        assert (open_row.killed, open_row.gap, open_row.equivalent) == (False, False, "")
        assert (
            open_row.unasked
            == "safe by proof: its changed rows keep the invariant; not asked: lockstep, liveness, enumerate"
        )
    monkeypatch.setitem(ready.__dict__, "replay", lambda machine, engine: "")
    whole = {row.name: row for row in ready.judge(mutants, "all")}
    assert not any(row.unasked for row in whole.values())
    assert {name for name, row in whole.items() if row.equivalent.startswith("proved:")} < left
    assert whole["recorded-hardened: claim: dropped"].killed


@pytest.mark.parametrize(
    ("policy", "lost"),
    [
        ("recorded-hardened", "crash: dropped"),
        ("gate-hardened", "crash of the worker: dropped"),
        ("compensation-hardened", "crash: dropped"),
        ("contract-hardened", "crash of the executor: dropped"),
        ("hardened", "crash: dropped"),
    ],
)
def test_a_fault_that_is_lost_is_not_harmless(policy: str, lost: str) -> None:
    """A machine that can fail in fewer ways breaks no property, keeps every proof, and follows the code: what is stated of its
    size says no.
    """
    mutant = next(m for m in bench(policy).generated.mutants if m.name.endswith(lost))
    (row,) = bench(policy).judge([mutant], "proof")
    assert [cell.checker for cell in row.killers] == ["stated"], row


@pytest.mark.parametrize("broken", ["its proof", "its size", "what has to occur", "its step"])
def test_nothing_is_said_of_mutants_of_an_original_that_does_not_pass(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant is safe by the original's proof, and killed by what is so of the original: that is asked of it first."""
    ready = Bench("compensation-hardened")
    if broken == "its proof":
        ready.model = replace(ready.model, invariant=())
    elif broken == "its size":
        monkeypatch.setitem(SEARCHED, ready.policy, SEARCHED["gate-hardened"])
    elif broken == "what has to occur":
        never = replace(ready.model.properties[0], occurs=(guard(job="open", at="idle", node="none", undone="2"),))
        ready.model = replace(ready.model, properties=(*ready.model.properties, never))
    else:
        monkeypatch.setattr(mutate_model, "compensates", lambda space: "a record in the ledger is gone")
    with pytest.raises(OriginalError, match="compensation-hardened: the original does not pass: "):
        list(ready.judge(ready.generated.mutants[:1], "all"))


def test_of_an_original_that_does_not_rest_no_mutant_is_asked_whether_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks at the whole of a mutant would say no to each."""
    ready = Bench("compensation-hardened")
    monkeypatch.setattr(mutate_model, "RESTS", {ready.policy: ()})
    with pytest.raises(OriginalError, match="a fair run of the original stays outside rest for ever"):
        _ = ready.liveness


def answering(first: Answer, later: Answer) -> Any:
    """A solver that says one thing of whether a row keeps the invariant, another of all else that is asked; it shows no state."""

    def solve(*given: Any, states: bool = False) -> Iterator[Result]:
        keeps = "keeps the invariant"
        return (Result(o, first if o.name.endswith(keeps) else later, 0, 0.0, {}) for o in given[-1])

    return solve


def test_a_solver_without_an_answer_kills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is no verdict, and nothing is proved by it: what nobody else kills is a gap, and the words say why."""
    ready = bench("recorded-hardened")
    let_through = named("recorded-hardened", "put effect, first: does not write at")
    broken = next(
        m
        for m in ready.generated.mutants
        if all(m.changed.values()) and examine(ready.base, m, ready.base.difference(m)).violation
    )
    monkeypatch.setattr(mutate_prove, "solve", answering("unknown", "unknown"))
    for judged, killers in zip(ready.judge([let_through, broken], "proof"), ([], ["explore"]), strict=True):
        cell = next(cell for cell in judged.cells if cell.checker == "prove")
        assert (cell.outcome, cell.words.rpartition(": ")[2]) == ("not run", "unknown"), judged.name
        assert [killer.checker for killer in judged.killers] == killers
        assert judged.gap is (not killers)


@pytest.mark.parametrize("asked_of", ["a model", "a fleet"])
def test_a_question_without_an_answer_hides_no_refutation(asked_of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one question has no answer and a later one is refuted, the proof fails at that, as where the first is met."""
    ready, fleet = bench("gate-hardened"), FleetBench("fleet-recorded")
    model = ready.machine, ready.model.properties, ready.model.invariant
    told = []
    for first in ("unsat", "unknown"):
        monkeypatch.setattr(mutate_prove, "solve", answering(first, "sat"))
        monkeypatch.setattr(mutate_fleet_prove, "answers", answering(first, "sat"))
        every: Iterable[tuple[Rows | FleetMutant, Asked | Said]]
        if asked_of == "a model":
            every = mutate_prove.ask(*model, ready.generated.mutants)
        else:
            every = mutate_fleet_prove.ask(fleet.written, fleet.mutants[::8])
        told.append({mutant.name: said.fails for mutant, said in every if said.answer == "sat"})
    assert told[0] == told[1]
    assert len(told[0]) > 10


def test_a_trace_of_the_code_kills_what_cannot_do_it() -> None:
    """What the code was recorded to do is replayed; a machine that lacks a rule for it parts, the original does not."""
    from crashwindow.checkers import mutate_tape

    policy = "recorded-hardened"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mutate_tape, "CASES_OF", {policy: ("inputs",)})
        patch.setattr(mutate_tape, "ONCE", replace(mutate_tape.ONCE, depth=0))
        traces = mutate_tape.traces_of_semantics(policy)
    machine = machine_of(policy)
    assert mutate_tape.replay_semantics(machine, policy, traces) == ""
    lacking = named(policy, "append committed, input, first: dropped").of(machine)
    lacking = replace(
        lacking, rules=tuple(r for r in lacking.rules if not r.name.startswith("append committed, input, first"))
    )
    assert "command_committed" in mutate_tape.replay_semantics(lacking, policy, traces)


# The runtime.


def test_the_table_of_bugs() -> None:
    """At least thirty bugs of the runtime, each with its own name, in words, with what should fall, and where to look."""
    assert len(BUGS) > 60
    assert len(rows()) == len(set(rows())) == len(BUGS) + 13
    assert all(bug.words and bug.where and bug.falls and bug.cases for bug in BUGS)
    assert all(case in mutate_runtime.SUBJECTS for bug in BUGS for case in bug.cases)


def test_a_bug_is_gone_when_its_check_is_over() -> None:
    """A substitution puts back what was there, also where the check fails; an attribute that is not there is an error."""
    with pytest.raises(AttributeError):
        Substitution().setattr(Step, "nowhere", None)
    record, claim = Step.record, sqlite_statements.CLAIM_ONE
    with suppress(ZeroDivisionError), planted(epoch_not_raised):
        assert claim != sqlite_statements.CLAIM_ONE
        raise ZeroDivisionError
    with planted(skipped_committed):
        assert Step.record is not record
    assert Step.record is record
    assert claim == sqlite_statements.CLAIM_ONE


def harmless(patch: Patch) -> None:
    """Nothing is wrong."""


def hanging(patch: Patch) -> None:
    """Nothing ever comes of it."""


def test_a_check_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug is killed in words; where nothing is wrong the check survives; one that never ends is cut off, and is no kill."""
    bug = Bug(skipped_committed, "Step.record", "P3", ("ok-park",))
    killed = apart("crash", bug, lambda: swept(bug.cases))
    assert killed.outcome == "killed"
    assert "the step succeeded without committed" in killed.words
    assert apart("crash", Bug(harmless, "-", "-"), str).outcome == "survived"
    monkeypatch.setattr(mutate_runtime, "LONGEST", 0.2)
    late = apart("crash", Bug(hanging, "-", "-"), never)
    assert (late.outcome, late.words[:9]) == ("not run", "no answer")


def never() -> str:
    """Wait for a thing that never comes."""
    threading.Event().wait()
    return ""


def test_a_bug_is_harmless_only_by_proof() -> None:
    """A rule that can never fire is proved to; of one that can there is no such sentence."""
    assert "can fire in no state of the proved invariant" in idle("2: ledger committed")
    assert idle("3: effect record") == ""


# The matrix.


def cells(name: str, outcome: Any = "killed", equivalent: str = "", unasked: str = "") -> MutantCells:
    """A row of the matrix."""
    cell = Cell(checker="explore", outcome=outcome, words="P1" if outcome == "killed" else "", seconds=0.5)
    return MutantCells(
        name=name, subject="s", kind="k", equivalent=equivalent, unasked=unasked, cells=[cell], command=f"show {name}"
    )


def test_a_matrix_adds_up() -> None:
    """Killed, the same, safe, open and gaps are told apart; what is proved equivalent is no kill even where somebody says no."""
    every = [
        cells("a"),
        cells("b", "survived", "exhausted: x"),
        cells("c", "survived", "proved: x"),
        cells("d", "survived"),
        cells("f", "survived", unasked="safe by proof: x"),
    ]
    (row,) = summed([*every, cells("e", "killed", "exhausted: x")])
    assert (row.mutants, row.killed, row.same, row.safe, row.unasked, row.gaps) == (6, 1, 2, 1, 1, ["d"])
    assert (row.by, row.cheapest, row.met) == ({"explore": 2}, {"explore": 1}, {"explore": 6})
    assert row.cheapest_seconds == {"explore": 0.5}
    assert row.survivors == {"exhausted: x": ["b", "e"], "proved: x": ["c"], "safe by proof: x": ["f"]}
    assert (
        "1 of 6 mutants killed, 2 proved the same, 1 proved safe, 1 safe by proof and not asked further, 1 gaps"
        in verify.Found(kills=[row]).summary()
    )


def test_rows_are_kept(tmp_path: Path) -> None:
    """An interrupted run goes on where it was; a line that was cut short is found again; rows of other code are refused."""
    kept = Kept(tmp_path, "code")
    kept.add(cells("a"))
    kept.add(cells("b"))
    with kept.path.open("a", encoding="utf-8") as file:
        file.write('{"name": "c", "subj')
    again = Kept(tmp_path, "code")
    again.add(cells("c"))
    assert list(Kept(tmp_path, "code").rows) == ["a", "b", "c"]
    with pytest.raises(OtherCodeError, match="begin a new run"):
        Kept(tmp_path, "other code")


def test_rows_of_which_nobody_says_who_found_them_are_refused(tmp_path: Path) -> None:
    """They were taken, and told as found by the code that read them; an empty file is a run that had not begun."""
    kept = Kept(tmp_path, "code")
    kept.add(cells("a"))
    _, rows = kept.path.read_text(encoding="utf-8").split("\n", 1)
    kept.path.write_text(f"\n{rows}", encoding="utf-8")
    with pytest.raises(OtherCodeError, match="begin a new run"):
        Kept(tmp_path, "code")
    kept.path.write_text("", encoding="utf-8")
    assert not Kept(tmp_path, "code").rows


def test_rows_are_kept_where_a_run_ends_as_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Going on writes the rows that are whole anew: they are there where that is interrupted, and nothing beside them."""
    Kept(tmp_path, "code").add(cells("a"))
    write = Path.write_text

    def interrupted(path: Path, text: str, *given: Any, **named: Any) -> None:
        write(path, text[:10], *given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Kept(tmp_path, "code")
    monkeypatch.undo()
    assert list(Kept(tmp_path, "code").rows) == ["a"]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_row_that_is_torn_within_a_character_is_found_again(tmp_path: Path) -> None:
    """Names hold signs of more than one byte: wherever a line was cut short, the run goes on with those before it."""
    kept = Kept(tmp_path, "code")
    kept.add(cells("a"))
    whole = kept.path.read_bytes()
    kept.add(cells("also where step ∈ waits"))
    rest = kept.path.read_bytes().removeprefix(whole)
    cut = rest.index("∈".encode()) + 1
    for torn in (rest[:cut], rest[: cut + 1], rest[:-1].replace("∈".encode(), "\u2028".encode())[:-5]):
        kept.path.write_bytes(whole + torn)
        assert list(Kept(tmp_path, "code").rows) == ["a"]
        assert kept.path.read_bytes() == whole


@pytest.mark.parametrize("other", ["nothing", "another solver", "another profile"])
def test_a_run_goes_on_with_its_own_rows_alone(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What another solver found is not told as this one's, nor a sample as the whole: `--resume` refuses, and says what to do."""
    ran: list[int] = []

    def found(profile: str, kept: Kept, *_: object, **__: object) -> Iterator[MutantCells]:
        ran.append(len(kept.rows))
        kept.add(cells("a"))
        yield from kept.rows.values()

    monkeypatch.setattr(cli_mutants, "every", found)
    assert cli_mutants.mutants(asked(tmp_path)) == 0
    (directory,) = (file.parent for file in tmp_path.rglob("mutants.jsonl"))
    if other == "another solver":
        monkeypatch.setattr(verify, "_version", lambda package: f"{package} 0")
    again = asked(tmp_path, resume=str(directory), profile="quick" if other == "another profile" else "deep")
    if other == "nothing":
        assert cli_mutants.mutants(again) == 0
    else:
        with pytest.raises(CommandError, match=r"with other packages or in another profile: begin a new run"):
            cli_mutants.mutants(again)
    assert ran == ([0, 1] if other == "nothing" else [0])


def test_a_stage_of_mutants_begins_afresh_with_another_solver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of verify that goes on with other packages finds its rows again, rather than end with an error."""
    ran: list[int] = []

    def found(profile: str, kept: Kept, *_: object, **__: object) -> Iterator[MutantCells]:
        ran.append(len(kept.rows))
        kept.add(cells("a"))
        yield from kept.rows.values()

    monkeypatch.setattr(mutate_stage, "every", found)
    context = Context("quick", 1, tmp_path, lambda _: None)
    for solver in ("1", "1", "2"):
        monkeypatch.setattr(verify, "_version", lambda package, solver=solver: solver)
        assert len(mutate_stage.mutants(context).kills) == 1
    assert ran == [0, 1, 0]


def asked(tmp_path: Path, **more: Any) -> argparse.Namespace:
    """What the command line hands over."""
    return argparse.Namespace(
        **{
            "profile": "deep",
            "subject": None,
            "only": None,
            "out": str(tmp_path),
            "resume": None,
            "jobs": 1,
            "json": True,
            **more,
        }
    )


@pytest.mark.parametrize(
    ("outcome", "unasked", "code"), [("killed", "", 0), ("survived", "safe by proof: x", 0), ("survived", "", 1)]
)
def test_a_gap_is_the_exit_code(
    outcome: str,
    unasked: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """0 only if no mutant is a gap; a gap comes first, with the command that shows it again, then what was not asked further."""

    def found(*_: object, jobs: int, subjects: Sequence[str]) -> Iterator[MutantCells]:
        yield from (cells("a"), cells("c", "survived", "exhausted: x"), cells("b", outcome, unasked=unasked))

    monkeypatch.setattr(cli_mutants, "every", found)
    assert cli_mutants.mutants(asked(tmp_path)) == code
    said = capsys.readouterr()
    assert [row["name"] for row in json.loads(said.out)] == (
        ["c", "a", "b"] if outcome == "killed" else ["b", "c", "a"]
    )
    assert [row["unasked"] for row in json.loads(said.out) if row["name"] == "b"] == [unasked]
    assert ("GAP b" in said.err and "show b" in said.err) is bool(code)
    assert (
        f"1 proved the same, 0 proved safe, {int(bool(unasked))} safe by proof and not asked further, {code} gaps"
        in said.err
    )
    assert ("were not asked, and kill some: crashwindow mutants --profile deep" in said.err) is bool(unasked)


def test_one_mutant_meets_every_checker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--only` tells what each checker says."""
    name = "interleavings: events-unfenced"
    monkeypatch.setattr(mutate_stage, "judge", cells)
    monkeypatch.setattr(mutate_stage, "sound_about", lambda row: None)
    assert cli_mutants.mutants(asked(tmp_path, only=name, out=".", json=False)) == 0
    assert "explore" in capsys.readouterr().out


def test_a_command_about_an_original_that_does_not_pass_exits_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a kill nor a gap: nothing is said of any mutant, but why."""
    monkeypatch.setattr(mutate_model, "not_as_stated", lambda policy, space: "it is another")
    name = bench("recorded-hardened").generated.mutants[0].name
    mutate_stage._bench.cache_clear()
    for command in (["--only", name], ["--subject", "recorded-hardened", "--out", str(tmp_path)]):
        assert main(["mutants", *command]) == 2
        assert (
            "recorded-hardened: the original does not pass: it is another; so nothing is said"
            in capsys.readouterr().err
        )
    mutate_stage._bench.cache_clear()


@pytest.mark.parametrize(
    ("name", "of", "meant"),
    [
        ("gate-hardened: cancelled before the step: job became open", "gate-hardened", "job becomes open"),
        ("fleet-gate: claims: claim dropped", "fleet-gate", "fleet-gate: "),
        ("step: tokens of the first lease", "runtime", "step: token of the first lease"),
        ("interleavings: events unfenced", "runtime", "interleavings: events-unfenced"),
        ("gate-hardend: crash", "", "gate-hardened: …"),
    ],
    ids=["a model's", "a fleet's", "a bug", "a protection", "no subject"],
)
def test_a_name_that_is_none_is_told_those_that_are_near(name: str, of: str, meant: str, tmp_path: Path) -> None:
    """A mistyped `--only` costs no run: what is named are real mutants like it, or the subjects that names begin with."""
    with pytest.raises(CommandError, match="there is no mutant of that name; near are ") as refused:
        cli_mutants.mutants(asked(tmp_path, only=name, out="."))
    assert meant in str(refused.value)
    assert "--json" not in str(refused.value)
    real = mutate_stage.names("deep", [of])[of] if of else [f"{each}: …" for each in mutate_stage.EVERY]
    assert set(mutate_stage.near(name)) <= set(real)


@pytest.mark.parametrize(
    "given",
    [
        ("--profile", "quick"),
        ("--jobs", "2"),
        ("--out", "elsewhere"),
        ("--resume", "elsewhere"),
        ("--subject", "fleet"),
    ],
    ids=lambda g: g[0],
)
def test_one_mutant_takes_no_option_of_a_run(
    given: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option that would change nothing of one mutant is a usage error that names it and what to leave out."""
    monkeypatch.setattr(cli_mutants, "one", lambda name: pytest.fail("judged all the same"))
    assert main(["mutants", "--only", "interleavings: events-unfenced", *given]) == 2
    said = capsys.readouterr().err
    assert f"--only cannot be given with {given[0]}:" in said
    assert f"leave out {given[0]}, or leave out --only" in said


def test_some_subjects_are_asked_for_by_name(tmp_path: Path) -> None:
    """The mutants of one model alone, all of them; a name that is none is a usage error that lists the others."""
    assert list(mutate_stage.names("deep", ("recorded-hardened",))) == ["recorded-hardened"]
    stated = {**MUTATED, **{name: number for name, number in MUTATED_FLEETS.items() if number}}
    assert {subject: len(names) for subject, names in mutate_stage.names("quick").items()} == stated
    assert set(mutate_stage.EVERY) == {*MUTATED, *MUTATED_FLEETS, "runtime"}
    assert list(mutate_stage.names("deep", ("runtime",))) == ["runtime"]
    with pytest.raises(
        CommandError, match=r"'recorded': nothing of that name is mutated; there are .*recorded-hardened"
    ):
        cli_mutants.mutants(asked(tmp_path, subject=["gate-hardened", "recorded"]))


@pytest.mark.parametrize("name", sorted(ONE_IN))
def test_deep_runs_share_the_largest_fleets(name: str) -> None:
    """A deep run takes a part of a large fleet's mutants by its seed: the seeds one after the other take each mutant once, the
    command takes all of them; of smaller subjects every run takes all."""
    (every_name,) = mutate_stage.names("deep", [name]).values()
    parts = [mutate_stage.names("deep", [name], seed)[name] for seed in range(ONE_IN[name])]
    assert sorted(each for part in parts for each in part) == sorted(every_name)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert mutate_stage.names("deep", ["fleet-recorded"], 7) == mutate_stage.names("deep", ["fleet-recorded"])


@pytest.mark.deep  # each run of `verify` takes it
def test_the_quick_profile_takes_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some mutants of each machine, and of the smallest fleet; what is found are rows of the evidence."""
    monkeypatch.setattr(mutate_stage, "SUBJECTS", {"recorded-hardened": None, "gate-hardened": None})
    monkeypatch.setattr(mutate_stage, "SAMPLE_OF_FLEET", 2)
    monkeypatch.setattr(mutate_stage, "SAMPLE", 6)
    found = mutate_stage.mutants(Context("quick", 1, tmp_path, lambda _: None))
    assert {row.subject for row in found.kills} == {"recorded-hardened", "gate-hardened", "fleet-recorded"}
    assert 10 < sum(row.mutants for row in found.kills) <= 2 * mutate_stage.SAMPLE + 2
    assert sum(row.killed for row in found.kills) > 4
    assert not any(row.gaps for row in found.kills)
    assert {row.subject for row in found.kills if row.unasked} <= {"recorded-hardened", "gate-hardened"}
    assert not any(row.safe for row in found.kills)
    assert "safe by proof and not asked further, 0 gaps" in found.summary()


@pytest.mark.deep
def test_two_processes_say_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows do not depend on how many processes judge, and what is kept is not judged again."""
    every = [m.name for m in bench("recorded-hardened").generated.mutants[:9]]
    monkeypatch.setattr(mutate_stage, "names", lambda profile, subjects, seed: {"recorded-hardened": every})
    monkeypatch.setattr(mutate_stage, "TOGETHER", 4)
    told: list[tuple[int, int]] = []
    rows = []
    for jobs in (1, 2):
        kept = Kept(tmp_path / str(jobs), "code")
        kept.add(cells(every[0], "survived", "proved: kept"))
        found = mutate_stage.every("quick", kept, lambda what, done, of: told.append((done, of)), jobs=jobs)
        rows.append([(row.name, row.equivalent, [(c.checker, c.outcome, c.words) for c in row.cells]) for row in found])
    assert rows[0] == rows[1]
    assert [name for name, *_ in rows[0]] == every
    assert rows[0][0][1] == "proved: kept"
    assert told == [(1, 9), (5, 9), (9, 9)] * 2


# Canaries.


def test_a_canary_that_survives_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted defect that nobody finds has no killer, and evidence with such a mutant, or with a gap, does not pass."""
    from crashwindow.checkers.evidence import RunEvidence

    machine: Machine = machine_of("contract-hardened")
    monkeypatch.setattr(
        contract_stages, "CANARIES", {"nothing is changed": ("create", dict(machine.rule("create").writes))}
    )
    found = contract_stages.contract_canaries(Context("quick", 1, tmp_path, lambda _: None))
    assert [mutant.killed_by for mutant in found.mutants] == [None]
    sound = RunEvidence.model_construct(
        errors=[], claims=[], windows=[], scenarios=[], mutants=[], kills=[], contracts=[], schedules=[]
    )
    gap: KillRow = summed([cells("d", "survived")])[0]
    assert not sound.model_copy(update={"mutants": found.mutants}).passed
    assert not sound.model_copy(update={"kills": [gap]}).passed


def column(subject: str, asked: int, killed: int) -> KillRow:
    """A class of mutants of which the search killed some; the proof killed all."""
    (row,) = summed([cells("a")])
    return row.model_copy(
        update={
            "subject": subject,
            "met": {"explore": asked, "prove": asked},
            "by": {"explore": killed, "prove": asked},
        }
    )


def test_a_checker_that_says_no_to_nobody_is_named() -> None:
    """Of one kind of subject, whatever its name; of few that it was asked about nothing follows."""
    many = FEW // 2 + 1
    machines, fleets = list(MUTATED)[:2], list(MUTATED_FLEETS)[:2]
    assert blind([column("step", FEW, 0)]) == []
    assert blind([column(name, many, number) for number, name in enumerate(machines)]) == []
    (said,) = blind([column(name, many, 0) for name in fleets] + [column("contract", many, 1)])
    assert said.startswith(f"mutants of fleets: explore was asked about {2 * many}, and said no to none")


def test_a_blind_column_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `verify` it is an error of the stage; `mutants` ends with 1 for it, and of a part of the subjects says nothing."""
    every = [cells(f"m{number}", "survived", "proved: x") for number in range(FEW + 1)]
    monkeypatch.setattr(mutate_stage, "every", lambda *asked, **named: iter(every))
    assert len(mutate_stage.mutants(Context("deep", 1, tmp_path, lambda _: None)).errors) == 1
    monkeypatch.setattr(cli_mutants, "every", lambda *asked, **named: iter(every))
    assert cli_mutants.mutants(asked(tmp_path)) == 1
    assert cli_mutants.mutants(asked(tmp_path, subject=["gate-hardened"])) == 0


def test_a_run_tells_its_gaps() -> None:
    """Each gap is named before the sum says what was killed, and what is harmless."""
    console = Console(file=StringIO(), width=200)
    assert cli_mutants._said([cells("a"), cells("d", "survived")], console) == 1
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert (
        "2 mutants: 1 killed (cheapest: explore 1; 0 by nothing but what is stated of the original), 0 proved the same,"
        " 0 proved safe, 0 safe by proof and not asked further, 1 gaps" in said
    )
    assert said.index("GAP d: not looked into") < said.index("show d") < said.index("2 mutants")
