"""What stands in a model or an invariant without ever taking effect, by proof, and why it stands there nonetheless.

Rows that cannot fire are the second line of a defence, or speak of what a policy leaves out; any other is an error, and so is
one that is said not to and does. Clauses, and assumptions of which plans there are, that no answer used may be dropped; in an
invariant that is shared by several proofs that is a fact about one of them. Which clauses a solver uses is its choice where it
has one, and differs with what it was asked before: an unused one of which nobody says why it stands there is an error; one of
which that is said may be used still.
"""

from collections.abc import Mapping
from typing import Final

from .prove_encode import ruled_out

_KEY: Final = {
    "world: serves again, another key": "an attempt does not change the key (P11)",
    "world: late request again, another key": "an attempt does not change the key (P11)",
}
_ONCE: Final = {
    "world: serves again, not idempotent": "a tool that is not idempotent is not asked while an attempt is open (P1)",
    "world: late request again, not idempotent": "a tool that is not idempotent is not asked while an attempt is open (P1)",
}
_ACQUIRE: Final = {
    "acquire: committed": "whoever comes to B1 has found no evidence; a second look, at the ledger itself"
}


def _recorded(first: str, *records: str) -> dict[str, str]:
    """The crashes before the first success write of an order, where records have the result that come later in it."""
    return dict.fromkeys(
        (f"crash at {first}, {record} is there" for record in records), "what comes later in the order is not there"
    )


def _overtaken(rows: Mapping[str, str]) -> dict[str, str]:
    """The same, and F3 by which such a worker is overtaken."""
    lost = ("fence effects", "fence effects (answer lost)")
    return {**rows, **{f"{fence}, overtakes: {row}": why for fence in lost for row, why in rows.items()}}


_RECORDED: Final = _overtaken(_recorded("put_effect", "finished", "committed", "ledger"))
_STEP: Final = {
    **_KEY,
    **_ONCE,
    **_ACQUIRE,
    "1: committed": "the finished event, which is looked for first, is always there",
    "reply: another result": "a tool that recognises a repeat gives its first answer, and any other acts once",
}
_CALL: Final = {
    "step: acts while started, after its compensation": "a compensation begins once the original can act no more",
    "step: acts while unknown, after its compensation": "a compensation begins once the original can act no more",
    "the call acts again": "a callback is not called again before what came of the call is known",
    "the call is recognised": "a callback is not called again before what came of the call is known",
    "a late call acts again": "a callback is not called again before what came of the call is known",
    "a late call is recognised": "a callback is not called again before what came of the call is known",
}
_FLEET: Final = {
    **_KEY,
    **_ONCE,
    **_ACQUIRE,
}
_EVIDENCE: Final = ("1: committed", "2: ledger committed", "reply: another result")
_CONFLICT: Final = {"version conflict": "who stands in the stream is the one who wrote last (FENCES-SUFFICE)"}
_UNRECORDED: Final = "as written, an attempt to compensate leaves no event, and no other row has one to look at"

CANNOT_FIRE: Final[Mapping[str, Mapping[str, str]]] = {
    "hardened": {
        **_STEP,
        **_recorded("put_effect", "finished", "committed", "ledger"),
        "2: ledger committed": "the ledger is written last",
    },
    "s0-order-full-recovery": {
        **_STEP,
        **_recorded("commit", "effect", "finished", "committed", "ledger"),
        "3: effect record": "in this order the effect record comes after the finished event",
    },
    "s4-reexecute-stable-key": {
        **_KEY,
        **dict.fromkeys(_ONCE, "each tool recognises a repeat"),
    },
    "compensation-hardened": _CALL,
    "compensation-as-written": dict.fromkeys(
        (
            "decide: an attempt is open", "decide: the last attempt did nothing, for an unknown one",
            "decide: the last attempt did nothing", "append compensation_started",
            "append compensation_failed, no effect", "append compensation_failed, unknown", "ledger no_effect", "ledger unknown",
            "park", "park, though it is given up: an attempt is open", "park, though it is given up: a step is in doubt",
            "given up: the job ends", "nor did the step do anything: the job ends", "grant another attempt",
            "resolved: it happened", "resolved: it did not happen", "query: it happened", "query: it did not happen",
            "step: told that nothing happened",
        ),
        _UNRECORDED,
    ),
    "compensation-as-written-idempotent": dict.fromkeys(
        ("the call acts again", "a late call acts again"), "each callback recognises a repeat"
    ),
    "fleet": {
        **_FLEET,
        **_CONFLICT,
        **_RECORDED,
        "version conflict with a request, overtaken": "who was overtaken in the effect store was so in the stream before (F1)",
    },
    "fleet-without-conditional": {**_FLEET, **_RECORDED},
    "fleet-recorded": _CONFLICT,
    "fleet-compensation": {
        **_CALL,
        "refused by events, as a crash during the call": "who is at the call has no write to the stream at hand",
        "refused by ledger, as a crash during the call": "who is at the call has no write to the ledger at hand",
    },
}  # fmt: skip
"""The rows that cannot fire, by proof."""

