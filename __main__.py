"""The command line, and the composition root: the only module that knows every room."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .runtime.errors import CommandError

if TYPE_CHECKING:
    from .model.claims import Claim

BAD_INPUT, INTERRUPTED = 2, 130


class Argument(NamedTuple):
    """One argument of a command, as argparse takes it."""

    names: tuple[str, ...]
    settings: dict[str, Any]


class OneOf(NamedTuple):
    """Arguments of which at most one may be given; exactly one, if required."""

    required: bool
    arguments: tuple[Argument, ...]


class Command(NamedTuple):
    """One command: its name, the module that holds a function of that name (imported late), a line of help, arguments.

    A command that needs both the checkers and the reports is a function here: no other module may know the two.

    A command with `commands` of its own has nothing else; the function of `contract show` is `contract_show`,
    that of `verify-job` is `verify_job`. codes: what its exit codes mean, where those of the jobs do not do.
    """

    name: str
    module: str
    help: str
    arguments: tuple[Argument | OneOf, ...] = ()
    commands: tuple["Command", ...] = ()
    codes: str = ""


def argument(*names: str, **settings: Any) -> Argument:
    """An argument, written as for `add_argument`."""
    return Argument(names, settings)


def seed(text: str) -> int:
    """A seed of the command line. Raises ArgumentTypeError for one that evidence could not be signed with."""
    from .checkers.evidence_base import LARGEST

    value = int(text)
    if abs(value) > LARGEST:
        raise argparse.ArgumentTypeError(
            f"{text[:20]} is beyond {LARGEST}: give one that every reader of JSON has alike"
        )
    return value


PLAN = argument("plan", metavar="PLAN", help="a plan: a .yaml or .json file")
JOB = argument("job", metavar="JOB", help="a job's id")
STORE = argument("--store", metavar="URL", required=True, help="sqlite:///FILE or postgresql://USER@HOST/DATABASE")
JOB_ID = argument("--job", metavar="ID", help="the job's id, which makes it safe to repeat the command; else a new one")
TOOLS = argument("--tools", metavar="FILE", help="a .py file or a module with tools of your own")
JSON = argument("--json", action="store_true", help="everything, as JSON")
ONCE = argument("--once", action="store_true", help="work on one job, as far as it can be brought now, and stop")
UNTIL_IDLE = argument("--until-idle", action="store_true", help="stop when no job is left that can be brought further")
POLL = argument(
    "--poll",
    metavar="SECONDS",
    type=float,
    default=1.0,
    help="how often to look for jobs (1); of new ones PostgreSQL tells at once",
)
CONCURRENCY = argument(
    "--concurrency", metavar="N", type=int, default=1, help="how many jobs this process works on at the same time (1)"
)
TTL = argument(
    "--ttl",
    metavar="SECONDS",
    type=float,
    default=30.0,
    help="a job whose worker gives no sign of life for so long may be taken over (30; at least 1)",
)
JOINED = argument(
    "--joined",
    action="store_true",
    help="make what is written between two effects durable in one commit, not write by write: several times as fast on a disk",
)
GRACE = argument(
    "--grace",
    metavar="SECONDS",
    type=float,
    default=30.0,
    help="after SIGTERM, how long jobs in hand may come to their end before they are let go of (30)",
)
LOG = argument(
    "--log",
    choices=("text", "json"),
    default="text",
    help="what is written to standard error: text, for people, is the default; json, a line for every write boundary",
)
HEALTH = argument(
    "--health", metavar="HOST:PORT", help="serve /live and /ready over HTTP there, to whoever reaches the address"
)
METRICS = argument(
    "--metrics", action="store_true", help="with --health: serve /metrics for Prometheus (extra: metrics)"
)
SPANS = argument("--spans", action="store_true", help="send OpenTelemetry spans over OTLP/HTTP (extra: otel)")
HAPPENED = argument("--happened", dest="answer", action="store_const", const="happened", help="the effect is there")
NOT_HAPPENED = argument(
    "--not-happened", dest="answer", action="store_const", const="not_happened", help="it is not, and will not be"
)
STEP = argument("--step", metavar="ID", help="the step that is spoken of; else the one that the job waits for")
RESULT = argument("--result", metavar="JSON", help="with --happened: the step's result")
EXTERNAL_ID = argument("--external-id", metavar="X", help="with --happened: the effect's id in the other system")
BY = argument("--by", metavar="NAME", required=True, help="who says so")
EVIDENCE = argument("--evidence", metavar="TEXT", required=True, help="how that is known")

JOB_OUTPUT = argument(
    "--output", metavar="DIR|FILE", default=".", help="where it is written: a file, or job-JOB.html in a directory (.)"
)
JOB_FORM = argument("--format", choices=("html", "md", "json"), default="html", help="in which form (%(default)s)")

PROFILE = argument("--profile", choices=("quick", "deep"), default="quick", help="how much: quick is the default")
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
OUT = argument("--out", metavar="DIR", default=".", help="where reports/out/RUN is written (the working directory)")
SEED = argument("--seed", metavar="N", type=seed, default=20261121, help="what random walks start from (%(default)s)")
JOBS = argument("--jobs", metavar="N", type=int, default=1, help="how many processes judge at the same time (1)")
RESUME = argument("--resume", metavar="DIR", help="go on with an interrupted run, in its directory")
EVIDENCE_FILE = argument(
    "--evidence", metavar="FILE", help="the evidence.json whose verdicts are shown; else the newest in reports/out"
)
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
CLAIM = argument("claim", metavar="CLAIM", nargs="?", help="one claim's id: it is shown as by `crashwindow why`")
VARIANT = argument("--variant", choices=("hardened", "as_written"), help="the claims of this variant")
VERDICT = argument(
    "--verdict",
    metavar="VERDICT",
    help="the claims with this verdict, the best one found, or without evidence the expected one: PROVED, EXHAUSTED, TESTED,"
    " ASSUMED, NOT-CHECKED, REFUTED or ERROR",
)
REQUIREMENT = argument("--requirement", metavar="ID", help="the claims about a requirement, such as T-RECOVER or P11")
DOCUMENT = argument("--document", choices=("S0", "S1", "S2", "S3", "S4"), help="the claims that cite this document")
SEARCH = argument(
    "--search", metavar="WORDS", default="", help="the claims in whose id, sentence, requirement or policy each word is"
)
A_CLAIM = argument("claim", metavar="CLAIM", help="a claim's id")
KEY = argument(
    "key",
    metavar="KEY",
    help="as a report has it, quoted for the shell: model:POLICY:0/1/2 (a run of the model: its start, then which successor;"
    " repeated for ever after *), crash:CASE[@POLICY]:FAULT;FAULT (crashes of one job's workers),"
    " interleave:CASE[@MUTANT]:WORD;WORD (moves of several workers; without a word it lists those that may come first),"
    " power:CASE@MODE:CALL+N:SURVIVAL (a power loss), walk:MACHINE@POLICY:… (the moves of a walk, packed),"
    " text:CLAIM (a sentence of the seeds, tried on the runtime)",
)
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
ONLY_ROW = argument("--only", metavar="ROW", action="append", help="one row, by name; repeatable")
ROUNDS = argument("--rounds", metavar="N", type=int, help="rounds of each row, beside one to warm up (as the row says)")
LIST = argument("--list", action="store_true", help="the rows with their goals; nothing is measured")
PLANS = argument(
    "--plans", action="store_true", help="how each statement of the stores finds its rows; nothing is measured"
)
RESULTS = argument("--out", metavar="FILE", help="write the results, as JSON")
AGAINST = argument("--against", metavar="FILE", help="compare with results that --out wrote, as of another commit")

BUNDLED = argument("run", metavar="RUN", nargs="?", help="a run's directory; else the newest in reports/out")
BUNDLE_OUTPUT = argument("--output", metavar="FILE", help="where the bundle is written (RUN.bundle.tar.gz)")
PRIVATE_KEY = argument(
    "--key",
    metavar="PRIVATE.pem",
    help="an Ed25519 private key, which signs: openssl genpkey -algorithm ed25519 -out PRIVATE.pem",
)
A_BUNDLE = argument("bundle", metavar="BUNDLE", help="a bundle's file")
PUBLIC_KEY = argument(
    "--key",
    metavar="PUBLIC.pem",
    help="the Ed25519 public key that you trust: openssl pkey -in PRIVATE.pem -pubout -out PUBLIC.pem",
)
RECHECK = argument(
    "--recheck", action="store_true", help="ask cvc5 every obligation again, some minutes (extra: second)"
)
REGENERATE = argument(
    "--regenerate",
    action="store_true",
    help="compare each obligation with what this program asks of its model, by its encoder and no solver, and each tried sentence"
    " of the seeds with what this program's runtime does",
)

CONTRACT = argument("id", metavar="ID", help="the contract's id")
CONTRACT_OR_KEY = argument("id", metavar="ID|KEY", help="the contract's id, or the key that it holds")
LEVEL = argument(
    "--level",
    choices=("result", "transitions", "request"),
    default="result",
    help="result, for people, is the default; transitions, with actors; request, everything that is stored",
)
DIGEST = argument("--digest", metavar="DIGEST", help="of the action that was shown, its first 12 characters at least")
AGAIN = argument("--again", metavar="ID", help="the earlier execution that this one repeats on purpose")
RETRIES = argument(
    "--retries", action="store_true", help="the approval holds for a retry after a proven no-effect, too"
)
REASON = argument("--reason", metavar="TEXT", default="", help="why")
DATA = argument("--data", metavar="JSON", required=True, help="the answer")
OUTCOME = argument("--result", metavar="JSON", help="with --happened: what the result was")
BEFORE = argument(
    "--before", metavar="DAYS|DATE", required=True, help="what ended that many days ago, or before an ISO date"
)
HOST = argument("--host", metavar="ADDRESS", default="127.0.0.1", help="a loopback address (%(default)s)")
PORT = argument("--port", metavar="N", type=int, default=0, help="0, the default, takes a free one")

SIGNAL = argument("name", metavar="NAME", help="the signal's name, as a wait node of the plan says it")
SENT = argument("--data", metavar="JSON", help="the node's result; null if it is left out")
SIGNAL_ID = argument("--id", metavar="ID", help="makes it safe to send again: of equal ids only the first counts")
A_STEP = argument("step", metavar="STEP", help="a step's id")
A_REASON = argument("--reason", metavar="TEXT", required=True, help="why")

CONTRACTS = ".runtime.contracts.cli"
CONTRACT_COMMANDS = (
    Command("list", CONTRACTS, "list the contracts of a store, what waits for a person first", (STORE,)),
    Command("show", CONTRACTS, "show a contract, its history, and what is asked about it", (CONTRACT, STORE, LEVEL)),
    Command(
        "approve",
        CONTRACTS,
        "say yes to exactly the action that was shown",
        (CONTRACT, STORE, BY, DIGEST, AGAIN, RETRIES),
    ),
    Command("deny", CONTRACTS, "say no to what waits for an approval", (CONTRACT, STORE, BY, REASON)),
    Command("answer", CONTRACTS, "give the data that a request asks for", (CONTRACT, STORE, BY, DATA)),
    Command("cancel", CONTRACTS, "take back what has not ended", (CONTRACT, STORE, BY)),
    Command("reopen", CONTRACTS, "release the key of a rejected contract for a new one", (CONTRACT_OR_KEY, STORE, BY)),
    Command(
        "resolve",
        CONTRACTS,
        "say of an unknown execution whether it happened",
        (CONTRACT, STORE, OneOf(True, (HAPPENED, NOT_HAPPENED)), OUTCOME, BY, EVIDENCE, TOOLS),
    ),
    Command(
        "prune",
        CONTRACTS,
        "remove arguments, results and old checkpoints of what ended before a time; who did what when is kept",
        (STORE, BEFORE),
    ),
    Command("serve", CONTRACTS, "serve the approval page on this machine's loopback address", (STORE, HOST, PORT)),
)

HERE = ""
REGISTER = ".reports.cli_claims"
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

A_RUN = argument("run", metavar="RUN|FILE", help="the directory of a run, or its evidence.json")
OUTPUT = argument("--output", metavar="DIR", help="where the forms are written (beside the evidence)")
BEFORE_RUN = argument("before", metavar="A", help="the directory of a run, or its evidence.json")
AFTER_RUN = argument("after", metavar="B", help="another one, later as a rule")
REPORTS = ".reports.cli_report"
WITH_CAMPAIGN = argument(
    "--campaign",
    metavar="DIR",
    action="append",
    help="add the crash matrices of a campaign, by its directory; repeatable",
)
REPORT_COMMANDS = (
    Command(
        "render",
        REPORTS,
        "write every form of a run again from its evidence: page, Markdown, JUnit XML, SARIF, badge, summary",
        (A_RUN, WITH_CAMPAIGN, OUTPUT),
        codes="0: every verdict is the expected one; 1: one is not; 2: bad input.",
    ),
    Command(
        "diff",
        REPORTS,
        "what changed from run A to run B, what got worse first; timings are no difference",
        (BEFORE_RUN, AFTER_RUN, JSON),
        codes="0: nothing got worse; 1: something did; 2: bad input.",
    ),
    Command("schema", REPORTS, "print the JSON Schema of evidence.json"),
    Command(
        "summary",
        REPORTS,
        "print a run's summary in Markdown, or append it to the file that GITHUB_STEP_SUMMARY names",
        (A_RUN,),
    ),
)

PEOPLE = ".runtime.cli_people"
COMMANDS = (
    Command(
        "verify",
        HERE,
        "run every checker and write the report; exit 0 only if every verdict is the expected one",
        (PROFILE, OUT, SEED, RESUME),
    ),
    Command(
        "claims",
        REGISTER,
        "list the claim register, document by document, or the claims that are asked for",
        (CLAIM, VARIANT, VERDICT, REQUIREMENT, DOCUMENT, SEARCH, EVIDENCE_FILE, JSON),
    ),
    Command(
        "why",
        REGISTER,
        "why a claim stands as it does: source, formal statement, assumptions, evidence, and what would refute it",
        (A_CLAIM, EVIDENCE_FILE, JSON),
    ),
    Command(
        "check",
        ".checkers.cli_check",
        "check one claim anew, by every stage of a run that speaks of it; exit 0 only if it comes out as the register expects",
        (A_CLAIM, PROFILE, SEED),
    ),
    Command("report", REPORTS, "the forms of a run's evidence, and what changed between two", commands=REPORT_COMMANDS),
    Command("witness", HERE, "show, for a claim, a run that reaches what it speaks of", (A_CLAIM,)),
    Command(
        "replay",
        HERE,
        "re-run a counterexample, a schedule or a sentence by its key, step by step",
        (KEY,),
        codes="0: done; 1: the runtime breaks a property, or a sentence comes out otherwise than registered; 2: no such key.",
    ),
    Command(
        "walks",
        ".checkers.cli_walks",
        "run the test paths over the step's state graph on the shipped code; what none takes comes first, each with the reason",
        (REPLAN, SEED, JSON),
        codes="0: model and code agree on every path; 1: they part.",
    ),
    Command(
        "walk",
        ".checkers.cli_walks",
        "walk at random on the real store, model in lockstep; a failure is shrunk, and printed as a program with its key",
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
        "plant every mutant of models and runtime; exit 0 only if each is killed or proved harmless",
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
    Command(
        "bundle",
        ".reports.cli_bundle",
        "pack a run, with all that its verdicts rest on, under a manifest and a statement; signed if there is a key",
        (BUNDLED, BUNDLE_OUTPUT, PRIVATE_KEY),
    ),
    Command(
        "audit",
        HERE,
        "check a bundle without any checker: archive, hashes, signature, and that every verdict follows from its evidence",
        (A_BUNDLE, PUBLIC_KEY, RECHECK, REGENERATE, JSON),
        codes="0: every check passes, with the key that you trust; 1: something is wrong, and named; 2: it is no bundle;"
        " 3: nothing was found wrong, but it is UNSIGNED, no key was given, or a check could not be done.",
    ),
    Command(
        "bench",
        ".bench.cli",
        "measure this program beside its rivals, on the same work in the same run, and print ratios with their spread",
        (ONLY_ROW, ROUNDS, LIST, PLANS, RESULTS, AGAINST),
        codes="0: measured, whether goals are met or not; 1: a contestant failed, or did other work; 2: bad input, and nothing"
        " was measured; 130: interrupted, and what was measured until then is told.",
    ),
    Command("run", ".runtime.cli", "submit a plan and work until its job is at rest", (PLAN, STORE, JOB_ID, TOOLS)),
    Command("submit", ".runtime.cli", "submit a plan, for a worker to run", (PLAN, STORE, JOB_ID, TOOLS)),
    Command(
        "worker",
        ".runtime.cli_worker",
        "run the open jobs of a store, those of crashed workers included",
        (
            STORE,
            TOOLS,
            OneOf(False, (ONCE, UNTIL_IDLE)),
            CONCURRENCY,
            POLL,
            TTL,
            JOINED,
            GRACE,
            LOG,
            HEALTH,
            METRICS,
            SPANS,
        ),
        codes="0: stopped, or nothing is left; 1: a tool still ran when the grace was over, as after a crash; 2: bad input, an"
        " unusable store, or with --once or --until-idle a job had to be left.",
    ),
    Command("jobs", ".runtime.cli", "list the jobs of a store", (STORE, JSON)),
    Command("show", ".runtime.cli", "show a job's events, ledger and effects", (JOB, STORE, JSON)),
    Command(
        "verify-job",
        ".runtime.cli_logs",
        "check the stored records of a job; exit 0 if it is completed and verifiable, 1 if not, 3 if not completed",
        (JOB, STORE, JSON),
    ),
    Command(
        "report-job",
        HERE,
        "write the page of a job: what happened, what is in doubt, whether the record is intact, and all that is recorded",
        (JOB, STORE, JOB_OUTPUT, JOB_FORM),
        codes="as of verify-job: 0 completed and verifiable, 1 a criterion is violated, 3 not completed; the page is written"
        " all the same. 2: bad input, or a store that cannot be read, and no page.",
    ),
    Command("effects", ".runtime.cli_logs", "show the effects of a job, one line each, in order", (JOB, STORE, JSON)),
    Command(
        "resolve",
        ".runtime.cli",
        "say of a parked job whether the effect happened, and requeue it",
        (JOB, STORE, OneOf(True, (HAPPENED, NOT_HAPPENED)), STEP, RESULT, EXTERNAL_ID, BY, EVIDENCE),
    ),
    Command(
        "signal",
        PEOPLE,
        "send a signal to a job, which may be waiting for it",
        (JOB, SIGNAL, STORE, SENT, BY, SIGNAL_ID),
    ),
    Command("cancel", PEOPLE, "ask for the end of a job, as soon as nothing of it is open", (JOB, STORE, BY, A_REASON)),
    Command(
        "compensate",
        PEOPLE,
        "undo the effect of a step, once, by the compensation that its tool declares",
        (JOB, A_STEP, STORE, BY, A_REASON, TOOLS),
    ),
    Command(
        "confirm",
        PEOPLE,
        "accept the record of a step with which a verifier does not agree, and requeue its job",
        (JOB, STORE, BY, EVIDENCE),
    ),
    Command("tools", ".runtime.cli", "list the tools and what each declares", (TOOLS,)),
    Command("contract", CONTRACTS, "see what waits for a person, and answer", commands=CONTRACT_COMMANDS),
)


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of all commands; of one alone where `words` begin with it: to build all takes longer than many a command."""
    top = argparse.ArgumentParser(
        prog="crashwindow",
        description="Runs durable tool steps that change the world at most once, whatever crashes.",
        epilog="Exit codes: 0 completed, 1 failed or cancelled, 2 bad input or an unusable store, 3 parked, or waiting for"
        " somebody.",
    )
    add_commands(top, COMMANDS, words)
    return top


