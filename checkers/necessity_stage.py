"""The stage of `crashwindow verify` for the necessity matrix and the ambiguity class: computed, compared with what is stated."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..model.counterparts import OF_RULE
from ..model.machine import Machine
from ..model.mechanisms import MECHANISMS, NEEDED, NEEDED_BY_JOBS, ONE, RULES, TWO
from ..model.policy import HARDENED
from ..model.properties import BY_ID, PROPERTIES
from ..scenarios.matrix import (
    ALL_SETS,
    BESIDE_STEP,
    BETWEEN,
    CELLS,
    CLAIMS,
    GIVEN,
    IN_JOBS,
    IN_JOBS_APART,
    IN_QUICK,
    LATER,
    UNASKED,
    WHOLE,
    WORSE,
    ambiguous,
    answer,
    beside_step,
    bounds,
    solved,
)
from .ambiguity import Theorem, fenced_look, observations, theorem, undecided
from .evidence import Item, MutantResult, Necessity, Need, Sufficient, Verdict
from .explore import Space
from .necessity import P15, choices, column, inapplicable
from .necessity_beside import asked, beside, worse
from .necessity_beside import rests as rests_beside
from .necessity_between import between
from .necessity_choices import idle, lookups, orders
from .necessity_fleet import SEMANTICS, others, rests, step, untaken
from .necessity_lattice import sets_of
from .necessity_live import of_rules, of_step
from .necessity_sets import APART, GROUP, Lattice, minimal_sets
from .necessity_wider import wider
from .proof_subjects import AMBIGUOUS, RUNS, TWINS
from .search import complete
from .traces import trace_to
from .verify import Context, Found, Stage

COMMAND: Final = "crashwindow necessity"
COLUMNS: Final = (*(f"P{n}" for n in range(1, 16)),)
"""The properties, in the order of the matrix."""
if TYPE_CHECKING:
    from .prove_ambiguity import Pair

P13: Final = "it speaks of verify-job, which reads records and takes part in no protocol; forgeries are its own stage"
P5: Final = "it speaks of a worker that was overtaken: there is one worker"
LATER_ON: Final = "the deep profile computes it"
EXACT: Final = "crashwindow check T-AMBIGUOUS-EXACT"
FREE: Final = "conditional"
"""A mechanism between workers without which nothing breaks: what breaks where a defect is planted beside it is the defect's."""
Tell = Callable[[str], None]


def necessity(context: Context) -> Found:
    """The matrix, the choices, minimal sets, the ambiguity class; what is not as stated is REFUTED."""
    found = Found()
    space = complete(HARDENED.name, context.spaces)
    cells = [*matrix(context.profile, context.tell), *choices(space)]
    chosen = [*orders(context.profile), *lookups(context.profile)]
    context.tell("necessity: minimal sets")
    deep = context.profile == "deep"
    lattice = Lattice(PROPERTIES) if deep else Lattice([BY_ID[name] for name in IN_QUICK], GROUP)
    sets = minimal_sets(lattice, cells, frozenset(APART if deep else ()), context.tell)
    apart = minimal_sets(lattice, cells, frozenset(), context.tell) if deep else []
    if deep:
        sets = [wider(each, frozenset(APART), IN_JOBS.get(each.property, ()), context.tell) for each in sets]
        apart = [wider(each, frozenset(), IN_JOBS_APART.get(each.property, ()), context.tell) for each in apart]
        given, free = of_step(context.tell)
        sets, apart = [*sets, given], [*apart, free]
    two = between(context.tell) if deep else []
    small = sets_beside(context.profile, context.tell)
    classified = classify(space)
    told, item = ambiguity(space, classified, context.directory / "smt2")
    found.necessity = Necessity(
        bounds=bounds(context.profile), cells=[*cells, *chosen], sets=sets, idle=idle(cells), ambiguity=told, whole=apart,
        between=two, beside=small,
    )  # fmt: skip
    found.add("T-AMBIGUOUS-EXACT", *item)
    found.add("NECESSITY", stated(cells, context.profile))
    found.add("NECESSITY-ORDERS", any_order(chosen))
    found.add("NECESSITY-SETS", alone(sets, apart, two, small))
    found.mutants += canaries(cells, space, classified, context.profile)
    return found


def matrix(profile: str, tell: Tell, mechanisms: Iterable[str] = (*ONE, *TWO, *RULES)) -> list[Need]:
    """Every cell of some mechanisms' columns, mechanism by mechanism."""
    cells: list[Need] = []
    for mechanism in mechanisms:
        tell(f"necessity: {mechanism}")
        computed = _one if mechanism in ONE else _rule if mechanism in RULES else _two
        known = {c.property: c for c in computed(mechanism, profile)}
        cells += [known[name] for name in COLUMNS]
    return cells