UNREACHED: Final[Mapping[str, tuple[str, ...]]] = {
    "s4-reexecute-stable-key": (
        "0: to be requeued", "1: committed", "2: ledger committed", "6: cancelled", "8: cancelled", "acquire: cancelled",
        "acquire: committed", "append cancelled", "append cancelled (answer lost)", "append cancelled (found)",
        "append node failed, retryable", "append node failed, retryable (answer lost)", "append node failed, retryable (found)",
        "append node failed, unconfirmed", "append node failed, unconfirmed (answer lost)",
        "append node failed, unconfirmed (found)", "append warned", "append warned (answer lost)", "append warned (found)",
        "compensation was requested, harmless", "confirm: a person has accepted it", "crash at put_effect, committed is there",
        "crash at put_effect, finished is there", "crash at put_effect, ledger is there",
        "crash, about to hear what clients said, park", "crash, about to park in doubt", "crash, parked in doubt",
        "elsewhere: in doubt", "elsewhere: signalled", "hears what clients said, park, once more", "ledger unknown: there",
        "on unknown: reexecute was scheduled", "park, an attempt is open",
        "park, an attempt is open (answer lost)", "park: cancelled", "reply: another result", "requeue", "requeue (answer lost)",
        "requeue (found)", "retry: cancelled",
    ),
    "contract-as-written": (
        "another caller: approved, nothing to release", "caller: approved, nothing to release", "step: closed before it began",
    ),
    "compensation-as-written": ("the job is queued again, for whatever else",),
    "compensation-as-written-idempotent": (
        "append compensation_failed, no effect", "append compensation_failed, unknown", "append compensation_started",
        "decide: an attempt is open", "decide: the last attempt did nothing",
        "decide: the last attempt did nothing, for an unknown one", "given up: the job ends", "grant another attempt",
        "ledger no_effect", "ledger unknown", "nor did the step do anything: the job ends", "park",
        "park, though it is given up: a step is in doubt", "park, though it is given up: an attempt is open",
        "query: it did not happen", "query: it happened", "resolved: it did not happen", "resolved: it happened",
        "step: told that nothing happened", "the job is queued again, for whatever else",
    ),
    "fleet": _EVIDENCE,
    "fleet-compensation": ("crash during the call (barred)",),
    "fleet-without-conditional": (*_EVIDENCE, "compensation was requested, harmless (overtaken, by what it read)"),
}  # fmt: skip
"""The rows that fire in no state that is reached (`prove_reached.py`), though the invariant has a state in which they would.

Of four policies they are rows for what these leave out, under clauses for the policy that has it; of a step's fleet two
that stand behind other evidence, and another result of a tool that recognises a repeat, of all of which the proof of one worker
shows that they cannot fire; of an undoing's the crash of who was
barred by a look that fences, and no such look is among its rows; without conditional appends, that one who was overtaken undoes
by what it has read, to which that search does not come with two claims. Of every other proof: none.
"""

_TOLD: Final = {"a cancel was requested": "the coupling says it of every worker"}
_QUERY: Final = ruled_out({"on_unknown": frozenset({"query"}), "look": frozenset({"none"})})
_OTHERS: Final = ruled_out(
    {"on_unknown": frozenset({"fail", "park", "reexecute"}), "look": frozenset({"fence", "quiet"})}
)
_REPEATS: Final = ruled_out({"on_unknown": frozenset({"reexecute"}), "idempotent": frozenset({"no"})})
_AS_WELL: Final = "each row keeps the invariant of such a plan as well; that none begins is asked where a run begins"

UNUSED: Final[Mapping[str, Mapping[str, str]]] = {
    "hardened": dict.fromkeys((_QUERY, _OTHERS), _AS_WELL),
    "s0-order-full-recovery": {
        **dict.fromkeys((_QUERY, _OTHERS), _AS_WELL),
        "committed first as finished": "in this order the effect record lies between the two",
    },
    "s4-reexecute-stable-key": dict.fromkeys((_QUERY, _OTHERS, _REPEATS), _AS_WELL),
    "fleet": {
        **_TOLD,
        _QUERY: _AS_WELL,
        "append_completed landed": "whoever ends a job writes nothing after it",
        "append_failed landed": "whoever ends a job writes nothing after it",
        "append_cancelled landed": "whoever ends a job writes nothing after it",
        "no memory without a worker": "whoever claims begins without a memory",
    },
    "fleet-without-conditional": {**_TOLD, _QUERY: _AS_WELL},
    "fleet-gate": {"what is completed was answered": "the shape says it of what each worker has read"},
}
"""The clauses and the assumptions of plans that no answer needs to use, by proof."""
