"""The claim register (E-CLAIM): every guarantee that this version speaks of, and nothing else may be called guaranteed.

A claim holds a sentence in our own English, where it comes from, the policy under which it is checked, what it says formally
(properties of `model.properties`, or a relation that a checker computes), the assumptions that it needs, and the verdict that
is expected. A citation names a document of the user's by its short name, with the SHA-256 of the cited lines (joined by
"\\n", without a final one): whoever holds the document can check it; its text is not copied here.
"""

from difflib import get_close_matches
from typing import Final

from .claim_types import FORMAL, Assumption, Citation, Claim, Kind, Variant
from .contract_claims import CONTRACT_ASSUMPTIONS, CONTRACT_CLAIMS
from .contract_claims import REASONS as CONTRACT_REASONS
from .fleet_claims import FLEET_ASSUMPTIONS, fleet_claims
from .liveness_claims import LIVENESS_ASSUMPTIONS, LIVENESS_CLAIMS, LIVENESS_REASONS
from .necessity_claims import NECESSITY_CLAIMS
from .power_claims import POWER_ASSUMPTIONS, POWER_CLAIMS
from .seed_claims import SEED_CLAIMS, SEED_REASONS
from .semantics_claims import SEMANTICS_ASSUMPTIONS, SEMANTICS_CLAIMS

__all__ = ["ASSUMPTIONS", "CLAIMS", "CLAIM_BY_ID", "DOCUMENTS", "FORMAL", "NOT_CHECKED", "REASONS", "Assumption", "Citation", "Claim", "Kind",
           "Variant", "no_such_claim"]  # fmt: skip

DOCUMENTS: Final = {
    "S0": "000_182f1da424038e31.txt",
    "S1": "001_4a401af9414bcf9a.txt",
    "S2": "002_8a387d67b9562519.txt",
    "S3": "003_97460b93e67d257b.txt",
    "S4": "004_6adbc2811724d6f0.txt",
}


ASSUMPTIONS: Final = {
    a.id: a
    for a in (
        Assumption("A-DURABLE", "A write that a store has acknowledged survives a crash of the process, and of the machine (WAL, "
                   "synchronous=FULL, a disk that honours fsync).", "whoever runs the store"),
        Assumption("A-CAS", "Each store performs one write atomically, and refuses a stale epoch or version in the same step.",
                   "the store; tested in tests/test_stores.py"),
        Assumption("A-TRANSACTION", "A transaction of the database is kept whole or not at all, and until it is, nobody else sees what it wrote, or "
                   "writes into the same job.", "the database, which holds all stores; tested in tests/test_joined.py"),
        Assumption("A-ONE-WORKER", "One worker at a time works on a job: a former one is dead when the next claims it.",
                   "the embedded store's worker lock; the claims that end in -ANY need it not"),
        Assumption("A-QUIET", "No request is served later than D after its sender stopped waiting, was killed, or lost its lease.",
                   "whoever sets quiet_seconds of a tool"),
        Assumption("A-IDEMPOTENT", "A tool declared idempotent answers a repeated external key with the first result and changes nothing.",
                   "the tool's author"),
        Assumption("A-NO-EFFECT", "A tool raises NoEffectError only when provably nothing happened and nothing will.", "the tool's author"),
        Assumption("A-QUERY", "A tool's query tells the truth, and a look declared fencing refuses every request of an older attempt.",
                   "the tool's author"),
        Assumption("A-PERSON", "A person who resolves a parked step tells the truth about the world.", "whoever resolves"),
        Assumption("A-VERIFIER", "A verifier that answers match or mismatch tells the truth about the world at that moment; where none is configured, or no change is recorded, "
                   "nothing is confirmed and the record is taken as it is.", "whoever configures the verifiers"),
        Assumption("A-HASH", "SHA-256 has no collisions, so distinct steps have distinct keys.", "cryptography"),
        Assumption("A-STEPS", "Steps of a job have distinct keys and run one after another, so one step can be followed alone, the others "
                   "being the rules named `elsewhere`.", "runtime.protocol; the monitor replays every step of every run"),
        *CONTRACT_ASSUMPTIONS,
        *SEMANTICS_ASSUMPTIONS,
        *POWER_ASSUMPTIONS,
        *FLEET_ASSUMPTIONS,
        *LIVENESS_ASSUMPTIONS,
    )
}  # fmt: skip

