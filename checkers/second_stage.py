"""The stage of `crashwindow verify` in which cvc5 gives its opinion on the obligations that the run has written."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ..model.claims import CLAIMS, Claim
from ..model.fleet_claims import FLEET
from .evidence import Item, MutantResult, Verdict
from .invariant_stage import ABOUT
from .proof_subjects import AMBIGUOUS, ROWS, RUNS, TWINS
from .second import LIMIT, NoSolverError, Opinion, Solver, files_of, read, recheck, sample
from .verify import Context, Found, Stage

COMMAND: Final = "crashwindow recheck"
EACH: Final = 2
"""How many questions of each proof the quick profile asks again."""
PROVED: Final = tuple(claim for claim in CLAIMS if claim.inductive)
FLEETS: Final = (FLEET, "fleet-gate", "fleet-compensation", "fleet-recorded")
"""The proofs for any number of workers, on which the claims about a fleet rest together."""
WINDOWS: Final = "T-WINDOW"
EXACT: Final = "T-AMBIGUOUS-EXACT"
BESIDE: Final[Mapping[str, Sequence[str]]] = {
    ROWS: (WINDOWS,),
    **dict.fromkeys((AMBIGUOUS, TWINS, RUNS), (EXACT,)),
    **{f"{c.policy}-found": tuple(each.id for each in PROVED if each.policy == c.policy) for c in PROVED},
    **{f"{name}-lifted": claims for name, claims in ABOUT.items()},
    "fleet-recorded-found": ("P12-ANY",),
}
"""The other proofs that a run may write: of the table's rows, of the ambiguity class, and over invariants that were found; with
their claims.
"""

PLANTED: Final[Mapping[str, str]] = {
    "what can be is stated not to be": """(set-logic QF_LIA)
(declare-const effects Int)
(assert (>= effects 0))
; two effects
(set-info :status unsat)
(assert (= effects 2))
""",
    "what is assumed cannot hold": """(set-logic QF_LIA)
(declare-const effects Int)
(assert (< effects effects))
; two effects
(set-info :status unsat)
(assert (= effects 2))
""",
}
"""Questions to which cvc5 must not agree, of which the second is answered as it states, since everything follows from nothing."""


def second_opinion(context: Context) -> Found:
    """cvc5's answers to the obligations in the run's directory: some of them in the quick profile, all in the deep one.

    Raises BrokenSolverError: only where cvc5 is not installed is it no error that nobody was asked.
    """
    found, folder = Found(), context.directory / "smt2"
    files = files_of([folder])
    written = {proof_of(file, folder) for file in files}
    due = proofs_of_claims(written)
    try:
        solver = Solver()
    except NoSolverError as error:
        for claim, _ in due:
            words = f"no second opinion: {error}"
            found.add(claim, Item(checker="reprove", verdict=Verdict.NOT_CHECKED, statement=words, command=COMMAND))
    else:
        with solver:
            _ask(context, solver, files, due, found)
    for name in sorted(written - {name for _, names in due for name in names}):
        found.errors.append(
            f"smt2/{name}: no claim rests on these obligations, so nobody would hear that cvc5 does not agree"
        )
    return found


def _ask(
    context: Context, solver: Solver, files: Sequence[Path], due: Iterable[tuple[str, Sequence[str]]], found: Found
) -> None:
    """Put what cvc5 says beside the claims, and of a solver that did not come to the end, that too."""
    folder, quick = context.directory / "smt2", context.profile == "quick"
    asked = sample(files, context.seed, EACH) if quick else read(files)
    told = by_proof(recheck(asked, solver, lambda done, q: context.tell(f"cvc5: {done}, {q.name}")), folder)
    for claim, names in due:
        found.add(claim, item(names, told, folder, quick, solver.version))
    found.mutants += [planted(name, solver) for name in PLANTED]
    if solver.broken:
        found.errors.append(f"no second opinion on the rest: {solver.broken}")


def planted(name: str, solver: Solver) -> MutantResult:
    """A file that states what is not so: cvc5 has to say another answer, or that what the file assumes cannot hold."""
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        file = folder / "planted.smt2"
        file.write_text(f"{PLANTED[name]}(check-sat)\n", encoding="utf-8")
        opinions = recheck(read([file]), solver)
        said = item(["planted"], by_proof(opinions, folder), folder, False, solver.version)
    disagrees = said.verdict is Verdict.ERROR and any(opinion.verdict == "disagrees" for opinion in opinions)
    words = said.statement.replace(f"{folder}/", "")
    return MutantResult(name=f"reprove: {name}", killed_by="reprove" if disagrees else None, words=words)


def proofs_of_claims(written: set[str]) -> list[tuple[str, Sequence[str]]]:
    """Each claim with the proofs that it rests on, which have to be there; and with each other one that this run has written."""
    due = [(claim.id, own_proofs(claim)) for claim in PROVED]
    return due + [(claim, (name,)) for name, claims in BESIDE.items() if name in written for claim in claims]


def own_proofs(claim: Claim) -> Sequence[str]:
    """The proofs that a claim rests on, whatever property is asked."""
    return FLEETS if claim.policy == FLEET else (claim.policy,)


def item(names: Sequence[str], said: Mapping[str, Sequence[Opinion]], folder: Path, sampled: bool, solver: str) -> Item:
    """What the second opinion says of some proofs. That rows of the table follow from the invariant is not all of T-WINDOW,
    which is searched: of them it is never more than TESTED.
    """
    mine = [opinion for name in names for opinion in said.get(name, ())]
    missing = {name for name in names if not said.get(name)}
    wrong = [opinion for opinion in mine if opinion.verdict != "agrees"]
    figures: dict[str, int | float | str] = {
        "obligations": len(mine),
        "proofs checked": sum(opinion.answer == "unsat" for opinion in mine),
        "seconds": round(sum(opinion.seconds for opinion in mine), 3),
        "limit": LIMIT,
        "solver": solver,
    }
    verdict = Verdict.TESTED if sampled or ROWS in names else Verdict.PROVED
    which = f"a sample of {len(mine)}" if sampled else f"each of {len(mine)}"
    words = (
        f"asked from its file, cvc5 answers {which} obligations as stated; every unsat with a proof that was checked"
    )
    if missing:
        verdict, words = Verdict.ERROR, f"no obligation was written for {', '.join(sorted(missing))}"
    elif wrong:
        worst = min(wrong, key=lambda opinion: opinion.verdict != "disagrees")
        verdict, words = Verdict.ERROR, f"cvc5 does not agree with {len(wrong)} of {len(mine)}: {worst.sentence}"
    files = [f"smt2/{name}/" if (folder / name).is_dir() else f"smt2/{name}.smt2" for name in names]
    return Item(checker="reprove", verdict=verdict, statement=words, figures=figures, files=files, command=COMMAND)


def by_proof(said: Iterable[Opinion], folder: Path) -> Mapping[str, Sequence[Opinion]]:
    """The opinions by the proof whose questions they answer."""
    told = defaultdict[str, list[Opinion]](list)
    for opinion in said:
        told[proof_of(opinion.question.file, folder)].append(opinion)
    return told


def proof_of(file: Path, folder: Path) -> str:
    """The proof that a file belongs to: the first part of its place below the folder."""
    return file.relative_to(folder).parts[0].removesuffix(".smt2")


SECOND_OPINION: Final = Stage(
    "second",
    "second opinion: cvc5 on the written obligations",
    second_opinion,
    (*(c.id for c in PROVED), WINDOWS, EXACT),
    "reprove",
)
