"""The sentences of S2: the invocation id, retries and compensation."""

from typing import Final

from .claim_types import Citation
from .seed_sentence import belied, refuted, shown, unchecked


def _at(section: str, first: int, last: int, sha256: str) -> Citation:
    return Citation("S2", section, (first, last), sha256)


_ID: Final = "ToolInvocationID"
_RETRY: Final = "RetryPolicy"
_COMP: Final = "Compensation API"

S2_CLAIMS: Final = (
    shown("S2-ID-UNIQUE", "Each logical call has a ToolInvocationID of its own: no two steps share one.", "T-KEY", _at(_ID, 7, 7, "64bb171dc53a58d891e394465bb5229b1ae481da40d221806e93323cedfa09cc")),
    shown("S2-ID-KEY", "ToolInvocationID and idempotency key name the same thing: one belongs to one.", "T-KEY", _at(_ID, 9, 9, "22fde3cacb5c1ca48ea7e19926ec6f747b2713c72883ec51413f23ccc8bfb044")),
    shown("S2-ID-EVENTS", "Both stand in both events of a call, started and finished.", "T-EVENT", _at(_ID, 10, 10, "586edb91f5dbb656dde0a8a606eadee60f9826529459240712e343168d6303a4"), _at("Retry and id", 40, 40, "512145862d005b0827b3358f12eb9e3172e7740d9a86fa309c34a400ff5f7833")),
    unchecked("S2-ID-TRACE", "The trace view shows the ids among the evidence of its reasoning snapshot.", _at(_ID, 10, 10, "586edb91f5dbb656dde0a8a606eadee60f9826529459240712e343168d6303a4")),
    shown("S2-ID-CONTEXT", "A tool is handed its execution key and its external key, to be passed on.", "T-KEY", _at(_ID, 11, 11, "0ac1011d45a1654c16d065749ec6d31c1bd7f227cb9cdb96bf573168060e5abd")),
    shown("S2-RETRY-EVENTS", "Each retry is an event with the number of its attempt.", "T-RETRY", _at(_RETRY, 15, 15, "9bbf4f1c11e7f10af3e937827d6711b3a71b32506cb4e0e60c5ea5a7a2af6611"), _at(_RETRY, 19, 19, "a7d80218107b23e63cc7772dadc1be87e7e85235257a9429591bce02c9e84d67")),
    shown("S2-RETRY-CONFIG", "A retry policy says how often, after which pause and after which errors.", "T-RETRY", _at(_RETRY, 17, 17, "38bceec9da680b796e8c98764eedbd0d45e15179e78538cc2456573cef7040b6")),
    shown("S2-RETRY-WHERE", "It is given with the tool, or with the node, which prevails.", "T-RETRY", _at(_RETRY, 18, 18, "05399952f34b50767ff43d9762195266798da3343d7ca9658c87cc26d6acc872")),
    refuted("S2-RETRY-DEFAULT", "An error that nobody has classified is retryable, and retrying after it does no harm.", "T-RETRY", "s2-any-failure", "P1",
            "S2-RETRY-PROVEN", _at(_RETRY, 19, 19, "a7d80218107b23e63cc7772dadc1be87e7e85235257a9429591bce02c9e84d67"), tried=True),
    shown("S2-RETRY-PROVEN", "A step is retried after what provably had no effect; after any other error it is decided as unknown.", "T-RETRY, T-OUTCOME",
          _at(_RETRY, 19, 19, "a7d80218107b23e63cc7772dadc1be87e7e85235257a9429591bce02c9e84d67")),
    shown("S2-RETRY-BOUND", "There are at most MaxRetries executions beyond the first.", "T-RETRY", _at(_RETRY, 19, 19, "a7d80218107b23e63cc7772dadc1be87e7e85235257a9429591bce02c9e84d67")),
    shown("S2-RETRY-BACKOFF", "Before a retry the pause of the policy passes.", "T-RETRY", _at(_RETRY, 19, 19, "a7d80218107b23e63cc7772dadc1be87e7e85235257a9429591bce02c9e84d67")),
    shown("S2-RETRY-END", "When they are used up the step ends as retryable_failure or permanent_failure.", "T-RETRY", _at(_RETRY, 19, 19, "a7d80218107b23e63cc7772dadc1be87e7e85235257a9429591bce02c9e84d67")),
    shown("S2-RETRY-REQUEUE", "A step that ended as a retryable failure may go back to the queue, so often and not more.", "T-RETRY", _at(_RETRY, 21, 21, "f8811b63984dd61512491960ca4b88b93d91c177cd1a2afde1c71e9b7d0be813")),
    shown("S2-RETRY-SAME", "All retries of a step have the same ToolInvocationID and the same key, internal and external.", "T-RETRY, P11",
          _at("Retry and id", 40, 40, "512145862d005b0827b3358f12eb9e3172e7740d9a86fa309c34a400ff5f7833"), _at("At most once", 45, 45, "30b6193d2bfffb1df85013ca9ff7b8c8bc89ec0ea4f3553073a1999032cda944")),
    belied("S2-FIRST-ONLY", "Of all executions of a step only the first really takes place; a retry is an injection.", "T-RETRY", "P1",
           _at("Retry and id", 40, 40, "512145862d005b0827b3358f12eb9e3172e7740d9a86fa309c34a400ff5f7833"), _at("At most once", 45, 45, "30b6193d2bfffb1df85013ca9ff7b8c8bc89ec0ea4f3553073a1999032cda944")),
    belied("S2-ONE-EXECUTION", "For one key there is at most one real execution.", "T-RETRY", "P1", _at("At most once", 44, 44, "07e27689aa655e73989f49e5e0d0a1c373bf0d316bbe712603e01150dad3b35b"),
           Citation("S4", "6", (101, 101), "9e0e359459ae14ee96424934bb9a42c0fb7f8518c74577fc68228f4d310b9f4d")),
    shown("S2-COMP-TRIGGER", "A compensatable failure calls the compensation that the tool declares.", "T-COMP", _at(_COMP, 27, 27, "df76f3d5cc3f6b7e3fa84379d25ae44d23705129c98daf1b616801b18f82332a"), _at("Irreversible tools", 36, 36, "9549bdf05d7078dba98875e223129387072bc6f9dd27e6552f6fa7ec4cb6b90e")),
    shown("S2-COMP-REQUEST", "So does an explicit request.", "T-COMP", _at(_COMP, 27, 27, "df76f3d5cc3f6b7e3fa84379d25ae44d23705129c98daf1b616801b18f82332a"), _at(_COMP, 30, 30, "51301156f4756ea1c850ee64fc2eab00befcd4d9dcaf9dd4463f3afabbeda4ac")),
    shown("S2-COMP-EVENT", "After the compensation an event step_compensated is written.", "T-COMP, T-EVENT", _at(_COMP, 28, 28, "642310155147e7d258fac3415a6107d283db1477a2f3fb6a4bf86fc28826b6b8"), _at(_COMP, 30, 30, "51301156f4756ea1c850ee64fc2eab00befcd4d9dcaf9dd4463f3afabbeda4ac")),
    shown("S2-COMP-TERMINAL", "A replay takes a compensated step for ended: neither the step nor its compensation runs again.", "T-COMP", _at(_COMP, 28, 28, "642310155147e7d258fac3415a6107d283db1477a2f3fb6a4bf86fc28826b6b8")),
    shown("S2-COMP-COMMITTED", "Only a committed effect is compensated.", "T-COMP", _at(_COMP, 29, 29, "9f56664b0c67a0fc3c2aee281658961e0d0a95ee6f37675ab8442ae845115286"), _at("At most once", 46, 46, "8d0d9a40f39d97ad20ae716208a2c4a6507cf02fd11c60e1da558c6a01d61382")),
    shown("S2-COMP-ONCE", "A committed step is compensated once, whatever crashes.", "T-COMP, P10", _at(_COMP, 29, 29, "9f56664b0c67a0fc3c2aee281658961e0d0a95ee6f37675ab8442ae845115286"), _at("At most once", 46, 46, "8d0d9a40f39d97ad20ae716208a2c4a6507cf02fd11c60e1da558c6a01d61382")),
    shown("S2-COMP-REGISTER", "A tool is registered with its compensation, or without one.", "T-COMP", _at(_COMP, 30, 30, "51301156f4756ea1c850ee64fc2eab00befcd4d9dcaf9dd4463f3afabbeda4ac")),
    shown("S2-COMP-MUST", "An irreversible tool declares a compensation, or says why it has none; silence is refused before the plan is accepted.", "T-COMP",
          _at("Irreversible tools", 36, 36, "9549bdf05d7078dba98875e223129387072bc6f9dd27e6552f6fa7ec4cb6b90e")),
    shown("S2-COMP-NONE", "Without a compensation a failed step ends as permanent_failure, and nothing is undone.", "T-COMP", _at("Irreversible tools", 36, 36, "9549bdf05d7078dba98875e223129387072bc6f9dd27e6552f6fa7ec4cb6b90e")),
)  # fmt: skip

S2_REASONS: Final = {
    "S2-ID-TRACE": "It concerns the trace view of the source project; there is none here, and the events hold the ids.",
}
"""Why a claim is not checked."""