def add_commands(
    parser: argparse.ArgumentParser, commands: tuple[Command, ...], words: Sequence[str], before: str = ""
) -> None:
    """Let a parser have these commands, or the one that `words` begin with. before: what their functions' names begin with."""
    inner = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in [each for each in commands if each.name in words[:1]] or commands:
        added = inner.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[0].upper()}{command.help[1:]}.",
            epilog=f"Exit codes: {command.codes}" if command.codes else None,
        )
        function = f"{before}{command.name}".replace("-", "_")
        if command.commands:
            add_commands(added, command.commands, words[1:], f"{function}_")
            continue
        for entry in command.arguments:
            if isinstance(entry, OneOf):
                group = added.add_mutually_exclusive_group(required=entry.required)
                for names, settings in entry.arguments:
                    group.add_argument(*names, **settings)
            else:
                added.add_argument(*entry.names, **entry.settings)
        added.set_defaults(module=command.module, function=function)


def known_errors() -> tuple[type[Exception], ...]:
    """The errors that tell the user what to do; any other one is a defect of ours, and shows its traceback."""
    from .model.contract import InvalidTransitionError
    from .reports.files import EvidenceError
    from .reports.register import RegisterError
    from .runtime import clients, plan, registry, resolve, store
    from .runtime.contracts.store import ContractError

    return (
        CommandError,
        ContractError,
        clients.ClientError,
        EvidenceError,
        InvalidTransitionError,
        RegisterError,
        plan.PlanError,
        registry.DuplicateToolError,
        registry.ToolSourceError,
        resolve.ResolveError,
        store.JobExistsError,
        store.StoreError,
        store.StoreUnusableError,
    )