_STORE: Final = ("A-DURABLE", "A-CAS", "A-ONE-WORKER", "A-STEPS")
_TOOL: Final = ("A-QUIET", "A-IDEMPOTENT", "A-NO-EFFECT", "A-QUERY", "A-PERSON")
_ALL: Final = ("prove", "explore", "crash", "monitor", "walk")


def _hardened(name: str, sentence: str, requirement: str, assumptions: tuple[str, ...], *citations: Citation) -> Claim:
    return Claim(
        name, "hardened", sentence, citations, requirement, "hardened", "holds", (name,), assumptions, _ALL, "PROVED"
    )


_CLAIMS: Final = (
    _hardened("P1", "Whatever crashes, however often, again during recovery: for one logical step the world changes at most once.",
              "T-PROP P1", _STORE + _TOOL, Citation("S1", "2", (30, 30), "615062a46ccd74d6c879e4781630eaf112480c2516bb2726ddb607903941d259"), Citation("S2", "", (44, 44), "07e27689aa655e73989f49e5e0d0a1c373bf0d316bbe712603e01150dad3b35b"), Citation("S4", "6", (101, 101), "9e0e359459ae14ee96424934bb9a42c0fb7f8518c74577fc68228f4d310b9f4d")),
    _hardened("P2", "A step recorded as committed happened exactly once; one recorded as without effect did not happen; anything else "
              "is said to be unknown.", "T-PROP P2", _STORE + _TOOL, Citation("S0", "②", (32, 32), "da640418dfb2656a48c8f82f79bd130cb1f23af844542daefac5638b59e5ccf4")),
    _hardened("P3", "An effect that has a record is always caught up: the step is never run again, parked or failed over it.",
              "T-PROP P3", _STORE, Citation("S1", "1", (12, 12), "b98dfad72f5fa8e225a6862a5f687b06ce2c2ae1af909c78d98e80f813697360"), Citation("S1", "2", (26, 26), "e039357bd15fc0635aa09eaff8ac2000ac0fbf04ac84b9491182b150fe6045d7"), Citation("S4", "5.2", (90, 90), "bd2bbd7ee67c4e6bdc16bbada8376a23803f696bca2c372862a553b0e3ba8c0d")),
    _hardened("P4", "A fault changes no verdict: a step is parked, or failed as unknown, only when the outcome of an attempt was really lost.",
              "T-PROP P4", (*_STORE, "A-NO-EFFECT", "A-QUERY", "A-PERSON"), Citation("S1", "2", (24, 28), "26923ff744d8f2898b855fffaaed417757186ec10f5b22ef9642a4376d652fbf")),
    _hardened("P6", "At rest, event stream, ledger and effect store agree, results included.", "T-PROP P6", _STORE + _TOOL,
              Citation("S1", "3", (45, 45), "a90ab914db3383c77f636f76072de11d1cf4d2ecc065970b34f09dcb235c37b6")),
    _hardened("P7", "Logs only grow, committed results never change, and nothing follows a terminal event.", "T-PROP P7", _STORE,
              Citation("S4", "5.1", (84, 86), "2f2eafcba1b75a0d2caea97f226b1660c2ea78306ef80f493b468c9afbf6eec7")),
    _hardened("P8", "No result is injected from a record unless, since this worker claimed the job, the world was seen to agree with it, or the "
              "disagreement was durably warned of, or a person has accepted it.", "T-PROP P8, T-CONFIRM", (*_STORE, "A-VERIFIER"),
              Citation("S0", "③", (57, 57), "d1259de53894aa678265456a1391c3c5de4f372e73f1cde388d09540df2ca2e5"), Citation("S0", "③", (64, 64), "68465818cdb0b05d5d6f64a52d2f19bad459fd7da28321c15a2dced0887db33d"), Citation("S0", "③", (66, 66), "6f41b3c4e01917e6b1e42377d1bf946fe70162ca5e7e981437af0c6d611b1c68")),
    _hardened("P11", "A tool is sent one external key per logical effect, the same in every attempt and after every reclaim.",
              "T-PROP P11, T-KEY", (*_STORE, "A-HASH"), Citation("S1", "4.2", (62, 62), "61b2591205d560ee69be605ab536d089771d6714033b39cfd3b3a3d7e67ead92"), Citation("S2", "", (40, 40), "512145862d005b0827b3358f12eb9e3172e7740d9a86fa309c34a400ff5f7833")),
    Claim("P11-INJECTIVE", "hardened", "Distinct logical steps are given distinct external keys.", (Citation("S1", "4.1", (53, 56), "45a9814196c0d03c728aece21282ef949d3f3cfec0671f090b4d645e7ec6cb6f"),),
          "T-PROP P11, T-KEY", "hardened", "keys", (), ("A-HASH",), ("enumerate",), "TESTED"),
    _hardened("P14", "The started event is durable before the tool is called.", "T-PROP P14", _STORE, Citation("S1", "3", (38, 39), "0d25d58b435c3c76ed4f32b351d0bab93f1deb03957b8bc2a9fee2a5c1b8b68b")),
    Claim("P13", "hardened", "Of the completed jobs that are tried, verify-job accepts each as it was left, and no single alteration of its "
          "records that is no run of the models, or that leaves the chain of hashes as it was.", (Citation("S4", "6", (97, 102), "89877fd0fa0f3e0f15c5b3b4748f1d67f1f9723276e903a8959649701735d7c1"),),
          "T-PROP P13, E-VERIFIABLE, E-CHAIN", "hardened", "shown", (), ("A-HASH", "A-STEPS"), ("enumerate",), "TESTED"),
    Claim("T-WINDOW", "hardened", "The crash-window table is complete and right: every state that a crash can leave is in exactly one window, "
          "and recovery and effects are as its row says.", (Citation("S1", "2", (22, 28), "2bd5a697c1db5de56df2a98185cc31eea09ba5ce812b1f6b22ea4271fa88c5d4"),), "T-WINDOW", "hardened", "table", (),
          _STORE + _TOOL, ("windows", "crash"), "EXHAUSTED"),
    Claim("T-AMBIGUOUS", "hardened", "A crash before the execution and one after it can leave the same durable state, so no recovery that reads "
          "the stores alone can tell them apart.", (Citation("S1", "2", (25, 25), "2fd6d79b8b087da6fc9b954c2306cf56aa45e6851cb6fde184a4a8e027a01092"),), "T-WINDOW", "hardened", "ambiguity", (), (),
          ("explore",), "EXHAUSTED"),
    Claim("T-REST", "hardened", "No reachable state is stuck: once faults cease, every job can come to rest.", (Citation("S1", "2", (30, 30), "615062a46ccd74d6c879e4781630eaf112480c2516bb2726ddb607903941d259"),),
          "T-RECOVER, T-PROP P15", "hardened", "rest", (), _STORE, ("explore",), "EXHAUSTED"),
    Claim("T-JOINED", "hardened", "Where one database holds the stores, the writes between two contacts with the world may be one transaction: no crash "
          "then leaves a step in a state that writes by themselves do not come to, so every property of the step holds.", (Citation("S1", "1", (14, 14), "b741ed8cce9ff208fc22a8101c72c9f037b83bacdab4b3a0b9ecee9eb255662e"),),
          "T-ORDER, T-PROP", "hardened", "joined", (), (*_STORE, "A-TRANSACTION"), ("explore",), "EXHAUSTED"),
    Claim("S1-1-ORDER", "hardened", "With the ledger consulted on recovery, committing before appending is safe as well: the order that S1 §1 warns "
          "of keeps every property.", (Citation("S1", "1", (14, 14), "b741ed8cce9ff208fc22a8101c72c9f037b83bacdab4b3a0b9ecee9eb255662e"),), "T-RECOVER 2", "s0-order-full-recovery", "holds",
          ("P1", "P2", "P3", "P4", "P6", "P7", "P11", "P14"), _STORE + _TOOL, ("prove", "explore"), "PROVED"),
    Claim("S4-5.2-STABLE", "hardened", "Re-execution without a barrier keeps the world at most once if every tool is idempotent and its external key "
          "is the same in every attempt.", (Citation("S4", "5.2", (91, 91), "d4a1426bcdf5814ede4793a952ef4e74ecc0a6b5fa34656b6376e8c8c9ce09b4"),), "T-RECOVER on_unknown", "s4-reexecute-stable-key", "holds",
          ("P1",), _STORE + _TOOL, ("prove", "explore"), "PROVED"),
    Claim("S4-5.2", "as_written", "After a crash between the execution and the effect record the step is executed again; the tool's idempotence and "
          "the external key of S1 §4.2 keep the world at most once.", (Citation("S4", "5.2", (91, 91), "d4a1426bcdf5814ede4793a952ef4e74ecc0a6b5fa34656b6376e8c8c9ce09b4"), Citation("S1", "4.2", (60, 63), "084083b03e93c6fbb3a4582960b7a735175f32f977daad695c515d3e119e4a9d")),
          "T-RECOVER on_unknown", "s4-reexecute", "refuted", ("P1",), _STORE + _TOOL, ("explore", "replay"), "REFUTED", "S4-5.2-STABLE"),
    Claim("S1-4.2", "as_written", "Given the key job:step:attempt, the downstream deduplicates and so acts at most once.",
          (Citation("S1", "4.2", (60, 63), "084083b03e93c6fbb3a4582960b7a735175f32f977daad695c515d3e119e4a9d"),), "T-KEY", "s4-reexecute", "refuted", ("P11",), _STORE, ("explore", "replay"), "REFUTED", "P11"),
    Claim("S1-2-ROW2", "as_written", "In window 2 the step is retried, by configuration, and the effect is not repeated.",
          (Citation("S1", "2", (25, 25), "2fd6d79b8b087da6fc9b954c2306cf56aa45e6851cb6fde184a4a8e027a01092"), Citation("S1", "2", (30, 30), "615062a46ccd74d6c879e4781630eaf112480c2516bb2726ddb607903941d259")), "T-RECOVER on_unknown", "s1-row2-retry", "refuted", ("P1",),
          _STORE + _TOOL, ("explore", "replay"), "REFUTED", "P1"),
    Claim("S0-1", "as_written", "The store is updated before the events are written, and a replay takes results from the event stream without the "
          "store; a committed step is not called again.", (Citation("S0", "①", (21, 24), "bda2b22e7926f061e52c4d358012e55f1b74d369fa5c0c48db3d8f14c335553a"),), "T-RECOVER 2", "s0-events-alone", "refuted", ("P1",),
          _STORE + _TOOL, ("explore", "replay"), "REFUTED", "S1-1-ORDER"),
    Claim("S0-1-BARRIER", "as_written", "The same with S1's started event as a barrier: a committed step recovers from the event stream alone.",
          (Citation("S0", "①", (21, 24), "bda2b22e7926f061e52c4d358012e55f1b74d369fa5c0c48db3d8f14c335553a"), Citation("S1", "3", (38, 38), "3e1349fb25d61a98301788c3d0cb7aa0c447b66e07477f6733b2218de9f657e5")), "T-RECOVER 2", "s0-events-alone-barrier", "refuted", ("P3", "P4"),
          _STORE + _TOOL, ("explore", "replay"), "REFUTED", "S1-1-ORDER"),
    Claim("S1-1-MISJUDGED", "as_written", "If the commit is durable before the append, a replay from the event stream may take the step for not executed.",
          (Citation("S1", "1", (14, 14), "b741ed8cce9ff208fc22a8101c72c9f037b83bacdab4b3a0b9ecee9eb255662e"), Citation("S1", "3", (45, 45), "a90ab914db3383c77f636f76072de11d1cf4d2ecc065970b34f09dcb235c37b6")), "T-RECOVER 2", "s0-events-alone", "occurs", (), _STORE,
          ("explore",), "EXHAUSTED", "S1-1-ORDER"),
    Claim("S1-2-BARRIER-FIRST", "as_written", "Row 2 read alone: a pending invocation is decided ('no execution, permanent failure') without a look into the "
          "effect store, and nothing is lost. Row 3 has the look.", (Citation("S1", "2", (25, 26), "1c7d56dd7b5ba4c330d25c4a21fa410e2860b19a29ce65f4572f1e40dd71a8da"),), "T-RECOVER 3", "barrier-before-lookup", "refuted", ("P3", "P4"),
          _STORE, ("explore", "replay"), "REFUTED", "P3"),
    Claim("S2-45-FIRST-ALONE", "as_written", "Of the retries under one key only the first execution is real; a retry that was granted is worth granting.",
          (Citation("S2", "", (40, 40), "512145862d005b0827b3358f12eb9e3172e7740d9a86fa309c34a400ff5f7833"), Citation("S2", "", (45, 45), "30b6193d2bfffb1df85013ca9ff7b8c8bc89ec0ea4f3553073a1999032cda944")),
          "T-RETRY", "s2-first-alone", "refuted", ("P4",), _STORE + _TOOL, ("explore", "replay"), "REFUTED", "P4"),
    *SEED_CLAIMS,
    *CONTRACT_CLAIMS,
    *SEMANTICS_CLAIMS,
    *POWER_CLAIMS,
    *LIVENESS_CLAIMS,
    *NECESSITY_CLAIMS,
)  # fmt: skip
CLAIMS: Final = (*_CLAIMS, *fleet_claims(_CLAIMS))
REASONS: Final = {**SEED_REASONS, **CONTRACT_REASONS, **LIVENESS_REASONS}
"""Why a claim is not checked."""
CLAIM_BY_ID: Final = {claim.id: claim for claim in CLAIMS}


