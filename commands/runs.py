"""The commands of a run: every checker, the claims that it judges, its reports, and what refutes a claim, again."""

from typing import Final

from .grammar import HERE, Command, argument
from .options import JSON, OUT, PROFILE, RESUME, SEED

EVIDENCE_FILE = argument(
    "--evidence", metavar="FILE", help="the evidence.json whose verdicts are shown; else the newest in reports/out"
)
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
REGISTER = ".reports.cli_claims"
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
RUN_COMMANDS: Final = (
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
)
