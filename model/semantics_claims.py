"""The claims about gates (P9), compensations (P10) and recorded values (P12): hardened, as written, and which rules they need."""

from typing import Final

from .claim_types import Assumption, Citation, Claim
from .compensation import COMPENSATION_RULES
from .gate import GATE_RULES
from .recorded import RECORDED_RULES

_SHORT: Final = {"P9": "gate", "P10": "compensation", "P12": "recorded"}
_RULES: Final = {**GATE_RULES, **COMPENSATION_RULES, **RECORDED_RULES}
_STORE: Final = ("A-DURABLE", "A-CAS", "A-ONE-WORKER")


_SEARCH: Final = ("explore",)
_REPLAYED: Final = ("explore", "replay")
_BOTH: Final = ("prove", "explore")


def _holds(
    name: str, parts: tuple[str, ...], sentence: str, requirement: str, needs: tuple[str, ...], *cited: Citation
) -> Claim:
    policy, stated, needed = f"{_SHORT[name]}-hardened", (name, *parts), (*_STORE, *needs)
    methods = (*_BOTH, "crash", "monitor")
    return Claim(name, "hardened", sentence, cited, requirement, policy, "holds", stated, needed, methods, "PROVED")


def _rests(name: str, short: str, sentence: str, needs: tuple[str, ...], *cited: Citation) -> Claim:
    policy, needed, requirement = f"{short}-hardened", (*_STORE, *needs), "T-PROP P15, for one worker"
    return Claim(name, "hardened", sentence, cited, requirement, policy, "rest", (), needed, _SEARCH, "EXHAUSTED")


def _stands(name: str, policy: str, stated: str, beside: str, sentence: str, *cited: Citation) -> Claim:
    """A sentence that holds as written."""
    methods, needed = _BOTH, _STORE
    return Claim(
        name, "as_written", sentence, cited, beside, policy, "holds", (stated,), needed, methods, "PROVED", beside
    )


def _fails(name: str, policy: str, stated: str, beside: str, sentence: str, *cited: Citation) -> Claim:
    """A sentence that is refuted as written."""
    return Claim(
        name, "as_written", sentence, cited, beside, policy, "refuted", (stated,), (), _REPLAYED, "REFUTED", beside
    )


def _needed(beside: str, rule: str, fails: tuple[str, ...], cited: Citation) -> Claim:
    """The matrix of rules and properties, a row: without the rule, all others in force, exactly these properties fail."""
    sentence = f"The other rules suffice without {rule} ({_RULES[rule]})."
    name, policy = f"WITHOUT-{rule}", f"{_SHORT[beside]}-without-{rule}"
    return Claim(
        name, "as_written", sentence, (cited,), rule, policy, "refuted", fails, (), _REPLAYED, "REFUTED", beside
    )


SEMANTICS_ASSUMPTIONS: Final = (
    Assumption("A-GATED", "Runs that nobody has made are, like those that were replayed, runs of the model: the worker asks the gate before "
               "it writes anything of the gated step, and nothing else begins that step.",
               "the runtime's worker; the monitor replays each gate in every distinct trace of the crash campaign"),
    Assumption("A-RESEND", "Whoever has recorded a decision signals, again and again, until the job waits no more; without it P9 holds, "
               "but the job waits.", "the approval service, or whoever decides"),
    Assumption("A-COMPENSATED", "Runs that nobody has made are, like those that were replayed, runs of the model: the worker decides about a "
               "compensation by the records and in the order of the rows named `decide:`, and begins nothing of a step whose compensation "
               "has begun.", "the runtime's protocol core; the monitor replays each compensation likewise"),
    Assumption("A-INJECTED", "Runs that nobody has made are, like those that were replayed, runs of the model: a step reads a recorded value "
               "only from the worker, which hands it out after `command_committed` is durable.",
               "the runtime's worker; the monitor replays each value likewise; a tool that reads a clock by itself is not covered"),
)  # fmt: skip

