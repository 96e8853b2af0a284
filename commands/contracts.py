"""The commands of execution contracts: what waits for a person."""

from .grammar import Command, OneOf, argument
from .options import BY, EVIDENCE, HAPPENED, NOT_HAPPENED, STORE, TOOLS

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
