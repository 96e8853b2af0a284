"""The commands of who has to be convinced: a bundle, its audit, and figures beside those of rivals."""

from typing import Final

from .grammar import HERE, Command, argument
from .options import JSON

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
AUDIT_COMMANDS: Final = (
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
)