def verify(args: argparse.Namespace) -> int:
    """The main job, with its progress on the screen."""
    from rich.console import Console
    from rich.markup import escape

    from .checkers.evidence import RunEvidence
    from .checkers.stages import STAGES
    from .checkers.verify import Context, new_run
    from .checkers.verify import verify as stages
    from .reports.files import write
    from .reports.terminal import summary_table
    from .reports.view import judge
    from .scenarios.profile import command as command_of

    console = Console()
    try:
        directory = Path(args.resume) if args.resume else new_run(Path(args.out))
    except OSError as error:
        raise CommandError(f"--out {args.out}: {error.strerror}: name a directory that can be written") from error
    if args.resume and not (directory / "stages").is_dir():
        raise CommandError(f"{directory}: no interrupted run is here; give the directory that the run has printed")
    command = command_of(args.profile, args.seed)
    console.print(f"{command}\nevidence in {directory}", highlight=False, soft_wrap=True)
    evidence: RunEvidence | None = None
    with console.status("") as status:
        context = Context(args.profile, args.seed, directory, lambda words: status.update(escape(words)))
        for result in stages(context, STAGES, command):
            if isinstance(result, RunEvidence):
                evidence = result
            else:
                stage, found, seconds = result
                line = f"  {seconds:6.1f} s  {stage.title}: {found.summary()}"
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    if evidence is None:
        raise RuntimeError("the run ended without evidence")
    files = write(evidence, directory)
    console.print(summary_table(evidence))
    console.print(f"report: {files['report.html']}", highlight=False, soft_wrap=True)
    return 0 if judge(evidence).passed else 1


