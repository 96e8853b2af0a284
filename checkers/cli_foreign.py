"""The command line of campaigns against runtimes that others wrote: what is asked for, and its progress."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TaskID

from ..runtime.errors import CommandError
from ..scenarios.campaign import CampaignError, CampaignFile, campaign_path, load_campaign
from .campaign.bench import REFUSED, Schedule
from .campaign.boundary import Strike
from .campaign.campaign import Executor, ExecutorError, Local, Options
from .campaign.session import Judged, sessions
from .campaign.shell import command_line
from .evidence_matrix import Trial
from .verify import new_run


def judged(args: argparse.Namespace, file: CampaignFile, console: Console, directory: Path) -> Iterator[Judged]:
    """Each subject of a campaign, with a bar for its trials. CommandError for what cannot be carried out."""
    options = _options(args, file)
    command = command_line(_words(args))
    console.print(f"{command}\nkept in {directory}", highlight=False, soft_wrap=True)
    progress, bars = Progress(console=console, transient=True), dict[str, TaskID]()

    def tell(name: str, done: int, of: int, trial: Trial | None) -> None:
        if name not in bars:
            bars[name] = progress.add_task(name, total=of)
        progress.update(bars[name], completed=done, total=of)

    try:
        with progress:
            yield from sessions(file, options, _executor(args), directory, command, tell)
    except (*REFUSED, ExecutorError, ValueError) as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        again = command_line([*_words(args), *_rest(args), "--resume", str(directory)])
        console.print(
            f"interrupted; what has ended is kept. Go on with:\n{again}", highlight=False, soft_wrap=True, markup=False
        )
        raise


def campaign_directory(args: argparse.Namespace) -> Path:
    """Where a campaign is kept: a new directory, or the one that it goes on in."""
    if args.resume:
        directory = Path(args.resume)
        if not directory.is_dir():
            raise CommandError(
                f"--resume {directory}: there is no such directory; give the one that the run has printed"
            )
        return directory
    try:
        return new_run(Path(args.out), f"campaign-{Path(args.campaign).stem}-")
    except OSError as error:
        raise CommandError(f"--out {args.out}: {error.strerror}: name a directory that can be written") from error


def campaign_new(args: argparse.Namespace) -> int:
    """A campaign and an adapter to begin with."""
    from .campaign.new import write_skeleton

    directory = Path(args.directory)
    try:
        made = write_skeleton(directory)
    except FileExistsError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{directory}: {error.strerror}: name a directory that can be written") from error
    for path in made:
        print(path)
    print(f"run it: {command_line(['crashwindow', 'campaign', 'run', str(directory / 'campaign.yaml')])}")
    return 0


def chosen(args: argparse.Namespace) -> CampaignFile:
    """The campaign, less the subjects that are not asked for."""
    try:
        file = load_campaign(campaign_path(args.campaign))
    except CampaignError as error:
        raise CommandError(str(error)) from error
    if not args.subject:
        return file
    names = [each.name for each in file.subjects]
    unknown = [name for name in args.subject if name not in names]
    if unknown:
        raise CommandError(f"--subject {unknown[0]}: {args.campaign} has no such subject; there are {', '.join(names)}")
    chosen = tuple(each for each in file.subjects if each.name in args.subject)
    return file.model_copy(update={"subjects": chosen})


def _words(args: argparse.Namespace) -> list[str]:
    """What begins each command that repeats something of this campaign."""
    return ["crashwindow", "campaign", "run", args.campaign, "--profile", args.profile, "--seed", str(args.seed)]


def _rest(args: argparse.Namespace) -> Iterator[str]:
    """The other arguments of this campaign, as they were given."""
    for name in ("subject", "at"):
        for each in getattr(args, name) or ():
            yield from (f"--{name}", each)
    for name in ("repeats", "jobs", "executor", "scheduler"):
        if getattr(args, name) is not None:
            yield from (f"--{name}", str(getattr(args, name)))


def _options(args: argparse.Namespace, file: CampaignFile) -> Options:
    if args.jobs < 1 or (args.repeats is not None and args.repeats < 1):
        raise CommandError("--jobs and --repeats: give a number, 1 or more")
    return Options(
        profile=args.profile,
        whens=file.strikes,
        at=_schedules(args.at),
        repeats=args.repeats,
        bisect=file.bisect,
        seed=args.seed,
    )


def _schedules(at: list[str] | None) -> tuple[Schedule, ...]:
    """The one schedule that `--at`, repeated for each process, asks for."""
    try:
        schedule = tuple(map(Strike.parse, at or ()))
    except ValueError as error:
        raise CommandError(f"--at {error}") from error
    return (schedule,) if schedule else ()


def _executor(args: argparse.Namespace) -> Executor:
    if args.executor == "local":
        if args.scheduler:
            raise CommandError("--scheduler goes with --executor dask")
        return Local(args.jobs)
    try:
        from .campaign.cluster import Cluster
    except ImportError as error:
        raise CommandError("--executor dask: it is not installed: pip install 'crashwindow[dask]'") from error
    return Cluster(args.scheduler, args.jobs)