def _one(mechanism: str, profile: str) -> list[Need]:
    apart = [inapplicable(name, mechanism, why) for name, why in {"P5": P5, "P13": P13}.items()]
    return [*column(mechanism, profile), *beside(mechanism), *apart]


def _rule(mechanism: str, profile: str) -> list[Need]:
    kind = OF_RULE[mechanism]
    cells = [
        asked(kind, mechanism),
        unasked(P15, mechanism, LATER_ON) if profile == "quick" else rests_beside(mechanism),
    ]
    known = {"P5": P5, "P13": P13, **{c.property: "" for c in cells}}
    why = f"it is a rule of the {kind} machine alone: no row of another one is left out"
    return [*cells, *(inapplicable(name, mechanism, known.get(name, why)) for name in COLUMNS if known.get(name, why))]


def _two(mechanism: str, profile: str) -> list[Need]:
    cells = [
        inapplicable("P13", mechanism, P13),
        unasked(P15, mechanism, LATER_ON) if profile == "quick" else rests(mechanism),
    ]
    if profile == "quick" and mechanism == LATER:
        names = ("P5", *(p.id for p in PROPERTIES))
        cells += [unasked(name, mechanism, LATER_ON) for name in names]
    else:
        cells += step(mechanism, CLAIMS[profile])
    for worked in SEMANTICS:
        if profile == "quick":
            cells += [unasked(name, mechanism, LATER_ON) for name in worked.properties]
        else:
            cells += others(worked, mechanism, CLAIMS[profile])
    return cells


def unasked(prop: str, mechanism: str, why: str) -> Need:
    """A cell that was not computed."""
    return Need(property=prop, mechanism=mechanism, answer="not checked", verdict=Verdict.NOT_CHECKED, words=why)


def differences(cells: Sequence[Need], profile: str) -> list[str]:
    """Where the computed matrix is not the one that is stated of what the profile searches."""
    told = []
    more = NEEDED_BY_JOBS if profile == "deep" else {}
    for c in cells:
        if c.mechanism in NEEDED:
            due = answer(c.property, c.mechanism, profile)
            needed = c.property in (*NEEDED[c.mechanism], *more.get(c.mechanism, ()))
            if c.answer != due or (needed and c.answer == "not applicable"):
                told.append(f"{c.property} without {c.mechanism}: {c.answer}, stated otherwise ({c.words})")
    return told


def counted(cells: Sequence[Need]) -> tuple[int, int, int]:
    """How many cells are needed, how many are not, and how many were not computed."""
    said = Counter(c.answer for c in cells if c.mechanism in NEEDED)
    return said["needed"], said["not needed"], said["not checked"]


def _item(verdict: Verdict, said: str, claim: str, **figures: int) -> Item:
    return Item(
        checker="explore", verdict=verdict, statement=said, figures=dict(figures), command=f"crashwindow check {claim}"
    )


def stated(cells: Sequence[Need], profile: str) -> Item:
    """Whether the computed matrix is the stated one."""
    wrong, missing = differences(cells, profile), [m.id for m in MECHANISMS if m.id not in {c.mechanism for c in cells}]
    needed, free, left = counted(cells)
    if (needed, free, left) != CELLS[
        profile
    ]:  # what a property is said not to speak of is neither, and would not be missed
        wrong.append(f"{needed} cells are needed, {free} are not, {left} are left; stated are {CELLS[profile]}")
    if wrong or missing:
        said = f"the matrix is not as stated: {'; '.join([*wrong, *missing][:3])}"
        return _item(Verdict.REFUTED, said, "NECESSITY", differences=len(wrong))
    said = (f"{needed} cells are needed, each with a run that breaks the property; {free} are not, the property holding in every"
            f" state without it; {left} are left to the deep profile, or not checked")  # fmt: skip
    return _item(Verdict.EXHAUSTED, said, "NECESSITY", needed=needed, free=free, left=left)


def any_order(chosen: Sequence[Need]) -> Item:
    """Whether no order of the writes breaks anything, with every lookup in force."""
    plain = [c for c in chosen if c.mechanism.startswith("order-") and " without " not in c.mechanism]
    bad = [c for c in plain if c.answer == "needed"]
    if bad or not plain:
        return _item(
            Verdict.REFUTED,
            f"{bad[0].property} fails in {bad[0].mechanism}" if bad else "no order was tried",
            "NECESSITY-ORDERS",
        )
    said = f"in each of the {len(plain) - 1} orders of B4 to B7, and with B5 to B7 at once, every property of the step holds"
    return _item(Verdict.EXHAUSTED, said, "NECESSITY-ORDERS", orders=len(plain))


