"""The properties of an execution contract, C1 to C10, and S3's own sentences, as data (see `model.properties`).

C9 has a second half that no guard can say, that every state can come to an end and every edge is taken;
`checkers/contract_search.py` searches for it. A sentence of S3 that fails as written has a property of its own, so that its
counterexample tells its story; all but S3-WAITING hold in the hardened machine.
"""

from typing import Final

from .contract_rows import ENDED, but
from .machine import guard
from .properties import Property

BEGUN: Final = "started|unknown|no_effect|ok"
HOLDING: Final = "pending|running|waiting|unknown|completed"
SEVERAL: Final = "1|2"

CONTRACT_PROPERTIES: Final = (
    Property(
        "C1",
        "At most one contract per irreversible key is live, completed, unknown, or rejected and not reopened.",
        never=(
            guard(tool=HOLDING, idle_others=SEVERAL),
            guard(tool=HOLDING, acted_others=SEVERAL),
            guard(tool="rejected", reopened="no", idle_others=SEVERAL),
            guard(tool="rejected", reopened="no", acted_others=SEVERAL),
            guard(idle_others="2"),
            guard(acted_others="2"),
            guard(idle_others=SEVERAL, acted_others=SEVERAL),
        ),
        occurs=(
            guard(tool="completed"),
            guard(tool="rejected", reopened="yes", idle_others="1"),
            guard(acted_others="1"),
        ),
    ),
    Property(
        "C2",
        "A new contract with the same key comes to be only after a proven no-effect.",
        never=(
            guard(tool="pending", effects=SEVERAL),
            guard(step="started|unknown|ok", idle_others=SEVERAL),
            guard(step="started|unknown|ok", acted_others=SEVERAL),
        ),
        occurs=(guard(tool="failed", step="no_effect", idle_others="1"), guard(tool="failed", acted_others="1")),
    ),
    Property(
        "C3",
        "The history is a whole chain, from pending to the status.",
        never=(guard(oldest="later"), guard(tool="running|waiting|unknown|completed|failed", oldest="none")),
        occurs=(guard(tool="completed", oldest="pending"),),
    ),
    Property(
        "C4",
        "Every transition is made by an actor that may make it.",
        never=(guard(rights="broken"),),
        occurs=(guard(tool="completed"), guard(request="completed")),
    ),
    Property(
        "C5",
        "Of all resumes of a waiting contract one takes effect.",
        never=(guard(resumed="2"),),
        occurs=(guard(resumed="1"), guard(resumed="1", caller="loaded")),
    ),
    Property(
        "C6",
        "An approval is for one execution of the action that was shown, and a denial is final.",
        never=(
            guard(consent="before|during", step="started|ok", approval="none|fresh"),
            guard(consent="before|during", step=BEGUN, action="changed"),
            guard(uses="2"),
            guard(answer="deny", tool="running"),
            guard(answer="deny", step=BEGUN),
        ),
        occurs=(
            guard(consent="before", step="started", uses="1"),
            guard(consent="during", step="started", uses="1"),
            guard(answer="deny", tool="rejected"),
        ),
    ),
    Property(
        "C7",
        "Running is durable before the action is executed.",
        never=(guard(step=BEGUN, tool="absent|pending|waiting"), guard(deed="done", tool="absent|pending|waiting")),
        occurs=(guard(tool="running", deed="done"),),
    ),
    Property(
        "C8",
        "Waiting is left by resume, cancel, timeout and deny alone, never straight to completed; terminal states absorb.",
        never=(
            guard(tool_was="waiting", tool=but("running", "cancelled", "rejected")),
            guard(request_was="waiting", request=but("running", "cancelled", "rejected")),
            guard(tool_was=ENDED),
            guard(request_was=ENDED),
        ),
        occurs=(guard(tool_was="waiting", tool="running"), guard(request_was="waiting", request="rejected")),
    ),
    Property(
        "C9",
        "Every non-terminal state reaches a terminal one: none is left that waits for a request which has ended.",
        never=(
            guard(consent="before", tool="pending", request="cancelled|rejected|failed"),
            guard(consent="before", tool="pending", request="completed", approval="none"),
        ),
        occurs=(guard(request="cancelled", tool="cancelled"), guard(request="completed", tool="completed")),
    ),
    Property(
        "C10",
        "A completed tool contract had exactly one effect; a rejected, cancelled or failed one had none.",
        never=(
            guard(tool="completed", effects="0|2"),
            guard(tool="completed", deed="none"),
            guard(tool="rejected|cancelled|failed", deed="done"),
            guard(effects="2"),
        ),
        occurs=(
            guard(tool="completed", effects="1"),
            guard(tool="failed"),
            guard(tool="cancelled"),
            guard(tool="rejected"),
        ),
    ),
)

ALONE: Final = guard(idle_others="0", acted_others="0")

SENTENCES: Final = (
    Property("S3-ONCE", "Two contracts with one key are never both completed, with an effect each.",
             never=(guard(tool="completed", deed="done", holder="other", acted_others=SEVERAL, effects="2"),)),
    Property("S3-RETRY", "A failed contract may be retried: nothing happens twice.",
             never=(guard(tool="failed", deed="done", acted_others=SEVERAL, effects="2"),)),
    Property("S3-TIMEOUT", "A contract that was cancelled for its timeout may be tried again: nothing happens twice.",
             never=(guard(tool="cancelled", deed="done", acted_others=SEVERAL, effects="2"),)),
    Property("S3-FAILED", "Failed means that it was done without success: an effect means success.",
             never=(guard(tool="failed", deed="done"),)),
    Property("S3-DENIED", "What a person has denied is never running.",
             never=(guard(answer="deny", request="running"), guard(answer="deny", tool="running"))),
    Property("S3-DENIED-RUNS", "What a person has denied is never executed.", never=(guard(answer="deny", deed="done"),)),
    Property("S3-RESUMED", "A resumed tool contract that is recorded as completed was executed.",
             never=(guard(consent="during", tool="completed", step="none"),)),
    Property("S3-RESUMED-TWICE", "A contract that is resumed twice is executed once.",
             never=({**guard(resumed="2", effects="2"), **ALONE},)),
    Property("S3-CHANGED", "What is executed is what was approved.",
             never=(guard(consent="before|during", deed="done", action="changed"),)),
    Property("S3-ORPHAN", "A contract whose executor has crashed is not executed a second time.",
             never=({**guard(consent="none", resumed="0", effects="2"), **ALONE},)),
    Property("S3-DEFERRED", "When a request times out, what it defers ends as well.",
             never=(guard(consent="before", tool="pending", request="cancelled"),)),
    Property("S3-TERMINAL", "A terminal state is never left.", never=(guard(tool_was=ENDED), guard(request_was=ENDED))),
    Property("S3-HISTORY", "The oldest transition that is kept begins in pending.", never=(guard(oldest="later"),)),
    Property("S3-WAITING", "Waiting is left by resume, cancel and timeout alone, never straight to completed.",
             never=(guard(tool_was="waiting", tool=but("running", "cancelled")),
                    guard(request_was="waiting", request=but("running", "cancelled"))),
             occurs=(guard(tool_was="waiting", tool="running"), guard(request_was="waiting", request="cancelled"))),
)  # fmt: skip
"""S3's sentences. Only S3-WAITING holds as written, and it fails in the hardened machine, which adds `deny`: there it is C8."""

CONTRACT_BY_ID: Final = {p.id: p for p in (*CONTRACT_PROPERTIES, *SENTENCES)}
