"""The TLA+ modules: they say what the rows say. TLC itself is run where there is one; its counts are pinned.

`Reader` enumerates a module from its text alone, of the few forms that are written: it is no TLC, and shares nothing with the
explorer or the interpreter.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from types import CodeType

import pytest

from crashwindow.__main__ import main
from crashwindow.checkers.explore import Space, explore
from crashwindow.checkers.search import check
from crashwindow.checkers.tla import NAMES, Module, identifier, module_of, write
from crashwindow.model.machine import Actor, Field, Machine, Rule, Scope, guard
from crashwindow.model.properties import Property
from crashwindow.scenarios.searched import SEARCHED

GOLDEN = Path(__file__).parent / "golden"
TLC = {
    "hardened": (930264, 277355),
    "recorded-hardened": (326, 166),
    "recorded-without-L-RECORD": (850, 370),
    "recorded-without-L-CATCHUP": (344, 172),
    "contract-hardened": (1113, 352),
    "contract-without-C-HISTORY": (1795, 533),
    "contract-without-C-ONCE": (23559, 3435),
    "contract-without-C-RETRY": (16802, 3240),
    "contract-as-written": (552600, 70857),
    "gate-hardened": (10616, 2838),
    "gate-as-written": (36376, 9020),
    "compensation-hardened": (10300, 3972),
    "compensation-as-written": (52790, 11122),
}
"""States generated and distinct states, as TLC of github.com/tlaplus/tlaplus at cc6b616 (2026-04-29) gave them on 2026-11-29.

Counts saturate at two. Of a refuted policy the properties were left out, so that the search goes to the end.
"""
VIOLATED = {
    "recorded-without-L-RECORD": ("P12-BEFORE-USE", 4),
    "recorded-without-L-CATCHUP": ("P12", 8),
    "contract-without-C-HISTORY": ("C3", 5),
    "contract-without-C-ONCE": ("C1", 3),
    "contract-without-C-RETRY": ("C1", 4),
    "gate-as-written": ("P9-WAITING", 6),
    "compensation-as-written": ("P10", 9),
    "contract-as-written": ("C4", 3),
    "s0-events-alone": ("P1", 20),
    "s1-no-effect-store": ("P3", 18),
    "s0-confirmation": ("P8", 23),
    "s2-any-failure": ("P1", 17),
    "s4-reexecute": ("P11", 18),
}
"""The first property that the same TLC found violated, and the number of states of its counterexample.
"""
PAGE = (Path(__file__).parent.parent / "docs" / "second-opinion.md").read_text(encoding="utf-8")
QUICK = [name for name in TLC if name != "hardened"]
BRISK = [name for name in QUICK if name != "contract-as-written"]
"""Those whose text is read and searched, state by state, in a moment."""

SMALL = Machine(
    "a-small one",
    (
        Field("kind", Scope.CONFIG, ("plain", "odd"), "what it is", ("plain", "odd")),
        Field("log", Scope.DURABLE, ("none", "first", "other"), "what is on record"),
        Field("memory", Scope.VOLATILE, ("none", "first", "other"), "what the worker holds"),
        Field("sent", Scope.WORLD, ("0", "1", "2"), "what is on its way", count=True),
    ),
    (
        Rule("send: first", Actor.WORKER, guard(log="none"), writes={"sent": "+1", "memory": "first"}, source="S-1"),
        Rule("send, first", Actor.WORKER, guard(kind="odd"), guard(sent="0|1"), {"memory": "other"}, (guard(memory="none"),)),
        Rule("arrives", Actor.WORLD, {}, guard(sent="1|2"), {"sent": "-1"}),
        Rule("commit", Actor.WORKER, guard(memory="first|other"), writes={"log": "=memory"}, boundary="put", source="S-2"),
    ),
    (guard(kind="odd", log="first|other"),),
)  # fmt: skip
STATED = (
    Property("Q1", "Nothing odd is sent twice.", never=(guard(kind="odd", sent="2"),)),
    Property("Q-2", "What is on record stays.", grows=("log", "sent"), absorbing=(guard(log="other"),)),
)


class Reader:
    """A module's meaning, read from its text."""

    def __init__(self, text: str) -> None:
        plain = "\n".join(line for line in text.splitlines() if not line.startswith("\\*"))
        self.terms: dict[str, list[str]] = {}
        for name, body in re.findall(r"^(\w+) ==\n((?:  .*\n|       .*\n)+)", plain, re.MULTILINE):
            self.terms[name] = re.split(r"^  (?:/\\|\\/) ", body, flags=re.MULTILINE)[1:]
        self.actions = [
            self._action([term.strip() for term in self.terms[name.strip()]]) for name in self.terms["Next"]
        ]

    def _action(self, terms: list[str]) -> tuple[list[CodeType], list[tuple[str, str, str]]]:
        writes = [re.fullmatch(r"(\w+)' (=|\\in) (.*)", term) for term in terms]
        guards = [t for t, write in zip(terms, writes, strict=True) if not write and not t.startswith("UNCHANGED")]
        parts = [(found[1], found[2], found[3]) for found in writes if found]
        kept = re.findall(r"\w+", next(t for t in terms if t.startswith("UNCHANGED")))[1:]
        assert sorted([*kept, *(name for name, _, _ in parts)]) == sorted(self._variables)
        return [_python(term) for term in guards], parts

    @property
    def _variables(self) -> list[str]:
        return [term.split()[0] for term in self.terms["TypeOK"]]

    def initial(self) -> Iterator[dict[str, str | int]]:
        """The states of `Init`."""
        choices = [term.strip() for term in self.terms["Init"] if not term.startswith("~")]
        values = [_values(term.split(" ", 2)[2].strip("{}")) for term in choices]
        for each in product(*values):
            state = dict(zip(self._variables, each, strict=True))
            if all(eval(_python(t.strip()), {}, state) for t in self.terms["Init"] if t.startswith("~")):
                yield state

    def after(self, state: dict[str, str | int]) -> Iterator[dict[str, str | int]]:
        """The states of `Next`."""
        for guards, writes in self.actions:
            if all(eval(each, {}, state) for each in guards):
                choices = [self._written(state, *write) for write in writes]
                for values in product(*choices):
                    yield {**state, **dict(zip((name for name, _, _ in writes), values, strict=True))}

    def _written(self, state: dict[str, str | int], name: str, sign: str, to: str) -> list[str | int]:
        old = state[name]
        if to == f"Inc({name})":
            return [min(int(old) + 1, 2)]
        if to == f"Dec({name})":
            assert sign == "\\in"
            return [1, 2] if old == 2 else [0]
        return [state[to]] if to in state else _values(to)

    def states(self) -> tuple[int, list[dict[str, str | int]]]:
        """How many states are generated, and the distinct ones."""
        frontier = list(self.initial())
        found = {tuple(state.values()): state for state in frontier}
        generated = len(frontier)
        while frontier:
            for state in self.after(frontier.pop()):
                generated += 1
                if tuple(state.values()) not in found:
                    found[tuple(state.values())] = state
                    frontier.append(state)
        return generated, list(found.values())

    def broken(self, states: list[dict[str, str | int]], invariant: str) -> bool:
        """Whether an invariant is violated in one of the states."""
        terms = [_python(term.strip()) for term in self.terms[invariant]]
        return not all(eval(term, {}, state) for state in states for term in terms)