def audit(args: argparse.Namespace) -> int:
    """An audit; questions are written down and sentences tried anew here, for an audit itself may know no checker."""
    from .checkers.obligation_files import obligation_files
    from .checkers.seed_text import every_sentence
    from .reports.audit.run import Anew
    from .reports.cli_bundle import audit_bundle

    return audit_bundle(args, Anew(obligation_files, every_sentence))


def report_job(args: argparse.Namespace) -> int:
    """The page of a job as a file, and its first sentence on the screen; the exit code is that of `verify-job`."""
    from .checkers.job_evidence import job_evidence
    from .reports.job_files import write_job
    from .reports.job_words import summary
    from .runtime.cli_common import no_such_job, opened
    from .runtime.cli_logs import COMPLETED, NOT_FINISHED, VIOLATED

    with opened(args.store, existing=True) as store:
        try:
            job = job_evidence(store, args.job, args.store)
        except KeyError:
            raise no_such_job(args.job, args.store) from None
    try:
        file = write_job(job, args.format, args.output)
    except OSError as error:
        raise CommandError(
            f"--output {args.output}: {error.strerror}: name a file or a directory that can be written"
        ) from error
    print(f"{summary(job).headline}\n{file}")
    if job.verdict.violated:
        return VIOLATED
    return COMPLETED if job.verdict.verifiable else NOT_FINISHED


