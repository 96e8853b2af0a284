"""Commands about proofs: make them, through a cache of answers; hand them, or the model, to somebody else's tools."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..runtime.errors import CommandError
from .proof_cache import default_folder
from .proofs import NAMES, Told, prove_all
from .second import NoSolverError, Opinion, Solver, files_of, read, write_proofs
from .second import recheck as ask_again
from .second_script import ScriptError

SHIPPED = ("hardened", "contract-hardened", "gate-hardened", "compensation-hardened", "recorded-hardened")


def prove(args: argparse.Namespace) -> int:
    """Every inductive proof, or some, with what of it comes from the cache; 1 unless each property is proved."""
    if unknown := [name for name in args.names if name not in NAMES]:
        raise CommandError(f"there is no proof {unknown[0]!r}; there are {', '.join(NAMES)}")
    if args.health and (args.cache or args.no_cache):
        raise CommandError("--health asks everything anew: leave --cache and --no-cache out")
    if args.health:
        return _health(args.names or NAMES)
    folder = None if args.no_cache else Path(args.cache) if args.cache else default_folder(os.environ)
    console = Console()
    try:
        with console.status("") as status:
            told, damaged = prove_all(args.names or NAMES, folder, status.update)
    except OSError as error:
        raise CommandError(
            f"{error.filename}: {error.strerror}: name a directory with --cache, or use --no-cache"
        ) from error
    for each in told:
        console.print(_line(each), markup=False, highlight=False, soft_wrap=True)
    for each in told:
        for line in each.outcome.unmet:
            console.print(
                f"{each.outcome.name}: {line}", style="bold red", markup=False, highlight=False, soft_wrap=True
            )
    if damaged:
        console.print(f"{damaged} entries of the cache were damaged and not used", style="bold", highlight=False)
    holds = [each for each in told if each.outcome.holds]
    cached = sum(bool(each.cached) for each in told)
    console.print(
        f"{len(holds)} of {len(told)} proofs hold; {cached} cached, {len(told) - cached} made now", highlight=False
    )
    return 0 if len(holds) == len(told) else 1


def _health(names: Sequence[str]) -> int:
    """The health of these proofs, a line each, and what is wrong or idle below; 1 where anything is wrong."""
    from .prove_asked import questions
    from .prove_health import examine

    console, wrong = Console(), 0
    for name in names:
        with console.status("") as status:
            told = examine(questions(name), tell=status.update)
        units, least, most = told.units
        line = (
            f"{name:36}{told.obligations:4} obligations, {told.clauses:3} clauses, {len(told.unused)} unused,"
            f" {len(told.silent):2} rows that cannot fire, {told.seeds} seeds: {least:,} to {most:,} units ({units:,} as it is)"
        )
        console.print(line, markup=False, highlight=False, soft_wrap=True)
        for each in told.reported:
            console.print(f"  unused: {each}", markup=False, highlight=False, soft_wrap=True)
        for each in told.problems:
            console.print(f"  {each}", style="bold red", markup=False, highlight=False, soft_wrap=True)
        wrong += bool(told.problems)
    console.print(f"{len(names) - wrong} of {len(names)} proofs are healthy", highlight=False)
    return 1 if wrong else 0


def _line(told: Told) -> str:
    """A proof in one line: how much was asked, what is proved, and when and by whom."""
    made = told.outcome
    proved = sum(verdict == "PROVED" for verdict in made.verdicts.values())
    reused = f", {made.reused} cached since {made.oldest}" if made.reused else ""
    how = (
        f"cached: {told.cached}, {told.solver}" if told.cached else f"now: {made.asked} asked of {told.solver}{reused}"
    )
    said = f"{made.obligations:4} obligations, {proved:2} of {len(made.verdicts):2} properties proved, {made.seconds:6.1f} s"
    return f"{made.name:36}{said}, {how}"


def recheck(args: argparse.Namespace) -> int:
    """Every question of some files, asked of cvc5; 1 unless it agrees with each stated answer."""
    paths = [Path(path) for path in args.paths] or _newest()
    console = Console()
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
    except (NoSolverError, ScriptError) as error:
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
    console = Console()
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
