"""The necessity matrix in a bundle: cells and sets are those that this program states, sentences say what the figures say.

Each run that a cell or a sentence names is followed by the model's interpreter, and has to break the property; the two runs of
the ambiguity class have to end where nobody who reads the stores could tell them apart.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ...checkers.evidence import Item, Necessity, Need, RunEvidence, Sufficient, Trace, Verdict
from ...model.machine import Scope, guard, holds
from ...model.mechanisms import CHOICES, NEEDED, ONE, PLANTS
from ...model.properties import PROPERTIES
from ...model.windows import BLANK
from ...scenarios import matrix
from ...scenarios.profile import ASKED_AGAIN
from ...scenarios.without import named
from .cells import breaks_it, can_break, due
from .listed import names
from .replays import MODEL, ReplayError, follow, machine_by_name

CLAIM: Final = "NECESSITY"
SETS: Final = "NECESSITY-SETS"
ORDERS: Final = "NECESSITY-ORDERS"
CLASS: Final = "T-AMBIGUOUS-EXACT"
ALL: Final = "all"
"""What a cell of an order speaks of in which nothing breaks."""
P15: Final = "P15"
COLUMNS: Final = tuple(f"P{number}" for number in range(1, 16))
CHOSEN: Final = tuple(f"on-unknown={choice}" for choice in CHOICES)
"""What may be declared of an ambiguous attempt: nothing breaks without any one of them."""
ANSWERS: Final = {
    "needed": (Verdict.REFUTED,),
    "not needed": (Verdict.PROVED, Verdict.EXHAUSTED),
    "not applicable": (Verdict.NOT_CHECKED,),
    "not checked": (Verdict.NOT_CHECKED,),
}
ALWAYS: Final = ("ledger", "effect-store", "on-unknown")
"""Mechanisms that are in every set: the others are what minimal sets are made of."""
RUN: Final = re.compile(r"(P\d+) \(crashwindow replay ([^ )]+)\)")
BOTH: Final = re.compile(r", (P\d+(?:, P\d+)*) fails with it as well$")
TWINS: Final = re.compile(r"`crashwindow replay ([^ `]+)` to its twin .* is looked at, (\d{1,9}) are told apart")
READABLE: Final = (Scope.CONFIG, Scope.DURABLE, Scope.CLOCK)
UNDECIDED: Final = guard(at="idle", job="open", **{**BLANK, "effect": "none"})
"""Where a recovery has something to decide: no worker, an open job, no result anywhere, and no end of the step."""


def necessity(evidence: RunEvidence) -> list[str]:
    """Everything in the matrix that is missing, contradicts itself, or is not as this program states it."""
    told, profile = evidence.necessity, evidence.run.profile
    done = {name: _done(evidence, name) for name in (CLAIM, ORDERS, SETS, CLASS)}
    found = [f"claim {name}: there is no matrix" for name, items in done.items() if items and told is None]
    if told is None:
        return found
    found += _names(told, profile)
    for cell in told.cells:
        found += [f"{cell.property} without {cell.mechanism}: {words}" for words in _cell(cell, profile)]
    if told.bounds != matrix.bounds(profile):
        found.append(f"the matrix's bounds are not those of the profile {profile}")
    if done[CLAIM]:
        found += [*_whole(told, done[CLAIM]), *_idle(told)]
    if done[ORDERS]:
        found += _orders(told, done[ORDERS], profile)
    found += [*_sets(told, done[SETS], profile), *_class(told, done[CLASS])]
    return found


def _done(evidence: RunEvidence, claim: str) -> list[Item]:
    """What a search has found of a claim, and a solver; not what another one says of its files."""
    items = [item for result in evidence.claims if result.claim == claim for item in result.items]
    return [i for i in items if i.verdict in (Verdict.EXHAUSTED, Verdict.PROVED) and i.checker != ASKED_AGAIN]


def _whole(told: Necessity, items: Sequence[Item]) -> Iterator[str]:
    """Each property beside each mechanism, once, and as many that are needed as is said."""
    cells = [cell for cell in told.cells if cell.mechanism in NEEDED]
    there = {_name(cell) for cell in told.cells}
    owed = [f"{name} × {each}" for name in COLUMNS for each in NEEDED] + [
        f"{p.id} × {each}" for p in PROPERTIES for each in CHOSEN
    ]
    yield from (f"the matrix's cell {name}: it is missing" for name in owed if name not in there)
    for answer, figure in (("needed", "needed"), ("not needed", "free"), ("not checked", "left")):
        number = sum(cell.answer == answer for cell in cells)
        for item in items:
            if item.figures.get(figure) != number:
                yield f"claim {CLAIM}: {item.figures.get(figure)} cells are said to be {answer}; the matrix has {number}"


def _name(cell: Need) -> str:
    return f"{cell.property} × {cell.mechanism}"


def _names(told: Necessity, profile: str) -> Iterator[str]:
    """No cell twice, and none of a property or mechanism that this program does not have; of an order all, or what breaks."""
    every = {
        **dict.fromkeys(NEEDED, COLUMNS),
        **dict.fromkeys(CHOSEN, tuple(prop.id for prop in PROPERTIES)),
        **dict.fromkeys(matrix.orders(profile), (ALL, *(prop.id for prop in PROPERTIES))),
    }
    there = [_name(cell) for cell in told.cells]
    known = [_name(cell) for cell in told.cells if cell.property in every.get(cell.mechanism, ())]
    yield from names("the matrix's cell", there, known)
    for mechanism in matrix.orders(profile):
        broken = [cell.property for cell in told.cells if cell.mechanism == mechanism and cell.property != ALL]
        if broken and f"{ALL} × {mechanism}" in known:
            yield f"{mechanism}: {', '.join(broken)} is said to break, and that nothing does"


def _cell(cell: Need, profile: str) -> Iterator[str]:
    """What a cell says that cannot be; of one that can, whether its run shows it."""
    wrong = list(_stated(cell, profile))
    yield from wrong
    if cell.key and not wrong:
        yield from _run(cell, due(cell))


def _stated(cell: Need, profile: str) -> Iterator[str]:
    if cell.verdict not in ANSWERS[cell.answer]:
        yield f"{cell.answer} is no answer that {cell.verdict} gives"
    if bool(cell.key) != (cell.answer == "needed"):
        yield "a run that breaks it belongs to what is needed, and to nothing else"
    if cell.mechanism in NEEDED and cell.answer != matrix.answer(cell.property, cell.mechanism, profile):
        yield f"{cell.answer} is not what this program states"
    if cell.mechanism in CHOSEN and cell.answer != "not needed":
        yield f"{cell.answer} is not what this program states"
    if cell.mechanism.startswith("order-") and (cell.answer == "needed") != (cell.property != ALL):
        yield "what breaks in an order are single properties, and what holds is all of them"


def _run(cell: Need, policies: Sequence[str]) -> Iterator[str]:
    """Whether the key of a cell is a run, of one of some machines, of as many steps, that breaks the property."""
    if not can_break(cell):
        yield "it is no property that a run can break"
        return
    if not cell.key.startswith(tuple(f"{MODEL}:{policy}:" for policy in policies)):
        yield "its key is of no machine that lacks this and nothing else"
        return
    trace = Trace(key=cell.key, frames=[])
    try:
        policy, run = follow(trace)
    except ReplayError as error:
        yield str(error)
        return
    if len(run) - 1 != cell.steps:
        yield f"{cell.steps} steps are stated, and its run has {len(run) - 1}"
    if not breaks_it(cell, policy, run, trace):
        yield "its run does not break the property"


def _idle(told: Necessity) -> Iterator[str]:
    """A sentence for each mechanism without which nothing breaks, with runs that show against what it protects."""
    broken = {cell.mechanism for cell in told.cells if cell.answer == "needed"}
    free = {c.mechanism for c in told.cells if c.answer == "not needed" and c.mechanism in NEEDED} - broken
    said = {words.removeprefix("nothing breaks without ").partition(",")[0]: words for words in told.idle}
    yield from names("what is said of the idle mechanism", [*said, *["?"] * (len(told.idle) - len(said))], free)
    for mechanism in sorted(free & said.keys()):
        fails = dict(RUN.findall(said[mechanism]))
        both = BOTH.search(said[mechanism])
        if said[mechanism] != matrix.idle(mechanism, fails, both[1].split(", ") if both else ()):
            yield f"what is said of the idle mechanism {mechanism} is not what this program says of one"
        if mechanism in PLANTS and not fails:
            yield f"the idle mechanism {mechanism}: no run shows against what it protects"
        for prop, key in fails.items():
            steps = key.count("/")
            run = Need(property=prop, mechanism=mechanism, answer="needed", verdict=Verdict.REFUTED, words="", key=key,
                       steps=steps)  # fmt: skip
            planted = named(f"planted-{mechanism}", [mechanism])
            yield from (f"the idle mechanism {mechanism}, {prop}: {words}" for words in _run(run, [planted]))


def _orders(told: Necessity, items: Sequence[Item], profile: str) -> Iterator[str]:
    """Each order of the writes, with every lookup and without one; with all of them nothing breaks."""
    chosen = [cell for cell in told.cells if cell.mechanism.startswith("order-")]
    wanted = matrix.orders(profile)
    yield from names("the matrix's choice", sorted({cell.mechanism for cell in chosen}), wanted)
    plain = [cell for cell in chosen if " without " not in cell.mechanism]
    for order in wanted:
        breaks = {cell.property for cell in chosen if cell.mechanism == order and cell.answer == "needed"}
        stated = matrix.broken(order, profile)
        if breaks != stated:
            said, ought = (", ".join(sorted(each)) or "nothing" for each in (breaks, stated))
            yield f"{order}: {said} is said to break, and {ought} does"
    for item in items:
        if item.figures.get("orders") != len(plain):
            yield f"claim {ORDERS}: {item.figures.get('orders')} orders; the matrix has {len(plain)}"


def _sets(told: Necessity, items: Sequence[Item], profile: str) -> Iterator[str]:
    """The minimal sets, which are as stated, and as many, over as many subsets, as is said."""
    if items:
        wanted = matrix.IN_QUICK if profile == "quick" else [*(prop.id for prop in PROPERTIES), P15]
        yield from names("the minimal sets of", (each.property for each in told.sets), wanted)
        deep = profile == "deep"
        for what, found, due in (
            ("with the three", told.whole, matrix.WHOLE if deep else ()),
            ("between workers", told.between, matrix.BETWEEN if deep else ()),
            ("beside the step", told.beside, matrix.beside_step(profile)),
        ):
            yield from names(f"the minimal sets {what} of", (each.property for each in found), due)
    for each in told.sets:
        yield from (f"the minimal sets of {each.property}: {words}" for words in _set(each))
    for found, stated in (
        (told.whole, matrix.WHOLE), (told.between, matrix.BETWEEN), (told.beside, matrix.BESIDE_STEP),
    ):  # fmt: skip
        for each in found:
            if {frozenset(one) for one in each.sets} != {frozenset(one) for one in stated.get(each.property, ())}:
                yield f"the minimal sets of {each.property}: {each.sets} are not those that this program states"
    for given, kept, apart in ((told.sets, ALWAYS, False), (told.whole, (), True)):
        for each in given:
            yield from (
                f"the minimal sets of {each.property}: {words}" for words in _in_jobs(each, kept, apart, profile)
            )
    for item in items:
        said = item.figures.get("properties"), item.figures.get("subsets")
        there = len(told.sets), sum(each.asked for each in (*told.sets, *told.whole, *told.between, *told.beside))
        if said != there:
            yield f"claim {SETS}: {said[0]} properties and {said[1]} subsets; the sets have {there[0]} and {there[1]}"


def _in_jobs(told: Sufficient, kept: Sequence[str], apart: bool, profile: str) -> Iterator[str]:
    """What comes of each set in the whole job, where the deep profile asks it: as stated, with runs that break the property."""
    if profile != "deep" or told.property == P15:
        if told.wider:
            yield "what comes of them in the whole job is said, and was not asked"
        return
    if len(told.wider) != len(told.sets):
        yield f"of {len(told.sets)} sets {len(told.wider)} are said to be asked of the whole job"
    more = (matrix.IN_JOBS_APART if apart else matrix.IN_JOBS).get(told.property, ())
    for each, found in zip(told.sets, told.wider, strict=False):
        if tuple(found.more) != more or not found.holds or bool(found.key) != bool(more):
            yield f"what {', '.join(each) or 'none'} takes for the whole job is not what this program states"
        elif found.key:
            absent = sorted(set(ONE) - set(each) - set(kept))
            run = Need(property=told.property, mechanism=", ".join(more), answer="needed", verdict=Verdict.REFUTED, words="",
                       key=found.key, steps=found.key.count("/"))  # fmt: skip
            yield from _run(run, [named("whole", absent)])


def _set(told: Sufficient) -> Iterator[str]:
    if {frozenset(each) for each in told.sets} != {frozenset(each) for each in matrix.GIVEN.get(told.property, ())}:
        yield "they are not those that this program states"
    if not told.enough or told.monotone != (told.property not in matrix.WORSE):
        yield "what is needed is said not to suffice, or larger sets to be worse, or not, otherwise than this program states"
    if told.property != P15 and told.asked != (every := 2 ** len([name for name in ONE if name not in ALWAYS])):
        yield f"{told.asked} subsets are answered for; there are {every}"


def _class(told: Necessity, items: Sequence[Item]) -> Iterator[str]:
    """What is said of the ambiguity class: as this program says it, with the items' figures, and twins that are some."""
    said = list(dict.fromkeys(item.statement for item in items))
    if told.ambiguity != said:
        yield f"the matrix's words about the ambiguity class are not those of claim {CLASS}"
    for item in items:
        judged = _solved(item, items) if item.checker == "prove" else _twins(item, items)
        yield from (f"claim {CLASS}, {item.checker}: {words}" for words in judged)