def no_such_claim(name: str) -> str:
    """What is said of an id that no claim has."""
    near = ", ".join(get_close_matches(name.upper(), CLAIM_BY_ID))
    return f"there is no claim {name!r}{near and f', but {near}'}: `crashwindow claims` lists them all"


NOT_CHECKED: Final = (
    "Liveness (P15) of more than two workers.",
    "Power loss under PostgreSQL: that an acknowledged commit lies on the disk is taken from the server's settings, which are looked at; a failover "
    "to a replica that lags; a server clock that is set back.",
    "On PostgreSQL the store suite, races decided by hand and schedules of several workers are tests; faults on real processes are a campaign of "
    "its own (`crashwindow campaign chaos`), whose evidence is not in this report, and which strikes no writes of clients, gates or contracts.",
    "A second power loss while the first is recovered from; disks on which a sync that has returned is not durable.",
    "Audit (P13); verify-job is tested, not proved: one alteration at a time, of four jobs. Whoever alters several records to agree with one "
    "another, or what a tool or a person has answered wherever it stands, is found by a link of the chain noted elsewhere, or not at all.",
    "That every run of a gate, a compensation or a recorded value is one of its model: P9, P10 and P12 are proved of the models; of the runtime "
    "each distinct trace that the crash campaign leaves is replayed in them, and for other runs A-GATED, A-COMPENSATED and A-INJECTED are "
    "assumed. No lockstep walk follows these models, an order between two nodes, steps or values of one job is in none of them, and nor is a "
    "request for approval that ends without an answer (to a gate it is a denial), or a job of its own that undoes a step of another.",
    "Of the shipped core, enumerated beside its model (decision 030): of the 79 cases with verifiers, partial effects, undoing, requeues, gates, recorded "
    "values or another step, all of one worker, 34 are samples alone, of the pairs that look alike the first, up to 10,000: those in which an effect is "
    "undone, and a few more; 45 are gone through to their end as well, most of them within two claims, an expiry and a cancel. Two of the 34, `outlived` and "
    "`both-undone`, parted from the model where their samples do not look; that is mended, and beyond their samples they are not gone through. With two "
    "workers clients ask for a cancel, or send the one signal that another step waits for, both where a single worker has one claim; or have the step itself "
    "undone, in 11 cases that are samples alone. What is proved for any number of workers is not said of an earlier step that is undone while they work. Three work without clients and a store's faults, on a tool that is looked at quietly behind one schedule alone. That two workers take "
    "every edge of their fleet is within two claims and two attempts, without clients and other steps. That every edge is taken does not show that a row asks for all that it has to: "
    "one that leaves a field out has fewer edges, each of which may be taken. Of the rows that the machine of a step has in jobs of several, or of a contract that is over (`model/surroundings.py`), 12 of 133 "
    "edges are seen to be taken, and the others pinned by row; they are for traces, and nothing is proved by them.",
    "Not enumerated: an input that is asked for once the request is sent, what a language model is asked, a lost answer of the contract store beside "
    "a step, a step that rests once a later one has begun, an ended job's step that another job undoes; of the contract "
    "engine (decision 034) two steps' contracts in one decision, requests for data, approval nodes of plans; PostgreSQL. Nor of a store beside its rules: checkpoints, pages "
    "of many jobs, the worker lock, several threads.",
    "By an audit of this run's bundle: how often something was counted (schedules, kills, mutants killed, steps of walks and enumerations, "
    "observations of the ambiguity class), and that a mechanism is not needed: these and more are the signer's word (docs/audit.md names what is known to be).",
    "Of writes that are joined (`crashwindow worker --joined`) T-JOINED searches one step in the model, and the crash campaign strikes four plans of "
    "steps, and one in which signals come meanwhile: several workers at once, contracts, gates, compensations and models are not in this run.",
    "Runs that never end (the sentences about liveness that are refuted) are the model's: the runtime is not seen to repeat them. Of a "
    "sentence that breaks several properties the runtime shows one or more, which its scenarios name.",
    "A step whose confirmation fails, or that is compensated, while a later step of the same job has an open attempt: the model follows one step.",
)