def _values(text: str) -> list[str | int]:
    return [part.strip('" ') if '"' in part else int(part) for part in text.split(",")]


def _python(term: str) -> CodeType:
    """A condition of the forms that are written, in Python: literals joined by conjunction, negated or not."""
    text = term.replace(" /\\ ", " and ").replace("~(", "not (").replace("\\in", "in").replace(" = ", " == ")
    assert re.fullmatch(r"[\w\s\"(){},=]*", text), term
    return compile(re.sub(r"\{([^}]*)\}", r"(\1,)", text), term, "eval")


@cache
def space(policy: str) -> Space:
    """The explorer's space of a policy's machine."""
    return explore(module_of(policy).machine)


def test_a_module_is_written_as_a_person_would_read_it() -> None:
    """Golden files: a machine with every kind of field, guard, write and property there is."""
    module = Module(SMALL, STATED)
    assert module.text() == (GOLDEN / "a_small_one.tla").read_text(encoding="utf-8")
    assert module.configuration() == (GOLDEN / "a_small_one.cfg").read_text(encoding="utf-8")


@pytest.mark.parametrize("policy", QUICK)
def test_tlc_and_the_explorer_count_the_same(policy: str) -> None:
    """States generated and distinct states: what TLC gave is what the explorer gives."""
    found = space(policy)
    generated = found.transitions + len(list(found.machine.initial_states()))
    assert (generated, len(found)) == TLC[policy]


def test_tlc_counted_the_hardened_step_as_the_explorer_does() -> None:
    """The largest module: TLC's counts are the explorer's, as they are stated."""
    stated, starts = SEARCHED["hardened"], len(list(module_of("hardened").machine.initial_states()))
    assert (stated.transitions + starts, stated.states) == TLC["hardened"]


