"""The commands that strike: runtimes of others, and worker processes of our own."""

import os

from .grammar import HERE, Command, OneOf, argument
from .options import JSON, PROFILE, RESUME, seed

CAMPAIGNS = ".checkers.cli_campaign"
WHERE = OneOf(
    True,
    (
        argument("--store", metavar="URL", help="postgresql://USER@HOST/DATABASE or sqlite:///FILE"),
        argument("--embedded-postgres", action="store_true", help="a server of the campaign's own, which it may stop"),
    ),
)
MINUTES = argument("--minutes", metavar="M", type=float, default=10.0, help="for how long faults strike (10)")
AT_MOST = argument("--minutes", metavar="M", type=float, default=1.0, help="for each protection, at most (1)")
PROCESSES = argument("--workers", metavar="N", type=int, default=3, help="worker processes (3); on SQLite always one")
THREADS = argument("--concurrency", metavar="N", type=int, default=2, help="threads of each worker process (2)")
A_SEED = argument(
    "--seed",
    metavar="N",
    type=seed,
    help="fixes plans and order of faults, not which job meets them; else drawn, and printed",
)
WITHOUT = argument(
    "--without",
    metavar="PROTECTION",
    action="append",
    help="take a protection away in the campaign's workers and steer the faults to where that shows; may be repeated;"
    " docs/chaos.md lists them, and so does a wrong name",
)
A_CAMPAIGN = argument("campaign", metavar="CAMPAIGN", help="a campaign's .yaml file, or the name of one that ships")
SUBJECT = argument(
    "--subject", metavar="NAME", action="append", help="this runtime of the campaign alone; may be repeated"
)
STRIKES = argument(
    "--at",
    metavar="STRIKE",
    action="append",
    help="this schedule alone, as a report prints it: 'after effect: a #1'; repeated, the next one strikes the recovery",
)
CORES = argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1, help="runs side by side (%(default)s)")
REPEATS = argument(
    "--repeats", metavar="N", type=int, help="runs of each schedule; else 1, and 3 where outcomes may vary"
)
EXECUTOR = argument(
    "--executor",
    choices=("local", "dask"),
    default="local",
    help="local, the default: this machine; dask: a cluster (extra: dask)",
)
SCHEDULER = argument(
    "--scheduler",
    metavar="ADDRESS",
    help="with --executor dask: a running scheduler; else a cluster of --jobs processes here",
)
CAMPAIGN_OUT = argument(
    "--out", metavar="DIR", default=".", help="where reports/out/campaign-NAME-TIME is written (the working directory)"
)
NEW_DIRECTORY = argument("directory", metavar="DIRECTORY", help="where adapter.py and campaign.yaml are written")
A_MATRIX = argument("matrix", metavar="DIR", help="the directory of a campaign, or its matrix.json")
SAMPLE_SEED = argument(
    "--seed",
    metavar="N",
    type=seed,
    default=1,
    help="which images of a loss of power are tried where there are many (%(default)s)",
)
CAMPAIGN_CODES = (
    "0: each runtime does what its campaign expects; 1: one does not, or a cell could not be judged; 2: bad input."
)
CAMPAIGN_COMMANDS = (
    Command(
        "run",
        HERE,
        "strike a runtime at every boundary that is found, and show what becomes of its job: the crash matrix",
        (A_CAMPAIGN, SUBJECT, STRIKES, PROFILE, REPEATS, CORES, EXECUTOR, SCHEDULER, CAMPAIGN_OUT, RESUME, SAMPLE_SEED),
        codes=CAMPAIGN_CODES,
    ),
    Command("show", HERE, "show the crash matrices of a campaign that was run", (A_MATRIX,)),
    Command(
        "new",
        ".checkers.cli_foreign",
        "write a campaign and an adapter to begin with, which run at once",
        (NEW_DIRECTORY,),
    ),
    Command(
        "chaos",
        CAMPAIGNS,
        "strike real worker processes, and their server if it is the campaign's own, at every boundary; exit 0 if nothing is"
        " doubled, lost or wrong",
        (WHERE, MINUTES, PROCESSES, THREADS, A_SEED, WITHOUT, JSON),
    ),
    Command(
        "soak",
        CAMPAIGNS,
        "strike as chaos does, for as long as you like, and measure the memory of a worker process that is never killed",
        (WHERE, MINUTES, PROCESSES, THREADS, A_SEED, JSON),
    ),
    Command(
        "protections",
        CAMPAIGNS,
        "take each protection away in turn, with --embedded-postgres alone; exit 0 only if for each a violation appears",
        (WHERE, AT_MOST, PROCESSES, A_SEED, JSON),
    ),
)
