"""The audit's own look at the necessity matrix: what is dropped from it, reworded or exchanged in it is named.

A cell's run is followed here as in `test_audit_attacks`, where lies about the matrix are sealed with the trusted key.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pytest

from crashwindow.checkers.evidence import (
    ClaimResult,
    Frame,
    Item,
    Necessity,
    Need,
    RunEvidence,
    Sufficient,
    Trace,
    Verdict,
    Wider,
)
from crashwindow.model.mechanisms import NEEDED, ONE
from crashwindow.reports.audit.necessity import ALWAYS, necessity
from crashwindow.scenarios import matrix

from .small_bundle import run
from .test_reports import item

# ruff: noqa: E501
# Tables: a lie is read as a row.

TWIN: Final = "model:hardened:0/0/0/0/0/0/0/0/2"
DOUBLES: Final = "model:hardened:0/0/0/0/0/0/0/0/0/5"
LEDGER: Final = "model:planted-ledger-without-ledger:1/0/0/0/0/0/0/0/0/1/0/0/0/2/0/0/0/0/0"
STORE: Final = "model:planted-effect-store-without-effect-store:1/0/0/0/0/0/0/0/0/1/0/2/0/0/0/0/0/0/1"
ASKED: Final = "model:planted-ledger-asked-without-ledger-asked:1/0/0/0/0/0/0/0/0/1/0/0/2/0/0/0/0/0/0/0/1"
IDLE: Final = (
    matrix.idle("ledger", {"P3": LEDGER}, ()), matrix.idle("effect-store", {"P4": STORE}, ()),
    matrix.idle("ledger-asked", {"P4": ASKED}, ()), matrix.idle("conditional", {}, ()),
)  # fmt: skip
EARLY, LATE = (
    "model:ordered-4567-without-catch-up:1/0/0/0/0/0/0/0/0/1/0/0/2/0/0/0/0/0",
    "model:ordered-7456-without-ledger-asked:1/0/0/0/0/0/0/0/0/1/0/0/2/0/0/0/0/0/0/0/1",
)
BROKEN: Final = {
    "order-4567 without catch-up": {"P3": EARLY, "P4": f"{EARLY}/0/0/1"},
    "order-7456 without ledger-asked": {"P4": LATE, "P6": f"{LATE}/0"},
}
"""What breaks in the orders of the writes, each with a run."""
Change = Callable[[Necessity], Necessity]


def cells() -> list[Need]:
    """A cell for each order, in which nothing breaks; and one for each mechanism that is idle."""
    free = [("all", name) for name in matrix.orders("quick") if name not in BROKEN] + [
        ("P1", name) for name, by in NEEDED.items() if not by
    ]
    return [Need(property=prop, mechanism=name, answer="not needed", verdict=Verdict.EXHAUSTED, words="it holds")
            for prop, name in free] + [
        Need(property=prop, mechanism=name, answer="needed", verdict=Verdict.REFUTED, words="it fails", key=key, steps=key.count("/"))
        for name, keys in BROKEN.items() for prop, key in keys.items()]  # fmt: skip


FIRST = Frame(rule="", actor="", boundary=None, changed={})


@cache
def honest() -> RunEvidence:
    """Evidence with a matrix that is whole but for the cells of most mechanisms, and the claims that rest on it."""
    said = matrix.ambiguous(9, 4, TWIN, 2)
    trace = Trace(key=DOUBLES, frames=[FIRST])
    figures: dict[str, Any] = {"observations": 9, "in the class": 4}
    sets = [sorted(name for name in ONE if name not in ALWAYS and "P1" in NEEDED[name])]
    found: dict[str, Item] = {
        "NECESSITY-SETS": item(
            "explore", Verdict.EXHAUSTED, "it suffices", figures={"properties": 1, "subsets": 65568}
        ),
        "NECESSITY-ORDERS": item("explore", Verdict.EXHAUSTED, "each holds", figures={"orders": 25}),
        "T-AMBIGUOUS-EXACT": item("explore", Verdict.EXHAUSTED, said, figures=figures, trace=trace),
    }
    whole = Necessity(
        bounds=matrix.bounds("quick"), cells=cells(), idle=list(IDLE), ambiguity=[said, proof().statement],
        sets=[Sufficient(property="P1", sets=sets, asked=65536, enough=True, monotone=True, words="of all")],
        beside=[apart(name, *map(list, matrix.BESIDE_STEP[name])) for name in matrix.beside_step("quick")],
    )  # fmt: skip
    claims = [ClaimResult(claim=name, expected=Verdict.EXHAUSTED, items=[each]) for name, each in found.items()]
    claims[-1] = claims[-1].model_copy(update={"items": [*claims[-1].items, proof()]})
    return run().evidence.model_copy(update={"claims": claims, "necessity": whole})


def proof(**parts: Any) -> Item:
    """The solver's item about the same class."""
    figures = {"in the class": 4, "steps": 41, "clauses": 194, "obligations": 767}
    return item("prove", Verdict.PROVED, matrix.solved(4, 41, 194, 767), figures=figures).model_copy(update=parts)


