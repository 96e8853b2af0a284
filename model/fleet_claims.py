"""The claims about any number of workers: each property again, fencing (P5), and what each protection is needed for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .claim_types import Assumption, Citation, Claim

FLEET: Final = "fleet"
STEP: Final = ("P1", "P2", "P3", "P4", "P6", "P7", "P8", "P11", "P14")
"""The tool step's properties that are proved for any number of workers."""
SEMANTICS: Final = {
    "P9": ("P9", "P9-WAITING"),
    "P10": ("P10", "P10-COMMITTED", "P10-TERMINAL"),
    "P12": ("P12", "P12-BEFORE-USE", "P12-ONE-EFFECT"),
}
"""The properties of gates, compensations and recorded values, by claim."""
RECORDED: Final = SEMANTICS["P12"]

FLEET_ASSUMPTIONS: Final = (
    Assumption("A-COPIES", "A worker decides by what the answers of F1 to F3 told it and by its own writes since, and repeats only the write "
               "that it has in hand.", "runtime.protocol and runtime.drive; every interleaving of two workers is tried on them"),
    Assumption("A-TOKEN", "A tool whose look fences refuses every request with a token older than the look's, in flight or sent later.",
               "the author of a tool whose look is `fence`"),
    Assumption("A-REGISTRY", "A request for approval is created once and answered once, whoever asks and answers, by compare-and-set of its version.",
               "the contract stores; their races are decided by hand in tests"),
    Assumption("A-INTERFACE", "What several workers do to a step's records and its effect is, step by step, what one worker does to them.",
               "checked of every transition of two workers on the step's own execution, in the deep profile"),
)  # fmt: skip

_STORE: Final = ("A-DURABLE", "A-CAS", "A-COPIES", "A-STEPS")
_TOOL: Final = ("A-QUIET", "A-IDEMPOTENT", "A-NO-EFFECT", "A-QUERY", "A-PERSON", "A-TOKEN")
_BARRIER: Final = Citation("S1", "3", (38, 38), "3e1349fb25d61a98301788c3d0cb7aa0c447b66e07477f6733b2218de9f657e5")


def fleet_claims(proved: Sequence[Claim]) -> tuple[Claim, ...]:
    """The claims; `proved` are those about one worker, whose sentences and citations are repeated."""
    one = {claim.id: claim for claim in proved}
    return (
        *(_any(one[name], (name,)) for name in STEP),
        *(_any(one[name], stated) for name, stated in SEMANTICS.items()),
        Claim("P5", "hardened", "A write below a store's fence is refused and changes nothing in that store: no worker changes a store that a newer "
              "one has read.", one["P7"].citations, "T-PROP P5, T-FENCE", FLEET, "fleet", ("P5",), ("A-CAS", "A-COPIES"), ("prove",), "PROVED"),
        Claim("TAKE-OVER", "hardened", "A step that is INFLIGHT without a started event may be taken over (window 1b): whoever held it can no longer "
              "start it, since its started event is fenced and, where it is refused, nothing executes.", (_BARRIER,),
              "T-RECOVER 6", FLEET, "fleet", ("P1", "P2", "P14"), _STORE + _TOOL, ("prove",), "PROVED"),
        Claim("FENCES-SUFFICE", "hardened", "Between workers the fences suffice: were an append taken without a look at the stream's version, every property "
              "would hold all the same. What the version guards against are people and clients.", one["P7"].citations,
              "T-PROP, the matrix", "fleet-without-conditional", "fleet", STEP, _STORE + _TOOL, ("prove",), "PROVED"),
        _refuted("LEASE-ALONE", "fleet-lease-alone", ("P1",), "P1-ANY", "A lease suffices: a worker whose lease is over has stopped, so nothing need be checked "
                 "when it writes."),
        _refuted("CONDITION-ALONE", "fleet-condition-alone", ("P3", "P6"), "P5", "A lease and conditional appends suffice: no store needs a fence."),
        _refuted("TAKE-OVER-UNCHECKED", "fleet-without-checked", ("P1",), "TAKE-OVER", "The started event need only be written: whether the store took it "
                 "makes no difference to the execution."),
        _refuted("TAKE-OVER-UNFENCED", "fleet-without-fence-events", ("P4", "P6"), "TAKE-OVER", "The event stream needs no fence: appends are conditional."),
        _refuted("WITHOUT-FENCE-LEDGER", "fleet-without-fence-ledger", ("P6",), "P5", "The ledger needs no fence, the event stream having one."),
        _refuted("WITHOUT-FENCE-EFFECTS", "fleet-without-fence-effects", ("P3",), "P5", "The effect store needs no fence, its records being evidence only."),
    )  # fmt: skip


def _any(claim: Claim, properties: tuple[str, ...]) -> Claim:
    needed = tuple(a for a in claim.assumptions if a != "A-ONE-WORKER")
    more = {"P9": ("A-REGISTRY",), "P10": ("A-INTERFACE",)}.get(claim.id, ())
    assumed = (*needed, "A-COPIES", *(("A-TOKEN",) if "A-QUERY" in needed else ()), *more)
    # P7 forbids no state, only what a step takes back: the search of two workers has no state to look for.
    methods = ("prove",) if claim.id == "P7" else ("prove", "explore")
    sentence = f"For any number of workers, claims and crashes: {claim.sentence[0].lower()}{claim.sentence[1:]}"
    return replace(
        claim, id=f"{claim.id}-ANY", sentence=sentence, policy=FLEET, kind="fleet", properties=properties,
        assumptions=assumed, methods=methods, expected="PROVED",
    )  # fmt: skip


def _refuted(name: str, policy: str, properties: tuple[str, ...], beside: str, sentence: str) -> Claim:
    return Claim(name, "as_written", sentence, (_BARRIER,), "T-FENCE, T-WRITE", policy, "refuted", properties, _STORE + _TOOL,
                 ("explore", "replay"), "REFUTED", beside)  # fmt: skip
