"""The stage of `crashwindow verify` that strikes our own runtime through the door that is open to others (deep profile)."""

from typing import Final

from ..scenarios.campaign import campaign_path, load_campaign
from .campaign.campaign import Local, Options
from .campaign.session import sessions
from .verify import Context, Found, Stage

CAMPAIGNS: Final = {"naive": ("act-then-record", "record-then-act"), "own": ("own-sqlite-query", "own-sqlite-park")}
"""The campaigns that need no server and no extra, with their subjects: loops without a protocol, and our runtime."""


def campaigns(context: Context) -> Found:
    """Their crash matrices, in the deep profile; what is not as the campaign expects is an error of the run."""
    found = Found()
    for name, subjects in CAMPAIGNS.items() if context.profile == "deep" else ():
        file = load_campaign(campaign_path(name))
        chosen = tuple(each for each in file.subjects if each.name in subjects)
        options = Options(profile="quick", whens=file.strikes, bisect=file.bisect, seed=context.seed)
        command = f"crashwindow campaign run {name} --seed {context.seed}"
        for judged in sessions(
            file.model_copy(update={"subjects": chosen}), options, Local(1), None, command,
            lambda subject, done, of, _: context.tell(f"{subject}: {done}/{of}"),
        ):  # fmt: skip
            found.campaigns.append(judged.matrix)
            found.errors += judged.unexpected
    return found


CAMPAIGN: Final = Stage("campaigns", "crash matrices: two loops, and our own runtime", campaigns, (), "crash")