def with_class(at: int = 0, **parts: Any) -> RunEvidence:
    """The evidence with another item about the ambiguity class, whose sentence is told in both places."""
    claims = list(honest().claims)
    items = [each.model_copy(update=parts) if n == at else each for n, each in enumerate(claims[-1].items)]
    claims[-1] = claims[-1].model_copy(update={"items": items})
    told = honest().necessity
    assert told
    said = told.model_copy(update={"ambiguity": [each.statement for each in items]})
    return honest().model_copy(update={"claims": claims, "necessity": said})


def matrix_with(change: Change) -> RunEvidence:
    """The evidence with another matrix."""
    told = honest().necessity
    assert told
    return honest().model_copy(update={"necessity": change(told)})


def cell(**more: Any) -> Change:
    """A cell more; if nothing else is said, of a mechanism that is idle."""
    made = Need(property="P1", mechanism="ledger", answer="not needed", verdict=Verdict.EXHAUSTED, words="it holds")
    return lambda told: told.model_copy(update={"cells": [*told.cells, made.model_copy(update=more)]})


def broken(prop: str, mechanism: str, key: str) -> Change:
    """A cell that says that a property needs a mechanism, with a run."""
    return cell(property=prop, mechanism=mechanism, answer="needed", verdict=Verdict.REFUTED, key=key)


def parts(**more: Any) -> Change:
    """Other parts of the matrix."""
    return lambda told: told.model_copy(update=more)


def sets(**more: Any) -> Change:
    """The minimal sets with something else said."""
    return lambda told: told.model_copy(update={"sets": [told.sets[0].model_copy(update=more)]})


def apart(prop: str, *sets: list[str]) -> Sufficient:
    """The minimal sets of a property as the deep profile has them."""
    return Sufficient(property=prop, sets=list(sets), asked=16, enough=True, monotone=True, words="of all")


def deep() -> RunEvidence:
    """The evidence as one of the deep profile."""
    return honest().model_copy(update={"run": honest().run.model_copy(update={"profile": "deep"})})


BREAKS_P6: Final = "model:whole-without-confirm+ledger-asked+no-effect+rebase+rule-0+same-write:2/0/0/1/0/0/0/0/0/0/0/0/0/0/0/0/0/1/0/3/0/0/0/0/0/0/0"
"""A run that breaks P6 with its minimal set, in the whole job."""
TAKES: Final = Wider(more=["rule-0"], key=BREAKS_P6, holds=True)


def in_jobs(*wider: Wider) -> list[str]:
    """What is found of P6's minimal set in a deep run, where this is said to come of it in the whole job."""
    told = apart("P6", *map(list, matrix.GIVEN["P6"])).model_copy(update={"wider": list(wider)})
    made = matrix_with(parts(sets=[told]))
    found = necessity(made.model_copy(update={"run": deep().run}))
    return [each for each in found if each.startswith("the minimal sets of P6: ") and "subsets" not in each]


def hold(told: Necessity) -> Necessity:
    """Every order said to hold."""
    held = {
        name: next(c for c in told.cells if c.property == "all").model_copy(update={"mechanism": name})
        for name in BROKEN
    }
    return told.model_copy(update={"cells": [*(c for c in told.cells if c.mechanism not in BROKEN), *held.values()]})


