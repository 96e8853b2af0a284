"""What is true of a compensation (P10), S2's sentences about it, and the inductive invariant, written by hand."""

from typing import Final

from .compensation import AT_WORK, BEGUN, CLOSED, PLACES
from .machine import guard
from .properties import Property
from .words import clauses, words

FAILURE: Final = "append_lost|ledger_unknown|append_no_effect|ledger_no_effect|park"
SUCCESS: Final = "put_record|append_compensated|append_committed|commit|append_node"


def but(*places: str) -> str:
    """Every place of the worker but these."""
    return "|".join(place for place in PLACES if place not in places)


COMPENSATION_PROPERTIES: Final = (
    Property(
        "P10",
        "A compensation happens at most once, and its record is true: step_compensated means that it happened, and that it "
        "did not is said only where that is proved. An ended job leaves none INFLIGHT.",
        never=(
            words("undone:2"),
            words("done:yes undone:0|2"),
            words("record:yes undone:0|2"),
            words("ledger:committed undone:0|2"),
            words("node:yes undone:0|2"),
            words(f"attempt:{CLOSED} undone:1|2"),
            words("ledger:no_effect undone:1|2"),
            words("job:ended attempt:open|lost done:no"),
            words("job:ended ledger:inflight"),
            words("job:ended|parked record:yes done:no"),
        ),
        grows=("record", "done", "node"),
        occurs=(
            guard(done="yes", undone="1"),
            guard(attempt="lost", undone="1", job="parked"),
            guard(attempt="lost", undone="0", job="parked"),
            guard(attempt="closed", job="ended"),
            guard(attempt="open", late="1"),
        ),
    ),
    Property(
        "P10-COMMITTED",
        "A compensation runs only for an effect that has happened, or where it is declared harmless; no effect comes after it.",
        never=(
            words(f"harmless:no attempt:{BEGUN} original:none|started|unknown|no_effect"),
            words("harmless:no deed:none undone:1|2"),
            words(f"attempt:{BEGUN} original:none|started"),
            words("deed:late"),
        ),
        occurs=(
            guard(harmless="no", undone="1"),
            guard(harmless="yes", undone="1", deed="none"),
            guard(asked="yes", original="unknown"),
        ),
    ),
    Property(
        "P10-TERMINAL",
        "A step whose compensation has begun never runs again, and nothing is called for one that is compensated.",
        never=(
            words("rerun:yes"),
            words("done:yes at:acquire|start|call|await"),
            words(f"job:ended at:{AT_WORK}"),
        ),
        occurs=(guard(node="yes"), guard(done="yes", node="no", at="idle")),
    ),
)

COMPENSATION_SENTENCES: Final = (
    Property("COMP-ONCE", "A step is compensated once.", never=(guard(undone="2"),), occurs=(guard(undone="1"),)),
    Property("COMP-OF-COMMITTED", "Only a committed effect is compensated.",
             never=(guard(harmless="no", undone="1|2", deed="none"),), occurs=(guard(undone="1"),)),
    Property("COMP-WRITTEN", "A step with step_compensated was compensated.", never=(guard(done="yes", undone="0"),),
             occurs=(guard(done="yes"),)),
)  # fmt: skip
"""S2's sentences, each by itself."""

COMPENSATION_INVARIANT: Final = (
    *clauses(
        "K-BARRIER: an attempt calls once, and there is no further one before it is proved that it did nothing",
        {
            "nothing acts before the barrier": "attempt:none undone:1|2",
            "nothing is on its way without an open attempt": f"attempt:none|{CLOSED} late:1|2",
            "nobody calls without an open attempt": f"attempt:none|lost|{CLOSED} at:call|await|append_no_effect|append_lost",
            "no second attempt beside an open one": "attempt:open|lost at:acquire|start",
            "a call has somebody who waits": f"request:sent|acted|refused at:{but('await')}",
            "before the call nothing has happened": "at:call undone:1|2",
            "before the call nothing is on its way": "at:call late:1|2",
            "one call": "late:2",
            "a call that is waited for is the only one": "request:sent|acted|refused late:1|2",
            "a call that waits has not acted": "request:sent|refused undone:1|2",
            "a call acts once": "late:1|2 undone:1|2",
        },
    ),
    *clauses(
        "K-TRUTH: what is written is what is known",
        {
            "an answer is an effect": "request:acted undone:0",
            "a success has its effect": f"at:{SUCCESS} undone:0",
            "a refusal has none": "at:append_no_effect undone:1|2",
            "a refusal leaves nothing behind": "at:append_no_effect late:1|2",
            "NO_EFFECT is written of a closed attempt": "at:ledger_no_effect attempt:none|open|lost",
            "NO_EFFECT is not said of an open attempt": "attempt:open|lost ledger:no_effect",
            "INFLIGHT comes before the barrier": "at:start ledger:no_effect",
            "the ledger is settled before the job is parked": "at:park ledger:inflight",
        },
    ),
    *clauses(
        "T-ORDER and K-RECORD: evidence comes first, and is caught up in order",
        {
            "a recorded compensation is caught up": f"record:yes at:{FAILURE}",
            "what is recorded is not called": "record:yes at:await",
            "the ledger follows the event": "at:append_committed|commit|append_node done:no",
            "what is told is done": "told:compensated|committed done:no",
            "the node follows the event": "node:yes done:no",
            "the node follows the ledger": "at:append_node ledger:inflight",
            "a step that is undone has a ledger that says so": "node:yes ledger:inflight",
            "a parked job has no worker": f"job:parked at:{AT_WORK}",
        },
    ),
    *clauses(
        "K-COMMITTED, K-QUIET: what is compensated has happened, or never will",
        {
            "a committed effect has happened": "original:ok deed:none",
            "only what is committed is compensated": "harmless:no at:acquire|start original:none|started|unknown|no_effect",
            "nothing is compensated that is still tried": "at:acquire|start original:none|started",
            "what is unknown is quiet": "at:acquire|start original:unknown quiet:no",
            "what is unknown stays quiet": f"attempt:{BEGUN} original:unknown quiet:no",
        },
    ),
)
"""With the properties' own guards inductive, for any number of crashes, requests and late calls."""

AS_WRITTEN_INVARIANT: Final = (
    *clauses(
        "what holds as written: only what is on record as committed is called",
        {
            "a committed effect has happened": "original:ok deed:none",
            "only what is committed is compensated": "harmless:no at:acquire|call original:none|started|unknown|no_effect",
            "what is called is committed": "harmless:no request:sent|acted|refused deed:none",
            "what is called late is committed": "harmless:no late:1|2 deed:none",
        },
    ),
    *clauses(
        "what holds as written: a step that is recorded as compensated is terminal",
        {
            "there is no attempt": f"attempt:{BEGUN}",
            "there is no place of one": f"at:start|{FAILURE}",
        },
    ),
)
"""What S2's sentences that hold as written rest on."""
