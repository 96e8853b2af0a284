"""The sentences of S1: transactions, crash windows, order, keys and the modes of verification."""

from typing import Final

from .claim_types import Citation, Claim
from .seed_sentence import SHIPPED, STORE, TOOL, belied, shown


def _at(section: str, first: int, last: int, sha256: str) -> Citation:
    return Citation("S1", section, (first, last), sha256)


def _row(number: str, sentence: str, *cited: Citation) -> Claim:
    """A row of the text's table: of the windows that refine it, in the model, and of real crashes."""
    return Claim(f"S1-2-WINDOW{number}", "hardened", sentence, cited, "T-WINDOW", SHIPPED, "rows", (), STORE + TOOL,
                 ("windows", "enumerate"), "EXHAUSTED")  # fmt: skip


S1_CLAIMS: Final = (
    shown("S1-1-NOTX", "No transaction spans two of the stores: each commit writes events, the ledger, effects or leases, one of them.", "T-STORES",
          _at("1", 9, 9, "4c1f1baa48e691308393e9413e1e41d27dc7113dcc2006c086519092d0f2a9b0")),
    shown("S1-1-WRITEORDER", "On success the effect record is durable before the events, and the events before the ledger's commit.", "T-ORDER",
          _at("1", 11, 11, "d1006217dac97606babb91791dce3c689d36f3699be3c9c69428d420ccd00680"), _at("3", 36, 36, "69a1a239aa00226d54226b847c500e400cbbe3db1626a9e3596ccbb8e96d9838")),
    shown("S1-1-AUTHORITY", "The event stream is the authority: a result that it holds is injected whatever ledger and effect store say.", "T-RECOVER 1",
          _at("1", 12, 12, "b98dfad72f5fa8e225a6862a5f687b06ce2c2ae1af909c78d98e80f813697360"), _at("3", 36, 36, "69a1a239aa00226d54226b847c500e400cbbe3db1626a9e3596ccbb8e96d9838"), Citation("S4", "1", (9, 9), "cd1fa3c21c17173593740375d768decbeef407069b5a79473b01447fa9df7d1d")),
    shown("S1-1-CATCHUP", "Where the stream lacks a result that the effect store holds, the events are written from it and the tool is not called.",
          "T-RECOVER 3", _at("1", 12, 12, "b98dfad72f5fa8e225a6862a5f687b06ce2c2ae1af909c78d98e80f813697360"), Citation("S4", "5.1", (83, 83), "4a7a17346738ea23b4c4548e7e25627637acce727c98d76d7aa1c6a1aace62ef"), Citation("S4", "1", (9, 9), "cd1fa3c21c17173593740375d768decbeef407069b5a79473b01447fa9df7d1d")),
    belied("S1-1-COVERED", "The window from the execution's success to the append is covered by catch-up from the effect store.", "T-WINDOW", "P3",
           _at("1", 12, 12, "b98dfad72f5fa8e225a6862a5f687b06ce2c2ae1af909c78d98e80f813697360")),
    shown("S1-1-REPLAYED", "The window from the append to the commit is covered by the events: the result is injected and the ledger repaired.",
          "T-RECOVER 1", _at("1", 12, 12, "b98dfad72f5fa8e225a6862a5f687b06ce2c2ae1af909c78d98e80f813697360")),
    _row("1", "A crash before a started event: nothing has happened, and the step is executed once.", _at("2", 24, 24, "617fe64131a29f9a8fa84c563a6966accbb415b754fb6ee10a9499b856b9a51e")),
    belied("S1-2-WINDOW1-ALL", "A crash before the tool's execution leaves no started event, and the step is then executed.", "T-WINDOW", "T-AMBIGUOUS",
           _at("2", 24, 24, "617fe64131a29f9a8fa84c563a6966accbb415b754fb6ee10a9499b856b9a51e")),
    _row("2", "A crash after the execution and before its record: the effect is not repeated.", _at("2", 25, 25, "2fd6d79b8b087da6fc9b954c2306cf56aa45e6851cb6fde184a4a8e027a01092")),
    shown("S1-2-FAIL", "In window 2, where the tool is configured so, the job fails as in flight or lost, and the tool is not called again.",
          "T-RECOVER on_unknown=fail", _at("2", 25, 25, "2fd6d79b8b087da6fc9b954c2306cf56aa45e6851cb6fde184a4a8e027a01092"), _at("2", 30, 30, "615062a46ccd74d6c879e4781630eaf112480c2516bb2726ddb607903941d259")),
    shown("S1-2-WAIT", "A worker without the lease waits: it gets neither the job nor a permission to execute.", "T-RECOVER 7", _at("2", 25, 25, "2fd6d79b8b087da6fc9b954c2306cf56aa45e6851cb6fde184a4a8e027a01092")),
    _row("3", "A crash after the effect record and before the append: caught up, one effect.", _at("2", 26, 26, "e039357bd15fc0635aa09eaff8ac2000ac0fbf04ac84b9491182b150fe6045d7")),
    _row("4", "A crash after the append and before the commit: injected from the events, one effect.", _at("2", 27, 27, "639ecf20b687f279339e9701e22ef57c21e6d35a95d75cc11734d2abb0f86cad")),
    _row("5", "A crash after the commit: injected, one effect.", _at("2", 28, 28, "c83bdfa15289a5496b0bc31f2ece238cd8022edd8844f566a3eb97f1d1344cd7")),
    Claim("S1-2-OPTIONAL", "hardened", "Without an effect store that recovery consults, with ledger and barrier, no crash repeats an effect.", (_at("2", 30, 30, "615062a46ccd74d6c879e4781630eaf112480c2516bb2726ddb607903941d259"),),
          "T-RECOVER", "s1-no-effect-store", "holds", ("P1",), STORE + TOOL, ("explore",), "EXHAUSTED"),
    shown("S1-2-PERSON", "What window 2 leaves a person can decide, either way, and the job then comes to its end.", "T-RECOVER park", _at("2", 30, 30, "615062a46ccd74d6c879e4781630eaf112480c2516bb2726ddb607903941d259")),
    shown("S1-3-ORDER", "The writes of a success are made in the order of the text: started, execution, effect record, finished, committed, "
          "ledger, node_finished, state_checkpointed.", "T-ORDER", _at("3", 36, 43, "b494b90d21fd9615d2d42640a5315d3b816e312c101fd43d34712ec6497a4fa5")),
    shown("S1-4.1-FORMULA", "The key is SHA-256 over job, node, tool and canonical arguments, separated by NUL.", "T-KEY", _at("4.1", 53, 54, "15c78740af4bf6d63d394e7ae871a0c9c258c560341069b91215a1a2f06e5bff")),
    shown("S1-4.1-LOOKUP", "Ledger and effect store are looked up by job and key: another job's record with the same step is another record.", "T-KEY",
          _at("4.1", 55, 55, "5eb5cbac9fb4367d5b8d3c30fd1cf9e8c01f61fec9d2e79007d34c9e1d85a630")),
    shown("S1-4.1-EVENTS", "The events of a call, started and finished, bear its key.", "T-EVENT, T-KEY", _at("4.1", 55, 55, "5eb5cbac9fb4367d5b8d3c30fd1cf9e8c01f61fec9d2e79007d34c9e1d85a630")),
    shown("S1-4.1-SAME", "One logical step has one key, in every replay and every retry.", "T-KEY", _at("4.1", 56, 56, "99d9ee1c2da361b527195bf4c2c4e1704d48d9bd511aaa80c311edc50764a7fd")),
    shown("S1-4.2-PASSED", "A tool is handed a key for the downstream, which deduplicates by it.", "T-KEY", _at("4.2", 62, 62, "61b2591205d560ee69be605ab536d089771d6714033b39cfd3b3a3d7e67ead92")),
    shown("S1-5-DEFAULT", "The default mode of verification is strict.", "T-CONFIRM", _at("5", 69, 69, "f25af9ab98a1e7ebce9b523100588a5407d39a4e20c5cf78886d554b641e30cb")),
    shown("S1-5-STRICT", "strict: a failed verification fails the job for good.", "T-CONFIRM", _at("5", 73, 73, "2753b952d5ca699ccde76f130c5f78aecaa3e40f79f9d83124f120c2c961a75b"), _at("5", 69, 69, "f25af9ab98a1e7ebce9b523100588a5407d39a4e20c5cf78886d554b641e30cb")),
    shown("S1-5-WARN", "warn: a failed verification is counted and recorded, the result is injected and the job goes on, marked as tainted.", "T-CONFIRM",
          _at("5", 74, 74, "2d0b75331dd1eb087180c82777402849f7096d372eecc6de24a9d630237a9b0f")),
    shown("S1-5-HUMAN", "human in the loop: a failed verification parks the job until a person confirms.", "T-CONFIRM", _at("5", 75, 75, "3a1ccd13e81b0bf4f7b0a86c71bd80ad5198f1255eff7d3251be29ddec3230f0"), _at("5", 77, 77, "19f090c5a12817156551d05458464a3f9e58cac24cb93de4ee611f5174ae7e7b")),
    shown("S1-5-RESUME", "Once a person has confirmed, the parked job goes on with the recorded result, and the tool is not called.", "T-CONFIRM",
          _at("5", 77, 77, "19f090c5a12817156551d05458464a3f9e58cac24cb93de4ee611f5174ae7e7b")),
    shown("S1-5-NOOP", "A verifier that always agrees confirms nothing: with it a changed world is not noticed.", "T-CONFIRM", _at("5", 79, 79, "4fafc882db202c19a8d79757803039945440ba0d0473b38413151580c3ea5393")),
)  # fmt: skip

ROW_WINDOWS: Final = {
    "S1-2-WINDOW1": (("1a", "1b"), frozenset({"1"})),
    "S1-2-WINDOW2": (("1c", "2", "2x", "2u"), frozenset({"0", "1"})),
    "S1-2-WINDOW3": (("3",), frozenset({"1"})),
    "S1-2-WINDOW4": (("3b", "4"), frozenset({"1"})),
    "S1-2-WINDOW5": (("5", "6", "7", "8"), frozenset({"1"})),
}
"""The windows that refine each row of the text, and how many effects there are in the end."""