def campaign_run(args: argparse.Namespace) -> int:
    """A campaign against runtimes of others, and its matrices in every form."""
    from rich.console import Console

    from .checkers.cli_foreign import campaign_directory, chosen, judged
    from .reports.crash_matrix_files import matrix_table, write_matrices

    console = Console()
    file = chosen(args)
    directory = campaign_directory(args)
    matrices, unexpected = [], list[str]()
    for each in judged(args, file, console, directory):
        matrices.append(each.matrix)
        unexpected += each.unexpected
        console.print(matrix_table(each.matrix), crop=False)
    files = write_matrices(file.title, matrices, directory)
    console.print(f"report: {files['matrix.html']}", highlight=False, soft_wrap=True)
    for words in unexpected:
        console.print(words, style="bold red", highlight=False, soft_wrap=True)
    return 1 if unexpected else 0


def campaign_show(args: argparse.Namespace) -> int:
    """The matrices of a campaign, as its directory holds them."""
    from rich.console import Console

    from .reports.crash_matrix_files import load_matrices, matrix_table

    console = Console()
    for matrix in load_matrices(Path(args.matrix)):
        console.print(matrix_table(matrix), crop=False)
    return 0


def witness(args: argparse.Namespace) -> int:
    """Runs that reach the antecedents of a claim: the claim speaks of something."""
    from rich.console import Console

    from .checkers.search import witnesses
    from .reports.terminal import trace_table

    console = Console()
    for words, trace in witnesses(known_claim(args.claim)):
        console.print(f"{args.claim}: {words}", style="bold", highlight=False)
        console.print(trace_table(trace) if trace else "no run reaches it")
    return 0


