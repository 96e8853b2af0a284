"""The inductive invariant of the hardened contract, written by hand (see `model.invariant` for what a clause is).

Together with the `never` guards of C1 to C10 the clauses hold at the start and no row breaks them: so they hold for any number of
crashes, callers, and other contracts with the same key.
"""

from collections.abc import Iterator
from typing import Final

from .contract_properties import BEGUN, HOLDING, SEVERAL
from .contract_rows import but
from .invariant import Clause
from .machine import guard

OPEN: Final = "started|unknown"


def _clauses() -> Iterator[Clause]:
    yield from _key()
    yield from _effect()
    yield from _consent()
    yield from _phases()


def _key() -> Iterator[Clause]:
    """The registry: whoever holds the key is the holder, and there is one."""
    held = "C-ONCE: creation reserves the key, and only a proven no-effect or a person releases it"
    yield Clause("a holding contract is the holder", guard(tool=HOLDING, holder="free|other"), held)
    yield Clause("a rejected contract is the holder", guard(tool="rejected", reopened="no", holder="free|other"), held)
    yield Clause("others that hold are the holder", guard(idle_others=SEVERAL, holder="free|this"), held)
    yield Clause("others that acted are the holder", guard(acted_others=SEVERAL, holder="free|this"), held)


def _effect() -> Iterator[Clause]:
    """The world: an effect is this contract's or another's, and the step's records do not lie."""
    count = "effects are counted when they happen"
    yield Clause("an effect has its contract", guard(deed="none", acted_others="0", effects=SEVERAL), count)
    yield Clause("this effect is counted", guard(deed="done", effects="0"), count)
    step = "the interface of the step, refined by its own machine"
    yield Clause("no effect before the step", guard(deed="done", step="none|no_effect"), step)
    yield Clause("ok is an effect", guard(deed="none", step="ok"), step)


def _consent() -> Iterator[Clause]:
    """Consent: fresh only while deferred, used by the move to running, never beside a denial."""
    bind = "C-BIND: the move that leads to the execution uses the approval up"
    yield Clause(
        "the action is what was shown", guard(action="changed"), "C-BIND: other arguments are another contract"
    )
    yield Clause(
        "running with consent",
        guard(consent="before", tool="running|unknown|completed|failed", approval="none|fresh"),
        bind,
    )
    yield Clause("executed with consent", guard(consent="before|during", step=OPEN, approval="none|fresh"), bind)
    yield Clause("an approval that was used", guard(approval="none|fresh", uses=SEVERAL), bind)
    yield Clause(
        "a release makes it fresh, once", guard(approval="fresh|used", request=but("completed"), consent="before"), bind
    )
    yield Clause(
        "a release is one resume", guard(consent="before", request=but("completed"), resumed=SEVERAL), "C-RESUME"
    )
    yield Clause("itself resumes once", guard(consent="during", approval="none|fresh", resumed=SEVERAL), "C-RESUME")
    yield Clause("itself waits without consent", guard(consent="during", approval="fresh|used", tool="waiting"), bind)
    yield Clause("an approval answers", guard(approval="fresh|used", answer="none|deny"), bind)
    yield Clause("a denial stops one that waits", guard(answer="deny", consent="during", tool="pending|unknown|completed|failed"),
                 "C-DENY")  # fmt: skip


def _phases() -> Iterator[Clause]:
    """Which step a status has, who is at work, and what is not there yet."""
    ahead = "C-AHEAD: running comes before the step, and its outcome before a terminal state"
    yield Clause("failed is no effect", guard(tool="failed", step="none|started|unknown|ok"), ahead)
    yield Clause("never begun, then ended", guard(tool="rejected|cancelled", step=BEGUN), ahead)
    yield Clause("at work", guard(executor="working", tool=but("running", "unknown", "completed")), ahead)
    yield Clause("created together", guard(consent="before", tool="absent", request=but("absent")), "one write")
    yield Clause(
        "the answer is asked for",
        guard(consent="during", tool="absent|pending", answer="approve|deny"),
        "it waits first",
    )
    yield Clause("nobody asks", guard(consent="none", answer="approve|deny"), "no consent is needed")


CONTRACT_INVARIANT: Final = tuple(_clauses())

AS_WRITTEN_INVARIANT: Final = (
    Clause(
        "nothing of the kind", guard(consent="none|before", tool="waiting"), "a deferred contract does not ask itself"
    ),
    Clause("created together", guard(tool="absent", request=but("absent")), "one write"),
    Clause("nothing before its creation", guard(tool="absent", request_was=but("absent")), "one write"),
)
"""What S3-WAITING, which holds as written, rests on."""