@pytest.mark.parametrize(
    "policy", [*BRISK, *(pytest.param(name, marks=pytest.mark.deep) for name in TLC if name not in BRISK)]
)
def test_a_reader_of_the_text_finds_the_same(policy: str) -> None:
    """From the text alone: the same numbers of states, and the same invariants violated, as the explorer finds in the rows.

    Each module is read: TLC's counts are pinned, so a text that is written otherwise since TLC read it shows here alone.
    """
    module, reader = module_of(policy), Reader(module_of(policy).text())
    generated, states = reader.states()
    assert (generated, len(states)) == TLC[policy]
    for p in module.properties:
        if p.never:
            fails = any(space(policy).find(g) is not None for g in p.never)
            assert reader.broken(states, identifier(p.id)) is fails


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('\n  /\\ ~(at = "replay" /\\ effect = "first")', ""),
        ("asked' = Inc(asked)", "asked' = 0"),
        ('  /\\ memory = "first"\n', ""),
        ("  \\/ crash\n", ""),
    ],
)
def test_another_text_is_another_machine(before: str, after: str) -> None:
    """A dropped guard, write or action in the text changes what is read from it: the comparison can fail."""
    text = module_of("recorded-hardened").text()
    assert before in text
    generated, states = Reader(text.replace(before, after)).states()
    assert (generated, len(states)) != TLC["recorded-hardened"]


@pytest.mark.parametrize("policy", VIOLATED)
def test_what_tlc_found_violated_is_refuted(policy: str) -> None:
    """The violation that TLC met first is one of the explorer's, at the same distance from the start; nothing is nearer."""
    found, module = space(policy), module_of(policy)
    name, length = VIOLATED[policy]
    nearest = {}
    for p in module.properties:
        parts = [replace(p, never=(g,), grows=(), absorbing=()) for g in p.never]
        parts += [replace(p, never=())] if p.grows or p.absorbing else []
        lengths = [len(v.trace.frames) for part in parts if (v := check(found, part))]
        nearest.update({p.id: min(lengths)} if lengths else {})
    assert nearest[name] == length == min(nearest.values())


def test_the_page_states_what_is_pinned() -> None:
    """Each row of docs/second-opinion.md is pinned here, with the numbers that it states, and no refuted policy only here."""
    counted = re.findall(r"^\| `([\w-]+)` \| ([\d,]+) \| ([\d,]+) \| no error \|$", PAGE, re.MULTILINE)
    assert len(counted) == 5
    for name, *numbers in counted:
        assert TLC[name] == tuple(int(number.replace(",", "")) for number in numbers)
    refuted = re.findall(r"^\| `([\w-]+)` \| ([PC][\w-]+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert {name: (broken, int(states)) for name, broken, states in refuted} == VIOLATED


def test_every_policy_has_a_module() -> None:
    """Each action has a name of its own that is none of a variable, and the configuration names what the module defines."""
    for policy in NAMES[::4]:
        module = module_of(policy)
        assert len(set(module.actions.values()) | set(module.fields)) == len(module.machine.rules) + len(module.fields)
        text = module.text()
        for name in re.findall(r"(?:INVARIANT|PROPERTY) (\w+)", module.configuration()):
            assert f"\n{name} ==" in text


def test_the_command_writes_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`export tla` writes a module and its configuration, the same bytes each time; an unknown policy is named."""
    assert main(["export", "tla", "recorded-hardened", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "recorded_hardened.tla").read_text(encoding="utf-8") == module_of("recorded-hardened").text()
    assert (tmp_path / "recorded_hardened.cfg").exists()
    assert "13 variables, 41 actions, 3 properties" in capsys.readouterr().out
    assert main(["export", "tla", "none", "--output", str(tmp_path)]) == 2


@pytest.mark.parametrize("policy", dict.fromkeys([*TLC, *VIOLATED]))
def test_tlc_agrees(policy: str, tmp_path: Path) -> None:
    """TLC itself, where TLA2TOOLS_JAR names its jar: its verdict, and the numbers of states where it goes to the end."""
    jar, java = os.environ.get("TLA2TOOLS_JAR"), shutil.which("java")
    if not jar or not java:
        pytest.skip("TLC is not run: it needs java, and TLA2TOOLS_JAR as the path of tla2tools.jar")
    file = write(module_of(policy), tmp_path)
    command = [
        java,
        "-jar",
        jar,
        "-workers",
        "1",
        "-noGenerateSpecTE",
        "-config",
        file.with_suffix(".cfg").name,
        file.name,
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if policy in VIOLATED:
        name, length = VIOLATED[policy]
        assert f"{identifier(name)} is violated" in ran.stdout
        assert len(re.findall(r"^State \d+:", ran.stdout, re.MULTILINE)) == length
    else:
        generated, distinct = TLC[policy]
        assert "No error has been found" in ran.stdout
        assert f"{generated} states generated, {distinct} distinct states found" in ran.stdout