def _solved(item: Item, items: Sequence[Item]) -> Iterator[str]:
    """Whether the solver's sentence says what its figures say, of the class that the search has found."""
    inside, *others = (item.figures.get(name, 0) for name in ("in the class", "steps", "clauses", "obligations"))
    if not all(isinstance(figure, int) and figure > 0 for figure in (inside, *others)):
        yield "it does not say how large the class is, and what was asked of it"
    elif item.statement != matrix.solved(*map(int, (inside, *others))):
        yield "its sentence is not what this program says with these figures"
    if any(each.figures.get("in the class") != inside for each in items):
        yield "the search and the solver speak of classes of different sizes"


def _twins(item: Item, items: Sequence[Item]) -> Iterator[str]:
    found = TWINS.search(item.statement)
    every, inside = item.figures.get("observations"), item.figures.get("in the class")
    if not found or not isinstance(every, int) or not isinstance(inside, int):
        yield "it does not say how many observations there are, and which runs show it"
        return
    key, apart = found[1], int(found[2])
    if item.statement != matrix.ambiguous(every, inside, key, apart) or not 0 < apart < inside <= every:
        yield "its sentence is not what this program says with these figures"
    first = next((each.trace for each in items if each.trace), None)
    if first is None:
        yield "no run leads to a state of the class"
        return
    try:
        (policy, repeats), (other, loses) = follow(first), follow(Trace(key=key, frames=[]))
    except ReplayError as error:
        yield str(error)
        return
    machine = machine_by_name(policy)
    one, twin = machine.view(repeats[-1][1]), machine_by_name(other).view(loses[-1][1])
    seen = [field.name for field in machine.fields if field.scope in READABLE]
    if policy != other or not holds(one, UNDECIDED) or any(one[name] != twin.get(name) for name in seen):
        yield "its two runs do not end where a recovery sees the same, and has to decide"
    elif one["idempotent"] == "yes" or (one["effects"], one["wire"]) == ("0", "0") or twin["effects"] != "0":
        yield "of its two runs' ends, no effect can double in the first, or be lost in the second"
