"""The commands of single checkers."""

from typing import Final

from .campaigns import CAMPAIGN_COMMANDS, CAMPAIGNS
from .grammar import Command, OneOf, argument
from .options import JSON, OUT, PLAN, PROFILE, RESUME, SEED, STORE, TOOLS

MUTANTS_PROFILE = argument(
    "--profile",
    choices=("quick", "deep"),
    default="deep",
    help="quick: the sample that verify takes; deep, the default: all",
)
SUBJECT_OF_MUTANTS = argument(
    "--subject",
    metavar="NAME",
    action="append",
    help="the mutants of one model, of one fleet, or of the runtime; repeatable",
)
ONLY = argument("--only", metavar="NAME", help="one mutant, by name, before every checker")
JOBS = argument("--jobs", metavar="N", type=int, default=1, help="how many processes judge at the same time (1)")
A_PART = argument("part", metavar="PROPERTY|MECHANISM", nargs="?", help="such as P1 or quiet; else everything")
WORKERS_AT_ONCE = argument(
    "--workers", type=int, choices=(1, 2, 3), help="every case of so many workers; without it the quick profile's cases"
)
OVER = argument(
    "--over",
    choices=("memory", "sqlite"),
    default="memory",
    help="the store: memory, beside the model; or SQLite snapshots, of one case of several workers, beside the memory store",
)
A_CASE = argument("--case", metavar="NAME", help="one case, by name")
WORDS = argument("--schedule", metavar="WORD;WORD", help="one schedule of the case alone, word by word")
AT = argument("--at", metavar="BOUNDARY:WHEN", help="one fault instead of the sweep, as in append_started:after")
DO = argument("action", choices=("list", "run", "validate", "save"), help="what to do")
SAVED_NAME = argument("--name", metavar="NAME", help="with save KEY: the scenario's name")
SAVED_TITLE = argument("--title", metavar="TEXT", help="with save KEY: what it shows")
SAVED_LIST = argument(
    "--list",
    dest="kept",
    choices=("regression", "exploratory"),
    default="regression",
    help="with save KEY (regression)",
)
SAVED_FILE = argument(
    "--file",
    metavar="FILE",
    help="with save KEY: the .yaml file that it is added to; else regressions.yaml, which ships",
)
CRASH_EVERYWHERE = argument(
    "--crash-everywhere",
    action="store_true",
    help="with run, for a scenario of execution contracts: kill it at every boundary, each time to the end",
)
NAMES = argument(
    "names",
    metavar="NAME|FILE|KEY",
    nargs="*",
    help="scenarios by name, or scenario files; else all that ship. With save: the key of a walk, walk:…, as a failure prints it",
)
PATHS = argument(
    "paths", metavar="PATH", nargs="*", help="run directories, directories or .smt2 files; else the newest run"
)
PROOFS = argument("--proofs", metavar="DIR", help="write each proof (CPC) beside its question, for an external checker")
SOURCE = argument(
    "source",
    metavar="FILE|STORE-URL",
    help="JSON lines as `crashwindow trace` writes them (- is standard input), or a store",
)
ONE_JOB = argument("--job", metavar="ID", help="one job; else all")
PROOF_HEALTH = argument(
    "--health",
    action="store_true",
    help="instead: whether each proof says something, what it rests on, and whether ten other seeds and names change an answer",
)
A_MACHINE = argument("machine", metavar="MACHINE", nargs="?", help="one machine or fleet; else every one")
A_PROOF = argument("names", metavar="PROOF", nargs="*", help="a policy of which something is proved; else every one")
CACHE = OneOf(
    False,
    (
        argument(
            "--cache",
            metavar="DIR",
            help="where answers are kept ($XDG_CACHE_HOME/crashwindow, or ~/.cache/crashwindow)",
        ),
        argument("--no-cache", action="store_true", help="ask everything, keep nothing"),
    ),
)
REPLAN = argument(
    "--plan", action="store_true", help="plan the paths anew and keep them in the package, then show them"
)
MACHINE = argument(
    "machine", choices=("step", "contract", "workers"), help="what is walked: one step, contracts, or several workers"
)
WALK_PROFILE = argument(
    "--profile",
    choices=("quick", "ci", "nightly"),
    default="quick",
    help="quick, the default: some seconds; ci: minutes; nightly: hours, steered, and what failed is kept for the next run",
)
A_POLICY = argument("policies", metavar="POLICY", nargs="*", help="policies; else the five that the runtime ships")
MODULES = argument("--output", metavar="DIR", default="tla", help="where the modules are written (%(default)s)")
EXPORT_COMMANDS = (
    Command(
        "tla",
        ".checkers.cli_second",
        "write a TLA+ module and TLC's configuration for each policy's machine, its properties included",
        (A_POLICY, MODULES),
    ),
)
CHECK_COMMANDS: Final = (
    Command(
        "walks",
        ".checkers.cli_walks",
        "run the test paths over the step's state graph on the shipped code; what none takes comes first, and why",
        (REPLAN, SEED, JSON),
        codes="0: model and code agree on every path; 1: they part.",
    ),
    Command(
        "walk",
        ".checkers.cli_walks",
        "walk at random on the real store, beside the model; a failure is shrunk, and printed as a program with its key",
        (MACHINE, WALK_PROFILE, SEED),
        codes="0: they agree; 1: they part, or the walk has come to too little to show anything.",
    ),
    Command("crash", ".checkers.cli", "crash your own plan at every boundary, or at one", (PLAN, AT, TOOLS)),
    Command(
        "scenario",
        ".checkers.cli",
        "list, run or validate scenarios; or save the program of a walk as one",
        (DO, NAMES, CRASH_EVERYWHERE, SAVED_NAME, SAVED_TITLE, SAVED_LIST, SAVED_FILE),
    ),
    Command(
        "campaign",
        CAMPAIGNS,
        "strike runtimes of others at every boundary, or our own worker processes for minutes or hours",
        commands=CAMPAIGN_COMMANDS,
    ),
    Command(
        "prove",
        ".checkers.cli_prove",
        "make every inductive proof, or take it from a cache if nothing that it depends on changed; exit 0 only if all hold",
        (A_PROOF, CACHE, PROOF_HEALTH),
    ),
    Command(
        "invariants",
        ".checkers.cli_invariants",
        "find invariants that nobody wrote, compare them with the written ones, and count workers",
        (A_MACHINE, JSON),
    ),
    Command("export", ".checkers.cli_second", "the model, for other tools", commands=EXPORT_COMMANDS),
    Command(
        "recheck",
        ".checkers.cli_second",
        "ask cvc5 every obligation that a run has written, proofs checked; exit 0 only if it agrees with each (extra: second)",
        (PATHS, PROOFS),
    ),
    Command(
        "mutants",
        ".checkers.cli_mutants",
        "plant every mutant of models and runtime; exit 0 only if no mutant is a gap: neither killed nor anything proved of it",
        (MUTANTS_PROFILE, SUBJECT_OF_MUTANTS, ONLY, JOBS, OUT, RESUME, JSON),
    ),
    Command(
        "check-trace",
        ".checkers.cli_trace",
        "replay a recorded event stream in the models; exit 0 if every job conforms, 1 if one does not",
        (SOURCE, ONE_JOB, TOOLS, JSON),
    ),
    Command(
        "trace",
        ".checkers.cli_trace",
        "write the events and records of a store as JSON lines, for check-trace",
        (STORE, ONE_JOB),
    ),
    Command(
        "necessity",
        ".checkers.cli_necessity",
        "which mechanism each property needs: the matrix, or what concerns one property or one mechanism",
        (A_PART, PROFILE, JSON),
    ),
    Command(
        "conform",
        ".checkers.cli_enumerate",
        "enumerate the shipped core beside the model, every step in every order; exit 1 where they part",
        (WORKERS_AT_ONCE, A_CASE, OVER, WORDS, JSON),
    ),
)