def sets_beside(profile: str, tell: Tell) -> list[Sufficient]:
    """The minimal sets of the machines beside the step's that a profile asks for."""
    found = []
    for name in beside_step(profile):
        tell(f"necessity: minimal sets of {name}")
        found.append(sets_of(name) if name in ALL_SETS else of_rules(name))
    return found


def alone(
    sets: Sequence[Sufficient],
    apart: Sequence[Sufficient] = (),
    two: Sequence[Sufficient] = (),
    small: Sequence[Sufficient] = (),
) -> Item:
    """Whether what the matrix says that a property needs suffices, the minimal sets are as stated, and larger ones are worse only
    where that is stated.

    apart, two: the minimal sets where the three may be missing, too, and those between two workers, where they were searched;
    small: those of a gate, a compensation and a recorded value.
    """
    wrong = [s.property for s in sets if not s.enough or s.monotone != (s.property not in WORSE)]
    wrong += [s.property for found, said in ((sets, GIVEN), (apart, WHOLE), (two, BETWEEN), (small, BESIDE_STEP))
              for s in found if not as_stated(s, said)]  # fmt: skip
    wrong += [f"{s.property} in the whole job" for s in (*sets, *apart) for each in s.wider
              if not each.holds or bool(each.key) != bool(each.more)]  # fmt: skip
    if wrong or not sets:
        return _item(
            Verdict.REFUTED,
            f"what is needed does not suffice, or the minimal sets are not those that are stated: {', '.join(wrong)}",
            "NECESSITY-SETS",
        )
    said = (
        "the minimal sets, all other mechanisms of one worker missing but the stores and the answer to an ambiguity: "
    )
    said += _listed(sets)
    if worse := [s.property for s in sets if not s.monotone]:
        said += f"; of {', '.join(worse)} a set may be worse that holds one of these"
    said += f". {_in_jobs(sets)}"
    if apart and two:
        said += f". Where these three may be missing, too: {_listed(apart)}. {_in_jobs(apart)}"
        said += f". Between two workers: {_listed(two)}"
    else:
        said += (
            ". The sets of the other properties, those without these three, those between workers, and all others beside the"
            " step are left to the deep profile"
        )
    said += f". Beside the step: {_listed(small)}" if small else ""
    subsets = sum(s.asked for s in (*sets, *apart, *two, *small))
    return _item(Verdict.EXHAUSTED, f"{said}; {UNASKED}", "NECESSITY-SETS", properties=len(sets), subsets=subsets)


def _in_jobs(sets: Sequence[Sufficient]) -> str:
    """What comes of the minimal sets in the whole job, where it was asked; where each takes more, with a run that shows it."""
    asked = [each for s in sets for each in s.wider]
    if not asked:
        return "These are of the step's own execution; the deep profile asks them of all that may befall its job"
    more = [f"{s.property} {' and '.join(each.more)}, too (crashwindow replay {each.key})"
            for s in sets for each in s.wider if each.more]  # fmt: skip
    return (
        "These are of the step's own execution, with three kinds of tool. For all that may befall its job, with every kind, each"
        f" of {len(asked)} suffices as well, but for {len(more)} that take more: {'; '.join(more)}"
    )


def as_stated(found: Sufficient, said: Mapping[str, tuple[tuple[str, ...], ...]]) -> bool:
    """Whether the minimal sets of a property are the ones that are stated, whatever their order."""
    return {frozenset(each) for each in found.sets} == {frozenset(each) for each in said[found.property]}


def _listed(sets: Sequence[Sufficient]) -> str:
    return "; ".join(f"{s.property}: {' or '.join(', '.join(each) or 'none' for each in s.sets)}" for s in sets)


@dataclass(frozen=True)
class Classified:
    """The states in which a recovery has to decide, what comes of trying both answers, and runs to the looks of the class."""

    among: Sequence[tuple[int, dict[str, str]]]
    found: Theorem
    pairs: Sequence["Pair"]


def classify(space: Space) -> Classified:
    """Both answers, tried at each observation."""
    from .prove_ambiguity import pairs_of

    among = undecided(space)
    found = theorem(observations(space, among=among))
    return Classified(among, found, pairs_of(space, twin_ends(found)))


def ambiguity(space: Space, tried: Classified, folder: Path) -> tuple[list[str], list[Item]]:
    """The theorem, by trying both answers at each observation; and by a solver, of the machine's own rows. Its questions are
    written into a folder.
    """
    from .prove import judge
    from .prove_ambiguity import export, proved
    from .prove_solve import SOLVER

    found, told = tried.found, proved(tried.pairs)
    export(told, folder)
    items = [_tried(space, found, theorem(observations(space, fenced_look, tried.among)))]
    figures: dict[str, int | float | str] = {
        "in the class": len(found.inside),
        "steps": told.steps,
        "clauses": len(told.invariant),
        "obligations": len(told.results),
        "questions in files": len(told.results),
        "solver": SOLVER,
    }
    said = solved(len(found.inside), told.steps, len(told.invariant), len(told.results))
    verdict = judge(told.results)
    if verdict is not Verdict.PROVED:
        said = f"not proved that the class is as stated: {'; '.join(told.problems[:3])}"
    files = [f"smt2/{name}.smt2" for name in (AMBIGUOUS, TWINS, RUNS)]
    items.append(Item(checker="prove", verdict=verdict, statement=said, figures=figures, files=files, command=EXACT))
    return [item.statement for item in items], items