def replay(args: argparse.Namespace) -> int:
    """A run of the model, or a crash schedule on the runtime, step by step."""
    from rich.console import Console

    from .checkers import traces
    from .reports.terminal import trace_table

    if args.key.startswith("crash:"):
        from .checkers.cli import replay_crash

        return replay_crash(args.key)
    if args.key.startswith("interleave:"):
        from .checkers.cli import replay_interleaving

        return replay_interleaving(args.key)
    if args.key.startswith("power:"):
        from .checkers.cli import replay_power

        return replay_power(args.key)
    if args.key.startswith("walk:"):
        from .checkers.cli_walks import replay_walk

        return replay_walk(args.key)
    if args.key.startswith("text:"):
        return replay_sentence(args.key)
    if not args.key.startswith("model:"):
        raise CommandError(
            f"{args.key!r} is no replay key: one begins with model:, crash:, interleave:, power:, walk: or text:, and is"
            " printed beside what it replays; see `crashwindow replay --help`"
        )
    try:
        Console().print(trace_table(traces.replay(args.key)))
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0


def replay_sentence(key: str) -> int:
    """A sentence of the seeds, tried anew, with the run where that contradicts it; 1 unless it comes out as registered."""
    from rich.console import Console

    from .checkers import seed_text
    from .model.claims import CLAIM_BY_ID
    from .reports.terminal import trace_table

    try:
        item = seed_text.replay(key)
    except ValueError as error:
        raise CommandError(str(error)) from error
    claim = CLAIM_BY_ID[key.partition(":")[2]]
    console = Console()
    if item.trace:
        console.print(trace_table(item.trace))
    words = f"{claim.id}: {claim.sentence}\n{item.verdict}: {item.statement}"
    console.print(words, markup=False, highlight=False, soft_wrap=True)
    return 0 if (item.verdict == "REFUTED") is (claim.expected == "REFUTED") else 1


def known_claim(name: str) -> "Claim":
    """The claim with this id; an error that lists the ids otherwise."""
    from .model.claims import CLAIM_BY_ID

    if name not in CLAIM_BY_ID:
        raise CommandError(f"there is no claim {name!r}; there are {', '.join(CLAIM_BY_ID)}")
    return CLAIM_BY_ID[name]


def _is_text(argument: str) -> bool:
    """Whether the bytes of an argument were text: Python hands others over as lone surrogates, which nothing can store."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if torn := next((text for text in argv if not _is_text(text)), None):
        print(f"crashwindow: the argument {torn!a} is not UTF-8 text; write it anew", file=sys.stderr)
        return BAD_INPUT
    args = parser(argv).parse_args(argv)
    try:
        function = (
            getattr(import_module(args.module, __package__), args.function) if args.module else globals()[args.function]
        )
        code: int = function(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except Exception as error:
        if not isinstance(error, known_errors()):
            raise
        print(f"crashwindow: {error}", file=sys.stderr)
        return BAD_INPUT
    return code


if __name__ == "__main__":
    sys.exit(main())
