"""The compiled search finds what the search in Python finds: the same states, in the same order, by the same runs."""

import subprocess
from collections.abc import Callable
from ctypes import CDLL, c_int
from pathlib import Path
from typing import Any

import pytest

from crashwindow.checkers import explore as exploring
from crashwindow.checkers import kernel
from crashwindow.checkers.explore import Engine, explore, searched
from crashwindow.checkers.fleet_search import FleetEngine, reduction
from crashwindow.checkers.kernel import Compiled, compiled
from crashwindow.checkers.kernel_tables import GuardTables, Layout
from crashwindow.checkers.mutate_rows import generate
from crashwindow.checkers.plain import Found, Plain
from crashwindow.checkers.reduction import Reduction
from crashwindow.model.fleet import Fleet
from crashwindow.model.fleet_rows import WORKERS, fleet_machine
from crashwindow.model.machine import Actor, Field, Guard, Machine, Rule, Scope, guard, show
from crashwindow.model.step import build
from crashwindow.scenarios.fleet_policies import recorded_fleet, searched_fleet
from crashwindow.scenarios.machines import machine_of

from .sampled import sampled

pytestmark = pytest.mark.skipif(kernel.compiler() is None, reason="no C compiler: `plain.py` searches alone")
SMALL = ("recorded-hardened", "contract-hardened", "gate-hardened", "compensation-hardened")


def differing(
    engine: Callable[[], Engine], *, stop: tuple[Guard, ...] = (), reduced: Reduction | None = None
) -> list[str]:
    """In what the two searches differ: every question that can be asked of what they found."""
    own = answers(Plain(engine(), stop, reduced))
    found = compiled(engine(), stop, reduced, limit=2 * len(own["states"]))  # a broken one may find more and more
    assert found is not None
    if not found.complete:
        return ["complete"]
    mine = answers(found)
    return [name for name, told in own.items() if mine[name] != told]


def answers(found: Found) -> dict[str, Any]:
    """What is told of a search."""
    found.teach()
    engine = found.engine
    always, by_place = engine.grouped()
    place, groups = by_place[0]
    rules = engine.machine.rules
    guards = [guard(**{place: value}) for value in engine.machine.by_name[place].values[:2]]
    masks = [mask for mask, _, _ in groups]
    last = found.states[-1]
    return {
        "states": found.states,
        "figures": (len(found), found.transitions, found.depth, found.complete),
        "fired": found.fired,
        "runs": list(found.parents.items()),
        "the last run": found.before(last),
        "steps": [sorted(group[2].items()) for group in (always, *(g for _, each in by_place for g in each))],
        "where": (found.where(guards), found.where(guards, 1), found.where([{}], 3), found.where([])),
        "graph": found.graph([n * n for n in range(len(rules))]),
        "firsts": (found.firsts([always[0]]), found.firsts([*masks, *masks], place)),
        "reaching": found.reaching({n for n, rule in enumerate(rules) if rule.actor is not Actor.CRASH}, guards[:1]),
    }


def fleet_engine(fleet: Fleet, workers: tuple[str, ...] = WORKERS) -> Callable[[], FleetEngine]:
    """A way to make the engine of some named workers."""
    machine = fleet_machine(fleet, workers)
    return lambda: FleetEngine(machine, workers)