def test_a_matrix_as_this_program_states_it_is_found_to_be_right() -> None:
    """What the lies begin with is none: each is found for what it says."""
    assert necessity(honest()) == []


LIES: dict[str, tuple[Callable[[], RunEvidence], str]] = {
    "the matrix dropped": (lambda: honest().model_copy(update={"necessity": None}), "claim NECESSITY-SETS: there is no matrix"),
    "the sets dropped": (lambda: matrix_with(parts(sets=[])), "the minimal sets of P1: it is missing"),
    "another set": (lambda: matrix_with(sets(sets=[["quiet"]])), "the minimal sets of P1: they are not those"),
    "a set that does not suffice": (lambda: matrix_with(sets(enough=False)), "the minimal sets of P1: what is needed"),
    "sets with the stores in the quick profile": (lambda: matrix_with(parts(whole=[apart("P8", ["confirm"])])),
                                                  "the minimal sets with the three of P8: this program has none"),
    "other sets with the stores": (lambda: matrix_with(parts(whole=[apart("P8", ["repair"])])), "of P8: [['repair']] are not those"),
    "other sets between workers": (lambda: matrix_with(parts(between=[apart("P4", ["checked"])])), "of P4: [['checked']] are not those"),
    "sets between workers in the quick profile": (lambda: matrix_with(parts(between=[apart("P4", ["fence-events"])])),
                                                  "the minimal sets between workers of P4: this program has none"),
    "the sets of a deep run dropped": (deep, "the minimal sets with the three of P1: it is missing"),
    "the sets between workers of a deep run dropped": (deep, "the minimal sets between workers of P5: it is missing"),
    "the sets beside the step dropped": (lambda: matrix_with(parts(beside=[])), "the minimal sets beside the step of P12: it is missing"),
    "other sets beside the step": (lambda: matrix_with(parts(beside=[apart("P12", ["L-RECORD"])])), "of P12: [['L-RECORD']] are not those"),
    "sets of a gate in the quick profile": (lambda: matrix_with(parts(beside=[apart("P9", *map(list, matrix.BESIDE_STEP["P9"]))])),
                                            "the minimal sets beside the step of P9: this program has none"),
    "the sets beside the step of a deep run dropped": (deep, "the minimal sets beside the step of P10: it is missing"),
    "the sets of P15 of a deep run dropped": (deep, "the minimal sets of P15: it is missing"),
    "fewer subsets": (lambda: matrix_with(sets(asked=65535)), "1 properties and 65568 subsets; the sets have 1 and 65567"),
    "too few subsets": (lambda: matrix_with(sets(asked=3)), "3 subsets are answered for"),
    "the bounds reworded": (lambda: matrix_with(parts(bounds=["Everything was searched."])), "the matrix's bounds"),
    "the bounds dropped": (lambda: matrix_with(parts(bounds=[])), "the matrix's bounds"),
    "the class reworded beside its claim": (lambda: matrix_with(parts(ambiguity=["There is no such class."])), "are not those of"),
    "the class reworded in both places": (lambda: with_class(statement="There is no such class."), "T-AMBIGUOUS-EXACT, explore: it"),
    "a figure of the class": (lambda: with_class(figures={"observations": 9, "in the class": 3}), "is not what this program says"),
    "a larger class": (lambda: with_class(statement=matrix.ambiguous(9, 4, TWIN, 5)), "is not what this program says"),
    "the proof of the class reworded": (lambda: with_class(1, statement="It is proved."), "T-AMBIGUOUS-EXACT, prove: its sentence"),
    "a figure of the proof": (lambda: with_class(1, figures={**proof().figures, "steps": 40}), "T-AMBIGUOUS-EXACT, prove: its sentence"),
    "a proof of a smaller class": (
        lambda: with_class(1, statement=matrix.solved(2, 41, 194, 767), figures={**proof().figures, "in the class": 2}),
        "classes of different sizes"),
    "a proof of nothing": (lambda: with_class(1, statement=matrix.solved(4, 0, 194, 767), figures={**proof().figures, "steps": 0}),
                           "T-AMBIGUOUS-EXACT, prove: it does not say"),
    "no run to the class": (lambda: with_class(trace=None), "no run leads to a state of the class"),
    "a twin that is none": (lambda: with_class(statement=matrix.ambiguous(9, 4, TWIN[:-6], 2)), "its two runs do not end where"),
    "a twin of another choice": (lambda: with_class(statement=matrix.ambiguous(9, 4, TWIN + "/77", 2)), "its key is none"),
    "the same run twice": (lambda: with_class(trace=Trace(key=TWIN, frames=[FIRST])), "no effect can double"),
    "a mechanism that is none": (lambda: matrix_with(cell(mechanism="luck")), "the matrix's cell P1 × luck: this program has none"),
    "a property that is none": (lambda: matrix_with(cell(property="P99")), "the matrix's cell P99 × ledger: this program has none"),
    "an order that is none": (lambda: matrix_with(cell(mechanism="order-9999")), "the matrix's cell P1 × order-9999: this program has none"),
    "another choice": (lambda: matrix_with(cell(mechanism="on-unknown=pray")), "the matrix's cell P1 × on-unknown=pray: this program has"),
    "a choice that is needed": (lambda: matrix_with(cell(mechanism="on-unknown=park", answer="needed", verdict=Verdict.REFUTED)),
                                "P1 without on-unknown=park: needed is not what this program states"),
    "a cell twice": (lambda: matrix_with(lambda told: told.model_copy(update={"cells": [*told.cells, told.cells[0]]})),
                     "the matrix's cell all × order-4567: it is there 2 times"),
    "an order that breaks, and does not": (lambda: matrix_with(cell(mechanism="order-4567", answer="needed", verdict=Verdict.REFUTED)),
                                           "order-4567: P1 is said to break, and that nothing does"),
    "an order of which one property holds": (lambda: matrix_with(cell(mechanism="order-4567")), "P1 without order-4567: what breaks"),
    **{f"{prop} without {mechanism}": (lambda prop=prop, mechanism=mechanism, key=key: matrix_with(broken(prop, mechanism, key)),  # type: ignore[misc]
                                       f"{prop} without {mechanism}: needed is not what this program states")
       for prop, mechanism, key in (("P13", "repair", "model:without-repair:0"), ("P9", "repair", "model:without-repair:0"),
                                    ("P10", "confirm", "model:without-confirm:0"), ("P15", "checked", "model:two-without-checked:0"),
                                    ("P1", "G-ASK", "model:gate-without-G-ASK:0"))},
    "a compensation's run that is one of the step": (lambda: matrix_with(broken("P10", "repair", "model:without-repair:0")),
                                                     "P10 without repair: its key is of no machine that lacks"),
    "a compensation's run that breaks nothing": (lambda: matrix_with(broken("P10", "repair", "model:compensation-without-repair:0")),
                                                 "P10 without repair: its run does not break"),
    "a gate's run that breaks nothing": (lambda: matrix_with(broken("P9", "G-ASK", "model:gate-without-G-ASK:0")),
                                         "P9 without G-ASK: its run does not break"),
    "a compensation's mechanism said not to be needed": (lambda: matrix_with(cell(property="P10", mechanism="unknown")),
                                                         "P10 without unknown: not needed is not what"),
    "a run of what its machine does not speak of": (lambda: matrix_with(broken("P9", "order-4567", "model:ordered-4567:0")),
                                                    "P9 without order-4567: it is no property that a run can break"),
    "orders that break said to hold": (lambda: matrix_with(hold), "order-4567 without catch-up: nothing is said to break, and P3, P4 does"),
    "one property of them said to hold": (lambda: matrix_with(parts(cells=cells()[:-1])), "order-7456 without ledger-asked: P4 is said to break"),
    "a cell in which there is nothing to ask": (lambda: matrix_with(cell(property="P3", mechanism="catch-up", answer="not applicable",
                                                                         verdict=Verdict.NOT_CHECKED)), "P3 without catch-up: not applicable is"),
    "a cell that nobody looked at": (lambda: matrix_with(cell(property="P6", mechanism="checked", answer="not checked",
                                                              verdict=Verdict.NOT_CHECKED)), "P6 without checked: not checked is"),
    "a cell that says nothing, asked": (lambda: matrix_with(cell(property="P3", mechanism="effect-store")), "P3 without effect-store: not needed is"),
    "P15 broken by a run that goes on": (lambda: matrix_with(cell(property="P15", mechanism="rule-0", answer="needed", verdict=Verdict.REFUTED,
                                                                  key="model:without-rule-0:0", steps=0)), "P15 without rule-0: its run does not"),
    "the orders dropped": (lambda: matrix_with(parts(cells=cells()[30:])), "the matrix's choice order-4567: it is missing"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_the_matrix_is_named(lie: str) -> None:
    """What was dropped or reworded is said."""
    make, words = LIES[lie]
    found = necessity(make())
    assert any(words in each for each in found), found


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((), "of 1 sets 0 are said to be asked of the whole job"),
        ((TAKES.model_copy(update={"more": []}),), "is not what this program states"),
        ((TAKES.model_copy(update={"key": ""}),), "is not what this program states"),
        ((TAKES.model_copy(update={"holds": False}),), "is not what this program states"),
        ((TAKES.model_copy(update={"key": BREAKS_P6.rpartition("/")[0]}),), "its run does not break the property"),
        ((TAKES.model_copy(update={"key": TWIN}),), "its key is of no machine that lacks this and nothing else"),
    ],
)
def test_what_a_set_takes_for_the_whole_job_is_as_stated(said: tuple[Wider, ...], words: str) -> None:
    """Each set of a deep run is asked; what it takes more is shown by a run of the machine that has the set alone."""
    assert in_jobs(TAKES) == []
    (found,) = in_jobs(*said)
    assert words in found


