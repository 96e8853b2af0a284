"""How the sentences of S0, S1, S2 and S4 become claims of the register: forms that the modules `seed_claims_*` share."""

from typing import Final

from .claim_types import Citation, Claim
from .policy import HARDENED

SHIPPED: Final = HARDENED.name
STORE: Final = ("A-DURABLE", "A-CAS", "A-ONE-WORKER", "A-STEPS")
TOOL: Final = ("A-QUIET", "A-IDEMPOTENT", "A-NO-EFFECT", "A-QUERY", "A-PERSON")


def shown(name: str, sentence: str, requirement: str, *cited: Citation, needs: tuple[str, ...] = ()) -> Claim:
    """A sentence that holds of the shipped code: `checkers.seed_text` runs it, and could say no."""
    return Claim(name, "hardened", sentence, cited, requirement, SHIPPED, "shown", (), needs, ("enumerate",), "TESTED")


def belied(name: str, sentence: str, requirement: str, hardened: str, *cited: Citation) -> Claim:
    """A sentence that a run of the shipped code contradicts; `hardened` is the claim that holds in its place."""
    methods = ("enumerate",)
    return Claim(
        name, "as_written", sentence, cited, requirement, SHIPPED, "belied", (), (), methods, "REFUTED", hardened
    )


def refuted(name: str, sentence: str, requirement: str, policy: str, fails: str, hardened: str, *cited: Citation,
            tried: bool = False) -> Claim:  # fmt: skip
    """A sentence whose policy breaks a property in the model; `tried`: a run of the shipped code contradicts it as well."""
    methods = ("explore", "enumerate" if tried else "replay")
    needs = STORE + TOOL
    return Claim(
        name,
        "as_written",
        sentence,
        cited,
        requirement,
        policy,
        "refuted",
        (fails,),
        needs,
        methods,
        "REFUTED",
        hardened,
    )


def unchecked(name: str, sentence: str, *cited: Citation) -> Claim:
    """A sentence of which nothing here can say whether it holds; the reason stands beside it."""
    return Claim(name, "as_written", sentence, cited, "out of scope", SHIPPED, "unchecked", (), (), (), "NOT CHECKED")