@pytest.mark.parametrize("policy", sampled(SMALL, 3))
def test_one_worker(policy: str) -> None:
    """Whole machines, and the same as far as a state at which the search is to stop."""
    machine = machine_of(policy)
    whole = Plain(Engine(machine))
    assert differing(lambda: Engine(machine)) == []
    middle = machine.view(whole.packing.unpack(whole.states[len(whole) // 2]))
    stop = {name: frozenset({value}) for name, value in middle.items()}
    assert differing(lambda: Engine(machine), stop=(stop,)) == []
    assert differing(lambda: Engine(machine), stop=({},)) == []


@pytest.mark.deep
def test_the_whole_tool_step() -> None:
    """The largest of one worker; a part of it is compared with the interpreter in `test_explore.py`."""
    assert differing(lambda: Engine(build())) == []


@pytest.mark.parametrize("reduced", sampled([(True,), (False,)]))
def test_two_workers(reduced: bool) -> None:
    """States of one word, as they are and reduced."""
    fleet = recorded_fleet()
    assert differing(fleet_engine(fleet), reduced=reduction(fleet, WORKERS) if reduced else None) == []


@pytest.mark.parametrize(
    ("fleet", "workers"),
    [
        pytest.param(recorded_fleet, ("a", "b", "c"), id="recorded"),
        pytest.param(searched_fleet, WORKERS, id="step", marks=pytest.mark.deep),
    ],
)
def test_states_of_several_words(fleet: Callable[[], Fleet], workers: tuple[str, ...]) -> None:
    """States of more than 64 bits, of workers whose fields lie differently in their words, reduced."""
    made = fleet()
    engine = fleet_engine(made, workers)
    assert Layout(engine().packing).words > 1
    stop = (guard(job="completed"),) if len(workers) > len(WORKERS) else ()
    assert differing(engine, stop=stop, reduced=reduction(made, workers)) == []


@pytest.mark.parametrize(
    ("policy", "step"), [("recorded-hardened", 11), ("gate-hardened", 91), ("contract-hardened", 97)]
)
def test_mutants(policy: str, step: int) -> None:
    """Of mutants as of the original: a mutant dies in one search if and only if it dies in the other, by the same run."""
    machine = machine_of(policy)
    mutants = [mutant.of(machine) for mutant in generate(machine).mutants[::step]]
    sizes = set()
    for mutant in mutants:
        found, own = compiled(Engine(mutant)), Plain(Engine(mutant), limit=20_000)
        assert found is not None
        if own.complete:
            assert found.parents == own.parents, mutant
            assert (list(found.parents), found.transitions) == (own.states, own.transitions), mutant
            sizes.add(len(own))
    assert len(sizes) > 2  # they are not all the original


def many() -> Machine:
    """Fields of more values than a word has bits, a copy of one, counts that are taken from."""
    values = tuple(map(str, range(130)))
    return Machine(
        "many",
        (Field("n", Scope.DURABLE, values, ""), Field("m", Scope.DURABLE, values, ""),
         Field("left", Scope.DURABLE, ("0", "1", "2"), "", ("2",), count=True),
         Field("also", Scope.DURABLE, ("0", "1", "2"), "", ("2",), count=True)),
        (Rule("on", Actor.WORKER, guard(n="0|63|64|127"), writes={"n": "129", "m": "=n"}),
         Rule("over", Actor.WORKER, guard(n="129"), unless=(guard(m="127"), guard(left="0")), writes={"n": "64"}),
         Rule("less", Actor.WORKER, guard(left="1|2", also="1|2"), writes={"left": "-1", "also": "-1"})),
    )  # fmt: skip


def test_many_values_and_two_outcomes() -> None:
    """A set of values longer than a word, a write with two outcomes, a copy: states as the interpreter has them."""
    machine = many()
    assert differing(lambda: Engine(machine)) == []
    states, frontier = set(machine.initial_states()), list(machine.initial_states())
    while frontier:
        fresh = {after for _, after in machine.successors(frontier.pop())} - states
        states |= fresh
        frontier += fresh
    assert {Engine(machine).packing.unpack(s) for s in explore(machine).states} == states


def test_a_limit_ends_a_search() -> None:
    """After so many states there is an end, which is not called complete."""
    made, own = compiled(Engine(build()), limit=10), Plain(Engine(build()), limit=10)
    assert made is not None
    for found in (made, own):
        assert not found.complete
        assert len(found) >= 10
        with pytest.raises(KeyError):
            found.before((1 << 62) - 1)


def made(source: str, folder: Path, words: int = 1) -> CDLL:
    """A kernel of another source."""
    (folder / "kernel.c").write_text(source)
    command = [
        "cc",
        "-O1",
        "-shared",
        "-fPIC",
        f"-DWORDS={words}",
        "-o",
        str(folder / "k.so"),
        str(folder / "kernel.c"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return kernel._declared(CDLL(str(folder / "k.so")))


BROKEN = {
    "a step is dropped": ("s->transitions += k->count;\n        for (uint32_t i = 0;",
                          "s->transitions += k->count;\n        for (uint32_t i = 1;"),
    "a word is cut": ("s->states[s->count] = w->state;", "s->states[s->count] = w->state; s->states[s->count].w[0] &= 0xFFFF;"),
    "a hash stands for a state": ("&& same(&s->states[(uint32_t)slot - 1], state)", "|| 1"),
    "what is tried before is forgotten": ("&& !any(&m->guards, rule->unless, state)", ""),
    "one of two outcomes": ("if (out >> 30) {", "if (0) {"),
    "too little is remembered by": ("s->model->touched[group].w[i]", "(s->model->touched[group].w[i] & 0xFF)"),
    "another order": ("for (uint32_t i = 0; i < s->waiting; i++) meet(s, &s->batch[i]);",
                      "for (uint32_t i = s->waiting; i-- > 0;) meet(s, &s->batch[i]);"),
}  # fmt: skip


@pytest.mark.parametrize("what", sampled(BROKEN, 3))
def test_a_broken_kernel_is_seen(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: each plausible defect of the kernel shows in it."""
    old, new = BROKEN[what]
    source = kernel.SOURCE.read_text()
    assert source.count(old) == 1
    broken = made(source.replace(old, new), tmp_path)
    monkeypatch.setattr(kernel, "library", lambda words: broken)
    assert differing(lambda: Engine(many())) or differing(lambda: Engine(machine_of("recorded-hardened")))


def test_a_hash_that_says_nothing_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all states have one hash the same ones are found, compared whole; but the graph's number is made of hashes."""
    line = "    return h ^ h >> 29;\n"
    source = kernel.SOURCE.read_text()
    assert source.count(line) == 1
    poor = made(source.replace(line, "    return h & 0;\n"), tmp_path)
    monkeypatch.setattr(kernel, "library", lambda words: poor)
    assert differing(lambda: Engine(machine_of("recorded-hardened"))) == ["graph"]


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no compiler, or it fails, the search is in Python, and a run is told that it takes longer."""
    machine = machine_of("recorded-hardened")
    expected = explore(machine)
    assert isinstance(expected.found, Compiled)
    assert kernel.missing() == ""
    for cc in (None, "/bin/false"):
        monkeypatch.setattr(kernel, "compiler", lambda cc=cc: cc)
        monkeypatch.setattr(kernel, "library", kernel.library.__wrapped__)
        monkeypatch.setattr(exploring, "compiled", kernel.compiled)
        space = searched(Engine(machine))
        assert isinstance(space.found, Plain)
        assert space.parents == expected.parents
        assert "install gcc or clang" in kernel.missing()
        monkeypatch.undo()


def test_a_kernel_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled once, under a name that its source decides; nothing else is left in the folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernel, "FLAGS", ("-O0", "-shared", "-fPIC"))
    first = kernel._compiled(str(kernel.compiler()), 1)
    before = first.stat().st_mtime_ns
    assert kernel._compiled(str(kernel.compiler()), 1) == first
    assert (first.stat().st_mtime_ns, list(first.parent.iterdir())) == (before, [first])
    other = tmp_path / "kernel.c"
    other.write_text(kernel.SOURCE.read_text() + "\n")
    monkeypatch.setattr(kernel, "SOURCE", other)
    assert kernel._compiled(str(kernel.compiler()), 1) != first


def test_a_kernel_that_is_not_as_it_was_made_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was cut is made anew; a folder to which others may write, or that depends on where one stands, is not used."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernel, "FLAGS", ("-O0", "-shared", "-fPIC"))
    first = kernel._compiled(str(kernel.compiler()), 1)
    whole = first.read_bytes()
    first.write_bytes(whole[:9000])
    assert kernel._compiled(str(kernel.compiler()), 1).read_bytes() == whole
    first.parent.chmod(0o777)
    assert kernel.library.__wrapped__(1) is None
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.chdir(tmp_path)
    assert kernel.library.__wrapped__(1) is None
    assert not (tmp_path / "cache").exists()


def test_a_search_for_which_there_is_no_memory_is_not_called_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever allocation fails, the search is an error: also where the last states of a level find no room."""
    names = tuple(map(str, range(64)))
    rules = [Rule(f"low {n}", Actor.WORKER, guard(low=str(n)), writes={"low": str(n + 1)}) for n in range(63)]
    rules += [
        Rule(f"high {n}", Actor.WORKER, guard(low="63", high=str(n)), writes={"low": "0", "high": str(n + 1)})
        for n in range(63)
    ]
    fields = (Field("high", Scope.DURABLE, names, "", names[:1]), Field("low", Scope.DURABLE, names, "", names[:1]))
    chain = Machine("chain", fields, tuple(rules))
    source, old = kernel.SOURCE.read_text(), "    void *made = realloc(*(void **)at, bytes);\n"
    assert source.count(old) == 1
    failing = old.replace("realloc", "++allocations > most ? 0 : realloc")
    poor = made("int most, allocations;\n" + source.replace(old, failing), tmp_path)
    monkeypatch.setattr(kernel, "library", lambda words: poor)
    whole, ends = len(Plain(Engine(chain))), set()
    for most in range(1, 400):
        c_int.in_dll(poor, "most").value, c_int.in_dll(poor, "allocations").value = most, 0
        try:
            found = compiled(Engine(chain))
            assert found is not None
            ends.add((found.complete, len(found)))
        except MemoryError:
            ends.add((False, 0))
        if (True, whole) in ends:
            break
    assert ends == {(False, 0), (True, whole)}


def test_guards_are_cut_into_words() -> None:
    """A layout gives back every state that it splits, and no field of it lies in two words."""
    packing = fleet_engine(searched_fleet())().packing
    layout = Layout(packing)
    states = [packing.pack(s) for s in packing.machine.initial_states()]
    states += [packing.mask([f.name]) for f in packing.machine.fields]
    assert layout.join(layout.split(states)) == states
    assert all(shift + mask.bit_length() <= 64 for _, shift, mask in layout.at.values())
    assert GuardTables(layout).either([]) == (0, 0), show({})