def test_a_quick_run_asks_no_set_of_the_whole_job() -> None:
    """So it cannot say what comes of one."""
    found = necessity(matrix_with(sets(wider=[TAKES])))
    assert any("P1: what comes of them in the whole job is said, and was not asked" in each for each in found)


def test_each_cell_is_due() -> None:
    """Where the whole matrix is claimed, each property stands beside each mechanism, and beside each choice for an ambiguity."""
    figures = {"needed": 0}
    claimed = ClaimResult(
        claim="NECESSITY", expected=Verdict.EXHAUSTED, items=[item("explore", Verdict.EXHAUSTED, "-", figures=figures)]
    )
    found = necessity(honest().model_copy(update={"claims": [claimed]}))
    for name in ("P13 × quiet", "P14 × on-unknown=query"):
        assert f"the matrix's cell {name}: it is missing" in found


IDLE_LIES: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "dropped": (lambda said: said[1:], "the idle mechanism ledger: it is missing"),
    "of one that is needed": (lambda said: [*said, matrix.idle("quiet", {}, ())], "quiet: this program has none"),
    "twice": (lambda said: [*said, said[0]], "this program has none of that name"),
    "in other words": (lambda said: [said[0].replace("breaks", "ever breaks"), *said[1:]], "ledger"),
    "without its run": (lambda said: [matrix.idle("ledger", {}, ()), *said[1:]], "no run shows against what"),
    "with a run that breaks nothing": (lambda said: [matrix.idle("ledger", {"P3": LEDGER[:-10]}, ()), *said[1:]], "does not break"),
    "with a run of another machine": (lambda said: [matrix.idle("ledger", {"P4": STORE}, ()), *said[1:]], "of no machine that lacks"),
}  # fmt: skip


@pytest.mark.parametrize("lie", IDLE_LIES)
def test_a_lie_about_what_is_idle_is_named(lie: str) -> None:
    """A sentence about a mechanism without which nothing breaks says what its runs show."""
    change, words = IDLE_LIES[lie]
    figures = {"needed": 0}
    claimed = ClaimResult(claim="NECESSITY", expected=Verdict.EXHAUSTED,
                          items=[item("explore", Verdict.EXHAUSTED, "as stated", figures=figures)])  # fmt: skip
    evidence = matrix_with(lambda told: told.model_copy(update={"idle": change(list(IDLE))}))
    found = necessity(evidence.model_copy(update={"claims": [claimed]}))
    assert any(words in each and "idle" in each for each in found), found
