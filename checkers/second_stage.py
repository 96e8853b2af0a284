"""The stage of `crashwindow verify` in which cvc5 gives its opinion on the obligations that the run has written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..model.claims import CLAIMS, Claim
from ..model.fleet_claims import FLEET
from .evidence import Item, Verdict
from .second import LIMIT, NoSolverError, Opinion, Solver, files_of, read, recheck, sample
from .verify import Context, Found, Stage

COMMAND: Final = "crashwindow recheck"
EACH: Final = 2
"""How many questions of each proof the quick profile asks again."""
PROVED: Final = tuple(claim for claim in CLAIMS if claim.inductive)
FLEETS: Final = (FLEET, "fleet-gate", "fleet-compensation", "fleet-recorded")
"""The proofs for any number of workers, on which the claims about a fleet rest together."""


def second_opinion(context: Context) -> Found:
    """cvc5's answers to the obligations in the run's directory: some of them in the quick profile, all in the deep one."""
    found, folder = Found(), context.directory / "smt2"
    quick = context.profile == "quick"
    try:
        with Solver() as solver:
            files = files_of([folder])
            asked = sample(files, context.seed, EACH) if quick else read(files)
            said = recheck(asked, solver, lambda done, q: context.tell(f"cvc5: {done}, {q.name}"))
            for claim in PROVED:
                found.add(claim.id, item(claim, said, folder, quick, solver.version))
    except NoSolverError as error:
        for claim in PROVED:
            words = f"no second opinion: {error}"
            found.add(claim.id, Item(checker="reprove", verdict=Verdict.NOT_CHECKED, statement=words, command=COMMAND))
    return found


def item(claim: Claim, said: Sequence[Opinion], folder: Path, sampled: bool, solver: str) -> Item:
    """What the second opinion says of a claim: of every proof that the claim rests on, whatever property is asked."""
    names = FLEETS if claim.policy == FLEET else (claim.policy,)
    mine = [opinion for opinion in said if proof_of(opinion, folder) in names]
    missing = set(names) - {proof_of(opinion, folder) for opinion in mine}
    wrong = [opinion for opinion in mine if opinion.verdict != "agrees"]
    figures: dict[str, int | float | str] = {
        "obligations": len(mine),
        "proofs checked": sum(opinion.answer == "unsat" for opinion in mine),
        "seconds": round(sum(opinion.seconds for opinion in mine), 3),
        "limit": LIMIT,
        "solver": solver,
    }
    verdict = Verdict.TESTED if sampled else Verdict.PROVED
    which = f"a sample of {len(mine)}" if sampled else f"each of {len(mine)}"
    words = (
        f"asked from its file, cvc5 answers {which} obligations as stated; every unsat with a proof that was checked"
    )
    if missing:
        verdict, words = Verdict.ERROR, f"no obligation was written for {', '.join(sorted(missing))}"
    elif wrong:
        verdict, words = Verdict.ERROR, f"cvc5 does not agree with {len(wrong)} of {len(mine)}: {wrong[0].sentence}"
    files = [f"smt2/{name}/" if (folder / name).is_dir() else f"smt2/{name}.smt2" for name in names]
    return Item(checker="reprove", verdict=verdict, statement=words, figures=figures, files=files, command=COMMAND)


def proof_of(opinion: Opinion, folder: Path) -> str:
    """The proof that a question belongs to: the first part of its place below the folder."""
    return opinion.question.file.relative_to(folder).parts[0].removesuffix(".smt2")


SECOND_OPINION: Final = Stage(
    "second", "second opinion: cvc5 on the written obligations", second_opinion, tuple(c.id for c in PROVED), "reprove"
)