def twin_ends(found: Theorem) -> list[tuple[int, int]]:
    """Of each look in the class, a state where to execute is wrong, and one where not to execute is."""
    return [(o.repeats, o.loses) for o in found.inside if o.repeats is not None and o.loses is not None]


def _tried(space: Space, found: Theorem, looked: Theorem) -> Item:
    """What the search says; looked: where a tool that fences is looked at. With twins of one observation."""
    problems = list(found.problems)
    if len(looked.inside) >= len(found.inside):
        problems.append("an observation that tells the states apart takes nothing out of the class")
    every, inside, twin = len(found.inside) + len(found.outside), len(found.inside), next(iter(twin_ends(found)), None)
    figures: dict[str, int | float | str] = {"observations": every, "in the class": inside}
    if problems or twin is None:
        said = f"the class is not as stated: {'; '.join(problems)}"
        return Item(checker="explore", verdict=Verdict.REFUTED, statement=said, figures=figures, command=EXACT)
    said = ambiguous(every, inside, trace_to(space, twin[1]).key, inside - len(looked.inside))
    return Item(checker="explore", verdict=Verdict.EXHAUSTED, statement=said, figures=figures, trace=trace_to(space, twin[0]),
                command=EXACT)  # fmt: skip


def canaries(cells: Sequence[Need], space: Space, tried: Classified, profile: str) -> list[MutantResult]:
    """Errors planted in the computation: a cell that says the opposite, one that says nothing, an observation that tells the
    states apart.
    """
    first = next(c for c in cells if c.mechanism in NEEDED and c.answer in ("needed", "not needed"))
    opposite = first.model_copy(update={"answer": "not needed" if first.answer == "needed" else "needed"})
    flipped = [opposite if c is first else c for c in cells]
    seen = differences(flipped, profile)
    needed = next(c for c in cells if c.mechanism in NEEDED and c.answer == "needed")
    silent = inapplicable(needed.property, needed.mechanism, "planted: it says nothing")
    missed = differences([silent if c is needed else c for c in cells], profile)
    apart = theorem(observations(space, lambda view: f"{view['effects']}, {view['wire']} on the wire", tried.among))
    told = [
        MutantResult(name="necessity: a cell says the opposite", killed_by="explore" if seen else None, words="; ".join(seen)),
        MutantResult(name="necessity: a cell falls silent", killed_by="explore" if missed else None, words="; ".join(missed)),
        MutantResult(name="ambiguity: a recovery sees the world", killed_by="explore" if apart.problems else None,
                     words="; ".join(apart.problems)),
    ]  # fmt: skip
    told += blinded(space.machine, tried.pairs)
    beside = worse()
    told.append(MutantResult(name="necessity: a compensation's outcome that nobody knows is taken for none", words=beside.words,
                             killed_by="explore" if beside.answer == "needed" else None))  # fmt: skip
    if profile == "deep":  # where P15 of two workers is asked
        found = untaken(FREE)
        told.append(MutantResult(name="necessity: two workers, and nobody takes up an open attempt", words=found.words,
                                 killed_by="explore" if found.answer == "needed" else None))  # fmt: skip
    return told


def blinded(machine: Machine, pairs: Sequence["Pair"]) -> list[MutantResult]:
    """What a recovery sees, changed before the solver: more, by which ambiguous states are told apart, and less, by which others
    look the same. Found where the solver shows a state that should not be; its silence is no answer.
    """
    from .prove_ambiguity import asked as asked_of_class
    from .prove_ambiguity import stores

    seen = stores(machine)
    changed = {
        "sees the world": (*seen.fields, "effects", "wire"),
        "does not see what is open": tuple(name for name in seen.fields if name != "open"),
    }
    found = {name: asked_of_class(pairs, replace(seen, fields=fields)) for name, fields in changed.items()}
    return [MutantResult(name=f"ambiguity: a recovery {name}, before the solver", words="; ".join(told.problems[:3]),
                         killed_by="prove" if told.shown else None) for name, told in found.items()]  # fmt: skip


NECESSITY: Final = Stage("necessity", "which mechanism each property needs", necessity,
                         ("NECESSITY", "NECESSITY-ORDERS", "NECESSITY-SETS", "T-AMBIGUOUS-EXACT"), "explore")  # fmt: skip