_S1_ORDER: Final = Citation("S1", "3", (38, 41), "1a6e05953cd45654d7532964c315721df46b907b59e39e50fb14ada2680f2548")
_S1_SIGNAL: Final = Citation("S1", "5", (77, 77), "19f090c5a12817156551d05458464a3f9e58cac24cb93de4ee611f5174ae7e7b")
_S2_EVENT: Final = Citation(
    "S2", "Compensation API", (28, 28), "642310155147e7d258fac3415a6107d283db1477a2f3fb6a4bf86fc28826b6b8"
)
_S2_TREATY: Final = Citation(
    "S2", "Compensation API", (29, 29), "9f56664b0c67a0fc3c2aee281658961e0d0a95ee6f37675ab8442ae845115286"
)
_S2_ONCE: Final = Citation(
    "S2", "At most once", (46, 46), "8d0d9a40f39d97ad20ae716208a2c4a6507cf02fd11c60e1da558c6a01d61382"
)
_S3_RESUME: Final = Citation(
    "S3", "Resume", (301, 303), "884c160ecb73dcd12790444592e68233da94f30c74341550a70177e83973f1d9"
)
_S3_EXAMPLE: Final = Citation(
    "S3", "Worked example", (399, 404), "3dc26f59c946a3d3ee513918646ed2ac176fd13289943cc82e8bf0e485f98e9e"
)
_S3_REJECTED: Final = Citation(
    "S3", "States", (132, 134), "d21d986b9372b18d9a2345ef5d4e1e36c308706091c202e82848abc72c897fdf"
)
_S3_WAITING: Final = Citation(
    "S3", "Constraints", (175, 175), "5bc218472bff4d8acbbd8ee06dccdf5ede4f1e8ce00760dc977eb39c98d08ae9"
)
_S4_INJECT: Final = Citation("S4", "3.3", (55, 55), "330e7e908ecc9350ab745a287e32bd2db357521f0d6b7706a4b14c670cc32741")
_S4_CATCHUP: Final = Citation("S4", "5.1", (83, 83), "4a7a17346738ea23b4c4548e7e25627637acce727c98d76d7aa1c6a1aace62ef")
_S4_LANDED: Final = Citation("S4", "5.2", (90, 90), "bd2bbd7ee67c4e6bdc16bbada8376a23803f696bca2c372862a553b0e3ba8c0d")
_S4_ONCE: Final = Citation("S4", "6", (101, 101), "9e0e359459ae14ee96424934bb9a42c0fb7f8518c74577fc68228f4d310b9f4d")
_S4_COMP: Final = Citation("S4", "5.1", (86, 86), "573f686c68ac42d6f21bbabd9c1fe16928c1cd29be2aadab22f2dd64ee3da55f")

