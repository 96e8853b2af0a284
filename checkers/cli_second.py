"""Commands that hand proofs, or the model, to somebody else's tools."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..runtime.errors import CommandError
from .second import BrokenSolverError, NoSolverError, Opinion, Solver, files_of, read, write_proofs
from .second import recheck as ask_again
from .second_script import ScriptError

SHIPPED = ("hardened", "contract-hardened", "gate-hardened", "compensation-hardened", "recorded-hardened")


def recheck(args: argparse.Namespace) -> int:
    """Every question of some files, asked of cvc5; 1 unless it agrees with each stated answer."""
    paths = [Path(path) for path in args.paths] or _newest()
    console = Console(emoji=False)
    try:
        with Solver() as solver, console.status("") as status:
            asked = read(files_of(paths))
            opinions = ask_again(
                asked, solver, lambda done, q: status.update(f"{done}: {q.name}"), proofs=args.proofs is not None
            )
            version = solver.version
        if args.proofs is not None:
            written = write_proofs(opinions, Path(args.proofs))
            console.print(f"{written} proofs in {args.proofs}", highlight=False, soft_wrap=True)
    except (NoSolverError, BrokenSolverError, ScriptError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    console.print(_table(opinions))
    wrong = [opinion for opinion in opinions if opinion.verdict != "agrees"]
    for opinion in wrong:
        console.print(f"{opinion.verdict}: {opinion.sentence}", style="bold red", highlight=False, soft_wrap=True)
    unsat = sum(opinion.answer == "unsat" for opinion in opinions)
    said = f"{version}: {len(opinions)} questions, {len(opinions) - len(wrong)} answered as stated"
    console.print(f"{said}; {unsat} unsat, each with a proof that was checked", highlight=False, soft_wrap=True)
    return 1 if wrong else 0


def export_tla(args: argparse.Namespace) -> int:
    """TLA+ modules of machines, and how TLC is asked."""
    from .tla import NAMES as MODULES
    from .tla import module_of, write

    if unknown := [name for name in args.policies if name not in MODULES]:
        raise CommandError(f"there is no module of {unknown[0]!r}; there are {', '.join(MODULES)}")
    console = Console(emoji=False)
    for name in args.policies or SHIPPED:
        module = module_of(name)
        try:
            file = write(module, Path(args.output))
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from error
        counts = f"{len(module.machine.fields)} variables, {len(module.machine.rules)} actions"
        said = f"{file}: {counts}, {len(module.properties)} properties"
        console.print(said, markup=False, highlight=False, soft_wrap=True)
    console.print(
        "in that directory: java -jar tla2tools.jar -config MODULE.cfg MODULE.tla", markup=False, highlight=False
    )
    return 0


def _newest() -> list[Path]:
    runs = sorted(Path("reports", "out").glob("*/smt2"))
    if not runs:
        raise CommandError(
            "no run is in reports/out: run `crashwindow verify`, or name a run's directory or .smt2 files"
        )
    return runs[-1:]


def _table(opinions: Sequence[Opinion]) -> Table:
    """For each directory and file of many questions: the answers, what they cost, and what is not as stated."""
    table = Table(
        "obligations", "asked", "unsat, proved", "sat, with a model", "not as stated", "units", "seconds", box=None
    )
    counts = Counter(opinion.question.file for opinion in opinions)
    groups: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        file = opinion.question.file
        groups.setdefault(file.name if counts[file] > 2 else f"{file.parent.name}/", []).append(opinion)
    for name, each in groups.items():
        answers = Counter(opinion.answer for opinion in each)
        wrong = sum(opinion.verdict != "agrees" for opinion in each)
        units, seconds = max(opinion.units for opinion in each), sum(opinion.seconds for opinion in each)
        table.add_row(name, *map(str, (len(each), answers["unsat"], answers["sat"], wrong, units)), f"{seconds:.1f}")
    return table
