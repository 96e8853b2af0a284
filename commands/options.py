"""Arguments that commands of several subjects take."""

import argparse

from .grammar import argument


def seed(text: str) -> int:
    """A seed of the command line. Raises ArgumentTypeError for one that evidence could not be signed with."""
    from ..checkers.evidence_base import LARGEST

    value = int(text)
    if abs(value) > LARGEST:
        raise argparse.ArgumentTypeError(
            f"{text[:20]} is beyond {LARGEST}: give one that every reader of JSON has alike"
        )
    return value


PLAN = argument("plan", metavar="PLAN", help="a plan: a .yaml or .json file")
STORE = argument("--store", metavar="URL", required=True, help="sqlite:///FILE or postgresql://USER@HOST/DATABASE")
TOOLS = argument("--tools", metavar="FILE", help="a .py file or a module with tools of your own")
JSON = argument("--json", action="store_true", help="everything, as JSON")
HAPPENED = argument("--happened", dest="answer", action="store_const", const="happened", help="the effect is there")
NOT_HAPPENED = argument(
    "--not-happened", dest="answer", action="store_const", const="not_happened", help="it is not, and will not be"
)
BY = argument("--by", metavar="NAME", required=True, help="who says so")
EVIDENCE = argument("--evidence", metavar="TEXT", required=True, help="how that is known")
PROFILE = argument("--profile", choices=("quick", "deep"), default="quick", help="how much: quick is the default")
OUT = argument("--out", metavar="DIR", default=".", help="where reports/out/RUN is written (the working directory)")
SEED = argument("--seed", metavar="N", type=seed, default=20261121, help="what random walks start from (%(default)s)")
RESUME = argument("--resume", metavar="DIR", help="go on with an interrupted run, in its directory")