SEMANTICS_CLAIMS: Final = (
    _holds("P9", ("P9-WAITING",), "The gated step starts only after an approval that carries its action's digest is durable, or its signal; "
           "after a denial it never starts; a waiting job is not worked on before its signal.",
           "T-WORKER, P9", ("A-GATED", "A-HASH"), _S1_SIGNAL, _S3_WAITING, _S3_REJECTED),
    _rests("P9-REST", "gate", "Every job with a gate can come to its end without a further fault and without a stray signal: a signal that was "
           "lost, after the decision, is sent again.", ("A-GATED", "A-RESEND"), _S1_SIGNAL),
    _holds("P10", ("P10-COMMITTED", "P10-TERMINAL"), "A compensation happens at most once and its record is true; it runs only for an effect "
           "that happened, or where that is harmless and nothing can come any more; a compensated step is terminal.",
           "T-COMP, P10", ("A-COMPENSATED", "A-PERSON", "A-QUIET", "A-NO-EFFECT"), _S2_EVENT, _S2_TREATY, _S2_ONCE, _S4_COMP),
    _rests("P10-REST", "compensation", "A job with a compensation can always come to rest, ended or parked, without a further fault.",
           ("A-COMPENSATED",), _S2_TREATY),
    _holds("P12", ("P12-BEFORE-USE", "P12-ONE-EFFECT"), "Once a value of a language model, or an input, is recorded, it is injected and never "
           "asked for again; nothing uses it before, so what depends on it happens once.",
           "E-LLM, E-INPUTS, P12", ("A-INJECTED", "A-STEPS"), _S4_INJECT, _S4_CATCHUP, _S4_LANDED),
    _rests("P12-REST", "recorded", "A job that asks for a value can always come to its end, without a further fault.", ("A-INJECTED",), _S4_INJECT),
    _fails("S1-5-SIGNAL", "gate-as-written", "P9", "P9",
             "A job that waits for a person goes on when it is signalled, and so only after that person has confirmed.", _S1_SIGNAL),
    _fails("S2-COMP-BY-EVENTS", "compensation-as-written", "COMP-ONCE", "P10",
             "A step is compensated once, because event stream and records recognise a repeat.", _S2_TREATY, _S2_ONCE),
    _stands("S2-COMP-BY-IDEMPOTENCE", "compensation-as-written-idempotent", "COMP-ONCE", "P10",
             "The same, if every callback is idempotent, as it should be: a repeated call changes nothing.", _S2_TREATY, _S2_ONCE),
    _stands("S2-COMP-OF-COMMITTED", "compensation-as-written", "COMP-OF-COMMITTED", "P10",
             "Only a committed effect is compensated, committed being what has a command_committed event.", _S2_TREATY),
    _fails("S2-COMP-OF-FINISHED", "compensation-as-written-finished", "COMP-OF-COMMITTED", "P10",
             "Only a committed effect is compensated, committed being what has a tool_invocation_finished event.", _S2_TREATY),
    _fails("S2-COMP-AFTER", "compensation-as-written", "COMP-WRITTEN", "P10",
             "When the callback was called step_compensated is written, and says that the step was compensated.", _S2_EVENT),
    _stands("S2-COMP-ENDED", "compensation-as-written", "P10-TERMINAL", "P10",
             "A compensated step is terminal on replay.", _S2_EVENT),
    _fails("S4-6-ASKED-ONCE", "recorded-hardened", "ASKED-ONCE", "P12",
             "Every logical step, a language model's included, is executed at most once.", _S4_ONCE),
    _needed("P9", "G-ASK", ("P9",), _S3_RESUME),
    _needed("P9", "G-RECORD", ("P9",), _S1_SIGNAL),
    _needed("P9", "G-BIND", ("P9",), _S3_EXAMPLE),
    _needed("P9", "G-DENY", ("P9",), _S3_REJECTED),
    _needed("P9", "G-SIGNAL", ("P9-WAITING",), _S3_WAITING),
    _needed("P9", "G-CANCEL", ("P9-WAITING",), _S3_WAITING),
    _needed("P10", "K-BARRIER", ("P10", "P10-COMMITTED"), _S2_TREATY),
    _needed("P10", "K-COMMITTED", ("P10-COMMITTED",), _S2_TREATY),
    _needed("P10", "K-QUIET", ("P10-COMMITTED",), _S2_TREATY),
    _needed("P10", "K-TRUTH", ("P10",), _S2_EVENT),
    _needed("P10", "K-RECORD", ("P10",), _S2_TREATY),
    _needed("P10", "K-TERMINAL", ("P10-COMMITTED", "P10-TERMINAL"), _S2_EVENT),
    _needed("P12", "L-RECORD", ("P12-BEFORE-USE", "P12-ONE-EFFECT"), _S1_ORDER),
    _needed("P12", "L-INJECT", ("P12", "P12-BEFORE-USE", "P12-ONE-EFFECT"), _S4_INJECT),
    _needed("P12", "L-CATCHUP", ("P12",), _S4_CATCHUP),
    _needed("P12", "L-RETRY", ("P12",), _S4_LANDED),
)  # fmt: skip
