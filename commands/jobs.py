"""The commands of the runtime: jobs, workers, and what people say of them."""

from typing import Final

from .contracts import CONTRACT_COMMANDS, CONTRACTS
from .grammar import HERE, Command, OneOf, argument
from .options import BY, EVIDENCE, HAPPENED, JSON, NOT_HAPPENED, PLAN, STORE, TOOLS

JOB = argument("job", metavar="JOB", help="a job's id")
JOB_ID = argument("--job", metavar="ID", help="the job's id, which makes it safe to repeat the command; else a new one")
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
STEP = argument("--step", metavar="ID", help="the step that is spoken of; else the one that the job waits for")
RESULT = argument("--result", metavar="JSON", help="with --happened: the step's result")
EXTERNAL_ID = argument("--external-id", metavar="X", help="with --happened: the effect's id in the other system")
JOB_OUTPUT = argument(
    "--output", metavar="DIR|FILE", default=".", help="where it is written: a file, or job-JOB.html in a directory (.)"
)
JOB_FORM = argument("--format", choices=("html", "md", "json"), default="html", help="in which form (%(default)s)")
SIGNAL = argument("name", metavar="NAME", help="the signal's name, as a wait node of the plan says it")
SENT = argument("--data", metavar="JSON", help="the node's result; null if it is left out")
SIGNAL_ID = argument("--id", metavar="ID", help="makes it safe to send again: of equal ids only the first counts")
A_STEP = argument("step", metavar="STEP", help="a step's id")
A_REASON = argument("--reason", metavar="TEXT", required=True, help="why")
PEOPLE = ".runtime.cli_people"
JOB_COMMANDS: Final = (
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
