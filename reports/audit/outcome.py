"""What an audit says: checks by name, each with a verdict and words, and what they come to together."""

from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["PASS", "FAIL", "NOT DONE"]
Result = Literal["PASS", "FAIL", "UNSIGNED", "UNTRUSTED", "INCOMPLETE"]
CODES: Final[dict[Result, int]] = {"PASS": 0, "FAIL": 1, "UNSIGNED": 3, "UNTRUSTED": 3, "INCOMPLETE": 3}
"""The exit code of each result. A file that is no archive at all is bad input: 2."""


@dataclass(frozen=True)
class Check:
    """One check. words: of a failure what is wrong, a sentence each that begins with a file or a claim; else what was looked at.

    asked: whether it counts; one that nobody asked for is NOT DONE, and takes nothing from a pass.
    """

    name: str
    verdict: Verdict
    words: tuple[str, ...] = ()
    asked: bool = True


@dataclass(frozen=True)
class Audit:
    """All checks, in order, and the Merkle root of what was audited ("" where there is no archive).

    signed: whether there is any signature; trusted: whether one was verified with the key that was given.
    """

    checks: tuple[Check, ...]
    root: str
    signed: bool
    trusted: bool

    @property
    def result(self) -> Result:
        """PASS only if every check that was asked for passes, the signature by the given key among them."""
        if any(check.verdict == "FAIL" for check in self.checks):
            return "FAIL"
        if not self.signed:
            return "UNSIGNED"
        if not self.trusted:
            return "UNTRUSTED"
        return "INCOMPLETE" if any(c.verdict == "NOT DONE" and c.asked for c in self.checks) else "PASS"


def judged(name: str, problems: list[str], looked_at: str) -> Check:
    """A check that was done."""
    return Check(name, "FAIL", tuple(problems)) if problems else Check(name, "PASS", (looked_at,))
