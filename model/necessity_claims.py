"""The claims about which mechanism each property needs, and about what no recovery can tell apart (T-PROP, the matrix)."""

from typing import Final

from .claim_types import Citation, Claim

_ROW2: Final = Citation("S1", "2", (25, 25), "2fd6d79b8b087da6fc9b954c2306cf56aa45e6851cb6fde184a4a8e027a01092")
_ORDER: Final = Citation("S1", "1", (14, 14), "b741ed8cce9ff208fc22a8101c72c9f037b83bacdab4b3a0b9ecee9eb255662e")
_CONCLUSION: Final = Citation("S1", "2", (30, 30), "615062a46ccd74d6c879e4781630eaf112480c2516bb2726ddb607903941d259")


def _stated(name: str, sentence: str, *cited: Citation) -> Claim:
    return Claim(
        name, "hardened", sentence, cited, "T-PROP, the matrix", "hardened", "matrix", (), (), ("explore",), "EXHAUSTED"
    )


NECESSITY_CLAIMS: Final = (
    _stated("NECESSITY", "Which mechanism each property needs is as the matrix states: without one that is needed a run breaks the property, without "
            "one that is not the property holds in every state that was searched.", _CONCLUSION),
    _stated("NECESSITY-ORDERS", "In whatever order B4 to B7 are written, and with B5 to B7 in one transaction, every property of the step holds, recovery "
            "looking into all stores.", _ORDER),
    _stated("NECESSITY-SETS", "Of one worker's mechanisms the minimal sets that suffice for a property of the step, all others missing, are the stated "
            "ones: of each property but P15 all that there are, every other set failing or holding one of them. That is of the step's own execution; for all "
            "that may befall its job they suffice with what is stated beside them.", _CONCLUSION),
    Claim("T-AMBIGUOUS-EXACT", "hardened", "At an observation of the ambiguity class (windows 1c, 2, 2x and 2u of a tool that is not idempotent) every "
          "deterministic recovery that reads the stores alone is wrong in one of two reachable states that look the same: it doubles the effect or "
          "loses it. At every other observation one is right: the class is exactly that. Reachable is what the hardened machine reaches; what it "
          "reaches by a first crash every recovery comes to, whatever it writes.", (_ROW2,), "T-WINDOW, T-PROP", "hardened", "exactly",
          (), (), ("explore", "prove"), "PROVED"),
)  # fmt: skip
